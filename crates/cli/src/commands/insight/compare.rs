//! `rlx compare`

mod shown;

use clap::{Args, ValueEnum};
use rlxp_ops::below::Answer;
use rlxp_ops::insight::compare::{CompareReport, CompareRequest, Judgement, ScoreKind, compare};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx compare ppo_cartpole_001 ppo_cartpole_002
  rlx compare ppo_cartpole_001 @last --score area --minimum-effect 5
  rlx compare ppo_cartpole_001+ppo_cartpole_002 @last    # seeds of several runs as one group
  rlx compare ppo_cartpole_001 @last --metric entropy --lower --json";

/// Show what changed between runs and whether it improved the score
///
/// The first argument is the reference A; all others are compared with it. Each is
/// a run, tag:TAG for all runs with a tag, or RUN+RUN for several runs as one group.
/// Seeds are the samples; failed ones are scored, never dropped. Runs that differ in
/// environment, evaluation or budget get no verdict without --force, and unfinished
/// runs get none at all.
///
/// Each verdict is a look at the question, recorded in analysis/questions.jsonl. Asking
/// again with the same seeds repeats it; with more seeds it is the next look, and after
/// the planned number of looks the numbers are descriptive.
///
/// With --exit-code: 0 if every group is better than A, 1 if any is not, 3 if any
/// comparison has no verdict, such as with unfinished or incomparable runs.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Compare {
    /// Runs or groups; the first is the reference
    #[arg(required = true, value_name = "RUN", add = complete::runs())]
    words: Vec<String>,
    /// Group all given runs by equal settings
    #[arg(long, value_name = "WHAT")]
    group_by: Option<GroupBy>,
    /// How each seed is scored
    #[arg(long, value_name = "KIND", default_value = "last")]
    score: Kind,
    /// Compare this metric instead of the return: NAME or KIND/NAME
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Lower scores are better
    #[arg(long)]
    lower: bool,
    /// Compare seed by seed; both groups must have the same seeds
    #[arg(long)]
    paired: bool,
    /// Smallest difference that matters, in score units [default: a fifth of the typical distance between seeds]
    #[arg(long, value_name = "SCORE")]
    minimum_effect: Option<f64>,
    /// Planned number of looks at this question, 1 to 5; fixed by the first look [default: 2]
    #[arg(long, value_name = "N")]
    looks: Option<usize>,
    /// Give a verdict even if runs are not comparable, with a warning
    #[arg(long)]
    force: bool,
    /// Exit with 1 unless every group is better than A, or 3 if there is no verdict
    #[arg(long)]
    exit_code: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupBy {
    /// All settings except names, seeds and threads
    Config,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// The last evaluation, or the last tenth of a training metric
    Last,
    /// The best value during training
    Best,
    /// The mean over the whole curve
    Area,
    /// The `rlx eval` result of the latest checkpoint
    Eval,
    /// The `rlx eval` result of the best checkpoint
    EvalBest,
}

impl From<Kind> for ScoreKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Last => ScoreKind::Last,
            Kind::Best => ScoreKind::Best,
            Kind::Area => ScoreKind::Area,
            Kind::Eval => ScoreKind::Eval,
            Kind::EvalBest => ScoreKind::EvalBest,
        }
    }
}

impl Compare {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = compare(
            context,
            &CompareRequest {
                words: self.words.clone(),
                by_config: self.group_by == Some(GroupBy::Config),
                score: self.score.into(),
                metric: self.metric.clone(),
                lower: self.lower,
                paired: self.paired,
                minimum_effect: self.minimum_effect,
                force: self.force,
                looks: self.looks,
                record: true,
            },
        )?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            shown::answer(screen, &report);
        }
        Ok(if self.exit_code { exit_of(&report) } else { Exit::Yes })
    }
}

/// The exit code for scripts.
fn exit_of(report: &CompareReport) -> Exit {
    let refused = |judgement: &Judgement| matches!(judgement, Judgement::Unjudged(_));
    let better =
        |judgement: &Judgement| judgement.verdict().is_some_and(|verdict| verdict.verdict == Answer::Better);
    if report.comparisons.iter().any(|comparison| refused(&comparison.judgement)) {
        Exit::Refused
    } else if report.comparisons.iter().all(|comparison| better(&comparison.judgement)) {
        Exit::Yes
    } else {
        Exit::No
    }
}
