//! From a config to trained policies: `train`, `resume`, `reproduce`, `eval`
//! and what prepares them.
//!
//! `train`, `resume` and `reproduce` supervise a `worker`, the training child;
//! `session` is its loop over one seed. With `--detach`, the supervisor is a
//! process of its own (`detach`); `stop` reaches trainings of other commands.

pub(crate) mod baseline;
pub(crate) mod bridge;
pub mod config;
pub mod detach;
pub mod envs;
pub mod eval;
pub mod evaluation;
pub mod init;
mod initial_checkpoint;
pub(crate) mod next_step;
mod notes;
mod old_rules;
pub mod python;
pub(crate) mod recorded;
pub mod reproduce;
pub mod resume;
pub mod same_bytes;
#[cfg(test)]
mod seam;
pub(crate) mod seed_ranges;
mod session;
pub mod several;
pub mod stepping;
pub mod stop;
mod supervise;
mod supervised;
pub(crate) mod tags;
pub mod train;
pub(crate) mod weights;
pub mod worker;
