//! Steps an environment of Gymnasium with random actions through the bridge, in the project of the working folder;
//! prints steps per second and microseconds per batch, each the median of the rounds.
//!
//! `cargo run --release -p rlxp-ops --example bridge_speed -- ID COPIES WORKERS BATCHES [ROUNDS]`
#![expect(clippy::print_stdout, reason = "an example answers on stdout")]

use std::error::Error;
use std::time::Instant;

use rlxp_env::{EnvError, Space, StepBatch, VectorEnv};
use rlxp_ops::context::Context;
use rlxp_ops::training::stepping::with_copies;
use rlxp_spec::config::EnvConfig;
use rlxp_types::Stream;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().ok_or("the id of an environment is needed")?;
    let mut number = |usual: Option<usize>| match (arguments.next(), usual) {
        (Some(text), _) => text.parse().map_err(|_| format!("{text} is not a number")),
        (None, Some(usual)) => Ok(usual),
        (None, None) => Err("ID COPIES WORKERS BATCHES are needed".to_owned()),
    };
    let (copies, workers, batches, rounds) = (number(None)?, number(None)?, number(None)?, number(Some(1))?);
    let env = EnvConfig { num_envs: copies, workers, ..EnvConfig::plain(&id) };
    let context = Context::real(None)?;
    let timed = |env: &mut dyn VectorEnv| (0..rounds.max(1)).map(|_| round(env, batches)).collect();
    let mut seconds: Vec<f64> = with_copies(&context, &env, timed).map_err(|failure| failure.message)?;
    seconds.sort_by(f64::total_cmp);
    let batch = seconds[seconds.len() / 2] / batches as f64;
    println!("{id}: {:.0} steps/s, {:.2} us a batch", copies as f64 / batch, batch * 1e6);
    Ok(())
}

/// Seconds that the batches take. Actions are drawn before, ended episodes begin anew within.
fn round(env: &mut dyn VectorEnv, batches: usize) -> Result<f64, EnvError> {
    const DRAWN: usize = 64;
    let mut out = StepBatch::new(env.copies(), env.observation_space().width());
    let width = env.copies() * env.action_space().width();
    let mut stream = Stream::new(0, "action", 0);
    let actions: Vec<Vec<f32>> = (0..DRAWN).map(|_| draw(env.action_space(), width, &mut stream)).collect();
    env.reset(&mut out.observations)?;
    let begin = Instant::now();
    for batch in 0..batches {
        env.step(&actions[batch % DRAWN], &mut out)?;
    }
    Ok(begin.elapsed().as_secs_f64())
}

fn draw(space: &Space, width: usize, stream: &mut Stream) -> Vec<f32> {
    (0..width)
        .map(|index| match space {
            Space::Discrete { n } => stream.below(*n as u32) as f32,
            Space::Box { low, high, .. } => {
                let (low, high) = (low[index % low.len()], high[index % high.len()]);
                low + (high - low) * stream.uniform_f32()
            }
            Space::MultiDiscrete { .. } => 0.0,
            Space::MultiBinary { .. } => stream.below(2) as f32,
        })
        .collect()
}
