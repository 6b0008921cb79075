//! The next step is one that can be taken, and a hand-off lasts until a person has acted.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rlxp_govern::documents::{Assurance, Phase};
use rlxp_govern::gate::Purpose;
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{
    Audited, Completed, Evidence, HandedOff, Judged, Note, Queued, Refused, Reported, Verdict,
};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::{Action, next, stale_plan};
use rlxp_govern::section::{Section, Target};
use rlxp_types::Digest;
use serde_json::json;

use super::common::{World, ended, evidence, intent, launched, slug, validated, view};
use super::texts::{Texts, set};

/// The candidate's runs come next: a baseline needs no verdict.
fn ready(texts: &Texts) -> World {
    let mut world = World::ready(texts);
    world.study.candidate_files.insert("lower-lr".into(), world.view.file);
    world
}

/// A baseline changes nothing, so there is nothing to judge.
#[test]
fn after_the_baseline_candidates_are_proposed_validated_and_launched() {
    let mut world = World::opened(&Texts::supervised());
    world.approve_sections();
    world.run_baseline();
    assert_eq!(next(&world.study).action, Action::Propose);
    world.study.candidate_files.insert("lower-lr".into(), world.view.file);
    assert_eq!(next(&world.study).action, Action::Validate);
    world.validate();
    world.approve_candidate();
    let step = next(&world.study);
    assert_eq!((step.action, step.command.as_deref()), (Action::Launch, Some("rlx launch lower-lr")));
}

/// After a revert or another acceptance no file has changed, so none is named and none is to be restored.
#[test]
fn another_incumbent_is_not_a_changed_file() {
    let mut world = World::opened(&Texts::supervised());
    world.approve_sections();
    world.run_baseline();
    world.validate();
    let said = |changed: &[&str]| {
        let changed: Vec<String> = changed.iter().map(|part| (*part).to_owned()).collect();
        stale_plan(&world.study, &slug("lower-lr"), &changed).unwrap()
    };
    let moved = said(&["code", "incumbent"]);
    assert_eq!(
        moved.reason,
        "lower-lr was validated against another incumbent; candidates are compared with baseline now"
    );
    assert_eq!(moved.command.as_deref(), Some("rlx candidate validate lower-lr"));
    assert!(
        said(&["code", "incumbent", "programs"])
            .reason
            .ends_with("; changed since lower-lr was validated: programs")
    );
    assert_eq!(said(&["code"]).reason, "changed since lower-lr was validated: code");
}

/// A baseline of an earlier contract that ended in its short phase never becomes the baseline, so another is planned.
#[test]
fn a_baseline_that_ended_in_its_short_phase_is_followed_by_another() {
    let texts = Texts::supervised();
    let mut world = World::opened(&texts);
    world.approve_sections();
    let mut candidate = texts.baseline();
    set(&mut candidate, "/phases", texts.candidate["phases"].clone());
    let view = view(&candidate);
    let validated = validated(&world.study, &view).unwrap();
    let plan = validated.plan;
    world.study.candidate_files.insert("baseline".into(), view.file);
    world.push(Event::Validated(validated));
    world.run(&intent("baseline", Phase::Smoke, 0, plan), RunEnd::Ok);
    let short = intent("baseline", Phase::Short, 0, plan);
    world.run(&short, RunEnd::Failed);
    world.push(evidence(&short.key, None));
    world.push(Event::Completed(Completed { candidate: slug("baseline") }));
    let step = next(&world.study);
    let command = "rlx candidate new baseline-2 --kind baseline";
    assert_eq!((step.action, step.command.as_deref()), (Action::PlanBaseline, Some(command)), "{step:?}");
}

fn judge(world: &mut World, candidate: &str, verdict: Verdict) {
    let (candidate, inputs) = (slug(candidate), Digest::hash(b"inputs"));
    world.push(Event::Judged(Judged {
        candidate,
        phase: Phase::Smoke,
        verdict,
        inputs,
        score: Some(250.25),
        reason: String::new(),
        failed_checks: Vec::new(),
        code: None,
    }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    /// Fourteen runs, of which the longest take two hours each: the budgets lie around what they want.
    #[test]
    fn a_launch_is_offered_exactly_when_the_budget_holds_it(
        runs in 10..20u64, hours in 20..28u64, gpu in 3..7u64, disk in 10..20u64, ran in 0..3usize,
    ) {
        let mut texts = Texts::supervised();
        set(&mut texts.contract, "/budget/runs", json!(runs));
        set(&mut texts.contract, "/budget/wall_clock", json!(format!("{hours}h")));
        set(&mut texts.contract, "/budget/gpu_time", json!(format!("{gpu}h")));
        set(&mut texts.contract, "/budget/disk", json!(format!("{disk}GiB")));
        set(&mut texts.contract, "/budget/per_run/disk", json!("1GiB"));
        let mut world = ready(&texts);
        let first = intent("lower-lr", Phase::Smoke, 0, world.view.asked_plan.unwrap());
        match ran {
            0 => {}
            1 => world.run(&first, RunEnd::Lost),
            _ => {
                world.run(&first, RunEnd::Ok);
                let values = BTreeMap::from([(slug("mean-return"), Some(255.5))]);
                let evidence = Evidence { key: first.key, values, files: BTreeMap::new(), reasons: BTreeMap::new(), declared: None };
                world.push(Event::Evidence(evidence));
            }
        }
        let refused = world.codes(Purpose::Launch);
        prop_assert!(refused.iter().all(|code| *code == "over_budget"), "{refused:?}");
        let step = next(&world.study);
        let expected = if refused.is_empty() { Action::Launch } else { Action::HandOff };
        prop_assert_eq!(step.action, expected, "{}", step.reason);
        if !refused.is_empty() {
            let said = world.refusals(Purpose::Launch).into_iter().map(|refusal| refusal.reason);
            let said: Vec<String> = said.filter(|reason| !step.reason.contains(reason.as_str())).collect();
            prop_assert!(said.is_empty(), "{said:?} is missing in {}", step.reason);
        }
    }
}

#[test]
fn only_an_approval_of_anything_but_closing_ends_a_hand_off() {
    let mut handed = ready(&Texts::supervised());
    let before = next(&handed.study);
    assert_eq!(before.action, Action::Launch, "{}", before.reason);
    handed.push(Event::HandedOff(HandedOff { reason: "the simulator was updated".into() }));
    let waits = |world: &World| next(&world.study).action == Action::Wait;
    assert!(waits(&handed));
    let sections = Section::ALL.into_iter().map(Target::Section);
    for target in sections.chain([Target::Candidate(slug("lower-lr")), Target::Close]) {
        let mut world = handed.clone();
        world.approve(std::slice::from_ref(&target), Assurance::Terminal);
        let action = next(&world.study).action;
        let expected = if target == Target::Close { Action::Wait } else { Action::Launch };
        assert_eq!(action, expected, "{target}");
    }
    // A remark, a refusal, another audit, a plan, a run, a verdict and a report are not decisions
    // of a person.
    let mut world = handed;
    let step = |world: &World| next(&world.study).action;
    world.push(Event::Note(Note { text: "go on".into() }));
    world.push(Event::Refused(Refused {
        what: "close".into(),
        codes: Vec::new(),
        detail: "no".into(),
        draft: None,
    }));
    world.push(Event::Audited(Audited { adapter: Digest::hash(b"adapter"), claims: 3 }));
    world.push(Event::Queued(Queued { digest: Digest::hash(b"queue"), jobs: 3 }));
    assert!(waits(&world));
    // Started work is still finished.
    let run = intent("lower-lr", Phase::Smoke, 0, world.view.asked_plan.unwrap());
    world.push(Event::LaunchIntent(run.clone()));
    assert_eq!(step(&world), Action::Monitor);
    world.push(launched(&run.key));
    world.push(ended(&run.key, RunEnd::Ok));
    // A smoke run is neither read nor judged.
    assert!(waits(&world));
    let run = intent("lower-lr", Phase::Short, 0, world.view.asked_plan.unwrap());
    world.push(Event::LaunchIntent(run.clone()));
    world.push(launched(&run.key));
    world.push(ended(&run.key, RunEnd::Failed));
    assert_eq!(step(&world), Action::Extract);
    world.push(evidence(&run.key, None));
    world.push(Event::Completed(Completed { candidate: slug("lower-lr") }));
    assert_eq!(step(&world), Action::Judge);
    judge(&mut world, "lower-lr", Verdict::Debug);
    assert_eq!(step(&world), Action::Report);
    world.push(Event::Reported(Reported { digest: Digest::hash(b"report.md") }));
    assert!(waits(&world));
}
