//! A whole campaign on a repository whose training is `rlx train`.

use serde_json::json;

use crate::launch::autoloop::{Campaign, set, study};
use crate::project::RLX;

const CONFIG: &str = "\
run_name: c
seed: 0
threads: 1
env: {id: CartPole-v1, num_envs: 4}
algo:
  total_timesteps: 4096
  rollout_steps: 128
  batch_size: 128
  update_epochs: 4
  learning_rate: 0.001
policy: {hidden_sizes: [16]}
checkpoint:
  keep: 3
eval: {every: 4096, episodes: 5}
";

/// Paths of `--root` are relative to that folder, and the config is in the tree.
const TRAIN: &str = r#"exec "$1" --root "$3" train "$PWD/configs/ppo.yaml" --set seed="$2""#;
/// An evaluation is saved with its run, and trained files are read-only.
const EVAL: &str = r#"
set -e
cp -r "$3/runs" "$4/runs"
"$1" --root "$4" eval c_001:latest --episodes 20 --seed "$2" --json > "$4/scores.json"
"#;

#[test]
fn a_campaign_of_rlx_train() {
    let build = study(5, 150, 15, &[5, 10, 15])
        .file("configs/ppo.yaml", CONFIG)
        .file("train.sh", TRAIN)
        .file("src/balance_eval/eval.sh", EVAL)
        .train_with(&["sh", "train.sh", RLX, "{seed}", "{run}"])
        .eval_with(&["sh", "src/balance_eval/eval.sh", RLX, "{seed}", "{trained}", "{run}"]);
    let repository = build
        .agree(|agreed| {
            agreed.runbook["read"] = json!([RLX]);
            agreed.runbook["artifacts"] = json!(["runs/c_001/metadata.json"]);
            agreed.surface_map["surfaces"][1]["keys"] = json!([
                {"key": "algo.learning_rate", "min": 1e-6, "max": 0.1},
                {"key": "algo.update_epochs", "min": 1, "max": 20},
                {"key": "checkpoint.keep", "min": 1, "max": 10},
            ]);
            agreed.metric_spec["primary"]["source"]["pointer"] = "/rows/0/mean_return".into();
            agreed.metric_spec["smallest_effect"] = 20.0.into();
        })
        .approved();
    let whole = |mut value: serde_json::Value, from: u64, to: u64| {
        (value["changes"][0]["from"], value["changes"][0]["to"]) = (from.into(), to.into());
        value
    };
    let campaign = Campaign {
        better: set("algo.learning_rate", 0.001, 0.005),
        equal: whole(set("checkpoint.keep", 3.0, 4.0), 3, 4),
        worse: set("algo.learning_rate", 0.005, 0.00001),
        builds_on_it: whole(set("algo.update_epochs", 4.0, 8.0), 4, 8),
    };
    campaign.run(&repository);
}
