//! YAML text to a tree with byte spans, within a tight budget.
//!
//! The only module that knows the YAML library. It reads parser events rather
//! than deserialising: a derive stops at the first problem and loses the
//! difference between `3e-4` and `"3e-4"`, both of which the checks need.
//! Anchors, aliases and tags are refused, so a small text can't become a large
//! tree.

use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span};

use crate::problem::Collector;
use crate::source::{MAX_BYTES, Source, too_large};

/// What is said about an empty text.
pub(crate) const NOTHING: &str = "there is nothing here; a config needs at least `env.id`";

const MAX_DEPTH: usize = 32;
const MAX_NODES: usize = 20_000;

/// A part of the document.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum Kind {
    Scalar {
        text: String,
        plain: bool,
    },
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
    /// Refused while parsing and already reported.
    Refused,
}

/// A key of a mapping and what stands there.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: Node,
    pub(crate) value: Node,
}

/// Reads `source.text[part]` as one document. `None` means that nothing could
/// be read; then there is a problem that says why.
pub(crate) fn parse(source: &Source, part: Range<usize>, problems: &mut Collector) -> Option<Node> {
    let text = &source.text[part.clone()];
    if text.len() >= MAX_BYTES {
        problems.push(|| source.problem(part.start..part.start, "", too_large(text.len())));
        return None;
    }
    let before = problems.len();
    refuse_control_characters(source, &part, problems);
    let patched = spaces_for_tabs(source, &part, problems);
    let mut builder = Builder { source, start: part.start, nodes: 0, problems };
    builder.document(patched.as_deref().unwrap_or(text), before).unwrap_or_else(|Stop| None)
}

/// Parsing can't go on; the reason is among the problems.
struct Stop;

fn refuse_control_characters(source: &Source, part: &Range<usize>, problems: &mut Collector) {
    for (at, character) in source.text[part.clone()].char_indices() {
        if character.is_control() && !matches!(character, '\t' | '\n' | '\r') {
            let at = part.start + at;
            problems.push(|| {
                let message = format!("control character U+{:04X} in the text", u32::from(character));
                source.problem(at..at, "", message).with_hint("delete it")
            });
        }
    }
}

/// Reports every line indented with tabs, and gives a text of the same length
/// with spaces there, so that the rest of the file is checked as well.
fn spaces_for_tabs(source: &Source, part: &Range<usize>, problems: &mut Collector) -> Option<String> {
    let text = &source.text[part.clone()];
    let mut patched: Option<Vec<u8>> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - content.len();
        let tab = line[..indent].find('\t');
        if let Some(tab) = tab
            && !content.trim_end().is_empty()
            && !content.starts_with('#')
        {
            let at = part.start + start;
            problems.push(|| {
                let message = "a tab in the indentation; YAML allows only spaces there";
                source
                    .problem(at + tab..at + indent, "", message)
                    .with_hint("replace the tab with two spaces")
            });
            let bytes = patched.get_or_insert_with(|| text.as_bytes().to_vec());
            bytes[start..start + indent].fill(b' ');
        }
        start += line.len();
    }
    patched.map(|bytes| String::from_utf8(bytes).expect("a tab and a space are one byte each"))
}

struct Builder<'a> {
    source: &'a Source,
    /// Where the parsed part begins in the source.
    start: usize,
    nodes: usize,
    problems: &'a mut Collector,
}

type Events<'a> = Parser<'a, serde_saphyr::granit_parser::StrInput<'a>>;

impl Builder<'_> {
    fn document(&mut self, text: &str, problems_before: usize) -> Result<Option<Node>, Stop> {
        let mut options = Options::default();
        options.set_emit_comments(false);
        options.emit_unresolved_aliases = true;
        options.disallow_directives = true;
        // One more than ours, so that our own message is the one that is seen.
        options.flow_nesting_limit = MAX_DEPTH + 1;
        options.block_nesting_limit = MAX_DEPTH + 1;
        let mut events = Parser::new_from_str_with_options(text, options);
        let mut root: Option<Node> = None;
        loop {
            let (event, span) = self.next(&mut events, text, problems_before)?;
            match event {
                Event::StreamEnd => {
                    if root.is_none() {
                        self.refuse(self.start..self.start, NOTHING);
                    }
                    return Ok(root);
                }
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if root.is_some() => {
                    let at = self.range(&span);
                    self.refuse(at, "a second document in the file; a config is one document");
                    return Ok(root);
                }
                Event::DocumentStart(..) => {}
                event => root = Some(self.node(event, span, &mut events, text, problems_before, 1)?),
            }
        }
    }

    fn next<'t>(
        &mut self,
        events: &mut Events<'t>,
        text: &str,
        problems_before: usize,
    ) -> Result<(Event<'t>, Span), Stop> {
        match events.next() {
            Some(Ok(next)) => Ok(next),
            None => Err(Stop),
            Some(Err(error)) => {
                // After a tab or a control character the rest often can't be
                // parsed; a second message about the same place would mislead.
                if self.problems.len() == problems_before {
                    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
                    let end = text[text.floor_char_boundary(at)..].find('\n').map_or(text.len(), |n| at + n);
                    let message = format!("this is not YAML: {}", error.info());
                    self.refuse(self.start + at..self.start + end, &message);
                }
                Err(Stop)
            }
        }
    }

    fn node<'t>(
        &mut self,
        event: Event<'t>,
        span: Span,
        events: &mut Events<'t>,
        text: &str,
        before: usize,
        depth: usize,
    ) -> Result<Node, Stop> {
        let mut range = self.range(&span);
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            self.refuse(range, &format!("more than {MAX_NODES} values; a config is far smaller"));
            return Err(Stop);
        }
        if depth > MAX_DEPTH {
            self.refuse(range, &format!("nested deeper than {MAX_DEPTH} levels"));
            return Err(Stop);
        }
        if event.anchor_id().is_some_and(|id| id > 0) {
            self.refuse(range.clone(), "anchors (&name) are not allowed in a config; write the value out");
        }
        if event.tag().is_some() {
            self.refuse(range.clone(), "tags (!name) are not allowed in a config; write the plain value");
        }
        let kind = match event {
            Event::Scalar(value, style, _, tag) => {
                let plain = style == ScalarStyle::Plain;
                if tag.is_some() { Kind::Refused } else { Kind::Scalar { text: value.into_owned(), plain } }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.next(events, text, before)?;
                    if event == Event::SequenceEnd {
                        range.end = range.end.max(self.range(&span).end);
                        break;
                    }
                    items.push(self.node(event, span, events, text, before, depth + 1)?);
                }
                Kind::Sequence(items)
            }
            Event::MappingStart(..) => {
                let mut entries = Vec::new();
                loop {
                    let (event, span) = self.next(events, text, before)?;
                    if event == Event::MappingEnd {
                        range.end = range.end.max(self.range(&span).end);
                        break;
                    }
                    let key = self.node(event, span, events, text, before, depth + 1)?;
                    let (event, span) = self.next(events, text, before)?;
                    let value = self.node(event, span, events, text, before, depth + 1)?;
                    entries.push(Entry { key, value });
                }
                Kind::Mapping(entries)
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(
                    range.clone(),
                    "aliases (*name) are not allowed in a config; write the value out",
                );
                Kind::Refused
            }
            _ => Kind::Refused,
        };
        Ok(Node { span: range, kind })
    }

    fn range(&self, span: &Span) -> Range<usize> {
        let start = self.start + span.start.byte_offset().unwrap_or_default();
        let end = self.start + span.end.byte_offset().unwrap_or_default();
        start..end.max(start)
    }

    fn refuse(&mut self, span: Range<usize>, message: &str) {
        self.problems.push(|| self.source.problem(span, "", message));
    }
}
