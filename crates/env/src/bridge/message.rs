//! The messages before and after stepping, one line of JSON each.

use std::collections::BTreeMap;

use rlxp_spec::config::{EnvConfig, Kwarg, WrapperConfig};
use serde::{Deserialize, Serialize};

use crate::photo::PhotoFormat;
use crate::space::{Dtype, Space};

/// What a worker is asked to create.
#[derive(Clone, Debug, Serialize)]
pub struct Instances<'a> {
    pub id: &'a str,
    pub kwargs: &'a BTreeMap<String, Kwarg>,
    pub wrappers: Vec<PythonWrapper<'a>>,
    /// Steps after which an episode is cut, if the config says so.
    pub max_episode_steps: Option<u64>,
    /// The cap of an environment that has none of its own.
    pub default_step_cap: Option<u64>,
    /// A new instance for every episode.
    pub recreate: bool,
    /// The mode that instances are created with if they are to be drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub render_mode: Option<&'static str>,
}

/// A wrapper class and its arguments.
#[derive(Clone, Debug, Serialize)]
pub struct PythonWrapper<'a> {
    pub class: &'a str,
    pub kwargs: &'a BTreeMap<String, Kwarg>,
}

impl<'a> Instances<'a> {
    /// The environment of a config.
    pub fn of(config: &'a EnvConfig, default_step_cap: Option<u64>) -> Self {
        let wrappers = config.wrappers.iter().filter_map(|wrapper| match wrapper {
            WrapperConfig::Python { class, kwargs, .. } => Some(PythonWrapper { class, kwargs }),
            _ => None,
        });
        Self {
            id: &config.id,
            kwargs: &config.kwargs,
            wrappers: wrappers.collect(),
            max_episode_steps: config.max_episode_steps,
            default_step_cap,
            recreate: config.recreate,
            render_mode: None,
        }
    }
}

/// What a worker says of the environment that it created.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Described {
    observation_space: SpaceMessage,
    action_space: SpaceMessage,
    /// Steps after which an episode is cut.
    pub max_episode_steps: Option<u64>,
    /// Return from which the environment counts as solved.
    pub reward_threshold: Option<f64>,
    /// The pictures that it draws, if it was asked for them.
    #[serde(default)]
    frame: Option<FrameMessage>,
    /// Interpreter and packages with their versions.
    pub versions: BTreeMap<String, String>,
    /// The environment's own source files with their SHA-256.
    pub sources: BTreeMap<String, String>,
}

/// The pictures of an environment, as its first one is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct FrameMessage {
    width: u32,
    height: u32,
    per_second: u32,
}

/// A space as JSON can hold it: infinite bounds are null.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SpaceMessage {
    Discrete { n: usize },
    MultiDiscrete { nvec: Vec<usize> },
    MultiBinary { n: usize },
    Box { shape: Vec<usize>, dtype: String, low: Vec<Option<f64>>, high: Vec<Option<f64>> },
}

impl Described {
    /// What observations look like.
    pub fn observations(&self) -> Space {
        self.observation_space.space()
    }

    /// What its pictures look like, if it was asked for them.
    pub fn photos(&self) -> Option<PhotoFormat> {
        let FrameMessage { width, height, per_second } = self.frame?;
        Some(PhotoFormat { width, height, per_second })
    }

    /// What actions look like.
    pub fn actions(&self) -> Space {
        self.action_space.space()
    }
}

impl SpaceMessage {
    fn space(&self) -> Space {
        match self {
            Self::Discrete { n } => Space::Discrete { n: *n },
            Self::MultiDiscrete { nvec } => Space::MultiDiscrete { nvec: nvec.clone() },
            Self::MultiBinary { n } => Space::MultiBinary { n: *n },
            Self::Box { shape, dtype, low, high } => {
                let bounds = |bounds: &[Option<f64>], without: f32| {
                    bounds.iter().map(|bound| bound.map_or(without, |bound| bound as f32)).collect()
                };
                Space::Box {
                    shape: shape.clone(),
                    dtype: dtype_of(dtype),
                    low: bounds(low, f32::NEG_INFINITY),
                    high: bounds(high, f32::INFINITY),
                }
            }
        }
    }
}

/// The kind of number that NumPy calls `name`.
fn dtype_of(name: &str) -> Dtype {
    match name {
        "bool" => Dtype::Bool,
        "uint8" => Dtype::Uint8,
        "float64" | "longdouble" => Dtype::Float64,
        name if name.starts_with("int") || name.starts_with("uint") => Dtype::Int64,
        _ => Dtype::Float32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_becomes_spaces() {
        let text = r#"{"observation_space": {"type": "box", "shape": [2, 1], "dtype": "float64",
                       "low": [null, -1.5], "high": [null, 2]},
                       "action_space": {"type": "multi_discrete", "nvec": [3, 2]},
                       "max_episode_steps": 200, "reward_threshold": null, "versions": {}, "sources": {}}"#;
        let described: Described = serde_json::from_str(text).unwrap();
        let low = vec![f32::NEG_INFINITY, -1.5];
        let high = vec![f32::INFINITY, 2.0];
        let expected = Space::Box { shape: vec![2, 1], dtype: Dtype::Float64, low, high };
        assert_eq!(described.observations(), expected);
        assert_eq!(described.actions(), Space::MultiDiscrete { nvec: vec![3, 2] });
        assert_eq!(dtype_of("uint16"), Dtype::Int64);
    }

    #[test]
    fn only_the_wrappers_of_python_are_sent() {
        let mut config = EnvConfig::plain("a:B");
        let class = "w:W".to_owned();
        config.wrappers = vec![
            WrapperConfig::Python { class, kwargs: BTreeMap::new(), train_only: false },
            WrapperConfig::ScaleReward { factor: 2.0 },
        ];
        let sent = serde_json::to_string(&Instances::of(&config, None)).unwrap();
        let expected = r#"{"id":"a:B","kwargs":{},"wrappers":[{"class":"w:W","kwargs":{}}],"#;
        assert!(sent.starts_with(expected), "{sent}");
    }
}
