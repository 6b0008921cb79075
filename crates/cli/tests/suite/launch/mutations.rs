//! Everything that can change between validating a candidate and launching it, each as an edit of a repository, with the
//! parts of the plan that must then be named.

use std::path::Path;

use rlxp_types::Digest;
use serde_json::{Value, json};

use crate::launch::repository::Repository;

/// The candidate that is launched while things change.
pub(crate) const CANDIDATE: &str = "reward";
/// A program that git ignores.
const PYTHON: &str = ".venv/bin/python";
const INPUT: &str = "data/start_states.json";
const EVALUATION: &str = "src/balance_eval/evaluate.py";
const REWARD: &str = "src/balance/reward.py";
const ADAPTER: &str = ".rlxp/tasks/balance/adapter.yaml";
/// The files of the study that mutations edit.
const DOCUMENTS: [&str; 5] =
    ["contract.yaml", "metric_spec.yaml", "surface_map.yaml", "runbook.yaml", "candidates/reward.yaml"];

/// One change.
pub(crate) struct Mutation {
    /// The part of the plan that it is about.
    pub(crate) part: &'static str,
    pub(crate) differ: &'static [&'static str],
    /// Whether it voids approvals.
    pub(crate) is_approved: bool,
    apply: fn(&Repository),
}

const fn agreed(part: &'static str, differ: &'static [&'static str], apply: fn(&Repository)) -> Mutation {
    Mutation { part, differ, is_approved: true, apply }
}

const fn found(part: &'static str, differ: &'static [&'static str], apply: fn(&Repository)) -> Mutation {
    Mutation { part, differ, is_approved: false, apply }
}

const EXPERIMENT: [&str; 2] = ["section:experiment", "candidate"];

/// All but the incumbent, which only the ledger can change.
pub(crate) const MUTATIONS: [Mutation; 17] = [
    agreed(
        "section:task",
        &[
            "section:task",
            "section:metrics",
            "section:scope",
            "section:budget",
            "section:hardware",
            "section:baseline",
            "section:evaluation",
            "section:experiment",
            "candidate",
        ],
        |repository| set(repository, "contract.yaml", "/task/mission", json!("fall over slowly")),
    ),
    agreed(
        "section:metrics",
        &["section:metrics", "section:evaluation", EXPERIMENT[0], EXPERIMENT[1]],
        |repository| set(repository, "metric_spec.yaml", "/smallest_effect", json!(0.01)),
    ),
    agreed("section:scope", &["section:scope", EXPERIMENT[0], EXPERIMENT[1]], |repository| {
        set(repository, "surface_map.yaml", "/surfaces/1/keys/1/max", json!(0.9));
    }),
    agreed("section:budget", &["section:budget", EXPERIMENT[0], EXPERIMENT[1]], |repository| {
        set(repository, "contract.yaml", "/budget/runs", json!(39));
    }),
    agreed(
        "section:hardware",
        &["section:hardware", "section:baseline", EXPERIMENT[0], EXPERIMENT[1]],
        |repository| set(repository, "contract.yaml", "/hardware/network", json!("loopback")),
    ),
    agreed("section:baseline", &["section:baseline", EXPERIMENT[0], EXPERIMENT[1]], |repository| {
        set(repository, "contract.yaml", "/baseline/description", json!("something else"));
    }),
    agreed("section:evaluation", &["section:evaluation", EXPERIMENT[0], EXPERIMENT[1]], |repository| {
        set(repository, "contract.yaml", "/evaluation/description", json!("by eye"));
    }),
    agreed("section:experiment", &EXPERIMENT, |repository| {
        set(repository, "contract.yaml", "/experiment/description", json!("whatever comes to mind"));
    }),
    agreed("candidate", &["candidate"], |repository| {
        set(repository, "candidates/reward.yaml", "/hypothesis", json!("it was my idea"));
    }),
    agreed("protocol", &["protocol", "section:evaluation", EXPERIMENT[0], EXPERIMENT[1]], |repository| {
        set(repository, "metric_spec.yaml", "/protocol/episodes", json!(1))
    }),
    agreed("environment", &["environment", "section:baseline", EXPERIMENT[0], EXPERIMENT[1]], |repository| {
        set(repository, "runbook.yaml", "/train/environment", json!(["SECRET"]))
    }),
    found("adapter", &["adapter"], |repository| {
        repository.rlx("study audit --claim train_command:src/balance/env.py:1").expect(0);
    }),
    agreed(
        "protected_files",
        &["protected_files", "code", "section:baseline", EXPERIMENT[0], EXPERIMENT[1]],
        |repository| start_from_another_commit(repository, Some(EVALUATION)),
    ),
    agreed("code", &["code", "section:baseline", EXPERIMENT[0], EXPERIMENT[1]], |repository| {
        start_from_another_commit(repository, None);
    }),
    agreed("changes", &["changes", "code", "section:baseline", EXPERIMENT[0], EXPERIMENT[1]], |repository| {
        start_from_another_commit(repository, Some(REWARD));
    }),
    found("programs", &["programs"], |repository| {
        std::fs::remove_file(repository.path(PYTHON)).unwrap();
        let script = format!("#!/bin/sh\nexec {} \"$@\"\n", crate::launch::repository::python().display());
        std::fs::write(repository.path(PYTHON), script).unwrap();
        rustix::fs::chmod(repository.path(PYTHON), rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    }),
    found("inputs", &["inputs"], |repository| append(repository, INPUT, " ")),
];

impl Mutation {
    pub(crate) fn apply(&self, repository: &Repository) {
        (self.apply)(repository);
    }
}

/// Names another commit in the contract, in which a file is longer. The working copy stays as it is.
fn start_from_another_commit(repository: &Repository, name: Option<&str>) {
    let head = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let contract: Value = serde_json::from_str(&repository.read("contract.yaml")).unwrap();
    repository.git(&["reset", "--quiet", "--hard", contract["baseline"]["commit"].as_str().unwrap()]);
    if let Some(name) = name {
        append(repository, name, "\n# more\n");
    }
    repository.git(&["commit", "--quiet", "--all", "--allow-empty", "--message", "Another start"]);
    let commit = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repository.git(&["reset", "--quiet", "--hard", &head]);
    set(repository, "contract.yaml", "/baseline/commit", json!(commit));
}

fn append(repository: &Repository, name: &str, text: &str) {
    let before = std::fs::read_to_string(repository.path(name)).unwrap();
    std::fs::write(repository.path(name), before + text).unwrap();
}

/// Another value somewhere in a document of the study.
fn set(repository: &Repository, name: &str, pointer: &str, value: Value) {
    let mut document: Value = serde_json::from_str(&repository.read(name)).unwrap();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("{name} has no {pointer}"));
    parent[key] = value;
    std::fs::write(repository.file(name), serde_json::to_string_pretty(&document).unwrap()).unwrap();
}

/// The original of everything that mutations change.
pub(crate) struct Before {
    documents: Vec<(&'static str, String)>,
    files: Vec<(&'static str, Vec<u8>)>,
    python: std::path::PathBuf,
    head: String,
}

impl Before {
    pub(crate) fn read(repository: &Repository) -> Self {
        let bytes = |name: &&'static str| (*name, std::fs::read(repository.path(name)).unwrap());
        Self {
            documents: DOCUMENTS.iter().map(|name| (*name, repository.read(name))).collect(),
            files: [INPUT, EVALUATION, REWARD, ADAPTER].iter().map(bytes).collect(),
            python: std::fs::read_link(repository.path(PYTHON)).unwrap(),
            head: repository.git(&["rev-parse", "HEAD"]).trim().to_owned(),
        }
    }

    /// Restores all files. Approvals and the candidate's state are in the ledger, and stay as they are.
    pub(crate) fn restore(&self, repository: &Repository) {
        for (name, text) in &self.documents {
            std::fs::write(repository.file(name), text).unwrap();
        }
        for (name, bytes) in &self.files {
            std::fs::write(repository.path(name), bytes).unwrap();
        }
        std::fs::remove_file(repository.path(PYTHON)).unwrap();
        std::os::unix::fs::symlink(&self.python, repository.path(PYTHON)).unwrap();
        repository.git(&["update-ref", "HEAD", &self.head]);
        repository.git(&["reset", "--quiet"]);
        assert_eq!(repository.git(&["status", "--porcelain"]), "?? .rlxp/\n");
    }
}

/// Records a verdict, as a judging command would: everything is compared with the last baseline.
pub(crate) fn accept(repository: &Repository, candidate: &str) {
    let ledger = repository.ledger();
    let last = ledger.last().unwrap();
    assert_eq!(digest(last), last["digest"].as_str().unwrap(), "records have another form now");
    let mut record = json!({
        "seq": last["seq"].as_u64().unwrap() + 1, "at": last["at"], "actor": last["actor"], "kind": "judged",
        "body": {
            "candidate": candidate, "phase": "smoke", "verdict": "accepted", "inputs": Digest::ZERO, "score": null,
        },
        "prev": last["digest"],
    });
    record["digest"] = digest(&record).into();
    record.sort_all_objects();
    let file = repository.file("ledger.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}{record}\n")).unwrap();
}

fn digest(record: &Value) -> String {
    let mut record = record.clone();
    record.as_object_mut().unwrap().remove("digest");
    record.sort_all_objects();
    Digest::hash(record.to_string().as_bytes()).to_string()
}

/// How many folders of runs there are.
pub(crate) fn run_folders(state: &Path) -> usize {
    std::fs::read_dir(state.join("runs")).map_or(0, Iterator::count)
}
