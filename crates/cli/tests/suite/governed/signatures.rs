//! Signatures made by the real ssh-keygen: accepted where everything matches, otherwise refused and recorded.

use crate::governed::study::Governed;

#[track_caller]
fn refused(governed: &Governed, what: &str, signature: &std::path::Path, code: &str) {
    let before = governed.kinds().iter().filter(|kind| *kind == "approved").count();
    let ran = governed.hand_in(what, signature).expect(3);
    assert_eq!(ran.json()["code"], code, "{}", ran.stdout);
    assert_eq!(governed.last("refused")["codes"][0], code);
    let after = governed.kinds().iter().filter(|kind| *kind == "approved").count();
    assert_eq!(before, after, "a refused signature approved something");
}

#[test]
fn an_ed25519_key_approves() {
    let governed = Governed::new();
    let report = governed.sign("task metrics", "alice").expect(0).json();
    assert_eq!(
        (report["assurance"].as_str(), report["who"].as_str()),
        (Some("signature"), Some("alice@example.org"))
    );
    assert_eq!(governed.standing("task"), "given");
    assert_eq!(governed.standing("scope"), "missing");
    governed.rlx("verify --chain").expect(0);
}

#[test]
fn an_ecdsa_key_approves() {
    let governed = Governed::new();
    std::fs::remove_dir_all(governed.path(".rlxp")).unwrap();
    governed.key("eve", "ecdsa");
    governed.approvers(&["eve"]);
    governed.rlx("study init --task balance --study tuning").expect(0);
    let words =
        "contract new --yes --metric success --metric-source eval/scores.json#/success --assurance signature";
    governed.rlx(words).expect(0);
    // Complete sections can be approved before the rest is complete.
    governed.sign("hardware", "eve").expect(0);
    assert_eq!(governed.standing("hardware"), "given");
}

#[test]
fn what_was_signed_for_something_else_is_refused() {
    let governed = Governed::new();
    let statement = governed.statement("metrics");
    let other_namespace = governed.signature(&statement, "alice", "file");
    refused(&governed, "metrics", &other_namespace, "wrong_namespace");
    // A refusal is a record, so the head moved: what was printed before is too old now.
    let older_head = governed.signature(&statement, "alice", "rlx-approval");
    refused(&governed, "metrics", &older_head, "does_not_verify");
    let other_section = governed.signature(&governed.statement("scope"), "alice", "rlx-approval");
    refused(&governed, "metrics", &other_section, "does_not_verify");
    governed.key("mallory", "ed25519");
    let unknown = governed.signature(&governed.statement("metrics"), "mallory", "rlx-approval");
    refused(&governed, "metrics", &unknown, "unknown_key");
    governed.sign("metrics", "alice").expect(0);
}

#[test]
fn what_was_signed_in_another_study_is_refused() {
    let governed = Governed::new();
    let twin = Governed::new();
    let theirs = twin.statement("metrics");
    let signature = governed.signature(&theirs, "alice", "rlx-approval");
    refused(&governed, "metrics", &signature, "does_not_verify");
}

#[test]
fn a_key_that_was_added_later_approves_nothing_and_voids_nothing() {
    let governed = Governed::approved();
    assert_eq!(governed.standing("execute"), "given");
    governed.key("mallory", "ed25519");
    governed.approvers(&["alice", "mallory"]);
    let signature = governed.signature(&governed.statement("close"), "mallory", "rlx-approval");
    refused(&governed, "close", &signature, "key_of_no_approver");
    for section in ["task", "execute", "loop_entry"] {
        assert_eq!(governed.standing(section), "given", "{section}");
    }
    assert!(!governed.kinds().contains(&"voided".to_owned()));
}

/// Elsewhere, with another list of approvers or none, nothing can be proven, nothing starts, and nothing is void.
#[test]
fn looking_from_another_home_voids_nothing() {
    let governed = Governed::approved();
    governed.rlx("candidate new baseline --kind baseline").expect(0);
    governed.rlx("candidate validate baseline").expect(0);
    let list = governed.home().join(".config/rlx/approvers");
    let mine = governed.home().join("my-approvers");
    std::fs::copy(&list, &mine).unwrap();
    governed.key("bob", "ed25519");
    let before = governed.read("ledger.jsonl");
    let lists: [&dyn Fn(); 3] =
        [&|| governed.approvers(&["bob"]), &|| std::fs::write(&list, "not a list\n").unwrap(), &|| {
            std::fs::remove_file(&list).unwrap()
        }];
    for change in lists {
        change();
        for section in ["task", "execute", "loop_entry"] {
            assert_eq!(governed.standing(section), "not_provable_here", "{section}");
        }
        let next = governed.rlx("study next --json").expect(0).json();
        assert_eq!(next["command"], "rlx verify --approvers FILE", "{next}");
        assert_eq!(governed.read("ledger.jsonl"), before, "looking wrote something");
        let codes = governed.rlx("launch baseline --json").expect(3).codes();
        assert!(codes.contains(&"approval_not_provable_here".to_owned()), "{codes:?}");
        assert!(!governed.kinds().contains(&"voided".to_owned()));
        std::fs::write(governed.file("ledger.jsonl"), &before).unwrap();
    }
    let line = format!("verify --approvers {} --json", mine.display());
    let report = governed.rlx(&line).expect(0).json();
    assert!(report["holds"].to_string().contains("signature verified"), "{report}");
    let report = governed.rlx("verify --json").expect(0).json();
    assert!(report["not_checked"].to_string().contains("not provable here"), "{report}");
    std::fs::copy(&mine, &list).unwrap();
    assert_eq!(governed.standing("task"), "given");
}

#[test]
fn a_signature_that_is_gone_or_changed_proves_nothing() {
    let governed = Governed::approved();
    let mut files =
        std::fs::read_dir(governed.file("signatures")).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|end| end == "sig")).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(governed.standing("task"), "not_proven");
    governed.rlx("verify --chain").expect(1);
    let other = governed.signature("something else", "alice", "rlx-approval");
    std::fs::copy(other, &file).unwrap();
    assert_eq!(governed.standing("task"), "not_proven");
    std::fs::write(&file, text).unwrap();
    assert_eq!(governed.standing("task"), "given");
    governed.rlx("verify --chain").expect(0);
}
