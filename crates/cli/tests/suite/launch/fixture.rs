//! The fixture itself: it trains, it is installed as users install it, and its study can be launched.

use std::path::Path;

use serde_json::Value;

use crate::launch::candidates::{baseline, learning_rate, phase, reward_scale, reward_with};
use crate::launch::repository::Repository;

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn train(repository: &Repository, seed: &str, out: &str) {
    let words = ["-m", "balance.train", "--seed", seed, "--out", out];
    repository.python(&words).expect(0);
}

fn evaluate(repository: &Repository, out: &str) -> f64 {
    let policy = format!("{out}/policy.json");
    let words = ["-m", "balance_eval.evaluate", "--policy", &policy, "--seed", "20000", "--out", out];
    repository.python(&words).expect(0);
    json(&repository.path(out).join("scores.json"))["success"].as_f64().unwrap()
}

fn metrics(repository: &Repository, out: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(repository.path(out).join("metrics.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn it_learns_by_the_reward_that_it_has() {
    let repository = Repository::build().editable().plain();
    // Installed editable: from anywhere and without a path, the code is the repository's own.
    let anywhere = ["-c", "import os; os.chdir('/'); import balance.reward; print(balance.reward.__file__)"];
    let loaded = repository.python(&anywhere).expect(0).stdout;
    let own = repository.path("src/balance/reward.py").canonicalize().unwrap();
    assert_eq!(Path::new(loaded.trim()).canonicalize().unwrap(), own);

    repository.write("runs/nothing/policy.json", r#"{"weights": [0.0, 0.0, 0.0], "noise": 1.0}"#);
    train(&repository, "1", "runs/one");
    train(&repository, "1", "runs/same");
    train(&repository, "2", "runs/two");
    let (untrained, trained) = (evaluate(&repository, "runs/nothing"), evaluate(&repository, "runs/one"));
    assert!(trained > untrained + 0.3, "{untrained} before, {trained} after");
    let read = |out: &str| std::fs::read(repository.path(out).join("metrics.jsonl")).unwrap();
    assert_eq!(read("runs/one"), read("runs/same"));
    assert_ne!(read("runs/one"), read("runs/two"));
    assert!(metrics(&repository, "runs/one").iter().all(|line| line["reward_scale"] == 1.0));

    let text = std::fs::read_to_string(&own).unwrap();
    std::fs::write(&own, text.replace("REWARD_SCALE = 1.0", "REWARD_SCALE = 2.5")).unwrap();
    train(&repository, "1", "runs/changed");
    assert!(metrics(&repository, "runs/changed").iter().all(|line| line["reward_scale"] == 2.5));
    let weights = |out: &str| json(&repository.path(out).join("policy.json"))["weights"].clone();
    assert_ne!(weights("runs/one"), weights("runs/changed"));
    // Git sees the edits and nothing that the run wrote.
    assert_eq!(repository.git(&["status", "--porcelain"]), " M src/balance/reward.py\n");

    std::fs::remove_file(repository.path("data/start_states.json")).unwrap();
    let words = ["-m", "balance.train", "--seed", "1", "--out", "runs/without"];
    assert!(repository.python(&words).expect(1).stderr.contains("start_states.json"));
}

#[test]
fn its_candidates_can_be_validated_and_approved() {
    let repository = Repository::build().without_baseline().approved();
    let before = repository.untouched();
    for (id, value) in [
        ("baseline", baseline()),
        ("reward", reward_scale(2.5)),
        ("steps", learning_rate(1.0)),
        ("hostile", reward_with("import os\n\nos.environ['REWARD'] = 'mine'")),
    ] {
        repository.ready(id, value);
        assert_eq!(repository.last("validated")["candidate"], id);
    }
    // Both patches are what git would apply.
    for id in ["reward", "hostile"] {
        let candidate = json(&repository.file(&format!("candidates/{id}.yaml")));
        let patch = repository.home().join("patch");
        std::fs::write(&patch, candidate["changes"][0]["patch"].as_str().unwrap()).unwrap();
        repository.git(&["apply", "--check", patch.to_str().unwrap()]);
    }
    assert_eq!(repository.untouched(), before);
    repository.rlx("verify --chain").expect(0);
}

/// Tests of limits and of sandboxing bring their own training code.
#[test]
fn something_else_can_be_agreed() {
    let build = Repository::build()
        .file("hog.py", "import sys\n\nprint('training with', sys.argv[1:])\n")
        .train_with(&[".venv/bin/python", "hog.py", "--seed", "{seed}"])
        .eval_with(&[".venv/bin/python", "-c", "print({seed})"])
        .agree(|agreed| {
            agreed.contract["hardware"]["network"] = "loopback".into();
            agreed.contract["budget"]["per_run"]["wall_clock"] = "5s".into();
            agreed.runbook["artifacts"] = Vec::<Value>::new().into();
        });
    let repository = build.approved();
    let mut long = baseline();
    long["phases"] = Value::from(vec![phase("smoke", 1), phase("confirm", 5)]);
    repository.candidate("baseline", long);
    assert_eq!(repository.validate("baseline").expect(3).codes(), ["run_too_long", "run_too_long"]);
    repository.ready("baseline", baseline());
    assert_eq!(repository.git(&["ls-files", "hog.py"]), "hog.py\n");
}

#[test]
fn a_change_waits_for_a_baseline() {
    let repository = Repository::new();
    repository.ready("baseline", baseline());
    repository.candidate("reward", reward_scale(2.5));
    assert_eq!(repository.validate("reward").expect(3).codes(), ["no_baseline"]);
}
