//! Several curves in one chart that are distinguishable without colour: each has its own kind of line and its letter
//! on the line; two of them also have a shade.

use rlxp_ops::below::CurvePoint;

use super::{Canvas, DOTS_ACROSS, DOTS_DOWN, HEIGHT, WIDTH, frame_of, with_height};

/// Most curves that stay readable in one chart.
pub(crate) const MOST_CURVES: usize = 6;

/// Dots drawn and dots left out, repeating, by curve.
const DASHES: [(usize, usize); MOST_CURVES] = [(1, 0), (4, 3), (1, 3), (7, 2), (2, 5), (1, 6)];
/// The bands of the first and of the second curve, and of both.
const SHADES: [char; 3] = ['░', '▒', '▓'];
/// Cells between two letters on a line.
const LETTER_EVERY: usize = 20;

/// A curve to draw.
pub(crate) struct Curve<'c> {
    /// The letter on its line.
    pub(crate) letter: char,
    /// Its points; gaps have no value.
    pub(crate) points: &'c [CurvePoint],
}

/// The chart over steps as lines of text; `None` if there is nothing to draw. Only the first [`MOST_CURVES`] curves
/// are drawn.
pub(crate) fn draw_several(curves: &[Curve<'_>]) -> Option<String> {
    draw_over(curves, "steps")
}

/// Like [`draw_several`], with another unit of x.
pub(crate) fn draw_over(curves: &[Curve<'_>], unit: &str) -> Option<String> {
    let curves = &curves[..curves.len().min(MOST_CURVES)];
    let banded = curves.len() <= 2;
    let all = || curves.iter().flat_map(|curve| curve.points).filter(|point| point.value.is_some());
    let (first, last) = bounds(all().map(|point| point.x))?;
    let ends = |point: &CurvePoint| {
        let band = if banded { [point.low, point.high] } else { [None, None] };
        [point.value, band[0], band[1]]
    };
    let (low, high) = bounds(all().flat_map(ends).flatten())?;
    let (low, high) = with_height(low, high);
    let span = (last - first).max(1e-9);
    let across = |x: f64| (x - first) / span * (WIDTH * DOTS_ACROSS - 1) as f64;
    // Halves, because the difference of the largest numbers is not a number.
    let down =
        |value: f64| (high / 2.0 - value / 2.0) / (high / 2.0 - low / 2.0) * (HEIGHT * DOTS_DOWN - 1) as f64;
    let mut picture = Picture::new();
    for (index, curve) in curves.iter().enumerate() {
        let known: Vec<Spot> = curve
            .points
            .iter()
            .map(|point| {
                let band = point.low.zip(point.high).map(|(low, high)| (down(high), down(low)));
                Spot { x: across(point.x), y: point.value.map(down), band }
            })
            .collect();
        if banded {
            picture.shade(index, &known);
        }
        picture.line(index, curve.letter, &known);
    }
    Some(frame_of(&|column, row| picture.cell(column, row), (low, high), (first, last), unit))
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite());
    finite.fold(None, |known: Option<(f64, f64)>, value| {
        Some(known.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    })
}

/// A point of a curve in dots from the top left.
struct Spot {
    x: f64,
    y: Option<f64>,
    band: Option<(f64, f64)>,
}

struct Picture {
    lines: Canvas,
    shades: [Canvas; 2],
    letters: Vec<Option<char>>,
}

impl Picture {
    fn new() -> Self {
        Self {
            lines: Canvas::new(),
            shades: [Canvas::new(), Canvas::new()],
            letters: vec![None; WIDTH * HEIGHT],
        }
    }

    /// Shades each column as far as the band of the points next to it goes.
    fn shade(&mut self, index: usize, spots: &[Spot]) {
        for cell in 0..WIDTH {
            let middle = (cell as f64 + 0.5) * DOTS_ACROSS as f64;
            if let Some((top, bottom)) = band_at(spots, middle) {
                self.shades[index].shade(cell, top, bottom);
            }
        }
    }

    /// Draws the line with its dashes, and its letter at intervals.
    fn line(&mut self, index: usize, letter: char, spots: &[Spot]) {
        let (drawn, skipped) = DASHES[index];
        let mut travelled = 0;
        let mut last_cell = None;
        for pair in spots.windows(2) {
            let (Some(from), Some(to)) = (pair[0].y, pair[1].y) else { continue };
            let length = (pair[1].x - pair[0].x).abs().max((to - from).abs()).ceil().max(1.0);
            for step in 0..length as usize {
                let part = step as f64 / length;
                let (x, y) = (pair[0].x + (pair[1].x - pair[0].x) * part, from + (to - from) * part);
                if travelled % (drawn + skipped) < drawn {
                    self.lines.dot(x, y);
                }
                travelled += 1;
                let cell = (x / DOTS_ACROSS as f64) as usize;
                // Letters of different curves are in different columns, so none hides another.
                let own = LETTER_EVERY * index / MOST_CURVES + 3;
                if last_cell != Some(cell) && cell % LETTER_EVERY == own {
                    self.letter(letter, x, y);
                }
                last_cell = Some(cell);
            }
        }
        let end = spots.iter().rev().find_map(|spot| Some((spot.x, spot.y?)));
        if let Some((x, y)) = end {
            self.lines.dot(x, y);
            self.letter(letter, x - (index * DOTS_ACROSS) as f64, y);
        }
    }

    fn letter(&mut self, letter: char, x: f64, y: f64) {
        let column = (x.max(0.0) as usize / DOTS_ACROSS).min(WIDTH - 1);
        let row = (y.round().max(0.0) as usize / DOTS_DOWN).min(HEIGHT - 1);
        self.letters[row * WIDTH + column] = Some(letter);
    }

    fn cell(&self, column: usize, row: usize) -> char {
        if let Some(letter) = self.letters[row * WIDTH + column] {
            return letter;
        }
        match (self.lines.cell(column, row), self.shades.each_ref().map(|shade| shade.is_shaded(column, row)))
        {
            (' ', [true, true]) => SHADES[2],
            (' ', [true, false]) => SHADES[0],
            (' ', [false, true]) => SHADES[1],
            (dots, _) => dots,
        }
    }
}

/// The band at `x`, on a straight line between its neighbours.
fn band_at(spots: &[Spot], x: f64) -> Option<(f64, f64)> {
    let after = spots.partition_point(|spot| spot.x < x);
    let (Some(a), Some(b)) = (spots.get(after.checked_sub(1)?), spots.get(after)) else { return None };
    let (one, other) = (a.band?, b.band?);
    let part = if b.x > a.x { (x - a.x) / (b.x - a.x) } else { 0.0 };
    Some((one.0 + (other.0 - one.0) * part, one.1 + (other.1 - one.1) * part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(formula: impl Fn(f64) -> (f64, f64, f64)) -> Vec<CurvePoint> {
        (0..=20)
            .map(|index| {
                let x = f64::from(index) / 20.0;
                let (low, value, high) = formula(x);
                CurvePoint {
                    x: x * 100_000.0,
                    value: Some(value),
                    low: Some(low),
                    high: Some(high),
                    seeds: 5,
                }
            })
            .collect()
    }

    fn draw(curves: &[(char, &[CurvePoint])]) -> Option<String> {
        let curves: Vec<Curve<'_>> =
            curves.iter().map(|(letter, points)| Curve { letter: *letter, points }).collect();
        draw_several(&curves)
    }

    #[test]
    fn two_curves_with_their_bands() {
        let rising = curve(|x| (400.0 * x, 450.0 * x, 500.0 * x));
        let slower = curve(|x| (60.0 * x, 200.0 * x * x, 430.0 * x * x));
        insta::assert_snapshot!(draw(&[('A', &rising), ('B', &slower)]).unwrap());
    }

    #[test]
    fn equal_curves_both_show_their_letter() {
        let same = curve(|x| (x, x, x));
        let drawn = draw(&[('A', &same), ('B', &same)]).unwrap();
        assert!(drawn.contains('A') && drawn.contains('B'), "{drawn}");
    }

    #[test]
    fn odd_curves_do_no_harm() {
        assert_eq!(draw(&[]), None);
        assert_eq!(draw(&[('A', &[])]), None);
        let gap = CurvePoint { x: 5.0, value: None, low: None, high: None, seeds: 0 };
        assert_eq!(draw(&[('A', &[gap])]), None);
        let point = CurvePoint { x: 5.0, value: Some(2.0), low: None, high: None, seeds: 1 };
        let drawn = draw(&[('A', &[gap, point]), ('B', &[])]).unwrap();
        assert!(drawn.contains('A') && !drawn.contains('B'), "{drawn}");
        let far = curve(|x| (-1e300 * x, 1e300 * x, f64::INFINITY));
        let letters: Vec<(char, &[CurvePoint])> =
            ('A'..='Z').map(|letter| (letter, far.as_slice())).collect();
        assert!(!draw(&letters).unwrap().contains('G'));
    }
}
