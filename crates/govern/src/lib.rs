//! Governed studies: contracts, approvals, gates, the two state machines, budget, seeds, queue and the ledger chain.
//!
//! Pure: no files, no clock, no randomness. The caller reads everything from disk, hands it in, and gets answers that
//! depend on nothing else, so a verdict can be replayed from its inputs at any time.
//!
//! | module | what it knows |
//! |---|---|
//! | [`documents`] | the files of a study as types; schemas come from them |
//! | [`canonical`] | one text for one value: what digests are taken of |
//! | [`section`] | what is approved, what each approval covers and depends on |
//! | [`signature`] | SSH signatures of approvals |
//! | [`ledger`] | records, their chain, and the state they add up to |
//! | [`machine`] | the moves of runs and candidates |
//! | [`budget`], [`seeds`] | what may still be spent, which seeds are still fresh |

pub mod budget;
pub mod canonical;
pub mod documents;
pub mod ledger;
pub mod machine;
pub mod section;
pub mod seeds;
pub mod signature;
