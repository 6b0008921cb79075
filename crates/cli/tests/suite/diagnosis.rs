//! Trainings that are broken on purpose, each diagnosed by its rule, and
//! healthy ones that get no warning: short versions of what `cargo xtask
//! diagnosis` measures at length.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::project::RLX;

/// A training and the rules of which at least one must report a problem; none for a healthy one.
struct Case {
    name: &'static str,
    env: &'static str,
    settings: &'static [&'static str],
    expected: &'static [&'static str],
}

const fn case(
    name: &'static str,
    env: &'static str,
    settings: &'static [&'static str],
    expected: &'static [&'static str],
) -> Case {
    Case { name, env, settings, expected }
}

/// Everything that is not set comes from the environment's starter config.
const CASES: &[Case] = &[
    case("healthy_cartpole", "CartPole-v1", &["algo.total_timesteps=60000"], &[]),
    case("healthy_pendulum", "Pendulum-v1", &["algo.total_timesteps=150000"], &[]),
    case("healthy_cliff", "CliffWalking-v1", &["algo.total_timesteps=150000"], &[]),
    case(
        "rate_ten",
        "CartPole-v1",
        &["algo.total_timesteps=30000", "algo.learning_rate=10"],
        &["F01", "F03"],
    ),
    case(
        "rate_three",
        "CartPole-v1",
        &["algo.total_timesteps=30000", "algo.learning_rate=3"],
        &["F01", "F03"],
    ),
    case(
        "rate_ten_continuous",
        "Pendulum-v1",
        &["algo.total_timesteps=60000", "algo.learning_rate=10"],
        &["F01", "F03"],
    ),
    case(
        "rate_three_continuous",
        "Pendulum-v1",
        &["algo.total_timesteps=60000", "algo.learning_rate=3"],
        &["F01", "F03"],
    ),
    case(
        "exploration",
        "MountainCarContinuous-v0",
        &["algo.total_timesteps=60000", "policy.log_std_init=-5", "policy.use_sde=false"],
        &["F08"],
    ),
    // A first update that leaves only one action.
    case(
        "exploration_discrete",
        "CartPole-v1",
        &["algo.total_timesteps=30000", "algo.learning_rate=1"],
        &["F08"],
    ),
    case(
        "reward_million",
        "CartPole-v1",
        &["algo.total_timesteps=30000", "env.wrappers=[{scale_reward: {factor: 1.0e+6}}]"],
        &["F12"],
    ),
    case(
        "reward_hundred_thousand",
        "Pendulum-v1",
        &["algo.total_timesteps=60000", "env.wrappers=[{scale_reward: {factor: 1.0e+5}}]"],
        &["F12"],
    ),
    case(
        "frozen_dimension",
        "CartPole-v1",
        &["algo.total_timesteps=30000", "env.wrappers=[{freeze_observation: {dimensions: [2]}}]"],
        &["F26"],
    ),
    case(
        "frozen_observation",
        "Pendulum-v1",
        &["algo.total_timesteps=60000", "env.wrappers=[freeze_observation]"],
        &["F26"],
    ),
    case(
        "truncation",
        "Pendulum-v1",
        &["algo.total_timesteps=60000", "env.wrappers=[truncation_as_termination]"],
        &["F28"],
    ),
    case("evaluation_seeds", "CartPole-v1", &["algo.total_timesteps=30000", "eval.seed=0"], &["F34"]),
    case(
        "no_signal",
        "FrozenLake8x8-v1",
        &["algo.total_timesteps=150000", "env.max_episode_steps=10"],
        &["F23"],
    ),
    case(
        "late_collapse",
        "Acrobot-v1",
        &["algo.total_timesteps=400000", "algo.learning_rate={schedule: linear, from: 0.0005, to: 0.2}"],
        &["F17"],
    ),
];

#[test]
fn each_broken_training_is_diagnosed_by_its_rule_and_healthy_ones_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    // Two at a time: each trains on one thread.
    let (even, odd): (Vec<_>, Vec<_>) = CASES.iter().enumerate().partition(|(index, _)| index % 2 == 0);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers = [even, odd].map(|cases| {
            scope.spawn(|| {
                cases.into_iter().filter_map(|(_, case)| problem(folder.path(), case)).collect::<Vec<_>>()
            })
        });
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Trains and diagnoses; returns what is wrong, if anything.
fn problem(folder: &std::path::Path, case: &Case) -> Option<String> {
    let config = folder.join(format!("{}.yaml", case.name));
    std::fs::write(
        &config,
        format!("run_name: {}\nthreads: 1\nseed: 77\nenv: {{id: {}}}\n", case.name, case.env),
    )
    .unwrap();
    let mut arguments = vec!["train", config.to_str().unwrap(), "--json"];
    arguments.extend(case.settings.iter().flat_map(|setting| ["--set", setting]));
    let trained = rlx(folder, &arguments);
    let run = format!("{}_001", case.name);
    if !folder.join("runs").join(&run).exists() {
        return Some(format!("{}: not trained: {trained}", case.name));
    }
    let answer: Value = serde_json::from_str(&rlx(folder, &["diagnose", &run, "--json"])).unwrap();
    let report = &answer["runs"][0];
    let outcomes = report["outcomes"].as_array().unwrap();
    let warned = |rule: &str| {
        let found = outcomes.iter().any(|outcome| {
            outcome["rule"] == rule && matches!(outcome["severity"].as_str(), Some("warning" | "error"))
        });
        found.then(|| rule.to_owned())
    };
    let ranked: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|rule| warned(rule.as_str().unwrap()))
        .collect();
    // A finding that names the broken key first is about the cause, whatever its rule.
    let is_broken = |key: &str| {
        let mut broken = case.settings.iter().filter_map(|setting| setting.split_once('='));
        broken.any(|(name, _)| name == key && name != "algo.total_timesteps")
    };
    let names_it = |rule: &str| {
        let mut found = outcomes.iter().filter(|outcome| outcome["rule"] == rule);
        found.any(|outcome| outcome["keys"][0].as_str().is_some_and(is_broken))
    };
    let right = match case.expected {
        [] => ranked.is_empty(),
        // The cause must be ranked before its consequences.
        expected => ranked.iter().take(2).any(|rule| expected.contains(&rule.as_str()) || names_it(rule)),
    };
    (!right).then(|| format!("{}: expected {:?}, found {ranked:?}", case.name, case.expected))
}

/// Runs rlx and returns its standard output.
fn rlx(folder: &std::path::Path, arguments: &[&str]) -> String {
    let mut command = Command::new(RLX);
    let output = command.current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
