//! From finished runs to the next candidate: what the reward did, where a policy keeps working, and what follows.

use serde_json::{Value, json};

use crate::launch::candidates::{REFLECTION, baseline, reward_scale};
use crate::launch::repository::{Build, Repository};

/// Trains nothing, but leaves the components of a reward that pays for staying alive, and a policy.
const TRAIN: &str = r#"
import json, os, sys
seed, out = int(sys.argv[1]), sys.argv[2]
os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "metrics.jsonl"), "w") as file:
    for step in range(30):
        at = step / 29 + 0.001 * (seed % 7)
        line = {"step": step, "alive": 5 - at, "upright": 1 + 0.1 * at, "effort": -0.5 * at, "success": at, "length": 10 + 90 * at}
        file.write(json.dumps(line) + "\n")
with open(os.path.join(out, "policy.json"), "w") as file:
    json.dump({"seed": seed}, file)
"#;

const EVAL: &str = r#"
import json, os, sys
out = sys.argv[1]
os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "scores.json"), "w") as file:
    json.dump({"success": 0.75, "kl": 0.08, "seed": sys.argv[2]}, file)
"#;

/// The policy works from half to twice the usual gravity, and the simulation breaks where it is too strong.
const PROBE: &str = r#"
import json, os, sys
trained, key, value, out = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
assert key == "gravity" and "seed" in json.load(open(os.path.join(trained, "policy.json")))
assert not os.path.exists(os.path.join(trained, "..", "eval")), "only what training left is there"
if value > 5:
    sys.exit("the solver diverged")
os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "probe.json"), "w") as file:
    json.dump({"episodes": 40, "successes": 40 if 0.5 <= value <= 2 else 1}, file)
"#;

fn build() -> Build {
    let python = |words: &[&str]| json!([&[".venv/bin/python"], words].concat());
    let series = |name: &str| {
        json!({"name": name, "direction": "higher", "aggregation": "mean", "source":
            {"format": "jsonl", "file": "train/metrics.jsonl", "pointer": format!("/{name}"), "step": "/step"}})
    };
    let build = Repository::build()
        .file("train.py", TRAIN)
        .file("evaluate.py", EVAL)
        .file("probe.py", PROBE)
        .file("configs/env.yaml", "gravity: 1.0\n")
        .file("configs/reward.yaml", "alive: 5.0\n")
        .train_with(&[".venv/bin/python", "train.py", "{seed}", "{run}"])
        .eval_with(&[".venv/bin/python", "evaluate.py", "{run}", "{seed}"])
        .screen_seeds(1);
    build.agree(|agreed| {
        let contract = &mut agreed.contract;
        contract["exceptions"] = json!([]);
        contract["scope"]["surfaces"] = json!(["reward", "ppo", "weights", "env"]);
        contract["budget"]["runs"] = 100.into();
        contract["budget"]["wall_clock"] = "3h".into();
        contract["budget"]["disk"] = "20GiB".into();
        agreed.runbook["probe"] =
            json!({"argv": python(&["probe.py", "{trained}", "{key}", "{value}", "{run}", "{seed}"])});
        let surfaces = agreed.surface_map["surfaces"].as_array_mut().unwrap();
        surfaces.push(json!({"id": "weights", "kind": "reward", "paths": ["configs/reward.yaml"],
            "operations": ["set"], "keys": [{"key": "alive", "min": 0.0, "max": 10.0}]}));
        surfaces.push(json!({"id": "env", "kind": "randomisation", "paths": ["configs/env.yaml"],
            "operations": ["set"], "keys": [{"key": "gravity", "min": 0.1, "max": 10.0}]}));
        let spec = &mut agreed.metric_spec;
        spec["components"] = json!(["alive", "upright", "effort"].map(series));
        let mut success = series("success");
        success["name"] = "train-success".into();
        let mut length = series("length");
        length["name"] = "episode-length".into();
        let kl = json!({"name": "approx-kl", "direction": "lower", "aggregation": "last", "source":
            {"format": "json", "file": "eval/scores.json", "pointer": "/kl"}});
        spec["diagnostics"] = json!([success, length, kl]);
    })
}

/// With a baseline whose metrics were read.
fn with_baseline() -> Repository {
    let repository = build().approved();
    repository.ready("baseline", baseline());
    repository.launch_through("baseline", "confirm").expect(0);
    repository.rlx("study extract").expect(0);
    repository
}

#[test]
fn a_change_of_the_reward_builds_on_a_reflection_that_rlx_wrote() {
    let repository = with_baseline();
    let written_by_hand = reward_scale(2.5);
    repository.candidate("by-hand", written_by_hand);
    assert_eq!(repository.validate("by-hand").expect(3).codes(), ["analysis_unknown"]);

    let report = repository.rlx("study reflect --json").expect(0).json();
    let file = "audits/reward_reflection-baseline.json";
    assert_eq!((&report["file"], &report["already"]), (&file.into(), &false.into()), "{report}");
    let content: Value = serde_json::from_str(&repository.read(file)).unwrap();
    assert_eq!(content, report["reward_reflection"]);
    assert_eq!(content["schema"], "rlxp.reward_reflection/1");
    let reflection = &content["reflection"];
    assert_eq!(reflection["runs"], 5);
    let alive = &reflection["components"][0];
    assert!(alive["share"]["value"].as_f64().unwrap() > 0.7 && alive["share"]["low"].is_number(), "{alive}");
    assert_eq!((&alive["trend"], &alive["with_task"]["value"]), (&"falls".into(), &(-1.0).into()), "{alive}");
    assert_eq!(
        content["metrics"],
        json!({"reward": null, "task": "train-success", "length": "episode-length"})
    );
    let record = repository.last("analyzed");
    assert_eq!((&record["what"], &record["file"]), (&"reward_reflection".into(), &file.into()));
    let bytes = std::fs::read(repository.file(file)).unwrap();
    assert_eq!(record["digest"], rlxp_types::Digest::hash(&bytes).to_string());
    let page = repository.rlx("study reflect baseline").expect(0).stdout;
    for part in ["alive", "falls", "F20", "already recorded"] {
        assert!(page.contains(part), "no {part:?} in\n{page}");
    }
    assert!(page.lines().count() < 40, "it is read in a minute:\n{page}");
    assert_eq!(repository.records("analyzed").len(), 1);

    let on = |file: &str| {
        let mut value = reward_scale(2.5);
        value["requirements"]["reflection"] = file.into();
        value
    };
    repository.candidate("reward", on(file));
    repository.validate("reward").expect(0);
    // One letter changed, and it isn't the file that rlx wrote.
    let text = repository.read(file);
    std::fs::write(repository.file(file), text.replacen("alive", "aliwe", 1)).unwrap();
    repository.candidate("other", on(file));
    assert_eq!(repository.validate("other").expect(3).codes(), ["analysis_unknown"]);
    std::fs::write(repository.file(file), text).unwrap();

    // One run by itself has numbers without intervals.
    let key = repository.runs_of("baseline").last().unwrap().clone();
    let one = repository.rlx(&format!("study reflect {key} --json")).expect(0).json();
    let share = &one["reward_reflection"]["reflection"]["components"][0]["share"];
    assert_eq!((&share["seeds"], &share["low"]), (&1.into(), &Value::Null));
    let smoke = repository.runs_of("baseline")[0].clone();
    assert_eq!(
        repository.rlx(&format!("study reflect {smoke} --json")).expect(3).json()["code"],
        "run_not_whole"
    );
    repository.rlx("study reflect nothing").expect(2);

    // A file of a run that changed since is never read.
    let metrics = repository.run_folder(&key).join("train/metrics.jsonl");
    let before = std::fs::read_to_string(&metrics).unwrap();
    std::fs::write(&metrics, before.replacen("alive", "aliwe", 1)).unwrap();
    assert_eq!(repository.rlx("study reflect --json").expect(3).json()["code"], "run_file_changed");
    std::fs::write(&metrics, before).unwrap();

    // Reflections come out the same again, and each byte of them and of their records is checked.
    let verified = repository.rlx("verify --json").expect(0).json();
    assert!(verified["holds"].to_string().contains("reflections and probe summaries"), "{verified}");
    let found = repository.forged("analyzed", |body| {
        body["digest"] = rlxp_types::Digest::hash(b"other").to_string().into();
        true
    });
    assert!(found.contains(&"analysis_differs".to_owned()), "{found:?}");
    let text = repository.read(file);
    std::fs::write(repository.file(file), text.replacen("falls", "rises", 1)).unwrap();
    let found = repository.rlx("verify --json").expect(1).json();
    assert_eq!(found["problems"][0]["code"], "analysis_file_changed", "{found}");
    std::fs::remove_file(repository.file(file)).unwrap();
    let found = repository.rlx("verify --json").expect(1).json();
    assert_eq!(found["problems"][0]["code"], "analysis_file_gone", "{found}");
}

#[test]
fn without_components_there_is_nothing_to_reflect_on() {
    let repository = Repository::new();
    let refused = repository.rlx("study reflect --json").expect(2).json();
    assert_eq!(refused["code"], "no_components", "{refused}");
    assert!(std::fs::read_to_string(repository.file(REFLECTION)).is_ok());
    assert!(repository.records("analyzed").is_empty());
    // A key that isn't a number in a range, and a surface without keys: no idea is an answer.
    let answer = repository.rlx("study probe plan --surface ppo --key clip --json").expect(2).json();
    assert_eq!(answer["code"], "no_probe_step", "{answer}");
}

#[test]
fn proposals_pass_every_gate() {
    let repository = with_baseline();
    repository.rlx("study reflect").expect(0);
    let shown = repository.rlx("study propose --count 20 --dry-run --json").expect(0).json();
    assert_eq!(shown["written"], false);
    assert!(!repository.file("candidates/learning-rate-down.yaml").exists());

    let report = repository.rlx("study propose --count 5 --json").expect(0).json();
    let proposals = report["proposals"].as_array().unwrap();
    assert_eq!(proposals.len(), 5, "{report}");
    // Findings first: the divergence is high, and staying alive dominates the reward.
    let first: Vec<&str> = proposals[..2].iter().map(|one| one["candidate"].as_str().unwrap()).collect();
    assert_eq!(first, ["learning-rate-down", "alive-down"], "{report}");
    assert!(!shown.to_string().contains("learning-rate-up"), "{shown}");
    assert!(
        proposals[1]["evidence"].to_string().contains("audits/reward_reflection-baseline.json"),
        "{report}"
    );
    for proposal in proposals {
        let id = proposal["candidate"].as_str().unwrap();
        repository.validate(id).expect(0);
        for part in ["hypothesis", "risk", "expected_effect", "evidence"] {
            assert!(!proposal[part].is_null(), "{part} of {proposal}");
        }
    }
    // The same step is never proposed twice.
    let again = repository.rlx("study propose --count 100 --dry-run --json");
    for proposal in again.json()["proposals"].as_array().unwrap() {
        assert!(
            !proposals.iter().any(|one| (&one["key"], &one["to"]) == (&proposal["key"], &proposal["to"])),
            "{proposal}"
        );
    }
}

#[test]
fn no_idea_is_an_answer() {
    let repository =
        build().agree(|agreed| agreed.contract["scope"]["surfaces"] = json!(["reward"])).approved();
    let answer = repository.rlx("study propose --json").expect(1).json();
    assert_eq!(answer["proposals"], json!([]), "{answer}");
    assert!(answer["left_out"][0].as_str().unwrap().contains("no keys"), "{answer}");
    assert!(repository.rlx("study propose").expect(1).stdout.contains("nothing to propose"));
}

#[test]
fn a_policy_is_probed_over_an_agreed_grid() {
    let repository = with_baseline();
    let plan = "study probe plan --surface env --key gravity";
    assert_eq!(
        repository.rlx(&format!("{plan} --grid 1,20 --json")).expect(2).json()["code"],
        "out_of_range"
    );
    assert_eq!(repository.rlx("study probe plan --surface env --key mass").expect(2).code, Some(2));
    let planned = repository.rlx(&format!("{plan} --grid 0.2,0.5,2,4,8 --json")).expect(0).json();
    assert_eq!(planned["values"], json!([0.2, 0.5, 1.0, 2.0, 4.0, 8.0]), "{planned}");
    assert_eq!((&planned["runs"], &planned["policies"]), (&6.into(), &5.into()), "{planned}");
    let id = planned["candidate"].as_str().unwrap();
    assert_eq!(id, "probe-gravity");
    repository.validate(id).expect(0);
    repository.approve(id).expect(0);
    let summarize = format!("study probe summarize {id} --json");
    assert_eq!(repository.rlx(&summarize).expect(3).json()["code"], "not_probed");
    // One of them breaks, and the others still run.
    assert_eq!(repository.launch(id).code, Some(4));
    let intents: Vec<Value> =
        repository.records("launch_intent").into_iter().filter(|intent| intent["candidate"] == id).collect();
    let values: Vec<f64> = intents.iter().map(|intent| intent["probe"]["value"].as_f64().unwrap()).collect();
    assert_eq!(values, [0.2, 0.5, 1.0, 2.0, 4.0, 8.0]);
    let trained = intents[0]["probe"]["trained"].as_str().unwrap();
    assert!(repository.runs_of("baseline").iter().any(|run| run == trained));
    assert!(!repository.run_folder(intents[0]["key"].as_str().unwrap()).join("train").exists());

    let report = repository.rlx(&summarize).expect(0).json();
    let summary = &report["probe_summary"]["summary"];
    assert_eq!(summary["range"], json!({"from": 0.5, "to": 2.0}), "{summary}");
    assert_eq!(summary["next"], json!([0.35, 3.0]), "{summary}");
    let failed = &summary["grid"][5];
    assert_eq!((&failed["successes"], &failed["status"]), (&0.into(), &"infeasible".into()), "{failed}");
    let page = repository.rlx(&format!("study probe summarize {id}")).expect(0).stdout;
    for part in ["works from 0.5 to 2", "1 of 6 runs failed", "nominal"] {
        assert!(page.contains(part), "no {part:?} in\n{page}");
    }
    // Probes have no metrics, and the study continues without them.
    assert_ne!(repository.rlx("study next --json").expect(0).json()["action"], "extract");

    let change = json!({"surface": "env", "operation": "set", "path": "configs/env.yaml", "key": "gravity",
        "from": 1.0, "to": 1.5});
    let value = |probe: &str| {
        json!({"schema": "rlxp.candidate/1", "task": "balance", "study": "tuning", "kind": "randomisation",
            "hypothesis": "harder training", "changes": [change], "rollback": "set it back", "risk": "none",
            "requirements": {"probe": probe}})
    };
    repository.candidate("by-hand", value(REFLECTION));
    assert_eq!(repository.validate("by-hand").expect(3).codes(), ["analysis_unknown"]);
    repository.candidate("harder", value("audits/probe-probe-gravity.json"));
    repository.validate("harder").expect(0);
    // Beyond what was probed, and what wasn't probed at all.
    let mut value = value("audits/probe-probe-gravity.json");
    value["changes"][0]["to"] = 9.5.into();
    repository.candidate("too-hard", value.clone());
    assert_eq!(repository.validate("too-hard").expect(3).codes(), ["not_probed"]);
    let verified = repository.rlx("verify --json").expect(0).json();
    assert!(verified["holds"].to_string().contains("reflection or probe summary"), "{verified}");
}
