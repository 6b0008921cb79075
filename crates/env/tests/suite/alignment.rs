//! Native environments against real Gymnasium 1.4.0: the same state and
//! action must give the same next observation, reward and end.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "the oracle is a Python process")]

mod blackjack;
mod classic;
mod oracle;
mod tables;
