//! Run folders: the record of every run, in plain files, and an index over
//! them that can be deleted at any time.
//!
//! ```text
//! runs/<run_name>_<nnn>/        Project, Run
//!   config_snapshot.yaml
//!   metadata.json               Metadata
//!   labels/<n>.json             Run::change_labels, Run::labels
//!   attempts/<k>/               Claim: claim.json, end.json, reserve
//!   metrics.jsonl               MetricsWriter, read_metrics, MetricsFollower
//!   checkpoints/step_<n>/       CheckpointStore, Manifest
//!   eval/<name>.json            SeedFolder
//!   logs/superseded_<k>…        recover
//!   seeds/<seed>/…              the last four, for a run of several seeds
//! runs/.index.sqlite            Index
//! ```
//!
//! The order of a training process: [`Project::create_run`] (or
//! [`resolve()`]), [`Run::claim`], for each of [`Run::seed_folders`] either
//! nothing or [`recover()`], [`SeedFolder::metrics_writer`]; then, at each save,
//! [`Claim::ensure_mine`], [`MetricsWriter::sync`], [`CheckpointStore::save`]
//! with the position it returned, `set_link(BEST, …)`, `prune`; at last
//! [`Claim::end`].
//!
//! [`LedgerFile`] is the ledger of a governed study, beside all this: lines that are
//! only added, by one writer at a time. Their meaning is defined by `rlxp-govern`.
//!
//! [`foreign`] reads the log files of other tools, and [`executable`] says which trained
//! files could run code when they are loaded.
//!
//! This crate doesn't interpret networks: a model and a state are bytes.

#![warn(missing_docs)]

mod attempt;
mod checkpoint;
mod end;
mod error;
pub mod executable;
pub mod foreign;
mod index;
mod labels;
mod ledger_file;
mod leftovers;
mod manifest;
mod metadata;
mod metrics;
mod numbers;
mod plain;
mod project;
mod recover;
mod remove;
mod resolve;
mod run;
mod seed_folder;
mod space;
mod stop_request;
mod summary;
mod writer;

pub use attempt::{Attempt, Claim, StatusReport, TakeOver};
pub use checkpoint::{BEST, Checkpoint, CheckpointStore, DamagedCheckpoint, LATEST, NewestCheckpoint};
pub use end::{End, Outcome};
pub use error::StoreError;
pub use index::{ConfigReader, ConfigValues, Index, RunFilter, RunRow, places_by_age, places_in_order};
pub use labels::{LabelChange, Labels, Note};
pub use ledger_file::{LedgerFile, Lock, LockedLedger};
pub use manifest::{
    Best, CheckpointFacts, FileFacts, MANIFEST_FILE, MANIFEST_SCHEMA, MODEL_FILE, Manifest, STATE_FILE,
    SaveReason,
};
pub use metadata::{GitState, Lineage, LineageKind, METADATA_SCHEMA, Metadata, Versions};
pub use metrics::{
    Damage, MEAN_RETURN, MetricColumns, MetricValue, MetricsContent, MetricsFollower, MetricsPosition,
    MetricsWriter, RECORD_LIMIT, Record, Series, TIMING_KIND, read_columns, read_metrics,
};
pub use project::{Fill, NewRun, Project};
pub use recover::{Recovery, recover};
pub use remove::Leftover;
pub use resolve::resolve;
pub use run::{CONFIG_FILE, METADATA_FILE, Run};
pub use seed_folder::{Evaluation, SeedFolder};
pub use space::{estimate_bytes, preflight};
pub use summary::Summary;
pub use writer::{Liveness, Purpose, Writer};
