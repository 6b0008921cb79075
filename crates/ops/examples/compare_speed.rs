//! How long comparing large runs takes: makes two runs of ten seeds with
//! 10,000 updates each, everything logged that training logs, in a new folder
//! under the one given, and compares them. With a program as second argument,
//! that is timed too, started anew each time.
//!
//! `cargo run --release -p rlxp-ops --example compare_speed -- /tmp [target/release/rlx]`
#![expect(clippy::print_stdout, reason = "an example answers on stdout")]
#![expect(clippy::disallowed_types, reason = "it starts the program that it times")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rlxp_ops::Context;
use rlxp_ops::insight::compare::{CompareRequest, compare};
use rlxp_store::{
    End, Metadata, MetricValue, MetricsPosition, NewRun, Outcome, Project, SeedFolder, TakeOver,
};
use rlxp_types::{RunName, Stream};

const CONFIG: &str = "
env: {id: CartPole-v1, num_envs: 8}
algo: {total_timesteps: 10240000, rollout_steps: 128, batch_size: 256}
eval: {every: 102400, episodes: 20}
";
const NOW: &str = "2026-01-02T03:04:05.000Z";
const ROUNDS: usize = 9;
/// What an update logs, beside the mean return and length.
const VALUES: [&str; 26] = [
    "policy_loss",
    "value_loss",
    "entropy",
    "approx_kl",
    "clip_fraction",
    "grad_norm",
    "learning_rate",
    "clip_range",
    "epochs",
    "stopped_by_kl",
    "explained_variance",
    "value_bias",
    "value_mean",
    "return_target_mean",
    "episodes",
    "episodes_finished",
    "reward_mean",
    "reward_deviation",
    "advantage_mean",
    "advantage_deviation",
    "action_deviation",
    "observation_least_deviation",
    "dead_units",
    "weight_norm",
    "update_to_weight",
    "truncated_share",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let parent = arguments.next().unwrap_or_else(|| "/tmp".to_owned());
    let folder = tempfile::Builder::new().prefix("compare-speed-").tempdir_in(parent)?;
    let project = Project::real(folder.path());
    project.prepare()?;
    for (name, gain) in [("a", 400.0), ("b", 450.0)] {
        make(&project, name, gain)?;
    }
    let context = Context { folder_is_root: true, folder: folder.path().to_owned(), ..Context::real(None)? };
    let request = CompareRequest { words: vec!["a_001".into(), "b_001".into()], ..CompareRequest::default() };
    time("compare, inside a process", || {
        let report = compare(&context, &request)?;
        if report.answer.verdict.is_none() {
            return Err("there is no verdict".into());
        }
        Ok(())
    })?;
    if let Some(program) = arguments.next().map(PathBuf::from) {
        time("rlx compare, whole process", || run(&program, folder.path()))?;
    }
    Ok(())
}

fn run(program: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let output = Command::new(program).args(["compare", "a_001", "b_001", "--root"]).arg(folder).output()?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
}

fn time(what: &str, work: impl Fn() -> Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        work()?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{what}: {:.0} ms (median of {ROUNDS}; {:.0} to {:.0})",
        times[ROUNDS / 2],
        times[0],
        times[ROUNDS - 1]
    );
    Ok(())
}

fn make(project: &Project, name: &str, gain: f64) -> Result<(), Box<dyn Error>> {
    let known = rlxp_spec::Known { env_ids: &["CartPole-v1"], cores: 1 };
    let overrides = [format!("run_name={name}"), "seeds=10".to_owned()];
    let config = rlxp_spec::load(&rlxp_spec::Source::new("made", CONFIG), &overrides, &known)?.config;
    let total = config.total_steps();
    let run = project.create_run(NewRun {
        name: RunName::parse(name)?,
        config_snapshot: rlxp_spec::to_snapshot(&config),
        metadata: Metadata::new(NOW, &config.env.id, "ppo", &config.seeds, total),
    })?;
    let claim = run.claim(NOW, TakeOver::WhenProvenGone)?;
    let mut bytes = 0;
    for seed in run.seed_folders()? {
        bytes += write(&seed, &config, gain)?;
    }
    claim.end(&End { exit_code: Some(0), ..End::new(Outcome::Completed, NOW) })?;
    println!(
        "{name}: 10 seeds × {} updates, {} MB of metrics",
        total / config.rollout_size(),
        bytes / 1_000_000
    );
    Ok(())
}

fn write(seed: &SeedFolder, config: &rlxp_spec::Config, gain: f64) -> Result<u64, Box<dyn Error>> {
    let mut stream = Stream::new(seed.seed(), "speed", 0);
    let mut noise = || f64::from(stream.below(1 << 31)) / f64::from(1u32 << 31);
    let mut writer = seed.metrics_writer(&MetricsPosition::start())?;
    let (size, total) = (config.rollout_size(), config.total_steps());
    for update in 1..=total / size {
        let step = update * size;
        let wall = 1.7e9 + update as f64 * 0.0123;
        let level = gain * step as f64 / total as f64 + 10.0 * noise();
        let mut values: Vec<(&str, MetricValue<'_>)> =
            VALUES.iter().map(|name| (*name, MetricValue::Float(noise()))).collect();
        values.push(("mean_return", level.into()));
        values.push(("mean_length", level.into()));
        writer.append(step, wall, "train", &values)?;
        let times = ["steps_per_second", "collect_seconds", "advantage_seconds", "update_seconds"];
        writer.append(step, wall, "timing", &times.map(|name| (name, MetricValue::Float(noise()))))?;
        if step.is_multiple_of(config.eval.every) {
            let eval = [
                ("mean_return", MetricValue::from(level)),
                ("deviation", noise().into()),
                ("mean_length", level.into()),
                ("episodes", 100u64.into()),
                ("truncated", 0u64.into()),
            ];
            writer.append(step, wall, "eval", &eval)?;
        }
    }
    Ok(writer.sync()?.length)
}
