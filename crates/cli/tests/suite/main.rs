//! The built `rlx`, run as a user runs it: each test in its own project, judged by
//! exit code, stdout, stderr and the files that are left.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "these tests start the program and look at its files from outside"
)]

mod answers;
mod as_configured;
mod bad_input;
mod bridge;
mod compare;
mod completions;
mod contract;
mod damage;
mod detach;
mod diagnose;
mod diagnosis;
mod documents;
mod escapes;
mod examples;
mod flow;
mod full_disk;
mod governed;
mod inspect;
mod interrupt;
mod json;
mod kill;
mod killing;
mod landscape;
mod launch;
mod limits;
mod listing;
mod many_runs;
mod paths;
mod plot;
mod project;
mod received;
mod records;
mod reference;
mod report;
mod select;
mod several;
mod stats;
mod storage;
mod stores;
mod story;
mod strace;
mod study;
mod suggest;
mod terminal;
mod video;
