//! One curve by itself: in order, smoothed, and read at places along x.

/// Each value becomes the mean of itself and the values before it, `window` in
/// total, fewer at the beginning. Gaps stay gaps and are excluded from the
/// means.
pub fn smooth(points: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    if window <= 1 {
        return points.to_vec();
    }
    // Blocks as long as the window: it covers the end of one and the beginning
    // of the next. Nothing is ever subtracted, so a large value leaves no
    // rounding behind once it is out of the window.
    let of = |index: usize| {
        let value = points[index].1;
        if value.is_finite() { (value, 1.0) } else { (0.0, 0.0) }
    };
    let add = |(sum, count): (f64, f64), (value, one): (f64, f64)| (sum + value, count + one);
    let mut to_block_end = vec![(0.0, 0.0); points.len()];
    for index in (0..points.len()).rev() {
        let starts_block = (index + 1) % window == 0 || index + 1 == points.len();
        let after = if starts_block { (0.0, 0.0) } else { to_block_end[index + 1] };
        to_block_end[index] = add(of(index), after);
    }
    let mut from_block_start = (0.0, 0.0);
    (0..points.len())
        .map(|index| {
            from_block_start = if index % window == 0 { of(index) } else { add(from_block_start, of(index)) };
            let (x, value) = points[index];
            let begin = (index + 1).saturating_sub(window);
            let (sum, count) = if begin / window == index / window {
                from_block_start
            } else {
                add(to_block_end[begin], from_block_start)
            };
            (x, if value.is_finite() { sum / count } else { value })
        })
        .collect()
}

/// The points by rising x; of several at one x the last; none without an x.
pub(super) fn in_order(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut ordered: Vec<(f64, f64)> = points.iter().copied().filter(|(x, _)| x.is_finite()).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kept: Vec<(f64, f64)> = Vec::with_capacity(ordered.len());
    for point in ordered {
        match kept.last_mut() {
            Some(last) if last.0 == point.0 => *last = point,
            _ => kept.push(point),
        }
    }
    kept
}

/// First and last x with a finite value.
pub(super) fn span(curve: &[(f64, f64)]) -> Option<(f64, f64)> {
    let mut finite = curve.iter().filter(|(_, value)| value.is_finite()).map(|(x, _)| *x);
    let first = finite.next()?;
    Some((first, finite.next_back().unwrap_or(first)))
}

/// Where the seeds are compared: at their own places when they share them, or
/// else evenly over what all of them cover.
pub(super) fn places(
    curves: &[Vec<(f64, f64)>],
    spans: &[Option<(f64, f64)>],
    required: &[bool],
    limit: usize,
) -> (Vec<f64>, Option<usize>) {
    // If every seed failed, each counts until it failed.
    let all_failed = !required.contains(&true);
    let counts = |index: usize| (required[index] || all_failed) && spans[index].is_some();
    let members: Vec<usize> = (0..curves.len()).filter(|index| counts(*index)).collect();
    let ends = members.iter().filter_map(|index| spans[*index]);
    let common = ends
        .reduce(|a, b| if all_failed { (a.0.min(b.0), a.1.max(b.1)) } else { (a.0.max(b.0), a.1.min(b.1)) });
    let Some((first, last)) = common.filter(|(first, last)| first <= last) else {
        return (Vec::new(), None);
    };
    let within = |index: usize| {
        let points = curves[index].iter().map(|(x, _)| *x);
        points.filter(move |x| (first..=last).contains(x)).collect::<Vec<f64>>()
    };
    let own: Vec<Vec<f64>> = members.iter().map(|index| within(*index)).collect();
    let longest = own.iter().max_by_key(|places| places.len()).expect("there is at least one member");
    let shared = own.iter().all(|places| places == longest || (all_failed && longest.starts_with(places)));
    if shared && longest.len() <= limit {
        return (longest.clone(), None);
    }
    if shared {
        let pick = |place: usize| longest[place * (longest.len() - 1) / (limit - 1)];
        return ((0..limit).map(pick).collect(), Some(longest.len()));
    }
    if first == last {
        return (vec![first], None);
    }
    let count = longest.len().clamp(2, limit);
    let place = |index: usize| {
        if index + 1 == count { last } else { first + (last - first) * index as f64 / (count - 1) as f64 }
    };
    ((0..count).map(place).collect(), None)
}

/// The curve's values at rising places; NaN outside it and beside its gaps.
/// Between two points lies a straight line.
pub(super) fn values_at(curve: &[(f64, f64)], places: &[f64]) -> Vec<f64> {
    let mut next = 0;
    places
        .iter()
        .map(|place| {
            while next < curve.len() && curve[next].0 < *place {
                next += 1;
            }
            match (next.checked_sub(1).map(|before| curve[before]), curve.get(next)) {
                (_, Some((x, value))) if x == place => *value,
                (Some((from, a)), Some((to, b))) => a + (b - a) * ((place - from) / (to - from)),
                _ => f64::NAN,
            }
        })
        .collect()
}
