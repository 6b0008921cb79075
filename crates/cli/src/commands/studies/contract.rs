//! `rlx contract`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rlxp_ops::below::render;
use rlxp_ops::studies::contract::check::{Checked, check};
use rlxp_ops::studies::contract::diff::{Diff, SectionChange, diff};
use rlxp_ops::studies::contract::input::add_inputs;
use rlxp_ops::studies::contract::intake::{Again, Drafted};
use rlxp_ops::studies::contract::request::request;
use rlxp_ops::studies::contract::{Answers, Ask, Intake};
use rlxp_ops::{Context, Failure, Outcome};
use rlxp_types::Exit;
use serde_json::Value;

use super::study::Which;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx contract new --yes --mission 'Balance for longer'
  rlx contract request task
  rlx contract diff";

const NEW_EXAMPLES: &str = "\
Examples:
  rlx contract new --yes --mission 'Balance for longer' --metric success_rate --looks 5,10,15";

const INPUT_EXAMPLES: &str = "\
Examples:
  rlx contract input data/expert.npz || echo 'there is no such file'";

const CHECK_EXAMPLES: &str = "\
Examples:
  rlx contract check || echo 'the contract is incomplete'
  rlx contract check --json > check.json || echo 'the contract is incomplete'";

const DIFF_EXAMPLES: &str = "\
Examples:
  rlx contract diff
  rlx contract diff --json";

const REQUEST_EXAMPLES: &str = "\
Examples:
  rlx contract new --yes
  rlx contract request
  rlx contract request metrics evaluation --to request.txt";

/// Draft, check and present the contract of a study
///
/// The contract is four files: contract.yaml, metric_spec.yaml, surface_map.yaml
/// and runbook.yaml. Agents and people can draft them; people approve them section
/// by section, and rlx never rewrites them after `rlx contract new`.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Contract {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    New(Box<New>),
    Input(Input),
    Check(Check),
    Diff(Changes),
    Request(Request),
}

/// Draft the four files from the folder and your answers
///
/// Scans the folder without running anything, then asks at most 12 questions with
/// what it found as defaults, and shows everything else that it assumed. Without a
/// terminal, or with --yes, the defaults are used; questions without a sensible
/// default are written as TODO for you to answer. A draft that you have neither
/// edited nor approved is replaced; other files are never overwritten.
#[derive(Args)]
#[command(after_long_help = NEW_EXAMPLES)]
struct New {
    #[command(flatten)]
    which: Which,
    /// Use the defaults without asking
    #[arg(short, long)]
    yes: bool,
    /// Replace an edited draft too; its text is kept with the ending .old
    #[arg(long)]
    again: bool,
    /// What the study should improve
    #[arg(long, value_name = "TEXT", help_heading = "Task")]
    mission: Option<String>,
    /// A constraint that must always hold; can be repeated
    #[arg(long, value_name = "TEXT", help_heading = "Task", hide_short_help = true)]
    constraint: Vec<String>,
    /// Something out of scope; can be repeated
    #[arg(long, value_name = "TEXT", help_heading = "Task", hide_short_help = true)]
    non_goal: Vec<String>,
    /// The primary metric
    #[arg(long, value_name = "NAME", help_heading = "Metrics")]
    metric: Option<String>,
    /// Where to read it in a run's folder: eval/scores.json#/success_rate, eval/progress.csv#return
    #[arg(long, value_name = "FILE#KEY", help_heading = "Metrics")]
    metric_source: Option<String>,
    /// Better direction: higher, lower
    #[arg(long, value_name = "WAY", help_heading = "Metrics", hide_short_help = true)]
    direction: Option<String>,
    /// The smallest difference that matters
    #[arg(long, value_name = "NUMBER", help_heading = "Metrics", hide_short_help = true)]
    smallest_effect: Option<String>,
    /// Score of a failed run: the worst possible score
    #[arg(long, value_name = "NUMBER", help_heading = "Metrics", hide_short_help = true)]
    #[arg(allow_hyphen_values = true)]
    failure_score: Option<String>,
    /// A guard metric that must not get worse: NAME=FILE#KEY,higher|lower,ALLOWED; can be repeated
    #[arg(long, value_name = "METRIC", help_heading = "Metrics", hide_short_help = true)]
    guardrail: Vec<String>,
    /// What candidates may change: ID=KIND:FILES[:KEY=MIN..MAX][:edit]; can be repeated. Code is changed only with :edit
    #[arg(long, value_name = "SURFACE", help_heading = "Scope")]
    surface: Vec<String>,
    /// Evaluation files, which must not be changed; can be repeated
    #[arg(long, value_name = "GLOB", help_heading = "Scope", hide_short_help = true)]
    protected: Vec<String>,
    /// How the train command takes a value, such as --{key}={value}
    #[arg(
        long,
        value_name = "SYNTAX",
        help_heading = "Scope",
        hide_short_help = true,
        allow_hyphen_values = true
    )]
    override_syntax: Option<String>,
    /// A file that git ignores and runs need; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Runs", hide_short_help = true)]
    input: Vec<String>,
    /// Training command; {seed} is the seed, {run} the output folder
    #[arg(long, value_name = "COMMAND", help_heading = "Runs")]
    train: Option<String>,
    /// Evaluation command; {seed}, {run}, and {trained}, the output folder of training
    #[arg(long, value_name = "COMMAND", help_heading = "Runs")]
    eval: Option<String>,
    /// The baseline for all comparisons
    #[arg(long, value_name = "TEXT", help_heading = "Runs", hide_short_help = true)]
    baseline: Option<String>,
    /// Training device: cpu, gpu
    #[arg(long, value_name = "DEVICE", help_heading = "Runs", hide_short_help = true)]
    device: Option<String>,
    /// Network access of a run: none, loopback, allowed
    #[arg(long, value_name = "NETWORK", help_heading = "Runs", hide_short_help = true)]
    network: Option<String>,
    /// Total number of runs, one per seed
    #[arg(long, value_name = "N", help_heading = "Budget")]
    runs: Option<String>,
    /// Total time of all runs, such as 8h
    #[arg(long, value_name = "TIME", help_heading = "Budget", hide_short_help = true)]
    wall_clock: Option<String>,
    /// Total disk space of all runs, such as 5GiB
    #[arg(long, value_name = "SIZE", help_heading = "Budget", hide_short_help = true)]
    disk: Option<String>,
    /// Limits of a single run, such as 30m,256MiB,4GiB
    #[arg(long, value_name = "TIME,DISK,MEMORY", help_heading = "Budget", hide_short_help = true)]
    per_run: Option<String>,
    /// What to evaluate on: environment, version, scenarios
    #[arg(long, value_name = "TEXT", help_heading = "Evaluation", hide_short_help = true)]
    environments: Option<String>,
    /// Evaluation episodes per seed
    #[arg(long, value_name = "N", help_heading = "Evaluation", hide_short_help = true)]
    episodes: Option<String>,
    /// Whether evaluation is deterministic: yes, no
    #[arg(long, value_name = "YES|NO", help_heading = "Evaluation", hide_short_help = true)]
    deterministic: Option<String>,
    /// Checkpoint to evaluate: last, best
    #[arg(long, value_name = "WHICH", help_heading = "Evaluation", hide_short_help = true)]
    checkpoint: Option<String>,
    /// When to stop the study: 'target VALUE', 'no-improvement N', 'failures N'; can be repeated
    #[arg(long, value_name = "RULE", help_heading = "Rules", hide_short_help = true)]
    stop: Vec<String>,
    /// Who starts runs: manual, supervised, autonomous
    #[arg(long, value_name = "MODE", help_heading = "Rules")]
    automation: Option<String>,
    /// The weakest approval that counts: host, terminal, signature
    #[arg(long, value_name = "LEVEL", help_heading = "Rules")]
    assurance: Option<String>,
    /// Candidates that an autonomous study may try before it must ask
    #[arg(long, value_name = "N", help_heading = "Rules", hide_short_help = true)]
    candidates: Option<String>,
    /// Required sandboxing of runs: none, partial, full
    #[arg(long, value_name = "LEVEL", help_heading = "Rules", hide_short_help = true)]
    confinement: Option<String>,
    /// Probability of a false claim in the whole study, 0.0001 to 0.2
    #[arg(long, value_name = "NUMBER", help_heading = "Statistics", hide_short_help = true)]
    alpha: Option<String>,
    /// Seeds for the first trial of a candidate
    #[arg(long, value_name = "N", help_heading = "Statistics", hide_short_help = true)]
    screen_seeds: Option<String>,
    /// Candidates that may be confirmed in this study
    #[arg(long, value_name = "N", help_heading = "Statistics", hide_short_help = true)]
    planned_candidates: Option<String>,
    /// Seeds of the baseline, 5 or more
    #[arg(long, value_name = "N", help_heading = "Statistics", hide_short_help = true)]
    incumbent_seeds: Option<String>,
    /// Seeds of a candidate at each look, such as 5,10,15
    #[arg(long, value_name = "SEEDS", help_heading = "Statistics", hide_short_help = true)]
    looks: Option<String>,
}

/// Add files that git ignores and runs need to runbook.yaml
///
/// Runs start from a commit and don't see ignored files. Each file is listed with
/// its digest; run the command again after a file has changed. The edit voids the
/// approval of the baseline section.
#[derive(Args)]
#[command(after_long_help = INPUT_EXAMPLES)]
struct Input {
    /// Files, relative to the repository's root
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    which: Which,
}

/// Report problems, open questions and contradictions in the four files
///
/// Exits with 0 if the contract is complete, 1 if something is open or
/// contradictory, 2 if a file can't be read.
#[derive(Args)]
#[command(after_long_help = CHECK_EXAMPLES)]
struct Check {
    #[command(flatten)]
    which: Which,
}

/// Show what changed in each section since it was last approved
#[derive(Args)]
#[command(after_long_help = DIFF_EXAMPLES)]
struct Changes {
    #[command(flatten)]
    which: Which,
}

/// Print an approval request with the exact commands to approve it
///
/// Without sections, requests everything the study needs next.
#[derive(Args)]
#[command(after_long_help = REQUEST_EXAMPLES)]
struct Request {
    /// Sections to request approval for
    #[arg(value_name = "SECTION")]
    sections: Vec<String>,
    /// Write the request to a new file
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

impl Contract {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match &self.what {
            What::New(new) => new.run(context, screen),
            What::Input(input) => input.run(context, screen),
            What::Check(which) => Ok(checked(screen, &check(context, which.which.selector())?)),
            What::Diff(which) => Ok(changed(screen, &diff(context, which.which.selector())?)),
            What::Request(asked) => asked.run(context, screen),
        }
    }
}

impl New {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let again = if self.again { Again::Edited } else { Again::Unedited };
        let intake = Intake::begin_with(context, self.which.selector(), again)?;
        let mut answers = Answers::default();
        let mut wrong = Vec::new();
        for ask in Ask::ALL.iter().copied() {
            let given = self.given(ask);
            if !given.is_empty()
                && let Err(why) = answers.give(ask, given)
            {
                wrong.push(format!("--{}: {why}", ask.flag()));
            }
        }
        if !wrong.is_empty() {
            return Err(Failure::usage("answer_invalid", wrong.join("; ")).hint("rlx contract new --help"));
        }
        if !self.yes {
            ask_all(screen, &intake, &mut answers);
        }
        drafted(screen, &intake.finish(&answers)?);
        Ok(Exit::Yes)
    }

    fn given(&self, ask: Ask) -> Vec<String> {
        let one = |text: &Option<String>| text.iter().cloned().collect();
        match ask {
            Ask::Mission => one(&self.mission),
            Ask::Constraints => self.constraint.clone(),
            Ask::NonGoals => self.non_goal.clone(),
            Ask::Metric => one(&self.metric),
            Ask::MetricSource => one(&self.metric_source),
            Ask::Direction => one(&self.direction),
            Ask::SmallestEffect => one(&self.smallest_effect),
            Ask::FailureScore => one(&self.failure_score),
            Ask::Guardrails => self.guardrail.clone(),
            Ask::Surfaces => self.surface.clone(),
            Ask::Protected => self.protected.clone(),
            Ask::Overrides => one(&self.override_syntax),
            Ask::Inputs => self.input.clone(),
            Ask::Train => one(&self.train),
            Ask::Eval => one(&self.eval),
            Ask::Runs => one(&self.runs),
            Ask::WallClock => one(&self.wall_clock),
            Ask::Disk => one(&self.disk),
            Ask::PerRun => one(&self.per_run),
            Ask::Device => one(&self.device),
            Ask::Network => one(&self.network),
            Ask::Baseline => one(&self.baseline),
            Ask::Environments => one(&self.environments),
            Ask::Episodes => one(&self.episodes),
            Ask::Deterministic => one(&self.deterministic),
            Ask::Checkpoint => one(&self.checkpoint),
            Ask::StopRules => self.stop.clone(),
            Ask::Automation => one(&self.automation),
            Ask::Assurance => one(&self.assurance),
            Ask::Candidates => one(&self.candidates),
            Ask::Confinement => one(&self.confinement),
            Ask::Alpha => one(&self.alpha),
            Ask::ScreenSeeds => one(&self.screen_seeds),
            Ask::PlannedCandidates => one(&self.planned_candidates),
            Ask::IncumbentSeeds => one(&self.incumbent_seeds),
            Ask::Looks => one(&self.looks),
        }
    }
}

/// Asks what no flag answered and most studies answer differently. An empty line takes the default; an answer that can't be taken is asked for
/// again.
fn ask_all(screen: &Screen, intake: &Intake, answers: &mut Answers) {
    for ask in Ask::ALL.iter().copied().filter(|ask| ask.is_asked()) {
        if answers.given(ask).is_some() {
            continue;
        }
        let Some(question) = intake.question(ask, answers) else { continue };
        let default = question.default.map_or_else(
            || "leave open".to_owned(),
            |assumed| if assumed.answer.is_empty() { "none".to_owned() } else { assumed.answer.join("; ") },
        );
        loop {
            let Some(typed) = screen.type_in(&format!("{} [{default}] ", question.text)) else { return };
            if typed.trim().is_empty() {
                break;
            }
            let items: Vec<String> =
                if ask.takes_many() { typed.split(';').map(str::to_owned).collect() } else { vec![typed] };
            match answers.give(ask, items) {
                Ok(()) => break,
                Err(why) => screen.note(&format!("  {why}")),
            }
        }
    }
}

fn drafted(screen: &Screen, report: &Drafted) {
    if screen.is_json() {
        return screen.json(report);
    }
    let mut text = format!("{}\n", screen.styled(Style::Heading, &format!("written for {}", report.study)));
    for file in &report.written {
        text.push_str(&format!("  {file}\n"));
    }
    text.push_str(&format!("\n{}\n", screen.styled(Style::Heading, "assumed defaults")));
    let columns = ["flag", "value", "based on", "change it in"];
    let mut table = Table::new(columns.map(|name| (name, Align::Left)));
    for taken in report.assumed.iter().filter(|taken| !taken.assumed.answer.is_empty()) {
        let answer = shorten(&taken.assumed.answer.join("; "));
        let from = taken.assumed.from.clone();
        table.row([format!("--{}", taken.flag), answer, from, taken.place.to_owned()]);
    }
    text.push_str(&table.render("  ", |heading| screen.styled(Style::Dim, heading)));
    if !report.open.is_empty() {
        text.push_str(&format!("\n{}\n", screen.styled(Style::Heading, "still open")));
        for open in &report.open {
            text.push_str(&paragraph(&format!("{} {}: {}", open.file, open.path, open.question), 2, "- "));
        }
    }
    screen.answer(text);
    for kept in &report.kept {
        screen.note(&format!("kept your text as {kept}"));
    }
    report.warnings.iter().for_each(|warning| screen.warning(warning));
    if let Some(power) = &report.power {
        screen.note(&power.sentence());
    }
    if !report.looked_at_everything {
        screen.note("the folder is too large to scan completely");
    }
    screen.hint(if report.open.is_empty() { "rlx study next" } else { "rlx contract check" });
}

fn checked(screen: &Screen, report: &Checked) -> Exit {
    if screen.is_json() {
        screen.json(report);
        return report.exit();
    }
    if !report.problems.is_empty() {
        screen.answer(format!("{}\n", render(&report.problems, &report.sources, false)));
    }
    if !report.open.is_empty() {
        screen.answer(screen.styled(Style::Heading, "open questions"));
        for open in &report.open {
            let place = format!("{}:{}:{}:", open.file, open.line, open.column);
            screen.answer(paragraph(&format!("{place} {}: {}", open.path, open.message), 2, "- "));
        }
    }
    if !report.disagreements.is_empty() {
        screen.answer(screen.styled(Style::Heading, "contradictions"));
        for refusal in &report.disagreements {
            screen.answer(paragraph(&format!("{}: {}", refusal.code, refusal.reason), 2, "- "));
        }
    }
    screen.answer(screen.styled(Style::Heading, "approvals"));
    let mut table = Table::new([("section", Align::Left), ("status", Align::Left)]);
    for (section, standing) in &report.approvals {
        table.row([section.to_string(), standing.to_string()]);
    }
    screen.answer(table.render("  ", |heading| screen.styled(Style::Dim, heading)));
    let verdict = match report.exit() {
        Exit::Usage => format!("some files of {} can't be read", report.study),
        Exit::No => format!("the contract of {} is incomplete", report.study),
        _ => format!("the contract of {} is complete", report.study),
    };
    screen.answer(verdict);
    if let Some(power) = report.power.as_ref().filter(|_| report.complete) {
        screen.note(&power.sentence());
    }
    report.warnings.iter().for_each(|warning| screen.warning(warning));
    if report.complete {
        screen.hint("rlx contract request");
    }
    report.exit()
}

fn changed(screen: &Screen, report: &Diff) -> Exit {
    if screen.is_json() {
        screen.json(report);
        return Exit::Yes;
    }
    for one in &report.sections {
        let name = screen.styled(Style::Heading, &one.section.to_string());
        match &one.change {
            SectionChange::NeverApproved => screen.line(format!("{name}: never approved")),
            SectionChange::Unchanged { approved } => {
                screen.line(format!("{name}: unchanged since {approved}; {}", one.standing));
            }
            SectionChange::ChangedUnknown { approved, reason } => {
                screen.line(format!("{name}: changed since {approved}; {reason}"));
            }
            SectionChange::Changed { approved, values, below } => {
                screen.line(format!("{name}: changed since {approved}"));
                for value in values {
                    screen.line(format!("  {}", value.path));
                    screen.line(format!("    - {}", shown(value.before.as_ref())));
                    screen.line(format!("    + {}", shown(value.after.as_ref())));
                }
                if !below.is_empty() {
                    let names: Vec<String> = below.iter().map(ToString::to_string).collect();
                    screen.line(format!("  depends on changed sections: {}", names.join(", ")));
                }
            }
        }
    }
    if report.changed {
        screen.hint("rlx contract request");
    }
    Exit::Yes
}

impl Input {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = add_inputs(context, self.which.selector(), &self.files)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        for input in &report.inputs {
            screen.line(format!("{}: {} {}", report.file, input.what, input.path));
        }
        screen.hint("rlx study next");
        Ok(Exit::Yes)
    }
}

impl Request {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = request(context, self.which.selector(), &self.sections, self.to.as_deref())?;
        if screen.is_json() {
            screen.json(&report);
        } else if let Some(path) = &report.written {
            screen.line(format!("wrote {}", path.display()));
        } else {
            screen.answer(&report.text);
        }
        Ok(Exit::Yes)
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "(missing)".to_owned(), Value::to_string)
}

fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
