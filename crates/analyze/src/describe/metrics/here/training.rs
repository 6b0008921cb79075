//! What to expect of the numbers of an update.

use rlxp_types::text::{grouped, number};

use super::{Actions, Expectation, Here};

/// Adds the reference that its values are compared with.
pub(super) fn completed(name: &str, here: &Here, found: Expectation) -> Expectation {
    let whole = match name {
        "entropy" if matches!(here.actions, Actions::Choices(_)) => {
            here.first_entropy().map(|value| ("the maximum", value))
        }
        "approx_kl" => here.target_kl.map(|value| ("target_kl", value)),
        "mean_length" => here.step_cap.map(|cap| ("the step cap", cap as f64)),
        "value_abs_max" => here.value_ceiling().map(|value| ("the largest possible value of a state", value)),
        "action_std" if !here.state_dependent => {
            here.first_deviation.map(|value| ("its initial value", value))
        }
        _ => None,
    };
    let found = match whole {
        Some((name, value)) if value > 0.0 => found.relative_to(name, value),
        _ => found,
    };
    let when = match name {
        "explained_variance" => {
            "once all episodes have the same outcome, since no variance is left to explain"
        }
        // Only choices have a lower bound.
        "entropy" if found.low.is_some() => "once the return has risen",
        _ => return found,
    };
    Expectation { unless: Some(when.to_owned()), ..found }
}

pub(super) fn of_training(name: &str, here: &Here) -> Option<Expectation> {
    let expect = |text: String, low, high| Some(Expectation::new(text, low, high));
    match name {
        "entropy" => entropy(here),
        "approx_kl" => match here.target_kl {
            Some(target) => expect(
                format!(
                    "target_kl is {}: an update ends when a minibatch exceeds 1.5 times that, {}. A mean \
                     at or below the target is healthy.",
                    number(target),
                    number(1.5 * target)
                ),
                Some(0.0),
                Some(1.5 * target),
            ),
            None => expect(
                "No target_kl is set, so updates never end early. It usually stays below 0.02 and \
                 decreases with the learning rate; repeatedly above 0.05 is high."
                    .to_owned(),
                Some(0.0),
                Some(0.05),
            ),
        },
        "clip_fraction" => {
            let (first, last) = here.clip_range?;
            let range =
                if first == last { number(first) } else { format!("{} decreasing to {}", number(first), number(last)) };
            let fades = last < 0.5 * first;
            let usual = if fades {
                "It may grow as the range shrinks; that is normal."
            } else {
                "Up to 0.3 is normal while the policy learns."
            };
            expect(
                format!(
                    "The clip range is {range}: this is the share of samples whose probability changed by more \
                     than that. {usual}"
                ),
                None,
                (!fades).then_some(0.3),
            )
        }
        "explained_variance" => expect(
            "Rises from about 0 towards 1 within the first third; below 0 the critic is worse than a \
             constant. Once all episodes have the same outcome, no variance is left to explain and it \
             fluctuates."
                .to_owned(),
            // Every critic starts slightly below 0.
            Some(-0.05),
            Some(1.0),
        ),
        "grad_norm" => here.max_grad_norm.and_then(|cap| {
            expect(
                format!(
                    "Measured before clipping to max_grad_norm {}. Sudden jumps matter; being above the \
                     cap is common.",
                    number(cap)
                ),
                None,
                None,
            )
        }),
        "learning_rate" => expect(schedule("algo.learning_rate", here.learning_rate), None, None),
        "clip_range" => expect(schedule("algo.clip_range", here.clip_range?), None, None),
        "epochs" => {
            let epochs = here.update_epochs?;
            let all = epochs as f64;
            let text = match here.target_kl {
                Some(_) => format!("algo.update_epochs is {epochs}; target_kl may end an update earlier."),
                None => format!("Always algo.update_epochs, {epochs}: no target_kl is set."),
            };
            expect(text, Some(if here.target_kl.is_some() { all / 2.0 } else { all }), Some(all))
        }
        "stopped_by_kl" if here.target_kl.is_none() => {
            expect("Always 0: no target_kl is set.".to_owned(), None, Some(0.0))
        }
        "value_abs_max" => here.value_ceiling().and_then(|ceiling| {
            expect(
                format!(
                    "The largest reward seen is {} and gamma is {}, so no state is worth more than {}; an \
                     estimate far above that is wrong.",
                    number(here.largest_reward.unwrap_or(0.0)),
                    number(here.gamma?),
                    number(ceiling)
                ),
                None,
                Some(1.5 * ceiling),
            )
        }),
        "return_target_mean" | "return_target_p99" | "value_mean" => value_scale(name, here),
        "reward_deviation" if here.steady_reward => expect(
            format!("{} gives the same reward for every step, so 0 is correct: only the episode length \
                     carries a signal.", here.env),
            None,
            None,
        ),
        "reward_mean" if here.steady_reward => expect(
            format!("{} gives the same reward for every step, so it can't change: see mean_length.", here.env),
            None,
            None,
        ),
        "mean_return" => here.threshold.and_then(|threshold| {
            expect(
                format!(
                    "{} counts as solved from {}; exploration keeps this slightly below the evaluation.",
                    here.env,
                    number(threshold)
                ),
                None,
                None,
            )
        }),
        "mean_length" => here.step_cap.and_then(|cap| {
            expect(format!("At most {}, the step cap of {}.", grouped(cap), here.env), None, Some(cap as f64))
        }),
        "action_std" if here.state_dependent => expect(
            "policy.use_sde makes it state-dependent, so this is its geometric mean over the samples; it \
             shrinks as the policy becomes more certain."
                .to_owned(),
            None,
            None,
        ),
        "action_std" => here.first_deviation.and_then(|first| {
            expect(
                format!(
                    "Starts at {} (exp of policy.log_std_init) and shrinks as the policy becomes more certain.",
                    number(first)
                ),
                None,
                Some(1.5 * first),
            )
        }),
        "action_saturation" => expect(
            "Below 0.5, unless the best policy uses full force.".to_owned(),
            None,
            Some(0.5),
        ),
        "terminated_at_limit" => {
            expect("0 or very few: the time limit must not be learned as a termination.".to_owned(), None, None)
        }
        "episodes_finished" => here.step_cap.and_then(|cap| {
            let least = here.rollout / cap.max(1);
            expect(
                format!(
                    "A rollout has {} samples and an episode at most {} steps, so at least about {} should end \
                     in each.",
                    grouped(here.rollout),
                    grouped(cap),
                    grouped(least)
                ),
                None,
                None,
            )
        }),
        _ => None,
    }
}

/// Share of the largest entropy below which a policy hardly explores.
const COLLAPSED: f64 = 0.05;

fn entropy(here: &Here) -> Option<Expectation> {
    let first = here.first_entropy()?;
    let bonus = match here.entropy_coef {
        Some(weight) if weight > 0.0 => format!(" The entropy bonus ({}) keeps it up.", number(weight)),
        _ => String::new(),
    };
    match &here.actions {
        Actions::Choices(parts) => {
            let sum: Vec<String> = parts.iter().map(|n| format!("ln({n})")).collect();
            let text = format!(
                "The maximum is {} = {first:.3}, a policy that picks uniformly among the actions of {}. It \
                 starts there and decreases; if it is below {} before the return has risen, exploration \
                 has collapsed.{bonus}",
                sum.join(" + "),
                here.env,
                number(COLLAPSED * first)
            );
            // Rounding in single precision may exceed the maximum slightly.
            Some(Expectation::new(text, Some(COLLAPSED * first), Some(first * 1.001 + 1e-6)))
        }
        Actions::Numbers(_) if here.state_dependent => {
            let text = format!(
                "policy.use_sde makes the action std state-dependent, so its initial value depends on the \
                 state too. It decreases as the policy becomes more certain and may be negative.{bonus}"
            );
            Some(Expectation::new(text, None, None))
        }
        Actions::Numbers(size) => {
            let text = format!(
                "With {size} continuous action{} and an initial std of {}, it starts at {} and decreases \
                 by {size} for every factor of e by which the std shrinks. It may be negative.{bonus}",
                if *size == 1 { "" } else { "s" },
                number(here.first_deviation?),
                number(first)
            );
            Some(Expectation::new(text, None, None))
        }
        Actions::Unknown => None,
    }
}

fn value_scale(name: &str, here: &Here) -> Option<Expectation> {
    if here.normalize_rewards {
        let text = "Rewards are scaled so that discounted returns vary by about 1: values of a few units \
                    are expected.";
        return Some(Expectation::new(text, None, (name == "return_target_p99").then_some(10.0)));
    }
    let ceiling = here.value_ceiling()?;
    let far = if name == "return_target_p99" && !here.shared_network {
        " Above 10 the critic learns more slowly; here it has its own layers, so the policy is not affected."
    } else {
        ""
    };
    let text = format!(
        "With rewards of up to {} and gamma {}, it can reach at most {}.{far}",
        number(here.largest_reward?),
        number(here.gamma?),
        number(ceiling)
    );
    let high = (name == "return_target_p99").then_some(1.5 * ceiling);
    Some(Expectation::new(text, None, high))
}

fn schedule(key: &str, (first, last): (f64, f64)) -> String {
    if first == last {
        format!("{key} is {} throughout.", number(first))
    } else {
        format!("{key} changes linearly from {} to {}.", number(first), number(last))
    }
}
