//! An agent that wants another result, another change or another budget: other folders, other programs, arguments that
//! were not agreed, results that it brings itself.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::launch::candidates::{baseline, learning_rate, reward_scale};
use crate::launch::repository::{Build, Repository};

/// Training that fails immediately.
const FAILS: &str = "echo it went badly; exit 7\n";

fn quick(train: &str) -> Build {
    Repository::build()
        .file("train.sh", train)
        .train_with(&["sh", "train.sh", "{seed}", "{run}"])
        .eval_with(&["sh", "eval.sh", "{seed}", "{run}"])
        .agree(|agreed| {
            agreed.runbook["artifacts"] = json!([]);
            agreed.runbook["inputs"] = json!([]);
        })
}

/// Waits for a file that a run will write.
#[track_caller]
fn wait_for(path: &std::path::Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn found(repository: &Repository, variables: &[(&str, &str)]) -> Value {
    let status = repository.rlx_where(variables, "launch status --json").expect(0).json();
    status["runs"][0]["found"].clone()
}

/// Missing files of a run don't show how it went, and are no reason to run it again.
#[test]
fn a_bad_run_is_not_lost_by_looking_elsewhere() {
    let repository = quick(FAILS).without_baseline().approved();
    repository.ready("steps", learning_rate(1.0));
    let plan = repository.plan("steps");
    repository.rlx(&format!("{} --detach", repository.execute("steps", &plan))).expect(0);
    let key = repository.runs_of("steps").remove(0);
    wait_for(&repository.run_folder(&key).join("end.json"));

    // The same command with another state folder, where the run doesn't exist.
    let elsewhere = repository.home().join("elsewhere").display().to_string();
    let there = [("XDG_STATE_HOME", elsewhere.as_str())];
    assert_eq!(found(&repository, &there), "unknown");
    repository.rlx_where(&there, &format!("launch adopt {key}")).expect(3);
    let again = repository.rlx_where(&there, &repository.execute("steps", &plan)).expect(3);
    assert!(again.codes().iter().any(|code| code == "live_run"), "{}", again.stdout);
    // Its folder removed.
    let (folder, aside) = (repository.run_folder(&key), repository.home().join("aside"));
    std::fs::rename(&folder, &aside).unwrap();
    assert_eq!(found(&repository, &[]), "unknown");
    // Its folder recreated, empty.
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(found(&repository, &[]), "unknown");
    assert!(repository.records("run_ended").is_empty());
    assert_eq!(repository.runs_of("steps").len(), 1);

    // Cancelled, it is over, and counts with the failure score and everything that was reserved for it.
    std::fs::remove_dir(&folder).unwrap();
    repository.rlx(&format!("launch cancel {key}"));
    let end = repository.end_of(&key);
    assert_eq!((&end["end"], &end["spent"]["wall_clock"]), (&"cancelled".into(), &60.into()), "{end}");
    repository.rlx(&repository.execute("steps", &plan)).expect(3);
    assert_eq!(repository.runs_of("steps").len(), 1);
}

/// A study in two places has one id, one state folder and one set of keys.
#[test]
fn a_copied_study_lends_no_results() {
    let repository = quick("echo \"$2\" > \"$2/where\"\n").approved();
    repository.ready("baseline", baseline());
    let plan = repository.plan("baseline");
    let copy = repository.home().join("copy");
    repository.run("cp", &["-r", ".", copy.to_str().unwrap()]).expect(0);
    // Under another name it belongs to no study.
    let twin = repository.path(".rlxp/tasks/balance/studies/twin");
    let tuning = repository.path(".rlxp/tasks/balance/studies/tuning");
    repository.run("cp", &["-r", tuning.to_str().unwrap(), twin.to_str().unwrap()]).expect(0);
    let refused = repository.rlx("candidate validate baseline --study twin --json").expect(3);
    assert!(refused.codes().contains(&"other_study".to_owned()), "{:?}", refused.codes());
    std::fs::remove_dir_all(twin).unwrap();
    let root = format!("--root {}", copy.display());
    let there = repository.rlx(&format!("{} {root}", repository.execute("baseline", &plan)));
    let here = repository.rlx(&repository.execute("baseline", &plan));
    // Whatever the result, every run that counts here was started from here.
    let launched: Vec<Value> = repository.records("launched");
    for ended in repository.records("run_ended") {
        let was_launched = launched.iter().any(|launched| launched["key"] == ended["key"]);
        assert!(was_launched || ended["end"] == "blocked", "{ended}\n{}\n{}", there.stdout, here.stdout);
    }
    repository.rlx("verify --chain").expect(0);
}

/// An agent can't choose the interpreter that others ran with, nor what precedes a program.
#[test]
fn programs_and_words_are_those_that_were_agreed() {
    let repository = Repository::new();
    repository.ready("baseline", baseline());
    repository.launch_through("baseline", "confirm").expect(0);
    repository.ready("steps", learning_rate(1.0));

    // Another interpreter for what is compared with the baseline.
    let python = repository.path(".venv/bin/python");
    let real = std::fs::read_link(&python).unwrap();
    std::fs::remove_file(&python).unwrap();
    let script = format!("#!/bin/sh\nexec {} \"$@\"\n", crate::launch::repository::python().display());
    std::fs::write(&python, script).unwrap();
    rustix::fs::chmod(&python, rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    let refused = repository.validate("steps").expect(3);
    assert_eq!(refused.codes(), ["other_programs"], "{}", refused.stdout);
    std::fs::remove_file(&python).unwrap();
    std::os::unix::fs::symlink(real, &python).unwrap();
    repository.validate("steps").expect(0);

    // More arguments for the train command, in a file that agents write.
    let adapter = ".rlxp/tasks/balance/adapter.yaml";
    let before = std::fs::read_to_string(repository.path(adapter)).unwrap();
    let more = "override_syntax: --iterations=100000 --set={key}={value}\n";
    repository.write(adapter, &format!("{}{more}", before.replace("override_syntax: null\n", "")));
    repository.rlx("study audit").expect(0);
    let refused = repository.validate("steps").expect(3);
    assert!(refused.codes().iter().all(|code| code == "approval_void"), "{}", refused.stdout);
    assert_eq!(repository.standing("scope"), "void");
    let said = repository.rlx("contract diff").expect(0).stdout;
    assert!(said.contains("override_syntax"), "{said}");
    let shown = repository.rlx("approve scope --show").expect(0).stdout;
    assert!(shown.contains("--iterations=100000"), "a person sees what they agree to: {shown}");
    repository.write(adapter, &before);
    repository.rlx("study audit").expect(0);
    repository.sign("--all", "alice").expect(0);

    // Something else to run, called a trial.
    let marker = repository.home().join("marker");
    let mut runbook: Value = serde_json::from_str(&repository.read("runbook.yaml")).unwrap();
    runbook["train"] = json!({"argv": ["touch", marker, "{seed}"], "free_of_side_effects": true});
    std::fs::write(repository.file("runbook.yaml"), runbook.to_string()).unwrap();
    let refused = repository.rlx("launch --probe train --json").expect(3);
    assert_eq!(refused.json()["code"], "approval_void", "{}", refused.stdout);
    assert!(!marker.exists() && repository.records("probed").is_empty());
    repository.rlx("verify --chain").expect(0);
}

/// A result that is brought from outside costs what was reserved for it, and can be brought once.
#[test]
fn what_is_brought_back_costs_what_was_reserved() {
    let repository = Repository::build().without_baseline().screen_seeds(1).approved();
    repository.ready("reward", reward_scale(2.5));
    repository.launch_through("reward", "smoke").expect(0);
    std::fs::create_dir_all(repository.home().join("results/eval")).unwrap();
    std::fs::write(repository.home().join("results/eval/scores.json"), r#"{"success": 1.0}"#).unwrap();
    let from = repository.home().join("results").display().to_string();
    let hand_over = |name: &str| {
        let file = repository.home().join(name).display().to_string();
        repository.rlx(&format!("launch reward --handoff --to {file} --json"))
    };
    let first = hand_over("one").expect(0).json()["key"].as_str().unwrap().to_owned();
    // Not twice at once, not for nothing, not from elsewhere.
    assert!(hand_over("two").expect(3).codes().contains(&"live_run".to_owned()));
    repository.rlx(&format!("study receive {first} --from {from} --end blocked")).expect(2);
    repository.rlx(&format!("study receive ../{first} --from {from}")).expect(2);
    repository.rlx(&format!("study receive {first} --from {from} --wall-clock -1")).expect(2);
    repository.rlx(&format!("launch adopt {first}")).expect(3);
    assert_eq!(repository.records("run_ended").len(), 1, "only the smoke run's");
    // A run that is reported as lost runs again with the same seed, and both are charged.
    repository.rlx(&format!("study receive {first} --from {from} --end lost")).expect(0);
    assert_eq!(repository.end_of(&first)["spent"]["wall_clock"], 60);
    let second = hand_over("three").expect(0).json()["key"].as_str().unwrap().to_owned();
    let seeds: Vec<Value> =
        repository.records("launch_intent").into_iter().map(|mut intent| intent["seed"].take()).collect();
    assert_eq!(seeds[1], seeds[2]);
    repository.rlx(&format!("study receive {second} --from {from} --end lost --wall-clock 1")).expect(0);
    let third = hand_over("four").expect(3);
    assert!(!third.stdout.is_empty() && repository.runs_of("reward").len() == 3, "{}", third.stdout);
    repository.rlx("verify --chain").expect(0);
}
