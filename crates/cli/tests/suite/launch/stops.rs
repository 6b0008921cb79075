//! Launches that stop in between, plans that are stale, and smoke runs that show what is missing: each says what
//! happened and how to continue.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::launch::candidates::{baseline, phase};
use crate::launch::repository::Repository;
use crate::project::RLX;

/// A command as a shell takes it.
#[track_caller]
fn paste(repository: &Repository, command: &str) {
    let line = command.replacen("rlx ", &format!("{RLX} "), 1);
    let status = repository.command("sh").args(["-c", &line]).status().unwrap();
    assert_eq!(status.code(), Some(0), "{command}");
}

#[track_caller]
fn next(repository: &Repository) -> Value {
    repository.rlx("study next --json").expect(0).json()
}

fn wait_for(path: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < until, "there is no {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Training that waits for a file in its own folder, except in the smoke phase.
const WAITS: &str =
    "test \"$1\" -lt 1000 && exit 0\n: > \"$2/begun\"\nuntil test -e \"$2/go\"; do sleep 0.01; done\n";

fn baseline_with_confirm() -> Value {
    let mut candidate = baseline();
    candidate["phases"] = json!([phase("smoke", 1), phase("confirm", 5)]);
    candidate
}

#[test]
fn a_launch_that_stops_in_between_says_so() {
    let repository = Repository::build()
        .file("train.sh", WAITS)
        .train_with(&["sh", "train.sh", "{seed}", "{run}"])
        .quick_eval()
        .agree(|agreed| {
            agreed.runbook["artifacts"] = json!([]);
            agreed.runbook["inputs"] = json!([]);
        })
        .approved();
    repository.ready("baseline", baseline_with_confirm());
    repository.launch("baseline").expect(0);
    let line = repository.execute("baseline", &repository.plan("baseline"));
    let launch = repository.start(&line, &[]);
    let begun = Instant::now();
    let key = loop {
        if let Some(key) = repository.runs_of("baseline").into_iter().find(|key| key.contains("confirm")) {
            break key;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing was launched");
        std::thread::sleep(Duration::from_millis(5));
    };
    let folder = repository.run_folder(&key).join("train");
    wait_for(&folder.join("begun"));
    // An edit of the contract while the first of five runs is active.
    repository.edit("contract.yaml", "keep the pole upright for longer", "keep the pole upright");
    std::fs::write(folder.join("go"), "").unwrap();
    let ran = crate::governed::study::ran(line, &launch.wait_with_output().unwrap()).expect(3);
    let report = ran.json();
    assert_eq!(report["runs"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["runs"][0]["state"], "ended (ok)", "{report}");
    assert_eq!(report["stopped"]["not_started"], 4, "{report}");
    assert!(!report["stopped"]["reason"].as_str().unwrap().is_empty(), "{report}");
}

#[test]
fn a_stale_plan_is_the_next_step_and_a_commit_of_the_study_makes_none() {
    let repository = Repository::new();
    repository.ready("baseline", baseline_with_confirm());
    assert_eq!(next(&repository)["command"], "rlx launch baseline");
    // As the guide says: the study is committed with the repository.
    repository.git(&["add", ".rlxp"]);
    repository.git(&["commit", "--quiet", "--message", "The study"]);
    assert_eq!(next(&repository)["command"], "rlx launch baseline");
    repository.plan("baseline");

    let program = repository.path(".venv/bin/python");
    let target = std::fs::read_link(&program).unwrap();
    std::fs::remove_file(&program).unwrap();
    std::os::unix::fs::symlink("/bin/true", &program).unwrap();
    let step = next(&repository);
    assert_eq!(step["command"], "rlx candidate validate baseline", "{step}");
    assert!(step["reason"].as_str().unwrap().contains("programs"), "{step}");
    paste(&repository, step["command"].as_str().unwrap());
    assert_eq!(next(&repository)["command"], "rlx launch baseline");
    std::fs::remove_file(&program).unwrap();
    std::os::unix::fs::symlink(target, &program).unwrap();
    assert_eq!(next(&repository)["command"], "rlx candidate validate baseline");
}

#[test]
fn an_input_that_a_smoke_run_misses_is_added_without_a_dead_candidate() {
    let repository = Repository::build().agree(|agreed| agreed.runbook["inputs"] = json!([])).approved();
    repository.ready("baseline", baseline_with_confirm());
    repository.launch("baseline").expect(4);
    let step = next(&repository);
    assert_eq!(step["command"], "rlx candidate revise baseline", "{step}");
    assert!(step["person"].as_str().unwrap().contains("rlx contract input FILE"), "{step}");

    repository.rlx("contract input data/start_states.json").expect(0);
    repository.rlx("contract input data/nothing.json").expect(2);
    let step = next(&repository);
    assert_eq!(step["action"], "request_approval", "{step}");
    repository.sign("--all", "alice").expect(0);
    let step = next(&repository);
    paste(&repository, step["command"].as_str().unwrap());
    let step = next(&repository);
    assert_eq!(step["command"], "rlx candidate validate baseline", "{step}");
    paste(&repository, step["command"].as_str().unwrap());
    repository.sign("--all", "alice").expect(0);
    assert_eq!(next(&repository)["command"], "rlx launch baseline");
    repository.launch("baseline").expect(0);
    // The smoke runs of both revisions are over, none is to be read or judged, and the queue continues.
    let step = next(&repository);
    assert_eq!(
        (&step["action"], &step["command"]),
        (&"launch".into(), &"rlx launch baseline".into()),
        "{step}"
    );
    let queue = repository.rlx("queue show --json").expect(0).json();
    let jobs = queue["jobs"].as_array().unwrap_or_else(|| panic!("{queue}"));
    assert!(jobs.iter().all(|job| job["stand"]["is"] != "stopped"), "{queue}");
    repository.rlx("verify --chain").expect(0);
}

/// Smoke runs are never evidence, so code that a smoke run proves wrong is fixed within the same study.
#[test]
fn a_bug_that_a_smoke_run_shows_is_fixed_in_the_same_study() {
    let repository = Repository::build()
        .file("train.sh", "exit 3\n")
        .train_with(&["sh", "train.sh", "{seed}", "{run}"])
        .quick_eval()
        .agree(|agreed| {
            agreed.runbook["artifacts"] = json!([]);
            agreed.runbook["inputs"] = json!([]);
        })
        .approved();
    repository.ready("baseline", baseline_with_confirm());
    repository.launch("baseline").expect(4);
    assert_eq!(next(&repository)["command"], "rlx candidate revise baseline");

    let wrong = repository.git(&["rev-parse", "HEAD"]);
    repository.write("train.sh", "exit 0\n");
    repository.git(&["add", "train.sh"]);
    repository.git(&["commit", "--quiet", "--message", "Training works"]);
    let fixed = repository.git(&["rev-parse", "HEAD"]);
    repository.edit("contract.yaml", wrong.trim(), fixed.trim());
    assert_eq!(next(&repository)["action"], "request_approval");
    repository.sign("--all", "alice").expect(0);
    for command in ["rlx candidate revise baseline", "rlx candidate validate baseline"] {
        let step = next(&repository);
        assert_eq!(step["command"], command, "{step}");
        paste(&repository, command);
    }
    repository.sign("--all", "alice").expect(0);
    repository.launch("baseline").expect(0);
    let step = next(&repository);
    assert_eq!(step["command"], "rlx launch baseline", "{step}");
    repository.rlx("verify --chain").expect(0);
}
