//! `rlx resume`

use clap::Args;
use rlxp_ops::below::TakeOver;
use rlxp_ops::insight::runs::info;
use rlxp_ops::training::resume::resume;
use rlxp_ops::{Context, Outcome};
use rlxp_types::text::shell_word;
use rlxp_types::{Exit, RunStatus};

use super::train::{conclude, in_background, not_begun};
use crate::complete;
use crate::progress::Progress;
use crate::screen::Screen;

const EXAMPLES: &str = "\
Examples:
  rlx resume @last
  rlx resume @last --detach
  rlx resume ppo_cartpole_001 --total-timesteps 150000    # a new run that continues from its end";

/// Continue an interrupted or failed run
///
/// The run continues from its newest intact checkpoint and produces the same
/// bytes as if it had never stopped. With --total-timesteps, a completed run is
/// extended as a new run, and the old one is left unchanged. Linear schedules are
/// stretched over all steps of the new run, so their values jump; a warning shows
/// by how much.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Resume {
    /// The run
    #[arg(add = complete::runs())]
    run: String,
    /// Extend a completed run to this many steps per seed
    #[arg(long, value_name = "N")]
    total_timesteps: Option<u64>,
    /// Also if its process may still run, on another machine or in a container
    #[arg(long)]
    force: bool,
    /// Train in the background; returns once training has begun
    #[arg(short, long)]
    detach: bool,
}

impl Resume {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let progress = Progress::new(screen);
        let take_over = TakeOver::forced(self.force);
        let report =
            resume(context, &self.run, self.total_timesteps, take_over, self.detach, &mut |event| {
                progress.take(&event)
            })?;
        progress.clear();
        if screen.is_json() {
            screen.json(&report);
        } else if report.was_complete {
            screen.line(format!("{} is already complete", report.run));
            let longer = info(context, &report.run)?.metadata.total_steps.saturating_mul(2);
            screen.hint(&format!(
                "rlx resume {} --total-timesteps {longer}    # extend it",
                shell_word(&report.run)
            ));
            return Ok(Exit::Yes);
        } else if let Some(parent) = &report.extends {
            screen.line(format!("{} continues from the end of {parent}", report.run));
        }
        if report.detached {
            in_background(screen, &report.run);
            return Ok(Exit::Yes);
        }
        if self.detach && report.status == RunStatus::Interrupted {
            return Ok(not_begun(screen, &report.run));
        }
        conclude(context, screen, &report.run, report.status, &progress)
    }
}
