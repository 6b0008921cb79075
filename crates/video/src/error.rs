//! Why a video can't be made.

use std::error::Error;

use crate::size::FrameSize;

/// One thing that is wrong with the settings of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There would be no pixels.
    #[error("a frame of {0} pixels is empty")]
    Empty(FrameSize),
    /// The encoder wants more pixels.
    #[error("a frame of {size} pixels is too small for an mp4: at least {least}×{least}")]
    TooSmall {
        /// The requested size.
        size: FrameSize,
        /// Limit of either side.
        least: u32,
    },
    /// H.264 halves the resolution of colour.
    #[error("an mp4 needs even width and height, but {size} is odd; the next valid size is {fitting}")]
    Odd {
        /// The requested size.
        size: FrameSize,
        /// The next larger size that is even.
        fitting: FrameSize,
    },
    /// The format or its encoder doesn't support this many pixels.
    #[error(
        "a frame of {size} pixels is too large: at most {longer} along the longer side and {shorter} along the shorter"
    )]
    TooLarge {
        /// The requested size.
        size: FrameSize,
        /// Limit of the longer side.
        longer: u32,
        /// Limit of the shorter side.
        shorter: u32,
    },
    /// No player would show it.
    #[error("{0} frames per second are not supported; use 1 to 240")]
    FramesPerSecond(u32),
}

/// A video can't be made.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// The settings don't work; every problem that was found.
    #[error("{}", list(problems))]
    Settings {
        /// What is wrong.
        problems: Vec<Problem>,
    },
    /// A frame is not what was announced.
    #[error("frame {frame} has {found} bytes, but {size} RGBA pixels have {expected}")]
    FrameLength {
        /// Which frame, from 0.
        frame: u64,
        /// The size that was announced.
        size: FrameSize,
        /// Bytes that such a frame has.
        expected: usize,
        /// Bytes that came.
        found: usize,
    },
    /// There is nothing to show.
    #[error("a video needs at least one frame")]
    NoFrames,
    /// The file format counts in 32 bits.
    #[error("the video is too long: {frames} frames, {bytes} bytes; an mp4 is limited to 4 GB")]
    TooLong {
        /// Frames so far.
        frames: u64,
        /// Bytes so far.
        bytes: u64,
    },
    /// The encoder refused a frame or gave something unexpected.
    #[error("frame {frame} can't be encoded")]
    Encoder {
        /// Which frame, from 0.
        frame: u64,
        source: Box<dyn Error + Send + Sync>,
    },
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}
