//! The size of frames, and the checks that both formats share.

use std::fmt;

use crate::error::{Problem, VideoError};

/// Faster than any screen, and low enough that all time stamps fit.
const FRAMES_PER_SECOND_MAX: u32 = 240;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSize {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

impl FrameSize {
    pub fn rgba_bytes(self) -> usize {
        self.width as usize * self.height as usize * 4
    }
}

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.width, self.height)
    }
}

/// What a format can hold.
pub(crate) struct Limits {
    pub(crate) longer: u32,
    pub(crate) shorter: u32,
    /// Of either side.
    pub(crate) least: u32,
    pub(crate) even: bool,
}

impl Limits {
    /// Every problem that these settings have.
    pub(crate) fn check(&self, size: FrameSize, frames_per_second: u32) -> Result<(), VideoError> {
        let FrameSize { width, height } = size;
        let Self { longer, shorter, least, even } = *self;
        let mut problems = Vec::new();
        if width == 0 || height == 0 {
            problems.push(Problem::Empty(size));
        } else if width.min(height) < least {
            problems.push(Problem::TooSmall { size, least });
        }
        if width.max(height) > longer || width.min(height) > shorter {
            problems.push(Problem::TooLarge { size, longer, shorter });
        } else if even && (width % 2 == 1 || height % 2 == 1) {
            let fitting = FrameSize { width: width.next_multiple_of(2), height: height.next_multiple_of(2) };
            problems.push(Problem::Odd { size, fitting });
        }
        if !(1..=FRAMES_PER_SECOND_MAX).contains(&frames_per_second) {
            problems.push(Problem::FramesPerSecond(frames_per_second));
        }
        if problems.is_empty() { Ok(()) } else { Err(VideoError::Settings { problems }) }
    }
}

/// Whether `rgba` is a whole frame.
pub(crate) fn check_frame(size: FrameSize, frame: u64, rgba: &[u8]) -> Result<(), VideoError> {
    let (expected, found) = (size.rgba_bytes(), rgba.len());
    if expected == found { Ok(()) } else { Err(VideoError::FrameLength { frame, size, expected, found }) }
}
