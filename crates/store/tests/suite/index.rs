//! The index is only a cache: deleted, damaged, unwritable or stale, the
//! answers are the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rlxp_fs::testing::FakeMachine;
use rlxp_fs::{Fs, FsExt, RealFs};
use rlxp_store::{ConfigReader, ConfigValues, Index, LabelChange, Outcome, Project, Run, RunFilter, RunRow};
use rlxp_types::RunStatus;
use serde_json::{Map, Value, json};

use crate::common::{self, claim, end, new_run, real, train};

/// Five runs: completed, failed, lost, created and damaged.
fn filled() -> (tempfile::TempDir, Project) {
    let (folder, project) = real();
    for (name, outcome) in
        [("done", Some(Outcome::Completed)), ("failed", Some(Outcome::Failed)), ("lost", None)]
    {
        let run = project.create_run(new_run(name, &[0])).unwrap();
        let claim = claim(&run);
        train(&run.seed_folders().unwrap()[0], 200).unwrap();
        if let Some(outcome) = outcome {
            claim.end(&end(outcome)).unwrap();
        }
    }
    project.create_run(new_run("fresh", &[0, 1])).unwrap().set_tags(&["x".into()], &[]).unwrap();
    let damaged = project.create_run(new_run("damaged", &[0])).unwrap();
    RealFs.write_atomic(&damaged.metadata_path(), b"{\"schema\":").unwrap();
    RealFs.create_dir(&project.runs_dir().join("not_a_run")).unwrap();
    // Seen from a process that is not the writer of `lost`.
    let later = Arc::new(FakeMachine::new("here", "boot-1", 77));
    let project = Project::at(Arc::new(RealFs), later, folder.path());
    (folder, project)
}

fn list(project: &Project) -> Vec<RunRow> {
    list_with_configs(project).into_iter().map(|(row, _)| row).collect()
}

/// Every run with the values of its config.
fn list_with_configs(project: &Project) -> Vec<(RunRow, Option<ConfigValues>)> {
    list_as(project, &ConfigReader { maker: "this version", read: &read_config })
}

fn list_as(project: &Project, reader: &ConfigReader<'_>) -> Vec<(RunRow, Option<ConfigValues>)> {
    // The runs here were written a moment ago, by a file system with fine times.
    let index = Index::open(project).trust_after(Duration::ZERO);
    let rows = index.list(&RunFilter::default()).unwrap();
    let configs = index.configs(&rows, reader);
    rows.into_iter().zip(configs).collect()
}

/// A config here is lines of `key: value`; what is in them is not the store's concern.
fn read_config(run: &Run) -> Option<Map<String, Value>> {
    let text = run.config_snapshot().ok()?;
    let values: Option<Map<String, Value>> = text
        .lines()
        .map(|line| line.split_once(": ").map(|(key, value)| (key.to_owned(), json!({"value": value}))))
        .collect();
    values.filter(|values| !values.is_empty())
}

/// The answers of a new index.
fn list_anew(project: &Project) -> Vec<RunRow> {
    RealFs.remove_file(&Index::path(project)).unwrap();
    list(project)
}

/// The same with configs.
fn configs_anew(project: &Project) -> Vec<(RunRow, Option<ConfigValues>)> {
    RealFs.remove_file(&Index::path(project)).unwrap();
    list_with_configs(project)
}

#[test]
fn every_run_is_listed_and_a_damaged_one_hides_no_other() {
    let (_folder, project) = filled();
    let rows = list(&project);
    let told: Vec<(&str, RunStatus, bool)> =
        rows.iter().map(|row| (row.name.as_str(), row.status, row.problem.is_some())).collect();
    assert_eq!(
        told,
        [
            ("damaged_001", RunStatus::Unknown, true),
            ("done_001", RunStatus::Completed, false),
            ("failed_001", RunStatus::Failed, false),
            ("fresh_001", RunStatus::Created, false),
            ("lost_001", RunStatus::Lost, false),
            ("not_a_run", RunStatus::Unknown, true),
        ]
    );
    let done = &rows[1];
    assert_eq!((done.steps, done.total_steps, done.seeds), (200, 1000, 1));
    assert_eq!((done.env.as_str(), done.algo.as_str()), ("CartPole-v1", "ppo"));
    assert_eq!((done.best_eval_mean, done.last_mean_return), (Some(100.0), Some(200.0 / 7.0)));
    assert_eq!((done.score, done.steps_per_second), (Some(200.0), None), "its records have the same time");
    assert_eq!(done.ended.as_deref(), Some(common::NOW));
    assert_eq!(rows[4].ended, None);
}

#[test]
fn filters_choose() {
    let (_folder, project) = filled();
    let index = Index::open(&project);
    let names = |filter: &RunFilter| -> Vec<String> {
        index.list(filter).unwrap().into_iter().map(|row| row.name).collect()
    };
    let all = RunFilter::default();
    assert_eq!(names(&RunFilter { tags: vec!["x".into()], ..all.clone() }), ["fresh_001"]);
    assert_eq!(names(&RunFilter { status: Some(RunStatus::Lost), ..all.clone() }), ["lost_001"]);
    assert_eq!(names(&RunFilter { name: Some("ail".into()), ..all.clone() }), ["failed_001"]);
    assert_eq!(names(&RunFilter { env: Some("cartpole-v1".into()), ..all.clone() }).len(), 4);
    assert!(names(&RunFilter { algo: Some("dqn".into()), ..all }).is_empty());
}

#[test]
fn deleted_damaged_or_foreign_the_index_gives_the_same_answers() {
    let (_folder, project) = filled();
    let list = list_with_configs;
    let expected = list(&project);
    assert_eq!(expected.iter().filter(|(_, config)| config.is_some()).count(), 4);
    let path = Index::path(&project);
    assert_eq!(list(&project), expected);
    let good = RealFs.read(&path, 1 << 24).unwrap();
    assert!(good.starts_with(b"SQLite format 3"));
    RealFs.remove_file(&path).unwrap();
    assert_eq!(list(&project), expected, "deleted");
    let mut harmed: Vec<Vec<u8>> = vec![Vec::new(), b"not a database".to_vec(), vec![0; 5000]];
    // A flip in every part of the file, also inside the rows.
    harmed.extend((0..good.len()).step_by(97).map(|at| {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        bytes
    }));
    harmed.extend([100, 4096, 5000, good.len() - 1].map(|length| good[..length].to_vec()));
    for (number, bytes) in harmed.iter().enumerate() {
        RealFs.write_atomic(&path, bytes).unwrap();
        for round in 0..2 {
            assert_eq!(list(&project), expected, "damage {number}, round {round}");
        }
    }
    // A table of another shape, as another version might leave it.
    RealFs.remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE runs (x INTEGER); PRAGMA user_version = 1;").unwrap();
    drop(other);
    assert_eq!(list(&project), expected, "foreign");
    assert_eq!(list(&project), expected, "made anew");
}

#[test]
fn a_warm_index_notices_every_change() {
    let (_folder, project) = filled();
    let before = list(&project);
    assert_eq!(list(&project), before);
    let row = |name: &str| list(&project).into_iter().find(|row| row.name == name);
    // A tag, a new attempt, a removed run, a new run, a repaired one.
    project.run("done_001").set_tags(&["good".into()], &[]).unwrap();
    assert_eq!(row("done_001").unwrap().tags, ["good"]);
    let again = claim(&project.run("failed_001"));
    assert_eq!(row("failed_001").unwrap().status, RunStatus::Running);
    again.end(&end(Outcome::Completed)).unwrap();
    assert_eq!(row("failed_001").unwrap().status, RunStatus::Completed);
    project.remove_run(&project.run("lost_001")).unwrap();
    assert_eq!(row("lost_001"), None);
    project.create_run(new_run("later", &[0])).unwrap();
    assert_eq!(row("later_001").unwrap().status, RunStatus::Created);
    let metadata = project.run("done_001").metadata().unwrap();
    RealFs.write_atomic(&project.run("damaged_001").metadata_path(), &metadata.to_bytes()).unwrap();
    assert_eq!(row("damaged_001").unwrap().problem, None);
    // The warm index answers like a new one.
    let warm = list(&project);
    assert_eq!(list_anew(&project), warm);
}

fn files_below(path: &Path, found: &mut Vec<PathBuf>) {
    for entry in RealFs.list(path).unwrap() {
        let inside = path.join(&entry.name);
        match entry.kind {
            rlxp_fs::Kind::Folder => files_below(&inside, found),
            _ => found.push(inside),
        }
    }
}

/// Whatever is changed by hand, the warm index answers like a new one.
#[test]
fn whatever_file_changes_the_index_changes_no_answer() {
    let (folder, project) = filled();
    project.run("done_001").set_tags(&["good".into()], &[]).unwrap();
    let mut files = Vec::new();
    for name in ["done_001", "failed_001", "fresh_001"] {
        files_below(&project.runs_dir().join(name), &mut files);
    }
    assert!(files.len() > 20);
    let outside = folder.path().join("outside");
    let mut told_apart = 0;
    for file in files {
        let before = configs_anew(&project);
        assert_eq!(list_with_configs(&project), before, "warm");
        let aside = folder.path().join("aside");
        RealFs.rename(&file, &aside).unwrap();
        let mut changes: Vec<Box<dyn Fn()>> = vec![Box::new(|| {})];
        if RealFs.is_file(&aside).unwrap() {
            let bytes = RealFs.read(&aside, 1 << 20).unwrap();
            let longer = [&bytes[..], b" "].concat();
            let other: Vec<u8> = bytes.iter().map(|byte| if *byte == b'1' { b'2' } else { *byte }).collect();
            for content in [longer, other] {
                let file = file.clone();
                changes.push(Box::new(move || RealFs.write_atomic(&file, &content).unwrap()));
            }
            RealFs.write_atomic(&outside, &bytes).unwrap();
            changes.push(Box::new(|| RealFs.symlink(&outside, &file).unwrap()));
        }
        for change in changes {
            change();
            let warm = list_with_configs(&project);
            assert_eq!(warm, configs_anew(&project), "{}", file.display());
            told_apart += usize::from(warm != before);
            drop(RealFs.remove_file(&file));
        }
        RealFs.rename(&aside, &file).unwrap();
    }
    assert!(told_apart > 20, "only {told_apart} changes made a difference");
}

/// A file that only looks like an index may ask for endless work.
#[test]
fn a_hostile_index_is_replaced() {
    let (_folder, project) = filled();
    let expected = list(&project);
    let path = Index::path(&project);
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";
    let (tables, format): (Vec<String>, i64) = {
        let index = rusqlite::Connection::open(&path).unwrap();
        let mut schema = index.prepare("SELECT sql FROM sqlite_schema").unwrap();
        let tables = schema.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        (tables, index.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap())
    };
    let [runs, configs] = &tables[..] else { panic!("{tables:?}") };
    let create = tables.join("; ");
    let columns = "x AS name, '' AS sources, x'' AS stamps, '' AS row, x'' AS digest";
    let values = "x AS place, x'' AS stamps, '' AS text, x'' AS digest";
    for script in [
        format!("CREATE VIEW runs AS {endless} SELECT {columns} FROM n; {configs}"),
        format!("{runs}; CREATE VIEW configs AS {endless} SELECT {values} FROM n"),
        runs.clone(),
        format!("{create}; CREATE VIEW more AS {endless} SELECT x FROM n"),
        format!("{create}; CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END"),
        format!("{create}; CREATE TRIGGER t AFTER INSERT ON configs BEGIN DELETE FROM runs; END"),
    ] {
        RealFs.remove_file(&path).unwrap();
        let hostile = rusqlite::Connection::open(&path).unwrap();
        hostile.execute_batch(&format!("{script}; PRAGMA user_version = {format};")).unwrap();
        drop(hostile);
        assert_eq!(list(&project), expected, "{script}");
        assert_eq!(list(&project), expected, "{script}");
        let index = rusqlite::Connection::open(&path).unwrap();
        let rows: i64 = index.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
        assert!(rows > 0, "the index works again");
    }
}

/// Pipes in place of the index and beside it, where SQLite would wait forever.
#[test]
fn pipes_in_place_of_the_index_block_nothing() {
    let (_folder, project) = filled();
    let expected = list(&project);
    for end in ["", "-journal", "-wal", "-shm"] {
        let path = PathBuf::from(format!("{}{end}", Index::path(&project).display()));
        drop(RealFs.remove_file(&path));
        rlxp_fs::testing::make_pipe(&path);
        assert_eq!(list(&project), expected, "{end}");
        drop(RealFs.remove_file(&path));
    }
}

/// An index that came with a project may hold any rows with the right digests.
#[test]
fn a_row_that_was_made_from_nothing_is_no_answer() {
    let (_folder, project) = filled();
    let expected = list(&project);
    let index = rusqlite::Connection::open(Index::path(&project)).unwrap();
    let row: String =
        index.query_row("SELECT row FROM runs WHERE name = 'done_001'", [], |row| row.get(0)).unwrap();
    let forged = row.replace("CartPole-v1", "Forged-v9");
    assert_ne!(row, forged);
    for (sources, stamps) in [
        ("nothing", vec![0_u8; 32]),
        ("metadata.json", vec![0; 32]),
        ("metadata.json", vec![1; 32]),
        ("", vec![]),
    ] {
        let checksum = checksum(&[b"done_001", sources.as_bytes(), &stamps, forged.as_bytes()]);
        let values = rusqlite::params![sources, stamps, forged, checksum];
        let set =
            "UPDATE runs SET sources = ?1, stamps = ?2, row = ?3, checksum = ?4 WHERE name = 'done_001'";
        assert_eq!(index.execute(set, values).unwrap(), 1);
        assert_eq!(list(&project), expected, "{sources:?}");
    }
}

/// A config of another run, of another maker, or made from nothing.
#[test]
fn a_config_that_was_not_read_from_this_file_is_no_answer() {
    let (_folder, project) = filled();
    let expected = list_with_configs(&project);
    let names: Vec<&str> = expected.iter().map(|(row, _)| row.name.as_str()).collect();
    assert_eq!(list_with_configs(&project), expected);
    let index = rusqlite::Connection::open(Index::path(&project)).unwrap();
    let count = || index.query_row("SELECT count(*) FROM configs", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 4);
    // With the right checksum for the run's name and the maker, but without knowing the file.
    let forged = "\nrun_name.value\t\"forged\"";
    for stamps in
        [vec![0_u8; 32], vec![1; 32], [1_u64.to_le_bytes(), [0; 8], [0; 8], [0; 8]].concat(), vec![]]
    {
        for name in &names {
            let checksum = checksum(&[name.as_bytes(), b"this version", &stamps, forged.as_bytes()]);
            let place = i64::from_le_bytes(digest_of_name(name));
            let values = rusqlite::params![place, stamps, forged, checksum];
            index.execute("INSERT OR REPLACE INTO configs VALUES (?1, ?2, ?3, ?4)", values).unwrap();
        }
        assert_eq!(list_with_configs(&project), expected, "{stamps:?}");
    }
    // A value with the stamp of its file, but of another text.
    index.execute("UPDATE configs SET text = ?1", [forged]).unwrap();
    assert_eq!(list_with_configs(&project), expected);
    assert_eq!(list_with_configs(&project), expected);
    // The values of one run under the place of another.
    let place = |name: &str| i64::from_le_bytes(digest_of_name(name));
    let swap = "UPDATE configs SET (stamps, text, checksum) = (SELECT stamps, text, checksum FROM configs WHERE place = ?1) \
                WHERE place = ?2";
    assert_eq!(index.execute(swap, [place("done_001"), place("fresh_001")]).unwrap(), 1);
    assert_eq!(list_with_configs(&project), expected);
    // Another version reads the same files differently.
    let other = |_: &Run| Some(Map::from_iter([("new".to_owned(), json!(1))]));
    let reader = ConfigReader { maker: "another version", read: &other };
    for _ in 0..2 {
        let configs = list_as(&project, &reader);
        assert_eq!(configs[1].1.as_ref().unwrap().get("new"), Some(json!(1)));
    }
    assert_eq!(list_with_configs(&project), expected);
}

fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

fn digest_of_name(name: &str) -> [u8; 8] {
    let mut bytes = [0; 8];
    blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// A listing reads the config of a run once, and not at all if it is not asked for.
#[test]
fn configs_are_read_once() {
    let (_folder, project) = filled();
    let reads = std::sync::atomic::AtomicUsize::new(0);
    let counted = |run: &Run| {
        reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        read_config(run)
    };
    let reader = ConfigReader { maker: "this version", read: &counted };
    let expected = list_as(&project, &reader);
    assert_eq!(reads.load(std::sync::atomic::Ordering::Relaxed), 4);
    assert_eq!(list_as(&project, &reader), expected);
    assert_eq!(reads.load(std::sync::atomic::Ordering::Relaxed), 4);
    // A removed run is forgotten.
    project.remove_run(&project.run("done_001")).unwrap();
    list(&project);
    let index = rusqlite::Connection::open(Index::path(&project)).unwrap();
    let left: i64 = index.query_row("SELECT count(*) FROM configs", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 3);
}

/// A run that was killed, resumed after a pause and ended, and one that an earlier version ended.
#[test]
fn score_and_speed_are_the_same_from_the_end_and_from_the_record() {
    let (_folder, project) = real();
    let run = project.create_run(new_run("paced", &[3, 4])).unwrap();
    // 1000 steps a second for each of two seeds, at first; then 100.
    let train = |from: u64, begin: f64, speed: f64| {
        for folder in run.seed_folders().unwrap() {
            let recovery = rlxp_store::recover(&folder, None).unwrap();
            let mut writer = folder.metrics_writer(&recovery.metrics).unwrap();
            for step in (from + 10..=from + 2000).step_by(10) {
                let values = [("mean_return", rlxp_store::MetricValue::from(1.0))];
                let wall = begin + (step - from) as f64 / speed;
                writer.append(step, wall, "train", &values).unwrap();
                writer.append(step, wall, "timing", &[]).unwrap();
            }
            common::save(&folder, &mut writer, from + 2000, rlxp_store::SaveReason::Scheduled).unwrap();
        }
    };
    let row = || list(&project).remove(0);
    let about = |speed: Option<f64>, expected: f64| (speed.unwrap() - expected).abs() < 1e-6 * expected;
    let at = |second: u64| rlxp_fs::clock::rfc3339(Duration::from_secs(second));
    let first = run.claim(&at(1_000_000), rlxp_store::TakeOver::WhenProvenGone).unwrap();
    train(0, 1_000_000.0, 1000.0);
    let running = row();
    assert!(about(running.steps_per_second, 2000.0), "{running:?}");
    assert_eq!(running.score, Some(2000.0));
    first.end(&end(Outcome::Interrupted)).unwrap();
    assert_eq!(row().steps_per_second, running.steps_per_second);
    // A day later.
    let second = run.claim(&at(1_086_400), rlxp_store::TakeOver::WhenProvenGone).unwrap();
    train(2000, 1_086_400.0, 100.0);
    let running = row();
    assert!(about(running.steps_per_second, 200.0), "{running:?}");
    second.end(&end(Outcome::Completed)).unwrap();
    let ended = row();
    assert_eq!((ended.score, ended.steps_per_second), (Some(4000.0), running.steps_per_second));
    // Earlier versions wrote fewer numbers, or none.
    let path = run.path().join("attempts/2/end.json");
    let written: Value = serde_json::from_slice(&RealFs.read(&path, 1 << 20).unwrap()).unwrap();
    for fields in [&["score"][..], &["score", "steps_per_second"]] {
        let mut old = written.clone();
        fields.iter().for_each(|field| drop(old["summary"].as_object_mut().unwrap().remove(*field).unwrap()));
        RealFs.write_atomic(&path, old.to_string().as_bytes()).unwrap();
        assert_eq!(row(), ended);
        assert_eq!(list_anew(&project), std::slice::from_ref(&ended));
    }
}

#[test]
fn notes_and_titles_are_part_of_the_row() {
    let (_folder, project) = filled();
    let run = project.run("done_001");
    let row = || list(&project).into_iter().find(|row| row.name == "done_001").unwrap();
    let change = |change: LabelChange| run.change_labels(change).unwrap();
    let note = |text: &str| LabelChange { note: Some(text.into()), ..LabelChange::default() };
    change(note("first"));
    let labels = change(note("second"));
    assert_eq!(labels.notes.iter().map(|note| note.number).collect::<Vec<_>>(), [1, 2]);
    change(LabelChange { title: Some("a title".into()), ..LabelChange::default() });
    let shown = row();
    assert_eq!(
        (shown.title.as_deref(), shown.notes),
        (Some("a title"), vec!["first".into(), "second".into()])
    );
    change(LabelChange { remove_notes: vec![1], title: Some(String::new()), ..LabelChange::default() });
    run.set_tags(&["x".into()], &[]).unwrap();
    let shown = row();
    assert_eq!((shown.title, shown.notes, shown.tags), (None, vec!["second".into()], vec!["x".into()]));
    // A change that says nothing is not written.
    let before = RealFs.list(&run.path().join("labels")).unwrap().len();
    change(LabelChange::default());
    assert_eq!(RealFs.list(&run.path().join("labels")).unwrap().len(), before);
}

/// Folders of attempts that wait for a claim or an end.
#[test]
fn a_claim_or_an_end_that_appears_is_noticed() {
    let (_folder, project) = filled();
    let attempts = |run: &str| project.runs_dir().join(run).join("attempts");
    for run in ["done_001", "fresh_001"] {
        let number = if run == "done_001" { 2 } else { 1 };
        let waiting = attempts(run).join(number.to_string());
        RealFs.create_dir(&waiting).unwrap();
        for file in ["claim.json", "end.json"] {
            assert_eq!(list(&project), list_anew(&project), "{run} before {file}");
            drop(list(&project));
            let source = attempts("failed_001").join("1").join(file);
            RealFs.copy(&source, &waiting.join(file)).unwrap();
            assert_eq!(list(&project), list_anew(&project), "{run} after {file}");
        }
    }
}

#[test]
fn where_the_index_can_not_be_written_it_lives_in_memory() {
    let (_folder, project) = filled();
    let expected = list(&project);
    let path = Index::path(&project);
    RealFs.remove_file(&path).unwrap();
    // A folder in its place is as good as a read-only one, also for root.
    RealFs.create_dir(&path).unwrap();
    assert_eq!(list(&project), expected);
    RealFs.remove_dir(&path).unwrap();
    let elsewhere = project.root().join("elsewhere");
    RealFs.write_atomic(&elsewhere, b"mine").unwrap();
    RealFs.symlink(&elsewhere, &path).unwrap();
    assert_eq!(list(&project), expected, "a symlink is not followed");
    assert_eq!(RealFs.read(&elsewhere, 100).unwrap(), b"mine");
}

#[test]
fn many_readers_and_writers_at_once() {
    let (folder, project) = real();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let path = folder.path();
                scope.spawn(move || {
                    let machine = Arc::new(FakeMachine::new("here", "boot-1", 100 + writer));
                    // The writers see each other alive.
                    (100..108).for_each(|other| machine.start(other, 1000));
                    let project = Project::at(Arc::new(RealFs), machine, path);
                    let run = project.create_run(new_run("many", &[0])).unwrap();
                    let claim = claim(&run);
                    train(&run.seed_folders().unwrap()[0], 200).unwrap();
                    claim.end(&end(Outcome::Completed)).unwrap();
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            for row in list(&project) {
                assert_eq!(row.problem, None, "{row:?}");
            }
        }
    });
    let rows = list(&project);
    assert_eq!(rows.len(), 8);
    for row in &rows {
        assert_eq!((row.status, row.steps), (RunStatus::Completed, 200));
        common::fingerprint(&project.run(&row.name).seed_folders().unwrap()[0]);
    }
}
