//! Trains a config over several seeds and scores the last policy on episodes
//! that training never saw: the quick loop for tuning a starter.
//!
//! `cargo run --release -p rlxp-learn --example score -- FILE.yaml FIRST COUNT [EPISODES] [key=value …]`
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a development tool, not the product")]

use std::sync::Mutex;
use std::time::Instant;

use rlxp_learn::{Actor, Ppo, evaluate};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&arguments[0]).expect("the config can be read");
    let first: u64 = arguments[1].parse().expect("the first seed is a number");
    let count: u64 = arguments[2].parse().expect("the count is a number");
    let episodes = arguments.get(3).and_then(|text| text.parse().ok()).unwrap_or(100);
    let overrides: Vec<String> = arguments.iter().skip(3).filter(|x| x.contains('=')).cloned().collect();
    let ids: Vec<&str> = rlxp_env::NATIVE.catalogue().map(|info| info.id).collect();
    let source = rlxp_spec::Source { name: arguments[0].clone(), text };
    let known = rlxp_spec::Known { env_ids: &ids, cores: 1 };
    let config = rlxp_spec::load(&source, &overrides, &known).unwrap_or_else(|p| panic!("{p}")).config;

    let queue = Mutex::new(first..first + count);
    let scores = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(seed) = queue.lock().expect("no seed panicked").next() else { break };
                    let begin = Instant::now();
                    let mut learner = Ppo::new(&config, seed, 1).expect("the config is valid");
                    let (mut due, mut curve) = (0, String::new());
                    while !learner.is_finished() {
                        learner.iterate().expect("training goes on");
                        if learner.steps() >= due {
                            due += config.total_steps() / 10;
                            curve += &format!(" {:.2}", learner.mean_return().unwrap_or(f64::NAN));
                        }
                    }
                    let rate = learner.steps() as f64 / begin.elapsed().as_secs_f64();
                    let actor = Actor::Deterministic(learner.policy());
                    let mean = evaluate(rlxp_env::NATIVE, &config, actor, episodes, 20_000)
                        .expect("it evaluates")
                        .mean_return();
                    println!("seed {seed}: {mean:.3}  {rate:.0} steps/s  train{curve}");
                    scores.lock().expect("no seed panicked").push(mean);
                }
            });
        }
    });
    let scores = scores.into_inner().expect("no seed panicked");
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let worst = scores.iter().copied().fold(f64::INFINITY, f64::min);
    println!("mean {mean:.3}  worst {worst:.3}");
}
