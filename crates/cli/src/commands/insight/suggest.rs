//! `rlx suggest`

use clap::Args;
use clap::builder::RangedU64ValueParser;
use rlxp_ops::insight::suggest::{Move, SuggestRequest, Suggested, Suggestions, suggest, written};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::one_line;

use crate::complete;
use crate::screen::{Screen, Style};

/// Longest line of text.
const LINE: usize = 100;
/// Findings that no setting answers that are written out; JSON has all of them.
const MOST_UNANSWERED: usize = 5;

const EXAMPLES: &str = "\
Examples:
  rlx suggest @last
  rlx suggest ppo_cartpole_001 --top 1
  rlx suggest @last --rules-alone    # without the starter for this environment
  rlx suggest @last --json";

/// Suggest config changes for a run, with reasons
///
/// Each suggestion is a command to paste, based on diagnosis findings, on the
/// environment's starter config, or on both. Environment and evaluation stay
/// unchanged, so that the new run can be compared with this one.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Suggest {
    /// The run
    #[arg(add = complete::runs())]
    run: String,
    /// Show at most N suggestions
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100))]
    top: usize,
    /// Ignore the environment's starter config
    #[arg(long)]
    rules_alone: bool,
}

impl Suggest {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = SuggestRequest { run: self.run.clone(), top: self.top, rules_alone: self.rules_alone };
        let report = suggest(context, &request)?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            screen.answer(text(screen, &report));
            for command in &report.next {
                screen.hint(command);
            }
        }
        Ok(Exit::Yes)
    }
}

fn text(screen: &Screen, report: &Suggestions) -> String {
    let mut text = format!(
        "{} on {}, {}\n{}",
        screen.styled(Style::Heading, &report.run),
        one_line(&report.env),
        report.status,
        wrapped("", &report.answer),
    );
    for suggested in &report.suggestions {
        text.push_str(&shown(screen, suggested));
    }
    if report.more > 0 {
        text.push_str(&format!(
            "\n{} more; pass --top {} to see them\n",
            report.more,
            report.suggestions.len() + report.more
        ));
    }
    if !report.unanswered.is_empty() {
        text.push_str("\nNo config change helps with:\n");
        for unanswered in report.unanswered.iter().take(MOST_UNANSWERED) {
            let advice = unanswered.advice.join("; ");
            let advice =
                if advice.is_empty() { "the related settings are already fine".to_owned() } else { advice };
            text.push_str(&wrapped("  ", &format!("{} {}: {advice}", unanswered.rule, unanswered.title)));
        }
        if report.unanswered.len() > MOST_UNANSWERED {
            text.push_str(&format!(
                "  and {} more; pass --json to see all\n",
                report.unanswered.len() - MOST_UNANSWERED
            ));
        }
    }
    text
}

fn shown(screen: &Screen, suggested: &Suggested) -> String {
    let suggestion = &suggested.suggestion;
    let rules = if suggestion.rules.is_empty() { "starter".to_owned() } else { suggestion.rules.join(" ") };
    let title = screen.styled(Style::Heading, &suggestion.title);
    let mut text = format!("\n{}. {title} ({rules})\n", suggested.rank);
    for change in &suggestion.changes {
        let change = format!("{}: {} → {}", change.key, written(&change.from), written(&change.to));
        text.push_str(&format!("   {}\n", one_line(&change)));
    }
    text.push_str(&wrapped("   ", &format!("why: {}", suggestion.reason)));
    text.push_str(&wrapped("   ", &format!("basis: {}", suggestion.basis.sentence)));
    let expected: Vec<String> = suggestion
        .expect
        .iter()
        .map(|expected| {
            let way = if expected.direction == Move::Up { "rises" } else { "falls" };
            format!("{} {way}", expected.metric)
        })
        .collect();
    text.push_str(&wrapped("   ", &format!("expected: {}", expected.join(", "))));
    text.push_str(&wrapped("   ", &format!("risk: {}", suggestion.risk)));
    let hint = |word: &str| screen.styled(Style::Hint, word);
    text.push_str(&format!("   {} {}\n", hint("try:"), one_line(&suggested.command)));
    text.push_str(&format!("   {} {}\n", hint("check:"), one_line(&suggested.check)));
    text
}

/// Lines of a paragraph, each after `indent`.
fn wrapped(indent: &str, paragraph: &str) -> String {
    let mut text = String::new();
    let mut line = indent.to_owned();
    let mut is_empty = true;
    for word in paragraph.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > LINE {
            text.push_str(&line);
            text.push('\n');
            line = indent.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    format!("{text}{line}\n")
}
