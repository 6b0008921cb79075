//! `rlx study probe`: where a trained policy keeps working while one parameter of the environment varies.
//!
//! A plan writes a candidate, which is validated, approved and launched like any other; its grid can't change after its
//! first run. A summary counts what those runs left.

mod plan;
mod summarize;

pub use plan::{ProbePlanReport, ProbePlanRequest, plan};
pub(crate) use summarize::compute as compute_summary;
pub use summarize::{ProbeSummaryReport, summarize};
