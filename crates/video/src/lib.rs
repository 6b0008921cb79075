//! Pictures in, the bytes of a video out: [`Mp4`] for H.264 that every browser
//! plays, [`Gif`] for places that take nothing else.
//!
//! This crate exists to keep the C++ encoder behind [`Mp4`] away from the rest.
//! It knows no files, no processes and no clock, and the same frames always
//! give the same bytes.
//!
//! Frames are rows of RGBA bytes from the top left. They count as opaque: the fourth byte of a pixel is ignored.

mod error;
mod gif;
mod mp4;
mod size;

pub use error::{Problem, VideoError};
pub use gif::Gif;
pub use mp4::Mp4;
pub use size::FrameSize;
