"""Trains the plan of `faults.py` and reads what trainings returned. Findings are read by `diagnosis.py` alone."""

import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faults

ROOT = Path(__file__).resolve().parents[2]
RLX = Path(os.environ.get("RLX", ROOT / "target" / "release" / "rlx"))
FOLDER = Path(os.environ.get("RLX_CORPUS", ROOT / "target" / "diagnosis"))
STARTERS = ROOT / "crates" / "spec" / "starters"
# Evaluations at the end that a return is the mean of.
LAST = 3
# A fault did harm when its training ended below this share of the way from an untrained policy to healthy trainings.
HARMED_BELOW = 0.5


def rlx(project, *arguments):
    return subprocess.run([RLX, "--root", project, *arguments, "--json"], capture_output=True, text=True)


def project_of(which):
    return FOLDER / (which if which == "tune" else f"{which}-{faults.ROUND}")


def in_pool(work, items):
    with ThreadPoolExecutor(int(os.environ.get("RLX_JOBS", "2"))) as pool:
        list(pool.map(work, items))


def train_all(which):
    """Trains what is missing of a set and notes the return that each training ended with."""
    trainings = faults.plan(which)
    project = project_of(which)
    (project / "runs").mkdir(parents=True, exist_ok=True)
    in_pool(lambda training: train(project, training), trainings)
    return trainings


def train(project, training):
    folder = project / "runs" / f"{training.name}_001"
    if not (folder / "metadata.json").exists():
        source = STARTERS / f"ppo_{training.starter}.yaml"
        settings = [f"eval.episodes={faults.EVALUATION_EPISODES}"]
        if source.exists():
            settings += [f"algo.total_timesteps={faults.BUDGETS[training.starter]}"]
        else:
            source = project / f"{training.starter}.yaml"
            source.write_text(f"env: {{id: {training.starter}}}\n")
        # The last of two values for a key counts.
        merged = dict(setting.split("=", 1) for setting in [*settings, *training.settings])
        merged |= {"run_name": training.name, "seed": training.seed, "threads": 1}
        words = [part for key, value in merged.items() for part in ("--set", f"{key}={value}")]
        done = rlx(project, "train", source, *words)
        # A training that diverges ends with an error, and that is what it is for.
        if not folder.exists():
            if done.returncode != 2:
                sys.exit(f"{training.name} {training.settings}: {done.returncode}\n{done.stdout}{done.stderr}")
            training.refused = True
            print(f"refused: {training.name} {training.settings}: {done.stdout[:600]}", flush=True)
            return
    training.final = final_return(folder)
    if os.environ.get("RLX_SHOW"):
        print(training.name, training.settings, training.final, flush=True)


def final_return(folder):
    """Mean of the last evaluations; None without any."""
    returns = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record.get("kind") == "eval":
            returns.append(record["values"]["mean_return"])
    return statistics.fmean(returns[-LAST:]) if returns else None


def levels():
    """(untrained, healthy) return of every starter: the bounds that harm is measured between.

    Both are measured here on seeds of their own: untrained as a policy that hardly learns, sampled or by its most
    likely action, or idle, whichever is best; healthy as the median of three starters.
    """
    project = FOLDER / "levels"
    (project / "runs").mkdir(parents=True, exist_ok=True)
    still = "algo.learning_rate=1.0e-12"
    plan = [
        faults.Training(None, f"{word}{seed}_{starter}", starter, settings, seed)
        for starter in faults.BUDGETS
        for word, settings, seeds in (
            ("random", [still, "eval.deterministic=false"], [1]),
            ("likely", [still], [1]),
            ("healthy", [], [2, 3, 4]),
        )
        for seed in seeds
    ]
    in_pool(lambda training: train(project, training), plan)
    middle = lambda starter, word: statistics.median(
        training.final for training in plan if training.starter == starter and training.name.startswith(word)
    )
    untrained = {
        starter: max(middle(starter, "random"), middle(starter, "likely"), faults.IDLE.get(starter, float("-inf")))
        for starter in faults.BUDGETS
    }
    return {starter: (untrained[starter], middle(starter, "healthy")) for starter in faults.BUDGETS}


def note_harm(trainings, levels):
    """Whether each fault did harm, by its return alone; so does a starter that was cut too short to learn."""
    for training in trainings:
        if training.kind is None and not training.variation.startswith("length"):
            training.harmed = False
            continue
        if training.final is None or (training.kind and training.kind.harmless_too):
            continue
        low, high = levels[training.starter]
        # A budget too short to tell a healthy return from an untrained one can't tell harm either.
        training.harmed = high > low and (training.final - low) / (high - low) < HARMED_BELOW


def main():
    """`corpus.py [SET …]`: trains, and shows how much harm faults do; no finding is read."""
    reached = levels()
    for starter, (low, high) in reached.items():
        print(f"{starter}: untrained {low:.4g}, healthy {high:.4g}")
    for which in sys.argv[1:] or ["tune", "check", "held-out"]:
        trainings = train_all(which)
        note_harm(trainings, reached)
        for kind in faults.KINDS:
            own = [training for training in trainings if training.kind is kind]
            if own:
                harmed = sum(training.harmed and not training.refused for training in own)
                ends = " ".join(f"{t.starter}:{'refused' if t.refused else t.final}" for t in own)
                print(f"{which}: {kind.name}: {harmed} of {len(own)} harmed; {ends}", flush=True)


if __name__ == "__main__":
    main()
