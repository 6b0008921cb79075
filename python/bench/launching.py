"""What launching costs: from the command to the first instruction of the program it launches, and what looking after a
run takes. A repository is made as people have them, with a study in which everything is approved by signature.
"""

import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

STUDY = Path(".rlxp/tasks/speed/studies/first")
# A run that doesn't open what its candidate changed proves nothing, and its candidate is over.
PATCH = "--- a/when.txt\n+++ b/when.txt\n@@ -1 +1 @@\n-yesterday\n+now\n"
CHATTY = """\
import time
assert open("when.txt").read() == "now\\n"
begin = time.monotonic()
for number in range(1, 1001):
    print("step", number, "of 1000, reward", number / 7, flush=True)
    time.sleep(max(0.0, begin + number / 100 - time.monotonic()))
"""


class Repository:
    """A git repository with an approved study whose training is `train` and whose candidate `c` may be launched."""

    def __init__(self, folder, rlx, train, files, seeds):
        self.root, self.home, self.rlx_path = Path(folder) / "repository", Path(folder) / "home", str(rlx)
        self.home.mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        for number in range(files):
            body = "".join(f"def f{line}(x):\n    return x * {number} + {line}\n\n" for line in range(40))
            self.write(f"package_{number % 50}/part_{number}.py", body)
        self.write("when.txt", "yesterday\n")
        # Evaluation is tried in the smoke phase and has to leave the primary metric.
        self.write("eval/evaluate.sh", "echo '{\"success\": 1}' > \"$1/scores.json\"\n")
        self.write("chatty.py", CHATTY)
        who = ["-c", "user.name=Alice", "-c", "user.email=alice@example.org"]
        self.run("git", "init", "--quiet", "--initial-branch=main")
        self.run("git", "add", "--all")
        self.run("git", *who, "commit", "--quiet", "--message", "A repository")
        self.key = self.home / "alice"
        self.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "alice", "-f", str(self.key))
        approvers = self.home / ".config/rlx/approvers"
        approvers.parent.mkdir(parents=True)
        approvers.write_text(f"alice@example.org {self.key.with_suffix('.pub').read_text()}")
        self.rlx("study", "init", "--task", "speed", "--study", "first", "--assurance", "signature")
        self.rlx("study", "audit", "--claim", "train_command:chatty.py:1")
        commit = self.run("git", "rev-parse", "HEAD").strip()
        for name, document in documents(train, commit, seeds).items():
            self.write(STUDY / name, json.dumps(document))
        (self.home / "when.patch").write_text(PATCH)
        why = ["--hypothesis", "another time", "--rollback", "the time as it was", "--risk", "none"]
        change = ["--surface", "time", "--path", "when.txt", "--patch", str(self.home / "when.patch")]
        self.rlx("candidate", "new", "c", "--kind", "policy", *change, *why)
        self.approve("--all")
        self.rlx("candidate", "validate", "c")
        self.approve("candidate:c")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *words):
        done = subprocess.run(words, cwd=self.root, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def rlx(self, *words):
        return self.run(self.rlx_path, *words)

    def approve(self, what):
        statement = self.home / "statement"
        statement.write_text(self.rlx("approve", what, "--print"))
        signature = self.home / "statement.sig"
        signature.unlink(missing_ok=True)
        self.run("ssh-keygen", "-q", "-Y", "sign", "-n", "rlx-approval", "-f", str(self.key), str(statement))
        self.rlx("approve", what, "--signature", str(signature))

    def launch(self):
        """The words of a launch of one run, after its plan was printed as people do."""
        plan = json.loads(self.rlx("launch", "c", "--json"))["plan"]
        return [self.rlx_path, "launch", "c", "--execute", "--confirm", "RUN_CANDIDATE", "--plan", plan, "--runs", "1", "--json"]

    def runs(self):
        """The folders of all runs, oldest first."""
        return sorted(self.home.glob(".local/state/rlx/studies/*/runs/c-*"), key=lambda path: path.stat().st_ctime_ns)


def documents(train, commit, seeds):
    pool = {name: {"from": start, "to": start + 999} for name, start in (("screen", 1), ("confirm", 2000), ("audit", 4000), ("evaluation", 6000))}
    return {
        "contract.yaml": {
            "schema": "rlxp.contract/1",
            "task": {"id": "speed", "study": "first", "mission": "launch sooner"},
            "metrics": {"primary": "success", "guardrails": []},
            "scope": {"surfaces": ["time"], "one_change_at_a_time": True},
            "budget": {"runs": 100, "wall_clock": "10h", "disk": "10GiB", "parallel": 1, "per_run": {"wall_clock": "5m", "disk": "50MiB", "memory": "1GiB", "processes": 64}},
            "hardware": {"device": "cpu", "gpus": 0, "network": "none"},
            "baseline": {"commit": commit, "description": "as it is committed"},
            "evaluation": {"description": "one file"},
            "experiment": {"description": "one line"},
            "automation": "supervised",
            "assurance": "signature",
            "confinement": "full",
            "statistics": {"alpha": 0.05, "screen_seeds": seeds, "confirm_seeds": 5, "looks": 1, "maximum_confirms": 3},
            "stop_rules": [{"when": "no_improvement", "candidates": 5}],
            "exceptions": [{"section": "baseline", "code": "no_baseline", "reason": "only starting is looked at"}],
        },
        "metric_spec.yaml": {
            "schema": "rlxp.metric_spec/1",
            "primary": {"name": "success", "direction": "higher", "aggregation": "mean", "source": {"format": "json", "file": "eval/scores.json", "pointer": "/success"}},
            "failure_score": 0.0,
            "smallest_effect": 0.05,
            "protocol": {"episodes": 20, "deterministic": True, "checkpoint": "last", "environments": "none", "seeds": pool},
        },
        "surface_map.yaml": {
            "schema": "rlxp.surface_map/1",
            "surfaces": [{"id": "time", "kind": "policy", "paths": ["when.txt"], "operations": ["edit_code"]}],
            "protected": ["eval/**"],
        },
        "runbook.yaml": {
            "schema": "rlxp.runbook/1",
            "train": {"argv": train},
            "eval": {"argv": ["sh", "eval/evaluate.sh", "{run}", "{seed}"]},
            "stop": {"silence": "30s", "output": "5MiB"},
        },
    }


def start_times(folder, rlx, count=10):
    """Milliseconds from the command to the first instruction of the training, for each of `count` launches."""
    repository = Repository(folder, rlx, ["date", "--file=when.txt", "+{seed} %s%N"], files=5000, seeds=count + 1)
    taken = []
    for _ in range(count + 1):
        words = repository.launch()
        begin = time.time_ns()
        repository.run(*words)
        printed = re.search(r"\b(\d{19})\b", (repository.runs()[-1] / "train.log").read_text())
        taken.append((int(printed[1]) - begin) / 1e6)
    # The first one finds nothing in memory.
    return taken[1:]


def processor_share(folder, rlx):
    """Processor time of the supervisor of a run that prints a hundred lines a second, as a share of a core: of the process
    that looks after it and of those in between, not of the command that waits for its end."""
    repository = Repository(folder, rlx, ["python3", "chatty.py", "{seed}"], files=10, seeds=1)
    launch = subprocess.Popen(repository.launch(), cwd=repository.root, env=repository.environment, stdout=subprocess.DEVNULL)
    shares, before = [], None
    while launch.poll() is None:
        now = (time.monotonic(), processor_times(launch.pid, rlx))
        if before is not None and set(now[1]) == set(before[1]) and len(now[1]) > 1:
            used = sum(now[1].values()) - sum(before[1].values())
            shares.append((used, now[0] - before[0]))
        before = now
        time.sleep(1)
    if launch.returncode != 0 or len(shares) < 7:
        raise SystemExit(f"the run that was to be looked at ended early: {launch.returncode}, {shares}")
    return sum(used for used, _ in shares) / sum(passed for _, passed in shares)


def processor_times(launch, rlx):
    """Seconds of the processor by thread, of every process of the same program below the launching command."""
    found, program = {}, os.path.realpath(rlx)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.path.realpath(folder / "exe") == program:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                # Exact, unlike the ticks in `stat`: most wakes are shorter than one.
                used = {task.name: int((task / "schedstat").read_text().split()[0]) / 1e9 for task in folder.glob("task/*")}
                found[int(folder.name)] = (parent, used)
        except OSError:
            continue
    wanted = {launch}
    while more := {process for process, (parent, _) in found.items() if parent in wanted} - wanted:
        wanted |= more
    below = [found[process][1] for process in wanted - {launch} if process in found]
    return {thread: used for threads in below for thread, used in threads.items()}


def rows(folder, rlx):
    """For the table: what, measured, target, met."""
    taken = statistics.median(start_times(Path(folder) / "start", rlx))
    share = processor_share(Path(folder) / "share", rlx)
    return [
        ("`rlx launch --execute`, from the command to the run's first instruction, 5,000 files", f"{taken:.0f} ms", "< 150 ms", taken < 150),
        ("the supervisor of a run that prints 100 lines a second, share of a core", f"{share:.2%}", "< 1%", share < 0.01),
    ]


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        program = Path(sys.argv[1]).resolve()
        if "share" not in sys.argv[2:]:
            print("start", [round(one) for one in sorted(start_times(Path(place) / "start", program))], "ms")
        if "start" not in sys.argv[2:]:
            print(f"share {processor_share(Path(place) / 'share', program):.2%}")
