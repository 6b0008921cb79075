//! Guardrails, rollback metrics and what is to be debugged.

use rlxp_govern::documents::Phase;
use rlxp_govern::judge::{Bounds, Judgement, judge};
use rlxp_govern::ledger::event::{Decision, LookCall, Verdict};
use rlxp_govern::machine::{CandidateState, RunEnd};
use serde_json::json;

use super::super::common::{intent, slug};
use super::super::texts::{Texts, set};
use super::studied::*;

fn with_guardrail(texts: &mut Texts, list: &str, allowed: f64) {
    let metric = json!({
        "name": "falls", "source": {"format": "json", "file": "eval/scores.json", "pointer": "/falls"},
        "direction": "lower", "aggregation": "mean",
    });
    set(
        &mut texts.metric_spec,
        &format!("/{list}"),
        json!([{"metric": metric, "allowed_regression": allowed}]),
    );
    if list == "guardrails" {
        set(&mut texts.contract, "/metrics/guardrails", json!(["falls"]));
    }
}

/// A study in which every run has falls, those of the candidate with a shift.
fn with_falls(texts: &Texts, shift: f64) -> Studied {
    let mut study = Studied::new(texts);
    // What was read is replaced by the same with falls.
    let baseline: Vec<u64> = BASELINE.collect();
    for seed in baseline {
        let key = format!("baseline-confirm-{seed}");
        study.evidence(&key, &[("mean-return", Some(reference_score(seed))), ("falls", Some(falls(seed)))]);
    }
    for seed in 100..105 {
        let values =
            [("mean-return", Some(reference_score(seed) + 40.0)), ("falls", Some(falls(seed) + shift))];
        study.ran_with(ID, Phase::Confirm, seed, &values);
    }
    study
}

fn falls(seed: u64) -> f64 {
    (seed * 3 % 5) as f64
}

#[test]
fn a_guardrail_that_is_not_shown_to_hold_asks_for_more_seeds() {
    let mut texts = texts();
    with_guardrail(&mut texts, "guardrails", 5.0);
    let held = with_falls(&texts, 0.0).found();
    assert!(held.guardrails[0].holds, "{held:?}");
    assert_eq!(held.looked.unwrap().call, LookCall::Accept);

    let mut study = with_falls(&texts, 30.0);
    let found = study.judge();
    assert!(!found.guardrails[0].holds && found.guardrails[0].difference.unwrap() < -20.0);
    assert_eq!(found.looked.unwrap().call, LookCall::More);
    // At the last look it stays undecided.
    for (from, to) in [(105, 110), (110, 115)] {
        for seed in from..to {
            let values = [("mean-return", Some(reference_score(seed) + 40.0)), ("falls", Some(40.0))];
            study.ran_with(ID, Phase::Confirm, seed, &values);
        }
        if to == 110 {
            study.judge();
        }
    }
    let found = study.judge();
    assert_eq!(found.looked.as_ref().unwrap().call, LookCall::Undecided);
    assert_eq!(verdict(&found), Verdict::Inconclusive);
    assert!(found.judged.unwrap().reason.contains("falls is not shown to hold"));
}

/// Training knows its seed, and so whether it is audited: what held at the look has to hold on the audit seeds too.
#[test]
fn a_guardrail_that_breaks_on_the_audit_seeds_keeps_it_from_being_accepted() {
    let mut texts = texts();
    with_guardrail(&mut texts, "guardrails", 5.0);
    for (shift, expected) in [(0.0, Verdict::Accepted), (30.0, Verdict::Inconclusive)] {
        let mut study = with_falls(&texts, 0.0);
        assert_eq!(study.judge().looked.unwrap().call, LookCall::Accept);
        for seed in 200..210 {
            let values =
                [("mean-return", Some(reference_score(seed) + 40.0)), ("falls", Some(falls(seed) + shift))];
            study.ran_with(ID, Phase::IncumbentValidation, seed, &values);
        }
        let found = study.judge();
        assert_eq!(verdict(&found), expected, "{found:?}");
        assert_eq!(found.judged.unwrap().reason.contains("falls"), expected == Verdict::Inconclusive);
    }
}

#[test]
fn a_seed_without_its_guardrail_counts_as_the_worst() {
    let mut texts = texts();
    with_guardrail(&mut texts, "guardrails", 5.0);
    let mut study = with_falls(&texts, 0.0);
    for seed in 100..105 {
        study.evidence(
            &format!("{ID}-confirm-{seed}"),
            &[("mean-return", Some(reference_score(seed) + 40.0))],
        );
    }
    let found = study.found();
    assert!(!found.guardrails[0].holds, "{:?}", found.guardrails);
    assert_eq!(found.looked.unwrap().call, LookCall::More);
}

#[test]
fn a_rollback_metric_that_fell_undoes_the_acceptance() {
    let mut texts = texts();
    with_guardrail(&mut texts, "rollback", 5.0);
    for (shift, reverted) in [(0.0, false), (30.0, true)] {
        let mut study = with_falls(&texts, shift);
        study.judge();
        for seed in 200..210 {
            let values =
                [("mean-return", Some(reference_score(seed) + 40.0)), ("falls", Some(falls(seed) + shift))];
            study.ran_with(ID, Phase::IncumbentValidation, seed, &values);
        }
        let found = study.judge();
        assert_eq!(verdict(&found), Verdict::Accepted);
        assert_eq!(found.decided.unwrap().decision == Decision::RollBack, reverted);
        assert_eq!(study.state() == CandidateState::Reverted, reverted);
        assert_eq!(study.world.study.state().incumbent.is_none(), reverted);
    }
}

#[test]
fn a_short_phase_without_its_metric_and_a_failed_smoke_run_are_debugged() {
    let texts = texts();
    let mut study = Studied::new(&texts);
    let mut second = texts.candidate.clone();
    set(&mut second, "/id", json!("higher-lr"));
    set(&mut second, "/changes/0/to", json!(0.0009));
    study.plan = validate(&mut study.world, &second);
    study.ran("higher-lr", Phase::Smoke, 0, Some(0.0));
    study.ran("higher-lr", Phase::Short, 0, Some(1.0));
    study.ran("higher-lr", Phase::Short, 1, Some(1.0));
    study.ran("higher-lr", Phase::Short, 2, None);
    let of = |study: &Studied, id: &str| {
        judge(&study.world.study, &slug(id), &study.facts, &mut Bounds::from_records())
    };
    let Judgement::Found(found) = of(&study, "higher-lr") else { panic!() };
    assert_eq!((verdict(&found), found.phase), (Verdict::Debug, Phase::Short));
    assert!(found.judged.as_ref().unwrap().reason.contains("has no mean-return"), "{found:?}");

    let mut third = texts.candidate.clone();
    set(&mut third, "/id", json!("no-lr"));
    study.plan = validate(&mut study.world, &third);
    let intent = intent("no-lr", Phase::Smoke, 0, study.plan);
    study.world.run(&intent, RunEnd::Failed);
    let Judgement::Found(found) = of(&study, "no-lr") else { panic!() };
    assert_eq!((verdict(&found), found.phase), (Verdict::Debug, Phase::Smoke));
    found.records().into_iter().for_each(|event| study.world.push(event));
    assert_eq!(study.world.study.state().candidates["no-lr"].state, CandidateState::Debug);
}
