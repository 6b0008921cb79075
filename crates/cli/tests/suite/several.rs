//! `rlx train` with several configs: all are checked first, a failure stops no other run, Ctrl-C stops all.

use serde_json::Value;

use crate::detach::Background;
use crate::interrupt::{LONG, Training};
use crate::killing::wait_gone;
use crate::project::{Project, TINY};
use crate::records::run_folders;

/// A config that diverges in its first update: 10^42 is more than single precision holds.
fn diverging() -> String {
    let scaled = ["scale_reward: {factor: 1000000}"; 7].join(", ");
    TINY.replace("num_envs: 4", &format!("num_envs: 4, wrappers: [{scaled}]"))
        .replace("run_name: tiny", "run_name: huge")
}

#[test]
fn a_run_that_fails_stops_no_other() {
    let project = Project::new();
    project.write("huge.yaml", &diverging());
    for parallel in [1, 2, 3] {
        let line = format!("train tiny.yaml huge.yaml tiny.yaml --tag sweep --parallel {parallel}");
        let report = project.rlx(&format!("{line} --json")).expect(4).json();
        assert_eq!(report["schema"], "rlx.trainings/1");
        let of = |field: &str| -> Vec<Value> {
            report["runs"].as_array().unwrap().iter().map(|run| run[field].clone()).collect()
        };
        assert_eq!(of("status"), ["completed", "failed", "completed"]);
        assert_eq!(of("config"), ["tiny.yaml", "huge.yaml", "tiny.yaml"]);
        let why = report["runs"][1]["failure"]["message"].as_str().unwrap();
        assert!(why.contains("training diverged"), "{why}");
        assert!(report["runs"][0]["best_eval_mean"].as_f64().is_some());
    }
    assert_eq!(project.rlx("ls --tag sweep --json").json()["found"], 9);
    let told = project.rlx("train tiny.yaml huge.yaml").expect(4);
    let words: Vec<Vec<&str>> = told.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["run", "config", "status", "return", "best"]);
    assert_eq!(words[1][..3], ["tiny_007", "tiny.yaml", "completed"]);
    assert_eq!(words[2][..3], ["huge_004", "huge.yaml", "failed"]);
    assert!(told.stdout.contains("huge_004: the gradient norm became NaN"), "{}", told.stdout);
}

#[test]
fn all_configs_are_checked_before_the_first_starts() {
    let project = Project::new();
    project.write("bad.yaml", "env: {id: CartPole-v1}\nalgo: {gama: 0.9}\n");
    for line in [
        "train tiny.yaml bad.yaml nothing.yaml",
        "train tiny.yaml bad.yaml nothing.yaml --detach",
        "train tiny.yaml bad.yaml nothing.yaml --dry-run",
    ] {
        let told = project.rlx(line).expect(2).stderr;
        assert!(told.contains("did you mean `gamma`?"), "{told}");
        assert!(told.contains("2 of 3 configs can't be trained"), "{told}");
        assert!(told.contains("config file nothing.yaml not found"), "{told}");
    }
    // What is wrong with all of them is reported once.
    let told = project.rlx("train tiny.yaml tiny.yaml --set algo.gama=1").expect(2).stderr;
    assert_eq!(told.matches("unknown key `algo.gama`").count(), 1, "{told}");
    project.rlx("train tiny.yaml tiny.yaml --from tiny_001").expect(2);
    project.rlx("train tiny.yaml tiny.yaml --parallel 0").expect(2);
    let plans = project.rlx("train tiny.yaml tiny.yaml --dry-run --json").expect(0).json();
    assert_eq!(plans["runs"].as_array().unwrap().len(), 2);
    assert_eq!(plans["runs"][1]["plan"]["steps"], 2048);
    assert!(run_folders(project.folder()).is_empty());
}

#[test]
fn runs_at_once_share_the_cores() {
    let project = Project::new();
    project.write("own.yaml", &TINY.replace("threads: 2\n", ""));
    let cores = std::thread::available_parallelism().unwrap().get();
    let threads = |line: &str, run: usize| {
        project.rlx(&format!("{line} --dry-run --json")).expect(0).json()["runs"][run]["plan"]["threads"]
            .clone()
    };
    assert_eq!(threads("train own.yaml own.yaml", 0), cores);
    assert_eq!(threads("train own.yaml own.yaml --parallel 2", 1), (cores / 2).max(1));
    assert_eq!(
        threads("train own.yaml own.yaml --parallel 9", 1),
        (cores / 2).max(1),
        "only two are trained"
    );
    assert_eq!(threads("train own.yaml tiny.yaml --parallel 2", 1), 2, "the config decides");
}

#[test]
fn ctrl_c_saves_all_and_starts_no_other() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    let line = "train long.yaml long.yaml long.yaml --parallel 2 --set algo.total_timesteps=100000000";
    let mut training = Training::start(&project, line);
    let first = training.wait_for("progress")["run"].clone();
    while training.wait_for("progress")["run"] == first {}
    training.interrupt();
    let (code, report) = training.end();
    assert_eq!(code, Some(130));
    assert_eq!((&report["interrupted"], &report["runs"][2]["run"]), (&true.into(), &Value::Null));
    assert_eq!(run_folders(project.folder()).len(), 2);
    for name in ["long_001", "long_002"] {
        let info = project.rlx(&format!("info {name} --json")).json();
        assert_eq!(info["status"], "interrupted");
        let newest = info["seeds"][0]["checkpoints"].as_array().unwrap().last().unwrap().as_u64();
        assert_eq!(newest, info["seeds"][0]["steps"].as_u64(), "what was done is saved");
    }
}

#[test]
fn a_detached_list_is_worked_through_and_a_failure_stops_no_other() {
    let project = Project::new();
    project.write("huge.yaml", &diverging());
    let report = project.rlx("train tiny.yaml huge.yaml tiny.yaml --detach --json").expect(0).json();
    assert_eq!(report["detached"], true);
    for (name, code) in [("tiny_001", 0), ("huge_001", 4), ("tiny_002", 0)] {
        project.rlx(&format!("tail {name}")).expect(code);
    }
}

#[test]
fn a_run_that_waits_for_its_turn_can_be_stopped() {
    let project = Project::new();
    project.write("long.yaml", &LONG.replace("total_timesteps: 600000", "total_timesteps: 100000000"));
    project.rlx("train long.yaml tiny.yaml long.yaml --detach").expect(0);
    let first = Background::of(&project, "long_001");
    let third = Background::of(&project, "long_002");
    first.grows();
    let supervisor = first.supervisor(1);
    let cancelled = project.rlx("stop tiny_001 --json").expect(0).json();
    assert_eq!(cancelled["runs"][0]["action"], "cancelled");
    project.rlx("stop long_001").expect(0);
    // The one after it gets its turn; the cancelled one doesn't.
    third.grows();
    project.rlx("stop long_002").expect(0);
    wait_gone(&[supervisor]);
    let rows = project.rlx("ls --json").json()["runs"].clone();
    for row in rows.as_array().unwrap() {
        assert_eq!(row["status"], "interrupted", "{row}");
        assert_eq!(row["name"] == "tiny_001", row["steps"] == 0, "{row}");
    }
    project.rlx("resume tiny_001").expect(0);
}
