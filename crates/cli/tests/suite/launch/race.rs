//! Files that are swapped while a launch checks them and while its run reads them: what was validated runs, or nothing
//! does.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rlxp_types::Digest;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;

use crate::launch::candidates::{REWARD, reward_scale};
use crate::launch::repository::{Build, Repository};

const INPUT: &str = "data/start_states.json";
/// Launches while files are swapped.
const ROUNDS: u64 = 20;

/// Training that takes no time and prints what it read. With `--wait` it reads only once `swapped` exists in the
/// environment, with `--stay` it continues only once that is gone again.
const TRAINING: &str = r#"
import argparse, hashlib, json, os, sys, time
from balance import reward as paid

parser = argparse.ArgumentParser()
parser.add_argument("--seed")
parser.add_argument("--out", required=True)
parser.add_argument("--wait", action="store_true")
parser.add_argument("--stay", action="store_true")
words = parser.parse_args()
until = time.monotonic() + 30
def wait(is_there):
    while is_there != os.path.exists(os.path.join(sys.prefix, "lib", "swapped")):
        assert time.monotonic() < until, "nobody swapped anything"
        time.sleep(0.002)
if words.wait:
    wait(True)
read = set()
for _ in range(50):
    with open("data/start_states.json", "rb") as file:
        read.add(hashlib.sha256(file.read()).hexdigest())
with open(os.path.join(words.out, "metrics.jsonl"), "w") as file:
    with open("data/large.bin", "rb") if os.path.exists("data/large.bin") else open(os.devnull, "rb") as large:
        first = large.read(1).hex()
    line = {"first": first, "reward_scale": paid.REWARD_SCALE, "hostile": hasattr(paid, "HOSTILE"), "read": sorted(read)}
    file.write(json.dumps(line) + "\n")
if words.stay:
    wait(False)
with open(os.path.join(words.out, "policy.json"), "w") as file:
    file.write("{}")
"#;

/// A repository, with everything hostile prepared next to it.
struct Stage {
    repository: Repository,
    /// A file in the repository, and the link that replaces it.
    pairs: Vec<(PathBuf, PathBuf)>,
    /// What every run must print.
    expected: Value,
}

impl Stage {
    fn new(words: &[&str]) -> Self {
        Self::with(words, Repository::build(), &|_| {})
    }

    fn with(words: &[&str], build: Build, prepare: &dyn Fn(&Repository)) -> Self {
        let argv =
            [&[".venv/bin/python", "-m", "balance.quick", "--seed", "{seed}", "--out", "{run}"], words];
        let build = build.without_baseline().screen_seeds(ROUNDS).file("src/balance/quick.py", TRAINING);
        let build = build.quick_eval();
        let build = build.agree(|agreed| agreed.contract["budget"]["disk"] = "10GiB".into());
        let repository = build.train_with(&argv.concat()).approved();
        prepare(&repository);
        repository.ready("reward", reward_scale(2.5));
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

    /// Returns what a run must print.
    #[track_caller]
    fn check(&self, key: &str) {
        let lines = self.repository.run_lines(key, "train/metrics.jsonl");
        assert_eq!(lines, std::slice::from_ref(&self.expected), "{key}");
    }
}

/// Prepares replacements for the changed file, for its folder and for the input. All of them pass a superficial check:
/// the patch still applies.
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

/// Exchanges the two atomically; neither is ever missing.
fn swap(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

/// Waits until so many runs were ordered, which is when everything has been checked for the last time.
fn wait_for_order(repository: &Repository, runs: usize) {
    let folder = repository.state().join("runs");
    wait_until("a run is ordered", || {
        let folders = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        folders.filter(|folder| folder.join("order.json").exists()).count() >= runs
    });
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A launch uses exactly what it has checked: files swapped afterwards don't reach the run.
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
    repository.write(".venv/lib/swapped", "");
    let ran = launch.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let key = &repository.runs_of("reward")[0];
    stage.check(key);
    assert!(repository.end_of(key)["not_evidence"].is_null());
    assert_eq!(std::fs::read(repository.path(INPUT)).unwrap(), br#"{"states": [[0.0, 0.0]]}"#);
}

/// Inputs that are too large to be copied are checked again when the run is over. They must not only be unchanged, but
/// have been unchanged all the time.
#[test]
fn a_large_input_that_changes_makes_no_evidence() {
    let length = (256 << 20) + 1;
    let digest = Digest::hash(&vec![0; length]);
    let build = Repository::build().agree(|agreed| {
        let inputs = agreed.runbook["inputs"].as_array_mut().unwrap();
        inputs.push(serde_json::json!({"path": "data/large.bin", "digest": digest}));
    });
    // It takes no room on the disk.
    let file = |repository: &Repository| File::create(repository.path("data/large.bin")).unwrap();
    let stage = Stage::with(&["--wait", "--stay"], build, &|repository| {
        file(repository).set_len(length as u64).unwrap();
    });
    let repository = &stage.repository;
    let line = repository.execute("reward", &repository.plan("reward")) + " --runs 1";
    let run = |number: usize, while_it_reads: &dyn Fn(&[u8])| {
        let launch = repository.start(&line, &[]);
        wait_for_order(repository, number);
        while_it_reads(&[7]);
        repository.write(".venv/lib/swapped", "");
        let key = repository.runs_of("reward").pop().unwrap();
        let metrics = repository.run_folder(&key).join("train/metrics.jsonl");
        wait_until("the run has read", || {
            std::fs::read_to_string(&metrics).is_ok_and(|text| text.ends_with('\n'))
        });
        while_it_reads(&[0]);
        std::fs::remove_file(repository.path(".venv/lib/swapped")).unwrap();
        let ran = launch.wait_with_output().unwrap();
        let first = repository.run_lines(&key, "train/metrics.jsonl")[0]["first"].clone();
        (ran.status.code(), repository.end_of(&key), first)
    };
    let (code, end, first) = run(1, &|_| ());
    assert_eq!((code, &end["not_evidence"], first), (Some(0), &Value::Null, "00".into()), "{end}");

    let modified = std::fs::metadata(repository.path("data/large.bin")).unwrap().modified().unwrap();
    let change = |byte: &[u8]| {
        let mut large = OpenOptions::new().write(true).open(repository.path("data/large.bin")).unwrap();
        large.write_all(byte).unwrap();
        large.set_modified(modified).unwrap();
    };
    let (_, end, first) = run(2, &change);
    assert_eq!(end["not_evidence"], "input_changed", "{end}");
    assert!(end["reason"].as_str().unwrap().contains("data/large.bin"), "{end}");
    // It was a link: the run read what was in the repository. At its end the content was correct again.
    assert_eq!(first, "07");
    assert_eq!(Digest::hash(&std::fs::read(repository.path("data/large.bin")).unwrap()), digest);
}

/// The changed file, its folder and the input are swapped for links as fast as possible, while one launch after another
/// checks them: each refuses, or runs what was validated.
#[test]
fn hostile_content_never_runs() {
    let stage = Stage::new(&[]);
    let repository = &stage.repository;
    let plan = repository.plan("reward");
    let launch = repository.execute("reward", &plan) + " --runs 1";
    let (mut ran, mut refused) = (0, 0);
    // The pause between swaps adapts to the machine so that some launches succeed: it grows after each refusal and
    // shrinks after each success.
    let mut seldom = Duration::from_millis(15);
    for round in 0..ROUNDS {
        let pause = if round % 2 == 0 { Duration::ZERO } else { seldom };
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
        if !pause.is_zero() {
            seldom = if outcome.code == Some(0) { seldom / 2 } else { seldom * 2 };
        }
        assert_eq!(keys.len(), ran, "round {round}: {}", outcome.stdout);
    }
    assert!(ran > 0 && refused > 0, "{ran} ran, {refused} were refused: nothing was raced for");
    // None of it had a lasting effect: with everything restored, the launch succeeds.
    assert_eq!(repository.plan("reward"), plan);
    repository.rlx("verify --chain").expect(0);
}

/// Swaps and swaps back until it is over, and leaves everything in its place.
fn swap_about(pairs: &[(PathBuf, PathBuf)], pause: Duration, over: &AtomicBool) {
    let is_over = || over.load(Ordering::Relaxed);
    for (real, link) in pairs.iter().cycle() {
        swap(real, link);
        std::thread::yield_now();
        swap(real, link);
        let began = Instant::now();
        while began.elapsed() < pause && !is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if is_over() {
            break;
        }
    }
    for (real, _) in pairs {
        assert!(!real.is_symlink(), "{} was left swapped", real.display());
    }
}
