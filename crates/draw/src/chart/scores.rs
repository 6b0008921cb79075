//! One dot per seed: a row for each group with its scores, their interquartile
//! mean and its interval. What a mean hides is seen here.

use crate::chart::Reference;
use crate::chart::axis::{Axis, short_number};
use crate::chart::frame::{
    BOTTOM, EDGE, SMALL, TINY, bottom_axis, footer, ground, header, shows, sides, with_references,
};
use crate::chart::legend::cut_apart;
use crate::chart::style::{LOOKS, Look, cross};
use crate::color::Color;
use crate::font::{fitted, text_width};
use crate::path::Path;
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};

/// A chart of scores, one row per group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoreChart {
    /// What it shows.
    pub title: String,
    /// What dots, marks and bars mean, below the title.
    pub caption: String,
    /// Name and unit of the scores.
    pub label: String,
    /// The rows from top to bottom.
    pub groups: Vec<ScoreGroup>,
    /// Reference values for the scores.
    pub references: Vec<Reference>,
    /// What a reader must know, at the bottom.
    pub notes: Vec<String>,
    /// Width in units; 0 for 800.
    pub width: f32,
    /// Height in units; 0 for as much as the rows need.
    pub height: f32,
}

/// One row of a [`ScoreChart`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoreGroup {
    /// Its name.
    pub label: String,
    /// Added below the name, such as the number of seeds.
    pub detail: String,
    /// One score per seed. What is not finite is counted in the row.
    pub scores: Vec<f64>,
    /// Scores of failed seeds, marked with a cross.
    pub failed: Vec<f64>,
    /// The mark, such as the interquartile mean.
    pub value: Option<f64>,
    pub interval: Option<(f64, f64)>,
}

const ROW: f32 = 44.0;

impl ScoreChart {
    /// The chart as a picture.
    pub fn to_scene(&self) -> Scene {
        let needed = 120.0 + self.groups.len().max(1) as f32 * ROW + self.notes.len().min(4) as f32 * 14.0;
        let or = |side: f32, default: f32| if side > 0.0 { side } else { default };
        let (width, height) = sides(or(self.width, 800.0), or(self.height, needed));
        let (mut scene, top) = header(width, height, &self.title, &self.caption);
        scene.description = self.description();
        let bottom = footer(&mut scene, &self.notes);
        let names = self.groups.iter().flat_map(|group| [&group.label, &group.detail]);
        let left = names.map(|name| text_width(name, SMALL, false)).fold(0.0, f32::max);
        let left = (left + 34.0).min(width * 0.35) + EDGE;
        let room = if self.references.is_empty() { 0.0 } else { 14.0 };
        let area = Rect::new(
            left,
            top + room,
            (width - left - EDGE - 10.0).max(40.0),
            (bottom - top - room - BOTTOM).max(20.0),
        );
        let axis = self.axis(area.width);
        bottom_axis(&mut scene, area, &axis, &self.label, true);
        for reference in self.references.iter().filter(|reference| shows(&axis, reference)) {
            let x = area.x + axis.part(reference.value) as f32 * area.width;
            let line = Path::line((x, area.y - 4.0), (x, area.bottom()));
            scene.stroke(line, Stroke::dashed(Color::INK.with_opacity(0.6), 1.0, &[2.0, 3.0]));
            let words = fitted(&reference.label, area.width, TINY, false);
            let half = text_width(&words, TINY, false) / 2.0;
            let middle = x.min(width - half - 4.0).max(half + 4.0);
            ground(&mut scene, middle - half, area.y - 7.0, &words, TINY);
            scene.text(Text::new(middle, area.y - 7.0, words, TINY, Color::INK).anchored(Anchor::Middle));
        }
        let row = area.height / self.groups.len().max(1) as f32;
        let room = area.x - EDGE - 28.0;
        let labels =
            cut_apart(&self.groups.iter().map(|group| (group.label.as_str(), room)).collect::<Vec<_>>());
        for (index, (group, label)) in self.groups.iter().zip(labels).enumerate() {
            let strip = Rect::new(area.x, area.y + index as f32 * row, area.width, row);
            group.draw(&mut scene, strip, &axis, (index, &label));
        }
        scene
    }

    fn description(&self) -> String {
        let rows = self.groups.iter().map(|group| {
            let value = group.value.map_or_else(|| "no value".to_owned(), short_number);
            format!("{}: {value} over {} seeds", group.label, group.scores.len() + group.failed.len())
        });
        let mut sentences = vec![self.title.clone()];
        sentences.extend(rows.take(LOOKS));
        sentences.join(". ")
    }

    fn axis(&self, width: f32) -> Axis {
        let numbers = self.groups.iter().flat_map(|group| {
            let ends = group.interval.map_or([f64::NAN; 2], |(low, high)| [low, high]);
            group.scores.iter().chain(&group.failed).copied().chain(group.value).chain(ends)
        });
        let finite = numbers.filter(|number| number.is_finite());
        let range = finite.fold(None, |found: Option<(f64, f64)>, number| {
            let (low, high) = found.unwrap_or((number, number));
            Some((low.min(number), high.max(number)))
        });
        let (low, high) = range.unwrap_or((0.0, 1.0));
        let (low, high) = with_references(low, high, &self.references);
        let wanted = (width / 80.0).clamp(2.0, 9.0) as usize;
        Axis::rounded(low, high, wanted, crate::chart::Scale::Linear)
    }
}

impl ScoreGroup {
    fn draw(&self, scene: &mut Scene, strip: Rect, axis: &Axis, (index, label): (usize, &str)) {
        let look = Look::at_index(index);
        let middle = strip.y + strip.height / 2.0;
        let at = |score: f64| strip.x + axis.part(score).clamp(-0.02, 1.02) as f32 * strip.width;
        self.name(scene, strip, look, label);
        let (low, high) = self.interval.unwrap_or((f64::NAN, f64::NAN));
        let reach = (strip.height * 0.3).min(13.0);
        if low.is_finite() && high.is_finite() {
            let (from, to) = (at(low), at(high));
            let bar = Path::rounded_rect(from, middle - reach, (to - from).max(1.0), 2.0 * reach, 3.0);
            scene.fill(bar, look.color().with_opacity(0.17));
        }
        let finite = |scores: &[f64]| scores.iter().copied().filter(|s| s.is_finite()).collect::<Vec<f64>>();
        for (score, place) in finite(&self.scores).into_iter().zip(offsets(self.scores.len())) {
            let dot = Path::circle(at(score), middle + place * reach, 3.2);
            let edge = Some(Stroke::solid(Color::WHITE, 0.8));
            scene.shape(dot, Some(look.color().with_opacity(0.75)), edge, None);
        }
        for (score, place) in finite(&self.failed).into_iter().zip(offsets(self.failed.len())) {
            cross(scene, (at(score), middle + place * reach), 3.6, look.color(), None);
        }
        if let Some(value) = self.value.filter(|value| value.is_finite()) {
            let x = at(value);
            let line = Path::line((x, middle - reach - 2.0), (x, middle + reach + 2.0));
            scene.stroke(line, Stroke::solid(Color::WHITE, 5.0));
            let line = Path::line((x, middle - reach - 2.0), (x, middle + reach + 2.0));
            scene.stroke(line, Stroke::solid(look.color(), 2.6));
        }
        let lost = self.scores.iter().chain(&self.failed).filter(|score| !score.is_finite()).count();
        if lost > 0 {
            let words = format!("{lost} without a value");
            let text = Text::new(strip.right(), middle + reach + 10.0, words, TINY - 1.0, Color::MUTED);
            scene.text(text.anchored(Anchor::End));
        }
    }

    fn name(&self, scene: &mut Scene, strip: Rect, look: Look, label: &str) {
        let middle = strip.y + strip.height / 2.0;
        look.marker(scene, (EDGE + 6.0, middle), 4.0, None);
        let (x, room) = (EDGE + 18.0, strip.x - EDGE - 28.0);
        // Two lines where they fit, else the name alone.
        let two = !self.detail.is_empty() && strip.height >= 30.0;
        let baseline = if two { middle - 2.5 } else { middle + SMALL * 0.36 };
        scene.text(Text::new(x, baseline, label, SMALL, Color::INK));
        if two {
            let words = fitted(&self.detail, room, TINY - 0.5, false);
            scene.text(Text::new(x, baseline + 14.0, words, TINY - 0.5, Color::MUTED));
        }
    }
}

/// Places up and down a row, -0.8 to 0.8, so that equal scores stay apart: the
/// same for the same seed every time.
fn offsets(count: usize) -> impl Iterator<Item = f32> {
    (0..count).map(
        move |index| {
            if count == 1 { 0.0 } else { ((index as f32 * 0.618_034 + 0.3) % 1.0) * 1.6 - 0.8 }
        },
    )
}
