//! A second algorithm and a second kind of network: what a new one takes, and
//! that nothing but its type and its line in the table is needed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::config::{EnvConfig, PpoConfig};
use crate::layers::{self, Layers};
use crate::overrides;
use crate::problem::Collector;
use crate::source::Source;
use crate::starters;

/// What its own file would hold.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// Environment steps to train for.
    #[schemars(range(min = 1, max = 1000), extend("default" = 500))]
    total_timesteps: u64,
    /// How far a candidate may be from the best one.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0, "default" = 0.1))]
    radius: f64,
}

/// The table with one line more.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "snake_case")]
enum Algo {
    /// Proximal policy optimisation.
    Ppo(PpoConfig),
    /// Random search.
    Search(Search),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Other {
    /// The environment.
    env: EnvConfig,
    /// The learning algorithm.
    algo: Algo,
}

/// The config from a text and overrides, or their problems.
fn load(text: &str, set: &[&str]) -> Result<Other, Vec<String>> {
    let (shape, source) = (Shape::for_type::<Other>(), Source::new("c.yaml", text));
    let set = overrides::source(&set.iter().map(ToString::to_string).collect::<Vec<_>>());
    let mut problems = Collector::default();
    let file = layers::read(&shape, &source, &mut problems).expect("a mapping");
    let (mut assignments, _) = overrides::read(&set, &mut problems);
    let named = assignments.iter().find(|assignment| assignment.path == "algo.name").cloned();
    let tags = shape.tags(|path| {
        let assigned = named.as_ref().filter(|named| named.path == path);
        assigned.map(|named| &named.value).or_else(|| at(&file.value, path))
    });
    let chosen = Chosen { shape: &shape, tags: &tags };
    let layer = file.check(&chosen, &source, &mut problems);
    let assigned = layers::check_assigned(&mut assignments, &chosen, &set, &mut problems);
    let starter = starters::layer_for("CartPole-v1");
    let layers = Layers { chosen, assigned: &assigned, file: &layer, starter };
    let problems = problems.into_sorted(&[source, set]);
    if !problems.is_empty() {
        return Err(problems.iter().map(ToString::to_string).collect());
    }
    Ok(serde_json::from_value(nested(layers.merged()).into()).expect("checked values"))
}

#[test]
fn a_second_algorithm_has_its_own_keys_and_defaults() {
    let text = "env: {id: CartPole-v1, max_episode_steps: 10}\nalgo: {name: search, radius: 1}";
    let other = load(text, &[]).unwrap();
    assert_eq!(other.algo, Algo::Search(Search { total_timesteps: 500, radius: 1.0 }));
    // The PPO settings of the environment's starter don't apply to it; the others do.
    assert_eq!((other.env.num_envs, other.env.max_episode_steps), (8, Some(10)));
    let Algo::Ppo(ppo) = load("env: {id: CartPole-v1}", &[]).unwrap().algo else {
        panic!("the first is the default")
    };
    assert_eq!((ppo.total_timesteps, ppo.batch_size, ppo.value_coef), (99_328, 128, 0.5));
    let chosen = load("env: {id: CartPole-v1}", &["algo.name=search", "algo.radius=0.5"]).unwrap();
    assert_eq!(chosen.algo, Algo::Search(Search { total_timesteps: 500, radius: 0.5 }));
}

#[test]
fn the_keys_of_one_algorithm_are_unknown_to_the_other() {
    let check = |text: &str, set: &[&str], expected: &str| {
        assert_eq!(load(&format!("env: {{id: CartPole-v1}}\n{text}"), set).unwrap_err(), [expected]);
    };
    let hint = "(hint: `algo.gamma` is a key of `algo.name: ppo`)";
    check(
        "algo: {name: search, gamma: 1}",
        &[],
        &format!("c.yaml:2:22: error: unknown key `gamma` in `algo` {hint}"),
    );
    check(
        "algo: {radus: 1}",
        &["algo.name=search"],
        "c.yaml:2:8: error: unknown key `radus` in `algo` (hint: did you mean `radius`?)",
    );
    check(
        "algo: {name: serch}",
        &[],
        "c.yaml:2:14: error: `algo.name` can't be `serch`; valid: ppo, search (hint: did you mean `search`?)",
    );
    check(
        "algo: {name: search, radius: 2}",
        &[],
        "c.yaml:2:30: error: `algo.radius` must be above 0 and at most 1; this is 2 (hint: How far a candidate may be from the best one.)",
    );
    check(
        "",
        &["algo.radius=1"],
        "--set:1:1: error: unknown key `algo.radius` (hint: `algo.radius` is a key of `algo.name: search`)",
    );
}

#[test]
fn the_schema_offers_both() {
    let shape = Shape::for_type::<Other>();
    let branches = &shape.schema["$defs"]["Algo"]["anyOf"];
    let names: Vec<&Value> = (0..2).map(|at| &branches[at]["properties"]["name"]["const"]).collect();
    assert_eq!(names, [&json!("ppo"), &json!("search")]);
    let steps = shape.keys.iter().filter(|key| key.path == "algo.total_timesteps");
    assert_eq!(
        steps.map(|key| key.schema["default"].clone()).collect::<Vec<_>>(),
        [json!(100_000), json!(500)]
    );
}
