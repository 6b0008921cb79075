//! What healthy looks like for one config: the same metric has another ceiling
//! with two actions than with six, and another target with another `target_kl`.
//!
//! Bounds follow from definitions wherever they can (an entropy has a maximum,
//! a value can't pass reward / (1 - gamma)). The others are where practice
//! starts to look twice, not where training fails: `diagnose` judges.

use serde::Serialize;

use crate::story::{number, step};

/// The actions of an environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Actions {
    /// Choices, one number of them per part.
    Choices(Vec<usize>),
    /// So many real numbers.
    Numbers(usize),
    /// Not known.
    Unknown,
}

/// What is known of a run that expectations depend on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Here {
    /// The environment.
    pub env: String,
    /// Its actions.
    pub actions: Actions,
    /// Its step cap.
    pub step_cap: Option<u64>,
    /// The return that counts as solved.
    pub threshold: Option<f64>,
    /// Names of the observation's numbers.
    pub observations: Vec<String>,
    /// Steps of the training.
    pub total_steps: u64,
    /// Samples of one rollout.
    pub rollout: u64,
    /// Copies of the environment.
    pub copies: usize,
    /// Passes over each rollout.
    pub update_epochs: usize,
    /// Learning rate at the beginning and at the end.
    pub learning_rate: (f64, f64),
    /// Clip range at the beginning and at the end.
    pub clip_range: (f64, f64),
    /// Discount.
    pub gamma: f64,
    /// Weight of the entropy bonus.
    pub entropy_coef: f64,
    /// Cap of the gradient norm.
    pub max_grad_norm: Option<f64>,
    /// Where updates end early.
    pub target_kl: Option<f64>,
    /// Initial deviation of continuous actions.
    pub first_deviation: f64,
    /// Whether that deviation depends on the state (policy.use_sde).
    pub state_dependent: bool,
    /// Whether observations are normalised.
    pub normalize_observations: bool,
    /// Whether rewards are scaled.
    pub normalize_rewards: bool,
    /// Whether policy and value share layers.
    pub shared_network: bool,
    /// Episodes of an evaluation, as asked for.
    pub eval_episodes: usize,
    /// Largest reward that was seen, in magnitude.
    pub largest_reward: Option<f64>,
    /// Whether every step pays the same, as far as was seen.
    pub steady_reward: bool,
}

/// What to expect of a metric, with the bounds that can be checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expectation {
    /// In words.
    pub text: String,
    /// A value below this is worth a second look.
    pub low: Option<f64>,
    /// A value above this is worth a second look.
    pub high: Option<f64>,
    /// When leaving the bounds means little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless: Option<String>,
    /// What the values are a share of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
}

/// Something that a value can be held against.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Whole {
    /// What it is.
    pub name: String,
    /// Its size.
    pub value: f64,
}

impl Expectation {
    fn new(text: impl Into<String>, low: Option<f64>, high: Option<f64>) -> Self {
        Self { text: text.into(), low, high, unless: None, whole: None }
    }

    fn of(self, name: &str, value: f64) -> Self {
        Self { whole: Some(Whole { name: name.to_owned(), value }), ..self }
    }
}

impl Here {
    /// The entropy of a policy that acts at random, or begins to.
    pub fn first_entropy(&self) -> Option<f64> {
        match &self.actions {
            Actions::Choices(parts) => Some(parts.iter().map(|n| (*n as f64).ln()).sum()),
            Actions::Numbers(size) => {
                let of_one = 0.5 * (1.0 + std::f64::consts::TAU.ln()) + self.first_deviation.ln();
                Some(*size as f64 * of_one)
            }
            Actions::Unknown => None,
        }
    }

    /// The most that any state can be worth, in rewards as they were seen.
    fn value_ceiling(&self) -> Option<f64> {
        let largest = self.largest_reward.filter(|_| !self.normalize_rewards && self.gamma < 1.0)?;
        // No episode is longer than its cap.
        let steps = self.step_cap.map_or(f64::INFINITY, |cap| cap as f64);
        Some(largest * steps.min(1.0 / (1.0 - self.gamma)))
    }
}

/// What to expect of a metric here; nothing where the dictionary's own words
/// are all there is to say.
pub fn expectation(kind: &str, name: &str, here: &Here) -> Option<Expectation> {
    match kind {
        "train" => of_training(name, here).map(|found| completed(name, here, found)),
        "eval" => of_evaluation(name, here),
        "observations" => of_observations(name, here),
        _ => None,
    }
}

/// With what its values can be held against.
fn completed(name: &str, here: &Here, found: Expectation) -> Expectation {
    let whole = match name {
        "entropy" if matches!(here.actions, Actions::Choices(_)) => {
            here.first_entropy().map(|value| ("the maximum", value))
        }
        "approx_kl" => here.target_kl.map(|value| ("target_kl", value)),
        "mean_length" => here.step_cap.map(|cap| ("the step cap", cap as f64)),
        "value_abs_max" => here.value_ceiling().map(|value| ("the most that a state can be worth", value)),
        "action_std" if !here.state_dependent => Some(("where it started", here.first_deviation)),
        _ => None,
    };
    let found = match whole {
        Some((name, value)) if value > 0.0 => found.of(name, value),
        _ => found,
    };
    let unless = (name == "explained_variance")
        .then(|| "once all episodes end alike, since there is then nothing left to explain".to_owned());
    Expectation { unless, ..found }
}

fn of_training(name: &str, here: &Here) -> Option<Expectation> {
    let expect = |text: String, low, high| Some(Expectation::new(text, low, high));
    match name {
        "entropy" => entropy(here),
        "approx_kl" => match here.target_kl {
            Some(target) => expect(
                format!(
                    "target_kl is {}: an update ends when a minibatch passes 1.5 times that, {}. Healthy is a \
                     mean around the target or below.",
                    number(target),
                    number(1.5 * target)
                ),
                Some(0.0),
                Some(1.5 * target),
            ),
            None => expect(
                "No target_kl is set, so nothing ends an update early. Usually it stays below 0.02 and fades \
                 with the learning rate; above 0.05 again and again is a lot."
                    .to_owned(),
                Some(0.0),
                Some(0.05),
            ),
        },
        "clip_fraction" => {
            let (first, last) = here.clip_range;
            let range =
                if first == last { number(first) } else { format!("{} fading to {}", number(first), number(last)) };
            let fades = last < 0.5 * first;
            let usual = if fades {
                "It may grow as the range closes, which means nothing."
            } else {
                "Up to 0.3 is usual while the policy learns."
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
            "Climbs from about 0 towards 1 within the first third; below 0 the critic does worse than a \
             constant. Once all episodes end alike there is nothing left to explain, and it wanders."
                .to_owned(),
            // A hair below 0 is where every critic starts.
            Some(-0.05),
            Some(1.0),
        ),
        "grad_norm" => here.max_grad_norm.and_then(|cap| {
            expect(
                format!(
                    "Measured before the cut to max_grad_norm {}. What matters is that it doesn't jump; being \
                     above the cap is common.",
                    number(cap)
                ),
                None,
                None,
            )
        }),
        "learning_rate" => expect(schedule("algo.learning_rate", here.learning_rate), None, None),
        "clip_range" => expect(schedule("algo.clip_range", here.clip_range), None, None),
        "epochs" => {
            let all = here.update_epochs as f64;
            let text = match here.target_kl {
                Some(_) => format!("algo.update_epochs is {}; target_kl may end an update sooner.", here.update_epochs),
                None => format!("Always algo.update_epochs, {}: no target_kl is set.", here.update_epochs),
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
                     estimate far beyond that is made up.",
                    number(here.largest_reward.unwrap_or(0.0)),
                    number(here.gamma),
                    number(ceiling)
                ),
                None,
                Some(1.5 * ceiling),
            )
        }),
        "return_target_mean" | "return_target_p99" | "value_mean" => value_scale(name, here),
        "reward_deviation" if here.steady_reward => expect(
            format!("{} pays every step alike, so 0 is right: only the length of episodes teaches.", here.env),
            None,
            None,
        ),
        "reward_mean" if here.steady_reward => expect(
            format!("{} pays every step alike, so it can't change: look at mean_length.", here.env),
            None,
            None,
        ),
        "mean_return" => here.threshold.and_then(|threshold| {
            expect(
                format!(
                    "{} counts as solved from {}; exploration keeps this a little below the evaluation.",
                    here.env,
                    number(threshold)
                ),
                None,
                None,
            )
        }),
        "mean_length" => here.step_cap.and_then(|cap| {
            expect(format!("At most {}, the step cap of {}.", step(cap), here.env), None, Some(cap as f64))
        }),
        "action_std" if here.state_dependent => expect(
            "policy.use_sde makes it depend on the state, so this is its geometric mean over the samples; it \
             shrinks as the policy becomes sure."
                .to_owned(),
            None,
            None,
        ),
        "action_std" => expect(
            format!(
                "Starts at {} (exp of policy.log_std_init) and shrinks as the policy becomes sure.",
                number(here.first_deviation)
            ),
            None,
            Some(1.5 * here.first_deviation),
        ),
        "action_saturation" => expect(
            "Below 0.5, unless the best policy pushes as hard as it can.".to_owned(),
            None,
            Some(0.5),
        ),
        "terminated_at_limit" => {
            expect("0, or very few: the clock must not be learned as an end.".to_owned(), None, None)
        }
        "episodes_finished" => here.step_cap.and_then(|cap| {
            let least = here.rollout / cap.max(1);
            expect(
                format!(
                    "A rollout has {} samples and an episode at most {} steps, so at least about {} should end \
                     in each.",
                    step(here.rollout),
                    step(cap),
                    step(least)
                ),
                None,
                None,
            )
        }),
        _ => None,
    }
}

fn entropy(here: &Here) -> Option<Expectation> {
    let first = here.first_entropy()?;
    let bonus = if here.entropy_coef > 0.0 {
        format!(" The entropy bonus ({}) holds it up.", number(here.entropy_coef))
    } else {
        String::new()
    };
    match &here.actions {
        Actions::Choices(parts) => {
            let sum: Vec<String> = parts.iter().map(|n| format!("ln({n})")).collect();
            let text = format!(
                "The maximum is {} = {first:.3}, a policy that chooses at random among the actions of {}. It \
                 starts there and falls; below {} before the return has risen, exploration has collapsed.{bonus}",
                sum.join(" + "),
                here.env,
                number(0.05 * first)
            );
            // Rounding in single precision may pass the maximum by a hair.
            Some(Expectation::new(text, None, Some(first * 1.001 + 1e-6)))
        }
        Actions::Numbers(_) if here.state_dependent => {
            let text = format!(
                "policy.use_sde makes the deviation of actions depend on the state, so where it starts does \
                 too. It falls as the policy becomes sure and may well be negative.{bonus}"
            );
            Some(Expectation::new(text, None, None))
        }
        Actions::Numbers(size) => {
            let text = format!(
                "With {size} continuous action{} and an initial deviation of {} it starts at {}, and falls by \
                 {size} for every factor of e by which the deviation shrinks. It may well be negative.{bonus}",
                if *size == 1 { "" } else { "s" },
                number(here.first_deviation),
                number(first)
            );
            Some(Expectation::new(text, None, None))
        }
        Actions::Unknown => None,
    }
}

fn value_scale(name: &str, here: &Here) -> Option<Expectation> {
    if here.normalize_rewards {
        let text = "Rewards are scaled so that discounted returns vary by about 1: values of a few units are \
                    right.";
        return Some(Expectation::new(text, None, (name == "return_target_p99").then_some(10.0)));
    }
    let ceiling = here.value_ceiling()?;
    let far = if name == "return_target_p99" && !here.shared_network {
        " Beyond 10 the critic learns more slowly; it has layers of its own here, so the policy doesn't suffer."
    } else {
        ""
    };
    let text = format!(
        "With rewards of up to {} and gamma {} it can reach {} at most.{far}",
        number(here.largest_reward?),
        number(here.gamma),
        number(ceiling)
    );
    let high = (name == "return_target_p99").then_some(1.5 * ceiling);
    Some(Expectation::new(text, None, high))
}

fn schedule(key: &str, (first, last): (f64, f64)) -> String {
    if first == last {
        format!("{key} is {} throughout.", number(first))
    } else {
        format!("{key} goes in a straight line from {} to {}.", number(first), number(last))
    }
}

fn of_evaluation(name: &str, here: &Here) -> Option<Expectation> {
    match name {
        "mean_return" => here.threshold.map(|threshold| {
            Expectation::new(format!("{} counts as solved from {}.", here.env, number(threshold)), None, None)
        }),
        "mean_length" => here.step_cap.map(|cap| {
            let text = format!("At most {}, the step cap of {}.", step(cap), here.env);
            Expectation::new(text, None, Some(cap as f64))
        }),
        "episodes" => Some(Expectation::new(
            format!(
                "eval.episodes is {}; where chance plays a part at least 100 are played.",
                here.eval_episodes
            ),
            None,
            None,
        )),
        _ => None,
    }
}

fn of_observations(name: &str, here: &Here) -> Option<Expectation> {
    if name == "dormant_fraction" {
        let text = "Below 0.3, mostly 0; it may creep up with relu.";
        return Some(Expectation::new(text, None, Some(0.3)));
    }
    let (what, dimension) = name.rsplit_once('_')?;
    let dimension: usize = dimension.parse().ok()?;
    let called = match here.observations.get(dimension) {
        Some(name) => format!("This is the {name} of {}.", here.env),
        None => format!("This is number {dimension} of the observation."),
    };
    let normalised = here.normalize_observations;
    let (more, low, high) = match what {
        "mean" if normalised => (" It is normalised before the network sees it.", None, None),
        "mean" => (" It goes into the network as it is, so within ±5 is good.", Some(-5.0), Some(5.0)),
        "std" if normalised => (
            " It is normalised before the network sees it; 0 would mean that it never changes.",
            Some(1e-6),
            None,
        ),
        "std" => (
            " It goes into the network as it is, so between 0.01 and 10 is good; 0 would mean that it never \
             changes.",
            Some(0.01),
            Some(10.0),
        ),
        "clipped" => (" Below 0.05 is good.", None, Some(0.05)),
        _ => ("", None, None),
    };
    Some(Expectation::new(format!("{called}{more}"), low, high))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::metrics) fn cart_pole() -> Here {
        Here {
            env: "CartPole-v1".into(),
            actions: Actions::Choices(vec![2]),
            step_cap: Some(500),
            threshold: Some(475.0),
            observations: vec!["cart position".into(), "cart velocity".into()],
            total_steps: 100_000,
            rollout: 1024,
            copies: 8,
            update_epochs: 10,
            learning_rate: (0.001, 0.0),
            clip_range: (0.2, 0.2),
            gamma: 0.99,
            entropy_coef: 0.0,
            max_grad_norm: Some(0.5),
            target_kl: None,
            first_deviation: 1.0,
            state_dependent: false,
            normalize_observations: false,
            normalize_rewards: false,
            shared_network: false,
            eval_episodes: 100,
            largest_reward: Some(1.0),
            steady_reward: true,
        }
    }

    fn text(name: &str, here: &Here) -> String {
        expectation("train", name, here).unwrap().text
    }

    #[test]
    fn the_entropy_of_two_actions_is_at_most_ln_2() {
        let found = expectation("train", "entropy", &cart_pole()).unwrap();
        assert!(found.text.contains("ln(2) = 0.693"), "{}", found.text);
        assert!((found.high.unwrap() - std::f64::consts::LN_2).abs() < 1e-3);
        let two_parts = Here { actions: Actions::Choices(vec![2, 3]), ..cart_pole() };
        assert!(text("entropy", &two_parts).contains("ln(2) + ln(3) = 1.792"));
        // ½ ln(2πe) = 1.4189 for a deviation of 1, and ln σ more for another.
        let continuous = Here { actions: Actions::Numbers(2), ..cart_pole() };
        assert!((continuous.first_entropy().unwrap() - 2.0 * 1.418_938_533_204_672_7).abs() < 1e-12);
        assert_eq!(expectation("train", "entropy", &Here { actions: Actions::Unknown, ..cart_pole() }), None);
    }

    #[test]
    fn bounds_follow_the_config() {
        let here = Here { target_kl: Some(0.02), ..cart_pole() };
        assert_eq!(expectation("train", "approx_kl", &here).unwrap().high, Some(0.03));
        assert!(text("approx_kl", &here).contains("target_kl is 0.02"));
        assert_eq!(expectation("train", "epochs", &cart_pole()).unwrap().low, Some(10.0));
        // 1 / (1 - 0.99) = 100 steps of reward 1; the cap of 500 is longer.
        let found = expectation("train", "value_abs_max", &cart_pole()).unwrap();
        assert!(
            (found.high.unwrap() - 150.0).abs() < 1e-9 && found.text.contains("more than 100"),
            "{found:?}"
        );
        let short = Here { step_cap: Some(20), ..cart_pole() };
        assert!((expectation("train", "value_abs_max", &short).unwrap().high.unwrap() - 30.0).abs() < 1e-9);
        assert!(text("learning_rate", &cart_pole()).contains("from 0.001 to 0"));
        assert!(text("reward_mean", &cart_pole()).contains("every step alike"));
        let scaled = Here { normalize_rewards: true, ..cart_pole() };
        assert_eq!(expectation("train", "value_abs_max", &scaled), None);
        assert!(text("value_mean", &scaled).contains("scaled"));
    }

    #[test]
    fn observations_have_their_names() {
        let found = |name: &str| expectation("observations", name, &cart_pole()).unwrap();
        assert!(found("std_1").text.contains("cart velocity"));
        assert!(found("mean_7").text.contains("number 7"));
        assert_eq!(expectation("observations", "odd", &cart_pole()), None);
        assert_eq!(expectation("timing", "steps_per_second", &cart_pole()), None);
    }
}
