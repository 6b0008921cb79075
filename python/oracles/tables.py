"""Prints the transition tables and start distributions of real Gymnasium.

Called by the alignment tests of rlxp-env. Reads {"cases": [{id, kwargs}]} from
stdin. Real numbers are printed as the bits of their f64, so that the comparison
is exact whatever the JSON reader does.
"""

import json
import struct
import sys

import gymnasium


def bits(number):
    return struct.unpack("<Q", struct.pack("<d", float(number)))[0]


class Scripted:
    """Replaces the random generator of a fickle taxi."""

    def __init__(self, drawn, chosen):
        self.drawn = drawn
        self.chosen = chosen

    def random(self):
        return self.drawn

    def choice(self, options):
        return options[self.chosen]


def fickle(env):
    """For every state and action: the states that may follow while undecided."""
    env = env.unwrapped
    rows = []
    for state in range(env.observation_space.n):
        row = []
        for action in range(env.action_space.n):
            found = []
            for chosen in range(3):
                env.s, env.fickle_step = state, True
                env.np_random = Scripted(0.0, chosen)
                next_state = env.step(action)[0]
                found.append([next_state, env.fickle_step])
            row.append(found)
        rows.append(row)
    below = env.fickle_probability - 1e-12
    undecided = []
    for drawn in [below, env.fickle_probability]:
        env.np_random = Scripted(drawn, 0)
        env.reset()
        undecided.append(bool(env.fickle_step))
    return {"rows": rows, "undecided_below_and_at": undecided}


def answer(case):
    env = gymnasium.make(case["id"], disable_env_checker=True, **case["kwargs"])
    world = env.unwrapped
    actions = int(env.action_space.n)
    table = [
        [
            [[bits(p), int(s), bits(r), bool(t)] for p, s, r, t in world.P[state][action]]
            for action in range(actions)
        ]
        for state in range(int(env.observation_space.n))
    ]
    found = {
        "table": table,
        "starts": [bits(p) for p in world.initial_state_distrib],
        "max_episode_steps": env.spec.max_episode_steps,
        "reward_threshold": env.spec.reward_threshold,
    }
    if case["kwargs"].get("fickle_passenger"):
        found["fickle"] = fickle(env)
    return found


json.dump([answer(case) for case in json.load(sys.stdin)["cases"]], sys.stdout)
