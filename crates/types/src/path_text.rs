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

/// A path as text from which its bytes can be told: bytes that are not UTF-8 become `\xNN`, a backslash becomes `\\`,
/// and everything else stays as it is.
pub fn escaped(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\\"));
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

impl PathText for Vec<PathBuf> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|path| path.to_string_lossy()))
    }
}

/// Serialises a path, or one that may be missing, whatever its bytes are.
pub fn serialize<P: PathText + ?Sized, S: Serializer>(path: &P, serializer: S) -> Result<S::Ok, S::Error> {
    path.write(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_paths_have_the_same_text() {
        assert_eq!(escaped("eval/größe.py".as_bytes()), "eval/größe.py");
        assert_eq!(escaped(b"eval/\xff\xfe.py"), r"eval/\xff\xfe.py");
        assert_eq!(escaped(br"eval/\xff.py"), r"eval/\\xff.py");
        assert_eq!(escaped(b"a\xc3"), r"a\xc3");
    }
}
