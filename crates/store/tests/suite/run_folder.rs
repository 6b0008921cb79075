//! Creating, describing, claiming, naming and removing runs.

use std::path::Path;
use std::sync::Arc;

use rlxp_fs::testing::FakeMachine;
use rlxp_fs::{Fs, FsExt, RealFs};
use rlxp_store::{
    Index, Liveness, Outcome, Project, RunFilter, StoreError, TakeOver, Writer, preflight, resolve,
};
use rlxp_types::RunStatus;

use crate::common::{self, NOW, claim, end, in_memory, new_run, newest, real};

#[test]
fn a_run_is_created_complete_and_numbered() {
    for project in
        [in_memory().1, Project::at(Arc::new(RealFs), common::machine(), tempfile::tempdir().unwrap().path())]
    {
        let first = project.create_run(new_run("walk", &[3])).unwrap();
        let second = project.create_run(new_run("walk", &[3])).unwrap();
        assert_eq!((first.name().as_str(), second.name().as_str()), ("walk_001", "walk_002"));
        assert_eq!(first.config_snapshot().unwrap(), "run_name: x\n");
        let (one, two) = (first.metadata().unwrap(), second.metadata().unwrap());
        assert_ne!(one.id, two.id);
        assert_eq!((one.name.as_str(), one.host.as_str()), ("walk_001", "here"));
        let folders = first.seed_folders().unwrap();
        assert_eq!((folders.len(), folders[0].seed(), folders[0].path()), (1, 3, first.path()));
        assert_eq!(first.status().unwrap().status, RunStatus::Created);
        assert_eq!(project.run_names().unwrap(), ["walk_001", "walk_002"]);
    }
}

#[test]
fn several_seeds_have_folders_of_their_own() {
    let (_disk, project) = in_memory();
    let run = project.create_run(new_run("many", &[5, 1, 9])).unwrap();
    let folders = run.seed_folders().unwrap();
    assert_eq!(folders.iter().map(|folder| folder.seed()).collect::<Vec<_>>(), [5, 1, 9]);
    for folder in &folders {
        assert_eq!(folder.path(), run.path().join("seeds").join(folder.seed().to_string()));
        common::train(folder, 300).unwrap();
    }
    let row = &Index::open(&project).list(&RunFilter::default()).unwrap()[0];
    assert_eq!((row.seeds, row.steps, row.total_steps), (3, 900, 3000));
    assert_eq!(row.best_eval_mean, Some(100.0));
    assert_eq!(row.last_mean_return, Some(300.0 / 7.0));
}

#[test]
fn numbers_past_999_and_odd_names_do_not_confuse_the_counter() {
    let (disk, project) = in_memory();
    for name in ["walk_999", "walk_12", "walk_1x4", "walk_fast_004", "other_500"] {
        disk.create_dir(&project.runs_dir().join(name)).unwrap();
    }
    assert_eq!(project.create_run(new_run("walk", &[0])).unwrap().name(), "walk_1000");
    assert_eq!(project.create_run(new_run("walk_fast", &[0])).unwrap().name(), "walk_fast_005");
}

#[test]
fn many_threads_create_runs_without_clobbering() {
    let (_folder, project) = real();
    let names: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| project.create_run(new_run("race", &[0])).unwrap().name()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, (1..=16).map(|n| format!("race_{n:03}")).collect::<Vec<_>>());
    assert_eq!(project.run_names().unwrap().len(), 16);
}

#[test]
fn leftovers_of_dead_processes_go_and_others_stay() {
    let (disk, project) = in_memory();
    project.create_run(new_run("a", &[0])).unwrap();
    let runs = project.runs_dir();
    // The mark of this machine, as it appears in a temporary name.
    let stuck = rlxp_fs::testing::FaultFs::new(Arc::new(disk.clone()), rlxp_fs::testing::Fault::Kill, 12);
    assert!(common::on(Arc::new(stuck)).create_run(new_run("b", &[0])).is_err());
    let leftover =
        disk.list(&runs).unwrap().into_iter().find(|entry| entry.name.starts_with(".tmp-")).unwrap();
    let dead = leftover.name.replacen(".tmp-100-", ".tmp-4444-", 1);
    disk.rename_new(&runs.join(&leftover.name), &runs.join(&dead)).unwrap();
    disk.create_dir(&runs.join(".tmp-4444-0-othermachine-new-c")).unwrap();
    assert!(project.sweep().is_empty());
    project.create_run(new_run("d", &[0])).unwrap();
    let names: Vec<String> = disk.list(&runs).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, [".tmp-4444-0-othermachine-new-c", "a_001", "d_001"]);
}

#[test]
fn unknown_fields_survive_a_rewrite_and_tags_are_kept_sorted() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let text = disk.read_text(&run.metadata_path(), 1 << 20).unwrap();
    let text = text.replacen('{', "{\n  \"from_the_future\": {\"x\": [1, 2.5]},", 1);
    disk.write_atomic(&run.metadata_path(), text.as_bytes()).unwrap();
    assert_eq!(run.set_tags(&["b".into(), "a".into(), "b".into()], &[]).unwrap(), ["a", "b"]);
    assert_eq!(run.set_tags(&["c".into()], &["a".into()]).unwrap(), ["b", "c"]);
    let after = disk.read_text(&run.metadata_path(), 1 << 20).unwrap();
    let value: serde_json::Value = serde_json::from_str(&after).unwrap();
    assert_eq!(value["from_the_future"]["x"][1], 2.5);
}

#[test]
fn status_follows_claim_and_end() {
    let (disk, _) = in_memory();
    let machine = Arc::new(FakeMachine::new("here", "boot-1", 100));
    let project = Project::at(Arc::new(disk), machine.clone(), Path::new("/p"));
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let first = claim(&run);
    assert_eq!(run.status().unwrap().status, RunStatus::Running);
    assert_eq!(run.metadata().unwrap().started.as_deref(), Some(NOW));
    let refused = run.claim(NOW, TakeOver::WhenNotKnownAlive).err().unwrap();
    assert!(matches!(refused, StoreError::AlreadyRunning { pid: 100, certain: true, .. }), "{refused}");
    assert!(project.remove_run(&run).is_err());
    assert!(first.end(&end(Outcome::Interrupted)).unwrap());
    assert!(!first.end(&end(Outcome::Failed)).unwrap());
    assert_eq!(run.status().unwrap().status, RunStatus::Interrupted);
    assert_eq!(run.metadata().unwrap().status, RunStatus::Interrupted);

    let second = claim(&run);
    assert_eq!(second.attempt(), 2);
    assert!(!first.still_mine().unwrap() && second.still_mine().unwrap());
    assert!(matches!(first.ensure_mine(), Err(StoreError::TakenOver { attempt: 1, .. })));
    // Only the process is gone: lost. Its number used again: still lost.
    machine.kill(100);
    assert_eq!(run.status().unwrap().status, RunStatus::Lost);
    machine.start(100, 2000);
    assert_eq!(run.status().unwrap().status, RunStatus::Lost);
    assert_eq!(claim(&run).attempt(), 3);
}

#[test]
fn a_writer_is_gone_only_on_proof() {
    let here = FakeMachine::new("here", "boot-1", 100);
    let writer = Writer::here(&here, NOW);
    let check =
        |machine: &FakeMachine, expected| assert_eq!(writer.liveness(machine), expected, "{machine:?}");
    check(&here, Liveness::Alive);
    check(&FakeMachine::new("here", "boot-2", 100), Liveness::Gone);
    check(&FakeMachine::new("there", "boot-2", 100), Liveness::Unknown);
    check(&FakeMachine::new("here", "", 100), Liveness::Unknown);
    check(&FakeMachine::new("here", "boot-1", 7), Liveness::Gone);
    let mut container = FakeMachine::new("here", "boot-1", 7);
    container.namespace = "pid:[2]".into();
    check(&container, Liveness::Unknown);
    let mut twin = FakeMachine::new("here", "boot-2", 7);
    twin.machine_id = "other".into();
    check(&twin, Liveness::Unknown);
}

#[test]
fn a_claim_from_another_machine_is_unknown_until_forced() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let other = Arc::new(FakeMachine::new("there", "boot-9", 55));
    let theirs = Project::at(Arc::new(disk), other, Path::new("/p")).run("a_001");
    claim(&theirs);
    assert_eq!(run.status().unwrap().status, RunStatus::Unknown);
    let refused = run.claim(NOW, TakeOver::WhenProvenGone).err().unwrap();
    assert!(
        matches!(&refused, StoreError::AlreadyRunning { host, pid: 55, certain: false, .. } if host == "there")
    );
    assert_eq!(run.claim(NOW, TakeOver::WhenNotKnownAlive).unwrap().attempt(), 2);
}

#[test]
fn of_64_that_claim_at_once_exactly_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let machine = |process| Arc::new(FakeMachine::new("here", "boot-1", process));
    let project = Project::at(Arc::new(RealFs), machine(1), folder.path());
    let run = project.create_run(new_run("a", &[0])).unwrap();
    // First on a fresh run, then on one whose writer is gone.
    for round in 1..=2 {
        let barrier = std::sync::Barrier::new(64);
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64)
                .map(|index| {
                    let (barrier, machine) = (&barrier, machine(1000 * round + index));
                    // Everyone sees everyone else alive.
                    (0..64).for_each(|other| machine.start(1000 * round + other, 1000));
                    let run = Project::at(Arc::new(RealFs), machine, folder.path()).run("a_001");
                    scope.spawn(move || {
                        barrier.wait();
                        run.claim(NOW, TakeOver::WhenProvenGone).map(|claim| claim.attempt())
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won: Vec<u64> = results.iter().filter_map(|result| result.as_ref().ok().copied()).collect();
        assert_eq!(won, [u64::from(round)]);
        for lost in results.into_iter().filter_map(Result::err) {
            assert!(matches!(lost, StoreError::AlreadyRunning { .. }), "{lost}");
        }
        assert_eq!(run.status().unwrap().status, RunStatus::Lost);
    }
}

#[test]
fn runs_are_found_by_name_prefix_and_id() {
    let (folder, project) = real();
    let names = ["cart_001", "cart_002", "pole_001"];
    for (index, base) in ["cart", "cart", "pole"].into_iter().enumerate() {
        let mut new = new_run(base, &[0]);
        new.metadata.created = format!("2026-01-0{}T00:00:00.000Z", index + 1);
        let run = project.create_run(new).unwrap();
        common::train(&run.seed_folders().unwrap()[0], 100 * (3 - index as u64)).unwrap();
    }
    let check =
        |text: &str, expected: &str| assert_eq!(resolve(&project, text).unwrap().name(), expected, "{text}");
    names.iter().for_each(|name| check(name, name));
    check("po", "pole_001");
    let id = project.run("cart_002").metadata().unwrap().id.to_string();
    check(&id, "cart_002");
    check(&id[..8], "cart_002");
    check(folder.path().join("runs/cart_002").to_str().unwrap(), "cart_002");
    let error = resolve(&project, "cart").err().unwrap();
    assert!(matches!(&error, StoreError::Ambiguous { candidates, .. } if candidates.len() == 2), "{error}");
    let error = resolve(&project, "cart_003").err().unwrap();
    assert_eq!(error.to_string(), "no run named \"cart_003\"; similar names: cart_001, cart_002");
    for bad in ["@first", "", "..", "zzz"] {
        assert!(matches!(resolve(&project, bad), Err(StoreError::NoSuchRun { .. })), "{bad:?}");
    }
}

#[test]
fn the_project_is_found_from_below() {
    let (folder, project) = real();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let found = Project::find(Arc::new(RealFs), common::machine(), run.path()).unwrap();
    assert_eq!(found.root(), folder.path());
    let (disk, _) = in_memory();
    let lost = Project::find(Arc::new(disk), common::machine(), Path::new("/elsewhere/deep"));
    assert!(matches!(lost, Err(StoreError::NoProject { .. })));
}

#[test]
fn a_removed_run_is_gone_whole() {
    let (_disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    project.remove_run(&run).unwrap();
    assert!(project.run_names().unwrap().is_empty());
    assert!(matches!(run.metadata(), Err(StoreError::NotARun { .. })));
    assert!(project.fs().list(&project.runs_dir()).unwrap().is_empty());
}

#[test]
fn pictures_of_a_removed_run_do_not_bring_it_back() {
    let (_disk, project) = in_memory();
    let folder = tempfile::tempdir().unwrap();
    for project in [project, Project::at(Arc::new(RealFs), common::machine(), folder.path())] {
        let run = project.create_run(new_run("a", &[0])).unwrap();
        let picture = run.path().join("plots/return.svg");
        for bytes in [b"one", b"two"] {
            run.write_output(&picture, bytes).unwrap();
            assert_eq!(run.fs().read(&picture, 9).unwrap(), bytes);
        }
        project.remove_run(&run).unwrap();
        assert!(run.write_output(&picture, b"three").is_err());
        assert!(project.run_names().unwrap().is_empty());
    }
}

#[test]
fn preflight_names_what_is_needed() {
    let (_folder, project) = real();
    project.prepare().unwrap();
    preflight(project.fs(), &project.runs_dir(), 1).unwrap();
    let error = preflight(project.fs(), &project.runs_dir(), u64::MAX).unwrap_err();
    assert!(error.is_full() && matches!(error, StoreError::NotEnoughSpace { needed: u64::MAX, .. }));
}

/// Tags added concurrently, while a writer rewrites the description.
#[test]
fn of_30_that_tag_at_once_none_is_lost() {
    let (folder, project) = real();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    std::thread::scope(|scope| {
        for number in 0..30 {
            let run = run.clone();
            scope.spawn(move || run.set_tags(&[format!("tag{number:02}")], &[]).unwrap());
        }
        // Five attempts, one after another, each by a process that has exited since.
        for process in 200..205 {
            let machine = Arc::new(FakeMachine::new("here", "boot-1", process));
            // Temporary files carry this process's number.
            machine.start(std::process::id(), 1000);
            let run = Project::at(Arc::new(RealFs), machine, folder.path()).run("a_001");
            claim(&run).end(&end(Outcome::Interrupted)).unwrap();
        }
    });
    let metadata = run.metadata().unwrap();
    assert_eq!(metadata.tags, (0..30).map(|number| format!("tag{number:02}")).collect::<Vec<_>>());
    assert_eq!(metadata.status, RunStatus::Interrupted);
    assert_eq!(run.set_tags(&[], &["tag07".into()]).unwrap().len(), 29);
}

/// Of a removal and a resume at the same moment, one wins and the other does nothing.
#[test]
fn a_run_is_removed_or_resumed_and_never_both() {
    let (mut removals, mut resumes) = (0, 0);
    for round in 0..60 {
        let (folder, project) = real();
        let run = project.create_run(new_run("a", &[0])).unwrap();
        claim(&run).end(&end(Outcome::Interrupted)).unwrap();
        let by = |process: u32| {
            let machine = Arc::new(FakeMachine::new("here", "boot-1", process));
            (100..400).for_each(|other| machine.start(other, 1000));
            Project::at(Arc::new(RealFs), machine, folder.path())
        };
        let (removed, resumed) = std::thread::scope(|scope| {
            let remove = scope.spawn(|| by(200).remove_run(&by(200).run("a_001")).is_ok());
            let resume = scope.spawn(|| by(300).run("a_001").claim(NOW, TakeOver::WhenProvenGone).map(drop));
            (remove.join().unwrap(), resume.join().unwrap().is_ok())
        });
        assert!(removed != resumed, "round {round}: removed {removed}, resumed {resumed}");
        assert_eq!(project.run_names().unwrap().len(), usize::from(resumed), "round {round}");
        removals += usize::from(removed);
        resumes += usize::from(resumed);
    }
    assert_eq!(removals + resumes, 60);
}

/// The order of runs doesn't follow a clock that was set back.
#[test]
fn the_last_run_is_the_one_that_was_created_last() {
    let (disk, project) = in_memory();
    let at = |name: &str, created: &str| {
        let mut new = new_run(name, &[0]);
        new.metadata.created = created.to_owned();
        project.create_run(new).unwrap()
    };
    // As version 0.1 wrote them: by time, then name.
    for (name, created) in [("old", "2026-03-01T00:00:00.000Z"), ("older", "2026-02-01T00:00:00.000Z")] {
        let run = at(name, created);
        let text = disk.read_text(&run.metadata_path(), 1 << 20).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("\"creation\"")).collect();
        disk.write_atomic(&run.metadata_path(), lines.join("\n").as_bytes()).unwrap();
    }
    assert_eq!(newest(&project), "old_001");
    at("z", "2026-01-02T12:00:00.000Z");
    at("a", "2026-01-02T11:00:00.000Z");
    assert_eq!(newest(&project), "a_001");
    let mut rows = Index::open(&project).list(&RunFilter::default()).unwrap();
    rows.sort_by(|a, b| a.age().cmp(&b.age()));
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["older_001", "old_001", "z_001", "a_001"]);
    project.remove_run(&project.run("a_001")).unwrap();
    assert_eq!(at("b", "2026-01-02T10:00:00.000Z").metadata().unwrap().creation, Some(2));
}

#[test]
fn the_highest_number_of_a_name_blocks_no_new_run() {
    let (disk, project) = in_memory();
    disk.create_dir(&project.runs_dir().join("walk_999999999")).unwrap();
    for expected in ["walk_001", "walk_002"] {
        assert_eq!(project.create_run(new_run("walk", &[0])).unwrap().name(), expected);
    }
}

#[test]
fn the_highest_creation_number_does_not_make_a_run_the_newest_for_ever() {
    let (disk, project) = in_memory();
    let received = project.create_run(new_run("received", &[0])).unwrap();
    let newest = |project: &Project| {
        let rows = Index::open(project).list(&RunFilter::default()).unwrap();
        rows.into_iter().max_by(|a, b| a.age().cmp(&b.age())).unwrap().name
    };
    for creation in [1_u64 << 40, (1 << 40) - 1, 2_000_000] {
        let mut metadata = received.metadata().unwrap();
        (metadata.creation, metadata.created) = (Some(creation), "9999-12-31T23:59:59.000Z".to_owned());
        disk.write_atomic(&received.metadata_path(), &serde_json::to_vec(&metadata).unwrap()).unwrap();
        let created = project.create_run(new_run("own", &[0])).unwrap().name();
        assert_eq!(newest(&project), created, "{creation}");
    }
}

#[test]
fn what_is_in_the_way_of_a_claim_does_not_make_a_run_immortal() {
    let (disk, project) = in_memory();
    let attempts = |number: u64| project.runs_dir().join(format!("a_001/attempts/{number}"));
    let folder_for_a_file = |number| {
        disk.create_dir(&attempts(number)).unwrap();
        disk.create_dir(&attempts(number).join("claim.json")).unwrap();
    };
    for case in 0..3 {
        let run = project.create_run(new_run("a", &[0])).unwrap();
        assert_eq!(run.name(), "a_001");
        match case {
            0 => folder_for_a_file(1),
            1 => {
                claim(&run).end(&end(Outcome::Completed)).unwrap();
                folder_for_a_file(2);
                folder_for_a_file(3);
            }
            _ => {
                claim(&run).end(&end(Outcome::Completed)).unwrap();
                disk.rename(&attempts(1), &attempts(999_999_999)).unwrap();
            }
        }
        project.remove_run(&run).unwrap_or_else(|error| panic!("{case}: {error}"));
    }
}

#[test]
fn a_run_with_the_longest_name_is_removed() {
    let (_folder, project) = real();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let long = project.runs_dir().join("b".repeat(255));
    project.fs().rename(run.path(), &long).unwrap();
    project.remove_run(&project.run(&"b".repeat(255))).unwrap();
    assert!(project.run_names().unwrap().is_empty());
}

#[test]
fn a_run_of_a_writer_that_can_not_be_seen_is_removed_only_by_force() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let other = Arc::new(FakeMachine::new("there", "boot-9", 55));
    let theirs = claim(&Project::at(Arc::new(disk), other, Path::new("/p")).run("a_001"));
    let refused = project.remove_run(&run).unwrap_err();
    assert!(matches!(refused, StoreError::AlreadyRunning { certain: false, .. }));
    project.remove_run_from(&run, TakeOver::WhenNotKnownAlive).unwrap();
    assert!(theirs.ensure_mine().is_err());
    // One that is known to be alive is never displaced.
    let run = project.create_run(new_run("a", &[0])).unwrap();
    claim(&run);
    let refused = project.remove_run_from(&run, TakeOver::WhenNotKnownAlive).unwrap_err();
    assert!(matches!(refused, StoreError::AlreadyRunning { certain: true, .. }));
}

#[test]
fn a_run_appears_with_all_that_it_starts_from_or_not_at_all() {
    let (_disk, project) = in_memory();
    let file = |folder: &rlxp_store::SeedFolder| folder.path().join("origin.bin");
    let run = project
        .create_run_with(new_run("a", &[1, 2]), &|fs, folders| {
            folders.iter().try_for_each(|folder| Ok(fs.write_new(&file(folder), b"x")?))
        })
        .unwrap();
    for folder in run.seed_folders().unwrap() {
        assert_eq!(project.fs().read(&file(&folder), 9).unwrap(), b"x");
    }
    let failed = project.create_run_with(new_run("b", &[1]), &|fs, folders| {
        fs.write_new(&file(&folders[0]), b"x")?;
        Err(StoreError::NotARun { path: "here".into() })
    });
    assert!(failed.is_err());
    let left: Vec<_> = project.fs().list(&project.runs_dir()).unwrap();
    assert_eq!(left.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a_001"]);
}

#[test]
fn a_killed_tag_leaves_nothing_behind_the_next_one() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let left = run.path().join("labels/.tmp-4242-0-1.json");
    disk.write_new(&left, b"{").unwrap();
    run.set_tags(&["x".to_owned()], &[]).unwrap();
    assert!(disk.metadata_if_any(&left).unwrap().is_none());
    assert_eq!(run.metadata().unwrap().tags, ["x"]);
}

#[test]
fn a_folder_whose_name_is_not_text_is_listed_with_its_problem() {
    use std::os::unix::ffi::OsStrExt;
    let (_folder, project) = real();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let odd = project.runs_dir().join(std::ffi::OsStr::from_bytes(b"nu\xff"));
    project.fs().rename(run.path(), &odd).unwrap();
    project.create_run(new_run("b", &[0])).unwrap();
    let rows = Index::open(&project).list(&RunFilter::default()).unwrap();
    let problems: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.problem.is_some())).collect();
    assert_eq!(problems, [("b_001", false), ("nu\u{fffd}", true)]);
}
