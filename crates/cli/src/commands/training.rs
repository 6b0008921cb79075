//! Commands that prepare, train and evaluate.

pub(super) mod config;
pub(super) mod envs;
pub(super) mod eval;
pub(super) mod init;
pub(super) mod python;
pub(super) mod reproduce;
pub(super) mod resume;
mod several;
pub(super) mod stop;
pub(super) mod supervisor;
pub(super) mod train;
pub(super) mod worker;
