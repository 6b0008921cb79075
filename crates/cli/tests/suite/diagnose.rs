//! `rlx diagnose` from outside: answers, exit codes, user-defined rules, and
//! runs with unusual records.

use serde_json::Value;

use crate::project::Project;

fn outcome<'a>(answer: &'a Value, run: usize, rule: &str) -> &'a Value {
    let outcomes = answer["runs"][run]["outcomes"].as_array().unwrap();
    outcomes.iter().find(|outcome| outcome["rule"] == rule).unwrap()
}

#[test]
fn every_rule_answers_and_an_error_is_a_no() {
    let project = Project::trained();
    let fine = project.rlx("diagnose tiny_001 --json").expect(0).json();
    assert_eq!(fine["error_found"], false);
    assert_eq!(fine["runs"][0]["outcomes"].as_array().unwrap().len(), 49);
    assert_eq!(outcome(&fine, 0, "F20")["outcome"], "does_not_apply");
    assert!(outcome(&fine, 0, "F36")["lacking"].as_str().unwrap().contains("needed"));

    // Two errors: nothing is rewarded, and evaluations use the training seed.
    project
        .rlx_with(&[
            "train",
            "tiny.yaml",
            "--set",
            "run_name=broken",
            "--set",
            "eval.seed=0",
            "--set",
            "env.wrappers=[scale_reward: {factor: 0}]",
        ])
        .expect(0);
    let answer = project.rlx("diagnose tiny_001 broken_001 --json").expect(1).json();
    assert_eq!(answer["error_found"], true);
    let finding = outcome(&answer, 1, "F23");
    assert_eq!((&finding["outcome"], &finding["severity"]), (&"finding".into(), &"error".into()));
    assert_eq!(finding["evidence"][0]["metric"], "train.rewarded_episodes");
    assert_eq!(finding["evidence"][0]["value"], 0.0);
    assert_eq!(outcome(&answer, 1, "F34")["outcome"], "finding");
    assert!(answer["runs"][1]["findings"].as_array().unwrap().contains(&"F23".into()));

    let text = project.rlx("diagnose broken_001").expect(1).stdout;
    for part in ["error: no learning signal (F23)", "train.rewarded_episodes", "next: rlx", "rules passed"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let all = project.rlx("diagnose broken_001 --all").expect(1).stdout;
    assert!(all.contains("too little data") && all.contains("not applicable"), "{all}");
}

#[test]
fn many_runs_are_summarized_and_few_are_shown() {
    let project = Project::trained();
    for _ in 0..2 {
        let broken = ["train", "tiny.yaml", "--set", "run_name=broken", "--set", "eval.seed=0"];
        project.rlx_with(&[&broken[..], &["--set", "env.wrappers=[scale_reward: {factor: 0}]"]].concat());
    }
    let evidence = "train.rewarded_episodes";
    let few = project.rlx("diagnose *").expect(1).stdout;
    // Even the sound one has only eight updates.
    let heading = "3 runs: 2 with errors, 1 with warnings only, 0 without problems\n";
    assert!(few.starts_with(heading) && few.contains(evidence), "{few}");
    project.rlx("train tiny.yaml --set seed=5").expect(0);
    let many = project.rlx("diagnose *").expect(1);
    assert!(many.stdout.starts_with("4 runs: 2 with errors"), "{}", many.stdout);
    let row = many.stdout.lines().find(|line| line.contains("F23")).unwrap();
    assert!(
        row.contains(" error ") && row.contains(" 2 ") && row.ends_with("broken_001, broken_002"),
        "{row}"
    );
    assert!(!many.stdout.contains(evidence), "{}", many.stdout);
    assert!(many.stderr.contains("rlx diagnose broken_001"), "{}", many.stderr);
    assert!(project.rlx("diagnose * --details").expect(1).stdout.contains(evidence));
    let json = project.rlx("diagnose * --json").expect(1).json();
    assert_eq!((json["runs"].as_array().unwrap().len(), &json["summary"]["with_errors"]), (4, &2.into()));
    assert_eq!(outcome(&json, 1, "F23")["evidence"][0]["metric"], evidence);
    let findings = json["summary"]["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["rule"] == "F23").unwrap();
    assert_eq!(found["runs"], serde_json::json!(["broken_001", "broken_002"]));
}

#[test]
fn the_same_run_gives_the_same_answer() {
    let project = Project::trained();
    let answer = || project.rlx("diagnose tiny_001 --json").stdout;
    assert_eq!(answer(), answer());
}

#[test]
fn rules_of_ones_own_are_checked_and_used() {
    let project = Project::trained();
    let mut rules = project.rlx("diagnose --rules --json").expect(0).json();
    assert_eq!(rules["schema"], "rlx.rules/1");
    assert!(project.rlx("diagnose --rules").expect(0).stdout.contains("F49"));

    let threshold = &mut rules["rules"][15]["thresholds"]["share"];
    threshold["value"] = 0.31.into();
    project.write("rules.json", &rules.to_string());
    let told = project.rlx("diagnose tiny_001 --rules-file rules.json").expect(2).stderr;
    assert!(told.contains("F16: share was changed to 0.31") && told.contains("without a `reason`"), "{told}");
    assert!(told.contains("hint: rlx diagnose --rules --json"), "{told}");

    rules["rules"][15]["thresholds"]["share"]["reason"] = "as we like it".into();
    rules["rules_version"] = "ours".into();
    project.write("rules.json", &rules.to_string());
    let answer = project.rlx("diagnose tiny_001 --rules-file rules.json --json").expect(0).json();
    assert_eq!(answer["runs"][0]["rules_version"], "ours");
    project.write("rules.json", "not even JSON");
    project.rlx("diagnose tiny_001 --rules-file rules.json").expect(2);
    project.rlx("diagnose tiny_001 --rules-file nowhere.json").expect(74);
    project.rlx("diagnose").expect(2);
    project.rlx("diagnose nothing").expect(2);
}

#[test]
fn damaged_torn_and_empty_records_are_diagnosed_too() {
    let project = Project::trained();
    let path = project.path("runs/tiny_001/metrics.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();

    let mut damaged = lines.clone();
    damaged[3] = "{\"seq\": broken";
    let torn = &lines[lines.len() - 1][..20];
    std::fs::write(&path, format!("{}\n{torn}", damaged.join("\n"))).unwrap();
    let answer = project.rlx("diagnose tiny_001 --json").json();
    assert_eq!(outcome(&answer, 0, "F41")["outcome"], "finding");
    assert_eq!(answer["runs"][0]["notes"].as_array().unwrap().len(), 3, "{answer}");

    let infinite = text.replacen("\"value_loss\":", "\"value_loss\":\"NaN\",\"other\":", 5);
    std::fs::write(&path, infinite).unwrap();
    let answer = project.rlx("diagnose tiny_001 --json").expect(1).json();
    assert_eq!(outcome(&answer, 0, "F01")["evidence"][0]["value"], "NaN");

    std::fs::write(&path, format!("{}\n", lines[0])).unwrap();
    project.rlx("diagnose tiny_001 --json").json();
    std::fs::write(&path, "").unwrap();
    let answer = project.rlx("diagnose tiny_001 --json").json();
    assert_eq!(outcome(&answer, 0, "F01")["outcome"], "not_enough_data");
}
