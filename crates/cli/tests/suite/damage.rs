//! Checkpoints and metrics that are truncated, changed or of another kind.

use std::path::PathBuf;

use crate::project::Project;

fn change(path: PathBuf, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_checkpoint_of_another_shape_or_environment_is_refused() {
    let project = Project::trained();
    for line in [
        "train tiny.yaml --from tiny_001 --set policy.hidden_sizes=[16,16]",
        "train tiny.yaml --from tiny_001:latest --set env.id=Acrobot-v1",
    ] {
        let refused = project.rlx(line).expect(2);
        assert!(refused.stderr.contains("another environment, network shape"), "{}", refused.stderr);
    }
    project.write("runs/tiny_001/config_snapshot.yaml", &{
        let path = project.path("runs/tiny_001/config_snapshot.yaml");
        std::fs::read_to_string(path).unwrap().replace("CartPole-v1", "Acrobot-v1")
    });
    project.rlx("eval --run tiny_001 --episodes 3").expect(2);
    assert_eq!(project.rlx("ls --json").json()["found"], 1);
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_rest_stays_usable() {
    let project = Project::trained();
    let model = |step: u64| project.path(&format!("runs/tiny_001/checkpoints/step_{step}/model.safetensors"));
    change(model(1024), |bytes| bytes.truncate(bytes.len() / 2));
    let cut = project.rlx("eval tiny_001:step_1024 --episodes 3").expect(74);
    assert!(cut.stderr.contains("step_1024") && cut.stderr.contains("damaged"), "{}", cut.stderr);
    project.rlx("eval tiny_001:step_2048 --episodes 3").expect(0);
    change(model(2048), |bytes| *bytes.last_mut().unwrap() ^= 1);
    project.rlx("eval tiny_001:step_2048 --episodes 3").expect(74);
    project.rlx("train tiny.yaml --from tiny_001:step_2048").expect(74);
    let info = project.rlx("info tiny_001").expect(0);
    assert!(info.stderr.contains("step_2048"), "{}", info.stderr);
    let runs = project.rlx("ls --json").expect(0).json();
    assert_eq!((&runs["found"], &runs["runs"][0]["name"]), (&1.into(), &"tiny_001".into()));
}

#[test]
fn metrics_cut_at_any_byte_hide_nothing_else() {
    let project = Project::trained();
    let path = project.path("runs/tiny_001/metrics.jsonl");
    let whole = std::fs::read(&path).unwrap();
    // The beginning, within the first line, around its end, the middle, the end.
    let first_end = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for length in [0, 1, first_end, first_end + 1, whole.len() - 1, whole.len() / 2] {
        std::fs::write(&path, &whole[..length]).unwrap();
        project.rlx("info tiny_001 --json").expect(0);
        project.rlx("tail tiny_001 -n 3 --json").expect(0);
        assert_eq!(project.rlx("ls --json").expect(0).json()["found"], 1);
        project.rlx("eval --run tiny_001 --episodes 2").expect(0);
    }
    let differs = project.rlx("reproduce tiny_001").expect(1);
    assert!(differs.stdout.contains("metrics.jsonl"), "{}", differs.stdout);
}

#[test]
fn a_run_without_metadata_is_listed_with_its_problem() {
    let project = Project::trained();
    project.rlx("train tiny.yaml").expect(0);
    std::fs::write(project.path("runs/tiny_001/metadata.json"), "{").unwrap();
    let ls = project.rlx("ls").expect(0);
    assert!(ls.stdout.contains("tiny_001") && ls.stdout.contains("tiny_002"), "{}", ls.stdout);
    assert!(ls.stderr.contains("warning: tiny_001:"), "{}", ls.stderr);
    project.rlx("info tiny_001").expect(74);
    project.rlx("info tiny_002").expect(0);
}

#[test]
fn reproduction_sees_a_changed_weight() {
    let project = Project::trained();
    // Weights that match every digest, but are not those that training produced.
    project.rlx("train tiny.yaml --set seed=7 --set run_name=other").expect(0);
    let from = project.path("runs/other_001/checkpoints/step_1024");
    let to = project.path("runs/tiny_001/checkpoints/step_1024");
    for file in ["model.safetensors", "state.safetensors", "manifest.json"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let differs = project.rlx("reproduce tiny_001").expect(1);
    assert!(differs.stdout.contains("step_1024/model.safetensors: different weights"), "{}", differs.stdout);
}

#[test]
fn weights_that_are_none_are_named_with_their_file_and_what_to_use_instead() {
    use std::sync::Arc;

    use rlxp_store::{CheckpointFacts, CheckpointStore, SaveReason};

    let project = Project::trained();
    // It matches its digests, as a received run can, and is still not a file of weights.
    let folder = project.path("runs/tiny_001/checkpoints");
    let store = CheckpointStore::new(Arc::new(rlxp_fs::RealFs), &folder);
    let (_, model) = store.load_model(2048).unwrap();
    let facts = CheckpointFacts {
        reason: SaveReason::Scheduled,
        metrics: store.manifest(2048).unwrap().metrics,
        best: None,
        facts: serde_json::Map::new(),
    };
    store.save(3072, b"no tensors", b"no tensors", &facts).unwrap();
    let file = folder.join("step_3072/model.safetensors").display().to_string();
    let other = format!("hint: rlx eval {}", folder.join("step_2048").display());
    for line in [
        "eval tiny_001:step_3072 --episodes 2",
        "inspect tiny_001:step_3072",
        "video tiny_001:step_3072 --max-steps 3",
        "train tiny.yaml --from tiny_001:step_3072",
    ] {
        let refused = project.rlx(line).expect(74);
        assert!(refused.stderr.contains(&format!("{file} can't be read: ")), "{line}: {}", refused.stderr);
        assert!(refused.stderr.contains(&other), "{line}: {}", refused.stderr);
    }
    let hint = format!("eval {}", folder.join("step_2048").display());
    project.rlx(&format!("{hint} --episodes 2")).expect(0);
    // Weights of another network are reported too.
    store.save(4096, &model[..], b"no tensors", &facts).unwrap();
    let snapshot = project.path("runs/tiny_001/config_snapshot.yaml");
    let text = std::fs::read_to_string(&snapshot).unwrap();
    let wider = text.replace("hidden_sizes: [8, 8]", "hidden_sizes: [16, 16]");
    assert_ne!(text, wider);
    std::fs::write(&snapshot, wider).unwrap();
    let refused = project.rlx("eval tiny_001:step_4096 --episodes 2").expect(2);
    assert!(refused.stderr.contains("step_4096/model.safetensors: "), "{}", refused.stderr);
    // Resuming names the file as well.
    std::fs::write(&snapshot, text.replace("total_timesteps: 2048", "total_timesteps: 8192")).unwrap();
    let end = project.path("runs/tiny_001/attempts/1/end.json");
    let ended = std::fs::read_to_string(&end).unwrap();
    std::fs::write(&end, ended.replace("completed", "interrupted")).unwrap();
    let resumed = project.rlx("resume tiny_001");
    assert!(
        resumed.stderr.contains("step_4096/state.safetensors can't be read"),
        "{:?} {}",
        resumed.code,
        resumed.stderr
    );
    assert_eq!(resumed.code, Some(74), "{}", resumed.stderr);
}
