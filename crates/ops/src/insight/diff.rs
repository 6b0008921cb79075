//! `rlx diff`: what changed from one run to another, without scores or verdicts.

use serde::Serialize;

use crate::context::Context;
use crate::failure::Outcome;
use crate::insight::compare::{Changes, changes_between};
use crate::insight::run_data::{RunData, load_record};

#[derive(Clone, Debug, Default)]
pub struct DiffRequest {
    /// The run to start from.
    pub a: String,
    /// The run that may differ.
    pub b: String,
}

/// What differs between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffReport {
    /// The name of the first run, with its seed if one was named.
    pub a: String,
    /// The name of the second.
    pub b: String,
    /// Whether config, code and seeds are the same.
    pub same: bool,
    #[serde(flatten)]
    pub changes: Changes,
}

pub fn diff(context: &Context, request: &DiffRequest) -> Outcome<DiffReport> {
    let (a, b) = (load_record(context, &request.a)?, load_record(context, &request.b)?);
    let (a_name, b_name) = (name(&a), name(&b));
    let changes = changes_between(context, a, b);
    let same = changes.config.is_empty() && changes.code.is_empty() && changes.seeds.same;
    Ok(DiffReport { a: a_name, b: b_name, same, changes })
}

/// A run, or the one of its seeds that was named.
fn name(run: &RunData) -> String {
    match &run.seeds[..] {
        [seed] if run.metadata.seeds.len() > 1 => format!("{}:{}", run.name, seed.seed),
        _ => run.name.clone(),
    }
}
