//! Axes of settings such as a learning rate: numbers at their place on a scale, or values side by side.

use crate::chart::axis::{Axis, Scale, Tick};
use crate::chart::frame::TINY;
use crate::font::{fitted, text_width};

/// How far the first and the last number are from the axis' ends, so that no dot is cut.
const MARGIN: f64 = 0.07;
/// Up to this many numbers are ticks themselves; more get round ticks.
const MOST_OWN_TICKS: usize = 8;
/// A value in words gets at least this much room before it is cut.
const LEAST_WORDS: f32 = 48.0;
/// Distance between two tick labels.
const APART: f32 = 6.0;

/// How values become places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Side by side, in their order.
    #[default]
    Even,
    /// Numbers, equal differences equally far.
    Linear,
    /// Numbers above zero, equal ratios equally far.
    Logarithmic,
}

/// The axis of one setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingAxis {
    /// What is set.
    pub label: String,
    pub spacing: Spacing,
    /// Each value's place and text, in order: the number itself on a scale; 0, 1, 2, … for values side by side.
    pub values: Vec<(f64, String)>,
    /// The lowest and the highest number that is shown; of no meaning for values side by side.
    pub range: (f64, f64),
    /// Where each value is a range of numbers: the ends of all of them in order, which then are the ticks.
    pub edges: Vec<(f64, String)>,
}

/// A tick label that has room.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacedLabel {
    /// The middle of its text, in units from the axis' beginning.
    pub(super) middle: f32,
    pub(super) text: String,
}

impl SettingAxis {
    /// How far along the axis a place is, from 0 to 1; the middle for what has no place.
    pub fn part(&self, place: f64) -> f64 {
        let (low, high) = self.range;
        let along = match self.spacing {
            Spacing::Even => return ((place + 0.5) / self.values.len().max(1) as f64).clamp(0.0, 1.0),
            Spacing::Linear => (place - low) / (high - low),
            Spacing::Logarithmic => (place / low).ln() / (high / low).ln(),
        };
        if along.is_finite() { MARGIN + along.clamp(0.0, 1.0) * (1.0 - 2.0 * MARGIN) } else { 0.5 }
    }

    /// The smallest distance between two values, as a part of the axis.
    pub(super) fn gap(&self) -> f64 {
        let mut parts: Vec<f64> = self.values.iter().map(|(place, _)| self.part(*place)).collect();
        parts.sort_by(f64::total_cmp);
        parts.windows(2).map(|pair| pair[1] - pair[0]).fold(1.0, f64::min)
    }

    /// The values themselves, the ends of ranges, or round numbers where there are too many of them.
    fn ticks(&self) -> Vec<Tick> {
        let own = || self.values.iter().map(|(value, label)| Tick { value: *value, label: label.clone() });
        if self.spacing == Spacing::Even && !self.edges.is_empty() {
            // Ranges side by side meet halfway between two values.
            let ends = self.edges.iter().enumerate();
            return ends
                .map(|(index, (_, text))| Tick { value: index as f64 - 0.5, label: text.clone() })
                .collect();
        }
        if self.spacing == Spacing::Even || (self.values.len() <= MOST_OWN_TICKS && self.edges.is_empty()) {
            return own().collect();
        }
        let (low, high) = self.range;
        let axis = match self.spacing {
            Spacing::Logarithmic => Axis::rounded(low, high, 5, Scale::Logarithmic),
            _ => Axis::tight(low, high, 5),
        };
        let within = |tick: &Tick| tick.value >= low * (1.0 - 1e-9) && tick.value <= high * (1.0 + 1e-9);
        let round: Vec<Tick> = match self.spacing {
            Spacing::Logarithmic => axis.ticks.into_iter().filter(within).collect(),
            _ => axis.ticks,
        };
        if round.len() >= 2 { round } else { own().collect() }
    }

    /// Where every tick is along the axis, also those without room for their label.
    pub(super) fn marks(&self) -> impl Iterator<Item = f64> {
        self.ticks().into_iter().map(|tick| self.part(tick.value))
    }

    /// The tick labels that have room along a level axis of this length: none touches another, and none goes further than
    /// `beyond` over the axis' ends.
    pub(super) fn labels_across(&self, length: f32, beyond: f32) -> Vec<PlacedLabel> {
        let slot = length / self.values.len().max(1) as f32 - APART;
        let most = match self.spacing {
            Spacing::Even => slot.max(LEAST_WORDS),
            _ => length.max(LEAST_WORDS),
        };
        let labels = self.ticks().into_iter().map(|tick| {
            let text = shortened(&tick.label, most);
            let (part, half) = (self.part(tick.value), text_width(&text, TINY, false) / 2.0);
            let most = (length + beyond - half).max(0.0);
            let middle = (part as f32 * length).min(most).max(half - beyond);
            (PlacedLabel { middle, text }, half)
        });
        without_overlap(labels.collect())
    }

    /// The tick labels that have room along an upright axis, each at most `width` wide.
    pub(super) fn labels_upwards(&self, length: f32, width: f32) -> Vec<PlacedLabel> {
        let labels = self.ticks().into_iter().map(|tick| {
            let part = self.part(tick.value);
            let text = shortened(&tick.label, width);
            (PlacedLabel { middle: part as f32 * length, text }, TINY * 0.5)
        });
        without_overlap(labels.collect())
    }
}

/// A value cut to its place; a list loses its spaces first.
fn shortened(text: &str, width: f32) -> String {
    let dense = || text.replace(", ", ",");
    let fits = text_width(text, TINY, false) <= width;
    fitted(&if fits { text.to_owned() } else { dense() }, width, TINY, false)
}

/// Those labels, given with half their lengths, that don't touch: the outermost first, then from the beginning.
pub(super) fn without_overlap(labels: Vec<(PlacedLabel, f32)>) -> Vec<PlacedLabel> {
    let count = labels.len();
    let order = [0, count.saturating_sub(1)].into_iter().chain(1..count.saturating_sub(1));
    let mut kept: Vec<usize> = Vec::new();
    for index in order.take(count) {
        let (label, half) = &labels[index];
        let free = kept.iter().all(|other| {
            let (known, reach) = &labels[*other];
            *other != index && (known.middle - label.middle).abs() >= reach + half + APART
        });
        if free && !label.text.is_empty() {
            kept.push(index);
        }
    }
    kept.sort_unstable();
    kept.into_iter().map(|index| labels[index].0.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(spacing: Spacing, values: &[f64]) -> SettingAxis {
        SettingAxis {
            label: "algo.learning_rate".to_owned(),
            spacing,
            values: values.iter().map(|value| (*value, value.to_string())).collect(),
            range: (values[0], values[values.len() - 1]),
            edges: Vec::new(),
        }
    }

    fn texts(axis: &SettingAxis, length: f32) -> Vec<String> {
        axis.labels_across(length, 8.0).into_iter().map(|label| label.text).collect()
    }

    #[test]
    fn places_follow_the_scale() {
        let linear = numbers(Spacing::Linear, &[0.0, 5.0, 10.0]);
        assert_eq!([0.0, 5.0, 10.0].map(|place| linear.part(place)), [MARGIN, 0.5, 1.0 - MARGIN]);
        let log = numbers(Spacing::Logarithmic, &[1e-5, 1e-3, 1e-1]);
        assert!((log.part(1e-3) - 0.5).abs() < 1e-9);
        let even = numbers(Spacing::Even, &[0.0, 1.0]);
        assert_eq!([0.0, 1.0].map(|place| even.part(place)), [0.25, 0.75]);
        for spacing in [Spacing::Even, Spacing::Linear, Spacing::Logarithmic] {
            assert_eq!(numbers(spacing, &[0.0]).part(0.0), 0.5, "{spacing:?}");
        }
        assert_eq!(log.part(f64::NAN), 0.5);
    }

    #[test]
    fn few_numbers_are_their_own_ticks_and_many_get_round_ones() {
        let few = numbers(Spacing::Logarithmic, &[0.0003, 0.001, 0.02]);
        assert_eq!(texts(&few, 300.0), ["0.0003", "0.001", "0.02"]);
        let many: Vec<f64> = (0..40).map(|i| 1e-5 * 1.27f64.powi(i)).collect();
        let labels = texts(&numbers(Spacing::Logarithmic, &many), 300.0);
        assert!(labels.contains(&"0.001".to_owned()) && labels.len() >= 3, "{labels:?}");
    }

    #[test]
    fn ranges_are_labelled_where_they_meet() {
        let mut axis = numbers(Spacing::Even, &[0.0, 1.0]);
        axis.edges = [1.0, 2.0, 4.0].map(|end| (end, end.to_string())).into();
        assert_eq!(
            (texts(&axis, 300.0), axis.marks().collect::<Vec<_>>()),
            (vec!["1".into(), "2".into(), "4".into()], vec![0.0, 0.5, 1.0])
        );
        axis.spacing = Spacing::Linear;
        axis.range = (1.0, 4.0);
        assert_eq!(texts(&axis, 300.0), ["1", "2", "3", "4"]);
    }

    #[test]
    fn lists_lose_their_spaces_before_they_are_cut() {
        let width = text_width("[64,64]", TINY, false) + 0.5;
        assert_eq!(shortened("[64, 64]", width), "[64,64]");
        assert_eq!(shortened("[64, 64]", 200.0), "[64, 64]");
    }

    #[test]
    fn labels_without_room_are_left_out_the_outermost_last() {
        let close = numbers(Spacing::Linear, &[0.9, 0.99, 0.995, 0.999]);
        assert_eq!(texts(&close, 120.0), ["0.9", "0.999"]);
        assert_eq!(texts(&close, 2000.0).len(), 4);
        let words = SettingAxis {
            values: (0..30).map(|i| (f64::from(i), format!("a long value {i}"))).collect(),
            ..SettingAxis::default()
        };
        let shown = words.labels_across(400.0, 8.0);
        assert!(shown.len() > 3 && shown[0].text.ends_with('…'), "{shown:?}");
        for pair in shown.windows(2) {
            let halves = pair.iter().map(|label| text_width(&label.text, TINY, false) / 2.0).sum::<f32>();
            assert!(pair[1].middle - pair[0].middle >= halves, "{pair:?}");
        }
    }
}
