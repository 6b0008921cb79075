//! Names of tasks, studies, candidates and surfaces: safe in a path, a git ref and a sentence.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A name of lower-case ASCII letters, digits, `-` and `_`, starting with a letter or digit, at most 64 long.
///
/// Nothing else, so that no two names look alike, differ by case only, or leave their folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

const MOST: usize = 64;
const WORDS: &str = "a name of lower-case letters, digits, - and _ (at most 64 characters, starting with a \
                     letter or digit)";

/// The text is not such a name.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not {WORDS}")]
pub struct NotASlug(String);

impl Slug {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The closest valid name to `text`; `None` if no character is left.
    pub fn from_words(text: &str) -> Option<Self> {
        let mut name = String::new();
        for letter in text.chars().flat_map(char::to_lowercase) {
            match letter {
                'a'..='z' | '0'..='9' => name.push(letter),
                '_' | '-' | ' ' | '.' | '/' if !name.is_empty() && !name.ends_with('-') => name.push('-'),
                _ => {}
            }
        }
        name.truncate(MOST);
        name.trim_end_matches('-').parse().ok()
    }
}

impl FromStr for Slug {
    type Err = NotASlug;

    fn from_str(text: &str) -> Result<Self, NotASlug> {
        let plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
        let first = text.as_bytes().first().is_some_and(plain);
        let all = text.bytes().all(|byte| plain(&byte) || matches!(byte, b'-' | b'_'));
        if first && all && text.len() <= MOST { Ok(Self(text.into())) } else { Err(NotASlug(text.into())) }
    }
}

impl TryFrom<String> for Slug {
    type Error = NotASlug;

    fn try_from(text: String) -> Result<Self, NotASlug> {
        text.parse()
    }
}

impl From<Slug> for String {
    fn from(name: Slug) -> Self {
        name.0
    }
}

impl Borrow<str> for Slug {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl JsonSchema for Slug {
    fn schema_name() -> Cow<'static, str> {
        "Slug".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MOST, "description": WORDS, "examples": ["reward-scale"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_play_games() {
        for good in ["a", "lr-1e-4", "0_x", &"a".repeat(64)] {
            assert!(good.parse::<Slug>().is_ok(), "{good}");
        }
        for bad in
            ["", "-a", "_a", "A", "a.b", "a/b", "..", "a b", "caf\u{e9}", "\u{430}", &"a".repeat(65), "a\n"]
        {
            assert!(bad.parse::<Slug>().is_err(), "{bad}");
        }
        assert_eq!(Slug::from_words("My Robot / Walk v2").unwrap().as_str(), "my-robot-walk-v2");
        assert_eq!(Slug::from_words("…"), None);
    }
}
