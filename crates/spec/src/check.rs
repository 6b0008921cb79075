//! Walks a tree along the table of fields, gathers the values that are right
//! and every problem with the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::config::Kwarg;
use crate::fields::{self, SECTIONS};
use crate::nearest::{key_hint, path_hint};
use crate::problem::{Collector, Problem};
use crate::snapshot::{FORMAT_KEY, SNAPSHOT_FORMAT};
use crate::source::Source;
use crate::tree::{Entry, Kind, NOTHING, Node};
use crate::values::{Value, read};

/// Values by dotted path.
pub(crate) type Values = BTreeMap<&'static str, Value>;

/// What one source said.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The values that are right.
    pub(crate) values: Values,
    /// The keys whose values are not, so that later checks leave them alone.
    pub(crate) failed: BTreeSet<&'static str>,
    /// Keyword arguments that were set one by one, beside those of the file.
    pub(crate) added_kwargs: BTreeMap<String, Kwarg>,
    /// The format, where the source is a snapshot.
    pub(crate) format: Option<u64>,
    /// Where each key's value stands; sections and parts of values included.
    pub(crate) places: BTreeMap<String, Range<usize>>,
}

/// A source under inspection.
pub(crate) struct Checker<'a> {
    pub(crate) source: &'a Source,
    pub(crate) problems: &'a mut Collector,
    pub(crate) checked: Checked,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(source: &'a Source, problems: &'a mut Collector) -> Self {
        Self { source, problems, checked: Checked::default() }
    }

    /// Checks a whole document.
    pub(crate) fn root(&mut self, root: &Node) {
        match &root.kind {
            Kind::Mapping(entries) => self.section("", entries),
            Kind::Refused => {}
            Kind::Scalar { text, plain: true } if text.is_empty() => {
                self.error(&root.span, "", NOTHING.to_owned(), None);
            }
            _ => {
                let what = describe(root);
                let message = format!("a config is a mapping of keys to values; this is {what}");
                self.error(&root.span, "", message, Some("env: {id: CartPole-v1}".to_owned()));
            }
        }
    }

    fn section(&mut self, section: &str, entries: &[Entry]) {
        for (entry, key) in self.keys(section, entries) {
            let path = join(section, key);
            if let Some(field) = fields::find(&path) {
                self.field(field, &entry.value);
            } else if section.is_empty() && SECTIONS.contains(&key) {
                self.checked.places.insert(path, entry.key.span.clone());
                match &entry.value.kind {
                    Kind::Mapping(entries) => self.section(key, entries),
                    // A section whose keys are all commented out.
                    Kind::Scalar { text, plain: true } if text.is_empty() => {}
                    Kind::Refused => {}
                    _ => {
                        let what = describe(&entry.value);
                        let message = format!("`{key}` holds other keys; this is {what}");
                        let hint = format!("keys of `{key}`: {}", fields::keys_of(key).join(", "));
                        self.error(&entry.value.span, key, message, Some(hint));
                        for field in fields::FIELDS.iter().filter(|f| f.path.starts_with(&format!("{key}.")))
                        {
                            self.checked.failed.insert(field.path);
                        }
                    }
                }
            } else if section.is_empty() && key == FORMAT_KEY {
                self.format(&entry.value);
            } else {
                let message = match section {
                    "" => format!("unknown key `{}`", shorten(key)),
                    _ => format!("unknown key `{}` in `{section}`", shorten(key)),
                };
                let path = shorten(&path);
                self.error_with(&entry.key.span, &path, message, || Some(key_hint(section, key)));
            }
        }
    }

    /// The format of a snapshot. One that a later rlx wrote may mean something
    /// else by the same keys, so it is refused.
    fn format(&mut self, value: &Node) {
        let Some(format) = self.count(FORMAT_KEY, value, 1, u64::MAX) else { return };
        self.checked.format = Some(format);
        if format > SNAPSHOT_FORMAT {
            let message = format!(
                "this snapshot has format {format}; this version of rlx reads 1 to {SNAPSHOT_FORMAT}"
            );
            self.error(
                &value.span,
                FORMAT_KEY,
                message,
                Some("use the version of rlx that wrote it".to_owned()),
            );
        }
    }

    /// Checks the value of one override, whose key stands at `key`.
    pub(crate) fn assign(&mut self, path: &str, key: &Range<usize>, value: &Node) {
        if let Some(field) = fields::find(path) {
            self.field(field, value);
        } else if let Some(name) = path.strip_prefix("env.kwargs.") {
            self.checked.places.insert(path.to_owned(), value.span.clone());
            match self.kwarg(name, key, value) {
                Some(kwarg) => {
                    self.checked.added_kwargs.insert(name.to_owned(), kwarg);
                }
                None => {
                    self.checked.failed.insert("env.kwargs");
                }
            }
        } else {
            let message = format!("unknown key `{}`", shorten(path));
            self.error_with(key, &shorten(path), message, || Some(path_hint(path)));
        }
    }

    fn field(&mut self, field: &'static fields::Field, value: &Node) {
        self.checked.places.insert(field.path.to_owned(), value.span.clone());
        match read(self, field, value) {
            Some(value) => {
                self.checked.values.insert(field.path, value);
            }
            None => {
                self.checked.failed.insert(field.path);
            }
        }
    }

    /// The entries of a mapping with their keys as text; reports keys that are
    /// no text and keys that stand there twice.
    pub(crate) fn keys<'n>(&mut self, path: &str, entries: &'n [Entry]) -> Vec<(&'n Entry, &'n str)> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut kept = Vec::new();
        for entry in entries {
            match &entry.key.kind {
                Kind::Scalar { text, .. } => match seen.get(text.as_str()) {
                    Some(first) => {
                        let (first, source) = (*first, self.source);
                        self.problems.push(|| {
                            let (line, _) = source.line_and_column(first);
                            let message =
                                format!("duplicate key `{}`; it is already on line {line}", shorten(text));
                            source
                                .problem(entry.key.span.clone(), &join(path, &shorten(text)), message)
                                .with_hint("delete one of the two")
                        });
                    }
                    None => {
                        seen.insert(text, entry.key.span.start);
                        kept.push((entry, text.as_str()));
                    }
                },
                Kind::Refused => {}
                _ => self.error(&entry.key.span, path, "a key must be plain text".to_owned(), None),
            }
        }
        kept
    }

    pub(crate) fn error(&mut self, span: &Range<usize>, path: &str, message: String, hint: Option<String>) {
        self.error_with(span, path, message, || hint);
    }

    /// Like `error`, for hints that cost something to find.
    fn error_with(
        &mut self,
        span: &Range<usize>,
        path: &str,
        message: String,
        hint: impl FnOnce() -> Option<String>,
    ) {
        let source = self.source;
        self.problems.push(|| Problem { hint: hint(), ..source.problem(span.clone(), path, message) });
    }
}

/// A dotted path.
pub(crate) fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// How a message calls what stands at a node.
pub(crate) fn describe(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar { text, plain } => crate::scalar::Scalar::of(text, *plain).name().to_owned(),
        Kind::Sequence(_) => "a list".to_owned(),
        Kind::Mapping(_) => "a mapping".to_owned(),
        Kind::Refused => "not allowed".to_owned(),
    }
}

/// A text that is short enough for a message and has nothing in it that could
/// steer a terminal.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let clean: String =
        text.chars().take(MOST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("{clean}…") } else { clean }
}
