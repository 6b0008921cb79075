//! `rlx study reflect`

use clap::Args;
use rlxp_ops::below::{ComponentReflection, FindingSeverity, SeedEstimate, word_of};
use rlxp_ops::studies::reflect::{ReflectReport, reflect};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::Which;
use crate::format::{counted, short};
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx study reflect || echo 'no baseline yet'
  rlx study reflect ppo-r1-short-3-1 --json || echo 'no such run'";

/// Show what the components of the reward did over training
///
/// Reads every component that the approved metric_spec.yaml declares, over the whole
/// training: its share of the reward, its trend, whether it is constant, saturated or
/// dominating, and how it follows the task metric and the episode length, beside the
/// incumbent's. The result is written to audits/ and recorded; a change of the reward
/// must name that file as its reflection.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Reflect {
    /// A candidate, or the key of one run [default: the incumbent, or else the baseline]
    #[arg(value_name = "RUN|CANDIDATE")]
    what: Option<String>,
    #[command(flatten)]
    which: Which,
}

impl Reflect {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = reflect(context, self.which.selector(), self.what.as_deref(), &mut |_| {})?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        print(screen, &report);
        Ok(Exit::Yes)
    }
}

fn print(screen: &Screen, report: &ReflectReport) {
    let (content, reflection) = (&report.content, &report.content.reflection);
    let against = match &content.incumbent {
        Some(incumbent) => {
            let runs = usize::try_from(reflection.incumbent_runs).unwrap_or(usize::MAX);
            format!(", beside {} of {incumbent}", counted(runs, "run"))
        }
        None => String::new(),
    };
    let runs = counted(usize::try_from(reflection.runs).unwrap_or(usize::MAX), "run");
    screen.line(screen.styled(Style::Heading, &format!("{}: {runs}{against}", content.candidate)));
    let mut columns = vec![
        ("component", Align::Left),
        ("share", Align::Left),
        ("course", Align::Left),
        ("trend", Align::Left),
        ("with task", Align::Left),
        ("with length", Align::Left),
    ];
    if content.incumbent.is_some() {
        columns.push(("share vs incumbent", Align::Left));
    }
    let mut table = Table::new(columns);
    for component in &reflection.components {
        let mut cells = vec![
            component.name.clone(),
            share(component.share),
            course(component),
            word_of(&component.trend),
            number(component.with_task),
            number(component.with_length),
        ];
        if content.incumbent.is_some() {
            cells.push(share(component.share_against_incumbent));
        }
        table.row(cells);
    }
    screen.answer(table.render("  ", |heading| screen.styled(Style::Heading, heading)));
    let of = if reflection.reward.is_sum { "sum of the components" } else { "reward" };
    let whole = format!(
        "last half of training: {of} changes by {}, task metric by {}, rank correlation {}",
        number(reflection.reward.change),
        number(reflection.reward.task_change),
        number(reflection.reward.with_task)
    );
    screen.answer(paragraph(&whole, 2, ""));
    if reflection.findings.is_empty() {
        let said = match reflection.reward.with_task {
            Some(_) => "no problems found",
            None => {
                "no problems found in the components; whether the reward agrees with the task is unknown, since the \
                 task metric was not measured during training"
            }
        };
        screen.answer(paragraph(said, 2, ""));
    }
    for finding in &reflection.findings {
        let text = format!(
            "{} {}: {} ({} of {} runs). Try: {}",
            word_of(&finding.severity),
            finding.rule,
            finding.text,
            finding.seeds,
            finding.of,
            finding.advice
        );
        let style = match finding.severity {
            FindingSeverity::Error => Style::Error,
            FindingSeverity::Warning => Style::Warning,
            FindingSeverity::Note => Style::Dim,
        };
        screen.answer(screen.styled_block(style, &paragraph(&text, 2, "- ")));
    }
    for component in &reflection.components {
        for (run, why) in &component.missing {
            screen.answer(paragraph(&format!("{} is missing in {run}: {why}", component.name), 2, "- "));
        }
    }
    if !reflection.not_measured.is_empty() {
        screen.answer(paragraph(&format!("not measured: {}", reflection.not_measured.join("; ")), 2, ""));
    }
    let again = if report.written.already { "already recorded" } else { "recorded" };
    screen.line(format!("{} ({again} as record {})", report.written.file, report.written.record));
    screen.hint("rlx study propose");
}

/// A share with its interval, in percent.
fn share(estimate: Option<SeedEstimate>) -> String {
    let percent = |value: f64| format!("{:.0}%", value * 100.0);
    with_interval(estimate, &percent)
}

fn number(estimate: Option<SeedEstimate>) -> String {
    with_interval(estimate, &short)
}

fn with_interval(estimate: Option<SeedEstimate>, text: &dyn Fn(f64) -> String) -> String {
    let Some(estimate) = estimate else { return "-".to_owned() };
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{} [{}, {}]", text(estimate.value), text(low), text(high)),
        _ => text(estimate.value),
    }
}

/// Where it began, was in the middle, and ended.
fn course(component: &ComponentReflection) -> String {
    let values = &component.course;
    match (values.first(), values.get(values.len() / 2), values.last()) {
        (Some(first), Some(middle), Some(last)) => {
            format!("{} → {} → {}", short(*first), short(*middle), short(*last))
        }
        _ => "-".to_owned(),
    }
}
