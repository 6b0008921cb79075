//! `rlx study probe`

use clap::{Args, Subcommand};
use rlxp_ops::below::word_of;
use rlxp_ops::studies::probing::{ProbePlanRequest, ProbeSummaryReport, plan, summarize};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::Which;
use crate::format::{counted, short};
use crate::paragraph::paragraph;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx study probe plan --surface env --key gravity || echo refused
  rlx study probe summarize probe-gravity || echo refused";

const PLAN_EXAMPLES: &str = "\
Examples:
  rlx study probe plan --surface env --key gravity --grid 8,9,11 || echo refused
  rlx study probe plan --surface env --key gravity --around 9 || echo refused";

const SUMMARIZE_EXAMPLES: &str = "\
Examples:
  rlx study probe summarize probe-gravity || echo refused";

/// Probe in which range of a parameter a trained policy keeps working
///
/// Runs the runbook's probe step on the incumbent's trained policies, with one
/// parameter at each value of an agreed grid. Nothing is trained.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Probe {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Plan(Plan),
    Summarize(Summarize),
}

/// Write a probe of one parameter as a candidate
///
/// The candidate is validated, approved and launched like any other; its grid can't
/// change after that. The value that training uses is always on the grid.
#[derive(Args)]
#[command(after_long_help = PLAN_EXAMPLES)]
struct Plan {
    /// The surface that has the parameter
    #[arg(long, value_name = "ID")]
    surface: String,
    /// The parameter's dotted key
    #[arg(long, value_name = "KEY")]
    key: String,
    /// Values to try, such as 0.5,1,2
    #[arg(
        long,
        value_name = "VALUES",
        value_delimiter = ',',
        allow_negative_numbers = true,
        conflicts_with = "around"
    )]
    grid: Option<Vec<f64>>,
    /// How many values to spread over the agreed range [default: 7]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=50))]
    around: Option<u64>,
    /// The value that training uses [default: the one in the surface's file]
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    nominal: Option<f64>,
    /// Name of the candidate [default: probe-KEY]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    which: Which,
}

/// Summarize a probe whose runs have ended
///
/// Success rates by value, the range around the nominal value in which the policy
/// keeps working, values that fail inside it, values to try next, and the range that
/// is proposed for training. The result is written to audits/ and recorded; a change
/// of randomisation must name that file as its probe.
#[derive(Args)]
#[command(after_long_help = SUMMARIZE_EXAMPLES)]
struct Summarize {
    /// The probe
    candidate: String,
    #[command(flatten)]
    which: Which,
}

impl Probe {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match &self.what {
            What::Plan(command) => command.run(context, screen),
            What::Summarize(command) => command.run(context, screen),
        }
    }
}

impl Plan {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = ProbePlanRequest {
            surface: self.surface.clone(),
            key: self.key.clone(),
            grid: self.grid.clone(),
            around: self.around,
            nominal: self.nominal,
            name: self.name.clone(),
        };
        let report = plan(context, self.which.selector(), &request)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        screen.line(format!("wrote {}", report.file.display()));
        let values: Vec<String> = report.values.iter().map(ToString::to_string).collect();
        screen.line(format!("  {} at {} (training uses {})", report.key, values.join(", "), report.nominal));
        let runs = counted(usize::try_from(report.runs).unwrap_or(usize::MAX), "run");
        let on = match &report.reference {
            Some(reference) => {
                let policies = usize::try_from(report.policies).unwrap_or(usize::MAX);
                format!("on {} of {reference}", counted(policies, "trained policy"))
            }
            None => "as soon as the baseline has run".to_owned(),
        };
        screen.line(format!("  {runs}, {} at each value, {on}", report.runs_per_value));
        screen.hint(&format!("rlx candidate validate {}", report.candidate));
        Ok(Exit::Yes)
    }
}

impl Summarize {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = summarize(context, self.which.selector(), &self.candidate)?;
        if screen.is_json() {
            screen.json(&report);
        } else {
            print(screen, &report);
        }
        Ok(Exit::Yes)
    }
}

fn print(screen: &Screen, report: &ProbeSummaryReport) {
    let (content, summary) = (&report.content, &report.content.summary);
    let title = format!("{}: {} on policies of {}", content.candidate, content.key, content.reference);
    screen.line(screen.styled(Style::Heading, &title));
    let mut table = Table::new([
        ("value", Align::Right),
        ("successes", Align::Right),
        ("rate", Align::Left),
        ("status", Align::Left),
    ]);
    for point in &summary.grid {
        let nominal = if point.value == summary.nominal { ", nominal" } else { "" };
        table.row([
            point.value.to_string(),
            format!("{}/{}", point.successes, point.episodes),
            format!("{:.0}% to {:.0}%", point.low * 100.0, point.high * 100.0),
            format!("{}{nominal}", word_of(&point.status)),
        ]);
    }
    screen.answer(table.render("  ", |heading| screen.styled(Style::Heading, heading)));
    let asked = format!("at least {:.0}% is asked for", summary.asked * 100.0);
    let range = match (summary.range, summary.proposed) {
        (Some(range), Some(proposed)) => format!(
            "works from {} to {} ({asked}); proposed for training: {} to {}",
            short(range.from),
            short(range.to),
            short(proposed.from),
            short(proposed.to)
        ),
        (Some(range), None) => format!("works at {} only ({asked})", short(range.from)),
        (None, _) => format!("no feasible range ({asked})"),
    };
    screen.answer(paragraph(&range, 2, ""));
    for note in &content.notes {
        screen.answer(paragraph(note, 2, "- "));
    }
    let again = if report.written.already { "already recorded" } else { "recorded" };
    screen.line(format!("{} ({again} as record {})", report.written.file, report.written.record));
    if !summary.next.is_empty() {
        let next: Vec<String> = summary.next.iter().map(ToString::to_string).collect();
        let hint = format!(
            "rlx study probe plan --surface SURFACE --key {} --grid {}    # narrows the edges down",
            content.key,
            next.join(",")
        );
        screen.hint(&hint);
    }
}
