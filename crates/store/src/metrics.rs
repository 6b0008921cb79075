//! `metrics.jsonl`: one JSON object per line, append-only.
//!
//! ```text
//! {"seq":0,"step":1024,"wall":1793836800.125,"kind":"train","values":{"policy_loss":-0.01,"approx_kl":"NaN"}}
//! ```
//!
//! `seq` counts lines from 0 without a gap. JSON has no NaN and no infinities,
//! so they are the texts `"NaN"`, `"inf"` and `"-inf"`; [`Record::number`]
//! turns them back. Floats are written with the fewest digits that read back
//! to the same number.

mod columns;
mod follow;
mod read;
mod record;
mod scan;
mod write;

use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

pub use columns::{MetricColumns, Series, read_columns};
pub use follow::MetricsFollower;
pub(crate) use read::digest_of_prefix;
pub use read::{Damage, MetricsContent, read_metrics};
pub use record::{MetricValue, Record};
pub use write::MetricsWriter;

/// The longest line, in bytes.
pub const RECORD_LIMIT: usize = 256 * 1024;

/// The key under which training logs the mean return of finished episodes;
/// listings show its last value.
pub const MEAN_RETURN: &str = "mean_return";

/// The kind of records that hold times: no part of what must be reproducible.
pub const TIMING_KIND: &str = "timing";

/// A point in the metrics: everything before it, and its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsPosition {
    /// Bytes before it.
    pub length: u64,
    /// Digest of those bytes.
    pub digest: Digest,
    /// The number that the next record gets.
    pub next_seq: u64,
}

impl MetricsPosition {
    /// The beginning of an empty file.
    pub fn start() -> Self {
        Self { length: 0, digest: Digest::hash(b""), next_seq: 0 }
    }
}
