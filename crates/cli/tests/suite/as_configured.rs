//! A run does what its config says, and reports what it did.

use crate::project::Project;
use crate::records::assert_same_bytes;

/// Returns of the episodes of an evaluation during training.
fn played(project: &Project, run: &str, step: u64) -> usize {
    let path = project.path(&format!("runs/{run}/eval/step_{step}.json"));
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    record["returns"].as_array().unwrap().len()
}

#[test]
fn as_many_episodes_are_played_as_the_config_says() {
    let project = Project::new();
    let shown = project.rlx("config show tiny.yaml --set eval.episodes=7").expect(0).stdout;
    assert!(shown.contains("\n  episodes: 7\n"), "{shown}");
    let events = project.rlx("train tiny.yaml --set eval.episodes=7 --json").expect(0).json_lines();
    let evaluated: Vec<_> = events.iter().filter(|event| event["event"] == "evaluated").collect();
    assert!(evaluated.len() == 2 && evaluated.iter().all(|event| event["episodes"] == 7), "{evaluated:?}");
    assert_eq!((played(&project, "tiny_001", 1024), played(&project, "tiny_001", 2048)), (7, 7));
    assert_eq!(project.rlx("info @last --json").json()["config"]["eval"]["episodes"], 7);
    let snapshot = std::fs::read_to_string(project.path("runs/tiny_001/config_snapshot.yaml")).unwrap();
    assert!(snapshot.starts_with("snapshot: 2\n") && snapshot.contains("\n  episodes: 7\n"), "{snapshot}");
    project.rlx("reproduce @last").expect(0);
    // Sampled actions vary too, and are as few as asked for.
    project.rlx("train tiny.yaml --set eval.episodes=3 --set eval.deterministic=false").expect(0);
    assert_eq!(played(&project, "tiny_002", 2048), 3);
    // Without a number it is the starter's.
    project.write("short.yaml", "{run_name: short, env: {id: CartPole-v1}, algo: {total_timesteps: 1024}}");
    project.rlx("train short.yaml").expect(0);
    assert_eq!(played(&project, "short_001", 1024), 100);
}

/// Makes the run's snapshot one of a version that always played at least 100 episodes.
fn make_old(project: &Project, run: &str) {
    let path = project.path(&format!("runs/{run}/config_snapshot.yaml"));
    let text = std::fs::read_to_string(&path).unwrap();
    let old = text.replace("snapshot: 2\n", "").replace("\n  episodes: 100\n", "\n  episodes: 5\n");
    assert!(!old.contains("snapshot") && old.contains("\n  episodes: 5\n"), "{old}");
    std::fs::write(path, old).unwrap();
}

#[test]
fn runs_recorded_under_the_old_rule_keep_it() {
    let project = Project::trained();
    make_old(&project, "tiny_001");
    project.rlx("reproduce tiny_001").expect(0);
    // It is described by what was played.
    assert_eq!(project.rlx("info tiny_001 --json").json()["config"]["eval"]["episodes"], 100);
    // Cut off after its first checkpoint, it ends with the same bytes.
    project.rlx("train tiny.yaml").expect(0);
    make_old(&project, "tiny_002");
    let run = project.path("runs/tiny_002");
    for gone in ["checkpoints/latest", "checkpoints/best", "eval/step_2048.json", "attempts/1/end.json"] {
        std::fs::remove_file(run.join(gone)).unwrap();
    }
    std::fs::remove_dir_all(run.join("checkpoints/step_2048")).unwrap();
    project.rlx("resume tiny_002").expect(0);
    assert_eq!(played(&project, "tiny_002", 2048), 100);
    assert_same_bytes(&project.path("runs/tiny_001"), &run, "");
    // Retrained with a change, as suggestions do, it can still be compared.
    project.rlx("train runs/tiny_001/config_snapshot.yaml --set seed=7").expect(0);
    assert_eq!(played(&project, "tiny_003", 2048), 100);
    // An extension is a new run that follows the rule of its parent.
    project.rlx("resume tiny_001 --total-timesteps 3072").expect(0);
    assert_eq!(played(&project, "tiny_004", 3072), 100);
    // A number that is given now counts.
    project.rlx("train runs/tiny_001/config_snapshot.yaml --set eval.episodes=5").expect(0);
    assert_eq!(played(&project, "tiny_005", 2048), 5);
}

#[test]
fn all_checkpoints_are_kept_unless_a_number_says_how_many() {
    let project = Project::new();
    let eight = "--set checkpoint.save_every=256 --set eval.every=2048";
    let checkpoints = |run: &str| -> Vec<u64> {
        let info = project.rlx(&format!("info {run} --json")).json();
        info["seeds"][0]["checkpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step.as_u64().unwrap())
            .collect()
    };
    // Not written at all: neither a starter nor a default sets a number.
    let unset = crate::project::TINY.replace(", keep: 5", "");
    assert!(!unset.contains("keep"));
    project.write("unset.yaml", &unset);
    let shown = project.rlx("config show unset.yaml").expect(0).stdout;
    assert!(shown.contains("\n  keep: null\n"), "{shown}");
    project.rlx(&format!("train unset.yaml {eight}")).expect(0);
    let all: Vec<u64> = (1..=8).map(|number| number * 256).collect();
    assert_eq!(checkpoints("tiny_001"), all);
    project.rlx("reproduce tiny_001").expect(0);
    project.rlx(&format!("train tiny.yaml {eight} --set checkpoint.keep=3")).expect(0);
    assert_eq!(checkpoints("tiny_002"), [1536, 1792, 2048]);
    // `best` is kept next to the newest: here it is the first evaluation that reaches the episodes' step cap.
    let best = "--set checkpoint.save_every=256 --set eval.every=1024 --set env.max_episode_steps=1";
    project.rlx(&format!("train tiny.yaml {best} --set checkpoint.keep=1")).expect(0);
    assert_eq!(checkpoints("tiny_003"), [1024, 2048]);
}

#[test]
fn what_is_rounded_is_noted_once() {
    let project = Project::new();
    let total = "note: algo.total_timesteps 2000 rounds up to 2048 steps: 8 rollouts of 4 × 64 = 256";
    let batch = "note: algo.batch_size 100 doesn't divide a rollout of 256 samples: the last batch of each epoch has 56 samples";
    let set = "--set algo.total_timesteps=2000 --set algo.batch_size=100";
    for command in ["train", "train --dry-run", "config check"] {
        let told = project.rlx(&format!("{command} tiny.yaml {set}")).expect(0);
        for note in [total, batch] {
            assert_eq!(told.stderr.matches(note).count(), 1, "{command}: {}", told.stderr);
        }
        assert!(!told.stderr.contains("warning") && !told.stdout.contains("warning"), "{}", told.stderr);
        assert_eq!(project.rlx(&format!("{command} tiny.yaml {set} --quiet")).expect(0).stderr, "");
    }
    let check = project.rlx(&format!("config check tiny.yaml {set} --json")).expect(0).json();
    assert_eq!((check["notes"].as_array().unwrap().len(), &check["warnings"]), (2, &serde_json::json!([])));
    let plan = project.rlx(&format!("train tiny.yaml --dry-run {set} --json")).expect(0);
    assert_eq!(plan.json()["plan"]["notes"].as_array().unwrap().len(), 2);
    assert_eq!(plan.json_lines().iter().filter(|event| event["event"] == "note").count(), 2);
    // An extension rounds too.
    let longer = project.rlx("resume tiny_001 --total-timesteps 4000").expect(0).stderr;
    assert_eq!(
        longer.matches("note: algo.total_timesteps 4000 rounds up to 4096 steps").count(),
        1,
        "{longer}"
    );
    let exact = project.rlx("train tiny.yaml").expect(0).stderr;
    assert!(!exact.contains("note:"), "{exact}");
}
