//! `study next`: the one next step, from files alone.

use rlxp_govern::documents::StudyName;
use rlxp_govern::next::{Next, next as next_step};
use serde::Serialize;

use super::desk::Desk;
use crate::context::Context;
use crate::failure::Outcome;

/// The next step of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextReport {
    /// The study.
    pub study: StudyName,
    /// What to do.
    #[serde(flatten)]
    pub next: Next,
}

/// The next step; for a broken ledger it is to stop.
pub fn next(context: &Context, study: Option<&str>) -> Outcome<NextReport> {
    let desk = Desk::look(context, study)?;
    let report = NextReport { study: desk.study.name.clone(), next: next_step(&desk.study) };
    desk.leave();
    Ok(report)
}
