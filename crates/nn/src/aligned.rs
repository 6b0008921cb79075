//! Memory whose start lies on a cache line, so that vector loads never straddle
//! two lines.

use std::ops::{Deref, DerefMut};

const FLOATS: usize = 16;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([f32; FLOATS]);

/// A slice of floats that starts on a cache line, zero at first.
pub(crate) struct Aligned {
    lines: Vec<Line>,
    length: usize,
}

impl Aligned {
    pub(crate) fn zeros(length: usize) -> Self {
        Self { lines: vec![Line([0.0; FLOATS]); length.div_ceil(FLOATS)], length }
    }
}

impl Deref for Aligned {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        // SAFETY: `Line` is exactly 16 floats without padding, and the lines
        // hold at least `length` of them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}
