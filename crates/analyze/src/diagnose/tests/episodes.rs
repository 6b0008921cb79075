//! F28 to F30, F37, F40, F42: episodes and what the environment does.

use super::*;
use Severity::{Error, Warning};

#[test]
fn f28_truncation_taken_for_termination() {
    clear(&healthy(), "F28");
    let mut run = healthy();
    put(&mut run, "train.terminated_at_limit", each(|update| if update > 50 { 8.0 } else { 0.0 }));
    // The return is fine, but it is still an error.
    fires(&run, "F28", Error, "train.terminated_at_limit");
    put(&mut run, "train.terminated_at_limit", each(|update| if update == 60 { 1.0 } else { 0.0 }));
    clear(&run, "F28");
    let mut zero = unlearned();
    put(&mut zero, "train.value_at_limit", each(|_| 0.5));
    fires(&zero, "F28", Warning, "train.value_at_limit");
    put(&mut run, "train.episodes_at_limit", each(|update| if update == 60 { 1.0 } else { 0.0 }));
    lacks(&run, "F28", "reached the step cap");
    needs(&healthy(), "F28", "train.terminated_at_limit");
    run.environment.step_cap = None;
    is_not_about(&run, "F28", "no step cap");
}

#[test]
fn f29_ending_early_to_escape_costs() {
    clear(&healthy(), "F29");
    let mut run = unlearned();
    put(&mut run, "train.mean_length", each(|update| 300.0 - 2.5 * update as f64));
    put(&mut run, "train.mean_return", each(|update| -300.0 + 2.5 * update as f64));
    put(&mut run, "train.reward_mean", each(|_| -1.0));
    fires(&run, "F29", Error, "train.mean_length");
    let mut goal = run.clone();
    goal.environment.termination = Some(Termination::Goal);
    is_not_about(&goal, "F29", "goal");
    put(&mut run, "train.reward_mean", each(|_| 1.0));
    clear(&run, "F29");
    needs(&run, "F29", "train.reward_mean");
}

#[test]
fn f30_episodes_that_get_nowhere() {
    let mut run = unlearned();
    put(&mut run, "train.episodes_at_limit", each(|_| 9.0));
    fires(&run, "F30", Warning, "train.episodes_at_limit");
    run.environment.termination = Some(Termination::Failure);
    is_not_about(&run, "F30", "did not fail");
    let mut fine = healthy();
    put(&mut fine, "train.episodes_at_limit", each(|_| 9.0));
    clear(&fine, "F30");
    put(&mut fine, "train.episodes_finished", each(|_| 0.0));
    lacks(&fine, "F30", "no episode ended");
    needs(&healthy(), "F30", "train.episodes_at_limit");
}

#[test]
fn f37_environments_in_step() {
    clear(&unlearned(), "F37");
    let mut run = unlearned();
    put(&mut run, "train.reset_spread", each(|update| if update < 5 { 0.1 } else { 1.0 }));
    fires(&run, "F37", Warning, "train.reset_spread");
    put(&mut run, "train.reset_spread", each(|update| if update < 5 { 0.9 } else { 0.1 }));
    clear(&run, "F37");
    needs(&run, "F37", "train.reset_spread");
}

#[test]
fn f40_randomisation_that_is_off() {
    is_not_about(&healthy(), "F40", "no parameter");
    let mut run = healthy();
    run.settings.randomized.insert("mass".to_owned());
    lacks(&run, "F40", "randomization");
    put(&mut run, "randomization.mass", each(|_| 0.04));
    clear(&run, "F40");
    put(&mut run, "randomization.mass", each(|_| 0.0));
    fires(&run, "F40", Error, "randomization.mass");
}

#[test]
fn f42_curriculum() {
    is_not_about(&healthy(), "F42", "no curriculum");
    let mut run = healthy();
    put(&mut run, "curriculum.level", each(|update| (update as f64 / 10.0).min(9.0)));
    lacks(&run, "F42", "highest level");
    run.settings.curriculum_top = Some(9.0);
    clear(&run, "F42");
    put(&mut run, "curriculum.level", each(|update| (update as f64 / 10.0).min(4.0)));
    assert!(fires(&run, "F42", Warning, "curriculum.level").sentence.contains("stays at 4"));
    put(&mut run, "curriculum.level", each(|update| (update as f64).min(9.0)));
    assert!(fires(&run, "F42", Warning, "curriculum.level").sentence.contains("at its maximum"));
}

#[test]
fn f30_needs_a_target_and_a_return_no_better_than_random() {
    let mut run = unlearned();
    put(&mut run, "train.episodes_at_limit", each(|_| 9.0));
    // Better than random from the first evaluation on.
    put(&mut run, "eval.mean_return", every(5, |update| 120.0 + wobble(update)));
    clear(&run, "F30");
    run.environment.reward_threshold = None;
    is_not_about(&run, "F30", "no target");
}
