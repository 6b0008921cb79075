//! Run folders from elsewhere, or that other processes change concurrently:
//! links, pipes, endless files, huge numbers, newer formats. Nothing outside
//! is touched, nothing blocks, nothing is misread.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::testing::{FakeMachine, Fault, FaultFs, make_pipe};
use rlxp_fs::{Fs, FsExt, Kind, RealFs};
use rlxp_store::{Index, Outcome, Project, Run, RunFilter, StoreError, TakeOver, recover, resolve};

use crate::common::{self, claim, end, in_memory, new_run, real, train};

/// A project with the completed run `a_001`, seen by a process that is not its writer.
fn completed() -> (tempfile::TempDir, Project, Run) {
    let (folder, project) = real();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let claim = claim(&run);
    train(&run.seed_folders().unwrap()[0], 200).unwrap();
    claim.end(&end(Outcome::Completed)).unwrap();
    let later = Arc::new(FakeMachine::new("here", "boot-1", 77));
    let project = Project::at(Arc::new(RealFs), later, folder.path());
    let run = project.run("a_001");
    (folder, project, run)
}

/// Every file and folder below `path`, links not followed.
fn tree(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in RealFs.list(&folder).unwrap() {
            let inside = folder.join(&entry.name);
            found.push(inside.clone());
            if entry.kind == Kind::Folder {
                open.push(inside);
            }
        }
    }
    found.sort();
    found
}

/// The content of a tree, to check that it stays unchanged.
fn content(path: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    tree(path).into_iter().map(|path| (path.clone(), RealFs.read(&path, 1 << 20).ok())).collect()
}

fn copy_tree(from: &Path, to: &Path) {
    RealFs.create_dir_all(to).unwrap();
    for path in tree(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        match RealFs.metadata(&path).unwrap().kind {
            Kind::Folder => RealFs.create_dir_all(&target).unwrap(),
            Kind::File => RealFs.copy(&path, &target).unwrap(),
            _ => RealFs.symlink(&RealFs.read_link(&path).unwrap(), &target).unwrap(),
        }
    }
}

/// Everything that reads or writes a run, one after another; errors are fine.
fn use_it(project: &Project, run: &Run) {
    drop(Index::open(project).list(&RunFilter::default()));
    drop(resolve(project, &run.name()));
    drop(run.metadata());
    drop(run.attempts());
    drop(run.status());
    drop(run.bytes());
    drop(run.set_tags(&["tag".into()], &[]));
    for folder in run.seed_folders().unwrap_or_default() {
        drop(folder.metrics());
        drop(folder.evaluations());
        drop(folder.checkpoints().newest_valid());
        drop(folder.checkpoints().best_link());
        drop(folder.write_evaluation("posthoc_1", &serde_json::json!({"step": 1})));
    }
    if let Ok(claim) = run.claim(common::NOW, TakeOver::WhenProvenGone) {
        for folder in run.seed_folders().unwrap_or_default() {
            drop(train(&folder, 400));
        }
        drop(claim.end(&end(Outcome::Completed)));
    }
}

#[test]
fn no_link_in_a_run_leads_out_of_it() {
    let (_keep, _, model) = completed();
    let places: Vec<PathBuf> =
        tree(model.path()).iter().map(|path| path.strip_prefix(model.path()).unwrap().to_owned()).collect();
    assert!(places.len() > 15, "{places:?}");
    for place in places.iter().map(PathBuf::as_path).chain([Path::new("")]) {
        let (folder, project, run) = completed();
        let outside = folder.path().join("outside");
        RealFs.create_dir(&outside).unwrap();
        // The original is outside now, and a link points to it.
        let here = if place == Path::new("") { run.path().to_owned() } else { run.path().join(place) };
        let moved = outside.join("moved");
        let name = place.file_name().unwrap_or_default();
        if name == rlxp_store::BEST || name == rlxp_store::LATEST {
            copy_tree(&run.path().join("checkpoints/step_200"), &moved);
            RealFs.remove_file(&here).unwrap();
        } else {
            RealFs.rename(&here, &moved).unwrap();
        }
        RealFs.symlink(&moved, &here).unwrap();
        let before = content(&outside);
        use_it(&project, &run);
        let removed = project.remove_run(&run);
        assert_eq!(content(&outside), before, "{}", place.display());
        if place == Path::new("") {
            let error = removed.unwrap_err().to_string();
            assert!(error.contains("a_001 is a symbolic link"), "{error}");
        } else if place == Path::new("attempts") {
            removed.unwrap();
        }
    }
}

#[test]
fn a_link_in_place_of_a_run_is_named() {
    let (folder, project, run) = completed();
    let elsewhere = folder.path().join("elsewhere");
    RealFs.rename(run.path(), &elsewhere).unwrap();
    RealFs.symlink(&elsewhere, run.path()).unwrap();
    for text in ["a_001".to_owned(), run.path().display().to_string()] {
        let error = resolve(&project, &text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("a_001 is a symbolic link"), "{text}: {error}");
    }
    let row = Index::open(&project).list(&RunFilter::default()).unwrap().remove(0);
    assert!(row.problem.is_some_and(|problem| problem.contains("symbolic link")));
    // By its real path it can be read, but it is not this project's to remove.
    let other = resolve(&project, &elsewhere.display().to_string()).unwrap();
    other.metadata().unwrap();
    assert!(matches!(project.remove_run(&other), Err(StoreError::NotOfThisProject { .. })));
    other.metadata().unwrap();
}

#[test]
fn the_folder_of_runs_may_be_a_link() {
    let (folder, project, _) = completed();
    let disk = folder.path().join("large_disk");
    RealFs.rename(&project.runs_dir(), &disk).unwrap();
    RealFs.symlink(&disk, &project.runs_dir()).unwrap();
    let project = Project::at(Arc::new(RealFs), common::machine(), folder.path());
    let run = resolve(&project, &disk.join("a_001").display().to_string()).unwrap();
    assert!(project.owns(&run));
    project.create_run(new_run("b", &[0])).unwrap();
    project.remove_run(&run).unwrap();
    assert_eq!(project.run_names().unwrap(), ["b_001"]);
}

#[test]
fn a_leftover_that_is_a_link_is_removed_without_what_it_leads_to() {
    let (folder, project, _) = completed();
    let outside = folder.path().join("outside");
    RealFs.create_dir(&outside).unwrap();
    RealFs.write_new(&outside.join("mine"), b"mine").unwrap();
    let name = project.temporary("remove-x").file_name().unwrap().to_string_lossy().into_owned();
    let dead = project.runs_dir().join(name.replacen(".tmp-77-", ".tmp-4444-", 1));
    RealFs.symlink(&outside, &dead).unwrap();
    assert!(project.sweep().is_empty());
    assert!(RealFs.metadata_if_any(&dead).unwrap().is_none());
    assert_eq!(RealFs.read(&outside.join("mine"), 10).unwrap(), b"mine");
}

#[test]
fn a_leftover_that_can_not_be_removed_is_reported_and_in_nobodys_way() {
    let (disk, project) = in_memory();
    let name = project.temporary("new-x").file_name().unwrap().to_string_lossy().into_owned();
    let dead = project.runs_dir().join(name.replacen(".tmp-100-", ".tmp-4444-", 1));
    disk.create_dir(&dead).unwrap();
    // The third call is the first that removes something.
    let faulty = common::on(Arc::new(FaultFs::new(Arc::new(disk), Fault::Error, 3)));
    let left = faulty.sweep();
    assert_eq!(left.len(), 1, "{left:?}");
    faulty.create_run(new_run("a", &[0])).unwrap();
}

#[test]
fn pipes_never_block() {
    let (_keep, _, model) = completed();
    let files: Vec<PathBuf> = tree(model.path())
        .into_iter()
        .filter(|path| RealFs.is_file(path).unwrap())
        .map(|path| path.strip_prefix(model.path()).unwrap().to_owned())
        .collect();
    for file in files {
        let (_folder, project, run) = completed();
        RealFs.remove_file(&run.path().join(&file)).unwrap();
        make_pipe(&run.path().join(&file));
        use_it(&project, &run);
    }
}

#[test]
fn an_endless_line_is_reported_in_bounded_memory() {
    let (_folder, _project, run) = completed();
    let seed = run.seed_folders().unwrap().remove(0);
    let whole = seed.metrics().unwrap();
    assert!(whole.damage.is_empty() && whole.torn_tail.is_none());
    // A hole of a terabyte after the last record, which no disk has room for.
    let mut file = RealFs.open_append(&seed.metrics_path()).unwrap();
    file.truncate(1 << 40).unwrap();
    drop(file);
    let read = seed.metrics().unwrap();
    assert_eq!(read.records, whole.records);
    assert!(read.torn_tail.is_some_and(|tail| tail.length > 1 << 20));
    assert!(matches!(seed.columns(&|_, _| true), Ok(columns) if columns.torn_tail.is_some()));
    let mut follower = seed.follow_metrics();
    assert_eq!(follower.poll().unwrap(), whole.records);
    assert!(!follower.damage().is_empty());
    assert!(follower.poll().unwrap().is_empty());
    // A resume takes what the checkpoint knows; the rest is kept without copying it.
    let recovery = recover(&seed, None).unwrap();
    assert_eq!(recovery.checkpoint.map(|checkpoint| checkpoint.step), Some(200));
    assert_eq!(seed.metrics().unwrap().records, whole.records);
    assert_eq!(RealFs.metadata(&recovery.superseded[0]).unwrap().length, 1 << 40);
}

#[test]
fn records_in_a_line_that_is_far_too_long_are_found() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let seed = run.seed_folders().unwrap().remove(0);
    let record = |seq: usize| {
        format!("{{\"seq\":{seq},\"step\":{seq},\"wall\":1.0,\"kind\":\"train\",\"values\":{{\"x\":{seq}}}}}")
    };
    // 40,000 records whose newlines were lost, a long hole, and one more.
    let mut bytes: Vec<u8> = (0..40_000).flat_map(|seq| record(seq).into_bytes()).collect();
    bytes.extend(vec![0; 3 << 20]);
    bytes.extend(record(40_000).into_bytes());
    bytes.push(b'\n');
    bytes.extend(format!("{}\n", record(40_001)).into_bytes());
    disk.write_atomic(&seed.metrics_path(), &bytes).unwrap();
    let read = seed.metrics().unwrap();
    let sequence: Vec<u64> = read.records.iter().map(|record| record.seq).collect();
    assert_eq!(sequence, (0..=40_001).collect::<Vec<u64>>());
    assert_eq!(read.damage.len(), 1, "{:?}", read.damage);
}

#[test]
fn numbers_that_overflow_block_nothing() {
    let (_folder, project, run) = completed();
    for name in ["a_18446744073709551615", "a_99999999999999999999999", "a_0000000000001"] {
        RealFs.create_dir(&project.runs_dir().join(name)).unwrap();
    }
    for place in [
        "attempts/18446744073709551615",
        "attempts/+7",
        "labels/18446744073709551615.json",
        "checkpoints/step_18446744073709551615",
        "logs/superseded_18446744073709551615",
    ] {
        RealFs.create_dir_all(&run.path().join(place)).unwrap();
    }
    assert_eq!(project.create_run(new_run("a", &[0])).unwrap().name(), "a_002");
    assert_eq!(run.set_tags(&["x".into()], &[]).unwrap(), ["x"]);
    let claim = run.claim(common::NOW, TakeOver::WhenProvenGone).unwrap();
    assert_eq!(claim.attempt(), 2);
    train(&run.seed_folders().unwrap()[0], 300).unwrap();
    let text = RealFs.read_text(&run.metadata_path(), 1 << 20).unwrap();
    let huge = text.replacen("\"total_steps\": 1000", "\"total_steps\": 18446744073709551615", 1);
    let huge = huge.replacen("\"creation\": 1", "\"creation\": 18446744073709551615", 1);
    assert_ne!(huge, text);
    RealFs.write_atomic(&run.metadata_path(), huge.as_bytes()).unwrap();
    assert_eq!(project.create_run(new_run("b", &[0])).unwrap().metadata().unwrap().creation, Some(3));
    // The highest that can be read pins nothing, whatever the clock says.
    let pinned = text.replacen("\"creation\": 1", &format!("\"creation\": {}", 1_u64 << 40), 1);
    RealFs.write_atomic(&run.metadata_path(), pinned.as_bytes()).unwrap();
    let mut later = new_run("c", &[0]);
    later.metadata.created = "1999-01-01T00:00:00.000Z".to_owned();
    assert_eq!(project.create_run(later).unwrap().metadata().unwrap().creation, Some(4));
    assert_eq!(crate::common::newest(&project), "c_001");
    let twice = text.replacen("\"seeds\": [\n    0\n  ]", "\"seeds\": [0, 0]", 1);
    assert_ne!(twice, text);
    RealFs.write_atomic(&run.metadata_path(), twice.as_bytes()).unwrap();
    assert!(run.metadata().unwrap_err().to_string().contains("lists a seed twice"));
    let seeds: Vec<String> = (0..300_000).map(|seed| seed.to_string()).collect();
    let many = text.replacen("\"seeds\": [\n    0\n  ]", &format!("\"seeds\": [{}]", seeds.join(",")), 1);
    assert_ne!(many, text);
    RealFs.write_atomic(&run.metadata_path(), many.as_bytes()).unwrap();
    let error = run.metadata().unwrap_err().to_string();
    assert!(error.contains("lists 300000 seeds"), "{error}");
}

/// The largest number of a label that is read would leave none for the next.
#[test]
fn a_label_of_the_largest_number_blocks_no_other() {
    let (_folder, project, run) = completed();
    run.set_tags(&["x".into()], &[]).unwrap();
    let forged = run.path().join("labels/999999999.json");
    let label = RealFs.read_text(&run.path().join("labels/1.json"), 1 << 20).unwrap();
    RealFs.write_atomic(&forged, label.replacen("\"x\"", "\"forged\"", 1).as_bytes()).unwrap();
    assert_eq!(run.set_tags(&["y".into()], &[]).unwrap(), ["x", "y"]);
    assert!(RealFs.metadata_if_any(&run.path().join("labels/2.json")).unwrap().is_some());
    let row = Index::open(&project).list(&RunFilter::default()).unwrap().remove(0);
    let problem = row.problem.unwrap();
    assert!(problem.contains("labels/999999999.json is ignored"), "{problem}");
}

/// What a newer version has written is neither misread nor rewritten.
#[test]
fn a_newer_format_is_refused_and_left_as_it_is() {
    let (_folder, project, run) = completed();
    let text = RealFs.read_text(&run.metadata_path(), 1 << 20).unwrap();
    let newer = text.replacen("rlx.metadata/1", "rlx.metadata/2", 1);
    RealFs.write_atomic(&run.metadata_path(), newer.as_bytes()).unwrap();
    let is_newer = |error: StoreError| matches!(error, StoreError::NewerFormat { .. });
    assert!(run.metadata().is_err_and(is_newer));
    assert!(run.set_tags(&["x".into()], &[]).is_err_and(is_newer));
    assert!(run.claim(common::NOW, TakeOver::WhenProvenGone).map(drop).is_err_and(is_newer));
    assert_eq!(RealFs.read_text(&run.metadata_path(), 1 << 20).unwrap(), newer);
    let row = Index::open(&project).list(&RunFilter::default()).unwrap().remove(0);
    assert!(row.problem.is_some_and(|problem| problem.contains("newer version of rlx")));
    RealFs.write_atomic(&run.metadata_path(), text.as_bytes()).unwrap();
    run.set_tags(&["x".into()], &[]).unwrap();
    let label = run.path().join("labels/1.json");
    let newer = RealFs.read_text(&label, 1 << 20).unwrap().replacen("rlx.label/1", "rlx.label/2", 1);
    RealFs.write_atomic(&label, newer.as_bytes()).unwrap();
    let row = Index::open(&project).list(&RunFilter::default()).unwrap().remove(0);
    assert!(row.problem.is_some_and(|problem| problem.contains("newer version of rlx")));
    assert!(run.set_tags(&["y".into()], &[]).is_err_and(is_newer));
    assert!(RealFs.metadata_if_any(&run.path().join("labels/2.json")).unwrap().is_none());
    // Whatever else a newer checkpoint says, it is not set aside.
    let seed = run.seed_folders().unwrap().remove(0);
    let manifest = seed.checkpoints().step_path(200).join("manifest.json");
    for schema in ["{\"schema\": \"rlx.checkpoint/2\", \"steps\": 1}", "{\"schema\": \"rlx.checkpoint/9\"}"] {
        RealFs.write_atomic(&manifest, schema.as_bytes()).unwrap();
        assert!(recover(&seed, None).map(drop).is_err_and(is_newer));
        assert_eq!(RealFs.read_text(&manifest, 1000).unwrap(), schema);
    }
}

/// A link in place of an end doesn't make a completed run one that can be resumed.
#[test]
fn a_linked_end_is_refused() {
    let (folder, _project, run) = completed();
    let end = run.path().join("attempts/1/end.json");
    let elsewhere = folder.path().join("end.json");
    RealFs.rename(&end, &elsewhere).unwrap();
    RealFs.symlink(&elsewhere, &end).unwrap();
    let error = run.status().unwrap_err().to_string();
    assert!(error.contains("end.json is a symbolic link"), "{error}");
    assert!(run.claim(common::NOW, TakeOver::WhenProvenGone).is_err());
}

/// Names that mean an option or another run in a command.
#[test]
fn names_that_mean_something_else_are_refused() {
    let (_folder, project, run) = completed();
    for name in ["-rf", "--yes", "@last"] {
        copy_tree(run.path(), &project.runs_dir().join(name));
        let path = project.runs_dir().join(name).display().to_string();
        assert!(matches!(resolve(&project, &path), Err(StoreError::BadRunName { .. })), "{name}");
    }
}

/// Removing is how a full disk gets room again.
#[test]
fn a_run_is_removed_from_a_full_disk() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    claim(&run).end(&end(Outcome::Completed)).unwrap();
    disk.leave_free(0);
    let later = Arc::new(FakeMachine::new("here", "boot-1", 77));
    let project = Project::at(Arc::new(disk), later, Path::new("/p"));
    project.remove_run(&project.run("a_001")).unwrap();
    assert!(project.run_names().unwrap().is_empty());
}

/// A folder that a user keeps beside the runs is not a run, and stays.
#[test]
fn only_runs_are_removed() {
    let (_folder, project, run) = completed();
    let data = project.runs_dir().join("data");
    RealFs.create_dir(&data).unwrap();
    RealFs.write_new(&data.join("set.csv"), b"precious").unwrap();
    assert!(matches!(project.remove_run(&project.run("data")), Err(StoreError::NotARun { .. })));
    assert_eq!(RealFs.read(&data.join("set.csv"), 100).unwrap(), b"precious");
    // One whose description is damaged is still a run.
    RealFs.write_atomic(&run.metadata_path(), b"{").unwrap();
    project.remove_run(&run).unwrap();
}

/// Tools that follow links when they copy leave folders for `best` and `latest`.
#[test]
fn a_run_that_was_copied_with_its_links_followed_is_whole() {
    let (_folder, _project, run) = completed();
    let seed = run.seed_folders().unwrap().remove(0);
    let store = seed.checkpoints();
    let (best, latest) = (store.best_link().unwrap(), store.latest_link().unwrap());
    assert_eq!((best, latest), (Some(100), Some(200)));
    for (name, step) in [("best", 100), ("latest", 200)] {
        RealFs.remove_file(&store.path().join(name)).unwrap();
        copy_tree(&store.step_path(step), &store.path().join(name));
    }
    assert_eq!((store.best_link().unwrap(), store.latest_link().unwrap()), (best, latest));
    // The next writer puts links in their place.
    let claim = run.claim(common::NOW, TakeOver::WhenProvenGone).unwrap();
    train(&seed, 300).unwrap();
    claim.end(&end(Outcome::Completed)).unwrap();
    assert_eq!(RealFs.metadata(&store.path().join("latest")).unwrap().kind, Kind::Link);
    assert_eq!((store.best_link().unwrap(), store.latest_link().unwrap()), (Some(100), Some(300)));
    // Anything that isn't a copy is reported instead of being replaced.
    RealFs.remove_file(&store.path().join("best")).unwrap();
    RealFs.create_dir(&store.path().join("best")).unwrap();
    RealFs.write_new(&store.path().join("best/mine"), b"mine").unwrap();
    assert_eq!(store.best_link().unwrap(), None);
    let error = store.set_link("best", 300).unwrap_err().to_string();
    assert!(error.contains("not a copy"), "{error}");
}
