//! YAML text to a tree with byte spans, within a tight budget.
//!
//! The only module that knows the YAML library. It reads parser events rather
//! than deserialising: a derive stops at the first problem and loses the
//! difference between `3e-4` and `"3e-4"`, both of which the checks need.
//! Anchors, aliases and tags are refused, so a small text can't become a large
//! tree.

use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span};

use crate::clean::{Cleaned, clean};
use crate::problem::Collector;
use crate::source::{MAX_BYTES, Source, too_large};

/// The message for an empty text.
pub(crate) const NOTHING: &str = "the file is empty; a config needs at least `env.id`";

const MAX_DEPTH: usize = 32;
const TOO_DEEP: &str = "nested deeper than 32 levels";
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

/// A key of a mapping with its value.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: Node,
    pub(crate) value: Node,
}

/// How messages call what is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wording {
    /// With its article.
    pub(crate) noun: &'static str,
    /// The message for an empty text.
    pub(crate) nothing: &'static str,
}

const CONFIG: Wording = Wording { noun: "a config", nothing: NOTHING };

/// Reads `source.text[part]` as one config. `None` means that nothing could
/// be read; then there is a problem that says why.
pub(crate) fn parse(source: &Source, part: Range<usize>, problems: &mut Collector) -> Option<Node> {
    parse_as(source, part, CONFIG, problems)
}

/// Like [`parse`], for other kinds of files.
pub(crate) fn parse_as(
    source: &Source,
    part: Range<usize>,
    wording: Wording,
    problems: &mut Collector,
) -> Option<Node> {
    let text = &source.text[part.clone()];
    if text.len() >= MAX_BYTES {
        problems.push(|| source.problem(part.start..part.start, "", too_large(text.len(), wording.noun)));
        return None;
    }
    let before = problems.len();
    let cleaned = clean(source, &part, problems);
    if problems.is_full() {
        return None;
    }
    let doubtful = problems.len() > before;
    let mut builder = Builder { source, cleaned: &cleaned, wording, nodes: 0, doubtful, problems };
    builder.document().ok().flatten()
}

/// Parsing can't continue; the reason is among the problems.
struct Stop;

struct Builder<'a> {
    source: &'a Source,
    cleaned: &'a Cleaned<'a>,
    wording: Wording,
    nodes: usize,
    /// Tabs or control characters were reported: a syntax error is likely
    /// their doing, and a second message about the same thing would mislead.
    doubtful: bool,
    problems: &'a mut Collector,
}

type Events<'a> = Parser<'a, serde_saphyr::granit_parser::StrInput<'a>>;

impl Builder<'_> {
    fn document(&mut self) -> Result<Option<Node>, Stop> {
        let mut options = Options::default();
        options.set_emit_comments(false);
        options.emit_unresolved_aliases = true;
        options.disallow_directives = true;
        // One more than ours, so that our own message is the one that is seen.
        options.flow_nesting_limit = MAX_DEPTH + 1;
        options.block_nesting_limit = MAX_DEPTH + 1;
        let mut events = Parser::new_from_str_with_options(&self.cleaned.text, options);
        let mut root: Option<Node> = None;
        loop {
            let (event, span) = self.next(&mut events)?;
            match event {
                Event::StreamEnd => {
                    if root.is_none() {
                        let start = self.cleaned.original(0);
                        self.refuse(start..start, self.wording.nothing);
                    }
                    return Ok(root);
                }
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if root.is_some() => {
                    let at = self.range(&span);
                    let noun = self.wording.noun;
                    self.refuse(at, &format!("a second document in the file; {noun} is one document"));
                    return Ok(root);
                }
                Event::DocumentStart(..) => {}
                event => root = Some(self.node(event, span, &mut events, 1)?),
            }
        }
    }

    fn next<'t>(&mut self, events: &mut Events<'t>) -> Result<(Event<'t>, Span), Stop> {
        match events.next() {
            Some(Ok(next)) => Ok(next),
            None => Err(Stop),
            Some(Err(error)) => {
                if !self.doubtful {
                    let at = self.cleaned.original(error.marker().byte_offset().unwrap_or_default());
                    // The parser looks ahead, so its own limit may be met before ours.
                    let message = match error.info().as_str() {
                        "recursion limit exceeded" => TOO_DEEP.to_owned(),
                        why => format!("this is not YAML: {why}"),
                    };
                    self.refuse(at..self.source.text.len(), &message);
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
        depth: usize,
    ) -> Result<Node, Stop> {
        let mut range = self.range(&span);
        let noun = self.wording.noun;
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            self.refuse(range, &format!("more than {MAX_NODES} values, too many for {noun}"));
            return Err(Stop);
        }
        if depth > MAX_DEPTH {
            self.refuse(range, TOO_DEEP);
            return Err(Stop);
        }
        if event.anchor_id().is_some_and(|id| id > 0) {
            self.refuse(
                range.clone(),
                &format!("anchors (&name) are not allowed in {noun}; write the value out"),
            );
        }
        if event.tag().is_some() {
            self.refuse(
                range.clone(),
                &format!("tags (!name) are not allowed in {noun}; write the plain value"),
            );
        }
        let kind = match event {
            Event::Scalar(value, style, _, tag) => {
                let plain = style == ScalarStyle::Plain;
                if tag.is_some() {
                    Kind::Refused
                } else if plain && range.is_empty() {
                    // The parser reports a missing value as `~`.
                    Kind::Scalar { text: String::new(), plain }
                } else {
                    Kind::Scalar { text: value.into_owned(), plain }
                }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.next(events)?;
                    if event == Event::SequenceEnd {
                        range.end = range.end.max(self.range(&span).end);
                        break;
                    }
                    items.push(self.node(event, span, events, depth + 1)?);
                }
                Kind::Sequence(items)
            }
            Event::MappingStart(..) => {
                let mut entries = Vec::new();
                loop {
                    let (event, span) = self.next(events)?;
                    if event == Event::MappingEnd {
                        range.end = range.end.max(self.range(&span).end);
                        break;
                    }
                    let key = self.node(event, span, events, depth + 1)?;
                    let (event, span) = self.next(events)?;
                    let value = self.node(event, span, events, depth + 1)?;
                    entries.push(Entry { key, value });
                }
                Kind::Mapping(entries)
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(
                    range.clone(),
                    &format!("aliases (*name) are not allowed in {noun}; write the value out"),
                );
                Kind::Refused
            }
            _ => Kind::Refused,
        };
        Ok(Node { span: range, kind })
    }

    fn range(&self, span: &Span) -> Range<usize> {
        let start = self.cleaned.original(span.start.byte_offset().unwrap_or_default());
        let end = self.cleaned.original(span.end.byte_offset().unwrap_or_default());
        start..end.max(start)
    }

    fn refuse(&mut self, span: Range<usize>, message: &str) {
        self.problems.push(|| self.source.problem(span, "", message));
    }
}
