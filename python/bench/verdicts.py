"""How far verdicts can be trusted: the simulated error rates, and verdicts over real trainings whose answer is
known. Writes docs/verdicts.md. Started by `cargo xtask verdicts`."""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RLX = ROOT / "target" / "release" / "rlx"
SIMULATION = ROOT / "target" / "release" / "examples" / "verdict_simulation"
SEEDS_PER_GROUP = 10
NULL_SETS = 20
# Budgets at which the seeds of a starter still differ: at its full budget CartPole ends at 500 whatever the
# seed, and a verdict on equal scores would show nothing.
NULL_CASES = [("cartpole", 20_000), ("pendulum", 50_000)]
RATE_SETS = 5
RATES = ("3e-4", "3e-6")
RATE_STEPS = 50_000


def rlx(project, *arguments):
    done = subprocess.run([RLX, "--root", project, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"rlx {' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def train(project, starter, name, first_seed, *overrides):
    seeds = ",".join(str(first_seed + i) for i in range(SEEDS_PER_GROUP))
    settings = [f"run_name={name}", f"seeds=[{seeds}]", *overrides]
    config = ROOT / "crates" / "spec" / "starters" / f"ppo_{starter}.yaml"
    rlx(project, "train", config, *(part for item in settings for part in ("--set", item)))
    return f"{name}_001"


def compare(project, a, b):
    """The verdict of a single look, and the scores of both groups."""
    report = rlx(project, "compare", a, b, "--looks", "1")
    comparison = report["comparisons"][0]
    if comparison["verdict"] is None:
        sys.exit(f"{a} and {b} were not judged: {comparison}")
    return comparison, [seed["score"] for group in report["groups"] for seed in group["seeds"]]


def shown(number):
    return "–" if number is None else f"{number:.4g}"


def row(index, verdict):
    interval = verdict["interval"]
    return (
        f"| {index} | {verdict['verdict']} | {verdict.get('reason') or ''} | {shown(verdict['a']['mean'])} "
        f"| {shown(verdict['b']['mean'])} | {shown(verdict['effect'])} "
        f"| {shown(interval['low'])} to {shown(interval['high'])} | {verdict['probability_of_improvement']['value']:.2f} |"
    )


HEADER = "| set | verdict | reason | mean A | mean B | effect | interval | P(B > A) |\n| --- | --- | --- | --- | --- | --- | --- | --- |"


def null_sets(folder, starter, steps):
    rows, claims, pool = [], 0, []
    for index in range(NULL_SETS):
        # A project of its own: the same question asked twice in one would be a second look.
        project = Path(folder) / f"{starter}_{index}"
        project.mkdir()
        groups = [
            train(project, starter, f"{starter}_{group}", 10_000 * index + offset, f"algo.total_timesteps={steps}")
            for group, offset in (("a", 0), ("b", 5_000))
        ]
        verdict, scores = compare(project, *groups)
        claims += verdict["verdict"] != "cannot_tell"
        pool += scores
        rows.append(row(index + 1, verdict))
        print(f"{starter} null set {index + 1}: {verdict['verdict']}", flush=True)
    mean, deviation = statistics.mean(pool), statistics.stdev(pool)
    return claims, rows, [(score - mean) / deviation for score in pool]


def rate_sets(folder):
    rows, worse = [], 0
    for index in range(RATE_SETS):
        project = Path(folder) / f"rates_{index}"
        project.mkdir()
        groups = [
            train(
                project, "cartpole", f"rate{rate.replace('-', 'm')}_{index}", 10_000 * index + offset,
                f"algo.total_timesteps={RATE_STEPS}", f"algo.learning_rate={rate}",
            )
            for rate, offset in zip(RATES, (1_000, 6_000))
        ]
        verdict, _ = compare(project, *groups)
        worse += verdict["verdict"] == "worse"
        rows.append(row(index + 1, verdict))
        print(f"learning rate set {index + 1}: {verdict['verdict']}", flush=True)
    return worse, rows


def main():
    with tempfile.TemporaryDirectory() as folder:
        nulls = [(starter, steps, *null_sets(folder, starter, steps)) for starter, steps in NULL_CASES]
        worse, rate_rows = rate_sets(folder)
        pool = Path(folder) / "scores.txt"
        pool.write_text("".join(f"{score}\n" for *_, scores in nulls for score in scores))
        print("simulating campaigns", flush=True)
        done = subprocess.run([SIMULATION, "--scores", pool], capture_output=True, text=True, check=True)
    claims = sum(claims for _, _, claims, _, _ in nulls)
    parts = [
        "# How far verdicts can be trusted",
        "Made by `cargo xtask verdicts`. The procedures and their defaults are described in [statistics](statistics.md).",
        "## Campaigns",
        "Simulated with the functions that `rlx stats campaign` calls; the seed of the simulation was fixed before it ran. "
        "Effects are in standard deviations of all runs. A failing seed is as bad in every group, and only the others are "
        "shifted; it ends 10 standard deviations of the others lower, or, where it says scattered, 5 lower with 3 times "
        "their spread. Counted with and without it, the veto on the mean costs at most 2 points of power. Real returns are "
        "the final scores of the trainings below, each environment's scaled to standard deviation 1.",
        done.stdout.strip(),
        f"## Real trainings that differ only by seed: {claims} of {len(nulls) * NULL_SETS} sets got a verdict",
        f"Each set: {SEEDS_PER_GROUP} seeds against {SEEDS_PER_GROUP} other seeds of the same config, no seed used twice, one "
        "look. Every verdict other than `cannot_tell` is a false claim; at two-sided 5% about one in twenty is to be "
        "expected.",
    ]
    for starter, steps, claims, rows, _ in nulls:
        parts += [f"### {starter}, {steps:,} steps: {claims} of {NULL_SETS}", "\n".join([HEADER, *rows])]
    parts += [
        f"## Learning rate {RATES[0]} (A) against {RATES[1]} (B): `worse` in {worse} of {RATE_SETS}",
        f"CartPole, {RATE_STEPS:,} steps, {SEEDS_PER_GROUP} seeds per group.",
        "\n".join([HEADER, *rate_rows]),
    ]
    (ROOT / "docs" / "verdicts.md").write_text("\n\n".join(parts) + "\n")
    print("wrote docs/verdicts.md")


if __name__ == "__main__":
    main()
