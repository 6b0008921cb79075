//! Files below a folder by a path that is text, whatever the bytes of their names.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, Kind};
use rlxp_types::path_text::escaped;

use crate::failure::Outcome;

/// An entry of a folder.
pub(crate) struct Found {
    /// Its path from the top folder.
    pub(crate) path: PathBuf,
    /// The same as text; a name that is not UTF-8 is escaped.
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

/// The entries of `inside`, a folder below `top`.
pub(crate) fn entries(fs: &dyn Fs, top: &Path, inside: &Path) -> Outcome<Vec<Found>> {
    let raw = fs.list_raw(&top.join(inside))?.into_iter();
    let found = raw.map(|entry| {
        let path = inside.join(&entry.name);
        let text = escaped(path.as_os_str().as_encoded_bytes());
        Found { path, text, kind: entry.kind }
    });
    Ok(found.collect())
}
