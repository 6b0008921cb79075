//! Products of rows with a few output vectors, both read along the summed
//! index. A block of 16 columns would be nearly empty for two or three outputs.

use std::arch::x86_64::*;

use crate::kernel::Rows;

/// Rows that are summed together.
const TOGETHER: usize = 4;

/// y = x·weightᵀ + bias; `depth` is a multiple of 8, rows of `weight` are
/// `depth` apart, y is dense.
///
/// # Safety
/// AVX2 and FMA are available, and all operands are in bounds.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn rows(
    rows: usize,
    depth: usize,
    x: Rows<'_>,
    weight: &[f32],
    bias: &[f32],
    y: &mut [f32],
) {
    let n = bias.len();
    for first in (0..rows).step_by(TOGETHER) {
        // Missing rows repeat the last one; their sums are dropped.
        let starts: [*const f32; TOGETHER] =
            std::array::from_fn(|row| x.data[(first + row).min(rows - 1) * x.stride..].as_ptr());
        let real = TOGETHER.min(rows - first);
        let mut output = 0;
        while output < n {
            let at = weight[output * depth..].as_ptr();
            // SAFETY: passed on from the caller.
            unsafe {
                if n - output >= 2 {
                    let [a, b] = block::<2>(starts, at, depth);
                    for row in 0..real {
                        let y = &mut y[(first + row) * n + output..][..2];
                        y[0] = a[row] + bias[output];
                        y[1] = b[row] + bias[output + 1];
                    }
                    output += 2;
                } else {
                    let [a] = block::<1>(starts, at, depth);
                    for row in 0..real {
                        y[(first + row) * n + output] = a[row] + bias[output];
                    }
                    output += 1;
                }
            }
        }
    }
}

/// The products of 4 rows with N output vectors, by output.
///
/// # Safety
/// As for `rows`.
#[target_feature(enable = "avx2,fma")]
unsafe fn block<const N: usize>(
    starts: [*const f32; TOGETHER],
    weight: *const f32,
    depth: usize,
) -> [[f32; TOGETHER]; N] {
    // SAFETY: the caller vouches for the bounds.
    unsafe {
        let mut sums = [[_mm256_setzero_ps(); TOGETHER]; N];
        for at in (0..depth).step_by(8) {
            let x = starts.map(|start| _mm256_loadu_ps(start.add(at)));
            for (output, sums) in sums.iter_mut().enumerate() {
                let weight = _mm256_loadu_ps(weight.add(output * depth + at));
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum = _mm256_fmadd_ps(x, weight, *sum);
                }
            }
        }
        sums.map(|[a, b, c, d]| {
            let pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
            let total = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps::<1>(pairs));
            let mut values = [0.0; TOGETHER];
            _mm_storeu_ps(values.as_mut_ptr(), total);
            values
        })
    }
}
