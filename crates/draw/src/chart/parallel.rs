//! Many settings at once: an upright axis for each and for the score, a line through them for every configuration.

use crate::chart::axis::short_number;
use crate::chart::frame::{EDGE, SMALL, TINY, framed, ground};
use crate::chart::ramp::Ramp;
use crate::chart::setting_axis::SettingAxis;
use crate::color::Color;
use crate::font::{fitted, text_width};
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};

/// Space for the names of the axes, in two lines.
const NAMES: f32 = 32.0;
/// Lines that share a value are spread over at most this part of the axis.
const WIDEST_SPREAD: f64 = 0.09;
/// Size of names that would have no room otherwise.
const NARROW: f32 = 9.8;
/// At most this many lines are drawn as the best.
const MOST_BEST: usize = 8;

/// Lines through upright axes, coloured by score.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelChart {
    /// What it shows.
    pub title: String,
    /// What the lines mean, below the title.
    pub caption: String,
    /// Name and unit of the scores.
    pub label: String,
    pub axes: Vec<SettingAxis>,
    pub lines: Vec<ParallelLine>,
    /// What a reader must know, at the bottom.
    pub notes: Vec<String>,
    /// Width in units; 0 for 800.
    pub width: f32,
    /// Height in units; 0 for 500.
    pub height: f32,
}

/// One configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelLine {
    /// Its place on each axis.
    pub places: Vec<f64>,
    pub score: f64,
}

impl ParallelChart {
    /// The chart as a picture.
    pub fn to_scene(&self) -> Scene {
        let or = |side: f32, default: f32| if side > 0.0 { side } else { default };
        let size = (or(self.width, 800.0), or(self.height, 500.0));
        let least = NAMES + 72.0;
        let (mut scene, top, bottom) = framed(size, (&self.title, &self.caption), &self.notes, least);
        scene.description = self.description();
        let width = scene.width;
        let area_height = bottom - top - NAMES - 12.0;
        let ramp = Ramp::new(self.lines.iter().map(|line| line.score), area_height);
        let left = EDGE + self.label_width(0, width * 0.16) + 10.0;
        let across = (width - left - EDGE - ramp.width()).max(40.0);
        let area = Rect::new(left, top + NAMES, across, area_height);
        let step = across / self.axes.len().max(1) as f32;
        let x = |index: usize| area.x + index as f32 * step;
        self.draw_lines(&mut scene, area, &ramp, &x);
        for (index, axis) in self.axes.iter().enumerate() {
            let line = Path::line((x(index), area.y), (x(index), area.bottom()));
            scene.stroke(line, Stroke::solid(Color::INK.with_opacity(0.7), 1.2));
            let room = if index == 0 { left - EDGE - 8.0 } else { step * 0.75 };
            for label in axis.labels_upwards(area.height, room) {
                let y = area.bottom() - label.middle;
                let tick = Path::line((x(index) - 4.0, y), (x(index), y));
                scene.stroke(tick, Stroke::solid(Color::INK.with_opacity(0.7), 1.2));
                let (right, baseline) = (x(index) - 7.0, y + TINY * 0.36);
                ground(&mut scene, right - text_width(&label.text, TINY, false), baseline, &label.text, TINY);
                scene.text(Text::new(right, baseline, label.text, TINY, Color::INK).anchored(Anchor::End));
            }
            // The first and the last name have the picture's edge beside them.
            let reach = if index == 0 { step.min(2.0 * (x(0) - 4.0)) } else { step };
            name(&mut scene, &axis.label, x(index), area.y - 12.0, reach - 8.0);
        }
        ramp.draw(&mut scene, area.right(), area, &self.label);
        scene
    }

    fn description(&self) -> String {
        let best = self.lines.iter().max_by(|a, b| a.score.total_cmp(&b.score)).map(|line| {
            let values = self.axes.iter().zip(&line.places).map(|(axis, place)| {
                let named = axis.values.iter().find(|(known, _)| known == place);
                let value = named.map_or_else(|| short_number(*place), |(_, text)| text.clone());
                format!("{} {value}", axis.label)
            });
            format!("Highest: {} with {}", short_number(line.score), values.collect::<Vec<_>>().join(", "))
        });
        let mut sentences = vec![self.title.clone()];
        sentences.extend(best);
        sentences.join(". ")
    }

    fn label_width(&self, axis: usize, most: f32) -> f32 {
        let values = self.axes.get(axis).map(|axis| axis.values.as_slice()).unwrap_or_default();
        values.iter().map(|(_, text)| text_width(text, TINY, false)).fold(0.0, f32::max).min(most)
    }

    /// The worst first, so that the best lie above; the best tenth is thicker.
    fn draw_lines(&self, scene: &mut Scene, area: Rect, ramp: &Ramp, x: &dyn Fn(usize) -> f32) {
        let spread = self.spread();
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        order.sort_by(|a, b| self.lines[*a].score.total_cmp(&self.lines[*b].score));
        let best = self.lines.len().div_ceil(10).min(MOST_BEST);
        let thin = if self.lines.len() > 120 { 0.9 } else { 1.3 };
        for (rank, index) in order.into_iter().enumerate() {
            let score = self.lines[index].score;
            if !score.is_finite() {
                continue;
            }
            let up = |part: f64| area.bottom() - part.clamp(0.0, 1.0) as f32 * area.height;
            let places = spread.iter().enumerate().map(|(axis, parts)| (x(axis), up(parts[index])));
            let points: Vec<(f32, f32)> = places.chain([(area.right(), up(ramp.part(score)))]).collect();
            let path = through(&points);
            let is_best = rank + best >= self.lines.len();
            if is_best {
                scene.stroke(path.clone(), Stroke::solid(Color::WHITE, 4.6));
                scene.stroke(path, Stroke::solid(ramp.color(score), 2.8));
            } else {
                scene.stroke(path, Stroke::solid(ramp.color(score).with_opacity(0.75), thin));
            }
        }
    }

    /// How far up each axis each line is. Lines that share a value are spread around it by their score, so that each can
    /// be followed.
    fn spread(&self) -> Vec<Vec<f64>> {
        let of_axis = |(number, axis): (usize, &SettingAxis)| {
            let room = (axis.gap() * 0.55).min(WIDEST_SPREAD);
            let place = |line: &ParallelLine| line.places.get(number).copied().unwrap_or(f64::NAN);
            let mut order: Vec<usize> = (0..self.lines.len()).collect();
            let key = |index: usize| (place(&self.lines[index]), self.lines[index].score);
            order.sort_by(|a, b| {
                let ((a, x), (b, y)) = (key(*a), key(*b));
                a.total_cmp(&b).then(x.total_cmp(&y))
            });
            let mut parts = vec![0.5; self.lines.len()];
            for same in order.chunk_by(|a, b| key(*a).0 == key(*b).0) {
                for (rank, index) in same.iter().enumerate() {
                    let aside = (rank as f64 + 0.5) / same.len() as f64 - 0.5;
                    parts[*index] = axis.part(key(*index).0) + aside * room;
                }
            }
            parts
        };
        self.axes.iter().enumerate().map(of_axis).collect()
    }
}

/// A smooth line that is level at every axis.
fn through(points: &[(f32, f32)]) -> Path {
    let Some((x, y)) = points.first() else { return Path::default() };
    let mut segments = vec![Segment::Move(*x, *y)];
    segments.extend(points.windows(2).map(|pair| {
        let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
        let reach = (bx - ax) * 0.4;
        Segment::Cubic(ax + reach, ay, bx - reach, by, bx, by)
    }));
    Path { segments }
}

/// The name of an axis above it: in two lines where one has no room.
fn name(scene: &mut Scene, words: &str, x: f32, baseline: f32, width: f32) {
    let (first, second) = in_two(words, width);
    let fits = [&first, &second].iter().all(|line| text_width(line, SMALL, false) <= width);
    let size = if fits { SMALL } else { NARROW };
    let mut put = |line: &str, baseline: f32| {
        let words = fitted(line, width, size, false);
        scene.text(Text::new(x, baseline, words, size, Color::INK).anchored(Anchor::Middle));
    };
    put(&second, baseline);
    if !first.is_empty() {
        put(&first, baseline - 13.5);
    }
}

/// `words` in one line if they fit, else broken after the `_` or `.` that leaves the shortest lines.
fn in_two(words: &str, width: f32) -> (String, String) {
    let whole = (String::new(), words.to_owned());
    if text_width(words, SMALL, false) <= width {
        return whole;
    }
    let breaks = words.char_indices().filter(|(_, c)| matches!(c, '_' | '.' | ' ')).map(|(at, _)| at + 1);
    let longest = |at: &usize| {
        let (first, second) = words.split_at(*at);
        text_width(first, SMALL, false).max(text_width(second, SMALL, false))
    };
    let best = breaks.min_by(|a, b| longest(a).total_cmp(&longest(b)));
    best.map_or(whole, |at| (words[..at].to_owned(), words[at..].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_broken_where_they_may_be() {
        assert_eq!(in_two("gamma", 100.0), (String::new(), "gamma".to_owned()));
        let (first, second) = in_two("normalize_observations", 90.0);
        assert_eq!((first.as_str(), second.as_str()), ("normalize_", "observations"));
        assert_eq!(in_two("unbreakable", 10.0).0, "");
    }

    #[test]
    fn lines_that_share_a_value_are_apart_and_in_order() {
        let axis = SettingAxis {
            values: vec![(0.0, "a".to_owned()), (1.0, "b".to_owned())],
            ..SettingAxis::default()
        };
        let line = |place: f64, score: f64| ParallelLine { places: vec![place], score };
        let lines = vec![line(0.0, 9.0), line(0.0, 3.0), line(1.0, 5.0)];
        let spread = ParallelChart { axes: vec![axis], lines, ..ParallelChart::default() }.spread();
        assert!(spread[0][0] > spread[0][1], "the better one is above: {spread:?}");
        assert!((spread[0][2] - 0.75).abs() < 1e-9);
    }
}
