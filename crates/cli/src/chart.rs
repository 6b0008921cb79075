//! A learning curve in the terminal: the mean as a line of braille dots, the
//! spread between the seeds as shade behind it, with axes.

pub(crate) mod landscape;
mod several;

use rlxp_ops::below::BandPoint;
use rlxp_types::text::measure;

use crate::format;

pub(crate) use several::{Curve, MOST_CURVES, draw_over, draw_several};

/// Cells across and down.
const WIDTH: usize = 60;
const HEIGHT: usize = 12;
/// Dots of a braille cell across and down.
const DOTS_ACROSS: usize = 2;
const DOTS_DOWN: usize = 4;
const SHADE: char = '░';

/// The curve as lines of text; `None` if there is nothing to draw.
pub(crate) fn draw(band: &[BandPoint]) -> Option<String> {
    let (first, last) = (band.first()?, band.last()?);
    let low = band.iter().map(|point| point.low).fold(f64::INFINITY, f64::min);
    let high = band.iter().map(|point| point.high).fold(f64::NEG_INFINITY, f64::max);
    // A level curve gets room above and below it.
    let (low, high) = with_height(low, high);
    let mut canvas = Canvas::new();
    let span = (last.step - first.step).max(1e-9);
    let across = |step: f64| (step - first.step) / span * (WIDTH * DOTS_ACROSS - 1) as f64;
    // Halves, because the difference of the largest numbers is not a number.
    let down =
        |value: f64| (high / 2.0 - value / 2.0) / (high / 2.0 - low / 2.0) * (HEIGHT * DOTS_DOWN - 1) as f64;
    for cell in 0..WIDTH {
        let step = first.step + span * (cell as f64 + 0.5) / WIDTH as f64;
        let point = at(band, step);
        canvas.shade(cell, down(point.high), down(point.low));
    }
    for pair in band.windows(2) {
        canvas.line((across(pair[0].step), down(pair[0].mean)), (across(pair[1].step), down(pair[1].mean)));
    }
    if band.len() == 1 {
        canvas.dot(across(first.step), down(first.mean));
    }
    Some(frame_of(&|column, row| canvas.cell(column, row), (low, high), (first.step, last.step), "steps"))
}

/// The band at `step`, on a straight line between its neighbours.
fn at(band: &[BandPoint], step: f64) -> BandPoint {
    let after = band.partition_point(|point| point.step < step).min(band.len() - 1);
    let (a, b) = (band[after.saturating_sub(1)], band[after]);
    let part = if b.step > a.step { ((step - a.step) / (b.step - a.step)).clamp(0.0, 1.0) } else { 0.0 };
    let mix = |x: f64, y: f64| x * (1.0 - part) + y * part;
    BandPoint { step, mean: mix(a.mean, b.mean), low: mix(a.low, b.low), high: mix(a.high, b.high) }
}

/// A range with some height, however large its numbers are.
fn with_height(low: f64, high: f64) -> (f64, f64) {
    let margin = 1.0_f64.max(low.abs() * 1e-3);
    if high - low > 1e-9 { (low, high) } else { (low - margin, high + margin) }
}

/// Axes and labels around cells.
fn frame_of(
    cell: &dyn Fn(usize, usize) -> char,
    (low, high): (f64, f64),
    (first, last): (f64, f64),
    unit: &str,
) -> String {
    // Hundreds of digits would leave no room for the curve.
    let label = |value: f64| if value.abs() < 1e7 { format::score(value) } else { measure(value) };
    let label_of = |row: usize| match row {
        0 => label(high),
        row if row == HEIGHT / 2 => label(low / 2.0 + high / 2.0),
        row if row == HEIGHT - 1 => label(low),
        _ => String::new(),
    };
    let margin = (0..HEIGHT).map(|row| label_of(row).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in 0..HEIGHT {
        let label = label_of(row);
        let tick = if label.is_empty() { '│' } else { '┤' };
        let cells: String = (0..WIDTH).map(|column| cell(column, row)).collect();
        text.push_str(&format!("{label:>margin$} {tick}{}\n", cells.trim_end()));
    }
    text.push_str(&format!("{:>margin$} └{}\n", "", "─".repeat(WIDTH)));
    let (from, to) = (format::amount(first), format!("{} {unit}", format::amount(last)));
    let between = WIDTH.saturating_sub(from.len() + to.len());
    text.push_str(&format!("{:>margin$}  {from}{}{to}\n", "", " ".repeat(between)));
    text
}

/// Cells with dots and shade.
struct Canvas {
    dots: Vec<u8>,
    shaded: Vec<bool>,
}

impl Canvas {
    fn new() -> Self {
        Self { dots: vec![0; WIDTH * HEIGHT], shaded: vec![false; WIDTH * HEIGHT] }
    }

    fn dot(&mut self, x: f64, y: f64) {
        /// Bits of a braille cell by row and column, as Unicode numbers them.
        const BITS: [[u8; DOTS_ACROSS]; DOTS_DOWN] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (x, y) = (x.round().max(0.0) as usize, y.round().max(0.0) as usize);
        let (column, row) = (x / DOTS_ACROSS, y / DOTS_DOWN);
        if column < WIDTH && row < HEIGHT {
            self.dots[row * WIDTH + column] |= BITS[y % DOTS_DOWN][x % DOTS_ACROSS];
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let length = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0);
        for index in 0..=length as usize {
            let part = index as f64 / length;
            self.dot(from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
        }
    }

    /// Shades a column between two heights, given in dots from the top.
    fn shade(&mut self, column: usize, top: f64, bottom: f64) {
        // Less than half a cell is no spread that could be seen.
        if bottom - top < DOTS_DOWN as f64 / 2.0 {
            return;
        }
        let row = |dots: f64| ((dots.max(0.0) / DOTS_DOWN as f64) as usize).min(HEIGHT - 1);
        for row in row(top)..=row(bottom) {
            self.shaded[row * WIDTH + column] = true;
        }
    }

    fn is_shaded(&self, column: usize, row: usize) -> bool {
        self.shaded[row * WIDTH + column]
    }

    fn cell(&self, column: usize, row: usize) -> char {
        let index = row * WIDTH + column;
        match self.dots[index] {
            0 if self.shaded[index] => SHADE,
            0 => ' ',
            dots => char::from_u32(0x2800 + u32::from(dots)).expect("every braille pattern is a character"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(step: f64, low: f64, mean: f64, high: f64) -> BandPoint {
        BandPoint { step, mean, low, high }
    }

    #[test]
    fn a_rising_curve_with_its_band() {
        let band: Vec<BandPoint> = (0..=20)
            .map(|i| {
                let x = f64::from(i) / 20.0;
                point(x * 100_000.0, 400.0 * x, 450.0 * x, 500.0 * x)
            })
            .collect();
        insta::assert_snapshot!(draw(&band).unwrap());
    }

    #[test]
    fn little_data_is_drawn_too() {
        assert_eq!(draw(&[]), None);
        let level = draw(&[point(5.0, 2.0, 2.0, 2.0)]).unwrap();
        assert_eq!(level.lines().count(), HEIGHT + 2);
        assert!(level.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)));
    }

    #[test]
    fn the_largest_numbers_have_places_and_labels() {
        let huge = 1e308;
        for (first, last) in [(-huge, huge), (huge, huge), (huge / 2.0, huge)] {
            let drawn = draw(&[point(0.0, first, first, first), point(9.0, last, last, last)]).unwrap();
            assert!(!drawn.contains("inf") && !drawn.contains("NaN") && !drawn.contains(SHADE), "{drawn}");
            assert!(drawn.lines().all(|line| line.chars().count() < 120), "{drawn}");
        }
    }

    #[test]
    fn a_level_curve_shades_nothing() {
        let flat = draw(&[point(0.0, 1.0, 1.0, 1.0), point(9.0, 1.0, 1.0, 1.0)]).unwrap();
        assert!(!flat.contains(SHADE));
    }
}
