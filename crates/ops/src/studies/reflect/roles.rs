//! Which declared metrics are the reward, the task metric and the episode length during training, by their names.

use rlxp_govern::documents::{Metric, MetricSpec, Role};

/// Words that a name may have beside the one that decides.
const BESIDE: [&str; 8] = ["train", "training", "mean", "avg", "episode", "ep", "total", "rollout"];

/// Metrics by what they are taken for.
pub(super) struct Roles<'s> {
    pub(super) reward: Option<(Role, &'s Metric)>,
    pub(super) task: Option<(Role, &'s Metric)>,
    pub(super) length: Option<(Role, &'s Metric)>,
}

impl<'s> Roles<'s> {
    /// Diagnostics and the scorecard are looked through in their order. A metric is the task metric if its name has the
    /// primary metric's name in it; without one, the primary metric itself is taken, which usually is a single value.
    pub(super) fn find(spec: &'s MetricSpec) -> Self {
        let diagnostics = spec.diagnostics.iter().map(|metric| (Role::Diagnostic, metric));
        let all: Vec<(Role, &Metric)> =
            diagnostics.chain(spec.scorecard.iter().map(|metric| (Role::Scorecard, metric))).collect();
        let is = |metric: &Metric, words: &[&str]| {
            let mut parts = metric.name.as_str().split(['-', '_']);
            let known = parts.clone().all(|part| words.contains(&part) || BESIDE.contains(&part));
            known && parts.any(|part| words.contains(&part))
        };
        let with = |words: &[&str]| all.iter().find(|(_, metric)| is(metric, words)).copied();
        let primary = spec.primary.name.as_str();
        let is_task = |metric: &Metric| {
            let name = metric.name.as_str();
            name.contains(primary) || name.split(['-', '_']).any(|part| part == "task")
        };
        let task = all.iter().find(|(_, metric)| is_task(metric)).copied();
        Self {
            reward: with(&["reward", "rew", "return"]).filter(|found| Some(*found) != task),
            task: Some(task.unwrap_or((Role::Primary, &spec.primary))),
            length: with(&["length", "len"]),
        }
    }

    /// All of them: reward, task, length.
    pub(super) fn all(&self) -> impl Iterator<Item = (Role, &'s Metric)> {
        [self.reward, self.task, self.length].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(primary: &str, diagnostics: &[&str]) -> [Option<String>; 3] {
        let metric = |name: &str| {
            json!({"name": name, "direction": "higher", "aggregation": "last",
            "source": {"format": "jsonl", "file": "train/m.jsonl", "pointer": "/x"}})
        };
        let spec: MetricSpec = serde_json::from_value(json!({
            "schema": "rlxp.metric_spec/1", "primary": metric(primary),
            "diagnostics": diagnostics.iter().map(|name| metric(name)).collect::<Vec<_>>(),
            "failure_score": 0.0, "smallest_effect": 0.05,
            "protocol": {"episodes": 1, "deterministic": true, "checkpoint": "last", "environments": "x", "seeds": {
                "screen": {"from": 1, "to": 2}, "confirm": {"from": 3, "to": 4},
                "audit": {"from": 5, "to": 6}, "evaluation": {"from": 7, "to": 8}}},
        }))
        .unwrap();
        let roles = Roles::find(&spec);
        [roles.reward, roles.task, roles.length].map(|role| role.map(|(_, metric)| metric.name.to_string()))
    }

    #[test]
    fn metrics_are_taken_by_their_names() {
        let of = |names: [&str; 3]| names.map(|name| (!name.is_empty()).then(|| name.to_owned()));
        assert_eq!(
            found("success", &["reward-scale", "ep-rew-mean", "train-success", "ep-len-mean"]),
            of(["ep-rew-mean", "train-success", "ep-len-mean"])
        );
        assert_eq!(found("success", &["loss"]), of(["", "success", ""]));
        // A return that is the task metric isn't the reward as well.
        assert_eq!(found("return", &["train-return"]), of(["", "train-return", ""]));
        assert_eq!(
            found("success", &["task-progress", "episode_length"]),
            of(["", "task-progress", "episode_length"])
        );
    }
}
