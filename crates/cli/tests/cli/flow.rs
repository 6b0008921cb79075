//! Runs that come from runs, and bytes that stay the same.

use std::path::Path;
use std::sync::Arc;

use rlxp_fs::{RealFs, RealMachine};
use rlxp_ops::same_bytes::differences;
use rlxp_store::Run;

use crate::project::Project;

/// Fails when two runs differ in anything that training decides.
#[track_caller]
pub(crate) fn assert_same_bytes(one: &Path, other: &Path) {
    let run = |path: &Path| Run::at(Arc::new(RealFs), Arc::new(RealMachine), path);
    assert_eq!(differences(&run(one), &run(other)).unwrap(), []);
}

#[test]
fn a_run_is_reproduced_whatever_the_threads() {
    let project = Project::new();
    for (index, seeds) in ["1", "3"].into_iter().enumerate() {
        project.rlx(&format!("train tiny.yaml --set seeds={seeds} --set threads=1")).expect(0);
        project.rlx("eval --run @last --episodes 5").expect(0);
        project.rlx("ls").expect(0);
        project.rlx("info @last").expect(0);
        let same = project.rlx("reproduce @last --json").expect(0).json();
        assert_eq!(same["same"], true);
        assert_eq!(same["changed"], serde_json::json!([]));
        project.rlx("reproduce @last --threads 2").expect(0);
        // Nothing of the reproductions is left.
        assert_eq!(project.rlx("ls --json").json()["found"], 2 * index + 1);
        project.rlx(&format!("train tiny.yaml --set seeds={seeds} --set threads=2")).expect(0);
        let path = |number: usize| project.path(&format!("runs/tiny_{number:03}"));
        assert_same_bytes(&path(2 * index + 1), &path(2 * index + 2));
    }
    let entries = std::fs::read_dir(project.path("runs")).unwrap();
    let names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| !name.starts_with(".index")).count(), 4, "{names:?}");
}

#[test]
fn a_kept_reproduction_is_a_run_with_its_origin() {
    let project = Project::trained();
    let kept = project.rlx("reproduce tiny_001 --keep --json").expect(0).json();
    assert!(kept["kept"].as_str().unwrap().ends_with("runs/tiny_002"));
    let lineage = project.rlx("info tiny_002 --json").json()["lineage"].clone();
    assert_eq!((&lineage["kind"], &lineage["parent"]), (&"reproduced".into(), &"tiny_001".into()));
}

#[test]
fn an_extension_is_a_new_run_that_goes_on() {
    let project = Project::trained();
    let before = std::fs::read(project.path("runs/tiny_001/metrics.jsonl")).unwrap();
    let report = project.rlx("resume tiny_001 --total-timesteps 4096 --json").expect(0).json();
    assert_eq!((&report["run"], &report["extends"]), (&"tiny_002".into(), &"tiny_001".into()));
    let info = project.rlx("info tiny_002 --json").json();
    assert_eq!(info["lineage"]["kind"], "resumed_extended");
    assert_eq!(info["lineage"]["checkpoint"], 2048);
    assert_eq!(info["seeds"][0]["steps"], 4096);
    assert!(project.rlx("info tiny_002").stdout.contains("extends tiny_001 at step 2,048"));
    assert_eq!(std::fs::read(project.path("runs/tiny_001/metrics.jsonl")).unwrap(), before);
    project.rlx("reproduce tiny_002").expect(0);
}

#[test]
fn an_extension_says_how_its_schedules_change() {
    let project = Project::new();
    let line = |from: f64| format!("{{schedule: linear, from: {from}, to: 0}}");
    let text =
        crate::project::TINY.replace("learning_rate: 0.001", &format!("learning_rate: {}", line(0.001)));
    project.write("line.yaml", &text.replace("clip_range: 0.2", &format!("clip_range: {}", line(0.2))));
    project.rlx("train line.yaml").expect(0);
    let told = project.rlx("resume tiny_001 --total-timesteps 4096").expect(0).stderr;
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("jumps")).collect();
    assert_eq!(
        lines,
        [
            "warning: algo.learning_rate jumps from 0.000125 to 0.0005 at step 2,048: its schedule now runs over 4,096 steps and ends at 0",
            "warning: algo.clip_range jumps from 0.025 to 0.1 at step 2,048: its schedule now runs over 4,096 steps and ends at 0",
        ]
    );
    // Before training, and as training then does it.
    let events = project.rlx("resume tiny_001 --total-timesteps 4096 --json").expect(0).json_lines();
    let place = |name: &str| events.iter().position(|event| event["event"] == name).unwrap();
    assert!(place("schedule_stretched") < place("created"));
    let event = &events[place("schedule_stretched")];
    let rate = |run: &str, step: u64| {
        let record = records(&project, run, "train").into_iter().find(|record| record.step == step).unwrap();
        record.number("learning_rate").unwrap()
    };
    let close = |a: f64, b: &serde_json::Value| (a - b.as_f64().unwrap()).abs() < 1e-9;
    assert!(close(rate("tiny_001", 2048), &event["last"]), "{event}");
    assert!(close(rate("tiny_003", 2048 + 256), &event["next"]), "{event}");
    // Constant values have nothing to say.
    project.rlx("train tiny.yaml").expect(0);
    assert!(!project.rlx("resume @last --total-timesteps 4096").expect(0).stderr.contains("jumps"));
}

#[test]
fn a_warm_start_begins_with_the_weights_of_a_checkpoint() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --from tiny_001:step_1024 --set run_name=warm").expect(0);
    let info = project.rlx("info warm_001 --json").json();
    assert_eq!(info["lineage"]["kind"], "warm_start");
    assert_eq!(info["lineage"]["checkpoint"], 1024);
    let model = |path: &str| std::fs::read(project.path(path)).unwrap();
    assert_eq!(
        model("runs/warm_001/origin/model.safetensors"),
        model("runs/tiny_001/checkpoints/step_1024/model.safetensors")
    );
    project.rlx("reproduce warm_001").expect(0);
    // A checkpoint's folder works as well as a run's name.
    project.rlx("train tiny.yaml --from runs/tiny_001/checkpoints/best").expect(0);
}

#[test]
fn training_stops_at_a_return() {
    let project = Project::new();
    project.rlx("train tiny.yaml --stop-at 1 --tag early").expect(0);
    let info = project.rlx("info @last --json").json();
    assert_eq!((&info["status"], &info["seeds"][0]["steps"]), (&"completed".into(), &1024.into()));
    assert_eq!(info["metadata"]["tags"], serde_json::json!(["early"]));
    project.rlx("reproduce @last").expect(0);
}

/// The records of one kind in a run of one seed.
fn records(project: &Project, run: &str, kind: &str) -> Vec<rlxp_store::Record> {
    let bytes = std::fs::read_to_string(project.path(&format!("runs/{run}/metrics.jsonl"))).unwrap();
    let records = bytes.lines().map(|line| serde_json::from_str::<rlxp_store::Record>(line).unwrap());
    records.filter(|record| record.kind == kind).collect()
}

#[test]
fn observations_are_described_when_a_run_is_evaluated_and_also_when_it_is_not() {
    let project = Project::trained();
    let steps = |run: &str, kind: &str| -> Vec<u64> {
        records(&project, run, kind).iter().map(|record| record.step).collect()
    };
    assert_eq!(steps("tiny_001", "observations"), [1024, 2048]);
    assert_eq!(steps("tiny_001", "eval"), [1024, 2048]);
    let described = &records(&project, "tiny_001", "observations")[0];
    assert_eq!(described.values.len(), 4 * 4 + 1);
    assert!(described.number("std_3").unwrap() > 0.0);
    let memory = records(&project, "tiny_001", "timing")[0].number("resident_bytes").unwrap();
    assert!(memory > 1e5, "{memory}");
    // 40 updates, twenty descriptions.
    project.rlx("train tiny.yaml --set eval.every=0 --set algo.total_timesteps=10240").expect(0);
    assert!(steps("tiny_002", "eval").is_empty());
    let expected: Vec<u64> = (1..=20).map(|number| number * 512).collect();
    assert_eq!(steps("tiny_002", "observations"), expected);
}

#[test]
fn a_run_that_diverges_leaves_the_numbers_of_its_last_update() {
    let project = Project::new();
    // 10^42 is more than single precision holds.
    let scaled = ["scale_reward: {factor: 1000000}"; 7].join(", ");
    let wrapped = crate::project::TINY.replace("num_envs: 4", &format!("num_envs: 4, wrappers: [{scaled}]"));
    project.write("huge.yaml", &wrapped);
    let told = project.rlx("train huge.yaml").expect(4).stderr;
    assert!(told.contains("training diverged"), "{told}");
    let last = records(&project, "tiny_001", "train").pop().unwrap();
    assert_eq!((last.step, &last.values["grad_norm"]), (256, &"NaN".into()));
    assert_eq!(last.values["reward_max_abs"], "inf");
    project.rlx("info @last").expect(0);
    project.rlx("tail @last --no-follow").expect(0);
    project.rlx("ls").expect(0);
}
