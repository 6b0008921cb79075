//! The crate as a user sees it: whole files, taken apart again.

#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

mod animation;
mod gif_files;
mod mp4_files;
mod refusals;
