//! `rlx train`

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use rlxp_ops::insight::runs::info;
use rlxp_ops::reports::Report;
use rlxp_ops::training::config::Checked;
use rlxp_ops::training::several::SeveralRequest;
use rlxp_ops::training::train::{TrainPlan, TrainReport, TrainRequest, train};
use rlxp_ops::{Context, Event, Outcome};
use rlxp_types::text::{one_line, shell_word};
use rlxp_types::{Exit, RunStatus};
use serde::Serialize;

use super::several;
use crate::complete;
use crate::format;
use crate::progress::{Progress, SeedState};
use crate::screen::Screen;
use crate::summary;

const EXAMPLES: &str = "\
Examples:
  rlx train configs/ppo_cartpole.yaml
  rlx train configs/ppo_cartpole.yaml --dry-run
  rlx train configs/ppo_cartpole.yaml --set seeds=3 --set algo.gamma=0.99 --tag sweep
  rlx train configs/ppo_cartpole.yaml --stop-at 475
  rlx train configs/ppo_cartpole.yaml --from ppo_cartpole_001:best    # warm start
  rlx train configs/ppo_cartpole.yaml --detach && rlx tail @last
  rlx train configs/ppo_cartpole.yaml configs/ppo_acrobot.yaml --parallel 2";

/// Train a policy from a config file
///
/// Training runs in a child process and writes to runs/<run_name>_<nnn>.
/// Ctrl-C saves a checkpoint and stops; a second Ctrl-C stops immediately.
/// `rlx resume` continues from the last checkpoint.
///
/// Several configs are trained as one run each, one after another or --parallel N
/// at once. All are checked before the first starts; a run that fails doesn't stop
/// the others, and makes the exit code 4. With --detach, training continues in the
/// background and survives logout: `rlx tail` follows a run, `rlx stop` saves and
/// stops it.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Train {
    /// The config files
    #[arg(required = true, value_name = "CONFIG")]
    configs: Vec<PathBuf>,
    /// Override a config value, validated like the file; can be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", add = complete::settings())]
    overrides: Vec<String>,
    /// Show what would be trained, without training
    #[arg(long)]
    dry_run: bool,
    /// Start from the weights of a checkpoint: RUN, RUN:latest, RUN:SEED:step_N or its folder; of
    /// several seeds, each starts from the same seed
    #[arg(long, value_name = "CHECKPOINT", add = complete::runs())]
    from: Option<String>,
    /// Stop a seed when an evaluation reaches this mean return
    #[arg(long, value_name = "RETURN", allow_negative_numbers = true, value_parser = finite)]
    stop_at: Option<f64>,
    /// Tag the run; can be repeated
    #[arg(long = "tag", value_name = "TAG", add = complete::tags())]
    tags: Vec<String>,
    /// Train in the background; returns once training has begun
    #[arg(short, long)]
    detach: bool,
    /// Train N configs at once; each uses its share of the cores unless it sets `threads`
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    parallel: u16,
}

/// The report, completed from the events.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a TrainReport,
    results: BTreeMap<u64, SeedState>,
}

impl Report for Shown<'_> {
    const SCHEMA: &'static str = TrainReport::SCHEMA;
}

impl Train {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let each = TrainRequest {
            config: PathBuf::new(),
            overrides: self.overrides.clone(),
            dry_run: self.dry_run,
            from: self.from.clone(),
            stop_at: self.stop_at,
            tags: self.tags.clone(),
            detach: self.detach,
        };
        let [config] = &self.configs[..] else {
            let configs = self.configs.clone();
            let request = SeveralRequest { configs, each, parallel: usize::from(self.parallel) };
            return several::run(context, screen, &request);
        };
        let request = TrainRequest { config: config.clone(), ..each };
        let progress = Progress::new(screen);
        let mut warn = |checked: &Checked| {
            screen.warnings(&checked.warnings, &checked.sources);
            for message in checked.notes.iter().cloned() {
                progress.take(&Event::Note { message });
            }
        };
        let report = train(context, &request, &mut warn, &mut |event| progress.take(&event))?;
        progress.clear();
        if screen.is_json() {
            screen.json(&Shown { report: &report, results: progress.seeds() });
        }
        match (&report.run, report.status) {
            (Some(run), Some(_)) if report.detached => {
                in_background(screen, run);
                Ok(Exit::Yes)
            }
            (Some(run), Some(RunStatus::Interrupted)) if self.detach => Ok(not_begun(screen, run)),
            (Some(run), Some(status)) => conclude(context, screen, run, status, &progress),
            _ => {
                if !screen.is_json() {
                    screen.answer(describe(&report.plan));
                    if let Some(wanted) = report.stop_at {
                        screen.answer(format!(
                            "{:<24}evaluation return >= {}",
                            "stop at",
                            format::score(wanted)
                        ));
                    }
                }
                Ok(Exit::Yes)
            }
        }
    }
}

/// How to follow and stop a training in the background. Shared with `resume`.
pub(crate) fn in_background(screen: &Screen, run: &str) {
    if screen.is_json() {
        return;
    }
    screen.line(format!("{run} is training in the background"));
    screen.hint(&format!("rlx tail {}    # follow it", shell_word(run)));
    screen.hint(&format!("rlx stop {}    # save a checkpoint and stop", shell_word(run)));
}

/// Says that a training was stopped before it continued in the background. Shared with `resume`.
pub(crate) fn not_begun(screen: &Screen, run: &str) -> Exit {
    if !screen.is_json() {
        screen.line(format!("{run} was stopped while it was starting; nothing runs in the background"));
        screen.hint(&format!("rlx resume {}", shell_word(run)));
    }
    Exit::Interrupted
}

/// How a training ended, and what to do next. Shared with `resume`.
pub(crate) fn conclude(
    context: &Context,
    screen: &Screen,
    run: &str,
    status: RunStatus,
    progress: &Progress<'_>,
) -> Outcome<Exit> {
    let interrupted = status == RunStatus::Interrupted;
    let exit = if interrupted { Exit::Interrupted } else { Exit::Yes };
    if screen.is_json() {
        return Ok(exit);
    }
    let seconds = progress.elapsed().as_secs_f64();
    let steps = progress.steps_done();
    screen.line(format!(
        "{run} {status}: {} steps in {seconds:.1} s ({})",
        format::count(steps),
        format::rate(steps as f64 / seconds.max(1e-9)),
    ));
    let report = info(context, run)?;
    screen.answer(summary::seeds(screen, &report));
    if let Some(stops) = summary::stops(&report).filter(|_| !interrupted) {
        screen.answer(stops);
    }
    if interrupted {
        screen.hint(&format!("rlx resume {}", shell_word(run)));
    } else {
        screen.hint(&format!("rlx eval --run {}", shell_word(run)));
        screen.hint(&format!("rlx info {}", shell_word(run)));
    }
    Ok(exit)
}

pub(super) fn describe(plan: &TrainPlan) -> String {
    let seeds: Vec<String> = plan.seeds.iter().map(u64::to_string).collect();
    let lines = [
        ("run", format!("{}_<nnn>", plan.run_name)),
        ("environment", plan.env.clone()),
        ("seeds", seeds.join(", ")),
        ("steps per seed", format::count(plan.steps)),
        ("updates per seed", format::count(plan.updates)),
        ("gradient steps per seed", format::count(plan.gradient_steps)),
        ("parameters", format::count(plan.parameters as u64)),
        ("threads", plan.threads.to_string()),
        ("evaluations per seed", plan.evaluations.to_string()),
        ("checkpoints per seed", format!("at most {}", plan.checkpoints)),
        ("disk", format!("about {}", format::bytes(plan.disk_bytes))),
        ("memory", format!("about {}", format::bytes(plan.memory_bytes))),
    ];
    lines.iter().map(|(name, value)| format!("{name:<24}{}\n", one_line(value))).collect()
}

fn finite(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if value.is_finite() { Ok(value) } else { Err("not a finite number".to_owned()) }
}
