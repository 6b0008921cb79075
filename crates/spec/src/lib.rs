//! Config: YAML to a checked, resolved snapshot, with spans and JSON Schema.

pub mod config;

pub use config::Config;
