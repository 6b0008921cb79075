//! Eight rows of a matrix at a time, column by column.

use crate::vector::{LANES, Vector};

/// Eight rows of a matrix, of which the last may be missing.
pub(super) struct Block<'a> {
    pub(super) data: &'a [f32],
    pub(super) width: usize,
    pub(super) rows: usize,
}

impl Block<'_> {
    /// Element `column` of each row; missing rows read as zero.
    #[inline(always)]
    pub(super) fn column<V: Vector>(&self, column: usize) -> V {
        if self.rows == LANES && self.width == 1 {
            V::load(*self.data.first_chunk().expect("a whole block has eight rows"))
        } else if self.rows == LANES {
            let data = &self.data[..7 * self.width + column + 1];
            V::load(std::array::from_fn(|lane| data[lane * self.width + column]))
        } else {
            V::load(std::array::from_fn(|lane| {
                if lane < self.rows { self.data[lane * self.width + column] } else { 0.0 }
            }))
        }
    }

    /// Writes a column of a matrix of the same shape.
    #[inline(always)]
    pub(super) fn write<V: Vector>(&self, values: V, column: usize, target: &mut [f32]) {
        if self.rows == LANES && self.width == 1 {
            target[..LANES].copy_from_slice(&values.store());
            return;
        }
        for (lane, value) in values.store().into_iter().take(self.rows).enumerate() {
            target[lane * self.width + column] = value;
        }
    }
}

/// The rows in blocks of eight, with the number of the first.
#[inline(always)]
pub(super) fn blocks(data: &[f32], width: usize, rows: usize) -> impl Iterator<Item = (usize, Block<'_>)> {
    let block =
        move |first| (first, Block { data: &data[first * width..], width, rows: LANES.min(rows - first) });
    (0..rows).step_by(LANES).map(block)
}
