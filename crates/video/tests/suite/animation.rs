//! Frames to encode.

use rlxp_video::{FrameSize, Gif, Mp4};

const BACKGROUND: [u8; 3] = [250, 250, 245];
const SQUARE: [u8; 3] = [200, 40, 60];

/// Where the square of a frame has its upper left corner; it is 12 pixels wide.
fn corner(size: FrameSize, frame: usize) -> (usize, usize) {
    let (width, height) = (size.width as usize - 12, size.height as usize - 12);
    (frame * 5 % width, frame * 3 % height)
}

/// A square that moves over a plain ground.
pub(crate) fn frame(size: FrameSize, number: usize) -> Vec<u8> {
    let (left, top) = corner(size, number);
    let inside = |x: usize, y: usize| (left..left + 12).contains(&x) && (top..top + 12).contains(&y);
    let (width, height) = (size.width as usize, size.height as usize);
    (0..width * height)
        .map(|place| if inside(place % width, place / width) { SQUARE } else { BACKGROUND })
        .flat_map(|[red, green, blue]| [red, green, blue, 255])
        .collect()
}

/// A soft colour gradient that drifts: more colours than a palette holds.
pub(crate) fn gradient(size: FrameSize, number: usize) -> Vec<u8> {
    let (width, height) = (size.width as usize, size.height as usize);
    (0..width * height)
        .map(|place| (place % width, place / width))
        .flat_map(|(x, y)| {
            [(x * 255 / width) as u8, (y * 255 / height) as u8, ((x + y + number) * 2 % 256) as u8, 255]
        })
        .collect()
}

pub(crate) fn mp4(size: FrameSize, frames_per_second: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut video = Mp4::new(size, frames_per_second).unwrap();
    frames.iter().for_each(|frame| video.push(frame).unwrap());
    video.finish().unwrap()
}

pub(crate) fn gif(size: FrameSize, frames_per_second: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut video = Gif::new(size, frames_per_second).unwrap();
    frames.iter().for_each(|frame| video.push(frame).unwrap());
    video.finish().unwrap()
}
