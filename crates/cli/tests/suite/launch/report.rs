//! `rlx study report` on real runs: what it writes, what it records, and what it refuses.

use rlxp_types::Digest;
use serde_json::Value;

use crate::launch::candidates::learning_rate;
use crate::launch::repository::Repository;

/// A study with one candidate of which a smoke and a short run succeeded.
fn repository() -> Repository {
    let build = Repository::build()
        .file("train.sh", "cat configs/ppo.yaml > /dev/null\n")
        .file("eval.sh", "echo '{\"success\": 0.75}' > \"$2/scores.json\"\n")
        .train_with(&["sh", "train.sh", "{seed}", "{run}"])
        .eval_with(&["sh", "eval.sh", "{seed}", "{run}"])
        .without_baseline()
        .screen_seeds(1)
        .agree(|agreed| {
            agreed.runbook["artifacts"] = serde_json::json!([]);
            agreed.runbook["inputs"] = serde_json::json!([]);
        });
    build.approved()
}

const FILES: [&str; 6] = ["report", "html", "experiments", "feedback", "manifest", "handoff"];

#[test]
fn a_report_comes_from_the_ledger_and_is_recorded_once() {
    let repository = repository();
    // Before anything ran.
    let first = repository.rlx("study report --json").expect(0).json();
    assert_eq!((&first["loop"], &first["recorded"]), (&0.into(), &true.into()), "{first}");
    assert!(repository.read("report.md").contains("No run was started."));

    repository.ready("steps", learning_rate(1.0));
    repository.launch("steps").expect(0);
    repository.launch("steps").expect(0);
    repository.rlx("study extract").expect(0);
    let report = repository.rlx("study report --json").expect(0).json();
    for file in FILES {
        let path = report["files"][file].as_str().unwrap();
        assert!(std::fs::metadata(path).unwrap().len() > 0, "{path}");
    }
    let text = repository.read("report.md");
    assert_eq!(report["digest"], Digest::hash(text.as_bytes()).to_string());
    assert_eq!(repository.last("reported")["digest"], report["digest"]);
    let ended = repository.ledger().into_iter().filter(|record| record["kind"] == "run_ended");
    let ended: Vec<u64> = ended.map(|record| record["seq"].as_u64().unwrap()).collect();
    assert_eq!(ended.len(), 2);
    let row = text.lines().find(|line| line.starts_with("| steps | 2 | 2 |")).expect("a row of the group");
    assert!(ended.iter().all(|seq| row.contains(&format!("#{seq}"))), "{row} lacks {ended:?}");

    // The same again: the same bytes, and nothing more in the ledger.
    let (records, html) = (repository.ledger().len(), repository.read("report.html"));
    let again = repository.rlx("study report --json").expect(0).json();
    assert_eq!((&again["recorded"], &again["digest"]), (&false.into(), &report["digest"]), "{again}");
    assert_eq!((repository.read("report.md"), repository.read("report.html")), (text, html.clone()));
    assert_eq!(repository.ledger().len(), records);
    for outside in ["http://", "https://", "src=\""] {
        assert!(!html.replace("http://www.w3.org/2000/svg", "").contains(outside), "{outside}");
    }

    let manifest: Value = serde_json::from_str(&repository.read("loops/0/manifest.json")).unwrap();
    for (name, listed) in manifest["files"].as_object().unwrap() {
        let digest = Digest::hash(&std::fs::read(repository.file(name)).unwrap()).to_string();
        assert_eq!(listed["digest"], digest, "{name}");
    }
    // The hand-off names the command that `study next` names.
    let next = repository.rlx("study next --json").expect(0).json();
    let handoff = repository.read("loops/0/handoff.md");
    match next["command"].as_str() {
        Some(command) => assert!(handoff.contains(&format!("```text\n{command}\n```")), "{handoff}"),
        None => assert!(!handoff.contains("```"), "{handoff}"),
    }
    let shown = repository.rlx("study report").expect(0).stdout;
    assert!(shown.contains("report.html") && shown.contains("No candidate has been judged yet"), "{shown}");
    repository.rlx("verify --chain").expect(0);
}

#[test]
fn folders_that_are_gone_or_damaged_are_named_and_nothing_is_written_through_a_link() {
    let repository = repository();
    repository.ready("steps", learning_rate(1.0));
    repository.launch("steps").expect(0);
    let key = repository.runs_of("steps").remove(0);
    // A run that the ledger doesn't know, and one whose folder is gone.
    let ghost = repository.state().join("runs/ghost-r1-short-1-1");
    std::fs::create_dir_all(&ghost).unwrap();
    std::fs::write(ghost.join("order.json"), "{}").unwrap();
    std::fs::remove_dir_all(repository.run_folder(&key)).unwrap();
    repository.rlx("study report").expect(0);
    assert!(repository.read("report.md").contains("- ghost-r1-short-1-1"));

    let outside = repository.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::remove_dir_all(repository.file("loops")).unwrap();
    std::os::unix::fs::symlink(&outside, repository.file("loops")).unwrap();
    let refused = repository.rlx("study report --json").expect(3).json();
    assert_eq!(refused["code"], "link_in_study", "{refused}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}
