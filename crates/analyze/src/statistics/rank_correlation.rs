//! Spearman's rank correlation: whether two series rise and fall together,
//! whatever their scales.

use crate::statistics::aggregate::mean;

/// Spearman's rank correlation; `None` where one side is constant.
pub fn rank_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let (x, y) = (midranks(x), midranks(y));
    let (mean_x, mean_y) = (mean(&x), mean(&y));
    let (mut both, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(&y) {
        both += (x - mean_x) * (y - mean_y);
        xx += (x - mean_x).powi(2);
        yy += (y - mean_y).powi(2);
    }
    (xx > 0.0 && yy > 0.0).then(|| both / (xx * yy).sqrt())
}

fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut begin = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = begin as f64 + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|index| ranks[*index] = rank);
        begin += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation_by_hand() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[10.0, 20.0, 90.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 1.0], &[3.0, 2.0]), None);
        // Ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4: 4.5 / √(4.5 · 5).
        let tied = rank_correlation(&[1.0, 2.0, 2.0, 9.0], &[1.0, 3.0, 2.0, 4.0]).unwrap();
        assert!((tied - 4.5 / 22.5_f64.sqrt()).abs() < 1e-12);
    }
}
