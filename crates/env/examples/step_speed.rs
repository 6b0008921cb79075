//! Measures native stepping: `cargo run --release -p rlxp-env --example step_speed [ID [COPIES]]`.
//!
//! Random actions are drawn within the measured time, and ended episodes
//! restart within it. One thread, median of five rounds.

#![expect(clippy::print_stdout, reason = "an example answers on stdout")]

use std::collections::BTreeMap;
use std::time::Instant;

use rlxp_env::{NATIVE, Space, StepBatch, VectorEnv};
use rlxp_spec::config::EnvConfig;
use rlxp_types::Stream;

const STEPS: usize = 20_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().unwrap_or_else(|| "CartPole-v1".to_owned());
    let copies = arguments.next().map_or(Ok(64), |copies| copies.parse())?;
    let config = EnvConfig {
        id: id.clone(),
        num_envs: copies,
        kwargs: BTreeMap::new(),
        max_episode_steps: None,
        wrappers: Vec::new(),
        normalize_observations: false,
        normalize_rewards: false,
        ..EnvConfig::plain("")
    };
    let streams = (0..copies as u64).map(|copy| Stream::new(0, "env", copy)).collect();
    let mut env = NATIVE.make(&config, streams)?;
    let mut rates: Vec<f64> = (0..5).map(|_| round(env.as_mut())).collect();
    rates.sort_by(f64::total_cmp);
    println!("{id}, {copies} copies: {:.1} million steps/s", rates[2] / 1e6);
    Ok(())
}

/// Steps per second of one round.
fn round(env: &mut dyn VectorEnv) -> f64 {
    let copies = env.copies();
    let mut out = StepBatch::new(copies, env.observation_space().width());
    let mut actions = vec![0.0; copies * env.action_space().width()];
    let mut stream = Stream::new(0, "action", 0);
    let space = env.action_space().clone();
    env.reset(&mut out.observations).expect("a native environment does not fail");
    let batches = STEPS / copies;
    let start = Instant::now();
    let mut episodes = 0usize;
    for _ in 0..batches {
        draw_actions(&space, &mut stream, &mut actions);
        env.step(&actions, &mut out).expect("a native environment does not fail");
        episodes += out.terminated.iter().zip(&out.truncated).filter(|(end, cut)| **end || **cut).count();
    }
    let rate = (batches * copies) as f64 / start.elapsed().as_secs_f64();
    assert!(episodes > 0, "episodes end within the measurement");
    rate
}

fn draw_actions(space: &Space, stream: &mut Stream, actions: &mut [f32]) {
    match space {
        // One bit is one fair action: 64 actions per draw.
        Space::Discrete { n: 2 } => {
            for chunk in actions.chunks_mut(64) {
                let bits = stream.next_u64();
                for (index, action) in chunk.iter_mut().enumerate() {
                    *action = (bits >> index & 1) as f32;
                }
            }
        }
        Space::Discrete { n } => {
            actions.iter_mut().for_each(|action| *action = stream.below(*n as u32) as f32)
        }
        Space::Box { low, high, .. } => {
            for row in actions.chunks_mut(low.len()) {
                for ((action, low), high) in row.iter_mut().zip(low).zip(high) {
                    *action = low + (high - low) * stream.uniform_f32();
                }
            }
        }
        Space::MultiDiscrete { .. } | Space::MultiBinary { .. } => {
            unreachable!("no native environment acts so")
        }
    }
}
