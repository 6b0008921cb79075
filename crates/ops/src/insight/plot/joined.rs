//! Extended runs as one curve: the points of a run that `rlx resume --total-timesteps` made begin where its parent
//! ended, so its parent's points, and those of the parent's parent, are put before them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rlxp_store::{Lineage, LineageKind, MetricColumns, Project, Run, Series};

use super::metric::named;
use crate::context::Context;
use crate::failure::Outcome;
use crate::insight::run_data::{Group, RunData, load_seeds};
use crate::select::{RunSeeds, project};

/// Longest chain of extensions that is followed.
const LONGEST_CHAIN: usize = 100;

/// Puts the points of parents before those of extended runs. Returns a sentence for each run that was joined.
pub(super) fn join(
    context: &Context,
    groups: &mut [Group],
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<Vec<String>> {
    let extended = |run: &RunData| extension(run.metadata.lineage.as_ref()).is_some();
    if !groups.iter().flat_map(|group| &group.runs).any(extended) {
        return Ok(Vec::new());
    }
    let project = project(context)?;
    let mut notes = Vec::new();
    let mut noted = BTreeSet::new();
    for run in groups.iter_mut().flat_map(|group| &mut group.runs) {
        let joined = join_run(context, &project, run, wanted)?;
        if !joined.is_empty() && noted.insert(run.run.path().to_owned()) {
            notes.push(format!(
                "{} extends {}: its curve includes the steps before it (--no-join leaves them out).",
                run.name,
                named(&joined)
            ));
        }
    }
    Ok(notes)
}

/// The lineage of an extended run.
fn extension(lineage: Option<&Lineage>) -> Option<&Lineage> {
    lineage.filter(|lineage| lineage.kind == LineageKind::ResumedExtended)
}

/// Joins one run with every parent that is in this project; returns their names, the nearest first.
fn join_run(
    context: &Context,
    project: &Project,
    run: &mut RunData,
    wanted: &(dyn Fn(&str, &str) -> bool + Sync),
) -> Outcome<Vec<String>> {
    let seeds: BTreeSet<u64> = run.seeds.iter().map(|seed| seed.seed).collect();
    let mut joined = Vec::new();
    let mut seen: BTreeSet<PathBuf> = [run.run.path().to_owned()].into();
    let mut lineage = run.metadata.lineage.clone();
    while let Some(extends) = extension(lineage.as_ref()).filter(|_| joined.len() < LONGEST_CHAIN) {
        let Some(parent) =
            parent_of(project, extends)?.filter(|parent| seen.insert(parent.path().to_owned()))
        else {
            break;
        };
        let chosen = RunSeeds { run: parent, seeds: Some(seeds.clone()) };
        let parent = load_seeds(context, &chosen, wanted)?;
        for seed in &mut run.seeds {
            let until = extends.checkpoints.get(&seed.seed).copied().or(extends.checkpoint);
            if let (Some(until), Some(before)) =
                (until, parent.seeds.iter().find(|own| own.seed == seed.seed))
            {
                put_before(&mut seed.metrics, &before.metrics, until);
            }
        }
        run.includes.push(parent.run.path().to_owned());
        joined.push(parent.name);
        lineage = parent.metadata.lineage;
    }
    Ok(joined)
}

/// The parent if it is still in this project, and the same run that was extended.
fn parent_of(project: &Project, lineage: &Lineage) -> Outcome<Option<Run>> {
    if !project.run_names()?.contains(&lineage.parent) {
        return Ok(None);
    }
    let parent = project.run(&lineage.parent);
    // A run that can't be read can't be drawn either; the extension itself can.
    let Ok(metadata) = parent.metadata() else { return Ok(None) };
    Ok(lineage.parent_id.is_none_or(|id| id == metadata.id).then_some(parent))
}

/// Puts the parent's points up to step `until` before those of the extension.
fn put_before(metrics: &mut MetricColumns, parent: &MetricColumns, until: u64) {
    for (kind, series) in &parent.series {
        for (name, earlier) in series {
            let own = metrics.series.entry(kind.clone()).or_default().entry(name.clone()).or_default();
            prepend(own, earlier, until);
        }
    }
}

fn prepend(own: &mut Series, earlier: &Series, until: u64) {
    // Where the extension begins with a record of the step that it started from, the parent's own is enough.
    let first = own.steps.first().copied().unwrap_or(u64::MAX);
    let count = earlier.steps.partition_point(|step| *step <= until && *step < first);
    own.steps.splice(0..0, earlier.steps[..count].iter().copied());
    own.walls.splice(0..0, earlier.walls[..count].iter().copied());
    own.values.splice(0..0, earlier.values[..count].iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(points: &[(u64, f64)]) -> Series {
        Series {
            steps: points.iter().map(|(step, _)| *step).collect(),
            walls: vec![0.0; points.len()],
            values: points.iter().map(|(_, value)| *value).collect(),
        }
    }

    #[test]
    fn points_before_the_extension_come_first() {
        let joined = |own: &[(u64, f64)], until| {
            let mut own = series(own);
            prepend(&mut own, &series(&[(10, 1.0), (20, 2.0), (30, 3.0)]), until);
            own.points().collect::<Vec<_>>()
        };
        // The parent went on to step 30; the extension started from its checkpoint at 20.
        assert_eq!(joined(&[(30, 9.0), (40, 4.0)], 20), [(10, 1.0), (20, 2.0), (30, 9.0), (40, 4.0)]);
        assert_eq!(joined(&[(20, 8.0)], 20), [(10, 1.0), (20, 8.0)]);
        assert_eq!(joined(&[], 30).len(), 3);
    }
}
