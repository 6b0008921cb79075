//! Settings outside the range that published configs use (F48) and too few
//! updates (F49), where the return is poor.

use rlxp_types::text::four_digits;
use serde_json::Value;

use super::super::check::{Check, Found, Missing, SeedView, counted};
use super::super::curve::values;
use super::super::evidence::Actions;
use super::super::outcome::Severity;
use super::settings::{blame, known, layers, misses_target, number, short};
use crate::statistics::aggregate::median;

const HELD_BACK: &str = "A setting is far outside the range that published configs use. The run has learned, but it \
                         misses its target, and the setting is a possible cause.";

/// What F49 means where each of the few updates makes many gradient steps.
const FEW_BUT_LONG: &str = "The budget or the size of rollouts allows only a few updates. Each of them makes many \
                            gradient steps, so the policy could change, but it rarely got data of its own newer \
                            version to learn from.";

/// The range of a key's usual values, by the names of its thresholds.
struct Usual {
    key: &'static str,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// What two keys give together.
const SAMPLES: &str = "env.num_envs × algo.rollout_steps";

impl Usual {
    /// The keys of the config behind the value.
    fn keys(&self) -> Vec<&'static str> {
        if self.key == SAMPLES { vec!["algo.rollout_steps", "env.num_envs"] } else { vec![self.key] }
    }
}

/// F48: a setting far outside the range that published configs use.
pub(super) fn unusual(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let names = [
        "learning_rate_low",
        "learning_rate_high",
        "clip_range_low",
        "clip_range_high",
        "gae_lambda_low",
        "entropy_coef_high",
        "value_coef_high",
        "max_grad_norm_low",
        "adam_epsilon_high",
        "batch_size_low",
        "update_epochs_high",
        "rollout_steps_low",
        "samples_low",
        "log_std_low",
        "log_std_high",
        "target_kl_low",
        "layers_high",
        "raw_low",
        "raw_high",
    ];
    let [
        lr_low,
        lr_high,
        clip_low,
        clip_high,
        lambda_low,
        entropy_high,
        value_high,
        norm_low,
        epsilon_high,
        batch_low,
        epochs_high,
        rollout_low,
        samples_low,
        std_low,
        std_high,
        kl_low,
        layers_high,
        raw_low,
        raw_high,
    ] = check.rule.values(names);
    known(check)?;
    let usual = |key: &'static str, low: Option<f64>, high: Option<f64>| Usual {
        key,
        value: number(check, key),
        low,
        high,
    };
    let continuous = matches!(check.evidence.environment.actions, Some(Actions::Continuous));
    let exponent = |value: Option<f64>| value.filter(|_| continuous).map(f64::exp);
    let mut all = vec![
        usual("algo.learning_rate", Some(lr_low), Some(lr_high)),
        usual("algo.clip_range", Some(clip_low), Some(clip_high)),
        usual("algo.entropy_coef", None, Some(entropy_high)),
        usual("algo.value_coef", None, Some(value_high)),
        usual("algo.max_grad_norm", Some(norm_low), None),
        usual("algo.adam_epsilon", None, Some(epsilon_high)),
        usual("algo.batch_size", Some(batch_low), None),
        usual("algo.update_epochs", None, Some(epochs_high)),
        usual("algo.rollout_steps", Some(rollout_low), None),
        usual("algo.target_kl", Some(kl_low), None),
        Usual {
            key: "policy.log_std_init",
            value: exponent(number(check, "policy.log_std_init")),
            low: Some(std_low.exp()),
            high: Some(std_high.exp()),
        },
        Usual {
            key: "policy.hidden_sizes",
            value: layers(check).map(|layers| layers.len() as f64),
            low: None,
            high: Some(layers_high),
        },
        // 1/(1 − λ) steps: 0 is one step, as far below as a number of this kind can be.
        Usual {
            key: "algo.gae_lambda",
            value: number(check, "algo.gae_lambda").map(|lambda| 1.0 / (1.0 - lambda).max(1e-6)),
            low: Some(1.0 / (1.0 - lambda_low)),
            high: None,
        },
    ];
    // One copy with a long rollout gives as many samples as many copies with short ones; few of both are the fault.
    let samples = number(check, "env.num_envs").zip(number(check, "algo.rollout_steps"));
    if all.iter().all(|usual| usual.key != "algo.rollout_steps" || usual.value >= usual.low) {
        all.push(Usual {
            key: SAMPLES,
            value: samples.map(|(copies, length)| copies * length),
            low: Some(samples_low),
            high: None,
        });
    }
    let is_raw = check.evidence.settings.values.get("algo.normalize_advantages") == Some(&Value::Bool(false));
    if is_raw && let Ok(sizes) = check.points(seed, "train.return_target_p99") {
        // Without normalisation the size of returns is the size of the policy's gradient.
        let size = median(&values(&sizes));
        all.push(Usual {
            key: "algo.normalize_advantages",
            value: Some(size),
            low: Some(raw_low),
            high: Some(raw_high),
        });
    }
    let mut out: Vec<(f64, &Usual, f64, f64)> = all
        .iter()
        .filter_map(|usual| {
            let value = usual.value?;
            let beyond = |bound: f64| (value.max(1e-12) / bound).max(bound / value.max(1e-12));
            match (usual.low, usual.high) {
                (Some(low), _) if value < low => Some((beyond(low), usual, value, low)),
                (_, Some(high)) if value > high => Some((beyond(high), usual, value, high)),
                _ => None,
            }
        })
        .collect();
    if out.is_empty() {
        return Ok(Vec::new());
    }
    // A run that learned in spite of the setting may still be held back by it.
    let (severity, meaning, short) = match short(check, seed)? {
        Some(short) => (Severity::Warning, None, short),
        None => match misses_target(check, seed) {
            Some(short) => (Severity::Info, Some(HELD_BACK), short),
            None => return Ok(Vec::new()),
        },
    };
    out.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.key.cmp(b.1.key)));
    let worst = &out[0];
    let words = |(_, usual, value, bound): &(f64, &Usual, f64, f64)| {
        let side = if value < bound { "below" } else { "above" };
        let what = match usual.key {
            "policy.hidden_sizes" => "the number of hidden layers",
            "policy.log_std_init" => "the initial std of actions (policy.log_std_init)",
            "algo.gae_lambda" => "the reach of advantages in steps, 1/(1 − gae_lambda),",
            SAMPLES => "the number of samples per update (env.num_envs × algo.rollout_steps)",
            "algo.normalize_advantages" => "advantages are not normalised, and the size of returns",
            key => key,
        };
        format!("{what} is {} ({side} the usual {})", four_digits(*value), four_digits(*bound))
    };
    let sentence: Vec<String> = out.iter().map(words).collect();
    let keys: Vec<&str> = out.iter().flat_map(|(_, usual, _, _)| usual.keys()).collect();
    let mut hit =
        blame(severity, worst.1.key, sentence.join("; "), &short, worst.0, worst.2, worst.3).meaning(meaning);
    hit.keys = keys.into_iter().map(str::to_owned).collect();
    Ok(vec![hit])
}

/// F49: so few updates or gradient steps that hardly anything can be learned.
pub(super) fn few_updates(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [updates_bound, samples_bound, steps_bound] = check.rule.values(["updates", "samples", "steps"]);
    let wanted = ["env.num_envs", "algo.rollout_steps", "algo.batch_size", "algo.update_epochs"];
    let [Some(copies), Some(length), Some(batch), Some(epochs)] = wanted.map(|key| number(check, key)) else {
        return Err(Missing::Data("the size of a rollout is unknown".to_owned()));
    };
    let samples = copies * length;
    let updates = (check.evidence.settings.total_steps as f64 / samples.max(1.0)).ceil();
    let batches = (samples / batch.max(1.0)).ceil();
    let gradient_steps = updates * epochs * batches;
    let mut hits = Vec::new();
    let rare = updates < updates_bound;
    let coarse = gradient_steps < steps_bound && (batches <= 1.0 || epochs <= 1.0);
    if !rare && !coarse {
        return Ok(hits);
    }
    let Some(short) = short(check, seed)? else { return Ok(hits) };
    if rare {
        let budget = check.evidence.settings.total_steps as f64;
        // Where rollouts are of a usual size, it is the budget that is small.
        let (key, cause) = match samples > samples_bound {
            true if length >= copies => ("algo.rollout_steps", "rollouts of"),
            true => ("env.num_envs", "rollouts of"),
            false => ("algo.total_timesteps", "a budget of"),
        };
        let size = if samples > samples_bound { samples } else { budget };
        let unit = if samples > samples_bound { "samples allow" } else { "steps allows" };
        let what = format!(
            "{cause} {} {unit} {} (fewer than {})",
            four_digits(size),
            counted(updates, "update", "updates"),
            four_digits(updates_bound)
        );
        let strength = updates_bound / updates.max(1.0);
        let hit = blame(Severity::Warning, key, what, &short, strength, updates, updates_bound);
        // With many gradient steps, rules that show a cause in the metrics know better.
        let is_long = gradient_steps >= steps_bound;
        hits.push(if is_long { hit.strong(1.0).aside().meaning(FEW_BUT_LONG) } else { hit });
    }
    if coarse {
        let (first, second) = if batches <= 1.0 {
            ("algo.batch_size", "algo.update_epochs")
        } else {
            ("algo.update_epochs", "algo.batch_size")
        };
        let what = format!(
            "{} of {} per update {} {} in the whole run (fewer than {})",
            counted(epochs, "epoch", "epochs"),
            counted(batches, "batch", "batches"),
            if epochs == 1.0 { "makes" } else { "make" },
            counted(gradient_steps, "gradient step", "gradient steps"),
            four_digits(steps_bound)
        );
        let strength = steps_bound / gradient_steps.max(1.0);
        hits.push(
            blame(Severity::Warning, first, what, &short, strength, gradient_steps, steps_bound)
                .naming(second),
        );
    }
    Ok(hits)
}
