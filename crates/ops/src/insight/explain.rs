//! `rlx explain-metrics`: what every logged metric means, what is healthy under this config, and what this run's
//! values mean.

pub use rlxp_analyze::metrics::Direction;
use rlxp_analyze::metrics::{
    Actions, Entry, Expectation, Here, Reading, dictionary, entry, expectation, named, nearest, read,
};
use rlxp_analyze::story::{Course, SeedCourse, fold};
use rlxp_env::Space;
use rlxp_spec::config::Schedule;
use rlxp_store::Series;
use rlxp_types::text::shell_word;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::insight::run_data::{RunData, SeedData, SeedState, load_run};
use crate::select::{one, project};
use crate::training::envs::{SOURCES, reward_threshold};

#[derive(Clone, Debug, Default)]
pub struct ExplainRequest {
    /// A run, then metrics (`NAME` or `KIND/NAME`; all metrics if empty). Without a run, metrics of the dictionary.
    pub words: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// Kind of the records that hold it.
    pub kind: String,
    /// The name as it was logged.
    pub name: String,
    /// Its entry in the dictionary, if it has one.
    pub entry: Option<&'static Entry>,
    /// What to expect of it here.
    pub expected: Option<Expectation>,
    /// The run's values.
    pub reading: Option<Reading>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ExplainReport {
    /// The run, if there is one.
    pub run: Option<String>,
    /// What the expectations depend on.
    pub here: Option<Here>,
    /// The run's seeds.
    pub seeds: Vec<u64>,
    pub metrics: Vec<Explained>,
    /// Problems of the record.
    pub notes: Vec<String>,
}

pub fn explain(context: &Context, request: &ExplainRequest) -> Outcome<ExplainReport> {
    let Some((word, metrics)) = request.words.split_first() else { return from_dictionary(&[]) };
    // A word that names a metric and not a run is looked up in the dictionary.
    let is_run = || project(context).is_ok_and(|project| one(&project, word).is_ok());
    if !named(word).is_empty() && !is_run() {
        return from_dictionary(&request.words);
    }
    let asked = |kind: &str, name: &str| metrics.is_empty() || fits(metrics, kind, name);
    let wanted = |kind: &str, name: &str| asked(kind, name) || (kind == "train" && is_fact(name));
    let run = load_run(context, word, &wanted).map_err(|failure| or_a_metric(failure, word))?;
    let known = names_of(context, word, &run, metrics)?;
    let here = here(&run);
    let mut explained_ones: Vec<Explained> = known
        .iter()
        .filter(|(kind, name)| asked(kind, name))
        .map(|(kind, name)| explained(&run, &here, kind, name))
        .collect();
    explained_ones.sort_by_key(|metric| place(&metric.kind, &metric.name));
    let seeds = run.seeds.iter().map(|seed| seed.seed).collect();
    let (run, notes) = (Some(run.name), run.notes);
    Ok(ExplainReport { run, here: Some(here), seeds, metrics: explained_ones, notes })
}

/// The user may have meant a metric: suggests the nearest one too.
fn or_a_metric(failure: Failure, word: &str) -> Failure {
    let names: Vec<String> = dictionary().iter().map(Entry::full_name).collect();
    let near = nearest(word, names.iter().map(String::as_str));
    match near.first() {
        Some(near) if failure.is(FailureKind::RunNotFound) => {
            failure.hint(format!("rlx explain-metrics {}", shell_word(near)))
        }
        _ => failure,
    }
}

/// The sort key of a metric: in the order of the dictionary, by dimension, unknown ones last.
fn place(kind: &str, name: &str) -> (usize, usize, String) {
    let found = entry(kind, name);
    let row = found.and_then(|found| dictionary().iter().position(|entry| std::ptr::eq(entry, found)));
    let dimension = found.and_then(|found| found.dimension(name)).unwrap_or(0);
    // Dimensions of one input belong together: mean, std, min, max of the first, then of the next.
    if let (Some(row), true) = (row, found.is_some_and(|found| found.name.ends_with('*'))) {
        let first = dictionary().iter().position(|entry| entry.name.ends_with('*')).unwrap_or(row);
        return (first, dimension * dictionary().len() + row, String::new());
    }
    (row.unwrap_or(usize::MAX), 0, name.to_owned())
}

fn from_dictionary(words: &[String]) -> Outcome<ExplainReport> {
    let mut found: Vec<&'static Entry> = Vec::new();
    for word in words {
        let known = named(word);
        if known.is_empty() {
            let names: Vec<String> = dictionary().iter().map(Entry::full_name).collect();
            return Err(unknown(word, &names, None));
        }
        found.extend(known);
    }
    if words.is_empty() {
        found.extend(dictionary());
    }
    let metrics = found.into_iter().map(|entry| Explained {
        kind: entry.kind.clone(),
        name: entry.name.clone(),
        entry: Some(entry),
        expected: None,
        reading: None,
    });
    let metrics = metrics.collect();
    Ok(ExplainReport { run: None, here: None, seeds: Vec::new(), metrics, notes: Vec::new() })
}

/// Whether one of the words names this metric.
fn fits(words: &[String], kind: &str, name: &str) -> bool {
    words.iter().any(|word| {
        let (of, what) =
            word.split_once('/').map_or((None, word.as_str()), |(kind, name)| (Some(kind), name));
        let pattern = what.strip_suffix('*').is_some_and(|stem| {
            let rest = name.strip_prefix(stem);
            rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        });
        of.is_none_or(|of| of == kind) && (what == name || pattern)
    })
}

/// Everything that the run logged. Fails if a word matches none of it.
fn names_of(
    context: &Context,
    word: &str,
    run: &RunData,
    words: &[String],
) -> Outcome<Vec<(String, String)>> {
    let logged = |run: &RunData| {
        let mut names: Vec<(String, String)> = Vec::new();
        for seed in &run.seeds {
            for (kind, series) in &seed.metrics.series {
                names.extend(series.keys().map(|name| (kind.clone(), name.clone())));
            }
        }
        names.sort();
        names.dedup();
        names
    };
    let names = logged(run);
    for asked in words {
        let one = std::slice::from_ref(asked);
        if names.iter().any(|(kind, name)| fits(one, kind, name)) {
            continue;
        }
        // Only now reading the rest is worthwhile.
        let all = logged(&load_run(context, word, &|_, _| true)?);
        let full: Vec<String> = all.iter().map(|(kind, name)| format!("{kind}/{name}")).collect();
        if full.is_empty() {
            let message = format!("{} has no metrics yet", run.name);
            return Err(Failure::with_kind(FailureKind::MetricUnknown, message)
                .hint(format!("rlx info {}", shell_word(&run.name))));
        }
        if named(asked).is_empty() {
            return Err(unknown(asked, &full, Some(&run.name)));
        }
        let message = format!("{} has not logged {asked}", run.name);
        return Err(Failure::with_kind(FailureKind::MetricUnknown, message)
            .hint(format!("rlx explain-metrics {}", shell_word(asked))));
    }
    Ok(names)
}

/// The failure for a metric that neither the dictionary nor the run has.
fn unknown(word: &str, names: &[String], run: Option<&str>) -> Failure {
    let near = nearest(word, names.iter().map(String::as_str));
    let offer = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
    let who = run.map_or_else(|| "the dictionary has".to_owned(), |run| format!("{run} logged"));
    let message = format!("unknown metric {word:?}: not one of the {} that {who}{offer}", names.len());
    let failure = Failure::with_kind(FailureKind::MetricUnknown, message);
    let words = run.into_iter().chain(run.and(near.first().map(String::as_str))).map(shell_word);
    failure.hint(words.fold("rlx explain-metrics".to_owned(), |line, word| format!("{line} {word}")))
}

fn explained(run: &RunData, here: &Here, kind: &str, name: &str) -> Explained {
    let entry = entry(kind, name);
    let expected = expectation(kind, name, here);
    let seeds = courses(run.seeds.iter(), kind, name);
    let numbers: Vec<u64> = seeds.iter().map(|seed| seed.seed).collect();
    let reading = entry.map(|entry| read(entry, name, &fold(&seeds), expected.as_ref(), &numbers));
    Explained { kind: kind.to_owned(), name: name.to_owned(), entry, expected, reading }
}

/// A metric of the seeds that logged it.
pub(crate) fn courses<'a>(
    seeds: impl Iterator<Item = &'a SeedData>,
    kind: &str,
    name: &str,
) -> Vec<SeedCourse> {
    let logged = seeds.filter_map(|seed| Some((seed, seed.series(kind, name)?)));
    let course = |(seed, series): (&SeedData, &Series)| SeedCourse {
        seed: seed.seed,
        label: format!("seed {}", seed.seed),
        course: Course::new(series.points()),
        errors: Course::default(),
        failed: seed.state == SeedState::Failed,
    };
    logged.map(course).collect()
}

/// Metrics that expectations are made from.
fn is_fact(name: &str) -> bool {
    matches!(name, "reward_max_abs" | "reward_deviation")
}

/// The facts that a run's expectations depend on.
pub(crate) fn here(run: &RunData) -> Here {
    let config = &run.config;
    let info = SOURCES.find(&config.env.id).ok();
    let actions = match SOURCES.spaces(&config.env) {
        Ok((_, Space::Discrete { n })) => Actions::Choices(vec![n]),
        Ok((_, Space::MultiDiscrete { nvec })) => Actions::Choices(nvec),
        Ok((_, Space::MultiBinary { n })) => Actions::Choices(vec![2; n]),
        Ok((_, Space::Box { low, .. })) => Actions::Numbers(low.len()),
        Err(_) => Actions::Unknown,
    };
    let values = |name: &str| {
        let series: Vec<&Series> = run.seeds.iter().filter_map(|seed| seed.series("train", name)).collect();
        series.into_iter().flat_map(|series| series.values.iter().copied()).filter(|value| value.is_finite())
    };
    let largest = values("reward_max_abs").fold(f64::NEG_INFINITY, f64::max);
    let deviations: Vec<f64> = values("reward_deviation").collect();
    let ends = |schedule: Schedule| (schedule.at(0.0), schedule.at(1.0));
    Here {
        env: config.env.id.clone(),
        actions,
        step_cap: config.env.max_episode_steps.or_else(|| info.and_then(|info| info.max_episode_steps)),
        threshold: reward_threshold(&config.env),
        observations: info.map_or_else(Vec::new, |info| {
            info.observation_names.iter().map(|name| (*name).to_owned()).collect()
        }),
        total_steps: config.total_steps(),
        rollout: config.rollout_size(),
        copies: config.env.num_envs,
        update_epochs: config.get("algo.update_epochs"),
        learning_rate: ends(config.algo.learning_rate()),
        clip_range: config.get("algo.clip_range").map(ends),
        gamma: config.get("algo.gamma"),
        entropy_coef: config.get("algo.entropy_coef"),
        max_grad_norm: config.get("algo.max_grad_norm"),
        target_kl: config.get("algo.target_kl"),
        first_deviation: config.get("policy.log_std_init").map(f64::exp),
        state_dependent: config.get("policy.use_sde").unwrap_or(false),
        normalize_observations: config.env.normalize_observations,
        normalize_rewards: config.env.normalize_rewards,
        shared_network: config.get("policy.shared_network").unwrap_or(false),
        eval_episodes: config.eval.episodes,
        largest_reward: largest.is_finite().then_some(largest),
        steady_reward: !deviations.is_empty() && deviations.iter().all(|deviation| *deviation < 1e-9),
    }
}
