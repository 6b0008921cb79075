//! YAML documents: what was written, where it is, and how it differs from what
//! the schema of a type allows. Configs are read and checked by the same code;
//! [`load`](crate::load()) adds layers and defaults to it.
//!
//! A [`Document`] holds explicit values only. Nothing is filled in, so a digest
//! of the value covers exactly what a person or an agent has written.
//!
//! Plain scalars have one unambiguous meaning: `true`, `false`, `null`, `~` and
//! nothing at all; whole numbers (`1_000` too); numbers with a point or an
//! exponent (`3e-4`). What readers of YAML disagree about is refused with what
//! to write instead: `yes`, `no`, `on`, `off`, `0x10`, `0o17`, `0b1`, `012`,
//! and numbers that are not finite or too large. All else is text, `2h` and
//! `2026-01-31` included, and so is everything in quotes and every key.

pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod choice;
pub(crate) mod coerce;
mod edit;
mod json;
pub(crate) mod schema;
pub(crate) mod span_tree;
mod typed;
pub(crate) mod words;
mod write;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::problem::{Collector, Problem, Problems};
use crate::source::Source;
use crate::tree::{self, Kind, Wording};
use build::Doubtful;
use check::At;
use span_tree::SpanTree;

pub use edit::{add_value, get_value, remove_value, set_value, whole_value};
pub use schema::{Words, unsupported};
pub use write::to_yaml;

const DOCUMENT: Wording = Wording { noun: "a document", nothing: "the file is empty" };

/// A hand-written YAML file: its explicit values, and their positions.
#[derive(Clone, Debug)]
pub struct Document {
    source: Source,
    value: Value,
    spans: SpanTree,
}

impl Document {
    /// Reads one YAML document, within the budget of a config: no anchors,
    /// aliases or tags, no key twice. Reports every problem at once.
    pub fn read(source: Source) -> Result<Self, Problems> {
        let mut problems = Collector::default();
        let tree = tree::parse_as(&source, 0..source.text.len(), DOCUMENT, &mut problems);
        let read = tree.map(|root| {
            if let Kind::Scalar { text, plain: true } = &root.kind
                && text.is_empty()
            {
                problems.push(|| source.problem(root.span.clone(), "", DOCUMENT.nothing));
            }
            build::build(&source, "", &root, Doubtful::Refused, &mut problems)
        });
        match read {
            Some((value, spans)) if problems.is_empty() => Ok(Self { source, value, spans }),
            _ => {
                let sources = vec![source];
                Err(Problems { problems: problems.into_sorted(&sources), sources })
            }
        }
    }

    /// Reads the bytes of a file: like [`read`](Self::read), and refuses what
    /// is not UTF-8.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Problems> {
        Self::read(Source::from_bytes_as(name.into(), bytes, DOCUMENT.noun)?)
    }

    /// Exactly what was written, nothing filled in; keys in the order of the file.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The text that it was read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// An error about the value at `path`, such as `changes[1].key`, located
    /// there or at the nearest enclosing value.
    pub fn problem(&self, path: &str, message: impl Into<String>) -> Problem {
        let span = self.spans.find(&self.value, path).span(&self.source.text);
        self.source.problem(span, path, message)
    }

    /// Everything in which the value differs from a JSON Schema as `schemars`
    /// writes it for a type, in the order of the file.
    ///
    /// # Panics
    /// In debug builds, if the schema has a keyword that is not
    /// [enforced](unsupported): a fault of the type, not of the document.
    pub fn check(&self, schema: &Value) -> Vec<Problem> {
        debug_assert_eq!(unsupported(schema), Vec::<String>::new(), "keywords that no check enforces");
        let mut problems = Collector::default();
        let root = At { value: &self.value, place: &self.spans, path: "" };
        for finding in check::findings(schema, schema, &self.source.text, root, None) {
            problems.push(|| finding.into_problem(&self.source));
        }
        problems.into_sorted(std::slice::from_ref(&self.source))
    }

    /// The document as a `T`: checked against the schema of `T`, then read.
    ///
    /// A type may have rules beyond its schema, such as those of a name. The
    /// first value that breaks one is reported, and the following as well as
    /// long as the schemas of those types give `examples`.
    pub fn typed<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, Problems> {
        let schema = schemars::schema_for!(T).to_value();
        let mut problems = self.check(&schema);
        if problems.is_empty() {
            match typed::typed(&self.value, &schema) {
                Ok(typed) => return Ok(typed),
                Err(refusals) => {
                    let problem = |refusal: typed::Refusal| self.problem(&refusal.path, refusal.message);
                    problems.extend(refusals.into_iter().map(problem));
                    problems.sort_by_key(|problem| (problem.line, problem.column));
                }
            }
        }
        Err(Problems { problems, sources: vec![self.source.clone()] })
    }
}
