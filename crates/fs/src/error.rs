//! Errors of file operations: what was tried, on which path, and why it failed.

use std::io;
use std::path::{Path, PathBuf};

/// A file operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("can't {operation} {path}: {source}", path = path.display())]
pub struct FsError {
    /// What was tried, as a verb phrase that fits after "can't".
    pub operation: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// A symlink where rlx follows none.
#[derive(Debug, thiserror::Error)]
#[error("{link} is a symbolic link, which rlx doesn't follow here", link = link.display())]
pub struct LinkInTheWay {
    /// The link.
    pub link: PathBuf,
}

impl FsError {
    /// An error of `operation` on `path`.
    pub fn new(operation: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self { operation, path: path.to_owned(), source: source.into() }
    }

    /// The symlink that was in the way, when one was.
    pub fn link(&self) -> Option<&Path> {
        let cause = self.source.get_ref()?.downcast_ref::<LinkInTheWay>()?;
        Some(&cause.link)
    }

    /// Whether the path doesn't exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    }

    /// Something is already there.
    pub fn is_already_there(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
    }

    /// The disk or the quota is full.
    pub fn is_full(&self) -> bool {
        matches!(
            self.source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        )
    }

    /// The place can't be written: a read-only file system or missing rights.
    pub fn is_read_only(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_operation_and_path() {
        let error = FsError::new("sync", Path::new("/runs/a"), io::Error::from_raw_os_error(28));
        assert_eq!(error.to_string(), "can't sync /runs/a: No space left on device (os error 28)");
        assert!(error.is_full() && !error.is_not_found() && !error.is_read_only());
    }
}
