//! What logging costs training: the reference work with and without its
//! metrics written, interleaved; prints the difference of the medians.
//!
//! `cargo run --release -p rlxp-ops --example logging_cost`
#![expect(clippy::print_stdout, reason = "an example answers on stdout")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rlxp_fs::{RealFs, clock};
use rlxp_learn::Ppo;
use rlxp_store::{MetricValue, MetricsPosition, MetricsWriter};

const CONFIG: &str = "
env: {id: CartPole-v1, num_envs: 8}
algo: {total_timesteps: 200000, rollout_steps: 128, batch_size: 256, update_epochs: 4, learning_rate: 3.0e-4}
policy: {hidden_sizes: [64, 64], activation: tanh}
";
const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let source = rlxp_spec::Source::new("reference", CONFIG);
    let known = rlxp_spec::Known { env_ids: &["CartPole-v1"], cores: 1 };
    let config = rlxp_spec::load(&source, &[], &known)?.config;
    let folder = tempfile::tempdir()?;
    let (mut bare, mut logged) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        bare.push(time(&config, &mut |_, _| Ok(()))?);
        let path = folder.path().join(format!("{round}.jsonl"));
        create_empty(&path)?;
        let mut writer = MetricsWriter::open(Arc::new(RealFs), &path, &MetricsPosition::start())?;
        logged.push(time(&config, &mut |step, values| {
            let wall = clock::wall_seconds();
            writer.append(step, wall, "train", values)?;
            writer.append(step, wall, "timing", &values[..4])?;
            writer.tick()?;
            Ok(())
        })?);
    }
    bare.sort();
    logged.sort();
    let (bare, logged) = (bare[ROUNDS / 2].as_secs_f64(), logged[ROUNDS / 2].as_secs_f64());
    println!("logging costs {:.2}% ({bare:.3} s without, {logged:.3} s with)", 100.0 * (logged / bare - 1.0));
    Ok(())
}

/// An empty file to append to.
fn create_empty(path: &std::path::Path) -> Result<(), rlxp_fs::FsError> {
    rlxp_fs::FsExt::write_new(&RealFs, path, b"")
}

type Log<'a> = &'a mut dyn FnMut(u64, &[(&str, MetricValue<'_>)]) -> Result<(), Box<dyn Error>>;

fn time(config: &rlxp_spec::Config, log: Log<'_>) -> Result<Duration, Box<dyn Error>> {
    let mut learner = Ppo::new(config, 0, 1)?;
    let begin = Instant::now();
    while !learner.is_finished() {
        let update = learner.iterate()?;
        let values: Vec<(&str, MetricValue<'_>)> =
            update.values.iter().map(|(name, value)| (*name, MetricValue::Float(*value))).collect();
        log(update.step, &values)?;
    }
    Ok(begin.elapsed())
}
