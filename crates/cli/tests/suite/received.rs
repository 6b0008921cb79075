//! Run folders from elsewhere: hostile in every place, used by many processes at once, killed at any instant. The built
//! `rlx` is attacked from outside, and everything around the run is watched.
//!
//! The whole corpus takes many minutes: `cargo xtask attack` runs it (the feature `attacks`); the everyday tests are the
//! storm, the cloned project, the index and removal.
#![cfg_attr(not(feature = "attacks"), expect(dead_code, reason = "most of the corpus is left out"))]

mod attack;
mod cloned;
mod commands;
mod hostile;
#[cfg(feature = "attacks")]
mod kills;
mod outside;
mod project;
mod storm;
mod tree;
