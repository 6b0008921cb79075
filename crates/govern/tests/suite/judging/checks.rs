//! What keeps a candidate from being accepted or judged.

use rlxp_govern::documents::{Phase, Reading};
use rlxp_govern::judge::{Bounds, CheckCode, CheckResult, Judgement, judge, runs_needed};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{Decision, LookCall, Verdict};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::section::{Section, Target};
use rlxp_types::Digest;
use serde_json::json;

use super::super::common::{intent, slug};
use super::super::texts::set;
use super::studied::*;

#[test]
fn without_a_baseline_nothing_is_accepted() {
    let mut study = Studied::without_baseline(&texts());
    study.confirm(100, 5, 40.0);
    let found = study.judge();
    assert_eq!(found.looked, None);
    assert_eq!(verdict(&found), Verdict::Inconclusive);
    assert_eq!(found.judged.unwrap().reason, "without a baseline nothing is accepted");
}

#[test]
fn each_check_that_fails_keeps_a_candidate_from_being_accepted() {
    type Break = fn(&mut Studied);
    let breaks: [(CheckCode, Break); 5] = [
        (CheckCode::FilesChanged, |study| {
            let facts = study.facts.runs.get_mut("baseline-confirm-181").unwrap();
            facts.changed.insert("eval/scores.json".into(), "has changed since it was read".into());
        }),
        // A run that was not checked at all.
        (CheckCode::FilesChanged, |study| drop(study.facts.runs.remove("lower-lr-confirm-102"))),
        (CheckCode::TrainedIdentical, |study| {
            let trained = study.facts.runs["lower-lr-confirm-100"].trained;
            study.facts.runs.get_mut("lower-lr-confirm-104").unwrap().trained = trained;
        }),
        (CheckCode::SeedsExtra, |study| {
            // The pools were changed afterwards.
            let Reading::Read(spec) = &mut study.world.study.files.metric_spec else { panic!() };
            spec.typed.protocol.seeds.confirm.from = 101;
        }),
        (CheckCode::BestOfMany, |study| {
            let Reading::Read(spec) = &mut study.world.study.files.metric_spec else { panic!() };
            spec.typed.primary.aggregation = rlxp_govern::documents::Aggregation::Max;
            spec.typed.primary.window = None;
            let (file, pointer) = ("eval/scores.jsonl".to_owned(), "/score".to_owned());
            spec.typed.primary.source =
                rlxp_govern::documents::Extractor::Jsonl { file, pointer, step: None };
        }),
    ];
    for (code, damage) in breaks {
        let mut study = Studied::new(&texts());
        study.confirm(100, 5, 40.0);
        assert!(study.found().judged.is_none(), "it would be audited");
        damage(&mut study);
        let found = study.judge();
        let failed: Vec<CheckCode> = found
            .checks
            .iter()
            .filter(|check| check.result == CheckResult::Failed)
            .map(|check| check.code)
            .collect();
        assert_eq!(failed, [code]);
        let judged = found.judged.unwrap();
        assert_eq!((judged.verdict, judged.failed_checks), (Verdict::Inconclusive, vec![code.to_string()]));
        assert_eq!(found.decided.unwrap().decision, Decision::Escalate);
    }
}

/// What the two sides were evaluated with, and how long they could train, comes from records.
#[test]
fn sides_that_differ_are_not_compared() {
    type Change = fn(&mut Event);
    let changes: [(CheckCode, Change); 4] = [
        (CheckCode::ProtocolDiffers, |event| part(event, "protocol")),
        (CheckCode::EvaluatorDiffers, |event| part(event, "protected_files")),
        (CheckCode::ProgramsDiffer, |event| part(event, "programs")),
        (CheckCode::BudgetDiffers, |event| {
            if let Event::LaunchIntent(intent) = event
                && intent.key == "baseline-confirm-183"
            {
                intent.reserve.wall_clock = 6000;
            }
        }),
    ];
    fn part(event: &mut Event, name: &str) {
        if let Event::Validated(validated) = event
            && validated.candidate.as_str() == "baseline"
        {
            assert!(validated.parts.insert(name.to_owned(), Digest::hash(b"another")).is_some(), "{name}");
        }
    }
    for (code, change) in changes {
        let mut study = Studied::new(&texts());
        study.confirm(100, 5, 40.0);
        let events: Vec<Event> =
            study.world.study.ledger.records.iter().map(|one| one.event.clone()).collect();
        study.world.study.ledger = rlxp_govern::ledger::read(b"");
        for mut event in events {
            change(&mut event);
            study.world.push(event);
        }
        let judged = study.found().judged.unwrap();
        assert_eq!((judged.verdict, judged.failed_checks), (Verdict::Inconclusive, vec![code.to_string()]));
    }
}

#[test]
fn runs_that_need_approval_block_judging_until_they_have_it() {
    let mut study = Studied::new(&texts());
    for seed in 100..105 {
        let mut intent = intent(ID, Phase::Confirm, seed, study.plan);
        intent.evaluator_exposed = true;
        study.world.run(&intent, RunEnd::Ok);
        study.evidence(&intent.key, &[("mean-return", Some(reference_score(seed) + 40.0))]);
    }
    let why = study.not_yet();
    assert_eq!(why.code, "run_not_approved");
    let command = why.command.unwrap();
    assert!(command.starts_with("rlx approve run:lower-lr-confirm-100 run:"), "{command}");
    let targets: Vec<Target> = (100..105).map(|seed| Target::Run(format!("{ID}-confirm-{seed}"))).collect();
    study.world.approve(&targets, study.world.study.required());
    assert_eq!(study.found().looked.unwrap().call, LookCall::Accept);
}

#[test]
fn only_what_was_approved_is_judged_by() {
    let mut study = Studied::new(&texts());
    study.confirm(100, 5, 40.0);
    let voided = rlxp_govern::ledger::event::Voided {
        targets: vec![Target::Section(Section::Metrics)],
        reason: "edited".into(),
    };
    study.world.push(Event::Voided(voided));
    assert_eq!(study.not_yet().code, "not_approved");
}

#[test]
fn a_run_whose_metrics_were_not_read_is_named() {
    let mut study = Studied::new(&texts());
    study.confirm(100, 4, 40.0);
    let intent = intent(ID, Phase::Confirm, 104, study.plan);
    study.world.run(&intent, RunEnd::Ok);
    let why = study.not_yet();
    assert_eq!(
        (why.code, why.command.as_deref()),
        ("metrics_unread", Some("rlx study extract lower-lr-confirm-104"))
    );
}

#[test]
fn bounds_of_an_earlier_look_are_taken_from_its_record() {
    let mut study = Studied::new(&texts());
    study.confirm(100, 5, -30.0);
    let first = study.judge().looked.unwrap();
    let mut second = texts().candidate;
    set(&mut second, "/id", json!("higher-lr"));
    set(&mut second, "/changes/0/to", json!(0.0009));
    study.candidate(&second);
    for seed in 110..115 {
        study.ran("higher-lr", Phase::Confirm, seed, Some(reference_score(seed)));
    }
    let with = |mut bounds: Bounds| {
        let judged = judge(&study.world.study, &slug("higher-lr"), &study.facts, &mut bounds);
        let Judgement::Found(found) = judged else { panic!("{judged:?}") };
        found.looked.unwrap()
    };
    let (recorded, simulated) = (with(Bounds::from_records()), with(Bounds::recomputed()));
    assert_eq!((recorded.accept, recorded.drop), (first.accept, first.drop));
    assert_eq!(recorded, simulated);
}

#[test]
fn the_runs_that_matter_are_the_candidates_and_those_it_is_compared_with() {
    let mut study = Studied::new(&texts());
    study.confirm(100, 5, 40.0);
    let keys = runs_needed(&study.world.study, &slug(ID));
    assert_eq!(keys.len(), 3 + 5 + 15);
    assert!(keys.iter().all(|key| study.facts.runs.contains_key(key)));
}
