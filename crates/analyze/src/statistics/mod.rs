//! Numbers from numbers: tests, intervals, aggregates, curves and verdicts.
//! Nothing here knows a rule of diagnosis or a sentence.
//!
//! The question behind it all is "did it get better, or was it lucky?".
//! [`verdict`] answers it for two groups of runs and [`campaign`] for many
//! candidates in a row; the other modules are the methods they use, each
//! usable by itself. The unit of replication is the training run: a score is
//! one number per run, and episodes never count as runs.

mod band;
mod numeric;

pub mod aggregate;
pub mod bootstrap;
pub mod campaign;
pub mod course;
pub mod curves;
pub mod distribution;
pub mod feasible;
pub mod final_scores;
pub mod multiplicity;
pub mod proportion;
pub mod rank_correlation;
pub mod rank_test;
pub mod reading;
pub mod selection;
pub mod shift;
pub mod special;
pub mod t_test;
pub mod trend;
pub mod verdict;

pub use band::{BandPoint, band};
