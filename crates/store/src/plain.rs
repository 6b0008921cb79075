//! Listing a folder of a run: a symlink among its entries is refused by name,
//! since what it leads to is not part of the run.

use std::path::Path;

use rlxp_fs::{Entry, Fs, FsError, Kind, LinkInTheWay, is_temporary};

use crate::StoreError;

/// The entries of a folder; empty if it doesn't exist. A symlink is an error.
pub(crate) fn list_plain(fs: &dyn Fs, folder: &Path) -> Result<Vec<Entry>, StoreError> {
    list_but_for(fs, folder, |_| false)
}

/// The same, where symlinks of some names are expected. A temporary one is what
/// a writer that was killed has left.
pub(crate) fn list_but_for(
    fs: &dyn Fs,
    folder: &Path,
    expected: impl Fn(&str) -> bool,
) -> Result<Vec<Entry>, StoreError> {
    let entries = match fs.list(folder) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let refused =
        |entry: &&Entry| entry.kind == Kind::Link && !expected(&entry.name) && !is_temporary(&entry.name);
    match entries.iter().find(refused) {
        None => Ok(entries),
        Some(entry) => {
            let link = folder.join(&entry.name);
            let cause = std::io::Error::other(LinkInTheWay { link: link.clone() });
            Err(FsError::new("use", &link, cause).into())
        }
    }
}
