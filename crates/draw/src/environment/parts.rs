//! Parts that several pictures share: arrows, read-outs, a walker, a flag.

use rlxp_types::text::typeset;

use crate::color::Color;
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Scene, Stroke, Text};

use super::{CALM, HEIGHT, WIDTH};

/// The background of every physics picture.
pub(super) const PAPER: Color = Color::hex(0xf7_f8_fa);
/// Velocities.
pub(super) const MOTION: Color = Color::hex(0x00_72_b2);
/// Pushes and torques.
pub(super) const FORCE: Color = Color::hex(0xd5_5e_00);
pub(super) const GOAL: Color = Color::hex(0x00_9e_73);
/// Machines.
pub(super) const STEEL: Color = Color::hex(0x37_41_51);

/// An empty picture.
pub(super) fn canvas(background: Color, description: &str) -> Scene {
    let mut scene = Scene::new(WIDTH, HEIGHT, background);
    description.clone_into(&mut scene.description);
    scene
}

/// A length in pixels, bounded for every state.
pub(super) fn length(value: f64, per_unit: f64, most: f64) -> f32 {
    (value * per_unit).clamp(-most, most) as f32
}

/// A straight arrow. A short one is only a head, and one without length is not drawn.
pub(super) fn arrow(scene: &mut Scene, from: (f32, f32), to: (f32, f32), width: f32, color: Color) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let along = dx.hypot(dy);
    if along.is_nan() || along < 0.05 {
        return;
    }
    let head = (width * 2.6).min(along);
    let (half, wing) = (width / 2.0, (width * 1.6).min(along));
    let shaft = along - head;
    let path = Path::polygon([
        (0.0, -half),
        (shaft, -half),
        (shaft, -wing),
        (along, 0.0),
        (shaft, wing),
        (shaft, half),
        (0.0, half),
    ]);
    scene.fill(path.placed(from.0, from.1, dy.atan2(dx)), color);
}

/// A bent arrow around a centre, from `start` by `sweep` radians, clockwise as
/// seen on the screen when positive.
pub(super) fn turn(
    scene: &mut Scene,
    center: (f32, f32),
    radius: f32,
    start: f32,
    sweep: f32,
    width: f32,
    color: Color,
) {
    if sweep.is_nan() || sweep.abs() * radius < 0.05 {
        return;
    }
    let head = (width * 2.6 / radius).min(sweep.abs()) * sweep.signum();
    let neck = start + sweep - head;
    scene.stroke(arc(center, radius, start, neck), Stroke::solid(color, width));
    let at = |angle: f32, radius: f32| (center.0 + radius * angle.cos(), center.1 + radius * angle.sin());
    let wing = (width * 1.6).min(head.abs() * radius);
    scene.fill(
        Path::polygon([at(neck, radius - wing), at(neck, radius + wing), at(start + sweep, radius)]),
        color,
    );
}

/// Part of a circle, smooth at the size of these pictures.
pub(super) fn arc(center: (f32, f32), radius: f32, from: f32, to: f32) -> Path {
    let pieces = ((to - from).abs() / 0.05).ceil().max(1.0) as usize;
    Path::polyline((0..=pieces).map(|piece| {
        let angle = from + (to - from) * piece as f32 / pieces as f32;
        (center.0 + radius * angle.cos(), center.1 + radius * angle.sin())
    }))
}

/// A row of names and numbers at the bottom.
pub(super) fn readout(scene: &mut Scene, values: &[(&str, String)]) {
    let step = (WIDTH - 40.0) / values.len() as f32;
    for (index, (name, value)) in values.iter().enumerate() {
        let x = 20.0 + step * (index as f32 + 0.5);
        scene.text(Text::new(x, HEIGHT - 24.0, *name, 11.0, Color::MUTED).anchored(Anchor::Middle));
        scene.text(Text::new(x, HEIGHT - 9.0, value, 13.0, Color::INK).anchored(Anchor::Middle));
    }
}

/// A number with its sign and this many decimals.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    let is_zero = text.chars().all(|c| !c.is_ascii_digit() || c == '0') && value.is_finite();
    if is_zero { format!("{:.decimals$}", 0.0) } else { typeset(&text) }
}

/// A heading in the empty strip.
pub(super) fn heading(scene: &mut Scene, words: &str, color: Color) {
    scene.text(Text::new(20.0, CALM - 13.0, words, 14.0, color).bold());
}

/// A small person with feet at (x, y).
pub(super) fn walker(scene: &mut Scene, x: f32, y: f32, height: f32, coat: Color) {
    let unit = height / 10.0;
    let dark = coat.mix(Color::BLACK, 0.3);
    for side in [-1.0, 1.0] {
        let foot = (x + side * 1.4 * unit, y - 0.7 * unit);
        scene.fill(Path::capsule((x + side * 1.1 * unit, y - 3.0 * unit), foot, 1.5 * unit), STEEL);
        let hand = (x + side * 3.1 * unit, y - 3.6 * unit);
        scene.fill(Path::capsule((x + side * 1.7 * unit, y - 5.6 * unit), hand, 1.2 * unit), dark);
    }
    scene.fill(Path::rounded_rect(x - 2.2 * unit, y - 6.6 * unit, 4.4 * unit, 4.6 * unit, 1.8 * unit), coat);
    let head = (x, y - 8.0 * unit);
    let outline = Stroke::solid(STEEL, 0.3 * unit);
    scene.shape(Path::circle(head.0, head.1, 2.0 * unit), Some(Color::hex(0xf6_d7_b8)), Some(outline), None);
    // A cap, so that the head isn't a bare disc.
    let mut cap = arc((head.0, head.1 - 0.3 * unit), 2.1 * unit, std::f32::consts::PI, std::f32::consts::TAU);
    cap.segments.push(Segment::Close);
    scene.fill(cap, STEEL);
    scene.fill(Path::circle(head.0, head.1 - 2.4 * unit, 0.6 * unit), coat);
    for side in [-1.0, 1.0] {
        scene.fill(Path::circle(head.0 + side * 0.75 * unit, head.1 + 0.55 * unit, 0.32 * unit), Color::INK);
    }
}

/// A flag with its pole at (x, y).
pub(super) fn flag(scene: &mut Scene, x: f32, y: f32, height: f32, color: Color) {
    let top = y - height;
    let cloth = height * 0.42;
    let wave = Path {
        segments: vec![
            Segment::Move(x, top),
            Segment::Quad(x + cloth * 0.5, top - cloth * 0.18, x + cloth * 0.8, top + cloth * 0.1),
            Segment::Quad(x + cloth * 1.1, top + cloth * 0.3, x + cloth * 1.5, top + cloth * 0.12),
            Segment::Line(x + cloth * 1.3, top + cloth * 0.52),
            Segment::Line(x + cloth * 1.5, top + cloth),
            Segment::Quad(x + cloth * 1.0, top + cloth * 1.15, x + cloth * 0.7, top + cloth * 0.9),
            Segment::Quad(x + cloth * 0.4, top + cloth * 0.75, x, top + cloth * 0.95),
            Segment::Close,
        ],
    };
    scene.fill(wave, color);
    scene.stroke(Path::line((x, y), (x, top)), Stroke::solid(STEEL, (height * 0.06).max(1.0)));
    scene.fill(Path::circle(x, top - height * 0.03, height * 0.06), STEEL);
}

/// The direction of a move in a grid, as a step right and a step down.
pub(super) fn nudge(scene: &mut Scene, center: (f32, f32), tile: f32, (right, down): (f32, f32)) {
    let at = |part: f32| (center.0 + right * tile * part, center.1 + down * tile * part);
    arrow(scene, at(0.36), at(0.66), tile * 0.085, Color::WHITE);
    arrow(scene, at(0.38), at(0.64), tile * 0.06, FORCE);
}
