//! From a baseline to verdicts, with real runs and the commands that `study next` names.

use serde_json::{Value, json};

use crate::launch::candidates::{baseline, reward_scale};
use crate::launch::repository::Repository;

/// The score follows the reward that training used, and differs a little by seed.
const MEASURE: &str = r#"
import json, os, sys
out, seed, trained = sys.argv[1], int(sys.argv[2]), sys.argv[3]
scale = json.loads(open(os.path.join(trained, "metrics.jsonl")).readline())["reward_scale"]
os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "scores.json"), "w") as file:
    json.dump({"success": 0.2 * scale + seed % 97 / 10000}, file)
"#;

/// Follows `study next` until it names something else than a run, its metrics, a look or a report. Reports are not
/// written yet, so their step is taken by a record. Returns what was judged.
fn follow(repository: &Repository, id: &str) -> Vec<Value> {
    let mut judged = Vec::new();
    for _ in 0..40 {
        let next = repository.rlx("study next --json").expect(0).json();
        let command = next["command"].as_str().unwrap_or_default().to_owned();
        match next["action"].as_str().unwrap() {
            "launch" | "smoke" => {
                assert_eq!(command, format!("rlx launch {id}"));
                repository.launch(id).expect(0);
            }
            "extract" => drop(repository.rlx("study extract --json").expect(0)),
            "judge" => {
                let ran = repository.rlx(&format!("{} --json", command.strip_prefix("rlx ").unwrap()));
                assert!([Some(0), Some(1)].contains(&ran.code), "{}", ran.stdout);
                judged.push(ran.json());
            }
            _ => return judged,
        }
    }
    panic!("it never ends: {judged:?}");
}

#[test]
fn a_better_candidate_is_accepted_and_its_files_are_what_counts() {
    let repository = Repository::build()
        .file("measure.py", MEASURE)
        .eval_with(&[".venv/bin/python", "measure.py", "{run}", "{seed}", "{trained}"])
        .agree(|agreed| agreed.contract["statistics"]["screen_seeds"] = 1.into())
        .approved();
    repository.ready("baseline", baseline());
    assert_eq!(follow(&repository, "baseline"), Vec::<Value>::new());
    // What changes nothing makes no claim.
    let refused = repository.rlx("study judge baseline --json").expect(3).json();
    assert_eq!(refused["code"], "makes_no_claim", "{refused}");

    repository.ready("reward", reward_scale(2.5));
    assert_eq!(repository.rlx("study judge reward --json").expect(3).json()["code"], "not_launched");
    let judged = follow(&repository, "reward");
    assert_eq!(judged.len(), 2, "a look and a verdict: {judged:?}");
    let (look, verdict) = (&judged[0], &judged[1]);
    assert_eq!(
        (&look["schema"], &look["recorded"]),
        (&json!("rlx.judgement/1"), &json!(["looked"])),
        "{look}"
    );
    assert_eq!(look["looked"]["call"], "accept", "{look}");
    assert_eq!((&look["looked"]["seeds"], &look["looked"]["incumbent_seeds"]), (&json!(5), &json!(5)));
    assert_eq!(verdict["recorded"], json!(["completed", "judged", "decided"]), "{verdict}");
    assert_eq!(verdict["judged"]["verdict"], "accepted", "{verdict}");
    assert!((0.5..0.52).contains(&verdict["judged"]["score"].as_f64().unwrap()), "{verdict}");
    assert!(
        verdict["checks"].as_array().unwrap().iter().all(|check| check["result"] != "failed"),
        "{verdict}"
    );
    // One smoke run, one short one, five confirm seeds and five audit seeds.
    assert_eq!(repository.runs_of("reward").len(), 12);
    assert_eq!(repository.rlx("study judge reward").expect(3).stdout, "");
    let next = repository.rlx("study next --json").expect(0).json();
    assert_eq!(next["action"], "report", "{next}");
    repository.rlx("verify --chain").expect(0);
}

/// A file of the baseline that isn't what was read keeps everything compared with it from being accepted.
#[test]
fn a_changed_file_of_the_reference_makes_a_verdict_inconclusive() {
    let repository = Repository::build()
        .file("measure.py", MEASURE)
        .eval_with(&[".venv/bin/python", "measure.py", "{run}", "{seed}", "{trained}"])
        .agree(|agreed| agreed.contract["statistics"]["screen_seeds"] = 1.into())
        .approved();
    repository.ready("baseline", baseline());
    follow(&repository, "baseline");
    repository.ready("reward", reward_scale(2.5));
    for _ in 0..2 {
        repository.launch("reward").expect(0);
    }
    repository.rlx("study extract").expect(0);
    repository.launch("reward").expect(0);
    repository.rlx("study extract").expect(0);
    let run = repository.runs_of("baseline")[3].clone();
    let scores = repository.run_folder(&run).join("eval/scores.json");
    std::fs::write(&scores, r#"{"success": 0.9}"#).unwrap();
    let shown = repository.rlx("study judge reward").expect(1).stdout;
    for part in [
        "reward inconclusive",
        "failed files_changed: run",
        "decision: escalate",
        "recorded: looked, completed",
    ] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    assert_eq!(repository.records("judged")[0]["failed_checks"], json!(["files_changed"]));
}
