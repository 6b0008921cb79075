//! `rlx stats`

mod campaign;

use clap::{Args, Subcommand};
use rlxp_ops::insight::stats::{CompareRequest, NoNumber, Pilot, PowerReport, PowerRequest, compare, power};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx stats compare --a scores_a.csv --b scores_b.csv
  rlx stats power --effect 1.0
  rlx stats campaign plan wide deep slow --runs 80 --output campaign.json";

const COMPARE_EXAMPLES: &str = "\
Examples:
  rlx stats compare --a scores_a.csv --b scores_b.csv
  rlx stats compare --a scores_a.csv --b scores_b.csv --lower    # less is better
  rlx stats compare --a scores_a.csv --b scores_b.csv --paired   # same seeds in the same order";

const POWER_EXAMPLES: &str = "\
Examples:
  rlx stats power --effect 1.0               # seeds per group to detect one standard deviation
  rlx stats power --seeds 5                  # what five seeds per group can detect
  rlx stats power --effect 1.0 --seeds 10    # the power of ten seeds
  rlx stats power --effect 1.0 --looks 2     # with a look at half of the seeds";

/// Compare any two sets of scores, plan seeds, or run a campaign of many candidates
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
    Campaign(campaign::Campaign),
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
    /// Smallest difference that matters, in score units [default: a fifth of the typical distance between runs]
    #[arg(long, value_name = "SCORE")]
    minimum_effect: Option<f64>,
    /// Score of a failed run [default: worse than the worst score]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    failure_score: Option<f64>,
}

/// Compute how many seeds a comparison needs
///
/// Simulates the verdict itself, with its smallest effect, its fewest seeds and
/// its planned looks, on Gaussian scores or on those of pilot runs.
#[derive(Args)]
#[command(after_long_help = POWER_EXAMPLES)]
struct Power {
    /// Difference to detect, in standard deviations of the scores (of the differences, with --paired)
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    effect: Option<f64>,
    /// Seeds per group
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Power: chance to detect a real difference
    #[arg(long, default_value_t = 0.8)]
    power: f64,
    /// Significance level: chance of a false positive over all looks
    #[arg(long, default_value_t = 0.05)]
    alpha: f64,
    /// Planned looks at the runs, equally spaced
    #[arg(long, value_name = "N", default_value_t = 1)]
    looks: u64,
    /// Smallest difference that matters, in standard deviations [default: a fifth of the typical distance between runs]
    #[arg(long, value_name = "D")]
    minimum_effect: Option<f64>,
    /// Scores of at least 10 pilot runs to simulate from instead of a Gaussian
    #[arg(long, value_name = "FILE")]
    pilot: Option<String>,
    /// Column or key with the score in the pilot's file
    #[arg(long, value_name = "NAME", requires = "pilot")]
    column: Option<String>,
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
            Question::Power(question) => question.run(context, screen),
            Question::Campaign(question) => question.run(context, screen),
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
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let pilot = self.pilot.clone().map(|file| Pilot { file, column: self.column.clone() });
        let report = power(
            context,
            &PowerRequest {
                effect: self.effect,
                seeds: self.seeds,
                power: self.power,
                alpha: self.alpha,
                two_sided: !self.one_sided,
                paired: self.paired,
                looks: self.looks,
                minimum_effect: self.minimum_effect,
                pilot,
            },
        )?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            screen.line(sentence(&report));
        }
        Ok(Exit::Yes)
    }
}

fn sentence(report: &PowerReport) -> String {
    let groups = if report.paired { "pairs of seeds" } else { "seeds per group" };
    let sides = if report.two_sided { "two-sided" } else { "one-sided" };
    let looks = if report.looks == 1 { String::new() } else { format!(", {} looks", report.looks) };
    let returns = match report.pilot_runs {
        Some(runs) => format!("simulated from {runs} pilot runs"),
        None => "Gaussian scores".to_owned(),
    };
    let how = format!("{sides} level {}{looks}; {returns}", report.alpha);
    let unit = report.difference.map_or(String::new(), |size| format!(" ({size:.4} in the score's unit)"));
    match (report.effect, report.seeds) {
        (Some(effect), Some(seeds)) => {
            let minimum = if report.minimum { ", the fewest for a verdict," } else { "" };
            let chance = format!("{:.1}%", 100.0 * report.power);
            format!(
                "{seeds} {groups}{minimum} detect a difference of {effect:.3} standard deviations{unit} with {chance} \
                 probability ({how})"
            )
        }
        (Some(effect), None) => match report.no_number {
            Some(NoNumber::EffectTooSmall) => format!(
                "no number of seeds will settle this, because {effect} standard deviations is not above the smallest \
                 difference that matters ({})",
                report.minimum_effect
            ),
            Some(NoNumber::TooMany) | None => {
                format!("it takes more than 2000 {groups} to detect {effect} standard deviations ({how})")
            }
        },
        (None, Some(seeds)) if seeds < report.fewest_seeds => format!(
            "{seeds} {groups} detect no difference: a verdict needs at least {} ({how})",
            report.fewest_seeds
        ),
        (None, seeds) => format!(
            "{} {groups} detect no difference with {:.0}% probability, however large it is ({how})",
            seeds.unwrap_or(0),
            100.0 * report.power
        ),
    }
}
