//! Every gate: what it refuses, that nothing else is refused, and what an exception can change.

use std::collections::BTreeSet;

use rlxp_govern::documents::{Assurance, Phase};
use rlxp_govern::gate::{GateName, Purpose, RefusalCode, names, refusals};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{Completed, Judged, Reopened, Verdict, Voided};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::section::{Section, Target};
use rlxp_types::Digest;
use serde_json::json;

use super::cases::{PLAIN_PATCH, cases, except, patched, variations};
use super::common::{PURPOSES, World, intent, slug};
use super::texts::{Texts, remove, set};

/// A study that could be launched except for one fault.
fn faulty(texts: fn(&mut Texts), after: fn(&mut World)) -> World {
    let mut files = Texts::supervised();
    texts(&mut files);
    let mut world = World::ready(&files);
    after(&mut world);
    world
}

#[test]
fn a_complete_study_passes_every_gate() {
    for (what, texts) in variations() {
        let world = faulty(texts, |_| {});
        for purpose in PURPOSES {
            assert_eq!(world.refusals(purpose), [], "{what} {purpose:?}");
        }
    }
}

#[test]
fn every_fault_is_refused_with_its_code() {
    for (index, case) in cases().into_iter().enumerate() {
        let world = faulty(case.texts, case.after);
        let found = world.codes(case.purpose);
        assert!(found.contains(case.code), "case {index}, {}: {found:?}", case.code);
        // What is refused for less is refused for more.
        for purpose in PURPOSES.into_iter().filter(|purpose| *purpose as u8 > case.purpose as u8) {
            assert!(!world.refusals(purpose).is_empty(), "case {index}, {}", case.code);
        }
    }
    let world = World::ready(&Texts::supervised());
    let found = refusals(Purpose::Launch, &world.study, None);
    assert!(found.iter().any(|refusal| refusal.code == RefusalCode::CandidateMissing), "{found:?}");
}

#[test]
fn an_input_that_changed_is_told_in_full() {
    let change = |texts: &mut Texts| set(&mut texts.runbook, "/inputs/0/digest", json!("cd".repeat(32)));
    let found = faulty(change, |_| {}).refusals(Purpose::Validate);
    let one = found.iter().find(|refusal| refusal.code == RefusalCode::InputChanged).unwrap();
    assert!(one.reason.contains(&"ab".repeat(32)), "{}", one.reason);
    assert!(one.help.starts_with("rlx contract input "), "{}", one.help);
}

/// What has run is revised, or over; a copy under another name would be refused as tried before.
#[test]
fn the_help_of_a_stale_plan_can_be_followed() {
    let mut world = World::ready(&Texts::supervised());
    let plan = world.view.asked_plan.unwrap();
    world.view.file = Digest::hash(b"another text");
    let help = |world: &World| {
        let found = world.refusals(Purpose::Launch);
        found.into_iter().find(|one| one.code == RefusalCode::StalePlan).unwrap().help
    };
    assert_eq!(help(&world), "rlx candidate validate lower-lr");
    world.run(&intent("lower-lr", Phase::Smoke, 0, plan), RunEnd::Ok);
    assert_eq!(help(&world), "rlx candidate revise lower-lr");
    world.run(&intent("lower-lr", Phase::Short, 0, plan), RunEnd::Ok);
    assert_eq!(help(&world), "rlx study next");
}

/// A value of a command line is in no file with keys, but the script may say what it is.
#[test]
fn the_present_value_of_a_flag_is_compared() {
    let mut world = faulty(
        |texts| {
            set(&mut texts.candidate, "/changes/0/path", json!("train.py"));
            set(&mut texts.candidate, "/changes/0/from", json!(0.001));
        },
        |_| {},
    );
    world.view.override_syntax = Some("--{key}={value}".to_owned());
    let key = world.view.written.typed.changes[0].key.clone().unwrap();
    let mut disagreement = |real: Option<f64>| {
        let place = ("train.py".to_owned(), key.clone());
        world.view.flag_values = real.map(|real| (place, real)).into_iter().collect();
        let found = refusals(Purpose::Validate, &world.study, Some(&world.view));
        found.into_iter().find(|one| one.code == RefusalCode::ChangeDoesNotApply)
    };
    let refused = disagreement(Some(0.0003)).unwrap();
    assert!(refused.reason.contains("0.0003") && refused.reason.contains("0.001"), "{}", refused.reason);
    assert!(refused.help.contains("from: 0.0003"), "{}", refused.help);
    assert!(disagreement(Some(0.001)).is_none());
    assert!(disagreement(None).is_none(), "what can't be read isn't compared");
}

#[test]
fn every_code_has_a_case() {
    let shown: BTreeSet<&str> = cases().iter().map(|case| case.code).chain(["candidate_missing"]).collect();
    let all: BTreeSet<&str> = RefusalCode::ALL.iter().map(|code| code.as_str()).collect();
    let missing: Vec<&&str> = all.difference(&shown).collect();
    let unknown: Vec<&&str> = shown.difference(&all).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "without a case: {missing:?}; without a gate: {unknown:?}"
    );
}

#[test]
fn words_of_gates_and_codes_are_read_as_they_are_written() {
    for code in RefusalCode::ALL {
        assert_eq!(
            (RefusalCode::from_word(code.as_str()), json!(code)),
            (Some(*code), json!(code.to_string()))
        );
    }
    assert!(RefusalCode::ALL.is_sorted_by_key(|code| code.as_str()));
    assert_eq!(names(Purpose::Launch), GateName::ALL);
}

#[test]
fn a_purpose_passes_all_gates_of_the_lesser_one() {
    let [plan, validate, launch] =
        PURPOSES.map(|purpose| names(purpose).into_iter().collect::<BTreeSet<_>>());
    assert!(plan.is_subset(&validate) && validate.is_subset(&launch));
    assert_eq!((plan.len(), validate.len(), launch.len()), (5, 26, 31));
}

/// A candidate that changes a reward without the reflection that this takes.
fn without_reflection(texts: &mut Texts) {
    patched(texts, PLAIN_PATCH);
    remove(&mut texts.candidate, "/requirements");
}

#[test]
fn an_exception_counts_only_with_the_approval_of_its_section_and_a_reason() {
    let codes = |texts: &Texts| World::ready(texts).codes(Purpose::Launch);
    let mut texts = Texts::supervised();
    without_reflection(&mut texts);
    assert_eq!(codes(&texts), BTreeSet::from(["requirement_missing"]));

    let mut excepted = texts.clone();
    except(&mut excepted, "scope", "requirement_missing");
    assert_eq!(codes(&excepted), BTreeSet::new());

    let mut elsewhere = texts.clone();
    except(&mut elsewhere, "budget", "requirement_missing");
    assert_eq!(codes(&elsewhere), BTreeSet::from(["requirement_missing"]));

    let mut other = texts.clone();
    except(&mut other, "scope", "evidence_missing");
    assert_eq!(codes(&other), BTreeSet::from(["requirement_missing"]));

    // A word of another version of rlx is kept, and counts for nothing.
    let mut newer = texts.clone();
    except(&mut newer, "scope", "of_a_newer_version");
    assert_eq!(codes(&newer), BTreeSet::from(["requirement_missing"]));

    for blank in ["", "  ", "TODO", "-"] {
        let mut texts = excepted.clone();
        set(&mut texts.contract, "/exceptions/2/reason", json!(blank));
        assert!(!codes(&texts).is_empty(), "{blank:?}");
    }
    let mut blank = excepted.clone();
    set(&mut blank.contract, "/exceptions/2/reason", json!(" "));
    assert!(codes(&blank).contains("requirement_missing"));

    // Approved, and then scope alone is taken back, or never was approved.
    let mut world = World::ready(&excepted);
    let targets = vec![Target::Section(Section::Scope)];
    let voided = Voided { targets, reason: "seen to be void".into() };
    world.push(Event::Voided(voided));
    assert!(world.codes(Purpose::Launch).is_superset(&["requirement_missing", "approval_void"].into()));
    world.approve(&[Target::Section(Section::Scope)], Assurance::Terminal);
    assert!(!world.codes(Purpose::Launch).contains("requirement_missing"));
    let fresh = World::opened(&excepted);
    assert!(fresh.codes(Purpose::Validate).contains("requirement_missing"));
}

#[test]
fn what_nobody_can_except_stays_refused() {
    let sections: Vec<String> = Section::ALL.iter().map(Section::to_string).collect();
    for case in cases() {
        let mut texts = Texts::supervised();
        (case.texts)(&mut texts);
        let mut plain = World::ready(&texts);
        (case.after)(&mut plain);
        let fixed: BTreeSet<&str> = plain
            .refusals(case.purpose)
            .into_iter()
            .filter(|refusal| refusal.section.is_none())
            .map(|refusal| refusal.code.as_str())
            .collect();
        for code in &fixed {
            for section in &sections {
                except(&mut texts, section, code);
            }
        }
        let mut world = World::ready(&texts);
        (case.after)(&mut world);
        let left = world.codes(case.purpose);
        assert!(fixed.is_subset(&left), "{}: {fixed:?} became {left:?}", case.code);
    }
}

#[test]
fn evidence_is_a_run_a_record_or_a_file_that_is_there() {
    let refused = |named: &[&str]| {
        let mut texts = Texts::supervised();
        set(&mut texts.candidate, "/evidence", json!(named));
        let world = World::ready(&texts);
        let refusals = world.refusals(Purpose::Validate);
        assert!(refusals.iter().all(|refusal| refusal.code == RefusalCode::EvidenceUnknown), "{refusals:?}");
        refusals.into_iter().map(|refusal| refusal.evidence).collect::<Vec<_>>()
    };
    assert_eq!(refused(&[]), [""; 0]);
    assert_eq!(refused(&["baseline-smoke-0", "record:0", "record:7", "loops/1/packet.json"]), [""; 0]);
    let records = World::ready(&Texts::supervised()).study.ledger.records.len();
    let next = format!("record:{records}");
    let unknown = [
        "baseline-smoke-1",
        &next,
        "record:",
        "record:-1",
        "record: 1",
        "loops/2/packet.json",
        "a hunch",
        "",
    ];
    let places: Vec<String> =
        (0..unknown.len()).map(|index| format!("candidates/lower-lr.yaml: evidence[{index}]")).collect();
    assert_eq!(refused(&unknown), places);
}

#[test]
fn runs_of_another_plan_and_lost_runs_are_paid_for_again() {
    let mut texts = Texts::supervised();
    // Six of the baseline and fourteen of the candidate, its audit seeds included.
    set(&mut texts.contract, "/budget/runs", json!(20));
    let ready = World::ready(&texts);
    let plan = ready.view.asked_plan.unwrap();
    let first = intent("lower-lr", Phase::Smoke, 1, plan);
    for (end, expected) in [(RunEnd::Ok, BTreeSet::new()), (RunEnd::Lost, BTreeSet::from(["over_budget"]))] {
        let mut world = ready.clone();
        world.run(&first, end);
        assert_eq!(world.codes(Purpose::Launch), expected, "{end}");
    }
    let mut world = ready;
    world.run(&first, RunEnd::Failed);
    let candidate = slug("lower-lr");
    let inputs = Digest::hash(b"inputs");
    let (phase, verdict) = (Phase::Smoke, Verdict::Debug);
    world.push(Event::Completed(Completed { candidate: candidate.clone() }));
    world.push(Event::Judged(Judged {
        candidate: candidate.clone(),
        phase,
        verdict,
        inputs,
        score: None,
        reason: String::new(),
        failed_checks: Vec::new(),
        code: None,
    }));
    world.push(Event::Reopened(Reopened { candidate, reason: "debugged".into() }));
    assert_eq!(world.codes(Purpose::Validate), BTreeSet::from(["over_budget"]));
}
