//! `rlx stats campaign`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rlxp_ops::insight::stats::campaign::{
    CampaignReport, LookReport, PlanRequest, Step, Wanted, look, open, plan,
};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::significant;

use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx stats campaign plan wide deep slow --runs 80 --output campaign.json
  rlx stats campaign look campaign.json --scores scores.csv
  rlx stats campaign plan --sequence 10 --output study.json    # candidates come one after another";

const PLAN_EXAMPLES: &str = "\
Examples:
  rlx stats campaign plan wide deep slow                       # only print the plan
  rlx stats campaign plan wide deep slow --runs 80 --output campaign.json
  rlx stats campaign plan --sequence 10 --output study.json    # candidates come one after another";

const OPEN_EXAMPLES: &str = "\
Examples:
  rlx stats campaign plan --sequence 10 --output study.json
  rlx stats campaign look study.json --scores incumbent.csv
  rlx stats campaign open study.json bigger-batch";

const LOOK_EXAMPLES: &str = "\
Examples:
  rlx stats campaign plan wide deep slow --runs 80 --output campaign.json
  rlx stats campaign look campaign.json --scores scores.csv";

/// Compare many candidates with one incumbent without false discoveries
///
/// The chance of any false "better" over the whole campaign is fixed when it is planned. `plan` says which seeds to
/// train, `look` reads their scores and answers: accept, drop, or more seeds. Scores come from any tool.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Campaign {
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand)]
enum Question {
    Plan(Plan),
    Open(Open),
    Look(Look),
}

/// Plan a campaign: its runs, its looks and its power
///
/// Named candidates are a batch: all are screened on a few seeds, and the best one is confirmed on fresh seeds.
/// With --sequence, candidates come one after another and share one set of the incumbent's runs.
#[derive(Args)]
#[command(after_long_help = PLAN_EXAMPLES)]
struct Plan {
    /// Names of the candidates of a batch
    #[arg(value_name = "CANDIDATE", required_unless_present = "sequence")]
    candidates: Vec<String>,
    /// Plan for so many candidates, one after another
    #[arg(long, value_name = "N", conflicts_with = "candidates")]
    sequence: Option<u64>,
    /// At most this many runs; with --sequence, apart from those that top up accepted candidates
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Batches planned in total, which share the error
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "sequence")]
    batches: u64,
    /// Chance of any false "better" over the campaign
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    error: f64,
    /// Improvement whose power is stated, in standard deviations
    #[arg(long, value_name = "D", default_value_t = 1.0)]
    effect: f64,
    /// Lower scores are better
    #[arg(long)]
    lower: bool,
    /// Smallest difference that matters, in score units [default: a fifth of the typical distance between runs]
    #[arg(long, value_name = "SCORE")]
    minimum_effect: Option<f64>,
    /// Score of a failed run [default: worse than the worst score]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    failure_score: Option<f64>,
    /// First seed of the campaign
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    first_seed: u64,
    /// Store the campaign in this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a campaign that is stored there
    #[arg(long)]
    force: bool,
}

/// Open the next candidate of a sequence
#[derive(Args)]
#[command(after_long_help = OPEN_EXAMPLES)]
struct Open {
    /// Stored campaign
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Name of the candidate
    #[arg(value_name = "CANDIDATE")]
    candidate: String,
}

/// Look at the scores of the requested runs
///
/// The scores are CSV with the columns group, seed and score, where the incumbent's group is called `incumbent` and a
/// failed run has an empty score. Rows of earlier looks may stay in the file.
#[derive(Args)]
#[command(after_long_help = LOOK_EXAMPLES)]
struct Look {
    /// Stored campaign
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Scores of the requested runs
    #[arg(long, value_name = "FILE")]
    scores: String,
}

impl Campaign {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let (report, planned) = match &self.question {
            Question::Plan(question) => (plan(context, &question.request())?, true),
            Question::Open(question) => (open(context, &question.file, &question.candidate)?, false),
            Question::Look(question) => (look(context, &question.file, &question.scores)?, false),
        };
        if screen.is_json() {
            screen.json(&report);
        } else {
            let mut lines = if planned { planned_lines(&report) } else { Vec::new() };
            lines.extend(step_lines(&report));
            screen.lines(&lines);
        }
        Ok(Exit::Yes)
    }
}

impl Plan {
    fn request(&self) -> PlanRequest {
        PlanRequest {
            candidates: self.candidates.clone(),
            sequence: self.sequence,
            runs: self.runs,
            batches: self.batches,
            error: self.error,
            effect: self.effect,
            lower: self.lower,
            minimum_effect: self.minimum_effect,
            failure_score: self.failure_score,
            first_seed: self.first_seed,
            output: self.output.clone(),
            force: self.force,
        }
    }
}

fn planned_lines(report: &CampaignReport) -> Vec<String> {
    let plan = &report.plan;
    let mut lines = Vec::new();
    if !plan.screening.is_empty() {
        let rounds: Vec<String> = plan
            .screening
            .iter()
            .map(|(candidates, seeds)| format!("{candidates} candidates × {}", count(*seeds, "seed")))
            .collect();
        lines.push(format!("Screening: {}; the best one is confirmed.", rounds.join(", then ")));
    }
    let looks: Vec<String> = plan.looks.iter().map(u64::to_string).collect();
    lines.push(match plan.incumbent_seeds {
        Some(seeds) => format!(
            "Incumbent: {}, made once. Each candidate: looks at {} seeds.",
            count(seeds, "seed"),
            looks.join(", ")
        ),
        None => format!("Confirming: looks at {} fresh seeds per group.", looks.join(", ")),
    });
    // An accepted candidate replaces the incumbent and is trained up to its number of seeds. The plan can't know how
    // many candidates will be accepted.
    let topped_up = match (plan.incumbent_seeds, plan.looks.first()) {
        (Some(incumbent), Some(first)) if incumbent > *first => {
            format!(", and up to {} more for each that is accepted", incumbent - first)
        }
        _ => String::new(),
    };
    lines.push(format!(
        "Power: a candidate that is {} better is accepted with {:.0}% probability (Gaussian scores), after {:.0} runs \
         on average; at most {} runs{topped_up}.",
        deviations(plan.power.effect),
        100.0 * plan.power.found,
        plan.power.mean_runs,
        plan.largest_runs
    ));
    lines
}

fn step_lines(report: &CampaignReport) -> Vec<String> {
    let mut lines = match &report.step {
        Step::MoreSeeds { look: Some(look) } => {
            vec![format!("More seeds for {}: {}.", look.candidate, numbers(look))]
        }
        Step::MoreSeeds { look: None } => still_in(report),
        Step::Accept { look } => vec![format!("Accept {}: {}.", look.candidate, numbers(look))],
        Step::Drop { look } => {
            vec![format!(
                "Drop {}: unlikely to be accepted with more seeds; {}.",
                look.candidate,
                numbers(look)
            )]
        }
        Step::Undecided { look } => vec![format!(
            "{} is not shown to be better, and all planned seeds are used; {}.",
            look.candidate,
            numbers(look)
        )],
        Step::NextCandidate { left } => {
            let mut lines: Vec<String> = report
                .effect
                .iter()
                .map(|effect| gain(report, effect.typical, effect.mean, effect.seeds))
                .collect();
            lines.push(format!("Ready for the next candidate; {} left.", count(*left, "candidate")));
            lines
        }
        Step::Ended => vec!["The campaign is over: all planned candidates were tried.".to_owned()],
    };
    if !report.wanted.is_empty() {
        let topped_up = matches!(report.step, Step::Accept { .. });
        lines.push(if topped_up { "Train, as it is the incumbent now:" } else { "Train:" }.to_owned());
        lines.extend(report.wanted.iter().map(|wanted| format!("  {}", runs(wanted))));
    }
    lines.extend(next_command(report));
    lines
}

/// Which candidates a screening has left.
fn still_in(report: &CampaignReport) -> Vec<String> {
    let left = report.candidates_left.as_deref().unwrap_or_default();
    match left {
        [] => Vec::new(),
        _ if left.len() as u64 == report.plan.candidates => Vec::new(),
        [finalist] => {
            vec![format!("Screening is over: {finalist} ranks best and is confirmed on fresh seeds.")]
        }
        _ => vec![format!("Still in, by mean rank: {}.", left.join(", "))],
    }
}

fn next_command(report: &CampaignReport) -> Option<String> {
    let file = report.file.as_ref()?.display();
    if !report.wanted.is_empty() {
        return Some(format!("Then run `rlx stats campaign look {file} --scores scores.csv`."));
    }
    // After the last candidate of a sequence, opening says that none is left.
    let open = report.incumbent.is_some() && report.step != Step::Ended;
    open.then(|| format!("Open the next one with `rlx stats campaign open {file} NAME`."))
}

fn gain(report: &CampaignReport, typical: f64, mean: f64, seeds: u64) -> String {
    format!(
        "{} against the incumbent before, from {} that had no part in accepting it: typical difference {}, means differ \
         by {}.",
        report.incumbent.as_deref().unwrap_or_default(),
        count(seeds, "seed"),
        significant(typical),
        significant(mean)
    )
}

/// The numbers of a look.
fn numbers(look: &LookReport) -> String {
    let drop = look.drop.map_or(String::new(), |drop| format!(", drops below {drop:.2}"));
    let veto = if look.veto.is_some() { "; mean or failed runs speak against it" } else { "" };
    let small = if look.basis.is_none() { "; the difference is too small to matter" } else { "" };
    format!(
        "look {} of {}, {} of it against {} of the incumbent, z = {:.2} (accepts from {:.2}{drop}){small}{veto}",
        look.look,
        look.looks,
        count(look.seeds.0, "seed"),
        look.seeds.1,
        look.z,
        look.accept
    )
}

fn runs(wanted: &Wanted) -> String {
    let (Some(first), Some(last)) = (wanted.seeds.first(), wanted.seeds.last()) else {
        return wanted.group.clone();
    };
    if first == last {
        return format!("{}: seed {first}", wanted.group);
    }
    format!("{}: seeds {first} to {last}", wanted.group)
}

fn deviations(effect: f64) -> String {
    if effect == 1.0 {
        return "1 standard deviation".to_owned();
    }
    format!("{} standard deviations", significant(effect))
}

fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
