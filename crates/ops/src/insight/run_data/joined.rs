//! Extended runs as one curve: the points of a run that `rlx resume --total-timesteps` made begin where its parent
//! ended, so its parent's points, and those of the parent's parent, are put before them.

use std::collections::BTreeSet;

use rlxp_store::{MetricColumns, Series, TIMING_KIND};
use rlxp_types::text::grouped;

use super::lineage::Ancestor;
use super::{Group, RunData, load_seeds, named};
use crate::context::Context;
use crate::failure::Outcome;
use crate::select::RunSeeds;

/// What joining did, a sentence each, without its full stop.
#[derive(Default)]
pub(crate) struct Joined {
    /// Of each run whose curve includes that of another one.
    pub(crate) included: Vec<String>,
    /// Of each run whose curve begins late because a run that it extends is gone.
    pub(crate) late: Vec<String>,
}

/// Puts the points of parents that `wanted` accepts before those of extended runs.
pub(crate) fn join(
    context: &Context,
    groups: &mut [Group],
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<()> {
    let mut runs = groups.iter_mut().flat_map(|group| &mut group.runs);
    runs.try_for_each(|run| join_run(context, run, wanted))
}

impl Joined {
    /// What joining did to the runs that are left in the groups.
    pub(crate) fn of(groups: &[Group]) -> Self {
        let mut joined = Self::default();
        let mut noted = BTreeSet::new();
        for run in groups.iter().flat_map(|group| &group.runs) {
            if noted.insert(run.run.path().to_owned()) {
                joined.included.extend(included(run));
                joined.late.extend(late(run));
            }
        }
        joined
    }
}

/// Joins the runs of one group in all metrics of training. How fast each run was is a fact about its process: a pause
/// between two of them was not training.
pub(crate) fn join_training(context: &Context, group: &mut Group) -> Outcome<()> {
    join(context, std::slice::from_mut(group), &|kind, _| kind != TIMING_KIND)
}

/// Joins one run with every run that it extends.
fn join_run(
    context: &Context,
    run: &mut RunData,
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<()> {
    let seeds: BTreeSet<u64> = run.seeds.iter().map(|seed| seed.seed).collect();
    for Ancestor { run: parent, extended, .. } in &run.ancestry.runs {
        let chosen = RunSeeds { run: parent.clone(), seeds: Some(seeds.clone()) };
        let parent = load_seeds(context, &chosen, wanted)?;
        for seed in &mut run.seeds {
            let until = extended.checkpoints.get(&seed.seed).copied().or(extended.checkpoint);
            if let (Some(until), Some(before)) =
                (until, parent.seeds.iter().find(|own| own.seed == seed.seed))
            {
                put_before(&mut seed.metrics, &before.metrics, until);
            }
        }
    }
    Ok(())
}

fn included(run: &RunData) -> Option<String> {
    let parents: Vec<String> = run.ancestry.runs.iter().map(|parent| parent.run.name()).collect();
    let several = named(&parents);
    (!parents.is_empty())
        .then(|| format!("{} extends {several}: its curve includes the steps before it", run.name))
}

fn late(run: &RunData) -> Option<String> {
    let gone = run.ancestry.gone.as_ref()?;
    let step = gone.checkpoint.or_else(|| gone.checkpoints.values().min().copied());
    let at = step.map_or_else(|| "late".to_owned(), |step| format!("at step {}", grouped(step)));
    let child = run.ancestry.runs.last().map_or_else(|| "it".to_owned(), |child| child.run.name());
    let (name, parent) = (&run.name, &gone.parent);
    Some(format!("{name}: its curve begins {at} because {parent}, which {child} extends, is gone"))
}

/// Puts the parent's points up to step `until` before those of the extension.
fn put_before(metrics: &mut MetricColumns, parent: &MetricColumns, until: u64) {
    let pause = pause(metrics, parent, until);
    for (kind, series) in &parent.series {
        for (name, earlier) in series {
            let own = metrics.series.entry(kind.clone()).or_default().entry(name.clone()).or_default();
            prepend(own, earlier, until, pause);
        }
    }
}

/// Seconds between the end of the parent and the extension's first record: nothing was trained then, apart from the
/// extension's first update.
fn pause(metrics: &MetricColumns, parent: &MetricColumns, until: u64) -> f64 {
    let own = metrics.series.values().flat_map(|names| names.values());
    let first = own.filter_map(|series| series.walls.first().copied()).fold(f64::INFINITY, f64::min);
    let earlier = parent.series.values().flat_map(|names| names.values());
    let walls = earlier.flat_map(|series| series.steps.iter().zip(&series.walls));
    let last = walls.filter(|(step, _)| **step <= until).map(|(_, wall)| *wall);
    let pause = first - last.fold(f64::NEG_INFINITY, f64::max);
    if pause.is_finite() { pause } else { 0.0 }
}

/// Puts the points up to step `until` before the others, as if they had been made `later` seconds later.
fn prepend(own: &mut Series, earlier: &Series, until: u64, later: f64) {
    // Where the extension begins with a record of the step that it started from, the parent's own is enough.
    let first = own.steps.first().copied().unwrap_or(u64::MAX);
    let count = earlier.steps.partition_point(|step| *step <= until && *step < first);
    own.steps.splice(0..0, earlier.steps[..count].iter().copied());
    own.walls.splice(0..0, earlier.walls[..count].iter().map(|wall| wall + later));
    own.values.splice(0..0, earlier.values[..count].iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::run_data::testing::series;

    #[test]
    fn points_before_the_extension_come_first() {
        let joined = |own: &[(u64, f64)], until| {
            let mut own = series(own);
            prepend(&mut own, &series(&[(10, 1.0), (20, 2.0), (30, 3.0)]), until, 0.0);
            own.points().collect::<Vec<_>>()
        };
        // The parent went on to step 30; the extension started from its checkpoint at 20.
        assert_eq!(joined(&[(30, 9.0), (40, 4.0)], 20), [(10, 1.0), (20, 2.0), (30, 9.0), (40, 4.0)]);
        assert_eq!(joined(&[(20, 8.0)], 20), [(10, 1.0), (20, 8.0)]);
        assert_eq!(joined(&[], 30).len(), 3);
    }
}
