//! From evidence to looks, verdicts and decisions.
//!
//! Long, because every rule of judging is tested on the one small study that is built here.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rlxp_govern::documents::{Phase, Reading};
use rlxp_govern::judge::{
    Bounds, CheckCode, CheckResult, Facts, Findings, Judgement, NotYet, RunFacts, judge, runs_needed,
};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{Decision, Evidence, LookCall, Verdict};
use rlxp_govern::machine::{CandidateState, RunEnd};
use rlxp_govern::next::{Action, next};
use rlxp_govern::queue::{JobStatus, Queue};
use rlxp_govern::section::{Section, Target};
use rlxp_types::Digest;
use serde_json::{Value, json};

use super::common::{World, ended, intent, launched, slug, validated, view};
use super::texts::{Texts, remove, set};

const ID: &str = "lower-lr";
/// Confirm seeds of the baseline, of which there are fifteen.
const BASELINE: std::ops::Range<u64> = 180..195;

/// Three looks at 5, 10 and 15 seeds against 15, and one planned candidate, so that bounds are quick to simulate.
fn texts() -> Texts {
    let mut texts = Texts::supervised();
    let statistics = json!({"alpha": 0.05, "screen_seeds": 3, "candidates": 2, "incumbent_seeds": 15, "looks": [5, 10, 15]});
    set(&mut texts.contract, "/statistics", statistics);
    set(&mut texts.contract, "/budget/runs", json!(200));
    remove(&mut texts.metric_spec, "/guardrails/0");
    remove(&mut texts.metric_spec, "/rollback/0");
    set(&mut texts.contract, "/metrics/guardrails", json!([]));
    set(&mut texts.metric_spec, "/primary/source/file", json!("eval/scores.json"));
    set(&mut texts.candidate, "/phases/2/seeds", json!(15));
    set(&mut texts.candidate, "/phases/3/seeds", json!(10));
    texts
}

/// Scores around 250 that differ by seed.
fn reference_score(seed: u64) -> f64 {
    250.0 + (seed * 7 % 15) as f64
}

struct Studied {
    world: World,
    facts: Facts,
    plan: Digest,
}

impl Studied {
    /// The baseline has run, and the candidate has passed its smoke and short phases.
    fn new(texts: &Texts) -> Self {
        Self::with_baseline(texts, |seed| Some(reference_score(seed)))
    }

    fn with_baseline(texts: &Texts, score: impl Fn(u64) -> Option<f64>) -> Self {
        let mut world = World::opened(texts);
        world.approve_sections();
        let mut text = texts.baseline();
        set(&mut text, "/phases/1/seeds", json!(15));
        let plan = validate(&mut world, &text);
        let mut studied = Self { world, facts: Facts::default(), plan };
        studied.ran("baseline", Phase::Smoke, 0, Some(0.0));
        for seed in BASELINE {
            studied.ran("baseline", Phase::Confirm, seed, score(seed));
        }
        studied.candidate(&texts.candidate);
        studied
    }

    /// Without a baseline, as an exception allows.
    fn without_baseline(texts: &Texts) -> Self {
        let mut world = World::opened(texts);
        world.approve_sections();
        let mut studied = Self { world, facts: Facts::default(), plan: Digest::hash(b"") };
        studied.candidate(&texts.candidate);
        studied
    }

    fn candidate(&mut self, text: &Value) {
        self.plan = validate(&mut self.world, text);
        let id = text["id"].as_str().unwrap().to_owned();
        self.ran(&id, Phase::Smoke, 0, Some(0.0));
        for seed in 0..3 {
            self.ran(&id, Phase::Short, seed, Some(1.0));
        }
    }

    /// A run that succeeds; without a value its metric is missing.
    fn ran(&mut self, id: &str, phase: Phase, seed: u64, value: Option<f64>) -> String {
        self.ran_with(id, phase, seed, &[("mean-return", value)])
    }

    fn ran_with(&mut self, id: &str, phase: Phase, seed: u64, values: &[(&str, Option<f64>)]) -> String {
        let intent = intent(id, phase, seed, self.plan);
        self.world.run(&intent, RunEnd::Ok);
        if phase != Phase::Smoke {
            self.evidence(&intent.key, values);
        }
        intent.key
    }

    fn evidence(&mut self, key: &str, values: &[(&str, Option<f64>)]) {
        self.world.push(evidence(key, values));
        self.facts.runs.insert(key.to_owned(), same_files(key));
    }

    fn failed(&mut self, id: &str, phase: Phase, seed: u64, end: RunEnd) {
        let intent = intent(id, phase, seed, self.plan);
        self.world.run(&intent, end);
        self.evidence(&intent.key, &[("mean-return", None)]);
    }

    /// Confirm seeds of the candidate from `from` on, each with a gain over the reference scores.
    fn confirm(&mut self, from: u64, count: u64, gain: f64) {
        for seed in from..from + count {
            self.ran(ID, Phase::Confirm, seed, Some(reference_score(seed) + gain));
        }
    }

    fn audit(&mut self, count: u64, gain: f64) {
        for seed in 200..200 + count {
            self.ran(ID, Phase::IncumbentValidation, seed, Some(reference_score(seed) + gain));
        }
    }

    fn judgement(&self) -> Judgement {
        judge(&self.world.study, &slug(ID), &self.facts, &mut Bounds::from_records())
    }

    #[track_caller]
    fn found(&self) -> Findings {
        match self.judgement() {
            Judgement::Found(findings) => *findings,
            Judgement::NotYet(why) => panic!("{why:?}"),
        }
    }

    #[track_caller]
    fn not_yet(&self) -> NotYet {
        match self.judgement() {
            Judgement::NotYet(why) => why,
            Judgement::Found(found) => panic!("{found:?}"),
        }
    }

    /// Judges and records what follows.
    #[track_caller]
    fn judge(&mut self) -> Findings {
        let found = self.found();
        found.records().into_iter().for_each(|event| self.world.push(event));
        found
    }

    fn state(&self) -> CandidateState {
        self.world.study.state().candidates[ID].state
    }

    fn stand(&self, phase: Phase) -> JobStatus {
        let queue = Queue::for_study(&self.world.study);
        let job = queue.jobs.iter().find(|job| job.candidate.as_str() == ID && job.phase == phase);
        job.expect("it has this phase").stand.clone()
    }

    fn wanted(&self, phase: Phase) -> (u64, u64) {
        let queue = Queue::for_study(&self.world.study);
        let job = queue.jobs.iter().find(|job| job.candidate.as_str() == ID && job.phase == phase).unwrap();
        (job.runs, job.left)
    }
}

fn validate(world: &mut World, text: &Value) -> Digest {
    let view = view(text);
    world.study.candidate_files.insert(view.file_name.clone(), view.file);
    let validated = validated(&world.study, &view).unwrap();
    let plan = validated.plan;
    world.push(Event::Validated(validated));
    plan
}

fn evidence(key: &str, values: &[(&str, Option<f64>)]) -> Event {
    Event::Evidence(Evidence {
        key: key.to_owned(),
        values: values.iter().map(|(name, value)| (slug(name), *value)).collect(),
        files: BTreeMap::from([("eval/scores.json".to_owned(), Digest::hash(key.as_bytes()))]),
        reasons: BTreeMap::new(),
        declared: None,
    })
}

fn same_files(key: &str) -> RunFacts {
    RunFacts { changed: BTreeMap::new(), trained: Some(Digest::hash(format!("trained {key}").as_bytes())) }
}

#[track_caller]
fn verdict(found: &Findings) -> Verdict {
    found.judged.as_ref().expect("a verdict").verdict
}

#[test]
fn a_better_candidate_is_looked_at_audited_and_accepted() {
    let mut study = Studied::new(&texts());
    assert_eq!(study.wanted(Phase::Confirm), (5, 5));
    assert_eq!(study.not_yet().code, "runs_left");
    study.confirm(100, 4, 40.0);
    assert_eq!(study.not_yet().reason, "4 of 5 confirm seeds of lower-lr have run");
    study.confirm(104, 1, 40.0);
    assert_eq!(study.stand(Phase::Confirm), JobStatus::Judge);
    assert_eq!(next(&study.world.study).command.as_deref(), Some("rlx study judge lower-lr"));

    let found = study.judge();
    let looked = found.looked.as_ref().unwrap();
    assert_eq!((looked.look, looked.looks, looked.seeds, looked.incumbent_seeds), (1, 3, 5, 15));
    assert_eq!((looked.call, looked.basis.as_deref()), (LookCall::Accept, Some("typical_score")));
    assert!(looked.z >= looked.accept && found.judged.is_none(), "{looked:?}");
    assert!(found.checks.iter().all(|check| check.result != CheckResult::Failed), "{:?}", found.checks);
    assert_eq!(study.state(), CandidateState::Launched);

    // Ten audit seeds bring its set to fifteen.
    assert_eq!(study.stand(Phase::Confirm), JobStatus::Passed);
    assert_eq!(study.wanted(Phase::IncumbentValidation), (10, 10));
    assert_eq!(
        next(&study.world.study).action,
        Action::RequestApproval,
        "its candidate is not approved here"
    );
    study.audit(9, 40.0);
    assert_eq!(study.not_yet().code, "runs_left");
    study.ran(ID, Phase::IncumbentValidation, 209, Some(300.5));
    let found = study.judge();
    assert_eq!(verdict(&found), Verdict::Accepted, "{found:?}");
    let kinds: Vec<&str> = found.records().iter().map(Event::kind).collect();
    assert_eq!(kinds, ["completed", "judged", "decided"]);
    assert_eq!(study.state(), CandidateState::Accepted);
    let score = found.judged.unwrap().score.unwrap();
    assert!((290.0..305.0).contains(&score), "{score}");
    assert_eq!(study.world.study.state().incumbent_score, Some(score));
    // The target of 300.5 may or may not be reached; a verdict is not given twice.
    assert_eq!(study.not_yet().code, "judged_before");
}

#[test]
fn an_equal_candidate_gets_every_look_it_may_and_is_never_accepted() {
    let mut study = Studied::new(&texts());
    study.confirm(100, 5, 0.0);
    let mut looks = Vec::new();
    for (from, count) in [(105, 5), (110, 5)] {
        let found = study.judge();
        looks.push(found.looked.unwrap().call);
        if looks.last() != Some(&LookCall::More) {
            break;
        }
        assert_eq!(study.wanted(Phase::Confirm).1, 5, "the next five seeds can start");
        study.confirm(from, count, 0.0);
    }
    if study.state() == CandidateState::Launched {
        looks.push(study.judge().looked.unwrap().call);
    }
    assert!(matches!(looks.last(), Some(LookCall::Drop | LookCall::Undecided)), "{looks:?}");
    assert!(matches!(study.state(), CandidateState::Inconclusive | CandidateState::Rejected));
}

#[test]
fn a_worse_candidate_is_dropped_and_rejected() {
    let mut study = Studied::new(&texts());
    study.confirm(100, 5, -30.0);
    let found = study.judge();
    assert_eq!(found.looked.as_ref().unwrap().call, LookCall::Drop);
    assert_eq!(verdict(&found), Verdict::Rejected, "{found:?}");
    let judged = found.judged.unwrap();
    assert!(judged.reason.contains("look 1 of 3 compared 5 seeds with 15"), "{}", judged.reason);
    assert_eq!(found.decided.unwrap().decision, Decision::Continue);
    assert_eq!(study.state(), CandidateState::Rejected);
}

/// Dropped, but the interval reaches beyond the smallest effect.
#[test]
fn what_is_dropped_without_being_shown_worse_is_inconclusive() {
    let mut texts = texts();
    set(&mut texts.metric_spec, "/smallest_effect", json!(0.5));
    let mut study = Studied::new(&texts);
    study.confirm(100, 5, -3.0);
    let found = study.judge();
    assert_eq!(found.looked.as_ref().unwrap().call, LookCall::Drop);
    assert!(found.compared.unwrap().high.unwrap() >= 0.5);
    assert_eq!(verdict(&found), Verdict::Inconclusive);
}

#[test]
fn lower_is_better_where_the_contract_says_so() {
    let mut texts = texts();
    set(&mut texts.metric_spec, "/primary/direction", json!("lower"));
    set(&mut texts.metric_spec, "/failure_score", json!(1000.5));
    for (gain, call) in [(-40.0, LookCall::Accept), (40.0, LookCall::Drop)] {
        let mut study = Studied::new(&texts);
        study.confirm(100, 5, gain);
        assert_eq!(study.found().looked.unwrap().call, call);
    }
}

#[test]
fn a_difference_that_is_too_small_is_not_accepted() {
    let mut texts = texts();
    set(&mut texts.metric_spec, "/smallest_effect", json!(100.5));
    let mut study = Studied::new(&texts);
    study.confirm(100, 5, 40.0);
    let looked = study.found().looked.unwrap();
    assert!(looked.z >= looked.accept);
    assert_eq!((looked.call, looked.basis), (LookCall::More, None));
}

#[test]
fn an_audit_that_contradicts_a_look_is_inconclusive() {
    let mut study = Studied::new(&texts());
    study.confirm(100, 5, 40.0);
    study.judge();
    study.audit(10, -10.0);
    let found = study.judge();
    assert_eq!(verdict(&found), Verdict::Inconclusive);
    assert!(found.judged.unwrap().reason.contains("audit seeds contradict"), "");
    assert_eq!(study.world.study.state().incumbent, None);
}

/// Interrupting an audit seed is a failed seed, not a way out.
#[test]
fn cancelled_audit_seeds_count_as_failed() {
    let mut study = Studied::new(&texts());
    study.confirm(100, 5, 40.0);
    study.judge();
    study.audit(4, 40.0);
    for seed in 204..210 {
        study.failed(ID, Phase::IncumbentValidation, seed, RunEnd::Cancelled);
    }
    let found = study.judge();
    assert_eq!(found.compared.unwrap().failed, 6);
    assert_eq!(verdict(&found), Verdict::Inconclusive, "{found:?}");
}

#[test]
fn what_was_accepted_is_the_reference_of_the_next() {
    let mut texts = texts();
    set(&mut texts.contract, "/stop_rules/0/value", json!(1000.5));
    let mut study = Studied::new(&texts);
    study.confirm(100, 5, 40.0);
    study.judge();
    study.audit(10, 40.0);
    assert_eq!(verdict(&study.judge()), Verdict::Accepted);

    let mut second = texts.candidate.clone();
    set(&mut second, "/id", json!("higher-lr"));
    set(&mut second, "/changes/0/to", json!(0.0009));
    study.candidate(&second);
    for seed in 110..115 {
        // Better than the baseline, and worse than what was accepted.
        study.ran("higher-lr", Phase::Confirm, seed, Some(reference_score(seed) + 10.0));
    }
    let judged = judge(&study.world.study, &slug("higher-lr"), &study.facts, &mut Bounds::from_records());
    let Judgement::Found(found) = judged else { panic!("{judged:?}") };
    assert_eq!(found.reference.as_ref().map(|id| id.as_str()), Some(ID));
    let looked = found.looked.as_ref().unwrap();
    assert_eq!((looked.incumbent_seeds, looked.call), (15, LookCall::Drop));
    assert_eq!(verdict(&found), Verdict::Rejected);
}

/// Two candidates at once: what was compared with the earlier incumbent can't be accepted over the new one.
#[test]
fn a_candidate_that_ran_beside_one_that_was_accepted_is_inconclusive() {
    let mut study = Studied::new(&texts());
    let own = study.plan;
    let mut second = texts().candidate;
    set(&mut second, "/id", json!("higher-lr"));
    set(&mut second, "/changes/0/to", json!(0.0009));
    study.candidate(&second);
    let other = study.plan;
    study.plan = own;
    study.confirm(100, 5, 40.0);
    study.judge();
    study.audit(10, 40.0);
    study.plan = other;
    study.ran("higher-lr", Phase::Confirm, 120, Some(500.0));
    study.plan = own;
    assert_eq!(verdict(&study.judge()), Verdict::Accepted);
    let judged = judge(&study.world.study, &slug("higher-lr"), &study.facts, &mut Bounds::from_records());
    let Judgement::Found(found) = judged else { panic!("{judged:?}") };
    assert_eq!(verdict(&found), Verdict::Inconclusive);
    assert!(found.judged.unwrap().reason.contains("another candidate became the incumbent"));
    assert_eq!(next(&study.world.study).command.as_deref(), Some("rlx study judge higher-lr"));
}

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
