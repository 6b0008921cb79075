//! Every operation with every fault at every call, followed by a kill or a
//! power loss: what was promised is there, and continuing gives the same bytes.

use std::path::Path;
use std::sync::Arc;

use rlxp_fs::testing::{CrashFs, FakeMachine, Fault, FaultFs};
use rlxp_fs::{Fs, FsExt};
use rlxp_store::{MetricsPosition, Outcome, Project, SaveReason, SeedFolder, StoreError, TakeOver, recover};
use rlxp_types::RunStatus;

use crate::common::{
    self, NOW, claim, end, facts, fingerprint, in_memory, log, model, new_run, on, save, state, train,
};

const FAULTS: [Fault; 4] = [Fault::Error, Fault::Full, Fault::ShortWrite, Fault::Kill];
const POWER_LOSSES: u64 = 4;

fn folder_of(project: &Project, name: &str) -> SeedFolder {
    project.run(name).seed_folders().unwrap().remove(0)
}

/// Runs `operation` on a copy of `disk` with each fault at each call until the
/// fault comes too late; `check` sees each disk that can be left.
fn every_fault<T>(
    disk: &CrashFs,
    mut operation: impl FnMut(&Project) -> T,
    mut check: impl FnMut(&CrashFs, &T, &str),
) {
    for fault in FAULTS {
        for at in 1.. {
            let copy = disk.copy();
            let faulty = Arc::new(FaultFs::new(Arc::new(copy.clone()), fault, at));
            let told = operation(&on(faulty.clone()));
            check(&copy.copy(), &told, &format!("{fault:?} at {at}, killed"));
            for seed in 0..POWER_LOSSES {
                let left = copy.after_power_loss(seed * 1_000 + at);
                check(&left, &told, &format!("{fault:?} at {at}, power loss {seed}"));
            }
            if !faulty.fired() {
                break;
            }
            assert!(at < 5_000, "the loop ends");
        }
    }
}

#[test]
fn a_created_run_is_whole_or_absent() {
    let (disk, project) = in_memory();
    project.create_run(new_run("old", &[0])).unwrap();
    disk.settle();
    every_fault(
        &disk,
        |project| project.create_run(new_run("new", &[1, 2])).is_ok(),
        |left, created, case| {
            let project = on(Arc::new(left.clone()));
            let names = project.run_names().unwrap();
            assert!(names.contains(&"old_001".to_owned()), "{case}");
            assert!(!created || names.contains(&"new_001".to_owned()), "{case}: a created run is lost");
            for name in &names {
                let run = project.run(name);
                run.metadata().unwrap();
                assert_eq!(run.config_snapshot().unwrap(), "run_name: x\n", "{case}");
                for folder in run.seed_folders().unwrap() {
                    assert!(folder.metrics().unwrap().records.is_empty(), "{case}");
                    left.list(&folder.eval_dir()).unwrap();
                }
            }
            let again = project.create_run(new_run("new", &[1, 2])).unwrap();
            assert_eq!(again.name(), format!("new_{:03}", names.len()), "{case}");
        },
    );
}

#[test]
fn a_saved_checkpoint_is_whole_or_absent_and_the_old_one_stays() {
    let (disk, project) = in_memory();
    project.create_run(new_run("a", &[0])).unwrap();
    train(&folder_of(&project, "a_001"), 100).unwrap();
    let position = recover(&folder_of(&project, "a_001"), None).unwrap().metrics;
    disk.settle();
    for step in [100, 200] {
        // A save of step 100 replaces one that is there, with other bytes.
        let content = |step| if step == 100 { model(9) } else { model(step) };
        every_fault(
            &disk,
            |project| {
                let store = folder_of(&on_disk(project), "a_001").checkpoints();
                let store = rlxp_store::CheckpointStore::new(Arc::clone(project.fs()), store.path());
                store
                    .save(step, &content(step), &state(step), &facts(SaveReason::Scheduled, position))
                    .is_ok()
            },
            |left, saved, case| {
                let store = folder_of(&on(Arc::new(left.clone())), "a_001").checkpoints();
                store.tidy().unwrap();
                let newest = store.newest_valid().unwrap();
                assert!(newest.damaged.is_empty(), "{case}: {:?}", newest.damaged);
                let found = newest.checkpoint.unwrap_or_else(|| panic!("{case}: no checkpoint is left"));
                let new = found.step == step && found.model == content(step);
                assert!(new || found.model == model(100), "{case}");
                assert!(!saved || new, "{case}: a saved checkpoint is lost");
                let linked = store.latest_link().unwrap().unwrap();
                store.load(linked).unwrap();
                store.save(300, &model(300), &state(300), &facts(SaveReason::Scheduled, position)).unwrap();
                assert_eq!(store.newest_valid().unwrap().checkpoint.unwrap().step, 300, "{case}");
            },
        );
    }
}

/// The folder's path is needed before the fault counter starts to count.
fn on_disk(project: &Project) -> Project {
    let disk = CrashFs::new();
    disk.create_dir(Path::new("/p")).unwrap();
    let copy = on(Arc::new(disk));
    copy.create_run(new_run("a", &[0])).unwrap();
    assert_eq!(copy.runs_dir(), project.runs_dir());
    copy
}

/// Trains a run to 400 through every fault, from the start and from an
/// interrupt, and compares with an undisturbed training.
fn training_from(stop_at: Option<u64>) {
    let (disk, project) = in_memory();
    project.create_run(new_run("a", &[0])).unwrap();
    disk.settle();
    let straight = folder_of(&on(Arc::new(disk.copy())), "a_001");
    train(&straight, 400).unwrap();
    let expected = fingerprint(&straight);
    let folder = folder_of(&project, "a_001");
    if let Some(step) = stop_at {
        train(&folder, step / 100 * 100).unwrap();
        stop(&folder, step - 10);
        stop(&folder, step);
        disk.settle();
    }
    let place = folder.path().to_owned();
    every_fault(
        &disk,
        |project| {
            let mut saved = 0;
            let folder = SeedFolder::at(Arc::clone(project.fs()), common::machine(), &place, 0);
            drop(common::train_noting(&folder, 400, &mut saved));
            saved
        },
        |left, saved, case| {
            let folder = folder_of(&on(Arc::new(left.clone())), "a_001");
            let recovered = recover(&folder, None).unwrap();
            let found = recovered.checkpoint.map_or(0, |checkpoint| checkpoint.step);
            let promised = (*saved).max(stop_at.unwrap_or(0));
            assert!(found >= promised, "{case}: step {promised} was saved, {found} is left");
            train(&folder, 400).unwrap();
            assert_eq!(fingerprint(&folder), expected, "{case}");
        },
    );
}

/// Trains on to `step` and saves there as Ctrl-C does.
fn stop(folder: &SeedFolder, step: u64) {
    let recovery = recover(folder, None).unwrap();
    let from = recovery.checkpoint.unwrap().step;
    let mut writer = folder.metrics_writer(&recovery.metrics).unwrap();
    log(&mut writer, from, step).unwrap();
    save(folder, &mut writer, step, SaveReason::Interrupt).unwrap();
    assert_eq!(folder.checkpoints().latest_link().unwrap(), Some(step));
}

#[test]
fn training_through_any_fault_ends_with_the_same_bytes() {
    training_from(None);
}

#[test]
fn resuming_an_interrupt_through_any_fault_ends_with_the_same_bytes() {
    training_from(Some(330));
}

#[test]
fn recovery_through_any_fault_loses_no_record() {
    let (disk, project) = in_memory();
    project.create_run(new_run("a", &[0])).unwrap();
    let folder = folder_of(&project, "a_001");
    train(&folder, 200).unwrap();
    // Beyond the checkpoint: records, an evaluation, a damaged checkpoint, a torn line.
    let position = recover(&folder, None).unwrap().metrics;
    let mut writer = folder.metrics_writer(&position).unwrap();
    log(&mut writer, 200, 250).unwrap();
    writer.sync().unwrap();
    folder.write_evaluation("step_250", &serde_json::json!({"step": 250})).unwrap();
    disk.create_dir(&folder.checkpoints().step_path(250)).unwrap();
    disk.open_append(&folder.metrics_path()).unwrap().write_all(b"{\"seq\":25,\"st").unwrap();
    disk.settle();
    let place = folder.path().to_owned();
    every_fault(
        &disk,
        |project| {
            let folder = SeedFolder::at(Arc::clone(project.fs()), common::machine(), &place, 0);
            recover(&folder, None).is_ok()
        },
        |left, _, case| {
            let folder = folder_of(&on(Arc::new(left.clone())), "a_001");
            let recovery = recover(&folder, None).unwrap();
            assert_eq!(recovery.metrics, position, "{case}");
            assert_eq!(recovery.checkpoint.unwrap().step, 200, "{case}");
            assert_eq!(folder.metrics().unwrap().records.len(), 20, "{case}");
            assert_eq!(folder.evaluations().unwrap().len(), 2, "{case}");
            assert_eq!(folder.checkpoints().steps().unwrap(), [100, 200], "{case}");
            assert_eq!(folder.checkpoints().best_link().unwrap(), Some(100), "{case}");
            let kept = left.read(&folder.logs_dir().join("superseded_1.jsonl"), 1 << 20).unwrap();
            assert_eq!(kept.iter().filter(|byte| **byte == b'\n').count(), 5, "{case}");
            assert!(kept.ends_with(b"{\"seq\":25,\"st"), "{case}");
            let moved = |what: &str| {
                (1..4)
                    .any(|k| left.metadata(&folder.logs_dir().join(format!("superseded_{k}/{what}"))).is_ok())
            };
            assert!(moved("eval/step_250.json") && moved("checkpoints/step_250"), "{case}");
            let names: Vec<String> = left.list(folder.path()).unwrap().into_iter().map(|e| e.name).collect();
            assert!(names.iter().all(|name| !name.starts_with(".tmp-")), "{case}: {names:?}");
        },
    );
}

#[test]
fn a_claim_through_any_fault_is_had_once() {
    let (disk, project) = in_memory();
    project.create_run(new_run("a", &[0])).unwrap();
    disk.settle();
    every_fault(
        &disk,
        |project| project.run("a_001").claim(NOW, TakeOver::WhenProvenGone).is_ok(),
        |left, claimed, case| {
            let run = on(Arc::new(left.clone())).run("a_001");
            if *claimed {
                assert_eq!(run.status().unwrap().status, RunStatus::Running, "{case}");
            }
            // To a process of a later boot the run is free, whatever was left.
            let later = Arc::new(rlxp_fs::testing::FakeMachine::new("here", "boot-2", 5));
            let run = Project::at(Arc::new(left.clone()), later, Path::new("/p")).run("a_001");
            let claim = claim(&run);
            assert!(claim.end(&end(Outcome::Completed)).unwrap());
            assert_eq!(run.status().unwrap().status, RunStatus::Completed, "{case}");
        },
    );
}

#[test]
fn an_error_poisons_the_metrics_for_good() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let path = run.seed_folders().unwrap()[0].metrics_path();
    let (mut failed, mut at) = (0, 0);
    loop {
        at += 1;
        let faulty = Arc::new(FaultFs::new(Arc::new(disk.copy()), Fault::Error, at));
        let fs: Arc<dyn Fs> = faulty.clone();
        let start = MetricsPosition::start();
        if let Ok(mut writer) = rlxp_store::MetricsWriter::open(fs, &path, &start) {
            log(&mut writer, 0, 50).unwrap();
            if writer.sync().is_err() {
                failed += 1;
                let again = [
                    writer.append(1, 0.0, "train", &[]).map(drop),
                    writer.sync().map(drop),
                    writer.flush(),
                    writer.tick().map(drop),
                ];
                for result in again {
                    assert!(matches!(result, Err(StoreError::Poisoned { .. })));
                }
            }
        }
        if !faulty.fired() {
            break;
        }
    }
    assert_eq!(failed, 3, "write, sync and the look at the name can each fail");
}

#[test]
fn a_writer_that_lost_its_run_can_not_reach_the_new_record() {
    let (disk, project) = in_memory();
    project.create_run(new_run("a", &[0])).unwrap();
    let folder = folder_of(&project, "a_001");
    let mut stale = folder.metrics_writer(&MetricsPosition::start()).unwrap();
    log(&mut stale, 0, 100).unwrap();
    save(&folder, &mut stale, 100, SaveReason::Scheduled).unwrap();
    // Considered dead while it was only paused.
    let recovery = recover(&folder, None).unwrap();
    let mut writer = folder.metrics_writer(&recovery.metrics).unwrap();
    log(&mut stale, 100, 150).unwrap();
    assert!(matches!(stale.sync(), Err(StoreError::TakenOver { .. })));
    log(&mut writer, 100, 120).unwrap();
    writer.sync().unwrap();
    drop(stale);
    let content = folder.metrics().unwrap();
    assert_eq!(content.records.len(), 12);
    assert!(content.damage.is_empty() && content.torn_tail.is_none());
    drop(disk);
}

/// The disk fills at every possible moment of a training.
#[test]
fn a_full_disk_is_named_loses_nothing_and_lets_the_end_be_written() {
    let mut ended = 0;
    for blocks in 0..60 {
        let (disk, project) = in_memory();
        let run = project.create_run(new_run("a", &[0])).unwrap();
        let folder = folder_of(&project, "a_001");
        train(&folder, 100).unwrap();
        let claim = claim(&run);
        let reserve = run.path().join("attempts/1/reserve");
        assert_eq!(disk.metadata(&reserve).unwrap().length, 64 * 1024);
        disk.leave_free(blocks * 4096);
        let mut saved = 100;
        let Err(error) = common::train_noting(&folder, 400, &mut saved) else { break };
        assert!(error.is_full() && error.is_storage(), "{error}");
        assert!(claim.end(&end(Outcome::Failed)).unwrap());
        ended += 1;
        assert!(disk.metadata_if_any(&reserve).unwrap().is_none());
        assert_eq!(run.status().unwrap().status, RunStatus::Failed);
        assert_eq!(run.metadata().unwrap().status, RunStatus::Failed);
        let newest = folder.checkpoints().newest_valid().unwrap();
        assert!(newest.checkpoint.unwrap().step >= saved && newest.damaged.is_empty());
        assert!(folder.metrics().unwrap().records.len() as u64 >= saved / 10);
        disk.leave_free(1 << 30);
        train(&folder, 400).unwrap();
    }
    assert!(ended > 10, "only {ended} sizes were too small");
}

/// A claim on a disk with no room for the reserve is refused as full.
#[test]
fn a_claim_needs_room_for_its_end() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    disk.leave_free(10 * 4096);
    let error = run.claim(NOW, TakeOver::WhenProvenGone).err().unwrap();
    assert!(error.is_full(), "{error}");
    assert_eq!(run.status().unwrap().status, RunStatus::Failed);
}

#[test]
fn an_interrupt_leaves_no_trace_in_the_end() {
    let (_disk, project) = in_memory();
    project.create_run(new_run("straight", &[0])).unwrap();
    project.create_run(new_run("stopped", &[0])).unwrap();
    let straight = folder_of(&project, "straight_001");
    train(&straight, 400).unwrap();
    let stopped = folder_of(&project, "stopped_001");
    train(&stopped, 200).unwrap();
    [230, 260, 300].into_iter().for_each(|step| stop(&stopped, step));
    // Step 300 is scheduled too: the same bytes, saved once more.
    let recovery = recover(&stopped, None).unwrap();
    let mut writer = stopped.metrics_writer(&recovery.metrics).unwrap();
    save(&stopped, &mut writer, 300, SaveReason::Scheduled).unwrap();
    drop(writer);
    let manifest = stopped.checkpoints().manifest(300).unwrap();
    assert_eq!(manifest.reason, SaveReason::Scheduled);
    train(&stopped, 400).unwrap();
    assert_eq!(fingerprint(&stopped), fingerprint(&straight));
}

/// A tag that was acknowledged is there, and those before it are.
#[test]
fn a_tag_through_any_fault_is_kept_once_it_is_acknowledged() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    claim(&run).end(&end(Outcome::Completed)).unwrap();
    run.set_tags(&["old".into()], &[]).unwrap();
    disk.settle();
    every_fault(
        &disk,
        |project| project.run("a_001").set_tags(&["new".into()], &[]).is_ok(),
        |left, acknowledged, case| {
            let run = on(Arc::new(left.clone())).run("a_001");
            let metadata = run.metadata().unwrap();
            assert!(metadata.tags.contains(&"old".to_owned()), "{case}");
            assert!(!acknowledged || metadata.tags.contains(&"new".to_owned()), "{case}: the tag is lost");
            assert_eq!(run.status().unwrap().status, RunStatus::Completed, "{case}");
            assert_eq!(run.set_tags(&["new".into()], &[]).unwrap(), ["new", "old"], "{case}");
        },
    );
}

/// A run is unchanged or gone; leftovers are cleaned up later.
#[test]
fn a_removed_run_through_any_fault_is_whole_or_gone() {
    let (disk, project) = in_memory();
    for name in ["keep", "gone"] {
        let run = project.create_run(new_run(name, &[0])).unwrap();
        let claim = claim(&run);
        train(&run.seed_folders().unwrap()[0], 200).unwrap();
        claim.end(&end(Outcome::Completed)).unwrap();
    }
    disk.settle();
    let whole = fingerprint(&folder_of(&project, "gone_001"));
    every_fault(
        &disk,
        |project| project.remove_run(&project.run("gone_001")).is_ok(),
        |left, removed, case| {
            // Another process, which sees that the one that removed is gone.
            let later = Arc::new(FakeMachine::new("here", "boot-1", 200));
            let project = Project::at(Arc::new(left.clone()), later, Path::new("/p"));
            let names = project.run_names().unwrap();
            assert!(names.contains(&"keep_001".to_owned()), "{case}");
            if names.contains(&"gone_001".to_owned()) {
                assert!(!removed, "{case}: a removed run is back");
                let run = project.run("gone_001");
                assert_eq!(run.status().unwrap().status, RunStatus::Completed, "{case}");
                assert_eq!(run.attempts().unwrap().len(), 1, "{case}");
                assert_eq!(fingerprint(&folder_of(&project, "gone_001")), whole, "{case}");
                project.remove_run(&run).unwrap();
            }
            assert!(project.sweep().is_empty(), "{case}");
            let left = left.list(&project.runs_dir()).unwrap();
            assert_eq!(
                left.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(),
                ["keep_001"],
                "{case}"
            );
        },
    );
}
