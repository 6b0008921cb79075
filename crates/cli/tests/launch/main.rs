//! Governed launches on a repository that really trains: real git, real signatures, a real Python environment.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "these tests start the program and look at its files from outside"
)]

mod agreed;
mod candidates;
mod confinement;
mod crash;
mod elsewhere;
mod end_to_end;
mod first_time;
mod fixture;
mod full_disk;
mod hostile_code;
mod hostile_runs;
mod limits;
mod mutations;
mod processes;
mod programs;
mod race;
mod repository;
mod stale;
#[path = "../governed/study.rs"]
#[expect(dead_code, reason = "some of what it offers is for the tests of approvals")]
mod study;
mod trace;
