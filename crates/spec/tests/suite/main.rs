//! Configs and documents from outside: exact messages, and properties of any input.

mod bombs;
mod document;
mod load;
mod problems;
mod properties;
mod schema;
