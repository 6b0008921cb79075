//! The ledger: everything that happened in a study, one record per line, each naming the one before.
//!
//! [`record`] is the form of a line, [`event`] what can happen, [`chain`] whether the lines belong together, [`state`]
//! what they add up to. An unknown kind of event, an impossible move or a broken link ends the reading: a study whose
//! record isn't understood to its end is one in which nothing may be done.

pub mod chain;
pub mod event;
pub mod record;
pub mod state;

pub use chain::{Anchor, ChainProblem, Ledger, against, problems, read, read_lines, split};
pub use event::Event;
pub use record::{Actor, Record};
pub use state::StudyState;
