//! Shows a file that a verb has written with the desktop's own viewer.

use std::path::Path;

use crate::failure::{Failure, Outcome, describe};

/// Opens `path`; without a viewer the file exists anyway, and the hint says where.
pub(crate) fn show(path: &Path) -> Outcome<()> {
    rlxp_launch::open_file(path).map_err(|error| {
        Failure::refused("no_opener", describe(&error)).hint(format!("open it yourself: {}", path.display()))
    })
}
