//! Commands that list, compare, draw and describe runs.

pub(super) mod analyze;
mod changed;
pub(super) mod compare;
pub(super) mod diagnose;
pub(super) mod diff;
pub(super) mod explain_metrics;
pub(super) mod info;
pub(super) mod inspect;
pub(super) mod ls;
pub(super) mod note;
pub(super) mod plot;
pub(super) mod rename;
pub(super) mod report;
pub(super) mod rm;
pub(super) mod stats;
pub(super) mod suggest;
pub(super) mod summarize;
pub(super) mod tag;
pub(super) mod tail;
pub(super) mod video;
