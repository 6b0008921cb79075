//! Reduces long series to few points, without losing outliers: in every column
//! of pixels a line needs its first, lowest, highest and last point, whatever
//! lies between.

/// Points in pixels, a new list after each gap. What is not finite is a gap;
/// a list longer than its columns is thinned.
pub(super) fn pieces(points: impl Iterator<Item = (f32, f32)>) -> Vec<Vec<(f32, f32)>> {
    let mut pieces: Vec<Vec<(f32, f32)>> = Vec::new();
    let mut column = Column::default();
    let mut open = false;
    for (x, y) in points {
        if !x.is_finite() || !y.is_finite() {
            column.flush(&mut pieces);
            open = false;
            continue;
        }
        if !open {
            pieces.push(Vec::new());
            open = true;
        }
        if !column.takes(x) {
            column.flush(&mut pieces);
        }
        column.points.push((x, y));
    }
    column.flush(&mut pieces);
    pieces
}

/// The points of one column of pixels.
#[derive(Default)]
struct Column {
    points: Vec<(f32, f32)>,
}

impl Column {
    fn takes(&self, x: f32) -> bool {
        self.points.first().is_none_or(|(first, _)| first.floor() == x.floor())
    }

    fn flush(&mut self, pieces: &mut [Vec<(f32, f32)>]) {
        let Some(piece) = pieces.last_mut() else { return };
        if self.points.len() <= 4 {
            piece.append(&mut self.points);
            return;
        }
        let by = |a: &usize, b: &usize| self.points[*a].1.total_cmp(&self.points[*b].1);
        let all = 0..self.points.len();
        let lowest = all.clone().min_by(by).unwrap_or(0);
        let highest = all.max_by(by).unwrap_or(0);
        let mut kept = [0, lowest.min(highest), lowest.max(highest), self.points.len() - 1].to_vec();
        kept.dedup();
        piece.extend(kept.into_iter().map(|index| self.points[index]));
        self.points.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaps_split_and_short_series_stay() {
        let points = [(0.0, 1.0), (1.0, f32::NAN), (2.0, 3.0), (3.0, 4.0), (4.0, f32::INFINITY)];
        assert_eq!(pieces(points.into_iter()), [vec![(0.0, 1.0)], vec![(2.0, 3.0), (3.0, 4.0)]]);
        assert_eq!(pieces(std::iter::empty()), Vec::<Vec<(f32, f32)>>::new());
    }

    #[test]
    fn a_million_points_become_a_few_per_column() {
        let spike = |i: i32| if i == 654_321 { 1e6 } else { (i % 97) as f32 };
        let thinned = pieces((0..1_000_000).map(|i| (i as f32 / 1_000_000.0 * 700.0, spike(i))));
        let points: Vec<(f32, f32)> = thinned.concat();
        assert!(points.len() <= 4 * 701, "{}", points.len());
        assert!(points.iter().any(|(_, y)| *y == 1e6));
    }

    proptest! {
        #[test]
        fn ends_and_extremes_stay(values in proptest::collection::vec(-1e3..1e3f32, 1..500)) {
            let thinned = pieces(values.iter().enumerate().map(|(i, y)| (i as f32 / 30.0, *y)));
            prop_assert_eq!(thinned.len(), 1);
            let ys: Vec<f32> = thinned[0].iter().map(|(_, y)| *y).collect();
            let fold = |list: &[f32], pick: fn(f32, f32) -> f32| list.iter().copied().reduce(pick);
            prop_assert_eq!(fold(&ys, f32::min), fold(&values, f32::min));
            prop_assert_eq!(fold(&ys, f32::max), fold(&values, f32::max));
            prop_assert_eq!((ys[0], ys[ys.len() - 1]), (values[0], values[values.len() - 1]));
            prop_assert!(thinned[0].windows(2).all(|pair| pair[0].0 <= pair[1].0));
        }
    }
}
