//! The catalogue: every native environment, with the facts that Gymnasium 1.4.0 registers for it.

use serde::Serialize;

use crate::probe::ProbeKind;

/// What is known about an environment without making one.
#[derive(Clone, Debug, Serialize)]
pub struct EnvInfo {
    /// Id such as `CartPole-v1`.
    pub id: &'static str,
    /// Other ids that mean the same.
    pub aliases: &'static [&'static str],
    /// What it is about, in one line.
    pub summary: &'static str,
    /// Step cap of an episode.
    pub max_episode_steps: Option<u64>,
    /// Mean return from which it counts as solved.
    pub reward_threshold: Option<f64>,
    /// With default arguments, episodes of one deterministic policy vary,
    /// start states included. See [`crate::Sources::is_stochastic`] for others.
    pub stochastic: bool,
    /// Arguments that `env.kwargs` may set.
    pub kwargs: &'static [KwargInfo],
    /// The name of each component of an observation row.
    pub observation_names: &'static [&'static str],
    /// The name of each discrete action, or of each component of a continuous one.
    pub action_names: &'static [&'static str],
}

impl EnvInfo {
    /// Whether this is its id or an alias.
    pub fn is_called(&self, id: &str) -> bool {
        self.id == id || self.aliases.contains(&id)
    }
}

/// A keyword argument of an environment.
#[derive(Clone, Debug, Serialize)]
pub struct KwargInfo {
    pub name: &'static str,
    /// What values it takes.
    pub kind: KwargKind,
    /// Its default, as written in a config.
    pub default: &'static str,
    pub meaning: &'static str,
}

/// Kinds of keyword arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KwargKind {
    /// true or false.
    Bool,
    /// Any finite number.
    Number,
    /// A number from 0 to 1.
    Probability,
    Text,
}

/// Which program steps it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    CartPole,
    Acrobot,
    MountainCar,
    MountainCarContinuous,
    Pendulum,
    FrozenLake { map_name: &'static str },
    Taxi,
    CliffWalking { slippery: bool },
    Blackjack,
    Probe(ProbeKind),
}

/// No environment has this id.
#[derive(Debug, thiserror::Error)]
#[error("unknown environment {id:?}{}", offer(nearest))]
pub struct UnknownEnv {
    /// The requested id.
    pub id: String,
    /// The ids that come nearest, best first; may be empty.
    pub nearest: Vec<&'static str>,
}

fn offer(nearest: &[&str]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; similar: {}", nearest.join(", ")) }
}

/// Every native environment, in the order to show them.
pub(crate) fn native_infos() -> impl Iterator<Item = &'static EnvInfo> {
    CATALOGUE.iter().map(|(_, info)| info)
}

/// Which program steps a native environment.
pub(crate) fn kind_of(info: &'static EnvInfo) -> Kind {
    let entry = CATALOGUE.iter().find(|(_, native)| native.id == info.id);
    entry.expect("the native source is asked only for what it found").0
}

/// Up to three ids, those first that differ only in case or version.
pub(crate) fn nearest_ids(id: &str, among: impl Iterator<Item = &'static EnvInfo>) -> Vec<&'static str> {
    let asked = id.to_lowercase();
    let mut ranked: Vec<(f64, &'static str)> = among
        .map(|info| {
            let names = std::iter::once(&info.id).chain(info.aliases);
            let likeness = names.map(|name| likeness(&asked, &name.to_lowercase())).fold(0.0, f64::max);
            (likeness, info.id)
        })
        .filter(|(likeness, _)| *likeness >= 0.5)
        .collect();
    // A stable sort: equally near ids keep the catalogue's order.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(3);
    ranked.into_iter().map(|(_, id)| id).collect()
}

/// Whether this looks like a misspelt id of a native environment, or another version of one.
pub fn is_misspelt_native(id: &str) -> bool {
    let asked = id.to_lowercase();
    let names = native_infos().flat_map(|info| std::iter::once(&info.id).chain(info.aliases));
    names.into_iter().any(|name| likeness(&asked, &name.to_lowercase()) >= 0.7)
}

/// 3 for the same name in another case, 2 for another version, else 0 to 1.
fn likeness(asked: &str, name: &str) -> f64 {
    let base =
        |text: &str| text.rsplit_once("-v").map_or(text, |(base, _)| base).replace(['-', '_', ' '], "");
    if asked == name {
        3.0
    } else if base(asked) == base(name) {
        2.0
    } else {
        strsim::normalized_levenshtein(&base(asked), &base(name))
    }
}

const fn kwarg(
    name: &'static str,
    kind: KwargKind,
    default: &'static str,
    meaning: &'static str,
) -> KwargInfo {
    KwargInfo { name, kind, default, meaning }
}

const GOAL_VELOCITY: &[KwargInfo] =
    &[kwarg("goal_velocity", KwargKind::Number, "0", "minimum velocity at the goal")];

const fn lake(map_name: &'static str) -> [KwargInfo; 5] {
    [
        kwarg("map_name", KwargKind::Text, map_name, "4x4 or 8x8"),
        kwarg("desc", KwargKind::Text, "", "a custom map instead: comma-separated rows of S, F, H and G"),
        kwarg("is_slippery", KwargKind::Bool, "true", "moves may slip sideways"),
        kwarg(
            "success_rate",
            KwargKind::Probability,
            "1/3",
            "on slippery ice, probability that a move goes in the intended direction",
        ),
        kwarg("reward_schedule", KwargKind::Text, "1,0,0", "rewards for reaching the goal, a hole and ice"),
    ]
}
const LAKE_4X4: &[KwargInfo] = &lake("4x4");
const LAKE_8X8: &[KwargInfo] = &lake("8x8");

const TAXI: &[KwargInfo] = &[
    kwarg("is_rainy", KwargKind::Bool, "false", "moves may drift sideways"),
    kwarg(
        "rainy_probability",
        KwargKind::Probability,
        "0.8",
        "in rain, probability that a move goes in the intended direction",
    ),
    kwarg("fickle_passenger", KwargKind::Bool, "false", "the passenger may change the destination once"),
    kwarg("fickle_probability", KwargKind::Probability, "0.3", "probability that a fickle passenger does"),
];

const fn cliff(slippery: &'static str) -> [KwargInfo; 1] {
    [kwarg("is_slippery", KwargKind::Bool, slippery, "moves may slip sideways")]
}
const CLIFF: &[KwargInfo] = &cliff("false");
const CLIFF_SLIPPERY: &[KwargInfo] = &cliff("true");

/// The parts that most environments share.
const BASE: EnvInfo = EnvInfo {
    id: "",
    aliases: &[],
    summary: "",
    max_episode_steps: None,
    reward_threshold: None,
    stochastic: true,
    kwargs: &[],
    observation_names: &[],
    action_names: &[],
};

const CAR: &[&str] = &["car position", "car velocity"];
const CELL: &[&str] = &["cell"];
const ONE_NUMBER: &[&str] = &["observation"];
const ONE_CHOICE: &[&str] = &["the only action"];
const TWO_CHOICES: &[&str] = &["action 0", "action 1"];

static CATALOGUE: &[(Kind, EnvInfo)] = &[
    (
        Kind::CartPole,
        EnvInfo {
            id: "CartPole-v1",
            summary: "push a cart left or right so that its pole stays up",
            max_episode_steps: Some(500),
            reward_threshold: Some(475.0),
            kwargs: &[kwarg(
                "sutton_barto_reward",
                KwargKind::Bool,
                "false",
                "0 per step and -1 for the fall",
            )],
            observation_names: &["cart position", "cart velocity", "pole angle", "pole angular velocity"],
            action_names: &["push left", "push right"],
            ..BASE
        },
    ),
    (
        Kind::Acrobot,
        EnvInfo {
            id: "Acrobot-v1",
            summary: "swing the tip of two links above a line, torque only between them",
            max_episode_steps: Some(500),
            reward_threshold: Some(-100.0),
            observation_names: &[
                "cosine of angle 1",
                "sine of angle 1",
                "cosine of angle 2",
                "sine of angle 2",
                "angular velocity 1",
                "angular velocity 2",
            ],
            action_names: &["torque -1", "no torque", "torque +1"],
            ..BASE
        },
    ),
    (
        Kind::MountainCar,
        EnvInfo {
            id: "MountainCar-v0",
            summary: "swing a weak car out of a valley with three pushes",
            max_episode_steps: Some(200),
            reward_threshold: Some(-110.0),
            kwargs: GOAL_VELOCITY,
            observation_names: CAR,
            action_names: &["push left", "no push", "push right"],
            ..BASE
        },
    ),
    (
        Kind::MountainCarContinuous,
        EnvInfo {
            id: "MountainCarContinuous-v0",
            summary: "swing a weak car out of a valley with a push of any strength",
            max_episode_steps: Some(999),
            reward_threshold: Some(90.0),
            kwargs: GOAL_VELOCITY,
            observation_names: CAR,
            action_names: &["force"],
            ..BASE
        },
    ),
    (
        Kind::Pendulum,
        EnvInfo {
            id: "Pendulum-v1",
            summary: "swing a pole up with a limited torque and hold it there",
            max_episode_steps: Some(200),
            kwargs: &[kwarg("g", KwargKind::Number, "10.0", "gravity")],
            observation_names: &["cosine of angle", "sine of angle", "angular velocity"],
            action_names: &["torque"],
            ..BASE
        },
    ),
    (
        Kind::FrozenLake { map_name: "4x4" },
        EnvInfo {
            id: "FrozenLake-v1",
            summary: "cross slippery ice without falling into a hole",
            max_episode_steps: Some(100),
            reward_threshold: Some(0.70),
            kwargs: LAKE_4X4,
            observation_names: CELL,
            action_names: &["left", "down", "right", "up"],
            ..BASE
        },
    ),
    (
        Kind::FrozenLake { map_name: "8x8" },
        EnvInfo {
            id: "FrozenLake8x8-v1",
            summary: "cross a larger lake of slippery ice",
            max_episode_steps: Some(200),
            reward_threshold: Some(0.85),
            kwargs: LAKE_8X8,
            observation_names: CELL,
            action_names: &["left", "down", "right", "up"],
            ..BASE
        },
    ),
    (
        Kind::Taxi,
        EnvInfo {
            id: "Taxi-v4",
            aliases: &["Taxi-v3"],
            summary: "fetch a passenger and bring them to one of four places",
            max_episode_steps: Some(200),
            reward_threshold: Some(8.0),
            kwargs: TAXI,
            observation_names: &["state"],
            action_names: &["down", "up", "right", "left", "pick up", "drop off"],
            ..BASE
        },
    ),
    (
        Kind::CliffWalking { slippery: false },
        EnvInfo {
            id: "CliffWalking-v1",
            summary: "walk along a cliff to the other end",
            stochastic: false,
            kwargs: CLIFF,
            observation_names: CELL,
            action_names: &["up", "right", "down", "left"],
            ..BASE
        },
    ),
    (
        Kind::CliffWalking { slippery: true },
        EnvInfo {
            id: "CliffWalkingSlippery-v1",
            summary: "walk along a slippery cliff to the other end",
            kwargs: CLIFF_SLIPPERY,
            observation_names: CELL,
            action_names: &["up", "right", "down", "left"],
            ..BASE
        },
    ),
    (
        Kind::Blackjack,
        EnvInfo {
            id: "Blackjack-v1",
            summary: "beat the dealer by hitting or sticking",
            kwargs: &[
                kwarg("natural", KwargKind::Bool, "false", "a win by ace and ten pays 1.5"),
                kwarg(
                    "sab",
                    KwargKind::Bool,
                    "true",
                    "the rules of Sutton and Barto's book; natural is ignored",
                ),
            ],
            observation_names: &["player's sum", "dealer's card", "usable ace"],
            action_names: &["stick", "hit"],
            ..BASE
        },
    ),
    (
        Kind::Probe(ProbeKind::Value),
        EnvInfo {
            id: "ProbeValue-v0",
            summary: "one step, reward 1: checks the value network",
            stochastic: false,
            observation_names: ONE_NUMBER,
            action_names: ONE_CHOICE,
            ..BASE
        },
    ),
    (
        Kind::Probe(ProbeKind::Backprop),
        EnvInfo {
            id: "ProbeBackprop-v0",
            summary: "one step, reward equal to the observation: checks that gradients flow",
            observation_names: ONE_NUMBER,
            action_names: ONE_CHOICE,
            ..BASE
        },
    ),
    (
        Kind::Probe(ProbeKind::Discount),
        EnvInfo {
            id: "ProbeDiscount-v0",
            summary: "two steps, reward at the end: checks discounting",
            stochastic: false,
            observation_names: ONE_NUMBER,
            action_names: ONE_CHOICE,
            ..BASE
        },
    ),
    (
        Kind::Probe(ProbeKind::Policy),
        EnvInfo {
            id: "ProbePolicy-v0",
            summary: "one step, action 1 is right: checks advantages and policy loss",
            stochastic: false,
            observation_names: ONE_NUMBER,
            action_names: TWO_CHOICES,
            ..BASE
        },
    ),
    (
        Kind::Probe(ProbeKind::Batching),
        EnvInfo {
            id: "ProbeBatching-v0",
            summary: "one step, the action must match the observation: checks batching",
            observation_names: ONE_NUMBER,
            action_names: TWO_CHOICES,
            ..BASE
        },
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NATIVE;

    #[test]
    fn ids_and_aliases_are_found_and_unique() {
        let mut names: Vec<&str> = Vec::new();
        for info in native_infos() {
            for name in std::iter::once(&info.id).chain(info.aliases) {
                assert_eq!(NATIVE.find(name).unwrap().id, info.id);
                assert!(!names.contains(name), "{name} is listed twice");
                names.push(name);
            }
        }
    }

    #[track_caller]
    fn check_nearest(asked: &str, best: &str) {
        let error = NATIVE.find(asked).unwrap_err();
        assert_eq!(error.nearest.first(), Some(&best), "{error}");
        assert!(error.to_string().contains(best));
    }

    #[test]
    fn the_nearest_ids_are_offered() {
        check_nearest("cartpole-v1", "CartPole-v1");
        check_nearest("CartPole-v0", "CartPole-v1");
        check_nearest("CartPole", "CartPole-v1");
        check_nearest("cart_pole", "CartPole-v1");
        check_nearest("Carpole-v1", "CartPole-v1");
        check_nearest("Taxi-v2", "Taxi-v4");
        check_nearest("taxi-v3", "Taxi-v4");
        check_nearest("FrozenLake8x8-v0", "FrozenLake8x8-v1");
        check_nearest("MountainCarContinous-v0", "MountainCarContinuous-v0");
        assert!(NATIVE.find("zzz").unwrap_err().nearest.is_empty());
        assert!(NATIVE.find("").unwrap_err().nearest.is_empty());
    }
}
