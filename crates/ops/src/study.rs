//! Governed studies over files: where they are, reading one whole, adding to its ledger, and the verbs over that.
//!
//! | module | what it does |
//! |---|---|
//! | [`place`] | which file is where, and which study is meant |
//! | [`read`] | everything of a study, read at one moment without following a link |
//! | [`desk`] | an opened study that can be added to |
//! | [`state_file`] | `state.json`, for people and other programs; never read |
//!
//! What any of it means is decided by `rlxp-govern`, which touches no file.

pub mod desk;
pub mod place;
pub mod read;
pub mod state_file;

pub use desk::Desk;
pub use place::{Places, StudyPlace};
