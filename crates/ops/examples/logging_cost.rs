//! What logging costs training: the reference work with and without its
//! metrics written, interleaved; prints the median of the pairs' differences
//! in time on the processor.
//!
//! `cargo run --release -p rlxp-ops --example logging_cost`
#![expect(clippy::print_stdout, reason = "an example answers on stdout")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use rlxp_fs::{FsExt, RealFs, clock};
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
    let mut costs = Vec::new();
    for round in 0..ROUNDS {
        let bare = time(&config, &mut |_, _| Ok(()))?;
        let path = folder.path().join(format!("{round}.jsonl"));
        RealFs.write_new(&path, b"")?;
        let mut writer = MetricsWriter::open(Arc::new(RealFs), &path, &MetricsPosition::start())?;
        let logged = time(&config, &mut |step, values| {
            let wall = clock::wall_seconds();
            writer.append(step, wall, "train", values)?;
            writer.append(step, wall, "timing", &values[..4])?;
            writer.tick()?;
            Ok(())
        })?;
        costs.push(100.0 * (logged / bare - 1.0));
    }
    costs.sort_by(f64::total_cmp);
    println!("logging costs {:.2}% (median of {ROUNDS} pairs)", costs[ROUNDS / 2]);
    Ok(())
}

/// Seconds that this thread has been on a processor.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let text = RealFs.read_text(Path::new("/proc/thread-self/schedstat"), 4096)?;
    let nanoseconds: u64 = text.split_whitespace().next().ok_or("schedstat is empty")?.parse()?;
    Ok(nanoseconds as f64 / 1e9)
}

type Log<'a> = &'a mut dyn FnMut(u64, &[(&str, MetricValue<'_>)]) -> Result<(), Box<dyn Error>>;

fn time(config: &rlxp_spec::Config, log: Log<'_>) -> Result<f64, Box<dyn Error>> {
    let factory = |streams| rlxp_env::NATIVE.make(&config.env, streams);
    let setup = rlxp_learn::Setup { config, seed: 0, threads: 1, factory: &factory };
    let mut learner = rlxp_learn::algorithm(config).learner(&setup)?;
    let begin = processor_seconds()?;
    while !learner.is_finished() {
        let update = learner.iterate()?;
        let values: Vec<(&str, MetricValue<'_>)> =
            update.values.iter().map(|(name, value)| (*name, MetricValue::Float(*value))).collect();
        log(update.step, &values)?;
    }
    Ok(processor_seconds()? - begin)
}
