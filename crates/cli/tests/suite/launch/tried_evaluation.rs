//! The smoke phase tries the evaluation: a mistake in its command is found before a run counts.

use serde_json::{Value, json};

use crate::launch::candidates::baseline;
use crate::launch::repository::{Build, Repository};

const TRAIN: &str = "echo trained > \"$2/policy.json\"\n";

fn build() -> Build {
    Repository::build().file("train.sh", TRAIN).train_with(&["sh", "train.sh", "{seed}", "{run}"]).agree(
        |agreed| {
            agreed.runbook["artifacts"] = json!(["policy.json"]);
            agreed.runbook["inputs"] = json!([]);
        },
    )
}

fn order(repository: &Repository, key: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(repository.run_folder(key).join("order.json")).unwrap())
        .unwrap()
}

/// A typo in the name of the file that evaluation writes. The study isn't over: the command is mended, and the same
/// baseline continues.
#[test]
fn a_missing_metric_is_found_in_the_smoke_phase() {
    let eval = "echo '{\"success\": 0.5}' > \"$2/score.json\"\necho 'scores written' > \"$2/notes.txt\"\n";
    let repository =
        build().file("eval.sh", eval).eval_with(&["sh", "eval.sh", "{seed}", "{run}"]).approved();
    repository.ready("baseline", baseline());
    repository.launch("baseline").expect(4);
    let key = repository.runs_of("baseline").remove(0);
    let end = repository.end_of(&key);
    assert_eq!(end["end"], "failed", "{end}");
    assert_eq!(
        end["reason"],
        "eval did not write eval/scores.json, which the primary metric success is read from; \
         it left eval/notes.txt, eval/score.json",
        "{end}"
    );
    // No evaluation seed was spent on it, and no metric of it is read.
    assert_eq!(repository.last("launch_intent")["evaluation_seed"], Value::Null);
    let argv = order(&repository, &key)["steps"][1]["argv"].clone();
    assert_eq!(argv[2], repository.last("launch_intent")["seed"].to_string(), "{argv}");
    assert_eq!(repository.records("evidence").len(), 0);

    // The next step is to revise it; once the metric is where it is read from, the same baseline continues.
    let next = repository.rlx("study next --json").expect(0).json();
    assert!(next["command"].as_str().unwrap().contains("candidate revise baseline"), "{next}");
    repository.edit("metric_spec.yaml", "eval/scores.json", "eval/score.json");
    repository.sign("--all", "alice").expect(0);
    repository.rlx("candidate revise baseline").expect(0);
    repository.validate("baseline").expect(0);
    repository.approve("baseline").expect(0);
    repository.launch_through("baseline", "confirm").expect(0);
    repository.rlx("verify --chain").expect(0);
}

/// An evaluation that can't even start.
#[test]
fn a_typo_in_the_command_is_found_in_the_smoke_phase() {
    let repository = build().eval_with(&["sh", "evaluate.sh", "{seed}", "{run}"]).approved();
    repository.ready("baseline", baseline());
    repository.launch("baseline").expect(4);
    let end = repository.end_of(&repository.runs_of("baseline")[0]);
    assert!(end["reason"].as_str().unwrap().contains("evaluate.sh"), "{end}");
}

/// A smoke test of its own is evaluated if it leaves what training would have left, and otherwise not.
#[test]
fn a_smoke_test_of_its_own_is_evaluated_if_it_left_something() {
    let smoke = "test \"$1\" = leaves && echo trained > \"$3/policy.json\"\ntrue\n";
    for (word, steps) in [("leaves", 2), ("leaves-nothing", 1)] {
        let argv = json!(["sh", "smoke.sh", word, "{seed}", "{run}"]);
        let build = build().file("smoke.sh", smoke).quick_eval();
        let repository = build.agree(|agreed| agreed.runbook["smoke"] = json!({ "argv": argv })).approved();
        repository.ready("baseline", baseline());
        let plan = repository.rlx("launch baseline --json").expect(0).json();
        assert!(plan["warnings"].to_string().contains("only if smoke leaves policy.json"), "{plan}");
        repository.launch("baseline").expect(0);
        let key = repository.runs_of("baseline").remove(0);
        let text = std::fs::read_to_string(repository.run_folder(&key).join("end.json")).unwrap();
        let end: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(end["steps"].as_array().unwrap().len(), steps, "{word}: {end}");
        assert_eq!(repository.run_folder(&key).join("eval/scores.json").exists(), steps == 2);
        // That there is nothing to measure is not a problem of the metric.
        let report = repository.rlx(&format!("metric check --run {key} --json")).expect(0).json();
        let is = if steps == 2 { "read" } else { "not_evaluated" };
        assert_eq!(
            (&report["metrics"][0]["sample"]["is"], &report["fine"]),
            (&is.into(), &true.into()),
            "{report}"
        );
    }
}
