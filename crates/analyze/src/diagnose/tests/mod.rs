//! Every rule on hand-made evidence, firing and silent.
//!
//! A run of 100 updates of 1,000 steps is the ground: it learns, ends at its
//! target and finds nothing. Each case changes one thing.

mod curves;
mod engine;
mod episodes;
mod evaluations;
mod networks;
mod run_folders;
mod settings;
mod updates;

use rlxp_types::EndCause;

use super::*;

/// A seed's failure.
pub(super) fn failed(cause: EndCause, reason: &str) -> Option<Failed> {
    Some(Failed { cause, reason: reason.to_owned() })
}

/// Updates of the hand-made run.
pub(super) const UPDATES: u64 = 100;
/// Steps of an update.
pub(super) const ROLLOUT: u64 = 1_000;

/// One value per update: `value(update)`, updates from 0.
pub(super) fn each(value: impl Fn(u64) -> f64) -> Series<'static> {
    every(1, value)
}

/// One value every `stride` updates.
pub(super) fn every(stride: u64, value: impl Fn(u64) -> f64) -> Series<'static> {
    let at: Vec<u64> = (0..UPDATES).filter(|update| (update + 1).is_multiple_of(stride)).collect();
    let steps = at.iter().map(|update| (update + 1) * ROLLOUT).collect();
    Series::new(steps, at.into_iter().map(value).collect())
}

/// A little noise that is always the same.
pub(super) fn wobble(update: u64) -> f64 {
    let mut bits = (update + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (bits >> 40) as f64 / (1_u64 << 24) as f64 - 0.5
}

/// Rises over the first half and stays.
pub(super) fn learns(update: u64) -> f64 {
    20.0 + 460.0 * (update.min(50) as f64 / 50.0) + wobble(update)
}

/// The ground: one seed of a healthy run with every series there is.
pub(super) fn healthy() -> Evidence<'static> {
    let mut seed = SeedEvidence {
        seed: 0,
        record: Some(RecordState { records: 200, ..RecordState::default() }),
        ..SeedEvidence::default()
    };
    let mut put = |name: &str, series: Series<'static>| seed.series.insert(name.to_owned(), series);
    put("train.mean_return", each(learns));
    put("train.mean_length", each(learns));
    put("train.approx_kl", each(|update| 0.008 + 0.002 * wobble(update)));
    put("train.clip_fraction", each(|_| 0.1));
    put("train.clip_range", each(|_| 0.2));
    put("train.learning_rate", each(|update| 1e-3 * (1.0 - update as f64 / UPDATES as f64)));
    put("train.epochs", each(|_| 10.0));
    put("train.entropy", each(|update| 0.69 - 0.003 * update as f64));
    put("train.explained_variance", each(|_| 0.8));
    put("train.value_bias", each(|_| 0.1));
    put("train.value_loss", each(|update| 5.0 + wobble(update)));
    put("train.policy_loss", each(|update| -0.01 + 0.001 * wobble(update)));
    put("train.value_mean", each(|_| 55.0));
    put("train.return_target_mean", each(|_| 60.0));
    put("train.return_target_p99", each(|_| 90.0));
    put("train.value_abs_max", each(|_| 95.0));
    put("train.reward_max_abs", each(|_| 1.0));
    put("train.reward_mean", each(|_| 1.0));
    put("train.rewarded_episodes", each(|_| 1.0));
    put("train.grad_norm", each(|update| 0.4 + 0.1 * wobble(update)));
    put("train.grad_clipped", each(|_| 0.2));
    put("train.episodes_finished", each(|_| 10.0));
    put("train.episodes_at_limit", each(|update| if update > 50 { 8.0 } else { 0.0 }));
    put("train.terminated_at_limit", each(|_| 0.0));
    put("train.value_at_limit", each(|_| 50.0));
    put("train.reset_spread", each(|_| 0.95));
    put("eval.mean_return", every(5, |update| learns(update) + 5.0));
    put("observations.dormant_fraction", every(5, |_| 0.02));
    for dimension in 0..2 {
        put(&format!("observations.mean_{dimension}"), every(5, |_| 0.1));
        put(&format!("observations.std_{dimension}"), every(5, |_| 0.5));
    }
    put("timing.collect_seconds", each(|_| 0.4));
    put("timing.update_seconds", each(|_| 0.6));
    seed.evaluations =
        (1..=20).map(|index| evaluation(index * 5 * ROLLOUT, learns(index * 5 - 1), 10_000)).collect();
    seed.best_step = Some(60 * ROLLOUT);
    Evidence {
        settings: Settings {
            algorithm: "ppo".to_owned(),
            total_steps: UPDATES * ROLLOUT,
            gamma: Some(0.99),
            update_epochs: Some(10.0),
            entropy_coef: Some(0.0),
            reward_factor: 1.0,
            deterministic_evaluation: Some(true),
            normalizer_in_checkpoint: true,
            ..Settings::default()
        },
        environment: Environment {
            id: "Balance-v0".to_owned(),
            actions: Some(Actions::Discrete { most_entropy: 2.0_f64.ln() }),
            real_observations: Some(true),
            step_cap: Some(500),
            reward_threshold: Some(475.0),
            stochastic: Some(true),
            still: vec![0.0, 0.0],
            still_steps: 512,
            ..Environment::default()
        },
        baselines: vec![
            Baseline { name: "random".to_owned(), mean: 22.0, deviation: 10.0, episodes: 20 },
            Baseline { name: "zero".to_owned(), mean: 9.0, deviation: 1.0, episodes: 20 },
        ],
        words: [
            ("run", "balance_001"),
            ("config", "c.yaml"),
            ("algo.learning_rate", "0.001"),
            ("env", "Balance-v0"),
        ]
        .map(|(name, word)| (name.to_owned(), word.to_owned()))
        .into(),
        seeds: vec![seed],
    }
}

/// Like [`healthy`], but nothing is learned: no excuse applies.
pub(super) fn unlearned() -> Evidence<'static> {
    let mut evidence = healthy();
    put(&mut evidence, "eval.mean_return", every(5, |update| 22.0 + wobble(update)));
    put(&mut evidence, "train.mean_return", each(|update| 22.0 + wobble(update)));
    evidence.seeds[0].evaluations.iter_mut().for_each(|evaluation| evaluation.mean = 22.0);
    evidence
}

pub(super) fn continuous(mut evidence: Evidence<'static>) -> Evidence<'static> {
    evidence.environment.actions = Some(Actions::Continuous);
    evidence
}

pub(super) fn evaluation(step: u64, mean: f64, first_seed: u64) -> Evaluation {
    Evaluation {
        name: format!("step_{step}"),
        step,
        mean,
        deviation: 10.0,
        seeds: (first_seed..first_seed + 100).collect(),
    }
}

/// Replaces a series of every seed.
pub(super) fn put(evidence: &mut Evidence<'static>, name: &str, series: Series<'static>) {
    for seed in &mut evidence.seeds {
        seed.series.insert(name.to_owned(), series.clone());
    }
}

/// The run with `count` seeds that differ only a little.
pub(super) fn with_seeds(evidence: &Evidence<'static>, count: u64) -> Evidence<'static> {
    let mut several = evidence.clone();
    several.seeds = (0..count)
        .map(|seed| {
            let mut own = evidence.seeds[0].clone();
            own.seed = seed;
            for name in ["train.policy_loss", "train.value_loss"] {
                let series = own.series.get_mut(name).unwrap();
                series.values.to_mut().iter_mut().for_each(|value| *value += 1e-6 * seed as f64);
            }
            own
        })
        .collect();
    several
}

/// What one rule answers.
pub(super) fn answer_of(evidence: &Evidence<'_>, id: &str) -> Answer {
    let answers = diagnose(evidence, RuleSet::built_in());
    answers.outcomes.into_iter().find(|outcome| outcome.rule == id).unwrap().answer
}

/// The finding of a rule.
#[track_caller]
pub(super) fn found(evidence: &Evidence<'_>, id: &str) -> Finding {
    match answer_of(evidence, id) {
        Answer::Finding(finding) => *finding,
        other => panic!("{id} finds nothing: {other:?}"),
    }
}

/// Fails unless the rule finds something of this severity that cites `metric`.
#[track_caller]
pub(super) fn fires(evidence: &Evidence<'_>, id: &str, severity: Severity, metric: &str) -> Finding {
    let finding = found(evidence, id);
    assert_eq!(finding.severity, severity, "{id}: {}", finding.sentence);
    assert!(
        finding.evidence.iter().any(|citation| citation.metric == metric),
        "{id}: {:?}",
        finding.evidence
    );
    assert!(finding.sentence.contains(metric.split('.').next_back().unwrap()), "{id}: {}", finding.sentence);
    assert!(finding.next.is_some(), "{id} has a command");
    assert!(finding.strength >= 1.0);
    finding
}

#[track_caller]
pub(super) fn clear(evidence: &Evidence<'_>, id: &str) {
    let answer = answer_of(evidence, id);
    assert!(matches!(answer, Answer::Clear { .. }), "{id}: {answer:?}");
}

#[track_caller]
pub(super) fn lacks(evidence: &Evidence<'_>, id: &str, part: &str) {
    match answer_of(evidence, id) {
        Answer::NotEnoughData { lacking } => assert!(lacking.contains(part), "{id}: {lacking}"),
        other => panic!("{id}: {other:?}"),
    }
}

#[track_caller]
pub(super) fn is_not_about(evidence: &Evidence<'_>, id: &str, part: &str) {
    match answer_of(evidence, id) {
        Answer::DoesNotApply { why } => assert!(why.contains(part), "{id}: {why}"),
        other => panic!("{id}: {other:?}"),
    }
}

/// Without the series the rule must say that it lacks it.
#[track_caller]
pub(super) fn needs(evidence: &Evidence<'static>, id: &str, metric: &str) {
    let mut without = evidence.clone();
    without.seeds.iter_mut().for_each(|seed| drop(seed.series.remove(metric)));
    lacks(&without, id, metric);
}
