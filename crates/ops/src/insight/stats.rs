//! `rlx stats`: verdicts, power and campaigns for scores of any origin, with
//! no run of rlx's own behind them.

pub mod campaign;
mod power;
mod scores;

use rlxp_analyze::describe::verdict::{Described, Names};
use rlxp_analyze::verdict::{MinimumEffect, Options, Question, verdict};

use crate::context::Context;
use crate::failure::{Failure, Outcome};

pub use power::{Pilot, PowerReport, PowerRequest, power};
pub use rlxp_analyze::power::NoNumber;
use scores::scores;

/// Files have no identity that a second look could be recognised by.
const NOT_REMEMBERED: &str = "`rlx stats compare` remembers no earlier looks: asking again with more seeds, at this \
                              level each time, makes false claims more likely.";

/// Two files to compare.
#[derive(Clone, Debug, Default)]
pub struct CompareRequest {
    /// Scores of A, one per seed.
    pub a: String,
    /// Scores of B.
    pub b: String,
    /// Column of a CSV file or key of JSON objects; by default the only one with numbers.
    pub column: Option<String>,
    /// Less is better.
    pub lower: bool,
    /// Run i of A and run i of B have the same seed.
    pub paired: bool,
    /// Smallest difference that counts, in the scores' unit.
    pub minimum_effect: Option<f64>,
    /// What a failed run (NaN or empty) is scored with.
    pub failure_score: Option<f64>,
}

/// Whether B is better than A.
pub fn compare(context: &Context, request: &CompareRequest) -> Outcome<Described> {
    let a = scores(context, &request.a, request.column.as_deref())?;
    let b = scores(context, &request.b, request.column.as_deref())?;
    let mut options =
        Options { paired: request.paired, failure_score: request.failure_score, ..Options::default() };
    if request.lower {
        options.direction = rlxp_analyze::verdict::Direction::Lower;
    }
    if let Some(effect) = request.minimum_effect {
        options.minimum_effect = MinimumEffect::Absolute(effect);
    }
    let judged = verdict(Question { a: &a, b: &b, guardrails: &[] }, &options)
        .map_err(|invalid| Failure::usage("not_comparable", invalid.to_string()))?;
    let mut described = Described::new(judged, Names::default());
    described.statements.push(NOT_REMEMBERED.to_owned());
    Ok(described)
}
