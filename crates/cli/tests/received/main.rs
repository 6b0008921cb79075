//! Run folders that came from elsewhere: hostile in every place, stormed by many processes, killed at any instant. The
//! built `rlx` is attacked from outside, and what surrounds the run is watched.
//!
//! The whole corpus takes many minutes: `cargo xtask attack` runs it (the feature `attacks`); the tests of every day are
//! the storm, the cloned project, the index and removal.
#![cfg_attr(not(feature = "attacks"), expect(dead_code, reason = "most of the corpus is left out"))]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "these tests start the program and look at its files from outside"
)]

mod attack;
mod cloned;
mod commands;
mod hostile;
mod killing;
#[cfg(feature = "attacks")]
mod kills;
mod outside;
#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "some of what it offers is for tests of other commands")]
mod project;
mod received;
mod storm;
#[path = "../launch/trace/read.rs"]
#[expect(dead_code, reason = "some of what it offers is for the tests of launches")]
mod trace;
mod tree;
