//! Learners as a whole: what they learn, and that they do it exactly. One
//! program, so that the suite is linked once.
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

mod common;
mod exact;
mod failing;
mod inspection;
mod learning;
mod probes;
mod signals;
mod truncation;
