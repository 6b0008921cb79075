//! `rlx summarize`: a run in one paragraph that can be pasted into a message, or many runs in a table: grouped by
//! environment and config with pooled seeds, and with a caveat about the best of many.
//!
//! Of many runs only small files are read: the index's row, the config and the newest checkpoint's manifest, which
//! has the last and the best evaluation.

mod groups;
mod one;
mod which;

use serde::Serialize;

use crate::context::Context;
use crate::failure::Outcome;
use crate::insight::group_order::check_best;

pub use crate::insight::config_keys::KeyChange;
pub use groups::{Counts, EnvSummary, GroupSummary, VariedKey};
pub use one::RunSummary;

/// What to summarise.
#[derive(Clone, Debug, Default)]
pub struct SummarizeRequest {
    /// Runs, `tag:TAG`, `A+B`, or folders with runs; empty for the whole project.
    pub words: Vec<String>,
    /// Keep only this many groups of each environment, the best.
    pub best: Option<usize>,
}

/// Several runs.
#[derive(Clone, Debug, Serialize)]
pub struct SetSummary {
    pub what: String,
    /// How many runs of which status.
    pub counts: Counts,
    pub environments: Vec<EnvSummary>,
    /// Runs that can't be read, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// What a reader must know about how seeds were counted.
    pub notes: Vec<String>,
    /// Commands to continue with.
    pub next: Vec<String>,
}

/// A run, or several.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum SummaryReport {
    Run(Box<RunSummary>),
    /// A set of runs.
    Set(SetSummary),
}

pub fn summarize(context: &Context, request: &SummarizeRequest) -> Outcome<SummaryReport> {
    check_best(request.best)?;
    match which::which(context, &request.words)? {
        which::Which::One(word) => Ok(SummaryReport::Run(Box::new(one::summary(context, &word)?))),
        which::Which::Several(chosen) => Ok(SummaryReport::Set(groups::summary(chosen, request.best)?)),
    }
}
