"""The trainings that judge the diagnosis: which faults there are, what names their cause, and what is healthy.

A fault is a set of config keys × a magnitude × an environment, partly through a wrapper. Kinds are split twice:

- *known* kinds have rules. Thresholds may be tuned on their `tune` trainings; their `check` trainings use another
  environment or another magnitude and are diagnosed only to be counted.
- *held-out* kinds (`held_out.py`) come from an author who doesn't know the rules, and are never diagnosed while rules
  are written. Every one of their trainings is only counted. Kinds of earlier rounds that led to rules are known now.

Cells (environment × magnitude) are drawn by a generator that is seeded with the kind's name, so neither the split nor
the draw can be chosen by what a diagnosis says. This file has no access to any finding.
"""

from dataclasses import dataclass, field
from itertools import product
from random import Random

import held_out

# Rises when held-out kinds were looked at and then a rule was changed: other kinds, cells and seeds take their place.
ROUND = 3

# Starters with budgets at which they learn; evaluations are short, as the corpus is large.
BUDGETS = {
    "cartpole": 99_328,
    "acrobot": 250_000,
    "mountaincar": 400_000,
    "mountaincarcontinuous": 150_000,
    "pendulum": 200_000,
    "frozenlake": 300_000,
    "frozenlake8x8": 600_000,
    "taxi": 600_000,
    "cliffwalking": 300_000,
    "blackjack": 200_000,
}
EVALUATION_EPISODES = 30
# Returns of a policy that only waits for the step cap, which isn't learning either; from the rewards of a step.
IDLE = {"taxi": -200, "cliffwalking": -200, "acrobot": -500, "mountaincar": -200, "mountaincarcontinuous": 0}
# Trainings of one kind: for tuning and for the check of known kinds, and of held-out kinds. Held-out kinds get more
# than are needed, as a fault that turns out to do no harm isn't counted.
TUNE, CHECK, HELD_OUT = 3, 4, 6

FIRST_SEED = {"tune": 3000, "check": 5000 * ROUND, "held-out": 7000 * ROUND}


@dataclass(frozen=True)
class Kind:
    """A way to break a training.

    The cause is named right when one of the first two findings is of a rule in `rules`, or names a key in `keys`.
    Magnitudes are lists of settings; the first half of both lists is for tuning where a kind is known.
    """

    name: str
    what: str
    rules: frozenset
    keys: frozenset
    environments: tuple
    magnitudes: tuple
    # Whether the fault counts even if the return is fine: the record itself is wrong then.
    harmless_too: bool = False
    held_out: bool = False
    # The kind of an earlier list that resembles a held-out one.
    like: str | None = None


@dataclass
class Training:
    """One training of the plan; `kind` is None for healthy ones."""

    kind: object
    name: str
    starter: str
    settings: list
    seed: int
    variation: str = ""
    # Filled in later: whether the config was refused, the return it ended with, findings.
    refused: bool = False
    harmed: bool = True
    final: float | None = None
    findings: list = field(default_factory=list)


def one(key, *values):
    """Magnitudes of one key."""
    return tuple([f"{key}={value}"] for value in values)


def each(*settings):
    """Magnitudes of several keys."""
    return tuple(list(part) for part in settings)


def wrap(*wrappers):
    return tuple([f"env.wrappers=[{wrapper}]", "env.normalize_rewards=false"] for wrapper in wrappers)


def scale(*factors):
    return wrap(*(f"{{scale_reward: {{factor: {factor}}}}}" for factor in factors))


def known(name, what, rules, keys, environments, magnitudes, **more):
    return Kind(name, what, frozenset(rules), frozenset(keys), tuple(environments), tuple(magnitudes), **more)


def former(name, what, keys, environments, magnitudes):
    """A kind that was held out in the first round; no rule of its own counts, only the key that is named."""
    return known(name, what, [], keys, environments, magnitudes)


CONTINUOUS = ["pendulum", "mountaincarcontinuous"]
REAL = ["cartpole", "acrobot", "pendulum", "mountaincarcontinuous"]
DISCRETE = ["frozenlake", "cliffwalking", "taxi"]
MOST = ["cartpole", "pendulum", "frozenlake", "acrobot", "cliffwalking", "mountaincarcontinuous"]
CAP = "env.max_episode_steps={}"
OVERLAP = "eval.seed={overlap}"

KNOWN = [
    known("learning rate too high", "thousands of times the usual learning rate", ["F01", "F03"], ["algo.learning_rate"],
          MOST, one("algo.learning_rate", 1, 10, 0.3, 3)),
    known("learning rate too low", "a learning rate thousands of times too low", ["F04"], ["algo.learning_rate"],
          MOST, one("algo.learning_rate", "1.0e-8", "1.0e-7", "1.0e-9", "3.0e-7")),
    known("noise far too small", "continuous actions with almost no initial noise", ["F08"], ["policy.log_std_init"],
          CONTINUOUS, each(["policy.log_std_init=-5", "policy.use_sde=false"], ["policy.log_std_init=-4", "policy.use_sde=false"],
                           ["policy.log_std_init=-6", "policy.use_sde=false"], ["policy.log_std_init=-8", "policy.use_sde=false"])),
    known("rewards far too large", "rewards multiplied by 10,000 and more", ["F12"], ["env.wrappers"],
          ["cartpole", "pendulum", "acrobot", "taxi"], scale("1.0e+6", "1.0e+5", "1.0e+4", "3.0e+5")),
    known("rewards far too small", "rewards multiplied by a millionth and less", [], ["env.wrappers"],
          ["cartpole", "pendulum", "frozenlake", "cliffwalking"], scale("1.0e-6", "1.0e-5", "1.0e-4", "1.0e-3")),
    known("one observation held", "one number of the observation never changes", ["F26"], ["env.wrappers"],
          REAL, wrap(*(f"{{freeze_observation: {{dimensions: [{dimension}]}}}}" for dimension in (0, 1))), harmless_too=True),
    known("real observations held", "all numbers of the observation are held", ["F26"], ["env.wrappers"],
          REAL, wrap("freeze_observation"), harmless_too=True),
    known("discrete observations held", "a discrete observation is held", ["F26"], ["env.wrappers"],
          DISCRETE, wrap("freeze_observation"), harmless_too=True),
    known("time limit as an end", "a time limit is reported as a termination", ["F28"], ["env.wrappers"],
          ["pendulum", "cartpole", "acrobot", "mountaincar"], wrap("truncation_as_termination"), harmless_too=True),
    known("evaluation on training seeds", "evaluations play on a training seed", ["F34"], ["eval.seed"],
          ["cartpole", "pendulum", "frozenlake", "mountaincarcontinuous"], each([OVERLAP]), harmless_too=True),
    known("no reward at all", "rewards are multiplied by 0", ["F23"], ["env.wrappers"],
          ["cartpole", "frozenlake", "acrobot", "pendulum"], scale(0), harmless_too=True),
    known("step cap too short", "episodes end before the goal can be reached", ["F23"], ["env.max_episode_steps"],
          ["frozenlake8x8", "mountaincar", "frozenlake", "acrobot"],
          each([CAP.format(5)], [CAP.format(10)], [CAP.format(4)], [CAP.format(13)]), harmless_too=True),
    known("late collapse", "a learning rate that rises until the policy is lost", ["F17", "F03"], ["algo.learning_rate"],
          ["cartpole", "acrobot", "mountaincarcontinuous"],
          one("algo.learning_rate", *(f"{{schedule: linear, from: 0.0003, to: {to}}}" for to in (0.1, 0.3, 0.2, 1)))),
    known("observations too small", "small observations that aren't normalised", ["F25"], ["env.normalize_observations"],
          ["mountaincar", "mountaincarcontinuous"], each(["env.normalize_observations=false"],
                                                         ["env.normalize_observations=false", "env.normalize_rewards=false"])),
    known("entropy bonus too high", "an entropy bonus that outweighs the reward", ["F09", "F10"], ["algo.entropy_coef"],
          ["cartpole", "pendulum", "mountaincar", "taxi"], one("algo.entropy_coef", 10, 5, 3, 8)),
    known("target_kl too small", "a KL limit that ends every update at once", ["F05"], ["algo.target_kl"],
          MOST, one("algo.target_kl", "1.0e-6", "1.0e-8", "1.0e-7", "1.0e-5")),
    known("reward sign flipped", "the reward is multiplied by a negative number", ["F43"], ["env.wrappers"],
          ["cartpole", "pendulum", "frozenlake", "acrobot", "cliffwalking", "mountaincar"], scale(-1, -0.1, -10, -0.5)),
    known("discount far too low", "a discount that looks a few steps ahead", ["F44"], ["algo.gamma"],
          ["mountaincar", "frozenlake", "cartpole", "taxi", "mountaincarcontinuous", "frozenlake8x8"],
          one("algo.gamma", 0.3, 0.5, 0.1, 0.7)),
    known("value loss without weight", "a value coefficient of 0 or nearly 0", ["F45"], ["algo.value_coef"],
          ["pendulum", "acrobot", "cartpole", "mountaincar", "cliffwalking", "taxi"],
          one("algo.value_coef", 0, "1.0e-5", "1.0e-7", "1.0e-4")),
    known("value clip far too small", "a clip range that keeps values where they start", ["F45"], ["algo.clip_value"],
          ["pendulum", "acrobot", "cartpole", "mountaincar", "cliffwalking", "taxi"],
          one("algo.clip_value", "1.0e-5", "1.0e-4", "1.0e-6", "1.0e-3")),
    known("gamma and lambda are 1", "advantages of whole returns, without discount", ["F45"], ["algo.gamma", "algo.gae_lambda"],
          ["pendulum", "mountaincar", "acrobot", "cliffwalking", "cartpole", "taxi"],
          each(["algo.gamma=1", "algo.gae_lambda=1"])),
    known("network far too small", "hidden layers of one or two units", ["F46"], ["policy.hidden_sizes"],
          ["cartpole", "taxi", "pendulum", "acrobot", "cliffwalking", "frozenlake8x8"],
          one("policy.hidden_sizes", "[1]", "[1, 1]", "[2, 1]", "[2]")),
]  # fmt: skip

# Environments and magnitudes at which trainings without a diagnosis showed that the fault does harm.
FORMER = [
    former("too few gradient steps", "one pass over the whole rollout as one batch",
           ["algo.batch_size", "algo.update_epochs"], ["frozenlake", "taxi", "cliffwalking", "pendulum"],
           each(["algo.update_epochs=1", "algo.batch_size={rollout}", "algo.learning_rate=0.0003"],
                ["algo.update_epochs=1", "algo.batch_size={rollout}", "algo.learning_rate=0.0001"])),
    former("rollout too short", "an update after every few steps", ["algo.rollout_steps"], ["pendulum"],
           each(*([f"algo.rollout_steps={steps}", "algo.batch_size={envs}"] for steps in (1, 2, 3)))),
    former("too few updates", "rollouts so long that the budget allows a handful of updates",
           ["algo.rollout_steps", "env.num_envs", "algo.total_timesteps"],
           ["mountaincarcontinuous", "frozenlake", "taxi"],
           each(["algo.rollout_steps={half}"], ["algo.rollout_steps={most}"])),
    former("clip range too small", "probability ratios may hardly move", ["algo.clip_range"],
           ["pendulum", "cliffwalking"], one("algo.clip_range", "1.0e-7", "1.0e-8")),
    former("clip range too large", "probability ratios may move anywhere, in many passes",
           ["algo.clip_range", "algo.update_epochs"], ["pendulum"],
           each(*([f"algo.clip_range={clip}", f"algo.update_epochs={epochs}"] for clip, epochs in ((100, 25), (10, 20), (30, 30))))),
    former("gradient cap too small", "a gradient norm of a hundred-thousandth and less", ["algo.max_grad_norm", "algo.adam_epsilon"],
           ["cartpole", "acrobot", "pendulum", "frozenlake", "mountaincarcontinuous"],
           each(["algo.max_grad_norm=1.0e-6"], ["algo.max_grad_norm=1.0e-7"],
                ["algo.max_grad_norm=1.0e-5", "algo.adam_epsilon=1.0e-3"])),
    former("Adam's epsilon too large", "an epsilon that shrinks every step", ["algo.adam_epsilon"],
           ["cliffwalking", "cartpole", "mountaincarcontinuous", "pendulum"], one("algo.adam_epsilon", 1, 0.5)),
    former("lambda is 0", "advantages of a single step", ["algo.gae_lambda"],
           ["frozenlake8x8", "taxi"], one("algo.gae_lambda", 0, 0.02)),
    former("raw advantages, large rewards", "advantages not normalised, rewards of hundreds",
           ["algo.normalize_advantages", "env.wrappers"], ["pendulum", "acrobot"],
           tuple([*part, "algo.normalize_advantages=false"] for part in scale(300, 1000, 3000))),
    former("raw advantages, small rewards", "advantages not normalised, rewards of a millionth",
           ["algo.normalize_advantages", "env.wrappers"], ["acrobot", "frozenlake", "cartpole", "cliffwalking"],
           tuple([*part, "algo.normalize_advantages=false"] for part in scale("1.0e-6", "1.0e-5"))),
    former("network too deep", "eight narrow layers", ["policy.hidden_sizes"], ["taxi"],
           one("policy.hidden_sizes", "[8, 8, 8, 8, 8, 8, 8, 8]", "[6, 6, 6, 6, 6, 6, 6, 6]", "[4, 4, 4, 4, 4, 4, 4, 4]")),
    former("a single environment", "one copy and very short rollouts", ["env.num_envs", "algo.rollout_steps", "algo.batch_size"],
           ["pendulum"], each(*(["env.num_envs=1", f"algo.rollout_steps={n}", f"algo.batch_size={n}"] for n in (4, 8, 16)))),
    former("rollouts far too short", "updates from a handful of steps", ["env.num_envs", "algo.rollout_steps", "algo.batch_size"],
           ["pendulum", "mountaincarcontinuous", "acrobot", "taxi"],
           each(["env.num_envs=4", "algo.rollout_steps=5", "algo.batch_size=20"],
                ["env.num_envs=1", "algo.rollout_steps=16", "algo.batch_size=16"],
                ["env.num_envs=2", "algo.rollout_steps=8", "algo.batch_size=16"])),
    former("smoke-test budget", "a budget left at the value of a quick trial", ["algo.total_timesteps"],
           ["acrobot", "taxi", "frozenlake", "pendulum", "frozenlake8x8"], one("algo.total_timesteps", 4096, 16384, 2048, 8192)),
]  # fmt: skip

KNOWN += FORMER

HELD_OUT_KINDS = [
    known(one["name"], one["what"], [], one["keys"], one["environments"], one["magnitudes"], held_out=True, like=one["like"])
    for one in held_out.KINDS
]

KINDS = KNOWN + HELD_OUT_KINDS

# Changes that are no fault. Calibration uses the first of each list, the check all others.
SCALES = [0.1, 0.01, 2, 5]
CAPS = {
    "cartpole": [300, 200, 400], "acrobot": [400, 300, 600], "mountaincar": [250, 300, 500], "pendulum": [150, 100, 400],
    "mountaincarcontinuous": [800, 500, 1500], "frozenlake": [80, 60, 200], "taxi": [150, 100, 400],
    "cliffwalking": [150, 100, 400], "blackjack": [50, 20, 30], "frozenlake8x8": [150, 120, 400],
}  # fmt: skip
NETWORKS = ["[32, 32]", "[128, 128]", "[256]", "[64, 64, 64]"]
LENGTHS = [0.5, 0.3, 0.15, 1.5]
PROBES = ["ProbeValue-v0", "ProbeBackprop-v0", "ProbeDiscount-v0", "ProbePolicy-v0", "ProbeBatching-v0"]


def cells(kind):
    """(for tuning, for the check) of a known kind; all of a held-out one are for the check."""
    draw = Random(f"{kind.name}/{ROUND}")
    everything = list(product(kind.environments, range(len(kind.magnitudes))))
    if kind.held_out:
        draw.shuffle(everything)
        return [], take(everything, HELD_OUT)
    halves = (len(kind.environments) + 1) // 2, (len(kind.magnitudes) + 1) // 2
    seen = [(e, m) for e, m in everything if kind.environments.index(e) < halves[0] and m < halves[1]]
    unseen = [cell for cell in everything if cell not in seen]
    draw.shuffle(seen)
    draw.shuffle(unseen)
    return take(seen, min(TUNE, len(seen))), take(unseen, CHECK)


def take(cells, count):
    """The first cells, around again where there are too few: their seeds differ."""
    return [cells[index % len(cells)] for index in range(count)]


def plan(which):
    """Every training of a set: `tune`, `check` or `held-out`."""
    trainings = []
    for number, kind in enumerate(KINDS):
        if kind.held_out != (which == "held-out"):
            continue
        tuned, checked = cells(kind)
        for index, (starter, magnitude) in enumerate(tuned if which == "tune" else checked):
            seed = FIRST_SEED[which] + 10 * number + index
            settings = [filled(text, starter, seed) for text in kind.magnitudes[magnitude]]
            trainings.append(Training(kind, f"f{number:02}_{index}_{starter}", starter, settings, seed))
    if which != "held-out":
        trainings += healthy(which)
    return trainings


def filled(text, starter, seed):
    """A setting with what depends on the starter and the seed."""
    envs, rollout = ROLLOUTS[starter]
    budget = BUDGETS[starter]
    return (
        text.replace("{overlap}", str(seed - 20))
        .replace("{rollout}", str(envs * rollout))
        .replace("{envs}", str(envs))
        .replace("{half}", str(budget // envs // 2))
        .replace("{most}", str(budget // envs * 2 // 3))
    )


# Copies and steps of a rollout in each starter.
ROLLOUTS = {
    "cartpole": (8, 128), "acrobot": (16, 256), "mountaincar": (16, 16), "mountaincarcontinuous": (16, 64), "pendulum": (8, 512),
    "frozenlake": (64, 128), "frozenlake8x8": (64, 128), "taxi": (64, 128), "cliffwalking": (64, 32), "blackjack": (16, 128),
}  # fmt: skip


def healthy(which):
    """Healthy trainings: starters that vary in reward scale, step cap, network and length; and probes."""
    part = (lambda options: options[:1]) if which == "tune" else (lambda options: options[1:])
    first, trainings = FIRST_SEED[which] + 500, []

    def add(starter, variation, settings):
        number = len(trainings)
        trainings.append(Training(None, f"h{number:03}_{starter}", starter, settings, first + number, variation))

    for starter, budget in BUDGETS.items():
        add(starter, "as it is", [])
        for factor in part(SCALES):
            add(starter, f"rewards × {factor}", [f"env.wrappers=[{{scale_reward: {{factor: {factor}}}}}]"])
        for cap in part(CAPS[starter]):
            add(starter, f"step cap {cap}", [f"env.max_episode_steps={cap}"])
        for network in part(NETWORKS):
            add(starter, f"network {network}", [f"policy.hidden_sizes={network}"])
        for length in part(LENGTHS):
            add(starter, f"length × {length}", [f"algo.total_timesteps={int(budget * length)}"])
    for probe in PROBES:
        for length in part([20_000, 10_000, 40_000]):
            add(probe, f"{length} steps", [f"algo.total_timesteps={length}"])
    return trainings
