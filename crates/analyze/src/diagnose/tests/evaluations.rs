//! F31 to F35, F39: evaluations, and seeds compared with each other.

use super::*;
use Severity::{Error, Info, Warning};

#[test]
fn f31_plays_differently_without_noise() {
    clear(&unlearned(), "F31");
    let mut run = unlearned();
    put(&mut run, "eval.mean_return", every(5, |_| 10.0));
    fires(&run, "F31", Warning, "eval.mean_return");
    put(&mut run, "eval.mean_return", every(5, |_| 60.0));
    fires(&run, "F31", Info, "eval.mean_return");
    run.settings.deterministic_evaluation = Some(false);
    is_not_about(&run, "F31", "sample");
    needs(&unlearned(), "F31", "eval.mean_return");
}

#[test]
fn f32_scores_after_loading() {
    is_not_about(&healthy(), "F32", "contains the normaliser");
    let mut run = healthy();
    run.settings.normalizer_in_checkpoint = false;
    lacks(&run, "F32", "continued from a file");
    run.seeds[0].resumed_at = vec![60_000];
    clear(&run, "F32");
    put(&mut run, "eval.mean_return", every(5, |update| if update > 60 { 100.0 } else { 400.0 }));
    fires(&run, "F32", Error, "eval.mean_return");
    run.seeds[0].normalizer_missing = true;
    assert!(found(&run, "F32").evidence.iter().any(|citation| citation.metric == "checkpoint.normalizer"));
}

#[test]
fn f33_seeds_far_apart() {
    is_not_about(&healthy(), "F33", "one seed");
    let mut run = with_seeds(&healthy(), 6);
    clear(&run, "F33");
    let level = |run: &mut Evidence<'static>, seed: usize, top: f64| {
        let series = every(5, move |update| top * learns(update) / 480.0);
        run.seeds[seed].series.insert("eval.mean_return".to_owned(), series);
    };
    for seed in 0..3 {
        level(&mut run, seed, 100.0 + seed as f64);
    }
    fires(&run, "F33", Warning, "eval.mean_return");
    level(&mut run, 0, 5.0);
    let finding = fires(&run, "F33", Error, "eval.mean_return");
    assert!(finding.sentence.contains("below random"), "{}", finding.sentence);
    let mut failed = with_seeds(&healthy(), 3);
    failed.seeds[1].failure = super::failed(EndCause::Diverged, "diverged");
    assert!(found(&failed, "F33").sentence.contains("1 of 3 seeds failed (seed 1)"));
    let mut two = with_seeds(&healthy(), 2);
    lacks(&two, "F33", "of the 3 seeds needed");
    two.seeds.clear();
    lacks(&two, "F33", "no seed");
}

#[test]
fn f33_equal_returns_are_not_below_each_other() {
    let mut run = with_seeds(&healthy(), 5);
    put(&mut run, "eval.mean_return", every(5, |_| -500.0));
    run.baselines = vec![Baseline { name: "random".to_owned(), mean: -500.0, deviation: 0.0, episodes: 20 }];
    // The mean of equal numbers is off in its last digit.
    for seed in &mut run.seeds[3..] {
        seed.series.insert("eval.mean_return".to_owned(), every(5, |_| -500.000_000_000_1));
    }
    clear(&run, "F33");
    run.seeds[4].series.insert("eval.mean_return".to_owned(), every(5, |_| -501.0));
    let sentence = found(&run, "F33").sentence;
    assert!(sentence.starts_with("1 of 5 seeds ends below random actions"), "{sentence}");
}

#[test]
fn f34_evaluation_seeds_that_training_has_seen() {
    clear(&healthy(), "F34");
    let mut run = healthy();
    run.seeds[0].evaluations = vec![evaluation(50_000, 480.0, 0)];
    let finding = found(&run, "F34");
    assert_eq!(finding.severity, Warning);
    assert!(finding.sentence.contains("training seed") && finding.evidence[0].metric.ends_with(".seeds"));
    // The episodes that chose the best checkpoint are reused to score it.
    let mut run = healthy();
    run.seeds[0].later_evaluations = vec![evaluation(60_000, 480.0, 10_050)];
    assert!(found(&run, "F34").sentence.contains("50 of 100 episodes"));
    // Fresh seeds, and a score as before; then much less.
    run.seeds[0].later_evaluations = vec![evaluation(60_000, 479.0, 20_000)];
    clear(&run, "F34");
    run.seeds[0].later_evaluations = vec![evaluation(60_000, 470.0, 20_000)];
    assert_eq!(found(&run, "F34").severity, Warning);
    run.seeds[0].later_evaluations = vec![evaluation(60_000, 300.0, 20_000)];
    assert_eq!(found(&run, "F34").severity, Error);
    run.environment.stochastic = Some(false);
    is_not_about(&run, "F34", "every episode is the same");
    run.seeds[0].evaluations.clear();
    run.seeds[0].later_evaluations.clear();
    lacks(&run, "F34", "episode seeds");
}

#[test]
fn f35_the_best_of_many() {
    clear(&healthy(), "F35");
    let mut run = unlearned();
    // Twenty evaluations with a standard error of 1: luck gives 1.87 of them.
    run.seeds[0].evaluations[11].mean = 23.5;
    fires(&run, "F35", Warning, "eval.mean_return");
    run.seeds[0].evaluations[11].mean = 24.5;
    clear(&run, "F35");
    run.seeds[0].evaluations[11].mean = 23.5;
    run.seeds[0].later_evaluations = vec![evaluation(60_000, 23.0, 20_000)];
    clear(&run, "F35");
    run.seeds[0].evaluations.truncate(1);
    lacks(&run, "F35", "evaluations needed");
}

#[test]
fn f39_two_seeds_that_are_one() {
    is_not_about(&healthy(), "F39", "one seed");
    let mut run = with_seeds(&healthy(), 3);
    clear(&run, "F39");
    run.seeds[2].series = run.seeds[0].series.clone();
    let finding = fires(&run, "F39", Error, "train.policy_loss");
    assert!(finding.sentence.contains("seeds 0 and 2"), "{}", finding.sentence);
    run.seeds.iter_mut().for_each(|seed| drop(seed.series.remove("train.value_loss")));
    lacks(&run, "F39", "fewer than two");
}

#[test]
fn f31_names_its_base_and_blames_the_noise_only_for_a_loss() {
    let mut run = unlearned();
    put(&mut run, "eval.mean_return", every(5, |_| 60.0));
    let better = found(&run, "F31");
    assert!(better.sentence.contains("higher by 17") && better.sentence.contains("% of the "), "{better:?}");
    assert!(!better.meaning.contains("rely on the noise"), "{}", better.meaning);
    put(&mut run, "eval.mean_return", every(5, |_| 10.0));
    let worse = found(&run, "F31");
    assert!(
        worse.sentence.contains("lower by 5") && worse.meaning.contains("rely on the noise"),
        "{worse:?}"
    );
}

#[test]
fn f35_a_score_below_random_has_no_gain_to_doubt() {
    let mut run = unlearned();
    run.seeds[0].evaluations.iter_mut().for_each(|evaluation| evaluation.mean = 9.4);
    clear(&run, "F35");
}
