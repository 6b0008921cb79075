//! Environments of Python's Gymnasium: a class of the project is trained, evaluated and resumed like a built-in one, and
//! whatever it does wrong ends the run with its traceback and no process left.

use std::process::Stdio;

use serde_json::Value;

use crate::project::{Project, RLX};
use crate::records::{assert_same_bytes, run_folders};

/// An environment with every kind of space that needs care, and a way to do something wrong at step `at`.
const MODULE: &str = r#"
import os, signal, sys, time
import gymnasium as gym
import numpy as np

print("printed while it is imported")


class Walk(gym.Env):
    observation_space = gym.spaces.Dict(
        {"place": gym.spaces.Box(-9, 9, (2,), np.float64), "kind": gym.spaces.Discrete(3, start=1)}
    )
    action_space = gym.spaces.MultiDiscrete([3, 2])

    def __init__(self, how=None, at=40, scale=None):
        self.how, self.at, self.count, self.scale = how, at, 0, (scale or {"by": [1.0]})["by"][0]

    def _seen(self):
        return {"place": np.array([self.place, self.np_random.normal()]).clip(-9, 9), "kind": 1 + self.steps % 3}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.uniform(-1, 1), 0
        if self.how == "random":
            self.place += np.random.default_rng().uniform(0, 0.1)
        return self._seen(), {}

    def step(self, action):
        assert action.shape == (2,) and action.dtype == np.int64, action
        self.steps += 1
        self.count += 1
        if self.count == self.at:
            if self.how == "raise":
                raise ValueError("the wind is too strong")
            if self.how == "hang":
                time.sleep(1e6)
            if self.how == "exit":
                os._exit(3)
            if self.how == "fork" and os.fork() == 0:
                os.setsid()
                time.sleep(1e6)
            if self.how == "print":
                print("x" * 3_000_000, file=sys.stderr)
            if self.how == "nan":
                self.place = float("nan")
            if self.how == "shape":
                return {"place": np.zeros(3), "kind": 1}, 0.0, False, False, {}
            if self.how == "reward":
                return self._seen(), None, False, False, {}
        self.place += (int(action[0]) - 1) * self.scale
        over = abs(self.place) > 4
        info = {"is_success": self.place > 4} if over or self.steps == 12 else {}
        return self._seen(), float(self.place > 4), over, self.steps == 12, info


class TwoOld(gym.Env):
    observation_space, action_space = gym.spaces.Text(5), gym.spaces.Discrete(2)


class Pixels(gym.Env):
    observation_space = gym.spaces.Box(0, 255, (3, 2), np.uint8)
    action_space = gym.spaces.MultiBinary(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.integers(0, 255, (3, 2), dtype=np.uint8), {}

    def step(self, action):
        assert action.shape == (2,) and action.dtype == np.int8, action
        self.steps += 1
        seen = self.np_random.integers(0, 255, (3, 2), dtype=np.uint8)
        return seen, float(action.sum()), False, self.steps == 7, {}
"#;

const CONFIG: &str = r#"
run_name: walk
env: {id: "walks:Walk", num_envs: 5, kwargs: {scale: {by: [0.5]}}}
algo: {total_timesteps: 2400, rollout_steps: 40, batch_size: 50, update_epochs: 1}
policy: {hidden_sizes: [8]}
checkpoint: {save_every: 400}
eval: {every: 1200, episodes: 3, seed: 700}
"#;

/// A project with that environment and the Python of this repository.
fn project() -> Project {
    let project = Project::new();
    project.write("envs/walks.py", MODULE);
    project.write("c.yaml", CONFIG);
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv");
    std::os::unix::fs::symlink(python, project.path(".venv")).unwrap();
    project
}

/// Processes whose working folder is the project: those of Python that were left.
fn left_behind(project: &Project) -> Vec<String> {
    let folder = std::fs::canonicalize(project.folder()).unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder))
        .map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
        .collect()
}

#[test]
fn a_class_of_the_project_trains_with_equal_bytes_for_any_number_of_workers() {
    let project = project();
    for workers in [1, 2, 3, 5] {
        project.rlx(&format!("train c.yaml --set env.workers={workers}")).expect(0);
    }
    let runs = run_folders(project.folder());
    assert_eq!(runs.len(), 4);
    for other in &runs[1..] {
        assert_same_bytes(&runs[0], other, "another number of workers");
    }
    let snapshot = std::fs::read_to_string(runs[3].join("config_snapshot.yaml")).unwrap();
    assert!(!snapshot.contains("workers"), "{snapshot}");
    let metrics = std::fs::read_to_string(runs[0].join("metrics.jsonl")).unwrap();
    assert!(metrics.contains("\"success_rate\""));
    let metadata: Value =
        serde_json::from_str(&std::fs::read_to_string(runs[0].join("metadata.json")).unwrap()).unwrap();
    assert!(metadata["python"]["versions"]["gymnasium"].is_string(), "{metadata}");
    let sources = metadata["python"]["sources"].as_object().unwrap();
    assert!(sources.keys().any(|file| file.ends_with("envs/walks.py")), "{sources:?}");
    project.rlx("eval --run @last --episodes 3").expect(0);
    project.rlx("inspect @last --episodes 1 --states 5").expect(0);
    project.rlx("config check c.yaml").expect(0);
    assert_eq!(left_behind(&project), Vec::<String>::new());
}

#[test]
fn an_evaluation_episode_is_that_of_plain_gymnasium_with_its_seed() {
    let project = project();
    project.rlx("train c.yaml --set algo.total_timesteps=400 --set eval.every=0").expect(0);
    let report =
        project.rlx("eval --run @last --baseline zero --episodes 4 --seed 70 --json").expect(0).json();
    let rows = report["rows"].as_array().unwrap();
    let zero = rows.iter().find(|row| row["policy"] == "zero").unwrap();
    let script = "
import sys; sys.path.insert(0, 'envs')
import numpy as np, walks, json
out = []
for seed in range(70, 74):
    env = walks.Walk(scale={'by': [0.5]})
    env.reset(seed=seed)
    total, length, over = 0.0, 0, False
    while not over:
        _, reward, ended, cut, _ = env.step(np.zeros(2, np.int64))
        total, length, over = total + reward, length + 1, ended or cut
    out.append([total, length])
print(json.dumps(out))
";
    project.write("plain.py", script);
    let plain = project.shell(".venv/bin/python plain.py").expect(0).stdout;
    let plain: Value = serde_json::from_str(plain.lines().last().unwrap()).unwrap();
    for (index, expected) in plain.as_array().unwrap().iter().enumerate() {
        assert_eq!(zero["returns"][index], expected[0]);
        assert_eq!(zero["lengths"][index], expected[1]);
    }
}

#[test]
fn a_killed_training_is_resumed_to_the_same_bytes() {
    let project = project();
    let long = "train c.yaml --set algo.total_timesteps=12000";
    project.rlx(long).expect(0);
    let mut command = std::process::Command::new(RLX);
    let words: Vec<&str> = long.split(' ').collect();
    let mut child = command
        .args(words)
        .current_dir(project.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let second = project.path("runs/walk_002/checkpoints");
    while !std::fs::read_dir(&second).is_ok_and(|entries| entries.count() > 3) {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = project.rlx("resume walk_002").expect(0);
    assert!(!resumed.stderr.contains("differ"), "{}", resumed.stderr);
    assert_same_bytes(&project.path("runs/walk_001"), &project.path("runs/walk_002"), "killed");
}

#[test]
fn an_environment_that_is_really_random_is_named_when_it_does_not_come_back() {
    let project = project();
    project.rlx("train c.yaml --set env.kwargs.how=random --set eval.every=0").expect(0);
    let extended = project.rlx("resume walk_001 --total-timesteps 4800").expect(0);
    assert!(extended.stderr.contains("did not come back exactly: copy 0"), "{}", extended.stderr);
    assert!(extended.stderr.contains("5 of 5 copies start a new episode"), "{}", extended.stderr);
}

#[test]
fn what_goes_wrong_in_python_ends_the_run_with_its_reason() {
    let project = project();
    for (how, expected) in [
        ("raise", "ValueError: the wind is too strong"),
        ("exit", "its Python process ended with exit code 3"),
        ("hang", "it took more than 1 s (env.timeout)"),
        ("nan", "its observation has NaN at index 3"),
        ("shape", "ValueError"),
        ("reward", "TypeError"),
    ] {
        let line = format!(
            "train c.yaml --set env.kwargs.how={} --set env.timeout=1 --set env.workers=1",
            quoted(how)
        );
        let ran = project.rlx_with(&line.split(' ').collect::<Vec<_>>()).expect(4);
        assert!(ran.stderr.contains(expected), "{how}: {}", ran.stderr);
        assert!(ran.stderr.contains("copy 0 could not be stepped"), "{how}: {}", ran.stderr);
        assert!(ran.stderr.contains("(seed "), "{how}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint: rlx resume"), "{how}: {}", ran.stderr);
        assert_eq!(left_behind(&project), Vec::<String>::new(), "{how}");
    }
    let raised = project.rlx("train c.yaml --set env.kwargs.how=raise").expect(4).stderr;
    assert!(raised.contains("  |   File ") && raised.contains("envs/walks.py"), "{raised}");
}

/// `nan` alone would be a number.
fn quoted(word: &str) -> String {
    format!("\"{word}\"")
}

#[test]
fn what_is_only_strange_is_survived_and_leaves_no_process() {
    let project = project();
    for how in ["print", "fork"] {
        project.rlx(&format!("train c.yaml --set env.kwargs.how={how}")).expect(0);
        assert_eq!(left_behind(&project), Vec::<String>::new(), "{how}");
    }
    project.rlx("train c.yaml --set env.id=walks:Pixels --set env.kwargs={} --set run_name=pixels").expect(0);
    project
        .rlx(
            "train c.yaml --set env.seed=once --set env.recreate=true --set run_name=once --set eval.every=0",
        )
        .expect(0);
}

#[test]
fn what_is_missing_is_said_before_anything_is_written() {
    let project = project();
    for (set, expected) in [
        ("env.id=nowhere:Walk", "No module named 'nowhere'"),
        ("env.id=Nowhere-v3", "Nowhere"),
        ("env.id=walks:TwoOld", "its observation space has a part of type Text"),
        ("env.wrappers=[python: {class: \"gymnasium.wrappers:NormalizeReward\"}]", "env.normalize_rewards"),
        ("env.id=CartPol-v1", "did you mean `CartPole-v1`?"),
    ] {
        let ran = project.rlx_with(&["train", "c.yaml", "--set", "env.kwargs={}", "--set", set]).expect(2);
        assert!(ran.stderr.contains(expected), "{set}: {}", ran.stderr);
    }
    let named = project.rlx("train c.yaml --set env.python=.venv/bin/python").expect(3);
    assert!(named.stderr.contains("hint: rlx python trust"), "{}", named.stderr);
    let path = project.path(".venv/bin/python").display().to_string();
    project.rlx_with(&["python", "trust", &path]).expect(0);
    std::fs::remove_dir_all(project.path("runs")).ok();
    project.rlx("train c.yaml --set env.python=.venv/bin/python --set algo.total_timesteps=200").expect(0);
    assert_eq!(run_folders(project.folder()).len(), 1);
}
