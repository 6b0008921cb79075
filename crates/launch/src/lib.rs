//! The only crate that starts a process.
//!
//! Training runs in a child (`rlx worker`), so that a panic, an out-of-memory
//! kill or a segfault ends the child and never the supervisor or the record.
//! This crate provides that, but not the protocol between the two:
//!
//! - [`python`]: starts the processes of Python environments, with memory that is shared ([`SharedMemory`]);
//! - [`worker`]: starts the child, reads its lines, stops it, says how it ended;
//! - [`detach`]: starts the supervisor of a training as a process that outlives the command;
//! - [`signals`]: counts SIGINT, SIGTERM and SIGHUP;
//! - [`signal_process`](mod@signal_process): asks a process that another command started to stop;
//! - [`open_file`]: shows a file with the desktop's own viewer;
//! - [`Permit`]: what everything that starts training or code of a project asks for;
//! - [`git`]: asks git, read-only and hardened, which code a run was made from;
//! - [`ssh_keygen`]: the person's own, on their terminal, for approvals;
//! - [`supervise`](mod@supervise): runs the steps of a governed run, enforces their limits and
//!   records their ends.
//!
//! What is absent: no shell is ever started, no program is chosen by a file of
//! the project, and no process outlives the supervisor but a viewer that was
//! asked for. (Two supervisors outlive the command that started them: that of a
//! governed run, [`start_shim`], and that of a detached training, [`start_detached`].)

// The ban on std::process::Command exists to send every launch through this crate.
#![expect(clippy::disallowed_types, reason = "this is the crate that starts processes")]

mod child;
pub mod confine;
pub mod crash;
pub mod detach;
pub mod git;
mod oom;
mod open;
pub mod order;
mod output;
mod permit;
pub mod programs;
pub mod python;
mod search_path;
mod shared_memory;
pub mod signal_process;
pub mod signals;
pub mod ssh_keygen;
pub mod supervise;
pub mod worker;

pub use confine::{Confined, StepExit};
pub use detach::{Detached, let_go, start_detached};
pub use git::GitState;
pub use oom::OutOfMemory;
pub use open::{OpenError, open_file};
pub use permit::Permit;
pub use python::{Heard, PythonCommand, PythonWorker};
pub use shared_memory::SharedMemory;
pub use signal_process::{Request, signal_process};
pub use signals::Interrupts;
pub use supervise::{RunReport, Shim, SuperviseError, start_shim, supervise, wait_for_go};
pub use worker::{Ended, LaunchError, Next, Worker, WorkerCommand};
