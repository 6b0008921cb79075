//! The source position of each value of a document, as a tree parallel to the values.
//!
//! A tree rather than a table of dotted paths, because keys of documents may
//! contain dots themselves (`algo.gamma: 0.99`).

use std::ops::Range;

use serde_json::Value;

/// The position of one value and of its children.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanTree {
    /// The key that leads here, for a value of a mapping.
    pub(crate) key: Option<Range<usize>>,
    pub(crate) value: Range<usize>,
    /// In the order of the value's own items or entries.
    pub(crate) children: Vec<SpanTree>,
    /// What is written here could not be read and is already reported.
    pub(crate) refused: bool,
}

impl SpanTree {
    /// What to point at when the value as a whole is meant: the value, or its
    /// key where the value begins on a line of its own.
    pub(crate) fn span(&self, text: &str) -> Range<usize> {
        match &self.key {
            Some(key) if text.get(key.end..self.value.start).is_none_or(|gap| gap.contains('\n')) => {
                key.clone()
            }
            // The first line of a list or mapping is not what is meant.
            _ if !self.children.is_empty() && self.key.is_none() => self.value.start..self.value.start,
            _ => self.value.clone(),
        }
    }

    /// The spans of `path`, or of its nearest existing ancestor.
    pub(crate) fn find<'a>(&'a self, value: &'a Value, path: &str) -> &'a SpanTree {
        let (mut place, mut value, mut rest) = (self, value, path);
        while let Some((index, child, after)) = step(value, rest) {
            let Some(next) = place.children.get(index) else { break };
            (place, value, rest) = (next, child, after);
        }
        place
    }
}

/// The child that the beginning of `path` names, and the path from there on.
fn step<'a, 'p>(value: &'a Value, path: &'p str) -> Option<(usize, &'a Value, &'p str)> {
    match value {
        Value::Array(items) => {
            let (index, after) = path.strip_prefix('[')?.split_once(']')?;
            let index: usize = index.parse().ok()?;
            items.get(index).map(|item| (index, item, after))
        }
        Value::Object(entries) => {
            let path = path.strip_prefix('.').unwrap_or(path);
            let ends = |after: &str| after.is_empty() || after.starts_with(['.', '[']);
            let named = entries.iter().enumerate().filter_map(|(index, (key, child))| {
                let after = path.strip_prefix(key.as_str()).filter(|after| ends(after))?;
                Some((index, child, after))
            });
            // The longest key, because a key may contain dots.
            named.filter(|_| !path.is_empty()).min_by_key(|(_, _, after)| after.len())
        }
        _ => None,
    }
}

/// The path of an entry of a mapping.
pub(crate) fn of_key(path: &str, key: &str) -> String {
    let key = shorten(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Whether `path` is `parent` or leads to something in it.
pub(crate) fn is_within(path: &str, parent: &str) -> bool {
    let rest = path.strip_prefix(parent);
    parent.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// A text that is short enough for a message and has nothing in it that could
/// steer a terminal.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let clean: String =
        text.chars().take(MOST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("{clean}…") } else { clean }
}

/// The path of an item of a list.
pub(crate) fn of_item(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}
