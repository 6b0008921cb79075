"""Speed of the Gymnasium bridge against SyncVectorEnv and of PPO through it against Stable-Baselines3."""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PEER = Path(__file__).with_name("gymnasium_peer.py")
REPETITIONS = 5
COPIES, WORKERS = 16, 2

NOOP = """\
import gymnasium as gym
import numpy as np


class Noop(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gym.spaces.Discrete(2)
    seen = np.zeros(4, np.float32)

    def reset(self, seed=None, options=None):
        return self.seen, {}

    def step(self, action):
        return self.seen, 0.0, False, False, {}
"""

CONFIG = """\
run_name: bridged
seed: 0
env: {{id: "{id}", num_envs: 16, normalize_observations: false, normalize_rewards: false}}
algo: {{name: ppo, total_timesteps: {steps}, rollout_steps: 256, batch_size: 64, update_epochs: 4,
  learning_rate: 3.0e-4, gamma: 0.99, gae_lambda: 0.95, clip_range: 0.2, entropy_coef: 0.0, value_coef: 0.5,
  max_grad_norm: 0.5, target_kl: null, clip_value: null, normalize_advantages: true, adam_epsilon: 1.0e-5}}
policy: {{type: mlp, hidden_sizes: [64, 64], activation: tanh, shared_network: false}}
checkpoint: {{save_every: {steps}, keep: 1}}
eval: {{every: 0}}
"""


def processor_ticks(process, seen):
    """Notes what a process and its descendants have used so far."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        seen[process, fields[19]] = int(fields[11]) + int(fields[12])
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                processor_ticks(int(child), seen)
    except (FileNotFoundError, ProcessLookupError):
        pass


def measure_tree(command, folder):
    """CPU and wall seconds of a command. Workers of the bridge are killed and not waited for by the command, so its own
    usage leaves them out: all its processes are looked at while they run, and the last 50 ms of each may be missed."""
    seen = {}
    with tempfile.TemporaryFile() as said:
        begin = time.perf_counter()
        child = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
        while True:
            processor_ticks(child.pid, seen)
            try:
                child.wait(0.05)
                break
            except subprocess.TimeoutExpired:
                continue
        wall = time.perf_counter() - begin
        if child.returncode != 0:
            said.seek(0)
            sys.exit(f"{command} ended with {child.returncode}:\n{said.read().decode()}")
    return sum(seen.values()) / os.sysconf("SC_CLK_TCK"), wall


class Bridge:
    """A project whose Python has Gymnasium and Stable-Baselines3."""

    def __init__(self, folder, release, python, measure):
        self.folder, self.release, self.python, self.measure = Path(folder), release, str(python), measure
        (self.folder / "runs").mkdir(parents=True)
        (self.folder / "envs").mkdir()
        (self.folder / "envs" / "bench_noop.py").write_text(NOOP)
        # The project's own environment, which needs no trust.
        (self.folder / ".venv").symlink_to(Path(python).parent.parent)

    def steps(self, id, batches, rounds=1):
        """Steps per second and microseconds per batch through the bridge."""
        words = [str(self.release / "examples" / "bridge_speed"), id, str(COPIES), str(WORKERS), str(batches), str(rounds)]
        text = self.measure(words, cwd=self.folder)[3]
        return tuple(map(float, re.search(r": (\d+) steps/s, ([\d.]+) us", text).groups()))

    def sync(self, id, batches):
        return float(self.measure([self.python, str(PEER), "sync", id, str(COPIES), str(batches)])[3].split()[-1])

    def train(self, id, steps):
        """Steps per wall second and per CPU second of the whole command."""
        config = self.folder / "bridged.yaml"
        config.write_text(CONFIG.format(id=id, steps=steps))
        cpu, wall = measure_tree([str(self.release / "rlx"), "train", str(config), "--quiet"], self.folder)
        return steps / wall, steps / cpu

    def peer(self, kind, id, steps):
        cpu, wall = map(float, self.measure([self.python, str(PEER), kind, id, str(steps)])[3].split()[-2:])
        return steps / wall, steps / cpu


def stepping(bridge, what, id, batches, target, choose=statistics.median):
    """Random actions through the bridge and through SyncVectorEnv, in turns."""
    theirs, ours = [], []
    for _ in range(REPETITIONS):
        theirs.append(bridge.sync(id, batches))
        ours.append(bridge.steps(id, batches)[0])
    ratios = [own / other for own, other in zip(ours, theirs)]
    print(id, "ratios", *(f"{ratio:.2f}" for ratio in ratios), file=sys.stderr)
    ratio = choose(ratios)
    shown = f"{statistics.median(ours):,.0f} to {statistics.median(theirs):,.0f} = {ratio:.2f}×"
    return f"{what}, random actions, 16 environments on 2 workers against SyncVectorEnv", shown, f"≥ {target}×", ratio >= target


def under_load(bridge):
    """The same while another program uses each core; the lowest ratio counts."""
    loops = []
    try:
        for core in (0, 1):
            loops.append(subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"]))
        found = [
            stepping(bridge, f"{what} with both cores busy, lowest ratio", id, batches, 0.6, min)
            for what, id, batches in (("CartPole-v1", "gymnasium:CartPole-v1", 5_000), ("LunarLander-v3", "LunarLander-v3", 2_000))
        ]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    return found


def training(bridge, id, wall_target, cpu_target, peer_steps, steps, repetitions=3):
    """PPO against the faster of Stable-Baselines3's two ways to step, by wall clock and per CPU second."""
    runs = {"dummy": [], "subproc": [], "rlx": []}
    for _ in range(repetitions):
        for kind in ("dummy", "subproc"):
            runs[kind].append(bridge.peer(kind, id, peer_steps))
        runs["rlx"].append(bridge.train(id, steps))
    print(id, runs, file=sys.stderr)
    found = []
    for place, unit, target in ((0, "wall second", wall_target), (1, "CPU second", cpu_target)):
        best = max(("dummy", "subproc"), key=lambda kind: statistics.median(run[place] for run in runs[kind]))
        ratio = statistics.median(own[place] / other[place] for own, other in zip(runs["rlx"], runs[best]))
        theirs, ours = (statistics.median(run[place] for run in runs[kind]) for kind in (best, "rlx"))
        what = f"PPO on {id}, steps per {unit} against the faster of SB3's DummyVecEnv and SubprocVecEnv"
        found.append((what, f"{ours:,.0f} to {theirs:,.0f} ({best}) = {ratio:.1f}×", f"≥ {target}×", ratio >= target))
    return found


def rows(folder, release, python, measure):
    bridge = Bridge(folder, release, python, measure)
    found = [
        stepping(bridge, "CartPole-v1", "gymnasium:CartPole-v1", 10_000, 1.2),
        stepping(bridge, "LunarLander-v3", "LunarLander-v3", 4_000, 1.35),
    ]
    batch = statistics.median(bridge.steps("bench_noop:Noop", 50_000)[1] for _ in range(REPETITIONS))
    found.append(("a batch of environments that do nothing, 8 on each of 2 workers", f"{batch:.1f} µs", "≤ 20 µs", batch <= 20))
    found += under_load(bridge)
    found += training(bridge, "LunarLander-v3", 5.5, 3.5, 40_960, 204_800)
    found += training(bridge, "HalfCheetah-v5", 5.0, 3.0, 40_960, 204_800)
    return found
