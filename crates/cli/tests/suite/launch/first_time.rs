//! A first run that fails: its output is one command away, and everything that rlx names exists.

use serde_json::{Value, json};

use crate::governed::study::Ran;
use crate::launch::candidates::{baseline, probe, reward_scale};
use crate::launch::repository::Repository;

/// What helps against a refusal of this code.
#[track_caller]
fn help(ran: &Ran, code: &str) -> (String, String) {
    let refused = ran.json();
    let one = refused["refusals"].as_array().unwrap().iter().find(|one| one["code"] == code);
    let one = one.unwrap_or_else(|| panic!("no {code} in {refused}"));
    (one["help"].as_str().unwrap().to_owned(), one["reason"].as_str().unwrap().to_owned())
}

#[test]
fn a_first_run_that_fails_says_how_to_go_on() {
    let repository = Repository::build().train_with(&["false", "{seed}"]).approved();
    repository.ready("baseline", baseline());
    let plan = repository.rlx("launch baseline").expect(0);
    let left = plan.stdout.lines().find(|line| line.contains("budget left")).unwrap();
    assert!(
        left.contains("39 runs, 59m") && left.ends_with("MiB of disk") && !left.contains("gpu"),
        "{left}"
    );
    let line = repository.execute("baseline", &repository.plan("baseline"));
    let failed = repository.rlx(line.trim_end_matches(" --json")).expect(4);
    let key = &repository.runs_of("baseline")[0];
    assert!(failed.stderr.contains(&format!("hint: rlx launch logs {key}")), "{}", failed.stderr);

    let step = repository.rlx("study next").expect(0);
    assert!(step.stdout.contains("  command: rlx candidate revise baseline\n"), "{}", step.stdout);
    assert!(step.stdout.contains(&format!("rlx launch logs {key}")), "{}", step.stdout);
    let handed = repository.rlx("study handoff").expect(0);
    assert!(!handed.stderr.contains("hint: rlx study judge"), "{}", handed.stderr);

    let again = repository.validate("baseline").expect(3).json();
    assert_eq!(again["code"], "candidate_settled", "{again}");
    assert!(again["message"].as_str().unwrap().starts_with("baseline is completed"), "{again}");

    // A run is named by its key. That a smoke run wasn't evaluated is not a problem of the metric.
    let read = repository.rlx(&format!("metric check --run {key}")).expect(0);
    assert!(read.stdout.contains("this smoke run was not evaluated"), "{}", read.stdout);
    assert!(!read.stdout.contains("problem"), "{}", read.stdout);
    let unknown = repository.rlx("metric check --run baseline-r1-smoke-1-2").expect(2);
    assert!(unknown.stderr.contains(&format!("did you mean {key}?")), "{}", unknown.stderr);
}

#[test]
fn a_script_that_was_never_committed_is_seen_in_the_plan() {
    let repository = Repository::build()
        .train_with(&[".venv/bin/python", "new/train.py", "{seed}", "--config=no.sh"])
        .approved();
    repository.write("new/train.py", "print('training')\n");
    repository.ready("baseline", baseline());
    let plan = repository.rlx("launch baseline").expect(0);
    let lines: Vec<&str> = plan.stderr.lines().filter(|line| line.starts_with("warning:")).collect();
    assert_eq!(
        lines,
        [
            "warning: new/train.py, used by train, is only in the working copy: commit it",
            "warning: no.sh, used by train, does not exist"
        ]
    );
}

#[test]
fn files_that_were_edited_are_told_with_the_commit() {
    let repository = Repository::new();
    repository.ready("baseline", baseline());
    let told = || {
        let plan = repository.rlx("launch baseline").expect(0);
        let lines = plan.stderr.lines().filter(|line| line.starts_with("warning:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    // Untracked files are not edits.
    repository.write("notes.txt", "later\n");
    assert_eq!(told(), [""; 0]);
    let commit = &repository.git(&["rev-parse", "HEAD"])[..12];
    let start = format!("warning: runs start from commit {commit}; ");
    repository.write("src/balance/env.py", "print('other')\n");
    let one = "1 changed file of the working copy is not included: src/balance/env.py";
    assert_eq!(told(), [format!("{start}{one}")]);
    std::fs::remove_file(repository.path("src/balance/policy.py")).unwrap();
    let two = "2 changed files of the working copy are not included: \
               src/balance/env.py, src/balance/policy.py";
    assert_eq!(told(), [format!("{start}{two}")]);
}

#[test]
fn runs_and_steps_that_are_not_shown_are_told() {
    let build = Repository::build().without_baseline().screen_seeds(11);
    let repository = build.train_with(&["false", "{seed}"]).approved();
    repository.ready("baseline", probe());
    repository.launch("baseline").expect(4);
    let status = |words: &str| repository.rlx(&format!("launch status{words}")).expect(0);
    let shown = |json: &Value| json["runs"].as_array().unwrap().len();
    let some = status(" --json").json();
    assert_eq!((shown(&some), &some["not_shown"]), (10, &json!(1)));
    let text = status("").stderr;
    assert!(text.contains("1 older run not shown\nhint: rlx launch status --all"), "{text}");
    let all = status(" --all --json").json();
    assert_eq!((shown(&all), all.get("not_shown")), (11, None));
    assert_eq!(status(" --all").stderr, "");

    let key = &repository.runs_of("baseline")[0];
    let none = repository.rlx(&format!("launch logs {key} --step eval")).expect(2);
    assert!(none.stderr.contains("has no output of step \"eval\", only of: train\n"), "{}", none.stderr);
    assert!(none.stderr.contains(&format!("hint: rlx launch logs {key} --step train")), "{}", none.stderr);
}

#[test]
fn what_helps_goes_on_from_what_is_there() {
    let repository = Repository::new();
    repository.candidate("reward", reward_scale(2.5));
    let wanted = |command: &str| {
        assert_eq!(help(&repository.validate("reward").expect(3), "no_baseline").0, command);
    };
    wanted("rlx candidate new baseline --kind baseline");
    repository.candidate("baseline", baseline());
    wanted("rlx candidate validate baseline");
    repository.validate("baseline").expect(0);
    wanted("rlx launch baseline");
    repository.approve("baseline").expect(0);

    let program = repository.path(".venv/bin/python");
    let other = repository.path(".venv/bin/other");
    std::fs::rename(&program, &other).unwrap();
    let missing = repository.rlx("launch baseline --json").expect(3);
    let (command, reason) = help(&missing, "program_missing");
    assert!(reason.contains(".venv/bin/python"), "{reason}");
    assert_eq!(command, "edit runbook.yaml: train.argv[0] must be a file in the repository");
    std::os::unix::fs::symlink("/bin/true", &program).unwrap();
    let stale = repository.rlx("launch baseline --json").expect(3);
    assert_eq!(help(&stale, "stale_plan").0, "rlx candidate validate baseline");
    let shown = repository.rlx("launch baseline").expect(3).stderr;
    assert!(shown.contains("was validated: programs [runbook.yaml: .venv/bin/python]"), "{shown}");
    std::fs::remove_file(&program).unwrap();
    std::fs::rename(&other, &program).unwrap();

    repository.launch("baseline").expect(0);
    wanted("rlx study next    # the baseline has not finished yet");
    repository.launch_through("baseline", "confirm").expect(0);
    let again = repository.rlx("launch baseline --json").expect(3);
    let another = "rlx study init --task balance --study tuning-2";
    assert_eq!(help(&again, "not_validated").0, "rlx study next");
    repository.candidate("baseline-again", baseline());
    assert_eq!(help(&repository.validate("baseline-again").expect(3), "second_baseline").0, another);
}

#[test]
fn a_plan_that_is_too_large_says_who_can_help() {
    let few = |agreed: &mut crate::launch::agreed::Agreed| agreed.contract["budget"]["runs"] = 7.into();
    let repository = Repository::build().without_baseline().agree(few).approved();
    repository.candidate("large", reward_scale(2.5));
    let (command, _) = help(&repository.validate("large").expect(3), "over_budget");
    assert!(command.starts_with("rlx contract request ") && command.contains("contract.yaml"), "{command}");
    repository.rlx("contract request").expect(0);
}

#[test]
fn a_hand_off_goes_into_a_folder_that_is_there() {
    let repository = Repository::new();
    repository.ready("baseline", baseline());
    let plan = repository.plan("baseline");
    let line = format!("launch baseline --handoff --plan {plan} --to nowhere/run.json --json");
    let refused = repository.rlx(&line).expect(2).json();
    let folder = repository.path("nowhere");
    assert_eq!(refused["message"], format!("--to: folder {} does not exist", folder.display()));
    assert_eq!(repository.runs_of("baseline"), [""; 0]);
}
