//! The next steps that rlx names for a person and an agent, and that they can be taken.

use serde_json::Value;

use crate::governed::study::Governed;

fn next(governed: &Governed) -> Value {
    governed.rlx("study next --json").expect(0).json()
}

#[test]
fn after_a_hand_off_it_is_a_persons_turn() {
    let governed = Governed::approved();
    let before = next(&governed);
    assert_eq!(before["action"], "plan_baseline");
    let words = ["study", "handoff", "--reason", "the simulator was updated", "--json"];
    let handed = governed.rlx_with(&words).expect(0).json();
    let told = handed["person"].to_string();
    assert!(told.contains("alice@example.org") && told.contains("loop_entry"), "{handed}");
    let waiting = next(&governed);
    assert_eq!((&waiting["action"], &waiting["command"]), (&"wait".into(), &"rlx approve loop_entry".into()));
    assert_eq!(waiting["reason"], "the study was handed off: the simulator was updated");
    // Asked again, it reports why it was handed off, not just that it was.
    let again = governed.rlx("study handoff --json").expect(0).json();
    assert_eq!(again["reason"], "the simulator was updated");
    // A note is not a decision, even if it claims to be from a person.
    governed.rlx("ledger note continue --as person").expect(0);
    assert_eq!(next(&governed)["action"], "wait");
    governed.sign("loop_entry", "alice").expect(0);
    assert_eq!(next(&governed), before);
    governed.rlx("verify --chain").expect(0);
}

/// Without git the contract names the whole folder: nothing in it may change until the contract is edited.
#[test]
fn what_changed_in_the_folder_is_refused() {
    let governed = Governed::approved();
    governed.rlx("candidate new baseline --kind baseline").expect(0);
    let first = governed.rlx("candidate validate baseline --json").expect(0).json();
    let same = governed.rlx("candidate validate baseline --json").expect(0).json();
    assert_eq!((&same["plan"], &same["already"]), (&first["plan"], &true.into()));
    governed.write("eval/evaluate.py", "print('evaluating with care')\n");
    let refused = governed.rlx("candidate validate baseline --json").expect(3);
    assert_eq!(refused.codes(), ["base_changed"], "{}", refused.stdout);
    governed.write("eval/evaluate.py", "print('evaluating')\n");
    let back = governed.rlx("candidate validate baseline --json").expect(0).json();
    assert_eq!((&back["plan"], &back["already"]), (&first["plan"], &true.into()));
}

#[test]
fn evidence_that_is_not_there_is_refused() {
    let governed = Governed::approved();
    governed.rlx("candidate new baseline --kind baseline").expect(0);
    let file = governed.file("candidates/baseline.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}evidence: [notes/may.json, 'record:0', baseline-r1-smoke-1-1]\n"))
        .unwrap();
    let refused = governed.rlx("candidate validate baseline --json").expect(3);
    assert_eq!(refused.codes(), ["evidence_unknown"; 2], "{}", refused.stdout);
    assert!(
        refused.stdout.contains("evidence[0]") && refused.stdout.contains("evidence[2]"),
        "{}",
        refused.stdout
    );
    std::fs::create_dir_all(governed.file("notes")).unwrap();
    std::fs::write(governed.file("notes/may.json"), "{\"success\": 0.71}\n").unwrap();
    std::fs::write(&file, format!("{text}evidence: [notes/may.json, 'record:0']\n")).unwrap();
    governed.rlx("candidate validate baseline").expect(0);
}
