//! The default agreement of the fixture's study: the four documents, as values that can be changed before anything is
//! approved. JSON is YAML, so this is what is written to the files.

use rlxp_types::Digest;
use serde_json::{Value, json};

/// The four documents of a study.
pub(crate) struct Agreed {
    pub(crate) contract: Value,
    pub(crate) metric_spec: Value,
    pub(crate) surface_map: Value,
    pub(crate) runbook: Value,
}

impl Agreed {
    /// With this digest of the file that training needs and git ignores.
    pub(crate) fn usual(start_states: Digest) -> Self {
        Self {
            contract: contract(),
            metric_spec: metric_spec(),
            surface_map: surface_map(),
            runbook: runbook(start_states),
        }
    }

    /// Every document with the name of its file.
    pub(crate) fn files(&self) -> [(&'static str, &Value); 4] {
        [
            ("contract.yaml", &self.contract),
            ("metric_spec.yaml", &self.metric_spec),
            ("surface_map.yaml", &self.surface_map),
            ("runbook.yaml", &self.runbook),
        ]
    }
}

fn contract() -> Value {
    json!({
        "schema": "rlxp.contract/1",
        "task": {"id": "balance", "study": "tuning", "mission": "keep the pole upright for longer"},
        "metrics": {"primary": "success", "guardrails": []},
        "scope": {"surfaces": ["reward", "ppo"], "one_change_at_a_time": true},
        "budget": {
            "runs": 40, "wall_clock": "1h", "disk": "1GiB", "parallel": 1,
            "per_run": {"wall_clock": "60s", "disk": "50MiB", "memory": "1GiB", "processes": 64},
        },
        "hardware": {"device": "cpu", "gpus": 0, "network": "none"},
        "baseline": {"description": "configs/ppo.yaml as it is committed"},
        "evaluation": {"description": "20 episodes per seed from states that training hasn't seen"},
        "experiment": {"description": "one change at a time to the reward or to a number of the algorithm"},
        "automation": "supervised",
        "assurance": "signature",
        "confinement": "full",
        "statistics": {"alpha": 0.05, "screen_seeds": 2, "confirm_seeds": 5, "looks": 1, "maximum_confirms": 3},
        "stop_rules": [{"when": "no_improvement", "candidates": 5}],
        // Most tests are about something else and have no baseline to reflect on.
        "exceptions": [{"section": "scope", "code": "analysis_unknown", "reason": "the reward is understood"}],
    })
}

fn metric_spec() -> Value {
    json!({
        "schema": "rlxp.metric_spec/1",
        "primary": {
            "name": "success", "direction": "higher", "aggregation": "mean",
            "source": {"format": "json", "file": "eval/scores.json", "pointer": "/success"},
        },
        "failure_score": 0.0,
        "smallest_effect": 0.05,
        "protocol": {
            "episodes": 20, "deterministic": true, "checkpoint": "last",
            "environments": "the pole, from states within 0.3 of upright and at rest",
            "seeds": {
                "screen": {"from": 1, "to": 99},
                "confirm": {"from": 1000, "to": 9999},
                "audit": {"from": 10000, "to": 19999},
                "evaluation": {"from": 20000, "to": 29999},
            },
        },
    })
}

fn surface_map() -> Value {
    json!({
        "schema": "rlxp.surface_map/1",
        "surfaces": [
            {"id": "reward", "kind": "reward", "paths": ["src/balance/reward.py"], "operations": ["edit_code"]},
            {
                "id": "ppo", "kind": "hyperparameter", "paths": ["configs/ppo.yaml"], "operations": ["set"],
                "keys": [
                    {"key": "learning_rate", "min": 0.01, "max": 10.0},
                    {"key": "clip", "min": 0.05, "max": 0.5},
                    {"key": "iterations", "min": 1, "max": 100},
                ],
            },
        ],
        "protected": ["src/balance_eval/**"],
    })
}

fn runbook(start_states: Digest) -> Value {
    let python = |words: &[&str]| json!([&[".venv/bin/python", "-m"], words].concat());
    let train = ["balance.train", "--config", "configs/ppo.yaml", "--seed", "{seed}", "--out", "{run}"];
    let eval = ["balance_eval.evaluate", "--policy", "{trained}/policy.json", "--episodes", "20"];
    json!({
        "schema": "rlxp.runbook/1",
        "train": {"argv": python(&train)},
        "eval": {"argv": python(&[&eval[..], &["--seed", "{seed}", "--out", "{run}"]].concat())},
        "import_roots": ["src"],
        "inputs": [{"path": "data/start_states.json", "digest": start_states}],
        "artifacts": ["metrics.jsonl", "policy.json"],
        "stop": {"silence": "30s", "output": "5MiB"},
    })
}
