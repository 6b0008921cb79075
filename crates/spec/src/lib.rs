//! Config: YAML to a checked, resolved snapshot, with spans and JSON Schema.
//!
//! The way of a file: [`Source`] → tree with spans → values by the table of
//! fields → layers (overrides, file, starter, general defaults) →
//! [`Config`]. Every step adds its problems to one report, so a user sees all
//! of them at once.
//!
//! Other hand-written YAML files take the shorter way of [`document`]: the
//! same tree, their explicit values, and the JSON Schema of a type.

#![warn(missing_docs)]

mod check;
mod clean;
mod compounds;
pub mod config;
pub mod document;
mod fields;
mod load;
mod nearest;
mod overrides;
mod problem;
mod relations;
mod render;
mod resolve;
mod scalar;
mod schema;
mod snapshot;
mod source;
mod starters;
mod tree;
mod values;

pub use config::Config;
pub use fields::known_keys;
pub use load::{Known, Loaded, load};
pub use nearest::nearest;
pub use overrides::Override;
pub use problem::{Problem, Problems, Severity};
pub use render::render;
pub use schema::schema;
pub use snapshot::{SNAPSHOT_FORMAT, Snapshot, from_snapshot, to_snapshot, to_yaml};
pub use source::{MAX_BYTES, OVERRIDES_NAME, Source};
pub use starters::{Starter, starters};
