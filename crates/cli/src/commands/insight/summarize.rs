//! `rlx summarize`

use clap::Args;
use rlxp_ops::insight::plot::NO_INTERVAL;
use rlxp_ops::insight::summarize::{
    Counts, EnvSummary, GroupSummary, RunSummary, SetSummary, SummarizeRequest, SummaryReport, summarize,
};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::between;

use crate::complete;
use crate::format;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx summarize @last
  rlx summarize                        # every run of the project, grouped
  rlx summarize ppo_cartpole_001 ppo_cartpole_002
  rlx summarize --best 5               # the five best configs of each environment
  rlx summarize .                      # a folder: a project, its runs, or another one's
  rlx summarize --json";

/// Groups of an environment that the table shows.
const MOST_GROUPS: usize = 15;
/// Keys that are listed as varied.
const MOST_KEYS: usize = 8;

/// Summarize a run, a set of runs or a folder
///
/// One run becomes a paragraph to paste into a message. Several become a table
/// grouped by environment and config, the best group first, each named by the settings
/// in which it differs, with the settings that vary and how much of the best group's lead is expected by chance alone.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Summarize {
    /// Runs, tag:TAG, A+B or folders [default: all runs of the project]
    #[arg(value_name = "RUN|SET|FOLDER", add = complete::runs())]
    words: Vec<String>,
    /// Show only the N groups of each environment with the best last evaluation
    #[arg(long, value_name = "N")]
    best: Option<usize>,
}

impl Summarize {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = summarize(context, &SummarizeRequest { words: self.words.clone(), best: self.best })?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        let next = match &report {
            SummaryReport::Run(run) => {
                screen.answer(of_run(screen, run));
                run.notes.iter().for_each(|note| screen.warning(note));
                &run.next
            }
            SummaryReport::Set(set) => {
                screen.answer(of_set(screen, set));
                set.notes.iter().for_each(|note| screen.warning(note));
                set.unreadable.iter().for_each(|(name, why)| screen.warning(&format!("{name}: {why}")));
                &set.next
            }
        };
        next.iter().for_each(|command| screen.hint(command));
        Ok(Exit::Yes)
    }
}

fn of_run(screen: &Screen, run: &RunSummary) -> String {
    let mut table = Table::new([("", Align::Left), ("", Align::Left)]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("environment", run.env.clone());
    row("status", run.status.to_string());
    row(
        "budget",
        format!(
            "{} of {} steps per seed",
            between(run.fewest_steps, run.steps),
            format::count(run.total_steps)
        ),
    );
    row("seeds", listed(&run.seeds));
    if let Some(result) = &run.result {
        row("last score", format::score(result.iqm));
        if let (Some(low), Some(high)) = (result.low, result.high) {
            row("95% interval", format!("{} to {}", format::score(low), format::score(high)));
        }
        if result.seeds > 1 {
            row(
                "lowest, highest",
                format!("{}, {}", format::score(result.lowest), format::score(result.highest)),
            );
        }
    }
    if let Some(best) = &run.best {
        row(
            "best checkpoint",
            format!("{} at step {}, seed {}", format::score(best.score), format::count(best.step), best.seed),
        );
        row("", best.path.clone());
    }
    for finding in run.findings.iter().take(3) {
        row("finding", format!("{}: {} ({})", finding.severity.word(), finding.title, finding.rule));
    }
    row("created", format::moment(&run.created));
    let numbers = table.render("  ", str::to_owned);
    // The table has no header of its own.
    let numbers = numbers.split_once('\n').map_or("", |(_, rows)| rows);
    format!("{}\n{}", paragraph(&run.paragraph, 0, ""), screen.styled_block(Style::Dim, numbers.trim_end()))
}

fn listed(seeds: &[u64]) -> String {
    let shown: Vec<String> = seeds.iter().take(10).map(u64::to_string).collect();
    let more = seeds.len().saturating_sub(10);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn of_set(screen: &Screen, set: &SetSummary) -> String {
    let mut text = paragraph(&format!("{}: {}.", set.what, counted(&set.counts)), 0, "");
    for env in &set.environments {
        text.push_str(&format!("\n{}\n", screen.styled(Style::Heading, &env.env)));
        text.push_str(&group_table(screen, env));
        let more = env.groups.len().saturating_sub(MOST_GROUPS);
        if more > 0 {
            text.push_str(&format!("  and {more} more; pass --json to see all\n"));
        }
        if let Some(best_of) = env.best_of {
            text.push_str(&paragraph(&best_of.sentence(), 2, ""));
        }
        for sentence in remarks(env) {
            text.push_str(&paragraph(&sentence, 2, ""));
        }
    }
    text
}

fn counted(counts: &Counts) -> String {
    let plural = |number: usize| if number == 1 { "" } else { "s" };
    let mut text =
        format!("{} run{}, {} seed{}", counts.runs, plural(counts.runs), counts.seeds, plural(counts.seeds));
    let kinds = [
        (counts.completed, "completed"),
        (counts.running, "running"),
        (counts.unfinished, "unfinished"),
        (counts.failed, "failed"),
        (counts.unknown, "unknown or unreadable"),
    ];
    let kinds: Vec<String> = kinds
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    if !kinds.is_empty() {
        text.push_str(&format!(" ({})", kinds.join(", ")));
    }
    text
}

/// Columns of the table; the last one only where it says anything.
fn group_table(screen: &Screen, env: &EnvSummary) -> String {
    let shown = &env.groups[..env.groups.len().min(MOST_GROUPS)];
    let all_done = shown.iter().all(|group| group.counts.runs == group.counts.completed);
    let mut columns = vec![
        ("group", Align::Left),
        ("runs", Align::Left),
        ("seeds", Align::Right),
        ("planned steps", Align::Right),
        ("last eval", Align::Right),
        ("interval or range", Align::Left),
        ("best seed", Align::Right),
    ];
    columns.extend((!all_done).then_some(("unfinished", Align::Right)));
    let mut table = Table::new(columns);
    for group in shown {
        let span = group.result.map_or("-".to_owned(), |result| match (result.low, result.high) {
            (Some(low), Some(high)) => format!("{} to {}", format::score(low), format::score(high)),
            _ if result.seeds > 1 => {
                format!("[{} to {}]", format::score(result.lowest), format::score(result.highest))
            }
            _ => NO_INTERVAL.to_owned(),
        });
        let mut cells = vec![
            group.label.clone(),
            runs_of(group),
            group.seeds.to_string(),
            format::count(group.total_steps),
            format::score_or_dash(group.result.map(|result| result.iqm)),
            span,
            format::score_or_dash(group.best),
        ];
        cells.extend((!all_done).then(|| (group.counts.runs - group.counts.completed).to_string()));
        table.row(cells);
    }
    table.render("  ", |header| screen.styled(Style::Dim, header))
}

/// The group's run, or how many it has.
fn runs_of(group: &GroupSummary) -> String {
    match group.runs.as_slice() {
        [only] if *only == group.label => "1".to_owned(),
        [only] => only.clone(),
        several => several.len().to_string(),
    }
}

fn remarks(env: &EnvSummary) -> Vec<String> {
    let mut remarks = Vec::new();
    if let (Some(threshold), Some(solved)) = (env.threshold, env.solved_groups) {
        remarks.push(format!(
            "Groups that reach the solved threshold of {2}: {0} of {1}.",
            solved,
            env.scored_groups,
            format::score(threshold)
        ));
    }
    if !env.varied.is_empty() {
        let keys: Vec<String> = env
            .varied
            .iter()
            .take(MOST_KEYS)
            .map(|key| format!("{} ({} values)", key.key, key.values.len()))
            .collect();
        let more = env.varied.len().saturating_sub(MOST_KEYS);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        remarks.push(format!("Varied: {}{rest}.", keys.join(", ")));
    }
    if env.scored_groups > 1 {
        let best = &env.groups[0];
        let luck = match env.luck_of_the_best {
            Some(luck) => format!(
                "the best of {} equally good groups would score about {} above their average by chance",
                env.scored_groups,
                format::score(luck)
            ),
            None => "the part due to chance is unknown, since no group has two seeds".to_owned(),
        };
        remarks.push(format!(
            "Highest: {}. With {} possible comparison{}, {luck}; {}.",
            best.label,
            env.comparisons,
            if env.comparisons == 1 { "" } else { "s" },
            // Seeds that chose the best of several can't also show that it is.
            match env.comparisons {
                1 if env.judgeable => "`rlx compare` gives a verdict",
                1 => "`rlx compare` gives no verdict on these two",
                _ => "a verdict needs new seeds",
            }
        ));
    }
    remarks
}
