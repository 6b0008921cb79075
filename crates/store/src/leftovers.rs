//! Temporary files of writers that were killed before they could rename them.

use std::path::Path;

use rlxp_fs::{Fs, Kind, Machine, is_temporary, temporary_owner};

use crate::StoreError;

/// Removes temporary files in `folder` whose maker is gone from this machine,
/// and those of anyone that `own` names: files that only the run's writer
/// makes, and that is the caller now.
pub(crate) fn remove_leftovers(
    fs: &dyn Fs,
    machine: &dyn Machine,
    folder: &Path,
    own: impl Fn(&str) -> bool,
) -> Result<(), StoreError> {
    for entry in fs.list(folder)? {
        if entry.kind != Kind::File || !is_temporary(&entry.name) {
            continue;
        }
        let gone = temporary_owner(&entry.name).is_none_or(|maker| machine.process_start(maker).is_none());
        if !(gone || own(&entry.name)) {
            continue;
        }
        match fs.remove_file(&folder.join(&entry.name)) {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}
