//! A complete study as its files: every optional key is written somewhere, so that edits can reach all of them.

use rlxp_govern::documents::{Reading, Written};
use rlxp_spec::Source;
use rlxp_spec::document::{Document, to_yaml};
use serde_json::{Value, json};

const CONTRACT: &str = "\
schema: rlxp.contract/1
task:
  id: walker
  study: first
  mission: Walk farther without falling
  constraints: [no new dependencies]
  non_goals: [faster training]
metrics:
  primary: mean-return
  guardrails: [falls]
scope:
  surfaces: [algorithm, reward]
  one_change_at_a_time: true
budget:
  runs: 100
  wall_clock: 100h
  gpu_time: 10h
  disk: 100GiB
  per_run: {wall_clock: 2h, disk: 1GiB, memory: 4GiB, processes: 64}
  parallel: 2
hardware: {device: gpu, gpus: 1, network: none}
baseline:
  commit: 0123456789abcdef0123456789abcdef01234567
  description: The default config, about 250
evaluation:
  description: Twenty episodes on flat ground
experiment:
  description: Tune the optimiser, then the reward
automation: supervised
assurance: terminal
confinement: full
statistics: {alpha: 0.05, screen_seeds: 3, confirm_seeds: 5, looks: 2, maximum_confirms: 3}
stop_rules:
  - {when: target_reached, value: 300.5}
  - {when: no_improvement, candidates: 5}
  - {when: failures_in_a_row, runs: 4}
exceptions:
  - {section: evaluation, code: nothing_like_this, reason: Shows that exceptions belong to a section}
  - {section: plan, code: nothing_like_that, reason: Permissions have exceptions too}
";

const METRIC_SPEC: &str = "\
schema: rlxp.metric_spec/1
primary:
  name: mean-return
  source: {format: json, file: eval.json, pointer: /mean_return}
  direction: higher
  aggregation: mean
  window: 5
  unit: reward
components:
  - name: distance
    source: {format: jsonl, file: metrics.jsonl, pointer: /distance, step: /step}
    direction: higher
    aggregation: last
guardrails:
  - metric:
      name: falls
      source: {format: csv, file: falls.csv, column: falls, step: step}
      direction: lower
      aggregation: max
    allowed_regression: 0.5
rollback:
  - metric:
      name: energy
      source: {format: tensorboard, file: events, tag: energy}
      direction: lower
      aggregation: iqm
    allowed_regression: 1.5
diagnostics:
  - name: entropy
    source: {format: stdout, before: 'entropy='}
    direction: higher
    aggregation: median
scorecard:
  - name: speed
    source: {format: wandb, file: wandb, key: speed}
    direction: higher
    aggregation: min
failure_score: -100.5
smallest_effect: 5.5
protocol:
  episodes: 20
  deterministic: true
  checkpoint: last
  environments: Walker2d-v5, flat ground
  seeds:
    screen: {from: 0, to: 99}
    confirm: {from: 100, to: 199}
    audit: {from: 200, to: 299}
    evaluation: {from: 10000, to: 19999}
";

const SURFACE_MAP: &str = "\
schema: rlxp.surface_map/1
surfaces:
  - id: algorithm
    kind: hyperparameter
    paths: [configs/*.yaml]
    keys:
      - {key: algo.learning_rate, min: 0.00001, max: 0.01}
      - {key: algo.shape, values: [linear, constant]}
    operations: [set, scale, schedule, add]
  - id: reward
    kind: reward
    paths: [envs/reward.py, envs/rewards/**]
    operations: [edit_code, add, remove]
  - id: network
    kind: policy
    paths: [policy/**]
    operations: [edit_code]
    evaluation_files: [policy/*.py]
protected: [eval/**, metrics.py]
";

const RUNBOOK: &str = "\
schema: rlxp.runbook/1
preflight: {argv: [python, check.py], free_of_side_effects: true, probed: true}
smoke: {argv: [python, train.py, --steps, '100', --seed, '{seed}']}
train: {argv: [python, train.py, --seed, '{seed}'], folder: scripts, environment: [HOME], probed: true}
eval: {argv: [python, eval/run.py, --seed, '{seed}']}
cancel: {argv: [python, cancel.py]}
import_roots: [src]
inputs:
  - {path: data/terrain.bin, digest: abababababababababababababababababababababababababababababababab}
artifacts: [eval.json]
stop: {silence: 10m, output: 1GiB}
resources: {wall_clock: 1h, memory: 2GiB, disk: 100MiB}
";

const CANDIDATE: &str = "\
schema: rlxp.candidate/1
id: lower-lr
task: walker
study: first
revision: 1
kind: hyperparameter
hypothesis: Updates are too large late in training
changes:
  - surface: algorithm
    operation: set
    path: configs/ppo.yaml
    key: algo.learning_rate
    from: 0.0003
    to: 0.0001
expected_effect: {metric: mean-return, direction: higher, size: 10.5}
evidence: [loops/1/packet.json]
knowledge: [ppo-lr-1]
phases:
  - {phase: smoke, seeds: 1, wall_clock: 2h}
  - {phase: short, seeds: 3, wall_clock: 2h}
  - {phase: confirm, seeds: 5, wall_clock: 2h, gpu_time: 30m}
  - {phase: incumbent_validation, seeds: 5, wall_clock: 2h}
arguments: []
invariants: [the network stays as it is]
rollback: Put the old value back
risk: Slower learning
";

/// The files of a study as values that a test modifies before they are written and read.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    pub(crate) contract: Value,
    pub(crate) metric_spec: Value,
    pub(crate) surface_map: Value,
    pub(crate) runbook: Value,
    pub(crate) candidate: Value,
}

impl Texts {
    /// A complete study in supervised mode that asks for approvals at a terminal.
    pub(crate) fn supervised() -> Self {
        let [contract, metric_spec, surface_map, runbook, candidate] =
            [CONTRACT, METRIC_SPEC, SURFACE_MAP, RUNBOOK, CANDIDATE].map(value);
        Self { contract, metric_spec, surface_map, runbook, candidate }
    }

    /// The same in autonomous mode, which asks for signatures and has an envelope.
    pub(crate) fn autonomous() -> Self {
        let mut texts = Self::supervised();
        set(&mut texts.contract, "/automation", json!("autonomous"));
        set(&mut texts.contract, "/assurance", json!("signature"));
        let envelope = json!({
            "kinds": ["hyperparameter", "reward_tuning"],
            "surfaces": ["algorithm", "reward"],
            "phases": ["smoke", "short", "confirm"],
            "candidates": 2,
        });
        set(&mut texts.contract, "/experiment/envelope", envelope);
        texts
    }

    /// The candidate that changes nothing and comes first.
    pub(crate) fn baseline(&self) -> Value {
        let mut baseline = self.candidate.clone();
        set(&mut baseline, "/id", json!("baseline"));
        set(&mut baseline, "/kind", json!("baseline"));
        set(&mut baseline, "/changes", json!([]));
        set(&mut baseline, "/arguments", json!([]));
        let phases = json!([
            { "phase": "smoke", "seeds": 1, "wall_clock": "2h" },
            { "phase": "confirm", "seeds": 5, "wall_clock": "2h" },
        ]);
        set(&mut baseline, "/phases", phases);
        baseline
    }
}

fn value(text: &str) -> Value {
    let document = Document::read(Source::new("sample.yaml", text));
    document.unwrap_or_else(|problems| panic!("{problems}")).value().clone()
}

/// Reads a text the way rlx reads the files of a study.
pub(crate) fn read_text<T>(text: &str) -> Reading<T>
where
    T: serde::de::DeserializeOwned + schemars::JsonSchema,
{
    let document = Document::read(Source::new("study.yaml", text));
    let read = document.and_then(|document| {
        let typed = document.typed::<T>()?;
        Ok(Written { typed, explicit: document.value().clone() })
    });
    match read {
        Ok(written) => Reading::Read(Box::new(written)),
        Err(problems) => Reading::Broken(problems.to_string().lines().map(str::to_owned).collect()),
    }
}

/// Writes a value as YAML and reads it back.
pub(crate) fn read_value<T>(value: &Value) -> Reading<T>
where
    T: serde::de::DeserializeOwned + schemars::JsonSchema,
{
    read_text(&to_yaml(value))
}

/// Sets the key that `pointer` names, if its parent exists.
pub(crate) fn set(value: &mut Value, pointer: &str, to: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.insert(key.to_owned(), to)),
        Some(Value::Array(items)) => {
            if let Some(item) = key.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                *item = to;
            }
        }
        _ => {}
    }
}

/// Removes what `pointer` names.
pub(crate) fn remove(value: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(key)),
        Some(Value::Array(items)) => {
            if let Some(index) = key.parse().ok().filter(|index: &usize| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}
