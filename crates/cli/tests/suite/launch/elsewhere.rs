//! Runs on other machines, and repositories without git.

use serde_json::Value;

use crate::launch::candidates::{baseline, reward_scale};
use crate::launch::repository::Repository;

/// Executes a handed-over run as a cluster would: the commit's files, the changed files in their place, the commands with
/// their slots filled in.
fn run_by_hand(repository: &Repository, plan: &Value) {
    let commit = plan["base"]["commit"].as_str().unwrap();
    for part in ["with", "without"] {
        std::fs::create_dir_all(repository.home().join(part)).unwrap();
        let target = repository.home().join(part);
        repository.git(&["--work-tree", target.to_str().unwrap(), "checkout", commit, "--", "."]);
        for input in plan["inputs"].as_array().unwrap() {
            let name = input["path"].as_str().unwrap();
            let place = target.join(name);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::copy(repository.path(name), place).unwrap();
        }
    }
    for change in plan["changes"].as_array().unwrap() {
        let path = repository.home().join("with").join(change["path"].as_str().unwrap());
        std::fs::write(path, change["after"].as_str().unwrap()).unwrap();
    }
    let results = repository.home().join("results");
    for step in plan["steps"].as_array().unwrap() {
        let name = step["name"].as_str().unwrap();
        let tree = if step["changed_code"] == true { "with" } else { "without" };
        let own = results.join(name);
        std::fs::create_dir_all(&own).unwrap();
        let fill = |word: &Value| {
            let word = word.as_str().unwrap().replace("{run}", own.to_str().unwrap());
            word.replace("{trained}", results.join("train").to_str().unwrap())
        };
        let words: Vec<String> = step["argv"].as_array().unwrap().iter().map(fill).collect();
        let mut command = repository.command(repository.path(&words[0]));
        let output = command
            .args(&words[1..])
            .current_dir(repository.home().join(tree))
            .env("PYTHONPATH", "src")
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_run_is_handed_over_and_its_results_come_back() {
    let repository = Repository::build().without_baseline().screen_seeds(1).approved();
    repository.ready("reward", reward_scale(2.5));
    repository.launch_through("reward", "smoke").expect(0);
    let file = repository.home().join("plan.json");
    let report =
        repository.rlx(&format!("launch reward --handoff --to {} --json", file.display())).expect(0).json();
    let key = report["key"].as_str().unwrap();
    let plan: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&plan["key"], &plan["plan"]), (&report["key"], &report["plan"]));
    let intents = repository.records("launch_intent");
    assert_eq!(intents.len(), 2);
    assert!(intents[1]["external"].is_string(), "{intents:?}");
    assert_eq!(intents[1]["evaluation_seed"], plan["evaluation_seed"]);
    // As far as rlx knows it is running, and it can be neither stopped nor watched from here.
    let status = repository.rlx("launch status --json").expect(0).json();
    let runs = status["runs"].as_array().unwrap();
    assert!(runs.iter().any(|run| run["key"] == key && run["found"] == "external"), "{status}");
    repository.rlx(&format!("launch cancel {key}")).expect(3);
    repository.rlx(&format!("launch adopt {key}")).expect(3);
    let next = repository.rlx("study next --json").expect(0).json();
    assert_eq!(next["action"], "monitor", "{next}");
    assert!(next["command"].as_str().unwrap().starts_with("rlx study receive"), "{next}");

    run_by_hand(&repository, &plan);
    // A link out of the folder is refused, and leaves nothing behind.
    let link = repository.home().join("results/train/link");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    let receive = format!(
        "study receive {key} --from {} --runtime by-hand --wall-clock 3 --json",
        repository.home().join("results").display()
    );
    let refused = repository.rlx(&receive).expect(2);
    assert_eq!(refused.json()["code"], "not_a_plain_file");
    assert_eq!(repository.records("run_ended").len(), 1, "only the smoke run's");
    std::fs::remove_file(link).unwrap();
    repository.rlx(&receive).expect(0);
    let ended = repository.end_of(key);
    assert_eq!((&ended["end"], &ended["spent"]["wall_clock"]), (&"ok".into(), &3.into()), "{ended}");
    assert_eq!(ended["confinement"], Value::Null, "nothing is known of how it was kept apart");
    let manifest = std::fs::read(repository.run_folder(key).join("manifest.json")).unwrap();
    assert_eq!(ended["manifest"], rlxp_types::Digest::hash(&manifest).to_string());
    let scores = std::fs::read_to_string(repository.run_folder(key).join("eval/scores.json")).unwrap();
    assert!(scores.contains("success"), "{scores}");
    assert_eq!(repository.run_lines(key, "train/metrics.jsonl")[0]["reward_scale"], 2.5);
    assert_eq!(repository.rlx(&receive).expect(3).json()["code"], "run_over", "once is enough");
    // Its metrics are read like those of any run, and it is said where it ran.
    let extracted = repository.rlx("study extract --json").expect(0).json();
    assert_eq!(extracted["runs"][0]["external"], true, "{extracted}");
    assert!(repository.records("evidence")[0]["values"]["success"].is_number());
    repository.rlx("verify --chain").expect(0);
}

#[test]
fn what_rlx_launched_is_not_brought_back_by_hand() {
    let repository = Repository::new();
    repository.ready("baseline", baseline());
    repository.launch("baseline").expect(0);
    let key = &repository.runs_of("baseline")[0];
    let refused = repository.rlx(&format!("study receive {key} --from . --json")).expect(3);
    assert_eq!(refused.json()["code"], "not_external");
    repository.rlx("study receive nothing-r1-smoke-1-1 --from .").expect(2);
}

/// Without git a study starts from the files themselves, and any change of them changes the base.
#[test]
fn a_folder_without_git_runs_from_a_snapshot() {
    let repository = Repository::build().drafted();
    repository.without_git();
    repository.sign("--all", "alice").expect(0);
    repository.ready("baseline", baseline());
    let plan = repository.rlx("launch baseline --json").expect(0).json();
    assert!(plan["base"]["snapshot"].is_string(), "{plan}");
    repository.launch("baseline").expect(0);
    let key = &repository.runs_of("baseline")[0];
    assert_eq!(repository.end_of(key)["end"], "ok");
    repository.write("src/balance/extra.py", "x = 1\n");
    repository.candidate("reward", reward_scale(2.0));
    let refused = repository.validate("reward").expect(3);
    assert!(refused.codes().contains(&"base_changed".to_owned()), "{:?}", refused.codes());
}
