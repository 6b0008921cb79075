//! The baseline: the first one for good, complete only with what counts, and what a person has to approve.

use rlxp_govern::baseline::BaselineStatus;
use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::{Phase, Reading};
use rlxp_govern::gate::{Purpose, RefusalCode, refusals};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::attempts::Side;
use rlxp_govern::ledger::event::{
    Completed, Judged, LaunchIntent, Reopened, Reported, RunEnded, Verdict, Voided,
};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::{Action, next};
use rlxp_govern::next_run::next_run;
use rlxp_govern::plan::effect;
use rlxp_govern::queue::{JobStatus, Queue};
use rlxp_govern::run_approval::{WhyApprove, unapproved};
use rlxp_govern::score::{SeedResult, results};
use rlxp_govern::section::Target;
use rlxp_types::Digest;
use serde_json::json;

use super::cases::except;
use super::common::{World, append, ended, evidence, intent, launched, over, slug, validated, view};
use super::scoring::{Fate, INTERRUPTIONS, Interruption, Seed, baseline_after, drive, runs_of};
use super::texts::{Texts, set};

fn fine(value: f64) -> Seed {
    (Fate::Value(value), Vec::new())
}

/// Why each run of the baseline that needs a person's approval needs it.
fn waiting(world: &World) -> Vec<(u64, WhyApprove)> {
    let baseline = slug("baseline");
    let waiting = unapproved(&world.study, &baseline, Phase::Confirm);
    waiting.into_iter().map(|(run, why)| (run.intent.seed, why)).collect()
}

fn approve_runs(world: &mut World) {
    let baseline = slug("baseline");
    let targets: Vec<Target> = unapproved(&world.study, &baseline, Phase::Confirm)
        .into_iter()
        .map(|(run, _)| Target::Run(run.intent.key.clone()))
        .collect();
    world.approve(&targets, world.study.required());
}

fn complete() -> BaselineStatus {
    BaselineStatus::Complete(slug("baseline"))
}

fn values(world: &World) -> Vec<SeedResult> {
    let baseline = slug("baseline");
    let spec = world.study.files.metric_spec.typed().unwrap();
    results(&runs_of(world, &baseline, Phase::Confirm), spec, Side::Reference).unwrap()
}

#[test]
fn an_interrupted_seed_of_the_baseline_runs_again_and_then_counts_like_the_best() {
    for interruption in INTERRUPTIONS {
        // Once: the second run counts, and needs no person.
        let once = vec![(Fate::Value(1.0), vec![interruption]), fine(2.0), fine(3.0), fine(4.0), fine(5.0)];
        let world = baseline_after(&once);
        assert_eq!(BaselineStatus::of(&world.study), complete(), "{interruption:?}");
        assert!(values(&world).contains(&SeedResult::Finished(1.0)));
        // As often as it can be: a loss before training had ended is free, once.
        let mut often = once;
        often[0].1 = vec![interruption; 9];
        let mut world = baseline_after(&often);
        let baseline = slug("baseline");
        let attempts = runs_of(&world, &baseline, Phase::Confirm).len() - 4;
        assert_eq!(
            attempts,
            if interruption == Interruption::LostBefore { 3 } else { 2 },
            "{interruption:?}"
        );
        assert_eq!(waiting(&world), [(100, WhyApprove::Interrupted)], "{interruption:?}");
        assert!(matches!(BaselineStatus::of(&world.study), BaselineStatus::Unapproved(..)));
        assert_eq!(world.codes(Purpose::Validate), ["no_baseline"].into());
        world.push(evidence(&format!("baseline-r1-confirm-100-{attempts}"), None));
        let step = next(&world.study);
        assert_eq!(step.action, Action::RequestApproval, "{step:?}");
        let key = format!("baseline-r1-confirm-100-{attempts}");
        assert_eq!(step.command.unwrap(), format!("rlx approve run:{key}"));
        approve_runs(&mut world);
        assert_eq!(BaselineStatus::of(&world.study), complete());
        assert!(values(&world).contains(&SeedResult::LikeTheBest));
        assert_eq!(world.codes(Purpose::Validate), [].into());
        // What was approved can be taken back.
        let targets = vec![Target::Run(key)];
        world.push(Event::Voided(Voided { targets, reason: "taken back".into() }));
        assert!(matches!(BaselineStatus::of(&world.study), BaselineStatus::Unapproved(..)));
    }
}

#[test]
fn one_seed_of_the_baseline_may_fail_by_itself() {
    let fails = || (Fate::Fails, Vec::new());
    let one = baseline_after(&[fails(), fine(2.0), fine(3.0), fine(4.0), fine(5.0)]);
    assert_eq!(BaselineStatus::of(&one.study), complete());
    assert_eq!(values(&one)[0], SeedResult::Failed);
    let mut two = baseline_after(&[fails(), fine(2.0), fine(3.0), fails(), fine(5.0)]);
    assert_eq!(waiting(&two), [(103, WhyApprove::FailedToo)]);
    // A metric that is missing is a failure too.
    let mut missing = one.clone();
    let key = "baseline-r1-confirm-104-1";
    missing.push(evidence(key, None));
    assert_eq!(waiting(&missing), [(104, WhyApprove::FailedToo)]);
    for world in [&mut two, &mut missing] {
        assert!(matches!(BaselineStatus::of(&world.study), BaselineStatus::Unapproved(..)));
        approve_runs(world);
        assert_eq!(BaselineStatus::of(&world.study), complete());
    }
}

#[test]
fn a_baseline_that_never_finished_needs_a_new_study() {
    let fails = || (Fate::Fails, Vec::new());
    let struck = (Fate::Value(7.0), vec![Interruption::Killed; 9]);
    for plan in [vec![fails(), fails(), fails(), fails(), fails()], vec![struck; 5]] {
        let mut world = baseline_after(&plan);
        assert_eq!(BaselineStatus::of(&world.study), BaselineStatus::Failed(slug("baseline")));
        approve_runs(&mut world);
        assert_eq!(
            BaselineStatus::of(&world.study),
            BaselineStatus::Failed(slug("baseline")),
            "approved or not"
        );
        let step = next(&world.study);
        assert_eq!(step.action, Action::HandOff, "{step:?}");
        assert!(step.reason.ends_with("a new study is needed"), "{}", step.reason);
        assert_eq!(step.command.as_deref(), Some("rlx study init --task walker --study first-2"));
        let refused = refusals(Purpose::Validate, &world.study, Some(&world.view));
        assert_eq!(refused.iter().map(|one| one.code).collect::<Vec<_>>(), [RefusalCode::NoBaseline]);
        assert_eq!(refused[0].help, "rlx study init --task walker --study first-2");
    }
    // Where the contract excepts the baseline, it isn't missed.
    let mut texts = Texts::supervised();
    except(&mut texts, "baseline", "no_baseline");
    let mut world = World::before_baseline(&texts);
    let baseline = world.baseline().clone();
    drive(&mut world, &baseline, Phase::Smoke, &[fine(1.0)]);
    drive(&mut world, &baseline, Phase::Confirm, &vec![fails(); 5]);
    assert_eq!(world.codes(Purpose::Validate), [].into());
    assert_ne!(next(&world.study).action, Action::HandOff);
}

#[test]
fn an_external_run_counts_only_with_approval() {
    let mut world = World::before_baseline(&Texts::supervised());
    let baseline = world.baseline().clone();
    drive(&mut world, &baseline, Phase::Smoke, &[fine(1.0)]);
    let plan = world.study.state().candidates["baseline"].validated.plan;
    let external = Some("a cluster".to_owned());
    let elsewhere = LaunchIntent { external, ..intent("baseline", Phase::Confirm, 150, plan) };
    world.run(&elsewhere, RunEnd::Ok);
    world.push(evidence(&elsewhere.key, Some(1000.0)));
    drive(&mut world, &baseline, Phase::Confirm, &vec![fine(1.0); 4]);
    assert_eq!(waiting(&world), [(150, WhyApprove::External)]);
    approve_runs(&mut world);
    assert_eq!(BaselineStatus::of(&world.study), complete());
}

/// The first baseline whose confirm phase began is the baseline, whatever comes of it.
#[test]
fn there_is_one_baseline() {
    let mut texts = Texts::supervised();
    let mut again = texts.baseline();
    set(&mut again, "/id", json!("another"));
    texts.candidate = again.clone();
    let mut world = World::before_baseline(&texts);
    assert!(!world.codes(Purpose::Validate).contains("second_baseline"), "none has begun");
    world.validate();
    let baseline = world.baseline().clone();
    drive(&mut world, &baseline, Phase::Smoke, &[fine(1.0)]);
    assert!(!world.codes(Purpose::Launch).contains("second_baseline"), "only its smoke phase has begun");
    let plan = world.study.state().candidates["baseline"].validated.plan;
    let first = intent("baseline", Phase::Confirm, 150, plan);
    world.push(Event::LaunchIntent(first.clone()));
    assert_eq!(world.study.state().baseline, Some(slug("baseline")));
    for purpose in [Purpose::Validate, Purpose::Launch] {
        assert!(world.codes(purpose).contains("second_baseline"), "{purpose:?}");
    }
    world.push(launched(&first.key));
    world.push(Interruption::Cancelled.end(&first.key));
    // The other one was validated before that, and doesn't come to run.
    world.study.candidate_files.insert("another".into(), view(&again).file);
    assert_eq!(next_run(&world.study, &view(&again).written.typed), None);
    let queue = Queue::for_study(&world.study);
    let other = queue.jobs.iter().find(|job| job.candidate == slug("another")).unwrap();
    assert_eq!(other.stand, JobStatus::Stopped { reason: "the baseline of this study is baseline".into() });
    drive(&mut world, &baseline, Phase::Confirm, &vec![fine(1.0); 5]);
    assert_eq!(world.study.state().baseline, Some(slug("baseline")));
}

/// A ledger of an earlier version, whose baseline was evaluated with training's seeds.
#[test]
fn nothing_is_compared_with_a_baseline_without_evaluation_seeds() {
    let mut world = World::before_baseline(&Texts::supervised());
    let plan = world.study.state().candidates["baseline"].validated.plan;
    for (phase, seeds) in [(Phase::Smoke, 0..1), (Phase::Confirm, 150..155)] {
        for seed in seeds {
            let intent = intent("baseline", phase, seed, plan);
            append(&mut world.study.ledger, Event::LaunchIntent(intent.clone())).unwrap();
            world.push(launched(&intent.key));
            world.push(ended(&intent.key, RunEnd::Ok));
            world.push(evidence(&intent.key, Some(250.25)));
        }
    }
    world.push(Event::Completed(Completed { candidate: slug("baseline") }));
    assert_eq!(BaselineStatus::of(&world.study), BaselineStatus::NotComparable(slug("baseline")));
    assert_eq!(world.codes(Purpose::Validate), ["no_baseline"].into());
    let step = next(&world.study);
    assert_eq!(
        (step.action, step.command.as_deref()),
        (Action::HandOff, Some("rlx study init --task walker --study first-2"))
    );
}

/// A candidate that takes an architecture into its evaluation waits for a person before it advances.
#[test]
fn a_run_that_exposed_the_evaluator_counts_only_with_approval() {
    let mut world = World::ready(&Texts::supervised());
    world.study.candidate_files.insert("lower-lr".into(), world.view.file);
    let candidate = world.view.written.typed.clone();
    drive(&mut world, &candidate, Phase::Smoke, &[fine(1.0)]);
    let plan = world.view.asked_plan.unwrap();
    for seed in 0..3 {
        let exposed =
            LaunchIntent { evaluator_exposed: true, ..intent("lower-lr", Phase::Short, seed, plan) };
        world.run(&exposed, RunEnd::Ok);
        world.push(evidence(&exposed.key, Some(300.0)));
    }
    let queue = Queue::for_study(&world.study);
    assert_eq!(queue.jobs[1].stand, JobStatus::Unapproved { run: "lower-lr-short-0".into() });
    assert!(!queue.over().contains(&slug("lower-lr")), "it is neither over nor judged");
    // The baseline is judged and reported; of what is left, a person has to decide.
    let (candidate, inputs) = (slug("baseline"), Digest::hash(b"inputs"));
    let (phase, verdict) = (Phase::Confirm, Verdict::Inconclusive);
    world.push(Event::Judged(Judged {
        candidate,
        phase,
        verdict,
        inputs,
        score: None,
        reason: String::new(),
        failed_checks: Vec::new(),
        code: None,
    }));
    world.push(Event::Reported(Reported { digest: Digest::hash(b"report.md") }));
    let step = next(&world.study);
    let command = "rlx approve run:lower-lr-short-0 run:lower-lr-short-1 run:lower-lr-short-2";
    assert_eq!((step.action, step.command.as_deref()), (Action::RequestApproval, Some(command)));
    let targets = [0, 1, 2].map(|seed| Target::Run(format!("lower-lr-short-{seed}")));
    world.approve(&targets, world.study.required());
    assert_eq!(Queue::for_study(&world.study).jobs[1].stand, JobStatus::Passed);
}

/// The same for a run of changed code whose trained files can run code when they are loaded.
#[test]
fn a_run_that_left_executable_files_counts_only_with_approval() {
    let mut world = World::ready(&Texts::supervised());
    world.study.candidate_files.insert("lower-lr".into(), world.view.file);
    let candidate = world.view.written.typed.clone();
    drive(&mut world, &candidate, Phase::Smoke, &[fine(1.0)]);
    let plan = world.view.asked_plan.unwrap();
    for seed in 0..3 {
        let intent = intent("lower-lr", Phase::Short, seed, plan);
        let spent = Amounts { runs: 1, wall_clock: 60, gpu_time: 0, disk: 1 << 20 };
        let over = RunEnded {
            executable_output: (seed == 1).then(|| "train/model.pkl".into()),
            ..over(&intent.key, RunEnd::Ok, spent)
        };
        let (intended, key) = (Event::LaunchIntent(intent.clone()), &intent.key);
        for event in [intended, launched(key), Event::RunEnded(over), evidence(key, Some(300.0))] {
            world.push(event);
        }
    }
    let waits = JobStatus::Unapproved { run: "lower-lr-short-1".into() };
    assert_eq!(Queue::for_study(&world.study).jobs[1].stand, waits);
    let waiting = unapproved(&world.study, &candidate.id, Phase::Short);
    assert_eq!(waiting.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [WhyApprove::ExecutableOutput]);
    world.approve(&[Target::Run("lower-lr-short-1".into())], world.study.required());
    assert_eq!(Queue::for_study(&world.study).jobs[1].stand, JobStatus::Passed);
}

#[test]
fn changes_that_were_launched_come_back_only_as_a_revision() {
    let mut world = World::ready(&Texts::supervised());
    let plan = world.view.asked_plan.unwrap();
    world.run(&intent("lower-lr", Phase::Smoke, 0, plan), RunEnd::Failed);
    // An exact copy under another id.
    let mut copy = Texts::supervised().candidate;
    set(&mut copy, "/id", json!("copy"));
    let copied = |world: &World| refusals(Purpose::Validate, &world.study, Some(&view(&copy)));
    let codes: Vec<RefusalCode> = copied(&world).into_iter().map(|one| one.code).collect();
    assert_eq!(codes, [RefusalCode::TriedBefore]);
    // However it is written: the same value by a factor.
    set(&mut copy, "/changes/0/operation", json!("scale"));
    set(&mut copy, "/changes/0/to", json!(1.0 / 3.0));
    let scaled = refusals(Purpose::Validate, &world.study, Some(&view(&copy)));
    assert!(scaled.iter().all(|one| one.code == RefusalCode::TriedBefore), "{scaled:?}");
    let copy = {
        let mut copy = Texts::supervised().candidate;
        set(&mut copy, "/id", json!("copy"));
        copy
    };
    // Debugged, it may come back itself, and its first attempt is still known.
    let candidate = slug("lower-lr");
    let inputs = Digest::hash(b"inputs");
    world.push(Event::Completed(Completed { candidate: candidate.clone() }));
    let (phase, verdict) = (Phase::Smoke, Verdict::Debug);
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
    assert_eq!(world.codes(Purpose::Validate), [].into());
    let mut revised = Texts::supervised().candidate;
    set(&mut revised, "/revision", json!(2));
    set(&mut revised, "/changes/0/to", json!(0.0002));
    world.push(Event::Validated(validated(&world.study, &view(&revised)).unwrap()));
    assert_eq!(
        refusals(Purpose::Validate, &world.study, Some(&view(&copy)))[0].code,
        RefusalCode::TriedBefore,
        "what its first revision tried was tried"
    );
    // Something else may be tried.
    let mut other = copy;
    set(&mut other, "/changes/0/to", json!(0.0005));
    assert_eq!(refusals(Purpose::Validate, &world.study, Some(&view(&other))), []);
}

/// The same training by an argument, by its file, by a patch of that file, and by a patch that writes it differently.
#[test]
fn another_way_to_the_same_training_was_tried_too() {
    const PATH: &str = "configs/ppo.yaml";
    let mut by_key = Texts::supervised().candidate;
    set(&mut by_key, "/id", json!("copy"));
    let in_file = view(&by_key);
    let mut by_argument = in_file.clone();
    by_argument.override_syntax = Some("--set {key}={value}".to_owned());
    let patched = |line: &str| {
        let patch = format!(
            "--- a/{PATH}\n+++ b/{PATH}\n@@ -1,3 +1,3 @@\n algo:\n-  learning_rate: 3e-4 # tuned\n+{line}\n   shape: linear\n"
        );
        let mut value = by_key.clone();
        set(
            &mut value,
            "/changes/0",
            json!({
                "surface": "algorithm", "operation": "edit_code", "path": PATH, "patch": patch,
            }),
        );
        let mut seen = view(&value);
        seen.sources.clone_from(&in_file.sources);
        seen
    };
    let same =
        [patched("  learning_rate: 0.0001"), patched("  learning_rate: 1.0e-04   # by hand"), by_argument];
    let expected = effect(&in_file);
    assert!(expected.is_some());
    for (number, seen) in same.iter().enumerate() {
        assert!(seen.applied().is_ok(), "{:?}", seen.applied());
        assert_eq!(effect(seen), expected, "{number}");
    }
    assert_ne!(effect(&patched("  learning_rate: 0.0002")), expected);

    let mut world = World::ready(&Texts::supervised());
    let plan = world.view.asked_plan.unwrap();
    world.run(&intent("lower-lr", Phase::Smoke, 0, plan), RunEnd::Failed);
    for seen in &same {
        let refused = refusals(Purpose::Validate, &world.study, Some(seen));
        assert!(refused.iter().any(|one| one.code == RefusalCode::TriedBefore), "{refused:?}");
    }
    let other = refusals(Purpose::Validate, &world.study, Some(&patched("  learning_rate: 0.0002")));
    assert!(other.iter().all(|one| one.code != RefusalCode::TriedBefore), "{other:?}");
}

/// One confirm seed, the confirm phase alone, a limit of a second: each is refused by its own code, and no exception
/// of the contract helps.
#[test]
fn a_plan_of_its_own_is_refused() {
    let refused = |edit: &dyn Fn(&mut Texts)| {
        let mut texts = Texts::supervised();
        edit(&mut texts);
        for (section, code) in
            [("evaluation", "other_seeds"), ("evaluation", "other_phases"), ("budget", "other_limit")]
        {
            except(&mut texts, section, code);
        }
        let mut world = World::opened(&texts);
        world.approve_sections();
        world.run_baseline();
        world.codes(Purpose::Validate)
    };
    assert_eq!(refused(&|_| {}), [].into());
    let one_seed = |texts: &mut Texts| set(&mut texts.candidate, "/phases/2/seeds", json!(1));
    assert_eq!(refused(&one_seed), ["other_seeds"].into());
    let confirm_only = |texts: &mut Texts| {
        let confirm = texts.candidate["phases"][2].clone();
        set(&mut texts.candidate, "/phases", json!([confirm]));
    };
    assert_eq!(refused(&confirm_only), ["other_phases"].into());
    let short_limit = |texts: &mut Texts| set(&mut texts.candidate, "/phases/2/wall_clock", json!("1s"));
    assert_eq!(refused(&short_limit), ["other_limit"].into());
    // The help can be pasted into the candidate's file.
    let mut texts = Texts::supervised();
    one_seed(&mut texts);
    let world = World::ready(&texts);
    let help = &world.refusals(Purpose::Validate)[0].help;
    let (_, yaml) = help.split_once(": ").unwrap();
    let phases: Reading<serde_json::Value> = super::texts::read_text(yaml);
    assert_eq!(
        phases.typed().unwrap()["phases"][2],
        json!({ "phase": "confirm", "seeds": 5, "wall_clock": "2h" })
    );
}

/// Smoke runs are never extracted, whatever else waits.
#[test]
fn smoke_runs_are_never_extracted() {
    let mut world = World::before_baseline(&Texts::supervised());
    let baseline = world.baseline().clone();
    let plan = world.study.state().candidates["baseline"].validated.plan;
    world.run(&intent("baseline", Phase::Smoke, 0, plan), RunEnd::Ok);
    assert_ne!(next(&world.study).action, Action::Extract);
    assert_eq!(next_run(&world.study, &baseline).unwrap().phase, Phase::Confirm);
    world.run(&intent("baseline", Phase::Confirm, 150, plan), RunEnd::Ok);
    assert_eq!(next(&world.study).action, Action::Extract);
}
