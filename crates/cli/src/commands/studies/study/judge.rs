//! `rlx study judge`

use clap::Args;
use rlxp_ops::below::word_of;
use rlxp_ops::studies::judge::{JudgeReport, judge};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::Which;
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx study judge lower-lr || echo 'not better, or nothing to judge yet'
  rlx study judge lower-lr --json || echo 'not better, or nothing to judge yet'";

/// Compare a candidate with the incumbent and record what follows
///
/// At a planned look, the candidate's confirm seeds so far are compared with the
/// incumbent's: more seeds, accept, drop, or undecided at the last look. What a look
/// accepts is audited on fresh seeds. Checks of rlx's own facts, guardrails and the
/// decision for the study come with it. Exits with 0 if the candidate is better so
/// far, and with 1 if it isn't or can't be told yet.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Judge {
    /// The candidate
    candidate: String,
    #[command(flatten)]
    which: Which,
}

impl Judge {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = judge(context, self.which.selector(), &self.candidate)?;
        let exit = if report.is_better() { Exit::Yes } else { Exit::No };
        if screen.is_json() {
            screen.json(&report);
            return Ok(exit);
        }
        print(screen, &report);
        screen.hint("rlx study next");
        Ok(exit)
    }
}

fn print(screen: &Screen, report: &JudgeReport) {
    let found = &report.findings;
    screen.line(screen.styled(Style::Heading, &headline(report)));
    if let (Some(compared), Some(reference)) = (&found.compared, &found.reference) {
        let failed = |count: u64| match count {
            0 => String::new(),
            count => format!(" ({count} failed)"),
        };
        screen.line(format!(
            "  {} seeds{} against {} of {reference}{}",
            compared.seeds,
            failed(compared.failed),
            compared.reference_seeds,
            failed(compared.reference_failed)
        ));
        let end = |end: Option<f64>| end.map_or_else(|| "unbounded".to_owned(), number);
        screen.line(format!(
            "  gain {} ({:.0}% interval {} to {}), of the mean {}; positive is better",
            number(compared.gain),
            compared.confidence * 100.0,
            end(compared.low),
            end(compared.high),
            number(compared.mean_gain)
        ));
    }
    if let Some(looked) = &found.looked {
        let drop = looked.drop.map_or_else(String::new, |drop| format!(", drops below {drop:.2}"));
        screen.line(format!(
            "  look {} of {}: z = {:.2}; accepts from {:.2}{drop}",
            looked.look, looked.looks, looked.z, looked.accept
        ));
    }
    metrics(screen, report);
    checks(screen, report);
    if let Some(judged) = &found.judged {
        screen.answer(paragraph(&format!("verdict: {}: {}", word_of(&judged.verdict), judged.reason), 2, ""));
    }
    if let Some(decided) = &found.decided {
        let decision = word_of(&decided.decision).replace('_', " ");
        screen.answer(paragraph(&format!("decision: {decision}: {}", decided.reason), 2, ""));
    }
    screen.line(format!("  recorded: {}", report.recorded.join(", ")));
}

fn headline(report: &JudgeReport) -> String {
    let found = &report.findings;
    let what = match (&found.judged, &found.looked) {
        (Some(judged), _) => word_of(&judged.verdict),
        (None, Some(looked)) => match word_of(&looked.call).as_str() {
            "accept" => "better so far; its audit seeds come next".to_owned(),
            _ => "needs more seeds".to_owned(),
        },
        (None, None) => "nothing found".to_owned(),
    };
    format!("{} {what}", found.candidate)
}

/// Guardrails and rollback metrics.
fn metrics(screen: &Screen, report: &JudgeReport) {
    let found = &report.findings;
    if found.guardrails.is_empty() && found.rollback.is_empty() {
        return;
    }
    let columns = [
        ("metric", Align::Left),
        ("role", Align::Left),
        ("difference", Align::Right),
        ("at least", Align::Right),
        ("allowed", Align::Right),
        ("", Align::Left),
    ];
    let mut table = Table::new(columns);
    let rows = found.guardrails.iter().map(|look| ("guardrail", look));
    for (role, look) in rows.chain(found.rollback.iter().map(|look| ("rollback", look))) {
        let shown = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), number);
        let holds = if look.holds { "holds" } else { "not shown to hold" };
        table.row([
            look.name.to_string(),
            role.to_owned(),
            shown(look.difference),
            shown(look.bound),
            number(-look.allowed),
            holds.to_owned(),
        ]);
    }
    screen.answer(table.render("  ", |heading| screen.styled(Style::Dim, heading)));
}

fn checks(screen: &Screen, report: &JudgeReport) {
    let checks = &report.findings.checks;
    if checks.is_empty() {
        return;
    }
    let of =
        |result: &str| checks.iter().filter(|check| word_of(&check.result) == result).collect::<Vec<_>>();
    screen.line(format!("  checks: {} of {} hold", of("holds").len(), checks.len()));
    for (result, words) in [("failed", "failed"), ("noted", "noted"), ("not_measured", "not measured")] {
        for check in of(result) {
            screen.answer(paragraph(&format!("{words} {}: {}", check.code, check.detail), 4, ""));
        }
    }
}

/// Four digits are enough to compare.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
