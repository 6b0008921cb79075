//! `rlx launch`

mod shown;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rlxp_ops::reports::AdoptedRuns;
use rlxp_ops::studies::launch::execute::{ExecuteRequest, RunOutcome, execute};
use rlxp_ops::studies::launch::handoff::handoff;
use rlxp_ops::studies::launch::plan::plan;
use rlxp_ops::studies::launch::probe::probe;
use rlxp_ops::studies::launch::watch;
use rlxp_ops::{Context, Failure, Outcome};
use rlxp_types::{Digest, Exit};

use super::study::Which;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx launch status
  rlx launch baseline || echo 'every reason is named'";

const STATUS_EXAMPLES: &str = "\
Examples:
  rlx launch status
  rlx launch status --all --json";

const CANCEL_EXAMPLES: &str = "\
Examples:
  rlx launch cancel baseline-r1-smoke-1-1 || echo 'only what runs can be called off'";

const LOGS_EXAMPLES: &str = "\
Examples:
  rlx launch logs baseline-r1-smoke-1-1 --tail 50 || echo 'there is no such run yet'";

const ADOPT_EXAMPLES: &str = "\
Examples:
  rlx launch adopt
  rlx launch adopt baseline-r1-smoke-1-1 || echo 'there is no such run yet'";

/// Plan, start, watch and stop the runs of a governed study
///
/// With a candidate alone, prints the whole plan of its next runs and starts
/// nothing. With --execute, runs it: each run passes every gate again, goes in
/// a tree of its own, kept apart from everything else, and goes on even when
/// this command ends.
#[derive(Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Launch {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The candidate
    candidate: Option<String>,
    /// Start the runs of its next phase, and watch them to their end
    #[arg(long, requires = "candidate")]
    execute: bool,
    /// The word RUN_CANDIDATE, so that nothing is started by a slip
    #[arg(long, value_name = "WORD")]
    confirm: Option<String>,
    /// The plan to follow, as printed without --execute
    #[arg(long, value_name = "DIGEST")]
    plan: Option<Digest>,
    /// Start at most so many runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "execute")]
    runs: Option<u64>,
    /// Return as soon as the runs go, without watching them
    #[arg(long, requires = "execute")]
    detach: bool,
    /// Try a step of the runbook that is marked as free of side effects
    #[arg(long, value_name = "STEP", conflicts_with_all = ["candidate", "execute", "handoff"])]
    probe: Option<String>,
    /// Write the next run down for an external runtime, and reserve its budget
    #[arg(long, requires = "candidate", conflicts_with = "execute")]
    handoff: bool,
    /// The file for --handoff; by default named after the run
    #[arg(long, value_name = "FILE", requires = "handoff")]
    to: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

#[derive(Subcommand)]
enum Verb {
    /// Show how runs stand, and put on record what is over
    #[command(after_long_help = STATUS_EXAMPLES)]
    Status(Status),
    /// Call a run off, and wait until everything of it is gone
    #[command(after_long_help = CANCEL_EXAMPLES)]
    Cancel(OneRun),
    /// Show the last lines that a run printed
    #[command(after_long_help = LOGS_EXAMPLES)]
    Logs(Logs),
    /// Watch runs to their end, whoever launched them
    #[command(after_long_help = ADOPT_EXAMPLES)]
    Adopt(Adopt),
}

#[derive(Args)]
struct Status {
    /// Show every run; otherwise only the last 10 of those that are over
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct OneRun {
    /// The run, by its key
    #[arg(value_name = "RUN")]
    key: String,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct Logs {
    /// The run, by its key
    #[arg(value_name = "RUN")]
    key: String,
    /// The step: preflight, smoke, train or eval; the last that ran when left out
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// How many lines
    #[arg(long, value_name = "N", default_value_t = 100)]
    tail: usize,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct Adopt {
    /// The run, by its key; all that are not over when left out
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
                "name a candidate, or say what to do: status, cancel, logs, adopt",
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
        Ok(match (interrupted, report.is_well()) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::Yes,
            (false, false) => Exit::RunFailed,
        })
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
            screen.answer("nothing runs");
        } else {
            runs.iter().for_each(|run| shown::run(screen, run));
        }
        Ok(if runs.iter().all(RunOutcome::is_well) { Exit::Yes } else { Exit::RunFailed })
    }
}
