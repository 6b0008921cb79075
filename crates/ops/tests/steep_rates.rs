//! Learning rates that a config does not even admit, trained all the same:
//! the rules have to see what becomes of it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use rlxp_analyze::diagnose::{
    Actions, Environment, Evidence, RuleSet, SeedEvidence, Series, Settings, Severity, diagnose,
};
use rlxp_learn::Ppo;
use rlxp_spec::config::Schedule;

/// Trains the environment's starter at `rate` and gives the rules that warn, the first first.
fn warnings(env: &str, steps: u64, rate: f64, actions: Actions) -> Vec<String> {
    let source = rlxp_spec::Source::new(
        "steep",
        format!("env: {{id: {env}}}\nalgo: {{total_timesteps: {steps}, learning_rate: 1}}\n"),
    );
    let known = rlxp_spec::Known { env_ids: &[env], cores: 1 };
    let mut config = rlxp_spec::load(&source, &[], &known).unwrap().config;
    config.algo.learning_rate = Schedule::Constant(rate);
    let mut learner = Ppo::new(&config, 5, 1).unwrap();
    let mut columns: BTreeMap<String, (Vec<u64>, Vec<f64>)> = BTreeMap::new();
    let mut seed = SeedEvidence { seed: 5, ..SeedEvidence::default() };
    while !learner.is_finished() {
        match learner.iterate() {
            Ok(update) => {
                for (name, value) in &update.values {
                    let column = columns.entry(format!("train.{name}")).or_default();
                    column.0.push(update.step);
                    column.1.push(*value);
                }
            }
            Err(error) => {
                seed.failure = Some(format!("diverged: {error}"));
                break;
            }
        }
    }
    seed.series =
        columns.into_iter().map(|(name, (steps, values))| (name, Series::new(steps, values))).collect();
    let evidence = Evidence {
        settings: Settings {
            algorithm: "ppo".to_owned(),
            total_steps: steps,
            gamma: Some(config.algo.gamma),
            reward_factor: 1.0,
            ..Settings::default()
        },
        environment: Environment { id: env.to_owned(), actions: Some(actions), ..Environment::default() },
        seeds: vec![seed],
        ..Evidence::default()
    };
    let answers = diagnose(&evidence, RuleSet::built_in());
    let loud = answers.findings().into_iter().filter(|(_, finding)| finding.severity >= Severity::Warning);
    loud.map(|(outcome, _)| outcome.rule.clone()).collect()
}

#[test]
fn learning_rates_of_three_and_ten_are_told_as_what_they_are() {
    let two_choices = Actions::Discrete { most_entropy: 2.0_f64.ln() };
    for (env, steps, actions) in
        [("CartPole-v1", 20_000, two_choices), ("Pendulum-v1", 30_000, Actions::Continuous)]
    {
        for rate in [3.0, 10.0] {
            let found = warnings(env, steps, rate, actions);
            let first = found.first().map_or("nothing", String::as_str);
            assert!(["F01", "F03"].contains(&first), "{env} at {rate}: {found:?}");
        }
    }
}
