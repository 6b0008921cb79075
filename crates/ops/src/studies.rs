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
//! | [`accept`], [`revert`], [`export_code`] | the code that an acceptance leaves, undoing one, and bringing the code out |
//! | [`clean`] | `rlx study clean`: what can go from the user's state folder |
//! | [`extract`] | `rlx study extract`: metrics from the files of runs |
//! | [`autoloop`] | `rlx autoloop`: the next step, again and again |
//! | [`judge`] | `rlx study judge`: looks, verdicts and decisions |
//! | [`report`], [`monitor`] | `rlx study report` and `rlx study monitor` |
//! | [`reflect`], [`probing`], [`propose`] | `rlx study reflect`, `probe` and `propose`: what runs show, and what follows |
//! | [`analysis_file`] | what these write, and how it is recorded |
//! | `present` | the values of agreed keys in the code that candidates start from |
//! | [`ledger`], [`verify`], [`doctor`] | `rlx ledger`, `rlx verify`, `rlx doctor` |
//!
//! What any of it means is decided by `rlxp-govern`, which touches no file.

pub mod accept;
pub mod analysis_file;
pub mod approve;
pub mod approver_key;
pub mod audit;
pub mod autoloop;
pub mod candidate;
pub mod clean;
pub mod contract;
pub mod doctor;
pub mod export_code;
pub mod extract;
pub mod files;
pub mod judge;
pub mod launch;
pub mod ledger;
pub mod metric;
pub mod monitor;
mod present;
pub mod probing;
pub mod propose;
pub mod queue;
pub mod reflect;
pub mod report;
pub mod revert;
mod scripts;
pub mod study;
pub mod tree;
pub mod verify;
