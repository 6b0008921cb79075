//! First use: every command that rlx names can be pasted, and every mistake is reported with its place and what was
//! probably meant.

use crate::governed::study::Governed;

/// A repository without a study.
fn plain() -> Governed {
    let governed = Governed::empty();
    governed.write("my runs/train.py", "import sys\n\nif __name__ == '__main__':\n    print(sys.argv)\n");
    governed.write("eval/evaluate.py", "\nprint('evaluating')\n");
    governed
}

/// A command as a shell takes it.
fn paste(governed: &Governed, command: &str) -> i32 {
    let line = command.replacen("rlx", crate::project::RLX, 1);
    governed.command("sh").args(["-c", &line]).status().unwrap().code().unwrap()
}

#[test]
fn the_first_step_can_be_pasted() {
    let governed = plain();
    governed.rlx("study init --task balance --study tuning").expect(0);
    let step = governed.rlx("study next --json").expect(0).json();
    assert_eq!(step["action"], "audit", "{step}");
    let command = step["command"].as_str().unwrap();
    assert!(command.contains("'train_command:my runs/train.py:3'"), "{command}");
    assert!(command.contains("evaluator:eval/evaluate.py:2"), "{command}");
    let refused = governed.rlx("study audit").expect(3);
    assert!(refused.stderr.contains(command), "{}", refused.stderr);
    assert_eq!(paste(&governed, command), 0);
    assert_eq!(governed.rlx("study next --json").expect(0).json()["action"], "ask");
}

#[test]
fn a_claim_cites_a_line_that_says_something() {
    let governed = plain();
    governed.rlx("study init --task balance --study tuning").expect(0);
    let empty =
        governed.rlx_with(&["study", "audit", "--claim", "train_command:my runs/train.py:2"]).expect(2);
    assert!(empty.stderr.contains("my runs/train.py:2: the line is empty"), "{}", empty.stderr);
    let misspelt = governed.rlx("study audit --claim evaluator:eval/evalute.py:2").expect(2);
    assert!(misspelt.stderr.contains("hint: did you mean eval/evaluate.py?"), "{}", misspelt.stderr);
    let kind = governed.rlx("study audit --claim train_comand:eval/evaluate.py:2").expect(2);
    assert!(kind.stderr.contains("did you mean train_command?"), "{}", kind.stderr);
    let one = governed.rlx("study audit --claim evaluator:eval/evaluate.py:2").expect(0);
    assert!(one.stdout.contains("1 claim is valid, recorded in the ledger"), "{}", one.stdout);
}

/// The audit says what evaluates, whatever its file is called.
#[test]
fn what_was_audited_is_the_default_of_the_contract() {
    let governed = plain();
    governed.write("tools/score.py", "import sys\nprint('scoring', sys.argv)\n");
    governed.write("tools/learn.py", "import sys\nprint('learning', sys.argv)\n");
    governed.rlx("study init --task balance --study tuning").expect(0);
    let claims = "--claim evaluator:tools/score.py:2 --claim train_command:tools/learn.py:2";
    governed.rlx(&format!("study audit {claims}")).expect(0);
    let drafted = governed.rlx("contract new --yes --json").expect(0).json();
    let assumed = |ask: &str| {
        let all = drafted["assumed"].as_array().unwrap();
        let one = all.iter().find(|taken| taken["ask"] == ask).unwrap_or_else(|| panic!("{ask}: {drafted}"));
        one["answer"].to_string()
    };
    assert!(assumed("eval").contains("tools/score.py"), "{drafted}");
    assert!(assumed("train").contains("tools/learn.py"), "{drafted}");
    assert!(assumed("protected").contains("tools/score.py"), "{drafted}");
}

/// What is at a cited place by now may be something else: a refresh follows the text, and shows what it did.
#[test]
fn a_refresh_follows_the_text_and_shows_it() {
    let governed = Governed::new();
    let train = "print('training with', sys.argv)";
    governed.write("train.py", &format!("import os\nimport sys\n{train}\n"));
    let stale = governed.rlx("study audit").expect(1);
    assert!(stale.stdout.contains("(train.py:2) (moved to line 3)"), "{}", stale.stdout);
    let shown = governed.rlx("study audit --refresh").expect(0);
    let moved = format!("train command moved: train.py:2 -> train.py:3: {train}");
    assert!(shown.stdout.contains(&moved), "{}", shown.stdout);
    let adapter = std::fs::read_to_string(governed.path(".rlxp/tasks/balance/adapter.yaml")).unwrap();
    assert!(adapter.contains("line: 3"), "{adapter}");

    // In two places, the text says nothing about which one was meant.
    governed.write("train.py", &format!("{train}\n{train}\nimport os\n"));
    let refused = governed.rlx("study audit --refresh").expect(1);
    assert!(refused.stdout.contains("lines 1, 2 have its text"), "{}", refused.stdout);
    assert!(refused.stderr.contains("--claim train_command:train.py:LINE"), "{}", refused.stderr);
    let again = governed.rlx("study audit --claim train_command:train.py:2 --json").expect(0).json();
    assert_eq!(again["claims"].as_array().unwrap().len(), 1, "{again}");

    // Another text at the same place is shown as such.
    governed.write("train.py", "import sys\nprint('training')\n");
    governed.rlx("study audit").expect(1);
    let report = governed.rlx("study audit --refresh --json").expect(0).json();
    let one = &report["refreshed"][0];
    assert_eq!((&one["line"], &one["is_moved"]), (&"print('training')".into(), &false.into()), "{report}");
}

#[test]
fn a_misspelt_step_names_the_nearest_one() {
    let governed = Governed::new();
    let typed = governed.rlx("study exprot").expect(2);
    assert!(typed.stderr.contains("'export'"), "{}", typed.stderr);
}

#[test]
fn a_candidate_can_be_written_by_flags_alone() {
    let governed = Governed::new();
    let words = ["candidate", "new", "smaller", "--key", "lr", "--from", "0.0003", "--to", "0.0001"];
    let why =
        ["--hypothesis", "It overshoots", "--rollback", "Set it back", "--risk", "It learns later", "--json"];
    let draft = governed.rlx_with(&[&words[..], &why].concat()).expect(0).json();
    assert_eq!(draft["open"].as_array().unwrap().len(), 0, "{draft}");
    assert!(draft["unknown_key"].is_null(), "{draft}");
    let text = governed.read("candidates/smaller.yaml");
    assert!(text.contains("rollback: Set it back") && text.contains("risk: It learns later"), "{text}");

    let misspelt = governed.rlx("candidate new other --key lrr --to 0.0001").expect(0);
    assert!(misspelt.stderr.contains("no surface has the key lrr; did you mean lr?"), "{}", misspelt.stderr);

    governed.write(
        "scale.patch",
        "--- a/envs/reward.py\n+++ b/envs/reward.py\n@@ -1 +1 @@\n-SCALE = 1.0\n+SCALE = 2.0\n",
    );
    governed.rlx("candidate new scale --kind policy --patch scale.patch").expect(0);
    let text = governed.read("candidates/scale.yaml");
    assert!(text.contains("surface: reward") && text.contains("path: envs/reward.py"), "{text}");
    let gone = governed.rlx("candidate new gone --kind policy --patch nowhere.patch").expect(2);
    assert!(gone.stderr.contains("nowhere.patch"), "{}", gone.stderr);
    assert!(!governed.file("candidates/gone.yaml").exists());

    let kind = governed.rlx("candidate new baseline --kind basline").expect(2);
    assert!(kind.stderr.contains("did you mean baseline?"), "{}", kind.stderr);
}

#[test]
fn a_refusal_names_the_place_and_asks_for_approvals_at_once() {
    let governed = Governed::new();
    governed.rlx("candidate new larger --key lr --from 0.0003 --to 0.5").expect(0);
    let refused = governed.rlx("candidate validate larger --json").expect(3).json();
    let shown = governed.rlx("candidate validate larger").expect(3).stderr;
    let places = refused["refusals"].as_array().unwrap().iter().map(|one| one["evidence"].as_str().unwrap());
    let places: Vec<&str> = places.filter(|place| !place.starts_with("ledger.jsonl")).collect();
    assert!(places.iter().any(|place| place.starts_with("candidates/larger.yaml")), "{places:?}");
    for place in places {
        assert!(shown.contains(place), "{place} is not in {shown}");
    }
    let approvals: Vec<&str> = shown.lines().filter(|line| line.starts_with("hint: rlx approve")).collect();
    assert_eq!(
        approvals,
        ["hint: rlx approve task metrics scope budget hardware baseline evaluation plan"],
        "{shown}"
    );
}

#[test]
fn a_closed_study_gets_no_more_candidates() {
    let governed = Governed::new();
    governed.rlx("study close --reason enough").expect(0);
    let refused = governed.rlx("candidate new baseline --kind baseline --json").expect(3).json();
    assert_eq!(refused["code"], "study_closed", "{refused}");
    assert!(!governed.file("candidates/baseline.yaml").exists());
    let hint = refused["hints"][0].as_str().unwrap();
    assert_eq!(hint, "rlx study init --task balance --study another-name");
    assert_eq!(paste(&governed, hint), 0);
}

#[test]
fn what_is_still_to_be_filled_in_is_no_bad_name() {
    let governed = plain();
    governed.rlx("study init --task balance --study tuning").expect(0);
    governed.rlx("candidate new other --kind policy").expect(0);
    let refused = governed.rlx("candidate validate other").expect(2);
    assert!(refused.stderr.contains("`changes[0].surface` is not filled in"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("lower-case"), "{}", refused.stderr);
}

#[test]
fn a_request_names_no_command_without_a_target_and_no_folder_that_is_not_there() {
    let governed = Governed::new();
    let refused = governed.rlx("contract request --to nowhere/request.txt").expect(2);
    let folder = governed.path("nowhere");
    let lines = format!("error: --to: folder {0} does not exist\nhint: mkdir -p {0}\n", folder.display());
    assert_eq!(refused.stderr, lines);
    let asked = governed.rlx("contract request --json").expect(0).json();
    assert!(asked["terminal"].as_str().unwrap().starts_with("rlx approve task "), "{asked}");

    let approved = Governed::approved();
    let nothing = approved.rlx("contract request --json").expect(0).json();
    assert_eq!(nothing["sections"].as_array().unwrap().len(), 0, "{nothing}");
    assert_eq!(
        (nothing["terminal"].as_str(), nothing["signature"].as_array().map(Vec::len)),
        (Some(""), Some(0))
    );
}

/// A study whose hyperparameters are flags of its training script, opened without asking for an override.
fn with_flags(more: &[&str]) -> Governed {
    let governed = Governed::empty();
    governed.write(
        "train.py",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float, default=3e-4)\n\
         parser.add_argument('--seed', type=int)\n",
    );
    governed.write("eval/evaluate.py", "print('evaluating')\n");
    governed.rlx("study init --task balance --study tuning --assurance signature").expect(0);
    governed.rlx("study audit --claim train_command:train.py:2").expect(0);
    let mut words = vec!["contract", "new", "--yes", "--mission", "Learn sooner", "--metric", "success_rate"];
    words.extend(["--metric-source", "eval/scores.json#/success_rate", "--smallest-effect", "0.05"]);
    words.extend(["--surface", "ppo=hyperparameter:train.py:lr=1e-5..1e-2", "--protected", "eval/**"]);
    words.extend(["--environments", "CartPole-v1", "--train", "python3 train.py --seed {seed} --out {run}"]);
    words.extend(["--eval", "python3 eval/evaluate.py --seed {seed} {trained} {run}"]);
    words.extend(more);
    governed.rlx_with(&words).expect(0);
    governed
}

#[test]
fn a_patch_is_refused_where_only_values_may_be_set() {
    let governed = with_flags(&["--automation", "autonomous", "--candidates", "3"]);
    governed.rlx("contract check").expect(0);
    assert!(governed.read("surface_map.yaml").contains("operations: [set, scale]"));
    governed.sign("--all", "alice").expect(0);
    governed.write(
        "evil.patch",
        "--- a/train.py\n+++ b/train.py\n@@ -1 +1,2 @@\n import argparse\n+import os; os.system('touch /tmp/owned')\n",
    );
    governed
        .rlx("candidate new evil --patch evil.patch --hypothesis It --rollback Undo --risk None")
        .expect(0);
    let codes = governed.rlx("candidate validate evil --json").expect(3).codes();
    assert!(codes.iter().any(|code| code == "operation_not_allowed"), "{codes:?}");
}

#[test]
fn a_key_that_is_a_flag_is_found_out() {
    // As a user who doesn't know the word leaves it: nothing says how values reach the script.
    let governed = with_flags(&[]);
    let adapter = governed.path(".rlxp/tasks/balance/adapter.yaml");
    let text = std::fs::read_to_string(&adapter).unwrap();
    assert!(text.contains("override_syntax: \"--{key}={value}\""), "{text}");
    governed.rlx_with(&["study", "audit", "--override-syntax", ""]).expect(0);
    let drafted = governed.rlx("candidate new faster --key lr --to 0.001 --json").expect(0).json();
    let command = "rlx study audit --override-syntax '--{key}={value}'";
    assert_eq!(
        (&drafted["flag"]["script"], &drafted["flag"]["command"]),
        (&"train.py".into(), &command.into())
    );
    let refused = governed.rlx("candidate validate faster --json").expect(3).json();
    let refusals = refused["refusals"].as_array().unwrap();
    let one = refusals
        .iter()
        .find(|one| one["code"] == "change_does_not_apply")
        .unwrap_or_else(|| panic!("{refused}"));
    assert_eq!(one["help"], command, "{one}");
    assert_eq!(paste(&governed, command), 0);
    let refused = governed.rlx("candidate validate faster --json").expect(3).codes();
    assert!(!refused.iter().any(|code| code == "change_does_not_apply"), "{refused:?}");
}

#[test]
fn an_intake_replaces_its_own_draft_and_no_other() {
    let governed = with_flags(&[]);
    governed.rlx("contract new --yes --runs 30").expect(0);
    let contract = governed.read("contract.yaml");
    // The answers of the first time are the defaults of the second.
    assert!(contract.contains("mission: Learn sooner") && contract.contains("runs: 30"), "{contract}");
    governed.edit("contract.yaml", "runs: 30", "runs: 31");
    let refused = governed.rlx("contract new --yes --json").expect(3).json();
    assert_eq!(refused["code"], "contract_exists", "{refused}");
    let hint = refused["hints"][1].as_str().unwrap();
    assert!(hint.starts_with("rlx contract new --again"), "{hint}");
    assert_eq!(paste(&governed, hint), 0);
    assert!(governed.read("contract.yaml.old").contains("runs: 31"));
    governed.sign("--all", "alice").expect(0);
    let approved = governed.rlx("contract new --yes --again --json").expect(3).json();
    assert_eq!(approved["code"], "contract_exists", "{approved}");
}

#[test]
fn nothing_that_was_not_read_is_said_to_be_measured() {
    let governed = Governed::new();
    let unread = governed.rlx("metric check").expect(0).stdout;
    assert!(!unread.contains("can be measured") && unread.contains("was not checked"), "{unread}");
    governed.write("done/eval/scores.json", "{\"success\": 0.5}");
    let read = governed.rlx("metric check --run done").expect(0).stdout;
    assert!(read.contains("all metrics can be measured"), "{read}");
    governed.edit(
        "metric_spec.yaml",
        "format: json, file: \"eval/scores.json\", pointer: \"/success\"",
        "format: tensorboard, file: \"eval/tb\", tag: \"r\"",
    );
    let unread = governed.rlx("metric check --run done").expect(1).stdout;
    assert!(unread.contains("no file matches eval/tb"), "{unread}");
    assert!(unread.contains("some metrics can't be measured"), "{unread}");
}

/// Where no key was listed when the study was opened, no signature can ever count, and none is asked for.
#[test]
fn a_study_without_approvers_asks_for_no_signature() {
    let governed = Governed::empty();
    std::fs::remove_file(governed.home().join(".config/rlx/approvers")).unwrap();
    governed.write("train.py", "import sys\nprint('training with', sys.argv)\n");
    governed.rlx("study init --task balance --study tuning --assurance terminal").expect(0);
    governed.rlx("study audit --claim train_command:train.py:2").expect(0);
    governed.rlx("contract new --yes --mission Balance").expect(0);
    let asked = governed.rlx("contract request task").expect(0).stdout;
    assert!(asked.contains("On a terminal:") && !asked.contains("ssh-keygen"), "{asked}");
    let refused = governed.rlx("approve task").expect(3).stderr;
    assert!(refused.contains("hint: rlx approve task    # at a terminal"), "{refused}");
    assert!(!refused.contains("ssh-keygen") && !refused.contains("--signature"), "{refused}");
    // With approvers both count.
    let governed = Governed::with("terminal");
    let refused = governed.rlx("approve task").expect(3).stderr;
    assert!(refused.contains("ssh-keygen -Y sign"), "{refused}");
}

#[test]
fn one_command_approves_what_is_open() {
    let governed = Governed::with("terminal");
    let approved = governed.approve_through_a_pty("");
    assert_eq!(approved.code, Some(0), "{}", approved.stdout);
    assert_eq!(governed.last("approved")["targets"].as_object().unwrap().len(), 11);
    governed.rlx("candidate new baseline --kind baseline").expect(0);
    let nothing = governed.rlx("approve --json").expect(3).json();
    assert_eq!(nothing["code"], "nothing_to_approve", "{nothing}");
    // A candidate is open once it is validated.
    governed.rlx("candidate validate baseline").expect(0);
    let approved = governed.approve_through_a_pty("");
    assert_eq!(approved.code, Some(0), "{}", approved.stdout);
    let targets =
        governed.last("approved")["targets"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(targets, ["candidate:baseline"]);
    let key = governed.rlx("study init --study other --new-key --json").expect(3).json();
    assert_eq!(key["code"], "no_terminal", "{key}");
    assert!(!governed.home().join(".ssh/rlx_approver").exists());
}
