//! Environments in other processes: the memory that both sides share, the messages between them, and the
//! [`VectorEnv`](crate::VectorEnv) that drives them.
//!
//! This crate knows the layout and the meaning; who starts the processes and maps the memory implements [`Workers`].
//! `docs/reference/bridge-protocol.md` describes the protocol for people who write the other side.

mod layout;
mod message;
mod replay;
mod vector;

pub use layout::{Column, Columns, Layout, groups};
pub use message::{Described, Instances, PythonWrapper};
pub use replay::{Divergence, MOST_ACTIONS};
pub use vector::{Bridged, Operation, Seeds, WorkerFailure, Workers};

/// Version of the protocol; a worker that speaks another one refuses to start.
pub const VERSION: u32 = 1;
