//! Checkpoints and metrics that are cut, changed or of another kind.

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
    // Weights that are whole by every digest, but not those that training makes.
    project.rlx("train tiny.yaml --set seed=7 --set run_name=other").expect(0);
    let from = project.path("runs/other_001/checkpoints/step_1024");
    let to = project.path("runs/tiny_001/checkpoints/step_1024");
    for file in ["model.safetensors", "state.safetensors", "manifest.json"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let differs = project.rlx("reproduce tiny_001").expect(1);
    assert!(differs.stdout.contains("step_1024/model.safetensors: has other weights"), "{}", differs.stdout);
}
