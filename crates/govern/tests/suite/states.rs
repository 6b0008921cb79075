//! Recorded studies: all parts of a study at one moment, and what rlx reported about it.
//!
//! Each `states/<name>.json` holds the four files as text, the ledger line by line, approvers, signatures
//! and facts, and the results: the next step, the queue, and the state recorded in the ledger. A test
//! builds the study from that file alone and must get the same results.
//!
//! A recording is never adapted: what rlx once wrote into a ledger it must read the same way forever. So a
//! file whose builder has changed or was removed stays, and is replayed unchanged.
//!
//! | `UPDATE_STATES=` | writes |
//! | --- | --- |
//! | `new` | states that have a builder and no file |
//! | `expected` | the results of every file, leaving the rest unchanged: for new wording |
//! | `1` | every state that has a builder, from scratch |
#![expect(clippy::disallowed_methods, reason = "a test reads and writes the committed files itself")]

mod agreement;
mod builder;
mod candidates;
mod recorded;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Once;

use rlxp_govern::next::Action;
use serde_json::Value;

use builder::Builder;
use recorded::Recorded;

/// A state: its name, the next action according to the table, and its builder.
type State = (&'static str, Action, fn() -> Builder);

fn states() -> Vec<State> {
    [agreement::STATES, runs::STATES, candidates::STATES].concat()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/suite/states")
}

/// The committed files by name, as text; rewritten first, if requested.
fn committed() -> BTreeMap<String, String> {
    static UPDATED: Once = Once::new();
    UPDATED.call_once(update);
    files()
}

fn files() -> BTreeMap<String, String> {
    let paths = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

fn parse(name: &str, text: &str) -> Recorded {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn write(name: &str, mut recorded: Recorded) {
    recorded.expected = recorded::said_of(&recorded.study());
    let text = serde_json::to_string_pretty(&recorded).unwrap() + "\n";
    std::fs::write(folder().join(format!("{name}.json")), text).unwrap();
}

fn update() {
    let Some(what) = std::env::var_os("UPDATE_STATES") else { return };
    let there = files();
    if what == "expected" {
        there.iter().for_each(|(name, text)| write(name, parse(name, text)));
        return;
    }
    for (name, _, build) in states() {
        if what == "1" || !there.contains_key(name) {
            write(name, build().recorded());
        }
    }
}

#[test]
fn recorded_states_replay_to_what_was_recorded() {
    let mut wrong = Vec::new();
    for (name, text) in committed() {
        let recorded = parse(&name, &text);
        let now = recorded::said_of(&recorded.study());
        compare(&name, &recorded.expected, &now, &mut wrong);
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Names each place in which two values differ.
fn compare(place: &str, then: &Value, now: &Value, wrong: &mut Vec<String>) {
    match (then, now) {
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
                let (one, other) =
                    (one.get(key).unwrap_or(&Value::Null), other.get(key).unwrap_or(&Value::Null));
                compare(&format!("{place}.{key}"), one, other, wrong);
            }
        }
        _ if then == now => {}
        _ => wrong.push(format!("{place}: recorded {then}, now {now}")),
    }
}

#[test]
fn every_state_is_recorded_with_the_action_of_the_table() {
    let (states, there) = (states(), committed());
    let names: BTreeSet<&str> = states.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), states.len(), "two states have the same name");
    for (name, action, _) in &states {
        let text = there.get(*name).unwrap_or_else(|| panic!("{name} has no file: UPDATE_STATES=new"));
        let recorded = parse(name, text);
        assert_eq!(recorded.expected["next"]["action"], serde_json::to_value(action).unwrap(), "{name}");
    }
    assert!(there.len() >= 30);
}

#[test]
fn every_action_has_a_state() {
    let of = |action: &Action| serde_json::to_value(action).unwrap().as_str().unwrap().to_owned();
    let shown: BTreeSet<String> = states().iter().map(|(_, action, _)| of(action)).collect();
    use Action::*;
    let all = [
        Stop,
        Closed,
        Monitor,
        Extract,
        Judge,
        Report,
        HandOff,
        Wait,
        Audit,
        Ask,
        RequestApproval,
        PlanBaseline,
        Smoke,
        Launch,
        Validate,
        Propose,
    ];
    assert_eq!(shown, all.iter().map(of).collect());
}

/// A recording without comparisons would always pass.
#[test]
fn a_changed_record_is_noticed() {
    for (name, text) in &committed() {
        let mut recorded = parse(name, text);
        // After a problem nothing is read.
        if !recorded.expected["ledger"]["problem"].is_null() {
            continue;
        }
        let Some(line) = recorded.ledger.pop() else { continue };
        let mut wrong = Vec::new();
        compare(name, &recorded.expected, &recorded::said_of(&recorded.study()), &mut wrong);
        assert!(!wrong.is_empty(), "{name}: the last record makes no difference: {line}");
    }
}
