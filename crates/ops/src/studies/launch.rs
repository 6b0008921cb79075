//! The one launch path of governed studies: an approved candidate is planned, launched, watched, limited, called off
//! and recovered here, and nowhere else.
//!
//! | module | what it does |
//! |---|---|
//! | [`plan`] | `rlx launch ID`: the whole plan, before anything is started |
//! | [`execute`] | `rlx launch ID --execute`: the runs of a phase, watched to their end |
//! | `begin` | all that gates look at, read side by side |
//! | `start` | one run from the gates to the moment it goes |
//! | `claim` | who launches a run, among many who want to |
//! | [`shim`] | `rlx __run`: the parent of a run, which writes its end |
//! | `settle` | runs that are over, put on record by whoever finds them |
//! | [`watch`] | `rlx launch status`, `cancel`, `logs`, `adopt` |
//! | [`probe`] | `rlx launch --probe`: a step that is only tried |
//! | [`handoff`] | runs that somebody else runs, and what comes back |
//! | `tree`, `inputs`, `order`, `loaded`, `files` | code, needed files, orders, witnesses and files of a run |
//!
//! What may be launched is decided by `rlxp-govern`; how it is started, kept apart and ended is `rlxp-launch`.

mod begin;
mod claim;
pub mod execute;
mod files;
pub mod handoff;
mod inputs;
mod loaded;
mod order;
pub mod plan;
pub mod probe;
mod reconcile;
pub mod shim;
mod start;
mod tree;
pub mod watch;

use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::RunState;
use rlxp_launch::order::Mechanisms;

/// The body of `rlx __confine`, which prepares a step and becomes it.
pub fn confine() -> u8 {
    rlxp_launch::confine::helper()
}

/// What this machine can do to keep runs apart. The process ends up kept apart itself, so this is the last thing it does.
pub fn abilities() -> Mechanisms {
    rlxp_launch::confine::probe_here()
}

/// Whether the seed of a run comes again.
fn may_come_again(run: &RunRecord) -> bool {
    matches!(run.state, RunState::Ended(end) if end.may_run_again())
}
