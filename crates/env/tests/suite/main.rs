//! Environments from outside: against Gymnasium, and through the API that learners use.
#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

mod alignment;
mod making;
mod properties;
mod sources;
mod views;
