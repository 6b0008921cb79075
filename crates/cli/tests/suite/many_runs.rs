//! A session over three hundred runs, as someone has them after a sweep: one fixture, then the commands that are
//! reached for most, each checked against what the fixture was made of.

use std::path::Path;

use serde_json::Value;

use crate::project::Project;

const RATES: [&str; 5] = ["0.0001", "0.0003", "0.001", "0.003", "0.01"];
const GAMMAS: [&str; 4] = ["0.9", "0.95", "0.98", "0.99"];
/// Runs of each of the twenty configs.
const SEEDS: usize = 15;

/// Three hundred runs of twenty configs, one seed each. Training is the same for all, so that the fixture is made in
/// seconds: one run is trained, copied and given another config, seed and scores. The best config is the rate 0.003
/// with gamma 0.99.
fn fixture() -> Project {
    let project = Project::trained();
    let runs = project.path("runs");
    let (metadata, config) =
        (read(&runs.join("tiny_001/metadata.json")), read(&runs.join("tiny_001/config_snapshot.yaml")));
    let metrics = read(&runs.join("tiny_001/metrics.jsonl"));
    let mut number = 0;
    for (rate_at, rate) in RATES.iter().enumerate() {
        for (gamma_at, gamma) in GAMMAS.iter().enumerate() {
            for seed in 0..SEEDS {
                number += 1;
                let name = format!("sweep_{number:03}");
                let folder = runs.join(&name);
                project.shell(&format!("cp -r runs/tiny_001 runs/{name}")).expect(0);
                let mut described: Value = serde_json::from_str(&metadata).unwrap();
                described["name"] = name.clone().into();
                described["id"] = format!("{number:064x}").into();
                described["creation"] = (number + 1).into();
                described["seeds"] = vec![seed].into();
                described["tags"] = vec!["sweep"].into();
                std::fs::write(folder.join("metadata.json"), described.to_string()).unwrap();
                let own = config
                    .replace("learning_rate: 0.001", &format!("learning_rate: {rate}"))
                    .replace("gamma: 0.98", &format!("gamma: {gamma}"))
                    .replace("seed: 0\nseeds: [0]", &format!("seed: {seed}\nseeds: [{seed}]"))
                    .replace("run_name: tiny", "run_name: sweep");
                std::fs::write(folder.join("config_snapshot.yaml"), own).unwrap();
                let score = score(rate_at, gamma_at, seed);
                std::fs::write(folder.join("metrics.jsonl"), with_score(&metrics, score)).unwrap();
                with_last_score(&folder, score);
            }
        }
    }
    project
}

/// Distinct scores: highest for the fourth rate and the last gamma, with a spread over seeds.
fn score(rate: usize, gamma: usize, seed: usize) -> f64 {
    400.0 - 60.0 * (rate as f64 - 3.0).abs() - 20.0 * (3.0 - gamma as f64) + seed as f64
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The metrics with every evaluation at this score.
fn with_score(metrics: &str, score: f64) -> String {
    let line = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if record["kind"] == "eval" {
            record["values"]["mean_return"] = score.into();
        }
        format!("{record}\n")
    };
    metrics.lines().map(line).collect()
}

/// The same in what the end of the attempt says, which listings read.
fn with_last_score(folder: &Path, score: f64) {
    let end = folder.join("attempts/1/end.json");
    let mut ended: Value = serde_json::from_str(&read(&end)).unwrap();
    ended["summary"]["score"] = score.into();
    ended["summary"]["best_eval_mean"] = score.into();
    std::fs::write(end, ended.to_string()).unwrap();
}

fn names(list: &Value) -> Vec<&str> {
    list["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect()
}

#[test]
fn a_session_over_three_hundred_runs() {
    let project = fixture();
    let rlx = |words: &[&str]| project.rlx_with(words).expect(0);
    let json = |words: &[&str]| rlx(&[words, &["--json"]].concat()).json();

    // Hyperparameters are columns, conditions and sort keys; a script needs one call.
    let all = json(&["ls", "tag:sweep"]);
    assert_eq!(all["found"], 300);
    assert_eq!(all["runs"][0]["config"]["algo"]["gamma"], 0.99);
    let best = json(&[
        "ls",
        "--where",
        "algo.gamma>=0.98",
        "--where",
        "algo.learning_rate=0.003",
        "--sort",
        "-score",
        "--limit",
        "1",
    ]);
    assert_eq!((names(&best), &best["found"]), (vec!["sweep_240"], &30.into()));
    let csv =
        rlx(&["ls", "where:algo.gamma<0.95", "--csv", "--columns", "name,algo.learning_rate,score"]).stdout;
    assert_eq!((csv.lines().next().unwrap(), csv.lines().count()), ("name,algo.learning_rate,score", 76));
    let shown = rlx(&["ls", "tag:sweep", "--limit", "3"]).stdout;
    let heading = shown.lines().next().unwrap();
    assert!(!heading.contains("algo.clip_range"), "{heading}");

    // Groups are named by the keys in which they differ, the best first.
    let grouped = json(&["summarize", "tag:sweep"]);
    let groups = grouped["environments"][0]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 20);
    assert!(groups.iter().all(|group| group["runs"].as_array().unwrap().len() == SEEDS), "{grouped}");
    let curves = json(&["plot", "tag:sweep", "--group-by", "config", "--best", "5", "--terminal"]);
    let labels: Vec<&str> =
        curves["groups"].as_array().unwrap().iter().map(|group| group["label"].as_str().unwrap()).collect();
    assert_eq!(labels[0], "learning_rate=0.003, gamma=0.99");
    assert_eq!(labels.len(), 5);

    // The two best configs are compared seed group against seed group.
    let word = |gamma: &str| format!("where:algo.learning_rate=0.003 and algo.gamma={gamma}");
    let compared = json(&["compare", &word("0.98"), &word("0.99")]);
    assert_eq!(compared["comparisons"][0]["verdict"], "better", "{compared}");

    // Pictures of the sweep.
    let heat =
        json(&["plot", "tag:sweep", "--heatmap", "algo.learning_rate,algo.gamma", "--output", "heat.png"]);
    assert_eq!(heat["cells"].as_array().unwrap().len(), 20, "{heat}");
    for line in ["--against", "--parallel"] {
        rlx(&["plot", "tag:sweep", line, "--output", "sweep.svg"]);
    }
    rlx(&["report", "tag:sweep", "--no-videos", "--output", "sweep.html"]);
    let page = std::fs::metadata(project.path("sweep.html")).unwrap().len();
    assert!(page < 2_000_000, "{page} bytes");

    // Tidying up acts on what was named, and says it first.
    let said = rlx(&["tag", "where:score<200 and tags=sweep", "poor"]);
    let poor = json(&["ls", "--tag", "poor"])["found"].as_u64().unwrap();
    assert!(said.stderr.contains(&format!("matches {poor} runs")), "{}", said.stderr);
    let expected = RATES.iter().enumerate().flat_map(|(r, _)| (0..GAMMAS.len()).map(move |g| (r, g)));
    let expected = expected
        .flat_map(|(r, g)| (0..SEEDS).map(move |s| score(r, g, s)))
        .filter(|score| *score < 200.0)
        .count();
    assert_eq!(poor, expected as u64);
    project.rlx("rm tag:poor").expect(3);
    rlx(&["rm", "tag:poor", "--yes"]);
    assert_eq!(json(&["ls", "tag:sweep"])["found"], 300 - poor);
}
