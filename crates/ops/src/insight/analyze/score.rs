//! The score of every seed over the steps.

use std::collections::BTreeMap;

use rlxp_analyze::story::{Baseline, Course, SeedCourse, Subject};
use rlxp_store::MEAN_RETURN;

use crate::insight::run_data::{Group, RunData, SeedData, SeedState};
use crate::training::envs::reward_threshold;

/// What is scored, and the curve of every seed in the order of the group's.
pub(crate) fn score(group: &Group, baseline: Option<Baseline>) -> (Subject, Vec<SeedCourse>) {
    let evaluated = group.seeds().any(|(_, seed)| seed.series("eval", MEAN_RETURN).is_some());
    let kind = if evaluated { "eval" } else { "train" };
    let threshold = reward_threshold(&group.runs[0].config.env);
    let seeds = group.seeds().map(|(run, seed)| SeedCourse {
        seed: seed.seed,
        label: label(group, run, seed),
        course: course(seed, kind, MEAN_RETURN),
        errors: if evaluated { errors(seed) } else { Course::default() },
        failed: seed.state == SeedState::Failed,
    });
    let seeds = seeds.collect();
    (Subject { kind: kind.into(), metric: MEAN_RETURN.into(), threshold, baseline }, seeds)
}

/// A seed as sentences call it.
fn label(group: &Group, run: &RunData, seed: &SeedData) -> String {
    if group.runs.len() > 1 {
        format!("seed {} of {}", seed.seed, run.name)
    } else {
        format!("seed {}", seed.seed)
    }
}

/// A metric of a seed.
fn course(seed: &SeedData, kind: &str, name: &str) -> Course {
    seed.series(kind, name).map_or_else(Course::default, |series| Course::new(series.points()))
}

/// The standard error of every evaluation: its deviation over the root of its
/// episodes.
fn errors(seed: &SeedData) -> Course {
    let (Some(deviations), Some(episodes)) =
        (seed.series("eval", "deviation"), seed.series("eval", "episodes"))
    else {
        return Course::default();
    };
    let played: BTreeMap<u64, f64> = episodes.points().collect();
    let points = deviations.points();
    Course::new(
        points.filter_map(|(step, deviation)| Some((step, deviation / played.get(&step)?.max(1.0).sqrt()))),
    )
}
