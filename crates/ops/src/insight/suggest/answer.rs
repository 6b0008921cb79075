//! What `rlx suggest` says about the run itself. It judges by the same facts as `rlx diagnose`, so that the two never
//! contradict each other.

use rlxp_analyze::diagnose::{Actions, RuleSet, Severity};
use rlxp_analyze::suggest::{Reached, State, Unanswered};
use rlxp_store::MEAN_RETURN;

use crate::insight::diagnose::{actions, good_return};
use crate::insight::run_data::{RunData, SeedState};

/// What the run reached, according to its last evaluations.
pub(super) fn standing(run: &RunData) -> Reached {
    let last: Vec<(u64, f64)> = run
        .seeds
        .iter()
        .filter_map(|seed| {
            let series = seed.series("eval", MEAN_RETURN)?;
            Some((*series.steps.last()?, *series.values.last()?))
        })
        .collect();
    let failed = run.seeds.iter().filter(|seed| seed.state == SeedState::Failed).count();
    let is_done = run.seeds.iter().all(|seed| seed.state == SeedState::Finished);
    let mean =
        (!last.is_empty()).then(|| last.iter().map(|(_, value)| value).sum::<f64>() / last.len() as f64);
    let good = good_return(&run.config, mean);
    let step = last.iter().map(|(step, _)| *step).max().unwrap_or(0);
    let from_step = last.iter().map(|(step, _)| *step).min().unwrap_or(0);
    Reached::new(mean, step, (last.len(), failed), good.as_ref(), is_done).since(from_step)
}

/// Whether every seed ends with a policy that F09 would call random.
pub(super) fn as_random_as_possible(run: &RunData) -> bool {
    let Some(Actions::Discrete { most_entropy }) = actions(&run.config) else { return false };
    let threshold = RuleSet::built_in().rule("F09").and_then(|rule| rule.thresholds.get("high"));
    let Some(high) = threshold.map(|threshold| threshold.value * most_entropy) else { return false };
    let is_random = |seed: &crate::insight::run_data::SeedData| {
        let last = seed.series("train", "entropy").and_then(|series| series.values.last().copied());
        last.is_some_and(|last| last > high)
    };
    !run.seeds.is_empty() && run.seeds.iter().all(is_random)
}

/// What the answer is made of besides the standing.
pub(super) struct Outcome<'a> {
    /// Suggestions that can be trained.
    pub(super) count: usize,
    pub(super) unanswered: &'a [Unanswered],
    /// The worst finding.
    pub(super) worst: Option<Severity>,
    /// Whether the environment has a starter.
    pub(super) has_starter: bool,
    /// Whether a setting lies far from the starter's.
    pub(super) is_far: bool,
}

pub(super) fn answer(standing: &Reached, outcome: &Outcome<'_>) -> String {
    let reached = standing.sentence().unwrap_or_else(|| "The run has no evaluation.".to_owned());
    let has_problems = outcome.worst >= Some(Severity::Warning);
    let said = match (outcome.count, standing.state) {
        (1, _) => "One suggestion:",
        (2.., _) => "Suggestions, most promising first:",
        (0, _) if !outcome.unanswered.is_empty() => "No config change would fix the findings.",
        (0, _) if has_problems => {
            "Nothing to suggest: no change that the findings point to can be trained and compared with this run."
        }
        (0, State::Good) => "No change needed; train more seeds to be sure.",
        (0, State::Poor) if outcome.is_far => {
            "Nothing to suggest: no rule points to a setting, and the starter's values don't fit this run's budget."
        }
        (0, State::Poor) if outcome.has_starter => {
            "Nothing to suggest: no rule points to a setting, and the config is close to the starter config."
        }
        (0, State::Poor) => "Nothing to suggest: no rule points to a setting.",
        (0, State::Unknown) if !standing.finished => "No problems found so far; the run is not finished.",
        (0, State::Unknown) if standing.mean_return.is_none() => {
            "No problems found, but nothing shows how good the policy is."
        }
        (0, State::Unknown) => "No problems found, but this environment has no known target return.",
    };
    let failed = match standing.failed {
        0 => String::new(),
        1 => "1 seed failed. ".to_owned(),
        failed => format!("{failed} seeds failed. "),
    };
    format!("{failed}{reached} {said}")
}

#[cfg(test)]
mod tests {
    use rlxp_analyze::suggest::{GoodReturn, Knowledge};

    use super::*;

    fn said(standing: &Reached, worst: Option<Severity>, has_starter: bool, is_far: bool) -> String {
        answer(standing, &Outcome { count: 0, unanswered: &[], worst, has_starter, is_far })
    }

    #[test]
    fn a_target_is_not_unknown_because_the_run_is_not_finished() {
        let good = Knowledge::built_in().good_return("CartPole-v1");
        let running = Reached::new(Some(500.0), 1, (1, 0), good, false);
        let text = said(&running, None, true, false);
        assert!(text.contains("reaches 490") && text.ends_with("so far; the run is not finished."), "{text}");
        let unknown = Reached::new(Some(500.0), 1, (1, 0), None, true);
        assert!(said(&unknown, None, true, false).contains("no known target return"));
    }

    #[test]
    fn findings_are_never_denied() {
        for good in [None, Some(400.0), Some(600.0)] {
            let good = good.map(|value| GoodReturn { env_id: String::new(), value, basis: String::new() });
            for is_done in [true, false] {
                let standing = Reached::new(Some(500.0), 1, (1, 0), good.as_ref(), is_done);
                let text = said(&standing, Some(Severity::Warning), true, false);
                assert!(!text.contains("No problems") && !text.contains("No change needed"), "{text}");
                assert!(text.contains("the findings point to"), "{text}");
            }
        }
    }

    #[test]
    fn a_config_is_called_close_to_the_starter_only_if_it_is() {
        let good = Knowledge::built_in().good_return("CartPole-v1");
        let poor = Reached::new(Some(20.0), 1, (1, 0), good, true);
        assert!(said(&poor, None, true, false).contains("close to the starter"));
        assert!(!said(&poor, None, true, true).contains("close to the starter"));
    }
}
