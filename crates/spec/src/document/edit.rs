//! One value of a YAML or JSON text, read and changed by its dotted key. Every other byte stays, comments too.
//!
//! The text may come from another project, so only the value in question has to
//! be unambiguous: elsewhere `yes` and `012` may mean whatever their reader
//! takes them for. After an edit the text is read again, and must differ in
//! exactly what was requested; if that isn't possible, nothing is changed.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::document::build::{Doubtful, meaning};
use crate::document::json;
use crate::document::write::inline;
use crate::problem::Collector;
use crate::source::{MAX_BYTES, Source, too_large};
use crate::tree::{self, Entry, Kind, Node, Wording};

const FILE: Wording = Wording { noun: "a file that is changed by key", nothing: "the file is empty" };

/// The value at `key`, such as `algo.layers[0]`; `None` if missing. The file's `name` says whether it is
/// JSON; all else is YAML.
pub fn get_value(text: &str, name: &str, key: &str) -> Result<Option<Value>, String> {
    let root = parse(text, name)?;
    match find(&root, key)? {
        Way::Found(way) => value_of(node_at(&root, &way), key).map(Some),
        Way::Missing { .. } => Ok(None),
    }
}

/// The whole document as a value, however it is written.
pub fn whole_value(text: &str, name: &str) -> Result<Value, String> {
    value_of(&parse(text, name)?, "the document")
}

/// The text with `value` at `key`, which must already exist. What is written over several lines in block
/// style isn't replaced.
pub fn set_value(text: &str, name: &str, key: &str, value: &Value) -> Result<String, String> {
    let root = parse(text, name)?;
    let Way::Found(way) = find(&root, key)? else { return Err(format!("there is no {key}")) };
    let node = node_at(&root, &way);
    let shown = rendered(value, name)?;
    let after = match edit_point(text, &root, &way, node) {
        Some(EditPoint::Replace(span)) => replaced(text, span, &shown),
        Some(EditPoint::InsertAfter(at)) => replaced(text, at..at, &format!(" {shown}")),
        None => return Err(format!("{key} is written over several lines; write its value in one line")),
    };
    check(&root, &after, name, key, Expected::Value(&way, value))?;
    Ok(after)
}

/// The text with a new `key` that has `value`, at the end of an existing, non-empty mapping.
pub fn add_value(text: &str, name: &str, key: &str, value: &Value) -> Result<String, String> {
    let root = parse(text, name)?;
    let (way, last) = match find(&root, key)? {
        Way::Found(_) => return Err(format!("{key} already exists")),
        Way::Missing { way, rest } => (way, rest),
    };
    if last.is_empty() || last.contains(['.', '[']) {
        return Err(format!("the parent of {key} does not exist"));
    }
    let node = node_at(&root, &way);
    let Kind::Mapping(entries) = &node.kind else {
        return Err(format!("the parent of {key} is not a mapping"));
    };
    let Some(final_entry) = entries.last() else {
        return Err(format!("the parent of {key} is empty; write its first key by hand"));
    };
    let (word, shown) = (rendered(&Value::from(last.as_str()), name)?, rendered(value, name)?);
    let after = if is_flow(text, node) {
        let at = end_of_entry(text, final_entry);
        replaced(text, at..at, &format!(", {word}: {shown}"))
    } else {
        let start = entries[0].key.span.start;
        let indent = &text[line_start(text, start)..start];
        if !indent.bytes().all(|byte| byte == b' ') {
            return Err(format!("the parent of {key} starts in the middle of a line"));
        }
        let at = line_end(text, end_of_entry(text, final_entry));
        let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let before = if text[..at].ends_with('\n') { "" } else { line_break };
        replaced(text, at..at, &format!("{before}{indent}{word}: {shown}{line_break}"))
    };
    check(&root, &after, name, key, Expected::Added(&way, &last, value))?;
    Ok(after)
}

/// The text without `key`, which must be on its own line, or between braces, and not be the only
/// one there.
pub fn remove_value(text: &str, name: &str, key: &str) -> Result<String, String> {
    let root = parse(text, name)?;
    let Way::Found(way) = find(&root, key)? else { return Err(format!("there is no {key}")) };
    let Some((index, parent)) = way.split_last() else {
        return Err("the whole file can't be removed".into());
    };
    let node = node_at(&root, parent);
    let Kind::Mapping(entries) = &node.kind else { return Err(format!("{key} is an item of a list")) };
    if entries.len() == 1 {
        return Err(format!("{key} is the only key of its parent; removing it would leave nothing"));
    }
    let entry = &entries[*index];
    let end = |entry: &Entry| end_of_entry(text, entry);
    let span = if is_flow(text, node) {
        match (entries.get(index + 1), index.checked_sub(1)) {
            (Some(next), _) => entry.key.span.start..next.key.span.start,
            (None, Some(before)) => end(&entries[before])..end(entry),
            (None, None) => return Err(format!("{key} is the only key of its parent")),
        }
    } else {
        let start = line_start(text, entry.key.span.start);
        let alone = text[start..entry.key.span.start].bytes().all(|byte| byte == b' ');
        if !alone || text[start..end(entry)].trim_end().contains('\n') {
            return Err(format!("{key} is not on its own line"));
        }
        start..line_end(text, end(entry))
    };
    let after = replaced(text, span, "");
    check(&root, &after, name, key, Expected::Removed(&way))?;
    Ok(after)
}

fn is_json(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".json")
}

fn parse(text: &str, name: &str) -> Result<Node, String> {
    if is_json(name) {
        if text.len() >= MAX_BYTES {
            return Err(too_large(text.len(), FILE.noun));
        }
        return json::parse(text);
    }
    let source = Source::new(name, text);
    let mut problems = Collector::default();
    let root = tree::parse_as(&source, 0..text.len(), FILE, &mut problems);
    match (root, problems.into_sorted(std::slice::from_ref(&source)).first()) {
        (Some(root), None) => Ok(root),
        (_, Some(problem)) => Err(format!("line {}: {}", problem.line, problem.message)),
        (None, None) => Err("it can't be read".into()),
    }
}

/// Where a key leads: by the numbers of entries and items on the way.
enum Way {
    Found(Vec<usize>),
    /// As far as there is something, and what is left of the key.
    Missing {
        way: Vec<usize>,
        rest: String,
    },
}

fn find(root: &Node, key: &str) -> Result<Way, String> {
    if key.is_empty() {
        return Err("a key has at least one letter".into());
    }
    let (mut node, mut rest, mut way) = (root, key, Vec::new());
    while !rest.is_empty() {
        let word = if way.is_empty() { rest } else { rest.strip_prefix('.').unwrap_or(rest) };
        let next = match &node.kind {
            Kind::Sequence(items) => item(items, rest),
            Kind::Mapping(entries) => {
                entry(entries, word).map_err(|twice| format!("{twice} occurs twice"))?
            }
            _ => None,
        };
        let Some((index, child, after)) = next else {
            return Ok(Way::Missing { way, rest: word.to_owned() });
        };
        way.push(index);
        (node, rest) = (child, after);
    }
    Ok(Way::Found(way))
}

fn item<'n, 'k>(items: &'n [Node], key: &'k str) -> Option<(usize, &'n Node, &'k str)> {
    let (index, after) = key.strip_prefix('[')?.split_once(']')?;
    let index: usize = index.parse().ok()?;
    items.get(index).map(|item| (index, item, after))
}

/// The entry with the longest key that `key` begins with: keys may contain dots themselves.
fn entry<'n, 'k>(entries: &'n [Entry], key: &'k str) -> Result<Option<(usize, &'n Node, &'k str)>, String> {
    let ends = |after: &&str| after.is_empty() || after.starts_with(['.', '[']);
    let named = entries.iter().enumerate().filter_map(|(index, entry)| match &entry.key.kind {
        Kind::Scalar { text, .. } if !text.is_empty() => {
            let after = key.strip_prefix(text.as_str()).filter(ends)?;
            Some((index, &entry.value, after))
        }
        _ => None,
    });
    let mut named: Vec<_> = named.collect();
    named.sort_by_key(|(index, _, after)| (after.len(), *index));
    match named[..] {
        [(_, _, first), (_, _, second), ..] if first.len() == second.len() => {
            Err(key[..key.len() - first.len()].to_owned())
        }
        _ => Ok(named.first().copied()),
    }
}

fn node_at<'n>(root: &'n Node, way: &[usize]) -> &'n Node {
    way.iter().fold(root, |node, index| match &node.kind {
        Kind::Sequence(items) => &items[*index],
        Kind::Mapping(entries) => &entries[*index].value,
        _ => node,
    })
}

/// The value of a node, if unambiguous.
fn value_of(node: &Node, key: &str) -> Result<Value, String> {
    match &node.kind {
        Kind::Scalar { text, plain } => meaning(text, *plain, Doubtful::Refused)
            .map_err(|(message, _)| format!("{key} is ambiguous: {message}")),
        Kind::Sequence(items) => items.iter().map(|item| value_of(item, key)).collect(),
        Kind::Mapping(entries) => {
            let mut map = Map::new();
            for entry in entries {
                let Kind::Scalar { text, .. } = &entry.key.kind else {
                    return Err(format!("a key below {key} is not text"));
                };
                if map.insert(text.clone(), value_of(&entry.value, key)?).is_some() {
                    return Err(format!("{text} occurs twice below {key}"));
                }
            }
            Ok(Value::Object(map))
        }
        Kind::Refused => Err(format!("{key} can't be read")),
    }
}

enum EditPoint {
    Replace(Range<usize>),
    InsertAfter(usize),
}

/// Where a value can be written without touching anything else.
fn edit_point(text: &str, root: &Node, way: &[usize], node: &Node) -> Option<EditPoint> {
    let written = text.get(node.span.clone())?;
    match &node.kind {
        Kind::Scalar { plain: true, .. } if written.is_empty() => {
            let (index, parent) = way.split_last()?;
            let Kind::Mapping(entries) = &node_at(root, parent).kind else { return None };
            let after_key = entries[*index].key.span.end;
            let colon = after_key + text[after_key..].find(|letter: char| letter != ' ')?;
            text[colon..].starts_with(':').then_some(EditPoint::InsertAfter(colon + 1))
        }
        Kind::Scalar { plain, .. } => {
            // What is neither plain nor in quotes is a text on lines of its own.
            let is_inline = *plain || written.starts_with(['"', '\'']);
            is_inline.then(|| EditPoint::Replace(node.span.clone()))
        }
        Kind::Sequence(_) | Kind::Mapping(_) => {
            is_flow(text, node).then(|| EditPoint::Replace(node.span.clone()))
        }
        Kind::Refused => None,
    }
}

fn rendered(value: &Value, name: &str) -> Result<String, String> {
    if is_json(name) {
        return serde_json::to_string(value).map_err(|error| format!("the value can't be written: {error}"));
    }
    Ok(inline(value))
}

fn replaced(text: &str, span: Range<usize>, with: &str) -> String {
    [&text[..span.start], with, &text[span.end..]].concat()
}

/// Whether a list or mapping is in flow style (in brackets).
fn is_flow(text: &str, node: &Node) -> bool {
    let written = text.get(node.span.clone()).unwrap_or_default();
    written.starts_with(['[', '{']) && written.ends_with([']', '}'])
}

/// Where an entry ends, without the blank lines that a block may claim after itself.
fn end_of_entry(text: &str, entry: &Entry) -> usize {
    end_of(text, &entry.value).max(entry.key.span.end)
}

fn end_of(text: &str, node: &Node) -> usize {
    match &node.kind {
        _ if is_flow(text, node) => node.span.end,
        Kind::Sequence(items) => items.last().map_or(node.span.end, |item| end_of(text, item)),
        Kind::Mapping(entries) => entries.last().map_or(node.span.end, |entry| end_of_entry(text, entry)),
        _ => node.span.end,
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The beginning of the line after the one that holds what ends at `at`.
fn line_end(text: &str, at: usize) -> usize {
    if at > 0 && text[..at].ends_with('\n') {
        return at;
    }
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// In what a text may differ after an edit.
enum Expected<'e> {
    Value(&'e [usize], &'e Value),
    Added(&'e [usize], &'e str, &'e Value),
    Removed(&'e [usize]),
}

/// Parses the edited text and checks that only the requested value differs.
fn check(before: &Node, after: &str, name: &str, key: &str, expected: Expected<'_>) -> Result<(), String> {
    let failed = || format!("can't change {key} without changing other values; use a patch");
    let after = parse(after, name).map_err(|_| failed())?;
    let same = match expected {
        Expected::Value(way, value) => {
            let written = value_of(node_at(&after, way), key).map_err(|_| failed())?;
            written == *value && differ_only(before, &after, way, &|_, _| true)
        }
        Expected::Added(way, last, value) => differ_only(before, &after, way, &|one, other| {
            let (Kind::Mapping(one), Kind::Mapping(other)) = (&one.kind, &other.kind) else { return false };
            let Some((new, kept)) = other.split_last() else { return false };
            let named = matches!(&new.key.kind, Kind::Scalar { text, .. } if text == last);
            named
                && same_entries(one.iter(), kept.iter())
                && value_of(&new.value, key).is_ok_and(|it| it == *value)
        }),
        Expected::Removed(way) => way.split_last().is_some_and(|(index, parent)| {
            differ_only(before, &after, parent, &|one, other| {
                let (Kind::Mapping(one), Kind::Mapping(other)) = (&one.kind, &other.kind) else {
                    return false;
                };
                let kept = one.iter().enumerate().filter(|(at, _)| at != index).map(|(_, entry)| entry);
                same_entries(kept, other.iter())
            })
        }),
    };
    if same { Ok(()) } else { Err(failed()) }
}

/// Whether two trees are equal except at the end of `way`, which `there` compares.
fn differ_only(one: &Node, other: &Node, way: &[usize], there: &dyn Fn(&Node, &Node) -> bool) -> bool {
    let Some((index, rest)) = way.split_first() else { return there(one, other) };
    match (&one.kind, &other.kind) {
        (Kind::Sequence(one), Kind::Sequence(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).enumerate().all(|(at, (one, other))| {
                    if at == *index { differ_only(one, other, rest, there) } else { same(one, other) }
                })
        }
        (Kind::Mapping(one), Kind::Mapping(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).enumerate().all(|(at, (one, other))| {
                    let values = if at == *index {
                        differ_only(&one.value, &other.value, rest, there)
                    } else {
                        same(&one.value, &other.value)
                    };
                    same(&one.key, &other.key) && values
                })
        }
        _ => false,
    }
}

fn same(one: &Node, other: &Node) -> bool {
    match (&one.kind, &other.kind) {
        (Kind::Scalar { text: one, plain: first }, Kind::Scalar { text: other, plain: second }) => {
            one == other && first == second
        }
        (Kind::Sequence(one), Kind::Sequence(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Kind::Mapping(one), Kind::Mapping(other)) => same_entries(one.iter(), other.iter()),
        _ => false,
    }
}

fn same_entries<'n>(
    one: impl Iterator<Item = &'n Entry> + Clone,
    other: impl Iterator<Item = &'n Entry> + Clone,
) -> bool {
    one.clone().count() == other.clone().count()
        && one.zip(other).all(|(one, other)| same(&one.key, &other.key) && same(&one.value, &other.value))
}

#[cfg(test)]
mod tests;
