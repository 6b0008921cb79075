//! The result of a comparison: a verdict, numbers without one, or why there is neither.

use rlxp_analyze::describe::verdict::Described;
use rlxp_analyze::verdict::{Answer, Verdict};
use serde::ser::Error;
use serde::{Serialize, Serializer};

use super::looks::Descriptive;

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoVerdict {
    /// The groups were measured in different ways.
    NotComparable,
    /// A group has seeds that are still running, or that were stopped from outside.
    Unfinished,
    /// Seeds that did not fail have no score.
    MissingScores,
    /// The same training is in both groups.
    SharedTrainings,
    /// Earlier looks at the question can't be read.
    LooksUnknown,
}

/// No verdict, with the fields that a verdict would have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unjudged {
    /// Always null.
    pub verdict: Option<Answer>,
    pub reason: NoVerdict,
    /// Always null.
    pub seeds_needed: Option<u64>,
    /// Why, in sentences.
    pub statements: Vec<String>,
}

/// A verdict, or why it is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Judgement {
    Judged(Box<Described>),
    /// The numbers alone.
    Descriptive(Box<Numbers>),
    Unjudged(Unjudged),
}

impl Judgement {
    /// The verdict, or the numbers that one would have; they never claim anything.
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Judged(judged) => Some(&judged.verdict),
            Self::Descriptive(numbers) => Some(&numbers.described.verdict),
            Self::Unjudged(_) => None,
        }
    }

    pub fn statements(&self) -> &[String] {
        match self {
            Self::Judged(judged) => &judged.statements,
            Self::Descriptive(numbers) => &numbers.described.statements,
            Self::Unjudged(none) => &none.statements,
        }
    }
}

/// Numbers without a verdict, with the fields of a verdict: `cannot_tell`, and its own reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    pub described: Described,
    pub why: Descriptive,
}

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serde_json::to_value(&self.described).map_err(S::Error::custom)?;
        fields["reason"] = self.why.as_str().into();
        fields.serialize(serializer)
    }
}

/// How the level was adjusted for several comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Holm {
    /// Comparisons that were judged together.
    pub comparisons: usize,
    /// The level at which each direction of this one was judged.
    pub level: f64,
    /// The smaller p value of the two directions.
    pub p: f64,
    /// The same, adjusted: a claim needs it at the look's level or below.
    pub adjusted_p: f64,
}
