//! Rises, falls and plateaus of a course.
//!
//! The course is cut into straight pieces: of all ways to cut it, the one whose
//! squared distances, measured in noise, plus a price per piece are least
//! (found exactly by dynamic programming). The cuts only propose where a phase
//! begins and ends. What it is called depends on its own points: a rise ends
//! visibly higher than it starts, a plateau stays within a quarter of the
//! course's range (a tenth of its points at either side may leave it), and
//! everything else has no clear trend. Neighbours of one
//! kind become one phase where their points together are still of that kind.

use serde::Serialize;

use super::{Block, Course, differ, levels, tenth};

/// Below this many points nothing is cut.
pub const FEWEST_POINTS: usize = 5;
/// A change below this share of the course's range is neither a rise nor a fall.
pub const LEAST_CHANGE: f64 = 0.1;
/// The points of a plateau are within this share of the course's range.
pub const FLAT: f64 = 0.25;
/// Longer courses are reduced to so many blocks of neighbours before they are cut.
const MOST_BLOCKS: usize = 120;
/// Fewest points of a piece.
const SHORTEST: usize = 3;
/// Noise is at least this share of the range, so that a course without noise
/// is not cut into every bend it has.
const LEAST_NOISE: f64 = 0.02;
/// What a piece costs, in squared noises per ln(points). The Bayesian
/// information criterion's 3 (a piece has three numbers) takes the noise for
/// known; it is estimated here, and with 3 one in seven flat curves was cut.
const PRICE: f64 = 5.0;
/// Standard errors that chance may make of a change.
const SURE: f64 = 3.0;

/// What a course does over a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// It ends higher than it starts.
    Rise,
    /// It stays within [`FLAT`] of the course's range, but for a few points.
    Plateau,
    /// It ends lower than it starts.
    Fall,
    /// It varies without a clear trend.
    Unsteady,
}

/// A while in which a course does one thing. All numbers are of the course's
/// own points from `from_step` to `to_step`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Phase {
    pub kind: PhaseKind,
    /// First step.
    pub from_step: u64,
    /// Last step.
    pub to_step: u64,
    /// Median of the first tenth of its points.
    pub from_value: f64,
    /// Median of the last tenth.
    pub to_value: f64,
    pub mean: f64,
    pub lowest: f64,
    pub highest: f64,
    /// Distance between the lowest and the highest value without the lowest and
    /// the highest tenth of the points.
    pub core_spread: f64,
    pub points: usize,
}

/// Points `first..=last` of the course while phases are put together.
#[derive(Clone, Copy)]
struct Piece {
    kind: PhaseKind,
    first: usize,
    last: usize,
}

/// What a piece is measured with.
struct Scale<'a> {
    points: &'a [(u64, f64)],
    noise: f64,
    range: f64,
}

/// The phases of a course, in order; none below [`FEWEST_POINTS`] points. Two
/// neighbours share a step at most.
pub fn phases(course: &Course) -> Vec<Phase> {
    if course.len() < FEWEST_POINTS {
        return Vec::new();
    }
    let points = course.points();
    let range = course.range();
    let scale = Scale { points, noise: course.noise().unwrap_or(0.0), range };
    let (Some((_, low)), Some((_, high))) = (course.lowest(), course.highest()) else { return Vec::new() };
    // Differences that no text shows are no phases.
    if !differ(low, high) {
        return vec![scale.phase(&Piece { kind: PhaseKind::Plateau, first: 0, last: points.len() - 1 })];
    }
    let blocks = course.blocks(MOST_BLOCKS);
    let reduced = Course::new(blocks.iter().map(|block| (block.from, block.value)));
    let spread = reduced.range();
    if spread <= 0.0 {
        return vec![scale.phase(&scale.piece(0, points.len() - 1))];
    }
    let noise = reduced.noise().unwrap_or(0.0);
    let lines = Lines::through(&blocks, spread);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut before: Option<(f64, usize)> = None;
    for (first, last) in cut(&lines, blocks.len(), (noise / spread).max(LEAST_NOISE)) {
        let (from, to) = lines.ends(first, last);
        let length = last - first + 1;
        if let (Some((end, points_before)), Some(previous)) = (before, pieces.last().copied()) {
            let by_chance = SURE * noise * (4.0 / points_before as f64 + 4.0 / length as f64).sqrt();
            let jump = scale.piece(previous.last, blocks[first].begin);
            if (from - end).abs() > by_chance.max(LEAST_CHANGE * spread) && jump.moves() {
                pieces.push(jump);
            }
        }
        pieces.push(scale.piece(blocks[first].begin, blocks[last].end));
        before = Some((to, length));
    }
    joined(pieces, &scale).iter().map(|piece| scale.phase(piece)).collect()
}

impl Piece {
    fn moves(&self) -> bool {
        matches!(self.kind, PhaseKind::Rise | PhaseKind::Fall)
    }
}

impl Scale<'_> {
    fn piece(&self, first: usize, last: usize) -> Piece {
        Piece { kind: self.kind(first, last), first, last }
    }

    /// What points `first..=last` do.
    fn kind(&self, first: usize, last: usize) -> PhaseKind {
        let part = &self.points[first..=last];
        let (start, end) = levels(part);
        let change = end - start;
        if change.abs() > LEAST_CHANGE * self.range && differ(start, end) && self.is_sure(part, change) {
            return if change > 0.0 { PhaseKind::Rise } else { PhaseKind::Fall };
        }
        if change.abs() <= LEAST_CHANGE * self.range && core_spread(part) <= FLAT * self.range {
            PhaseKind::Plateau
        } else {
            PhaseKind::Unsteady
        }
    }

    /// Whether a change is more than noise: by its ends, by the line through
    /// all points (whose change is off by noise·√(12/n)), or because every
    /// point continues in its direction.
    fn is_sure(&self, part: &[(u64, f64)], change: f64) -> bool {
        let ends = SURE * self.noise * (2.0 / tenth(part.len()) as f64).sqrt();
        let line = SURE * self.noise * (12.0 / part.len() as f64).sqrt();
        let continues = |pair: &[(u64, f64)]| (pair[1].1 - pair[0].1) * change.signum() >= 0.0;
        change.abs() > ends || line_change(part) * change.signum() > line || part.windows(2).all(continues)
    }

    fn phase(&self, piece: &Piece) -> Phase {
        let part = &self.points[piece.first..=piece.last];
        let values = || part.iter().map(|(_, value)| *value);
        let lowest = values().fold(f64::INFINITY, f64::min);
        let highest = values().fold(f64::NEG_INFINITY, f64::max);
        let (from_value, to_value) = levels(part);
        Phase {
            kind: piece.kind,
            from_step: part[0].0,
            to_step: part[part.len() - 1].0,
            from_value,
            to_value,
            // Rounding may carry a mean past its own values.
            mean: super::mean_of(part).clamp(lowest, highest),
            lowest,
            highest,
            core_spread: core_spread(part),
            points: part.len(),
        }
    }
}

/// The distance between the lowest and the highest value without the lowest
/// and the highest tenth, rounded down.
fn core_spread(part: &[(u64, f64)]) -> f64 {
    let mut values: Vec<f64> = part.iter().map(|(_, value)| *value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let outer = values.len() / 10;
    values[values.len() - 1 - outer] - values[outer]
}

/// The change of the least-squares line from the first to the last step.
fn line_change(part: &[(u64, f64)]) -> f64 {
    let (first, last) = (part[0].0, part[part.len() - 1].0);
    let middle = super::mean_of(part);
    let place = |step: u64| (step - first) as f64 / (last - first).max(1) as f64;
    let center = part.iter().map(|(step, _)| place(*step)).sum::<f64>() / part.len() as f64;
    let (mut spread, mut joint) = (0.0, 0.0);
    for (step, value) in part {
        let x = place(*step) - center;
        spread += x * x;
        joint += x * (value - middle);
    }
    if spread > 0.0 { joint / spread } else { 0.0 }
}

/// Joins neighbours of one kind as long as they are of that kind together.
/// Plateaus may add up to a rise or a fall, and what has no clear trend by
/// itself may have one together.
fn joined(pieces: Vec<Piece>, scale: &Scale<'_>) -> Vec<Piece> {
    let together = |a: &Piece, b: &Piece| {
        let union = scale.piece(a.first, b.last);
        let fits = match a.kind {
            PhaseKind::Rise | PhaseKind::Fall => union.kind == a.kind,
            PhaseKind::Plateau => union.kind != PhaseKind::Unsteady,
            PhaseKind::Unsteady => true,
        };
        (a.kind == b.kind && fits).then_some(union)
    };
    let before = pieces.len();
    let mut left: Vec<Piece> = Vec::with_capacity(before);
    for piece in pieces {
        match left.last().and_then(|last| together(last, &piece)) {
            Some(union) => {
                left.pop();
                left.push(union);
            }
            None => left.push(piece),
        }
    }
    // A union of another kind may fit its own neighbour.
    if left.len() < before { joined(left, scale) } else { left }
}

/// Least-squares lines through any run of blocks, in constant time each.
struct Lines {
    /// Places between 0 and 1, and sums of 1, x, y, x², xy, y² up to each.
    places: Vec<f64>,
    sums: Vec<[f64; 6]>,
    lowest: f64,
    range: f64,
}

impl Lines {
    fn through(blocks: &[Block], range: f64) -> Self {
        let lowest = blocks.iter().map(|block| block.value).fold(f64::INFINITY, f64::min);
        let (from, to) = (blocks[0].from as f64, blocks[blocks.len() - 1].to as f64);
        let middle = |block: &Block| (block.from as f64 + block.to as f64) / 2.0;
        let places: Vec<f64> =
            blocks.iter().map(|block| (middle(block) - from) / (to - from).max(1.0)).collect();
        let mut sums = vec![[0.0; 6]];
        for (block, x) in blocks.iter().zip(&places) {
            let y = (block.value - lowest) / range;
            let last = sums[sums.len() - 1];
            let own = [1.0, *x, y, x * x, x * y, y * y];
            sums.push(std::array::from_fn(|index| last[index] + own[index]));
        }
        Self { places, sums, lowest, range }
    }

    /// Slope, mean place, mean value and squared distances of blocks
    /// `first..=last`, values as shares of the range.
    fn line(&self, first: usize, last: usize) -> (f64, f64, f64, f64) {
        let [n, x, y, xx, xy, yy]: [f64; 6] =
            std::array::from_fn(|index| self.sums[last + 1][index] - self.sums[first][index]);
        let (spread, joint, height) = (xx - x * x / n, xy - x * y / n, yy - y * y / n);
        let slope = if spread > 0.0 { joint / spread } else { 0.0 };
        (slope, x / n, y / n, (height - slope * joint).max(0.0))
    }

    fn distances(&self, first: usize, last: usize) -> f64 {
        self.line(first, last).3
    }

    /// The line's values at both ends.
    fn ends(&self, first: usize, last: usize) -> (f64, f64) {
        let (slope, x, y, _) = self.line(first, last);
        let at = |block: usize| self.lowest + self.range * (y + slope * (self.places[block] - x));
        (at(first), at(last))
    }
}

/// The cheapest way to cut `count` blocks into pieces.
fn cut(lines: &Lines, count: usize, noise: f64) -> Vec<(usize, usize)> {
    let price = PRICE * (count as f64).ln();
    // Cheapest cost of the first `end` blocks, and where their last piece begins.
    let mut best: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (0.0, 0);
    for end in SHORTEST..=count {
        for begin in 0..=end - SHORTEST {
            let cost = best[begin].0 + price + lines.distances(begin, end - 1) / (noise * noise);
            if cost < best[end].0 {
                best[end] = (cost, begin);
            }
        }
    }
    let mut pieces = Vec::new();
    let mut end = count;
    while end > 0 {
        let begin = best[end].1;
        pieces.push((begin, end - 1));
        end = begin;
    }
    pieces.reverse();
    pieces
}

#[cfg(test)]
mod tests {
    use super::PhaseKind::{Fall, Plateau, Rise, Unsteady};
    use super::*;
    use proptest::prelude::*;
    use rlxp_types::Stream;

    fn check(values: &[f64], expected: &[(PhaseKind, u64, u64)]) {
        let found = phases(&Course::new(values.iter().enumerate().map(|(at, value)| (at as u64, *value))));
        let found: Vec<_> = found.iter().map(|phase| (phase.kind, phase.from_step, phase.to_step)).collect();
        assert_eq!(found, expected, "{values:?}");
    }

    fn ramp(from: f64, to: f64, count: usize) -> Vec<f64> {
        (0..count).map(|at| from + (to - from) * at as f64 / (count - 1) as f64).collect()
    }

    #[test]
    fn hand_made_curves_have_their_phases() {
        check(&[3.0; 12], &[(Plateau, 0, 11)]);
        check(&ramp(0.0, 10.0, 11), &[(Rise, 0, 10)]);
        check(&ramp(10.0, 0.0, 11), &[(Fall, 0, 10)]);
        let rise_and_plateau = [ramp(0.0, 19.0, 20), vec![20.0; 10]].concat();
        check(&rise_and_plateau, &[(Rise, 0, 19), (Plateau, 20, 29)]);
        let collapse = [ramp(0.0, 19.0, 20), vec![20.0; 10], ramp(19.0, 0.0, 20), vec![0.0; 10]].concat();
        // The corners lie on both lines.
        check(&collapse, &[(Rise, 0, 19), (Plateau, 20, 28), (Fall, 29, 48), (Plateau, 49, 59)]);
        // A jump is a rise of its own between two plateaus.
        let step = [vec![1.0; 8], vec![5.0; 8]].concat();
        check(&step, &[(Plateau, 0, 7), (Rise, 7, 8), (Plateau, 8, 15)]);
    }

    #[test]
    fn the_numbers_of_a_phase_are_the_curves_own() {
        let values = [vec![1.0; 8], vec![5.0; 8]].concat();
        let course = Course::new(values.iter().enumerate().map(|(at, value)| (100 * at as u64, *value)));
        let found = phases(&course);
        assert_eq!((found[1].from_value, found[1].to_value), (1.0, 5.0));
        assert_eq!((found[1].from_step, found[1].to_step), (700, 800));
        assert_eq!((found[2].mean, found[2].lowest, found[2].highest, found[2].points), (5.0, 5.0, 5.0, 8));
    }

    #[test]
    fn a_large_change_is_never_a_plateau() {
        // Few points, whose own bend looks like noise.
        check(&[20.0, 125.0, 300.0, 499.0, 500.0], &[(Rise, 0, 4)]);
        check(&[500.0, 500.0, 125.0, 499.0, 500.0, 480.0], &[(Unsteady, 0, 5)]);
        // A tenth of the points at either end counts, so one of them doesn't turn a rise around.
        let spike = [ramp(0.0, 95.0, 20), vec![0.0], ramp(96.0, 100.0, 9)].concat();
        let values = spike.iter().enumerate().map(|(at, value)| (at as u64, *value));
        let found = phases(&Course::new(values));
        assert_eq!((found[0].kind, found[0].from_step), (Rise, 0), "{found:?}");
    }

    #[test]
    fn a_change_that_no_text_shows_is_none() {
        check(&[500.0, 499.99, 500.0, 500.01, 500.0, 500.02], &[(Plateau, 0, 5)]);
        check(&[1e9, 1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0, 1e9 + 4.0], &[(Plateau, 0, 4)]);
        let values = [vec![167.2, 455.0], vec![500.0; 17]].concat();
        check(&values, &[(Rise, 0, 2), (Plateau, 3, 18)]);
    }

    #[test]
    fn noise_has_no_trend() {
        let mut cut_up = 0;
        for seed in 0..200 {
            let mut stream = Stream::new(seed, "test", 0);
            let noisy = Course::new((0..40).map(|at| (at, 7.0 + stream.normal_pair().0)));
            let found = phases(&noisy);
            cut_up += u64::from(found.len() != 1 || found[0].kind != Unsteady);
        }
        assert!(cut_up <= 10, "{cut_up} of 200 flat curves were cut");
    }

    #[test]
    fn a_rise_is_found_in_noise_and_in_long_courses() {
        let mut stream = Stream::new(1, "test", 0);
        let value = |at: u64| if at < 2000 { at as f64 / 20.0 } else { 100.0 };
        let long = Course::new((0..4000).map(|at| (at, value(at) + 5.0 * stream.normal_pair().0)));
        let found = phases(&long);
        let kinds: Vec<_> = found.iter().map(|phase| phase.kind).collect();
        assert_eq!(kinds, [Rise, Plateau]);
        assert!(found[1].from_step.abs_diff(2000) < 200, "{found:?}");
    }

    #[test]
    fn few_points_have_no_phases() {
        check(&[], &[]);
        check(&[1.0, 2.0], &[]);
        check(&[1.0, 2.0, 3.0, 4.0], &[]);
        check(&[f64::NAN; 30], &[]);
        check(&[0.0, f64::NAN, 2.0, 3.0, f64::INFINITY, 5.0, 6.0], &[(Rise, 0, 6)]);
    }

    proptest! {
        #[test]
        fn phases_cover_the_course_in_order(values in proptest::collection::vec(-1e6..1e6f64, 5..80)) {
            let course = Course::new(values.iter().enumerate().map(|(at, value)| (at as u64, *value)));
            let found = phases(&course);
            prop_assert_eq!(found[0].from_step, 0);
            prop_assert_eq!(found[found.len() - 1].to_step, values.len() as u64 - 1);
            for pair in found.windows(2) {
                prop_assert!(pair[1].from_step == pair[0].to_step || pair[1].from_step == pair[0].to_step + 1);
            }
        }
    }
}
