//! What runs say: listing, comparing, drawing, diagnosing and describing them.
//!
//! Most verbs start from `material`, the loaded data of some runs.

pub mod analyze;
pub mod compare;
mod config_keys;
pub mod curve;
pub mod diagnose;
pub mod explain;
pub mod inspect;
pub mod plot;
pub mod report;
pub mod run_data;
pub mod runs;
mod show;
pub mod stats;
pub mod suggest;
pub mod summarize;
pub mod tail;
pub mod time_left;
pub mod video;
