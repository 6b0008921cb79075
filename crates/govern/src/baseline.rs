//! What everything is compared with: the first candidate of kind `baseline` that was launched in its confirm phase. It
//! stays the baseline however it ends, so that baselines can't be tried until one is easy to beat.

use crate::documents::{Phase, Slug};
use crate::ledger::attempts;
use crate::ledger::state::RunRecord;
use crate::machine::{CandidateState, EndCause};
use crate::run_approval::{has_failed, unapproved};
use crate::view::Study;

/// How far the baseline of a study is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineStatus {
    /// No candidate was launched as the baseline.
    Missing,
    /// Seeds of its confirm phase are left.
    Unfinished(Slug),
    /// These runs count only once a person approves them.
    Unapproved(Slug, Vec<String>),
    /// No seed finished, or it can't be finished any more: only a new study can have another baseline.
    Failed(Slug),
    /// An older version of rlx ran it without evaluation seeds: nothing can be compared with it.
    NotComparable(Slug),
    /// It can be compared with.
    Complete(Slug),
}

impl BaselineStatus {
    pub fn of(study: &Study) -> Self {
        let state = study.state();
        let Some(id) = state.baseline.clone() else { return Self::Missing };
        let Some(record) = state.candidates.get(&id) else { return Self::Missing };
        let mut runs = state.runs_of_plan(&id);
        runs.retain(|run| run.intent.phase == Phase::Confirm);
        if runs.iter().any(|run| run.intent.evaluation_seed.is_none()) {
            return Self::NotComparable(id);
        }
        let planned = record.validated.phases.iter().find(|planned| planned.phase == Phase::Confirm);
        let planned = planned.map_or(0, |planned| planned.seeds);
        let done = attempts::done(&runs, state.side_of(&id));
        if (done.len() as u64) < planned || runs.iter().any(|run| run.not_evidence().is_some()) {
            let can_continue = record.state == CandidateState::Launched
                && runs.iter().all(|run| run.not_evidence().is_none());
            return if can_continue { Self::Unfinished(id) } else { Self::Failed(id) };
        }
        let spec = study.files.metric_spec.typed();
        let has_finished =
            |run: &RunRecord| run.cause() == Some(EndCause::Finished) && !has_failed(run, spec);
        if !done.iter().any(|attempts| has_finished(attempts.last)) {
            return Self::Failed(id);
        }
        let waiting: Vec<String> = unapproved(study, &id, Phase::Confirm)
            .into_iter()
            .map(|(run, _)| run.intent.key.clone())
            .collect();
        if waiting.is_empty() { Self::Complete(id) } else { Self::Unapproved(id, waiting) }
    }

    /// Why only a new study helps, where that is so.
    pub fn dead_end(&self) -> Option<String> {
        match self {
            Self::Failed(id) => {
                Some(format!("baseline {id} has no usable result, and a study has one baseline"))
            }
            Self::NotComparable(id) => Some(format!(
                "baseline {id} was evaluated without evaluation seeds by an earlier version of rlx, and nothing can \
                 be compared with it"
            )),
            _ => None,
        }
    }
}

/// The command that opens a study after this one.
pub fn new_study(study: &Study) -> String {
    let name = study.name.study.as_str();
    let numbered = name.rsplit_once('-').and_then(|(stem, number)| Some((stem, number.parse::<u64>().ok()?)));
    let next = match numbered {
        Some((stem, number)) => format!("{stem}-{}", number.saturating_add(1)),
        None => format!("{name}-2"),
    };
    format!("rlx study init --task {} --study {next}", study.name.task)
}
