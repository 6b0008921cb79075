//! Governed studies as a team meets them: real keys, real signatures, and an agent that doesn't play by the rules.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "these tests start the program and look at its files from outside"
)]

mod first_time;
mod hostile;
mod hostile_words;
mod signatures;
mod steps;
mod study;
