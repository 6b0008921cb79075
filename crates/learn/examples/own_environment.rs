//! PPO on an environment of your own:
//! `cargo run --release -p rlxp-learn --example own_environment`.
//!
//! A walker stands on a line from −5 to 5 and steps left or right; a gust of
//! wind may turn its step around. Reaching the right end pays 1, the left end
//! −1, and every step costs a little.

#![expect(clippy::print_stdout, reason = "an example answers on stdout")]

use rlxp_env::{BadState, Environment, MakeError, Space, Step, VectorEnv, Vectorized};
use rlxp_learn::{Actor, LearnError, Ppo, evaluate_in};
use rlxp_spec::{Known, Source};
use rlxp_types::Stream;

/// Distance from the middle to either end.
const END: i8 = 5;
/// An episode is cut after this many steps.
const STEP_CAP: u64 = 100;

#[derive(Default)]
struct WindyLine {
    place: i8,
}

impl Environment for WindyLine {
    fn observation_space(&self) -> Space {
        Space::vector(vec![-1.0], vec![1.0])
    }

    fn action_space(&self) -> Space {
        Space::Discrete { n: 2 }
    }

    fn reset(&mut self, _stream: &mut Stream, observation: &mut [f32]) {
        self.place = 0;
        observation[0] = 0.0;
    }

    fn step(&mut self, action: &[f32], stream: &mut Stream, observation: &mut [f32]) -> Step {
        let wanted = if action[0] == 1.0 { 1 } else { -1 };
        let gust = stream.below(4) == 0;
        self.place += if gust { -wanted } else { wanted };
        observation[0] = f32::from(self.place) / f32::from(END);
        let reward = match self.place {
            END => 1.0,
            place if place == -END => -1.0,
            _ => -0.01,
        };
        Step { reward, terminated: self.place.abs() == END, truncated: false }
    }

    fn save(&self) -> Vec<u8> {
        self.place.to_le_bytes().to_vec()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), BadState> {
        match saved {
            [place] => self.place = i8::from_le_bytes([*place]),
            _ => return Err(BadState(format!("{} bytes instead of 1", saved.len()))),
        }
        Ok(())
    }
}

/// One copy per random stream: this is all that a learner asks for.
fn copies(streams: Vec<Stream>) -> Result<Box<dyn VectorEnv>, MakeError> {
    Ok(Box::new(Vectorized::new(WindyLine::default, streams, Some(STEP_CAP))))
}

const CONFIG: &str = "
env: {id: WindyLine, num_envs: 8}
algo: {total_timesteps: 20000, rollout_steps: 64, batch_size: 128, learning_rate: 0.003}
policy: {hidden_sizes: [16, 16]}
";

fn main() -> Result<(), LearnError> {
    let known = Known { env_ids: &["WindyLine"], cores: 1 };
    let config = rlxp_spec::load(&Source::new("windy_line.yaml", CONFIG), &[], &known)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .config;

    let mut learner = Ppo::with_environment(&config, config.seed, config.threads, &copies)?;
    while !learner.is_finished() {
        let update = learner.iterate()?;
        if let Some(mean) = update.mean_return
            && update.step.is_multiple_of(4096)
        {
            println!("step {:>6}  mean return {mean:.3}", update.step);
        }
    }

    let copies = |seeds: &[u64]| copies(seeds.iter().map(|seed| Stream::new(*seed, "eval", 0)).collect());
    let trained = evaluate_in(&config, &copies, Actor::Deterministic(learner.policy()), 100, 20_000)?;
    let random = evaluate_in(&config, &copies, Actor::Random, 100, 20_000)?;
    println!("trained {:.3}, random {:.3}", trained.mean_return(), random.mean_return());
    Ok(())
}
