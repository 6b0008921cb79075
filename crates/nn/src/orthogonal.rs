//! Orthogonal initial weights: the Q of a Gaussian matrix, scaled.
//!
//! Gram and Schmidt keep the diagonal of R positive, which makes Q uniform
//! among orthogonal matrices; every vector is made orthogonal twice, so that
//! rounding leaves nothing behind.

use rlxp_types::Stream;

/// A `rows` × `columns` row-major matrix whose shorter side is orthonormal,
/// times `gain`.
pub(crate) fn orthogonal(rows: usize, columns: usize, gain: f32, stream: &mut Stream) -> Vec<f32> {
    let (long, short) = (rows.max(columns), rows.min(columns));
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(short);
    while basis.len() < short {
        let mut vector = gaussian(long, stream);
        for _ in 0..2 {
            for earlier in &basis {
                let overlap = dot(&vector, earlier);
                vector.iter_mut().zip(earlier).for_each(|(value, earlier)| *value -= overlap * earlier);
            }
        }
        let length = dot(&vector, &vector).sqrt();
        // A vector in the span of the others adds nothing: draw again.
        if length > 1e-6 {
            vector.iter_mut().for_each(|value| *value /= length);
            basis.push(vector);
        }
    }
    let mut matrix = vec![0.0; rows * columns];
    for (short, vector) in basis.iter().enumerate() {
        for (long, value) in vector.iter().enumerate() {
            let at = if rows >= columns { long * columns + short } else { short * columns + long };
            matrix[at] = gain * *value as f32;
        }
    }
    matrix
}

fn gaussian(length: usize, stream: &mut Stream) -> Vec<f64> {
    let mut vector = Vec::with_capacity(length + 1);
    while vector.len() < length {
        let (first, second) = stream.normal_pair();
        vector.extend([first, second]);
    }
    vector.truncate(length);
    vector
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_side_is_orthonormal_times_gain() {
        for (rows, columns) in [(4, 64), (64, 64), (64, 2), (1, 7), (500, 16), (3, 3)] {
            let matrix = orthogonal(rows, columns, 1.5, &mut Stream::new(1, "init", 0));
            let short = rows.min(columns);
            let at = |short: usize, long: usize| {
                f64::from(if rows >= columns {
                    matrix[long * columns + short]
                } else {
                    matrix[short * columns + long]
                })
            };
            for a in 0..short {
                for b in 0..short {
                    let product: f64 = (0..rows.max(columns)).map(|long| at(a, long) * at(b, long)).sum();
                    let wanted = if a == b { 2.25 } else { 0.0 };
                    assert!((product - wanted).abs() < 1e-5, "{rows}x{columns}: {a}·{b} = {product}");
                }
            }
        }
    }

    #[test]
    fn entries_have_no_preferred_sign() {
        let mut sum = 0.0;
        for seed in 0..200 {
            sum += f64::from(orthogonal(8, 8, 1.0, &mut Stream::new(seed, "init", 0))[0]);
        }
        // The first entry has mean 0 and variance 1/8: four sigma.
        assert!((sum / 200.0).abs() < 4.0 * (1.0 / 8.0_f64 / 200.0).sqrt(), "mean {}", sum / 200.0);
    }
}
