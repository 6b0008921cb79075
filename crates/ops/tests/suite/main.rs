//! Operations from outside: runs and studies over real files, without a terminal.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod compare;
mod contract;
mod extended;
mod extended_twice;
mod groups;
mod study;
