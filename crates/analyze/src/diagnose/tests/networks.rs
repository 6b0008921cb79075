//! F08 to F13, F15, F25 to F27: exploration, value function, network, observations.

use super::*;
use Severity::{Error, Info, Warning};

#[test]
fn f08_exploration_that_is_gone_early() {
    clear(&healthy(), "F08");
    let gone = each(|update| if update < 10 { 0.6 } else { 0.01 });
    let mut run = unlearned();
    put(&mut run, "train.entropy", gone.clone());
    fires(&run, "F08", Error, "train.entropy");
    // Gone in the second half of the budget is convergence.
    put(&mut run, "train.entropy", each(|update| if update < 55 { 0.6 } else { 0.01 }));
    clear(&run, "F08");
    // At its target there is nothing left to explore for.
    let mut fine = healthy();
    put(&mut fine, "train.entropy", gone.clone());
    clear(&fine, "F08");
    fine.environment.reward_threshold = None;
    fires(&fine, "F08", Info, "train.entropy");
    let mut run = continuous(unlearned());
    put(&mut run, "train.action_std", each(|update| if update < 10 { 1.0 } else { 0.02 }));
    fires(&run, "F08", Error, "train.action_std");
    put(&mut run, "train.action_std", each(|update| 1.0 - 0.005 * update as f64));
    clear(&run, "F08");
    // A policy that starts without noise has not lost any.
    put(&mut run, "train.action_std", each(|_| 0.007));
    fires(&run, "F08", Error, "train.action_std");
    needs(&run, "F08", "train.action_std");
    let mut run = unlearned();
    run.environment.actions = None;
    lacks(&run, "F08", "action space");
    run.environment.actions = Some(Actions::Discrete { most_entropy: 0.0 });
    is_not_about(&run, "F08", "one action");
}

#[test]
fn f09_a_policy_that_stays_random() {
    clear(&healthy(), "F09");
    let mut run = unlearned();
    put(&mut run, "train.entropy", each(|_| 0.692));
    fires(&run, "F09", Error, "train.entropy");
    put(&mut run, "train.entropy", each(|update| if update < 40 { 0.692 } else { 0.5 }));
    clear(&run, "F09");
    is_not_about(&continuous(unlearned()), "F09", "continuous action space");
    run.settings.total_steps = 10_000_000;
    lacks(&run, "F09", "20%");
}

#[test]
fn f10_deviation_that_grows_or_is_held_up() {
    is_not_about(&unlearned(), "F10", "discrete action space");
    let mut run = continuous(unlearned());
    put(&mut run, "train.action_std", each(|update| 1.0 - 0.005 * update as f64));
    clear(&run, "F10");
    put(&mut run, "train.action_std", each(|update| 1.0 + 0.003 * update as f64));
    fires(&run, "F10", Warning, "train.action_std");
    put(&mut run, "train.action_std", each(|update| if update == 0 { 1.0 } else { 1.8 }));
    fires(&run, "F10", Warning, "train.action_std");
    put(
        &mut run,
        "train.action_std",
        each(|update| if update < 30 { 1.0 - 0.02 * update as f64 } else { 0.4 + 0.001 * wobble(update) }),
    );
    clear(&run, "F10");
    run.settings.entropy_coef = Some(0.001);
    assert!(fires(&run, "F10", Warning, "train.action_std").sentence.contains("entropy_coef"));
    needs(&run, "F10", "train.action_std");
}

#[test]
fn f11_values_that_explain_nothing() {
    clear(&healthy(), "F11");
    let mut run = unlearned();
    put(
        &mut run,
        "train.explained_variance",
        each(|update| if (20..50).contains(&update) { -0.5 } else { 0.8 }),
    );
    fires(&run, "F11", Error, "train.explained_variance");
    // Early on, a value function can't predict yet.
    put(&mut run, "train.explained_variance", each(|update| if update < 20 { -0.5 } else { 0.8 }));
    clear(&run, "F11");
    put(&mut run, "train.explained_variance", each(|_| 0.01));
    fires(&run, "F11", Warning, "train.explained_variance");
    // Blind to a constant; the bias is not.
    put(&mut run, "train.explained_variance", each(|_| 0.97));
    put(&mut run, "train.value_bias", each(|_| -9.0));
    fires(&run, "F11", Warning, "train.value_bias");
    run.seeds[0].series.remove("train.explained_variance");
    assert!(fires(&run, "F11", Warning, "train.explained_variance").sentence.contains("don't vary"));
    // A return that is always the same and is predicted leaves nothing to explain.
    put(&mut run, "train.value_mean", each(|_| 59.5));
    clear(&run, "F11");
    put(&mut run, "train.value_mean", each(|_| 55.0));
    run.seeds[0].series.remove("train.value_loss");
    lacks(&run, "F11", "train.value_loss");
}

#[test]
fn f12_large_targets_hurt_only_where_values_stay_behind() {
    clear(&healthy(), "F12");
    let scaled = |factor: f64, value: f64| {
        let mut run = healthy();
        put(&mut run, "train.return_target_mean", each(|_| 17.0 * factor));
        put(&mut run, "train.return_target_p99", each(|_| 30.0 * factor));
        put(&mut run, "train.reward_max_abs", each(|_| factor));
        put(&mut run, "train.value_mean", each(move |update| value * update as f64 / 100.0));
        run
    };
    fires(&scaled(1e5, 200.0), "F12", Error, "train.return_target_p99");
    fires(&scaled(50.0, 2.0), "F12", Warning, "train.return_target_p99");
    clear(&scaled(1.0, 0.0), "F12");
    // Targets that rewards can't add up to come from the values themselves.
    let mut wild = scaled(1e5, 200.0);
    put(&mut wild, "train.reward_max_abs", each(|_| 1.0));
    clear(&wild, "F12");
    // The unit of the reward does not matter once the value function follows.
    clear(&scaled(1e5, 3.4e6), "F12");
    let mut old = scaled(1e5, 200.0);
    old.seeds[0].series.remove("train.return_target_p99");
    fires(&old, "F12", Error, "train.return_target_mean");
    needs(&healthy(), "F12", "train.value_mean");
}

#[test]
fn f13_values_that_rewards_cannot_add_up_to() {
    clear(&healthy(), "F13");
    let mut run = healthy();
    // 1 / (1 − 0.99) · 1.5 = 150.
    put(&mut run, "train.value_abs_max", each(|update| if update == 90 { 151.0 } else { 90.0 }));
    fires(&run, "F13", Error, "train.value_abs_max");
    put(&mut run, "train.value_abs_max", each(|_| 149.0));
    clear(&run, "F13");
    // With rewards of 0.01 an untrained network is beyond any sum of them.
    put(&mut run, "train.reward_max_abs", each(|_| 0.01));
    put(&mut run, "train.value_abs_max", each(|_| 2.5));
    clear(&run, "F13");
    put(&mut run, "train.value_abs_max", each(|_| 6.0));
    fires(&run, "F13", Error, "train.value_abs_max");
    put(&mut run, "train.reward_max_abs", each(|_| 1.0));
    // Without discount the cap bounds it: 500 · 1.5.
    run.settings.gamma = Some(1.0);
    put(&mut run, "train.value_abs_max", each(|_| 740.0));
    clear(&run, "F13");
    put(&mut run, "train.value_abs_max", each(|_| 760.0));
    fires(&run, "F13", Error, "train.value_abs_max");
    run.environment.step_cap = None;
    is_not_about(&run, "F13", "unbounded");
    run.settings.normalize_rewards = true;
    lacks(&run, "F13", "train.reward_scale");
    needs(&healthy(), "F13", "train.value_abs_max");
}

#[test]
fn f15_dormant_units() {
    clear(&healthy(), "F15");
    let mut run = unlearned();
    put(&mut run, "observations.dormant_fraction", every(5, |_| 0.4));
    fires(&run, "F15", Warning, "observations.dormant_fraction");
    put(&mut run, "observations.dormant_fraction", every(5, |_| 0.7));
    fires(&run, "F15", Error, "observations.dormant_fraction");
    needs(&run, "F15", "observations.dormant_fraction");
}

#[test]
fn f25_observations_of_unsuitable_size() {
    clear(&unlearned(), "F25");
    for (metric, value) in [("std_1", 500.0), ("std_1", 0.005), ("mean_1", -80.0)] {
        let mut run = unlearned();
        put(&mut run, &format!("observations.{metric}"), every(5, move |_| value));
        let finding = fires(&run, "F25", Error, &format!("observations.{metric}"));
        assert!(finding.sentence.contains("observation 1"), "{}", finding.sentence);
        run.settings.normalize_observations = true;
        is_not_about(&run, "F25", "normalised");
    }
    let mut run = unlearned();
    put(&mut run, "observations.std_0", every(5, |_| 0.002));
    put(&mut run, "observations.std_1", every(5, |_| 9.0));
    let finding = found(&run, "F25");
    assert!(finding.evidence.iter().any(|citation| citation.value == 4500.0), "{:?}", finding.evidence);
    // A constant dimension is covered by the next rule.
    put(&mut run, "observations.std_0", every(5, |_| 0.0));
    clear(&run, "F25");
    run.environment.real_observations = Some(false);
    is_not_about(&run, "F25", "discrete observation space");
    let mut run = unlearned();
    run.seeds[0].series.remove("observations.std_0");
    lacks(&run, "F25", "observations.std");
}

#[test]
fn f26_one_or_all_dimensions_fixed() {
    clear(&healthy(), "F26");
    let mut run = healthy();
    run.environment.observation_names = vec!["position".to_owned(), "speed".to_owned()];
    put(&mut run, "observations.std_1", every(5, |_| 0.0));
    assert!(fires(&run, "F26", Warning, "observations.std_1").sentence.contains("speed"));
    // Held within each episode, different between them.
    let mut run = healthy();
    run.environment.still = vec![0.0, 1.0];
    assert!(found(&run, "F26").sentence.contains("observation 1 never changes"));
    run.environment.still = vec![1.0, 1.0];
    let finding = found(&run, "F26");
    assert!(finding.sentence.contains("no component of the observation"), "{}", finding.sentence);
    assert_eq!(finding.evidence.len(), 2);
    let mut run = healthy();
    put(&mut run, "observations.clipped_0", every(5, |_| 0.2));
    fires(&run, "F26", Warning, "observations.clipped_0");
    run.environment.still.clear();
    run.seeds[0].series.retain(|name, _| !name.starts_with("observations."));
    lacks(&run, "F26", "observations.std");
}

#[test]
fn f27_actions_at_their_bounds() {
    is_not_about(&unlearned(), "F27", "discrete action space");
    let mut run = continuous(unlearned());
    lacks(&run, "F27", "train.action_saturation");
    put(&mut run, "train.action_saturation", each(|_| 0.3));
    clear(&run, "F27");
    put(&mut run, "train.action_saturation", each(|_| 0.6));
    fires(&run, "F27", Warning, "train.action_saturation");
    put(&mut run, "train.action_saturation", each(|_| 0.95));
    fires(&run, "F27", Error, "train.action_saturation");
}
