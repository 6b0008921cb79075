//! Governed studies over files: contracts, candidates, approvals, launches and
//! the ledger that records them.
//!
//! | module | what it does |
//! |---|---|
//! | [`files`] | which file is where, reading a study whole, and adding to its ledger |
//! | [`contract`], [`approve`], [`candidate`], [`queue`], [`metric`] | the verbs of these names |
//! | [`launch`] | `rlx launch`: from a queued job to a supervised run |
//! | [`study`] | `rlx study` |
//! | [`ledger`], [`verify`], [`doctor`] | `rlx ledger`, `rlx verify`, `rlx doctor` |
//!
//! What any of it means is decided by `rlxp-govern`, which touches no file.

pub mod approve;
pub mod candidate;
pub mod contract;
pub mod doctor;
pub mod files;
pub mod launch;
pub mod ledger;
pub mod metric;
pub mod queue;
pub mod study;
pub mod verify;
