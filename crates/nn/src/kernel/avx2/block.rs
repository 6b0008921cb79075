//! One block of the result, up to 6 rows by 16 columns, summed in registers.
//!
//! Each step broadcasts one element per row of the left operand and reads 16
//! contiguous elements of the right one: 8 loads for 12 multiply-adds, which
//! keeps both multipliers busy. Bias, activation and slope are applied before
//! the block is stored.

use std::arch::x86_64::*;

use rlxp_types::cpu::uses_avx512;

use super::wide;
use crate::kernel::activation::{TANH_LIMIT, TANH_P, TANH_Q};
use crate::shape::Activation;

/// Columns of a block: two vectors.
pub(super) const PANEL: usize = 16;

/// Element (row, step) of the left operand is at `start` + row·`row` + step·`step`.
#[derive(Clone, Copy)]
pub(super) struct Left {
    pub(super) start: *const f32,
    pub(super) row: usize,
    pub(super) step: usize,
}

impl Left {
    /// The operand from that row on.
    #[inline]
    pub(super) fn from(self, row: usize) -> Self {
        Self { start: self.start.wrapping_add(row * self.row), ..self }
    }
}

/// 16 columns of the right operand, and the distance between steps.
#[derive(Clone, Copy)]
pub(super) struct Right {
    pub(super) start: *const f32,
    pub(super) step: usize,
}

/// What happens to a block before and after the sum.
pub(super) trait Finish {
    /// What the sums of every row start from.
    unsafe fn start(&self) -> [__m256; 2];
    /// Stores rows `first`.. of the result.
    unsafe fn finish<const M: usize>(&self, first: usize, sums: [[__m256; 2]; M]);
    /// As `start`, for 512-bit registers.
    unsafe fn start_wide(&self) -> __m512;
    /// Stores one row of the result from a 512-bit register.
    unsafe fn finish_wide(&self, row: usize, sum: __m512);
}

/// Sums one block: M rows of P panels.
///
/// # Safety
/// AVX2 and FMA are available; both operands and the result's block are in bounds.
#[target_feature(enable = "avx2,fma")]
unsafe fn block<const M: usize, const P: usize, F: Finish>(
    depth: usize,
    left: Left,
    right: [Right; P],
    first: usize,
    finish: [&F; P],
) -> usize {
    // SAFETY: the caller guarantees the bounds; pointers only move past the end after their last use.
    unsafe {
        let mut sums = finish.map(|finish| [finish.start(); M]);
        let mut a = left.start;
        let mut b = right.map(|right| right.start);
        for _ in 0..depth {
            for panel in 0..P {
                let low = _mm256_loadu_ps(b[panel]);
                let high = _mm256_loadu_ps(b[panel].add(8));
                for (m, sums) in sums[panel].iter_mut().enumerate() {
                    let x = _mm256_broadcast_ss(&*a.add(m * left.row));
                    sums[0] = _mm256_fmadd_ps(x, low, sums[0]);
                    sums[1] = _mm256_fmadd_ps(x, high, sums[1]);
                }
                b[panel] = b[panel].wrapping_add(right[panel].step);
            }
            a = a.wrapping_add(left.step);
        }
        for (finish, sums) in finish.into_iter().zip(sums) {
            finish.finish(first, sums);
        }
    }
    M
}

/// Sums all rows of all panels of `columns` columns, with the widest registers in
/// use. Each panel has its right operand and its finish, by its first column.
///
/// # Safety
/// As for `block`, for all rows and panels.
#[inline]
pub(super) unsafe fn panels<F: Finish>(
    rows: usize,
    depth: usize,
    left: Left,
    columns: usize,
    right: impl Fn(usize) -> Right,
    finish: impl Fn(usize) -> F,
) {
    // SAFETY: passed on from the caller; AVX-512 is only in use where it was detected.
    unsafe {
        if uses_avx512() {
            wide::panels(rows, depth, left, columns, right, finish);
        } else {
            narrow_panels(rows, depth, left, columns, right, finish);
        }
    }
}

/// The same with 256-bit registers.
///
/// # Safety
/// As for `block`, for all rows and panels.
#[inline]
pub(super) unsafe fn narrow_panels<F: Finish>(
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
        // One or two rows of one panel are too few sums to keep both multipliers busy.
        // SAFETY: passed on from the caller.
        column += PANEL
            * unsafe {
                match (rows, left_over) {
                    (1, 4..) => thin::<1, 4, F>(depth, left, column, &right, &finish),
                    (1, 2..) => thin::<1, 2, F>(depth, left, column, &right, &finish),
                    (2, 2..) => thin::<2, 2, F>(depth, left, column, &right, &finish),
                    (3, 2..) => thin::<3, 2, F>(depth, left, column, &right, &finish),
                    _ => {
                        panel(rows, depth, left, right(column), &finish(column));
                        1
                    }
                }
            };
    }
}

/// Sums M rows of P panels from `column` on, and gives P.
///
/// # Safety
/// As for `block`.
#[inline]
unsafe fn thin<const M: usize, const P: usize, F: Finish>(
    depth: usize,
    left: Left,
    column: usize,
    right: &impl Fn(usize) -> Right,
    finish: &impl Fn(usize) -> F,
) -> usize {
    let finishes: [F; P] = std::array::from_fn(|panel| finish(column + panel * PANEL));
    let rights = std::array::from_fn(|panel| right(column + panel * PANEL));
    // SAFETY: passed on from the caller.
    unsafe { block::<M, P, F>(depth, left, rights, 0, finishes.each_ref()) };
    P
}

/// Sums all rows of one panel of 16 columns.
///
/// # Safety
/// As for `block`, for all rows.
#[target_feature(enable = "avx2,fma")]
unsafe fn panel<F: Finish>(rows: usize, depth: usize, left: Left, right: Right, finish: &F) {
    let mut row = 0;
    while row < rows {
        let left = left.from(row);
        // SAFETY: passed on from the caller.
        row += unsafe {
            match rows - row {
                1 => block::<1, 1, F>(depth, left, [right], row, [finish]),
                2 | 3 => block::<2, 1, F>(depth, left, [right], row, [finish]),
                // Two blocks of 4 keep both multipliers busy, 6 and 2 do not.
                4 | 5 | 8 => block::<4, 1, F>(depth, left, [right], row, [finish]),
                _ => block::<6, 1, F>(depth, left, [right], row, [finish]),
            }
        };
    }
}

/// The formula of `activation::tanh`.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn tanh(x: __m256) -> __m256 {
    // The second operand of min and max is returned where one is NaN, so NaN
    // passes through.
    let x = _mm256_min_ps(_mm256_set1_ps(TANH_LIMIT), x);
    let x = _mm256_max_ps(_mm256_set1_ps(-TANH_LIMIT), x);
    let t = _mm256_mul_ps(x, x);
    let p = _mm256_fmadd_ps(_mm256_set1_ps(TANH_P[3]), t, _mm256_set1_ps(TANH_P[2]));
    let p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(TANH_P[1]));
    let p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(TANH_P[0]));
    let q = _mm256_fmadd_ps(_mm256_set1_ps(TANH_Q[3]), t, _mm256_set1_ps(TANH_Q[2]));
    let q = _mm256_fmadd_ps(q, t, _mm256_set1_ps(TANH_Q[1]));
    let q = _mm256_fmadd_ps(q, t, _mm256_set1_ps(TANH_Q[0]));
    let q = _mm256_fmadd_ps(q, t, _mm256_set1_ps(1.0));
    // One division for two vectors was tried and is slower: the multipliers are the bottleneck, not the divider.
    _mm256_div_ps(_mm256_mul_ps(x, p), q)
}

/// The same with 512-bit registers.
#[target_feature(enable = "avx512f")]
#[inline]
fn tanh_wide(x: __m512) -> __m512 {
    let x = _mm512_min_ps(_mm512_set1_ps(TANH_LIMIT), x);
    let x = _mm512_max_ps(_mm512_set1_ps(-TANH_LIMIT), x);
    let t = _mm512_mul_ps(x, x);
    let p = _mm512_fmadd_ps(_mm512_set1_ps(TANH_P[3]), t, _mm512_set1_ps(TANH_P[2]));
    let p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(TANH_P[1]));
    let p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(TANH_P[0]));
    let q = _mm512_fmadd_ps(_mm512_set1_ps(TANH_Q[3]), t, _mm512_set1_ps(TANH_Q[2]));
    let q = _mm512_fmadd_ps(q, t, _mm512_set1_ps(TANH_Q[1]));
    let q = _mm512_fmadd_ps(q, t, _mm512_set1_ps(TANH_Q[0]));
    let q = _mm512_fmadd_ps(q, t, _mm512_set1_ps(1.0));
    _mm512_div_ps(_mm512_mul_ps(x, p), q)
}

/// Adds the bias, applies tanh or relu, stores whole vectors. Other
/// activations are applied by a second pass.
pub(super) struct Activate {
    pub(super) bias: [f32; PANEL],
    pub(super) function: Activation,
    pub(super) y: *mut f32,
    pub(super) stride: usize,
}

impl Finish for Activate {
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn start(&self) -> [__m256; 2] {
        // SAFETY: the bias has 16 elements.
        unsafe { [_mm256_loadu_ps(self.bias.as_ptr()), _mm256_loadu_ps(self.bias.as_ptr().add(8))] }
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn finish<const M: usize>(&self, first: usize, mut sums: [[__m256; 2]; M]) {
        // SAFETY: the caller guarantees the rows; they are padded to whole panels.
        unsafe {
            match self.function {
                Activation::Tanh => {
                    for row in &mut sums {
                        *row = [tanh(row[0]), tanh(row[1])];
                    }
                }
                Activation::Relu => {
                    let zero = _mm256_setzero_ps();
                    for row in &mut sums {
                        *row = [_mm256_max_ps(zero, row[0]), _mm256_max_ps(zero, row[1])];
                    }
                }
                Activation::Elu | Activation::Gelu => {}
            }
            let mut y = self.y.add(first * self.stride);
            for row in sums {
                _mm256_storeu_ps(y, row[0]);
                _mm256_storeu_ps(y.add(8), row[1]);
                y = y.wrapping_add(self.stride);
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn start_wide(&self) -> __m512 {
        // SAFETY: the bias has 16 elements.
        unsafe { _mm512_loadu_ps(self.bias.as_ptr()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn finish_wide(&self, row: usize, sum: __m512) {
        let value = match self.function {
            Activation::Tanh => tanh_wide(sum),
            Activation::Relu => _mm512_max_ps(_mm512_setzero_ps(), sum),
            Activation::Elu | Activation::Gelu => sum,
        };
        // SAFETY: the caller guarantees the row; it is padded to whole panels.
        unsafe { _mm512_storeu_ps(self.y.add(row * self.stride), value) };
    }
}

/// Multiplies by the slope of the activation that made `y`, stores whole vectors.
pub(super) struct Slope {
    /// The activation, or none to leave the sums as they are.
    pub(super) function: Option<Activation>,
    /// Activations, or for gelu the slopes themselves.
    pub(super) y: *const f32,
    pub(super) dx: *mut f32,
    pub(super) accumulate: bool,
    pub(super) stride: usize,
}

impl Finish for Slope {
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn start(&self) -> [__m256; 2] {
        [_mm256_setzero_ps(); 2]
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn finish<const M: usize>(&self, first: usize, mut sums: [[__m256; 2]; M]) {
        // SAFETY: the caller guarantees the rows; they are padded to whole panels.
        unsafe {
            let dx = self.dx.add(first * self.stride);
            let y = self.y.add(first * self.stride);
            let one = _mm256_set1_ps(1.0);
            let zero = _mm256_setzero_ps();
            if self.accumulate {
                for (m, row) in sums.iter_mut().enumerate() {
                    for (half, sum) in row.iter_mut().enumerate() {
                        *sum = _mm256_add_ps(*sum, _mm256_loadu_ps(dx.add(m * self.stride + half * 8)));
                    }
                }
            }
            for (m, row) in sums.into_iter().enumerate() {
                for (half, sum) in row.into_iter().enumerate() {
                    let at = m * self.stride + half * 8;
                    let value = match self.function {
                        None => sum,
                        Some(Activation::Tanh) => {
                            let y = _mm256_loadu_ps(y.add(at));
                            _mm256_mul_ps(sum, _mm256_fnmadd_ps(y, y, one))
                        }
                        Some(Activation::Relu) => {
                            let y = _mm256_loadu_ps(y.add(at));
                            _mm256_and_ps(sum, _mm256_cmp_ps::<_CMP_GT_OQ>(y, zero))
                        }
                        Some(Activation::Elu) => {
                            // 1 above zero, y + 1 below.
                            let y = _mm256_loadu_ps(y.add(at));
                            _mm256_mul_ps(sum, _mm256_add_ps(_mm256_min_ps(zero, y), one))
                        }
                        Some(Activation::Gelu) => _mm256_mul_ps(sum, _mm256_loadu_ps(y.add(at))),
                    };
                    _mm256_storeu_ps(dx.add(at), value);
                }
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn start_wide(&self) -> __m512 {
        _mm512_setzero_ps()
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn finish_wide(&self, row: usize, sum: __m512) {
        // SAFETY: the caller guarantees the row; it is padded to whole panels.
        unsafe {
            let (one, zero) = (_mm512_set1_ps(1.0), _mm512_setzero_ps());
            let dx = self.dx.add(row * self.stride);
            let y = self.y.wrapping_add(row * self.stride);
            let sum = if self.accumulate { _mm512_add_ps(sum, _mm512_loadu_ps(dx)) } else { sum };
            let value = match self.function {
                None => sum,
                Some(Activation::Tanh) => {
                    let y = _mm512_loadu_ps(y);
                    _mm512_mul_ps(sum, _mm512_fnmadd_ps(y, y, one))
                }
                Some(Activation::Relu) => {
                    let is_on = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(_mm512_loadu_ps(y), zero);
                    _mm512_maskz_mov_ps(is_on, sum)
                }
                Some(Activation::Elu) => {
                    _mm512_mul_ps(sum, _mm512_add_ps(_mm512_min_ps(zero, _mm512_loadu_ps(y)), one))
                }
                Some(Activation::Gelu) => _mm512_mul_ps(sum, _mm512_loadu_ps(y)),
            };
            _mm512_storeu_ps(dx, value);
        }
    }
}

/// Adds to a dense matrix, whose last panel may be narrower than 16.
pub(super) struct Add {
    pub(super) destination: *mut f32,
    pub(super) stride: usize,
    pub(super) columns: usize,
}

impl Finish for Add {
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn start(&self) -> [__m256; 2] {
        [_mm256_setzero_ps(); 2]
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    unsafe fn finish<const M: usize>(&self, first: usize, sums: [[__m256; 2]; M]) {
        // SAFETY: the caller guarantees the rows, of `columns` elements each.
        unsafe {
            let mut to = self.destination.add(first * self.stride);
            for row in sums {
                if self.columns == PANEL {
                    _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), row[0]));
                    _mm256_storeu_ps(to.add(8), _mm256_add_ps(_mm256_loadu_ps(to.add(8)), row[1]));
                } else {
                    let mut values = [0.0; PANEL];
                    _mm256_storeu_ps(values.as_mut_ptr(), row[0]);
                    _mm256_storeu_ps(values.as_mut_ptr().add(8), row[1]);
                    for (column, value) in values.iter().take(self.columns).enumerate() {
                        *to.add(column) += value;
                    }
                }
                to = to.wrapping_add(self.stride);
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn start_wide(&self) -> __m512 {
        _mm512_setzero_ps()
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn finish_wide(&self, row: usize, sum: __m512) {
        // SAFETY: the caller guarantees the row; elements beyond `columns` are neither read nor written.
        unsafe {
            let there = ((1_u32 << self.columns) - 1) as __mmask16;
            let to = self.destination.add(row * self.stride);
            _mm512_mask_storeu_ps(to, there, _mm512_add_ps(_mm512_maskz_loadu_ps(there, to), sum));
        }
    }
}
