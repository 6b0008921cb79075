//! The words that every other crate shares: run ids, digests, statuses, exit
//! codes, the random generator and the arithmetic it shares. Nothing here does I/O.

#![warn(missing_docs)]

pub mod cpu;
pub mod digest;
pub mod end_cause;
pub mod exit;
pub mod math;
pub mod name;
pub mod path_text;
pub mod point;
pub mod rng;
pub mod status;
pub mod text;

pub use digest::Digest;
pub use end_cause::EndCause;
pub use exit::Exit;
pub use name::RunName;
pub use point::Point;
pub use rng::Stream;
pub use status::RunStatus;
