//! Comparing synthetic runs whose true difference is known.

mod looks;
mod odd_records;

use rlxp_analyze::verdict::{Answer, Reason};
use rlxp_ops::insight::compare::{CompareReport, CompareRequest, Judgement, NoVerdict, ScoreKind, compare};
use rlxp_ops::insight::run_data::SeedState;
use rlxp_store::{GitState, Outcome};
use rlxp_types::{Digest, EndCause};

use crate::common::{World, append};

const TEN: [u64; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

fn ask(words: &[&str]) -> CompareRequest {
    CompareRequest {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        ..CompareRequest::default()
    }
}

fn answer(world: &World, request: &CompareRequest) -> CompareReport {
    compare(&world.context, request).unwrap_or_else(|failure| panic!("{request:?}: {failure}"))
}

fn verdict_of(world: &World, words: &[&str]) -> Option<Answer> {
    answer(world, &ask(words)).answer.verdict
}

/// A and B of ten seeds, B better by far.
fn two_runs() -> World {
    let world = World::new();
    world.run("a").seeds(&TEN).scores(|seed| 10.0 + seed as f64).make();
    world.run("b").seeds(&TEN).set("algo.learning_rate=0.01").scores(|seed| 50.0 + seed as f64).make();
    world
}

fn reason_of(report: &CompareReport, index: usize) -> NoVerdict {
    match &report.comparisons[index].judgement {
        Judgement::Unjudged(none) => none.reason,
        judged => panic!("judged: {judged:?}"),
    }
}

#[test]
fn better_worse_and_what_changed() {
    let world = two_runs();
    let report = answer(&world, &ask(&["a_001", "b_001"]));
    assert_eq!(report.answer.verdict, Some(Answer::Better));
    let comparison = &report.comparisons[0];
    assert_eq!(comparison.changes.config.len(), 1);
    let change = &comparison.changes.config[0];
    assert_eq!(
        (change.key.as_str(), change.a.as_str(), change.b.as_str()),
        ("algo.learning_rate", "0.001", "0.01")
    );
    assert!(comparison.changes.seeds.same && comparison.changes.code.is_empty());
    assert_eq!(comparison.judgement.verdict().unwrap().effect, Some(40.0));
    assert_eq!(verdict_of(&world, &["b_001", "a_001"]), Some(Answer::Worse));
    let lower = CompareRequest { lower: true, ..ask(&["a_001", "b_001"]) };
    assert_eq!(answer(&world, &lower).answer.verdict, Some(Answer::Worse));
    let paired = CompareRequest { paired: true, ..ask(&["a_001", "b_001"]) };
    assert_eq!(answer(&world, &paired).answer.verdict, Some(Answer::Better));
    let large = CompareRequest { minimum_effect: Some(41.0), ..ask(&["a_001", "b_001"]) };
    assert_eq!(answer(&world, &large).answer.verdict, Some(Answer::CannotTell));
    let same = answer(&world, &ask(&["a_001", "a_001"]));
    assert_eq!(reason_of(&same, 0), NoVerdict::SharedTrainings);
    assert!(same.warnings.iter().any(|warning| warning.contains("both A and B")), "{:?}", same.warnings);
}

#[test]
fn the_report_is_the_same_every_time_and_has_the_verdict_on_top() {
    let world = two_runs();
    let text = |report: &CompareReport| serde_json::to_string(report).unwrap();
    let first = answer(&world, &ask(&["a_001", "b_001"]));
    assert_eq!(text(&first), text(&answer(&world, &ask(&["a_001", "b_001"]))));
    let json = serde_json::to_value(&first).unwrap();
    assert_eq!(json["verdict"], "better");
    assert_eq!(json["comparisons"][0]["verdict"], "better");
    assert_eq!(json["comparisons"][0]["n_b"], 10);
    assert_eq!(json["curves"][1]["points"].as_array().unwrap().len(), 8);
    let last = &first.metrics[0];
    assert_eq!(
        (last.metric.as_str(), last.steps.as_slice()),
        ("eval/mean_return", &[704, 1152, 1600, 2048][..])
    );
    assert_eq!(last.groups[1].values[3], Some(54.5));
    assert_eq!(last.groups[1].differences[3], Some(40.0));
    assert_eq!(last.groups[1].seeds, [10; 4]);
}

#[test]
fn other_tasks_protocols_and_budgets_get_no_verdict_unless_forced() {
    let world = World::new();
    world.run("a").seeds(&TEN).make();
    for (name, change, key) in [
        ("env", "env.id=Acrobot-v1", "env.id"),
        ("cap", "env.max_episode_steps=100", "env.max_episode_steps"),
        ("frozen", "env.wrappers=[freeze_observation]", "env.wrappers"),
        ("policy", "eval.deterministic=false", "eval.deterministic"),
        ("episodes", "eval.seed=77", "eval.seed"),
        ("long", "algo.total_timesteps=4096", "budget"),
    ] {
        world.run(name).seeds(&TEN).set(change).scores(|seed| 500.0 + seed as f64).make();
        let run = format!("{name}_001");
        let report = answer(&world, &ask(&["a_001", &run]));
        let keys: Vec<&str> = report.comparisons[0].not_comparable.iter().map(|d| d.key.as_str()).collect();
        assert!(keys.contains(&key), "{name}: {keys:?}");
        assert_eq!(reason_of(&report, 0), NoVerdict::NotComparable);
        assert_eq!(report.answer.reason.as_deref(), Some("not_comparable"));
        let forced = answer(&world, &CompareRequest { force: true, ..ask(&["a_001", &run]) });
        assert_eq!(forced.answer.verdict, Some(Answer::Better), "{name}");
        assert!(forced.comparisons[0].forced);
        assert!(forced.comparisons[0].judgement.statements()[1].contains(key), "{name}");
    }
}

#[test]
fn what_is_under_study_does_not_keep_runs_apart() {
    let world = World::new();
    world.run("a").seeds(&TEN).make();
    for (index, change) in [
        "env.num_envs=3", // another rollout, so steps round up to another number
        "env.normalize_observations=true",
        "env.normalize_rewards=true",
        "env.max_episode_steps=500",                  // the environment's own
        "env.wrappers=[scale_reward: {factor: 2.0}]", // not while evaluating
        "env.wrappers=[truncation_as_termination]",
        "policy.hidden_sizes=[16]",
        "checkpoint.keep=1",
        "checkpoint.save_every=512",
        "eval.every=512", // the last evaluation is after the same steps
        "threads=1",
    ]
    .into_iter()
    .enumerate()
    {
        // Another curve: the same one would be the same training where the change is about its record only.
        let changed = world.run(&format!("b{index}")).seeds(&TEN).set(change);
        changed.returns(|_, step| Some(step as f64 / 20.0)).make();
        let report = answer(&world, &ask(&["a_001", &format!("b{index}_001")]));
        assert_eq!(report.comparisons[0].not_comparable, [], "{change}");
        assert!(report.answer.verdict.is_some());
    }
    // Wrappers change what training logs about itself.
    let training = CompareRequest { metric: Some("train/mean_return".into()), ..ask(&["a_001", "b4_001"]) };
    assert_eq!(answer(&world, &training).comparisons[0].not_comparable[0].key.as_str(), "env.wrappers");
}

#[test]
fn how_often_is_evaluated_counts_only_where_it_changes_the_score() {
    let world = World::new();
    world.run("a").seeds(&TEN).make();
    world.run("b").seeds(&TEN).set("eval.every=512").make();
    let blocking = |words: &[&str], request: &CompareRequest| -> Vec<String> {
        let report = answer(&world, &CompareRequest { words: ask(words).words, ..request.clone() });
        report.comparisons[0]
            .not_comparable
            .iter()
            .map(|difference| difference.key.as_str().to_owned())
            .collect()
    };
    let by = |score: ScoreKind| CompareRequest { score, ..CompareRequest::default() };
    let none: [&str; 0] = [];
    assert_eq!(blocking(&["a_001", "b_001"], &by(ScoreKind::Last)), none);
    // More evaluations are more choices, or another mean.
    assert_eq!(blocking(&["a_001", "b_001"], &by(ScoreKind::Best)), ["eval.every"]);
    assert_eq!(blocking(&["a_001", "b_001"], &by(ScoreKind::Area)), ["eval.every"]);
    // Without any evaluation there is no last one.
    world.run("never").seeds(&TEN).set("eval.every=0").make();
    assert_eq!(blocking(&["a_001", "never_001"], &by(ScoreKind::Last)), ["eval.every"]);
    // What training logs about itself doesn't depend on evaluations, chosen or not.
    let entropy = |score| CompareRequest { metric: Some("entropy".into()), ..by(score) };
    assert_eq!(blocking(&["a_001", "b_001"], &entropy(ScoreKind::Last)), none);
    assert_eq!(blocking(&["a_001", "b_001"], &entropy(ScoreKind::Best)), none);
    // A run that may stop at an evaluation ends elsewhere when there are others.
    let stop = |metadata: &mut rlxp_store::Metadata| {
        metadata.extra.insert("stop_at".to_owned(), 90.0.into());
    };
    world.run("c").seeds(&TEN).metadata(stop).make();
    world.run("d").seeds(&TEN).set("eval.every=512").metadata(stop).make();
    for request in [by(ScoreKind::Last), entropy(ScoreKind::Last)] {
        assert_eq!(blocking(&["c_001", "d_001"], &request), ["eval.every"]);
    }
}

#[test]
fn the_best_checkpoints_must_have_been_chosen_in_the_same_way() {
    let world = World::new();
    let five = [0, 1, 2, 3, 4];
    let runs = [
        world.run("a").seeds(&five).make(),
        world.run("b").seeds(&five).set("eval.every=512").make(),
        world.run("c").seeds(&five).set("eval.seed=77").make(),
    ];
    for run in &runs {
        save_checkpoint(run);
        for folder in run.seed_folders().unwrap() {
            folder.checkpoints().set_link(rlxp_store::BEST, 2048).unwrap();
            let content = serde_json::json!({
                "schema": "rlx.evaluation/1", "step": 2048, "deterministic": true, "mean_return": 1.0,
                "deviation": 0.0, "mean_length": 1.0, "truncated": 0, "first_seed": 20000,
                "returns": [1.0], "lengths": [1], "seeds": [20000],
            });
            folder.write_evaluation("posthoc_1", &content).unwrap();
        }
    }
    let blocking = |score: ScoreKind, other: &str| -> Vec<String> {
        let report = answer(&world, &CompareRequest { score, ..ask(&["a_001", other]) });
        report.comparisons[0]
            .not_comparable
            .iter()
            .map(|difference| difference.key.as_str().to_owned())
            .collect()
    };
    assert_eq!(blocking(ScoreKind::EvalBest, "b_001"), ["eval.every"]);
    assert_eq!(blocking(ScoreKind::EvalBest, "c_001"), ["eval.seed"]);
    for other in ["b_001", "c_001"] {
        assert!(blocking(ScoreKind::Eval, other).is_empty());
    }
}

#[test]
fn failed_seeds_are_scored_and_unfinished_ones_wait() {
    let world = World::new();
    world.run("a").seeds(&TEN).scores(|seed| 10.0 + seed as f64).make();
    // Better, had half of its seeds not diverged early.
    let diverged =
        |seed: u64, step: u64| (seed.is_multiple_of(2) || step < 600).then_some(50.0 + seed as f64);
    world.run("b").seeds(&TEN).returns(diverged).outcome(Some(Outcome::Failed)).make();
    let report = answer(&world, &ask(&["a_001", "b_001"]));
    let verdict = report.comparisons[0].judgement.verdict().unwrap();
    assert_eq!((verdict.b.n, verdict.b.failed), (10, 5));
    assert_ne!(verdict.verdict, Answer::Better);
    let failed = &report.groups[1].seeds[1];
    assert_eq!((failed.state, failed.score), (SeedState::Failed, None));
    assert!(failed.why.as_ref().unwrap().contains("diverged"));
    assert_eq!(report.warnings.iter().filter(|warning| warning.contains("failed: diverged")).count(), 5);
    // The same record of a run that was interrupted, or is still written, is not a result yet.
    for (name, outcome, next) in
        [("c", Some(Outcome::Interrupted), "rlx resume c_001"), ("d", None, "rlx tail d_001")]
    {
        world.run(name).seeds(&TEN).returns(diverged).outcome(outcome).make();
        let report = answer(&world, &ask(&["a_001", &format!("{name}_001")]));
        let difference = &report.comparisons[0].not_comparable[0];
        assert_eq!(
            (difference.key.as_str(), difference.b.as_str()),
            ("unfinished", "1, 3, 5, 7, 9"),
            "{name}"
        );
        assert_eq!(reason_of(&report, 0), NoVerdict::Unfinished);
        assert_eq!(report.next, [next]);
        let forced = CompareRequest { force: true, ..ask(&["a_001", &format!("{name}_001")]) };
        assert_eq!(reason_of(&answer(&world, &forced), 0), NoVerdict::Unfinished);
    }
}

#[test]
fn what_stopped_a_training_is_no_failure_of_it() {
    let world = World::new();
    world.run("a").seeds(&TEN).make();
    let half = |_: u64, step: u64| (step < 600).then_some(50.0);
    // The cause decides, not the words; runs of version 0.1 have only words.
    for (name, cause, reason, state) in [
        ("b", Some(EndCause::Storage), "the disk gave up", SeedState::Unfinished),
        ("c", None, "disk_full: 3 MB are needed", SeedState::Unfinished),
        ("d", None, "damaged: runs/d_001", SeedState::Unfinished),
        ("e", Some(EndCause::OutOfMemory), "storage: not what ended it", SeedState::Failed),
        ("f", None, "was ended by signal 9", SeedState::Unfinished),
        ("g", Some(EndCause::Killed), "was ended by signal 15", SeedState::Unfinished),
        ("h", Some(EndCause::Interrupted), "stopped at once", SeedState::Unfinished),
        ("i", Some(EndCause::Diverged), "diverged: the loss is NaN", SeedState::Failed),
        ("j", Some(EndCause::Other), "environment: copy 3: no such state", SeedState::Failed),
        ("k", None, "environment: copy 3: no such state", SeedState::Failed),
    ] {
        world.run(name).seeds(&TEN).returns(half).failed(cause, reason).make();
        let report = answer(&world, &ask(&["a_001", &format!("{name}_001")]));
        let seed = &report.groups[1].seeds[0];
        assert_eq!(seed.state, state, "{name}");
        assert_eq!(seed.why.as_deref() == Some(reason), state == SeedState::Failed, "{name}: {:?}", seed.why);
        if state == SeedState::Unfinished {
            assert_eq!(reason_of(&report, 0), NoVerdict::Unfinished, "{name}");
            assert_eq!(report.next, [format!("rlx resume {name}_001")]);
        } else {
            assert_eq!(report.answer.verdict, Some(Answer::Worse), "{name}");
        }
    }
}

#[test]
fn all_seeds_of_a_group_may_fail() {
    let world = two_runs();
    world.run("dead").seeds(&TEN).returns(|_, _| None).outcome(Some(Outcome::Failed)).make();
    assert_eq!(verdict_of(&world, &["a_001", "dead_001"]), Some(Answer::Worse));
    assert_eq!(verdict_of(&world, &["dead_001", "a_001"]), Some(Answer::Better));
    world
        .run("dead")
        .seeds(&TEN)
        .set("algo.gamma=0.9")
        .returns(|_, _| None)
        .outcome(Some(Outcome::Failed))
        .make();
    assert_eq!(verdict_of(&world, &["dead_001", "dead_002"]), Some(Answer::CannotTell));
}

#[test]
fn one_seed_says_what_it_can_not_know() {
    let world = World::new();
    world.run("a").make();
    world.run("b").set("seed=3").scores(|_| 500.0).make();
    let report = answer(&world, &ask(&["a_001", "b_001"]));
    let verdict = report.comparisons[0].judgement.verdict().unwrap();
    assert_eq!((verdict.verdict, verdict.reason), (Answer::CannotTell, Some(Reason::TooFewSeeds)));
    assert_eq!(report.answer.seeds_needed, Some(4));
    assert!(report.warnings[0].starts_with("A and B have one seed"), "{:?}", report.warnings);
    assert_eq!(
        report.next,
        [
            "rlx train runs/a_001/config_snapshot.yaml --set seed=4 --set seeds=4    # 4 more seeds for A",
            "rlx train runs/b_001/config_snapshot.yaml --set seed=4 --set seeds=4    # 4 more seeds for B",
        ]
    );
    assert!(!report.comparisons[0].changes.seeds.same);
    let paired =
        compare(&world.context, &CompareRequest { paired: true, ..ask(&["a_001", "b_001"]) }).unwrap_err();
    assert_eq!(paired.code, "seeds_do_not_match");
    assert!(paired.message.contains("only in A: 0; only in B: 3"), "{}", paired.message);
}

#[test]
fn groups_fold_seeds_and_the_same_training_counts_once() {
    let world = World::new();
    let program = Digest::hash(b"program");
    let described = move |tag: &'static str| {
        move |metadata: &mut rlxp_store::Metadata| {
            metadata.versions.binary = Some(program);
            metadata.tags = vec![tag.to_owned()];
        }
    };
    let low = |seed: u64| 10.0 + seed as f64;
    world.run("a").seeds(&[0, 1, 2]).metadata(described("low")).scores(low).make();
    let again = world.run("a").seeds(&[2, 3, 4]).set("threads=1").set("checkpoint.keep=1");
    again.metadata(described("low")).scores(low).make();
    // Stopped where the second one continued.
    let cut = move |seed: u64, step: u64| (step < 1000).then(|| low(seed));
    world
        .run("a")
        .set("seed=5")
        .metadata(described("low"))
        .returns(cut)
        .outcome(Some(Outcome::Interrupted))
        .make();
    world.run("a").set("seed=5").metadata(described("low")).scores(low).make();
    for first in [0, 5] {
        let seeds: Vec<u64> = (first..first + 5).collect();
        let plan = world.run("b").seeds(&seeds).set("algo.gamma=0.9").metadata(described("high"));
        plan.scores(|seed| 40.0 + seed as f64).make();
    }
    let folded = answer(&world, &ask(&["tag:low", "b_001+b_002"]));
    let seeds: Vec<u64> = folded.groups[0].seeds.iter().map(|seed| seed.seed).collect();
    assert_eq!(seeds, [0, 1, 2, 3, 4, 5]);
    assert_eq!(folded.groups[1].seeds.len(), 10);
    assert_eq!(folded.answer.verdict, Some(Answer::Better));
    let counted: Vec<(u64, &str, &str)> = folded.groups[0]
        .duplicates
        .iter()
        .map(|d| (d.seed, d.counted.as_str(), d.left_out.as_str()))
        .collect();
    assert_eq!(counted, [(2, "a_001", "a_002"), (5, "a_004", "a_003")]);
    assert!(
        folded.warnings.iter().any(|warning| warning.contains("2 seeds repeated with the same config")),
        "{:?}",
        folded.warnings
    );
    // Without a digest of the program, only equal curves show it.
    world.run("c").seeds(&[0, 1]).returns(|seed, step| Some((seed + step) as f64)).make();
    world.run("c").seeds(&[1, 2]).returns(|seed, step| Some((seed + step) as f64)).make();
    world.run("c").seeds(&[2]).returns(|seed, step| Some((seed + step) as f64 + 0.5)).make();
    let equal = answer(&world, &ask(&["c_001+c_002+c_003", "tag:high"]));
    assert_eq!(equal.groups[0].duplicates.len(), 1);
    assert_eq!(equal.groups[0].seeds.len(), 4);
    let by_config = CompareRequest { by_config: true, ..ask(&["tag:high", "tag:low", "a_001"]) };
    let report = answer(&world, &by_config);
    let labels: Vec<&str> = report.groups.iter().map(|group| group.label.as_str()).collect();
    assert_eq!(labels, ["gamma=0.9", "gamma=0.99"]);
    assert_eq!(report.groups[1].also.as_deref(), Some("a_001 and 3 more"));
    assert_eq!(report.answer.verdict, Some(Answer::Worse));
    let one = compare(&world.context, &CompareRequest { by_config: true, ..ask(&["tag:low"]) }).unwrap_err();
    assert_eq!(one.code, "nothing_to_compare");
}

#[test]
fn several_comparisons_share_the_level() {
    let world = World::new();
    let five = [0, 1, 2, 3, 4];
    let score = |of: f64| move |seed: u64| of + seed as f64;
    world.run("a").seeds(&five).scores(score(0.0)).make();
    world.run("b").seeds(&five).scores(score(50.0)).make();
    assert_eq!(verdict_of(&world, &["a_001", "b_001"]), Some(Answer::Better));
    // Five seeds can reach 1/252 at best, which is not enough for one of ten.
    let words: Vec<String> = (0..9)
        .map(|index| {
            world.run(&format!("c{index}")).seeds(&five).scores(score(0.25)).make();
            format!("c{index}_001")
        })
        .collect();
    let mut all = vec!["a_001", "b_001"];
    all.extend(words.iter().map(String::as_str));
    let report = answer(&world, &ask(&all));
    assert_eq!(report.answer.verdict, None);
    let holm = report.comparisons[0].holm.unwrap();
    assert_eq!((holm.comparisons, holm.level), (10, 0.00125));
    let verdict = report.comparisons[0].judgement.verdict().unwrap();
    assert_eq!((verdict.verdict, verdict.reason), (Answer::CannotTell, Some(Reason::TooFewSeeds)));
    let three = answer(&world, &ask(&all[..4]));
    let verdicts: Vec<Answer> =
        three.comparisons.iter().map(|one| one.judgement.verdict().unwrap().verdict).collect();
    assert_eq!(verdicts, [Answer::Better, Answer::CannotTell, Answer::CannotTell]);
    let last = three.comparisons[2].judgement.statements();
    assert!(last[0].contains("D is better or worse than A"), "{last:?}");
    assert!(last.last().unwrap().contains("One of 3 comparisons"), "{last:?}");
}

#[test]
fn scores_of_every_kind() {
    let world = World::new();
    // A rises and stays; B peaks and falls; seeds shift both a little.
    let shift = |seed: u64| seed as f64 / 10.0;
    world.run("a").seeds(&TEN).returns(move |seed, step| Some(shift(seed) + step as f64 / 100.0)).make();
    let peak = move |seed: u64, step: u64| Some(shift(seed) + if step == 1024 { 60.0 } else { 1.0 });
    world.run("b").seeds(&TEN).returns(peak).make();
    let by = |score: ScoreKind| answer(&world, &CompareRequest { score, ..ask(&["a_001", "b_001"]) });
    assert_eq!(by(ScoreKind::Last).answer.verdict, Some(Answer::Worse));
    let best = by(ScoreKind::Best);
    assert_eq!(best.answer.verdict, Some(Answer::Better));
    // Best of 8, standard error 10 / √100: the expected maximum of 8 is 1.4236.
    assert!(best.warnings[0].contains("adds up to about 1.424"), "{:?}", best.warnings);
    assert_eq!(by(ScoreKind::Area).answer.verdict, Some(Answer::Worse));
    let metric = |metric: &str| {
        answer(&world, &CompareRequest { metric: Some(metric.into()), ..ask(&["a_001", "b_001"]) })
    };
    assert_eq!(metric("entropy").score.metric, "train/entropy");
    assert_eq!(metric("mean_length").score.metric, "eval/mean_length");
    assert_eq!(metric("entropy").answer.verdict, Some(Answer::CannotTell));
    assert_eq!(metric("timing/steps_per_second").groups[0].seeds[0].score, Some(1000.0));
    let unknown = CompareRequest { metric: Some("entropi".into()), ..ask(&["a_001", "b_001"]) };
    let failure = compare(&world.context, &unknown).unwrap_err();
    assert_eq!(failure.code, "metric_not_found");
    assert!(failure.hints[0].contains("train/entropy"), "{:?}", failure.hints);
}

#[test]
fn scores_of_rlx_eval_need_the_same_episodes_everywhere() {
    let world = World::new();
    let five = [0, 1, 2, 3, 4];
    let runs = [("a", 10.0), ("b", 90.0)].map(|(name, base)| (world.run(name).seeds(&five).make(), base));
    let request = CompareRequest { score: ScoreKind::Eval, ..ask(&["a_001", "b_001"]) };
    let failure = compare(&world.context, &request).unwrap_err();
    assert_eq!(failure.code, "no_common_evaluation");
    assert_eq!(failure.hints, ["rlx eval --run a_001", "rlx eval --run b_001"]);
    let write = |run: &rlxp_store::Run, base: f64, episodes: usize| {
        for folder in run.seed_folders().unwrap() {
            let mean = base + folder.seed() as f64 + episodes as f64 / 1000.0;
            let content = serde_json::json!({
                "schema": "rlx.evaluation/1", "step": 2048, "deterministic": true, "mean_return": mean,
                "deviation": 0.0, "mean_length": 1.0, "truncated": 0, "first_seed": 20000,
                "returns": vec![mean; episodes], "lengths": vec![1; episodes], "seeds": vec![0; episodes],
            });
            folder.write_evaluation(&format!("posthoc_{episodes}"), &content).unwrap();
        }
    };
    for (run, _) in &runs {
        for folder in run.seed_folders().unwrap() {
            let position = rlxp_store::recover(&folder, None);
            assert!(position.is_ok());
        }
    }
    for (run, base) in &runs {
        save_checkpoint(run);
        write(run, *base, 10);
    }
    // More episodes, but only of A.
    write(&runs[0].0, 0.0, 100);
    let report = answer(&world, &request);
    assert_eq!(report.answer.verdict, Some(Answer::Better));
    assert_eq!(report.groups[0].seeds[0].score, Some(10.01));
    // Evaluating the same policies again gives other scores, and no other chance.
    let recorded = CompareRequest { record: true, ..request };
    assert_eq!(answer(&world, &recorded).comparisons[0].look.unwrap().number, Some(1));
    for (run, base) in &runs {
        write(run, *base, 200);
    }
    let again = answer(&world, &recorded);
    assert_eq!(again.groups[0].seeds[0].score, Some(10.2));
    assert_eq!(again.answer.reason.as_deref(), Some("no_more_seeds"));
}

fn save_checkpoint(run: &rlxp_store::Run) {
    for folder in run.seed_folders().unwrap() {
        let facts = rlxp_store::CheckpointFacts {
            reason: rlxp_store::SaveReason::Final,
            metrics: rlxp_store::MetricsPosition::start(),
            best: None,
            facts: serde_json::Map::new(),
        };
        folder.checkpoints().save(2048, b"model", b"state", &facts).unwrap();
    }
}

#[test]
fn two_hundred_runs_at_once() {
    let world = World::new();
    for index in 0..200 {
        let tag = if index < 100 { "old" } else { "new" };
        let plan = world.run("many").set(&format!("seed={index}")).tag(tag);
        let plan = if index < 100 { plan } else { plan.set("algo.gamma=0.9") };
        plan.scores(move |seed| (seed % 10) as f64 + if index < 100 { 0.0 } else { 30.0 }).make();
    }
    let folded = answer(&world, &ask(&["tag:old", "tag:new"]));
    assert_eq!((folded.groups[0].seeds.len(), folded.groups[1].seeds.len()), (100, 100));
    assert_eq!(folded.answer.verdict, Some(Answer::Better));
    let words: Vec<String> = (1..=200).map(|number| format!("many_{number:03}")).collect();
    let apart = answer(&world, &CompareRequest { words, ..CompareRequest::default() });
    assert_eq!(apart.comparisons.len(), 199);
    assert!(apart.next.len() <= 6);
    let by_config = CompareRequest { by_config: true, ..ask(&["tag:old", "tag:new"]) };
    assert_eq!(answer(&world, &by_config).groups.len(), 2);
}

#[test]
fn words_that_name_nothing_are_told() {
    let world = two_runs();
    for (words, code) in [
        (&["a_001"][..], "nothing_to_compare"),
        (&["a_001", "zzz"], "run_not_found"),
        (&["a_001", "tag:zzz"], "no_such_tag"),
        (&["a_001", "b_001+zzz"], "run_not_found"),
        (&["a_001", ""], "run_not_found"),
    ] {
        assert_eq!(compare(&world.context, &ask(words)).unwrap_err().code, code, "{words:?}");
    }
}
