//! Before training: steps that are tried on their own, checks that block a run, and files that a run needs.

use serde_json::{Value, json};

use super::{attempts, files, said};
use crate::launch::candidates::{baseline, reward_with};
use crate::launch::repository::{Build, Repository};

/// Succeeds when `READY` is set.
const CHECK: &str = "\
import os
import sys

print('looking around', flush=True)
if os.environ.get('READY') != 'yes':
    sys.exit('the data set is not mounted')
print('all there', flush=True)
";

fn with_check() -> Build {
    Repository::build().without_baseline().file("check.py", CHECK).agree(|agreed| {
        agreed.runbook["preflight"] = json!({
            "argv": [".venv/bin/python", "check.py"], "environment": ["READY"], "free_of_side_effects": true,
        });
    })
}

/// A step can be tried before the loop is entered, once what it depends on is approved; one that isn't marked can't.
#[test]
fn a_step_without_side_effects_can_be_tried() {
    let repository = with_check().drafted();
    for approved in ["hardware", "baseline", "evaluation"] {
        let refused = repository.rlx("launch --probe preflight --json").expect(3).json();
        assert_eq!(refused["code"], "approval_missing", "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(approved), "{refused}");
        assert_eq!(refused["hints"][0], "rlx approve hardware baseline evaluation");
        repository.sign(approved, "alice").expect(0);
    }
    let (before, kinds) = (repository.untouched(), repository.kinds());
    // Its state is derived from the ledger.
    let study = || {
        let mut files = files(&repository.file(""), &repository.file("ledger.jsonl"));
        files.remove(&repository.file("state.json"));
        files
    };
    let study_before = study();
    for (ready, end) in [("yes", "ok"), ("no", "blocked")] {
        let tried = repository.rlx_where(&[("READY", ready)], "launch --probe preflight --json");
        assert_eq!(tried.code, Some(if end == "ok" { 0 } else { 4 }), "{}\n{}", tried.stdout, tried.stderr);
        let report = tried.json();
        assert_eq!((&report["end"], &report["level"]), (&end.into(), &"full".into()), "{report}");
        assert!(report["output"].as_array().unwrap().contains(&"looking around".into()), "{report}");
        let probed = repository.last("probed");
        assert_eq!((&probed["step"], &probed["end"]), (&"preflight".into(), &end.into()), "{probed}");
    }
    assert!(repository.last("probed")["reason"].as_str().unwrap().contains("not mounted"));
    let refused = repository.rlx("launch --probe train --json").expect(3);
    assert!(refused.stdout.contains("side_effects"), "{}", refused.stdout);
    // Two more records, and nothing else.
    assert_eq!(repository.kinds(), [kinds, vec!["probed".to_owned(); 2]].concat());
    assert_eq!(repository.untouched(), before);
    assert_eq!(study(), study_before);
    let left = std::fs::read_dir(repository.state().join("probes")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "something is left of what was only tried");
    assert!(!repository.state().join("runs").exists());
}

/// Something is missing on this machine: that costs nothing, and the same seed runs again.
#[test]
fn a_check_that_fails_blocks_the_run() {
    let repository = with_check().approved();
    repository.ready("baseline", baseline());
    let budget = || repository.rlx("study status --json").expect(0).json()["budget"].clone();
    let before = budget();
    let launch = |ready: &str| {
        let line = repository.execute("baseline", &repository.plan("baseline"));
        repository.rlx_where(&[("READY", ready)], &(line + " --runs 1"))
    };
    launch("no").expect(4);
    let first = repository.runs_of("baseline")[0].clone();
    let end = repository.end_of(&first);
    assert_eq!(end["end"], "blocked", "{end}");
    assert!(end["reason"].as_str().unwrap().contains("not mounted"), "{end}");
    assert!(end["spent"].as_object().unwrap().values().all(|amount| *amount == 0), "{end}");
    assert_eq!(budget(), before);
    assert!(!repository.run_folder(&first).join("train.log").exists(), "training began");
    let next = repository.rlx("study next --json").expect(0).json();
    assert_ne!(next["action"], "stop", "{next}");

    launch("yes").expect(0);
    let intents = repository.records("launch_intent");
    assert_eq!(intents.len(), 2, "{intents:?}");
    assert_eq!(intents[0]["seed"], intents[1]["seed"]);
    let second = repository.end_of(intents[1]["key"].as_str().unwrap());
    assert_eq!((&second["end"], &second["spent"]["runs"]), (&"ok".into(), &1.into()), "{second}");
    assert_ne!(budget(), before);
}

/// Files that git ignores and a run needs are provided, and their originals stay unchanged whatever training does.
#[test]
fn inputs_are_read_and_stay_as_they_are() {
    let repository = Repository::build().without_baseline().approved();
    let input = repository.path("data/start_states.json");
    let before = (std::fs::read(&input).unwrap(), std::fs::metadata(&input).unwrap().modified().unwrap());
    let absolute = input.display().to_string();
    let tried: Vec<(&str, String)> = vec![
        ("read", "read('data/start_states.json')".to_owned()),
        ("write", "write('data/start_states.json')".to_owned()),
        ("write_real", "write(os.path.realpath('data/start_states.json'))".to_owned()),
        ("write_absolute", format!("write('{absolute}')")),
        ("cut_absolute", format!("os.truncate('{absolute}', 0)")),
        // So that training continues with what it needs, if it could be broken at all.
        ("restore", "restore()".to_owned()),
    ];
    let restore = "KEPT = open('data/start_states.json').read()\n\n\ndef restore():\n    if open('data/start_states.json').read() != KEPT:\n        open('data/start_states.json', 'w').write(KEPT)\n\n\n";
    let code = attempts(&[]) + restore + attempts(&tried).strip_prefix(&attempts(&[])).unwrap();
    repository.ready("inputs", reward_with(&code));
    repository.ready("later", baseline());
    let ran = repository.launch("inputs");
    assert_eq!(
        (std::fs::read(&input).unwrap(), std::fs::metadata(&input).unwrap().modified().unwrap()),
        before
    );
    ran.expect(0);
    let said = said(&repository, &repository.runs_of("inputs")[0]);
    let blocked = |what: &str| said[what] == "BLOCKED";
    assert!(!blocked("read") && blocked("write_absolute") && blocked("cut_absolute"), "{said:?}");

    let line = repository.execute("later", &repository.plan("later"));
    std::fs::write(&input, [before.0, b"\n".to_vec()].concat()).unwrap();
    let refused = repository.rlx(&line).expect(3);
    let answer = refused.json();
    let names_inputs = |refusal: &Value| refusal["gate"] == "inputs" && refusal["code"] == "input_changed";
    assert!(answer["refusals"].as_array().unwrap().iter().any(names_inputs), "{answer}");
    assert!(refused.stdout.contains("data/start_states.json"), "{answer}");
    assert_eq!(repository.runs_of("later").len(), 0);
}
