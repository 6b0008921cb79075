//! `study next`: the one next step, from files alone.

use rlxp_fs::FsExt;
use rlxp_govern::documents::{Slug, StudyName};
use rlxp_govern::next::{Action, Next, next as next_step, stale_plan};
use rlxp_govern::plan::Plan;
use serde::Serialize;

use super::first_audit::suggestion;
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::candidate::view;
use crate::studies::files::open_study::OpenStudy;

/// The next step of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextReport {
    pub study: StudyName,
    #[serde(flatten)]
    pub next: Next,
}

/// The next step; for a broken ledger it is to stop.
pub fn next(context: &Context, study: Option<&str>) -> Outcome<NextReport> {
    let opened = OpenStudy::look(context, study)?;
    let next = next_of(context, &opened, false)?;
    let report = NextReport { study: opened.study.name.clone(), next };
    opened.leave();
    Ok(report)
}

/// The next step of an opened study; with `reported`, as if everything that was judged had been reported.
pub(crate) fn next_of(context: &Context, opened: &OpenStudy, reported: bool) -> Outcome<Next> {
    let state = opened.study.state();
    let mut next = if reported && state.last_reported < state.last_judged {
        let mut study = opened.study.clone();
        study.ledger.state.last_reported = state.last_judged;
        next_step(&study)
    } else {
        next_step(&opened.study)
    };
    if next.action == Action::Audit
        && context.fs.metadata_if_any(&opened.place.adapter())?.is_none()
        && let Some(command) = suggestion(context, &opened.place.root)?
    {
        next.command = Some(command);
    }
    if let Some(stale) = next.launches.as_ref().and_then(|id| stale(opened, id)) {
        next = stale;
    }
    Ok(next)
}

/// Validating again, if the candidate that would be launched has another plan now. Only this one is looked at: reading
/// the repository for every candidate would be slow.
fn stale(opened: &OpenStudy, id: &Slug) -> Option<Next> {
    let view = view(opened, id).ok()?;
    let record = opened.study.state().candidates.get(id)?;
    let changed = match Plan::for_candidate(&opened.study, &view) {
        Some(plan) => Plan::differences(&record.validated.parts, &plan.parts),
        // Something that it needs is gone; validating says what.
        None => vec!["a file that it needs can't be read".to_owned()],
    };
    if changed.is_empty() { None } else { stale_plan(&opened.study, id, &changed) }
}
