//! Evaluations: whether they agree with training (F31), survive loading (F32),
//! use separate seeds (F34), and are not just the best of many (F35).

use std::collections::BTreeSet;

use rlxp_types::text::{self, four_digits};

use super::super::check::{Check, Found, Hit, Missing, SeedView, cite, percent, series, steps};
use super::super::curve::{finite, values};
use super::super::evidence::Evaluation;
use super::super::outcome::{Citation, Severity};
use crate::statistics::aggregate::median;
use crate::statistics::selection::expected_maximum;

/// What F31 means where the evaluation is the higher one.
const BETTER_WITHOUT_NOISE: &str = "Evaluated with its most likely action, the policy scores much higher than while \
                                    exploring: exploration noise lowers the training return.";

/// F31: evaluation and training scores differ.
pub(super) fn modes_differ(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [apart] = check.rule.values(["apart"]);
    let settings = &check.evidence.settings;
    if settings.deterministic_evaluation == Some(false) {
        return Err(Missing::Scope("evaluations sample actions, as training does".to_owned()));
    }
    let metric = "eval.mean_return";
    let evaluations = check.points(seed, metric)?;
    let training = check.points(seed, "train.mean_return")?;
    if settings.reward_factor == 0.0 {
        return Err(Missing::Scope("training rewards are multiplied by 0".to_owned()));
    }
    let window = check.window(&evaluations);
    let matching: Vec<f64> = window
        .iter()
        .filter_map(|(step, _)| training.partition_point(|point| point.0 <= *step).checked_sub(1))
        .map(|index| training[index].1 / settings.reward_factor)
        .collect();
    if matching.is_empty() {
        return Err(Missing::Data("train.mean_return begins after the last evaluation".to_owned()));
    }
    let (played, trained) = (median(&values(window)), median(&matching));
    // A return near zero makes any difference look large; what was gained counts too.
    let gained = seed.reading.curve.as_ref().map_or(0.0, |curve| curve.best() - curve.first());
    let bases = [
        (trained.abs(), "the training return"),
        (gained, "the run's gain"),
        (check.evidence.baseline_size(), "the baseline return"),
    ];
    // The first of equal ones.
    let (size, base) =
        bases.into_iter().reduce(|most, next| if next.0 > most.0 { next } else { most }).unwrap_or_default();
    let difference = (played - trained) / size.max(1e-12);
    if difference.abs() <= apart {
        return Ok(Vec::new());
    }
    let sentence = format!(
        "{metric} is {} while train.mean_return is {}: {} by {} of {base}, {} (more than {}), at {}",
        four_digits(played),
        four_digits(trained),
        if difference < 0.0 { "lower" } else { "higher" },
        percent(difference.abs()),
        four_digits(size),
        percent(apart),
        steps(window),
    );
    // Without noise a policy usually plays better; worse is the surprise.
    let (severity, meaning, kind) = if difference < 0.0 {
        (Severity::Warning, None, "lower")
    } else {
        (Severity::Info, Some(BETTER_WITHOUT_NOISE), "higher")
    };
    let hit = Hit::new(severity, sentence, cite(seed, metric, window, difference, apart));
    Ok(vec![hit.meaning(meaning).kind(kind)])
}

/// F32: scores drop where training was continued from a file.
pub(super) fn after_resume(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [drop] = check.rule.values(["drop"]);
    let mut hits = Vec::new();
    if seed.data.normalizer_missing {
        let citation = Citation {
            metric: "checkpoint.normalizer".to_owned(),
            seed: Some(seed.data.seed),
            from_step: 0,
            to_step: 0,
            value: 0.0,
            threshold: None,
        };
        let sentence = "observations are normalised, but the normaliser's file is missing".to_owned();
        hits.push(Hit::new(Severity::Error, sentence, citation).event());
    }
    if hits.is_empty() && check.evidence.settings.normalizer_in_checkpoint {
        return Err(Missing::Scope(
            "the checkpoint contains the normaliser along with the weights".to_owned(),
        ));
    }
    let metric = "eval.mean_return";
    let points = series(seed, metric).map(finite).unwrap_or_default();
    for resumed in &seed.data.resumed_at {
        let after = points.partition_point(|point| point.0 <= *resumed);
        let (Some(before), Some(next)) = (after.checked_sub(1).map(|i| points[i]), points.get(after)) else {
            continue;
        };
        let lost = (before.1 - next.1) / before.1.abs().max(1e-12);
        if lost > drop {
            let sentence = format!(
                "{metric} drops from {} to {} ({} lost, more than {}) at {}, right after training \
                 continued from a file",
                four_digits(before.1),
                four_digits(next.1),
                percent(lost),
                percent(drop),
                text::steps(before.0, next.0),
            );
            hits.push(Hit::new(Severity::Error, sentence, cite(seed, metric, &[before, *next], lost, drop)));
        }
    }
    if hits.is_empty() && seed.data.resumed_at.is_empty() {
        return Err(Missing::Data("no record that training was continued from a file".to_owned()));
    }
    Ok(hits)
}

/// F34: scores on seeds already used for training or for choosing a checkpoint.
pub(super) fn reused_seeds(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [episodes, errors, relative] = check.rule.values(["episodes", "errors", "relative"]);
    let (during, later) = (&seed.data.evaluations, &seed.data.later_evaluations);
    if during.is_empty() && later.is_empty() {
        return Err(Missing::Data("no evaluation records its episode seeds".to_owned()));
    }
    if check.evidence.environment.stochastic == Some(false) {
        return Err(Missing::Scope("every episode is the same, regardless of its seed".to_owned()));
    }
    let training: BTreeSet<u64> = check.evidence.seeds.iter().map(|seed| seed.seed).collect();
    let mut hits = Vec::new();
    for evaluation in during.iter().chain(later) {
        let shared: Vec<u64> = evaluation.seeds.iter().copied().filter(|s| training.contains(s)).collect();
        if shared.len() as f64 >= episodes {
            let sentence = format!(
                "{} of {} episodes of the evaluation {} use a training seed ({} and above; {} or more) at {}",
                shared.len(),
                evaluation.seeds.len(),
                evaluation.name,
                shared[0],
                four_digits(episodes),
                text::steps(evaluation.step, evaluation.step),
            );
            hits.push(seeds_hit(seed, evaluation, shared.len() as f64, episodes, sentence));
            break;
        }
    }
    let chosen_on: BTreeSet<u64> = during.iter().flat_map(|evaluation| &evaluation.seeds).copied().collect();
    let again = later.iter().find(|evaluation| evaluation.seeds.iter().any(|s| chosen_on.contains(s)));
    if let Some(evaluation) = again {
        let shared = evaluation.seeds.iter().filter(|s| chosen_on.contains(s)).count();
        let sentence = format!(
            "{shared} of {} episodes of the evaluation {} were used to choose the best checkpoint, at {}",
            evaluation.seeds.len(),
            evaluation.name,
            text::steps(evaluation.step, evaluation.step),
        );
        hits.push(seeds_hit(seed, evaluation, shared as f64, episodes, sentence));
    }
    hits.extend(gap(seed, errors, relative, &chosen_on, &training));
    Ok(hits)
}

fn seeds_hit(
    seed: &SeedView<'_>,
    evaluation: &Evaluation,
    shared: f64,
    threshold: f64,
    sentence: String,
) -> Hit {
    let point = [(evaluation.step, 0.0)];
    let metric = format!("eval.{}.seeds", evaluation.name);
    Hit::new(Severity::Warning, sentence, cite(seed, &metric, &point, shared, threshold))
        .event()
        .inexcusable()
}

/// The same policy scores less on fresh seeds than where it was chosen.
fn gap(
    seed: &SeedView<'_>,
    errors: f64,
    relative: f64,
    chosen_on: &BTreeSet<u64>,
    training: &BTreeSet<u64>,
) -> Option<Hit> {
    let is_fresh = |evaluation: &&Evaluation| {
        !evaluation.seeds.iter().any(|seed| chosen_on.contains(seed) || training.contains(seed))
    };
    let mut pairs = seed.data.later_evaluations.iter().filter(is_fresh).filter_map(|fresh| {
        let chosen = seed.data.evaluations.iter().find(|evaluation| evaluation.step == fresh.step)?;
        Some((chosen, fresh))
    });
    pairs.find_map(|(chosen, fresh)| {
        let lost = chosen.mean - fresh.mean;
        let error = (chosen.standard_error().powi(2) + fresh.standard_error().powi(2)).sqrt();
        let bound = errors * error;
        (lost > bound && lost > 0.0).then(|| {
            let large = lost > relative * chosen.mean.abs();
            let sentence = format!(
                "the policy of step {} scores {} on the seeds it was chosen on and {} on fresh seeds, {} \
                 less (more than {})",
                chosen.step,
                four_digits(chosen.mean),
                four_digits(fresh.mean),
                four_digits(lost),
                four_digits(bound),
            );
            let severity = if large { Severity::Error } else { Severity::Warning };
            let point = [(chosen.step, 0.0)];
            Hit::new(severity, sentence, cite(seed, "eval.mean_return", &point, lost, bound)).inexcusable()
        })
    })
}

/// F35: the best of many evaluations is partly luck.
pub(super) fn chosen_by_luck(check: &Check<'_>, seed: &SeedView<'_>) -> Found {
    let [times] = check.rule.values(["times"]);
    let all = &seed.data.evaluations;
    if all.len() < check.rule.minimum_points {
        return Err(Missing::Data(format!(
            "{} of the {} evaluations needed",
            all.len(),
            check.rule.minimum_points
        )));
    }
    let by_score = || all.iter().max_by(|a, b| a.mean.total_cmp(&b.mean));
    let best = seed.data.best_step.and_then(|step| all.iter().find(|e| e.step == step)).or_else(by_score);
    let Some(best) = best else { return Ok(Vec::new()) };
    let chosen_on: BTreeSet<u64> = all.iter().flat_map(|evaluation| &evaluation.seeds).copied().collect();
    let measured = seed
        .data
        .later_evaluations
        .iter()
        .any(|later| later.step == best.step && !later.seeds.iter().any(|seed| chosen_on.contains(seed)));
    if measured {
        return Ok(Vec::new());
    }
    let inflation = expected_maximum(all.len() as u32) * best.standard_error();
    let (from, reference) = match check.evidence.baselines.iter().find(|baseline| baseline.name == "random") {
        Some(baseline) => ("random actions", baseline.mean),
        None => ("the first evaluation", all[0].mean),
    };
    let claimed = best.mean - reference;
    let bound = times * inflation;
    // Without a gain, there is none to doubt; F24 is about a policy below random actions.
    if claimed < 0.0 || claimed >= bound || inflation <= 0.0 {
        return Ok(Vec::new());
    }
    let sentence = format!(
        "the best of {} evaluations, {} at step {}, is {} above {from}; picking the best is expected to add \
         {} by chance (eval.mean_return)",
        all.len(),
        four_digits(best.mean),
        best.step,
        four_digits(claimed),
        four_digits(bound),
    );
    let points = [(all[0].step, 0.0), (all[all.len() - 1].step, 0.0)];
    Ok(vec![Hit::new(Severity::Warning, sentence, cite(seed, "eval.mean_return", &points, claimed, bound))])
}
