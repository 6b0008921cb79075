//! Shared by the tests of the store: a project, runs, a small training.

use std::path::Path;
use std::sync::Arc;

use rlxp_fs::testing::{CrashFs, FakeMachine};
use rlxp_fs::{Fs, RealFs};
use rlxp_store::{
    Best, CheckpointFacts, Claim, End, Metadata, MetricValue, MetricsPosition, MetricsWriter, NewRun,
    Outcome, Project, SaveReason, SeedFolder, TakeOver,
};
use rlxp_types::RunName;

pub(crate) const NOW: &str = "2026-01-02T03:04:05.000Z";

pub(crate) fn machine() -> Arc<FakeMachine> {
    Arc::new(FakeMachine::new("here", "boot-1", 100))
}

/// A project in memory, settled on its disk.
pub(crate) fn in_memory() -> (CrashFs, Project) {
    let disk = CrashFs::new();
    disk.create_dir(Path::new("/p")).unwrap();
    let project = on(Arc::new(disk.clone()));
    project.prepare().unwrap();
    disk.settle();
    (disk, project)
}

/// The same project seen through another file system.
pub(crate) fn on(fs: Arc<dyn Fs>) -> Project {
    Project::at(fs, machine(), Path::new("/p"))
}

/// A project in a real folder.
pub(crate) fn real() -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(Arc::new(RealFs), machine(), folder.path());
    project.prepare().unwrap();
    (folder, project)
}

pub(crate) fn new_run(name: &str, seeds: &[u64]) -> NewRun {
    NewRun {
        name: RunName::parse(name).unwrap(),
        config_snapshot: "run_name: x\n".to_owned(),
        metadata: Metadata::new(NOW, "CartPole-v1", "ppo", seeds, 1000),
    }
}

pub(crate) fn end(outcome: Outcome) -> End {
    End { exit_code: Some(0), steps: Some(1), ..End::new(outcome, NOW) }
}

pub(crate) fn facts(reason: SaveReason, metrics: MetricsPosition) -> CheckpointFacts {
    CheckpointFacts { reason, metrics, best: None, facts: serde_json::Map::new() }
}

/// The bytes that a training would have at `step`.
pub(crate) fn model(step: u64) -> Vec<u8> {
    (0..200).map(|index| (step.wrapping_mul(31).wrapping_add(index) % 251) as u8).collect()
}

pub(crate) fn state(step: u64) -> Vec<u8> {
    model(step + 1).repeat(2)
}

/// Logs the steps after `from` up to `to`, ten apart, one record each.
pub(crate) fn log(writer: &mut MetricsWriter, from: u64, to: u64) -> Result<(), rlxp_store::StoreError> {
    for step in (from + 10..=to).step_by(10) {
        let value = step as f64 / 7.0;
        let values = [("mean_return", MetricValue::from(value)), ("loss", MetricValue::from(0.1f32))];
        writer.append(step, 1.5, "train", &values)?;
    }
    Ok(())
}

/// Saves as a training does: metrics first, then checkpoint, evaluation, links.
pub(crate) fn save(
    folder: &SeedFolder,
    writer: &mut MetricsWriter,
    step: u64,
    reason: SaveReason,
) -> Result<(), rlxp_store::StoreError> {
    let best = Some(Best { step: 100, score: 100.0 });
    let facts = CheckpointFacts { best, ..facts(reason, writer.sync()?) };
    let store = folder.checkpoints();
    if reason != SaveReason::Interrupt {
        let content = serde_json::json!({"step": step, "mean_return": step});
        folder.write_evaluation(&format!("step_{step}"), &content)?;
    }
    store.save(step, &model(step), &state(step), &facts)?;
    if step == 100 && reason != SaveReason::Interrupt {
        store.set_link(rlxp_store::BEST, step)?;
    }
    store.prune(2, &[])?;
    Ok(())
}

/// Trains from what `recover` finds up to `total`, saving every 100 steps.
pub(crate) fn train(folder: &SeedFolder, total: u64) -> Result<(), rlxp_store::StoreError> {
    train_noting(folder, total, &mut 0)
}

/// [`train`] that notes each step reported as saved.
pub(crate) fn train_noting(
    folder: &SeedFolder,
    total: u64,
    saved: &mut u64,
) -> Result<(), rlxp_store::StoreError> {
    let recovery = rlxp_store::recover(folder, None)?;
    let mut at = recovery.checkpoint.map_or(0, |checkpoint| {
        assert_eq!(checkpoint.model, model(checkpoint.step));
        assert_eq!(checkpoint.state, state(checkpoint.step));
        checkpoint.step
    });
    folder.checkpoints().prune(2, &[])?;
    let mut writer = folder.metrics_writer(&recovery.metrics)?;
    while at < total {
        let next = (at / 100 + 1) * 100;
        log(&mut writer, at, next)?;
        save(folder, &mut writer, next, SaveReason::Scheduled)?;
        *saved = next;
        at = next;
    }
    Ok(())
}

pub(crate) fn claim(run: &rlxp_store::Run) -> Claim {
    run.claim(NOW, TakeOver::WhenProvenGone).unwrap()
}

/// A digest of each part, so that a failed comparison can be read.
fn short(bytes: &[u8]) -> String {
    rlxp_types::Digest::hash(bytes).short()
}

/// Everything that must be the same bytes after any number of crashes.
pub(crate) fn fingerprint(folder: &SeedFolder) -> Vec<(String, String)> {
    let store = folder.checkpoints();
    let mut parts = Vec::new();
    for step in store.steps().unwrap() {
        parts.push((format!("checkpoint {step}"), short(&store.load(step).unwrap().model)));
    }
    parts.push(("latest".into(), format!("{:?}", store.latest_link().unwrap())));
    parts.push(("best".into(), format!("{:?}", store.best_link().unwrap())));
    for evaluation in folder.evaluations().unwrap() {
        parts.push((evaluation.name.clone(), evaluation.content.unwrap().to_string()));
    }
    let metrics = folder.metrics().unwrap();
    assert!(metrics.damage.is_empty() && metrics.torn_tail.is_none(), "{metrics:?}");
    parts.push(("metrics".into(), short(format!("{:?}", metrics.records).as_bytes())));
    parts
}

/// The name of the newest run.
pub(crate) fn newest(project: &Project) -> String {
    let rows = rlxp_store::Index::open(project).list(&rlxp_store::RunFilter::default()).unwrap();
    rows.iter().max_by(|a, b| a.age().cmp(&b.age())).unwrap().name.clone()
}
