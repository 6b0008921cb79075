//! The crate from outside, through its public API.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod doors;
