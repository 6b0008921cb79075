//! Metrics for the tests of what reads them.

use rlxp_store::Series;

/// A series with these steps and values.
pub(crate) fn series(points: &[(u64, f64)]) -> Series {
    Series {
        steps: points.iter().map(|(step, _)| *step).collect(),
        walls: vec![0.0; points.len()],
        values: points.iter().map(|(_, value)| *value).collect(),
    }
}
