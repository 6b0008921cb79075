//! `rlx study receive`

use std::path::PathBuf;

use clap::Args;
use rlxp_ops::below::{RunEnd, parse_word};
use rlxp_ops::studies::launch::handoff::{ReceiveRequest, receive};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::Which;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx study receive ppo-r1-short-3-1 --from results || echo 'the run was not handed off'";

/// Receive the results of a run from an external runtime
///
/// The folder contains train/ and eval/ as written by the steps. The results count
/// as external evidence, which never changes the incumbent without a person.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Receive {
    /// Key of the run
    #[arg(value_name = "RUN")]
    key: String,
    /// Folder with the results
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
    /// How it ended: ok, failed, limit, cancelled or lost
    #[arg(long, default_value = "ok", value_parser = parse_word::<RunEnd>)]
    end: RunEnd,
    /// Where and how it ran, such as "slurm job 4711 on node17"
    #[arg(long, default_value = "not said")]
    runtime: String,
    /// Duration of the run [default: everything reserved for it is spent]
    #[arg(long, value_name = "SECONDS")]
    wall_clock: Option<u64>,
    #[command(flatten)]
    which: Which,
}

impl Receive {
    pub(super) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = ReceiveRequest {
            key: self.key.clone(),
            from: self.from.clone(),
            end: self.end,
            runtime: self.runtime.clone(),
            wall_clock: self.wall_clock,
        };
        let run = receive(context, self.which.selector(), &request)?;
        if screen.is_json() {
            screen.json(&run);
        } else {
            screen.line(format!("{}: {}", run.key, run.state));
        }
        Ok(Exit::Yes)
    }
}
