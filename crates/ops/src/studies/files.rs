//! The files of a study.
//!
//! | module | what it does |
//! |---|---|
//! | [`paths`] | which file is where, and which study is meant |
//! | [`read`] | everything of a study, read at one moment without following a link |
//! | [`ledger_reader`] | a ledger, read by two threads
//! | [`opened`] | an opened study that can be added to |
//! | [`state_file`] | `state.json`, for people and other programs; never read |
//! | [`copy`] | the copy of a ledger outside the repository |
//! | [`guard`] | what keeps other verbs out of a governed folder |

mod anchors;
pub(crate) mod copy;
mod guard;
pub(crate) mod launch_paths;
pub mod ledger_reader;
pub mod open_study;
pub mod paths;
pub mod read;
pub mod state_file;

pub(crate) use anchors::{read_anchors, usual_place};
pub(crate) use guard::{
    permit_launch, permit_probe, permit_supervisor, permit_training, permit_worker, refuse_weaker_beside,
};
pub use guard::{refuse_governed, refuse_governed_at};
pub use open_study::OpenStudy;
pub use paths::{RepositoryPaths, StudyPaths};
