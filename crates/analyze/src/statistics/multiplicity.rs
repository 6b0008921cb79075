//! Many p values at once: Holm's adjustment (1979) keeps the chance of any
//! false claim at the level asked for. An adjusted p value is compared with
//! the level directly.

/// Holm's step-down adjustment: never weaker than multiplying each p value by
/// their number, and valid under any dependence.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| p[*left].total_cmp(&p[*right]));
    let mut adjusted = vec![0.0; p.len()];
    let mut running = 0.0f64;
    for (place, index) in order.into_iter().enumerate() {
        running = running.max(p[index] * (p.len() - place) as f64).min(1.0);
        adjusted[index] = running;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_adjustment_has_the_reference_values() {
        let p = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205];
        let expected = [0.008, 0.056, 0.234, 0.234, 0.234, 0.234, 0.234, 0.234];
        for (got, expected) in holm(&p).into_iter().zip(expected) {
            assert!((got - expected).abs() < 6e-7, "got {got}, expected {expected}");
        }
    }

    proptest! {
        #[test]
        fn adjusted_values_lie_between_their_own_and_their_number_times_it(
            p in proptest::collection::vec(0.0..1.0f64, 0..20)
        ) {
            let adjusted = holm(&p);
            for (own, adjusted) in p.iter().zip(&adjusted) {
                prop_assert!((own * p.len() as f64).min(1.0) >= *adjusted && adjusted >= own);
            }
            let mut turned = p.clone();
            turned.reverse();
            let mut back = holm(&turned);
            back.reverse();
            prop_assert_eq!(back, adjusted);
        }
    }
}
