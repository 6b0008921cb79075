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
    /// Why the command can't be followed, where this version doesn't have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_yet: Option<&'static str>,
}

/// Commands below `rlx study` that a next step may name and that this version doesn't have.
pub const NOT_YET: [&str; 2] = ["judge", "report"];

/// Why it doesn't have them.
pub const NOT_YET_REASON: &str = "this version of rlx can't judge the candidates of a study";

/// Why a step's command can't be followed, where this version doesn't have it.
pub fn not_yet(next: &Next) -> Option<&'static str> {
    matches!(next.action, Action::Judge | Action::Report).then_some(NOT_YET_REASON)
}

/// The next step; for a broken ledger it is to stop.
pub fn next(context: &Context, study: Option<&str>) -> Outcome<NextReport> {
    let opened = OpenStudy::look(context, study)?;
    let mut next = next_step(&opened.study);
    if next.action == Action::Audit
        && context.fs.metadata_if_any(&opened.place.adapter())?.is_none()
        && let Some(command) = suggestion(context, &opened.place.root)?
    {
        next.command = Some(command);
    }
    if let Some(stale) = next.launches.as_ref().and_then(|id| stale(&opened, id)) {
        next = stale;
    }
    let report = NextReport { study: opened.study.name.clone(), not_yet: not_yet(&next), next };
    opened.leave();
    Ok(report)
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
