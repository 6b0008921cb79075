//! Where along x a point of a seed stands.

use rlxp_store::Series;

use super::XAxis;
use crate::insight::run_data::{RunData, SeedData};

/// Units of wall time with the seconds they have.
const TIMES: [(&str, f64); 3] = [("s", 1.0), ("min", 60.0), ("h", 3600.0)];

/// The unit of x.
#[derive(Clone, Debug, PartialEq)]
pub struct XUnit {
    pub axis: XAxis,
    /// What the axis is called, with its unit.
    pub label: String,
    /// What a sentence calls the unit.
    pub unit: &'static str,
    /// x of a seed is divided by this.
    pub divisor: f64,
}

/// The unit for x up to `largest`.
pub(super) fn unit(axis: XAxis, largest: f64) -> XUnit {
    let plain = |label: &str, unit| XUnit { axis, label: label.to_owned(), unit, divisor: 1.0 };
    match axis {
        XAxis::Steps => plain("environment steps", "steps"),
        XAxis::Episodes => plain("training episodes", "episodes"),
        XAxis::Updates => plain("updates", "updates"),
        XAxis::Time => {
            // At least two of a unit, so that ticks are whole numbers mostly.
            let fits = |(_, seconds): &&(&str, f64)| largest >= 2.0 * seconds;
            let (unit, divisor) = TIMES.iter().rev().find(fits).copied().unwrap_or(TIMES[0]);
            XUnit { axis, label: format!("wall time ({unit})"), unit, divisor }
        }
    }
}

/// The points of `series` over x in base units (steps, seconds, …); `None` if the seed lacks what x is counted by.
pub(super) fn points(axis: XAxis, seed: &SeedData, series: &Series) -> Option<Vec<(f64, f64)>> {
    match axis {
        XAxis::Steps => Some(series.points().map(|(step, value)| (step as f64, value)).collect()),
        XAxis::Time => {
            let all = seed.metrics.series.values().flat_map(|names| names.values());
            let start = all.flat_map(|series| series.walls.iter().copied()).fold(f64::INFINITY, f64::min);
            let pairs = series.walls.iter().zip(&series.values);
            Some(pairs.map(|(wall, value)| (wall - start, *value)).collect())
        }
        XAxis::Episodes => {
            let counter = seed.series("train", "episodes")?;
            Some(series.points().map(|(step, value)| (at(counter, step), value)).collect())
        }
        XAxis::Updates => {
            let train = seed.metrics.series.get("train")?;
            let counter = train.values().max_by_key(|series| series.len())?;
            let count = |step| counter.steps.partition_point(|own| *own <= step) as f64;
            Some(series.points().map(|(step, value)| (count(step), value)).collect())
        }
    }
}

/// The counter's value at `step`: its last one until then, nothing before it began.
fn at(counter: &Series, step: u64) -> f64 {
    let after = counter.steps.partition_point(|own| *own <= step);
    after.checked_sub(1).map_or(0.0, |last| counter.values[last])
}

/// Whether the run's wall time holds pauses.
pub(super) fn was_resumed(run: &RunData) -> bool {
    run.run.attempts().is_ok_and(|attempts| attempts.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_has_a_unit_that_fits() {
        let label = |largest| unit(XAxis::Time, largest).label;
        assert_eq!(label(30.0), "wall time (s)");
        assert_eq!(label(0.0), "wall time (s)");
        assert_eq!(label(600.0), "wall time (min)");
        assert_eq!(label(9000.0), "wall time (h)");
        assert_eq!(unit(XAxis::Time, 9000.0).divisor, 3600.0);
    }

    #[test]
    fn counters_hold_until_the_next_record() {
        let counter = Series { steps: vec![10, 20], walls: vec![0.0; 2], values: vec![3.0, 7.0] };
        assert_eq!([5, 10, 15, 20, 99].map(|step| at(&counter, step)), [0.0, 3.0, 3.0, 7.0, 7.0]);
    }
}
