//! Rises, plateaus and falls of a course.
//!
//! The course is cut into straight pieces: of all ways to cut it, the one whose
//! squared distances, measured in noise, plus a price per piece are least
//! (found exactly by dynamic programming). A piece rises or
//! falls when its change is more than chance makes of it and at least a tenth
//! of the course's range; anything else is a plateau. Pieces of the same kind
//! side by side are one phase, and a jump between two pieces is a phase too.

use serde::Serialize;

use super::{Block, Course};

/// Below this many points nothing is cut.
pub const FEWEST_POINTS: usize = 5;
/// Longer courses are reduced to so many blocks of neighbours.
const MOST_BLOCKS: usize = 120;
/// Fewest points of a piece.
const SHORTEST: usize = 3;
/// Noise is at least this share of the range, so that a course without noise
/// is not cut into every bend it has.
const LEAST_NOISE: f64 = 0.02;
/// A change below this share of the range is a plateau.
const LEAST_CHANGE: f64 = 0.1;
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
    /// It goes up.
    Rise,
    /// It stays.
    Plateau,
    /// It goes down.
    Fall,
}

/// A while in which a course does one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Phase {
    pub kind: PhaseKind,
    /// First step.
    pub from_step: u64,
    /// Last step.
    pub to_step: u64,
    /// Where the straight line through the phase begins, within what was seen.
    pub from_value: f64,
    /// Where it ends.
    pub to_value: f64,
    /// Mean over the phase.
    pub mean: f64,
    pub lowest: f64,
    pub highest: f64,
    /// Points, or blocks of points.
    pub points: usize,
}

/// A piece while phases are put together: blocks `first..=last`, with the
/// values of the straight line at its ends.
#[derive(Clone, Copy)]
struct Piece {
    kind: PhaseKind,
    first: usize,
    last: usize,
    from: f64,
    to: f64,
}

/// The phases of a course, in order; none below [`FEWEST_POINTS`] points.
pub fn phases(course: &Course) -> Vec<Phase> {
    if course.len() < FEWEST_POINTS {
        return Vec::new();
    }
    let blocks = course.blocks(MOST_BLOCKS);
    let reduced = Course::new(blocks.iter().map(|block| (block.from, block.value)));
    let range = reduced.range();
    let last = blocks.len() - 1;
    if range <= 1e-12 * blocks.iter().map(|block| block.value.abs()).fold(0.0, f64::max) {
        let level = blocks[0].value;
        return vec![whole(
            &blocks,
            &Piece { kind: PhaseKind::Plateau, first: 0, last, from: level, to: level },
        )];
    }
    let noise = reduced.noise().unwrap_or(0.0);
    let lines = Lines::through(&blocks, range);
    let cuts = cut(&lines, blocks.len(), (noise / range).max(LEAST_NOISE));
    let mut pieces: Vec<Piece> = Vec::new();
    for (first, last) in cuts {
        let (from, to) = lines.ends(first, last);
        if let Some(before) = pieces.last().copied() {
            let jump = from - before.to;
            let by_chance = SURE * noise * (4.0 / points(&before) + 4.0 / (last - first + 1) as f64).sqrt();
            if jump.abs() > by_chance.max(LEAST_CHANGE * range) {
                let ends = (blocks[before.last].value, blocks[first].value);
                let (first, last) = (before.last, first);
                pieces.push(Piece { kind: kind_of(jump, 0.0), first, last, from: ends.0, to: ends.1 });
            }
        }
        let piece = Piece { kind: PhaseKind::Plateau, first, last, from, to };
        pieces.push(Piece { kind: kind_of(to - from, least_change(&piece, noise, range)), ..piece });
    }
    let pieces = joined(pieces, noise, range);
    pieces.iter().map(|piece| whole(&blocks, piece)).collect()
}

fn points(piece: &Piece) -> f64 {
    (piece.last - piece.first + 1) as f64
}

/// The change from which a piece is no plateau. The end of a line through m
/// points lies off by noise·√(4/m), its whole change by noise·√(12/m).
fn least_change(piece: &Piece, noise: f64, range: f64) -> f64 {
    (SURE * noise * (12.0 / points(piece)).sqrt()).max(LEAST_CHANGE * range)
}

fn kind_of(change: f64, least: f64) -> PhaseKind {
    match change {
        up if up > least => PhaseKind::Rise,
        down if down < -least => PhaseKind::Fall,
        _ => PhaseKind::Plateau,
    }
}

/// Joins neighbours of one kind; small steps that add up become a rise or fall.
fn joined(pieces: Vec<Piece>, noise: f64, range: f64) -> Vec<Piece> {
    let mut left: Vec<Piece> = Vec::new();
    for piece in pieces {
        match left.last_mut() {
            Some(before) if before.kind == piece.kind => {
                *before = Piece { last: piece.last, to: piece.to, ..*before };
                if before.kind == PhaseKind::Plateau {
                    before.kind = kind_of(before.to - before.from, least_change(before, noise, range));
                }
            }
            _ => left.push(piece),
        }
    }
    let changed = left.windows(2).any(|pair| pair[0].kind == pair[1].kind);
    if changed { joined(left, noise, range) } else { left }
}

fn whole(blocks: &[Block], piece: &Piece) -> Phase {
    let part = &blocks[piece.first..=piece.last];
    let values = || part.iter().map(|block| block.value);
    let lowest = values().fold(f64::INFINITY, f64::min);
    let highest = values().fold(f64::NEG_INFINITY, f64::max);
    Phase {
        kind: piece.kind,
        from_step: part[0].from,
        to_step: part[part.len() - 1].to,
        from_value: piece.from.clamp(lowest, highest),
        to_value: piece.to.clamp(lowest, highest),
        mean: values().sum::<f64>() / part.len() as f64,
        lowest,
        highest,
        points: part.len(),
    }
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
    use super::PhaseKind::{Fall, Plateau, Rise};
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
    fn noise_is_a_plateau() {
        let mut cut_up = 0;
        for seed in 0..200 {
            let mut stream = Stream::new(seed, "test", 0);
            let noisy = Course::new((0..40).map(|at| (at, 7.0 + stream.normal_pair().0)));
            let found = phases(&noisy);
            cut_up += u64::from(found.len() != 1 || found[0].kind != Plateau);
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
                prop_assert!(pair[0].kind != pair[1].kind);
            }
        }
    }
}
