//! An environment without its own picture: its observation as labelled bars.

use rlxp_types::text::typeset;

use crate::color::Color;
use crate::font;
use crate::path::Path;
use crate::scene::{Anchor, Scene, Stroke, Text};

use super::parts::{FORCE, MOTION, PAPER, canvas};
use super::{CALM, HEIGHT, Look, WIDTH};

/// More numbers than this don't each get a line.
const LINES: usize = 12;
/// Most lines for the action.
const ACTION_LINES: usize = 6;
/// Height of a heading.
const HEADING: f32 = 30.0;
const MIDDLE: f32 = 350.0;
const HALF: f32 = 150.0;

pub(super) fn scene(row: &[f32], look: &Look<'_>) -> Scene {
    let mut scene = canvas(PAPER, "The observation and the action as bars");
    let action = look.action.unwrap_or_default();
    let action = &action[..action.len().min(ACTION_LINES)];
    let headings = if action.is_empty() { 1.0 } else { 2.0 };
    let lines = row.len().clamp(1, LINES) + action.len();
    let room = HEIGHT - CALM - 12.0 - HEADING * headings;
    let step = (room / lines as f32).min(64.0);
    let mut y = CALM + (room - step * lines as f32) / 2.0;

    heading(&mut scene, &mut y, "observation");
    if row.len() <= LINES {
        for (index, value) in row.iter().enumerate() {
            bar(&mut scene, y, step, &named(look.observation_names, index, "number"), *value, MOTION);
            y += step;
        }
    } else {
        let height = step * LINES as f32;
        columns(&mut scene, row, y, y + height);
        y += height;
    }
    if !action.is_empty() {
        heading(&mut scene, &mut y, "action");
    }
    for (index, value) in action.iter().enumerate() {
        // One number with several names is a choice among them.
        let is_choice = action.len() == 1 && look.action_names.len() > 1;
        let name = if is_choice { *value as usize } else { index };
        bar(&mut scene, y, step, &named(look.action_names, name, "number"), *value, FORCE);
        y += step;
    }
    scene
}

fn named(names: &[&str], index: usize, otherwise: &str) -> String {
    names.get(index).map_or_else(|| format!("{otherwise} {index}"), |name| (*name).to_owned())
}

fn heading(scene: &mut Scene, y: &mut f32, words: &str) {
    scene.text(Text::new(20.0, *y + HEADING - 10.0, words, 15.0, Color::INK).bold());
    *y += HEADING;
}

/// How far a number reaches: ±1 is half of the way, and none goes beyond the end.
fn reach(value: f32) -> f32 {
    if value.is_infinite() { value.signum() } else { value / (1.0 + value.abs()) }
}

fn bar(scene: &mut Scene, top: f32, height: f32, name: &str, value: f32, color: Color) {
    let (y, thick) = (top + height / 2.0, height * 0.5);
    let track = Path::rounded_rect(MIDDLE - HALF, y - thick / 2.0, 2.0 * HALF, thick, 4.0);
    scene.fill(track, Color::hex(0xe5_e9_ee));
    for unit in [-0.5, 0.5] {
        let x = MIDDLE + unit * HALF;
        let mark = Path::line((x, y - thick / 2.0), (x, y + thick / 2.0));
        scene.stroke(mark, Stroke::solid(Color::WHITE, 1.5));
    }
    let length = reach(value) * HALF;
    if length.is_finite() {
        let from = MIDDLE.min(MIDDLE + length);
        scene.fill(Path::rect(from, y - thick * 0.36, length.abs(), thick * 0.72), color);
    }
    let zero = Path::line((MIDDLE, y - thick / 2.0 - 3.0), (MIDDLE, y + thick / 2.0 + 3.0));
    scene.stroke(zero, Stroke::solid(Color::INK, 1.5));
    let fitted = font::fitted(name, MIDDLE - HALF - 32.0, 14.0, false);
    scene.text(Text::new(20.0, y + 5.0, fitted, 14.0, Color::INK));
    // Long numbers would run into their bar.
    let words =
        if value.is_finite() && value.abs() >= 1e5 { format!("{value:.2e}") } else { format!("{value:.3}") };
    let words = typeset(&words);
    scene.text(Text::new(WIDTH - 20.0, y + 5.0, words, 14.0, Color::INK).anchored(Anchor::End));
}

/// Many numbers: an upright bar each.
fn columns(scene: &mut Scene, row: &[f32], top: f32, bottom: f32) {
    let (zero, half) = ((top + bottom) / 2.0, (bottom - top) / 2.0);
    let step = (WIDTH - 40.0) / row.len() as f32;
    scene.fill(Path::rect(20.0, top, WIDTH - 40.0, bottom - top), Color::hex(0xe5_e9_ee));
    for (index, value) in row.iter().enumerate() {
        let length = reach(*value) * half;
        if length.is_finite() {
            let x = 20.0 + step * index as f32;
            scene.fill(Path::rect(x, zero.min(zero - length), step * 0.85, length.abs()), MOTION);
        }
    }
    scene.stroke(Path::line((20.0, zero), (WIDTH - 20.0, zero)), Stroke::solid(Color::INK, 1.5));
}
