//! A gif decoded again by a decoder that isn't ours.

use gif::{ColorOutput, DecodeOptions, Repeat};
use rlxp_video::FrameSize;

use crate::animation::{frame, gif, gradient};

const SIZE: FrameSize = FrameSize { width: 91, height: 61 };

/// A frame as a player would show it.
struct Shown {
    picture: Vec<u8>,
    delay: u16,
    /// Pixels that it painted over.
    painted: usize,
}

fn play(bytes: &[u8], size: FrameSize) -> Vec<Shown> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    let mut decoder = options.read_info(bytes).unwrap();
    assert_eq!((u32::from(decoder.width()), u32::from(decoder.height())), (size.width, size.height));
    let width = size.width as usize;
    let mut canvas = vec![0; size.rgba_bytes()];
    let mut shown = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        let (left, top) = (usize::from(frame.left), usize::from(frame.top));
        let (frame_width, frame_height) = (usize::from(frame.width), usize::from(frame.height));
        for (place, pixel) in frame.buffer.as_chunks::<4>().0.iter().enumerate() {
            if pixel[3] == 255 {
                let at = 4 * ((top + place / frame_width) * width + left + place % frame_width);
                canvas[at..at + 4].copy_from_slice(pixel);
            }
        }
        let painted = frame_width * frame_height;
        shown.push(Shown { picture: canvas.clone(), delay: frame.delay, painted });
    }
    assert_eq!(decoder.repeat(), Repeat::Infinite);
    shown
}

fn delays(frames_per_second: u32, frames: usize) -> Vec<u16> {
    let frames: Vec<Vec<u8>> = (0..frames).map(|number| frame(SIZE, number)).collect();
    play(&gif(SIZE, frames_per_second, &frames), SIZE).iter().map(|shown| shown.delay).collect()
}

#[test]
fn flat_pictures_come_back_exactly_and_only_what_changed_is_painted() {
    let frames: Vec<Vec<u8>> = (0..40).map(|number| frame(SIZE, number)).collect();
    let shown = play(&gif(SIZE, 20, &frames), SIZE);
    assert_eq!(shown.len(), frames.len());
    for (index, (shown, frame)) in shown.iter().zip(&frames).enumerate() {
        assert!(shown.picture == *frame, "frame {index}");
    }
    // The square moves by 5 and 3 pixels: old and new place together.
    assert_eq!(shown[1].painted, (12 + 5) * (12 + 3));
    assert_eq!(shown[0].painted, 91 * 61);
}

#[test]
fn pictures_with_too_many_colours_come_back_nearly() {
    let frames: Vec<Vec<u8>> = (0..4).map(|number| gradient(SIZE, number)).collect();
    for (shown, frame) in play(&gif(SIZE, 20, &frames), SIZE).iter().zip(&frames) {
        let errors: Vec<f64> =
            shown.picture.iter().zip(frame).map(|(found, sent)| f64::from(found.abs_diff(*sent))).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        assert!(mean < 6.0 && worst < 48.0, "off by {mean} on average and {worst} at worst");
    }
}

#[test]
fn any_change_of_a_pixel_is_seen() {
    let still = vec![0; SIZE.rgba_bytes()];
    let pixels = 91 * 61;
    for place in [0, 90, 91 * 30 + 45, pixels - 91, pixels - 1] {
        for channel in 0..3 {
            let mut changed = still.clone();
            changed[4 * place + channel] = 1;
            let shown = play(&gif(SIZE, 20, &[still.clone(), changed.clone()]), SIZE);
            assert_eq!((shown.len(), shown[1].painted), (2, 1));
            assert_eq!(shown[1].picture[4 * place + channel], 1);
        }
    }
}

#[test]
fn times_are_rounded_without_drifting() {
    assert_eq!(delays(50, 4), [2; 4]);
    assert_eq!(delays(30, 6), [3, 4, 3, 3, 4, 3]);
    assert_eq!(delays(1, 2), [100; 2]);
    for rate in [7, 12, 24, 25, 30, 33, 50, 60, 100, 144, 240] {
        let delays = delays(rate, 97);
        assert!(delays.iter().all(|delay| *delay >= 2), "{rate}: {delays:?}");
        let total: u32 = delays.iter().map(|delay| u32::from(*delay)).sum();
        // A last frame that came too soon still gets its 2/100 s, and so does the one
        // before, which may have appeared right at the end.
        assert!(total.abs_diff(9700 / rate) <= if rate > 50 { 4 } else { 1 }, "{rate}: {total}");
    }
}

#[test]
fn the_last_frame_is_shown_even_when_it_came_too_soon() {
    for count in 1..12 {
        let frames: Vec<Vec<u8>> = (0..count).map(|number| frame(SIZE, number)).collect();
        let shown = play(&gif(SIZE, 240, &frames), SIZE);
        assert!(shown.last().unwrap().picture == frames[count - 1], "{count} frames");
    }
}

#[test]
fn frames_that_show_nothing_new_lengthen_the_one_before() {
    let (a, b) = (frame(SIZE, 0), frame(SIZE, 1));
    let shown = play(&gif(SIZE, 10, &[a.clone(), a.clone(), a.clone(), b.clone(), b, a.clone()]), SIZE);
    let delays: Vec<u16> = shown.iter().map(|shown| shown.delay).collect();
    assert_eq!(delays, [30, 20, 10]);
    // Twelve minutes without any change are more than one delay field can hold.
    let size = FrameSize { width: 1, height: 1 };
    let shown = play(&gif(size, 1, &vec![vec![7; 4]; 720]), size);
    assert_eq!(shown.iter().map(|shown| u32::from(shown.delay)).sum::<u32>(), 72_000);
    assert!(shown.iter().all(|shown| shown.picture == [7, 7, 7, 255]));
}

#[test]
fn the_same_frames_give_the_same_bytes() {
    for make in [frame, gradient] {
        let frames: Vec<Vec<u8>> = (0..20).map(|number| make(SIZE, number)).collect();
        assert_eq!(gif(SIZE, 30, &frames), gif(SIZE, 30, &frames));
    }
}
