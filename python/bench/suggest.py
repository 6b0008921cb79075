"""Follows the first suggestion of `rlx suggest` on configs that are poor on purpose, and judges with `rlx compare`
whether it helped. Writes docs/suggestions.md. Started by `cargo xtask suggest`.

    suggest.py                 train what is missing, judge with and without the starter, write the page
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import poor_configs

ROOT = Path(__file__).resolve().parents[2]
RLX = Path(os.environ.get("RLX", ROOT / "target" / "release" / "rlx"))
FOLDER = ROOT / "target" / "suggest"
PAGE = ROOT / "docs" / "suggestions.md"
SEEDS = 5

# Rises when knowledge or rules were changed because of what the reported set showed: other configs and seeds take its
# place.
ROUND = 3
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
# The smallest difference that counts, in the return's unit: about a twentieth of the way from an untrained policy to the
# starter. Without it there is no verdict where every seed of a group returns the same.
MINIMUM_EFFECT = {
    "cartpole": 20,
    "acrobot": 20,
    "mountaincar": 5,
    "mountaincarcontinuous": 5,
    "pendulum": 50,
    "frozenlake": 0.04,
    "frozenlake8x8": 0.04,
    "taxi": 10,
    "cliffwalking": 10,
    "cliffwalkingslippery": 50,
    "blackjack": 0.02,
}


@dataclass(frozen=True)
class Poor:
    """A config that should learn badly, and why it should."""

    starter: str
    settings: tuple
    why: str


REPORTED = [Poor(starter, tuple(settings), why) for starter, why, settings in poor_configs.POOR]
SPARES = [Poor(starter, tuple(settings), why) for starter, why, settings in poor_configs.SPARES]


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


def train_poor(project, name, case):
    """Trains a poor config; gives the mean return if it reached what counts as good."""
    config = ROOT / "crates" / "spec" / "starters" / f"ppo_{case.starter}.yaml"
    # The last of two values for a key counts.
    protocol = {"algo.total_timesteps": BUDGET[case.starter], "eval.episodes": EPISODES.get(case.starter, 100)}
    merged = protocol | dict(setting.split("=", 1) for setting in case.settings)
    train(project, config, name, POOR_SEED, [f"{key}={value}" for key, value in merged.items()])
    standing = answer(project, "suggest", f"{name}_001")["standing"]
    return standing["mean_return"] if standing["state"] == "good" else None


def chosen(project):
    """The poor configs with their runs' names, and those that weren't poor: by returns alone."""
    spares = {starter: [case for case in SPARES if case.starter == starter] for starter in BUDGET}

    def one(item):
        index, case = item
        replaced = []
        for trial in range(1 + len(spares[case.starter])):
            name = f"p{index:02}{'abc'[trial]}_{case.starter}"
            reached = train_poor(project, name, case)
            if reached is None:
                return name, case, replaced
            if not spares[case.starter]:
                return None, case, [*replaced, (case, reached, None)]
            spare = spares[case.starter].pop(0)
            replaced.append((case, reached, spare))
            case = spare
        return None, case, replaced

    # Spares are taken in the order of the list, so one starter's configs come one after another.
    def of_starter(starter):
        return [one(item) for item in enumerate(REPORTED) if item[1].starter == starter]

    with ThreadPoolExecutor(2) as pool:
        found = [entry for entries in pool.map(of_starter, BUDGET) for entry in entries]
    return [(name, case) for name, case, _ in found if name], [row for _, _, replaced in found for row in replaced]


def work(project, index, name, case, alone):
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
    least = ("--minimum-effect", MINIMUM_EFFECT[case.starter])
    comparison = answer(project, "compare", f"{name}_001", f"{follow}_001", *least)["comparisons"][0]
    row = Row(case, suggestion, report, comparison)
    print(f"{name} {case.settings}: {suggestion['set']} {suggestion['rules']}: {comparison['verdict']}", flush=True)
    return row


def study(project, cases, alone):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda item: work(project, item[0], *item[1], alone), enumerate(cases)))


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


def worse(rows):
    return sum(row.verdict is not None and row.verdict["verdict"] == "worse" for row in rows)


def share(part, whole):
    return f"{part} of {whole} ({100 * part / max(whole, 1):.0f}%)"


def page(rows, alone, named, replaced):
    kinds = [row.suggestion["basis"]["kind"] for row in rows if row.suggestion]
    lines = [
        "# Does following a suggestion help?",
        "",
        "Made by `cargo xtask suggest`. Three poor configs per starter were written down, each with the reason why it should",
        "learn badly, by an author who knew neither the rules nor any suggestion, before any was trained",
        f"(`python/bench/poor_configs.py`). Each was trained over {SEEDS} seeds ({POOR_SEED} and up), `rlx suggest` looked at the run,",
        f"its first suggestion was trained with the same budget over {SEEDS} fresh seeds ({FRESH_SEED} and up), and `rlx compare` judged",
        "the two at the first of two planned looks: `better` needs a difference that chance explains with at most 1.25%, and one",
        "that is large enough to matter: about a twentieth of the way from an untrained policy to the starter. Configs that "
        "change the task itself, such as its step cap, are not among them: runs of two tasks get no verdict.",
        "",
        f"**{share(better(rows), len(rows))}** first suggestions made the run `better`, {share(worse(rows), len(rows))} `worse`.",
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
            f"With `--rules-alone`, **{share(better(alone), len(alone))}** first suggestions made the run `better`, "
            f"{share(worse(alone), len(alone))} `worse`; {sum(row.suggestion is None for row in alone)} runs got none.",
            "",
            *table(alone),
        ]
    lines += ["", HISTORY.strip(), "", *replaced_table(replaced), ""]
    PAGE.write_text("\n".join(lines))


HISTORY = """
## Configs that were not poor

What remedies do, how far a setting may lie from a starter's and which returns count as good is data:
`crates/analyze/rules/suggestions.json`. Budgets are shorter than the starters' own, and so are evaluations.
A config whose trainings reached what counts as good was not poor; the next spare of its starter took its place, by
returns alone.
"""


def named_by_rules(project, cases):
    """Poor runs whose first suggestion by rules alone changes a setting that was spoiled."""
    count = 0
    for name, case in cases:
        report = answer(project, "suggest", f"{name}_001", "--rules-alone")
        keys = {change["key"] for change in report["suggestions"][0]["changes"]} if report["suggestions"] else set()
        count += any(setting.split("=")[0] in keys for setting in case.settings)
    return count


def replaced_table(replaced):
    if not replaced:
        return ["None."]
    text = lambda case: "none was left" if case is None else "<br>".join(f"`{setting}`" for setting in case.settings)
    lines = ["| starter | config | mean return | replaced by |", "| --- | --- | --- | --- |"]
    return lines + [f"| {case.starter} | {text(case)} | {shown(reached)} | {text(spare)} |" for case, reached, spare in replaced]


def main():
    project = FOLDER / f"round_{ROUND}"
    (project / "runs").mkdir(parents=True, exist_ok=True)
    cases, replaced = chosen(project)
    rows = study(project, cases, alone=False)
    alone = study(project, cases, alone=True)
    print(f"{better(rows)} of {len(rows)} better, {worse(rows)} worse; rules alone {better(alone)} better, {worse(alone)} worse")
    page(rows, alone, named_by_rules(project, cases), replaced)


if __name__ == "__main__":
    main()
