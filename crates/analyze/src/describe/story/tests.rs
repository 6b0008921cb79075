//! Stories of small, made-up curves.

use super::*;

fn subject() -> Subject {
    Subject { kind: "eval".into(), metric: "mean_return".into(), threshold: None, baseline: None }
}

fn seed(seed: u64, values: &[f64]) -> SeedCourse {
    let points = values.iter().enumerate().map(|(at, value)| (1000 * (at as u64 + 1), *value));
    SeedCourse {
        seed,
        label: format!("seed {seed}"),
        course: Course::new(points),
        errors: Course::default(),
        failed: false,
    }
}

fn text(story: &Story, topic: Topic) -> String {
    let of = story.statements.iter().filter(|statement| statement.topic == topic);
    of.map(|statement| statement.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn value(story: &Story, topic: Topic, statistic: Statistic) -> f64 {
    let of = story.statements.iter().find(|statement| statement.topic == topic);
    of.unwrap_or_else(|| panic!("no {topic:?}")).value(statistic).unwrap()
}

const RISE: [f64; 20] = [
    0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0,
    100.0, 100.0, 100.0, 100.0,
];

#[test]
fn a_rise_is_told_with_its_numbers() {
    let told = tell(&Subject { threshold: Some(95.0), ..subject() }, &[seed(7, &RISE)]);
    assert_eq!(value(&told, Topic::Onset, Statistic::OnsetStep), 2000.0);
    assert!((value(&told, Topic::Phase, Statistic::Rate) - 100.0).abs() < 1e-9);
    let one = &told.seeds[0];
    assert_eq!(one.half, Some(Reach { level: 50.0, step: 6000, held: true }));
    assert_eq!(one.nine_tenths, Some(Reach { level: 90.0, step: 10_000, held: true }));
    assert_eq!(one.threshold, Some(Reach { level: 95.0, step: 11_000, held: true }));
    assert_eq!(one.drawdown, None);
    assert_eq!(told.result.unwrap().iqm, 100.0);
    // With one seed, the unknown is stated.
    assert!(text(&told, Topic::Unknown).contains("one seed"), "{}", text(&told, Topic::Unknown));
    for statement in &told.statements {
        assert!(statement.from_step <= statement.to_step && statement.seeds == [7], "{statement:?}");
        assert!(!statement.claims.is_empty(), "{statement:?}");
    }
}

#[test]
fn a_flat_curve_has_not_learned_and_says_so() {
    let noisy: Vec<f64> = (0..20).map(|at| 20.0 + f64::from(at * 7 % 5)).collect();
    let told = tell(&subject(), &[seed(0, &noisy)]);
    assert!(text(&told, Topic::Onset).contains("No learning"), "{}", text(&told, Topic::Onset));
    assert_eq!(told.seeds[0].half, None);
    assert!(text(&told, Topic::Best).contains("which noise explains"), "{}", text(&told, Topic::Best));
    assert_eq!(told.phases.len(), 1);
}

#[test]
fn a_collapse_is_told() {
    let values = [&RISE[..], &[80.0, 50.0, 20.0, 5.0, 5.0, 5.0, 5.0]].concat();
    let told = tell(&subject(), &[seed(0, &values)]);
    let fall = told.phases.iter().find(|phase| phase.kind == PhaseKind::Fall).unwrap();
    assert!((5.0..20.0).contains(&fall.to_value) && fall.from_value > 80.0, "{fall:?}");
    assert_eq!(value(&told, Topic::Stability, Statistic::Drop), 95.0);
    assert!(text(&told, Topic::Stability).contains("never made up for"), "{}", text(&told, Topic::Stability));
    assert!(
        text(&told, Topic::Best).contains("the last one, 5, is lower by 95"),
        "{}",
        text(&told, Topic::Best)
    );
    let short: Vec<&str> = told.statements.iter().filter_map(|told| told.short.as_deref()).collect();
    assert!(short[1].starts_with("Fell from 100 to 5 over steps "), "{short:?}");
}

#[test]
fn the_odd_seed_is_named_and_the_failed_one_scored() {
    let mut seeds: Vec<SeedCourse> =
        (0..5).map(|index| seed(index, &RISE.map(|value| value + index as f64))).collect();
    seeds[3] = seed(3, &RISE.map(|value| value / 10.0));
    let told = tell(&subject(), &seeds);
    assert!(text(&told, Topic::Seeds).contains("Seed 3 is an outlier"), "{}", text(&told, Topic::Seeds));
    let result = told.result.unwrap();
    assert_eq!((result.lowest, result.highest, result.failed), (10.0, 104.0, 0));
    assert_eq!(result.iqm, (100.0 + 101.0 + 102.0) / 3.0);
    assert!(result.low.unwrap() < result.iqm && result.high.unwrap() <= 104.0);
    seeds[3].failed = true;
    let told = tell(&subject(), &seeds);
    let result = told.result.unwrap();
    assert_eq!(result.failed, 1);
    assert!(result.lowest < 100.0, "{result:?}");
    assert!(text(&told, Topic::Seeds).contains("failed"), "{}", text(&told, Topic::Seeds));
}

#[test]
fn a_random_policy_says_where_learning_began() {
    let random = Baseline { mean: -50.0, standard_error: 1.0, episodes: 50 };
    let told = tell(&Subject { baseline: Some(random), ..subject() }, &[seed(0, &RISE)]);
    assert!(text(&told, Topic::Onset).contains("before the first"), "{}", text(&told, Topic::Onset));
    assert!(text(&told, Topic::Baseline).contains("better by 150"), "{}", text(&told, Topic::Baseline));
    let poor = Baseline { mean: 200.0, ..random };
    let told = tell(&Subject { baseline: Some(poor), ..subject() }, &[seed(0, &RISE)]);
    assert!(text(&told, Topic::Baseline).contains("worse by"), "{}", text(&told, Topic::Baseline));
}

#[test]
fn little_or_nothing_is_said_to_be_so() {
    let none = tell(&subject(), &[seed(0, &[])]);
    assert_eq!(none.result, None);
    assert!(text(&none, Topic::Unknown).contains("No finite values"), "{:?}", none.statements);
    let broken = tell(&subject(), &[seed(0, &[f64::NAN; 6])]);
    assert!(
        text(&broken, Topic::Unknown).contains("6 values of eval mean_return are NaN"),
        "{:?}",
        broken.statements
    );
    let two = tell(&subject(), &[seed(0, &[1.0, 2.0])]);
    assert!(text(&two, Topic::Unknown).contains("2 points are too few"), "{:?}", two.statements);
    assert!(tell(&subject(), &[]).statements.iter().all(|statement| statement.topic == Topic::Unknown));
    let all_failed = tell(&subject(), &[SeedCourse { failed: true, ..seed(1, &[1.0, 2.0]) }]);
    assert_eq!(all_failed.result, None);
}

#[test]
fn a_curve_at_its_ceiling_has_the_noise_of_its_episodes() {
    // Almost all points are equal, so only their episodes show noise.
    let mut values = [100.0; 20];
    values[..4].copy_from_slice(&[10.0, 60.0, 45.0, 90.0]);
    let mut one = seed(0, &values);
    one.errors = Course::new((1..=20).map(|at| (1000 * at, if at <= 4 { 9.0 } else { 0.0 })));
    let told = tell(&subject(), &[one]);
    let found = &told.seeds[0];
    assert_eq!((found.noise, found.first_noise), (Some(0.0), Some(9.0)));
    // From 60 to 45 is 15 deep, and 9·√2 off by chance.
    assert_eq!(found.fall_noise, Some(162.0_f64.sqrt()));
    // 15 is more than ±12.73, and says so.
    let said = text(&told, Topic::Stability);
    assert!(said.contains("within three times the noise between two evaluations (±12.73)"), "{said}");
    assert!(text(&told, Topic::Unknown).contains("±9"), "{}", text(&told, Topic::Unknown));
}

#[test]
fn an_onset_before_the_first_evaluation_has_no_place_in_a_median() {
    let random = Baseline { mean: -50.0, standard_error: 1.0, episodes: 50 };
    let slow = RISE.map(|value| value - 50.0);
    let told = tell(&Subject { baseline: Some(random), ..subject() }, &[seed(0, &RISE), seed(1, &slow)]);
    let said = text(&told, Topic::Onset);
    assert_eq!(
        said,
        "Learning began before the first evaluation (step 1,000) in 1 of 2 seeds; in the other, it began at step 2,000."
    );
}

#[test]
fn a_steady_rise_in_a_noisy_curve_is_a_rise() {
    // The mean of two CartPole seeds with a gamma of 0.3, as it was logged, rounded.
    let values = [
        108.9, 14.7, 79.7, 21.8, 83.8, 242.2, 99.6, 74.4, 119.5, 139.1, 288.2, 292.7, 304.3, 304.3, 310.7,
        352.6, 366.4, 364.4, 406.6, 393.8,
    ];
    let told = tell(&subject(), &[seed(0, &values)]);
    let last = told.phases.last().unwrap();
    assert_eq!(last.kind, PhaseKind::Rise, "{:?}", told.phases);
    // Points in no order have no direction.
    let course = Course::new((1..=20).map(|at| (at * 1000, f64::from(at as u32 * 7 % 5))));
    assert!(!phase::directed(phases(&course), &course).iter().any(|phase| phase.kind == PhaseKind::Rise));
}

#[test]
fn levels_of_few_seeds_are_told_in_plain_words() {
    let mut falls = RISE;
    falls[19] = 50.0;
    let flat = [0.0; 20];
    let threshold = Subject { threshold: Some(95.0), ..subject() };
    let said = text(&tell(&threshold, &[seed(0, &falls), seed(1, &falls)]), Topic::Reach);
    assert!(said.contains("2 of 2 seeds, at step 11,000; all of them fell below it again."), "{said}");
    assert!(said.contains("by step 4,000, 90% was reached by step 6,000; medians of 2 of 2 seeds"), "{said}");
    let said = text(&tell(&threshold, &[seed(0, &RISE), seed(1, &flat)]), Topic::Reach);
    assert!(said.contains("by 1 of 2 seeds, at step 11,000; it never fell below it again."), "{said}");
    assert!(said.contains("; only 1 of 2 seeds gained clearly."), "{said}");
}
