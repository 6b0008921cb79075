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
  rlx stats compare --a scores_a.csv --b scores_b.csv --paired   # same seeds in the same order";

const POWER_EXAMPLES: &str = "\
Examples:
  rlx stats power --effect 1.0               # seeds per group to detect one standard deviation
  rlx stats power --seeds 5                  # what five seeds per group can detect
  rlx stats power --effect 1.0 --seeds 10    # the power of ten seeds";

/// Compare any two sets of scores, or compute how many seeds a test needs
///
/// Works with scores from any tool, one per training run; no rlx run is needed.
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

/// Test whether B is better than A
///
/// A file holds one number per line, CSV with a header, a JSON array or JSON
/// Lines. An empty value, NaN in CSV or null in JSON marks a failed run, which
/// is scored, not dropped. The verdict is better, worse or cannot_tell, with a reason.
#[derive(Args)]
#[command(after_long_help = COMPARE_EXAMPLES)]
struct Compare {
    /// Scores of A, one per seed
    #[arg(long, value_name = "FILE")]
    a: String,
    /// Scores of B, one per seed
    #[arg(long, value_name = "FILE")]
    b: String,
    /// Column or key with the score
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Higher scores are better (default)
    #[arg(long, conflicts_with = "lower")]
    higher: bool,
    /// Lower scores are better
    #[arg(long)]
    lower: bool,
    /// Score i of A and score i of B have the same seed
    #[arg(long)]
    paired: bool,
    /// Smallest difference that matters, in score units [default: half the typical distance between runs]
    #[arg(long, value_name = "SCORE")]
    minimum_effect: Option<f64>,
    /// Score of a failed run [default: worse than the worst score]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    failure_score: Option<f64>,
}

/// Compute how many seeds a comparison needs
#[derive(Args)]
#[command(after_long_help = POWER_EXAMPLES)]
struct Power {
    /// Difference to detect, in standard deviations of the scores
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    effect: Option<f64>,
    /// Seeds per group
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Power: chance to detect a real difference
    #[arg(long, default_value_t = 0.8)]
    power: f64,
    /// Significance level: chance of a false positive
    #[arg(long, default_value_t = 0.05)]
    alpha: f64,
    /// Only test whether B is better, not whether it is worse
    #[arg(long)]
    one_sided: bool,
    /// Both groups use the same seeds
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
    let groups = if paired { "pairs of seeds" } else { "seeds per group" };
    let sides = if two_sided { "two-sided" } else { "one-sided" };
    match (effect, seeds) {
        (Some(effect), Some(seeds)) => format!(
            "{seeds} {groups} detect a difference of {effect:.3} standard deviations with power {power:.3} \
             ({sides} test, significance level {alpha})"
        ),
        (Some(effect), None) => format!("no feasible number of seeds detects {effect} standard deviations"),
        (None, seeds) => format!("{} {groups} detect no difference with power {power}", seeds.unwrap_or(0)),
    }
}
