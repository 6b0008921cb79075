//! Scores over settings: one small panel per setting, every seed a dot, for each value the mean with its interval.

use crate::chart::axis::{Axis, Scale, short_number};
use crate::chart::frame::{BOTTOM, EDGE, SMALL, TINY, framed, left_axis, widest};
use crate::chart::setting_axis::{PlacedLabel, SettingAxis, Spacing, without_overlap};
use crate::chart::style::cross;
use crate::color::{Color, at_index};
use crate::font::{fitted, text_width};
use crate::path::Path;
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};

/// Narrowest panel, and the space between two.
const NARROWEST: f32 = 150.0;
const BETWEEN: f32 = 26.0;
/// Space above a panel for the numbers of seeds.
const COUNTS: f32 = 14.0;
const COUNT: f32 = TINY - 1.5;
/// Lowest row of panels, with what is above and below them.
const LOWEST: f32 = COUNTS + BOTTOM + ROW_GAP + 44.0;
const ROW_GAP: f32 = 8.0;
/// More dots than this hide each other.
const MANY: usize = 250;
/// How far dots are moved sideways so that equal scores stay apart.
const SCATTER: f32 = 14.0;

/// Panels of scores over settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingChart {
    /// What it shows.
    pub title: String,
    /// What dots, marks and bars mean, below the title.
    pub caption: String,
    /// Name and unit of the scores.
    pub label: String,
    pub panels: Vec<SettingPanel>,
    /// What a reader must know, at the bottom.
    pub notes: Vec<String>,
    /// Width in units; 0 for 800.
    pub width: f32,
    /// Height in units; 0 for as much as the panels need, and never less than they can be drawn in.
    pub height: f32,
}

/// One setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingPanel {
    pub axis: SettingAxis,
    pub dots: Vec<ScoreDot>,
    pub means: Vec<SettingMean>,
}

/// The score of one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreDot {
    /// Its value's place on the axis.
    pub place: f64,
    pub score: f64,
    /// It is marked with a cross.
    pub failed: bool,
}

/// The seeds of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingMean {
    pub place: f64,
    pub mean: f64,
    pub interval: Option<(f64, f64)>,
    /// Their number in words.
    pub seeds: String,
}

impl SettingChart {
    /// The chart as a picture.
    pub fn to_scene(&self) -> Scene {
        let or = |side: f32, default: f32| if side > 0.0 { side } else { default };
        let wide = or(self.width, 800.0);
        let columns = columns(self.panels.len(), wide);
        let rows = self.panels.len().div_ceil(columns).max(1);
        let row_height = [360.0, 270.0, 230.0][rows.min(3) - 1];
        let needed = 90.0 + rows as f32 * row_height + self.notes.len().min(4) as f32 * 14.0;
        let size = (wide, or(self.height, needed));
        let least = rows as f32 * LOWEST;
        let (mut scene, top, bottom) = framed(size, (&self.title, &self.caption), &self.notes, least);
        scene.description = self.description();
        let width = scene.width;
        let each = (bottom - top) / rows as f32;
        let high = each - COUNTS - BOTTOM - ROW_GAP;
        let axis = self.axis(high);
        let left = EDGE + SMALL + 14.0 + widest(&axis.ticks).min(width * 0.25);
        let across = (width - left - EDGE + BETWEEN) / columns as f32 - BETWEEN;
        for (index, panel) in self.panels.iter().enumerate() {
            let (column, row) = (index % columns, index / columns);
            let x = left + column as f32 * (across + BETWEEN);
            let y = top + row as f32 * each + COUNTS;
            let area = Rect::new(x, y, across.max(30.0), high);
            if column == 0 {
                left_axis(&mut scene, area, &axis, &self.label);
            } else {
                grid(&mut scene, area, &axis);
            }
            panel.draw(&mut scene, area, &axis);
        }
        scene
    }

    fn description(&self) -> String {
        let panels = self.panels.iter().take(12).map(|panel| {
            let means = panel.means.iter().take(12).map(|mean| {
                let named = panel.axis.values.iter().find(|(place, _)| *place == mean.place);
                let value = named.map_or_else(|| short_number(mean.place), |(_, text)| text.clone());
                format!("{value} gives {}", short_number(mean.mean))
            });
            format!("{}: {}", panel.axis.label, means.collect::<Vec<_>>().join(", "))
        });
        let mut sentences = vec![self.title.clone()];
        sentences.extend(panels);
        sentences.join(". ")
    }

    /// One axis of scores for all panels, so that they can be compared.
    fn axis(&self, height: f32) -> Axis {
        let numbers = self.panels.iter().flat_map(|panel| {
            let dots = panel.dots.iter().map(|dot| dot.score);
            let means = panel.means.iter().flat_map(|mean| {
                let (low, high) = mean.interval.unwrap_or((mean.mean, mean.mean));
                [mean.mean, low, high]
            });
            dots.chain(means)
        });
        let (low, high) = numbers
            .filter(|number| number.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
                (low.min(number), high.max(number))
            });
        Axis::rounded(low, high, (height / 30.0).clamp(2.0, 8.0) as usize, Scale::Linear)
    }
}

/// How many panels are beside each other.
fn columns(panels: usize, width: f32) -> usize {
    let wanted = match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        3 | 5..=9 => 3,
        _ => 4,
    };
    let fitting = ((width - 60.0) / (NARROWEST + BETWEEN)) as usize;
    wanted.min(fitting.max(1))
}

fn grid(scene: &mut Scene, area: Rect, axis: &Axis) {
    for tick in &axis.ticks {
        let y = area.bottom() - axis.part(tick.value) as f32 * area.height;
        scene.stroke(Path::line((area.x, y), (area.right(), y)), Stroke::solid(Color::GRID, 1.0));
    }
}

impl SettingPanel {
    fn draw(&self, scene: &mut Scene, area: Rect, scores: &Axis) {
        let across = |place: f64| area.x + self.axis.part(place) as f32 * area.width;
        let up = |score: f64| area.bottom() - scores.part(score).clamp(-0.02, 1.02) as f32 * area.height;
        self.draw_axis(scene, area);
        let color = at_index(0);
        let means: Vec<&SettingMean> = self.means.iter().filter(|mean| mean.mean.is_finite()).collect();
        // Words have no order that a line could follow.
        if self.axis.spacing != Spacing::Even && means.len() > 1 {
            let line = Path::polyline(means.iter().map(|mean| (across(mean.place), up(mean.mean))));
            scene.stroke(line, Stroke::solid(color.with_opacity(0.45), 1.4));
        }
        // Many dots are small and faint, so that their density is seen.
        let many = self.dots.len() > MANY;
        let (radius, opacity) = if many { (1.7, 0.35) } else { (2.6, 0.5) };
        let scatter = (self.axis.gap() as f32 * area.width * 0.3).min(SCATTER);
        for (index, dot) in self.dots.iter().enumerate().filter(|(_, dot)| dot.score.is_finite()) {
            // Dots of a range are at their own numbers.
            let alone = self.dots.len() <= self.axis.values.len() || !self.axis.edges.is_empty();
            let aside = if alone { 0.0 } else { aside(index) * scatter };
            let at = (across(dot.place) + aside, up(dot.score));
            if dot.failed {
                cross(scene, at, 3.0, at_index(1), None);
            } else {
                let edge = (!many).then(|| Stroke::solid(Color::WHITE, 0.6));
                scene.shape(Path::circle(at.0, at.1, radius), Some(color.with_opacity(opacity)), edge, None);
            }
        }
        for mean in means {
            let (x, y) = (across(mean.place), up(mean.mean));
            if let Some((low, high)) = mean.interval.filter(|(low, high)| low.is_finite() && high.is_finite())
            {
                let line = |half: f32| Path::polyline([(x, up(low) + half), (x, up(high) - half)]);
                scene.stroke(line(0.8), Stroke::solid(Color::WHITE, 3.4));
                scene.stroke(line(0.0), Stroke::solid(Color::INK, 1.8));
                for end in [low, high] {
                    let cap = Path::line((x - 3.5, up(end)), (x + 3.5, up(end)));
                    scene.stroke(cap, Stroke::solid(Color::INK, 1.8));
                }
            }
            let edge = Some(Stroke::solid(Color::WHITE, 1.2));
            scene.shape(Path::circle(x, y, 4.4), Some(Color::INK), edge, None);
        }
    }

    /// The setting's name and values below, the numbers of seeds above.
    fn draw_axis(&self, scene: &mut Scene, area: Rect) {
        let base = area.bottom();
        scene.stroke(Path::line((area.x, base), (area.right(), base)), Stroke::solid(Color::MUTED, 1.0));
        for part in self.axis.marks() {
            let x = area.x + part as f32 * area.width;
            scene.stroke(Path::line((x, base), (x, base + 4.0)), Stroke::solid(Color::MUTED, 1.0));
        }
        for label in self.axis.labels_across(area.width, BETWEEN / 2.0 - 4.0) {
            let text = Text::new(area.x + label.middle, base + 17.0, label.text, TINY, Color::MUTED);
            scene.text(text.anchored(Anchor::Middle));
        }
        let words = fitted(&self.axis.label, area.width, SMALL, false);
        let text = Text::new(area.x + area.width / 2.0, base + 33.0, words, SMALL, Color::INK);
        scene.text(text.anchored(Anchor::Middle));
        // Where they have no room, only the first says what the numbers are.
        let whole = self.counts(area.width, false);
        let counts = if whole.len() == self.means.len() { whole } else { self.counts(area.width, true) };
        for label in counts {
            let text = Text::new(area.x + label.middle, area.y - 5.0, label.text, COUNT, Color::MUTED);
            scene.text(text.anchored(Anchor::Middle));
        }
    }

    /// The numbers of seeds that have room above a panel.
    fn counts(&self, width: f32, short: bool) -> Vec<PlacedLabel> {
        let label = |(index, mean): (usize, &SettingMean)| {
            let bare = mean.seeds.strip_prefix("n = ").filter(|_| short && index > 0);
            let text = bare.unwrap_or(&mean.seeds).to_owned();
            let half = text_width(&text, COUNT, false) / 2.0;
            let place = self.axis.part(mean.place) as f32 * width;
            (PlacedLabel { middle: place.min(width + 8.0 - half).max(half - 8.0), text }, half)
        };
        without_overlap(self.means.iter().enumerate().map(label).collect())
    }
}

/// A place beside a value, -1 to 1: the same for the same seed every time.
fn aside(index: usize) -> f32 {
    ((index as f32 * 0.618_034 + 0.3) % 1.0) * 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_are_wide_enough() {
        assert_eq!([0, 1, 2, 3, 4, 5, 9, 12].map(|count| columns(count, 800.0)), [1, 1, 2, 3, 2, 3, 3, 4]);
        assert_eq!([4, 9, 12].map(|count| columns(count, 300.0)), [1, 1, 1]);
    }
}
