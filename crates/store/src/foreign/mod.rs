//! Log files of other tools: one reader per format, bytes in, series of numbers out.
//!
//! | module | format | what is asked for |
//! |---|---|---|
//! | [`json`] | a JSON document | JSON pointers |
//! | [`jsonl`] | one JSON object per line | JSON pointers, with the step's |
//! | [`csv`] | a table with a header | columns, with the step's |
//! | [`tensorboard`] | an event file | tags |
//! | [`log`] | printed output | a text before the value, or a regular expression |
//! | [`wandb`] | an offline run of Weights & Biases | keys |
//!
//! The files come from programs that may have been killed, and from authors that may be hostile. A reader reads its
//! source once, from start to end, and keeps no more of it than one record and the points that were asked for, up to
//! [`MOST_POINTS`] each. What can't be read is a [`Trouble`] and never a number: a damaged file gives no points at all,
//! not those before the damage. Errors of the source itself are remembered by [`DigestedFile`], which also takes the
//! digest of exactly the bytes that were read.

pub mod csv;
pub mod json;
pub mod jsonl;
pub mod log;
pub mod tensorboard;
pub mod wandb;

mod crc32c;
mod file;
mod lines;
mod protobuf;
#[cfg(test)]
mod tests;

use rlxp_types::Point;

pub use file::DigestedFile;

/// The most points of one series; a log with more is reported.
pub const MOST_POINTS: usize = 4_000_000;

/// Why a series can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What kind of problem it is.
    pub kind: TroubleKind,
    /// The place and what is wrong there, for people.
    pub detail: String,
}

/// What kind of problem keeps a series from being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The file has no such key, column, tag or line.
    Missing,
    /// The file is damaged, too large or in another format, or the value is not a number.
    Unreadable,
    /// The file has it twice.
    Ambiguous,
}

/// The points of a series in the order in which they were written; never empty.
pub type Reading = Result<Vec<Point>, Trouble>;

impl Trouble {
    pub(crate) fn missing(detail: impl Into<String>) -> Self {
        Self { kind: TroubleKind::Missing, detail: detail.into() }
    }

    pub(crate) fn unreadable(detail: impl Into<String>) -> Self {
        Self { kind: TroubleKind::Unreadable, detail: detail.into() }
    }

    pub(crate) fn ambiguous(detail: impl Into<String>) -> Self {
        Self { kind: TroubleKind::Ambiguous, detail: detail.into() }
    }
}

/// A value as a log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// Where the value is: a JSON pointer or the name of a column.
    pub value: &'a str,
    /// Where its step is, if it has one.
    pub step: Option<&'a str>,
}

/// A series while it is being read.
#[derive(Default)]
struct Series {
    points: Vec<Point>,
    trouble: Option<Trouble>,
}

impl Series {
    fn push(&mut self, step: Option<f64>, value: f64) {
        if self.trouble.is_some() {
            return;
        }
        if self.points.len() >= MOST_POINTS {
            self.fail(Trouble::unreadable(format!("it has more than {MOST_POINTS} values")));
            return;
        }
        self.points.push(Point { step, value });
    }

    /// The first problem counts; points are given up.
    fn fail(&mut self, trouble: Trouble) {
        self.points = Vec::new();
        self.trouble.get_or_insert(trouble);
    }

    fn has_failed(&self) -> bool {
        self.trouble.is_some()
    }

    /// The series, or why there is none; `missing` says what the file lacks.
    fn finish(self, missing: impl FnOnce() -> String) -> Reading {
        match self.trouble {
            Some(trouble) => Err(trouble),
            None if self.points.is_empty() => Err(Trouble::missing(missing())),
            None => Ok(self.points),
        }
    }
}

/// One empty series for each thing that is asked for.
fn series_for<T>(wanted: &[T]) -> Vec<Series> {
    wanted.iter().map(|_| Series::default()).collect()
}

/// A problem of the whole file: no series of it counts.
fn fail_all(series: &mut [Series], trouble: &Trouble) {
    series.iter_mut().for_each(|one| one.fail(trouble.clone()));
}

/// A failed read of the source. [`DigestedFile`] knows more.
fn unread(error: &std::io::Error) -> Trouble {
    Trouble::unreadable(error.to_string())
}

/// Text from a file as a message quotes it: short, however long it is.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
