"""Trains every starter config over seeds 0-4 and 100-104 and scores the policies on episodes never seen
in training or selection. Writes docs/starters.md. Started by `cargo xtask starters`."""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RLX = ROOT / "target" / "release" / "rlx"
GROUPS = [range(0, 5), range(100, 105)]
# Far from the seeds that training evaluates on (10000+) and that tuning looked at (20000+).
FIRST_EPISODE = 5_000_000

# name of the starter: bound on the mean score, step budget, episodes per seed
BOUNDS = {
    "cartpole": (490, 100_000, 100),
    "acrobot": (-90, 1_000_000, 100),
    "mountaincar": (-130, 1_000_000, 100),
    "mountaincarcontinuous": (85, 300_000, 100),
    "pendulum": (-200, 300_000, 100),
    "frozenlake": (0.68, 1_000_000, 100),
    "frozenlake8x8": (0.75, 4_000_000, 100),
    "taxi": (7.0, 4_000_000, 100),
    "cliffwalking": (-17, 500_000, 100),
    "cliffwalkingslippery": (None, None, 100),
    "blackjack": (-0.09, None, 2000),
}


def rlx(project, *arguments):
    done = subprocess.run([RLX, "--root", project, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"rlx {' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def score(project, name, seeds, episodes):
    """Scores of the latest and the best policies by seed, and the steps of each."""
    config = ROOT / "crates" / "spec" / "starters" / f"ppo_{name}.yaml"
    listed = ",".join(map(str, seeds))
    trained = rlx(project, "train", config, "--set", f"seeds=[{listed}]", "--set", "threads=2")
    latest, best = (
        [play(project, trained["path"], seed, which, episodes) for seed in seeds] for which in ("latest", "best")
    )
    return latest, best, trained["plan"]["steps"]


def play(project, run, seed, which, episodes):
    """Mean return of one policy. Each training seed gets episodes of its own, so their luck averages out."""
    checkpoint = Path(run) / "seeds" / str(seed) / "checkpoints" / which
    first = str(FIRST_EPISODE + 10_000 * seed)
    played = rlx(project, "eval", checkpoint, "--episodes", str(episodes), "--seed", first)
    return played["rows"][0]["mean_return"]


HEAD = """\
# Starter scores

Made by `cargo xtask starters`: each starter trained over seeds 0–4 and again over 100–104 with the same file. A seed's score is
the mean return of its `latest` checkpoint over 100 deterministic episodes (Blackjack: 2,000), other episodes for each
seed, none of which training, the choice of `best` or the tuning of the starters ever saw. Per set of seeds the table has the
mean score, the score of the worst seed, and the mean of the same measurement on the `best` checkpoints. Those were chosen on
the evaluations during training, so chance helped choose them, and on other episodes they can score lower than `latest`.

| starter | steps | bound | mean, seeds 0–4 | worst seed | `best` checkpoints | mean, seeds 100–104 | worst seed | `best` checkpoints |
|---|---|---|---|---|---|---|---|---|
"""

APART = "## Environments of Gymnasium"


def main():
    names = sys.argv[1:] or list(BOUNDS)
    page = ROOT / "docs" / "starters.md"
    known = page.read_text().splitlines() if page.exists() else []
    rows = {line.split("`")[1]: line for line in known if line.startswith("| `")}
    failed = []
    for name in names:
        bound, budget, episodes = BOUNDS[name]
        cells = []
        for seeds in GROUPS:
            with tempfile.TemporaryDirectory() as project:
                latest, best, steps = score(project, name, seeds, episodes)
            mean = statistics.mean(latest)
            cells.append(f"{mean:.4g} | {min(latest):.4g} | {statistics.mean(best):.4g}")
            if (bound is not None and mean < bound) or (budget and steps > budget):
                failed.append(name)
        wanted = "—" if bound is None else f"≥ {bound}"
        file = f"ppo_{name}.yaml"
        rows[file] = f"| `{file}` | {steps:,} | {wanted} | {cells[0]} | {cells[1]} |"
        print(rows[file], flush=True)
    ordered = [rows[file] for name in BOUNDS if (file := f"ppo_{name}.yaml") in rows]
    # Scores in environments of Python are measured apart and kept.
    apart = known.index(APART) if APART in known else len(known)
    rest = "".join(f"\n{line}" for line in ["", *known[apart:]]) if known[apart:] else ""
    page.write_text(HEAD + "\n".join(ordered) + rest + "\n")
    if failed:
        sys.exit(f"not met: {', '.join(sorted(set(failed)))}")


main()
