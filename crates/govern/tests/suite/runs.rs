//! The next run of a candidate through all its phases, and what a plan notices.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rlxp_govern::documents::{Base, Phase};
use rlxp_govern::gate::{Purpose, RefusalCode};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::attempts;
use rlxp_govern::ledger::event::{AcceptedCode, Evidence, LaunchIntent};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::{Action, next};
use rlxp_govern::next_run::{NextRun, SeedChoice, draw, key, next_run};
use rlxp_govern::plan::{Plan, phases};
use rlxp_govern::queue::{JobStatus, Queue};
use rlxp_govern::seeds::SeedRole;
use rlxp_govern::shortfall::shortfalls;
use rlxp_types::Digest;
use serde_json::json;

use super::common::{World, ended, intent, launched, slug};
use super::texts::{Texts, remove, set};

fn ready() -> World {
    let mut texts = Texts::supervised();
    let phases = json!([
        { "phase": "smoke", "seeds": 1, "wall_clock": "2h" },
        { "phase": "short", "seeds": 2, "wall_clock": "2h" },
        { "phase": "confirm", "seeds": 2, "wall_clock": "2h" },
    ]);
    set(&mut texts.candidate, "/phases", phases);
    set(&mut texts.contract, "/budget/parallel", json!(3));
    let mut world = World::ready(&texts);
    world.study.candidate_files.insert("lower-lr".into(), world.view.file);
    world
}

#[test]
fn a_plan_that_is_another_one_by_now_starts_nothing_more() {
    let mut world = ready();
    let first = intended(&mut world, 0);
    world.study.candidate_files.insert("lower-lr".into(), Digest::hash(b"edited"));
    assert_eq!(Queue::for_study(&world.study).jobs[0].stand, JobStatus::Running, "what runs is waited for");
    finish(&mut world, &first, RunEnd::Ok);
    assert_eq!(told(&world), None);
    assert!(Queue::for_study(&world.study).over().contains(&slug("lower-lr")), "what has run can be judged");
    let stand = Queue::for_study(&world.study).jobs[0].stand.to_string();
    assert_eq!(stand, "stopped: its file has changed");
    // Restored, it continues where it was.
    world.study.candidate_files.insert("lower-lr".into(), world.view.file);
    assert_eq!(told(&world), Some((Phase::Short, SeedChoice::Known(0), 1)));
}

fn following(world: &World) -> Option<NextRun> {
    next_run(&world.study, &world.view.written.typed)
}

fn told(world: &World) -> Option<(Phase, SeedChoice, u64)> {
    following(world).map(|run| (run.phase, run.seed, run.attempt))
}

/// Intends the next run, a drawn seed by way of `random`.
fn intended(world: &mut World, random: u64) -> LaunchIntent {
    let run = following(world).expect("there is a next run");
    let pools = &world.study.files.metric_spec.typed().unwrap().protocol.seeds;
    let nothing = BTreeSet::new();
    let seed = match run.seed {
        SeedChoice::Known(seed) => seed,
        SeedChoice::Draw => {
            let used = world.study.state().used_seeds.get(&run.role).unwrap_or(&nothing);
            draw(pools.pool(run.role), used, random).unwrap()
        }
    };
    let plan = world.view.asked_plan.unwrap();
    let key = key(&slug("lower-lr"), 1, run.phase, seed, run.attempt);
    let intent = LaunchIntent { key, ..intent("lower-lr", run.phase, seed, plan) };
    world.push(Event::LaunchIntent(intent.clone()));
    intent
}

fn finish(world: &mut World, intent: &LaunchIntent, end: RunEnd) {
    world.push(launched(&intent.key));
    world.push(ended(&intent.key, end));
    if end == RunEnd::Ok {
        let values = BTreeMap::from([(slug("mean-return"), Some(255.5))]);
        let evidence = Evidence {
            key: intent.key.clone(),
            values,
            files: BTreeMap::new(),
            reasons: BTreeMap::new(),
            declared: None,
        };
        world.push(Event::Evidence(evidence));
    }
}

#[test]
fn a_candidate_goes_through_its_phases_seed_by_seed() {
    let mut world = ready();
    let known = |seed| SeedChoice::Known(seed);
    assert_eq!(told(&world), Some((Phase::Smoke, known(0), 1)));
    let smoke = intended(&mut world, 0);
    assert_eq!(smoke.key, "lower-lr-r1-smoke-0-1");
    assert_eq!(told(&world), None, "its only seed is under way");
    // Something is missing: the same seed again, as often as necessary.
    for attempt in 2..5 {
        let key = world.study.state().live()[0].intent.key.clone();
        world.push(launched(&key));
        world.push(ended(&key, RunEnd::Blocked));
        assert_eq!(told(&world), Some((Phase::Smoke, known(0), attempt)));
        intended(&mut world, 0);
    }
    let last = world.study.state().live()[0].intent.clone();
    finish(&mut world, &last, RunEnd::Ok);

    // Two at once, and the second is lost, once and then again.
    assert_eq!(told(&world), Some((Phase::Short, known(0), 1)));
    let first = intended(&mut world, 0);
    assert_eq!(told(&world), Some((Phase::Short, known(1), 1)));
    let second = intended(&mut world, 0);
    assert_eq!(told(&world), None);
    finish(&mut world, &second, RunEnd::Lost);
    assert_eq!(told(&world), Some((Phase::Short, known(1), 2)));
    let again = intended(&mut world, 0);
    finish(&mut world, &again, RunEnd::Ok);
    assert_eq!(told(&world), None);
    finish(&mut world, &first, RunEnd::Ok);

    // Drawn, never twice, and the one that was lost comes before another is drawn.
    let run = following(&world).unwrap();
    assert_eq!((run.phase, run.role, run.seed), (Phase::Confirm, SeedRole::Confirm, SeedChoice::Draw));
    assert_eq!(run.plan.wall_clock.0, 2 * 3600);
    let one = intended(&mut world, 0);
    let two = intended(&mut world, 0);
    assert_eq!((one.seed, two.seed), (100, 101));
    assert_eq!(told(&world), None);
    finish(&mut world, &one, RunEnd::Lost);
    assert_eq!(told(&world), Some((Phase::Confirm, known(100), 2)));
    let again = intended(&mut world, u64::MAX);
    finish(&mut world, &again, RunEnd::Lost);
    assert_eq!(told(&world), None, "lost twice is over");
    finish(&mut world, &two, RunEnd::Failed);
    assert_eq!(told(&world), None);
    let queue = Queue::for_study(&world.study);
    assert_eq!(queue.to_judge().map(|job| (job.phase, job.runs)), Some((Phase::Confirm, 2)));
    assert!(!queue.over().contains(&slug("lower-lr")), "it is looked at first");
}

/// What is still to come has to fit into the budget, and nothing else: a seed that was lost twice doesn't come again.
#[test]
fn what_is_lost_twice_wants_no_budget_any_more() {
    let mut world = ready();
    let smoke = intended(&mut world, 0);
    finish(&mut world, &smoke, RunEnd::Ok);
    let lacks = |world: &World, left: u64| {
        let mut contract = world.study.contract().unwrap().clone();
        contract.budget.runs = world.study.state().tally.spent.runs + left;
        let planned = phases(&world.study, &world.view);
        shortfalls(world.study.state(), &slug("lower-lr"), &planned, &contract)
    };
    let wants = |world: &World, runs: u64| {
        assert_eq!((lacks(world, runs), lacks(world, runs - 1).len()), (vec![], 1));
    };
    // Two and two come.
    wants(&world, 4);
    let lost = intended(&mut world, 0);
    finish(&mut world, &lost, RunEnd::Lost);
    wants(&world, 4);
    let again = intended(&mut world, 0);
    assert_eq!((&again.key, lost.seed), (&"lower-lr-r1-short-0-2".to_owned(), again.seed));
    finish(&mut world, &again, RunEnd::Lost);
    // One and two come.
    wants(&world, 3);
}

#[test]
fn what_never_counts_as_evidence_stops_its_phase() {
    let mut world = ready();
    let smoke = intended(&mut world, 0);
    world.push(launched(&smoke.key));
    let mut event = ended(&smoke.key, RunEnd::Ok);
    if let Event::RunEnded(ended) = &mut event {
        ended.not_evidence = Some("not_the_patched_code".into());
    }
    world.push(event);
    assert_eq!(told(&world), None);
    let queue = Queue::for_study(&world.study);
    let JobStatus::Stopped { reason } = &queue.jobs[0].stand else { panic!("{:?}", queue.jobs[0]) };
    assert_eq!(*reason, format!("run {} never counts as evidence: not_the_patched_code", smoke.key));
    // It is charged, its metrics aren't requested, and as only smoke runs were started, the candidate can be revised.
    assert_eq!(world.study.state().tally.spent.runs, 7);
    assert!(attempts::unread(world.study.state()).is_empty(), "a smoke run is never read");
    let evidence = Event::Evidence(Evidence {
        key: smoke.key.clone(),
        values: BTreeMap::new(),
        files: BTreeMap::new(),
        reasons: BTreeMap::new(),
        declared: None,
    });
    assert_eq!(world.try_push(evidence).unwrap_err().code, "impossible");
    let step = next(&world.study);
    assert_eq!(step.action, Action::Judge, "{step:?}");
    assert_eq!(step.command.as_deref(), Some("rlx study judge lower-lr"));
}

#[test]
fn everything_starts_from_the_same_code() {
    let one = Base::Snapshot(Digest::hash(b"one"));
    let mut texts = Texts::supervised();
    remove(&mut texts.contract, "/baseline/commit");
    let mut world = World::opened(&texts);
    world.approve_sections();
    assert_eq!(world.study.pinned_base(), None);
    // The baseline ran from the commit that the tests find everywhere.
    world.run_baseline();
    let commit = world.view.base.clone();
    assert_eq!(world.study.pinned_base(), commit);
    // An older contract is asked for it, and what ran counts until then.
    assert_eq!(world.codes(Purpose::Validate), BTreeSet::from(["baseline_commit_missing"]));
    world.view.base = Some(one.clone());
    assert_eq!(world.codes(Purpose::Validate), BTreeSet::from(["base_changed", "baseline_commit_missing"]));
    // Without git, the contract names the digest of the folder.
    let mut folder = texts.clone();
    set(&mut folder.contract, "/baseline/snapshot", json!(Digest::hash(b"one")));
    assert_eq!(World::opened(&folder).study.pinned_base(), Some(one));
    // The contract names another commit than the one that ran.
    let mut elsewhere = texts.clone();
    let other = "f".repeat(40);
    set(&mut elsewhere.contract, "/baseline/commit", json!(other));
    let mut world = World::opened(&elsewhere);
    world.approve_sections();
    world.run_baseline();
    world.view.base = Base::of_commit(&other);
    assert_eq!(world.study.pinned_base(), world.view.base);
    assert_eq!(world.codes(Purpose::Validate), BTreeSet::from(["base_changed"]));
}

type Edit = (&'static str, fn(&mut World));

/// What a plan is made of besides the files of the study, and an edit of each.
fn edits() -> Vec<Edit> {
    vec![
        ("code", |world| world.view.base = Some(Base::Snapshot(Digest::hash(b"other")))),
        ("code", |world| {
            let base = Base::Snapshot(Digest::hash(b"accepted"));
            world.view.accepted = Some(AcceptedCode { base, arguments: vec!["--fast".into()] });
        }),
        ("changes", |world| {
            let text = "algo:\n  learning_rate: 0.0003\n";
            world.view.sources.values_mut().for_each(|source| *source = Some(text.into()));
        }),
        ("changes", |world| world.view.override_syntax = Some("--set {key}={value}".into())),
        ("programs", |world| {
            let other = ("train".to_owned(), Digest::hash(b"other"));
            world.view.programs.iter_mut().for_each(|all| all.extend([other.clone()]));
        }),
        ("inputs", |world| {
            let other = ("data/terrain.bin".to_owned(), Digest::hash(b"other"));
            world.view.inputs.iter_mut().for_each(|all| all.extend([other.clone()]));
        }),
        ("protected_files", |world| {
            let other = ("metrics.py".to_owned(), Digest::hash(b"other"));
            world.view.protected.iter_mut().for_each(|all| all.extend([other.clone()]));
        }),
        ("adapter", |world| {
            world.study.adapter.iter_mut().for_each(|facts| facts.digest = Digest::hash(b"other"))
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn whatever_changed_is_named(picked in prop::collection::btree_set(0..edits().len(), 0..4)) {
        let before = ready();
        let plan = Plan::for_candidate(&before.study, &before.view).unwrap();
        let mut after = before.clone();
        let all = edits();
        picked.iter().for_each(|index| (all[*index].1)(&mut after));
        let expected: BTreeSet<&str> = picked.iter().map(|index| all[*index].0).collect();
        let changed = Plan::for_candidate(&after.study, &after.view).unwrap();
        let named = Plan::differences(&plan.parts, &changed.parts);
        prop_assert_eq!(named.iter().map(String::as_str).collect::<BTreeSet<_>>(), expected.clone());
        prop_assert_eq!(plan.digest() == changed.digest(), expected.is_empty());
        let refused = after.refusals(Purpose::Launch);
        let stale: Vec<&str> =
            refused.iter().filter(|refusal| refusal.code == RefusalCode::StalePlan).map(|refusal| refusal.reason.as_str()).collect();
        prop_assert!(expected.iter().all(|part| stale.iter().any(|reason| reason.contains(part))), "{:?}", stale);
    }
}

#[test]
fn names_of_variables_are_a_part_of_the_plan() {
    let plan = |texts: &Texts| {
        let world = World::opened(texts);
        Plan::for_candidate(&world.study, &world.view).unwrap().parts
    };
    let mut texts = Texts::supervised();
    let before = plan(&texts);
    set(&mut texts.runbook, "/train/environment", json!(["HOME", "WANDB_MODE"]));
    let named = Plan::differences(&before, &plan(&texts));
    assert!(named.contains(&"environment".to_owned()), "{named:?}");
}

#[test]
fn without_any_of_it_there_is_no_plan() {
    let world = ready();
    let removals: [fn(&mut World); 4] = [
        |world| world.view.base = None,
        |world| world.view.programs = None,
        |world| world.view.inputs = None,
        |world| world.view.sources.clear(),
    ];
    for removal in removals {
        let mut less = world.clone();
        removal(&mut less);
        assert_eq!(Plan::for_candidate(&less.study, &less.view), None);
        assert!(less.codes(Purpose::Launch).contains("plan_unknown"));
    }
}

/// Smoke runs are never evidence: after them, code and protected files may still be fixed.
#[test]
fn smoke_runs_pin_neither_code_nor_protected_files() {
    let other = "f".repeat(40);
    for phase in [Phase::Smoke, Phase::Confirm] {
        let mut world = World::before_baseline(&Texts::supervised());
        let plan = world.study.state().candidates[&slug("baseline")].validated.plan;
        world.run(&intent("baseline", Phase::Smoke, 0, plan), RunEnd::Ok);
        if phase == Phase::Confirm {
            world.run(&intent("baseline", Phase::Confirm, 150, plan), RunEnd::Ok);
        }
        let is_pinned = phase == Phase::Confirm;
        assert_eq!(world.study.launched_base().is_some(), is_pinned, "{phase}");
        world.view.base = Base::of_commit(&other);
        let edited = ("metrics.py".to_owned(), Digest::hash(b"other"));
        world.view.protected.iter_mut().for_each(|all| all.extend([edited.clone()]));
        assert_eq!(world.codes(Purpose::Validate).contains("protected_changed"), is_pinned, "{phase}");
    }
}
