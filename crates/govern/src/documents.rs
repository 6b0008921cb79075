//! The files of a study, as types. What each holds and who writes it stands in `docs/concepts/studies.md`.
//!
//! Optional parts are `Option` or may be left out: types say what can be written, gates say what must be there for a
//! purpose, so that a draft is readable at every moment. Schemas are made from these types and the files are checked
//! against them.

mod adapter;
mod amount;
mod answered;
mod base;
mod candidate;
mod contract;
mod metric_spec;
mod registry;
mod runbook;
mod section;
mod slug;
mod surface_map;

pub use adapter::*;
pub use amount::{Bytes, NotAnAmount, Seconds};
pub use answered::is_answered;
pub use base::Base;
pub use candidate::*;
pub use contract::*;
pub use metric_spec::*;
pub use registry::*;
pub use runbook::*;
pub use section::Section;
pub use slug::{NotASlug, Slug};
pub use surface_map::*;

use serde_json::Value;

/// A file that was read: what it means, and the explicit values that digests cover.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
    pub typed: T,
    /// What stands in the file, nothing filled in.
    pub explicit: Value,
}

/// What became of reading a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading<T> {
    /// It is not there.
    Missing,
    /// It is there and can't be used; what is wrong, one line each.
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
    /// How overrides reach a run, as `adapter.yaml` says. It becomes part of a command, so it is agreed to like the
    /// command itself; nothing else of that file is.
    pub override_syntax: Option<String>,
}
