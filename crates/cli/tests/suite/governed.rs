//! Governed studies as a team uses them: real keys, real signatures, and an agent that breaks the rules.

mod first_time;
mod hostile;
mod hostile_words;
mod signatures;
mod steps;
pub(crate) mod study;
