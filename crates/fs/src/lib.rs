//! The only door to files, the clock and environment variables.
//!
//! Everything else in the workspace is refused `std::fs`, `std::env::var` and
//! `SystemTime::now` by lint. One door means that every write can be synced in
//! one way, every error names its operation and path, and every call can be
//! made to fail on purpose ([`testing`]).
//!
//! - [`Fs`]: the file operations as a trait; [`RealFs`] does them, and
//!   [`Fs::rooted`] does them below one folder without following a symlink.
//! - [`FsExt`]: what is built from them (atomic write, replaced symlink, …), so
//!   that a fault test reaches each single step of it.
//! - [`clock`]: wall time as a label, monotonic time for durations.
//! - [`environment`]: variables, working folder, processor count.
//! - [`machine`]: who a process is, so that a writer can be proven gone.
//! - [`randomness`]: names that must never meet.
//! - [`testing`]: [`testing::FaultFs`], [`testing::CrashFs`] and
//!   [`testing::FakeMachine`].

#![warn(missing_docs)]

pub mod clock;
pub mod environment;
mod error;
mod extension;
mod interface;
pub mod machine;
pub mod randomness;
mod real;
mod remove;
mod rooted;
pub mod testing;

pub use error::{FsError, LinkInTheWay};
pub use extension::{FsExt, TEMPORARY_PREFIX, is_temporary, temporary_owner};
pub use interface::{Entry, FileHandle, Fs, Kind, Meta, RawEntry};
pub use machine::{Machine, RealMachine};
pub use real::RealFs;

/// The result of a file operation.
pub type Result<T> = std::result::Result<T, FsError>;
