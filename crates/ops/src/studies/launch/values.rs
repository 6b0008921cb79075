//! What is recorded of the values of variables that a step gets. They may be secret, so no file has them, but a run with
//! another value than the ones it is compared with should show.

use std::collections::BTreeMap;

use rlxp_fs::{Fs, FsExt, environment};
use rlxp_govern::documents::{Step, StepName};
use rlxp_govern::ledger::StudyState;
use rlxp_launch::order::{RunOrder, ValueMark, value_digest};
use rlxp_types::Digest;

use crate::studies::files::launch_paths::LaunchPaths;

/// Orders are small.
const LONGEST_ORDER: u64 = 16 << 20;

/// The order of the first run of the incumbent, or else of the baseline, whose files are here.
pub(super) fn reference(fs: &dyn Fs, state: &StudyState, place: &LaunchPaths) -> Option<RunOrder> {
    let candidate = state.incumbent.as_ref().or(state.baseline.as_ref())?;
    let runs = state.runs_of(candidate).into_iter().filter(|run| run.is_measured());
    let order = |key: &str| {
        let bytes = fs.read(&place.run(key).order(), LONGEST_ORDER).ok()?;
        RunOrder::from_bytes(&bytes, Digest::hash(&bytes)).ok()
    };
    runs.into_iter().find_map(|run| order(&run.intent.key))
}

/// What is recorded of the present values of a step's variables.
pub(super) fn marks(
    run: &str,
    name: StepName,
    step: &Step,
    reference: Option<&RunOrder>,
) -> BTreeMap<String, ValueMark> {
    let values = step.environment.iter().map(|name| (name, environment::variable(name)));
    let same_step = |order: &&RunOrder| order.steps.iter().position(|step| step.name == name.as_str());
    let before = reference.and_then(|order| Some((&order.key, &order.steps[same_step(&order)?].values)));
    values.map(|(name, value)| (name.clone(), mark(run, name, value.as_deref(), before))).collect()
}

/// What is recorded of one value. `before` are the values of another run.
fn mark(
    run: &str,
    name: &str,
    value: Option<&str>,
    before: Option<(&String, &BTreeMap<String, ValueMark>)>,
) -> ValueMark {
    let digest_in = |run: &str| value.map(|value| value_digest(run, name, value));
    let differs = |(key, values): &(&String, &BTreeMap<String, ValueMark>)| {
        values.get(name).is_some_and(|mark| mark.digest != digest_in(key))
    };
    ValueMark { digest: digest_in(run), differs_from: before.filter(differs).map(|(key, _)| key.clone()) }
}

/// Variables with another value than before, for people.
pub(super) fn different(step: &str, values: &BTreeMap<String, ValueMark>) -> Vec<String> {
    let differing = values.iter().filter_map(|(name, mark)| Some((name, mark.differs_from.as_ref()?)));
    differing.map(|(name, run)| format!("{step}: {name} has another value than in run {run}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_value_shows_and_equal_ones_of_two_runs_do_not() {
        let (one, other) = ("a-1".to_owned(), "a-2".to_owned());
        let first = mark(&one, "MODE", Some("fast"), None);
        let before = BTreeMap::from([("MODE".to_owned(), first.clone())]);
        let second = |value: Option<&str>| mark(&other, "MODE", value, Some((&one, &before)));
        assert_ne!(second(Some("fast")).digest, first.digest);
        assert_eq!(second(Some("fast")).differs_from, None);
        for value in [Some("slow"), Some(""), None] {
            assert_eq!(second(value).differs_from.as_ref(), Some(&one), "{value:?}");
        }
        // A variable that an earlier runbook didn't have can't be compared.
        assert_eq!(mark(&other, "NEW", Some("x"), Some((&one, &before))).differs_from, None);
        assert_eq!(different("train", &BTreeMap::from([("MODE".to_owned(), second(None))])).len(), 1);
    }
}
