//! The ledger: everything that happened in a study, one record per line, each naming the one before.
//!
//! [`record`] is the form of a line, [`event`] what can happen, [`chain`] whether the lines belong
//! together, [`state`] the resulting state. An unknown kind of event, an invalid transition or a broken
//! link ends the reading: in a study whose ledger can't be read to its end, nothing may be done.

pub mod attempts;
pub mod chain;
pub mod event;
pub mod record;
pub mod state;

pub use chain::{
    Anchor, ChainProblem, Ledger, Remedy, against, against_copy, problems, read, read_lines, split,
};
pub use event::Event;
pub use record::{Actor, Record};
pub use state::StudyState;
