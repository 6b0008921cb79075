//! Which dimensions matter most over the explained states, and how far the
//! three methods agree about it.

use serde::Serialize;

use super::Explained;

/// A way to attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// |gradient|.
    Saliency,
    /// Mean gradient over noisy copies.
    Smoothgrad,
    /// Integrated gradients.
    Integrated,
}

/// All of them, in the order of the lists here.
pub const METHODS: [Method; 3] = [Method::Saliency, Method::Smoothgrad, Method::Integrated];

/// The dimensions in order, and how sure that order is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// The dimensions, those that matter most first.
    pub dimensions: Vec<RankedDimension>,
    /// Every two methods.
    pub agreement: Vec<Agreement>,
}

/// One observation dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedDimension {
    /// Its number in the observation.
    pub dimension: usize,
    /// Mean of its shares by the three methods; decides the order.
    pub share: f64,
    pub saliency: Attribution,
    pub smoothgrad: Attribution,
    /// By integrated gradients.
    pub integrated: Attribution,
}

/// What one method says about a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Attribution {
    /// Mean |attribution| over the states, in the method's own unit.
    pub mean: f64,
    /// The same so that dimensions can be compared: gradients are multiplied
    /// by the dimension's deviation over the visited states.
    pub influence: f64,
    /// Its part of the sum over all dimensions.
    pub share: f64,
    /// Its place, from 1.
    pub rank: usize,
    /// Fraction of the states in which it has this very place.
    pub same_place: f64,
}

/// How far two methods agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    pub one: Method,
    pub other: Method,
    /// Spearman's rank correlation over the dimensions; `None` if there is only one dimension or a method sees no
    /// difference between them.
    pub spearman: Option<f64>,
}

/// The ranking over `states`. A gradient of dimension i counts times `units[i]`.
pub(crate) fn rank(states: &[Explained], units: &[f64]) -> Ranking {
    let columns = METHODS.map(|method| places(states, units, method));
    let mut dimensions: Vec<RankedDimension> = (0..units.len())
        .map(|dimension| {
            let [saliency, smoothgrad, integrated] = columns.each_ref().map(|places| places[dimension]);
            let share = (saliency.share + smoothgrad.share + integrated.share) / 3.0;
            RankedDimension { dimension, share, saliency, smoothgrad, integrated }
        })
        .collect();
    // A stable sort: dimensions that matter equally keep their order.
    dimensions.sort_by(|a, b| b.share.total_cmp(&a.share));
    let influences =
        columns.each_ref().map(|places| places.iter().map(|place| place.influence).collect::<Vec<_>>());
    let pairs = [(0, 1), (0, 2), (1, 2)];
    let agreement = pairs.map(|(one, other)| Agreement {
        one: METHODS[one],
        other: METHODS[other],
        spearman: spearman(&influences[one], &influences[other]),
    });
    Ranking { dimensions, agreement: agreement.to_vec() }
}

fn places(states: &[Explained], units: &[f64], method: Method) -> Vec<Attribution> {
    let of = |state: &Explained| -> Vec<f64> {
        let (values, scaled) = match method {
            Method::Saliency => (&state.saliency, true),
            Method::Smoothgrad => (&state.smoothgrad, true),
            Method::Integrated => (&state.integrated, false),
        };
        values.iter().zip(units).map(|(value, unit)| value.abs() * if scaled { *unit } else { 1.0 }).collect()
    };
    let raw = |state: &Explained, dimension: usize| match method {
        Method::Saliency => state.saliency[dimension].abs(),
        Method::Smoothgrad => state.smoothgrad[dimension].abs(),
        Method::Integrated => state.integrated[dimension].abs(),
    };
    let count = states.len().max(1) as f64;
    let per_state: Vec<Vec<f64>> = states.iter().map(of).collect();
    let influence: Vec<f64> = (0..units.len())
        .map(|dimension| per_state.iter().map(|values| values[dimension]).sum::<f64>() / count)
        .collect();
    let total: f64 = influence.iter().sum();
    let overall = order(&influence);
    let places_of_states: Vec<Vec<usize>> = per_state.iter().map(|values| order(values)).collect();
    (0..units.len())
        .map(|dimension| {
            let same =
                places_of_states.iter().filter(|places| places[dimension] == overall[dimension]).count();
            Attribution {
                mean: states.iter().map(|state| raw(state, dimension)).sum::<f64>() / count,
                influence: influence[dimension],
                share: if total == 0.0 { 0.0 } else { influence[dimension] / total },
                rank: overall[dimension],
                same_place: same as f64 / count,
            }
        })
        .collect()
}

/// The place of each value from 1, largest first; equal values in their order.
fn order(values: &[f64]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..values.len()).collect();
    indices.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let mut places = vec![0; values.len()];
    for (place, index) in indices.into_iter().enumerate() {
        places[index] = place + 1;
    }
    places
}

/// Spearman's rank correlation, with mean ranks for equal values.
fn spearman(one: &[f64], other: &[f64]) -> Option<f64> {
    let (one, other) = (mean_ranks(one), mean_ranks(other));
    let mean = (one.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let spread = (product(&one, &one) * product(&other, &other)).sqrt();
    (spread > 0.0).then(|| product(&one, &other) / spread)
}

fn mean_ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| other.total_cmp(value).is_lt()).count();
        let equal = values.iter().filter(|other| other.total_cmp(value).is_eq()).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Integration;

    fn explained(saliency: &[f64], integrated: &[f64]) -> Explained {
        Explained {
            moment: 0,
            reasons: Vec::new(),
            target: 0.0,
            saliency: saliency.to_vec(),
            smoothgrad: saliency.iter().map(|value| -value).collect(),
            integrated: integrated.to_vec(),
            integration: Integration {
                baseline_target: 0.0,
                completeness_error: 0.0,
                complete: true,
                steps: 1,
            },
        }
    }

    #[test]
    fn gradients_are_compared_by_their_spread_and_order_is_by_share() {
        let states =
            [explained(&[10.0, 1.0, 0.0], &[0.1, -0.9, 0.0]), explained(&[10.0, 1.0, 0.0], &[0.9, 0.1, 0.0])];
        let ranking = rank(&states, &[0.01, 1.0, 1.0]);
        let order: Vec<usize> = ranking.dimensions.iter().map(|place| place.dimension).collect();
        assert_eq!(order, [1, 0, 2]);
        let first = &ranking.dimensions[0];
        assert_eq!((first.saliency.mean, first.saliency.influence), (1.0, 1.0));
        assert!((first.saliency.share - 1.0 / 1.1).abs() < 1e-12);
        assert_eq!(first.saliency.same_place, 1.0);
        assert!((first.integrated.share - 0.5).abs() < 1e-12);
        assert_eq!(first.integrated.same_place, 0.5);
        let shares: f64 = ranking.dimensions.iter().map(|place| place.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
        assert_eq!(ranking.agreement[0].spearman, Some(1.0));
    }

    #[test]
    fn spearman_with_ties_and_without_an_answer() {
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[30.0, 20.0, 10.0]), Some(-1.0));
        // scipy.stats.spearmanr([1, 2, 2, 3], [1, 2, 3, 4]).
        assert!(
            (spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]).unwrap() - 0.948_683_298_050_513_7).abs()
                < 1e-12
        );
        assert_eq!(spearman(&[1.0], &[1.0]), None);
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }

    #[test]
    fn nothing_matters_and_nothing_was_explained() {
        let none = rank(&[explained(&[0.0, 0.0], &[0.0, 0.0])], &[1.0, 1.0]);
        assert!(none.dimensions.iter().all(|place| place.share == 0.0));
        let empty = rank(&[], &[1.0, 1.0]);
        assert_eq!(empty.dimensions.len(), 2);
        assert!(rank(&[explained(&[f64::NAN], &[1.0])], &[1.0]).dimensions[0].share.is_nan());
    }
}
