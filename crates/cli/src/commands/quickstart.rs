//! `rlx quickstart`

use clap::Args;
use rlxp_ops::quickstart::{QuickstartReport, quickstart};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;

use crate::format;
use crate::progress::Progress;
use crate::screen::{Screen, Style};
use crate::summary;

/// Seeds that are trained.
const SEEDS: usize = 3;

const EXAMPLES: &str = "\
Examples:
  rlx quickstart
  rlx quickstart first-steps";

/// Create a project, train CartPole with three seeds and show the results
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Quickstart {
    /// Project folder to create
    #[arg(default_value = "rlx-quickstart")]
    folder: String,
}

impl Quickstart {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        screen.note(&format!("training CartPole-v1 with {SEEDS} seeds in {}", self.folder));
        let progress = Progress::new(screen);
        let report = quickstart(context, &self.folder, SEEDS, &mut |event| progress.take(&event))?;
        progress.clear();
        if screen.is_json() {
            screen.json(&report);
        } else {
            self.show(screen, &report, &progress);
        }
        Ok(Exit::Yes)
    }

    fn show(&self, screen: &Screen, report: &QuickstartReport, progress: &Progress<'_>) {
        let name = &report.run.metadata.name;
        let seconds = progress.elapsed().as_secs_f64();
        let steps = progress.steps_done();
        screen.line(format!(
            "{name}: {} steps in {seconds:.1} s ({})",
            format::count(steps),
            format::rate(steps as f64 / seconds.max(1e-9)),
        ));
        if let Some(curve) = summary::curve(&report.run) {
            screen.answer(format!("\n{curve}"));
        }
        screen.answer("\n100 unseen episodes per policy, compared with random actions\n");
        screen.answer(summary::evaluation(screen, &report.evaluation));
        let next = [
            (format!("cd {}", shell_word(&self.folder)), "enter the project"),
            ("rlx ls".to_owned(), "list its runs"),
            (format!("rlx info {name}"), "curve, config and checkpoints of this run"),
            (format!("rlx reproduce {name}"), "retrain it and compare every byte"),
            ("rlx envs".to_owned(), "all environments"),
            ("rlx train configs/ppo_acrobot.yaml".to_owned(), "train another environment"),
        ];
        screen.answer(format!("\n{}", screen.styled(Style::Heading, "next")));
        for (command, what) in next {
            screen.line(format!("  {command:<36}{}", screen.styled(Style::Dim, &format!("# {what}"))));
        }
    }
}
