//! The built `rlx`, run as a user runs it: in a project of its own, looked at
//! through its exit code, stdout, stderr and the files it leaves.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "these tests start the program and look at its files from outside"
)]

mod answers;
mod as_configured;
mod bad_input;
mod compare;
mod contract;
mod damage;
mod diagnose;
mod documents;
mod escapes;
mod examples;
mod flow;
mod full_disk;
mod inspect;
mod interrupt;
mod json;
mod limits;
mod paths;
mod plot;
mod project;
mod reference;
mod report;
mod stats;
mod stores;
mod story;
mod study;
mod suggest;
mod terminal;
mod video;
