//! What `rlx plot --against`, `--heatmap` and `--parallel` draw, write, note and refuse.

use serde_json::Value;

use crate::project::{Project, TINY};

const RATE: &str = "algo.learning_rate";
const GAMMA: &str = "algo.gamma";

/// One evaluation of a seed.
fn metrics(score: f64) -> String {
    format!(
        "{{\"seq\":0,\"step\":2048,\"wall\":1.0,\"kind\":\"eval\",\"values\":{{\"mean_return\":{score}}}}}\n"
    )
}

/// A project with a run for each of these settings, whose seeds have these scores.
fn project_with(runs: &[(&str, &[f64])]) -> Project {
    let project = Project::new();
    for (index, (settings, scores)) in runs.iter().enumerate() {
        let name = format!("tiny_{:03}", index + 1);
        project.rlx(&format!("train tiny.yaml --set seeds={} {settings}", scores.len())).expect(0);
        for (seed, score) in scores.iter().enumerate() {
            let folder = if scores.len() > 1 { format!("seeds/{seed}/") } else { String::new() };
            project.write(&format!("runs/{name}/{folder}metrics.jsonl"), &metrics(*score));
        }
    }
    project
}

/// Two learning rates and two gammas with two seeds each, one pair missing.
fn sweep() -> Project {
    project_with(&[
        ("--set algo.learning_rate=0.0001 --set algo.gamma=0.9", &[10.0, 20.0]),
        ("--set algo.learning_rate=0.0001 --set algo.gamma=0.99", &[30.0, 40.0]),
        ("--set algo.learning_rate=0.01 --set algo.gamma=0.9", &[100.0, 300.0]),
    ])
}

fn report(project: &Project, line: &str) -> Value {
    let report = project.rlx(&format!("plot {line} --json")).expect(0).json();
    assert_eq!(report["schema"], "rlx.landscape/1");
    report
}

fn notes(report: &Value) -> String {
    report["notes"].as_array().unwrap().iter().map(|note| format!("{}\n", note.as_str().unwrap())).collect()
}

#[test]
fn scores_against_a_key_pool_everything_else_and_say_so() {
    let project = sweep();
    let drawn = report(&project, &format!("tiny_* --against {RATE} -o a.svg"));
    assert_eq!((&drawn["chart"], &drawn["env"]), (&"against".into(), &"CartPole-v1".into()));
    assert_eq!(drawn["keys"][0]["scale"], "logarithmic");
    assert_eq!(drawn["score"]["what"], "eval/mean_return of the last evaluation");
    let values = drawn["panels"][0]["values"].as_array().unwrap();
    let numbers =
        |value: &Value| ["number", "mean", "low", "high"].map(|field| value[field].as_f64().unwrap());
    assert_eq!(numbers(&values[0]), [0.0001, 25.0, 10.0, 40.0]);
    assert_eq!(numbers(&values[1]), [0.01, 200.0, 100.0, 300.0]);
    assert_eq!((&values[0]["seeds"], &values[0]["interval"]), (&4.into(), &"range".into()));
    assert_eq!((&drawn["pooled"][0], drawn["seeds"].as_array().unwrap().len()), (&GAMMA.into(), 6));
    assert!(notes(&drawn).contains("Runs that differ in algo.gamma are pooled."), "{}", notes(&drawn));
    let svg = std::fs::read_to_string(project.path("a.svg")).unwrap();
    for part in ["algo.learning_rate", ">n = 4<", ">0.0001<", "lowest to highest seed"] {
        assert!(svg.contains(part), "{part}");
    }
}

#[test]
fn without_a_key_every_one_that_differs_has_a_panel() {
    let project = sweep();
    for line in ["tiny_* --against", "tiny_* --against all", "tiny_001+tiny_002 tiny_003 --against"] {
        let drawn = report(&project, &format!("{line} --terminal"));
        let keys: Vec<&str> =
            drawn["panels"].as_array().unwrap().iter().map(|panel| panel["key"].as_str().unwrap()).collect();
        assert_eq!(keys, [GAMMA, RATE], "{line}");
        assert!(notes(&drawn).contains("Each panel pools runs"), "{}", notes(&drawn));
    }
    let ran = project.rlx("plot tiny_* --against").expect(0);
    for part in
        ["algo.gamma", "0.0001", "●", "10.00 to 40.00", "wrote analysis/against_gamma_learning_rate_3_runs_"]
    {
        assert!(ran.stdout.contains(part), "{part} is not in\n{}", ran.stdout);
    }
    let chosen =
        project.rlx(&format!("plot tiny_* --against {GAMMA} --against {RATE} --terminal --json")).expect(0);
    assert_eq!(chosen.json()["panels"][1]["key"], RATE);
}

#[test]
fn a_heat_map_has_every_pair_of_values() {
    let project = sweep();
    let drawn =
        report(&project, &format!("tiny_* --heatmap {RATE},{GAMMA} -o grid.png --width 600 --scale 1"));
    let cells: Vec<(&str, &str, u64, Option<f64>)> = drawn["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| {
            let text = |field: &str| cell[field].as_str().unwrap();
            (text("x"), text("y"), cell["seeds"].as_u64().unwrap(), cell["mean"].as_f64())
        })
        .collect();
    let expected = [
        ("0.0001", "0.9", 2, Some(15.0)),
        ("0.01", "0.9", 2, Some(200.0)),
        ("0.0001", "0.99", 2, Some(35.0)),
        ("0.01", "0.99", 0, None),
    ];
    assert_eq!(cells, expected);
    let png = std::fs::read(project.path("grid.png")).unwrap();
    assert_eq!((&png[1..4], u32::from_be_bytes(png[16..20].try_into().unwrap())), (&b"PNG"[..], 600));
    let ran = project.rlx(&format!("plot tiny_* --heatmap {RATE},{GAMMA}")).expect(0);
    let rows: Vec<&str> = ran.stdout.lines().filter(|line| line.trim_start().starts_with("0.9")).collect();
    assert!(
        rows[0].contains("0.99") && rows[0].contains("· 35.00 (2)") && rows[0].ends_with('-'),
        "{rows:?}"
    );
    assert!(rows[1].contains("█ 200.0 (2)"), "{rows:?}");
    assert!(ran.stdout.contains("wrote analysis/heatmap_learning_rate_gamma_3_runs_"), "{}", ran.stdout);
}

#[test]
fn parallel_axes_list_the_best_first() {
    let project = sweep();
    let drawn = report(&project, "tiny_* --parallel -o lines.svg");
    let best = &drawn["combinations"][0];
    assert_eq!((&best["settings"][RATE], &best["mean"]), (&"0.01".into(), &200.0.into()));
    assert_eq!(drawn["combinations"].as_array().unwrap().len(), 3);
    assert_eq!(drawn["pooled"].as_array().unwrap().len(), 0);
    let chosen = report(&project, &format!("tiny_* --parallel {RATE} --terminal"));
    assert_eq!((chosen["combinations"].as_array().unwrap().len(), &chosen["pooled"][0]), (2, &GAMMA.into()));
    let ran = project.rlx("plot tiny_* --parallel --terminal").expect(0);
    let first = ran.stdout.lines().find(|line| line.contains("0.01")).unwrap();
    assert!(first.contains("200.0") && !ran.stdout.contains("wrote"), "{}", ran.stdout);
}

#[test]
fn failed_seeds_count_as_the_worst() {
    let project =
        project_with(&[("--set algo.gamma=0.9", &[50.0, 60.0]), ("--set algo.gamma=0.99", &[400.0, 90.0])]);
    // The second run diverged before its last step.
    let end = project.path("runs/tiny_002/attempts/1/end.json");
    let text = std::fs::read_to_string(&end).unwrap().replace("\"completed\"", "\"failed\"");
    let text = text.replace("\"reason\": null", "\"reason\": \"diverged: x\"");
    std::fs::write(&end, text).unwrap();
    for seed in [0, 1] {
        let path = format!("runs/tiny_002/seeds/{seed}/metrics.jsonl");
        project.write(&path, &metrics(30.0).replace("2048", "1024"));
    }
    let drawn = report(&project, &format!("tiny_001 tiny_002 --against {GAMMA} -o failed.svg"));
    let failed = &drawn["panels"][0]["values"][1];
    assert_eq!((&failed["failed"], &failed["seeds"]), (&2.into(), &2.into()));
    // No better than the 30 that they had reached; a random policy may be worse.
    assert!(failed["mean"].as_f64().unwrap() <= 30.0, "{failed}");
    assert!(notes(&drawn).contains("2 seeds failed and count as"), "{}", notes(&drawn));
    assert!(notes(&drawn).contains("tiny_002:0 and tiny_002:1"), "{}", notes(&drawn));
    let ran = project.rlx(&format!("plot tiny_001 tiny_002 --against {GAMMA} --terminal")).expect(0);
    assert!(ran.stdout.contains("2 (2 failed)"), "{}", ran.stdout);
}

#[test]
fn the_same_training_counts_once() {
    let project = Project::new();
    project.rlx("train tiny.yaml").expect(0);
    project.rlx("train tiny.yaml").expect(0);
    let drawn = report(&project, &format!("tiny_001 tiny_002 tiny_001 --against {RATE} --terminal"));
    assert_eq!(drawn["seeds"].as_array().unwrap().len(), 1);
    assert!(notes(&drawn).contains("1 training is in two runs and counts once."), "{}", notes(&drawn));
}

#[test]
fn one_run_and_one_value_are_drawn_and_said() {
    let project = Project::trained();
    let ran = project.rlx(&format!("plot @last --against {RATE}")).expect(0);
    assert!(ran.stdout.contains("1 seed") && ran.stdout.contains("One seed per value"), "{}", ran.stdout);
    assert!(ran.stderr.contains("algo.learning_rate is 0.001 in all runs."), "{}", ran.stderr);
    assert!(ran.stdout.ends_with("wrote runs/tiny_001/plots/against_learning_rate.svg\n"), "{}", ran.stdout);
    project.rlx(&format!("plot @last --heatmap {RATE},{GAMMA}")).expect(0);
    project.rlx(&format!("plot @last --parallel {RATE}")).expect(0);
    for flag in ["--against", "--parallel"] {
        let refused = project.rlx(&format!("plot @last {flag}")).expect(2);
        assert!(refused.stderr.contains("so no key differs"), "{}", refused.stderr);
        assert!(refused.stderr.contains("--against algo.learning_rate"), "{}", refused.stderr);
    }
}

#[test]
fn what_can_not_be_drawn_is_said() {
    let project = Project::trained();
    for (line, said) in [
        ("--against algo.gama", "did you mean algo.gamma?"),
        ("--against learning_rate", "did you mean algo.learning_rate?"),
        ("--heatmap algo.learning_rate,gamma", "did you mean algo.gamma?"),
        ("--parallel algo.gamma,algo.lerning_rate", "did you mean algo.learning_rate?"),
        ("--against score", "is a column of `rlx ls`"),
        ("--against env.kwargs.map_name", "no run has the config key env.kwargs.map_name"),
        ("--against algo.gamma --against algo.gamma", "named twice"),
        ("--heatmap algo.gamma,algo.gamma", "named twice"),
        ("--heatmap algo.gamma", "expected two config keys"),
        ("--against algo.gamma --heatmap algo.gamma,algo.learning_rate", "cannot be used with"),
        ("--against algo.gamma --smooth 3", "cannot be used with"),
        ("--against algo.gamma --metric entropy", "cannot be used with"),
        ("--against algo.gamma -o a.pdf", "--output a.svg"),
        ("--against algo.gamma --height 10", "--height is 10"),
    ] {
        let refused = project.rlx(&format!("plot tiny_001 {line}")).expect(2);
        assert!(refused.stderr.contains(said), "{line}\n{}", refused.stderr);
    }
    project.write("runs/tiny_001/metrics.jsonl", "");
    let nothing = project.rlx("plot tiny_001 --against algo.gamma").expect(2);
    assert!(nothing.stderr.contains("no seed has a score"), "{}", nothing.stderr);
}

#[test]
fn runs_of_two_environments_do_not_share_a_chart() {
    let project = Project::new();
    project.rlx("train tiny.yaml --tag sweep").expect(0);
    project.write("other.yaml", &TINY.replace("CartPole-v1", "Acrobot-v1").replace("tiny", "other"));
    project.rlx("train other.yaml --tag sweep").expect(0);
    let refused = project.rlx("plot tag:sweep --against algo.gamma").expect(2);
    assert!(refused.stderr.contains("2 environments"), "{}", refused.stderr);
    let hint = refused.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
    assert!(hint.contains("tags=sweep and env=Acrobot-v1"), "{hint}");
    project.shell(hint).expect(0);
}

#[test]
fn five_hundred_runs_at_once() {
    let project = Project::trained();
    project
        .shell("cd runs && for i in $(seq 2 500); do cp -r tiny_001 tiny_$(printf %03d $i); done")
        .expect(0);
    let config = std::fs::read_to_string(project.path("runs/tiny_001/config_snapshot.yaml")).unwrap();
    assert!(config.contains("  learning_rate: 0.001\n"), "{config}");
    for run in 1..=500 {
        let rate = format!("  learning_rate: {}\n", 1e-5 * 1.02f64.powi(run));
        let folder = format!("runs/tiny_{run:03}");
        let changed = config.replace("  learning_rate: 0.001\n", &rate);
        project.write(&format!("{folder}/config_snapshot.yaml"), &changed);
        project.write(&format!("{folder}/metrics.jsonl"), &metrics(f64::from(run)));
    }
    let drawn = report(&project, "tiny_* --against -o against.svg");
    assert_eq!(drawn["seeds"].as_array().unwrap().len(), 500);
    let values = drawn["panels"][0]["values"].as_array().unwrap();
    assert_eq!(values.iter().map(|value| value["seeds"].as_u64().unwrap()).sum::<u64>(), 500);
    assert_eq!((values.len(), &values[0]["interval"]), (8, &"bootstrap".into()));
    assert!(notes(&drawn).contains("summarised in ranges"), "{}", notes(&drawn));
    let lines = report(&project, "tiny_* --parallel -o lines.svg");
    assert_eq!(lines["combinations"].as_array().unwrap().len(), 500);
    report(&project, &format!("tiny_* --heatmap {RATE},{GAMMA} -o grid.svg"));
}
