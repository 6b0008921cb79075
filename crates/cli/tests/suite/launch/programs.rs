//! Programs that are swapped during a run: the gates saw another one, so it isn't executed, and swapping gives no second
//! try.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::launch::candidates::probe;
use crate::launch::repository::{Repository, python};

const PROGRAM: &str = ".venv/bin/python";

/// Writes what training must write, reports it, and continues only once `swapped` exists in its environment, which it can see.
const WAITS: &str = r#"
import os, sys, time

out = sys.argv[1]
for name in ("metrics.jsonl", "policy.json", "begun"):
    open(os.path.join(out, name), "w").close()
until = time.monotonic() + 60
while not os.path.exists(os.path.join(sys.prefix, "lib", "swapped")):
    assert time.monotonic() < until, "nobody swapped anything"
    time.sleep(0.002)
"#;

/// A repository whose step of this name waits, and the arguments that launch one run that is evaluated.
fn stage(step: &str) -> (Repository, String) {
    let argv = json!([PROGRAM, "-m", "balance.waits", "{run}", "{seed}"]);
    let build = Repository::build().without_baseline().screen_seeds(1).file("src/balance/waits.py", WAITS);
    let repository = build.agree(|agreed| agreed.runbook[step] = json!({ "argv": argv })).approved();
    repository.ready("baseline", probe());
    let line = repository.execute("baseline", &repository.plan("baseline"));
    (repository, line)
}

/// Launches, replaces the program once the step has begun, lets the step continue, and waits for the end.
fn swap_during(repository: &Repository, line: &str, step: &str) -> Value {
    let launch = repository.start(line, &[]);
    let begun = wait_for_run(repository, &launch).join(step).join("begun");
    wait_for(&begun);
    std::fs::remove_file(repository.path(PROGRAM)).unwrap();
    let script = format!("#!/bin/sh\necho > \"$TMPDIR/../fooled\"\nexec {} \"$@\"\n", python().display());
    std::fs::write(repository.path(PROGRAM), script).unwrap();
    rustix::fs::chmod(repository.path(PROGRAM), rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    repository.write(".venv/lib/swapped", "");
    let ran = launch.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(4), "{ran:?}");
    let key = repository.runs_of("baseline").remove(0);
    let end = repository.end_of(&key);
    let reason = end["reason"].as_str().unwrap();
    let named = repository.path(PROGRAM);
    assert!(
        reason.contains(named.to_str().unwrap()) && reason.contains("has changed since the run was allowed"),
        "{end}"
    );
    for step in ["preflight", "train", "eval"] {
        assert!(!repository.run_folder(&key).join(step).join("fooled").exists(), "{step}: {end}");
    }
    end
}

fn wait_for_run(repository: &Repository, launch: &Child) -> std::path::PathBuf {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(key) = repository.runs_of("baseline").first() {
            return repository.run_folder(key);
        }
        assert!(Instant::now() < until, "nothing was launched by {}", launch.id());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait_for(path: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < until, "there is no {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The program as the gates saw it.
struct Link<'a>(&'a Repository, std::path::PathBuf);

impl<'a> Link<'a> {
    fn read(repository: &'a Repository) -> Self {
        Self(repository, std::fs::read_link(repository.path(PROGRAM)).unwrap())
    }

    fn put_back(&self) {
        std::fs::remove_file(self.0.path(PROGRAM)).unwrap();
        std::os::unix::fs::symlink(&self.1, self.0.path(PROGRAM)).unwrap();
    }
}

/// The result of training is visible by then, so the run counts as failed: with the failure score, and never again.
#[test]
fn swapped_after_training_the_run_has_failed() {
    let (repository, line) = stage("train");
    let link = Link::read(&repository);
    let end = swap_during(&repository, &line, "train");
    assert_eq!(end["end"], "failed", "{end}");
    assert_eq!(end["spent"]["runs"], 1, "{end}");
    let key = repository.runs_of("baseline").remove(0);
    assert!(repository.run_folder(&key).join("train/policy.json").exists());
    assert!(!repository.run_folder(&key).join("eval/scores.json").exists());
    link.put_back();
    repository.rlx("launch baseline --json").expect(3);
    assert_eq!(repository.runs_of("baseline").len(), 1);
    repository.rlx("verify --chain").expect(0);
}

/// Nothing of the run was executed, so it costs nothing and can run once the program is restored.
#[test]
fn swapped_before_training_the_run_is_blocked() {
    let (repository, line) = stage("preflight");
    let link = Link::read(&repository);
    let end = swap_during(&repository, &line, "preflight");
    assert_eq!(end["end"], "blocked", "{end}");
    assert_eq!(end["spent"]["runs"], 0, "{end}");
    link.put_back();
    repository.launch("baseline").expect(0);
    let keys = repository.runs_of("baseline");
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert_eq!(repository.end_of(&keys[1])["end"], "ok");
}

/// A script that `PATH` finds the interpreter of: another `PATH` makes another program of the same file.
#[test]
fn path_does_not_choose_the_interpreter_of_a_script() {
    let build = Repository::build().without_baseline().screen_seeds(1).quick_eval();
    let build = build.train_with(&[".venv/bin/tool", "{seed}", "{run}"]);
    let repository = build.agree(|agreed| agreed.runbook["artifacts"] = json!([])).approved();
    repository.write(".venv/bin/tool", "#!/usr/bin/env interpreter\necho > \"$2/ran\"\n");
    let executable = rustix::fs::Mode::from_raw_mode(0o755);
    rustix::fs::chmod(repository.path(".venv/bin/tool"), executable).unwrap();
    let usual = std::env::var("PATH").unwrap();
    let path_with = |folder: &str| {
        let folder = repository.home().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy("/bin/sh", folder.join("interpreter")).unwrap();
        format!("{}:{usual}", folder.display())
    };
    let (one, other) = (path_with("one"), path_with("other"));
    let with_one = |line: &str| repository.rlx_where(&[("PATH", &one)], line);
    repository.candidate("tool", probe());
    with_one("candidate validate tool --json").expect(0);
    repository.approve("tool").expect(0);
    let plan = with_one("launch tool --json").expect(0).json();
    let line = repository.execute("tool", plan["plan"].as_str().unwrap());
    let codes = repository.rlx_where(&[("PATH", &other)], &line).expect(3).codes();
    assert!(codes.contains(&"stale_plan".to_owned()), "{codes:?}");
    // Without any, it can't be known what would run.
    assert!(!repository.rlx(&line).expect(3).codes().is_empty());
    with_one(&line).expect(0);
    let key = repository.runs_of("tool").remove(0);
    assert!(repository.run_folder(&key).join("train/ran").exists());
}

/// What a shell script starts can't be read from it; the plan says so.
#[test]
fn the_plan_names_programs_that_are_not_known_completely() {
    let build = Repository::build().without_baseline().screen_seeds(1).quick_eval();
    let repository = build.file("train.sh", "true\n").train_with(&["sh", "train.sh", "{seed}"]).approved();
    repository.ready("shell", probe());
    let plan = repository.rlx("launch shell --json").expect(0).json();
    let warnings = plan["warnings"].to_string();
    assert!(
        warnings.contains("train, eval: sh is a shell: the programs that it starts are not checked"),
        "{warnings}"
    );
}
