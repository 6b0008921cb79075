//! Which line is which: labels at the ends of the lines where they fit, and
//! otherwise a legend below.

use crate::chart::frame::{EDGE, SMALL};
use crate::chart::style::Look;
use crate::color::Color;
use crate::font::{fitted, text_width};
use crate::path::Path;
use crate::scene::{Rect, Scene, Stroke, Text};

/// The legend entry for lines without their own colour.
pub(super) fn background() -> Color {
    Color::MUTED.with_opacity(0.55)
}

/// One thing to name.
pub(super) struct Entry<'a> {
    /// `None` for background lines.
    pub(super) look: Option<Look>,
    pub(super) label: &'a str,
    /// Another name, omitted if it doesn't fit.
    pub(super) also: &'a str,
    /// Added in a quieter tone.
    pub(super) detail: &'a str,
    pub(super) band: bool,
}

const ROW: f32 = 18.0;
const SWATCH: f32 = 30.0;
const GAP: f32 = 7.0;

impl Entry<'_> {
    /// The width of the label with its detail.
    pub(super) fn width(&self) -> f32 {
        text_width(self.label, SMALL, false) + after(self.detail)
    }

    /// The same with the other name.
    fn full_width(&self) -> f32 {
        self.width() + after(self.also)
    }

    /// Its words from x on within `room`; `label` is its label, cut.
    fn words(&self, scene: &mut Scene, x: f32, baseline: f32, room: f32, label: &str) {
        let mut at = x + text_width(label, SMALL, false) + GAP;
        scene.text(Text::new(x, baseline, label, SMALL, Color::INK));
        let whole = label == self.label && self.full_width() <= room;
        for quiet in [if whole { self.also } else { "" }, self.detail] {
            if !quiet.is_empty() && at < x + room {
                let quiet = fitted(quiet, x + room - at, SMALL, false);
                let next = at + text_width(&quiet, SMALL, false) + GAP;
                scene.text(Text::new(at, baseline, quiet, SMALL, Color::MUTED));
                at = next;
            }
        }
    }
}

/// The width of a text after another one.
fn after(text: &str) -> f32 {
    if text.is_empty() { 0.0 } else { GAP + text_width(text, SMALL, false) }
}

/// The labels of entries, cut so that label and detail fit into `room`.
fn labels(entries: &[&Entry<'_>], room: f32) -> Vec<String> {
    let rooms = entries.iter().map(|entry| (entry.label, (room - after(entry.detail)).max(room * 0.5)));
    cut_apart(&rooms.collect::<Vec<_>>())
}

/// Labels cut to their room such that no two different ones look the same: at the end, else in the middle, else at the
/// beginning, and where nothing else helps with a number.
pub(super) fn cut_apart(labels: &[(&str, f32)]) -> Vec<String> {
    let cuts: [fn(&str, f32) -> String; 3] = [
        |text, room| fitted(text, room, SMALL, false),
        |text, room| middle(text, room),
        |text, room| end(text, room),
    ];
    let distinct = |shown: &[String]| {
        shown.iter().enumerate().all(|(index, text)| {
            let same = |other: &usize| shown[*other] == *text && labels[*other].0 != labels[index].0;
            !(0..index).any(|other| same(&other))
        })
    };
    let all =
        |cut: fn(&str, f32) -> String| labels.iter().map(|(text, room)| cut(text, *room)).collect::<Vec<_>>();
    let found = cuts.iter().map(|cut| all(*cut)).find(|shown| distinct(shown));
    found.unwrap_or_else(|| {
        let shown = all(cuts[0]);
        let is_shared = |index: usize| {
            let same = |other: usize| shown[other] == shown[index] && labels[other].0 != labels[index].0;
            (0..shown.len()).any(same)
        };
        let numbered = |(index, (text, room)): (usize, &(&str, f32))| {
            let number = format!("{} ", index + 1);
            let rest = fitted(text, room - text_width(&number, SMALL, false), SMALL, false);
            if is_shared(index) { format!("{number}{rest}") } else { shown[index].clone() }
        };
        labels.iter().enumerate().map(numbered).collect()
    })
}

/// `text` with its middle left out where it is wider than `room`.
fn middle(text: &str, room: f32) -> String {
    shortened(text, room, |kept, all| {
        let head = kept.div_ceil(2);
        all[..head].iter().chain(&['…']).chain(&all[all.len() - (kept - head)..]).collect()
    })
}

/// The end of `text` where it is wider than `room`.
fn end(text: &str, room: f32) -> String {
    shortened(text, room, |kept, all| ['…'].iter().chain(&all[all.len() - kept..]).collect())
}

/// The most characters that fit as `cut` shows them.
fn shortened(text: &str, room: f32, cut: impl Fn(usize, &[char]) -> String) -> String {
    let all: Vec<char> = text.chars().collect();
    let fits = |text: &String| text_width(text, SMALL, false) <= room;
    let shorter = (0..all.len()).rev().map(|kept| cut(kept, &all));
    std::iter::once(text.to_owned()).chain(shorter).find(fits).unwrap_or_default()
}

/// How a legend of entries is laid out within a width.
pub(super) struct Below {
    columns: usize,
    column: f32,
    pub(super) height: f32,
}

impl Below {
    /// In as many columns as the widest entry allows, but never higher than `most`: then without other names, and in
    /// more columns, with labels cut.
    pub(super) fn plan(entries: &[Entry<'_>], width: f32, most: f32) -> Self {
        let beside = SWATCH + GAP + 16.0;
        let widest_full = entries.iter().map(Entry::full_width).fold(0.0, f32::max) + beside;
        let full = Self::plan_for(entries, width, most, widest_full);
        if widest_full <= full.column {
            return full;
        }
        Self::plan_for(entries, width, most, entries.iter().map(Entry::width).fold(0.0, f32::max) + beside)
    }

    /// The plan if the widest entry has this width with its swatch.
    fn plan_for(entries: &[Entry<'_>], width: f32, most: f32, widest: f32) -> Self {
        let wide_enough = (width / widest).floor().max(1.0) as usize;
        let rows = ((most / ROW) as usize).max(1);
        // A column needs room for a few letters whatever the number of entries.
        let narrowest = (width / (SWATCH + 50.0)).floor().max(1.0) as usize;
        let columns = wide_enough.max(entries.len().div_ceil(rows)).min(narrowest).min(entries.len().max(1));
        let column = (width / columns as f32).min(widest.max(width / columns as f32 * 0.6));
        Self { columns, column, height: entries.len().div_ceil(columns) as f32 * ROW }
    }

    pub(super) fn draw(&self, scene: &mut Scene, entries: &[Entry<'_>], left: f32, top: f32) {
        let room = self.column - SWATCH - GAP - 12.0;
        let labels = labels(&entries.iter().collect::<Vec<_>>(), room);
        for (index, (entry, label)) in entries.iter().zip(labels).enumerate() {
            let x = left + (index % self.columns) as f32 * self.column;
            let middle = top + (index / self.columns) as f32 * ROW + ROW / 2.0;
            swatch(scene, entry, x, middle);
            entry.words(scene, x + SWATCH + GAP, middle + SMALL * 0.36, room, &label);
        }
    }
}

fn swatch(scene: &mut Scene, entry: &Entry<'_>, x: f32, middle: f32) {
    let line = Path::line((x, middle), (x + SWATCH, middle));
    match entry.look {
        Some(look) => {
            if entry.band {
                let tint = look.color().with_opacity(super::line::BAND_OPACITY);
                scene.fill(Path::rect(x, middle - 5.5, SWATCH, 11.0), tint);
            }
            scene.stroke(line, look.stroke(2.2));
            look.marker(scene, (x + SWATCH / 2.0, middle), 3.6, None);
        }
        None => scene.stroke(line, Stroke::solid(background(), 1.4)),
    }
}

/// The end of a line, to be named there.
pub(super) struct End<'a> {
    pub(super) entry: Entry<'a>,
    pub(super) x: f32,
    pub(super) y: f32,
}

/// Distance between labels at the lines' ends.
pub(super) const APART: f32 = 17.0;
/// From the plot's edge to the words: a leader and a marker.
pub(super) const LEADER: f32 = 30.0;

/// Names the lines at their ends, right of `area`: labels are moved up and
/// down until none touches another, and a thin leader shows where each belongs.
pub(super) fn at_ends(scene: &mut Scene, area: Rect, ends: &[End<'_>]) {
    let wanted: Vec<f32> = ends.iter().map(|end| end.y).collect();
    let places = spread(&wanted, area.y, area.bottom(), APART);
    let x = area.right() + LEADER;
    let room = scene.width - EDGE * 0.5 - x;
    let labels = labels(&ends.iter().map(|end| &end.entry).collect::<Vec<_>>(), room);
    for ((end, y), label) in ends.iter().zip(places).zip(labels) {
        let Some(look) = end.entry.look else { continue };
        let marker = area.right() + LEADER - 11.0;
        let bend = area.right() + 5.0;
        let leader =
            Path::polyline([(end.x, end.y), (bend.max(end.x), end.y), (marker - 7.0, y), (marker, y)]);
        scene.stroke(leader, Stroke::solid(look.color().with_opacity(0.55), 1.0));
        look.marker(scene, (marker, y), 3.8, None);
        end.entry.words(scene, x, y + SMALL * 0.36, room, &label);
    }
}

/// Places near the wanted ones, at least `apart` from each other and, where
/// that is possible, between `low` and `high`. Their order stays.
fn spread(wanted: &[f32], low: f32, high: f32, apart: f32) -> Vec<f32> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    // Neighbours that would touch become one block around their common middle.
    let mut blocks: Vec<(f32, usize)> = Vec::new();
    for index in &order {
        let mut block = (wanted[*index].clamp(low.min(high), high.max(low)), 1usize);
        while let Some((middle, count)) = blocks.last().copied() {
            let reach = (count + block.1) as f32 * apart / 2.0;
            if block.0 - middle >= reach {
                break;
            }
            let total = count + block.1;
            block = ((middle * count as f32 + block.0 * block.1 as f32) / total as f32, total);
            blocks.pop();
        }
        let half = (block.1 - 1) as f32 * apart / 2.0;
        // Within the area; one that is too large begins at its top.
        block.0 = block.0.min(high - half).max(low + half);
        blocks.push(block);
    }
    // Keeping within the area may have pushed blocks into each other.
    let mut places = Vec::with_capacity(wanted.len());
    for (middle, count) in blocks {
        let first = middle - (count - 1) as f32 * apart / 2.0;
        places.extend((0..count).map(|index| first + index as f32 * apart));
    }
    for index in (0..places.len().saturating_sub(1)).rev() {
        places[index] = f32::min(places[index], places[index + 1] - apart);
    }
    if let Some(first) = places.first().copied().filter(|first| *first < low) {
        places.iter_mut().for_each(|place| *place += low - first);
    }
    let mut found = vec![0.0; wanted.len()];
    for (place, index) in places.into_iter().zip(order) {
        found[index] = place;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_spread_around_where_they_belong() {
        assert_eq!(spread(&[50.0, 20.0], 0.0, 100.0, 10.0), [50.0, 20.0]);
        assert_eq!(spread(&[50.0, 50.0], 0.0, 100.0, 10.0), [45.0, 55.0]);
        assert_eq!(spread(&[0.0, 0.0, 0.0], 0.0, 100.0, 10.0), [0.0, 10.0, 20.0]);
        assert_eq!(spread(&[100.0, 99.0, 40.0], 0.0, 100.0, 10.0), [100.0, 90.0, 40.0]);
        assert_eq!(spread(&[], 0.0, 100.0, 10.0), [0.0; 0]);
    }

    #[test]
    fn cut_labels_stay_different() {
        let cut = |labels: [&'static str; 2]| cut_apart(&labels.map(|label| (label, 90.0)));
        assert_eq!(cut(["short", "small"]), ["short", "small"]);
        let long = cut(["learning_rate=0.0010000", "learning_rate=0.0010001"]);
        assert!(long[0].starts_with("lear") && long[0].contains('…') && long[0] != long[1], "{long:?}");
        let middle =
            cut(["aaaaaaaaaaaaaaaaaaaa1aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaa2aaaaaaaaaaaaaaaaaaaa"]);
        assert_eq!((&middle[0][..2], &middle[1][..2]), ("1 ", "2 "));
        assert_eq!(cut(["the same", "the same"]), ["the same", "the same"]);
    }

    #[test]
    fn another_name_is_shown_where_there_is_room() {
        let legend = |width: f32| {
            let entries = [Entry {
                look: None,
                label: "rate=1",
                also: "a_long_name_001",
                detail: "n = 5",
                band: false,
            }];
            let mut scene = Scene::new(width, 100.0, Color::WHITE);
            Below::plan(&entries, width, 60.0).draw(&mut scene, &entries, 0.0, 0.0);
            scene.to_svg_element()
        };
        assert!(legend(600.0).contains("a_long_name_001"));
        assert!(!legend(140.0).contains("a_long") && legend(140.0).contains("rate=1"));
    }

    proptest::proptest! {
        #[test]
        fn labels_never_touch(wanted in proptest::collection::vec(-20.0..220.0f32, 0..12)) {
            let mut places = spread(&wanted, 0.0, 200.0, 16.0);
            places.sort_by(f32::total_cmp);
            proptest::prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 16.0 - 1e-2));
            proptest::prop_assert!(places.iter().all(|place| (-1e-2..=200.0 + 1e-2).contains(place)));
        }

        #[test]
        fn legends_keep_their_height(count in 1usize..16, label in "[a-z]{1,60}") {
            let entry = || Entry { look: None, label: &label, also: "", detail: "n = 5", band: false };
            let entries: Vec<Entry<'_>> = (0..count).map(|_| entry()).collect();
            let plan = Below::plan(&entries, 768.0, 100.0);
            proptest::prop_assert!(plan.height <= 100.0, "{}", plan.height);
            proptest::prop_assert!(plan.columns as f32 * plan.column <= 768.5);
        }
    }
}
