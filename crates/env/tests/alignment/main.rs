//! Native environments against real Gymnasium 1.4.0: the same state and
//! action must give the same next observation, reward and end.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "the oracle is a Python process")]
#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

mod blackjack;
mod classic;
mod oracle;
mod tables;
