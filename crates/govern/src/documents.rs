//! The files of a study, as types. `docs/concepts/studies.md` describes what each contains and who
//! writes it.
//!
//! Optional parts are `Option` or may be left out: types define what can be written, gates check what a
//! purpose requires, so that a draft is always readable. Schemas are made from these types and the files
//! are checked against them.

mod adapter;
mod amount;
mod answered;
mod base;
mod candidate;
mod contract;
mod metric_spec;
mod probe_summary;
mod registry;
mod reward_reflection;
mod runbook;
mod section;
mod slug;
mod statistics;
mod surface_map;

pub use adapter::*;
pub use amount::{Bytes, NotAnAmount, Seconds};
pub use answered::is_answered;
pub use base::Base;
pub use candidate::*;
pub use contract::*;
pub use metric_spec::*;
pub use probe_summary::*;
pub use registry::*;
pub use reward_reflection::*;
pub use runbook::*;
pub use section::Section;
pub use slug::{NotASlug, Slug};
pub use statistics::{FEWEST_SEEDS, Looks, Schedule, ScheduleProblem, Statistics};
pub use surface_map::*;

use serde_json::Value;

/// A file that was read: what it means, and the explicit values that digests cover.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
    pub typed: T,
    /// The explicit values of the file, without defaults.
    pub explicit: Value,
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading<T> {
    /// It is not there.
    Missing,
    /// It exists but is invalid; one problem per line.
    Broken(Vec<String>),
    Read(Box<Written<T>>),
}

impl<T> Reading<T> {
    /// The file, when it could be read.
    pub fn get(&self) -> Option<&Written<T>> {
        match self {
            Reading::Read(written) => Some(written),
            _ => None,
        }
    }

    /// The file as a type, when it could be read.
    pub fn typed(&self) -> Option<&T> {
        self.get().map(|written| &written.typed)
    }
}

/// The four files that people approve.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    /// `contract.yaml`
    pub contract: Reading<Contract>,
    /// `metric_spec.yaml`
    pub metric_spec: Reading<MetricSpec>,
    /// `surface_map.yaml`
    pub surface_map: Reading<SurfaceMap>,
    /// `runbook.yaml`
    pub runbook: Reading<Runbook>,
    /// How overrides reach a run, as `adapter.yaml` says. It becomes part of a command, so it is approved
    /// like the command itself; the rest of that file is not.
    pub override_syntax: Option<String>,
}
