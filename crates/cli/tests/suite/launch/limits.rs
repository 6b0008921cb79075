//! Training that uses more than was agreed: each run is ended for its own reason, leaves no process, and its seed counts.

use serde_json::{Value, json};

use crate::launch::agreed::Agreed;
use crate::launch::candidates::reward_with;
use crate::launch::repository::Repository;

/// The agreed score of a failed run.
const FAILURE_SCORE: f64 = -7.5;

/// A word that no other process on this machine has among its arguments.
fn marker(what: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("rlx-{what}-{}-{}", std::process::id(), now.as_nanos())
}

/// Processes that have `word` among their arguments.
pub(crate) fn processes_with(word: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path().join("cmdline"));
    let lines =
        entries.filter_map(|path| Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned()));
    lines.filter(|line| line.contains(word)).collect()
}

/// Code that starts a second process with the word among its arguments, which sleeps, and then does `body`.
fn with_company(word: &str, body: &str) -> String {
    let company = "import subprocess\nimport sys\nimport time\n\n\
                   print('it begins', flush=True)\n\
                   subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', 'WORD'])\n";
    company.replace("WORD", word) + body
}

/// Runs code instead of training: the smoke phase of a candidate of this name. Its end is recorded when this returns.
fn runs_into(repository: &Repository, id: &str, body: &str, limit: &str) -> Value {
    let word = marker(id);
    repository.ready(id, reward_with(&with_company(&word, body)));
    let ran = repository.launch(id);
    assert_eq!(ran.code, Some(4), "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(processes_with(&word), Vec::<String>::new(), "left by {id}");

    let keys = repository.runs_of(id);
    assert_eq!(keys.len(), 1, "{keys:?}");
    let own = repository.run_folder(&keys[0]).join("train");
    assert_eq!(processes_with(own.to_str().unwrap()), Vec::<String>::new(), "left by {id}");
    let end = repository.end_of(&keys[0]);
    assert_eq!(end["end"], "limit", "{end}");
    let reason = end["reason"].as_str().unwrap();
    assert!(reason.starts_with(&format!("{limit}: ")), "{id} was ended for {reason}");
    assert_eq!(end["confinement"], "full", "{end}");
    assert!(end["manifest"].is_string(), "{end}");
    is_settled(repository, id, &keys[0]);
    end
}

/// The run counts once: it is charged, it is visible, and its seed can't run again.
fn is_settled(repository: &Repository, id: &str, key: &str) {
    let end = repository.end_of(key);
    assert_eq!(end["spent"]["runs"], 1, "{end}");
    assert!(end["spent"]["wall_clock"].as_u64().unwrap() >= 1, "{end}");
    let status = repository.rlx("launch status --json").expect(0).json();
    let runs = status["runs"].as_array().unwrap();
    let shown = runs.iter().find(|run| run["key"] == key).unwrap_or_else(|| panic!("no {key}: {status}"));
    assert_eq!((&shown["reason"], &shown["found"]), (&end["reason"], &Value::Null), "{shown}");
    assert!(shown["state"].as_str().unwrap().contains("limit"), "{shown}");
    assert_eq!(shown["score"], Value::Null, "a smoke run never counts: {shown}");
    let next = repository.rlx("study next --json").expect(0).json();
    assert!(!["stop", "monitor", "launch"].contains(&next["action"].as_str().unwrap()), "{next}");
    // A failed smoke run ends the phase: there is no other seed for it, and no second try.
    let again = repository.rlx(&format!("launch {id} --json"));
    assert_eq!(again.code, Some(3), "{}", again.stdout);
    assert_eq!(repository.runs_of(id).len(), 1);
}

fn agreed(change: impl FnOnce(&mut Agreed)) -> Repository {
    let build = Repository::build().without_baseline().agree(|agreed| {
        agreed.contract["budget"]["per_run"]["memory"] = "128MiB".into();
        agreed.contract["budget"]["per_run"]["processes"] = 24.into();
        agreed.contract["budget"]["per_run"]["disk"] = "4MiB".into();
        agreed.runbook["stop"]["output"] = "1MiB".into();
        agreed.metric_spec["failure_score"] = FAILURE_SCORE.into();
    });
    build.agree(change).approved()
}

/// What would harm the machine.
#[test]
fn more_than_was_agreed_ends_a_run() {
    let repository = agreed(|_| ());
    let before = repository.untouched();
    let memory = "kept = []\nfor _ in range(400):\n    kept.append(bytearray(b'x') * (4 << 20))\n    time.sleep(0.005)\n\
                  time.sleep(600)";
    runs_into(&repository, "memory", memory, "memory");
    // Each process starts one child, up to 150; one that can't waits.
    let processes = "import os\n\ndepth = 0\nwhile depth < 150:\n    depth += 1\n    try:\n        child = os.fork()\n\
                     \x20   except OSError:\n        break\n    if child:\n        break\ntime.sleep(600)";
    runs_into(&repository, "processes", processes, "processes");
    let disk = "out = sys.argv[sys.argv.index('--out') + 1]\nwith open(out + '/filler', 'wb') as file:\n\
                \x20   for _ in range(64):\n        file.write(b'x' * (1 << 20))\n        file.flush()\n\
                \x20       time.sleep(0.2)\ntime.sleep(600)";
    let end = runs_into(&repository, "disk", disk, "disk");
    assert!(end["spent"]["disk"].as_u64().unwrap() > 4 << 20, "{end}");
    let key = &repository.runs_of("disk")[0];
    let filled = std::fs::metadata(repository.run_folder(key).join("train/filler")).unwrap().len();
    assert!(filled < 64 << 20, "{filled} bytes were written before anybody noticed");
    // Into its tree instead of its own folder, with the same result.
    let tree = disk.replace("out + '/filler'", "'src/filler'");
    runs_into(&repository, "tree", &tree, "disk");
    let output = "while True:\n    print('x' * 1000)";
    runs_into(&repository, "output", output, "output");
    let key = &repository.runs_of("output")[0];
    let log = std::fs::metadata(repository.run_folder(key).join("train.log")).unwrap().len();
    assert!(log < 2 << 20, "a log of {log} bytes");
    assert_eq!(repository.untouched(), before);
    repository.rlx("verify --chain").expect(0);
}

/// What only takes time.
#[test]
fn longer_than_was_agreed_ends_a_run() {
    let repository = agreed(|agreed| {
        agreed.contract["budget"]["per_run"]["cpu_time"] = "3s".into();
        agreed.runbook["stop"]["silence"] = "2s".into();
    });
    let talks = "while True:\n    print('still here', flush=True)\n    time.sleep(0.05)";
    runs_into(&repository, "silent", "time.sleep(600)", "inactivity");
    let burns = "while True:\n    print('busy', flush=True)\n    sum(range(100000))";
    runs_into(&repository, "burner", burns, "CPU time");
    repository.rlx("verify --chain").expect(0);
    // It ignores SIGTERM: it gets a moment, and no more.
    let deaf = format!("import signal\n\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{talks}");
    let repository = agreed(|agreed| agreed.contract["budget"]["per_run"]["wall_clock"] = "2s".into());
    runs_into(&repository, "sleeper", talks, "wall clock");
    let end = runs_into(&repository, "deaf", &deaf, "wall clock");
    assert!((1..30).contains(&end["spent"]["wall_clock"].as_u64().unwrap()), "{end}");
    repository.rlx("verify --chain").expect(0);
}

/// Of two seeds the first reaches a limit: the second continues, and the first never runs again.
#[test]
fn the_seed_of_a_run_that_was_ended_is_not_rolled_again() {
    let repository = agreed(|agreed| agreed.runbook["stop"]["output"] = "100KiB".into());
    let code =
        "import os\n\nif '-short-1-' in os.environ['RLX_RUN']:\n    while True:\n        print('x' * 1000)";
    repository.ready("halting", reward_with(code));
    repository.launch("halting").expect(0);
    // One at a time, so that there is something to launch after the run that was ended.
    let line = repository.execute("halting", &repository.plan("halting")) + " --runs 1";
    repository.rlx(&line).expect(4);
    let budget =
        |repository: &Repository| repository.rlx("study status --json").expect(0).json()["budget"].clone();
    let after_one = budget(&repository);
    repository.launch("halting").expect(0);
    assert_ne!(budget(&repository), after_one);
    let runs = repository.runs_of("halting");
    let ends: Vec<Value> = runs.iter().map(|key| repository.end_of(key)["end"].clone()).collect();
    assert_eq!(ends, ["ok", "limit", "ok"], "{runs:?}");
    let intents = repository.records("launch_intent");
    let seeds: Vec<&Value> = intents.iter().skip(1).map(|intent| &intent["seed"]).collect();
    assert_eq!(seeds, [1, 2], "{runs:?}");
    let status = repository.rlx("launch status --json").expect(0).json();
    let ended = status["runs"].as_array().unwrap().iter().find(|run| run["key"] == runs[1].as_str()).unwrap();
    assert_eq!(ended["score"], json!({ "value": FAILURE_SCORE, "from": "failure_score" }), "{ended}");
    let again = repository.rlx("launch halting --json").expect(3);
    assert!(again.stdout.contains("nothing_to_run") || !again.codes().is_empty(), "{}", again.stdout);
    assert_eq!(repository.runs_of("halting").len(), 3);
}
