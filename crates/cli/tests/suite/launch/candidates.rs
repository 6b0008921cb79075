//! Candidates as an agent writes them: nothing changed, a number changed, the reward's code changed.

use serde_json::{Value, json};

/// The file that a change of the reward is about.
pub(crate) const REWARD: &str = "src/balance/reward.py";
/// What a change of the reward builds on, in the study's folder.
pub(crate) const REFLECTION: &str = "reflections/first.json";

/// Nothing changed, a smoke run and those that everything is compared with.
pub(crate) fn baseline() -> Value {
    json!({
        "schema": "rlxp.candidate/1", "task": "balance", "study": "tuning",
        "kind": "baseline", "hypothesis": "what everything is compared with",
    })
}

/// Nothing changed, evaluated from its first run on.
pub(crate) fn probe() -> Value {
    json!({
        "schema": "rlxp.candidate/1", "task": "balance", "study": "tuning",
        "kind": "probe", "hypothesis": "what one parameter does",
        "requirements": {"parameter": {"key": "env.gravity", "values": [8.5, 9.5]}},
    })
}

/// The learning rate set to another value.
pub(crate) fn learning_rate(to: f64) -> Value {
    let set = json!({
        "surface": "ppo", "operation": "set", "path": "configs/ppo.yaml", "key": "learning_rate",
        "from": 2.0, "to": to,
    });
    change("hyperparameter", "steps of another size learn faster", set)
}

/// A step upright is worth this much.
pub(crate) fn reward_scale(to: f64) -> Value {
    let patch = format!(
        "--- a/{REWARD}\n+++ b/{REWARD}\n@@ -3,3 +3,3 @@\n # How much a step upright is worth.\n\
         -REWARD_SCALE = 1.0\n+REWARD_SCALE = {to:?}\n # What pushing costs.\n"
    );
    let edit = json!({"surface": "reward", "operation": "edit_code", "path": REWARD, "patch": patch});
    let mut value = change("reward_tuning", "what falls over learns too little from a step", edit);
    value["requirements"] = json!({"reflection": REFLECTION});
    value
}

/// The reward with more code in front of it, which runs inside training when the reward is imported: where tests put
/// hostile code.
pub(crate) fn reward_with(code: &str) -> Value {
    let added: String = code.lines().map(|line| format!("+{line}\n")).collect();
    let patch = format!(
        "--- a/{REWARD}\n+++ b/{REWARD}\n@@ -1,2 +1,{} @@\n \"\"\"What training is paid by.\"\"\"\n{added} \n",
        2 + code.lines().count()
    );
    let mut value = reward_scale(1.0);
    value["kind"] = "reward_engineering".into();
    value["changes"][0]["patch"] = patch.into();
    value
}

pub(crate) fn phase(name: &str, seeds: u64) -> Value {
    json!({"phase": name, "seeds": seeds, "wall_clock": "60s"})
}

fn change(kind: &str, hypothesis: &str, change: Value) -> Value {
    json!({
        "schema": "rlxp.candidate/1", "task": "balance", "study": "tuning",
        "kind": kind, "hypothesis": hypothesis, "changes": [change],
        "rollback": "the line as it was", "risk": "it learns less",
    })
}
