//! An environment of your own: `cargo run -p rlxp-env --example own_environment`.
//!
//! A walker stands on a line from −5 to 5 and steps left or right. The wind
//! pushes it at random. Reaching 5 pays 1, reaching −5 pays −1, and every step
//! costs 0.01. Copies of it are stepped with random actions.

#![expect(clippy::print_stdout, reason = "an example answers on stdout")]

use rlxp_env::{BadState, EnvError, Environment, Space, Step, StepBatch, VectorEnv, Vectorized};
use rlxp_types::Stream;

const END: i8 = 5;

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
        let intended = if action[0] == 1.0 { 1 } else { -1 };
        // Every fourth step on average the wind turns the walker around.
        let wind = if stream.below(4) == 0 { -1 } else { 1 };
        self.place += intended * wind;
        observation[0] = f32::from(self.place) / f32::from(END);
        let reward = match self.place {
            END => 1.0,
            place if place == -END => -1.0,
            _ => -0.01,
        };
        Step { reward, terminated: self.place.abs() == END, truncated: false }
    }

    // The random stream is saved by `Vectorized`; this is the rest.
    fn save(&self) -> Vec<u8> {
        self.place.to_le_bytes().to_vec()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), BadState> {
        let bytes = saved.try_into().map_err(|_| BadState(format!("{} bytes instead of 1", saved.len())))?;
        let place = i8::from_le_bytes(bytes);
        if place.abs() >= END {
            return Err(BadState(format!("place {place} is off the line")));
        }
        self.place = place;
        Ok(())
    }
}

fn main() -> Result<(), EnvError> {
    const COPIES: usize = 8;
    let streams = (0..COPIES as u64).map(|copy| Stream::new(0, "env", copy)).collect();
    let mut env = Vectorized::new(WindyLine::default, streams, Some(100));

    let mut out = StepBatch::new(COPIES, env.observation_space().width());
    env.reset(&mut out.observations)?;
    let mut action_stream = Stream::new(0, "action", 0);
    let mut actions = [0.0; COPIES];
    let mut running = [0.0; COPIES];
    let mut returns = Vec::new();
    for _ in 0..10_000 {
        actions.iter_mut().for_each(|action| *action = action_stream.below(2) as f32);
        env.step(&actions, &mut out)?;
        for (copy, running) in running.iter_mut().enumerate() {
            *running += f64::from(out.rewards[copy]);
            if out.terminated[copy] || out.truncated[copy] {
                returns.push(std::mem::take(running));
            }
        }
    }
    let mean = returns.iter().sum::<f64>() / returns.len() as f64;
    println!("random actions: mean return {mean:.3} over {} episodes", returns.len());
    Ok(())
}
