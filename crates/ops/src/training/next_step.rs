//! What to do with a run that is not complete. Most go on from their newest
//! checkpoint; a seed that diverged would do the same again, byte by byte, so
//! it takes another config.

use std::collections::BTreeMap;

use rlxp_spec::config::{Config, Schedule};
use rlxp_store::{LATEST, Run, SaveReason, SeedFolder};
use rlxp_types::text::{rounded, shell_word};
use rlxp_types::{EndCause, RunStatus};

use crate::training::recorded::config_of;
use crate::training::seed_ranges::seed_ranges;

/// A learning rate that diverged is divided by this.
const LOWER: f64 = 10.0;

/// Commands that can be pasted; none for a run that is complete. What can't be
/// read is left to the commands that say why.
pub(crate) fn commands(run: &Run) -> Vec<String> {
    let name = run.name();
    let name = shell_word(&name);
    let resume = || vec![format!("rlx resume {name}")];
    let Ok(report) = run.status() else { return Vec::new() };
    match report.status {
        RunStatus::Completed | RunStatus::Created | RunStatus::Unknown => return Vec::new(),
        RunStatus::Running => return vec![format!("rlx tail {name}")],
        RunStatus::Interrupted | RunStatus::Lost => return resume(),
        RunStatus::Failed => {}
    }
    let Some(end) = report.attempt.and_then(|attempt| attempt.end) else { return resume() };
    let all_diverged = match end.seeds.is_empty() {
        true => end.cause() == Some(EndCause::Diverged),
        false => end.seeds.keys().all(|seed| end.cause_of(*seed) == Some(EndCause::Diverged)),
    };
    let (true, Ok(config)) = (all_diverged, config_of(run)) else { return resume() };
    let mut commands = vec![format!("rlx diagnose {name}"), lower(run, &config)];
    let others = unfinished(run, &end.seeds);
    if !others.is_empty() {
        let seeds = if others.len() == 1 { "seed" } else { "seeds" };
        commands.push(format!("rlx resume {name}    # finishes {seeds} {}", seed_ranges(others)));
    }
    commands
}

/// Trains the run again with a lower learning rate, and with a cap on the
/// gradient where there was none.
fn lower(run: &Run, config: &Config) -> String {
    let less = |value: f64| rounded(value / LOWER, 3);
    let rate = match config.algo.learning_rate() {
        Schedule::Constant(value) => format!("algo.learning_rate={}", less(value)),
        Schedule::Linear { from, to, .. } => {
            let rate = format!("{{schedule: linear, from: {}, to: {}}}", less(from), less(to));
            shell_word(&format!("algo.learning_rate={rate}")).into_owned()
        }
    };
    let file = format!("runs/{}/{}", run.name(), rlxp_store::CONFIG_FILE);
    let file = shell_word(&file);
    let is_uncapped = config.get::<Option<f64>>("algo.max_grad_norm") == Some(None);
    let cap = if is_uncapped { " --set algo.max_grad_norm=0.5" } else { "" };
    format!("rlx train {file} --set {rate}{cap}")
}

/// Seeds that did not fail and are not done: those that were stopped with the others.
fn unfinished(run: &Run, failed: &BTreeMap<u64, String>) -> Vec<u64> {
    let is_done = |folder: &SeedFolder| {
        let store = folder.checkpoints();
        let newest = store.link(LATEST).ok().flatten().and_then(|step| store.manifest(step).ok());
        newest.is_some_and(|manifest| manifest.reason == SaveReason::Final)
    };
    let folders = if failed.is_empty() { Vec::new() } else { run.seed_folders().unwrap_or_default() };
    let others = folders.iter().filter(|folder| !failed.contains_key(&folder.seed()) && !is_done(folder));
    others.map(SeedFolder::seed).collect()
}
