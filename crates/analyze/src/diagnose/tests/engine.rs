//! The engine: seeds folded into one answer, ranking, odd input.

use super::*;
use crate::diagnose::Answer;
use Severity::{Error, Info, Warning};
use proptest::prelude::*;

#[test]
fn a_healthy_run_has_no_warning_and_every_rule_answers() {
    for run in [healthy(), with_seeds(&healthy(), 5)] {
        let answers = diagnose(&run, RuleSet::built_in());
        assert_eq!(answers.outcomes.len(), 49);
        assert!(answers.worst() <= Some(Info), "{:?}", answers.findings());
    }
}

#[test]
fn most_seeds_decide_and_few_are_news() {
    let mut run = with_seeds(&unlearned(), 5);
    let high = each(|_| 0.4);
    for seed in 0..2 {
        run.seeds[seed].series.insert("train.clip_fraction".to_owned(), high.clone());
    }
    let finding = fires(&run, "F06", Info, "train.clip_fraction");
    assert_eq!((finding.seeds_showing, finding.seeds_judged), (2, 5));
    run.seeds[2].series.insert("train.clip_fraction".to_owned(), high);
    fires(&run, "F06", Warning, "train.clip_fraction");
    // Three warn, two of them as errors: most say warning, not most say error.
    for seed in 0..2 {
        run.seeds[seed].series.insert("train.clip_fraction".to_owned(), each(|_| 0.9));
    }
    fires(&run, "F06", Warning, "train.clip_fraction");
    run.seeds[2].series.insert("train.clip_fraction".to_owned(), each(|_| 0.7));
    let finding = fires(&run, "F06", Error, "train.clip_fraction");
    assert!(finding.sentence.contains("3 of 5 seeds"), "{}", finding.sentence);
}

#[test]
fn seeds_without_data_are_not_counted() {
    let mut run = with_seeds(&unlearned(), 3);
    run.seeds[0].series.insert("train.clip_fraction".to_owned(), each(|_| 0.4));
    run.seeds[1].series.remove("train.clip_fraction");
    run.seeds[2].series.remove("train.clip_fraction");
    let finding = fires(&run, "F06", Warning, "train.clip_fraction");
    assert_eq!((finding.seeds_showing, finding.seeds_judged), (1, 1));
}

#[test]
fn causes_come_before_symptoms_and_errors_before_warnings() {
    let mut run = unlearned();
    put(&mut run, "train.entropy", each(|_| 0.693));
    put(&mut run, "train.rewarded_episodes", each(|_| 0.0));
    let answers = diagnose(&run, RuleSet::built_in());
    let order: Vec<&str> = answers.findings().iter().map(|(outcome, _)| outcome.rule.as_str()).collect();
    let place = |id: &str| order.iter().position(|rule| *rule == id).unwrap();
    assert!(place("F23") < place("F09") && place("F09") < place("F16"), "{order:?}");
    let severities: Vec<Severity> = answers.findings().iter().map(|(_, finding)| finding.severity).collect();
    assert!(severities.is_sorted_by(|a, b| a >= b), "{severities:?}");
    assert!(found(&run, "F09").explained_by.contains(&"F23".to_owned()));
    let ranks: Vec<usize> = answers.findings().iter().map(|(_, finding)| finding.rank).collect();
    assert_eq!(ranks, (1..=ranks.len()).collect::<Vec<_>>());
}

#[test]
fn commands_carry_the_runs_own_words() {
    let mut run = unlearned();
    put(&mut run, "train.approx_kl", each(|_| 0.4));
    assert_eq!(found(&run, "F03").next.unwrap(), "rlx suggest balance_001");
}

#[test]
fn only_suggest_names_a_change() {
    // A command of its own would know neither the schedule, nor the starter, nor the other findings.
    for rule in &RuleSet::built_in().rules {
        assert!(rule.next.iter().all(|next| !next.contains("--set")), "{}: {:?}", rule.id, rule.next);
    }
}

#[test]
fn nothing_at_all_is_not_enough_data() {
    let answers = diagnose(&Evidence::default(), RuleSet::built_in());
    assert_eq!(answers.worst(), None);
    let mut bare = Evidence { seeds: vec![SeedEvidence::default()], ..Evidence::default() };
    bare.settings.algorithm = "ppo".to_owned();
    let answers = diagnose(&bare, RuleSet::built_in());
    for outcome in &answers.outcomes {
        let silent = matches!(outcome.answer, Answer::NotEnoughData { .. } | Answer::DoesNotApply { .. });
        assert!(silent, "{outcome:?}");
    }
    // Another algorithm is not judged by rules of this one.
    bare.settings.algorithm = "sac".to_owned();
    is_not_about(&bare, "F03", "sac");
}

#[test]
fn a_threshold_of_ones_own_counts() {
    let mut rules = RuleSet::built_in().clone();
    let rule = rules.rules.iter_mut().find(|rule| rule.id == "F15").unwrap();
    rule.thresholds.get_mut("warning").unwrap().value = 0.001;
    let answers = diagnose(&unlearned(), &rules);
    assert!(answers.outcomes.iter().any(|outcome| outcome.rule == "F15" && outcome.finding().is_some()));
}

#[test]
fn a_million_values_take_no_longer_than_reading_them() {
    let long = |name: &str, value: fn(u64) -> f64| {
        let steps: Vec<u64> = (1..=50_000).collect();
        (name.to_owned(), Series::new(steps, (1..=50_000).map(value).collect()))
    };
    let mut run = healthy();
    run.settings.total_steps = 50_000;
    let names: Vec<String> = run.seeds[0].series.keys().cloned().collect();
    for name in names {
        let (name, series) = long(&name, |update| 0.5 + 0.1 * wobble(update));
        run.seeds[0].series.insert(name, series);
    }
    let values: usize = run.seeds[0].series.values().map(|series| series.values.len()).sum();
    assert!(values > 1_000_000);
    let begin = std::time::Instant::now();
    diagnose(&run, RuleSet::built_in());
    let took = begin.elapsed();
    assert!(took.as_secs_f64() < 5.0, "{took:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Arbitrary logged data, including very little of it.
    #[test]
    fn no_series_breaks_the_engine(
        length in 0usize..40,
        values in proptest::collection::vec(prop_oneof![
            4 => -1e3..1e3f64, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(0.0), 1 => -1e300..1e300f64,
        ], 40),
        stride in 1u64..5_000,
        seeds in 1u64..4,
        total in 0u64..100_000,
        gaussian in any::<bool>(),
    ) {
        let mut run = with_seeds(&healthy(), seeds);
        run.settings.total_steps = total;
        run.settings.target_kl = Some(0.01);
        run.settings.randomized.insert("mass".to_owned());
        run.settings.curriculum_top = Some(3.0);
        run.settings.reuses_samples = true;
        run.settings.adaptive_learning_rate = true;
        run.settings.component_maxima.insert("a".to_owned(), 1.0);
        if gaussian {
            run.environment.actions = Some(Actions::Continuous);
        }
        let mut names: Vec<String> = run.seeds[0].series.keys().cloned().collect();
        names.extend(["reward.a", "reward.b", "randomization.mass", "curriculum.level", "train.sample_age",
            "train.action_std", "train.action_saturation", "task.metric", "timing.resident_bytes"].map(str::to_owned));
        for (index, name) in names.iter().enumerate() {
            let steps: Vec<u64> = (0..length as u64).map(|point| point * stride).collect();
            let series = Series::new(steps, (0..length).map(|point| values[(point + index) % values.len()]).collect());
            put(&mut run, name, series);
        }
        let answers = diagnose(&run, RuleSet::built_in());
        prop_assert_eq!(answers.outcomes.len(), 49);
        for (_, finding) in answers.findings() {
            prop_assert!(finding.strength >= 1.0 && !finding.sentence.is_empty());
        }
        prop_assert!(serde_json::to_string(&answers).is_ok());
    }
}

#[test]
fn a_cause_shares_a_seed_with_what_it_explains() {
    let mut run = with_seeds(&unlearned(), 2);
    let explains = |run: &Evidence<'static>| found(run, "F11").explained_by.contains(&"F03".to_owned());
    run.seeds[0].series.insert("train.approx_kl".to_owned(), each(|_| 0.4));
    run.seeds[1].series.insert("train.explained_variance".to_owned(), each(|_| -0.5));
    assert!(!explains(&run));
    run.seeds[0].series.insert("train.explained_variance".to_owned(), each(|_| -0.5));
    assert!(explains(&run));
}
