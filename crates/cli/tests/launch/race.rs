//! Files that are swapped while a launch looks at them and while its run reads them: what was validated runs, or
//! nothing does.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rlxp_types::Digest;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;

use crate::candidates::{REWARD, phase, reward_scale};
use crate::repository::{Build, Repository};

const INPUT: &str = "data/start_states.json";
/// Launches while files are swapped.
const ROUNDS: u64 = 20;

/// Training that takes no time and says what it was made of. With `--wait` it reads only after `swapped` lies in the
/// repository.
const TRAINING: &str = r#"
import argparse, hashlib, json, os, sys, time
from balance import reward as paid

parser = argparse.ArgumentParser()
parser.add_argument("--seed")
parser.add_argument("--out", required=True)
parser.add_argument("--wait", action="store_true")
words = parser.parse_args()
until = time.monotonic() + 30
while words.wait and not os.path.exists(os.path.join(os.path.dirname(sys.prefix), "swapped")):
    assert time.monotonic() < until, "nobody swapped anything"
    time.sleep(0.002)
read = set()
for _ in range(50):
    with open("data/start_states.json", "rb") as file:
        read.add(hashlib.sha256(file.read()).hexdigest())
with open(os.path.join(words.out, "metrics.jsonl"), "w") as file:
    with open("data/large.bin", "rb") if os.path.exists("data/large.bin") else open(os.devnull, "rb") as large:
        first = large.read(1).hex()
    line = {"first": first, "reward_scale": paid.REWARD_SCALE, "hostile": hasattr(paid, "HOSTILE"), "read": sorted(read)}
    file.write(json.dumps(line) + "\n")
with open(os.path.join(words.out, "policy.json"), "w") as file:
    file.write("{}")
"#;

/// A repository beside which everything hostile lies ready.
struct Stage {
    repository: Repository,
    /// What lies in the repository, and the link that takes its place.
    pairs: Vec<(PathBuf, PathBuf)>,
    /// What every run must say.
    expected: Value,
}

impl Stage {
    fn new(words: &[&str]) -> Self {
        Self::with(words, Repository::build(), &|_| {})
    }

    fn with(words: &[&str], build: Build, prepare: &dyn Fn(&Repository)) -> Self {
        let argv =
            [&[".venv/bin/python", "-m", "balance.quick", "--seed", "{seed}", "--out", "{run}"], words];
        let build = build.without_baseline().file("src/balance/quick.py", TRAINING);
        let repository = build.train_with(&argv.concat()).approved();
        prepare(&repository);
        let mut value = reward_scale(2.5);
        value["phases"] = vec![phase("smoke", ROUNDS)].into();
        repository.ready("reward", value);
        let read = repository.python(&[
            "-c",
            &format!("import hashlib; print(hashlib.sha256(open({INPUT:?}, 'rb').read()).hexdigest())"),
        ]);
        let expected = serde_json::json!({
            "first": "", "reward_scale": 2.5, "hostile": false, "read": [read.expect(0).stdout.trim()],
        });
        let pairs = hostile(&repository);
        Self { repository, pairs, expected }
    }

    /// Says what a run must say.
    #[track_caller]
    fn check(&self, key: &str) {
        let lines = self.repository.run_lines(key, "train/metrics.jsonl");
        assert_eq!(lines, std::slice::from_ref(&self.expected), "{key}");
    }
}

/// Prepares what is put in the place of the changed file, of its folder and of the input. All of it would pass for the
/// real thing where nobody looks twice: the patch still applies.
fn hostile(repository: &Repository) -> Vec<(PathBuf, PathBuf)> {
    let aside = repository.path("build/hostile");
    std::fs::create_dir_all(aside.join("balance")).unwrap();
    for entry in std::fs::read_dir(repository.path("src/balance")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, aside.join("balance").join(path.file_name().unwrap())).unwrap();
        }
    }
    let reward = std::fs::read_to_string(repository.path(REWARD)).unwrap() + "\n\nHOSTILE = True\n";
    std::fs::write(aside.join("balance/reward.py"), reward).unwrap();
    std::fs::write(aside.join("states.json"), r#"{"states": [[0.0, 0.0]]}"#).unwrap();
    let pair = |real: &str, target: PathBuf, name: &str| {
        let link = aside.join(name);
        std::os::unix::fs::symlink(target, &link).unwrap();
        (repository.path(real), link)
    };
    vec![
        pair(INPUT, aside.join("states.json"), "input-link"),
        pair(REWARD, aside.join("balance/reward.py"), "file-link"),
        pair("src/balance", aside.join("balance"), "folder-link"),
    ]
}

/// The one is where the other was, in one step; at no moment is either missing.
fn swap(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

/// Waits until so many runs were ordered, which is when everything was looked at for the last time.
fn wait_for_order(repository: &Repository, runs: usize) {
    let folder = repository.state().join("runs");
    let until = Instant::now() + Duration::from_secs(30);
    let is_ordered = || {
        let folders = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        folders.filter(|folder| folder.join("order.json").exists()).count() >= runs
    };
    while !is_ordered() {
        assert!(Instant::now() < until, "no run was ordered");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whatever a launch has checked, it has: what is swapped afterwards doesn't reach the run.
#[test]
fn what_is_swapped_after_the_check_is_never_read() {
    let stage = Stage::new(&["--wait"]);
    let repository = &stage.repository;
    let line = repository.execute("reward", &repository.plan("reward")) + " --runs 1";
    let launch = repository.start(&line, &[]);
    wait_for_order(repository, 1);
    for (real, link) in &stage.pairs[..2] {
        swap(real, link);
    }
    repository.write("swapped", "");
    let ran = launch.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let key = &repository.runs_of("reward")[0];
    stage.check(key);
    assert!(repository.end_of(key)["not_evidence"].is_null());
    assert_eq!(std::fs::read(repository.path(INPUT)).unwrap(), br#"{"states": [[0.0, 0.0]]}"#);
}

/// What is too large to be copied is looked at again when the run is over.
#[test]
fn a_large_input_that_changes_makes_no_evidence() {
    let length = (256 << 20) + 1;
    let digest = Digest::of(&vec![0; length]);
    let build = Repository::build().agree(|agreed| {
        let inputs = agreed.runbook["inputs"].as_array_mut().unwrap();
        inputs.push(serde_json::json!({"path": "data/large.bin", "digest": digest}));
    });
    // It takes no room on the disk.
    let file = |repository: &Repository| File::create(repository.path("data/large.bin")).unwrap();
    let stage =
        Stage::with(&["--wait"], build, &|repository| file(repository).set_len(length as u64).unwrap());
    let repository = &stage.repository;
    let line = repository.execute("reward", &repository.plan("reward")) + " --runs 1";
    repository.write("swapped", "");
    repository.rlx(&line).expect(0);
    let first = &repository.runs_of("reward")[0];
    assert!(repository.end_of(first)["not_evidence"].is_null());
    assert_eq!(repository.run_lines(first, "train/metrics.jsonl")[0]["first"], "00");

    std::fs::remove_file(repository.path("swapped")).unwrap();
    let launch = repository.start(&line, &[]);
    wait_for_order(repository, 2);
    let mut large = OpenOptions::new().write(true).open(repository.path("data/large.bin")).unwrap();
    large.write_all(&[7]).unwrap();
    repository.write("swapped", "");
    launch.wait_with_output().unwrap();
    let second = &repository.runs_of("reward")[1];
    let end = repository.end_of(second);
    assert_eq!(end["not_evidence"], "input_changed", "{end}");
    assert!(end["reason"].as_str().unwrap().contains("data/large.bin"), "{end}");
    // It was a link: what lies in the repository is what the run read.
    assert_eq!(repository.run_lines(second, "train/metrics.jsonl")[0]["first"], "07");
}

/// The changed file, its folder and the input are swapped for links as fast as can be, while one launch after another
/// looks at them: each refuses, or runs what was validated.
#[test]
fn hostile_content_never_runs() {
    let stage = Stage::new(&[]);
    let repository = &stage.repository;
    let plan = repository.plan("reward");
    let launch = repository.execute("reward", &plan) + " --runs 1";
    let (mut ran, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        // Now without a pause, now so seldom that some launches get through.
        let pause = Duration::from_millis(if round % 2 == 0 { 0 } else { 15 });
        let over = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| swap_about(&stage.pairs, pause, &over));
            let outcome = repository.rlx(&launch);
            over.store(true, Ordering::Relaxed);
            outcome
        });
        let keys = repository.runs_of("reward");
        match outcome.code {
            Some(0) => {
                ran += 1;
                stage.check(keys.last().unwrap());
            }
            Some(3) => refused += 1,
            _ => panic!("round {round}: {:?}\n{}\n{}", outcome.code, outcome.stdout, outcome.stderr),
        }
        assert_eq!(keys.len(), ran, "round {round}: {}", outcome.stdout);
    }
    assert!(ran > 0 && refused > 0, "{ran} ran, {refused} were refused: nothing was raced for");
    // Nothing of it was put on record for good: with everything in its place, it goes.
    assert_eq!(repository.plan("reward"), plan);
    repository.rlx("verify --chain").expect(0);
}

/// Swaps and swaps back until it is over; then everything is where it belongs.
fn swap_about(pairs: &[(PathBuf, PathBuf)], pause: Duration, over: &AtomicBool) {
    let mut turn = 0;
    while !over.load(Ordering::Relaxed) {
        let (real, link) = &pairs[turn % pairs.len()];
        swap(real, link);
        std::thread::yield_now();
        swap(real, link);
        turn += 1;
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
    assert!(turn > 0, "nothing was swapped");
    for (real, _) in pairs {
        assert!(!real.is_symlink(), "{} was left swapped", real.display());
    }
}
