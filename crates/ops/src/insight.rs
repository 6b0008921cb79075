//! What runs say: listing, comparing, drawing, diagnosing and describing them.
//!
//! Most verbs start from `run_data`, the loaded data of some runs. `group_names` and `group_order` decide what groups
//! of them are called and which come first, for every verb alike.

pub mod analyze;
pub mod compare;
mod config_keys;
pub mod curve;
pub mod diagnose;
pub mod diff;
pub mod explain;
mod group_names;
pub mod group_order;
pub mod inspect;
pub mod landscape;
pub mod list;
pub mod notes;
pub mod plot;
pub mod report;
pub mod run_data;
pub mod runs;
pub mod stats;
pub mod suggest;
pub mod summarize;
pub mod tail;
pub mod time_left;
pub mod video;
