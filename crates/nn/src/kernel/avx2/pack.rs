//! Copies of weights in the order in which a product reads them: panel after
//! panel, 16 columns wide, the last one filled up with zeros.

use std::arch::x86_64::*;

use super::block::PANEL;

/// `rows` × `columns`, row-major, into panels of 16 columns.
pub(super) fn panels(matrix: &[f32], rows: usize, columns: usize, packed: &mut [f32]) {
    for (panel, packed) in packed.chunks_exact_mut(rows * PANEL).take(columns.div_ceil(PANEL)).enumerate() {
        let column = panel * PANEL;
        let width = PANEL.min(columns - column);
        for (row, to) in packed.as_chunks_mut::<PANEL>().0.iter_mut().enumerate() {
            let from = &matrix[row * columns + column..];
            match from.first_chunk::<PANEL>() {
                Some(from) if width == PANEL => *to = *from,
                _ => {
                    to[..width].copy_from_slice(&from[..width]);
                    to[width..].fill(0.0);
                }
            }
        }
    }
}

/// The transpose of `rows` × `columns`, into panels of 16 of its columns: 16
/// rows of the matrix each.
///
/// # Safety
/// AVX2 is available.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn transposed_panels(matrix: &[f32], rows: usize, columns: usize, packed: &mut [f32]) {
    assert!(matrix.len() >= rows * columns, "the matrix is complete");
    for (panel, packed) in packed.chunks_exact_mut(columns * PANEL).take(rows.div_ceil(PANEL)).enumerate() {
        for half in 0..2 {
            let first = panel * PANEL + half * 8;
            let blocks = if first + 8 <= rows { columns / 8 } else { 0 };
            for block in 0..blocks {
                // SAFETY: rows first..first+8 and columns 8·block..+8 exist, and
                // a panel holds `columns` times 16 elements.
                unsafe {
                    let from = matrix.as_ptr().add(first * columns + block * 8);
                    let to = packed.as_mut_ptr().add(block * 8 * PANEL + half * 8);
                    transpose_8x8(from, columns, to);
                }
            }
            for column in blocks * 8..columns {
                for lane in 0..8 {
                    let row = first + lane;
                    packed[column * PANEL + half * 8 + lane] =
                        if row < rows { matrix[row * columns + column] } else { 0.0 };
                }
            }
        }
    }
}

/// # Safety
/// AVX2 is available; 8 rows `stride` apart are readable, 8 rows 16 apart writable.
#[target_feature(enable = "avx2")]
unsafe fn transpose_8x8(from: *const f32, stride: usize, to: *mut f32) {
    // SAFETY: the caller vouches for the bounds.
    unsafe {
        // Rows r and r+4 side by side, so that no later step crosses halves.
        let pair = |row: usize, column: usize| {
            let low = _mm256_castps128_ps256(_mm_loadu_ps(from.add(row * stride + column)));
            _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(from.add((row + 4) * stride + column)))
        };
        for half in 0..2 {
            let rows: [__m256; 4] = std::array::from_fn(|row| pair(row, half * 4));
            let a = _mm256_unpacklo_ps(rows[0], rows[1]);
            let b = _mm256_unpackhi_ps(rows[0], rows[1]);
            let c = _mm256_unpacklo_ps(rows[2], rows[3]);
            let d = _mm256_unpackhi_ps(rows[2], rows[3]);
            let columns = [
                _mm256_shuffle_ps::<0b01_00_01_00>(a, c),
                _mm256_shuffle_ps::<0b11_10_11_10>(a, c),
                _mm256_shuffle_ps::<0b01_00_01_00>(b, d),
                _mm256_shuffle_ps::<0b11_10_11_10>(b, d),
            ];
            for (column, values) in columns.into_iter().enumerate() {
                _mm256_storeu_ps(to.add((half * 4 + column) * PANEL), values);
            }
        }
    }
}
