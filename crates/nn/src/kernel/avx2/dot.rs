//! Products of rows with a few output vectors, both read along the summed
//! index. A block of 16 columns would be nearly empty for two or three outputs.

use std::arch::x86_64::*;

use rlxp_types::cpu::uses_avx512;

use crate::kernel::Rows;

/// Rows that are summed together.
const TOGETHER: usize = 4;

/// y = x·weightᵀ + bias; `depth` is a multiple of 16, rows of `weight` are
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
    let wide = uses_avx512();
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
                    let [a, b] = if wide { wide_block(starts, at, depth) } else { block(starts, at, depth) };
                    for row in 0..real {
                        let y = &mut y[(first + row) * n + output..][..2];
                        y[0] = a[row] + bias[output];
                        y[1] = b[row] + bias[output + 1];
                    }
                    output += 2;
                } else {
                    let [a] = if wide { wide_block(starts, at, depth) } else { block(starts, at, depth) };
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
        let mut sums = [[[_mm256_setzero_ps(); TOGETHER]; N]; 2];
        for at in (0..depth).step_by(16) {
            for (half, sums) in sums.iter_mut().enumerate() {
                let at = at + half * 8;
                let x = starts.map(|start| _mm256_loadu_ps(start.add(at)));
                for (output, sums) in sums.iter_mut().enumerate() {
                    let weight = _mm256_loadu_ps(weight.add(output * depth + at));
                    for (sum, x) in sums.iter_mut().zip(x) {
                        *sum = _mm256_fmadd_ps(x, weight, *sum);
                    }
                }
            }
        }
        let [low, high] = sums;
        std::array::from_fn(|output| {
            totals(std::array::from_fn(|row| _mm256_add_ps(low[output][row], high[output][row])))
        })
    }
}

/// The same with 512-bit registers; the same chains, so the same bits.
///
/// # Safety
/// As for `rows`, and AVX-512 (F, DQ, VL) is available.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
unsafe fn wide_block<const N: usize>(
    starts: [*const f32; TOGETHER],
    weight: *const f32,
    depth: usize,
) -> [[f32; TOGETHER]; N] {
    // SAFETY: the caller vouches for the bounds.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); TOGETHER]; N];
        for at in (0..depth).step_by(16) {
            let x = starts.map(|start| _mm512_loadu_ps(start.add(at)));
            for (output, sums) in sums.iter_mut().enumerate() {
                let weight = _mm512_loadu_ps(weight.add(output * depth + at));
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum = _mm512_fmadd_ps(x, weight, *sum);
                }
            }
        }
        sums.map(|sums| {
            totals(
                sums.map(|sum| _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps::<1>(sum))),
            )
        })
    }
}

/// The sum of each of four registers, their elements added in pairs.
#[target_feature(enable = "avx2")]
#[inline]
fn totals([a, b, c, d]: [__m256; TOGETHER]) -> [f32; TOGETHER] {
    let pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    let total = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps::<1>(pairs));
    let mut values = [0.0; TOGETHER];
    // SAFETY: the array has four elements.
    unsafe { _mm_storeu_ps(values.as_mut_ptr(), total) };
    values
}

#[cfg(test)]
mod tests {
    use rlxp_types::Stream;
    use rlxp_types::cpu::has_avx512;

    use super::*;

    #[test]
    fn wide_and_narrow_products_give_the_same_bits() {
        if !has_avx512() {
            return;
        }
        let mut stream = Stream::new(3, "test", 0);
        for depth in [16, 48, 64, 256] {
            let mut values = vec![0.0; (TOGETHER + 2) * depth];
            stream.fill_normal(&mut values);
            let (x, weight) = values.split_at(TOGETHER * depth);
            let starts = std::array::from_fn(|row| x[row * depth..].as_ptr());
            // SAFETY: the CPU has AVX-512; four rows and two output vectors of `depth` elements exist.
            let [narrow, wide]: [[[f32; TOGETHER]; 2]; 2] = unsafe {
                [block(starts, weight.as_ptr(), depth), wide_block(starts, weight.as_ptr(), depth)]
            };
            assert_eq!(
                narrow.map(|row| row.map(f32::to_bits)),
                wide.map(|row| row.map(f32::to_bits)),
                "{depth}"
            );
        }
    }
}
