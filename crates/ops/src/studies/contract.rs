//! `rlx contract`: drafting, checking, comparing and presenting the four files that people approve.
//!
//! | module | what it does |
//! |---|---|
//! | [`scan`] | what the repository's own files tell about how it trains |
//! | `flags` | which values a script takes on its command line |
//! | `interpreter` | the Python that a project uses |
//! | `not_in_commits` | files that a run doesn't get from a commit |
//! | [`ask`] | the questions of the intake, with the answers found by the scan |
//! | [`parse`] | answers as people type them, as types |
//! | [`draft`] | answers as four YAML files that read well |
//! | [`intake`] | `contract new`: scan, questions, files |
//! | `last_draft` | what the last intake wrote, so that it can be run again |
//! | [`input`] | `contract input`: a file that runs need and git ignores |
//! | [`check`] | `contract check`: every problem with its place |
//! | `schedule` | the looks that a number of runs allows |
//! | [`power`] | what the agreed statistics can find |
//! | [`approved_text`] | what was approved, kept for people to compare with |
//! | [`diff`] | `contract diff`: what changed since each approval |
//! | [`request`] | `contract request`: what a person reads before approving |
//! | `warn` | what is likely a mistake though it is complete |
//! | [`import`] | caches of older tools, taken over word for word |

pub(crate) mod allows;
pub mod approved_text;
pub mod ask;
pub mod check;
pub mod diff;
pub mod draft;
pub mod import;
pub mod input;
pub mod intake;
mod interpreter;
mod last_draft;
mod not_in_commits;
pub mod parse;
pub mod power;
pub mod request;
pub mod scan;
mod schedule;
mod survey_text;
pub(crate) mod warn;

pub use approved_text::keep_approved;
pub use ask::{Answers, Ask, Question};
pub use intake::Intake;
