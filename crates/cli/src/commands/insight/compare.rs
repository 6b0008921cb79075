//! `rlx compare`

mod shown;

use clap::{Args, ValueEnum};
use rlxp_ops::below::Answer;
use rlxp_ops::insight::compare::{CompareReport, CompareRequest, Judgement, NoVerdict, ScoreKind, compare};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx compare ppo_cartpole_001 ppo_cartpole_002
  rlx compare ppo_cartpole_001 @last --score area --minimum-effect 5
  rlx compare ppo_cartpole_001+ppo_cartpole_002 @last    # seeds of several runs as one group
  rlx compare ppo_cartpole_001 @last --metric entropy --lower --json";

/// Say what changed between runs, and whether it made them better
///
/// The first word is the reference A; every further one is judged against it. A
/// word is a run, tag:TAG for all runs with a tag, or RUN+RUN for several runs as
/// one group. Seeds are what is counted; failed ones are scored, never dropped.
/// Runs with another environment, evaluation or budget get no verdict unless forced.
///
/// With --exit-code: 0 every group is better than A, 1 one is not, 3 there is no
/// verdict because runs are not comparable.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Compare {
    /// Runs or groups; the first is what the others are compared with
    #[arg(required = true, value_name = "RUN")]
    words: Vec<String>,
    /// Fold all runs named into groups of equal settings
    #[arg(long, value_name = "WHAT")]
    group_by: Option<GroupBy>,
    /// What a seed's score is
    #[arg(long, value_name = "KIND", default_value = "last")]
    score: Kind,
    /// Compare this metric instead of the return: NAME or KIND/NAME
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Less is better
    #[arg(long)]
    lower: bool,
    /// Compare seed by seed; both groups must have the same seeds
    #[arg(long)]
    paired: bool,
    /// Smallest difference that counts, in the score's unit; by default half a usual distance between seeds
    #[arg(long, value_name = "SCORE")]
    minimum_effect: Option<f64>,
    /// Judge runs that are not comparable, and say so
    #[arg(long)]
    force: bool,
    /// Exit with 1 unless every group is better than A, with 3 without a verdict
    #[arg(long)]
    exit_code: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupBy {
    /// Everything but names, seeds and threads
    Config,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// The last evaluation; the last tenth for metrics of training
    Last,
    /// The best value during training
    Best,
    /// The mean over the whole curve
    Area,
    /// What rlx eval measured of the latest checkpoint
    Eval,
    /// What rlx eval measured of the best checkpoint
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

/// What the answer amounts to for a script.
fn exit_of(report: &CompareReport) -> Exit {
    let refused = |judgement: &Judgement| matches!(judgement, Judgement::Unjudged(none) if none.reason == NoVerdict::NotComparable);
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
