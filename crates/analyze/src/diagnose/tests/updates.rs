//! F01 to F07, F14: numbers, steps of the policy, gradients.

use super::*;
use Severity::{Error, Warning};

#[test]
fn f01_one_nan_is_enough_and_a_divergence_too() {
    clear(&healthy(), "F01");
    let mut run = healthy();
    put(&mut run, "train.value_loss", each(|update| if update == 70 { f64::NAN } else { 1.0 }));
    let finding = fires(&run, "F01", Error, "train.value_loss");
    assert_eq!((finding.evidence[0].from_step, finding.evidence[0].to_step), (71_000, 71_000));
    assert!(finding.evidence[0].value.is_nan());
    let json = serde_json::to_value(&finding).unwrap();
    assert_eq!(json["evidence"][0]["value"], "NaN");

    let mut run = healthy();
    run.seeds[0].failure = failed(EndCause::Diverged, "diverged: the gradient norm is NaN at step 4096");
    assert!(found(&run, "F01").sentence.contains("gradient norm is NaN"));
    // The cause decides, regardless of the wording.
    run.seeds[0].failure = failed(EndCause::Diverged, "the loss is NaN");
    assert!(found(&run, "F01").sentence.contains("the loss is NaN"));
    run.seeds[0].failure = failed(EndCause::Killed, "the run diverged_001 was ended by signal 9");
    clear(&run, "F01");
    // Undefined where returns don't vary, and no failure.
    put(&mut run, "train.explained_variance", each(|_| f64::NAN));
    clear(&run, "F01");
    run.seeds[0].series.clear();
    lacks(&run, "F01", "no metrics");
}

#[test]
fn f01_one_of_five_seeds_is_an_error() {
    let mut run = with_seeds(&healthy(), 5);
    run.seeds[3]
        .series
        .insert("train.value_loss".to_owned(), each(|update| if update > 5 { f64::INFINITY } else { 1.0 }));
    let finding = fires(&run, "F01", Error, "train.value_loss");
    assert_eq!((finding.seeds_showing, finding.seeds_judged), (1, 5));
    assert!(finding.sentence.contains("seed 3; 1 of 5 seeds"), "{}", finding.sentence);
}

#[test]
fn f02_a_jump_is_a_warning_and_before_a_nan_an_error() {
    clear(&healthy(), "F02");
    let mut run = unlearned();
    put(&mut run, "train.value_loss", each(|update| if update == 60 { 900.0 } else { 5.0 + wobble(update) }));
    let finding = fires(&run, "F02", Warning, "train.value_loss");
    assert_eq!(finding.evidence[0].from_step, 61_000);
    put(&mut run, "train.entropy", each(|update| if update > 80 { f64::NAN } else { 0.5 }));
    fires(&run, "F02", Error, "train.value_loss");
    // Growth from zero is not a spike.
    let mut run = unlearned();
    put(&mut run, "train.value_loss", each(|update| if update < 40 { 1e-9 } else { 1.0 + wobble(update) }));
    clear(&run, "F02");
    // A component of the reward may not leave its noise either.
    put(
        &mut run,
        "reward.action_rate",
        each(|update| if update == 70 { -9.0 } else { -0.1 + 0.01 * wobble(update) }),
    );
    fires(&run, "F02", Warning, "reward.action_rate");
    needs(&healthy(), "F02", "train.value_loss");
}

#[test]
fn f03_kl_high_unless_the_return_improved() {
    clear(&healthy(), "F03");
    let high = each(|update| if (30..36).contains(&update) { 0.3 } else { 0.01 });
    let mut run = unlearned();
    put(&mut run, "train.approx_kl", high.clone());
    let finding = fires(&run, "F03", Error, "train.approx_kl");
    assert!(
        finding.exclusions.iter().all(|considered| considered.holds == Some(false)),
        "{:?}",
        finding.exclusions
    );
    let mut fine = healthy();
    put(&mut fine, "train.approx_kl", high);
    match answer_of(&fine, "F03") {
        Answer::Clear { note: Some(note) } => assert!(note.contains("ignored because"), "{note}"),
        other => panic!("{other:?}"),
    }
    put(&mut run, "train.approx_kl", each(|update| if update == 30 { 0.15 } else { 0.01 }));
    clear(&run, "F03");
    put(&mut run, "train.approx_kl", each(|update| if update % 30 == 0 { 0.15 } else { 0.01 }));
    fires(&run, "F03", Warning, "train.approx_kl");
    put(&mut run, "train.approx_kl", each(|update| if update == 0 { 3.0 } else { 0.0 }));
    fires(&run, "F03", Error, "train.approx_kl");
    // A negative estimate is a defect, however well the return goes; so is a gross one that lasts.
    put(&mut fine, "train.approx_kl", each(|update| if update == 30 { -0.03 } else { 0.01 }));
    fires(&fine, "F03", Error, "train.approx_kl");
    put(&mut fine, "train.approx_kl", each(|_| 2.0));
    fires(&fine, "F03", Error, "train.approx_kl");
    needs(&healthy(), "F03", "train.approx_kl");
}

#[test]
fn f04_kl_zero_while_the_return_is_flat() {
    clear(&healthy(), "F04");
    let mut run = unlearned();
    put(&mut run, "train.approx_kl", each(|update| if update < 30 { 1e-7 } else { 5e-4 }));
    fires(&run, "F04", Warning, "train.approx_kl");
    put(&mut run, "train.approx_kl", each(|update| if update < 15 { 1e-7 } else { 5e-4 }));
    clear(&run, "F04");
    // A policy that jumped first is stuck where it landed, which larger steps would not fix.
    put(&mut run, "train.approx_kl", each(|update| if update == 0 { 3.0 } else { 0.0 }));
    clear(&run, "F04");
    // At the end of its schedule the step size is meant to be nothing.
    put(&mut run, "train.approx_kl", each(|update| if update < 80 { 5e-4 } else { 1e-7 }));
    put(&mut run, "train.learning_rate", each(|update| if update < 80 { 1e-3 } else { 1e-6 }));
    clear(&run, "F04");
    needs(&healthy(), "F04", "train.approx_kl");
}

#[test]
fn f05_epochs_cut_only_where_a_limit_is_set() {
    is_not_about(&healthy(), "F05", "target_kl");
    let mut run = unlearned();
    run.settings.target_kl = Some(0.01);
    clear(&run, "F05");
    put(&mut run, "train.epochs", each(|update| if update % 3 == 0 { 10.0 } else { 2.0 }));
    fires(&run, "F05", Warning, "train.epochs");
    needs(&run, "F05", "train.epochs");
}

#[test]
fn f06_clipping_that_lasts() {
    clear(&healthy(), "F06");
    let mut run = unlearned();
    put(&mut run, "train.clip_fraction", each(|update| if update < 30 { 0.4 } else { 0.1 }));
    fires(&run, "F06", Warning, "train.clip_fraction");
    put(&mut run, "train.clip_fraction", each(|update| if update < 30 { 0.6 } else { 0.1 }));
    fires(&run, "F06", Error, "train.clip_fraction");
    put(&mut run, "train.clip_fraction", each(|update| if update % 19 == 0 { 0.1 } else { 0.6 }));
    clear(&run, "F06");
    // A clip range that fades out clips everything in the end.
    put(&mut run, "train.clip_fraction", each(|update| if update < 70 { 0.1 } else { 0.9 }));
    put(&mut run, "train.clip_range", each(|update| if update < 70 { 0.2 } else { 0.01 }));
    clear(&run, "F06");
}

#[test]
fn f07_an_adaptive_rate_at_its_floor_or_ceiling() {
    is_not_about(&healthy(), "F07", "does not adapt");
    let mut run = healthy();
    run.settings.adaptive_learning_rate = true;
    put(&mut run, "train.learning_rate", each(|_| 1e-3));
    clear(&run, "F07");
    put(&mut run, "train.learning_rate", each(|update| if update < 30 { 1e-5 } else { 1e-3 }));
    fires(&run, "F07", Warning, "train.learning_rate");
    put(&mut run, "train.learning_rate", each(|update| if update < 30 { 1e-2 } else { 1e-3 }));
    assert!(found(&run, "F07").sentence.contains("ceiling"));
}

#[test]
fn f14_gradients_that_jump_or_are_always_cut() {
    clear(&healthy(), "F14");
    let mut run = unlearned();
    put(&mut run, "train.grad_norm", each(|update| if update == 60 { 50.0 } else { 0.4 }));
    fires(&run, "F14", Warning, "train.grad_norm");
    let mut run = unlearned();
    put(&mut run, "train.grad_clipped", each(|_| 0.97));
    fires(&run, "F14", Warning, "train.grad_clipped");
    // Either alone is enough to judge by.
    run.seeds[0].series.remove("train.grad_norm");
    fires(&run, "F14", Warning, "train.grad_clipped");
    run.seeds[0].series.remove("train.grad_clipped");
    lacks(&run, "F14", "train.grad_norm");
}

#[test]
fn f03_one_update_is_not_each_update() {
    let mut run = unlearned();
    put(&mut run, "train.approx_kl", each(|update| if update == 0 { 110.7 } else { 0.0 }));
    let finding = found(&run, "F03");
    assert!(finding.sentence.contains("in 1 of 100 updates (110.7)"), "{}", finding.sentence);
    assert!(finding.meaning.starts_with("Some updates"), "{}", finding.meaning);
    put(&mut run, "train.approx_kl", each(|_| 4.0));
    assert!(found(&run, "F03").meaning.starts_with("Each update"));
}

#[test]
fn f04_and_f09_dont_deny_a_return_that_rose() {
    // From random to 407 of 475, and no excuse by the target.
    let rises = |update: u64| 21.5 + 385.0 * (update.min(60) as f64 / 60.0) + wobble(update);
    let mut run = unlearned();
    put(&mut run, "train.approx_kl", each(|_| 5e-7));
    put(&mut run, "train.entropy", each(|_| 0.693));
    fires(&run, "F04", Warning, "train.approx_kl");
    assert!(fires(&run, "F09", Error, "train.entropy").meaning.contains("has not learned"));
    put(&mut run, "eval.mean_return", every(5, rises));
    clear(&run, "F04");
    let finding = fires(&run, "F09", Warning, "train.entropy");
    assert!(finding.meaning.contains("the return has risen"), "{}", finding.meaning);
    // A third of the way: it rises, but too slowly.
    put(&mut run, "eval.mean_return", every(5, |update| 21.5 + 1.2 * update as f64 + wobble(update)));
    assert!(found(&run, "F04").meaning.contains("rises slowly"));
}

#[test]
fn f04_and_f09_dont_claim_a_rise_from_one_last_point() {
    // All values but the last few are the same, so that the noise is 0.
    let last = |update: u64| if update > 95 { 23.0 } else { 22.0 };
    let mut run = unlearned();
    put(&mut run, "train.approx_kl", each(|_| 5e-7));
    put(&mut run, "train.entropy", each(|_| 0.693));
    put(&mut run, "eval.mean_return", every(5, last));
    run.seeds[0].evaluations.clear();
    assert!(!found(&run, "F04").meaning.contains("rises"), "{}", found(&run, "F04").meaning);
    assert!(!found(&run, "F09").meaning.contains("has risen"), "{}", found(&run, "F09").meaning);
}
