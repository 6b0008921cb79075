//! `rlx suggest`: changes that can be pasted, each with its reason.

use crate::project::Project;

/// CartPole with a broken learning rate, long enough to be judged.
const BROKEN: &str = "\
run_name: broken
threads: 2
env: {id: CartPole-v1}
algo: {total_timesteps: 20000, learning_rate: 1}
eval: {episodes: 100}
";

#[test]
fn a_broken_learning_rate_is_lowered_first_and_the_command_works() {
    let project = Project::new();
    project.write("broken.yaml", BROKEN);
    project.rlx("train broken.yaml");
    let answer = project.rlx("suggest broken_001 --json").expect(0).json();
    assert_eq!(answer["schema"], "rlx.suggestions/1");
    assert_eq!(answer["standing"]["state"], "poor", "{answer}");
    let first = &answer["suggestions"][0];
    assert_eq!(first["rank"], 1);
    let changes = first["changes"].as_array().unwrap();
    let rate = changes.iter().find(|change| change["key"] == "algo.learning_rate").unwrap();
    assert_eq!((rate["from"].as_f64(), rate["to"]["from"].as_f64()), (Some(1.0), Some(0.001)));
    let rules = first["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule == "F01" || rule == "F03"), "{rules:?}");
    assert!(first["reason"].as_str().unwrap().contains("steps"), "{}", first["reason"]);
    assert!(!first["evidence"].as_array().unwrap().is_empty());
    assert_eq!(first["basis"]["kind"], "rule_and_starter");

    let text = project.rlx("suggest broken_001").expect(0).stdout;
    let command = first["command"].as_str().unwrap();
    for words in ["why:", "basis:", "check: rlx compare broken_001 broken_001_try1_001", command] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    project.shell(&format!("{command} --dry-run")).expect(0);

    let alone = project.rlx("suggest broken_001 --rules-alone --top 1 --json").expect(0).json();
    assert_eq!(alone["suggestions"].as_array().unwrap().len(), 1);
    assert_eq!(alone["suggestions"][0]["basis"]["kind"], "rule", "{alone}");
}

#[test]
fn every_suggested_command_is_accepted() {
    let project = Project::trained();
    let answer = project.rlx("suggest tiny_001 --top 100 --json").expect(0).json();
    let suggestions = answer["suggestions"].as_array().unwrap();
    assert!(!suggestions.is_empty(), "{answer}");
    for suggestion in suggestions {
        project.shell(&format!("{} --dry-run", suggestion["command"].as_str().unwrap())).expect(0);
    }
    assert!(answer["next"][0].as_str().unwrap().contains("--set seeds=4"), "{}", answer["next"]);
    project.rlx("suggest tiny_001 --top 0").expect(2);
    project.rlx("suggest nothing").expect(2);
}
