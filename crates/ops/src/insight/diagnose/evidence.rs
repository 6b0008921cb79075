//! A run on disk as evidence for the rules.

use std::collections::BTreeMap;

use rlxp_analyze::diagnose::{
    Baseline, Evaluation, Evidence, Failed, RecordState, SeedEvidence, Series, Settings,
};
use rlxp_spec::Config;
use rlxp_spec::config::{Schedule, WrapperConfig};
use rlxp_store::BEST;
use rlxp_types::text::shell_word;

use super::environment;
use crate::failure::Outcome;
use crate::insight::config_keys::settings_of;
use crate::insight::run_data::{RunData, SeedData};
use crate::training::evaluation::EvaluationRecord;

/// Everything that rules can use of a run.
pub(super) fn evidence(run: &RunData) -> Outcome<Evidence<'_>> {
    let seeds = run.seeds.iter().map(of_seed).collect::<Outcome<Vec<_>>>()?;
    Ok(Evidence {
        settings: settings(&run.config, run.metadata.total_steps),
        environment: environment::facts(&run.config),
        baselines: baselines(&run.config),
        words: words(run),
        seeds,
    })
}

fn settings(config: &Config, total_steps: u64) -> Settings {
    Settings {
        algorithm: config.algo.name().to_owned(),
        total_steps,
        values: settings_of(config),
        gamma: config.get("algo.gamma"),
        update_epochs: config.get("algo.update_epochs"),
        target_kl: config.get("algo.target_kl"),
        entropy_coef: config.get("algo.entropy_coef"),
        normalize_observations: config.env.normalize_observations,
        normalize_rewards: config.env.normalize_rewards,
        reward_factor: reward_factor(config),
        deterministic_evaluation: (config.eval.every > 0).then_some(config.eval.deterministic),
        normalizer_in_checkpoint: true,
        ..Settings::default()
    }
}

/// What training rewards are multiplied by and evaluations are not.
fn reward_factor(config: &Config) -> f64 {
    let factors = config.env.wrappers.iter().map(|wrapper| match wrapper {
        WrapperConfig::ScaleReward { factor } => *factor,
        _ => 1.0,
    });
    factors.product()
}

/// How random and zero actions score, where the environment can be made.
fn baselines(config: &Config) -> Vec<Baseline> {
    crate::training::baseline::baselines(config)
        .into_iter()
        .map(|(name, played)| Baseline {
            name: name.to_owned(),
            mean: played.mean_return(),
            deviation: played.deviation(),
            episodes: played.episodes.len(),
        })
        .collect()
}

fn of_seed(seed: &SeedData) -> Outcome<SeedEvidence<'_>> {
    let mut series = BTreeMap::new();
    for (kind, columns) in &seed.metrics.series {
        for (name, column) in columns {
            let view = Series::borrowed(&column.steps, &column.values, &column.walls);
            series.insert(format!("{kind}.{name}"), view);
        }
    }
    let (during, later): (Vec<_>, Vec<_>) =
        seed.evaluations()?.into_iter().partition(|(name, _)| name.starts_with("step_"));
    Ok(SeedEvidence {
        seed: seed.seed,
        failure: seed.failure.as_ref().map(|failure| Failed {
            cause: failure.cause,
            reason: failure.reason.clone().unwrap_or_else(|| "the run failed".to_owned()),
        }),
        series,
        evaluations: during.into_iter().filter_map(evaluation).collect(),
        later_evaluations: later.into_iter().filter_map(evaluation).collect(),
        // A link that can't be read is for `rlx info` to complain about.
        best_step: seed.folder.checkpoints().link(BEST).ok().flatten(),
        resumed_at: Vec::new(),
        normalizer_missing: false,
        record: Some(RecordState {
            records: seed.metrics.records,
            repeated_steps: seed.metrics.repeated_steps,
            damage: seed.metrics.damage.iter().map(ToString::to_string).collect(),
        }),
    })
}

fn evaluation((name, record): (String, EvaluationRecord)) -> Option<Evaluation> {
    Some(Evaluation {
        name,
        step: record.step?,
        mean: record.mean_return,
        deviation: record.deviation,
        seeds: record.seeds,
    })
}

/// Values for commands: the run, its config file, its environment, and every number of the config; a schedule is
/// represented by its initial value.
fn words(run: &RunData) -> BTreeMap<String, String> {
    let mut words = BTreeMap::new();
    let config = serde_json::to_value(&run.config).expect("a config is plain data");
    flatten("", &config, &mut words);
    for (key, schedule) in run.config.algo.schedules() {
        if let Schedule::Linear { from, .. } = schedule {
            words.insert(key.to_owned(), from.to_string());
        }
    }
    words.insert("run".to_owned(), shell_word(&run.name).into_owned());
    words.insert("env".to_owned(), shell_word(&run.config.env.id).into_owned());
    words.insert(
        "config".to_owned(),
        shell_word(&format!("runs/{}/config_snapshot.yaml", run.name)).into_owned(),
    );
    words
}

fn flatten(path: &str, value: &serde_json::Value, words: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, words);
            }
        }
        serde_json::Value::Number(number) => {
            words.insert(path.to_owned(), number.to_string());
        }
        _ => {}
    }
}
