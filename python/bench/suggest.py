"""Follows the first suggestion of `rlx suggest` on configs that are poor on purpose, and judges with `rlx compare`
whether it helped. Writes docs/suggestions.md. Started by `cargo xtask suggest`.

    suggest.py                 train what is missing, judge, write the page
    suggest.py --rules-alone   also with the rules alone, as for an environment without a starter
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RLX = Path(os.environ.get("RLX", ROOT / "target" / "release" / "rlx"))
FOLDER = ROOT / "target" / "suggest"
PAGE = ROOT / "docs" / "suggestions.md"
SEEDS = 5

# Rises when knowledge or rules were changed because of what the reported set showed; its seeds are then drawn anew.
ROUND = 1
# Starters were tuned on 0-4 and 100-104, rules on 200 and up. Poor configs, then what was suggested.
POOR_SEED, FRESH_SEED = 60_000 + 2_000 * ROUND, 61_000 + 2_000 * ROUND

# Budgets within which the starter still learns. Written down before anything was trained.
BUDGET = {
    "cartpole": 40_000,
    "acrobot": 150_000,
    "mountaincar": 250_000,
    "mountaincarcontinuous": 100_000,
    "pendulum": 100_000,
    "frozenlake": 250_000,
    "frozenlake8x8": 600_000,
    "taxi": 500_000,
    "cliffwalking": 150_000,
    "cliffwalkingslippery": 200_000,
    "blackjack": 150_000,
}
# Episodes of each of the twenty evaluations: fewer than the starters have where that is enough, since the verdict is
# over seeds. A deterministic policy plays CliffWalking in one way.
EPISODES = {"blackjack": 300, "cliffwalking": 20}


@dataclass(frozen=True)
class Poor:
    """A config that should learn badly, and why it should."""

    starter: str
    settings: tuple
    why: str


def poor(starter, why, *settings):
    return Poor(starter, settings, why)


# Three per starter, written down before any of them was trained. Configs that turned out to reach the goal were no
# poor ones, got no suggestion and were replaced; `REPLACED` says by which.
REPORTED = [
    poor("cartpole", "steps 300 times too large", "algo.learning_rate=0.3"),
    poor("cartpole", "looks two steps ahead where a pole falls after ten", "algo.gamma=0.5"),
    poor("cartpole", "updates may hardly move the policy", "algo.clip_range=0.01", "algo.update_epochs=1"),
    poor("acrobot", "steps 300 times too large", "algo.learning_rate=0.3"),
    poor("acrobot", "steps ten thousand times too small", "algo.learning_rate=0.0000001"),
    poor("acrobot", "two hidden units", "policy.hidden_sizes=[2]", "algo.update_epochs=1"),
    poor("mountaincar", "observations differ in size by a factor of ten, unnormalised", "env.normalize_observations=false"),
    poor("mountaincar", "looks two steps ahead where the goal is a hundred away", "algo.gamma=0.5"),
    poor("mountaincar", "steps 300 times too large", "algo.learning_rate=0.3"),
    poor("mountaincarcontinuous", "timid pushes that never reach the goal", "policy.log_std_init=-3", "policy.use_sde=false"),
    poor("mountaincarcontinuous", "steps a thousand times too small", "algo.learning_rate=0.0000003"),
    poor("mountaincarcontinuous", "steps 300 times too large", "algo.learning_rate=0.1"),
    poor("pendulum", "steps 200 times too small", "algo.learning_rate=0.00001"),
    poor("pendulum", "updates may hardly move the policy", "algo.update_epochs=1", "algo.clip_range=0.01"),
    poor("pendulum", "rewards a thousand times too large", "env.wrappers=[{scale_reward: {factor: 1000}}]"),
    poor("frozenlake", "steps 300 times too small", "algo.learning_rate=0.00001"),
    poor("frozenlake", "exploration outweighs reward", "algo.entropy_coef=1"),
    poor("frozenlake", "looks two steps ahead where the goal is dozens away", "algo.gamma=0.5"),
    poor("frozenlake8x8", "steps 100 times too large", "algo.learning_rate=0.3"),
    poor("frozenlake8x8", "looks five steps ahead where the goal is dozens away", "algo.gamma=0.8"),
    poor("frozenlake8x8", "exploration outweighs reward", "algo.entropy_coef=1"),
    poor("taxi", "no exploration: the -10s teach it never to pick anyone up", "algo.entropy_coef=0"),
    poor("taxi", "steps 300 times too small", "algo.learning_rate=0.00001"),
    poor("taxi", "two hidden units for 500 states", "policy.hidden_sizes=[2]"),
    poor("cliffwalking", "no exploration: it hides from the cliff", "algo.entropy_coef=0"),
    poor("cliffwalking", "steps 300 times too small", "algo.learning_rate=0.00001"),
    poor("cliffwalking", "looks two steps ahead where the goal is thirteen away", "algo.gamma=0.5"),
    poor("cliffwalkingslippery", "steps 100 times too small", "algo.learning_rate=0.00001"),
    poor("cliffwalkingslippery", "exploration outweighs reward", "algo.entropy_coef=1"),
    poor("cliffwalkingslippery", "looks two steps ahead where the goal is dozens away", "algo.gamma=0.5"),
    poor("blackjack", "steps a thousand times too small", "algo.learning_rate=0.000001"),
    poor("blackjack", "exploration outweighs reward", "algo.entropy_coef=3"),
    poor("blackjack", "steps a thousand times too large", "algo.learning_rate=1"),
]

REPLACED = [
    ("Acrobot-v1", "algo.learning_rate=0.00001", "-88.7", "algo.learning_rate=0.3"),
    ("Acrobot-v1", "algo.entropy_coef=1", "-88.2", "algo.learning_rate=0.0000001"),
    ("MountainCarContinuous-v0", "algo.gamma=0.9", "91.7", "algo.learning_rate=0.0000003"),
]


def rlx(project, *arguments):
    return subprocess.run([RLX, "--root", project, *map(str, arguments), "--json"], capture_output=True, text=True)


def answer(project, *arguments):
    done = rlx(project, *arguments)
    if done.returncode not in (0, 1):
        sys.exit(f"rlx {' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def train(project, config, name, first, settings):
    """Trains unless that was done before. A training that diverges has failed, and is judged as that."""
    if (project / "runs" / f"{name}_001" / "metadata.json").exists():
        return
    seeds = [first + index for index in range(SEEDS)]
    settings = [*settings, f"run_name={name}", f"seeds={seeds}", "threads=1"]
    done = rlx(project, "train", config, *(part for item in settings for part in ("--set", item)))
    if not (project / "runs" / f"{name}_001").exists():
        sys.exit(f"{name} {settings} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


@dataclass
class Row:
    """What came of one poor config."""

    poor: Poor
    suggestion: dict
    report: dict
    verdict: dict


def work(project, index, case, alone):
    name = f"p{index:02}_{case.starter}"
    config = ROOT / "crates" / "spec" / "starters" / f"ppo_{case.starter}.yaml"
    protocol = [f"algo.total_timesteps={BUDGET[case.starter]}", f"eval.episodes={EPISODES.get(case.starter, 100)}"]
    train(project, config, name, POOR_SEED, [*case.settings, *protocol])
    report = answer(project, "suggest", f"{name}_001", *(["--rules-alone"] if alone else []))
    if not report["suggestions"]:
        print(f"{name}: {report['answer']}", flush=True)
        return Row(case, None, report, None)
    suggestion = report["suggestions"][0]
    follow = f"{'a' if alone else 's'}{index:02}_{case.starter}"
    followed = project / f"{follow}.json"
    if followed.exists() and json.loads(followed.read_text()) != suggestion["set"]:
        sys.exit(f"{follow} was trained for another suggestion; raise ROUND, or remove {project}")
    followed.write_text(json.dumps(suggestion["set"]))
    snapshot = project / "runs" / f"{name}_001" / "config_snapshot.yaml"
    train(project, snapshot, follow, FRESH_SEED, suggestion["set"])
    comparison = answer(project, "compare", f"{name}_001", f"{follow}_001")["comparisons"][0]
    row = Row(case, suggestion, report, comparison)
    print(f"{name} {case.settings}: {suggestion['set']} {suggestion['rules']}: {comparison['verdict']}", flush=True)
    return row


def study(alone):
    project = FOLDER / f"round_{ROUND}"
    (project / "runs").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda item: work(project, *item, alone), enumerate(REPORTED)))


def shown(number):
    return "–" if number is None else f"{number:.4g}"


def better(rows):
    return sum(row.verdict is not None and row.verdict["verdict"] == "better" for row in rows)


def table(rows):
    lines = [
        "| environment | poor config | why it should be poor | first suggestion | basis | mean before | mean after | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = [row.report["env"], "<br>".join(f"`{text}`" for text in row.poor.settings), row.poor.why]
        if row.suggestion is None:
            cells += ["none", "", shown(row.report["standing"]["mean_return"]), "–", "no suggestion"]
        else:
            rules = " ".join(row.suggestion["rules"])
            kind = row.suggestion["basis"]["kind"]
            basis = {"rule": rules, "starter": "starter", "rule_and_starter": f"{rules} and starter"}[kind]
            verdict = row.verdict["verdict"] or "not comparable"
            reason = row.verdict.get("reason")
            cells += ["<br>".join(f"`{text}`" for text in row.suggestion["set"]), basis]
            means = [(row.verdict.get(arm) or {}).get("mean") for arm in ("a", "b")]
            cells += [shown(means[0]), shown(means[1])]
            cells += [f"**{verdict}**" if verdict == "better" else f"{verdict} ({reason})" if reason else verdict]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(rows, alone, named):
    kinds = [row.suggestion["basis"]["kind"] for row in rows if row.suggestion]
    lines = [
        "# Does following a suggestion help?",
        "",
        "Made by `cargo xtask suggest`. Three poor configs per starter were written down, each with the reason why it should",
        f"learn badly, before any was trained. Each was trained over {SEEDS} seeds ({POOR_SEED} and up), `rlx suggest` looked at the run,",
        f"its first suggestion was trained with the same budget over {SEEDS} fresh seeds ({FRESH_SEED} and up), and `rlx compare` judged",
        "the two: `better` needs a difference that chance explains with at most 2.5%, and one that is large enough to matter.",
        "",
        f"**{better(rows)} of {len(rows)}** first suggestions made the run `better`.",
        f"What they rest on: a rule and the starter {kinds.count('rule_and_starter')} times, the starter alone "
        f"{kinds.count('starter')} times, a rule alone {kinds.count('rule')} times.",
        "",
        "Read this with care. The poor configs are starters with one or two settings spoiled, and the starter for the",
        "environment is part of what `rlx suggest` knows: here it knows a good answer, and what is measured is whether it finds",
        "out what was spoiled and changes nothing that it shouldn't. For an environment of your own there is no starter and",
        "only the rules speak. The rules alone (`--rules-alone`) change a setting by one usual step, such as a tenth of the",
        "learning rate, and see only what metrics show: they name no setting when gamma is too low, for example. Of the poor",
        f"runs here, their first suggestion changes a setting that was spoiled in {named} of {len(rows)}.",
        "",
        "The three rows of an environment are not independent: where all suggestions lead back to the starter's values, what was",
        "trained after them is one and the same training, and its mean appears three times.",
        "",
        f"Rules version {rows[0].report['rules_version']}, knowledge version {rows[0].report['knowledge_version']}.",
        "",
        *table(rows),
    ]
    if alone:
        lines += [
            "",
            "## Without a starter",
            "",
            f"With `--rules-alone`, **{better(alone)} of {len(alone)}** first suggestions made the run `better`; "
            f"{sum(row.suggestion is None for row in alone)} runs got none.",
            "",
            *table(alone),
        ]
    lines += ["", HISTORY.strip(), "", *replaced(), ""]
    PAGE.write_text("\n".join(lines))


HISTORY = """
## How this came about

What remedies do, how far a setting may lie from a starter's and which returns count as good is data:
`crates/analyze/rules/suggestions.json`. It was written down before any of these runs existed and was not changed because
of them. Budgets are shorter than the starters' own, and so are evaluations.

Three configs of the first draft turned out not to be poor: they reached what counts as good, `rlx suggest` said that
nothing needs changing, and others took their place. These were written down when CartPole's verdicts were in, and before
they were trained themselves.
"""


def named_by_rules():
    """Poor runs whose first suggestion by rules alone changes a setting that was spoiled."""
    project, count = FOLDER / f"round_{ROUND}", 0
    for index, case in enumerate(REPORTED):
        report = answer(project, "suggest", f"p{index:02}_{case.starter}_001", "--rules-alone")
        keys = {change["key"] for change in report["suggestions"][0]["changes"]} if report["suggestions"] else set()
        count += any(setting.split("=")[0] in keys for setting in case.settings)
    return count


def replaced():
    lines = ["| environment | first draft | mean return | replaced by |", "| --- | --- | --- | --- |"]
    return lines + [f"| {env} | `{draft}` | {reached} | `{new}` |" for env, draft, reached, new in REPLACED]


def main():
    rows = study(alone=False)
    alone = study(alone=True) if "--rules-alone" in sys.argv[1:] else []
    print(f"{better(rows)} of {len(rows)} better" + (f"; rules alone {better(alone)}" if alone else ""))
    page(rows, alone, named_by_rules())


if __name__ == "__main__":
    main()
