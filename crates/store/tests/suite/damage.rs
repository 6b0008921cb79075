//! Any byte of any file cut or flipped: every intact record is still read,
//! the damage is reported, and an older checkpoint takes over.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use rlxp_fs::testing::CrashFs;
use rlxp_fs::{Fs, FsExt};
use rlxp_store::{
    MetricValue, MetricsContent, MetricsPosition, Record, SeedFolder, Series, StoreError, read_columns,
    read_metrics, recover,
};

use crate::common::{self, in_memory, log, new_run, train};

/// A finished training with two checkpoints and thirty records.
fn trained() -> (CrashFs, SeedFolder) {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let folder = run.seed_folders().unwrap().remove(0);
    train(&folder, 300).unwrap();
    (disk, folder)
}

fn overwrite(disk: &CrashFs, path: &Path, bytes: &[u8]) {
    disk.write_atomic(path, bytes).unwrap();
}

/// How a file gets damaged.
#[derive(Clone, Debug)]
enum Harm {
    Cut(prop::sample::Index),
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Zeros(usize),
}

impl Harm {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Harm::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Harm::Flip(at, mask) => {
                let at = at.index(bytes.len());
                bytes[at] ^= mask;
            }
            Harm::Insert(at, garbage) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, garbage.iter().copied());
            }
            Harm::Zeros(count) => bytes.resize(bytes.len() + count, 0),
        }
    }
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Harm::Cut),
        (any::<prop::sample::Index>(), 1u8..).prop_map(|(at, mask)| Harm::Flip(at, mask)),
        (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..20))
            .prop_map(|(at, garbage)| Harm::Insert(at, garbage)),
        (1usize..100).prop_map(Harm::Zeros),
    ]
}

/// The records whose bytes are unchanged in the damaged file.
fn intact<'a>(original: &'a [u8], damaged: &[u8], records: &'a [Record]) -> Vec<&'a Record> {
    let lines = original.split(|byte| *byte == b'\n').zip(records);
    lines
        .filter(|(line, _)| damaged.windows(line.len()).any(|window| window == *line))
        .map(|(_, record)| record)
        .collect()
}

fn check_metrics(original: &[u8], damaged: &[u8], before: &MetricsContent) {
    let disk = CrashFs::new();
    let path = Path::new("/metrics.jsonl");
    overwrite(&disk, path, damaged);
    let after = read_metrics(&disk, path).unwrap();
    for record in intact(original, damaged, &before.records) {
        assert!(after.records.contains(record), "record {} is hidden", record.seq);
    }
    let expected: Vec<&Record> = before.records.iter().collect();
    let found: Vec<&Record> = after.records.iter().collect();
    let reported = !after.damage.is_empty() || after.torn_tail.is_some();
    // A cut at a line's end leaves a whole, shorter file; a flipped digit
    // leaves another number, which only the checkpoint's digest can find.
    let silent = found.len() <= expected.len()
        && found.iter().zip(&expected).all(|(found, expected)| found.seq == expected.seq);
    assert!(reported || silent, "{} records and no report", found.len());
    for damage in after.damage.iter().chain(&after.torn_tail) {
        assert!(damage.offset + damage.length <= damaged.len() as u64);
    }
    // Columns are read another way and must say the same.
    let columns = read_columns(&disk, path, &|_, _| true).unwrap();
    assert_eq!((&columns.damage, &columns.torn_tail), (&after.damage, &after.torn_tail));
    assert_eq!(format!("{:?}", columns.series), format!("{:?}", in_columns(&after.records)));
}

#[test]
fn every_single_cut_and_many_flips_of_the_metrics() {
    let (disk, folder) = trained();
    let original = disk.read(&folder.metrics_path(), 1 << 20).unwrap();
    let before = folder.metrics().unwrap();
    assert_eq!(before.records.len(), 30);
    for at in 0..original.len() {
        check_metrics(&original, &original[..at], &before);
        for mask in [1, 0x0a, 0x20, 0x80] {
            let mut damaged = original.clone();
            damaged[at] ^= mask;
            check_metrics(&original, &damaged, &before);
        }
    }
}

#[test]
fn a_torn_tail_a_bad_line_and_a_gap_are_told_apart() {
    let disk = CrashFs::new();
    let path = Path::new("/m");
    let line = |seq: u64| {
        format!("{{\"seq\":{seq},\"step\":{seq},\"wall\":1.5,\"kind\":\"train\",\"values\":{{}}}}\n")
    };
    let text = format!("{}garbage\n{}{}{{\"seq\":6", line(0), line(1), line(5));
    overwrite(&disk, path, text.as_bytes());
    let content = read_metrics(&disk, path).unwrap();
    assert_eq!(content.records.iter().map(|record| record.seq).collect::<Vec<_>>(), [0, 1, 5]);
    let offset = line(0).len() as u64;
    assert_eq!((content.damage[0].offset, content.damage[0].length), (offset, 7));
    assert_eq!(content.damage[1].why, "found record 5 instead of record 2");
    assert_eq!(content.damage.len(), 2);
    assert_eq!(content.torn_tail.unwrap().length, 8);
    // Bad lines in a row are one place.
    overwrite(&disk, path, format!("{}\n\ngarbage\n{}", line(0), line(1)).as_bytes());
    let content = read_metrics(&disk, path).unwrap();
    assert_eq!((content.records.len(), content.damage.len()), (2, 1));
    assert_eq!((content.damage[0].lines, content.damage[0].length), (3, 9));
    assert!(content.damage[0].to_string().ends_with("(and 2 more lines)"), "{}", content.damage[0]);
    // Two lines whose newline was overwritten are both still read.
    let joined = format!("{}{}", line(0), line(1)).replacen('\n', " ", 1);
    overwrite(&disk, path, joined.as_bytes());
    let content = read_metrics(&disk, path).unwrap();
    assert_eq!((content.records.len(), content.damage.len()), (2, 1));
}

#[test]
fn numbers_come_back_as_they_were() {
    let (_disk, folder) = trained();
    let position = recover(&folder, None).unwrap().metrics;
    let mut writer = folder.metrics_writer(&position).unwrap();
    let floats = [0.1, -0.0, 1e300, 5e-324, f64::MAX, 1.0 / 3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let names: Vec<String> = (0..floats.len()).map(|index| format!("z{}", 9 - index)).collect();
    let values: Vec<(&str, MetricValue<'_>)> =
        names.iter().zip(floats).map(|(name, value)| (name.as_str(), value.into())).collect();
    writer.append(310, 7.25, "odd \"kind\"\n", &values).unwrap();
    let mixed = [
        ("count", MetricValue::from(u64::MAX)),
        ("integer", MetricValue::from(-5i64)),
        ("flag", true.into()),
        ("text", "a\nb".into()),
        ("single", 0.1f32.into()),
    ];
    writer.append(320, 7.5, "mixed", &mixed).unwrap();
    writer.sync().unwrap();
    let records = folder.metrics().unwrap().records;
    let [odd, mixed] = &records[30..] else { panic!("two more records") };
    assert_eq!((odd.seq, odd.step, odd.wall, odd.kind.as_str()), (30, 310, 7.25, "odd \"kind\"\n"));
    assert_eq!(odd.values.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    for (name, value) in names.iter().zip(floats) {
        assert_eq!(odd.number(name).unwrap().to_bits(), value.to_bits(), "{name}");
    }
    assert_eq!(mixed.values["count"], u64::MAX);
    assert_eq!(mixed.values["integer"], -5);
    assert_eq!(mixed.values["flag"], true);
    assert_eq!(mixed.values["text"], "a\nb");
    assert_eq!(mixed.values["single"].to_string(), "0.1");
    let long = "x".repeat(rlxp_store::RECORD_LIMIT);
    let refused = writer.append(330, 0.0, "long", &[("text", long.as_str().into())]);
    assert!(matches!(refused, Err(StoreError::RecordTooLong { .. })));
    assert_eq!(writer.append(330, 0.0, "short", &[]).unwrap(), 32);
}

#[test]
fn the_writer_syncs_once_a_second_and_knows_its_position() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let folder = run.seed_folders().unwrap().remove(0);
    let mut writer = folder.metrics_writer(&MetricsPosition::start()).unwrap();
    let start = rlxp_fs::clock::monotonic();
    assert!(!writer.tick_at(start + std::time::Duration::from_secs(5)).unwrap(), "nothing to sync");
    log(&mut writer, 0, 50).unwrap();
    assert!(!writer.tick_at(start).unwrap());
    assert!(disk.after_power_loss(1).read(&folder.metrics_path(), 1 << 20).unwrap().is_empty());
    assert!(writer.tick_at(start + std::time::Duration::from_secs(5)).unwrap());
    let bytes = disk.after_power_loss(1).read(&folder.metrics_path(), 1 << 20).unwrap();
    let position = writer.position();
    assert_eq!(position.length, bytes.len() as u64);
    assert_eq!(position.digest, rlxp_types::Digest::hash(&bytes));
    assert_eq!(position.next_seq, 5);
    drop(writer);
    folder.metrics_writer(&position).unwrap();
    let wrong =
        [MetricsPosition::start(), MetricsPosition { digest: rlxp_types::Digest::hash(b"x"), ..position }];
    for wrong in wrong {
        assert!(matches!(folder.metrics_writer(&wrong), Err(StoreError::Damaged { .. })));
    }
}

#[test]
fn a_follower_sees_each_record_once_through_a_resume() {
    let (disk, project) = in_memory();
    let run = project.create_run(new_run("a", &[0])).unwrap();
    let folder = run.seed_folders().unwrap().remove(0);
    let mut follower = folder.follow_metrics();
    assert!(follower.poll().unwrap().is_empty());
    train(&folder, 200).unwrap();
    let mut seen = follower.poll().unwrap();
    assert_eq!(seen.len(), 20);
    let mut file = disk.open_append(&folder.metrics_path()).unwrap();
    file.write_all(b"{\"seq\":20,\"step\":210,\"wall\":0,\"kind\":\"train\",\"val").unwrap();
    assert!(follower.poll().unwrap().is_empty());
    file.write_all(b"ues\":{}}\n{\"seq\":21").unwrap();
    seen.extend(follower.poll().unwrap());
    assert_eq!(seen.last().unwrap().step, 210);
    train(&folder, 300).unwrap();
    seen.extend(follower.poll().unwrap());
    assert_eq!(seen.iter().map(|record| record.seq).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
    assert!(follower.damage().is_empty());
}

#[test]
fn every_single_byte_of_a_checkpoint_matters() {
    let (disk, folder) = trained();
    let store = folder.checkpoints();
    assert_eq!(store.steps().unwrap(), [100, 200, 300]);
    for name in ["manifest.json", "model.safetensors", "state.safetensors"] {
        let path = store.step_path(300).join(name);
        let original = disk.read(&path, 1 << 20).unwrap();
        for at in 0..original.len() {
            let mut flipped = original.clone();
            flipped[at] ^= if at % 2 == 0 { 1 } else { 0x20 };
            for damaged in [&original[..at], flipped.as_slice()] {
                overwrite(&disk, &path, damaged);
                let newest = store.newest_valid().unwrap();
                assert_eq!(newest.checkpoint.unwrap().step, 200, "{name} at {at}");
                assert_eq!(newest.damaged.len(), 1);
                assert!(newest.damaged[0].why.contains(name), "{}", newest.damaged[0].why);
                assert!(matches!(store.load(300), Err(StoreError::Damaged { .. })));
            }
        }
        overwrite(&disk, &path, &original);
        assert_eq!(store.newest_valid().unwrap().checkpoint.unwrap().step, 300);
        disk.remove_file(&path).unwrap();
        assert_eq!(store.newest_valid().unwrap().checkpoint.unwrap().step, 200, "{name} removed");
        overwrite(&disk, &path, &original);
    }
    assert!(matches!(store.load(555), Err(StoreError::NoSuchCheckpoint { step: 555, .. })));
}

/// What columns of these records must hold.
fn in_columns(records: &[Record]) -> BTreeMap<String, BTreeMap<String, Series>> {
    let mut kinds: BTreeMap<String, BTreeMap<String, Series>> = BTreeMap::new();
    for record in records {
        let kind = kinds.entry(record.kind.clone()).or_default();
        for name in record.values.keys() {
            if let Some(value) = record.number(name) {
                let series = kind.entry(name.clone()).or_default();
                series.steps.push(record.step);
                series.walls.push(record.wall);
                series.values.push(value);
            }
        }
    }
    kinds
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_260_101),
        ..ProptestConfig::default()
    })]

    #[test]
    fn harmed_metrics_hide_no_intact_record(harms in prop::collection::vec(harm(), 1..4)) {
        let (disk, folder) = trained();
        let original = disk.read(&folder.metrics_path(), 1 << 20).unwrap();
        let before = folder.metrics().unwrap();
        let mut damaged = original.clone();
        for harm in &harms {
            if !damaged.is_empty() {
                harm.apply(&mut damaged);
            }
        }
        overwrite(&disk, &folder.metrics_path(), &damaged);
        let after = folder.metrics().unwrap();
        for record in intact(&original, &damaged, &before.records) {
            prop_assert!(after.records.contains(record), "record {} is hidden", record.seq);
        }
        let columns = folder.columns(&|_, _| true).unwrap();
        prop_assert_eq!(&columns.damage, &after.damage);
        prop_assert_eq!(&columns.torn_tail, &after.torn_tail);
        // As text, because a NaN equals nothing.
        prop_assert_eq!(format!("{:?}", in_columns(&after.records)), format!("{:?}", columns.series));
        let some = folder.columns(&|_, name| name == "loss").unwrap();
        if some.damage == after.damage {
            let mut expected = in_columns(&after.records);
            expected.values_mut().for_each(|kind| kind.retain(|name, _| name == "loss"));
            prop_assert_eq!(format!("{:?}", expected), format!("{:?}", some.series));
        }
    }

    /// Whatever is damaged, training continues and ends as it would have.
    #[test]
    fn a_run_recovers_from_any_harm(
        harm in harm(), which in 0usize..6, again in any::<bool>(),
    ) {
        let (disk, folder) = trained();
        let expected = common::fingerprint(&folder);
        let store = folder.checkpoints();
        let path = match which {
            0 => folder.metrics_path(),
            1 => store.step_path(300).join("model.safetensors"),
            2 => store.step_path(300).join("manifest.json"),
            3 => store.step_path(100).join("state.safetensors"),
            4 => store.step_path(200).join("manifest.json"),
            _ => store.step_path(300).join("state.safetensors"),
        };
        let mut bytes = disk.read(&path, 1 << 20).unwrap();
        harm.apply(&mut bytes);
        overwrite(&disk, &path, &bytes);
        let recovery = recover(&folder, None).unwrap();
        if again {
            let second = recover(&folder, None).unwrap();
            prop_assert_eq!(second.metrics, recovery.metrics);
            prop_assert!(second.superseded.is_empty());
        }
        train(&folder, 300).unwrap();
        let after = common::fingerprint(&folder);
        // The two older checkpoints are not recreated once training is past them.
        let kept = |parts: &[(String, String)]| -> Vec<(String, String)> {
            let old = |name: &str| {
                matches!(name, "checkpoint 100" | "checkpoint 200" | "best")
            };
            parts.iter().filter(|(name, _)| !old(name)).cloned().collect()
        };
        prop_assert_eq!(kept(&after), kept(&expected));
    }
}

#[test]
fn an_older_checkpoint_can_be_chosen_and_the_newer_ones_are_kept() {
    let (disk, folder) = trained();
    let recovery = recover(&folder, Some(200)).unwrap();
    assert_eq!(recovery.checkpoint.unwrap().step, 200);
    assert_eq!(folder.checkpoints().steps().unwrap(), [100, 200]);
    assert_eq!(folder.checkpoints().latest_link().unwrap(), Some(200));
    assert_eq!(folder.metrics().unwrap().records.len(), 20);
    assert_eq!(recovery.superseded.len(), 3);
    for path in &recovery.superseded {
        assert!(disk.metadata(path).is_ok() && path.starts_with(folder.logs_dir()));
    }
    assert!(matches!(recover(&folder, Some(300)), Err(StoreError::NoSuchCheckpoint { .. })));
}

#[test]
fn a_recovery_never_replaces_what_an_earlier_one_kept() {
    let (disk, folder) = trained();
    disk.write_new(&folder.logs_dir().join("superseded_999999998.jsonl"), b"").unwrap();
    let mut kept = Vec::new();
    for round in 0..4 {
        let recovery = recover(&folder, Some(200)).unwrap();
        let logs = recovery.superseded.iter().find(|path| path.extension().is_some()).unwrap().clone();
        assert!(kept.iter().all(|(path, _)| *path != logs), "round {round}: {}", logs.display());
        let bytes = disk.read(&logs, 1 << 20).unwrap();
        kept.push((logs, bytes));
        for (path, bytes) in &kept {
            assert_eq!(disk.read(path, 1 << 20).unwrap(), *bytes, "round {round}");
        }
        train(&folder, 300).unwrap();
    }
}

#[test]
fn without_a_checkpoint_everything_begins_again() {
    let (disk, folder) = trained();
    for step in [100, 200, 300] {
        disk.remove_file(&folder.checkpoints().step_path(step).join("manifest.json")).unwrap();
    }
    let expected = folder.metrics().unwrap().records;
    let recovery = recover(&folder, None).unwrap();
    assert!(recovery.checkpoint.is_none());
    assert_eq!(recovery.notes.len(), 3);
    assert_eq!(recovery.metrics, MetricsPosition::start());
    assert!(folder.metrics().unwrap().records.is_empty());
    assert!(folder.evaluations().unwrap().is_empty());
    assert_eq!(folder.checkpoints().latest_link().unwrap(), None);
    let kept = read_metrics(&disk, &folder.logs_dir().join("superseded_1.jsonl")).unwrap();
    assert_eq!(kept.records, expected);
}
