//! Config: YAML to a checked, resolved snapshot, with spans and JSON Schema.
//!
//! A file goes from [`Source`] to a tree with spans, to a JSON value with
//! places, and is checked against the schema of [`Config`]'s types. Layers
//! (overrides, file, starter, defaults of the types) are merged and read as a
//! [`Config`]. Every step adds its problems to one report, so a user sees all
//! of them at once.
//!
//! Other hand-written YAML files go the first half of that way: see [`document`].

#![warn(missing_docs)]

mod clean;
pub mod config;
pub mod document;
mod keys;
mod layers;
mod load;
mod nearest;
mod overrides;
mod problem;
mod reference;
mod render;
mod scalar;
mod snapshot;
mod source;
mod starters;
mod tree;

pub use config::Config;
pub use keys::{known_keys, schema, value_types};
pub use load::{Known, Loaded, load};
pub use nearest::nearest;
pub use overrides::Override;
pub use problem::{Problem, Problems, Severity};
pub use reference::config_reference;
pub use render::render;
pub use snapshot::{SNAPSHOT_FORMAT, Snapshot, from_snapshot, to_snapshot, to_yaml};
pub use source::{MAX_BYTES, OVERRIDES_NAME, Source};
pub use starters::{GYMNASIUM_CLASS, GYMNASIUM_README, Starter, gymnasium_starters, starters};
