//! Metrics of real runs: read as agreed, recorded once, and never from a file that isn't the run's.

use serde_json::{Value, json};

use crate::launch::candidates::reward_scale;
use crate::launch::repository::Repository;

/// Evaluates nothing, but leaves numbers in every text format.
const MEASURE: &str = r#"
import json, os, sys
out = sys.argv[1]
os.makedirs(out, exist_ok=True)
put = lambda name, text: open(os.path.join(out, name), "w").write(text)
put("scores.json", '{"success": 0.75, "twice": 1, "twice": 2, "nan": NaN, "share": 1.5}')
put("other.json", '{"success": 0.1}')
put("episodes.jsonl", "".join(json.dumps({"step": 10 - i, "length": i}) + "\n" for i in range(10)))
put("progress.csv", "time/steps,falls\n1,5\n2,\n3,1\n")
print("mean return: 12.5 +/- 1.0", flush=True)
print("epoch 3 | R=-4e1", flush=True)
"#;

/// A study whose evaluation leaves these files, with a smoke and a short phase of one run each.
fn repository() -> Repository {
    let metric = |name: &str, aggregation: &str, source: Value| json!({"name": name, "direction": "higher", "aggregation": aggregation, "source": source});
    let from_json = |file: &str, pointer: &str| json!({"format": "json", "file": file, "pointer": pointer});
    let build = Repository::build()
        .file("measure.py", MEASURE)
        .eval_with(&[".venv/bin/python", "measure.py", "{run}", "{seed}"])
        .without_baseline()
        .agree(|agreed| {
            agreed.contract["statistics"]["screen_seeds"] = 1.into();
            let spec = &mut agreed.metric_spec;
            let mut length =
                metric("length", "max", json!({"format": "jsonl", "file": "eval/episodes.jsonl", "pointer": "/length", "step": "/step"}));
            length["window"] = 3.into();
            let mut share = metric("share", "mean", from_json("eval/scores.json", "/share"));
            share["range"] = json!({"from": 0.0, "to": 1.0});
            spec["components"] = json!([length]);
            spec["diagnostics"] = json!([
                metric("mean-return", "last", json!({"format": "stdout", "before": "mean return:"})),
                metric("epoch-return", "last", json!({"format": "stdout_regex", "pattern": r"epoch (?<step>\d+) \| R=(?<value>\S+)"})),
                metric("falls", "mean", json!({"format": "csv", "file": "eval/progress.csv", "column": "falls", "step": "time/steps"})),
                metric("reward-scale", "mean", json!({"format": "jsonl", "file": "train/metrics.jsonl", "pointer": "/reward_scale"})),
            ]);
            spec["scorecard"] = json!([
                share,
                metric("twice", "mean", from_json("eval/scores.json", "/twice")),
                metric("not-a-number", "mean", from_json("eval/scores.json", "/nan")),
                metric("two-files", "mean", from_json("eval/*.json", "/success")),
                metric("nowhere", "mean", from_json("eval/scores.json", "/nowhere")),
                metric("damaged", "mean", json!({"format": "tensorboard", "file": "eval", "tag": "x"})),
            ]);
        });
    let repository = build.approved();
    repository.ready("reward", reward_scale(2.5));
    repository
}

fn short_run(repository: &Repository) -> String {
    for _ in 0..2 {
        repository.launch("reward").expect(0);
    }
    repository.runs_of("reward")[1].clone()
}

#[test]
fn metrics_are_read_as_agreed_and_recorded_once() {
    let repository = repository();
    repository.launch("reward").expect(0);
    let smoke = repository.runs_of("reward")[0].clone();
    assert_eq!(
        repository.rlx(&format!("study extract {smoke} --json")).expect(3).json()["code"],
        "smoke_run"
    );
    assert_eq!(repository.rlx("study extract --json").expect(0).json()["runs"], json!([]));
    repository.launch("reward").expect(0);
    let key = repository.runs_of("reward")[1].clone();

    // The step that is named can be followed as it is.
    let next = repository.rlx("study next --json").expect(0).json();
    assert_eq!(next["action"], "extract", "{next}");
    let command = next["command"].as_str().unwrap().strip_prefix("rlx ").unwrap();
    assert_eq!(command, format!("study extract {key}"));
    let shown = repository.rlx(command).expect(0).stdout;
    for part in ["success", "primary", "0.75", "eval/scores.json (1 point)", "ambiguous", "recorded"] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }

    let evidence = repository.records("evidence");
    assert_eq!(evidence.len(), 1);
    let values = &evidence[0]["values"];
    for (metric, value) in [
        ("success", 0.75),
        // The last three by step are the first three that were written.
        ("length", 2.0),
        ("mean-return", 12.5),
        ("epoch-return", -40.0),
        ("falls", 3.0),
        ("reward-scale", 2.5),
    ] {
        assert_eq!(values[metric], value, "{metric}: {evidence:?}");
    }
    for (metric, kind) in [
        ("share", "out_of_range"),
        ("twice", "ambiguous"),
        ("not-a-number", "not_finite"),
        ("two-files", "ambiguous"),
        ("nowhere", "missing"),
        ("damaged", "missing"),
    ] {
        assert_eq!(values[metric], Value::Null, "{metric}");
        assert_eq!(evidence[0]["reasons"][metric]["kind"], kind, "{metric}: {evidence:?}");
    }
    let scores = std::fs::read(repository.run_folder(&key).join("eval/scores.json")).unwrap();
    let files = &evidence[0]["files"];
    assert_eq!(files["eval/scores.json"], rlxp_types::Digest::hash(&scores).to_string());
    assert!(files["eval.log"].is_string() && files["train/metrics.jsonl"].is_string(), "{files}");
    assert!(files["eval/other.json"].is_null(), "it was never read: {files}");

    // Again: the same answer, and nothing more in the ledger.
    let records = repository.ledger().len();
    let again = repository.rlx(&format!("study extract {key} --json")).expect(0).json();
    assert_eq!(again["runs"][0]["recorded"], false, "{again}");
    assert_eq!(again["runs"][0]["metrics"][0]["value"], 0.75, "{again}");
    assert_eq!(repository.rlx("study extract --json").expect(0).json()["runs"], json!([]));
    assert_eq!(repository.ledger().len(), records);
    assert_ne!(repository.rlx("study next --json").expect(0).json()["action"], "extract");
    repository.rlx("verify --chain").expect(0);
    repository.rlx("study extract nothing-r1-short-1-1").expect(2);
}

#[test]
fn a_file_that_is_not_the_runs_any_more_records_nothing() {
    let repository = repository();
    let key = short_run(&repository);
    let folder = repository.run_folder(&key);
    let extract = |code: &str, name: &str| {
        let refused = repository.rlx("study extract --json").expect(3).json();
        assert_eq!(refused["code"], code, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(name), "{refused}");
        assert!(repository.records("evidence").is_empty());
    };
    for name in ["eval/scores.json", "eval.log", "train/metrics.jsonl", "manifest.json"] {
        let path = folder.join(name);
        let before = std::fs::read(&path).unwrap();
        let mut flipped = before.clone();
        flipped[before.len() / 2] ^= 1;
        for other in [flipped, [&before[..], b"\n"].concat(), before[..before.len() - 1].to_vec()] {
            std::fs::write(&path, other).unwrap();
            extract("run_file_changed", name);
        }
        std::fs::remove_file(&path).unwrap();
        extract(if name == "manifest.json" { "run_files_gone" } else { "run_file_missing" }, name);
        // A link to the same bytes is not the run's file either.
        let elsewhere = repository.home().join("elsewhere");
        std::fs::write(&elsewhere, &before).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_ne!(repository.rlx("study extract --json").code, Some(0), "{name}");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, before).unwrap();
    }
    // A file that appeared later is not the run's, so it is neither read nor in the way.
    std::fs::write(folder.join("eval/more.json"), "{\"success\": 1.0}").unwrap();
    std::fs::write(folder.join("eval/events.out.tfevents.1.x"), "").unwrap();
    let moved = folder.with_extension("away");
    std::fs::rename(&folder, &moved).unwrap();
    extract("run_files_gone", &key);
    std::fs::rename(&moved, &folder).unwrap();
    repository.rlx("study extract").expect(0);
    assert_eq!(repository.records("evidence")[0]["values"]["success"], 0.75);
}

/// What is measured is what was approved: an edit of the declarations since then reads nothing.
#[test]
fn declarations_that_were_not_approved_read_nothing() {
    let repository = repository();
    short_run(&repository);
    let path = repository.file("metric_spec.yaml");
    let before = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, before.replace("eval/scores.json", "eval/other.json")).unwrap();
    let refused = repository.rlx("study extract --json").expect(3).json();
    assert_eq!(refused["code"], "metrics_not_approved", "{refused}");
    assert!(repository.records("evidence").is_empty());
}
