//! `rlx worker`: the training child. It speaks to its supervisor in JSON Lines.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use rlxp_ops::{Context, Event, Outcome};
use rlxp_types::Exit;

/// Trains the run in a folder; started by train, resume and reproduce
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct Worker {
    /// The run's folder
    #[arg(long, value_name = "DIR")]
    run: PathBuf,
    /// Only if no other process has claimed the run before
    #[arg(long)]
    only_first: bool,
}

impl Worker {
    pub(crate) fn run(&self, context: &Context) -> Outcome<Exit> {
        Ok(rlxp_ops::training::worker::work(context, &self.run, self.only_first, &emit))
    }
}

fn emit(event: Event) {
    say(&serde_json::to_string(&event).expect("an event is plain data"));
}

/// A line to the process that started this one. Shared with the detached supervisor.
pub(super) fn say(line: &str) {
    let mut out = io::stdout().lock();
    // If that process is gone, there is nothing to report to; the record is on disk.
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}
