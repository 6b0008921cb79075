//! `rlx analyze`

use clap::Args;
use rlxp_ops::insight::analyze::{AnalyzeRequest, GroupAnalysis, Topic, analyze};
use rlxp_ops::{Context, Outcome};
use rlxp_types::text::{between, one_line};
use rlxp_types::{Exit, RunStatus};

use crate::complete;
use crate::format;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx analyze @last
  rlx analyze ppo_cartpole_001 ppo_cartpole_002
  rlx analyze ppo_cartpole_001+ppo_cartpole_002    # both as one, their seeds folded
  rlx analyze @last --json";

/// Findings that are written out.
const MOST_FINDINGS: usize = 3;
/// Notes that are written out.
const MOST_NOTES: usize = 10;
/// Seeds that the table shows.
const MOST_SEEDS: usize = 20;

/// Describe how runs progressed over time and across seeds
///
/// Where learning began, how fast it was, its phases, the best evaluation compared
/// with the last, how the seeds differ and what training cost. Every sentence is
/// based on a metric, steps and values, listed with --json; changes within noise
/// are marked as such.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Analyze {
    /// Runs, tag:TAG for all runs with a tag, or A+B for several runs as one group
    #[arg(required = true, value_name = "RUN", add = complete::runs())]
    runs: Vec<String>,
    /// Skip the comparison with random actions
    #[arg(long)]
    no_baseline: bool,
}

impl Analyze {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = AnalyzeRequest { words: self.runs.clone(), no_baseline: self.no_baseline };
        let report = analyze(context, &request)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        for (index, group) in report.groups.iter().enumerate() {
            if index > 0 {
                screen.answer("\n");
            }
            screen.answer(text(screen, group));
        }
        for command in report.groups.last().into_iter().flat_map(|group| &group.next) {
            screen.hint(command);
        }
        let notes: Vec<&String> = report.groups.iter().flat_map(|group| &group.notes).collect();
        for note in notes.iter().take(MOST_NOTES) {
            screen.warning(note);
        }
        if notes.len() > MOST_NOTES {
            screen.warning(&format!("and {} more; pass --json to see all", notes.len() - MOST_NOTES));
        }
        Ok(Exit::Yes)
    }
}

/// What each seed has done, and of how many planned steps where it is less.
fn seeds_and_steps(seeds: usize, group: &GroupAnalysis) -> String {
    let GroupAnalysis { steps, fewest_steps, total_steps, equal_budgets, .. } = *group;
    if equal_budgets && fewest_steps == total_steps && steps == total_steps {
        return format::seeds_and_steps(seeds, total_steps);
    }
    let planned = if equal_budgets { format!(" of {}", format::count(total_steps)) } else { String::new() };
    let each = if seeds > 1 && steps == fewest_steps { " each" } else { "" };
    format!("{}, {}{planned} steps{each}", format::counted(seeds, "seed"), between(fewest_steps, steps))
}

fn ended(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Failed => "failed",
        RunStatus::Interrupted => "was interrupted",
        _ => "stopped",
    }
}

fn text(screen: &Screen, group: &GroupAnalysis) -> String {
    let seeds = group.story.seeds.len();
    let runs = match group.runs.as_slice() {
        [one] => one.status.to_string(),
        several => format!("{} runs", several.len()),
    };
    let mut text = format!(
        "{}: {} on {}, {}, {runs}\n",
        screen.styled(Style::Heading, &group.label),
        one_line(&group.algo).to_uppercase(),
        one_line(&group.env),
        seeds_and_steps(seeds, group)
    );
    for run in &group.runs {
        if let Some(reason) = &run.reason {
            // Also a run that was interrupted has a reason.
            text.push_str(&paragraph(&format!("{} {}: {reason}", run.name, ended(run.status)), 2, "  "));
        }
    }
    let mut heading = "";
    for statement in &group.story.statements {
        let next = heading_of(statement.topic);
        if next != heading {
            heading = next;
            text.push_str(&format!("\n{}\n", screen.styled(Style::Heading, heading)));
        }
        text.push_str(&paragraph(&statement.text, 2, "- "));
    }
    if !group.findings.is_empty() {
        text.push_str(&format!("\n{}\n", screen.styled(Style::Heading, "Diagnosis")));
        for finding in group.findings.iter().take(MOST_FINDINGS) {
            let told = format!(
                "{}: {} ({}). {}",
                finding.severity.word(),
                finding.title,
                finding.rule,
                finding.sentence
            );
            text.push_str(&paragraph(&told, 2, "- "));
        }
        let more = group.findings.len().saturating_sub(MOST_FINDINGS);
        if more > 0 {
            text.push_str(&format!("  and {more} more; see rlx diagnose\n"));
        }
    }
    if seeds > 1 {
        text.push_str(&format!(
            "\n{}\n{}",
            screen.styled(Style::Heading, "Per seed"),
            seed_table(screen, group)
        ));
    }
    text
}

fn heading_of(topic: Topic) -> &'static str {
    match topic {
        Topic::Result | Topic::Baseline => "Result",
        Topic::Onset | Topic::Phase | Topic::Reach => "Learning",
        Topic::Best | Topic::Stability => "Best and last",
        Topic::Seeds => "Seeds",
        Topic::Policy => "Policy and value function",
        Topic::Efficiency => "Cost",
        Topic::Unknown => "Confidence",
    }
}

fn noise(value: f64) -> String {
    if value > 0.0 { format!("±{}", format::score(value)) } else { "±0".to_owned() }
}

fn seed_table(screen: &Screen, group: &GroupAnalysis) -> String {
    let mut table = Table::new([
        ("seed", Align::Right),
        ("first", Align::Right),
        ("best", Align::Right),
        ("at step", Align::Right),
        ("last", Align::Right),
        ("began at", Align::Right),
        ("90% at", Align::Right),
        ("largest drop", Align::Right),
        ("noise", Align::Right),
    ]);
    let dash = || "-".to_owned();
    for seed in group.story.seeds.iter().take(MOST_SEEDS) {
        let score = |point: Option<rlxp_ops::insight::analyze::Best>| {
            format::score_or_dash(point.map(|point| point.value))
        };
        let began = match (seed.began_before_first, seed.onset, seed.first) {
            (true, _, Some(first)) => format!("<{}", format::count(first.step)),
            (_, Some(onset), _) => format::count(onset.step),
            _ => dash(),
        };
        table.row([
            format!("{}{}", seed.seed, if seed.failed { " failed" } else { "" }),
            score(seed.first),
            score(seed.best),
            seed.best.map_or_else(dash, |best| format::count(best.step)),
            score(seed.last),
            began,
            seed.nine_tenths.map_or_else(dash, |reach| format::count(reach.step)),
            format::score_or_dash(seed.drawdown.map(|fall| fall.depth)),
            seed.noise.map_or_else(dash, noise),
        ]);
    }
    let mut text = table.render("  ", |header| screen.styled(Style::Dim, header));
    let more = group.story.seeds.len().saturating_sub(MOST_SEEDS);
    if more > 0 {
        text.push_str(&format!("  and {more} more; pass --json to see all\n"));
    }
    text
}
