//! F43 to F49: settings that are the probable cause of a poor return. Each is
//! silent where the return is fine, whatever the setting.

use serde_json::{Value, json};

use super::*;
use Severity::{Error, Warning};

/// A usual config.
fn usual(mut evidence: Evidence<'static>) -> Evidence<'static> {
    evidence.settings.values = [
        ("algo.learning_rate", json!({ "schedule": "linear", "from": 0.001, "to": 0.0 })),
        ("algo.clip_range", json!(0.2)),
        ("algo.gamma", json!(0.99)),
        ("algo.gae_lambda", json!(0.95)),
        ("algo.entropy_coef", json!(0.0)),
        ("algo.value_coef", json!(0.5)),
        ("algo.max_grad_norm", json!(0.5)),
        ("algo.adam_epsilon", json!(1e-5)),
        ("algo.batch_size", json!(128)),
        ("algo.update_epochs", json!(10)),
        ("algo.rollout_steps", json!(125)),
        ("algo.target_kl", Value::Null),
        ("algo.clip_value", Value::Null),
        ("algo.normalize_advantages", json!(true)),
        ("env.num_envs", json!(8)),
        ("env.wrappers", json!([])),
        ("policy.hidden_sizes", json!([64, 64])),
        ("policy.log_std_init", json!(0.0)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    evidence
}

fn set(mut evidence: Evidence<'static>, key: &str, value: Value) -> Evidence<'static> {
    assert!(evidence.settings.values.insert(key.to_owned(), value).is_some(), "{key}");
    evidence
}

/// Fires on the setting when nothing was learned, naming the key; silent when the return is fine.
#[track_caller]
fn blames(
    change: impl Fn(Evidence<'static>) -> Evidence<'static>,
    id: &str,
    severity: Severity,
    key: &str,
) -> Finding {
    clear(&usual(unlearned()), id);
    clear(&change(usual(healthy())), id);
    let finding = found(&change(usual(unlearned())), id);
    assert_eq!(finding.severity, severity, "{id}: {}", finding.sentence);
    assert_eq!(finding.keys.first().map(String::as_str), Some(key), "{id}: {}", finding.sentence);
    assert!(finding.sentence.contains("eval.mean_return ends at 22"), "{id}: {}", finding.sentence);
    let metrics: Vec<&str> = finding.evidence.iter().map(|citation| citation.metric.as_str()).collect();
    assert_eq!(metrics, [format!("config.{key}").as_str(), "eval.mean_return"], "{id}");
    finding
}

#[test]
fn f43_a_flipped_reward() {
    let flipped = |mut run: Evidence<'static>| {
        run.settings.reward_factor = -0.5;
        run
    };
    blames(flipped, "F43", Error, "env.wrappers");
}

#[test]
fn f44_a_discount_that_looks_a_few_steps_ahead() {
    let low = |mut run: Evidence<'static>| {
        run.settings.gamma = Some(0.5);
        run
    };
    let finding = blames(low, "F44", Error, "algo.gamma");
    assert!(finding.sentence.contains("looks 2 steps ahead"), "{}", finding.sentence);
    // Episodes of a few steps need no foresight.
    let mut short = low(usual(unlearned()));
    short.environment.step_cap = Some(5);
    put(&mut short, "train.mean_length", each(|_| 4.0));
    clear(&short, "F44");
    short.settings.gamma = None;
    lacks(&short, "F44", "gamma");
}

#[test]
fn f45_a_value_function_without_effect() {
    blames(|run| set(run, "algo.value_coef", json!(0.0)), "F45", Error, "algo.value_coef");
    // 100 updates of 1e-4 never reach returns of 90; 100 of 2 do.
    blames(|run| set(run, "algo.clip_value", json!(1e-4)), "F45", Error, "algo.clip_value");
    clear(&set(usual(unlearned()), "algo.clip_value", json!(2.0)), "F45");
    let whole = |run| {
        let mut run = set(run, "algo.gae_lambda", json!(1.0));
        run.settings.gamma = Some(1.0);
        run
    };
    let finding = blames(whole, "F45", Warning, "algo.gae_lambda");
    assert_eq!(finding.keys, ["algo.gae_lambda", "algo.gamma"]);
}

#[test]
fn f46_a_network_of_a_few_units() {
    blames(|run| set(run, "policy.hidden_sizes", json!([64, 2])), "F46", Error, "policy.hidden_sizes");
    clear(&set(usual(unlearned()), "policy.hidden_sizes", json!([8])), "F46");
    lacks(&unlearned(), "F46", "size");
}

#[test]
fn f47_wrappers_that_change_the_task() {
    for wrapper in
        [json!("truncation_as_termination"), json!({ "freeze_observation": { "dimensions": [0] } })]
    {
        blames(|run| set(run, "env.wrappers", json!([wrapper])), "F47", Warning, "env.wrappers");
    }
    let scaled = |factor: f64| {
        move |run| {
            let mut run = set(run, "env.wrappers", json!([{ "scale_reward": { "factor": factor } }]));
            run.settings.reward_factor = factor;
            run
        }
    };
    blames(scaled(1e5), "F47", Warning, "env.wrappers");
    blames(scaled(1e-6), "F47", Warning, "env.wrappers");
    clear(&scaled(0.1)(usual(unlearned())), "F47");
    // Normalisation undoes any factor but 0.
    let mut normalised = scaled(1e5)(usual(unlearned()));
    normalised.settings.normalize_rewards = true;
    clear(&normalised, "F47");
}

#[test]
fn f48_settings_outside_their_usual_range() {
    for (key, value) in [
        ("algo.learning_rate", json!(1.0)),
        ("algo.learning_rate", json!(1e-8)),
        ("algo.clip_range", json!(1e-4)),
        ("algo.clip_range", json!(50)),
        ("algo.gae_lambda", json!(0.0)),
        ("algo.entropy_coef", json!(5.0)),
        ("algo.value_coef", json!(100)),
        ("algo.max_grad_norm", json!(1e-6)),
        ("algo.adam_epsilon", json!(0.5)),
        ("algo.batch_size", json!(2)),
        ("algo.update_epochs", json!(300)),
        ("algo.rollout_steps", json!(1)),
        ("algo.target_kl", json!(1e-7)),
        ("policy.hidden_sizes", json!([8, 8, 8, 8, 8, 8, 8, 8])),
    ] {
        blames(|run| set(run, key, value.clone()), "F48", Warning, key);
    }
    // Noise matters for continuous actions alone.
    let quiet = set(usual(unlearned()), "policy.log_std_init", json!(-6.0));
    clear(&quiet, "F48");
    assert_eq!(found(&continuous(quiet), "F48").keys, ["policy.log_std_init"]);
    // Raw advantages matter where returns are far from 1.
    let mut raw = set(usual(unlearned()), "algo.normalize_advantages", json!(false));
    clear(&raw, "F48");
    put(&mut raw, "train.return_target_p99", each(|_| 9_000.0));
    assert_eq!(found(&raw, "F48").keys, ["algo.normalize_advantages"]);
    // Few copies with few steps make a small rollout, though each number is usual by itself.
    let small = |copies: u64, length: u64| {
        set(set(usual(unlearned()), "env.num_envs", json!(copies)), "algo.rollout_steps", json!(length))
    };
    let finding = found(&small(4, 16), "F48");
    assert_eq!(finding.keys, ["algo.rollout_steps", "env.num_envs"]);
    assert!(finding.sentence.contains("is 64 (below the usual 128)"), "{}", finding.sentence);
    clear(&small(1, 128), "F48");
    clear(&small(32, 5), "F48");
    // The furthest comes first.
    let both = set(set(usual(unlearned()), "algo.clip_range", json!(2.0)), "algo.adam_epsilon", json!(0.5));
    assert_eq!(found(&both, "F48").keys, ["algo.adam_epsilon", "algo.clip_range"]);
}

#[test]
fn f49_a_handful_of_updates() {
    blames(|run| set(run, "algo.rollout_steps", json!(6_000)), "F49", Warning, "algo.rollout_steps");
    blames(
        |run| set(set(run, "algo.batch_size", json!(1_000)), "algo.update_epochs", json!(1)),
        "F49",
        Warning,
        "algo.batch_size",
    );
    // Rollouts of a usual size: the budget is too small.
    let mut short = usual(unlearned());
    short.settings.total_steps = 8_000;
    let finding = found(&short, "F49");
    assert_eq!(finding.keys, ["algo.total_timesteps"]);
    assert!(finding.sentence.starts_with("a budget of 8000 steps allows 8 updates"), "{}", finding.sentence);
    let mut enough = usual(healthy());
    enough.settings.total_steps = 8_000;
    clear(&enough, "F49");
    // With few evaluations there is no curve; the last ones count.
    let mut few = set(usual(unlearned()), "algo.rollout_steps", json!(6_000));
    few.seeds[0].series.remove("eval.mean_return");
    few.seeds[0].series.remove("train.mean_return");
    few.seeds[0].evaluations.truncate(2);
    found(&few, "F49");
    few.seeds[0].evaluations.iter_mut().for_each(|evaluation| evaluation.mean = 480.0);
    clear(&few, "F49");
    few.seeds[0].evaluations.clear();
    lacks(&few, "F49", "no evaluation");
}

#[test]
fn f49_with_many_gradient_steps_denies_no_change_and_comes_after_a_cause() {
    // 3 updates of 10 epochs of 375 batches.
    let mut run = set(usual(unlearned()), "algo.rollout_steps", json!(6_000));
    put(&mut run, "train.approx_kl", each(|_| 5e-7));
    let (few, still) = (found(&run, "F49"), found(&run, "F04"));
    assert!(few.sentence.contains("allow 3 updates"), "{}", few.sentence);
    assert!(!few.meaning.contains("hardly any chance"), "{}", few.meaning);
    assert!(still.rank < few.rank && still.explained_by.is_empty(), "{still:?}");
    // With one batch per update they are few of both, and this comes first.
    let coarse = set(set(run, "algo.batch_size", json!(48_000)), "algo.update_epochs", json!(1));
    let few = found(&coarse, "F49");
    assert!(few.meaning.contains("hardly any chance") && few.rank == 1, "{few:?}");
}

#[test]
fn f49_counts_one_as_one() {
    let one = set(usual(unlearned()), "algo.rollout_steps", json!(20_000));
    assert!(found(&one, "F49").sentence.contains("allow 1 update (fewer"), "{}", found(&one, "F49").sentence);
    let coarse =
        set(set(usual(unlearned()), "algo.batch_size", json!(1_000)), "algo.update_epochs", json!(1));
    let sentence = found(&coarse, "F49").sentence;
    assert!(sentence.starts_with("1 epoch of 1 batch per update makes 100 gradient steps"), "{sentence}");
}

#[test]
fn the_highest_possible_return_is_never_short() {
    // Every episode earns 1, with random actions too; half above that is 1.5.
    let mut run = set(usual(unlearned()), "algo.adam_epsilon", json!(0.5));
    run.environment.reward_threshold = None;
    run.baselines.iter_mut().for_each(|baseline| (baseline.mean, baseline.deviation) = (1.0, 0.0));
    run.seeds[0].series.retain(|name, _| !name.ends_with("mean_return"));
    run.seeds[0].evaluations.truncate(2);
    run.seeds[0].evaluations.iter_mut().for_each(|evaluation| evaluation.mean = 1.0);
    found(&run, "F48");
    run.environment.return_range = Some((1.0, 1.0));
    clear(&run, "F48");
}

#[test]
fn no_setting_is_to_blame_where_there_is_one_action() {
    let mut run = set(usual(unlearned()), "algo.adam_epsilon", json!(0.5));
    run.environment.actions = Some(Actions::Discrete { most_entropy: 0.0 });
    for id in ["F17", "F43", "F44", "F45", "F46", "F47", "F48", "F49"] {
        is_not_about(&run, id, "only one action");
    }
}

#[test]
fn a_return_a_quarter_above_random_excuses_nothing() {
    let mut run = set(usual(unlearned()), "algo.adam_epsilon", json!(0.5));
    run.environment.reward_threshold = None;
    run.baselines.iter_mut().for_each(|baseline| baseline.deviation = 1.0);
    put(&mut run, "eval.mean_return", every(5, |update| 22.0 + 8.0 * update as f64 / 100.0));
    found(&run, "F48");
    // A known good return sets the scale where the environment has no target.
    put(&mut run, "eval.mean_return", every(5, |update| 22.0 + 30.0 * update as f64 / 100.0));
    clear(&run, "F48");
    run.environment.good_return = Some(400.0);
    found(&run, "F48");
}

#[test]
fn f26_discrete_observations_that_never_change() {
    let mut run = unlearned();
    run.environment.real_observations = Some(false);
    run.seeds[0].series.retain(|name, _| !name.starts_with("observations."));
    run.environment.still = vec![1.0];
    let finding = found(&run, "F26");
    assert_eq!(finding.severity, Warning);
    // A card that is held during a hand is the task.
    run.environment.still = vec![0.0, 1.0];
    clear(&run, "F26");
}

#[test]
fn f48_names_a_setting_that_may_hold_a_run_back() {
    let mut run = set(usual(unlearned()), "algo.clip_range", json!(0.0005));
    let rises = |update: u64| 21.5 + 385.0 * (update.min(60) as f64 / 60.0) + wobble(update);
    put(&mut run, "eval.mean_return", every(5, rises));
    let finding = found(&run, "F48");
    assert_eq!(
        (finding.severity, finding.keys.as_slice()),
        (Severity::Info, &["algo.clip_range".to_owned()][..])
    );
    assert!(finding.sentence.contains("short of the target 475"), "{}", finding.sentence);
    assert!(finding.meaning.contains("The run has learned"), "{}", finding.meaning);
}
