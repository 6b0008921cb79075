//! `rlx __supervise`: the supervisor of trainings in the background.

use std::path::PathBuf;

use clap::Args;
use rlxp_ops::training::detach::{Supervision, Voice, supervise_detached};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::worker::say;
use crate::screen::Screen;

/// Trains the runs in folders; started by train and resume with --detach
#[derive(Args)]
pub(crate) struct Supervisor {
    /// The folder of a run; repeated for each
    #[arg(long = "run", value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,
    /// How many to train at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    parallel: usize,
    /// Leave out runs that another process has claimed before
    #[arg(long)]
    only_first: bool,
}

impl Supervisor {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let supervision =
            Supervision { runs: self.runs.clone(), parallel: self.parallel, only_first: self.only_first };
        supervise_detached(context, &supervision, &Voice { say: &say, log: &|line| screen.note(line) })
    }
}
