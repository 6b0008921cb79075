//! What `rlx inspect` reports about real checkpoints, and what it refuses.

use serde_json::Value;

use crate::project::Project;

fn length(value: &Value) -> usize {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}")).len()
}

fn check(report: &Value) {
    let dimensions = length(&report["observation_names"]);
    assert_eq!(length(&report["ranking"]), dimensions);
    assert!(length(&report["states"]) >= 5, "{}", report["states"]);
    for state in report["states"].as_array().unwrap() {
        let difference = state["target"].as_f64().unwrap() - state["baseline_target"].as_f64().unwrap();
        let parts = state["integrated"].as_array().unwrap().iter().map(|part| part.as_f64().unwrap());
        let error = (parts.sum::<f64>() - difference).abs();
        assert!(error <= 1e-3 * difference.abs().max(1.0), "{state}");
        assert_eq!(state["complete"], true);
        assert!(length(&state["reasons"]) >= 1);
        assert!(state["moment"].as_u64().unwrap() < length(&report["trajectory"]) as u64);
        assert_eq!((length(&state["saliency"]), length(&state["smoothgrad"])), (dimensions, dimensions));
    }
    let steps = report["episodes"].as_array().unwrap().iter().map(|episode| episode["length"].as_u64());
    assert_eq!(steps.map(Option::unwrap).sum::<u64>(), length(&report["trajectory"]) as u64);
    assert_eq!(length(&report["agreement"]), 3);
}

#[test]
fn a_cartpole_run_is_inspected() {
    let project = Project::trained();
    let report = project.rlx("inspect tiny_001 --json").expect(0).json();
    check(&report);
    assert_eq!((&report["run"], &report["env"]), (&"tiny_001".into(), &"CartPole-v1".into()));
    assert_eq!(report["target"], "value");
    assert_eq!(report["action_names"], serde_json::json!(["push left", "push right"]));
    assert_eq!(report["observation_names"][2], "pole angle");
    assert_eq!(length(&report["trajectory"][0]["probabilities"]), 2);
    // The same bytes again, and the episode that an evaluation plays.
    let again = project.rlx("inspect tiny_001 --json").expect(0).json();
    assert_eq!(again, report);
    let eval = project.rlx("eval tiny_001 --episodes 1 --json").expect(0).json();
    assert_eq!(eval["rows"][0]["returns"][0], report["episodes"][0]["total"]);
    let other = project
        .rlx("inspect tiny_001:step_1024 --target action --baseline zeros --states 6 --stochastic --episodes 2 --json")
        .expect(0)
        .json();
    check(&other);
    assert_eq!(length(&other["states"]), 6);
    assert!(other["target_meaning"].as_str().unwrap().contains("log-probability"));
    let text = project.rlx("inspect runs/tiny_001/checkpoints/latest").expect(0).stdout;
    for word in ["pole angular velocity", "push left", "integrated", "start", "█", "Spearman"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    // Inspecting leaves no files behind.
    project.rlx("reproduce tiny_001").expect(0);
    assert_eq!(project.rlx("ls --json").json()["found"], 1);
}

#[test]
fn indices_and_continuous_actions_are_inspected_too() {
    let project = Project::new();
    for env in ["Taxi-v4", "FrozenLake-v1", "Blackjack-v1", "Pendulum-v1"] {
        project.rlx(&format!("train tiny.yaml --set env.id={env} --set run_name={env}")).expect(0);
        for target in ["value", "action"] {
            let line = format!("inspect @last --target {target} --json --episodes 20");
            let report = project.rlx(&line).expect(0).json();
            check(&report);
            assert_eq!(report["env"], env);
            assert_eq!(report["choices"] == serde_json::json!([]), env == "Pendulum-v1");
        }
        project.rlx("inspect @last").expect(0);
    }
    let moment = project.rlx("inspect @last --json").json()["trajectory"][0].clone();
    assert!(moment["deviation"][0].as_f64().unwrap() > 0.0 && moment["probabilities"].is_null(), "{moment}");
}

#[test]
fn the_picture_is_a_whole_file_of_the_asked_kind() {
    let project = Project::trained();
    let drawn = project.rlx("inspect tiny_001 --output pictures/look.svg --json").expect(0).json();
    assert!(drawn["picture"].as_str().unwrap().ends_with("pictures/look.svg"));
    let svg = std::fs::read_to_string(project.path("pictures/look.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for words in ["tiny_001", "pole angle", "push right", "integrated gradients", "Value estimate"] {
        assert!(svg.contains(words), "{words}");
    }
    project.rlx("inspect tiny_001 -o look.PNG --target action").expect(0);
    let png = std::fs::read(project.path("look.PNG")).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    project.rlx("inspect tiny_001 -o again.PNG --target action").expect(0);
    assert_eq!(std::fs::read(project.path("again.PNG")).unwrap(), png);
    for name in ["look.jpg", "look"] {
        let refused = project.rlx(&format!("inspect tiny_001 -o {name}")).expect(2);
        assert!(refused.stderr.contains(".svg"), "{}", refused.stderr);
        assert!(!project.path(name).exists());
    }
    project.write("file", "");
    project.rlx("inspect tiny_001 -o file/look.svg").expect(74);
}

#[test]
fn of_several_seeds_the_best_is_taken_or_the_one_named() {
    let project = Project::new();
    project.rlx("train tiny.yaml --set seeds=2").expect(0);
    let chosen = project.rlx("inspect tiny_001 --json").expect(0).json();
    let best = |seed: u64| {
        project.rlx(&format!("info tiny_001:{seed} --json")).json()["seeds"][0]["best"]["score"].as_f64()
    };
    let expected = if best(1) > best(0) { 1 } else { 0 };
    assert_eq!(chosen["training_seed"], expected);
    assert_eq!(project.rlx("inspect tiny_001:1 --json").expect(0).json()["training_seed"], 1);
}

#[test]
fn what_can_not_be_inspected_is_named() {
    let project = Project::trained();
    let mut told = Vec::new();
    for line in [
        "inspect",
        "inspect nothing",
        "inspect tiny_001:step_77",
        "inspect runs/tiny_001/metrics.jsonl",
        "inspect tiny_001 --states 0",
        "inspect tiny_001 --states 4",
        "inspect tiny_001 --samples 0",
        "inspect tiny_001 --episodes 0",
        "inspect tiny_001 --target reward",
        "inspect tiny_001 --baseline ones",
    ] {
        told.push(project.rlx(line).expect(2).shown());
    }
    insta::assert_snapshot!(told.join("\n\n"));
    let model = project.path("runs/tiny_001/checkpoints/step_1024/model.safetensors");
    let mut bytes = std::fs::read(&model).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&model, bytes).unwrap();
    let damaged = project.rlx("inspect tiny_001:step_1024").expect(74);
    assert!(damaged.stderr.contains("step_1024"), "{}", damaged.stderr);
}
