//! What single texts of a repository reveal: scripts, configs, log files. Each function accepts any text and returns
//! nothing if it is not sure.

use rlxp_spec::Source;
use rlxp_spec::document::Document;
use rlxp_store::foreign::csv::first_row;
use serde_json::Value;

use crate::studies::scripts::{Flag, find, flags};

/// Common names of hyperparameters.
const HYPERPARAMETERS: [&str; 17] = [
    "learning_rate",
    "lr",
    "gamma",
    "gae_lambda",
    "clip_range",
    "clip_coef",
    "entropy_coef",
    "ent_coef",
    "value_coef",
    "vf_coef",
    "batch_size",
    "n_steps",
    "num_steps",
    "num_minibatches",
    "rollout_steps",
    "n_epochs",
    "update_epochs",
];

/// Most keys of one config that are asked about.
const MOST_KEYS: usize = 4;

/// Flags by which scripts take the folder to write to, and the folder that training wrote.
const OUTPUT: [&str; 9] =
    ["out", "output", "out_dir", "output_dir", "save_dir", "log_dir", "run_dir", "results_dir", "out_folder"];
const TRAINED: [&str; 6] =
    ["trained", "model_dir", "policy_dir", "checkpoint_dir", "load_dir", "trained_dir"];

/// How a script takes its seed and its folders, as words with placeholders; empty if the text doesn't tell.
pub(super) fn slot_words(script: &str) -> Vec<String> {
    if script.contains("hydra.main") {
        return vec!["seed={seed}".to_owned()];
    }
    let flags = flags(script);
    let mut words = Vec::new();
    for (names, slot) in [(&["seed"][..], "{seed}"), (&TRAINED, "{trained}"), (&OUTPUT, "{run}")] {
        if let Some(flag) = names.iter().find_map(|name| find(&flags, name)) {
            words.extend([format!("--{}", flag.name), slot.to_owned()]);
        }
    }
    words
}

/// Well-known hyperparameters among the flags of a script, each with a range around its default.
pub(super) fn hyperparameter_flags(script: &str) -> Vec<String> {
    let known = |flag: &Flag| HYPERPARAMETERS.contains(&flag.name.replace('-', "_").as_str());
    let keys = flags(script)
        .into_iter()
        .filter(known)
        .filter_map(|flag| Some(with_range(&flag.name, flag.default?)));
    keys.take(MOST_KEYS).collect()
}

/// `KEY=MIN..MAX`: a range around the present value that keeps the meaning of the value. A proposal that is shown,
/// and approved by a person; the key alone where no range suits.
fn with_range(key: &str, value: f64) -> String {
    let name = key.rsplit('.').next().unwrap_or(key).replace('-', "_");
    let range = match name.as_str() {
        _ if !value.is_finite() || value <= 0.0 => None,
        "gamma" => Some((0.9, 0.9999)),
        "gae_lambda" => Some((0.8, 1.0)),
        "clip_range" | "clip_coef" => Some((0.05, 0.5)),
        _ if value.fract() == 0.0 && value >= 1.0 => Some(((value / 4.0).ceil(), value * 4.0)),
        _ => Some((value / 10.0, value * 10.0)),
    };
    match range.filter(|(low, high)| (*low..=*high).contains(&value)) {
        Some((low, high)) => format!("{key}={}..{}", short(low), short(high)),
        None => key.to_owned(),
    }
}

/// Without the digits that a division leaves behind.
fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The id in the first `make("…")`.
pub(super) fn environment_id(script: &str) -> Option<String> {
    let after = script.split("make(").nth(1)?.trim_start();
    let quote = after.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    let id = after[1..].split(quote).next()?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_/.:".contains(letter);
    (!id.is_empty() && id.len() <= 80 && id.chars().all(plain)).then(|| id.to_owned())
}

/// Names under `[project.scripts]`.
pub(super) fn python_scripts(pyproject: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in pyproject.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[project.scripts]";
        } else if inside && let Some((name, _)) = line.split_once('=') {
            let name = name.trim().trim_matches('"');
            let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
            if !name.is_empty() && name.chars().all(plain) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// The environment of an rlx config; `None` if the text is not one.
pub(super) fn rlx_config(text: &str) -> Option<String> {
    let value = yaml(text)?;
    value.get("algo")?.get("name")?;
    value.get("env")?.get("id")?.as_str().map(str::to_owned)
}

/// Dotted keys of well-known hyperparameters in a config, each with a range around its value.
pub(super) fn hyperparameters(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    if let Some(value) = yaml(text) {
        collect(&value, "", &mut keys);
    }
    keys.truncate(MOST_KEYS);
    keys
}

fn collect(value: &Value, path: &str, keys: &mut Vec<String>) {
    let Value::Object(entries) = value else { return };
    for (key, item) in entries {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let plain = inner.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.'));
        if let Some(value) = item.as_f64().filter(|_| plain && HYPERPARAMETERS.contains(&key.as_str())) {
            keys.push(with_range(&inner, value));
        } else {
            collect(item, &inner, keys);
        }
    }
}

fn yaml(text: &str) -> Option<Value> {
    Document::read(Source::new("config", text)).ok().map(|document| document.value().clone())
}

/// A metric of an evaluation in a log file: its name and its key. Training rewards don't count.
pub(super) fn table_metric(file: &str, text: &str) -> Option<(String, String)> {
    let keys: Vec<(String, String)> = if file.ends_with(".csv") {
        first_row(text).into_iter().map(|column| (column.clone(), column)).collect()
    } else {
        let value: Value = serde_json::from_str(text.lines().next()?).ok()?;
        let mut keys = Vec::new();
        pointers(&value, "", &mut keys);
        keys
    };
    let is_success = |name: &str| name.contains("success");
    let is_evaluated =
        |name: &str| name.contains("eval") && (name.contains("return") || name.contains("reward"));
    let wanted: [&dyn Fn(&str) -> bool; 2] = [&is_success, &is_evaluated];
    wanted.iter().find_map(|fits| keys.iter().find(|(_, key)| fits(&key.to_lowercase())).cloned())
}

/// Numbers in an object as names and JSON pointers.
fn pointers(value: &Value, path: &str, keys: &mut Vec<(String, String)>) {
    let Value::Object(entries) = value else { return };
    for (key, item) in entries {
        let pointer = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        if item.is_number() {
            keys.push((key.clone(), pointer));
        } else {
            pointers(item, &pointer, keys);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_tell_seed_and_environment() {
        assert_eq!(slot_words("p.add_argument('--seed', type=int)"), ["--seed", "{seed}"]);
        let both = "p.add_argument('--output-dir')\np.add_argument('--seed')\n";
        assert_eq!(slot_words(both), ["--seed", "{seed}", "--output-dir", "{run}"]);
        assert_eq!(slot_words("@hydra.main(config_path='conf')"), ["seed={seed}"]);
        assert!(slot_words("print('no seed here')").is_empty());
        assert_eq!(environment_id("env = gym.make(\"Ant-v4\")").as_deref(), Some("Ant-v4"));
        for odd in ["", "make(", "make(name)", "make('", "make('a b')", "make('\u{fc}')"] {
            assert_eq!(environment_id(odd), None, "{odd}");
        }
        let toml = "[project]\nname = \"x\"\n[project.scripts]\ntrain = \"a:b\"\n\"play\" = \"c:d\"\n[tool]\nz = 1\n";
        assert_eq!(python_scripts(toml), ["train", "play"]);
    }

    #[test]
    fn configs_tell_keys_and_logs_tell_metrics() {
        let config = "algo: {name: ppo, learning_rate: 3e-4, gamma: 0.99}\nenv: {id: CartPole-v1}\n";
        assert_eq!(hyperparameters(config), ["algo.learning_rate=0.00003..0.003", "algo.gamma=0.9..0.9999"]);
        let script = "p.add_argument('--lr', default=0.05)\np.add_argument('--n_steps', default=2048)\n";
        assert_eq!(hyperparameter_flags(script), ["lr=0.005..0.5", "n_steps=512..8192"]);
        assert_eq!(rlx_config(config).as_deref(), Some("CartPole-v1"));
        assert_eq!((hyperparameters("{"), rlx_config("a: 1")), (vec![], None));
        let of = |file: &str, text: &str| table_metric(file, text).map(|(name, key)| format!("{name} {key}"));
        assert_eq!(
            of("progress.csv", "time,eval/mean_reward\n1,2\n").as_deref(),
            Some("eval/mean_reward eval/mean_reward")
        );
        assert_eq!(
            of("m.jsonl", "{\"values\":{\"success_rate\":0.5}}\n").as_deref(),
            Some("success_rate /values/success_rate")
        );
        for nothing in ["", "step,reward\n", "{", "{\"reward\":1}"] {
            assert_eq!(of("m.jsonl", nothing), None);
            assert_eq!(of("progress.csv", nothing), None);
        }
    }
}
