//! The only crate that starts a process.
//!
//! Training runs in a child (`rlx worker`), so that a panic, an out-of-memory
//! kill or a segfault ends the child and never the supervisor or the record.
//! This crate provides that, but not the protocol between the two:
//!
//! - [`worker`]: starts the child, reads its lines, stops it, says how it ended;
//! - [`signals`]: counts SIGINT, SIGTERM and SIGHUP;
//! - [`open_file`]: shows a file with the desktop's own viewer;
//! - [`git`]: asks git, read-only and hardened, which code a run was made from;
//! - [`supervise`](mod@supervise): runs the steps of a governed run, enforces their limits and
//!   records their ends.
//!
//! What is absent: no shell is ever started, no program is chosen by a file of
//! the project, and no process outlives the supervisor but a viewer that was
//! asked for. (The supervisor of a governed run outlives the command that
//! started it: [`start_shim`].)

// The ban on std::process::Command exists to send every launch through this crate.
#![expect(clippy::disallowed_types, reason = "this is the crate that starts processes")]

mod child;
pub mod confine;
pub mod crash;
pub mod git;
mod oom;
mod open;
pub mod order;
mod output;
mod search_path;
pub mod signals;
pub mod supervise;
pub mod worker;

pub use confine::{Confined, StepExit};
pub use git::GitState;
pub use oom::OutOfMemory;
pub use open::{OpenError, open_file};
pub use signals::Interrupts;
pub use supervise::{RunReport, Shim, SuperviseError, start_shim, supervise, wait_for_go};
pub use worker::{Ended, LaunchError, Next, Worker, WorkerCommand};
