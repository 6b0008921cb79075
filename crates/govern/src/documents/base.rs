//! The code that changes start from.

use std::fmt;

use rlxp_types::Digest;
use serde::{Deserialize, Deserializer, Serialize};

/// The reproducible code that changes start from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// A commit of the repository, in full.
    Commit(#[serde(deserialize_with = "commit")] String),
    /// All files of a folder without git, as one digest.
    Snapshot(Digest),
}

impl Base {
    /// The commit that a text names in full; `None` for a branch, a short hash or anything else that may
    /// later mean another commit.
    pub fn of_commit(text: &str) -> Option<Self> {
        let is_full = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_full.then(|| Self::Commit(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Base::Commit(commit) => f.pad(&format!("commit {}", commit.get(..12).unwrap_or(commit))),
            Base::Snapshot(digest) => f.pad(&format!("snapshot {}", digest.short())),
        }
    }
}

fn commit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match Base::of_commit(&text) {
        Some(Base::Commit(commit)) if commit == text => Ok(text),
        _ => Err(serde::de::Error::custom(format!("{text:?} is not the full name of a commit"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_name_is_a_commit() {
        let full = "0123456789abcdef0123456789abcdef01234567";
        let base = Base::of_commit(&full.to_uppercase()).unwrap();
        assert_eq!(serde_json::to_string(&base).unwrap(), format!("{{\"commit\":\"{full}\"}}"));
        assert_eq!(serde_json::from_str::<Base>(&format!("{{\"commit\":\"{full}\"}}")).unwrap(), base);
        for wrong in ["main", "0123456", "", &full[..39], &format!("{}z", &full[..39])] {
            assert_eq!(Base::of_commit(wrong), None, "{wrong}");
            assert!(serde_json::from_str::<Base>(&format!("{{\"commit\":\"{wrong}\"}}")).is_err());
        }
        let digest = Digest::hash(b"all files");
        let text = serde_json::to_string(&Base::Snapshot(digest)).unwrap();
        assert_eq!(serde_json::from_str::<Base>(&text).unwrap(), Base::Snapshot(digest));
    }
}
