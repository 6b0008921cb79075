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

/// Every kind of space as observation and as action, each with a choice that pays; `render` draws what was chosen.
const SPACES: &str = r#"
import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

OBSERVED = {
    "box8": Box(0, 255, (2, 3), np.uint8), "box64": Box(-5, 5, (2, 1, 2), np.float64),
    "whole": Box(-4, 9, (3,), np.int16), "discrete": Discrete(4, start=-2), "multi": MultiDiscrete([[3, 2], [4, 5]]),
    "binary": MultiBinary((2, 2)),
    "nested": Dict({"b": Tuple((Discrete(3), Box(-1, 1, (2,), np.float32))), "a": MultiDiscrete([2, 3]),
                    "c": MultiBinary(2)}),
}
ACTED = {
    "discrete": (Discrete(3, start=5), 7), "multi": (MultiDiscrete([3, 2, 4]), [2, 0, 3]),
    "grid": (MultiDiscrete([[3, 2], [2, 4]]), [[2, 0], [1, 3]]),
    "binary": (MultiBinary(4), [1, 0, 0, 1]), "box": (Box(-1, 1, (2, 2), np.float64), [[0.5, -0.5], [0.5, -0.5]]),
    "whole": (Box(0, 6, (2,), np.int32), [3, 1]),
}


class Bandit(gym.Env):
    """Pays for actions near the right one; its observation says nothing."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 7}

    def __init__(self, observed="discrete", acted="discrete", check=False, render_mode=None):
        self.observation_space = OBSERVED[observed]
        self.action_space, right = ACTED[acted]
        self.right, self.check, self.render_mode = np.asarray(right), check, render_mode
        self.drawn = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.observation_space.seed(int(self.np_random.integers(1 << 30)))
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), (action, self.action_space)
        self.steps += 1
        wrong = np.abs(np.asarray(action, np.float64) - self.right)
        reward = 1.0 - float(wrong.mean()) if isinstance(self.action_space, Box) else float((wrong == 0).mean())
        return self.observation_space.sample(), reward, False, self.steps == 4, {}

    def render(self):
        picture = np.zeros((40, 60, 3), np.uint8)
        picture[:, : 15 * self.steps] = (200, 0, 0)
        return picture


class Unfilmed(Bandit):
    metadata = {"render_modes": ["human"]}


class Changing(Bandit):
    def render(self):
        self.drawn += 1
        return np.zeros((40, 60 + 10 * (self.drawn > 2), 3), np.uint8)


class Empty(Bandit):
    def render(self):
        return np.zeros((0, 60, 3), np.uint8)


class Huge(Bandit):
    def render(self):
        return np.broadcast_to(np.uint8(0), (5000, 5000, 3))


class Timeless(Bandit):
    metadata = {"render_modes": ["rgb_array"], "render_fps": float("nan")}


class Bare(Bandit):
    metadata = None


class Failing(Bandit):
    def render(self):
        if self.steps == 2:
            raise KeyError("display_name")
        return super().render()
"#;

fn spaces_project() -> Project {
    let project = project();
    project.write("envs/kinds.py", SPACES);
    project.write(
        "k.yaml",
        "run_name: k\nenv: {id: 'kinds:Bandit', num_envs: 8}\n\
         algo: {total_timesteps: 9600, rollout_steps: 24, batch_size: 48, learning_rate: 0.01, gamma: 0.5}\n\
         policy: {hidden_sizes: [8]}\neval: {every: 9600, episodes: 5}\n",
    );
    project
}

#[test]
fn every_kind_of_action_is_learned_in_seconds() {
    let project = spaces_project();
    for (acted, least) in
        [("discrete", 3.9), ("multi", 3.9), ("grid", 3.9), ("binary", 3.9), ("box", 3.5), ("whole", 3.4)]
    {
        let set = format!("env.kwargs={{acted: {acted}}}");
        project.rlx_with(&["train", "k.yaml", "--set", &set]).expect(0);
        let ran = project.rlx("eval --run @last --episodes 5 --json").expect(0);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let mean = last_mean(&report).unwrap_or_else(|| panic!("{acted}: {report}"));
        assert!(mean >= least, "{acted}: {mean}");
    }
}

/// The mean return of the last policy in a report of `rlx eval`.
fn last_mean(report: &Value) -> Option<f64> {
    match report {
        Value::Object(fields) => match fields.get("mean_return").or_else(|| fields.get("mean")) {
            Some(mean) if mean.is_number() => mean.as_f64(),
            _ => fields.values().filter_map(last_mean).next_back(),
        },
        Value::Array(items) => items.iter().filter_map(last_mean).next_back(),
        _ => None,
    }
}

#[test]
fn every_kind_of_observation_is_read_as_gymnasium_flattens_it() {
    let project = spaces_project();
    for observed in ["box8", "box64", "whole", "discrete", "multi", "binary", "nested"] {
        let set = format!("env.kwargs={{observed: {observed}}}");
        project.rlx_with(&["train", "k.yaml", "--set", "algo.total_timesteps=192", "--set", &set]).expect(0);
        let ran = project.rlx("inspect @last --episodes 2 --states 5 --seed 90 --json").expect(0);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let seen: Vec<Vec<f64>> = report["trajectory"]
            .as_array()
            .unwrap()
            .iter()
            .map(|moment| serde_json::from_value(moment["observation"].clone()).unwrap())
            .collect();
        // Indices of discrete spaces stay indices; everything else is what Gymnasium makes of it.
        let program = format!(
            "import json, sys; sys.path.insert(0, 'envs')\nimport numpy as np, gymnasium as gym, kinds\nrows = []\n\
             for seed in (90, 91):\n    env = kinds.Bandit('{observed}')\n    o, _ = env.reset(seed=seed)\n    \
             for _ in range(4):\n        s = env.observation_space\n        \
             row = [int(o - s.start)] if isinstance(s, gym.spaces.Discrete) else np.ravel(o - s.start) if \
             isinstance(s, gym.spaces.MultiDiscrete) else gym.spaces.flatten(s, o)\n        \
             rows.append([float(np.float32(x)) for x in row])\n        o, *_ = env.step(np.int64(7))\n\
             print(json.dumps(rows))"
        );
        let python = std::process::Command::new(project.path(".venv/bin/python"))
            .args(["-c", &program])
            .current_dir(project.folder())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let expected: Vec<Vec<f64>> = serde_json::from_slice(&python.stdout).unwrap();
        // Where few states differ, more episodes are played.
        assert!(seen.len() >= 8, "{observed}");
        assert_eq!(seen[..8], expected, "{observed}");
    }
}

#[test]
fn an_environment_that_draws_itself_is_filmed_and_another_is_told_how() {
    let project = spaces_project();
    let short = ["--set", "algo.total_timesteps=192", "--set", "eval.every=192"];
    project.rlx_with(&[&["train", "k.yaml"][..], &short].concat()).expect(0);
    let ran = project.rlx("video @last --output a.gif --episodes 2 --json").expect(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["frames_per_second"], 7, "{report}");
    assert_eq!(report["episodes"][1]["shown_steps"], 4, "{report}");
    project.rlx("video @last --output a.mp4 --grid 3 --overlay").expect(0);
    project.rlx("report @last").expect(0);
    for (class, expected) in [
        ("Unfilmed", "its render modes are human, without rgb_array; take `render_mode=None`"),
        ("Changing", "its picture has shape (40, 70, 3); the first one had (40, 60, 3)"),
        ("Empty", "`render` returned an array of shape (0, 60, 3) and type uint8; take `render_mode=None`"),
        ("Huge", "its picture has 5000 x 5000 pixels, more than 16777216 in all; draw a smaller one"),
        ("Timeless", "`metadata[\"render_fps\"]` is nan; it must be a number above 0"),
        ("Bare", "its render modes are none, without rgb_array"),
        ("Failing", "`render` failed: KeyError: 'display_name'"),
    ] {
        let id = format!("env.id=kinds:{class}");
        project.rlx_with(&[&["train", "k.yaml", "--set", &id][..], &short].concat()).expect(0);
        let ran = project.rlx("video @last --output failed.mp4");
        assert!(ran.stderr.contains(expected), "{class}: {}", ran.stderr);
        assert!(!project.folder().join("failed.mp4").exists(), "{class}");
    }
    assert_eq!(left_behind(&project), Vec::<String>::new());
}

#[test]
fn a_project_of_the_template_trains_with_its_first_command() {
    let project = project();
    project.rlx("init . --template gymnasium").expect(0);
    project.rlx("train configs/ppo_corridor.yaml").expect(0);
    let ran = project.rlx("eval --run @last --episodes 20 --json").expect(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(last_mean(&report), Some(1.0), "{report}");
    project.rlx("video @last --output corridor.mp4").expect(0);
}
