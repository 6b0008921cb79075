//! Paths in answers. A path may be any bytes, and JSON is text: serde refuses a
//! path that isn't UTF-8, and the answer with it. Here such bytes become U+FFFD,
//! as everywhere else a path is shown.
//!
//! Use it as `#[serde(serialize_with = "rlxp_types::path_text::serialize")]`.

use std::path::{Path, PathBuf};

use serde::Serializer;

/// Paths that can be written as text.
pub trait PathText {
    /// Writes them.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

impl PathText for Path {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string_lossy())
    }
}

impl PathText for PathBuf {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_path().write(serializer)
    }
}

impl PathText for Option<PathBuf> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(path) => serializer.serialize_some(&path.to_string_lossy()),
            None => serializer.serialize_none(),
        }
    }
}

/// Serialises a path, or one that may be missing, whatever its bytes are.
pub fn serialize<P: PathText + ?Sized, S: Serializer>(path: &P, serializer: S) -> Result<S::Ok, S::Error> {
    path.write(serializer)
}
