//! Scores over two settings: a grid of cells, coloured by their mean score.

use crate::chart::axis::short_number;
use crate::chart::frame::{BOTTOM, EDGE, SMALL, TINY, framed};
use crate::chart::ramp::Ramp;
use crate::chart::setting_axis::SettingAxis;
use crate::color::Color;
use crate::font::{fitted, text_width};
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};

/// Size of the numbers of seeds.
const COUNT: f32 = TINY - 1.5;
/// Lowest grid, with its axis.
const LOWEST: f32 = BOTTOM + 60.0;
/// Distance between the lines in an empty cell.
const HATCH: f32 = 7.0;

/// A grid of scores over two settings, whose axes have their values side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// What the cells mean, below the title.
    pub caption: String,
    /// Name and unit of the scores.
    pub label: String,
    pub x: SettingAxis,
    pub y: SettingAxis,
    /// Those with a score; the others are hatched.
    pub cells: Vec<HeatCell>,
    /// What a reader must know, at the bottom.
    pub notes: Vec<String>,
    /// Width in units; 0 for 800.
    pub width: f32,
    /// Height in units; 0 for as much as the cells need.
    pub height: f32,
}

/// A cell with a score.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatCell {
    /// From the left.
    pub column: usize,
    /// From the bottom.
    pub row: usize,
    pub score: f64,
    /// Written below the score, such as the number of seeds.
    pub detail: String,
}

impl HeatMap {
    /// The chart as a picture.
    pub fn to_scene(&self) -> Scene {
        let (columns, rows) = (self.x.values.len().max(1), self.y.values.len().max(1));
        let or = |side: f32, default: f32| if side > 0.0 { side } else { default };
        let needed = 130.0 + (rows as f32 * 56.0).clamp(150.0, 700.0) + self.notes.len().min(4) as f32 * 14.0;
        let size = (or(self.width, 800.0), or(self.height, needed));
        let (title, mut notes) = ((self.title.as_str(), self.caption.as_str()), self.notes.clone());
        let (mut scene, mut top, mut bottom) = framed(size, title, &notes, LOWEST);
        let width = scene.width;
        let ramp = Ramp::new(self.cells.iter().map(|cell| cell.score), bottom - top - BOTTOM);
        let names = self.y.values.iter().map(|(_, text)| text_width(text, TINY, false)).fold(0.0, f32::max);
        let left = EDGE + SMALL + 16.0 + names.min(width * 0.2);
        let across = (width - left - EDGE - 22.0 - ramp.width()).max(40.0);
        let cell = (across / columns as f32, (bottom - top - BOTTOM) / rows as f32);
        if self.words_in(cell) == Words::None && !self.cells.is_empty() {
            notes.push("The cells are too small for their numbers; --json has them.".to_owned());
            (scene, top, bottom) = framed(size, title, &notes, LOWEST);
        }
        scene.description = self.description();
        let area = Rect::new(left, top, across, bottom - top - BOTTOM);
        self.draw_axes(&mut scene, area);
        self.draw_cells(&mut scene, area, &ramp);
        ramp.draw(&mut scene, area.right() + 22.0, area, &self.label);
        scene
    }

    fn description(&self) -> String {
        let best = self.cells.iter().max_by(|a, b| a.score.total_cmp(&b.score)).map(|cell| {
            let value = |axis: &SettingAxis, index: usize| {
                let text = axis.values.get(index).map_or("", |(_, text)| text);
                format!("{} {text}", axis.label)
            };
            let (x, y) = (value(&self.x, cell.column), value(&self.y, cell.row));
            format!("Highest: {} at {x} and {y}", short_number(cell.score))
        });
        let mut sentences = vec![self.title.clone()];
        sentences.extend(best);
        sentences.join(". ")
    }

    fn draw_axes(&self, scene: &mut Scene, area: Rect) {
        for label in self.x.labels_across(area.width, 8.0) {
            let text = Text::new(area.x + label.middle, area.bottom() + 17.0, label.text, TINY, Color::MUTED);
            scene.text(text.anchored(Anchor::Middle));
        }
        let words = fitted(&self.x.label, area.width, SMALL, false);
        let text = Text::new(area.x + area.width / 2.0, area.bottom() + 35.0, words, SMALL, Color::INK);
        scene.text(text.anchored(Anchor::Middle));
        let room = area.x - EDGE - SMALL - 14.0;
        for label in self.y.labels_upwards(area.height, room) {
            let y = area.bottom() - label.middle + TINY * 0.36;
            let text = Text::new(area.x - 8.0, y, label.text, TINY, Color::MUTED);
            scene.text(text.anchored(Anchor::End));
        }
        let words = fitted(&self.y.label, area.height.max(60.0), SMALL, false);
        let text = Text::new(EDGE + SMALL * 0.8, area.y + area.height / 2.0, words, SMALL, Color::INK);
        scene.text(text.anchored(Anchor::Middle).rotated(-90.0));
    }

    fn draw_cells(&self, scene: &mut Scene, area: Rect, ramp: &Ramp) {
        let (columns, rows) = (self.x.values.len().max(1), self.y.values.len().max(1));
        let (wide, high) = (area.width / columns as f32, area.height / rows as f32);
        // A gap between cells, as long as they have any size.
        let gap = (wide.min(high) * 0.04).min(2.0);
        let place = |column: usize, row: usize| {
            let (x, y) = (area.x + column as f32 * wide, area.bottom() - (row + 1) as f32 * high);
            Rect::new(x + gap / 2.0, y + gap / 2.0, wide - gap, high - gap)
        };
        let mut hatched = Path::default();
        for row in 0..rows {
            for column in 0..columns {
                if !self.cells.iter().any(|cell| (cell.column, cell.row) == (column, row)) {
                    hatched.segments.extend(hatch(place(column, row)));
                }
            }
        }
        scene.stroke(hatched, Stroke::solid(Color::MUTED.with_opacity(0.35), 0.8));
        let words = self.words_in((wide, high));
        let within = |cell: &&HeatCell| cell.column < columns && cell.row < rows;
        for cell in self.cells.iter().filter(within) {
            let Rect { x, y, width, height } = place(cell.column, cell.row);
            let ground = ramp.color(cell.score);
            scene.fill(Path::rect(x, y, width, height), ground);
            if words == Words::None {
                continue;
            }
            let (middle, ink) = (x + width / 2.0, ground.text_on());
            let both = words == Words::Both;
            let baseline = y + height / 2.0 + if both { -2.0 } else { SMALL * 0.36 };
            let text = Text::new(middle, baseline, short_number(cell.score), SMALL, ink);
            scene.text(text.anchored(Anchor::Middle).bold());
            if both {
                let text = Text::new(middle, baseline + 14.0, &cell.detail, COUNT, ink);
                scene.text(text.anchored(Anchor::Middle));
            }
        }
        let best = self.cells.iter().filter(within).max_by(|a, b| a.score.total_cmp(&b.score));
        if let Some(best) = best.filter(|_| self.cells.len() > 1) {
            let Rect { x, y, width, height } = place(best.column, best.row);
            // Ink and white beside each other are seen on every ground.
            scene.stroke(Path::rect(x, y, width, height), Stroke::solid(Color::INK, 3.0));
            let inside = Path::rect(x + 2.2, y + 2.2, width - 4.4, height - 4.4);
            scene.stroke(inside, Stroke::solid(Color::WHITE, 1.4));
        }
    }

    /// What fits into cells of this size.
    fn words_in(&self, (wide, high): (f32, f32)) -> Words {
        let widest = |size: f32, bold: bool, words: &dyn Fn(&HeatCell) -> String| {
            let widths = self.cells.iter().map(|cell| text_width(&words(cell), size, bold));
            widths.fold(0.0, f32::max) + 6.0
        };
        let score = widest(SMALL, true, &|cell| short_number(cell.score));
        let detail = widest(COUNT, false, &|cell| cell.detail.clone());
        match (score <= wide && high >= 16.0, detail <= wide && high >= 32.0) {
            (true, true) => Words::Both,
            (true, false) => Words::Score,
            (false, _) => Words::None,
        }
    }
}

/// What is written in the cells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Both,
    Score,
    None,
}

/// Slanted lines within a cell.
fn hatch(Rect { x, y, width, height }: Rect) -> Vec<Segment> {
    let count = ((width + height) / HATCH) as usize;
    (1..=count.min(400))
        .flat_map(|index| {
            // The line on which the distances from the upper left corner, across and down, add up to this.
            let sum = index as f32 * HATCH;
            let (right, left) = (sum.min(width), (sum - height).max(0.0));
            [Segment::Move(x + right, y + sum - right), Segment::Line(x + left, y + sum - left)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hatching_stays_in_its_cell() {
        for area in [Rect::new(10.0, 20.0, 90.0, 40.0), Rect::new(0.0, 0.0, 5.0, 300.0)] {
            let lines = hatch(area);
            assert!(lines.len() > 10);
            for line in lines {
                let (Segment::Move(x, y) | Segment::Line(x, y)) = line else { panic!("{line:?}") };
                assert!(x >= area.x - 0.01 && x <= area.right() + 0.01, "{line:?}");
                assert!(y >= area.y - 0.01 && y <= area.bottom() + 0.01, "{line:?}");
            }
        }
    }
}
