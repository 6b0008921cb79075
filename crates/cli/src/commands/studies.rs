//! Commands of governed studies.

pub(super) mod approve;
pub(super) mod autoloop;
pub(super) mod candidate;
pub(super) mod contract;
pub(super) mod doctor;
pub(super) mod launch;
pub(super) mod ledger;
pub(super) mod metric;
pub(super) mod queue;
pub(super) mod run_shim;
pub(super) mod study;
pub(super) mod verify;
