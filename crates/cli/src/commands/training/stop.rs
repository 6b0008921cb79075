//! `rlx stop`

use clap::Args;
use rlxp_ops::training::stop::{StopAction, StopMode, StopReport, Stopped, ToStop, stop, to_stop};
use rlxp_ops::{Context, Outcome};
use rlxp_types::text::shell_word;
use rlxp_types::{Exit, RunStatus};

use crate::screen::Screen;
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx stop @last
  rlx stop 'ppo_*' --no-wait
  rlx stop ppo_cartpole_001 --now    # without saving";

/// Save a checkpoint of running trainings and stop them
///
/// Works for trainings in the background and in other terminals of this machine. A run that
/// waits for its turn is not started any more. The process that trains a run is signalled
/// only if its number, its start time and the boot are those in the run's record; otherwise
/// rlx refuses with exit code 3. If nothing was running, the exit code is 1.
/// `rlx resume` continues a stopped run.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Stop {
    /// The runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Stop immediately, without saving; what was done since the last checkpoint is lost
    #[arg(long)]
    now: bool,
    /// Don't wait until the runs have ended
    #[arg(long, overrides_with = "wait")]
    no_wait: bool,
    /// Wait until the runs have ended [default]
    #[arg(long, overrides_with = "no_wait")]
    wait: bool,
}

impl Stop {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let runs = to_stop(context, &self.runs)?;
        listed(&runs).lines().for_each(|line| screen.note(line));
        let mode = StopMode { now: self.now, wait: !self.no_wait };
        let mut shown = String::new();
        let mut waiting = |names: &[&str]| {
            let line = format!("waiting for {}", some_of(names));
            if screen.is_live() && line != shown {
                screen.live(&line);
                shown = line;
            }
        };
        let report = stop(context, &runs, mode, &mut waiting)?;
        if !shown.is_empty() {
            screen.live("");
        }
        if screen.is_json() {
            screen.json(&report);
        } else {
            tell(screen, &report);
        }
        Ok(report.exit())
    }
}

/// The runs with their status and process.
fn listed(runs: &[ToStop]) -> String {
    let columns = [("run", Align::Left), ("status", Align::Left), ("process", Align::Right)];
    let mut table = Table::new(columns);
    for one in runs {
        let process = one.process.map_or_else(|| "-".to_owned(), |process| process.to_string());
        table.row([one.run.clone(), one.status.to_string(), process]);
    }
    table.render("", str::to_owned)
}

/// As many names as fit on a line.
fn some_of(names: &[&str]) -> String {
    match names {
        [first, second, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second} and {} more", rest.len())
        }
        names => names.join(" and "),
    }
}

fn tell(screen: &Screen, report: &StopReport) {
    for one in &report.runs {
        let Stopped { run, action, status, reason, .. } = one;
        let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        match action {
            StopAction::Refused => screen.warning(&format!("{run} was not stopped{why}")),
            StopAction::NotRunning => screen.line(format!("{run} is not running ({status})")),
            StopAction::Cancelled => screen.line(format!("{run} had not started, and won't")),
            StopAction::Asked | StopAction::Killed => match status {
                RunStatus::Running => screen.line(format!("{run} was asked to stop")),
                RunStatus::Interrupted => screen.line(format!("{run} stopped")),
                status => screen.line(format!("{run} ended as {status}{why}")),
            },
        }
    }
    let resumable = |one: &&Stopped| match one.action {
        StopAction::Asked | StopAction::Killed => one.status != RunStatus::Completed,
        StopAction::Cancelled => true,
        StopAction::Refused => one.status == RunStatus::Lost,
        StopAction::NotRunning => false,
    };
    if let Some(one) = report.runs.iter().find(resumable) {
        screen.hint(&format!("rlx resume {}", shell_word(&one.run)));
    }
    if report.interrupted {
        screen.note("not waiting any longer; the runs still save and stop");
    }
}
