"""Plays hands of real Gymnasium's Blackjack with given cards.

Called by the alignment tests of rlxp-env. Reads {"cases": [{kwargs, hands}]} from
stdin; a hand is {cards, actions}. Cards are taken from the list instead of being
drawn; actions are taken until the game is over.
"""

import json
import sys

import gymnasium
from gymnasium.envs.toy_text import blackjack


def play(env, hand):
    cards = list(hand["cards"])
    taken = 0

    def draw_card(_):
        nonlocal taken
        taken += 1
        return cards[taken - 1]

    blackjack.draw_card = draw_card
    observation, _ = env.reset()
    steps = [[[int(part) for part in observation], 0.0, False, taken]]
    for action in hand["actions"]:
        observation, reward, terminated, truncated, _ = env.step(action)
        assert not truncated
        steps.append([[int(part) for part in observation], float(reward), bool(terminated), taken])
        if terminated:
            break
    return steps


def main():
    request = json.load(sys.stdin)
    cases = []
    for case in request["cases"]:
        env = gymnasium.make("Blackjack-v1", disable_env_checker=True, **case["kwargs"])
        env.reset(seed=0)
        cases.append([play(env, hand) for hand in case["hands"]])
    spec = gymnasium.spec("Blackjack-v1")
    facts = {
        "cases": cases,
        "deck": blackjack.deck,
        "defaults": spec.kwargs,
        "max_episode_steps": spec.max_episode_steps,
        "reward_threshold": spec.reward_threshold,
    }
    json.dump(facts, sys.stdout)


main()
