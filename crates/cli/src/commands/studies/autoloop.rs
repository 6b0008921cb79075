//! `rlx autoloop`

use std::time::Duration;

use clap::Args;
use rlxp_ops::below::{Seconds, amounts_about};
use rlxp_ops::studies::autoloop::{AutoloopReport, AutoloopRequest, LoopEnd, LoopEvent, autoloop};
use rlxp_ops::studies::launch::outcome::LaunchEvent;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::study::Which;
use crate::format::counted;
use crate::screen::{Screen, Style};

const EXAMPLES: &str = "\
Examples:
  rlx autoloop --dry-run
  rlx autoloop --for 8h || echo 'a person is needed'
  rlx autoloop --runs 20 --json || echo 'a person is needed'";

/// Run a governed study by itself, as far as its contract allows
///
/// Takes the step that `rlx study next` names, and the next one, until the budget is
/// spent, a stop rule applies, or only a person may continue. A manual study ends
/// before a launch, a supervised one launches candidates that a person approved, an
/// autonomous one stays within its envelope. If it is killed, the next loop continues
/// where it was. Exits with 0 when the study or the given limit is over, 3 when a person
/// is needed, 4 when failed runs stopped it, and 130 when interrupted.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Autoloop {
    /// Start nothing after this time, such as 90s, 30m or 8h
    #[arg(long = "for", value_name = "TIME")]
    time: Option<Seconds>,
    /// Start at most N runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// Show the first step without taking it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    which: Which,
}

impl Autoloop {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = AutoloopRequest {
            time: self.time.map(|time| Duration::from_secs(time.0)),
            runs: self.runs,
            dry_run: self.dry_run,
        };
        let report = autoloop(context, self.which.selector(), &request, &|event| show(screen, &event))?;
        clear(screen);
        if screen.is_json() {
            screen.json(&report);
        } else {
            print(screen, &report);
        }
        Ok(report.ended.exit())
    }
}

/// A line per step; what is waited for is a line that changes, where there is a terminal.
fn show(screen: &Screen, event: &LoopEvent) {
    if screen.is_json() {
        screen.json(event);
        return;
    }
    match event {
        LoopEvent::Step { step, action, reason, left } => {
            clear(screen);
            let left = amounts_about(*left).into_iter().take(2).collect::<Vec<_>>().join(", ");
            let action = rlxp_ops::below::word_of(action).replace('_', " ");
            screen.note(&format!("{step}. {action}: {reason} (left: {left})"));
        }
        LoopEvent::Took { result, .. } => screen.note(&format!("   {result}")),
        LoopEvent::Run { run: LaunchEvent::Started { key, seed, phase } } => {
            screen.note(&format!("   {key} started ({phase}, seed {seed})"));
        }
        LoopEvent::Run { run: LaunchEvent::Ended { key, end, reason } } => {
            screen.note(&format!("   {key} ended: {end}, {reason}"));
        }
        LoopEvent::Run { run: LaunchEvent::Warning { message } } => screen.warning(message),
        LoopEvent::Waiting { runs, left } => {
            let left = amounts_about(*left).into_iter().take(2).collect::<Vec<_>>().join(", ");
            let waiting =
                format!("waiting for {} ({left} left): {}", counted(runs.len(), "run"), runs.join(", "));
            if screen.is_live() {
                screen.live(&waiting);
            } else {
                screen.note(&format!("   {waiting}"));
            }
        }
    }
}

/// Removes the line that says what is waited for.
fn clear(screen: &Screen) {
    if screen.is_live() {
        screen.live("");
    }
}

fn print(screen: &Screen, report: &AutoloopReport) {
    let ended = match report.ended {
        LoopEnd::Done => "the study is over",
        LoopEnd::LimitReached => "the loop's limit is reached",
        LoopEnd::DryRun => "next step, not taken",
        LoopEnd::PersonNeeded => "a person is needed",
        LoopEnd::Failures => "stopped because of failures",
        LoopEnd::Interrupted => "interrupted",
    };
    screen.line(format!("{}: {}", screen.styled(Style::Heading, ended), report.reason));
    let (steps, runs) = (usize::try_from(report.steps), usize::try_from(report.runs));
    let (steps, runs) = (steps.unwrap_or(usize::MAX), runs.unwrap_or(usize::MAX));
    if report.ended != LoopEnd::DryRun {
        let left = amounts_about(report.left);
        let left = if left.is_empty() { "nothing".to_owned() } else { left.join(", ") };
        let (steps, runs) = (counted(steps, "step"), counted(runs, "run"));
        screen.line(format!("  {steps}, {runs} started; left of the budget: {left}"));
    }
    if !report.live.is_empty() {
        screen.line(format!("  still running in the background: {}", report.live.join(", ")));
    }
    if let Some(command) = &report.next.command {
        screen.hint(command);
    }
}
