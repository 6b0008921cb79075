//! What runs count for, and that interrupting them never pays off.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rlxp_govern::baseline::BaselineStatus;
use rlxp_govern::documents::{Candidate, MetricSpec, Phase, Slug};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::attempts::Side;
use rlxp_govern::ledger::event::LaunchIntent;
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next_run::{SeedChoice, draw, key, next_run};
use rlxp_govern::run_approval::unapproved;
use rlxp_govern::score::{
    Score, ScoreSource, SeedResult, compared, failure_score, results, score_run, values,
};
use rlxp_govern::section::Target;
use rlxp_govern::seeds::SeedRole;
use serde_json::json;

use super::common::{World, append, ended, evidence, intent, launched, slug};
use super::texts::{Texts, set};

/// How a run can be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    Cancelled,
    Killed,
    Limit,
    LostAfterTraining,
    LostBefore,
}

pub(crate) const INTERRUPTIONS: [Interruption; 5] = [
    Interruption::Cancelled,
    Interruption::Killed,
    Interruption::Limit,
    Interruption::LostAfterTraining,
    Interruption::LostBefore,
];

impl Interruption {
    pub(crate) fn end(self, key: &str) -> Event {
        let end = match self {
            Interruption::Cancelled => RunEnd::Cancelled,
            Interruption::Killed => RunEnd::Failed,
            Interruption::Limit => RunEnd::Limit,
            Interruption::LostAfterTraining | Interruption::LostBefore => RunEnd::Lost,
        };
        let mut event = ended(key, end);
        if let Event::RunEnded(ended) = &mut event {
            ended.killed_by = (self == Interruption::Killed).then_some(9);
            ended.after_training = match self {
                Interruption::LostAfterTraining => Some(true),
                Interruption::LostBefore => Some(false),
                _ => None,
            };
        }
        event
    }
}

/// What a seed would do if it were left alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Value(f64),
    Fails,
}

/// A seed of a phase: what would happen to it, and how often and how it is interrupted before.
pub(crate) type Seed = (Fate, Vec<Interruption>);

/// Runs a phase of a candidate to its end, as launches would, interrupting runs as planned. The n-th seed that is
/// intended has the n-th plan.
pub(crate) fn drive(world: &mut World, candidate: &Candidate, phase: Phase, plan: &[Seed]) {
    let mut order: Vec<u64> = Vec::new();
    let mut left: BTreeMap<u64, Vec<Interruption>> = BTreeMap::new();
    while let Some(run) = next_run(&world.study, candidate).filter(|run| run.phase == phase) {
        let seed = match run.seed {
            SeedChoice::Known(seed) => seed,
            SeedChoice::Draw => {
                let used = world.study.state().used_seeds.get(&run.role).cloned().unwrap_or_default();
                draw(world.study.files.metric_spec.typed().unwrap().protocol.seeds.pool(run.role), &used, 0)
                    .unwrap()
            }
        };
        if !order.contains(&seed) {
            order.push(seed);
            left.insert(seed, plan[order.len() - 1].1.clone());
        }
        let index = order.iter().position(|one| *one == seed).unwrap();
        let key = key(&candidate.id, candidate.revision, phase, seed, run.attempt);
        let digest = world.study.state().candidates[&candidate.id].validated.plan;
        let intent = LaunchIntent { key: key.clone(), ..intent(candidate.id.as_str(), phase, seed, digest) };
        world.push(Event::LaunchIntent(intent));
        world.push(launched(&key));
        let interruptions = left.get_mut(&seed).unwrap();
        if !interruptions.is_empty() {
            world.push(interruptions.remove(0).end(&key));
            continue;
        }
        match plan[index].0 {
            Fate::Value(value) => {
                world.push(ended(&key, RunEnd::Ok));
                world.push(evidence(&key, Some(value)));
            }
            Fate::Fails => world.push(ended(&key, RunEnd::Failed)),
        }
    }
}

pub(crate) fn runs_of<'w>(world: &'w World, id: &'w Slug, phase: Phase) -> Vec<&'w RunRecord> {
    let mut runs = world.study.state().runs_of_plan(id);
    runs.retain(|run| run.intent.phase == phase);
    runs
}

fn spec(world: &World) -> &MetricSpec {
    world.study.files.metric_spec.typed().unwrap()
}

/// The confirm phase of a baseline, whose smoke run has succeeded.
pub(crate) fn baseline_after(plan: &[Seed]) -> World {
    let mut world = World::before_baseline(&Texts::supervised());
    let baseline = world.baseline().clone();
    drive(&mut world, &baseline, Phase::Smoke, &[(Fate::Value(1.0), Vec::new())]);
    drive(&mut world, &baseline, Phase::Confirm, plan);
    world
}

/// The short phase of a candidate, whose smoke run has succeeded.
fn candidate_after(plan: &[Seed]) -> World {
    let mut world = World::ready(&Texts::supervised());
    world.study.candidate_files.insert("lower-lr".into(), world.view.file);
    let candidate = world.view.written.typed.clone();
    drive(&mut world, &candidate, Phase::Smoke, &[(Fate::Value(1.0), Vec::new())]);
    drive(&mut world, &candidate, Phase::Short, plan);
    world
}

fn set_of(world: &World, id: &str, phase: Phase, side: Side) -> Vec<SeedResult> {
    let id = slug(id);
    results(&runs_of(world, &id, phase), spec(world), side).expect("every seed has a result")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn a_run_is_scored_by_the_side_it_is_on() {
    let failed = Some(Score { value: -100.5, from: ScoreSource::FailureScore });
    let counts = |phase: Phase, event: &dyn Fn(&str) -> Event, read: Option<Option<f64>>, side: Side| {
        let mut world = World::ready(&Texts::supervised());
        let intent = intent("lower-lr", phase, 0, world.view.asked_plan.unwrap());
        world.push(Event::LaunchIntent(intent.clone()));
        world.push(launched(&intent.key));
        world.push(event(&intent.key));
        if let Some(value) = read {
            world.push(evidence(&intent.key, value));
        }
        score_run(&world.study.state().runs[&intent.key], spec(&world), side)
    };
    let ok = |key: &str| ended(key, RunEnd::Ok);
    let finished = Some(Score { value: 255.5, from: ScoreSource::Primary });
    for side in [Side::Judged, Side::Reference] {
        assert_eq!(counts(Phase::Short, &ok, Some(Some(255.5)), side), finished);
        assert_eq!(counts(Phase::Short, &ok, None, side), None, "not read yet");
        // Its own doing, on either side: an exit code, a metric that is missing.
        assert_eq!(counts(Phase::Short, &ok, Some(None), side), failed);
        assert_eq!(counts(Phase::Short, &|key| ended(key, RunEnd::Failed), None, side), failed);
        assert_eq!(counts(Phase::Short, &|key| ended(key, RunEnd::Blocked), None, side), None);
        // Smoke runs only show that training works.
        assert_eq!(counts(Phase::Smoke, &ok, Some(Some(255.5)), side), None);
        assert_eq!(counts(Phase::Smoke, &|key| ended(key, RunEnd::Failed), None, side), None);
        // What is not evidence is not, but failing doesn't help.
        let unpatched = |end| {
            move |key: &str| {
                let mut event = ended(key, end);
                if let Event::RunEnded(ended) = &mut event {
                    ended.not_evidence = Some("not_the_patched_code".into());
                }
                event
            }
        };
        assert_eq!(counts(Phase::Short, &unpatched(RunEnd::Ok), None, side), None);
        assert_eq!(counts(Phase::Short, &unpatched(RunEnd::Failed), None, side), failed);
    }
    for interruption in INTERRUPTIONS {
        let judged = counts(Phase::Short, &|key| interruption.end(key), None, Side::Judged);
        let expected = if interruption == Interruption::LostBefore { None } else { failed };
        assert_eq!(judged, expected, "{interruption:?}");
        // Its seed runs again.
        assert_eq!(counts(Phase::Short, &|key| interruption.end(key), None, Side::Reference), None);
    }
}

/// Ledgers of earlier versions are read; what they measured with training's seed is never compared with.
#[test]
fn a_run_without_an_evaluation_seed_has_no_score() {
    let mut world = World::ready(&Texts::supervised());
    let intent = intent("lower-lr", Phase::Short, 0, world.view.asked_plan.unwrap());
    append(&mut world.study.ledger, Event::LaunchIntent(intent.clone())).unwrap();
    world.push(launched(&intent.key));
    world.push(ended(&intent.key, RunEnd::Ok));
    world.push(evidence(&intent.key, Some(255.5)));
    let run = &world.study.state().runs[&intent.key];
    assert_eq!(run.intent.evaluation_seed, None);
    assert_eq!(score_run(run, spec(&world), Side::Judged), None);
    let line =
        world.study.ledger.records.iter().find(|record| record.event.kind() == "launch_intent").unwrap();
    assert!(!line.line().contains("evaluator_exposed"), "what isn't so isn't written");
}

#[test]
fn an_evaluation_seed_serves_once() {
    let mut world = World::ready(&Texts::supervised());
    let plan = world.view.asked_plan.unwrap();
    let used = &world.study.state().used_seeds[&SeedRole::Evaluation];
    assert_eq!(used, &BTreeSet::from_iter(10_000..10_005), "one per run of the baseline's confirm phase");
    let again = LaunchIntent { evaluation_seed: Some(10_004), ..intent("lower-lr", Phase::Short, 0, plan) };
    let refused = world.try_push(Event::LaunchIntent(again)).unwrap_err();
    assert!(refused.message.contains("evaluation seed 10004 has served before"), "{}", refused.message);
}

#[test]
fn the_failure_score_never_beats_what_finished() {
    let mut texts = Texts::supervised();
    let world = World::opened(&texts);
    let judged = [SeedResult::Failed, SeedResult::Finished(-200.0)];
    let reference = [SeedResult::Finished(10.0), SeedResult::Failed];
    assert_eq!(compared(&reference, &judged, spec(&world)), Some((vec![10.0, -200.0], vec![-200.0, -200.0])));
    assert_eq!(failure_score(&[&reference], spec(&world)), -100.5);
    set(&mut texts.metric_spec, "/primary/direction", json!("lower"));
    set(&mut texts.metric_spec, "/failure_score", json!(100.5));
    let lower = World::opened(&texts);
    assert_eq!(failure_score(&[&reference, &[SeedResult::Finished(300.0)]], spec(&lower)), 300.0);
    let best = [SeedResult::Finished(7.0), SeedResult::Finished(3.0), SeedResult::LikeTheBest];
    assert_eq!(values(&best, spec(&lower), 0.0), Some(vec![7.0, 3.0, 3.0]));
    assert_eq!(values(&best, spec(&world), 0.0), Some(vec![7.0, 3.0, 7.0]));
    assert_eq!(values(&[SeedResult::LikeTheBest], spec(&world), 0.0), None);
}

fn fates() -> impl Strategy<Value = Fate> {
    // The failure score is -100.5, which the contract calls the worst possible value.
    prop_oneof![6 => (-100.0..300.0f64).prop_map(Fate::Value), 1 => Just(Fate::Fails)]
}

fn plans(seeds: usize) -> impl Strategy<Value = Vec<Seed>> {
    let interruptions = prop::collection::vec(prop::sample::select(INTERRUPTIONS.to_vec()), 0..5);
    prop::collection::vec((fates(), interruptions), seeds)
}

fn alone(plan: &[Seed]) -> Vec<Seed> {
    plan.iter().map(|(fate, _)| (*fate, Vec::new())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Whatever is done to runs of the baseline: what counts without a person is what would have counted anyway, and
    /// what a person lets count is never worse than what finished.
    #[test]
    fn interrupting_the_baseline_never_lowers_the_bar(plan in plans(5)) {
        let (struck, left_alone) = (baseline_after(&plan), baseline_after(&alone(&plan)));
        let whole = set_of(&left_alone, "baseline", Phase::Confirm, Side::Reference);
        let results = set_of(&struck, "baseline", Phase::Confirm, Side::Reference);
        prop_assert_eq!(results.len(), 5);
        if matches!(BaselineStatus::of(&struck.study), BaselineStatus::Complete(_)) {
            prop_assert_eq!(&results, &whole);
        }
        // A seed that would have finished is never a failed one because it was interrupted.
        let failed = |set: &[SeedResult]| set.iter().filter(|result| **result == SeedResult::Failed).count();
        prop_assert!(failed(&results) <= failed(&whole), "{results:?} {whole:?}");
        let waiting: Vec<Target> = {
            let baseline = slug("baseline");
            let waiting = unapproved(&struck.study, &baseline, Phase::Confirm);
            waiting.into_iter().map(|(run, _)| Target::Run(run.intent.key.clone())).collect()
        };
        let mut approved = struck.clone();
        approved.approve(&waiting, approved.study.required());
        let finished: Vec<f64> = results.iter().filter_map(|result| match result {
            SeedResult::Finished(value) => Some(*value),
            _ => None,
        }).collect();
        match BaselineStatus::of(&approved.study) {
            BaselineStatus::Complete(_) => {
                let failure = failure_score(&[&results], spec(&struck));
                let counted = values(&results, spec(&struck), failure).unwrap();
                let own: Vec<f64> = results.iter().filter_map(|result| match result {
                    SeedResult::Finished(value) => Some(*value),
                    SeedResult::Failed => Some(failure),
                    SeedResult::LikeTheBest => None,
                }).collect();
                prop_assert!(mean(&counted) >= mean(&own) - 1e-9, "{counted:?} {own:?}");
                let (counted, own) = (sorted(counted), sorted(own));
                prop_assert!(counted[counted.len() / 2] >= own[own.len() / 2], "{counted:?} {own:?}");
            }
            BaselineStatus::Failed(_) => prop_assert!(finished.is_empty()),
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// Whatever is done to runs of a candidate: no seed counts more than it would have.
    #[test]
    fn interrupting_a_candidate_never_raises_its_score(
        plan in plans(3),
        reference in prop::collection::vec(-100.0..300.0f64, 5),
    ) {
        let (struck, left_alone) = (candidate_after(&plan), candidate_after(&alone(&plan)));
        let reference: Vec<SeedResult> = reference.into_iter().map(SeedResult::Finished).collect();
        let counted = |world: &World| {
            let judged = set_of(world, "lower-lr", Phase::Short, Side::Judged);
            compared(&reference, &judged, spec(world)).unwrap()
        };
        let ((one, after), (other, before)) = (counted(&struck), counted(&left_alone));
        prop_assert_eq!(one, other, "the reference is what it was");
        // In the order of their last runs; how often each ran makes that differ.
        prop_assert!(
            sorted(after.clone()).iter().zip(sorted(before.clone())).all(|(after, before)| *after <= before),
            "{after:?} {before:?}"
        );
        // Nor does it get more chances than one: a loss before training ended.
        let id = slug("lower-lr");
        for run in runs_of(&struck, &id, Phase::Short) {
            let attempts = runs_of(&struck, &id, Phase::Short)
                .iter().filter(|one| one.intent.seed == run.intent.seed).count();
            prop_assert!(attempts <= 2);
        }
    }
}

/// An intent shows both seeds. So a run that was blocked is repeated with the same ones, and not without end.
#[test]
fn a_repeat_keeps_its_evaluation_seed() {
    let mut world = World::ready(&Texts::supervised());
    let plan = world.view.asked_plan.unwrap();
    let attempt = |number: u64, evaluation_seed: Option<u64>| LaunchIntent {
        key: format!("short-{number}"),
        evaluation_seed,
        ..intent("lower-lr", Phase::Short, 0, plan)
    };
    for end in [RunEnd::Blocked, RunEnd::Lost] {
        let mut world = world.clone();
        world.run(&attempt(1, Some(10_050)), end);
        for other in [Some(10_051), Some(10_000)] {
            let problem = world.try_push(Event::LaunchIntent(attempt(2, other))).unwrap_err();
            assert!(problem.message.contains("evaluation seed 10050"), "{problem:?}");
        }
        world.run(&attempt(2, Some(10_050)), RunEnd::Ok);
        // Another training seed has an evaluation seed of its own.
        let other = LaunchIntent { seed: 1, ..attempt(3, Some(10_050)) };
        assert_eq!(world.try_push(Event::LaunchIntent(other)).unwrap_err().code, "impossible");
    }
    // Without one, the repeat of a run that has one doesn't follow either.
    world.run(&attempt(1, Some(10_050)), RunEnd::Blocked);
    assert!(append(&mut world.study.ledger, Event::LaunchIntent(attempt(2, None))).is_err());
}

/// Blocks the next runs of a phase as long as there are any, and returns how many there were.
fn block_all(world: &mut World, candidate: &Candidate, phase: Phase, most: u64) -> u64 {
    let mut blocked = 0;
    while let Some(run) = next_run(&world.study, candidate).filter(|run| run.phase == phase && blocked < most)
    {
        let seed = match run.seed {
            SeedChoice::Known(seed) => seed,
            SeedChoice::Draw => 150 + blocked,
        };
        let key = key(&candidate.id, candidate.revision, phase, seed, run.attempt);
        let digest = world.study.state().candidates[&candidate.id].validated.plan;
        let intent = LaunchIntent { key, ..intent(candidate.id.as_str(), phase, seed, digest) };
        world.run(&intent, RunEnd::Blocked);
        blocked += 1;
    }
    blocked
}

#[test]
fn a_seed_that_is_blocked_three_times_is_over() {
    // In a candidate it has failed.
    let mut world = World::ready(&Texts::supervised());
    world.study.candidate_files.insert("lower-lr".into(), world.view.file);
    let candidate = world.view.written.typed.clone();
    drive(&mut world, &candidate, Phase::Smoke, &[(Fate::Value(1.0), Vec::new())]);
    let planned = candidate.phases.iter().find(|plan| plan.phase == Phase::Short).unwrap().seeds;
    let spent = world.study.state().tally.spent.runs;
    assert_eq!(block_all(&mut world, &candidate, Phase::Short, 100), 3 * planned);
    assert_eq!(
        set_of(&world, "lower-lr", Phase::Short, Side::Judged),
        vec![SeedResult::Failed; planned as usize]
    );
    assert_eq!(world.study.state().tally.spent.runs, spent, "it costs nothing");
    let again = LaunchIntent {
        key: "again".into(),
        ..intent("lower-lr", Phase::Short, 0, world.view.asked_plan.unwrap())
    };
    let problem = world.try_push(Event::LaunchIntent(again)).unwrap_err();
    assert!(problem.message.contains("too often"), "{problem:?}");

    // In the baseline a person has to approve it.
    let mut world = World::before_baseline(&Texts::supervised());
    let baseline = world.baseline().clone();
    drive(&mut world, &baseline, Phase::Smoke, &[(Fate::Value(1.0), Vec::new())]);
    assert_eq!(block_all(&mut world, &baseline, Phase::Confirm, 3), 3);
    drive(&mut world, &baseline, Phase::Confirm, &vec![(Fate::Value(250.0), Vec::new()); 5]);
    let waiting: Vec<(String, String)> = unapproved(&world.study, &baseline.id, Phase::Confirm)
        .into_iter()
        .map(|(run, why)| (run.intent.key.clone(), why.to_string()))
        .collect();
    assert_eq!(waiting, [("baseline-r1-confirm-150-3".to_owned(), "it was blocked three times".to_owned())]);
    assert!(matches!(BaselineStatus::of(&world.study), BaselineStatus::Unapproved(..)));
    world.approve(&[Target::Run(waiting[0].0.clone())], world.study.required());
    assert!(matches!(BaselineStatus::of(&world.study), BaselineStatus::Complete(_)));
}

/// Files that are changed from outside end a run without a result; a run that is judged has then failed.
#[test]
fn a_judged_run_whose_files_are_touched_has_failed() {
    let touched = |key: &str, code: &str| {
        let mut event = ended(key, RunEnd::Ok);
        if let Event::RunEnded(ended) = &mut event {
            ended.not_evidence = Some(code.into());
        }
        event
    };
    for code in ["output_changed", "input_changed"] {
        let mut world = World::ready(&Texts::supervised());
        world.study.candidate_files.insert("lower-lr".into(), world.view.file);
        let candidate = world.view.written.typed.clone();
        drive(&mut world, &candidate, Phase::Smoke, &[(Fate::Value(1.0), Vec::new())]);
        let first = intent("lower-lr", Phase::Short, 0, world.view.asked_plan.unwrap());
        world.push(Event::LaunchIntent(first.clone()));
        world.push(launched(&first.key));
        world.push(touched(&first.key, code));
        let run = &world.study.state().runs[&first.key];
        let failed = Score { value: spec(&world).failure_score, from: ScoreSource::FailureScore };
        assert_eq!(score_run(run, spec(&world), Side::Judged), Some(failed), "{code}");
        assert_eq!(score_run(run, spec(&world), Side::Reference), None, "{code}");
        // Its metrics are never read, and the other seeds of its phase still run.
        assert!(world.try_push(evidence(&first.key, Some(255.5))).is_err(), "{code}");
        drive(&mut world, &candidate, Phase::Short, &vec![(Fate::Value(255.0), Vec::new()); 9]);
        let set = set_of(&world, "lower-lr", Phase::Short, Side::Judged);
        let planned = candidate.phases.iter().find(|plan| plan.phase == Phase::Short).unwrap().seeds;
        assert_eq!((set.len() as u64, set[0]), (planned, SeedResult::Failed), "{code}");

        // The baseline never takes such a run.
        let mut world = World::before_baseline(&Texts::supervised());
        let baseline = world.baseline().clone();
        drive(&mut world, &baseline, Phase::Smoke, &[(Fate::Value(1.0), Vec::new())]);
        let plan = world.study.state().candidates[&baseline.id].validated.plan;
        let first = intent("baseline", Phase::Confirm, 150, plan);
        world.push(Event::LaunchIntent(first.clone()));
        world.push(launched(&first.key));
        world.push(touched(&first.key, code));
        assert!(matches!(BaselineStatus::of(&world.study), BaselineStatus::Failed(_)), "{code}");
    }
}
