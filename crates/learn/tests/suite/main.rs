//! Learners as a whole: what they learn, and that they learn it reproducibly.
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

mod common;
mod exact;
mod failing;
mod inspection;
mod learning;
mod probes;
mod signals;
mod truncation;
