//! What follows from verdicts for the study, and how often studies err.

use proptest::prelude::*;
use rlxp_govern::documents::Phase;
use rlxp_govern::judge::{Bounds, Judgement, judge};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::Decision;
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::{Action, next};
use rlxp_types::Digest;
use serde_json::json;

use super::super::common::{World, ended, intent, launched, slug};
use super::super::texts::set;
use super::studied::*;

#[test]
fn three_misses_of_a_kind_narrow_the_study() {
    let mut texts = texts();
    set(&mut texts.contract, "/statistics/candidates", json!(9));
    let mut study = Studied::new(&texts);
    let mut decisions = Vec::new();
    for (index, id) in [ID, "one", "two"].into_iter().enumerate() {
        if index > 0 {
            let mut text = texts.candidate.clone();
            set(&mut text, "/id", json!(id));
            set(&mut text, "/changes/0/to", json!(0.0009 + index as f64));
            study.candidate(&text);
        }
        let from = 100 + 10 * index as u64;
        for seed in from..from + 5 {
            study.ran(id, Phase::Confirm, seed, Some(reference_score(seed) - 30.0));
        }
        let judged = judge(&study.world.study, &slug(id), &study.facts, &mut Bounds::from_records());
        let Judgement::Found(found) = judged else { panic!("{judged:?}") };
        found.records().into_iter().for_each(|event| study.world.push(event));
        decisions.push(found.decided.unwrap().decision);
    }
    assert_eq!(decisions, [Decision::Continue, Decision::Continue, Decision::Narrow]);
}

#[test]
fn the_last_planned_candidate_stops_the_study() {
    let mut texts = texts();
    set(&mut texts.contract, "/statistics/candidates", json!(1));
    let mut study = Studied::new(&texts);
    study.confirm(100, 5, -30.0);
    assert_eq!(study.judge().decided.unwrap().decision, Decision::Stop);
    study.world.push(Event::Reported(rlxp_govern::ledger::event::Reported { digest: Digest::hash(b"") }));
    let step = next(&study.world.study);
    assert_eq!(step.action, Action::HandOff, "{step:?}");
    assert!(step.reason.contains("planned candidate was confirmed"), "{step:?}");
}

/// With two places, a live run doesn't hide the next launch; with both taken it is watched.
#[test]
fn a_live_run_leaves_the_other_place_to_the_next() {
    let mut study = Studied::new(&texts());
    study.world.approve_candidate();
    let start = |study: &mut Studied, seed| {
        let intent = intent(ID, Phase::Confirm, seed, study.plan);
        study.world.push(Event::LaunchIntent(intent.clone()));
        study.world.push(launched(&intent.key));
        intent.key
    };
    let first = start(&mut study, 100);
    let step = next(&study.world.study);
    assert_eq!(
        (step.action, step.command.as_deref()),
        (Action::Launch, Some("rlx launch lower-lr")),
        "{step:?}"
    );
    assert_eq!(step.reason, "a place is free, and 4 more runs of lower-lr can start");
    assert_eq!(study.not_yet().code, "run_under_way");
    start(&mut study, 101);
    assert_eq!(next(&study.world.study).action, Action::Monitor);
    // What ended is read first.
    study.world.push(ended(&first, RunEnd::Ok));
    assert_eq!(next(&study.world.study).action, Action::Extract);
}

/// The whole schedule has to fit: every look and the audit seeds of an acceptance at the most expensive one.
#[test]
fn the_budget_has_to_hold_the_whole_schedule() {
    use rlxp_govern::shortfall::shortfalls;
    let mut study = Studied::new(&texts());
    let lacks = |study: &Studied, left: u64| {
        let mut contract = study.world.study.contract().unwrap().clone();
        contract.budget.runs = study.world.study.state().tally.spent.runs + left;
        let phases = &study.world.study.state().candidates[ID].validated.phases;
        shortfalls(study.world.study.state(), &slug(ID), phases, &contract).len()
    };
    // Fifteen confirm seeds and five audit seeds; accepted at five, ten audit seeds are fewer.
    assert_eq!((lacks(&study, 20), lacks(&study, 19)), (0, 1));
    study.confirm(100, 5, 40.0);
    assert_eq!((lacks(&study, 15), lacks(&study, 14)), (0, 1));
    study.judge();
    assert_eq!((lacks(&study, 10), lacks(&study, 9)), (0, 1));
    study.audit(10, 40.0);
    assert_eq!(lacks(&study, 0), 0);
}

/// Whole studies of candidates that equal the incumbent, by the same decisions: at most one in twenty accepts any.
#[test]
fn equal_candidates_are_accepted_in_at_most_one_study_in_twenty() {
    use rlxp_govern::judge::simulate::{Returns, null_studies};
    let texts = texts();
    let world = World::opened(&texts);
    let mut spec = world.study.files.metric_spec.typed().unwrap().clone();
    // As good as none, so that it prevents nothing.
    spec.smallest_effect = 1e-9;
    spec.failure_score = -1000.0;
    let mut schedule = world.study.contract().unwrap().statistics.schedule();
    schedule.candidates = 5;
    let repetitions = 500;
    // Two standard errors of a share of 5%.
    let most = 0.05 + 2.0 * (0.05 * 0.95 / repetitions as f64).sqrt();
    for returns in [Returns::Gaussian, Returns::Skewed, Returns::SkewedFailing(0.2)] {
        let played = null_studies(&schedule, &spec, returns, repetitions, 7);
        assert_eq!(played.studies, repetitions);
        assert!(played.error() <= most, "{returns:?}: {played:?}");
        assert!(played.runs > repetitions * (15 + 5 * 5), "{played:?}");
    }
    // The same decisions do accept, where a look is too easy.
    let loose = rlxp_govern::documents::Schedule { alpha: 0.2, candidates: 5, ..schedule };
    assert!(null_studies(&loose, &spec, Returns::Gaussian, repetitions, 7).with_acceptance > 25);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Runs end and are read in any order; the verdict and the digest of its inputs stay the same.
    #[test]
    fn the_order_of_ends_and_evidence_changes_nothing(
        order in Just((0..5usize).collect::<Vec<_>>()).prop_shuffle(),
        reading in Just((0..5usize).collect::<Vec<_>>()).prop_shuffle(),
        gain in prop_oneof![Just(40.0), Just(-30.0), Just(0.0)],
    ) {
        let texts = texts();
        let play = |order: &[usize], reading: &[usize]| {
            let mut study = Studied::new(&texts);
            let intents: Vec<_> = (100..105).map(|seed| intent(ID, Phase::Confirm, seed, study.plan)).collect();
            for intent in &intents {
                study.world.push(Event::LaunchIntent(intent.clone()));
                study.world.push(launched(&intent.key));
            }
            for index in order {
                study.world.push(ended(&intents[*index].key, RunEnd::Ok));
            }
            for index in reading {
                let seed = intents[*index].seed;
                study.evidence(&intents[*index].key, &[("mean-return", Some(reference_score(seed) + gain))]);
            }
            study.found()
        };
        let straight: Vec<usize> = (0..5).collect();
        prop_assert_eq!(play(&order, &reading), play(&straight, &straight));
    }
}
