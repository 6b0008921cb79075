//! A disk that fills up during a run: a real one, in memory, that has nothing but rlx's state of the study. The run ends
//! for that reason, its end is recorded, and filling a disk gives no second try.

use serde_json::Value;

use crate::governed::study::ran;
use crate::launch::candidates::{probe, reward_with};
use crate::launch::limits::processes_with;
use crate::launch::repository::{Build, Repository};
use crate::project::RLX;

/// Mounts the disk, launches, takes the free space that the gates found, lets the code continue, prints the status, and
/// copies what is left to where it can be seen from outside.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=64m none "$STATE" || exit 99
"$RLX" $LINE --detach > /dev/null || exit 96
KEY=$(ls "$STATE/runs")
OWN="$STATE/runs/$KEY"
until [ -e "$OWN/train/kept" ] || [ -e "$OWN/end.json" ]; do :; done
mount -o "remount,$OPTIONS" none "$STATE" || exit 95
touch "$OWN/train/go"
"$RLX" launch adopt "$KEY" > /dev/null
[ $? = 4 ] || exit 94
"$RLX" launch status --json || exit 98
cp -r "$STATE/runs" "$SEEN" || exit 97
"#;

/// Code that writes a result and waits until the disk is small, and a function that fills it.
const FILLS: &str = r#"import os
import sys
import time

out = sys.argv[sys.argv.index('--out') + 1]
with open(out + '/kept', 'w') as file:
    file.write('a result')
while not os.path.exists(out + '/go'):
    time.sleep(0.01)

def fill():
    try:
        with open(out + '/filler', 'wb', buffering=0) as file:
            while True:
                file.write(b'x' * 4096)
    except OSError as error:
        assert error.errno == 28, error
"#;

struct Stage {
    repository: Repository,
    /// How to get a mount namespace here.
    how: &'static str,
}

impl Stage {
    /// With this limit for every run.
    fn new(wall_clock: &str) -> Self {
        Self::with(Repository::build(), wall_clock)
    }

    fn with(build: Build, wall_clock: &str) -> Self {
        let build = build.without_baseline().agree(|agreed| {
            agreed.contract["budget"]["per_run"]["wall_clock"] = wall_clock.into();
        });
        let repository = build.screen_seeds(1).approved();
        std::fs::create_dir_all(repository.state()).unwrap();
        let state = repository.state();
        let works = |how: &&str| {
            let words = [*how, "mount", "-t", "tmpfs", "none", state.to_str().unwrap()];
            repository.run("unshare", &words).code == Some(0)
        };
        let how = ["-Urm", "-m"].into_iter().find(works).expect(
            "this test mounts small disks of its own: allow user namespaces (unshare -Urm) or run it as root",
        );
        Self { repository, how }
    }

    /// Runs `code` inside training, the first run of a candidate, on a small disk. Returns the recorded end.
    fn run(&self, id: &str, code: &str, options: &str) -> Value {
        self.run_as(id, reward_with(&format!("{FILLS}{code}")), options)
    }

    fn run_as(&self, id: &str, candidate: Value, options: &str) -> Value {
        let repository = &self.repository;
        repository.ready(id, candidate);
        let line = repository.execute(id, &repository.plan(id));
        let seen = repository.home().join(id);
        let mut command = repository.command("unshare");
        command.args([self.how, "sh", "-c", SCRIPT]).env("RLX", RLX).env("LINE", line);
        command.env("STATE", repository.state()).env("SEEN", &seen).env("OPTIONS", options);
        let ran = ran(id.to_owned(), &command.output().unwrap()).expect(0);
        let told = format!("{id}: {}\n{}", ran.stdout, ran.stderr);
        let keys = repository.runs_of(id);
        assert_eq!(keys.len(), 1, "{told}");
        let end = repository.end_of(&keys[0]);
        assert!(["failed", "limit"].contains(&end["end"].as_str().unwrap()), "{end}\n{told}");
        assert_eq!(end["spent"]["runs"], 1, "{end}");
        let own = repository.run_folder(&keys[0]);
        assert_eq!(processes_with(own.to_str().unwrap()), Vec::<String>::new(), "left by {id}");
        // What was saved still exists, and the reserve doesn't.
        let folder = seen.join(&keys[0]);
        assert_eq!(std::fs::read_to_string(folder.join("train/kept")).unwrap(), "a result", "{told}");
        let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        assert!(
            !names.iter().any(|name| name.ends_with(".reserve") || name.starts_with(".tmp")),
            "{names:?}"
        );
        // That seed isn't run again.
        repository.rlx(&format!("launch {id} --json")).expect(3);
        assert_eq!(repository.runs_of(id).len(), 1, "{told}");
        end
    }
}

#[track_caller]
fn is_for_the_disk(end: &Value) {
    let reason = end["reason"].as_str().unwrap();
    assert!(reason.contains("disk: full"), "{end}");
}

/// The disk that runs are written to counts, wherever the repository is.
#[test]
fn a_disk_with_less_room_than_was_agreed_starts_nothing() {
    let Stage { repository, how } = Stage::new("60s");
    repository.ready("modest", reward_with("pass"));
    let line = repository.execute("modest", &repository.plan("modest"));
    let script = r#"mount -t tmpfs -o size=3m none "$STATE" && exec "$RLX" $LINE"#;
    let mut command = repository.command("unshare");
    command.args([how, "sh", "-c", script]).env("RLX", RLX).env("LINE", line);
    let refused = ran("modest".into(), &command.env("STATE", repository.state()).output().unwrap()).expect(3);
    assert_eq!(refused.codes(), ["disk_full"], "{}", refused.stdout);
    assert_eq!(repository.runs_of("modest"), Vec::<String>::new());
}

#[test]
fn a_run_that_fills_the_disk_ends_for_it() {
    let stage = Stage::new("60s");
    let smoke = |id: &str, code: &str| stage.run(id, code, "size=3m");
    // It gives up by itself, …
    let end = smoke("gives-up", "fill()\nraise SystemExit(3)");
    is_for_the_disk(&end);
    assert!(end["reason"].as_str().unwrap().contains("it exited with code 3"), "{end}");
    assert!(end["manifest"].is_string(), "{end}");
    // … it continues and its output can't be written, …
    let talks = "fill()\nwhile True:\n    print('x' * 5000, flush=True)\n    time.sleep(0.01)";
    let end = smoke("talks", talks);
    is_for_the_disk(&end);
    assert_eq!(end["end"], "limit", "{end}");
    // … or nothing happens any more until its time is up.
    let end = Stage::new("2s").run("sleeps", "fill()\ntime.sleep(600)", "size=3m");
    assert!(end["reason"].as_str().unwrap().starts_with("wall clock: "), "{end}");
    stage.repository.rlx("verify --chain").expect(0);
}

/// The reserve is enough for the end, however large a run makes it.
#[test]
fn an_end_fits_onto_a_full_disk() {
    let stage = Stage::new("60s");
    // What a run reports about itself is part of its end.
    let boasts = "with open(out + '/.rlx-loaded', 'a') as file:\n    for number in range(200):\n\
                  \x20       file.write('/' + str(number) * 1000 + '\\n')\nfill()\nraise SystemExit(3)";
    is_for_the_disk(&stage.run("boasts", boasts, "size=3m"));
    // Its files are all listed.
    let litters = "for number in range(2000):\n    open(out + '/' + str(number), 'w').close()\nfill()\nraise SystemExit(3)";
    let end = stage.run("litters", litters, "size=3m");
    is_for_the_disk(&end);
    assert!(end["manifest"].is_null(), "{end}");
    // A disk can also be out of files.
    let hoards = "try:\n    for number in range(100000):\n        open(out + '/' + str(number), 'w').close()\n\
                  except OSError as error:\n    assert error.errno == 28, error\nraise SystemExit(3)";
    is_for_the_disk(&stage.run("hoards", hoards, "size=30m,nr_inodes=300"));
    // Training succeeds and leaves no space for the evaluation.
    stage.repository.rlx("verify --chain").expect(0);
    let selfish =
        format!("{FILLS}import atexit\n\natexit.register(fill)\nfrom balance.train import main\n\nmain()\n");
    let argv = [".venv/bin/python", "-m", "balance.selfish", "--seed", "{seed}", "--out", "{run}"];
    let build = Repository::build().file("src/balance/selfish.py", &selfish).train_with(&argv);
    let stage = Stage::with(build, "60s");
    is_for_the_disk(&stage.run_as("selfish", probe(), "size=3m"));
    stage.repository.rlx("verify --chain").expect(0);
}
