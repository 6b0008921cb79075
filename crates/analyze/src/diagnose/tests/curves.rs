//! F16 to F24: the learning curve and the reward.

use super::*;
use Severity::{Error, Info, Warning};

fn with_return(value: impl Fn(u64) -> f64 + Copy) -> Evidence<'static> {
    let mut run = healthy();
    put(&mut run, "eval.mean_return", every(5, value));
    put(&mut run, "train.mean_return", each(value));
    run
}

#[test]
fn f16_flat_at_the_target_is_news_and_below_it_a_warning() {
    fires(&healthy(), "F16", Info, "eval.mean_return");
    let low = |update: u64| 20.0 + 180.0 * (update.min(50) as f64 / 50.0) + wobble(update);
    fires(&with_return(low), "F16", Warning, "eval.mean_return");
    // A schedule that has ended stops a return that was learned; a constant rate doesn't.
    let mut half = with_return(|update| 20.0 + 300.0 * (update.min(50) as f64 / 50.0) + wobble(update));
    fires(&half, "F16", Info, "eval.mean_return");
    put(&mut half, "train.learning_rate", each(|_| 1e-3));
    fires(&half, "F16", Warning, "eval.mean_return");
    clear(&with_return(|update| 5.0 * update as f64), "F16");
    let mut unknown = with_return(low);
    unknown.environment.reward_threshold = None;
    fires(&unknown, "F16", Info, "eval.mean_return");
    let mut never = unlearned();
    never.environment.reward_threshold = None;
    fires(&never, "F16", Warning, "eval.mean_return");
    // A constant without any noise is flat too.
    fires(&with_return(|_| 9.0), "F16", Warning, "eval.mean_return");
    let mut short = healthy();
    short.settings.total_steps = 10_000_000;
    lacks(&short, "F16", "of the budget");
}

#[test]
fn f17_late_collapse() {
    clear(&healthy(), "F17");
    let falls =
        |from: u64| move |update: u64| if update >= from { 60.0 + wobble(update) } else { learns(update) };
    let finding = fires(&with_return(falls(80)), "F17", Error, "eval.mean_return");
    assert!(finding.evidence[0].to_step == 100_000 && finding.evidence[0].threshold.unwrap() > 300.0);
    // The last tenth is enough, the last twentieth is not.
    fires(&with_return(falls(89)), "F17", Error, "eval.mean_return");
    clear(&with_return(falls(96)), "F17");
    // It recovered.
    let dips = |update: u64| if (60..80).contains(&update) { 60.0 } else { learns(update) };
    fires(&with_return(dips), "F17", Info, "eval.mean_return");
    // One lucky point in a run that ends low is not a recovery.
    let lucky = |update: u64| match update {
        85 => 500.0,
        50.. => 60.0 + wobble(update),
        _ => learns(update),
    };
    fires(&with_return(lucky), "F17", Error, "eval.mean_return");
    // Noise alone is no collapse.
    clear(&with_return(|update| 22.0 + 20.0 * wobble(update)), "F17");
    clear(&with_return(|_| 5.0), "F17");
    let mut few = healthy();
    few.seeds[0].series.remove("eval.mean_return");
    put(&mut few, "train.mean_return", Series::new(vec![1], vec![2.0]));
    lacks(&few, "F17", "at least 10 points");
}

#[test]
fn f17_falls_back_on_the_training_return() {
    let mut run = with_return(|update| if update >= 80 { 60.0 } else { learns(update) });
    run.seeds[0].series.remove("eval.mean_return");
    fires(&run, "F17", Error, "train.mean_return");
}

#[test]
fn f18_swings() {
    clear(&healthy(), "F18");
    let mut swings = with_return(|update| if (update / 10) % 2 == 0 { 30.0 } else { 200.0 });
    fires(&swings, "F18", Warning, "eval.mean_return");
    swings.environment.reward_threshold = Some(10.0);
    clear(&swings, "F18");
    // Around zero any noise is large compared to the mean, but small compared to the gain.
    clear(&with_return(|update| -100.0 + 2.0 * update.min(50) as f64 + 3.0 * wobble(update)), "F18");
    clear(&with_return(|_| 0.0), "F18");
}

#[test]
fn f19_reward_up_and_task_down() {
    clear(&healthy(), "F19");
    let mut run = unlearned();
    put(&mut run, "train.mean_return", each(|update| 100.0 + 3.0 * update as f64));
    put(&mut run, "task.metric", every(2, |update| 0.9 - 0.005 * update as f64));
    fires(&run, "F19", Error, "task.metric");
    put(&mut run, "task.metric", every(2, |update| 0.5 + wobble(update)));
    fires(&run, "F19", Warning, "task.metric");
    put(&mut run, "task.metric", every(2, |update| 0.005 * update as f64));
    clear(&run, "F19");
    // A reward that does not rise has not been gamed.
    put(&mut run, "train.mean_return", each(wobble));
    put(&mut run, "task.metric", every(2, |update| 0.9 - 0.005 * update as f64));
    clear(&run, "F19");
    needs(&run, "F19", "train.mean_return");
}

#[test]
fn f20_to_f22_components_of_the_reward() {
    for id in ["F20", "F21", "F22"] {
        is_not_about(&healthy(), id, "components");
    }
    let mut run = healthy();
    put(&mut run, "reward.alive", each(|update| 0.5 + 0.05 * wobble(update)));
    is_not_about(&run, "F20", "one component");
    put(&mut run, "reward.speed", each(|update| 0.1 + 0.01 * update as f64));
    clear(&run, "F20");
    clear(&run, "F21");
    lacks(&run, "F22", "largest values");
    put(&mut run, "reward.alive", each(|_| 5.0));
    fires(&run, "F20", Warning, "reward.alive");
    run.settings.task_components.insert("speed".to_owned());
    fires(&run, "F20", Error, "reward.alive");
    run.settings.task_components.insert("alive".to_owned());
    clear(&run, "F20");
    fires(&run, "F21", Warning, "reward.alive");
    run.settings.component_maxima.insert("alive".to_owned(), 5.0);
    fires(&run, "F22", Warning, "reward.alive");
    put(&mut run, "reward.alive", each(|update| if update < 30 { 1.0 } else { 5.0 }));
    clear(&run, "F22");
    put(&mut run, "reward.alive", Series::new(vec![1], vec![1.0]));
    put(&mut run, "reward.speed", Series::new(vec![1], vec![1.0]));
    lacks(&run, "F21", "at least 10 points");
}

#[test]
fn f23_no_learning_signal() {
    clear(&healthy(), "F23");
    let mut run = unlearned();
    put(&mut run, "train.rewarded_episodes", each(|_| 0.0));
    fires(&run, "F23", Error, "train.rewarded_episodes");
    put(&mut run, "train.rewarded_episodes", each(|update| if update < 15 { 0.0 } else { 0.1 }));
    fires(&run, "F23", Warning, "train.rewarded_episodes");
    put(&mut run, "train.rewarded_episodes", each(|update| if update < 5 { 0.0 } else { 0.1 }));
    clear(&run, "F23");
    // It was found late and learned from, so there is no finding.
    let mut late = healthy();
    put(&mut late, "train.rewarded_episodes", each(|update| if update < 15 { 0.0 } else { 0.1 }));
    clear(&late, "F23");
    // A good score without any reward was not learned.
    put(&mut late, "train.rewarded_episodes", each(|_| 0.0));
    fires(&late, "F23", Error, "train.rewarded_episodes");
    run.settings.total_steps = 100_000_000;
    lacks(&run, "F23", "is needed");
    needs(&healthy(), "F23", "train.rewarded_episodes");
}

#[test]
fn f24_below_random_or_zero_actions() {
    clear(&healthy(), "F24");
    clear(&unlearned(), "F24");
    let worse = with_return(|update| 9.0 + 0.1 * wobble(update));
    let finding = fires(&worse, "F24", Error, "eval.mean_return");
    assert!(finding.sentence.contains("random"), "{}", finding.sentence);
    let mut early = worse.clone();
    early.settings.total_steps = 10_000_000;
    lacks(&early, "F24", "20%");
    let mut none = worse;
    none.baselines.clear();
    lacks(&none, "F24", "baseline");
    // On its way up it may still be below.
    fires(&with_return(|update| -90.0 + update as f64), "F24", Warning, "eval.mean_return");
}

#[test]
fn f24_cites_the_evaluations_it_speaks_of_and_names_its_margin() {
    let finding = found(&with_return(|update| 9.0 + 0.1 * wobble(update)), "F24");
    let said = "over its last 2 evaluations (steps 95,000 to 100,000), below ";
    assert!(finding.sentence.contains(said), "{}", finding.sentence);
    assert!(finding.sentence.contains("random actions score 22 over 20 episodes, less a margin of"));
    assert_eq!((finding.evidence[0].from_step, finding.evidence[0].to_step), (95_000, 100_000));
}

#[test]
fn f16_says_the_mean_of_the_steps_it_names() {
    // 200 throughout, but for the last evaluation.
    let mut run = with_return(|update| if update == 99 { 203.0 } else { 200.0 + wobble(update) });
    run.environment.reward_threshold = Some(475.0);
    let finding = found(&run, "F16");
    assert!(finding.sentence.contains("is flat at 200."), "{}", finding.sentence);
}

#[test]
fn the_training_return_is_read_in_the_unit_of_evaluations() {
    let mut run = with_return(|update| 1e6 * (20.0 + 9.2 * update.min(50) as f64));
    run.settings.reward_factor = 1e6;
    run.seeds[0].series.remove("eval.mean_return");
    let finding = fires(&run, "F16", Info, "train.mean_return");
    assert!(finding.sentence.contains("flat at 480"), "{}", finding.sentence);
}

/// A run of seeds whose evaluations are these, one every 5,000 steps.
fn evaluated(seeds: &[[f64; 20]]) -> Evidence<'static> {
    let mut run = with_seeds(&healthy(), seeds.len() as u64);
    for (seed, values) in run.seeds.iter_mut().zip(seeds) {
        let steps = (1..=20).map(|index| index * 5 * ROLLOUT).collect();
        seed.series.insert("eval.mean_return".to_owned(), Series::new(steps, values.to_vec()));
        seed.evaluations.iter_mut().for_each(|evaluation| evaluation.deviation = 0.0);
    }
    run
}

/// Two seeds with a clip range of 5, as they were logged: one swings up to the target, one falls for good.
const SWINGS: [f64; 20] = [
    493.4, 374.3, 500.0, 264.7, 31.2, 24.5, 27.0, 111.1, 128.6, 283.2, 230.2, 301.8, 500.0, 500.0, 253.5,
    116.6, 118.5, 203.9, 500.0, 500.0,
];
const FALLS: [f64; 20] = [
    128.5, 185.6, 35.2, 18.7, 288.8, 499.9, 82.6, 60.9, 40.9, 50.8, 44.4, 38.1, 22.5, 57.2, 70.8, 60.6, 88.8,
    78.2, 11.2, 9.3,
];

#[test]
fn f16_swings_are_not_flat_however_large_their_noise() {
    clear(&evaluated(&[SWINGS]), "F16");
}

#[test]
fn f16_counts_every_flat_seed() {
    // Sums of 500 and other numbers are rounded; the last seven evaluations are equal all the same.
    let seeds: Vec<[f64; 20]> = (0..10)
        .map(|seed| {
            let mut values = [500.0; 20];
            values[..4].copy_from_slice(&[9.31, 40.7 + f64::from(seed) / 3.0, 200.1, 437.93]);
            values
        })
        .collect();
    let finding = fires(&evaluated(&seeds), "F16", Info, "eval.mean_return");
    assert_eq!((finding.seeds_showing, finding.seeds_judged), (10, 10));
    // A lucky first evaluation of a return that was never good is nothing to fall behind.
    let mut lucky = [9.41; 20];
    lucky[0] = 10.17;
    let finding = fires(&evaluated(&[[9.41; 20], lucky]), "F16", Warning, "eval.mean_return");
    assert_eq!((finding.seeds_showing, finding.seeds_judged), (2, 2));
}

#[test]
fn f16_at_the_target_is_no_reason_to_change_anything() {
    let mut good = [500.0; 20];
    good[..3].copy_from_slice(&[20.0, 200.0, 400.0]);
    let finding = found(&evaluated(&[good]), "F16");
    assert!(finding.suggestions.is_empty() && finding.explained_by.is_empty(), "{finding:?}");
    // The seed that is stuck is reported, and counted alone.
    let finding = found(&evaluated(&[good, [9.41; 20]]), "F16");
    assert!(finding.sentence.contains("(seed 1; 1 of 2 seeds)"), "{}", finding.sentence);
    assert!(!finding.suggestions.is_empty());
}

#[test]
fn f17_names_what_it_compares_and_counts_seeds_that_end_alike() {
    let finding = found(&evaluated(&[SWINGS, FALLS]), "F17");
    let sentence = &finding.sentence;
    assert!(sentence.contains("(mean of 3 evaluations) drops from its best of 290.4"), "{sentence}");
    assert!(sentence.contains("stays below it (seed 1; 1 of 2 seeds)"), "{sentence}");
    let finding = found(&evaluated(&[FALLS]), "F24");
    assert!(finding.sentence.contains("ends at 10.25 over its last 2 evaluations"), "{}", finding.sentence);
}
