//! Checks that need more than one key, and values that follow from others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::config::{Config, MAX_SEED, Schedule};
use crate::keys::nested;
use crate::problem::Severity;

/// The only available device.
const CPU: &str = "cpu";

/// What is known about how a config came about.
pub(crate) struct Facts<'a> {
    /// Invalid keys, whose values are ignored.
    pub(crate) failed: &'a BTreeSet<String>,
    /// Whether the user wrote a key.
    pub(crate) is_chosen: &'a dyn Fn(&str) -> bool,
}

impl Facts<'_> {
    pub(crate) fn all_fine(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| !self.failed.contains(*path))
    }
}

/// Takes a problem at a key: path, severity, message, hint.
pub(crate) type Report<'a> = dyn FnMut(&str, Severity, String, Option<String>) + 'a;

/// The config that checked values make. Reports what doesn't fit together in it.
pub(crate) fn resolve(
    mut values: BTreeMap<&str, Value>,
    facts: &Facts<'_>,
    cores: usize,
    report: &mut Report<'_>,
) -> Option<Config> {
    derive(&mut values, facts, report);
    match serde_json::from_value::<Config>(nested(values).into()) {
        Ok(mut config) => {
            check(&config, facts, report);
            settle(&mut config, cores);
            Some(config)
        }
        Err(error) => {
            report("", Severity::Error, format!("the config can't be read: {error}"), None);
            None
        }
    }
}

/// Fills in what follows from other values, and turns a count of seeds into the list.
fn derive(values: &mut BTreeMap<&str, Value>, facts: &Facts<'_>, report: &mut Report<'_>) {
    let text = |path: &str| values.get(path).and_then(Value::as_str).unwrap_or_default();
    let run_name = run_name(text("algo.name"), text("env.id"));
    let total = values.get("algo.total_timesteps").and_then(Value::as_u64).unwrap_or_default();
    let seeds = seeds(values, facts, report);
    values.insert("seed", seeds[0].into());
    values.insert("seeds", seeds.into());
    for (path, value) in [
        ("run_name", Value::from(run_name)),
        ("checkpoint.save_every", Value::from((total / 10).max(1))),
        ("eval.every", Value::from((total / 20).max(1))),
        // Its absence is reported; the rest can be checked without it.
        ("env.id", Value::from("")),
    ] {
        values.entry(path).or_insert(value);
    }
}

/// `ppo_cartpole` for `CartPole-v1`.
fn run_name(algo: &str, env_id: &str) -> String {
    let base = match env_id.rsplit_once("-v") {
        Some((base, version)) if !base.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => env_id,
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = base.chars().take(80).map(safe).collect();
    format!("{algo}_{name}")
}

fn seeds(values: &BTreeMap<&str, Value>, facts: &Facts<'_>, report: &mut Report<'_>) -> Vec<u64> {
    let first = values.get("seed").and_then(Value::as_u64).unwrap_or_default();
    let fine = facts.all_fine(&["seed", "seeds"]);
    match values.get("seeds") {
        Some(Value::Array(list)) if !list.is_empty() => {
            let list: Vec<u64> = list.iter().filter_map(Value::as_u64).collect();
            if fine && (facts.is_chosen)("seed") && list[0] != first {
                let start = list[0];
                let message =
                    format!("`seed` {first} has no effect with a list of seeds that starts with {start}");
                report("seed", Severity::Warning, message, Some(format!("seed: {start}")));
            }
            list
        }
        Some(Value::Number(count)) => {
            let count = count.as_u64().unwrap_or(1).max(1);
            if first + (count - 1) > MAX_SEED {
                if fine {
                    let message =
                        format!("`seeds: {count}` from `seed: {first}` exceeds the largest seed, {MAX_SEED}");
                    report("seeds", Severity::Error, message, None);
                }
                return vec![first];
            }
            (first..first + count).collect()
        }
        _ => vec![first],
    }
}

/// Reports every pair of values that don't fit together.
fn check(config: &Config, facts: &Facts<'_>, report: &mut Report<'_>) {
    for (path, schedule) in config.algo.schedules() {
        let is_zero = matches!(schedule, Schedule::Linear { from: 0.0, to: 0.0, .. });
        if is_zero && facts.all_fine(&[path]) {
            report(path, Severity::Error, format!("`{path}` would be 0 throughout"), None);
        }
    }
    config.algo.check(&config.env, facts, report);
}

/// Reports a device that can't be had. A record is read whatever device it names.
pub(crate) fn check_device(device: &str, report: &mut Report<'_>) {
    let hint = Some("device: cpu".to_owned());
    if is_device(device) {
        let message = format!("device `{device}` is not available; training runs on the CPU");
        report("device", Severity::Warning, message, hint);
    } else if device != CPU {
        let message = format!(
            "`{device}` is not a valid device: use cpu, auto, cuda, cuda:N, mps, xpu or \
                               tpu"
        );
        report("device", Severity::Error, message, hint);
    }
}

/// Names of devices that other stacks know.
fn is_device(name: &str) -> bool {
    let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
    matches!(kind, "auto" | "cuda" | "gpu" | "mps" | "xpu" | "tpu") && number.parse::<u32>().is_ok()
}

/// What training really uses: this machine's cores, the CPU, a batch that fits.
fn settle(config: &mut Config, cores: usize) {
    if config.threads == 0 {
        config.threads = cores.clamp(1, 1024);
    }
    // Regardless of the request: the record says which device was used.
    config.device = CPU.to_owned();
    let rollout = config.rollout_size() as usize;
    config.algo.fit(rollout);
}
