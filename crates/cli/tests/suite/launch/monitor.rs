//! `rlx study monitor` on runs that are active: what it sees, what it recommends, and that it stops nothing.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::launch::candidates::reward_scale;
use crate::launch::repository::Repository;

/// Training whose loss becomes NaN, with a line that is half written, and that waits for a file in its own folder.
const WAITS: &str = "printf '{\"step\":10,\"value_loss\":1.0}\\n{\"step\":20,\"value_loss\":null}\\n{\"step\":30,\"va' > \"$2/metrics.jsonl\"\n\
    : > \"$2/begun\"\nuntil test -e \"$2/go\"; do sleep 0.01; done\n";

fn wait_for(path: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < until, "there is no {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A study with a run that waits, and its key.
fn waiting() -> (Repository, String) {
    let build = Repository::build()
        .file("train.sh", WAITS)
        .train_with(&["sh", "train.sh", "{seed}", "{run}"])
        .quick_eval()
        .without_baseline()
        .agree(|agreed| {
            agreed.runbook["artifacts"] = json!([]);
            agreed.runbook["inputs"] = json!([]);
            let source = json!({"format": "jsonl", "file": "train/metrics.jsonl", "pointer": "/value_loss", "step": "/step"});
            agreed.metric_spec["diagnostics"] =
                json!([{"name": "value-loss", "direction": "lower", "aggregation": "last", "source": source}]);
        });
    let repository = build.approved();
    repository.ready("reward", reward_scale(2.5));
    let line = repository.execute("reward", &repository.plan("reward")) + " --detach";
    repository.rlx(&line).expect(0);
    let key = repository.runs_of("reward").remove(0);
    wait_for(&repository.run_folder(&key).join("train/begun"));
    (repository, key)
}

fn end(repository: &Repository, key: &str) {
    std::fs::write(repository.run_folder(key).join("train/go"), "").unwrap();
}

#[test]
fn a_live_run_is_read_while_it_writes_and_is_not_stopped() {
    let (repository, key) = waiting();
    let report = repository.rlx("study monitor --json").expect(0).json();
    assert_eq!(report["active"], true, "{report}");
    let run = &report["runs"][0];
    for (field, expected) in [
        ("key", json!(key)),
        ("found", json!("running")),
        ("step", json!("train")),
        ("phase", json!("smoke")),
        ("silence_limit", json!(30)),
        ("limit", json!(60)),
    ] {
        assert_eq!(run[field], expected, "{field} of {run}");
    }
    assert!(run["silent_for"].as_f64().is_some_and(|seconds| seconds < 60.0), "{run}");
    let metrics = run["metrics"].as_array().unwrap();
    let loss = metrics.iter().find(|metric| metric["name"] == "value-loss").unwrap();
    // The half line is left out, and NaN is not a number.
    assert_eq!(
        (&loss["points"], &loss["step"], &loss["last"]),
        (&json!(2), &json!(20.0), &Value::Null),
        "{loss}"
    );
    assert_eq!(run["rules"]["findings"][0]["rule"], "F01", "{run}");
    assert!(run["rules"]["lacking"].as_array().unwrap().iter().any(|one| one["rule"] == "F16"), "{run}");
    assert_eq!(run["advice"]["command"], format!("rlx launch cancel {key}"), "{run}");
    let shown = repository.rlx(&format!("study monitor {key}")).expect(0);
    for part in ["consider cancelling", "F01", "lacks data: F16", "step 20"] {
        assert!(shown.stdout.contains(part), "no {part:?} in\n{}", shown.stdout);
    }
    // It recommends and does nothing.
    assert!(repository.records("run_ended").is_empty());
    end(&repository, &key);
    repository.rlx(&format!("launch adopt {key}")).expect(0);
    let report = repository.rlx("study monitor --json").expect(0).json();
    assert_eq!(
        (&report["active"], &report["runs"][0]["state"]),
        (&json!(false), &json!("ended (ok)")),
        "{report}"
    );
    let unknown = repository.rlx("study monitor nothing-1 --json").expect(2).json();
    assert_eq!(unknown["code"], "run_not_found", "{unknown}");
}

#[test]
fn following_ends_with_the_last_run() {
    let (repository, key) = waiting();
    let mut child = repository.start("study monitor --follow --json", &[]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(first["runs"][0]["found"], "running", "{first}");
    end(&repository, &key);
    let last: Value =
        serde_json::from_str(&lines.last().expect("a line says that it ended").unwrap()).unwrap();
    assert_eq!(last["schema"], "rlx.study_monitor/1");
    assert_eq!((&last["active"], &last["runs"][0]["state"]), (&json!(false), &json!("ended (ok)")), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // The watching command recorded the end.
    assert_eq!(repository.end_of(&key)["end"], "ok");
}

#[test]
fn an_interrupt_ends_the_following_and_not_the_run() {
    let (repository, key) = waiting();
    let mut child = repository.start("study monitor --follow", &[]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with(&format!("{key} running (train)")));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(repository.records("run_ended").is_empty());
    end(&repository, &key);
    repository.rlx(&format!("launch adopt {key}")).expect(0);
}

#[test]
fn damaged_run_folders_are_named() {
    let (repository, key) = waiting();
    let shim = repository.run_folder(&key).join("shim.json");
    let before = std::fs::read(&shim).unwrap();
    std::fs::write(&shim, "{").unwrap();
    let report = repository.rlx("study monitor --json").expect(0).json();
    assert!(!report["warnings"].as_array().unwrap().is_empty(), "{report}");
    assert_eq!(report["runs"][0]["found"], "unknown", "{report}");
    std::fs::write(&shim, before).unwrap();
    end(&repository, &key);
    repository.rlx(&format!("launch adopt {key}")).expect(0);
    std::fs::remove_dir_all(repository.run_folder(&key)).unwrap();
    let report = repository.rlx(&format!("study monitor {key} --json")).expect(0).json();
    assert!(report["runs"][0]["problems"][0].as_str().unwrap().contains("its folder is gone"), "{report}");
}
