//! Files that `--output` names.

use std::path::Path;

use rlxp_fs::{FsExt, Kind};

use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// Writes a file that the user named; it is whole, or as it was before.
///
/// The folder of the file is created, but not its parents: the file may be in a run, and a run that was removed in the
/// meantime must not come back.
pub(crate) fn write(context: &Context, path: &Path, bytes: &[u8]) -> Outcome<()> {
    let fs = context.fs.as_ref();
    if let Some(found) = fs.metadata_if_any(path)?
        && matches!(found.kind, Kind::Folder | Kind::Other)
    {
        let what = if found.kind == Kind::Folder { "a folder" } else { "a device, pipe or socket" };
        let message = format!("{} is {what}, not a file", path.display());
        return Err(Failure::usage("not_a_file", message).hint("choose another name with --output"));
    }
    if let Some(folder) = path.parent() {
        match fs.create_dir(folder) {
            Err(error) if !error.is_already_there() => return Err(error.into()),
            _ => {}
        }
    }
    fs.remove_abandoned(context.machine.as_ref(), path);
    Ok(fs.write_atomic(path, bytes)?)
}
