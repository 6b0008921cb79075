//! An agent with a terminal, the disk and the user's configuration, against a study that requires signatures. Its
//! attempts are refused and recorded. `docs/concepts/trust.md` describes what it could do without required signatures.

use crate::governed::study::Governed;

#[test]
fn a_terminal_that_a_program_owns_is_not_enough() {
    let governed = Governed::new();
    let ran = governed.approve_through_a_pty("--all");
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    assert!(ran.stdout.contains("requires approval by signature"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("anything else to cancel"), "nobody is asked in vain: {}", ran.stdout);
    assert!(ran.stdout.contains("--signature statement.sig"), "{}", ran.stdout);
    assert_eq!(governed.last("refused")["codes"][0], "approval_too_weak");
    assert_eq!(governed.standing("task"), "missing");
}

/// Where terminal approvals count, a program with a terminal can give them.
#[test]
fn where_a_terminal_is_enough_it_is_enough_for_a_program_too() {
    let governed = Governed::with("terminal");
    let ran = governed.approve_through_a_pty("--all");
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(governed.last("approved")["assurance"], "terminal");
    // Weakening the contract afterwards is an edit like any other.
    governed.edit("contract.yaml", "assurance: terminal", "assurance: host");
    assert_eq!(governed.standing("task"), "void");
    // Even if a contract that asks for less is approved, the assurance that the study was opened with still applies.
    assert_eq!(governed.rlx("approve --all --show --json").expect(0).json()["required"], "terminal");
}

#[test]
fn lowering_what_the_contract_asks_for_needs_an_approval_itself() {
    let governed = Governed::approved();
    governed.edit("contract.yaml", "assurance: signature", "assurance: terminal");
    assert_eq!(governed.standing("task"), "void");
    // The study was opened with signatures required: a contract that asks for less doesn't change that.
    let ran = governed.approve_through_a_pty("--all");
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    assert_eq!(governed.last("refused")["codes"][0], "approval_too_weak");
    assert_eq!(governed.standing("task"), "void");
    let said = governed.rlx("contract diff").expect(0).stdout;
    assert!(said.contains("assurance"), "{said}");
    governed.edit("contract.yaml", "assurance: terminal", "assurance: signature");
    assert_eq!(governed.standing("task"), "void", "the old text is back, the approval isn't");
}

#[test]
fn a_contract_that_was_edited_and_restored_stays_void() {
    let governed = Governed::approved();
    governed.rlx("candidate new baseline --kind baseline").expect(0);
    governed.rlx("candidate validate baseline").expect(0);
    governed.edit("contract.yaml", "runs: 40", "runs: 4000");
    governed.rlx("study next").expect(0);
    let voided = governed.last("voided")["targets"].clone();
    assert!(voided.as_array().unwrap().contains(&"budget".into()), "{voided}");
    assert!(!voided.as_array().unwrap().contains(&"metrics".into()), "{voided}");
    governed.edit("contract.yaml", "runs: 4000", "runs: 40");
    assert_eq!(governed.standing("budget"), "void");
    assert_eq!(governed.standing("metrics"), "given");
    assert_eq!(governed.last("reopened")["candidate"], "baseline");
    let codes = governed.rlx("candidate validate baseline --json").expect(3).codes();
    assert!(codes.iter().all(|code| code == "approval_void"), "{codes:?}");
}

/// A half-written file is not an edit: nothing passes while it can't be read, and nothing is lost.
#[test]
fn a_contract_that_can_not_be_read_approves_and_voids_nothing() {
    let governed = Governed::approved();
    governed.rlx("candidate new baseline --kind baseline").expect(0);
    let text = governed.read("contract.yaml");
    for broken in ["schema: [", ""] {
        std::fs::write(governed.file("contract.yaml"), broken).unwrap();
        let codes = governed.rlx("candidate validate baseline --json").expect(3).codes();
        assert!(codes.contains(&"approval_unreadable".to_owned()), "{codes:?}");
        assert!(!codes.contains(&"approval_void".to_owned()), "{codes:?}");
        let next = governed.rlx("study next --json").expect(0).json();
        assert_ne!(next["action"], "launch", "{next}");
        governed.rlx("approve --all --print").expect(3);
    }
    std::fs::remove_file(governed.file("contract.yaml")).unwrap();
    governed.rlx("candidate validate baseline --json").expect(3);
    std::fs::write(governed.file("contract.yaml"), text).unwrap();
    for section in ["task", "budget", "execute", "loop_entry"] {
        assert_eq!(governed.standing(section), "given", "{section}");
    }
    governed.rlx("candidate validate baseline").expect(0);
}

#[test]
fn approval_records_of_another_study_count_for_nothing() {
    let (governed, twin) = (Governed::new(), Governed::approved());
    // Word for word the same files, approved there.
    for name in ["contract.yaml", "metric_spec.yaml", "surface_map.yaml", "runbook.yaml"] {
        std::fs::copy(twin.file(name), governed.file(name)).unwrap();
    }
    let theirs = twin.read("ledger.jsonl");
    let approval = theirs.lines().find(|line| line.contains("\"kind\":\"approved\"")).unwrap();
    let mut ours = governed.read("ledger.jsonl");
    let intact = ours.clone();
    ours.push_str(approval);
    ours.push('\n');
    std::fs::write(governed.file("ledger.jsonl"), &ours).unwrap();
    let said = governed.rlx("verify --chain").expect(1).stdout;
    assert!(said.contains("record 2"), "{said}");
    assert_eq!(governed.rlx("study status --json").code, Some(3));
    assert_eq!(governed.rlx("study next --json").expect(0).json()["action"], "stop");
    // The whole ledger with its signatures: it belongs to the other study, whatever folder it is in.
    std::fs::write(governed.file("ledger.jsonl"), theirs).unwrap();
    std::fs::create_dir_all(governed.file("signatures")).unwrap();
    for entry in std::fs::read_dir(twin.file("signatures")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), governed.file("signatures").join(entry.file_name())).unwrap();
    }
    // They were opened by different users: the approvers differ, so everything is void.
    assert_ne!(governed.standing("task"), "given");
    std::fs::write(governed.file("ledger.jsonl"), intact).unwrap();
    assert_eq!(governed.standing("task"), "missing");
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let governed = Governed::approved();
    governed.write("eval/secret.py", "print('the evaluator')\n");
    std::os::unix::fs::symlink("../eval/evaluate.py", governed.path("envs/link.py")).unwrap();
    std::os::unix::fs::symlink("../eval", governed.path("envs/folder")).unwrap();
    governed.write("envs/Twin.py", "A = 1\n");
    governed.write("envs/twin.py", "A = 1\n");
    // A Cyrillic letter in place of a Latin one.
    governed.write("envs/rew\u{430}rd.py", "SCALE = 9\n");
    for (number, (path, code)) in [
        ("envs/link.py", "symlink"),
        ("envs/folder/secret.py", "symlink"),
        ("envs/../eval/evaluate.py", "bad_path"),
        ("../outside.py", "bad_path"),
        ("/etc/passwd", "bad_path"),
        ("eval/evaluate.py", "protected"),
        ("EVAL/evaluate.py", "protected"),
        ("envs/rew\u{430}rd.py", "look_alike"),
        ("envs/Twin.py", "case_twin"),
        ("Envs/reward.py", "path_not_allowed"),
        (".rlxp/registry.yaml", "protected"),
        (".git/hooks/pre-commit", "protected"),
    ]
    .into_iter()
    .enumerate()
    {
        let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-SCALE = 1.0\n+SCALE = 2.0\n");
        let id = format!("try-{number}");
        let text = serde_json::json!({
            "schema": "rlxp.candidate/1", "id": id, "task": "balance", "study": "tuning", "kind": "reward_tuning",
            "hypothesis": "it can't hurt", "rollback": "take it back",
            "changes": [{"surface": "reward", "operation": "edit_code", "path": path, "patch": patch}],
            "phases": [{"phase": "smoke", "seeds": 1, "wall_clock": "1m"}],
        });
        // JSON is YAML.
        governed
            .write(&format!(".rlxp/tasks/balance/studies/tuning/candidates/{id}.yaml"), &text.to_string());
        let codes = governed.rlx(&format!("candidate validate {id} --json")).expect(3).codes();
        assert!(codes.iter().any(|found| found == code), "{path}: {codes:?}");
        let refused = governed.last("refused");
        assert_eq!(refused["what"], format!("validate {id}"));
        assert!(refused["codes"].as_array().unwrap().contains(&code.into()), "{refused}");
    }
    governed.rlx("verify --chain").expect(0);
}

#[test]
fn nothing_of_a_study_may_be_a_link() {
    let governed = Governed::approved();
    let contract = governed.file("contract.yaml");
    let elsewhere = governed.path("elsewhere.yaml");
    std::fs::rename(&contract, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &contract).unwrap();
    let answer = governed.rlx("study status --json").expect(3).json();
    assert_eq!(answer["code"], "link_in_study");
}

#[test]
fn in_a_governed_folder_nothing_else_trains() {
    let governed = Governed::approved();
    for line in
        ["train configs/ppo.yaml", "quickstart", "resume @last", "reproduce @last", "eval --run @last"]
    {
        let answer = governed.rlx(&format!("{line} --json")).expect(3).json();
        assert_eq!(answer["code"], "governed_folder", "{line}");
        assert!(answer["hints"].to_string().contains("rlx study next"), "{answer}");
    }
    // Closing would lift the protection, so it needs a person too.
    let answer = governed.rlx("study close --reason done --json").expect(3).json();
    assert_eq!(answer["code"], "close_not_approved");
    assert_eq!(governed.last("refused")["codes"][0], "close_not_approved");
    governed.sign("close", "alice").expect(0);
    governed.rlx("study close --reason done").expect(0);
    assert_ne!(governed.rlx("train configs/ppo.yaml --json").json()["code"], "governed_folder");
}

#[test]
fn a_closing_record_that_no_person_agreed_to_lifts_nothing() {
    let governed = Governed::approved();
    // An agent that can write the disk can write any record; a forged one has no valid signature.
    let ledger = governed.read("ledger.jsonl");
    let last: serde_json::Value = serde_json::from_str(ledger.lines().last().unwrap()).unwrap();
    let forged = forge(&last, "closed", serde_json::json!({"reason": "over"}));
    std::fs::write(governed.file("ledger.jsonl"), format!("{ledger}{forged}\n")).unwrap();
    governed.rlx("verify --chain").expect(0);
    let answer = governed.rlx("train configs/ppo.yaml --json").expect(3).json();
    assert_eq!(answer["code"], "governed_folder");
}

/// A record after `last`, chained as rlx chains them: nothing about a chain is secret.
fn forge(last: &serde_json::Value, kind: &str, body: serde_json::Value) -> String {
    let mut record = serde_json::json!({
        "actor": "rlx", "at": last["at"], "body": body, "kind": kind, "prev": last["digest"],
        "seq": last["seq"].as_u64().unwrap() + 1,
    });
    let text = rlxp_types::Digest::hash(record.to_string().as_bytes()).to_string();
    let fields = record.as_object_mut().unwrap();
    let mut sorted: Vec<(String, serde_json::Value)> = fields.clone().into_iter().collect();
    sorted.push(("digest".into(), text.into()));
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    serde_json::Value::Object(sorted.into_iter().collect()).to_string()
}

#[test]
fn a_ledger_that_an_anchor_contradicts_is_broken_for_every_command() {
    let governed = Governed::approved();
    let before = governed.read("ledger.jsonl");
    governed.rlx("ledger anchor").expect(0);
    assert_eq!(governed.rlx("study next --json").expect(0).json()["action"], "plan_baseline");
    std::fs::write(governed.file("ledger.jsonl"), before).unwrap();
    assert_eq!(governed.rlx("study next --json").expect(0).json()["action"], "stop");
    assert_eq!(governed.rlx("candidate list --json").expect(3).json()["code"], "ledger_broken");
}
