//! `rlx diagnose`

use std::path::PathBuf;

use clap::Args;
use rlxp_ops::insight::diagnose::{
    Answer, Diagnosis, DiagnosisSummary, Finding, RuleOutcome, RuleSet, Severity, diagnose_all, rules,
    summary,
};
use rlxp_ops::reports::Diagnoses;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::{between, one_line, shell_word};

use crate::complete;
use crate::format::{self, counted};
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

/// Longest line of text.
const LINE: usize = 100;
/// Up to this many runs are described one by one.
const FEW: usize = 3;
/// Most runs that a row of the summary names.
const MOST_NAMED: usize = 3;

const EXAMPLES: &str = "\
Examples:
  rlx diagnose @last || true          # exit code 1 says that an error was found
  rlx diagnose @last --all || true    # also what is clear, and what data is lacking
  rlx diagnose '*' || true            # of many runs, which problems they have in common
  rlx diagnose --rules
  rlx diagnose --rules --json > rules.json && rlx diagnose @last --rules-file rules.json || true";

/// Detect training problems and show the evidence
///
/// Checks runs, finished or still running, for known failure patterns. Every
/// finding cites metric, steps, value and threshold. Several runs begin with a
/// summary; more than three are only summarized, unless --details is passed. Exits
/// with 1 if any finding is an error.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Diagnose {
    /// Runs, or tag:TAG for all runs with a tag
    #[arg(required_unless_present = "rules", value_name = "RUN", add = complete::runs())]
    runs: Vec<String>,
    /// Show the result of every rule, not only findings
    #[arg(long)]
    all: bool,
    /// Show the findings of each run, however many there are
    #[arg(long)]
    details: bool,
    /// Show the rules: formula, thresholds and basis
    #[arg(long, conflicts_with_all = ["runs", "all", "details"])]
    rules: bool,
    /// Use rules from this file instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    rules_file: Option<PathBuf>,
}

impl Diagnose {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let rules = rules(context, self.rules_file.as_deref())?;
        if self.rules {
            show_rules(screen, &rules);
            return Ok(Exit::Yes);
        }
        let diagnoses = diagnose_all(context, &self.runs, &rules)?;
        let error = diagnoses.iter().any(|diagnosis| diagnosis.worst == Some(Severity::Error));
        if screen.is_json() {
            screen.json(&Diagnoses { error_found: error, summary: summary(&diagnoses), runs: &diagnoses });
            return Ok(if error { Exit::No } else { Exit::Yes });
        }
        let several = diagnoses.len() > 1;
        if several {
            screen.answer(summarized(screen, &summary(&diagnoses)));
        }
        if diagnoses.len() <= FEW || self.details || self.all {
            for (index, diagnosis) in diagnoses.iter().enumerate() {
                if several || index > 0 {
                    screen.answer("\n");
                }
                screen.answer(self.text(screen, diagnosis));
            }
        } else {
            let worst = diagnoses.iter().max_by_key(|one| (one.worst, std::cmp::Reverse(one.run.clone())));
            if let Some(worst) = worst.filter(|worst| worst.worst > Some(Severity::Info)) {
                screen.hint(&format!("rlx diagnose {}    # with the evidence", shell_word(&worst.run)));
            }
            let words: Vec<_> = self.runs.iter().map(|word| shell_word(word)).collect();
            screen.hint(&format!("rlx diagnose {} --details    # of each run", words.join(" ")));
        }
        Ok(if error { Exit::No } else { Exit::Yes })
    }

    fn text(&self, screen: &Screen, diagnosis: &Diagnosis) -> String {
        let mut text = format!(
            "{} on {}, {}, {} of {} steps\n",
            screen.styled(Style::Heading, &diagnosis.run),
            one_line(&diagnosis.env),
            diagnosis.status,
            between(diagnosis.fewest_steps, diagnosis.steps),
            format::count(diagnosis.total_steps),
        );
        let findings = diagnosis.answers.findings();
        for (outcome, finding) in &findings {
            text.push_str(&shown(screen, outcome, finding, &causes_errors(&findings, outcome, finding)));
        }
        let of = |wanted: fn(&Answer) -> bool| -> Vec<&RuleOutcome> {
            diagnosis.answers.outcomes.iter().filter(|outcome| wanted(&outcome.answer)).collect()
        };
        let clear = of(|answer| matches!(answer, Answer::Clear { .. }));
        let lacking = of(|answer| matches!(answer, Answer::NotEnoughData { .. }));
        let other = of(|answer| matches!(answer, Answer::DoesNotApply { .. }));
        if diagnosis.findings.is_empty() && diagnosis.steps == 0 {
            text.push_str("\nnothing to check yet: no training steps are recorded\n");
        } else if diagnosis.findings.is_empty() {
            text.push_str(&format!("\n{}\n", screen.styled(Style::Good, "no problems found")));
        }
        if self.all {
            text.push('\n');
            text.push_str(&all(screen, diagnosis));
            return text;
        }
        text.push_str(&format!("\n{} passed, {} not applicable", counted(clear.len(), "rule"), other.len()));
        if !lacking.is_empty() {
            let ids: Vec<&str> = lacking.iter().map(|outcome| outcome.rule.as_str()).collect();
            text.push_str(&format!(", {} with too little data ({})", lacking.len(), ids.join(" ")));
        }
        text.push_str("; pass --all to see each\n");
        text
    }
}

/// How many runs have problems, and which.
fn summarized(screen: &Screen, summary: &DiagnosisSummary) -> String {
    let DiagnosisSummary { runs, with_errors, with_warnings, without_problems, not_started, findings } =
        summary;
    let heading = screen.styled(Style::Heading, &counted(*runs, "run"));
    let mut text = format!(
        "{heading}: {with_errors} with errors, {with_warnings} with warnings only, {without_problems} without problems"
    );
    if *not_started > 0 {
        text.push_str(&format!(", {not_started} not started"));
    }
    text.push('\n');
    if findings.is_empty() {
        return text;
    }
    let mut table = Table::new([
        ("rule", Align::Left),
        ("severity", Align::Left),
        ("runs", Align::Right),
        ("finding", Align::Left),
        ("in", Align::Left),
    ]);
    for finding in findings {
        let mut names = finding.runs.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = finding.runs.len().saturating_sub(MOST_NAMED);
        if more > 0 {
            names.push_str(&format!(" and {more} more"));
        }
        table.row([
            finding.rule.clone(),
            finding.severity.word().to_owned(),
            finding.runs.len().to_string(),
            finding.title.clone(),
            names,
        ]);
    }
    text.push_str(&table.render("  ", |header| screen.styled(Style::Dim, header)));
    text
}

/// The errors that a milder finding probably causes: why it comes before them.
fn causes_errors<'a>(
    findings: &[(&'a RuleOutcome, &Finding)],
    cause: &RuleOutcome,
    finding: &Finding,
) -> Vec<&'a str> {
    let errors = findings.iter().filter(|(_, symptom)| symptom.severity > finding.severity);
    errors
        .filter(|(_, symptom)| symptom.explained_by.contains(&cause.rule))
        .map(|(outcome, _)| outcome.rule.as_str())
        .collect()
}

fn shown(screen: &Screen, outcome: &RuleOutcome, finding: &Finding, causes: &[&str]) -> String {
    let style = match finding.severity {
        Severity::Error => Style::Error,
        Severity::Warning => Style::Warning,
        Severity::Info => Style::Dim,
    };
    let word = screen.styled(style, &format!("{}:", finding.severity.word()));
    let mut text = format!("\n{}. {word} {} ({})\n", finding.rank, outcome.title, outcome.rule);
    text.push_str(&wrapped(&finding.sentence));
    text.push_str(&wrapped(&finding.meaning));
    if !causes.is_empty() {
        text.push_str(&format!("   listed first because it probably causes {}\n", causes.join(", ")));
    }
    if !finding.explained_by.is_empty() {
        text.push_str(&format!("   probably caused by {}\n", finding.explained_by.join(", ")));
    }
    if let Some(next) = &finding.next {
        text.push_str(&format!("   {} {}\n", screen.styled(Style::Hint, "next:"), one_line(next)));
    }
    text
}

/// Every rule without a finding, with its reason.
fn all(screen: &Screen, diagnosis: &Diagnosis) -> String {
    let mut table = Table::new([("rule", Align::Left), ("result", Align::Left), ("", Align::Left)]);
    for outcome in &diagnosis.answers.outcomes {
        let (answer, why) = match &outcome.answer {
            Answer::Finding(_) => continue,
            Answer::Clear { note } => ("passed", note.clone().unwrap_or_default()),
            Answer::NotEnoughData { lacking } => ("too little data", lacking.clone()),
            Answer::DoesNotApply { why } => ("not applicable", why.clone()),
        };
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        table.row([outcome.rule.clone(), answer.to_owned(), format!("{}{why}", outcome.title)]);
    }
    table.render("", |header| screen.styled(Style::Dim, header))
}

fn show_rules(screen: &Screen, rules: &RuleSet) {
    if screen.is_json() {
        screen.document(&serde_json::to_string(rules).expect("rules are plain data"));
        return;
    }
    let mut text = format!("rule set v{}\n", rules.rules_version);
    for rule in &rules.rules {
        let severities: Vec<&str> = rule.severities.iter().map(|severity| severity.word()).collect();
        let heading = screen.styled(Style::Heading, &format!("{} {}", rule.id, rule.title));
        text.push_str(&format!("\n{heading} ({})\n", severities.join(", ")));
        text.push_str(&wrapped(&rule.meaning));
        text.push_str(&wrapped(&format!("formula: {}", rule.formula)));
        for (name, threshold) in &rule.thresholds {
            let changed = match &threshold.reason {
                Some(reason) => format!(" (was {}: {reason})", threshold.start),
                None => String::new(),
            };
            text.push_str(&wrapped(&format!("{name} = {}: {}{changed}", threshold.value, threshold.meaning)));
        }
        text.push_str(&wrapped(&format!("reads: {}", rule.inputs.join(", "))));
        text.push_str(&wrapped(&format!("basis: {}", rule.basis)));
    }
    screen.answer(text);
}

/// Lines of a paragraph, set in a little.
fn wrapped(paragraph: &str) -> String {
    let mut text = String::new();
    let mut line = String::from("  ");
    for word in paragraph.split_whitespace() {
        if line.trim().is_empty() || line.chars().count() + 1 + word.chars().count() <= LINE {
            line.push(' ');
        } else {
            text.push_str(&line);
            text.push('\n');
            line = String::from("   ");
        }
        line.push_str(word);
    }
    format!("{text}{line}\n")
}
