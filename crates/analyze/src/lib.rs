//! Statistics, diagnosis and descriptions of runs: pure functions of their
//! inputs. No I/O, no clock; every random draw comes from a stream with an
//! explicit seed.
//!
//! | part | what | uses |
//! | --- | --- | --- |
//! | [`statistics`] | tests, intervals, aggregates, curves, verdicts | none of the others |
//! | [`diagnose`] | the failure rules, what they found, what to try | `statistics` |
//! | [`describe`] | verdicts, stories and metrics in sentences | `statistics` |
//! | [`reflection`] | what the components of a reward did over training | `statistics` |
//!
//! `xtask/tests/architecture/modules.rs` fails where a part uses another that
//! this table doesn't name.

pub mod describe;
pub mod diagnose;
pub mod reflection;
pub mod statistics;

pub use describe::{metrics, story};
pub use diagnose::suggest;
pub use statistics::{
    BandPoint, aggregate, band, bootstrap, campaign, curves, multiplicity, proportion, reading, selection,
    verdict, verdict::power,
};
