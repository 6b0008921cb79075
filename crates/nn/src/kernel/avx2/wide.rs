//! The same blocks with 512-bit registers: up to 8 rows by 32 columns, or 4 rows
//! by 64 where there are few rows.
//!
//! A panel of a row is one register instead of two. Broadcasting one element of
//! the left operand for two panels takes 10 loads for 16 multiply-adds; for one
//! panel it would be 17, more than the loads that a core does meanwhile. Every
//! element is the same chain of fused multiply-adds as in the narrower blocks,
//! so the results have the same bits.

use std::arch::x86_64::*;
use std::hint::black_box;

use super::block::{Finish, Left, PANEL, Right};

/// Fewest rows of the blocks that are two panels wide.
const TALL: usize = 8;

/// Sums all rows of all panels of `columns` columns.
///
/// # Safety
/// AVX-512 (F, DQ, VL), AVX2 and FMA are available; both operands and the result are in bounds.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
pub(super) unsafe fn panels<F: Finish>(
    rows: usize,
    depth: usize,
    left: Left,
    columns: usize,
    right: impl Fn(usize) -> Right,
    finish: impl Fn(usize) -> F,
) {
    let mut column = 0;
    while column < columns {
        let left_over = (columns - column).div_ceil(PANEL);
        // SAFETY: passed on from the caller.
        column += PANEL
            * unsafe {
                match (rows, left_over) {
                    (..TALL, 4..) => few_rows::<4, F>(rows, depth, left, column, &right, &finish),
                    (..TALL, 2..) => few_rows::<2, F>(rows, depth, left, column, &right, &finish),
                    (..TALL, _) => few_rows::<1, F>(rows, depth, left, column, &right, &finish),
                    (_, 2..) => many_rows::<2, F>(rows, depth, left, column, &right, &finish),
                    _ => many_rows::<1, F>(rows, depth, left, column, &right, &finish),
                }
            };
    }
}

/// Sums `rows` rows of P panels from `column` on in blocks of 8, and gives P.
///
/// # Safety
/// As for `panels`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
unsafe fn many_rows<const P: usize, F: Finish>(
    rows: usize,
    depth: usize,
    left: Left,
    column: usize,
    right: &impl Fn(usize) -> Right,
    finish: &impl Fn(usize) -> F,
) -> usize {
    let finishes: [F; P] = std::array::from_fn(|panel| finish(column + panel * PANEL));
    let rights: [Right; P] = std::array::from_fn(|panel| right(column + panel * PANEL));
    let tall = rows - rows % TALL;
    // SAFETY: passed on from the caller.
    unsafe {
        for row in (0..tall).step_by(TALL) {
            block::<TALL, P, F>(depth, left.from(row), rights, row, &finishes);
        }
        remaining_rows(tall, rows, depth, left, rights, &finishes);
    }
    P
}

/// Sums fewer than 8 rows of P panels from `column` on, and gives P.
///
/// # Safety
/// As for `panels`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
unsafe fn few_rows<const P: usize, F: Finish>(
    rows: usize,
    depth: usize,
    left: Left,
    column: usize,
    right: &impl Fn(usize) -> Right,
    finish: &impl Fn(usize) -> F,
) -> usize {
    let finishes: [F; P] = std::array::from_fn(|panel| finish(column + panel * PANEL));
    let rights: [Right; P] = std::array::from_fn(|panel| right(column + panel * PANEL));
    // SAFETY: passed on from the caller.
    unsafe { remaining_rows(0, rows, depth, left, rights, &finishes) };
    P
}

/// Rows `first`..`rows`, fewer than 8, in blocks of 4, 2 and 1.
///
/// # Safety
/// As for `panels`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
unsafe fn remaining_rows<const P: usize, F: Finish>(
    first: usize,
    rows: usize,
    depth: usize,
    left: Left,
    right: [Right; P],
    finish: &[F; P],
) {
    let mut row = first;
    while row < rows {
        // SAFETY: passed on from the caller.
        row += unsafe {
            match rows - row {
                1 => block::<1, P, F>(depth, left.from(row), right, row, finish),
                2 | 3 => block::<2, P, F>(depth, left.from(row), right, row, finish),
                _ => block::<4, P, F>(depth, left.from(row), right, row, finish),
            }
        };
    }
}

/// Sums one block of M rows and P panels, and gives M.
///
/// # Safety
/// As for `panels`, for these rows.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
#[inline]
unsafe fn block<const M: usize, const P: usize, F: Finish>(
    depth: usize,
    left: Left,
    right: [Right; P],
    first: usize,
    finish: &[F; P],
) -> usize {
    // SAFETY: the caller guarantees the bounds; pointers only move past the end after their last use.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); M]; P];
        for (sums, finish) in sums.iter_mut().zip(finish) {
            *sums = [finish.start_wide(); M];
        }
        // Offsets whose relation the compiler can't see stay in registers; otherwise it walks one pointer from
        // row to row, a chain of additions that takes longer than the products.
        let rows: [usize; M] = black_box(std::array::from_fn(|m| m * left.row));
        let mut a = left.start;
        let mut b = right.map(|right| right.start);
        for _ in 0..depth {
            let mut columns = [_mm512_setzero_ps(); P];
            for (panel, columns) in columns.iter_mut().enumerate() {
                *columns = _mm512_loadu_ps(b[panel]);
                b[panel] = b[panel].wrapping_add(right[panel].step);
            }
            for (m, row) in rows.iter().enumerate() {
                let x = _mm512_set1_ps(*a.add(*row));
                for panel in 0..P {
                    sums[panel][m] = _mm512_fmadd_ps(x, columns[panel], sums[panel][m]);
                }
            }
            a = a.wrapping_add(left.step);
        }
        for (finish, sums) in finish.iter().zip(sums) {
            for (m, sum) in sums.into_iter().enumerate() {
                finish.finish_wide(first + m, sum);
            }
        }
    }
    M
}

#[cfg(test)]
mod tests {
    use rlxp_types::Stream;
    use rlxp_types::cpu::has_avx512;

    use super::super::block::{Activate, Add, Slope, narrow_panels};
    use super::*;
    use crate::shape::Activation;

    /// Columns of all operands: enough for every number of panels together.
    const STRIDE: usize = 112;
    const FUNCTIONS: [Activation; 4] =
        [Activation::Tanh, Activation::Relu, Activation::Elu, Activation::Gelu];

    fn normal(stream: &mut Stream, length: usize) -> Vec<f32> {
        let mut values = vec![0.0; length];
        stream.fill_normal(&mut values);
        values
    }

    /// Both over the same operands, `columns` wide, into results that start out equal.
    fn both<F: Finish>(
        rows: usize,
        depth: usize,
        columns: usize,
        before: &[f32],
        finish: impl Fn(*mut f32, usize) -> F,
    ) {
        let mut stream = Stream::new(1, "test", rows as u64);
        let (a, b) = (normal(&mut stream, rows * depth), normal(&mut stream, depth * STRIDE));
        for left in
            [Left { start: a.as_ptr(), row: depth, step: 1 }, Left { start: a.as_ptr(), row: 1, step: rows }]
        {
            let right = |column: usize| Right { start: b[column..].as_ptr(), step: STRIDE };
            let [mut narrow, mut wide] = [before.to_vec(), before.to_vec()];
            // SAFETY: the test runs where AVX-512 was found, and all extents fit.
            unsafe {
                let to = narrow.as_mut_ptr();
                narrow_panels(rows, depth, left, columns, right, |column| finish(to, column));
                let to = wide.as_mut_ptr();
                panels(rows, depth, left, columns, right, |column| finish(to, column));
            }
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&narrow), bits(&wide), "{rows} rows, {depth} steps, {columns} columns");
        }
    }

    #[test]
    fn wide_and_narrow_blocks_give_the_same_bits() {
        if !has_avx512() {
            return;
        }
        let mut stream = Stream::new(2, "test", 0);
        for rows in 1..=19 {
            for (depth, columns) in [(1, 16), (4, 32), (7, 48), (64, 80), (5, STRIDE)] {
                let before = normal(&mut stream, rows * STRIDE);
                let (y, bias) = (normal(&mut stream, rows * STRIDE), normal(&mut stream, STRIDE));
                for function in FUNCTIONS {
                    both(rows, depth, columns, &before, |to, column| Activate {
                        bias: std::array::from_fn(|lane| bias[column + lane]),
                        function,
                        y: to.wrapping_add(column),
                        stride: STRIDE,
                    });
                    for accumulate in [false, true] {
                        for function in [None, Some(function)] {
                            both(rows, depth, columns, &before, |to, column| Slope {
                                function,
                                y: y[column..].as_ptr(),
                                dx: to.wrapping_add(column),
                                accumulate,
                                stride: STRIDE,
                            });
                        }
                    }
                }
                for missing in [0, 11] {
                    let columns = columns - missing;
                    both(rows, depth, columns, &before, |to, column| Add {
                        destination: to.wrapping_add(column),
                        stride: STRIDE,
                        columns: PANEL.min(columns - column),
                    });
                }
            }
        }
    }
}
