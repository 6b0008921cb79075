//! Runs that start from other runs, and bytes that stay the same.

use std::process::{Command, Stdio};

use crate::project::{Project, RLX};
use crate::records::assert_same_bytes;

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
        assert_same_bytes(&path(2 * index + 1), &path(2 * index + 2), seeds);
    }
    let entries = std::fs::read_dir(project.path("runs")).unwrap();
    let names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| !name.starts_with(".index")).count(), 4, "{names:?}");
}

#[test]
fn a_program_whose_file_was_replaced_still_trains() {
    let project = Project::new();
    std::fs::copy(RLX, project.path("rlx")).unwrap();
    let script = "exec 3< ./rlx; rm ./rlx; exec /proc/self/fd/3 train tiny.yaml";
    let mut command = Command::new("sh");
    let output =
        command.args(["-c", script]).current_dir(project.folder()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
    // Extended again, it records every run before it, whatever happens to the one in between.
    project.rlx("resume tiny_002 --total-timesteps 5120").expect(0);
    let of = |run: &str| project.rlx(&format!("info {run} --json")).json();
    let (first, last) = (of("tiny_001"), of("tiny_003"));
    assert_eq!(last["lineage"]["ancestors"], serde_json::json!([first["metadata"]["id"]]), "{last}");
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
            "warning: algo.learning_rate jumps from 0.000125 to 0.0005 at step 2,048: its schedule is stretched to 4,096 steps and ends at 0",
            "warning: algo.clip_range jumps from 0.025 to 0.1 at step 2,048: its schedule is stretched to 4,096 steps and ends at 0",
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
    // Constant values are left out.
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
    let trained = project.rlx("train tiny.yaml --stop-at 1 --tag early").expect(0);
    let why = "seed 0 stopped early at step 1,024: evaluation return ";
    assert!(
        trained.stdout.contains(why) && trained.stdout.contains(" >= 1.00 (--stop-at)"),
        "{}",
        trained.stdout
    );
    let info = project.rlx("info @last --json").json();
    assert_eq!((&info["stop_at"], &info["seeds"][0]["stopped_early"]["step"]), (&1.0.into(), &1024.into()));
    assert_eq!(info["seeds"][0]["stopped_early"]["score"], info["seeds"][0]["curve"]["evaluation"][0][1]);
    let shown = project.rlx("info @last").expect(0).stdout;
    assert!(shown.contains(why) && shown.contains("evaluation return >= 1.00"), "{shown}");
    let summary = project.rlx("summarize @last --json").expect(0).json().to_string();
    assert!(summary.contains("Stopped early at a return of 1 or more: seed 0 at step 1,024."), "{summary}");
    project.rlx("report @last -o report.html").expect(0);
    let page = std::fs::read_to_string(project.path("report.html")).unwrap();
    assert!(page.contains("stopped early (--stop-at)"));
    assert_eq!((&info["status"], &info["seeds"][0]["steps"]), (&"completed".into(), &1024.into()));
    assert_eq!(info["metadata"]["tags"], serde_json::json!(["early"]));
    project.rlx("reproduce @last").expect(0);
    // Never good enough, or only after the last step: then nothing was early.
    let late = project.rlx("train tiny.yaml --stop-at 100000 --json").expect(0).json();
    assert_eq!(
        (&late["results"]["0"]["stopped_early"], &late["stop_at"]),
        (&false.into(), &100_000.0.into())
    );
    assert_eq!(project.rlx("info @last --json").json()["seeds"][0]["stopped_early"], serde_json::Value::Null);
    let shown = project.rlx("info @last").expect(0).stdout;
    assert!(
        shown.contains("no seed stopped early: no evaluation return reached 100000.0 (--stop-at)"),
        "{shown}"
    );
    let end = project.rlx("train tiny.yaml --stop-at 1 --set eval.every=2048 --json").expect(0).json();
    assert_eq!(
        (&end["results"]["0"]["stopped_early"], &end["results"]["0"]["steps"]),
        (&false.into(), &2048.into())
    );
    let early = project.rlx("train tiny.yaml --stop-at 1 --json").expect(0).json();
    assert_eq!(early["results"]["0"]["stopped_early"], true);
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
    // It would diverge again, so it can't be resumed.
    assert!(!told.contains("rlx resume"), "{told}");
    let hints: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("hint: ")).collect();
    let lower = "rlx train runs/tiny_001/config_snapshot.yaml --set algo.learning_rate=0.0001";
    assert_eq!(hints, ["rlx diagnose tiny_001", lower]);
    project.rlx("diagnose tiny_001").expect(1);
    project.rlx(&format!("{} --dry-run", lower.strip_prefix("rlx ").unwrap())).expect(0);
    for command in [
        "info tiny_001",
        "summarize tiny_001",
        "analyze tiny_001",
        "resume tiny_001 --total-timesteps 9999",
        "reproduce tiny_001",
    ] {
        let ran = project.rlx(command);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(shown.contains(lower) && !shown.contains("rlx resume"), "{command}: {shown}");
    }
    let last = records(&project, "tiny_001", "train").pop().unwrap();
    assert_eq!((last.step, &last.values["grad_norm"]), (256, &"NaN".into()));
    assert_eq!(last.values["reward_max_abs"], "inf");
    project.rlx("info @last").expect(0);
    project.rlx("tail @last --no-follow").expect(0);
    project.rlx("ls").expect(0);
}

#[test]
fn every_seed_that_fails_is_named_with_its_own_reason() {
    let project = Project::new();
    let scaled = ["scale_reward: {factor: 1000000}"; 7].join(", ");
    let wrapped = crate::project::TINY.replace("num_envs: 4", &format!("num_envs: 4, wrappers: [{scaled}]"));
    project.write(
        "huge.yaml",
        &wrapped.replace("learning_rate: 0.001", "learning_rate: {schedule: linear, from: 0.001, to: 0}"),
    );
    let told = project.rlx("train huge.yaml --set seeds=3 --set algo.max_grad_norm=null").expect(4).stderr;
    assert!(told.contains("error: 3 of 3 seeds failed: seed 0: "), "{told}");
    for seed in 0..3 {
        let own = format!("seed {seed}: the gradient norm became NaN at step 256: training diverged");
        assert_eq!(
            told.lines().filter(|line| line.starts_with("error: ") && line.contains(&own)).count(),
            1,
            "{told}"
        );
        assert!(told.contains(&format!("warning: seed {seed} failed: the gradient norm")), "{told}");
    }
    let end = std::fs::read(project.path("runs/tiny_001/attempts/1/end.json")).unwrap();
    let end: serde_json::Value = serde_json::from_slice(&end).unwrap();
    assert_eq!(end["cause"], "diverged");
    assert_eq!(end["seed_causes"], serde_json::json!({ "0": "diverged", "1": "diverged", "2": "diverged" }));
    let lower = "'algo.learning_rate={schedule: linear, from: 0.0001, to: 0}' --set algo.max_grad_norm=0.5";
    let command = told.lines().find_map(|line| line.strip_prefix("hint: rlx train ")).unwrap();
    assert!(command.ends_with(lower), "{command}");
    project.shell(&format!("rlx train {command} --dry-run")).expect(0);
    let events = project.rlx("train huge.yaml --set seeds=3 --json").expect(4).json_lines();
    let failed: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "seed_failed")
        .map(|event| event["seed"].as_u64())
        .collect();
    assert_eq!(failed.iter().flatten().copied().collect::<std::collections::BTreeSet<_>>(), [0, 1, 2].into());
}

#[test]
fn a_seed_that_fails_leaves_the_others_as_they_are() {
    let project = Project::new();
    project.rlx("train tiny.yaml --set seeds=3").expect(0);
    // As recorded when one seed diverges in its last update and the others complete.
    let path = project.path("runs/tiny_001/attempts/1/end.json");
    let mut end: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let own = "diverged: the gradient norm became NaN at step 2048: training diverged";
    end["outcome"] = "failed".into();
    end["reason"] = "diverged: 1 of 3 seeds failed: seed 1: the gradient norm became NaN".into();
    end["seeds"] = serde_json::json!({ "1": own });
    std::fs::write(&path, end.to_string()).unwrap();
    let info = project.rlx("info tiny_001 --json").json();
    let seeds: Vec<_> =
        info["seeds"].as_array().unwrap().iter().map(|seed| (&seed["state"], &seed["reason"])).collect();
    let none = &serde_json::Value::Null;
    assert_eq!(
        seeds,
        [(&"finished".into(), none), (&"failed".into(), &own.into()), (&"finished".into(), none)]
    );
    let shown = project.rlx("info tiny_001").expect(0);
    assert_eq!(shown.stdout.matches(own).count(), 1, "{}", shown.stdout);
    assert_eq!(
        shown.stdout.lines().filter(|line| line.ends_with("  finished")).count(),
        2,
        "{}",
        shown.stdout
    );
    assert!(!shown.stderr.contains("rlx resume"), "{}", shown.stderr);
    let compared = project.rlx("compare tiny_001 tiny_001 --json").expect(0).json();
    let why: Vec<_> =
        compared["groups"][0]["seeds"].as_array().unwrap().iter().map(|seed| &seed["why"]).collect();
    assert_eq!(why, [none, &own.into(), none]);
    // A seed that was stopped with the others did not fail; it can be finished.
    let metrics = project.path("runs/tiny_001/seeds/2/metrics.jsonl");
    let text = std::fs::read_to_string(&metrics).unwrap();
    let cut: String = text.split_inclusive('\n').filter(|line| !line.contains("\"step\":2048")).collect();
    std::fs::write(&metrics, cut).unwrap();
    let checkpoints = project.path("runs/tiny_001/seeds/2/checkpoints");
    std::fs::remove_file(checkpoints.join("latest")).unwrap();
    let info = project.rlx("info tiny_001 --json").json();
    assert_eq!((&info["seeds"][2]["state"], &info["seeds"][2]["reason"]), (&"unfinished".into(), none));
    let shown = project.rlx("info tiny_001").expect(0).stderr;
    assert!(shown.contains("hint: rlx resume tiny_001    # finishes seed 2"), "{shown}");
}

#[test]
fn a_run_that_stopped_early_is_continued_to_its_own_length() {
    let project = Project::new();
    project.rlx("train tiny.yaml --stop-at 1").expect(0);
    let refused = project.rlx("resume tiny_001 --total-timesteps 1024").expect(2).stderr;
    assert!(refused.contains("tiny_001 already has 1024 steps; 1024 would not extend it"), "{refused}");
    assert!(refused.contains("hint: rlx resume tiny_001 --total-timesteps 2048"), "{refused}");
    let extended = project.rlx("resume tiny_001 --total-timesteps 2048").expect(0);
    let note = "--stop-at 1 of tiny_001 does not apply to the extension";
    assert!(extended.stderr.contains(note) && !extended.stderr.contains("jumps"), "{}", extended.stderr);
    assert_eq!(project.rlx("info tiny_002 --json").json()["seeds"][0]["steps"], 2048);
    let summary = project.rlx("summarize tiny_002").expect(0).stdout;
    assert!(!summary.contains("checkpoint.save_every"), "{summary}");
}

#[test]
fn a_run_whose_process_can_not_be_seen_is_taken_over_only_by_force() {
    let project = Project::trained();
    std::fs::remove_file(project.path("runs/tiny_001/attempts/1/end.json")).unwrap();
    let claim = project.path("runs/tiny_001/attempts/1/claim.json");
    let mut writer: serde_json::Value = serde_json::from_slice(&std::fs::read(&claim).unwrap()).unwrap();
    for key in ["host", "boot_id", "machine_id"] {
        writer[key] = "elsewhere".into();
    }
    std::fs::write(&claim, writer.to_string()).unwrap();
    for line in ["resume tiny_001", "rm tiny_001 --yes"] {
        let refused = project.rlx(line).expect(3).stderr;
        assert!(refused.contains("may still be written by process"), "{refused}");
        assert!(refused.contains("run the command again with --force"), "{refused}");
    }
    project.rlx("resume tiny_001 --force").expect(0);
    assert_eq!(project.rlx("info tiny_001 --json").json()["status"], "completed");
    project.rlx("train tiny.yaml --set seed=9").expect(0);
    std::fs::write(project.path("runs/tiny_002/attempts/1/claim.json"), "garbage").unwrap();
    std::fs::remove_file(project.path("runs/tiny_002/attempts/1/end.json")).unwrap();
    let refused = project.rlx("rm tiny_002 --yes").expect(3).stderr;
    assert!(refused.contains("may still be written by an unknown process"), "{refused}");
    project.rlx("rm tiny_002 --yes --force").expect(0);
}
