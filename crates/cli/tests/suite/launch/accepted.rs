//! What an acceptance leaves: code that later candidates train from, brought out, undone, and cleaned up after.
//! Verdicts are recorded through the library here; what they follow from is tested elsewhere.

use std::sync::Arc;

use rlxp_fs::{RealFs, RealMachine};
use rlxp_govern::documents::{Phase, Slug};
use rlxp_govern::ledger::event::{AcceptedCode, Completed, Judged, Verdict};
use rlxp_govern::ledger::{Actor, Event};
use rlxp_ops::context::UserFolders;
use rlxp_ops::studies::accept::accepted_code;
use rlxp_ops::studies::files::OpenStudy;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Digest;
use serde_json::{Value, json};

use crate::launch::candidates::{REWARD, learning_rate, reward_scale};
use crate::launch::repository::{Build, Repository};

/// Trains nothing, and leaves what it was run with.
const TRAIN: &str = r#"import json, os, sys
from balance import reward

out = sys.argv[1]
seen = {"scale": reward.REWARD_SCALE, "config": open("configs/ppo.yaml").read(), "arguments": sys.argv[3:]}
open(os.path.join(out, "metrics.jsonl"), "w").close()
with open(os.path.join(out, "policy.json"), "w") as file:
    json.dump(seen, file)
"#;

/// Evaluates nothing, and leaves what it was run with.
const EVALUATE: &str = r#"import json, os, sys
from balance import reward

trained, out = sys.argv[1:3]
with open(os.path.join(trained, "policy.json")) as file:
    scale = json.load(file)["scale"]
seen = {"scale": reward.REWARD_SCALE, "config": open("configs/ppo.yaml").read()}
with open(os.path.join(out, "scores.json"), "w") as file:
    json.dump({"success": scale / 10.0, "seen": seen}, file)
"#;

const REF: &str = "refs/rlxp/balance/tuning/reward";

fn build() -> Build {
    Repository::build()
        .file("quick.py", TRAIN)
        .file("look.py", EVALUATE)
        .train_with(&[".venv/bin/python", "quick.py", "{run}", "{seed}"])
        .eval_with(&[".venv/bin/python", "look.py", "{trained}", "{run}", "{seed}"])
        .without_baseline()
        .screen_seeds(1)
}

/// Runs all phases of a candidate.
#[track_caller]
fn complete(repository: &Repository, id: &str) {
    repository.launch_through(id, "short").expect(0);
    repository.rlx("study extract").expect(0);
    repository.launch_through(id, "confirm").expect(0);
    repository.rlx("study extract").expect(0);
    repository.rlx("launch status").expect(0);
}

fn context(repository: &Repository) -> Context {
    let home = repository.home();
    Context {
        fs: Arc::new(RealFs),
        machine: Arc::new(RealMachine),
        folder: repository.path(""),
        folder_is_root: true,
        cores: 1,
        user: UserFolders {
            config: Some(home.join(".config/rlx")),
            state: Some(home.join(".local/state/rlx")),
            home: Some(home.to_owned()),
        },
    }
}

fn code_of(repository: &Repository, id: &str) -> Outcome<Option<AcceptedCode>> {
    let context = context(repository);
    let opened = OpenStudy::open(&context, None)?;
    accepted_code(&context, &opened, &id.parse::<Slug>().unwrap())
}

/// Records that a candidate is accepted.
#[track_caller]
fn accept(repository: &Repository, id: &str) -> AcceptedCode {
    let code = code_of(repository, id).unwrap();
    let judged = Judged {
        candidate: id.parse().unwrap(),
        phase: Phase::Confirm,
        verdict: Verdict::Accepted,
        inputs: Digest::hash(b"inputs"),
        score: Some(0.25),
        reason: "it is better".to_owned(),
        failed_checks: Vec::new(),
        code: code.clone(),
    };
    let mut opened = OpenStudy::open(&context(repository), None).unwrap();
    let completed = Completed { candidate: judged.candidate.clone() };
    let events = [Event::Completed(completed), Event::Judged(judged)];
    opened.append_all(events.map(|event| (Actor::Rlx, event)).to_vec()).unwrap();
    code.unwrap()
}

fn json_of(repository: &Repository, key: &str, file: &str) -> Value {
    let path = repository.run_folder(key).join(file);
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

/// What training and evaluation of a run were run with.
fn seen(repository: &Repository, key: &str) -> (Value, Value) {
    (
        json_of(repository, key, "train/policy.json"),
        json_of(repository, key, "eval/scores.json")["seen"].take(),
    )
}

/// What a candidate says of the code isn't so.
#[track_caller]
fn does_not_apply(repository: &Repository, id: &str) {
    let codes = repository.validate(id).expect(3).codes();
    assert!(codes.contains(&"change_does_not_apply".to_owned()), "{codes:?}");
}

/// A patch of the reward as it is after one that was accepted.
fn reward_from(from: f64, to: f64) -> Value {
    let mut value = reward_scale(to);
    let patch = value["changes"][0]["patch"].as_str().unwrap();
    value["changes"][0]["patch"] =
        patch.replace("REWARD_SCALE = 1.0", &format!("REWARD_SCALE = {from:?}")).into();
    value
}

#[test]
fn later_candidates_build_on_an_accepted_one() {
    let repository = build().approved();
    let commit = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repository.ready("reward", reward_scale(2.5));
    complete(&repository, "reward");
    let before = repository.untouched();
    let nothing = repository.rlx("study export --branch out --json").expect(3).json();
    assert_eq!(nothing["code"], "nothing_accepted", "{nothing}");

    // Only what was validated and run can be accepted.
    let text = repository.read("candidates/reward.yaml");
    let edited = repository.file("candidates/reward.yaml");
    std::fs::write(&edited, text.replace("2.5", "9.5")).unwrap();
    let refused = code_of(&repository, "reward").unwrap_err();
    assert_eq!(refused.code, "candidate_changed", "{refused}");
    std::fs::write(&edited, text).unwrap();
    let code = code_of(&repository, "reward").unwrap().unwrap();
    assert_eq!(accept(&repository, "reward"), code, "the same commit again");
    assert_eq!(repository.untouched(), before);
    let named = repository.git(&["rev-parse", REF]).trim().to_owned();
    assert_eq!(json!(code.base), json!({"commit": named}));
    assert_eq!(repository.git(&["rev-parse", &format!("{REF}^")]).trim(), commit);
    let changed = repository.git(&["diff", "--name-only", &commit, &named]);
    assert_eq!(changed.trim(), REWARD);

    // What was compared with an earlier incumbent can't be accepted any more.
    assert_eq!(code_of(&repository, "reward").unwrap_err().code, "other_incumbent");
    // What was drafted for the contract's code doesn't fit any more.
    repository.candidate("again", reward_scale(3.0));
    does_not_apply(&repository, "again");
    repository.candidate("again", reward_from(2.5, 3.0));
    repository.validate("again").expect(0);

    repository.ready("slower", learning_rate(1.0));
    let plan = repository.rlx("launch slower --json").expect(0).json();
    assert_eq!(plan["base"], json!({"commit": commit}));
    let accepted = json!({"code": {"commit": named}, "candidates": ["reward"], "arguments": []});
    assert_eq!(plan["accepted"], accepted);
    let shown = repository.rlx("launch slower").expect(0).stdout;
    assert!(
        shown.contains("with the accepted reward") && shown.contains("evaluation runs commit"),
        "{shown}"
    );
    repository.launch_through("slower", "short").expect(0);
    let (training, evaluation) = seen(&repository, &repository.runs_of("slower")[1]);
    assert_eq!(training["scale"], 2.5, "{training}");
    assert!(training["config"].as_str().unwrap().contains("learning_rate: 1.0"), "{training}");
    assert_eq!(evaluation["scale"], 1.0, "{evaluation}");
    assert!(evaluation["config"].as_str().unwrap().contains("learning_rate: 2.0"), "{evaluation}");

    // And the next one on both.
    repository.rlx("study extract").expect(0);
    repository.launch_through("slower", "confirm").expect(0);
    repository.rlx("study extract").expect(0);
    let both = accept(&repository, "slower");
    let rlxp_govern::documents::Base::Commit(both) = &both.base else { panic!("{both:?}") };
    let text = repository.git(&["show", &format!("{both}:configs/ppo.yaml")]);
    assert!(text.contains("learning_rate: 1.0"), "{text}");
    assert_eq!(repository.git(&["rev-parse", &format!("{both}^")]).trim(), named);
    // What was validated against the earlier incumbent is a draft again.
    let list = repository.rlx("candidate list --json").expect(0).json();
    let states: Vec<_> = list["candidates"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["draft", "accepted", "accepted"], "{list}");

    repository.validate("again").expect(0);
    brought_out(&repository, &commit, both);
    undone(&repository, &commit, &named);
    assert_eq!(repository.untouched().files.len(), before.files.len() + 1, "the patch");
    repository.rlx("verify --chain").expect(0);
}

fn brought_out(repository: &Repository, commit: &str, both: &str) {
    let before = repository.untouched();
    let out = repository.rlx("study export --branch rlx/accepted --json").expect(0).json();
    assert_eq!((&out["code"], &out["from"]), (&json!({"commit": both}), &json!({"commit": commit})));
    assert_eq!(out["accepted"], json!(["reward", "slower"]));
    assert_eq!(repository.git(&["rev-parse", "rlx/accepted"]).trim(), both);
    let again = repository.rlx("study export --branch rlx/accepted --json").expect(3).json();
    assert_eq!(again["code"], "branch_exists", "{again}");
    let odd = repository.rlx("study export --branch a..b --json").expect(2).json();
    assert_eq!(odd["code"], "bad_branch", "{odd}");
    repository.git(&["branch", "--quiet", "-D", "rlx/accepted"]);
    assert_eq!(repository.untouched(), before);

    repository.rlx("study export --patch accepted.patch").expect(0);
    let again = repository.rlx("study export --patch accepted.patch --json").expect(3).json();
    assert_eq!(again["code"], "export_exists", "{again}");
    let patch = std::fs::read_to_string(repository.path("accepted.patch")).unwrap();
    assert!(patch.starts_with("# Changes accepted in balance/tuning: reward, slower\n"), "{patch}");
    repository.git(&["apply", "--check", "accepted.patch"]);
    repository.rlx("study export").expect(2);
    repository.rlx("study export --branch a --patch b").expect(2);
}

fn undone(repository: &Repository, commit: &str, first: &str) {
    let early = repository.rlx("study revert reward --reason late --json").expect(3).json();
    assert_eq!(early["code"], "not_the_incumbent", "{early}");
    let never = repository.rlx("study revert again --reason late --json").expect(3).json();
    assert_eq!(never["code"], "not_accepted", "{never}");
    let report = repository.rlx("study revert slower --reason worse --json").expect(0).json();
    assert_eq!((&report["incumbent"], &report["code"]), (&"reward".into(), &json!({"commit": first})));
    // The code stays on record, and candidates start from the first acceptance again.
    repository.git(&["rev-parse", "--verify", report["kept"].as_str().unwrap()]);
    repository.validate("again").expect(0);
    repository.approve("again").expect(0);
    assert_eq!(
        repository.rlx("launch again --json").expect(0).json()["accepted"]["code"],
        json!({"commit": first})
    );
    let same = repository.rlx("study revert slower --reason worse --json").expect(3).json();
    assert_eq!(same["code"], "not_accepted", "{same}");

    cleaned(repository);
    let report = repository.rlx("study revert reward --reason worse --json").expect(0).json();
    assert_eq!((&report["incumbent"], &report["code"]), (&Value::Null, &json!({"commit": commit})));
    // The same change isn't tried again under another name.
    repository.candidate("copy", reward_scale(2.5));
    assert_eq!(repository.validate("copy").expect(3).codes(), ["tried_before"]);
}

/// Smoke output and code that nothing starts from any more can go; what verdicts were computed from stays.
fn cleaned(repository: &Repository) {
    let plan = repository.rlx("study clean --plan --json").expect(0).json();
    let kinds: Vec<&str> =
        plan["removable"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"tree") && kinds.contains(&"run_files"), "{plan}");
    let exists = |one: &Value| std::path::Path::new(one["path"].as_str().unwrap()).exists();
    assert!(plan["removable"].as_array().unwrap().iter().all(exists), "nothing was removed yet");
    let refused = repository.rlx("study clean --execute --closed --json").expect(3).json();
    assert_eq!(refused["code"], "study_open", "{refused}");
    repository.rlx("study clean").expect(2);
    let done = repository.rlx("study clean --execute --json").expect(0).json();
    assert_eq!(done["removable"], plan["removable"]);
    assert!(!done["removable"].as_array().unwrap().iter().any(exists), "{done}");
    for key in repository.runs_of("reward") {
        let folder = repository.run_folder(&key);
        let is_smoke = key.contains("-smoke-");
        assert_eq!(folder.join("train").exists(), !is_smoke, "{key}");
        assert_eq!(folder.join("cleaned.json").exists(), is_smoke, "{key}");
        assert!(folder.join("manifest.json").exists() && folder.join("train.log").exists(), "{key}");
    }
    let again = repository.rlx("study clean --plan --json").expect(0).json();
    assert_eq!(again["removable"], json!([]), "{again}");
    let notes = repository.records("note");
    assert!(notes[0]["text"].as_str().unwrap().starts_with("rlx study clean: removing "), "{notes:?}");
    // What is needed again is made again.
    repository.rlx("launch again --json").expect(0);
}

/// Training that saves what it learned as a pickle.
const PICKLES: &str = r#"import collections, os, pickle, sys
from balance import reward

open("configs/ppo.yaml").close()
out = sys.argv[1]
open(os.path.join(out, "metrics.jsonl"), "w").close()
with open(os.path.join(out, "policy.json"), "wb") as file:
    pickle.dump(collections.OrderedDict(scale=reward.REWARD_SCALE), file)
"#;

/// Evaluates nothing.
const FINE: &str = r#"import os, sys
with open(os.path.join(sys.argv[1], "scores.json"), "w") as file:
    file.write('{"success": 0.5}')
"#;

/// Changed code could reach the evaluator through a pickle; changed values can't.
#[test]
fn a_pickle_of_changed_code_waits_for_a_person() {
    let repository = build()
        .file("quick.py", PICKLES)
        .file("look.py", FINE)
        .eval_with(&[".venv/bin/python", "look.py", "{run}", "{seed}"])
        .approved();
    repository.ready("reward", reward_scale(2.5));
    repository.launch_through("reward", "short").expect(0);
    let [smoke, short] = &repository.runs_of("reward")[..] else { panic!("two runs") };
    assert_eq!(repository.end_of(smoke)["executable_output"], Value::Null, "smoke runs are never evidence");
    let said = "train/policy.json contains a pickle that uses collections.OrderedDict";
    assert_eq!(repository.end_of(short)["executable_output"], said);
    repository.rlx("study extract").expect(0);
    let queue = repository.rlx("queue show --json").expect(0).json();
    assert_eq!(queue["jobs"][1]["stand"], json!({"is": "unapproved", "run": short}), "{queue}");
    let shown = repository.rlx(&format!("approve run:{short} --show")).expect(0).stdout;
    assert!(shown.contains("can run code when evaluation loads them"), "{shown}");

    repository.ready("slower", learning_rate(1.0));
    repository.launch_through("slower", "short").expect(0);
    let slower = &repository.runs_of("slower")[1];
    assert_eq!(repository.end_of(slower)["executable_output"], Value::Null);
}

/// Without git, accepted files are kept in the state folder, and the working copy stays the contract's.
#[test]
fn a_folder_without_git_keeps_what_was_accepted() {
    let repository = build().drafted();
    let contract = repository.without_git();
    repository.sign("--all", "alice").expect(0);
    repository.ready("reward", reward_scale(2.5));
    complete(&repository, "reward");
    let before = std::fs::read_to_string(repository.path(REWARD)).unwrap();
    let code = accept(&repository, "reward");
    assert_ne!(json!(code.base), json!({"snapshot": contract}));
    repository.ready("slower", learning_rate(1.0));
    let plan = repository.rlx("launch slower --json").expect(0).json();
    assert_eq!(
        (&plan["base"], &plan["accepted"]["code"]),
        (&json!({"snapshot": contract}), &json!(code.base))
    );
    repository.launch_through("slower", "short").expect(0);
    let (training, evaluation) = seen(&repository, &repository.runs_of("slower")[1]);
    assert_eq!((&training["scale"], &evaluation["scale"]), (&json!(2.5), &json!(1.0)));
    assert_eq!(std::fs::read_to_string(repository.path(REWARD)).unwrap(), before);

    let refused = repository.rlx("study export --branch out --json").expect(2).json();
    assert_eq!(refused["code"], "no_repository", "{refused}");
    // Not into the folder, whose digest the contract names.
    let file = repository.home().join("accepted.patch");
    repository.rlx(&format!("study export --patch {}", file.display())).expect(0);
    let patch = std::fs::read_to_string(file).unwrap();
    assert!(patch.contains("-REWARD_SCALE = 1.0\n") && patch.contains("+REWARD_SCALE = 2.5\n"), "{patch}");
    // Trees are made from what was kept.
    repository.rlx("study extract").expect(0);
    std::fs::remove_dir_all(repository.state().join("trees")).unwrap();
    repository.rlx("launch slower --json").expect(0);
    std::fs::remove_dir_all(repository.state().join("trees")).unwrap();
    std::fs::remove_dir_all(repository.state().join("accepted")).unwrap();
    let lost = repository.rlx("launch slower --json").expect(3).json();
    assert_eq!(lost["code"], "no_tree", "{lost}");
}

/// Accepted overrides come first on the command line, and give the value that later candidates start from.
#[test]
fn accepted_arguments_come_first() {
    let repository = build().drafted();
    repository.rlx_with(&["study", "audit", "--override-syntax", "--{key}={value}"]).expect(0);
    repository.sign("--all", "alice").expect(0);
    repository.ready("slower", learning_rate(1.0));
    complete(&repository, "slower");
    let commit = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let code = accept(&repository, "slower");
    assert_eq!(json!(code), json!({"base": {"commit": commit}, "arguments": ["--learning_rate=1.0"]}));

    repository.candidate("slowest", learning_rate(0.5));
    does_not_apply(&repository, "slowest");
    let mut value = learning_rate(0.5);
    value["changes"][0]["from"] = 1.0.into();
    repository.ready("slowest", value);
    repository.launch_through("slowest", "short").expect(0);
    let (training, _) = seen(&repository, &repository.runs_of("slowest")[1]);
    assert_eq!(training["arguments"], json!(["--learning_rate=1.0", "--learning_rate=0.5"]));
    // A draft begins with the value that was accepted.
    let line = "candidate new drafted --key learning_rate --to 0.7 --hypothesis slow --rollback no --risk no";
    repository.rlx(line).expect(0);
    repository.validate("drafted").expect(0);
    assert!(repository.read("candidates/drafted.yaml").contains("from: 1.0"));
    let patch = repository.rlx("study export --patch out.patch").expect(0).stdout;
    assert!(patch.contains("--learning_rate=1.0"), "{patch}");
    let text = std::fs::read_to_string(repository.path("out.patch")).unwrap();
    assert!(text.contains("# Training also needs these arguments: --learning_rate=1.0\n"), "{text}");
    // The patches of candidates have no arguments, and the export doesn't say that they do.
    let exported = repository.rlx("study export --to exported --json").expect(0).json();
    assert_eq!(exported["accepted"], json!([]), "{exported}");
    assert!(
        exported["warnings"].to_string().contains("accepted.patch lacks the value that slower sets"),
        "{exported}"
    );
}
