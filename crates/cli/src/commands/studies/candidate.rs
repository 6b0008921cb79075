//! `rlx candidate`

use clap::{Args, Subcommand};
use rlxp_ops::below::{ApprovalStatus, CandidateKind, parse_word};
use rlxp_ops::studies::candidate::{Draft, ListReport, ShowReport, list, new, revise, show, validate};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::study::Which;
use crate::screen::{Screen, refused};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx candidate new baseline --kind baseline
  rlx candidate list
  rlx candidate show baseline";

const NEW_EXAMPLES: &str = "\
Examples:
  rlx candidate new baseline --kind baseline
  rlx candidate new slower --key algo.learning_rate --from 3e-4 --to 1e-4 --risk 'It learns later'";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  rlx candidate new baseline --kind baseline
  rlx candidate validate baseline || echo 'see the reasons above'";

const REVISE_EXAMPLES: &str = "\
Examples:
  rlx candidate new baseline --kind baseline
  rlx candidate revise baseline || echo 'only a candidate whose smoke run failed is revised'";

const SHOW_EXAMPLES: &str = "\
Examples:
  rlx candidate new baseline --kind baseline
  rlx candidate show baseline";

const LIST_EXAMPLES: &str = "\
Examples:
  rlx candidate list
  rlx candidate list --json";

/// Propose bounded changes and check them against every gate
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Candidate {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a new candidate
    #[command(after_long_help = NEW_EXAMPLES)]
    New(Box<New>),
    /// Check a candidate against every gate; if all pass, record its plan in the ledger
    #[command(after_long_help = VALIDATE_EXAMPLES)]
    Validate(Named),
    /// Make a draft of a candidate again, as its next revision, if only smoke runs were started
    #[command(after_long_help = REVISE_EXAMPLES)]
    Revise(Named),
    /// Show a candidate, its state, and what blocks it
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show(Named),
    /// List the candidates of a study
    #[command(after_long_help = LIST_EXAMPLES)]
    List(Which),
}

#[derive(Args)]
struct New {
    /// Name of the candidate
    name: String,
    /// Kind of change: baseline, smoke, probe, incumbent, hyperparameter, reward_tuning, reward_engineering,
    /// termination, curriculum, environment_generation, randomisation, policy
    #[arg(long, default_value = "hyperparameter", value_parser = parse_word::<CandidateKind>)]
    kind: CandidateKind,
    /// Why it should help
    #[arg(long)]
    hypothesis: Option<String>,
    /// How to undo it
    #[arg(long, value_name = "TEXT")]
    rollback: Option<String>,
    /// What could go wrong
    #[arg(long, value_name = "TEXT")]
    risk: Option<String>,
    /// Surface to change [default: found by the key or file]
    #[arg(long)]
    surface: Option<String>,
    /// File to change [default: the file in the patch, or the only file of the surface]
    #[arg(long)]
    path: Option<String>,
    /// Dotted key to change
    #[arg(long)]
    key: Option<String>,
    /// The value before
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    from: Option<String>,
    /// The value after
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    to: Option<String>,
    /// A unified diff, for code changes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "from", "to"])]
    patch: Option<String>,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct Named {
    /// The candidate
    #[arg(value_name = "CANDIDATE")]
    name: String,
    #[command(flatten)]
    which: Which,
}

impl Candidate {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match &self.verb {
            Verb::New(verb) => verb.run(context, screen),
            Verb::Validate(verb) => {
                let report = validate(context, verb.which.selector(), &verb.name)?;
                if screen.is_json() {
                    screen.json(&report);
                } else {
                    let passed = report.gates.len();
                    screen.line(format!(
                        "{} passed all {passed} gates, plan {}",
                        report.candidate, report.plan
                    ));
                    screen.hint("rlx study next");
                }
                Ok(Exit::Yes)
            }
            Verb::Revise(verb) => {
                let report = revise(context, verb.which.selector(), &verb.name)?;
                if screen.is_json() {
                    screen.json(&report);
                } else {
                    screen
                        .line(format!("{} is a draft again, revision {}", report.candidate, report.revision));
                    screen.hint(&format!("rlx candidate validate {}", report.candidate));
                }
                Ok(Exit::Yes)
            }
            Verb::Show(verb) => {
                let report = show(context, verb.which.selector(), &verb.name)?;
                if screen.is_json() {
                    screen.json(&report);
                } else {
                    screen.lines(shown(&report));
                }
                Ok(Exit::Yes)
            }
            Verb::List(verb) => {
                let report = list(context, verb.selector())?;
                if screen.is_json() {
                    screen.json(&report);
                } else {
                    screen.answer(listed(&report));
                }
                Ok(Exit::Yes)
            }
        }
    }
}

impl New {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let draft = Draft {
            name: self.name.clone(),
            kind: self.kind,
            hypothesis: self.hypothesis.clone(),
            rollback: self.rollback.clone(),
            risk: self.risk.clone(),
            surface: self.surface.clone(),
            path: self.path.clone(),
            key: self.key.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            patch: self.patch.clone(),
        };
        let report = new(context, self.which.selector(), &draft)?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            screen.line(format!("wrote {}", report.file.display()));
            if !report.open.is_empty() {
                screen.note(&format!("missing: {}", report.open.join(", ")));
            }
            if let Some(key) = &report.unknown_key {
                let near = key.nearest.as_ref().map(|near| format!("; did you mean {near}?"));
                screen.warning(&format!("no surface has the key {}{}", key.key, near.unwrap_or_default()));
            }
            if let Some(flag) = &report.flag {
                screen.note(&format!(
                    "{} is a flag of {}; say once how values reach it (a person approves that with the scope)",
                    flag.key, flag.script
                ));
                screen.hint(&flag.command);
            }
            screen.hint(&format!("rlx candidate validate {}", report.candidate));
        }
        Ok(Exit::Yes)
    }
}

fn shown(report: &ShowReport) -> Vec<String> {
    let mut lines = vec![format!("{} of {}: {}", report.candidate, report.study, report.state)];
    if let Some(plan) = report.plan {
        lines.push(format!("plan {plan}"));
    }
    lines.push(match &report.approval {
        ApprovalStatus::Given { assurance, who } => format!("approved by {who} ({assurance})"),
        ApprovalStatus::Missing => "not approved".to_owned(),
        ApprovalStatus::Void { reason } => format!("approval void: {reason}"),
        ApprovalStatus::Unreadable => "approval unknown: a file it covers can't be read".to_owned(),
        ApprovalStatus::TooWeak { assurance, required } => {
            format!("approved by {assurance}, but {required} is required")
        }
        ApprovalStatus::NotProven { reason } => format!("approval not proven: {reason}"),
        ApprovalStatus::NotProvableHere { reason } => format!("approval not provable here: {reason}"),
    });
    lines.extend(report.problems.iter().map(|problem| format!("problem: {problem}")));
    if let Some(text) = &report.text {
        lines.push(String::new());
        lines.extend(rlxp_ops::below::document_yaml(text).lines().map(|line| format!("  {line}")));
    }
    for run in &report.runs {
        lines.push(format!("run {}: {} phase, seed {}, {}", run.key, run.phase, run.seed, run.state));
    }
    if report.refusals.is_empty() && report.problems.is_empty() {
        lines.push("passes every validation gate".to_owned());
    } else {
        lines.push("blocks validation:".to_owned());
        lines.extend(report.refusals.iter().map(refused));
    }
    lines
}

fn listed(report: &ListReport) -> String {
    if report.candidates.is_empty() {
        return format!("{} has no candidates", report.study);
    }
    let mut table = Table::new(["candidate", "state", "kind", "phases"].map(|name| (name, Align::Left)));
    for line in &report.candidates {
        let incumbent = report.incumbent.as_ref().is_some_and(|id| id.as_str() == line.candidate);
        let name = if incumbent { format!("{} (incumbent)", line.candidate) } else { line.candidate.clone() };
        let state = if line.file { line.state.to_string() } else { format!("{} (file missing)", line.state) };
        let kind = line.kind.map(|kind| kind.to_string()).unwrap_or_default();
        table.row([name, state, kind, line.phases.join(", ")]);
    }
    table.render("", str::to_owned).trim_end().to_owned()
}
