//! `rlx stats`

use clap::{Args, Subcommand};
use rlxp_ops::insight::stats::{CompareRequest, PowerReport, PowerRequest, compare, power};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx stats compare --a scores_a.csv --b scores_b.csv
  rlx stats power --effect 1.0";

const COMPARE_EXAMPLES: &str = "\
Examples:
  rlx stats compare --a scores_a.csv --b scores_b.csv
  rlx stats compare --a scores_a.csv --b scores_b.csv --lower    # less is better
  rlx stats compare --a scores_a.csv --b scores_b.csv --paired   # the same seeds, in the same order";

const POWER_EXAMPLES: &str = "\
Examples:
  rlx stats power --effect 1.0               # seeds per arm to find one deviation
  rlx stats power --seeds 5                  # what five seeds per arm can find
  rlx stats power --effect 1.0 --seeds 10    # the chance that ten seeds find it";

/// Say whether scores got better, and how many seeds that takes
///
/// For scores of any origin, one per training run: no run of rlx is needed.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Stats {
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand)]
enum Question {
    Compare(Compare),
    Power(Power),
}

/// Is B better than A?
///
/// A file holds one number per line, CSV with a header, a JSON array or JSON
/// Lines; NaN, null or nothing stands for a run that failed and is scored, not
/// dropped. The answer is better, worse or cannot_tell with its reason.
#[derive(Args)]
#[command(after_long_help = COMPARE_EXAMPLES)]
struct Compare {
    /// Scores of A, one per seed
    #[arg(long, value_name = "FILE")]
    a: String,
    /// Scores of B, one per seed
    #[arg(long, value_name = "FILE")]
    b: String,
    /// Column or key that holds the score
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// More is better (the default)
    #[arg(long, conflicts_with = "lower")]
    higher: bool,
    /// Less is better
    #[arg(long)]
    lower: bool,
    /// Score i of A and score i of B are of the same seed
    #[arg(long)]
    paired: bool,
    /// Smallest difference that counts, in the scores' unit; by default half a usual distance between runs
    #[arg(long, value_name = "SCORE")]
    minimum_effect: Option<f64>,
    /// What a failed run is scored with; by default worse than the worst
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    failure_score: Option<f64>,
}

/// How many seeds does a question need?
#[derive(Args)]
#[command(after_long_help = POWER_EXAMPLES)]
struct Power {
    /// Difference to find, in deviations of the scores
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    effect: Option<f64>,
    /// Seeds per arm
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Chance to find a difference that is there
    #[arg(long, default_value_t = 0.8)]
    power: f64,
    /// Chance to find one that is not there
    #[arg(long, default_value_t = 0.05)]
    alpha: f64,
    /// Only ask whether B is better, not whether it is worse
    #[arg(long)]
    one_sided: bool,
    /// Both arms use the same seeds
    #[arg(long)]
    paired: bool,
}

impl Stats {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match &self.question {
            Question::Compare(question) => question.run(context, screen),
            Question::Power(question) => question.run(screen),
        }
    }
}

impl Compare {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = CompareRequest {
            a: self.a.clone(),
            b: self.b.clone(),
            column: self.column.clone(),
            lower: self.lower,
            paired: self.paired,
            minimum_effect: self.minimum_effect,
            failure_score: self.failure_score,
        };
        let verdict = compare(context, &request)?;
        if screen.is_json() {
            screen.json(&verdict);
        } else {
            screen.lines(&verdict.statements);
        }
        Ok(Exit::Yes)
    }
}

impl Power {
    fn run(&self, screen: &Screen) -> Outcome<Exit> {
        let report = power(&PowerRequest {
            effect: self.effect,
            seeds: self.seeds,
            power: self.power,
            alpha: self.alpha,
            two_sided: !self.one_sided,
            paired: self.paired,
        })?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            screen.line(sentence(&report));
        }
        Ok(Exit::Yes)
    }
}

fn sentence(report: &PowerReport) -> String {
    let PowerReport { effect, seeds, power, alpha, two_sided, paired } = *report;
    let arms = if paired { "pairs of seeds" } else { "seeds per arm" };
    let sides = if two_sided { "both ways" } else { "one way" };
    match (effect, seeds) {
        (Some(effect), Some(seeds)) => format!(
            "{seeds} {arms} find a difference of {effect:.3} deviations with chance {power:.3} \
             (tested {sides}, false alarms {alpha})"
        ),
        (Some(effect), None) => format!("no number of seeds that can be trained finds {effect} deviations"),
        (None, seeds) => format!("{} {arms} find no difference with chance {power}", seeds.unwrap_or(0)),
    }
}
