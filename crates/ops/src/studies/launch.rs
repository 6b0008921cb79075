//! The one launch path of governed studies: an approved candidate is planned, launched, watched, limited, cancelled
//! and recovered here, and nowhere else. Read [`execute`] first: it is a launch in the order of its steps.
//!
//! | module | what it does |
//! |---|---|
//! | [`execute`] | `rlx launch ID --execute`: the runs of a phase, watched to their end |
//! | `ready` | everything the gates look at, and their answer |
//! | `claim` | which process launches a run, among many that want to |
//! | `layout` | the folder of a run: its code, needed files and order |
//! | `supervisor` | starts the parent of a run |
//! | [`shim`] | `rlx __run`: that parent, which writes the end of the run |
//! | `reconcile` | records runs that are over, in whichever command finds them |
//! | [`outcome`] | runs as events and reports show them |
//! | [`plan_report`] | `rlx launch ID`: the whole plan, before anything is started |
//! | [`watch`] | `rlx launch status`, `cancel`, `logs`, `adopt` |
//! | [`probe`] | `rlx launch --probe`: a step that is only tried |
//! | [`handoff`] | runs on an external runtime, and their results |
//! | `inputs`, `run_order`, `interpreter`, `values`, `loaded`, `files` | needed files, orders, what steps may read, what is recorded of variables, witnesses and files of a run |
//! | `scan` | files that training left and that could run code |
//!
//! What may be launched is decided by `rlxp-govern`; how it is started, sandboxed and ended is `rlxp-launch`.

mod claim;
pub mod execute;
mod files;
pub mod handoff;
mod inputs;
mod interpreter;
mod layout;
mod loaded;
pub mod outcome;
pub mod plan_report;
pub mod probe;
mod ready;
mod reconcile;
mod run_order;
mod scan;
pub mod shim;
mod supervisor;
mod values;
pub mod watch;

use rlxp_launch::order::Mechanisms;

pub(crate) use files::{Manifest, ManifestFile, bytes, recorded_manifest};
pub(crate) use inputs::present as present_inputs;
pub(crate) use reconcile::reconcile;

/// The body of `rlx __confine`, which prepares a step and becomes it.
pub fn confine() -> u8 {
    rlxp_launch::confine::helper()
}

/// The sandboxing features of this machine. Probing sandboxes the calling process, which must exit afterwards.
pub fn abilities() -> Mechanisms {
    rlxp_launch::confine::probe_here()
}
