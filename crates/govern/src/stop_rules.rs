//! Rules of a contract that end a study.

use crate::documents::{Contract, Direction, StopRule};
use crate::view::Study;

/// The stop rule that applies, as text.
pub(crate) fn stop_rule(study: &Study, contract: &Contract) -> Option<String> {
    let state = study.state();
    contract.stop_rules.iter().find_map(|rule| match rule {
        StopRule::TargetReached { value } => {
            let score = state.incumbent_score?;
            let reached = match study.files.metric_spec.typed()?.primary.direction {
                Direction::Higher => score >= *value,
                Direction::Lower => score <= *value,
            };
            reached.then(|| format!("the incumbent has reached {score}; the target is {value}"))
        }
        StopRule::NoImprovement { candidates } => (state.misses_in_a_row >= *candidates)
            .then(|| format!("{} candidates in a row were not accepted", state.misses_in_a_row)),
        StopRule::FailuresInARow { runs } => (state.failures_in_a_row >= *runs)
            .then(|| format!("{} runs in a row failed", state.failures_in_a_row)),
    })
}
