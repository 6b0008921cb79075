//! Shows a file with the program that the desktop has for it.
//!
//! This is the one process that outlives rlx: a viewer belongs to the person,
//! not to the command that opened it.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::child::default_signals;
use crate::search_path;

/// What opens files here.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
#[error("can't open {path} with {opener}", path = path.display())]
pub struct OpenError {
    /// The file, which exists nevertheless.
    pub path: PathBuf,
    /// The program that was to open it.
    pub opener: &'static str,
    /// Why it did not start.
    pub source: io::Error,
}

/// Starts the desktop's opener for `path` and does not wait for it. Whether it
/// finds a program for the file is not checked.
pub fn open_file(path: &Path) -> Result<(), OpenError> {
    let mut opener = Command::new(OPENER);
    search_path::restrict(&mut opener);
    start(opener, path)
}

fn start(mut opener: Command, path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError { path: path.to_owned(), opener: OPENER, source };
    // An absolute path can't be taken for an option or a web address.
    let absolute = std::path::absolute(path).map_err(failed)?;
    // A group of its own: Ctrl-C in the terminal is not meant for the viewer.
    opener.arg(absolute).process_group(0);
    opener.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and takes no lock.
    unsafe {
        opener.pre_exec(default_signals);
    }
    opener.spawn().map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_opener_the_path_is_named() {
        let error = start(Command::new("/nowhere/opener"), Path::new("/tmp/a plot.svg")).unwrap_err();
        assert_eq!(error.to_string(), format!("can't open /tmp/a plot.svg with {OPENER}"));
        assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    }
}
