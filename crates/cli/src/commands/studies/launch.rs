//! `rlx launch`

mod shown;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rlxp_ops::reports::AdoptedRuns;
use rlxp_ops::studies::launch::execute::{ExecuteRequest, execute};
use rlxp_ops::studies::launch::handoff::handoff;
use rlxp_ops::studies::launch::outcome::RunOutcome;
use rlxp_ops::studies::launch::plan_report::plan;
use rlxp_ops::studies::launch::probe::probe;
use rlxp_ops::studies::launch::watch;
use rlxp_ops::{Context, Failure, Outcome};
use rlxp_types::{Digest, Exit};

use super::study::Which;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx launch status
  rlx launch baseline || echo 'see the reasons above'";

const STATUS_EXAMPLES: &str = "\
Examples:
  rlx launch status
  rlx launch status --all --json";

const CANCEL_EXAMPLES: &str = "\
Examples:
  rlx launch cancel baseline-r1-smoke-1-1 || echo 'only active runs can be cancelled'";

const LOGS_EXAMPLES: &str = "\
Examples:
  rlx launch logs baseline-r1-smoke-1-1 --tail 50 || echo 'no such run yet'";

const ADOPT_EXAMPLES: &str = "\
Examples:
  rlx launch adopt
  rlx launch adopt baseline-r1-smoke-1-1 || echo 'no such run yet'";

/// Plan, start, watch and stop the runs of a governed study
///
/// With only a candidate, prints the plan of its next runs and starts nothing.
/// With --execute, runs the plan: each run is checked against every gate again,
/// runs sandboxed in its own copy of the code, and continues even if this command
/// ends.
#[derive(Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Launch {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The candidate
    candidate: Option<String>,
    /// Start the runs of the next phase and wait for them to end
    #[arg(long, requires = "candidate")]
    execute: bool,
    /// Must be RUN_CANDIDATE; prevents accidental launches
    #[arg(long, value_name = "WORD")]
    confirm: Option<String>,
    /// Digest of the plan to run, as printed without --execute
    #[arg(long, value_name = "DIGEST")]
    plan: Option<Digest>,
    /// Start at most N runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "execute")]
    runs: Option<u64>,
    /// Return as soon as the runs have started
    #[arg(long, requires = "execute")]
    detach: bool,
    /// Try a runbook step that is marked as free of side effects
    #[arg(long, value_name = "STEP", conflicts_with_all = ["candidate", "execute", "handoff"])]
    probe: Option<String>,
    /// Export the next run for an external runtime and reserve its budget
    #[arg(long, requires = "candidate", conflicts_with = "execute")]
    handoff: bool,
    /// File for --handoff [default: named after the run]
    #[arg(long, value_name = "FILE", requires = "handoff")]
    to: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

#[derive(Subcommand)]
enum Verb {
    /// Show the state of runs and record those that have ended
    #[command(after_long_help = STATUS_EXAMPLES)]
    Status(Status),
    /// Cancel a run and wait until all its processes have ended
    #[command(after_long_help = CANCEL_EXAMPLES)]
    Cancel(OneRun),
    /// Show the last lines of a run's output
    #[command(after_long_help = LOGS_EXAMPLES)]
    Logs(Logs),
    /// Watch active runs until they end, even if another command launched them
    #[command(after_long_help = ADOPT_EXAMPLES)]
    Adopt(Adopt),
}

#[derive(Args)]
struct Status {
    /// Show all runs, not only the last 10 that ended
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct OneRun {
    /// Key of the run
    #[arg(value_name = "RUN")]
    key: String,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct Logs {
    /// Key of the run
    #[arg(value_name = "RUN")]
    key: String,
    /// The step: preflight, smoke, train or eval [default: the last that ran]
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Number of lines
    #[arg(long, value_name = "N", default_value_t = 100)]
    tail: usize,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct Adopt {
    /// Key of the run [default: all active runs]
    #[arg(value_name = "RUN")]
    key: Option<String>,
    #[command(flatten)]
    which: Which,
}

impl Launch {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        if let Some(verb) = &self.verb {
            return verb.run(context, screen);
        }
        let study = self.which.selector();
        if let Some(step) = &self.probe {
            let report = probe(context, study, step)?;
            shown::probe(screen, &report);
            return Ok(shown::exit_of(report.end));
        }
        let Some(candidate) = &self.candidate else {
            return Err(Failure::usage(
                "no_candidate",
                "expected a candidate or a subcommand: status, cancel, logs, adopt",
            )
            .hint("rlx candidate list"));
        };
        if self.handoff {
            let report = handoff(context, study, candidate, self.plan, self.to.as_deref())?;
            shown::handoff(screen, &report);
            return Ok(Exit::Yes);
        }
        if !self.execute {
            shown::plan(screen, &plan(context, study, candidate)?);
            return Ok(Exit::Yes);
        }
        let request = ExecuteRequest {
            candidate: candidate.clone(),
            confirm: self.confirm.clone(),
            plan: self.plan,
            runs: self.runs,
            detach: self.detach,
        };
        let report = execute(context, study, &request, &|event| shown::event(screen, &event))?;
        shown::executed(screen, &report);
        let interrupted = report.left_running && !self.detach;
        Ok(if interrupted { Exit::Interrupted } else { report.exit() })
    }
}

impl Verb {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        match self {
            Verb::Status(status) => {
                shown::status(screen, &watch::status(context, status.which.selector(), status.all)?);
                Ok(Exit::Yes)
            }
            Verb::Cancel(one) => {
                shown::run(screen, &watch::cancel(context, one.which.selector(), &one.key)?);
                Ok(Exit::Yes)
            }
            Verb::Logs(logs) => {
                let step = logs.step.as_deref();
                let report = watch::logs(context, logs.which.selector(), &logs.key, step, logs.tail)?;
                if screen.is_json() {
                    screen.json(&report);
                } else {
                    screen.answer(report.lines.join("\n"));
                }
                Ok(Exit::Yes)
            }
            Verb::Adopt(adopt) => adopt.run(context, screen),
        }
    }
}

impl Adopt {
    fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let study = self.which.selector();
        let keys = match &self.key {
            Some(key) => vec![key.clone()],
            None => watch::live(context, study)?,
        };
        let mut runs = Vec::new();
        for key in &keys {
            runs.push(watch::adopt(context, study, key)?);
        }
        if screen.is_json() {
            screen.json(&AdoptedRuns { runs: &runs });
        } else if runs.is_empty() {
            screen.answer("no active runs");
        } else {
            runs.iter().for_each(|run| shown::run(screen, run));
        }
        Ok(if runs.iter().all(RunOutcome::is_well) { Exit::Yes } else { Exit::RunFailed })
    }
}
