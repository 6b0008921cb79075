"""How far verdicts can be trusted: the simulated error rates, and verdicts over real trainings whose answer is
known. Writes docs/verdicts.md. Started by `cargo xtask verdicts`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RLX = ROOT / "target" / "release" / "rlx"
SIMULATION = ROOT / "target" / "release" / "examples" / "verdict_simulation"
# Written down before any of them was run with the procedure as it stands.
SIMULATION_SEEDS = [20_261_116, 1, 2]
SEEDS_PER_ARM = 10
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
    seeds = ",".join(str(first_seed + i) for i in range(SEEDS_PER_ARM))
    settings = [f"run_name={name}", f"seeds=[{seeds}]", *overrides]
    config = ROOT / "crates" / "spec" / "starters" / f"ppo_{starter}.yaml"
    rlx(project, "train", config, *(part for item in settings for part in ("--set", item)))
    return f"{name}_001"


def compare(project, a, b):
    report = rlx(project, "compare", a, b)
    comparison = report["comparisons"][0]
    if comparison["verdict"] is None:
        sys.exit(f"{a} and {b} were not judged: {comparison}")
    return comparison


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


def null_sets(project, starter, steps):
    rows, claims = [], 0
    for index in range(NULL_SETS):
        arms = [
            train(project, starter, f"{starter}_{arm}{index}", 10_000 * index + offset, f"algo.total_timesteps={steps}")
            for arm, offset in (("a", 0), ("b", 5_000))
        ]
        verdict = compare(project, *arms)
        claims += verdict["verdict"] != "cannot_tell"
        rows.append(row(index + 1, verdict))
        print(f"{starter} null set {index + 1}: {verdict['verdict']}", flush=True)
    return claims, rows


def rate_sets(project):
    rows, worse = [], 0
    for index in range(RATE_SETS):
        arms = [
            train(
                project, "cartpole", f"rate{rate.replace('-', 'm')}_{index}", 10_000 * index + offset,
                f"algo.total_timesteps={RATE_STEPS}", f"algo.learning_rate={rate}",
            )
            for rate, offset in zip(RATES, (1_000, 6_000))
        ]
        verdict = compare(project, *arms)
        worse += verdict["verdict"] == "worse"
        rows.append(row(index + 1, verdict))
        print(f"learning rate set {index + 1}: {verdict['verdict']}", flush=True)
    return worse, rows


def main():
    simulations = []
    for seed in SIMULATION_SEEDS:
        print(f"simulation, seed {seed}", flush=True)
        done = subprocess.run([SIMULATION, str(seed)], capture_output=True, text=True, check=True)
        simulations.append(done.stdout.replace("###", "####"))
    with tempfile.TemporaryDirectory() as project:
        nulls = [(starter, steps, *null_sets(project, starter, steps)) for starter, steps in NULL_CASES]
        worse, rate_rows = rate_sets(project)
    parts = [
        "# How far verdicts can be trusted",
        "Made by `cargo xtask verdicts`. The procedure and its defaults are described in [statistics](statistics.md).",
        "## Real trainings that differ only by seed",
        f"Each set: {SEEDS_PER_ARM} seeds against {SEEDS_PER_ARM} other seeds of the same config, no seed used twice. "
        "Every verdict other than `cannot_tell` is a false claim; at two-sided 5% about one in twenty is to be expected.",
    ]
    for starter, steps, claims, rows in nulls:
        parts += [f"### {starter}, {steps:,} steps: {claims} of {NULL_SETS} sets got a verdict", "\n".join([HEADER, *rows])]
    parts += [
        f"## Learning rate {RATES[0]} (A) against {RATES[1]} (B): `worse` in {worse} of {RATE_SETS}",
        f"CartPole, {RATE_STEPS:,} steps, {SEEDS_PER_ARM} seeds per arm.",
        "\n".join([HEADER, *rate_rows]),
        "## Simulated campaigns",
        "Three simulation seeds, fixed before they were run; every run is shown.",
    ]
    for seed, text in zip(SIMULATION_SEEDS, simulations):
        parts += [f"### Simulation seed {seed}", text.strip()]
    (ROOT / "docs" / "verdicts.md").write_text("\n\n".join(parts) + "\n")
    print("wrote docs/verdicts.md")


if __name__ == "__main__":
    main()
