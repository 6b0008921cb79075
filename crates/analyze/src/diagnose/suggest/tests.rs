use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::diagnose::{Answer, Finding, RuleOutcome, RuleSet};

/// A config that learns CartPole.
fn starter() -> Settings {
    BTreeMap::from(
        [
            ("algo.learning_rate", json!({ "schedule": "linear", "from": 0.001, "to": 0.0 })),
            ("algo.total_timesteps", json!(100_000)),
            ("algo.rollout_steps", json!(128)),
            ("algo.batch_size", json!(128)),
            ("algo.update_epochs", json!(10)),
            ("algo.clip_range", json!(0.2)),
            ("algo.gamma", json!(0.99)),
            ("algo.gae_lambda", json!(0.95)),
            ("algo.entropy_coef", json!(0.0)),
            ("algo.value_coef", json!(0.5)),
            ("algo.max_grad_norm", json!(0.5)),
            ("algo.target_kl", json!(null)),
            ("algo.clip_value", json!(null)),
            ("algo.adam_epsilon", json!(1e-5)),
            ("algo.normalize_advantages", json!(true)),
            ("env.num_envs", json!(8)),
            ("env.wrappers", json!([])),
            ("env.normalize_observations", json!(false)),
            ("env.normalize_rewards", json!(false)),
            ("policy.hidden_sizes", json!([64, 64])),
            ("policy.activation", json!("tanh")),
            ("policy.log_std_init", json!(0.0)),
            ("policy.use_sde", json!(false)),
            ("policy.sde_sample_freq", json!(null)),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    )
}

fn with(changes: &[(&str, Value)]) -> Settings {
    let mut settings = starter();
    for (key, value) in changes {
        assert!(settings.insert((*key).to_owned(), value.clone()).is_some(), "{key}");
    }
    settings
}

/// Findings of these rules, in this order.
fn found(rules: &[(&str, Severity)]) -> Answers {
    let outcomes = rules.iter().enumerate().map(|(index, (id, severity))| {
        let rule = RuleSet::built_in().rule(id).unwrap();
        let citation = Citation {
            metric: "train.approx_kl".to_owned(),
            seed: None,
            from_step: 1024,
            to_step: 2048,
            value: 7.5,
            threshold: Some(0.05),
        };
        RuleOutcome {
            rule: rule.id.clone(),
            title: rule.title.clone(),
            answer: Answer::Finding(Box::new(Finding {
                rank: index + 1,
                severity: *severity,
                sentence: format!(
                    "train.approx_kl is 7.5 over steps 1024 to 2048, beyond 0.05, as {id} has it"
                ),
                meaning: String::new(),
                seeds_showing: 1,
                seeds_judged: 1,
                evidence: vec![citation],
                exclusions: Vec::new(),
                explained_by: Vec::new(),
                keys: Vec::new(),
                strength: 150.0,
                next: None,
                suggestions: rule.suggestions.clone(),
            })),
        }
    });
    Answers { rules_version: "1".to_owned(), outcomes: outcomes.collect() }
}

fn standing(reached: Option<f64>) -> Reached {
    Reached::new(reached, 100_000, (5, 0), Knowledge::built_in().good_return("CartPole-v1"), true)
}

fn advice(settings: &Settings, answers: &Answers, reached: Option<f64>, is_starter: bool) -> Advice {
    let reference = Reference { settings: starter(), is_starter };
    let situation = Situation {
        env: "CartPole-v1",
        settings,
        reference: Some(&reference),
        answers,
        standing: &standing(reached),
        continuous: Some(false),
        as_random_as_possible: false,
    };
    suggest(&situation, Knowledge::built_in())
}

/// The first suggestion's changes as `--set` takes them.
fn first(settings: &Settings, rules: &[(&str, Severity)], is_starter: bool) -> Vec<String> {
    let advice = advice(settings, &found(rules), Some(20.0), is_starter);
    let first = &advice.suggestions[0];
    first.changes.iter().map(|change| format!("{}={}", change.key, written(&change.to))).collect()
}

use Severity::{Error, Info, Warning};

#[test]
fn a_finding_moves_its_key_to_the_starters_value() {
    let high = with(&[("algo.learning_rate", json!(3.0))]);
    for rules in [vec![("F01", Error)], vec![("F03", Error), ("F11", Error)], vec![("F16", Warning)]] {
        let expected = ["algo.learning_rate={schedule: linear, from: 0.001, to: 0}"];
        assert_eq!(first(&high, &rules, true), expected, "{rules:?}");
    }
    let low = with(&[("algo.learning_rate", json!(1e-6))]);
    assert_eq!(
        first(&low, &[("F04", Warning)], true),
        ["algo.learning_rate={schedule: linear, from: 0.001, to: 0}"]
    );
    let random = with(&[("algo.entropy_coef", json!(1.0))]);
    assert_eq!(first(&random, &[("F09", Error)], true), ["algo.entropy_coef=0"]);
    let cut = with(&[("env.wrappers", json!([{ "truncation_as_termination": {} }]))]);
    assert_eq!(first(&cut, &[("F28", Error)], true), ["env.wrappers=[]"]);
    let large = with(&[("env.wrappers", json!([{ "scale_reward": { "factor": 1e6 } }]))]);
    assert!(first(&large, &[("F12", Error)], true).contains(&"env.wrappers=[]".to_owned()));
}

#[test]
fn without_a_starter_a_rule_takes_a_usual_step() {
    for (change, rule, expected) in [
        (("algo.learning_rate", json!(0.005)), ("F03", Error), "algo.learning_rate=0.0005"),
        (
            ("algo.learning_rate", json!(3.0)),
            ("F03", Error),
            "algo.learning_rate={schedule: linear, from: 0.001, to: 0}",
        ),
        (("algo.learning_rate", json!(0.0003)), ("F04", Warning), "algo.learning_rate=0.003"),
        (("algo.entropy_coef", json!(0.0)), ("F08", Error), "algo.entropy_coef=0.01"),
        (("algo.entropy_coef", json!(0.2)), ("F09", Error), "algo.entropy_coef=0.02"),
        (("algo.entropy_coef", json!(0.01)), ("F23", Error), "algo.entropy_coef=0.03"),
        (("env.normalize_rewards", json!(false)), ("F12", Error), "env.normalize_rewards=true"),
        (("env.normalize_observations", json!(false)), ("F25", Error), "env.normalize_observations=true"),
        (
            ("algo.learning_rate", json!(0.001)),
            ("F17", Error),
            "algo.learning_rate={schedule: linear, from: 0.001, to: 0}",
        ),
        (("policy.log_std_init", json!(0.0)), ("F27", Error), "policy.log_std_init=-1"),
        (
            ("algo.update_epochs", json!(10)),
            ("F05", Warning),
            "algo.learning_rate={schedule: linear, from: 0.0001, to: 0}",
        ),
    ] {
        let settings = with(&[change]);
        assert_eq!(first(&settings, &[rule], false), [expected], "{rule:?}");
    }
}

/// The same, of a finding that names its keys.
fn first_of_named(
    settings: &Settings,
    rule: (&str, Severity),
    keys: &[&str],
    is_starter: bool,
) -> Suggestion {
    let mut answers = found(&[rule]);
    if let Answer::Finding(finding) = &mut answers.outcomes[0].answer {
        finding.keys = keys.iter().map(|key| (*key).to_owned()).collect();
    }
    advice(settings, &answers, Some(20.0), is_starter).suggestions.swap_remove(0)
}

#[test]
fn a_finding_that_names_its_key_is_answered_by_that_key() {
    for is_starter in [true, false] {
        for (rule, key, wrong, right) in [
            (("F45", Error), "algo.clip_value", json!(1e-5), json!(null)),
            (("F45", Error), "algo.value_coef", json!(0.0), json!(0.5)),
            (("F44", Error), "algo.gamma", json!(0.3), json!(0.99)),
            (("F46", Error), "policy.hidden_sizes", json!([1]), json!([64, 64])),
            (("F43", Error), "env.wrappers", json!([{ "scale_reward": { "factor": -1.0 } }]), json!([])),
            (("F48", Warning), "algo.adam_epsilon", json!(1.0), json!(1e-5)),
            (("F49", Warning), "algo.rollout_steps", json!(9_000), json!(128)),
        ] {
            let suggestion = first_of_named(&with(&[(key, wrong)]), rule, &[key], is_starter);
            let to = suggestion.changes.iter().find(|change| change.key == key).map(|change| &change.to);
            assert!(to.is_some_and(|to| setting::same(to, &right)), "{rule:?} {is_starter}: {suggestion:?}");
        }
    }
}

#[test]
fn a_batch_of_the_starter_comes_with_its_rollout() {
    let large = with(&[("algo.rollout_steps", json!(9_000)), ("algo.batch_size", json!(72_000))]);
    let suggestion = first_of_named(&large, ("F49", Warning), &["algo.batch_size"], true);
    let mut keys: Vec<&str> = suggestion.changes.iter().map(|change| change.key.as_str()).collect();
    keys.sort_unstable();
    // Two rollouts were 144,000 steps: the budget keeps the new run as long.
    assert_eq!(keys, ["algo.batch_size", "algo.rollout_steps", "algo.total_timesteps"]);
}

#[test]
fn a_budget_for_a_handful_of_updates_is_answered_by_a_larger_one() {
    let short = with(&[("algo.total_timesteps", json!(8_000))]);
    for is_starter in [true, false] {
        let suggestion = first_of_named(&short, ("F49", Warning), &["algo.total_timesteps"], is_starter);
        assert_eq!((suggestion.id.as_str(), suggestion.comparable), ("train_longer", false));
    }
}

#[test]
fn a_huge_rollout_goes_home_whatever_the_budget_and_trains_as_long() {
    let huge = with(&[
        ("algo.rollout_steps", json!(2_048)),
        ("env.num_envs", json!(32)),
        ("algo.update_epochs", json!(1)),
        ("algo.batch_size", json!(32_768)),
        ("algo.total_timesteps", json!(8_000)),
    ]);
    for (is_starter, envs) in [(true, Some(json!(8))), (false, None)] {
        let suggestion = first_of_named(&huge, ("F49", Warning), &["algo.rollout_steps"], is_starter);
        let to = |key: &str| suggestion.changes.iter().find(|c| c.key == key).map(|c| c.to.clone());
        assert_eq!(to("algo.rollout_steps"), Some(json!(128)), "{suggestion:?}");
        assert_eq!(to("env.num_envs"), envs);
        assert_eq!(to("algo.batch_size"), Some(json!(128)));
        // One rollout of 65,536 steps was what the budget of 8,000 trained.
        assert_eq!(to("algo.total_timesteps"), Some(json!(65_536)));
        assert!(suggestion.comparable);
        assert!(!suggestion.reason.contains("total_timesteps is"), "{}", suggestion.reason);
    }
}

#[test]
fn a_larger_rollout_that_the_budget_holds_a_few_times_says_so() {
    let tiny = with(&[
        ("algo.rollout_steps", json!(4)),
        ("env.num_envs", json!(1)),
        ("algo.batch_size", json!(4)),
        ("algo.total_timesteps", json!(4_096)),
    ]);
    let keys = ["algo.rollout_steps", "env.num_envs"];
    let risk = first_of_named(&tiny, ("F48", Warning), &keys, true).risk;
    assert!(risk.contains("4096 steps holds only 4 rollouts") && risk.contains("total_timesteps"), "{risk}");
}

#[test]
fn a_uniform_policy_gets_no_entropy_bonus() {
    let reference = Reference { settings: starter(), is_starter: false };
    let ids = |as_random_as_possible: bool| {
        let situation = Situation {
            env: "CartPole-v1",
            settings: &starter(),
            reference: Some(&reference),
            answers: &found(&[("F30", Warning)]),
            standing: &standing(Some(20.0)),
            continuous: Some(false),
            as_random_as_possible,
        };
        let advice = suggest(&situation, Knowledge::built_in());
        advice.suggestions.into_iter().map(|suggestion| suggestion.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(false), ["raise_entropy_coef"]);
    assert!(ids(true).is_empty());
}

#[test]
fn whether_a_config_is_close_to_its_starter_is_known_without_suggestions() {
    let none = found(&[]);
    assert!(!advice(&starter(), &none, Some(20.0), true).far_from_starter);
    assert!(advice(&with(&[("algo.gamma", json!(0.5))]), &none, Some(500.0), true).far_from_starter);
}

#[test]
fn the_freezing_wrapper_is_named_and_the_result_is_incomparable() {
    let frozen = with(&[("env.wrappers", json!([{ "freeze_observation": {} }]))]);
    let suggestion = first_of_named(&frozen, ("F26", Warning), &[], false);
    assert_eq!(suggestion.id, "drop_freeze");
    assert_eq!(suggestion.changes[0].to, json!([]));
    assert!(!suggestion.comparable);
}

#[test]
fn steps_against_different_causes_go_into_one_run() {
    let settings = with(&[("algo.learning_rate", json!(0.005))]);
    let both = first(&settings, &[("F03", Error), ("F25", Warning)], false);
    assert_eq!(both, ["algo.learning_rate=0.0005", "env.normalize_observations=true"]);
    // The second is a consequence of the first: one change shows enough.
    let mut answers = found(&[("F03", Error), ("F08", Error)]);
    if let Answer::Finding(finding) = &mut answers.outcomes[1].answer {
        finding.explained_by = vec!["F03".to_owned()];
    }
    let one = advice(&settings, &answers, Some(20.0), false);
    assert_eq!(one.suggestions[0].id, "lower_learning_rate");
    assert_eq!(one.suggestions[0].rules, ["F03", "F08"]);
}

#[test]
fn what_no_rule_sees_is_held_against_the_starter() {
    let none = found(&[]);
    for (key, value) in [
        ("algo.gamma", json!(0.5)),
        ("algo.learning_rate", json!(0.1)),
        ("algo.learning_rate", json!(1e-5)),
        ("algo.clip_range", json!(0.01)),
        ("algo.update_epochs", json!(1)),
        ("algo.entropy_coef", json!(0.5)),
        ("policy.hidden_sizes", json!([2])),
        ("env.normalize_rewards", json!(true)),
        ("algo.max_grad_norm", json!(0.001)),
        ("algo.target_kl", json!(0.0001)),
        ("algo.gae_lambda", json!(0.0)),
    ] {
        let settings = with(&[(key, value.clone())]);
        let advice = advice(&settings, &none, Some(20.0), true);
        let first = &advice.suggestions[0];
        assert_eq!(first.changes, [Change { key: key.to_owned(), from: value, to: starter()[key].clone() }]);
        assert_eq!((first.basis.kind, first.rules.len()), (BasisKind::Starter, 0), "{key}");
        assert!(
            first.reason.contains("starter for CartPole-v1") && first.reason.contains("490"),
            "{}",
            first.reason
        );
    }
    let tiny = with(&[
        ("env.num_envs", json!(1)),
        ("algo.rollout_steps", json!(16)),
        ("algo.batch_size", json!(16)),
    ]);
    let keys: Vec<String> =
        advice(&tiny, &none, Some(20.0), true).suggestions[0].changes.iter().map(|c| c.key.clone()).collect();
    assert_eq!(keys, ["env.num_envs", "algo.rollout_steps", "algo.batch_size"]);
}

#[test]
fn several_far_keys_go_home_together_and_then_one_by_one() {
    let settings = with(&[("algo.gamma", json!(0.5)), ("algo.learning_rate", json!(1.0))]);
    let advice = advice(&settings, &found(&[("F03", Error)]), Some(20.0), true);
    let ids: Vec<&str> = advice.suggestions.iter().map(|suggestion| suggestion.id.as_str()).collect();
    assert_eq!(ids[..3], ["lower_learning_rate+starter_gamma", "lower_learning_rate", "starter_gamma"]);
    assert_eq!(advice.suggestions[0].basis.kind, BasisKind::RuleAndStarter);
    assert_eq!(advice.suggestions[0].rules, ["F03"]);
    assert!(advice.suggestions[0].reason.contains("train.approx_kl is 7.5 over steps 1024 to 2048"));
    assert_eq!(advice.suggestions[0].evidence[0].value, 7.5);
}

#[test]
fn no_suggestion_moves_a_key_further_from_the_starter() {
    // The rule would raise the rate; the starter's is a thousand times lower.
    let settings = with(&[("algo.learning_rate", json!(1.0)), ("algo.entropy_coef", json!(0.5))]);
    let advice = advice(&settings, &found(&[("F16", Warning), ("F30", Warning)]), Some(20.0), true);
    for change in advice.suggestions.iter().flat_map(|suggestion| &suggestion.changes) {
        let (from, to) = (setting::top(&change.from), setting::top(&change.to));
        assert!(change.key == "algo.total_timesteps" || to < from, "{change:?}");
    }
}

#[test]
fn a_good_run_needs_no_change() {
    let odd = with(&[("algo.gamma", json!(0.9)), ("policy.hidden_sizes", json!([2]))]);
    let good = advice(&odd, &found(&[("F08", Info), ("F18", Info)]), Some(500.0), true);
    assert_eq!((good.suggestions, good.unanswered), (Vec::new(), Vec::new()));
    let warned = advice(&starter(), &found(&[("F25", Warning)]), Some(500.0), true);
    assert_eq!(warned.suggestions[0].id, "normalize_observations");
}

#[test]
fn a_short_budget_comes_last_and_is_called_incomparable() {
    let short = with(&[("algo.total_timesteps", json!(20_000)), ("algo.gamma", json!(0.5))]);
    let advice = advice(&short, &found(&[]), Some(20.0), true);
    let last = advice.suggestions.last().unwrap();
    assert_eq!((last.id.as_str(), last.comparable), ("train_longer", false));
    assert_eq!(last.changes[0].to, json!(100_000));
    assert!(last.risk.contains("not comparable"));
    assert!(advice.suggestions[0].comparable && advice.suggestions.len() == 2);
}

#[test]
fn what_no_setting_answers_is_said() {
    let advice = advice(&starter(), &found(&[("F26", Warning), ("F34", Error)]), Some(20.0), true);
    assert!(advice.suggestions.is_empty());
    let rules: Vec<&str> = advice.unanswered.iter().map(|one| one.rule.as_str()).collect();
    assert_eq!(rules, ["F26", "F34"]);
    assert!(advice.unanswered.iter().all(|one| !one.advice.is_empty()));
}

#[test]
fn standings_are_honest() {
    let good = Knowledge::built_in().good_return("CartPole-v1");
    let state = |reached, failed, good, done| Reached::new(reached, 1, (1, failed), good, done).state;
    assert_eq!(state(Some(500.0), 0, good, true), State::Good);
    assert_eq!(state(Some(500.0), 1, good, true), State::Poor);
    assert_eq!(state(Some(20.0), 0, good, true), State::Poor);
    assert_eq!(state(Some(20.0), 0, good, false), State::Unknown);
    assert_eq!(state(Some(20.0), 0, None, true), State::Unknown);
    assert_eq!(state(Some(f64::NAN), 0, good, true), State::Poor);
    assert_eq!(state(None, 0, good, true), State::Unknown);
}

#[test]
fn a_batch_never_outgrows_its_rollout() {
    let tiny = with(&[
        ("env.num_envs", json!(1)),
        ("algo.rollout_steps", json!(4)),
        ("algo.batch_size", json!(4)),
        ("algo.total_timesteps", json!(2_000)),
    ]);
    for is_starter in [true, false] {
        let advice = advice(&tiny, &found(&[("F18", Warning)]), Some(20.0), is_starter);
        let keys = advice.suggestions.iter().flat_map(|suggestion| &suggestion.changes);
        assert!(keys.clone().count() > 0 && keys.clone().all(|change| change.key != "algo.batch_size"));
    }
    // With a budget that holds the starter's rollouts, all that belongs together changes together.
    let mut roomy = tiny;
    roomy.insert("algo.total_timesteps".to_owned(), json!(100_000));
    let advice = advice(&roomy, &found(&[("F18", Warning)]), Some(20.0), true);
    assert_eq!(advice.suggestions[0].changes.len(), 3, "{:?}", advice.suggestions[0]);
}
