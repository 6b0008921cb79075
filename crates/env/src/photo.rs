//! A picture that an environment drew of itself, small enough to keep an episode of them in memory.

use std::sync::Arc;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// How hard pixels are compressed: flat colours shrink well at the fastest level.
const LEVEL: u8 = 1;

/// What pictures of an environment have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhotoFormat {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Pictures per second that show it at its true speed.
    pub per_second: u32,
}

impl PhotoFormat {
    /// Bytes of one picture: red, green and blue of every pixel.
    pub fn bytes(&self) -> usize {
        self.width as usize * self.height as usize * 3
    }
}

/// Pixels, rows from top to bottom, compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Photo {
    pub format: PhotoFormat,
    packed: Arc<[u8]>,
}

impl Photo {
    /// A picture of these pixels, three bytes each.
    ///
    /// # Panics
    /// If there are not as many as the format says.
    pub fn new(format: PhotoFormat, rgb: &[u8]) -> Self {
        assert_eq!(rgb.len(), format.bytes(), "three bytes per pixel");
        Self { format, packed: compress_to_vec(rgb, LEVEL).into() }
    }

    /// Its pixels, three bytes each.
    pub fn rgb(&self) -> Vec<u8> {
        decompress_to_vec_with_limit(&self.packed, self.format.bytes())
            .expect("it was compressed from as many bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_come_back_and_flat_colours_take_little_memory() {
        let format = PhotoFormat { width: 300, height: 200, per_second: 30 };
        let rgb: Vec<u8> = (0..format.bytes()).map(|at| if at < 90_000 { 7 } else { 200 }).collect();
        let photo = Photo::new(format, &rgb);
        assert_eq!(photo.rgb(), rgb);
        assert!(photo.packed.len() < rgb.len() / 50, "{} bytes", photo.packed.len());
    }
}
