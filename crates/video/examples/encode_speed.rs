//! Measures encoding: `cargo run --release -p rlxp-video --example encode_speed`.
//!
//! 300 frames of 600×400 with moving shapes; the frames are made before the
//! time begins. One thread, median of three rounds.

#![expect(clippy::print_stdout, reason = "an example answers on stdout")]

use std::time::Instant;

use rlxp_video::{FrameSize, Gif, Mp4, VideoError};

const SIZE: FrameSize = FrameSize { width: 600, height: 400 };
const FRAMES: usize = 300;
const FRAMES_PER_SECOND: u32 = 30;

fn main() -> Result<(), VideoError> {
    let frames: Vec<Vec<u8>> = (0..FRAMES).map(frame).collect();
    measure("mp4", || {
        let mut mp4 = Mp4::new(SIZE, FRAMES_PER_SECOND)?;
        frames.iter().try_for_each(|frame| mp4.push(frame))?;
        mp4.finish()
    })?;
    measure("gif", || {
        let mut gif = Gif::new(SIZE, FRAMES_PER_SECOND)?;
        frames.iter().try_for_each(|frame| gif.push(frame))?;
        gif.finish()
    })
}

fn measure(name: &str, encode: impl Fn() -> Result<Vec<u8>, VideoError>) -> Result<(), VideoError> {
    let mut bytes = 0;
    let mut seconds = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        bytes = encode()?.len();
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    println!("{name}: {FRAMES} frames of {SIZE} in {:.3} s, {} kB", seconds[1], bytes / 1000);
    Ok(())
}

/// A cart with a pole, a ball and some lines like those of text, all with soft edges.
fn frame(number: usize) -> Vec<u8> {
    let time = number as f32 / FRAMES_PER_SECOND as f32;
    let cart = 300.0 + 180.0 * (time * 1.3).sin();
    let lean = 0.4 * (time * 2.1).sin();
    let ball = (300.0 + 220.0 * (time * 0.9).cos(), 90.0 + 60.0 * (time * 2.7).sin());
    let mut rgba = Vec::with_capacity(SIZE.rgba_bytes());
    for y in 0..SIZE.height {
        for x in 0..SIZE.width {
            let (x, y) = (x as f32, y as f32);
            let mut colour = if y < 330.0 { [250.0, 250.0, 245.0] } else { [226.0, 219.0, 205.0] };
            let box_distance = ((x - cart).abs() - 45.0).max((y - 310.0).abs() - 20.0);
            mix(&mut colour, [40.0, 60.0, 90.0], box_distance);
            let (along, across) = (
                (x - cart) * lean.sin() - (y - 295.0) * lean.cos(),
                (x - cart) * lean.cos() + (y - 295.0) * lean.sin(),
            );
            mix(&mut colour, [205.0, 140.0, 80.0], (across.abs() - 6.0).max((along - 90.0).abs() - 90.0));
            mix(
                &mut colour,
                [200.0, 50.0, 60.0],
                ((x - ball.0).powi(2) + (y - ball.1).powi(2)).sqrt() - 25.0,
            );
            let stripe = ((x + time * 8.0) % 7.0 - 3.5).abs() - 1.2;
            mix(
                &mut colour,
                [20.0, 20.0, 20.0],
                stripe.max((y - 20.0).abs() - 6.0).max((x - 80.0).abs() - 60.0),
            );
            rgba.extend(colour.map(|value| value.round() as u8));
            rgba.push(255);
        }
    }
    rgba
}

/// Covers a pixel that lies `distance` outside of a shape.
fn mix(colour: &mut [f32; 3], paint: [f32; 3], distance: f32) {
    let cover = (0.5 - distance).clamp(0.0, 1.0);
    for (value, paint) in colour.iter_mut().zip(paint) {
        *value += (paint - *value) * cover;
    }
}
