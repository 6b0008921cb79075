//! One way to name runs, seeds and checkpoints in every command.

use serde_json::Value;

use crate::project::Project;

/// Four runs: `a_001` and `a_002` with one seed (0.9 and 0.99 of gamma), `b_001` with seeds 0 and 1, tagged, and
/// `c_001`, whose name has a plus.
fn project() -> Project {
    let project = Project::new();
    for line in [
        "--set run_name=a --set algo.gamma=0.9 --tag old",
        "--set run_name=a --set algo.gamma=0.99",
        "--set run_name=b --set algo.gamma=0.99 --set seeds=[0,1] --tag old --tag two",
        "--set run_name=c --set algo.gamma=0.95",
    ] {
        project.rlx(&format!("train tiny.yaml {line}")).expect(0);
    }
    project
}

fn tagged(project: &Project, word: &str) -> Vec<String> {
    let runs = project.rlx_with(&["tag", word, "--json"]).expect(0).json()["runs"].clone();
    runs.as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn words_name_runs() {
    let project = project();
    std::fs::rename(project.path("runs/c_001"), project.path("runs/c+d:1")).unwrap();
    for (word, expected) in [
        ("a_001", &["a_001"][..]),
        ("b", &["b_001"]),
        ("runs/a_002", &["a_002"]),
        ("@last", &["c+d:1"]),
        ("@last~1", &["b_001"]),
        ("@last~3", &["a_001"]),
        ("tag:old", &["a_001", "b_001"]),
        ("a_*", &["a_001", "a_002"]),
        ("?_001", &["a_001", "b_001"]),
        ("a_002+tag:old", &["a_002", "a_001", "b_001"]),
        ("where:algo.gamma>=0.99", &["a_002", "b_001"]),
        ("where:algo.gamma>=0.99 and seeds=2", &["b_001"]),
        ("a_001+where:env=cartpole-v1 and algo.gamma=0.95", &["a_001", "c+d:1"]),
        ("c+d:1", &["c+d:1"]),
        ("runs/c+d:1", &["c+d:1"]),
    ] {
        assert_eq!(tagged(&project, word), expected, "{word}");
    }
    let best = tagged(&project, "@best:cartPOLE-v1");
    assert_eq!(best.len(), 1);
}

#[test]
fn wrong_words_say_what_is_right() {
    let project = project();
    for (word, code, hint) in [
        ("tag:none", "no_such_tag", "rlx ls --columns name,tags"),
        ("z_*", "run_not_found", "rlx ls"),
        ("@last~9", "run_not_found", "rlx ls"),
        ("@best:CartPol-v1", "run_not_found", "did you mean @best:CartPole-v1?"),
        ("where:algo.gama>1", "unknown_key", "did you mean algo.gamma?"),
        ("where:algo.gamma>1", "run_not_found", "rlx ls"),
        ("a_001:7", "seed_not_found", ""),
        ("a_001:best", "part_of_a_run", "a_001"),
        ("b_001:1", "part_of_a_run", "b_001"),
        ("a_001+", "bad_selector", "rlx ls"),
    ] {
        let error = project.rlx_with(&["tag", word, "x", "--json"]).expect(2).json();
        assert_eq!(error["code"], code, "{word}: {error}");
        assert_eq!(error["hints"].get(0).and_then(Value::as_str).unwrap_or_default(), hint, "{word}");
        assert_eq!(project.rlx_with(&["rm", word, "--yes"]).code, Some(2), "{word}");
    }
    let several = project.rlx_with(&["info", "a_*", "--json"]).expect(2).json();
    assert_eq!(several["code"], "several_runs");
    assert!(several["message"].as_str().unwrap().contains("a_001, a_002"), "{several}");
    assert_eq!(tagged(&project, "*").len(), 4);
}

#[test]
fn a_word_never_names_more_than_it_says() {
    let project = project();
    // Tags may contain what joins words.
    project.rlx_with(&["tag", "a_001", "x"]).expect(0);
    project.rlx_with(&["tag", "a_002", "x+b"]).expect(0);
    project.rlx_with(&["tag", "c_001", "y:7"]).expect(0);
    assert_eq!(tagged(&project, "tag:x+b"), ["a_002"]);
    assert_eq!(tagged(&project, "tag:y:7"), ["c_001"]);
    // A mistyped value is different from every value, and a config that can't be read from none.
    for word in [
        "where:algo.gamma!=0,99",
        "where:eval.deterministic!=yes",
        "where:status!=complete",
        "where:created<yesterday",
    ] {
        assert_eq!(
            project.rlx_with(&["rm", word, "--yes", "--json"]).expect(2).json()["code"],
            "bad_condition",
            "{word}"
        );
    }
    project.write("runs/b_001/config_snapshot.yaml", "{");
    assert_eq!(tagged(&project, "where:algo.gamma!=0.9"), ["a_002", "c_001"]);
    // What is not a run is in no pattern.
    std::fs::create_dir(project.path("runs/junk")).unwrap();
    std::os::unix::fs::symlink(project.path("runs/a_001"), project.path("runs/link")).unwrap();
    assert_eq!(tagged(&project, "*").len(), 4);
}

#[test]
fn many_runs_are_named_before_they_change() {
    let project = project();
    let said = project.rlx_with(&["tag", "a_*", "new"]).expect(0);
    assert!(said.stderr.contains("a_* matches 2 runs: a_001, a_002"), "{}", said.stderr);
    assert_eq!(tagged(&project, "tag:new"), ["a_001", "a_002"]);
    let refused = project.rlx_with(&["rm", "tag:new"]).expect(3);
    assert!(refused.stderr.contains("a_001") && refused.stderr.contains("a_002"), "{}", refused.stderr);
    project.rlx_with(&["rm", "tag:new", "--yes"]).expect(0);
    assert_eq!(tagged(&project, "*"), ["b_001", "c_001"]);
}

#[test]
fn seeds_and_checkpoints_of_runs_with_several_seeds() {
    let project = project();
    let seeds = |line: &str| -> Vec<u64> {
        let rows = project.rlx(line).expect(0).json()["rows"].clone();
        rows.as_array().unwrap().iter().map(|row| row["seed"].as_u64().unwrap()).collect()
    };
    assert_eq!(seeds("eval b_001 --episodes 2 --json"), [0, 1]);
    assert_eq!(seeds("eval b_001:1:latest --episodes 2 --json"), [1]);
    assert_eq!(seeds("eval --run b_001:0 --episodes 2 --json"), [0, 0]);
    let looked = project.rlx("inspect b_001:1:step_1024 --json").expect(0).json();
    assert_eq!((&looked["training_seed"], &looked["step"]), (&1.into(), &1024.into()));
    let looked = project.rlx("inspect b_001 --json").expect(0).json();
    let notes = looked["notes"].as_array().unwrap();
    assert!(
        notes.iter().any(|note| note.as_str().unwrap().starts_with("b_001 has 2 seeds; using seed")),
        "{notes:?}"
    );
    let info = project.rlx("info b_001:1 --json").expect(0).json();
    assert_eq!(info["seeds"].as_array().unwrap().len(), 1);
    let curves = project.rlx("plot b_001:0 b_001:1 --terminal --json").expect(0).json();
    assert_eq!(curves["groups"].as_array().unwrap().len(), 2, "{curves}");
    assert_eq!(
        project.rlx("compare a_001:best a_002 --json").expect(2).json()["code"],
        "checkpoint_not_expected"
    );
}

#[test]
fn training_starts_from_the_same_seed_or_from_the_named_one() {
    let project = project();
    let origin = |run: &str, seed: &str| {
        std::fs::read(project.path(&format!("runs/{run}/seeds/{seed}/origin/model.safetensors"))).unwrap()
    };
    let weights = |seed: &str| {
        let best = project.path(&format!("runs/b_001/seeds/{seed}/checkpoints/latest/model.safetensors"));
        std::fs::read(best).unwrap()
    };
    project.rlx("train tiny.yaml --set run_name=w --set seeds=[1,0] --from b_001:latest").expect(0);
    assert_eq!((origin("w_001", "0"), origin("w_001", "1")), (weights("0"), weights("1")));
    project.rlx("train tiny.yaml --set run_name=v --set seeds=[3,4] --from b_001:1:latest").expect(0);
    assert_eq!((origin("v_001", "3"), origin("v_001", "4")), (weights("1"), weights("1")));
    let refused = project.rlx("train tiny.yaml --set seeds=[3,4] --from b_001 --json").expect(2).json();
    assert_eq!(refused["code"], "seeds_differ");
    project.rlx("reproduce w_001").expect(0);
}
