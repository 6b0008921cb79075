//! Names of runs: also names of folders, so they are parsed once and never
//! carry a separator, a leading dot or a control character.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A name that is safe as one folder name on every file system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunName(String);

/// Why a text can't name a run.
#[derive(Debug, thiserror::Error)]
#[error(
    "{name:?} can't name a run: {why}; use letters, digits, '_', '-' and '.', at most 100 bytes, not starting with '.' or '-'"
)]
pub struct BadName {
    name: String,
    why: &'static str,
}

impl RunName {
    /// Accepts letters and digits of any script, `_`, `-` and `.`.
    pub fn parse(name: &str) -> Result<Self, BadName> {
        let bad = |why| BadName { name: name.to_owned(), why };
        if name.is_empty() {
            return Err(bad("it is empty"));
        }
        if name.len() > 100 {
            return Err(bad("it is longer than 100 bytes"));
        }
        if name.starts_with(['.', '-']) {
            return Err(bad("it starts with '.' or '-'"));
        }
        if !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) {
            return Err(bad("it has a character that a folder name should not have"));
        }
        Ok(Self(name.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RunName {
    type Error = BadName;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::parse(&name)
    }
}

impl From<RunName> for String {
    fn from(name: RunName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_plain_and_unicode_names_and_refuses_paths() {
        for good in ["cartpole_001", "läufer-2", "走る_3", "a.b"] {
            assert!(RunName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", ".x", "-x", "a/b", "a\\b", "a b", "a\nb", "a\0", &"x".repeat(101)] {
            assert!(RunName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
