//! What every chart has around its data: title, caption, notes, grid and axis.

use crate::chart::Reference;
use crate::chart::axis::{Axis, Tick};
use crate::color::Color;
use crate::font::{fitted, text_width};
use crate::path::Path;
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};

/// Distance of everything from the picture's edge.
pub(super) const EDGE: f32 = 16.0;
pub(super) const TITLE: f32 = 16.0;
/// Size of captions, labels and legends.
pub(super) const SMALL: f32 = 11.5;
/// Size of tick labels.
pub(super) const TINY: f32 = 11.0;
const NOTE: f32 = 10.0;
const NOTE_LINE: f32 = 13.5;
const CAPTION_LINE: f32 = 15.5;

/// Smallest picture in which anything can be read.
pub(super) fn sides(width: f32, height: f32) -> (f32, f32) {
    let side = |length: f32, least: f32, default: f32| {
        if length.is_finite() { length.max(least) } else { default }
    };
    (side(width, 160.0, 800.0), side(height, 120.0, 500.0))
}

/// A scene with title and caption; gives the y below them.
pub(super) fn header(width: f32, height: f32, title: &str, caption: &str) -> (Scene, f32) {
    let mut scene = Scene::new(width, height, Color::WHITE);
    let room = width - 2.0 * EDGE;
    let mut y = EDGE * 0.6;
    if !title.is_empty() {
        y += TITLE;
        scene.text(Text::new(EDGE, y, fitted(title, room, TITLE, true), TITLE, Color::INK).bold());
        y += 4.0;
    }
    for line in wrapped(caption, room, SMALL, most_lines(height, CAPTION_LINE, 0.16)) {
        y += CAPTION_LINE;
        scene.text(Text::new(EDGE, y, line, SMALL, Color::MUTED));
    }
    (scene, y + 18.0)
}

/// A scene with title, caption and notes, and the y below and above them. It is as high as asked for, or higher where
/// less than `least` would remain between them.
pub(super) fn framed(
    (width, height): (f32, f32),
    (title, caption): (&str, &str),
    notes: &[String],
    least: f32,
) -> (Scene, f32, f32) {
    let (width, mut height) = sides(width, height);
    loop {
        let (mut scene, top) = header(width, height, title, caption);
        let bottom = footer(&mut scene, notes);
        if bottom - top >= least {
            return (scene, top, bottom);
        }
        // A higher picture has room for more lines of notes, so that this may need a few rounds.
        height += (least - (bottom - top)).max(1.0);
    }
}

/// How many lines fit into this part of the height.
fn most_lines(height: f32, line: f32, part: f32) -> usize {
    ((height * part / line) as usize).max(1)
}

/// Lines of notes at the bottom; gives the y above them. What doesn't fit is
/// counted.
pub(super) fn footer(scene: &mut Scene, notes: &[String]) -> f32 {
    let room = scene.width - 2.0 * EDGE;
    let most = most_lines(scene.height, NOTE_LINE, 0.2);
    let mut lines: Vec<String> = Vec::new();
    let mut shown = 0;
    for note in notes {
        let wrapped = wrapped(note, room, NOTE, 3);
        // The last line is kept for what is left out.
        if lines.len() + wrapped.len() > most - usize::from(shown + 1 < notes.len()).min(most - 1) {
            break;
        }
        lines.extend(wrapped);
        shown += 1;
    }
    match notes.len() - shown {
        0 => {}
        1 => lines.push("1 more note is not shown here.".to_owned()),
        more => lines.push(format!("{more} more notes are not shown here.")),
    }
    let top = scene.height - EDGE * 0.7 - lines.len() as f32 * NOTE_LINE;
    for (index, line) in lines.into_iter().enumerate() {
        let y = top + (index + 1) as f32 * NOTE_LINE - 2.5;
        scene.text(Text::new(EDGE, y, fitted(&line, room, NOTE, false), NOTE, Color::MUTED));
    }
    top - 4.0
}

/// `words` wrapped to `width`, in at most `most` lines.
pub(super) fn wrapped(words: &str, width: f32, size: f32, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = words.split_whitespace().peekable();
    while rest.peek().is_some() {
        let mut line = String::new();
        let last = lines.len() + 1 == most;
        while let Some(word) = rest.peek() {
            let longer = if line.is_empty() { (*word).to_owned() } else { format!("{line} {word}") };
            if !last && !line.is_empty() && text_width(&longer, size, false) > width {
                break;
            }
            line = longer;
            rest.next();
        }
        lines.push(fitted(&line, width, size, false));
    }
    lines
}

/// The widest label of an axis.
pub(super) fn widest(ticks: &[Tick]) -> f32 {
    ticks.iter().map(|tick| text_width(&tick.label, TINY, false)).fold(0.0, f32::max)
}

/// Level grid lines with their numbers to the left of `area`, and the label
/// upright beside them.
pub(super) fn left_axis(scene: &mut Scene, area: Rect, axis: &Axis, label: &str) {
    for tick in &axis.ticks {
        let y = area.bottom() - axis.part(tick.value) as f32 * area.height;
        let line = Path::line((area.x, y), (area.right(), y));
        scene.stroke(line, Stroke::solid(Color::GRID, 1.0));
        let text = Text::new(area.x - 8.0, y + TINY * 0.36, &tick.label, TINY, Color::MUTED);
        scene.text(text.anchored(Anchor::End));
    }
    let middle = area.y + area.height / 2.0;
    let words = fitted(label, area.height.max(60.0), SMALL, false);
    let text = Text::new(EDGE + SMALL * 0.8, middle, words, SMALL, Color::INK);
    scene.text(text.anchored(Anchor::Middle).rotated(-90.0));
}

/// The axis below `area`: a line, ticks, numbers that don't touch, a label.
pub(super) fn bottom_axis(scene: &mut Scene, area: Rect, axis: &Axis, label: &str, grid: bool) {
    let base = area.bottom();
    let every = spacing(axis, area.width);
    for tick in axis.ticks.iter().step_by(every) {
        let x = area.x + axis.part(tick.value) as f32 * area.width;
        if grid {
            scene.stroke(Path::line((x, area.y), (x, base)), Stroke::solid(Color::GRID, 1.0));
        }
        scene.stroke(Path::line((x, base), (x, base + 4.0)), Stroke::solid(Color::MUTED, 1.0));
        // The last number of a full axis must not be cut by the picture's edge.
        let half = text_width(&tick.label, TINY, false) / 2.0;
        let middle = x.min(scene.width - half - 3.0);
        let text = Text::new(middle, base + 17.0, &tick.label, TINY, Color::MUTED);
        scene.text(text.anchored(Anchor::Middle));
    }
    scene.stroke(Path::line((area.x, base), (area.right(), base)), Stroke::solid(Color::MUTED, 1.0));
    let words = fitted(label, area.width, SMALL, false);
    let text = Text::new(area.x + area.width / 2.0, base + 35.0, words, SMALL, Color::INK);
    scene.text(text.anchored(Anchor::Middle));
}

/// Every how manyth tick has room for its number.
fn spacing(axis: &Axis, width: f32) -> usize {
    let Some((first, second)) = axis.ticks.first().zip(axis.ticks.get(1)) else { return 1 };
    let apart = (axis.part(second.value) - axis.part(first.value)) as f32 * width;
    (((widest(&axis.ticks) + 10.0) / apart.max(1.0)).ceil() as usize).max(1)
}

/// Space that [`bottom_axis`] takes below its area.
pub(super) const BOTTOM: f32 = 40.0;

/// The range that holds `low` to `high` and the references that belong there.
pub(super) fn with_references(low: f64, high: f64, references: &[Reference]) -> (f64, f64) {
    let near = 0.15 * (high - low);
    let shown = |reference: &&Reference| {
        let value = reference.value;
        value.is_finite() && (reference.pinned || (low - near..=high + near).contains(&value))
    };
    references
        .iter()
        .filter(shown)
        .fold((low, high), |(low, high), reference| (low.min(reference.value), high.max(reference.value)))
}

/// Whether an axis shows a reference.
pub(super) fn shows(axis: &Axis, reference: &Reference) -> bool {
    (-1e-6..=1.0 + 1e-6).contains(&axis.part(reference.value))
}

/// A place behind words that keeps lines from running through them.
pub(super) fn ground(scene: &mut Scene, x: f32, baseline: f32, words: &str, size: f32) {
    let width = text_width(words, size, false);
    let path = Path::rounded_rect(x - 3.0, baseline - size * 0.95, width + 6.0, size * 1.3, 2.0);
    scene.fill(path, Color::WHITE.with_opacity(0.8));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Item;

    #[test]
    fn texts_are_wrapped_and_the_last_line_is_cut() {
        let lines = wrapped("one two three four five six seven", 60.0, 10.0, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].ends_with('…'), "{lines:?}");
        assert!(lines.iter().all(|line| text_width(line, 10.0, false) <= 60.0));
        assert_eq!(wrapped("", 60.0, 10.0, 3), Vec::<String>::new());
        assert_eq!(wrapped("ab cd", 600.0, 10.0, 3), ["ab cd"]);
    }

    #[test]
    fn notes_that_do_not_fit_are_counted() {
        let shown = |count: usize| {
            let mut scene = Scene::new(300.0, 200.0, Color::WHITE);
            footer(&mut scene, &vec!["a note".to_owned(); count]);
            let words = scene.items.into_iter().map(|item| match item {
                Item::Text(text) => text.words,
                Item::Shape { .. } | Item::Image { .. } => String::new(),
            });
            words.collect::<Vec<_>>()
        };
        assert_eq!(shown(0), Vec::<String>::new());
        assert_eq!(shown(2), ["a note", "a note"]);
        assert_eq!(shown(9), ["a note", "8 more notes are not shown here."]);
    }
}
