//! `rlx reproduce`

use clap::Args;
use rlxp_ops::training::reproduce::{ReproduceReport, reproduce};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::format::counted;
use crate::progress::Progress;
use crate::screen::{Screen, Style};

/// Differences that are shown one by one.
const MOST_SHOWN: usize = 10;

const EXAMPLES: &str = "\
Examples:
  rlx reproduce @last
  rlx reproduce @last --threads 1
  rlx reproduce @last --keep";

/// Retrain a run from its snapshot and compare every byte
///
/// Compares the weights of every checkpoint, every evaluation made during training,
/// and all metrics except timings. Exits with 1 if anything differs, and lists what
/// has changed since: rlx version, CPU kernels, machine, code.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// The run
    #[arg(add = complete::runs())]
    run: String,
    /// Number of threads; the result must be the same with any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// Keep the reproduction as a new run
    #[arg(long)]
    keep: bool,
}

impl Reproduce {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let progress = Progress::new(screen);
        let threads = self.threads.map(|threads| threads as usize);
        let report = reproduce(context, &self.run, threads, self.keep, &mut |event| progress.take(&event))?;
        progress.clear();
        if screen.is_json() {
            screen.json(&report);
        } else {
            show(screen, &report);
        }
        Ok(if report.same { Exit::Yes } else { Exit::No })
    }
}

fn show(screen: &Screen, report: &ReproduceReport) {
    let ReproduceReport { run, checkpoints, differences, .. } = report;
    if report.same {
        let verdict = screen.styled(Style::Good, "identical");
        screen.line(format!(
            "{run}: {verdict} ({}, evaluations and metrics)",
            counted(*checkpoints, "checkpoint")
        ));
    } else {
        let verdict = screen.styled(Style::Error, "differs");
        screen.line(format!("{run}: {verdict} in {}", counted(differences.len(), "place")));
        for difference in differences.iter().take(MOST_SHOWN) {
            let (seed, file, what) = (difference.seed, &difference.file, &difference.what);
            screen.line(format!("  seed {seed}  {file}: {what}"));
        }
        if differences.len() > MOST_SHOWN {
            screen.line(format!("  and {} more", differences.len() - MOST_SHOWN));
        }
    }
    for changed in &report.changed {
        screen.note(&format!("changed since training: {changed}"));
    }
    if let Some(kept) = &report.kept {
        screen.note(&format!("kept as {}", kept.display()));
    }
}
