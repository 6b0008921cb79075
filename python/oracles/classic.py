"""Answers how real Gymnasium steps a classic control environment.

Called by the alignment tests of rlxp-env as `classic.py ENV_ID`. Reads one JSON
object from stdin:
  cases: list of {kwargs, transitions, episodes}
    transitions: list of [state, action], each stepped on its own, no step cap
    episodes: list of lists of [state, action]; the state is set before every
      step, so that only the step cap carries over from step to step
A state is tagged: ["f64", values] or ["f32", values], as the environment holds
it at that moment. Prints one JSON object with what was found.
"""

import json
import sys

import gymnasium
import numpy as np


class FixedUniform:
    """Replaces the random generator: always returns the same fraction of a range."""

    def __init__(self, fraction):
        self.fraction = fraction

    def uniform(self, low=0.0, high=1.0, size=None):
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        value = low + (high - low) * self.fraction
        return value + np.zeros(size) if size is not None else value


def set_state(env, state):
    kind, values = state
    env.unwrapped.state = np.array(values, dtype=np.float32 if kind == "f32" else np.float64)
    if hasattr(env.unwrapped, "steps_beyond_terminated"):
        env.unwrapped.steps_beyond_terminated = None


def step(env, state, action):
    set_state(env, state)
    if isinstance(env.action_space, gymnasium.spaces.Box):
        action = np.array([action], dtype=np.float32)
    else:
        action = int(action)
    observation, reward, terminated, truncated, _ = env.step(action)
    assert observation.dtype == np.float32
    return [[float(value) for value in observation], float(reward), bool(terminated), bool(truncated)]


def space(space):
    if isinstance(space, gymnasium.spaces.Box):
        # JSON has no infinity.
        return {"low": [str(value) for value in space.low], "high": [str(value) for value in space.high]}
    return {"n": int(space.n)}


def start_observation(env, fraction):
    env.unwrapped.np_random = FixedUniform(fraction)
    observation, _ = env.unwrapped.reset()
    return [float(value) for value in observation], [float(value) for value in env.unwrapped.state]


def main():
    env_id = sys.argv[1]
    request = json.load(sys.stdin)
    answer = {"cases": []}
    for case in request["cases"]:
        env = gymnasium.make(env_id, disable_env_checker=True, **case["kwargs"])
        env.reset(seed=0)
        transitions = [step(env.unwrapped, state, action) for state, action in case["transitions"]]
        episodes = []
        for episode in case["episodes"]:
            env.reset()
            episodes.append([step(env, state, action) for state, action in episode])
        answer["cases"].append({"transitions": transitions, "episodes": episodes})
    env = gymnasium.make(env_id, disable_env_checker=True)
    answer["max_episode_steps"] = env.spec.max_episode_steps
    answer["reward_threshold"] = env.spec.reward_threshold
    answer["observation_space"] = space(env.observation_space)
    answer["action_space"] = space(env.action_space)
    env.reset(seed=0)
    answer["start_low"] = start_observation(env, 0.0)[1]
    answer["start_high"] = start_observation(env, 1.0)[1]
    json.dump(answer, sys.stdout)


main()
