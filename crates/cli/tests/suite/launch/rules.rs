//! Ways to a better result that don't lead there: other plans, other baselines, runs that are ended, copies, and training
//! that knows its test.

use serde_json::{Value, json};

use crate::launch::agreed::Agreed;
use crate::launch::candidates::{baseline, phase, reward_scale, reward_with};
use crate::launch::repository::Repository;

const POLICY: &str = "src/balance/policy.py";

/// Training that is killed on the first attempt at every confirm seed.
const KILLED_ONCE: &str = r#"import os
import signal
import sys

key, out = os.environ["RLX_RUN"], sys.argv[1]
if "-confirm-" in key and key.endswith("-1"):
    os.kill(os.getpid(), signal.SIGKILL)
for name in ("metrics.jsonl", "policy.json"):
    open(os.path.join(out, name), "w").close()
"#;

#[test]
fn a_plan_of_its_own_is_refused() {
    let repository = Repository::build().without_baseline().approved();
    let refused = |phases: Value| {
        let mut value = reward_scale(2.5);
        value["phases"] = phases;
        repository.candidate("reward", value);
        repository.validate("reward").expect(3).codes()
    };
    let usual = [phase("smoke", 1), phase("short", 2)];
    let with =
        |confirm: Value| Value::from([&usual[..], &[confirm, phase("incumbent_validation", 5)]].concat());
    assert_eq!(refused(with(phase("confirm", 1))), ["other_seeds"], "one confirm seed");
    assert_eq!(refused(json!([phase("confirm", 5)])), ["other_phases"], "the confirm phase alone");
    let short = json!({"phase": "confirm", "seeds": 5, "wall_clock": "1s"});
    assert_eq!(refused(with(short)), ["other_limit"], "a limit that suits it");
    assert_eq!(repository.records("validated").len(), 0);

    // What rlx writes is what the contract says.
    let line = "candidate new drafted --key learning_rate --from 2.0 --to 1.0 --hypothesis slower --rollback no --risk no";
    repository.rlx(line).expect(0);
    repository.validate("drafted").expect(0);
    // An exact copy of what was launched, under another name.
    repository.approve("drafted").expect(0);
    repository.launch("drafted").expect(0);
    let text = repository.read("candidates/drafted.yaml").replace("id: drafted", "id: copied");
    std::fs::write(repository.file("candidates/copied.yaml"), text).unwrap();
    assert_eq!(repository.validate("copied").expect(3).codes(), ["tried_before"]);
}

/// Killing runs of the baseline gives each seed one more run, and nothing else; there is one baseline.
#[test]
fn killing_the_baseline_does_not_lower_the_bar() {
    let repository = Repository::build()
        .file("quick.py", KILLED_ONCE)
        .train_with(&[".venv/bin/python", "quick.py", "{run}", "{seed}"])
        .quick_eval()
        .approved();
    repository.ready("baseline", baseline());
    repository.launch("baseline").expect(0);
    repository.candidate("second", baseline());
    repository.validate("second").expect(0);
    repository.launch("baseline").expect(4);
    let runs = repository.runs_of("baseline");
    assert_eq!(runs.len(), 11, "{runs:?}");
    for pair in runs[1..].chunks(2) {
        let [first, again] = [&pair[0], &pair[1]].map(|key| repository.end_of(key));
        assert_eq!((&first["end"], &first["killed_by"]), (&"failed".into(), &9.into()), "{first}");
        assert_eq!((&again["end"], &again["killed_by"]), (&"ok".into(), &Value::Null), "{again}");
        assert_eq!(pair[0].strip_suffix('1'), pair[1].strip_suffix('2'), "the same seed");
        // Another evaluation seed would be another roll of the dice.
        let intents = repository.records("launch_intent");
        let evaluation = |key: &String| {
            let intent = intents.iter().find(|intent| intent["key"] == **key).unwrap();
            intent["evaluation_seed"].as_u64().unwrap()
        };
        assert_eq!(evaluation(&pair[0]), evaluation(&pair[1]), "{pair:?}");
    }
    // What has run isn't validated again; the hints lead on, and not to a copy of it.
    let settled = repository.validate("baseline").expect(3).json();
    let hints: Vec<&str> =
        settled["hints"].as_array().unwrap().iter().map(|hint| hint.as_str().unwrap()).collect();
    assert_eq!(
        (settled["code"].as_str(), &hints[..]),
        (Some("candidate_settled"), &["rlx candidate show baseline", "rlx study next"][..])
    );
    hints.iter().for_each(|hint| drop(repository.rlx(hint.trim_start_matches("rlx ")).expect(0)));
    assert_eq!(repository.validate("second").expect(3).codes(), ["second_baseline"]);
    // It is complete, so changes can be planned.
    repository.candidate("reward", reward_scale(2.5));
    repository.validate("reward").expect(0);
    // None of its runs needs a person, and none can be approved.
    let needless = repository.rlx(&format!("approve run:{} --print", runs[2])).expect(3);
    assert!(needless.stderr.contains("needs no approval"), "{}", needless.stderr);
    repository.rlx("approve run:nothing --print").expect(2);
    repository.rlx("verify --chain").expect(0);
}

/// A study that is easier to approve was opened first. Once a stronger one is open beside it, it launches nothing.
#[test]
fn a_weaker_study_that_was_opened_first_launches_nothing() {
    let build = Repository::build().without_baseline().screen_seeds(1);
    let repository = build.agree(|agreed| agreed.contract["assurance"] = "terminal".into()).approved();
    repository.ready("reward", reward_scale(2.5));
    let line = repository.execute("reward", &repository.plan("reward"));
    // The same agreement in a study that takes signatures only.
    repository.rlx("study init --task balance --study strong --assurance signature").expect(0);
    for name in ["contract.yaml", "metric_spec.yaml", "surface_map.yaml", "runbook.yaml"] {
        let text = repository.read(name);
        let text = text.replace("\"study\": \"tuning\"", "\"study\": \"strong\"");
        let text = text.replace("\"assurance\": \"terminal\"", "\"assurance\": \"signature\"");
        let strong = repository.file(name).to_str().unwrap().replace("/tuning/", "/strong/");
        std::fs::write(strong, text).unwrap();
    }
    let weak = format!("{line} --study tuning");
    // Not before its loop was entered: until then it governs nothing.
    repository.sign("task --study strong", "alice").expect(0);
    repository.rlx(&weak).expect(0);
    repository.sign("--all --study strong", "alice").expect(0);
    let again = repository.rlx("launch reward --study tuning --json").expect(0).json();
    let line = repository.execute("reward", again["plan"].as_str().unwrap());
    let refused = repository.rlx(&format!("{line} --study tuning")).expect(3).json();
    assert_eq!(refused["code"], "weaker_than_beside", "{refused}");
    // No seed was shown, and no attempt used up.
    assert_eq!(repository.runs_of("reward").len(), 1);
}

/// Training looks everywhere for the seed of its evaluation.
#[test]
fn training_never_sees_the_evaluation_seed() {
    let repository = Repository::build().without_baseline().approved();
    let code = "import os\nimport sys\n\n\
                print('ARGV', sys.argv, flush=True)\n\
                print('VARIABLES', dict(os.environ), flush=True)\n\
                own = sys.argv[sys.argv.index('--out') + 1]\n\
                for place in ('/../order.json', '/../claim.json', '/../shim.log', '/../eval', '/../../..'):\n\
                \x20   try:\n\
                \x20       found = os.listdir(own + place) if place.endswith(('eval', '..')) else open(own + place).read()\n\
                \x20       print('FOUND', place, found, flush=True)\n\
                \x20   except OSError:\n\
                \x20       print('NOTHING', place, flush=True)";
    repository.ready("curious", reward_with(code));
    repository.launch_through("curious", "short").expect(0);
    let intents = repository.records("launch_intent");
    assert_eq!(intents.len(), 3);
    assert_eq!(intents[0]["evaluation_seed"], Value::Null, "evaluation is only tried in a smoke run");
    let seeds: Vec<u64> = intents[1..].iter().map(|one| one["evaluation_seed"].as_u64().unwrap()).collect();
    assert!(seeds.iter().all(|seed| (20_000..30_000).contains(seed)) && seeds[0] != seeds[1], "{seeds:?}");
    for (intent, seed) in intents[1..].iter().zip(&seeds) {
        let folder = repository.run_folder(intent["key"].as_str().unwrap());
        let order: Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("order.json")).unwrap()).unwrap();
        let (train, eval) = (&order["steps"][0], &order["steps"][1]);
        assert!(!train.to_string().contains(&seed.to_string()), "{train}");
        let argv: Vec<&str> =
            eval["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(argv[argv.iter().position(|word| *word == "--seed").unwrap() + 1], seed.to_string());
        assert_eq!(eval["set"]["RLX_SEED"], seed.to_string());
        assert_eq!(train["set"]["RLX_SEED"], intent["seed"].to_string());
        let log = std::fs::read_to_string(folder.join("train.log")).unwrap();
        assert!(log.contains("ARGV") && log.contains("VARIABLES"), "{log}");
        assert!(!log.contains(&seed.to_string()) && !log.contains("FOUND /../order.json"), "{log}");
    }
}

/// A policy that evaluation can load only with the candidate's own code.
fn other_architecture() -> Value {
    let patch = format!(
        "--- a/{POLICY}\n+++ b/{POLICY}\n@@ -22,10 +22,10 @@\n\
         \x20    def save(self, path):\n\
         \x20        with open(path, \"w\", encoding=\"utf-8\") as file:\n\
         -            json.dump({{\"weights\": self.weights, \"noise\": self.noise}}, file)\n\
         +            json.dump({{\"layers\": [self.weights], \"noise\": self.noise}}, file)\n\
         \x20            file.write(\"\\n\")\n\x20\n\x20\n\
         \x20def load(path):\n\
         \x20    with open(path, encoding=\"utf-8\") as file:\n\
         \x20        kept = json.load(file)\n\
         -    return Linear(kept[\"weights\"], kept[\"noise\"])\n\
         +    return Linear(kept[\"layers\"][0], kept[\"noise\"])\n"
    );
    let mut value = reward_scale(1.0);
    value["kind"] = "policy".into();
    value["hypothesis"] = "layers learn more".into();
    value["changes"] =
        json!([{"surface": "network", "operation": "edit_code", "path": POLICY, "patch": patch}]);
    value.as_object_mut().unwrap().remove("requirements");
    value
}

fn with_network(evaluation_files: Value) -> impl Fn(&mut Agreed) {
    move |agreed: &mut Agreed| {
        agreed.contract["scope"]["surfaces"].as_array_mut().unwrap().push("network".into());
        let surface = json!({
            "id": "network", "kind": "policy", "paths": [POLICY], "operations": ["edit_code"],
            "evaluation_files": evaluation_files,
        });
        agreed.surface_map["surfaces"].as_array_mut().unwrap().push(surface);
    }
}

#[test]
fn a_policy_with_another_architecture_is_evaluated_and_waits_for_a_person() {
    let build = || Repository::build().without_baseline().screen_seeds(1);
    let repository = build().agree(with_network(json!(["src/balance/*.py"]))).approved();
    let before = repository.untouched();
    repository.ready("layers", other_architecture());
    repository.launch_through("layers", "smoke").expect(0);
    let plan = repository.rlx("launch layers --json").expect(0).json();
    assert!(plan["warnings"].to_string().contains("rlx approve run:KEY"), "{plan}");
    repository.launch_through("layers", "short").expect(0);
    let [smoke, short] = &repository.runs_of("layers")[..] else {
        panic!("{:?}", repository.runs_of("layers"))
    };
    let end = repository.end_of(short);
    assert_eq!((&end["end"], &end["not_evidence"]), (&"ok".into(), &Value::Null), "{end}");
    let scores = std::fs::read_to_string(repository.run_folder(short).join("eval/scores.json")).unwrap();
    assert!(scores.contains("success"), "{scores}");
    // Evaluation had that file of the candidate, and no other.
    let order = std::fs::read_to_string(repository.run_folder(short).join("order.json")).unwrap();
    let order: Value = serde_json::from_str(&order).unwrap();
    assert_eq!(order["steps"][1]["watched"], json!([POLICY]));
    let intents = repository.records("launch_intent");
    assert_eq!(
        (&intents[0]["evaluator_exposed"], &intents[1]["evaluator_exposed"]),
        (&Value::Null, &true.into())
    );
    let queue = repository.rlx("queue show --json").expect(0).json();
    assert_eq!(queue["jobs"][1]["stand"], json!({"is": "unapproved", "run": short}), "{queue}");
    // The run that isn't evidence can't be approved; the other can.
    repository.rlx(&format!("approve run:{smoke} --print")).expect(3);
    let shown = repository.rlx(&format!("approve run:{short} --show")).expect(0).stdout;
    assert!(
        shown.contains("its evaluation used files of the candidate") && shown.contains("manifest"),
        "{shown}"
    );
    repository.sign(&format!("run:{short}"), "alice").expect(0);
    let queue = repository.rlx("queue show --json").expect(0).json();
    assert_ne!(queue["jobs"][1]["stand"]["is"], "unapproved", "{queue}");
    assert_eq!(repository.untouched(), before);
    repository.rlx("verify --chain").expect(0);

    // Without that agreement evaluation can't load it.
    let repository = build().agree(with_network(json!([]))).approved();
    repository.ready("layers", other_architecture());
    repository.launch_through("layers", "smoke").expect(4);
    let end = repository.end_of(&repository.runs_of("layers")[0]);
    assert!(end["reason"].as_str().unwrap().contains("weights"), "{end}");
}

/// The evaluator can't be among the files that evaluation takes from a candidate.
#[test]
fn the_evaluator_stays_protected() {
    let repository = Repository::build().agree(with_network(json!(["src/**/*.py"]))).drafted();
    repository.sign("--all", "alice").expect(0);
    repository.candidate("layers", other_architecture());
    let codes = repository.validate("layers").expect(3).codes();
    assert!(codes.contains(&"exposes_evaluator".to_owned()), "{codes:?}");
}
