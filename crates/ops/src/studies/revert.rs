//! `rlx study revert`: undoes the acceptance of the incumbent. The earlier incumbent, with its seeds and its code, is
//! what candidates are compared with and train from again.

use rlxp_govern::documents::{Base, CandidateKind, Slug, StudyName};
use rlxp_govern::ledger::event::Reverted;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::CandidateState;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::accept::reference;
use crate::studies::candidate::known;
use crate::studies::files::OpenStudy;

/// An acceptance that was undone.
#[derive(Clone, Debug, Serialize)]
pub struct RevertReport {
    pub study: StudyName,
    pub candidate: Slug,
    pub reason: String,
    /// What candidates are compared with from now on.
    pub incumbent: Option<Slug>,
    /// What they train from; `None` if the base code is unknown.
    pub code: Option<Base>,
    /// The ref that still names the code of the reverted candidate; `None` without git.
    pub kept: Option<String>,
    /// Problems that did not change the result.
    pub warnings: Vec<String>,
}

/// Records that the incumbent is undone. Its runs, its verdict and its code stay on record.
pub fn revert(context: &Context, study: Option<&str>, name: &str, reason: &str) -> Outcome<RevertReport> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(Failure::usage("no_reason", "the reason is empty"));
    }
    let mut opened = OpenStudy::open(context, study)?;
    let id = known(&opened, name)?;
    check(&opened, &id)?;
    let code = opened.study.state().accepted_code().map(|code| code.base.clone());
    let event = Reverted { candidate: id.clone(), reason: reason.to_owned() };
    opened.append(Actor::Rlx, Event::Reverted(event))?;
    let state = opened.study.state();
    let now = state.accepted_code().map(|code| code.base.clone());
    Ok(RevertReport {
        study: opened.study.name.clone(),
        kept: matches!(code, Some(Base::Commit(_))).then(|| reference(&opened.study.name, &id)),
        candidate: id,
        reason: reason.to_owned(),
        incumbent: state.incumbent.clone(),
        code: now.or_else(|| opened.study.pinned_base()),
        warnings: opened.warnings,
    })
}

fn check(opened: &OpenStudy, id: &Slug) -> Outcome<()> {
    let state = opened.study.state();
    let record = state.candidates.get(id);
    let found = record.map_or(CandidateState::Draft, |record| record.state);
    if found != CandidateState::Accepted {
        let message = format!("{id} is {found}; only an accepted candidate can be reverted");
        return Err(Failure::refused("not_accepted", message).hint("rlx candidate list"));
    }
    if record.is_some_and(|record| record.validated.kind == CandidateKind::Baseline) {
        let message =
            format!("{id} is the baseline, which everything is compared with; it can't be reverted");
        return Err(Failure::refused("is_baseline", message).hint("rlx study status"));
    }
    if let Some(incumbent) = state.incumbent.as_ref().filter(|incumbent| *incumbent != id) {
        let message =
            format!("{incumbent} was accepted after {id} and builds on it; revert {incumbent} first");
        return Err(Failure::refused("not_the_incumbent", message)
            .hint(format!("rlx study revert {incumbent} --reason TEXT")));
    }
    // It was planned on the code and against the results that are about to be undone.
    if let Some(run) = state.live().first() {
        let message = format!("run {} of {} is still active", run.intent.key, run.intent.candidate);
        return Err(Failure::refused("run_under_way", message)
            .hint(format!("rlx launch cancel {}", run.intent.key))
            .hint("rlx launch status"));
    }
    Ok(())
}
