//! Governed studies as a whole: what gates refuse, what voids an approval, what a ledger can and can't hide.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails as the test does")]

mod cases;
mod chain;
mod common;
mod edits;
mod gates;
mod hostile;
mod judging;
mod moves;
mod next;
mod page;
mod properties;
mod reference;
mod runs;
mod schemas;
mod scoring;
mod signatures;
mod states;
mod texts;
