//! An environment that draws itself: its picture below the space for a caption.

use rlxp_env::Photo;

use super::parts::canvas;
use super::{CALM, HEIGHT, WIDTH};
use crate::color::Color;
use crate::raster::Frame;
use crate::scene::{Rect, Scene};

/// Around pictures of another shape.
const AROUND: Color = Color::hex(0x11_18_27);
/// Where the strip of a caption ends.
const TOP: f32 = CALM - 8.0;

/// The picture below a caption.
pub(super) fn scene(photo: &Photo) -> Scene {
    below(photo, TOP)
}

/// The picture without a caption: all of the space is its own.
pub fn whole(photo: &Photo) -> Scene {
    below(photo, 0.0)
}

fn below(photo: &Photo, top: f32) -> Scene {
    let mut scene = canvas(AROUND, "The environment as it draws itself");
    let (width, height) = (photo.format.width, photo.format.height);
    let rgba = photo.rgb().chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect();
    scene.image(Rect::new(0.0, top, WIDTH, HEIGHT - top), Frame { width, height, rgba });
    scene
}
