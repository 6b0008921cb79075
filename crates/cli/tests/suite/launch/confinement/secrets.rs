//! Values of environment variables: they reach the step that was promised them, and nothing else.

use std::path::Path;

use serde_json::Value;

use super::log;
use crate::governed::study::Ran;
use crate::launch::candidates::{baseline, learning_rate, reward_with};
use crate::launch::repository::Repository;

const LISTED: (&str, &str) = ("BALANCE_TOKEN", "canary-5up3r-l1st3d-94713");
const UNLISTED: (&str, &str) = ("OTHER_TOKEN", "canary-0th3r-unl1st3d-20587");

/// Prints the value in several ways, and fails with it: the reason for the end is recorded in the ledger.
const CODE: &str = "\
import base64
import os
import sys

value = os.environ['BALANCE_TOKEN']
print('got', len(value), value[::-1] == 'VALUE'[::-1], 'OTHER_TOKEN' in os.environ, flush=True)
print('plain', value, flush=True)
print(f'inside({value})', file=sys.stderr, flush=True)
sys.stdout.write('torn ' + value[:10])
sys.stdout.flush()
print(value[10:], flush=True)
print(base64.b64encode(value.encode()).decode(), flush=True)
raise RuntimeError('no luck with ' + value)";

#[test]
fn secrets_reach_the_step_and_no_file() {
    let build = Repository::build().without_baseline();
    let repository =
        build.agree(|agreed| agreed.runbook["train"]["environment"] = vec![LISTED.0].into()).approved();
    // The code contains only half of it, so that the value isn't found in the code itself.
    let (start, end) = LISTED.1.split_at(9);
    repository.ready("secrets", reward_with(&CODE.replace("'VALUE'", &format!("('{start}' + '{end}')"))));
    let variables = [LISTED, UNLISTED];
    let mut ran: Vec<Ran> = Vec::new();
    let plan = repository.rlx_where(&variables, "launch secrets --json");
    let line = repository.execute("secrets", plan.json()["plan"].as_str().unwrap());
    ran.push(plan);
    ran.push(repository.rlx_where(&variables, &line).expect(4));
    let key = &repository.runs_of("secrets")[0];
    let log = log(&repository, key, "train");
    assert!(log.contains(&format!("got {} True False", LISTED.1.len())), "{log}");
    assert!(log.contains("plain [redacted BALANCE_TOKEN]"), "{log}");
    assert!(repository.end_of(key)["reason"].as_str().unwrap().contains("no luck with [redacted"), "{log}");

    for line in
        ["launch status", "launch status --json", "study next --json", "study status --json", "doctor --json"]
    {
        ran.push(repository.rlx_where(&variables, line));
    }
    for line in [format!("launch logs {key}"), format!("launch logs {key} --json")] {
        ran.push(repository.rlx_where(&variables, &line).expect(0));
    }
    for (_, value) in variables {
        for ran in &ran {
            assert!(!ran.stdout.contains(value) && !ran.stderr.contains(value), "{} shows it", ran.line);
        }
        for folder in [&repository.path(""), repository.home(), &repository.state()] {
            assert_nowhere(folder, value);
        }
    }
}

/// Runs that are compared got different values: no file has them, and yet it shows.
#[test]
fn another_value_than_in_the_baseline_shows() {
    let build = Repository::build()
        .file("train.sh", "echo trained > \"$2/policy.json\"\n")
        .train_with(&["sh", "train.sh", "{seed}", "{run}"])
        .quick_eval()
        .agree(|agreed| {
            agreed.runbook["artifacts"] = vec!["policy.json"].into();
            agreed.runbook["train"]["environment"] = vec![LISTED.0].into();
        });
    let repository = build.approved();
    repository.ready("baseline", baseline());
    for _ in ["smoke", "confirm"] {
        let line = repository.execute("baseline", &repository.plan("baseline"));
        repository.rlx_where(&[LISTED], &line).expect(0);
    }
    repository.rlx("study extract").expect(0);
    let orders: Vec<Value> = repository
        .runs_of("baseline")
        .iter()
        .map(|key| std::fs::read_to_string(repository.run_folder(key).join("order.json")).unwrap())
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect();
    let mark = |order: &Value| order["steps"][0]["values"][LISTED.0].clone();
    assert!(mark(&orders[1])["digest"].is_string(), "{}", orders[1]);
    assert_ne!(mark(&orders[1])["digest"], mark(&orders[2])["digest"], "equal values don't show");
    assert!(orders.iter().all(|order| mark(order)["differs_from"].is_null()));

    repository.ready("reward", learning_rate(1.0));
    let warned = |value: &str| {
        let plan = repository.rlx_where(&[(LISTED.0, value)], "launch reward --json").expect(0).json();
        plan["warnings"]
            .to_string()
            .contains("train: BALANCE_TOKEN has another value than in run baseline-r1-confirm-")
    };
    assert!(!warned(LISTED.1));
    assert!(warned("something else"));
    let line = repository.execute("reward", &repository.plan("reward"));
    repository.rlx_where(&[(LISTED.0, "something else")], &line).expect(0);
    let key = repository.runs_of("reward").remove(0);
    let text = std::fs::read_to_string(repository.run_folder(&key).join("order.json")).unwrap();
    let order: Value = serde_json::from_str(&text).unwrap();
    assert!(mark(&order)["differs_from"].as_str().unwrap().starts_with("baseline-r1-confirm-"), "{order}");
}

/// No file below a folder contains these bytes, in its content or its name.
#[track_caller]
fn assert_nowhere(folder: &Path, value: &str) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert!(!path.to_string_lossy().contains(value));
            if path.is_symlink() {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                let found = bytes.windows(value.len()).any(|window| window == value.as_bytes());
                assert!(!found, "it stands in {}", path.display());
            }
        }
    }
}
