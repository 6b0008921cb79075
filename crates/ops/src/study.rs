//! Governed studies over files: where they are, reading one whole, adding to its ledger, and the verbs over that.
//!
//! | module | what it does |
//! |---|---|
//! | [`place`] | which file is where, and which study is meant |
//! | [`read`] | everything of a study, read at one moment without following a link |
//! | [`desk`] | an opened study that can be added to |
//! | [`state_file`] | `state.json`, for people and other programs; never read |
//! | [`init`], [`registry`], [`status`], [`next`], [`audit`], [`end`], [`export`] | `rlx study` |
//! | [`ledger`], [`verify`] | `rlx ledger`, `rlx verify` |
//! | [`guard`] | what keeps other verbs out of a governed folder |
//!
//! What any of it means is decided by `rlxp-govern`, which touches no file.

pub mod audit;
pub mod desk;
pub mod end;
pub mod export;
mod guard;
pub mod init;
pub mod ledger;
pub mod next;
pub mod place;
pub mod read;
pub mod registry;
pub mod state_file;
pub mod status;
pub mod verify;

pub use desk::Desk;
pub use guard::{guard, guard_at};
pub use place::{Places, StudyPlace};
