//! Keeps a changed rollout consistent with the rest of the config: with its batches, and with the steps that the run
//! trains, which are whole rollouts.

use serde_json::{Value, json};

use super::Change;
use super::setting::{Settings, rollout};
use crate::diagnose::RuleSet;

/// The key of the budget.
pub(super) const BUDGET: &str = "algo.total_timesteps";
const BATCH: &str = "algo.batch_size";
/// Keys that make the size of a rollout.
const ROLLOUT: [&str; 2] = ["env.num_envs", "algo.rollout_steps"];
/// Steps that differ by no more than this differ by rounding to rollouts.
const ROUNDING: f64 = 0.05;

/// `changes` with what must change along with a rollout, so that the new run can be trained and compared.
pub(super) fn fitted(mut changes: Vec<Change>, settings: &Settings, reference: &Settings) -> Vec<Change> {
    if !changes.iter().any(|change| ROLLOUT.contains(&change.key.as_str())) {
        return changes;
    }
    let after = changed(settings, &changes);
    // A batch can't be larger than the rollout it is taken from.
    if let (Some(size), Some(batch)) = (rollout(&after), count(&after, BATCH))
        && batch > size
    {
        let to = count(reference, BATCH).filter(|batch| *batch <= size).unwrap_or(size);
        changes.retain(|change| change.key != BATCH);
        changes.extend(settings.get(BATCH).and_then(|from| Change::between(BATCH, from, &json!(to))));
    }
    // One huge rollout can be far longer than the budget; small ones would train for a fraction of its steps.
    if let (Some(before), Some(now)) = (trained(settings), trained(&after))
        && (now as f64) < (1.0 - ROUNDING) * before as f64
        && !changes.iter().any(|change| change.key == BUDGET)
    {
        changes.extend(settings.get(BUDGET).and_then(|from| Change::between(BUDGET, from, &json!(before))));
    }
    changes
}

/// What to know about changed rollouts: the budget holds only a few of them, or had to change along.
pub(super) fn risk(changes: &[Change], settings: &Settings) -> Option<String> {
    if let Some(budget) = changes.iter().find(|change| change.key == BUDGET) {
        return Some(format!(
            "the setting may not be the only cause; {BUDGET} becomes {}, which this run trained in whole rollouts, so \
             that both are equally long",
            budget.to
        ));
    }
    let after = changed(settings, changes);
    let (before, size, budget) = (rollout(settings)?, rollout(&after)?, count(&after, BUDGET)?);
    let updates = budget.div_ceil(size.max(1));
    // As few as F49 reports.
    let few = RuleSet::built_in().rule("F49")?.thresholds.get("updates")?.value;
    let plural = if updates == 1 { "" } else { "s" };
    (size > before && (updates as f64) < few).then(|| {
        format!(
            "the budget of {budget} steps holds only {updates} rollout{plural} of this size: raise {BUDGET} as well"
        )
    })
}

fn changed(settings: &Settings, changes: &[Change]) -> Settings {
    let mut after = settings.clone();
    after.extend(changes.iter().map(|change| (change.key.clone(), change.to.clone())));
    after
}

fn count(settings: &Settings, key: &str) -> Option<u64> {
    settings.get(key).and_then(Value::as_u64)
}

/// Steps that a run trains: its budget in whole rollouts.
fn trained(settings: &Settings) -> Option<u64> {
    let size = rollout(settings)?.max(1);
    count(settings, BUDGET)?.div_ceil(size).checked_mul(size)
}
