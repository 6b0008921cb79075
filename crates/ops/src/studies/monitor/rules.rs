//! The failure rules on whatever metrics a study declares. A rule that lacks its metrics says so; rules that need the
//! config or the environment of a training are not asked, since logs have neither.

use rlxp_analyze::diagnose::{Answer, Evidence, RuleSet, SeedEvidence, Series, Settings, Severity, diagnose};
use rlxp_govern::documents::{Direction, Extractor, Role};
use rlxp_types::Point;
use serde::Serialize;

use super::live::LiveSeries;

/// Rules that need nothing but logged series, and whether they also need the number of steps of the whole training.
const ASKED: [(&str, bool); 20] = [
    ("F01", false),
    ("F02", false),
    ("F03", false),
    ("F04", false),
    ("F06", false),
    ("F08", true),
    ("F09", true),
    ("F10", false),
    ("F11", true),
    ("F13", true),
    ("F14", false),
    ("F16", true),
    ("F17", true),
    ("F18", false),
    ("F19", false),
    ("F20", false),
    ("F21", false),
    ("F22", true),
    ("F23", true),
    ("F36", false),
];

/// Names that tools give to what the rules read. SB3's `entropy_loss` is left out: its sign is the other way round.
const NAMES: [(&str, &[&str]); 12] = [
    (
        "mean_return",
        &[
            "mean_return",
            "ep_rew_mean",
            "episode_reward",
            "episode_return",
            "episodic_return",
            "mean_reward",
            "return",
        ],
    ),
    ("mean_length", &["mean_length", "ep_len_mean", "episode_length", "episodic_length"]),
    ("entropy", &["entropy"]),
    ("approx_kl", &["approx_kl"]),
    ("clip_fraction", &["clip_fraction", "clipfrac"]),
    ("value_loss", &["value_loss"]),
    ("policy_loss", &["policy_loss", "policy_gradient_loss"]),
    ("explained_variance", &["explained_variance"]),
    ("grad_norm", &["grad_norm"]),
    ("learning_rate", &["learning_rate", "lr"]),
    ("action_std", &["action_std"]),
    ("reward_mean", &["reward_mean"]),
];

/// What the rules say about a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RuleAnswers {
    pub findings: Vec<FoundRule>,
    /// Rules that found nothing.
    pub clear: Vec<String>,
    /// Rules that have no answer, and what they lack.
    pub lacking: Vec<LackingRule>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundRule {
    pub rule: String,
    pub title: String,
    pub severity: Severity,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LackingRule {
    pub rule: String,
    pub title: String,
    pub lacking: String,
}

/// Asks the rules; `total` is the number of steps of the whole training, where it is known.
pub(super) fn ask(series: &[LiveSeries<'_>], seed: u64, total: Option<f64>) -> RuleAnswers {
    let mut seed = SeedEvidence { seed, ..SeedEvidence::default() };
    for one in series {
        if let (Some(name), Ok(points)) = (input(one), &one.points)
            && !points.is_empty()
        {
            seed.series.insert(name, plain(points));
        }
    }
    let has = |name: &str| seed.series.contains_key(name);
    let is_ppo = has("train.approx_kl") || has("train.clip_fraction");
    let settings = Settings {
        algorithm: if is_ppo { "ppo" } else { "unknown" }.to_owned(),
        total_steps: total.filter(|total| *total >= 1.0).map_or(0, |total| total as u64),
        reward_factor: 1.0,
        ..Settings::default()
    };
    let knows_total = settings.total_steps > 0;
    let evidence = Evidence { settings, seeds: vec![seed], ..Evidence::default() };
    let rules = RuleSet::built_in();
    let mut answers = RuleAnswers::default();
    for outcome in diagnose(&evidence, rules).outcomes {
        let asked = ASKED.iter().find(|(rule, _)| *rule == outcome.rule);
        let lacking = match (asked, outcome.answer) {
            (None, _) => "the config or the environment of the training, which logs don't declare".to_owned(),
            (Some((_, true)), _) if !knows_total => {
                "how many steps the whole training has: no earlier run of this phase tells".to_owned()
            }
            (_, Answer::Finding(finding)) => {
                let (severity, sentence) = (finding.severity, finding.sentence);
                answers.findings.push(FoundRule {
                    rule: outcome.rule,
                    title: outcome.title,
                    severity,
                    sentence,
                });
                continue;
            }
            (_, Answer::Clear { .. }) => {
                answers.clear.push(outcome.rule);
                continue;
            }
            (_, Answer::NotEnoughData { lacking }) => lacking,
            (_, Answer::DoesNotApply { why }) if why == NO_COMPONENTS => why_no_components(series),
            (_, Answer::DoesNotApply { why }) => why,
        };
        answers.lacking.push(LackingRule { rule: outcome.rule, title: outcome.title, lacking });
    }
    answers.findings.sort_by(|one, other| other.severity.cmp(&one.severity).then(one.rule.cmp(&other.rule)));
    answers
}

/// What rules of the reward say without components, of a training that rlx ran itself.
const NO_COMPONENTS: &str = "reward components are not logged";

/// Why no declared metric is a component to the rules: a training of another tool may log components that the study
/// doesn't declare, or declares as something else.
fn why_no_components(series: &[LiveSeries<'_>]) -> String {
    let components = series.iter().filter(|one| one.role == Role::Component);
    let said: Vec<String> = components
        .map(|one| match (input(one), &one.points) {
            (_, Err(why)) => format!("component {} can't be read: {why}", one.metric.name),
            (Some(name), Ok(_)) if !name.starts_with("reward.") => {
                format!("component {} is read as {name}", one.metric.name)
            }
            (None, Ok(_)) => format!("component {} comes from the evaluation", one.metric.name),
            (Some(_), Ok(_)) => format!("component {} has no points yet", one.metric.name),
        })
        .collect();
    if said.is_empty() { "metric_spec.yaml declares no components".to_owned() } else { said.join("; ") }
}

/// What a declared metric is to the rules; `None` if they don't read it.
fn input(series: &LiveSeries<'_>) -> Option<String> {
    let key = match &series.metric.source {
        Extractor::Json { pointer: key, .. }
        | Extractor::Jsonl { pointer: key, .. }
        | Extractor::Csv { column: key, .. }
        | Extractor::Tensorboard { tag: key, .. }
        | Extractor::Wandb { key, .. } => key.as_str(),
        Extractor::Stdout { .. } | Extractor::StdoutRegex { .. } => series.metric.name.as_str(),
    };
    let is_evaluation = series.file.as_ref().is_some_and(|file| file.starts_with("eval"));
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let last = plain(key.rsplit(['/', '.']).next().unwrap_or_default());
    let name = plain(series.metric.name.as_str());
    let known =
        NAMES.iter().find(|(_, names)| names.contains(&last.as_str()) || names.contains(&name.as_str()));
    match (known, series.role) {
        // A metric of which less is better is not a return.
        (Some(("mean_return", _)), _) if series.metric.direction == Direction::Lower => None,
        (Some((name, _)), _) if is_evaluation => (*name == "mean_return").then(|| format!("eval.{name}")),
        (Some((name, _)), _) => Some(format!("train.{name}")),
        (None, Role::Component) if !is_evaluation => Some(format!("reward.{}", series.metric.name)),
        (None, Role::Primary) if series.metric.direction == Direction::Higher => {
            Some("task.metric".to_owned())
        }
        (None, _) => None,
    }
}

/// Points as the rules take them: whole steps that rise, or their numbers where there are no steps.
fn plain(points: &[Point]) -> Series<'static> {
    let (mut steps, mut values): (Vec<u64>, Vec<f64>) = (Vec::new(), Vec::new());
    for (index, point) in points.iter().enumerate() {
        let step = match point.step {
            Some(step) if step.is_finite() && step >= 0.0 => step as u64,
            Some(_) => continue,
            None => index as u64 + 1,
        };
        if steps.last() == Some(&step) {
            // Written twice: the later one counts.
            values.pop();
            steps.pop();
        }
        steps.push(step);
        values.push(point.value);
    }
    Series::new(steps, values)
}

#[cfg(test)]
mod tests {
    use rlxp_govern::documents::Metric;
    use serde_json::json;

    use super::*;

    fn metric(name: &str, pointer: &str) -> Metric {
        let source = json!({"format": "jsonl", "file": "train/m.jsonl", "pointer": pointer, "step": "/step"});
        serde_json::from_value(
            json!({"name": name, "direction": "higher", "aggregation": "last", "source": source}),
        )
        .unwrap()
    }

    fn series<'m>(metric: &'m Metric, values: &[f64]) -> LiveSeries<'m> {
        let point = |(index, value): (usize, &f64)| Point { step: Some(index as f64 * 10.0), value: *value };
        LiveSeries {
            metric,
            role: Role::Diagnostic,
            file: Some("train/m.jsonl".to_owned()),
            points: Ok(values.iter().enumerate().map(point).collect()),
        }
    }

    #[test]
    fn a_loss_that_is_nan_is_found_and_the_rest_lacks_data() {
        let loss = metric("loss", "/train/value_loss");
        let mut values = vec![1.0; 30];
        values[12] = f64::NAN;
        let answers = ask(&[series(&loss, &values)], 3, None);
        let first = answers.findings.first().expect("a NaN is found");
        assert_eq!((first.rule.as_str(), first.severity), ("F01", Severity::Error));
        assert!(first.sentence.contains("train.value_loss"), "{}", first.sentence);
        assert!(
            answers.lacking.iter().any(|one| one.rule == "F16" && one.lacking.contains("how many steps"))
        );
        assert!(answers.lacking.iter().any(|one| one.rule == "F44" && one.lacking.contains("config")));
        let all = answers.findings.len() + answers.clear.len() + answers.lacking.len();
        assert_eq!(all, RuleSet::built_in().rules.len());
    }

    #[test]
    fn names_of_other_tools_are_known() {
        for (name, pointer, expected) in [
            ("r", "/rollout/ep_rew_mean", Some("train.mean_return")),
            ("kl", "/train/approx_kl", Some("train.approx_kl")),
            ("mean-return", "/x", Some("train.mean_return")),
            ("height", "/height", None),
        ] {
            let metric = metric(name, pointer);
            assert_eq!(input(&series(&metric, &[1.0])).as_deref(), expected, "{name} {pointer}");
        }
    }

    #[test]
    fn components_that_are_declared_are_not_said_to_be_missing() {
        let why = |series: &[LiveSeries<'_>]| {
            let answers = ask(series, 0, Some(100.0));
            let of_reward = answers.lacking.into_iter().find(|one| one.lacking.contains("component"));
            of_reward.map(|one| one.lacking)
        };
        assert_eq!(why(&[]).as_deref(), Some("metric_spec.yaml declares no components"));
        let (known, own) = (metric("gain", "/episodic_return"), metric("upright", "/upright"));
        let component =
            |metric, values: &[f64]| LiveSeries { role: Role::Component, ..series(metric, values) };
        let said = why(&[component(&known, &[1.0; 30]), component(&own, &[])]);
        assert_eq!(
            said.as_deref(),
            Some("component gain is read as train.mean_return; component upright has no points yet")
        );
    }

    #[test]
    fn nothing_declared_finds_nothing() {
        let answers = ask(&[], 0, Some(100.0));
        assert!(answers.findings.is_empty(), "{:?}", answers.findings);
        assert!(answers.lacking.iter().any(|one| one.rule == "F01"));
    }
}
