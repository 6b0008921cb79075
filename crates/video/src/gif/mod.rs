//! A gif that loops for ever: each frame paints only the rectangle in which it
//! differs from the one before, with its own palette.
//!
//! A gif counts time in 1/100 s, and browsers show anything under 2/100 s for
//! 10/100 s. Frame times are therefore rounded one by one, so that errors don't
//! add up, and a frame that would be shown for less is left out unless it is
//! the last.

mod palette;

use std::borrow::Cow;

use ::gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};

use self::palette::Palette;
use crate::error::VideoError;
use crate::size::{FrameSize, Limits, check_frame};

const LIMITS: Limits = Limits { longer: 4096, shorter: 4096, least: 1, even: false };
/// The shortest time that browsers keep to, in 1/100 s.
const DELAY_MIN: u64 = 2;
/// The longest time that one frame can have, with room for the rounding of the next.
const DELAY_MAX: u64 = 65_000;

/// A part of the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Area {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

/// A painted part whose end isn't known yet.
struct Pending {
    frame: Frame<'static>,
    /// When it appears, in 1/100 s.
    from: u64,
}

/// Encodes frames into a gif that loops for ever.
///
/// Up to 255 new colours per frame are kept exactly. Frames that show nothing
/// new lengthen the one before, so a gif may hold fewer frames than were pushed.
pub struct Gif {
    size: FrameSize,
    frames_per_second: u32,
    encoder: Encoder<Vec<u8>>,
    frames: u64,
    /// What the last frame that counted looks like.
    canvas: Vec<u8>,
    pending: Option<Pending>,
    /// A frame that came too soon, which is shown after all if it is the last.
    left_out: Option<Vec<u8>>,
}

impl Gif {
    /// An encoder for frames of one size, of which each is shown for 1/`frames_per_second`.
    ///
    /// # Errors
    /// Width and height must be within 1 to 4096, the rate within 1 to 240.
    pub fn new(size: FrameSize, frames_per_second: u32) -> Result<Self, VideoError> {
        LIMITS.check(size, frames_per_second)?;
        let (width, height) = (size.width as u16, size.height as u16);
        let mut encoder = Encoder::new(Vec::new(), width, height, &[]).map_err(failed(0))?;
        encoder.set_repeat(Repeat::Infinite).map_err(failed(0))?;
        Ok(Self {
            size,
            frames_per_second,
            encoder,
            frames: 0,
            canvas: Vec::new(),
            pending: None,
            left_out: None,
        })
    }

    /// Adds one frame of RGBA bytes.
    ///
    /// # Errors
    /// The frame has another length than the size asks for.
    pub fn push(&mut self, rgba: &[u8]) -> Result<(), VideoError> {
        check_frame(self.size, self.frames, rgba)?;
        let now = self.time_of(self.frames);
        self.frames += 1;
        self.left_out = None;
        match &self.pending {
            Some(pending) if now - pending.from < DELAY_MIN => {
                self.left_out = Some(rgba.to_vec());
                Ok(())
            }
            _ => self.show(rgba, now),
        }
    }

    /// The finished file.
    ///
    /// # Errors
    /// There is no frame.
    pub fn finish(mut self) -> Result<Vec<u8>, VideoError> {
        let Some(pending) = &self.pending else {
            return Err(VideoError::NoFrames);
        };
        if let Some(last) = self.left_out.take() {
            let from = pending.from + DELAY_MIN;
            self.show(&last, from)?;
        }
        self.write_pending(self.time_of(self.frames))?;
        self.encoder.into_inner().map_err(failed(self.frames))
    }

    /// When a frame appears, in 1/100 s.
    fn time_of(&self, frame: u64) -> u64 {
        let rate = u64::from(self.frames_per_second);
        (frame * 200 + rate) / (2 * rate)
    }

    /// Paints what is new from `now` on.
    fn show(&mut self, rgba: &[u8], now: u64) -> Result<(), VideoError> {
        let width = self.size.width as usize;
        let whole = Area { left: 0, top: 0, width, height: self.size.height as usize };
        let area = match &self.pending {
            None => Some(whole),
            Some(pending) => changed_area(&self.canvas, rgba, width).or_else(|| {
                // Nothing new: only a pixel that restarts the time, if that runs out.
                (now - pending.from > DELAY_MAX).then_some(Area { width: 1, height: 1, ..whole })
            }),
        };
        let Some(area) = area else {
            return Ok(());
        };
        let frame = paint(&self.canvas, rgba, width, area);
        self.write_pending(now)?;
        self.canvas.clear();
        self.canvas.extend(rgba);
        self.pending = Some(Pending { frame, from: now });
        Ok(())
    }

    /// Writes the frame that was shown until `now`.
    fn write_pending(&mut self, now: u64) -> Result<(), VideoError> {
        let Some(Pending { mut frame, from }) = self.pending.take() else {
            return Ok(());
        };
        let delay = (now.saturating_sub(from)).max(DELAY_MIN);
        frame.delay = u16::try_from(delay).unwrap_or(u16::MAX);
        self.encoder.write_frame(&frame).map_err(failed(self.frames))
    }
}

/// What went wrong at a frame.
fn failed(frame: u64) -> impl Fn(EncodingError) -> VideoError {
    move |source| VideoError::Encoder { frame, source: source.into() }
}

/// The smallest rectangle that holds every pixel that differs.
fn changed_area(before: &[u8], after: &[u8], width: usize) -> Option<Area> {
    let rows = || before.chunks_exact(4 * width).zip(after.chunks_exact(4 * width)).enumerate();
    let (top, _) = rows().find(|(_, (before, after))| before != after)?;
    let (bottom, _) = rows().rfind(|(_, (before, after))| before != after)?;
    let (mut left, mut right) = (width, 0);
    for (_, (before, after)) in rows().take(bottom + 1).skip(top) {
        let (before, after) = (before.as_chunks::<4>().0, after.as_chunks::<4>().0);
        let differs = |column: &usize| before[*column] != after[*column];
        left = (0..left).find(differs).unwrap_or(left);
        right = (right..width).rev().find(differs).unwrap_or(right);
    }
    Some(Area { left, top, width: right + 1 - left, height: bottom + 1 - top })
}

/// A frame that paints an area; pixels that stay are left transparent, which
/// compresses better. `before` is empty for the first frame.
fn paint(before: &[u8], after: &[u8], width: usize, area: Area) -> Frame<'static> {
    let (before, after) = (before.as_chunks::<4>().0, after.as_chunks::<4>().0);
    let places = || {
        let rows = (area.top..area.top + area.height).map(|row| row * width + area.left);
        rows.flat_map(|from| from..from + area.width)
    };
    let stays = |place: usize| before.get(place).is_some_and(|pixel| *pixel == after[place]);
    let palette = Palette::for_pixels(places().filter(|place| !stays(*place)).map(|place| after[place]));
    let transparent = palette.transparent();
    let mut indices = palette.indices();
    let buffer: Vec<u8> =
        places().map(|place| if stays(place) { transparent } else { indices.entry(after[place]) }).collect();
    Frame {
        left: area.left as u16,
        top: area.top as u16,
        width: area.width as u16,
        height: area.height as u16,
        dispose: DisposalMethod::Keep,
        transparent: Some(transparent),
        palette: Some(palette.bytes()),
        buffer: Cow::Owned(buffer),
        ..Frame::default()
    }
}
