//! Git puts an older ledger back: nothing is given back, and the copy outside the repository helps.

use serde_json::Value;

use crate::governed::study::Ran;
use crate::launch::candidates::{baseline, reward_scale};
use crate::launch::repository::Repository;

fn commit_study(repository: &Repository, message: &str) {
    repository.git(&["add", ".rlxp"]);
    repository.git(&["commit", "--quiet", "--message", message]);
}

fn codes_of(report: &Value) -> Vec<&str> {
    report["problems"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

#[track_caller]
fn locked(ran: Ran, code: &str) -> Value {
    let answer = ran.expect(3).json();
    assert_eq!(answer["code"], code, "{answer}");
    assert!(answer["hints"].to_string().contains("rlx ledger restore --study balance/tuning"), "{answer}");
    answer
}

/// Where the copy of the ledger is.
fn copy_of(repository: &Repository) -> std::path::PathBuf {
    let folder = repository.home().join(".local/state/rlx/ledgers");
    let mut found = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap()
}

/// The copy may have been written between the intent of a run and its start.
#[test]
fn a_run_whose_start_was_not_recorded_ends_all_the_same() {
    let repository = Repository::build().without_baseline().approved();
    repository.ready("baseline", baseline());
    repository.launch("baseline").expect(0);
    let ledger = repository.read("ledger.jsonl");
    let is_intent = |line: &str| line.contains("\"kind\":\"launch_intent\"");
    let intent = ledger.lines().position(is_intent).unwrap();
    let cut: String = ledger.lines().take(intent + 1).map(|line| format!("{line}\n")).collect();
    std::fs::write(copy_of(&repository), &cut).unwrap();
    std::fs::write(repository.file("ledger.jsonl"), &cut).unwrap();
    repository.rlx("launch status").expect(0);
    let records = repository.ledger();
    let kinds: Vec<&str> = records[intent + 1..].iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(&kinds[..2], ["launched", "run_ended"]);
    repository.rlx("verify --chain").expect(0);
}

/// git switches to a branch only where nothing is in the way of its files.
#[test]
fn a_refused_restore_leaves_nothing() {
    let repository = Repository::build().without_baseline().approved();
    let there = repository.file("ledger.jsonl");
    std::fs::remove_file(&there).unwrap();
    std::fs::remove_file(copy_of(&repository)).unwrap();
    repository.rlx("ledger restore").expect(3);
    assert!(!there.exists());
}

#[test]
fn an_older_ledger_gives_back_neither_budget_nor_seeds() {
    let repository = Repository::build().without_baseline().drafted();
    commit_study(&repository, "Before anything is approved");
    repository.sign("--all", "alice").expect(0);
    repository.ready("baseline", baseline());
    repository.launch("baseline").expect(0);
    let status = || repository.rlx("study status --json").expect(0).json();
    let (before, ledger) = (status(), repository.read("ledger.jsonl"));
    let key = repository.runs_of("baseline").remove(0);
    assert!(ledger.starts_with(&std::fs::read_to_string(copy_of(&repository)).unwrap()));

    repository.git(&["checkout", "--", ".rlxp"]);
    assert_ne!(repository.read("ledger.jsonl"), ledger);
    for line in
        ["study status", "ledger show", "candidate list", "candidate validate baseline", "launch baseline"]
    {
        let answer = locked(repository.rlx(&format!("{line} --json")), "ledger_behind_copy");
        let said = answer["message"].as_str().unwrap();
        assert!(said.contains("git checkout") && said.contains("another branch"), "{said}");
    }
    let execute = repository.execute("baseline", &"0".repeat(64));
    locked(repository.rlx(&execute), "ledger_behind_copy");
    // The same through a link that leads there.
    let link = repository.home().join("link");
    std::os::unix::fs::symlink(repository.path(""), &link).unwrap();
    locked(
        repository.rlx(&format!("launch baseline --json --root {}", link.display())),
        "ledger_behind_copy",
    );
    let next = repository.rlx("study next --json").expect(0).json();
    assert_eq!((&next["action"], &next["command"]), (&"stop".into(), &"rlx ledger restore".into()), "{next}");
    let report = repository.rlx("verify --json").expect(1).json();
    assert!(codes_of(&report).contains(&"ledger_behind_copy"), "{report}");
    assert!(codes_of(&report).contains(&"unknown_run") && report.to_string().contains(&key), "{report}");
    // The ledger is from before the loop was entered, and the folder stays guarded.
    let trained = repository.rlx("eval --env CartPole-v1 --baseline random --json").expect(3).json();
    assert_eq!(trained["code"], "governed_folder", "{trained}");

    let restored = repository.rlx("ledger restore --json").expect(0).json();
    assert_eq!(restored["only_replaced"], 0, "{restored}");
    let kept = restored["kept"].as_str().unwrap();
    assert_eq!(
        std::fs::read_to_string(kept).unwrap().lines().count() as u64,
        restored["before"].as_u64().unwrap()
    );
    repository.rlx("launch status").expect(0);
    assert_eq!(repository.read("ledger.jsonl"), ledger);
    let after = status();
    assert_eq!((&after["budget"], &after["runs"]), (&before["budget"], &before["runs"]), "{after}");
    repository.rlx("verify").expect(0);
    let again = repository.rlx("ledger restore --json").expect(0).json();
    assert_eq!(again["kept"], Value::Null, "{again}");
}

#[test]
fn a_switched_branch_is_no_dead_end() {
    let repository = Repository::build().without_baseline().approved();
    commit_study(&repository, "Approved");
    repository.git(&["switch", "--quiet", "--create", "other"]);
    repository.ready("reward", reward_scale(2.5));
    commit_study(&repository, "A candidate");
    let ledger = repository.read("ledger.jsonl");
    repository.git(&["switch", "--quiet", "main"]);
    let answer = locked(repository.rlx("study status --json"), "ledger_behind_copy");
    assert_eq!(answer["hints"][0], "if you switched branches: git switch -", "{answer}");
    // Back on its branch everything is as it was.
    repository.git(&["switch", "--quiet", "other"]);
    repository.rlx("study status").expect(0);
    assert_eq!(repository.read("ledger.jsonl"), ledger);
    // Or the copy is put back here, with the signatures that its records refer to.
    repository.git(&["switch", "--quiet", "main"]);
    let restored = repository.rlx("ledger restore --json").expect(0).json();
    assert_eq!(restored["signatures"], 1, "{restored}");
    assert_eq!(repository.read("ledger.jsonl"), ledger);
    assert_eq!(repository.standing("loop_entry"), "given");
    repository.rlx("verify").expect(0);
}

/// What is approved on two branches: one of them counts, and the other is kept and named.
#[test]
fn a_ledger_that_diverged_is_kept_aside() {
    let repository = Repository::build().without_baseline().approved();
    let shared = repository.read("ledger.jsonl");
    repository.ready("reward", reward_scale(2.5));
    let copied = std::fs::read_to_string(copy_of(&repository)).unwrap();
    std::fs::write(repository.file("ledger.jsonl"), &shared).unwrap();
    std::fs::rename(copy_of(&repository), repository.home().join("kept")).unwrap();
    for number in 0..9 {
        repository.rlx(&format!("ledger note {number}")).expect(0);
    }
    let other = repository.read("ledger.jsonl");
    std::fs::create_dir_all(repository.home().join(".local/state/rlx/ledgers")).unwrap();
    let id = repository.ledger()[0]["body"]["id"].as_str().unwrap().to_owned();
    let place = std::fs::read_dir(repository.home().join(".local/state/rlx/ledgers")).unwrap();
    let name = place
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find_map(|name| name.strip_suffix(".signatures").map(str::to_owned))
        .unwrap();
    assert!(name.ends_with(&id), "{name}");
    let copy = repository.home().join(".local/state/rlx/ledgers").join(format!("{name}.jsonl"));
    std::fs::rename(repository.home().join("kept"), copy).unwrap();

    locked(repository.rlx("study status --json"), "ledger_diverged");
    let restored = repository.rlx("ledger restore --json").expect(0).json();
    assert_eq!(restored["only_replaced"], 9, "{restored}");
    assert_eq!(std::fs::read_to_string(restored["kept"].as_str().unwrap()).unwrap(), other);
    assert_eq!(repository.read("ledger.jsonl"), copied);
    repository.rlx("verify").expect(0);
}

/// With documents that were not approved, putting the ledger back would void approvals for good.
#[test]
fn a_ledger_is_not_restored_over_other_documents() {
    let repository = Repository::build().without_baseline().approved();
    let ledger = repository.read("ledger.jsonl");
    let first = ledger.lines().next().unwrap();
    std::fs::write(repository.file("ledger.jsonl"), format!("{first}\n")).unwrap();
    repository.edit("contract.yaml", "keep the pole upright", "keep the pole down");
    let refused = repository.rlx("ledger restore --json").expect(3).json();
    assert_eq!(refused["code"], "would_void", "{refused}");
    assert_eq!(repository.read("ledger.jsonl").lines().count(), 1);
    repository.edit("contract.yaml", "keep the pole down", "keep the pole upright");
    repository.rlx("ledger restore").expect(0);
    assert_eq!(repository.standing("task"), "given");
    std::fs::remove_file(repository.file("ledger.jsonl")).unwrap();
    locked(repository.rlx("study status --json"), "ledger_behind_copy");
    repository.rlx("ledger restore").expect(0);
    assert_eq!(repository.read("ledger.jsonl"), ledger);
}

/// A copy that can't be written stops nothing, and is said.
#[test]
fn a_copy_that_cannot_be_written_is_said() {
    let repository = Repository::build().without_baseline().drafted();
    let state = repository.home().join(".local/state/rlx");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("ledgers"), "in the way").unwrap();
    let approved = repository.sign("--all", "alice").expect(0).json();
    assert!(approved["warnings"].to_string().contains("could not be written"), "{approved}");
    let status = repository.rlx("study status --json").expect(0).json();
    assert!(status["warnings"].to_string().contains("no copy of the ledger"), "{status}");
    repository.ready("baseline", baseline());
    let line = repository.execute("baseline", &repository.plan("baseline"));
    let launched = repository.rlx(&line.replace(" --json", "")).expect(0);
    assert!(launched.stderr.contains("could not be written"), "{}", launched.stderr);
    std::fs::remove_file(state.join("ledgers")).unwrap();
    repository.ready("reward", reward_scale(2.5));
    assert_eq!(std::fs::read_to_string(copy_of(&repository)).unwrap(), repository.read("ledger.jsonl"));
}

/// Many repositories ignore every folder called `runs`; those of a study are committed with it.
#[test]
fn records_of_runs_are_not_ignored() {
    let repository = Repository::build().without_baseline().drafted();
    std::fs::write(repository.path(".git/info/exclude"), "runs\n").unwrap();
    let ignored = |path: &str| {
        repository.command("git").args(["check-ignore", "--quiet", path]).status().unwrap().success()
    };
    assert!(ignored("runs/a.json"));
    assert!(!ignored(".rlxp/tasks/balance/studies/tuning/runs/a.json"));
}
