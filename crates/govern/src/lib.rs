//! Governed studies: contracts, approvals, gates, the two state machines, budget, seeds, queue and the ledger chain.
//!
//! Pure: no files, no clock, no randomness. The caller reads everything from disk, hands it in, and gets answers that
//! depend on nothing else, so a verdict can be replayed from its inputs at any time.

pub mod signature;
