//! Whether a run is likely to fit on the disk.

use std::path::Path;
use std::sync::Arc;

use rlxp_fs::Fs;

use crate::StoreError;

/// Bytes that a run is likely to write: checkpoints (with one more in the
/// making than are kept, and `best`), metrics, and room for the rest.
pub fn estimate_bytes(seeds: usize, model: u64, state: u64, kept: u64, metrics: u64) -> u64 {
    let checkpoints = (model + state + 4096).saturating_mul(kept.saturating_add(2));
    (checkpoints.saturating_add(metrics)).saturating_mul(seeds.max(1) as u64).saturating_add(1 << 20)
}

/// An error when fewer than `needed` bytes are free at `path`.
pub fn preflight(fs: &Arc<dyn Fs>, path: &Path, needed: u64) -> Result<(), StoreError> {
    let available = fs.available_space(path)?;
    if available < needed {
        return Err(StoreError::NotEnoughSpace { path: path.to_owned(), needed, available });
    }
    Ok(())
}
