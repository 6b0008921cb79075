//! The answers of all verbs and the names of their JSON: what `--json` prints
//! under `schema` belongs to the type, whichever surface shows it.

mod names;

use rlxp_spec::{Config, Problem};
use rlxp_store::{Record, RunRow};
use rlxp_types::RunStatus;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::insight::diagnose::{Diagnosis, DiagnosisSummary};
use crate::insight::list::Listing;
use crate::insight::notes::Noted;
use crate::insight::runs::Tagged;
use crate::select::table::KnownRun;
use crate::studies::approve::Prepared;
use crate::studies::launch::outcome::RunOutcome;
use crate::training::envs::EnvRow;

/// An answer with a name: one JSON object whose fields only ever grow under
/// the same name.
pub trait Report: Serialize {
    /// Such as `rlx.run/1`.
    const SCHEMA: &'static str;
}

impl<R: Report> Report for &R {
    const SCHEMA: &'static str = R::SCHEMA;
}

/// `rlx ls`.
#[derive(Debug, Serialize)]
pub struct RunList<'a> {
    /// How many matched; `runs` may be cut at a limit.
    pub found: usize,
    pub runs: Vec<ListedRun<'a>>,
}

/// A run of `rlx ls`.
#[derive(Debug, Serialize)]
pub struct ListedRun<'a> {
    #[serde(flatten)]
    pub row: &'a RunRow,
    /// Estimated seconds left while it is being trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_left: Option<u64>,
    /// Its config, nested as in the file; null if it can't be read.
    pub config: Option<Box<RawValue>>,
}

impl<'a> RunList<'a> {
    pub fn new(listing: &'a Listing) -> Self {
        let listed = |KnownRun { row, config, left }: &'a KnownRun| ListedRun {
            row,
            time_left: *left,
            config: config.as_ref().and_then(|config| RawValue::from_string(config.to_json()).ok()),
        };
        Self { found: listing.found, runs: listing.runs.iter().map(listed).collect() }
    }
}

/// `rlx note`.
#[derive(Debug, Serialize)]
pub struct RunNotes<'a> {
    pub runs: &'a [Noted],
}

/// `rlx tag`.
#[derive(Debug, Serialize)]
pub struct RunTags<'a> {
    pub runs: &'a [Tagged],
    /// The only run, where there is one.
    #[serde(flatten)]
    pub only: Option<&'a Tagged>,
}

/// `rlx rm`.
#[derive(Debug, Serialize)]
pub struct RemovedRuns<'a> {
    pub removed: &'a [String],
    /// As far as their sizes are known.
    pub bytes: u64,
}

/// A line of `rlx tail`.
#[derive(Debug, Serialize)]
pub struct TailedRecord<'a> {
    pub seed: u64,
    pub seq: u64,
    pub step: u64,
    pub wall: f64,
    pub kind: &'a str,
    pub values: &'a serde_json::Map<String, Value>,
}

impl<'a> TailedRecord<'a> {
    pub fn new(seed: u64, record: &'a Record) -> Self {
        let Record { seq, step, wall, kind, values } = record;
        Self { seed, seq: *seq, step: *step, wall: *wall, kind, values }
    }
}

/// The end of `rlx tail`.
#[derive(Debug, Serialize)]
pub struct TailEnd {
    pub status: RunStatus,
    /// Why it ended, where that is recorded.
    pub reason: Option<String>,
}

/// `rlx envs`.
#[derive(Debug, Serialize)]
pub struct Environments<'a> {
    pub environments: &'a [EnvRow],
}

/// `rlx config schema`.
#[derive(Debug, Serialize)]
pub struct ConfigSchema {
    pub json_schema: Value,
}

/// `rlx config check`.
#[derive(Debug, Serialize)]
pub struct ConfigCheck<'a> {
    pub file: &'a str,
    pub valid: bool,
    pub warnings: &'a [Problem],
    pub notes: &'a [String],
}

/// `rlx config show`.
#[derive(Debug, Serialize)]
pub struct ShownConfig<'a> {
    pub config: &'a Config,
    pub warnings: &'a [Problem],
}

/// `rlx diagnose`.
#[derive(Debug, Serialize)]
pub struct Diagnoses<'a> {
    pub error_found: bool,
    pub summary: DiagnosisSummary,
    pub runs: &'a [Diagnosis],
}

/// `rlx approve --print`: what is to be signed.
#[derive(Debug, Serialize)]
pub struct ApprovalStatement<'a> {
    pub statement: &'a str,
    pub prepared: &'a Prepared,
}

/// `rlx launch adopt`.
#[derive(Debug, Serialize)]
pub struct AdoptedRuns<'a> {
    pub runs: &'a [RunOutcome],
}
