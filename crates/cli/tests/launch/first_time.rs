//! What somebody meets whose first run goes wrong: what it printed is one command away, and nothing that is named leads
//! nowhere.

use crate::candidates::baseline;
use crate::repository::Repository;

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
    assert!(step.stdout.contains("not yet: this version of rlx doesn't read"), "{}", step.stdout);
    assert!(step.stderr.contains("hint: rlx queue show"), "{}", step.stderr);
    let step = repository.rlx("study next --json").expect(0).json();
    assert!(step["not_yet"].is_string(), "{step}");
    let handed = repository.rlx("study handoff").expect(0);
    assert!(!handed.stderr.contains("hint: rlx study extract"), "{}", handed.stderr);

    let again = repository.validate("baseline").expect(3).json();
    assert_eq!(again["code"], "candidate_settled", "{again}");
    assert!(again["message"].as_str().unwrap().starts_with("baseline is completed"), "{again}");

    // A run is named by its key; that it left nothing is said with the file that was looked for.
    let read = repository.rlx(&format!("metric check --run {key}")).expect(1);
    assert!(read.stdout.contains("no file fits eval/scores.json"), "{}", read.stdout);
    let unknown = repository.rlx("metric check --run baseline-r1-smoke-1-2").expect(2);
    assert!(unknown.stderr.contains(&format!("did you mean {key}?")), "{}", unknown.stderr);
}

#[test]
fn a_script_that_was_never_committed_is_seen_in_the_plan() {
    let repository =
        Repository::build().train_with(&["python3", "new/train.py", "{seed}", "--config=no.sh"]).approved();
    repository.write("new/train.py", "print('training')\n");
    repository.ready("baseline", baseline());
    let plan = repository.rlx("launch baseline").expect(0);
    let lines: Vec<&str> = plan.stderr.lines().filter(|line| line.starts_with("warning:")).collect();
    assert_eq!(
        lines,
        [
            "warning: new/train.py, which train names, is in the working copy only: commit it",
            "warning: no.sh, which train names, is not there"
        ]
    );
}
