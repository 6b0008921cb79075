//! What a person approves: the sections of a contract and three permissions, which file parts each covers, what each
//! depends on, and the digest that an approval names.
//!
//! Every explicit value of the four files belongs to a section ([`COVERAGE`]); a section's digest contains the digests
//! of what it depends on, so a change anywhere below changes everything above, and nothing beside.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use rlxp_types::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::canonical;
pub use crate::documents::Section;
use crate::documents::{Files, Slug};
use crate::signature::Fingerprint;

/// One of the four files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// `contract.yaml`
    Contract,
    /// `metric_spec.yaml`
    MetricSpec,
    /// `surface_map.yaml`
    SurfaceMap,
    /// `runbook.yaml`
    Runbook,
}

impl File {
    /// All four.
    pub const ALL: [File; 4] = [File::Contract, File::MetricSpec, File::SurfaceMap, File::Runbook];

    /// Its name in the study's folder.
    pub fn name(self) -> &'static str {
        match self {
            File::Contract => "contract.yaml",
            File::MetricSpec => "metric_spec.yaml",
            File::SurfaceMap => "surface_map.yaml",
            File::Runbook => "runbook.yaml",
        }
    }
}

use File::{Contract, MetricSpec, Runbook, SurfaceMap};
use Section::*;

/// The one key of `adapter.yaml` that is approved, with the scope: its text becomes program arguments, like
/// those of a runbook.
const OVERRIDE_SYNTAX: &str = "adapter.yaml:override_syntax";

/// Which section each top-level key of each file belongs to. `assurance` and the files' `schema` belong to all, and
/// each entry of `exceptions` to the section it names.
pub const COVERAGE: [(File, &str, Section); 40] = [
    (Contract, "task", Task),
    (Contract, "metrics", Metrics),
    (Contract, "scope", Scope),
    (Contract, "budget", Budget),
    (Contract, "stop_rules", Budget),
    (Contract, "hardware", Hardware),
    (Contract, "confinement", Hardware),
    (Contract, "baseline", Baseline),
    (Contract, "evaluation", Evaluation),
    (Contract, "statistics", Evaluation),
    (Contract, "experiment", Experiment),
    (Contract, "automation", Experiment),
    (MetricSpec, "schema", Metrics),
    (MetricSpec, "primary", Metrics),
    (MetricSpec, "components", Metrics),
    (MetricSpec, "guardrails", Metrics),
    (MetricSpec, "rollback", Metrics),
    (MetricSpec, "diagnostics", Metrics),
    (MetricSpec, "scorecard", Metrics),
    (MetricSpec, "failure_score", Metrics),
    (MetricSpec, "smallest_effect", Metrics),
    (MetricSpec, "protocol", Evaluation),
    (SurfaceMap, "schema", Scope),
    (SurfaceMap, "surfaces", Scope),
    (SurfaceMap, "protected", Scope),
    (Runbook, "schema", Baseline),
    (Runbook, "preflight", Baseline),
    (Runbook, "smoke", Baseline),
    (Runbook, "train", Baseline),
    (Runbook, "cancel", Baseline),
    (Runbook, "import_roots", Baseline),
    (Runbook, "inputs", Baseline),
    (Runbook, "read", Baseline),
    (Runbook, "artifacts", Baseline),
    (Runbook, "stop", Baseline),
    (Runbook, "resources", Baseline),
    (Runbook, "eval", Evaluation),
    (Runbook, "probe", Evaluation),
    (Contract, "schema", Task),
    (Contract, "assurance", Task),
];

impl Section {
    /// All of them, dependencies first.
    pub const ALL: [Section; 11] =
        [Task, Metrics, Scope, Budget, Hardware, Baseline, Evaluation, Experiment, Plan, Execute, LoopEntry];

    /// The eight of the contract.
    pub const CONTRACT: [Section; 8] =
        [Task, Metrics, Scope, Budget, Hardware, Baseline, Evaluation, Experiment];

    /// What it depends on directly. Everything depends on `Task`, which also carries the contract's format and the
    /// assurance it asks for.
    pub fn depends_on(self) -> &'static [Section] {
        match self {
            Task => &[],
            Metrics | Scope | Budget | Hardware => &[Task],
            Baseline => &[Task, Hardware],
            Evaluation => &[Task, Metrics],
            Experiment => &[Task, Metrics, Scope, Budget, Hardware, Baseline, Evaluation],
            Plan => &[Task, Metrics, Scope, Budget, Evaluation],
            Execute => &[Task, Metrics, Scope, Budget, Hardware, Baseline, Evaluation, Experiment, Plan],
            LoopEntry => &[Execute],
        }
    }

    /// Itself and all that is void with it.
    pub fn dependents(self) -> BTreeSet<Section> {
        let mut all = BTreeSet::from([self]);
        // Dependencies come first, so one pass finds everything.
        for section in Section::ALL {
            if section.depends_on().iter().any(|below| all.contains(below)) {
                all.insert(section);
            }
        }
        all
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Task => "task",
            Metrics => "metrics",
            Scope => "scope",
            Budget => "budget",
            Hardware => "hardware",
            Baseline => "baseline",
            Evaluation => "evaluation",
            Experiment => "experiment",
            Plan => "plan",
            Execute => "execute",
            LoopEntry => "loop_entry",
        })
    }
}

/// What one approval is about: a section, one candidate within the experiment section, or one run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// A section
    Section(Section),
    /// A candidate in its current form
    Candidate(Slug),
    /// That a run counts as evidence
    Run(String),
    /// That the study may be closed
    Close,
}

/// The text names neither.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is neither a section, `candidate:<id>`, `run:<key>` nor `close`")]
pub struct NotATarget(String);

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Section(section) => section.fmt(f),
            Target::Candidate(id) => write!(f, "candidate:{id}"),
            Target::Run(key) => write!(f, "run:{key}"),
            Target::Close => f.pad("close"),
        }
    }
}

impl FromStr for Target {
    type Err = NotATarget;

    fn from_str(text: &str) -> Result<Self, NotATarget> {
        if let Some(id) = text.strip_prefix("candidate:") {
            return id.parse().map(Target::Candidate).map_err(|_| NotATarget(text.into()));
        }
        if let Some(key) = text.strip_prefix("run:") {
            // A statement lists targets with spaces between them.
            let is_plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
            return if is_plain { Ok(Target::Run(key.into())) } else { Err(NotATarget(text.into())) };
        }
        if text == "close" {
            return Ok(Target::Close);
        }
        let found = Section::ALL.into_iter().find(|section| section.to_string() == text);
        found.map(Target::Section).ok_or_else(|| NotATarget(text.into()))
    }
}

impl TryFrom<String> for Target {
    type Error = NotATarget;

    fn try_from(text: String) -> Result<Self, NotATarget> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

/// What all digests of a study have in common: nothing approved in one study counts in another, or under other approvers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The study's unique id, from its first record
    pub study: String,
    /// The approvers at this moment
    pub approvers: BTreeSet<Fingerprint>,
}

/// The digest of every section whose files could be read; a section without a digest can't be approved.
pub fn digests(identity: &Identity, files: &Files) -> BTreeMap<Section, Digest> {
    let mut found: BTreeMap<Section, Digest> = BTreeMap::new();
    for section in Section::ALL {
        let Some(content) = content(section, files) else { continue };
        let below: Option<Map<String, Value>> = section
            .depends_on()
            .iter()
            .map(|below| Some((below.to_string(), Value::from(found.get(below)?.to_string()))))
            .collect();
        let Some(below) = below else { continue };
        let whole = json!({
            "schema": "rlxp.section/1",
            "study": identity.study,
            "approvers": identity.approvers,
            "section": section,
            "content": content,
            "depends_on": below,
        });
        found.insert(section, canonical::digest(&whole));
    }
    found
}

/// The digest of a candidate within the approved agreement.
pub fn candidate_digest(experiment: Digest, candidate: &Value) -> Digest {
    canonical::digest(&json!({
        "schema": "rlxp.section/1",
        "section": "candidate",
        "depends_on": { "experiment": experiment },
        "content": candidate,
    }))
}

/// The digest of the permission to close a study.
pub fn close_digest(identity: &Identity) -> Digest {
    canonical::digest(&close_value(identity))
}

/// What the permission to close a study covers.
pub fn close_value(identity: &Identity) -> Value {
    json!({
        "schema": "rlxp.section/1",
        "study": identity.study,
        "approvers": identity.approvers,
        "section": "close",
    })
}

/// The digest that one signature over several targets covers.
pub fn together(targets: &BTreeMap<Target, Digest>) -> Digest {
    let listed: Map<String, Value> = targets
        .iter()
        .map(|(target, digest)| (target.to_string(), Value::from(digest.to_string())))
        .collect();
    canonical::digest(&Value::Object(listed))
}

/// All explicit values of a section, by file and key. `None` when a required file can't be read.
pub fn content(section: Section, files: &Files) -> Option<Value> {
    let mut parts = Map::new();
    for (file, key, owner) in COVERAGE {
        if owner == section
            && let Some(value) = explicit(files, file)?.get(key)
        {
            parts.insert(format!("{}:{key}", file.name()), value.clone());
        }
    }
    if section == Scope
        && let Some(syntax) = &files.override_syntax
    {
        parts.insert(OVERRIDE_SYNTAX.into(), Value::from(syntax.as_str()));
    }
    let exceptions = explicit(files, Contract)?.get("exceptions").and_then(Value::as_array);
    let named = Value::from(section.to_string());
    let own: Vec<Value> = exceptions
        .into_iter()
        .flatten()
        .filter(|exception| exception.get("section") == Some(&named))
        .cloned()
        .collect();
    if !own.is_empty() {
        parts.insert("contract.yaml:exceptions".into(), Value::from(own));
    }
    Some(Value::Object(parts))
}

fn explicit(files: &Files, file: File) -> Option<&Value> {
    match file {
        Contract => files.contract.get().map(|written| &written.explicit),
        MetricSpec => files.metric_spec.get().map(|written| &written.explicit),
        SurfaceMap => files.surface_map.get().map(|written| &written.explicit),
        Runbook => files.runbook.get().map(|written| &written.explicit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_depends_on_the_task_and_nothing_on_loop_entry() {
        assert_eq!(Task.dependents(), Section::ALL.into_iter().collect());
        assert_eq!(LoopEntry.dependents(), BTreeSet::from([LoopEntry]));
        assert_eq!(
            Metrics.dependents(),
            BTreeSet::from([Metrics, Evaluation, Experiment, Plan, Execute, LoopEntry])
        );
    }

    #[test]
    fn what_a_section_depends_on_stands_before_it() {
        for (index, section) in Section::ALL.into_iter().enumerate() {
            for below in section.depends_on() {
                assert!(Section::ALL[..index].contains(below), "{section} {below}");
            }
        }
    }

    #[test]
    fn every_key_of_every_file_belongs_to_a_section() {
        for (file, schema) in [
            (Contract, schemars::schema_for!(crate::documents::Contract)),
            (MetricSpec, schemars::schema_for!(crate::documents::MetricSpec)),
            (SurfaceMap, schemars::schema_for!(crate::documents::SurfaceMap)),
            (Runbook, schemars::schema_for!(crate::documents::Runbook)),
        ] {
            let keys = schema.as_value()["properties"].as_object().unwrap();
            for key in keys.keys().filter(|key| *key != "exceptions") {
                let owners =
                    COVERAGE.iter().filter(|(owner, covered, _)| *owner == file && covered == key).count();
                assert_eq!(owners, 1, "{} {key}", file.name());
            }
        }
    }

    #[test]
    fn targets_as_text() {
        for text in ["task", "loop_entry", "candidate:lower-lr", "run:lower-lr-r1-short-0-1", "close"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for wrong in ["", "Task", "candidate:", "candidate:../x", "run:", "run:a b", "run:a\n", "everything"]
        {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
