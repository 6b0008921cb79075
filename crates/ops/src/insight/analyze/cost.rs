//! What a training cost: its time, and how it was spent.

use rlxp_analyze::aggregate::median;
use rlxp_analyze::story::{Claim, Over, Statement, Statistic, Topic};
use rlxp_store::TIMING_KIND;
use rlxp_types::text::{grouped, number};

use crate::insight::run_data::{Group, SeedData};

const PARTS: [&str; 3] = ["collect_seconds", "advantage_seconds", "update_seconds"];

/// One seed's time.
struct Spent {
    seed: u64,
    span: (u64, u64),
    /// From its first to its last record.
    seconds: f64,
    per_second: f64,
    parts: [f64; 3],
}

pub(super) fn statements(group: &Group) -> Vec<Statement> {
    let spent: Vec<Spent> = group.seeds().filter_map(|(_, seed)| spent(seed)).collect();
    if spent.is_empty() {
        return Vec::new();
    }
    let seeds: Vec<u64> = spent.iter().map(|seed| seed.seed).collect();
    let span = (
        spent.iter().map(|seed| seed.span.0).min().unwrap_or(0),
        spent.iter().map(|seed| seed.span.1).max().unwrap_or(0),
    );
    let rates: Vec<f64> = spent.iter().map(|seed| seed.per_second).collect();
    let times: Vec<f64> = spent.iter().map(|seed| seed.seconds).collect();
    let (rate, time) = (median(&rates), median(&times));
    let each = if seeds.len() > 1 { format!(" per seed (median of {})", seeds.len()) } else { String::new() };
    let place = (TIMING_KIND, "steps_per_second");
    let text = format!(
        "Training took {}{each} for steps {} to {}: {} steps per second.",
        duration(time),
        grouped(span.0),
        grouped(span.1),
        number(rate)
    );
    let mut told = vec![Statement::new(Topic::Efficiency, place, span, &seeds, text).claiming([
        Claim::new(Over::Median, Statistic::Last, span, rate),
        Claim::new(Over::Median, Statistic::Seconds, span, time),
    ])];
    let sum = |part: usize| spent.iter().map(|seed| seed.parts[part]).sum::<f64>();
    let (collect, advantage, update) = (sum(0), sum(1), sum(2));
    let all: f64 = times.iter().sum();
    if collect + advantage + update > 0.0 && all > 0.0 {
        let whole = all.max(collect + advantage + update);
        let share = |part: f64| part / whole;
        let rest = share(whole - collect - advantage - update);
        let text = format!(
            "Time was spent on collecting ({}), advantages ({}), gradient steps ({}) and the rest ({}): evaluations, \
             saving and waiting for a core.",
            percent(share(collect)),
            percent(share(advantage)),
            percent(share(update)),
            percent(rest)
        );
        let place = (TIMING_KIND, "update_seconds");
        let claim = Claim::new(Over::Curve, Statistic::TimeShare, span, share(update));
        told.push(Statement::new(Topic::Efficiency, place, span, &seeds, text).claiming([claim]));
    }
    told
}

fn spent(seed: &SeedData) -> Option<Spent> {
    let series = seed.series(TIMING_KIND, "steps_per_second")?;
    let (first, last) = (*series.steps.first()?, *series.steps.last()?);
    let per_second = *series.values.last()?;
    let parts = PARTS.map(|name| {
        let values = seed.series(TIMING_KIND, name).map_or(&[][..], |series| series.values.as_slice());
        values.iter().filter(|seconds| seconds.is_finite()).sum::<f64>()
    });
    // The first record is written at the end of the first update, so its time is known only from its parts.
    let first_update: f64 =
        PARTS.iter().filter_map(|name| seed.series(TIMING_KIND, name)?.values.first().copied()).sum();
    let seconds = series.walls.last()? - series.walls.first()? + first_update;
    let fine = seconds.is_finite() && seconds >= 0.0 && per_second.is_finite();
    fine.then_some(Spent { seed: seed.seed, span: (first, last), seconds, per_second, parts })
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        tiny if tiny < 0.05 => "almost nothing".to_owned(),
        small if small < 1.0 => format!("{small:.1}%"),
        part => format!("{part:.0}%"),
    }
}

/// `12 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!([0.25, 42.4, 200.0, 7500.0].map(duration), ["0.2 s", "42 s", "3 min 20 s", "2 h 5 min"]);
        assert_eq!([0.0004, 0.006, 0.123].map(percent), ["almost nothing", "0.6%", "12%"]);
    }
}
