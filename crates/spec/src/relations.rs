//! Checks that need more than one key.

use std::collections::BTreeSet;

use crate::fields::{MAX_ROLLOUT, MAX_SEED};
use crate::load::Report;
use crate::problem::Severity;
use crate::resolve::Layers;
use crate::values::Value;

/// Values after layering, and the keys that are wrong and so say nothing.
pub(crate) struct Settled<'a> {
    pub(crate) layers: &'a Layers<'a>,
    pub(crate) failed: &'a BTreeSet<&'static str>,
}

impl Settled<'_> {
    fn all_fine(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| !self.failed.contains(path))
    }
}

/// Reports every pair of values that can't stand together.
pub(crate) fn check(settled: &Settled<'_>, report: &mut Report<'_>) {
    check_rollout(settled, report);
    check_seeds(settled, report);
}

fn check_rollout(settled: &Settled<'_>, report: &mut Report<'_>) {
    let layers = settled.layers;
    if !settled.all_fine(&["env.num_envs", "algo.rollout_steps"]) {
        return;
    }
    let (envs, steps) = (layers.count("env.num_envs"), layers.count("algo.rollout_steps"));
    let rollout = envs * steps;
    if rollout > MAX_ROLLOUT {
        let path = if layers.is_chosen("algo.rollout_steps") { "algo.rollout_steps" } else { "env.num_envs" };
        let message = format!(
            "`env.num_envs` {envs} × `algo.rollout_steps` {steps} is {rollout} samples per rollout; at most {MAX_ROLLOUT}"
        );
        report(path, Severity::Error, message, None);
        return;
    }
    if !settled.all_fine(&["algo.batch_size"]) {
        return;
    }
    let batch = layers.count("algo.batch_size");
    if layers.is_chosen("algo.batch_size") && batch > rollout {
        let message = format!(
            "`algo.batch_size` {batch} is larger than a rollout: `env.num_envs` {envs} × `algo.rollout_steps` {steps} = {rollout}"
        );
        report("algo.batch_size", Severity::Error, message, Some(format!("batch_size: {rollout}")));
    } else if settled.all_fine(&["algo.normalize_advantages"])
        && layers.flag("algo.normalize_advantages")
        && batch.min(rollout) == 1
    {
        let path = if batch == 1 { "algo.batch_size" } else { "algo.rollout_steps" };
        let message = "one sample per batch can't be normalised: its advantage would always be 0".to_owned();
        let hint = "use a larger batch, or normalize_advantages: false".to_owned();
        report(path, Severity::Error, message, Some(hint));
    }
}

fn check_seeds(settled: &Settled<'_>, report: &mut Report<'_>) {
    let layers = settled.layers;
    if !settled.all_fine(&["seed", "seeds"]) {
        return;
    }
    let seed = layers.count("seed");
    match layers.value("seeds") {
        Some(Value::SeedCount(count)) if seed + (count - 1) > MAX_SEED => {
            let message = format!("`seeds: {count}` from `seed: {seed}` passes the largest seed, {MAX_SEED}");
            report("seeds", Severity::Error, message, None);
        }
        Some(Value::SeedList(list)) if layers.is_chosen("seed") && list[0] != seed => {
            let message =
                format!("`seed` {seed} has no effect beside a list of seeds that starts with {}", list[0]);
            report("seed", Severity::Warning, message, Some(format!("seed: {}", list[0])));
        }
        _ => {}
    }
}
