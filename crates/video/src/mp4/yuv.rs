//! From RGB to brightness and two colour differences, the latter at half the
//! resolution both ways, in the limited range that video players expect.
//!
//! Fixed point with 15 bits, so that the bytes are the same everywhere. A pixel
//! is taken apart from one 32-bit word: then the loops become vector code on
//! every CPU, which loads of single bytes keep them from.

use crate::size::FrameSize;

/// How brightness is weighed. Players that ignore what the file says go by its
/// height, so the usual choice for the height is the safe one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Matrix {
    /// Standard definition.
    Bt601,
    /// High definition, from 720 lines.
    Bt709,
}

impl Matrix {
    /// The usual choice for a size.
    pub(super) fn for_size(size: FrameSize) -> Self {
        if size.height < 720 { Self::Bt601 } else { Self::Bt709 }
    }

    /// Its number in the tables of H.264 and mp4.
    pub(super) fn code(self) -> u16 {
        match self {
            Self::Bt601 => 6,
            Self::Bt709 => 1,
        }
    }

    /// Weights of red, green and blue for brightness, blue and red difference.
    fn weights(self) -> [[i32; 3]; 3] {
        let (red, blue) = match self {
            Self::Bt601 => (0.299, 0.114),
            Self::Bt709 => (0.2126, 0.0722),
        };
        let green = 1.0 - red - blue;
        let luma = [red, green, blue].map(|share| share * 219.0 / 255.0);
        let toward = |pure: usize, share: f64| -> [f64; 3] {
            let scale = 112.0 / 255.0 / (1.0 - share);
            std::array::from_fn(|i| scale * (f64::from(u8::from(i == pure)) - [red, green, blue][i]))
        };
        [luma, toward(2, blue), toward(0, red)].map(fixed_point)
    }
}

const BITS: u32 = 15;

/// Rounds weights so that their sum stays right: grey must stay grey.
fn fixed_point(weights: [f64; 3]) -> [i32; 3] {
    let one = f64::from(1 << BITS);
    let sum = (weights.iter().sum::<f64>() * one).round() as i32;
    let [red, _, blue] = weights.map(|weight| (weight * one).round() as i32);
    [red, sum - red - blue, blue]
}

/// One picture as the encoder takes it.
pub(super) struct Planes {
    pub(super) luma: Vec<u8>,
    pub(super) blue: Vec<u8>,
    pub(super) red: Vec<u8>,
    width: usize,
}

impl Planes {
    /// Room for one picture of an even size.
    pub(super) fn new(size: FrameSize) -> Self {
        let (width, height) = (size.width as usize, size.height as usize);
        let quarter = vec![0; width / 2 * (height / 2)];
        Self { luma: vec![0; width * height], blue: quarter.clone(), red: quarter, width }
    }

    /// Takes an RGBA picture.
    pub(super) fn fill(&mut self, rgba: &[u8], matrix: Matrix) {
        let [luma, blue, red] = matrix.weights();
        let (pixels, _) = rgba.as_chunks::<4>();
        for (pixel, out) in pixels.iter().zip(&mut self.luma) {
            *out = weigh(colours(pixel), luma, BITS, 16);
        }
        let halves =
            self.blue.chunks_exact_mut(self.width / 2).zip(self.red.chunks_exact_mut(self.width / 2));
        for (rows, (blue_row, red_row)) in pixels.chunks_exact(2 * self.width).zip(halves) {
            let (upper, lower) = rows.split_at(self.width);
            let blocks = upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
            for ((above, below), (blue_out, red_out)) in blocks.zip(blue_row.iter_mut().zip(red_row)) {
                let four = [above[0], above[1], below[0], below[1]].map(|pixel| colours(&pixel));
                let sum = std::array::from_fn(|i| four.iter().map(|colour| colour[i]).sum());
                *blue_out = weigh(sum, blue, BITS + 2, 128);
                *red_out = weigh(sum, red, BITS + 2, 128);
            }
        }
    }
}

#[inline]
fn colours(pixel: &[u8; 4]) -> [i32; 3] {
    let packed = u32::from_le_bytes(*pixel);
    [packed & 255, packed >> 8 & 255, packed >> 16 & 255].map(|colour| colour as i32)
}

/// The weighed sum, rounded, over an offset.
#[inline]
fn weigh(colours: [i32; 3], weights: [i32; 3], bits: u32, offset: i32) -> u8 {
    let sum = colours[0] * weights[0] + colours[1] * weights[1] + colours[2] * weights[2];
    ((sum + (offset << bits) + (1 << (bits - 1))) >> bits) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Brightness, blue and red difference of a plain picture of one colour.
    #[track_caller]
    fn check(rgb: [u8; 3], matrix: Matrix, expected: [u8; 3]) {
        let size = FrameSize { width: 6, height: 4 };
        let mut planes = Planes::new(size);
        planes.fill(&[rgb[0], rgb[1], rgb[2], 77].repeat(24), matrix);
        let found = [&planes.luma, &planes.blue, &planes.red].map(|plane| {
            assert!(plane.iter().all(|value| *value == plane[0]));
            plane[0]
        });
        assert_eq!(found, expected, "{rgb:?}");
    }

    /// The values of the colour bars in Rec. 601 and Rec. 709.
    #[test]
    fn the_primaries_have_the_values_of_the_standards() {
        use Matrix::{Bt601, Bt709};
        check([0, 0, 0], Bt601, [16, 128, 128]);
        check([255, 255, 255], Bt601, [235, 128, 128]);
        check([255, 0, 0], Bt601, [81, 90, 240]);
        check([0, 255, 0], Bt601, [145, 54, 34]);
        check([0, 0, 255], Bt601, [41, 240, 110]);
        check([0, 0, 0], Bt709, [16, 128, 128]);
        check([255, 255, 255], Bt709, [235, 128, 128]);
        check([255, 0, 0], Bt709, [63, 102, 240]);
        check([0, 255, 0], Bt709, [173, 42, 26]);
        check([0, 0, 255], Bt709, [32, 240, 118]);
    }

    #[test]
    fn grey_stays_grey() {
        for matrix in [Matrix::Bt601, Matrix::Bt709] {
            for level in 0..=255u8 {
                let luma = (16.0 + f64::from(level) * 219.0 / 255.0).round() as u8;
                check([level; 3], matrix, [luma, 128, 128]);
            }
        }
    }

    #[test]
    fn pixels_land_where_they_belong_and_colour_is_the_mean_of_four() {
        let size = FrameSize { width: 4, height: 2 };
        let mut planes = Planes::new(size);
        let mut rgba = vec![0; size.rgba_bytes()];
        // The third pixel of the lower row is white, its upper neighbour red.
        rgba[4 * 6..4 * 6 + 3].fill(255);
        rgba[4 * 2] = 255;
        planes.fill(&rgba, Matrix::Bt601);
        assert_eq!(planes.luma, [16, 16, 81, 16, 16, 16, 235, 16]);
        assert_eq!(planes.blue, [128, 119], "a quarter of the way from 128 to 90");
        assert_eq!(planes.red, [128, 156], "a quarter of the way from 128 to 240");
    }
}
