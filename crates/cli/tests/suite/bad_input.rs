//! Bad input is reported clearly, with the right exit code, and doesn't affect
//! existing runs.

use crate::project::Project;

/// The config that a user of another tool would bring.
const ELSEWHERE: &str = "\
run_name: bossfight_ppo
seed: 42
device: cuda

env:
  id: BossFight-v0
  num_envs: 8

algo:
  name: ppo
  total_timesteps: 500000
  rollout_steps: 128
  batch_size: 256
  learning_rate: 0.0003
  gamma: 0.99
  gae_lambda: 0.95
  clip_range: 0.2
  entropy_coef: 0.01
  value_coef: 0.5
  update_epochs: 4

policy:
  type: mlp
  hidden_sizes: [256, 256]

checkpoint:
  save_every: 50000

eval:
  every: 25000
  episodes: 20
  deterministic: true
";

#[test]
fn a_config_for_another_machine_checks_with_warnings_and_does_not_train() {
    let project = Project::new();
    project.write("boss.yaml", ELSEWHERE);
    let check = project.rlx("config check boss.yaml").expect(0);
    assert_eq!(check.stderr.matches("warning: ").count(), 2, "{}", check.stderr);
    let warnings = project.rlx("config check boss.yaml --json").expect(0).json()["warnings"].clone();
    assert_eq!(warnings.as_array().unwrap().len(), 2);
    let train = project.rlx("train boss.yaml").expect(2);
    // Which Python there is, and whether it has Gymnasium, differs from machine to machine.
    assert!(train.stderr.contains("error: env.id: "), "{}", train.stderr);
    insta::assert_snapshot!(check.shown());
    assert_eq!(project.rlx("ls --json").json()["found"], 0);
}

#[test]
fn another_device_is_a_warning_and_training_runs_on_the_cpu() {
    let project = Project::new();
    for (number, device) in ["auto", "cuda", "cuda:1"].into_iter().enumerate() {
        let set = format!("--set device={device}");
        let warned = |stderr: &str| {
            let message = format!("warning: device `{device}` is not available; training runs on the CPU");
            assert_eq!(
                (stderr.matches("warning: ").count(), stderr.contains(&message)),
                (1, true),
                "{stderr}"
            );
        };
        warned(&project.rlx(&format!("config check tiny.yaml {set}")).expect(0).stderr);
        warned(&project.rlx(&format!("train tiny.yaml {set}")).expect(0).stderr);
        let info = project.rlx("info @last --json").json();
        assert_eq!((&info["status"], &info["config"]["device"]), (&"completed".into(), &"cpu".into()));
        assert_eq!(info["metadata"]["device"], "cpu");
        assert_eq!(info["metadata"]["name"], format!("tiny_{:03}", number + 1));
    }
    let shown = project.rlx("config show tiny.yaml --set device=auto").expect(0);
    assert!(shown.stdout.contains("\ndevice: cpu\n"), "{}", shown.stdout);
    assert_eq!(project.rlx("config check tiny.yaml").expect(0).stderr, "");
}

#[test]
fn bad_configs_and_overrides() {
    let project = Project::trained();
    project.write("typo.yaml", "env:\n  id: CartPole-v1\nalgo:\n  gama: 0.9\n  clip_range: big\nseed: -1\n");
    project.write("twice.yaml", "env: {id: CartPole-v1}\nseed: 1\nseed: 2\n");
    project.write("tab.yaml", "env:\n\tid: CartPole-v1\n");
    project.write("unknown.yaml", "env: {id: CartPool-v1}\n");
    project.write("empty.yaml", "");
    std::fs::write(project.path("binary.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    std::fs::write(project.path("large.yaml"), vec![b'#'; 1 << 20]).unwrap();
    std::fs::create_dir(project.path("folder.yaml")).unwrap();
    let mut told = Vec::new();
    for line in [
        "train missing.yaml",
        "train folder.yaml",
        "train binary.yaml",
        "train large.yaml",
        "train empty.yaml",
        "train typo.yaml",
        "train twice.yaml",
        "train tab.yaml",
        "train unknown.yaml",
        "train tiny.yaml --set algo.gama=0.9",
        "train tiny.yaml --set algo.gamma=2 --set seeds",
        "train tiny.yaml --set env.kwargs.wind=3",
        "train tiny.yaml --set algo.total_timesteps=0",
        "train tiny.yaml --set algo.total_timesteps=1e30",
        "train tiny.yaml --set env.num_envs=0",
        "train tiny.yaml --set env.num_envs=1000000000000",
        "train tiny.yaml --set policy.hidden_sizes=[0]",
        "train tiny.yaml --set algo.batch_size=100000",
        "train tiny.yaml --set algo.learning_rate=.nan",
        "train tiny.yaml --set seeds=0",
        "train tiny.yaml --set run_name=../escape",
        "train tiny.yaml --stop-at nan",
        "train tiny.yaml --from nothing",
        "eval --run tiny_001 --episodes 0",
        "eval --run tiny_001 --episodes 99999999999999999999",
        "eval",
        "eval --env CartPole-v1",
        "eval --env CartPool-v1 --baseline random",
        "eval tiny_001:step_77",
        "resume tiny_001 --total-timesteps 5",
        "reproduce tiny_001 --threads 0",
        "info tinny_001",
        "info @best:Acrobot-v1",
        "info @first",
        "tag tiny_001 a,b",
        "trian tiny.yaml",
        "ls --columns nmae",
    ] {
        told.push(project.rlx(line).expect(2).shown());
    }
    insta::assert_snapshot!(told.join("\n\n"));
    let runs = project.rlx("ls --json").json();
    assert_eq!(runs["found"], 1, "{runs}");
    assert_eq!(runs["runs"][0]["status"], "completed");
}

#[test]
fn numbers_at_the_edge_of_what_there_is() {
    let project = Project::trained();
    project.rlx(&format!("resume tiny_001 --total-timesteps {}", u64::MAX)).expect(2);
    let seed = u64::MAX;
    project.rlx(&format!("eval --run tiny_001 --episodes 3 --seed {seed}")).expect(0);
    project.rlx("ls --limit 0").expect(0);
    project.rlx(&format!("tail tiny_001 -n {}", usize::MAX)).expect(0);
    assert_eq!(project.rlx("ls --json").json()["found"], 1);
}

#[test]
fn removal_without_a_terminal_needs_a_yes() {
    let project = Project::trained();
    let refused = project.rlx("rm tiny_001").expect(3);
    assert!(refused.stderr.contains("hint: rlx rm tiny_001 --yes"), "{}", refused.stderr);
    assert_eq!(project.rlx("ls --json").json()["found"], 1);
    project.rlx("rm tiny_001 tiny_001 --yes").expect(0);
    assert_eq!(project.rlx("ls --json").json()["found"], 0);
}

#[test]
fn outside_of_a_project() {
    let project = Project::new();
    std::fs::remove_dir(project.path("runs")).unwrap();
    let ran = project.rlx("ls").expect(2);
    assert!(ran.stderr.contains("hint: rlx init demo"), "{}", ran.stderr);
    // Training needs no set-up: the folder becomes a project.
    project.rlx("train tiny.yaml").expect(0);
    assert_eq!(project.rlx("ls --json").json()["found"], 1);
}

#[test]
fn a_run_is_found_by_all_its_names() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set run_name=other --set seed=5").expect(0);
    let id = project.rlx("info tiny_001 --json").json()["metadata"]["id"].as_str().unwrap().to_owned();
    let best = project.rlx("ls --sort best --json").json()["runs"][0]["name"].as_str().unwrap().to_owned();
    for (text, name) in [
        ("tiny_001", "tiny_001"),
        ("ti", "tiny_001"),
        ("runs/tiny_001", "tiny_001"),
        (&id, "tiny_001"),
        (&id[..8], "tiny_001"),
        ("@last", "other_001"),
        ("@best:CartPole-v1", &best),
    ] {
        assert_eq!(project.rlx(&format!("info {text} --json")).expect(0).json()["metadata"]["name"], name);
    }
    project.rlx("train tiny.yaml").expect(0);
    let unclear = project.rlx("info tiny").expect(2);
    assert!(unclear.stderr.contains("tiny_001, tiny_002"), "{}", unclear.stderr);
    // From elsewhere, with --root.
    let root = project.folder().display().to_string();
    let elsewhere = Project::new();
    assert_eq!(elsewhere.rlx(&format!("ls --json --root {root}")).expect(0).json()["found"], 3);
}

#[test]
fn what_is_no_device_or_no_tag_trains_nothing() {
    let project = Project::new();
    for device in ["npu", "cuda:x", "gpu0"] {
        let refused = project.rlx(&format!("train tiny.yaml --set device={device}")).expect(2);
        assert!(refused.stderr.contains("device") && refused.stderr.contains(device), "{}", refused.stderr);
    }
    let long = "x".repeat(10_000);
    for tag in ["", " ", "a\nb", long.as_str()] {
        let refused = project.rlx_with(&["train", "tiny.yaml", "--tag", tag]).expect(2);
        assert!(refused.stderr.contains("tag"), "{}", refused.stderr);
    }
    assert_eq!(project.rlx("ls --json").json()["found"], 0);
}

#[test]
fn outputs_replace_files_and_nothing_else() {
    let project = Project::trained();
    project.shell("mkfifo pipe.svg pipe.html pipe.mp4 && mkdir folder.svg").expect(0);
    for (line, what) in [
        ("plot tiny_001 -o pipe.svg", "a device, pipe or socket"),
        ("inspect tiny_001 -o pipe.svg", "a device, pipe or socket"),
        ("report tiny_001 --no-videos -o pipe.html", "a device, pipe or socket"),
        ("video tiny_001 --max-steps 2 -o pipe.mp4", "a device, pipe or socket"),
        ("plot tiny_001 -o folder.svg", "a folder"),
    ] {
        let refused = project.rlx(line).expect(2).stderr;
        assert!(refused.contains(&format!("is {what}, not a file")), "{line}: {refused}");
    }
    project.shell("test -p pipe.svg -a -p pipe.html -a -p pipe.mp4 -a -d folder.svg").expect(0);
    // One folder is created; a missing run is not.
    project.rlx("plot tiny_001 -o pictures/a.svg").expect(0);
    project.rlx("inspect tiny_001 -o runs/tiny_001/pictures/a.svg").expect(0);
    project.rlx("inspect tiny_001 -o runs/tiny_002/pictures/a.svg").expect(74);
    project.shell("test ! -e runs/tiny_002").expect(0);
}

#[test]
fn a_root_that_is_not_there_is_an_error() {
    let project = Project::trained();
    for root in ["nowhere", "tiny.yaml"] {
        let refused = project.rlx(&format!("--root {root} ls")).expect(2).stderr;
        assert!(refused.contains(&format!("--root {root} is not a folder")), "{refused}");
    }
    project.shell("ln -s . here").expect(0);
    project.rlx("--root here info tiny_001").expect(0);
}
