//! What healthy looks like for one config: the same metric has another ceiling
//! with two actions than with six, and another target with another `target_kl`.
//!
//! Bounds follow from definitions wherever they can (an entropy has a maximum,
//! a value can't pass reward / (1 - gamma)). The others are where practitioners
//! start to look more closely, not where training fails: `diagnose` judges
//! that.

mod training;

use rlxp_types::text::{grouped, number};
use serde::Serialize;

/// The actions of an environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Actions {
    /// Discrete actions: the number of choices of each part.
    Choices(Vec<usize>),
    /// Continuous actions: the number of dimensions.
    Numbers(usize),
    /// Not known.
    Unknown,
}

/// The facts about a run that expectations depend on. Settings are `None` if the algorithm or the network doesn't have
/// them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Here {
    pub env: String,
    pub actions: Actions,
    pub step_cap: Option<u64>,
    /// The return at which the environment counts as solved.
    pub threshold: Option<f64>,
    /// Names of the observation's components.
    pub observations: Vec<String>,
    /// Steps of the training.
    pub total_steps: u64,
    /// Samples of one rollout.
    pub rollout: u64,
    /// Copies of the environment.
    pub copies: usize,
    /// Passes over each rollout.
    pub update_epochs: Option<usize>,
    /// Learning rate at the beginning and at the end.
    pub learning_rate: (f64, f64),
    /// Clip range at the beginning and at the end.
    pub clip_range: Option<(f64, f64)>,
    /// Discount.
    pub gamma: Option<f64>,
    /// Weight of the entropy bonus.
    pub entropy_coef: Option<f64>,
    /// Cap of the gradient norm.
    pub max_grad_norm: Option<f64>,
    /// The KL at which updates end early.
    pub target_kl: Option<f64>,
    /// Initial standard deviation of continuous actions.
    pub first_deviation: Option<f64>,
    /// Whether it depends on the state (policy.use_sde).
    pub state_dependent: bool,
    /// Whether observations are normalised.
    pub normalize_observations: bool,
    /// Whether rewards are scaled.
    pub normalize_rewards: bool,
    /// Whether policy and value share layers.
    pub shared_network: bool,
    /// Configured number of evaluation episodes.
    pub eval_episodes: usize,
    /// Largest observed reward, in magnitude.
    pub largest_reward: Option<f64>,
    /// Whether every observed step gave the same reward.
    pub steady_reward: bool,
}

/// What to expect of a metric, with the bounds that can be checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expectation {
    pub text: String,
    /// A value below this is worth a second look.
    pub low: Option<f64>,
    /// A value above this is worth a second look.
    pub high: Option<f64>,
    /// When leaving the bounds matters little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless: Option<String>,
    /// The quantity that the values are a share of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
}

/// A reference that a value is compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Whole {
    pub name: String,
    /// Its size.
    pub value: f64,
}

impl Expectation {
    fn new(text: impl Into<String>, low: Option<f64>, high: Option<f64>) -> Self {
        Self { text: text.into(), low, high, unless: None, whole: None }
    }

    fn relative_to(self, name: &str, value: f64) -> Self {
        Self { whole: Some(Whole { name: name.to_owned(), value }), ..self }
    }
}

impl Here {
    /// The entropy of a policy that acts at random, or of the initial one.
    pub fn first_entropy(&self) -> Option<f64> {
        match &self.actions {
            Actions::Choices(parts) => Some(parts.iter().map(|n| (*n as f64).ln()).sum()),
            Actions::Numbers(size) => {
                let of_one = 0.5 * (1.0 + std::f64::consts::TAU.ln()) + self.first_deviation?.ln();
                Some(*size as f64 * of_one)
            }
            Actions::Unknown => None,
        }
    }

    /// The largest possible value of a state, in observed rewards.
    fn value_ceiling(&self) -> Option<f64> {
        let gamma = self.gamma.filter(|gamma| *gamma < 1.0)?;
        let largest = self.largest_reward.filter(|_| !self.normalize_rewards)?;
        // No episode is longer than its cap.
        let steps = self.step_cap.map_or(f64::INFINITY, |cap| cap as f64);
        Some(largest * steps.min(1.0 / (1.0 - gamma)))
    }
}

/// What to expect of a metric in this run; `None` where the dictionary's
/// general text is all there is to say.
pub fn expectation(kind: &str, name: &str, here: &Here) -> Option<Expectation> {
    match kind {
        "train" => training::of_training(name, here).map(|found| training::completed(name, here, found)),
        "eval" => of_evaluation(name, here),
        "observations" => of_observations(name, here),
        _ => None,
    }
}

fn of_evaluation(name: &str, here: &Here) -> Option<Expectation> {
    match name {
        "mean_return" => here.threshold.map(|threshold| {
            Expectation::new(format!("{} counts as solved from {}.", here.env, number(threshold)), None, None)
        }),
        "mean_length" => here.step_cap.map(|cap| {
            let text = format!("At most {}, the step cap of {}.", grouped(cap), here.env);
            Expectation::new(text, None, Some(cap as f64))
        }),
        "episodes" => Some(Expectation::new(format!("eval.episodes is {}.", here.eval_episodes), None, None)),
        _ => None,
    }
}

fn of_observations(name: &str, here: &Here) -> Option<Expectation> {
    if name == "dormant_fraction" {
        let text = "Below 0.3 and usually 0; it may rise slowly with relu.";
        return Some(Expectation::new(text, None, Some(0.3)));
    }
    let (what, dimension) = name.rsplit_once('_')?;
    let dimension: usize = dimension.parse().ok()?;
    let called = match here.observations.get(dimension) {
        Some(name) => format!("This is the {name} of {}.", here.env),
        None => format!("This is component {dimension} of the observation."),
    };
    let normalised = here.normalize_observations;
    let (more, low, high) = match what {
        "mean" if normalised => (" It is normalised before it reaches the network.", None, None),
        "mean" => {
            (" It reaches the network unnormalised, so values within ±5 are good.", Some(-5.0), Some(5.0))
        }
        "std" if normalised => (
            " It is normalised before it reaches the network; 0 would mean that it never changes.",
            Some(1e-6),
            None,
        ),
        "std" => (
            " It reaches the network unnormalised, so 0.01 to 10 is good; 0 would mean that it never \
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

    pub(in crate::describe::metrics) fn cart_pole() -> Here {
        Here {
            env: "CartPole-v1".into(),
            actions: Actions::Choices(vec![2]),
            step_cap: Some(500),
            threshold: Some(475.0),
            observations: vec!["cart position".into(), "cart velocity".into()],
            total_steps: 100_000,
            rollout: 1024,
            copies: 8,
            update_epochs: Some(10),
            learning_rate: (0.001, 0.0),
            clip_range: Some((0.2, 0.2)),
            gamma: Some(0.99),
            entropy_coef: Some(0.0),
            max_grad_norm: Some(0.5),
            target_kl: None,
            first_deviation: Some(1.0),
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
        assert!(text("reward_mean", &cart_pole()).contains("same reward for every step"));
        let scaled = Here { normalize_rewards: true, ..cart_pole() };
        assert_eq!(expectation("train", "value_abs_max", &scaled), None);
        assert!(text("value_mean", &scaled).contains("scaled"));
    }

    #[test]
    fn a_setting_that_the_algorithm_lacks_gives_no_expectation() {
        let other = Here {
            update_epochs: None,
            clip_range: None,
            gamma: None,
            entropy_coef: None,
            first_deviation: None,
            ..cart_pole()
        };
        for name in ["clip_fraction", "clip_range", "epochs", "value_abs_max", "action_std"] {
            assert_eq!(expectation("train", name, &other), None, "{name}");
        }
        assert!(text("entropy", &other).contains("ln(2) = 0.693"));
    }

    #[test]
    fn observations_have_their_names() {
        let found = |name: &str| expectation("observations", name, &cart_pole()).unwrap();
        assert!(found("std_1").text.contains("cart velocity"));
        assert!(found("mean_7").text.contains("component 7"));
        assert_eq!(expectation("observations", "odd", &cart_pole()), None);
        assert_eq!(expectation("timing", "steps_per_second", &cart_pole()), None);
    }
}
