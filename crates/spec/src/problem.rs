//! What is wrong with a config: one problem, and all of them.

use std::fmt;

use serde::Serialize;

use crate::source::Source;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The config can't be used.
    Error,
    /// The config is valid, but something in it is not available here.
    Warning,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Name of the source; `--set` for overrides.
    pub file: String,
    /// Line, from 1; for overrides the number of the override.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Dotted key, such as `algo.gamma`; empty for the file as a whole.
    pub path: String,
    /// The offending source text, at most one line of it.
    pub text: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem of a whole file.
    pub(crate) fn new(severity: Severity, file: &str, path: &str, message: String) -> Self {
        Self {
            severity,
            file: file.to_owned(),
            line: 1,
            column: 1,
            path: path.to_owned(),
            text: String::new(),
            message,
            hint: None,
        }
    }

    /// The same with what to write instead.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{file}:{line}:{column}: {severity}: {message}")?;
        self.hint.iter().try_for_each(|hint| write!(f, " (hint: {hint})"))
    }
}

/// Every problem that was found, with the sources they point into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The problems in the order of the text.
    pub problems: Vec<Problem>,
    /// The texts, for [`render`](crate::render).
    pub sources: Vec<Source>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::render(&self.problems, &self.sources, false))
    }
}

impl std::error::Error for Problems {}

/// Problems beyond this many are counted, not kept: a hostile file can't make
/// the report larger than a person could read.
const MOST: usize = 200;

/// Collects problems during validation.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    problems: Vec<Problem>,
    uncounted: usize,
}

impl Collector {
    /// Takes a closure because finding a place costs a walk over the text.
    pub(crate) fn push(&mut self, problem: impl FnOnce() -> Problem) {
        if self.problems.len() < MOST {
            self.problems.push(problem());
        } else {
            self.uncounted += 1;
        }
    }

    /// How many there were, those not kept included.
    pub(crate) fn len(&self) -> usize {
        self.problems.len() + self.uncounted
    }

    /// Nothing more will be kept.
    pub(crate) fn is_full(&self) -> bool {
        self.problems.len() == MOST
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// The problems by place, files in the order in which they were read.
    pub(crate) fn into_sorted(self, sources: &[Source]) -> Vec<Problem> {
        let mut problems = self.problems;
        let position = |file: &str| sources.iter().position(|source| source.name == file);
        problems.sort_by_key(|problem| (position(&problem.file), problem.line, problem.column));
        if self.uncounted > 0
            && let Some(last) = problems.last()
        {
            let message = "more problems are not shown".to_owned();
            let more =
                Problem { text: String::new(), path: String::new(), message, hint: None, ..last.clone() };
            problems.push(more);
        }
        problems
    }
}
