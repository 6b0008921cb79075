//! Governed studies over files: contracts, candidates, approvals, launches and
//! the ledger that records them.
//!
//! | module | what it does |
//! |---|---|
//! | [`files`] | which file is where, reading a study whole, and adding to its ledger |
//! | [`contract`], [`approve`], [`candidate`], [`queue`], [`metric`] | the verbs of these names |
//! | [`approver_key`] | the person's own key for approvals |
//! | [`tree`] | the code that runs start from |
//! | [`launch`] | `rlx launch`: from a queued job to a supervised run |
//! | [`study`], [`audit`] | `rlx study` |
//! | `scripts` | what the scripts of a repository take on their command line |
//! | [`extract`] | `rlx study extract`: metrics from the files of runs |
//! | [`ledger`], [`verify`], [`doctor`] | `rlx ledger`, `rlx verify`, `rlx doctor` |
//!
//! What any of it means is decided by `rlxp-govern`, which touches no file.

pub mod approve;
pub mod approver_key;
pub mod audit;
pub mod candidate;
pub mod contract;
pub mod doctor;
pub mod extract;
pub mod files;
pub mod launch;
pub mod ledger;
pub mod metric;
pub mod queue;
mod scripts;
pub mod study;
pub mod tree;
pub mod verify;
