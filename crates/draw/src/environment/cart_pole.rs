//! A cart on a rail that balances a pole.

use rlxp_env::classic::cart_pole::{ANGLE_LIMIT, POSITION_LIMIT};

use crate::color::Color;
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Scene, Stroke, Text};

use super::WIDTH;
use super::parts::{FORCE, MOTION, PAPER, STEEL, arc, arrow, canvas, length, readout, signed, turn};

/// Pixels per unit of the track.
const UNIT: f64 = 104.0;
const RAIL: f32 = 300.0;
const CART: (f32, f32) = (92.0, 42.0);
const WHEEL: f32 = 12.0;
/// Longer than the physics has it, so that a small lean is seen.
const POLE: f32 = 182.0;

pub(super) fn scene(
    position: f64,
    velocity: f64,
    angle: f64,
    angular_velocity: f64,
    push: Option<usize>,
) -> Scene {
    let mut scene = canvas(PAPER, "A cart on a rail that balances a pole");
    let x = |at: f64| WIDTH / 2.0 + (at * UNIT) as f32;
    track(&mut scene, &x);

    let middle = x(position);
    let axle = RAIL - WHEEL;
    let pivot = (middle, axle - CART.1 + 4.0);
    // What the pole may lean before it counts as fallen.
    let up = -std::f32::consts::FRAC_PI_2;
    let limit = ANGLE_LIMIT as f32;
    let mut wedge = arc(pivot, POLE + 8.0, up - limit, up + limit);
    wedge.segments.push(Segment::Line(pivot.0, pivot.1));
    wedge.segments.push(Segment::Close);
    scene.fill(wedge, Color::hex(0xe3_ec_f4));
    for side in [-1.0, 1.0] {
        let (sin, cos) = (limit * side).sin_cos();
        let end = (pivot.0 + sin * (POLE + 8.0), pivot.1 - cos * (POLE + 8.0));
        scene.stroke(Path::line(pivot, end), Stroke::dashed(Color::hex(0x9a_a8_b8), 1.2, &[5.0, 5.0]));
    }

    cart(&mut scene, middle, axle, position);
    let (sin, cos) = (angle as f32).sin_cos();
    let tip = (pivot.0 + sin * POLE, pivot.1 - cos * POLE);
    scene.fill(Path::capsule(pivot, tip, 13.0), Color::hex(0x8a_5a_2b));
    scene.fill(Path::capsule(pivot, tip, 9.0), Color::hex(0xc9_8f_4e));
    scene.fill(Path::circle(pivot.0, pivot.1, 8.5), STEEL);
    scene.fill(Path::circle(pivot.0, pivot.1, 3.5), Color::WHITE);

    let sweep = length(angular_velocity, 0.16, 2.0);
    turn(&mut scene, pivot, POLE + 16.0, up + angle as f32, sweep, 4.0, MOTION);
    let below = RAIL + 26.0;
    arrow(&mut scene, (middle, below), (middle + length(velocity, 60.0, 260.0), below), 5.0, MOTION);
    if let Some(push) = push {
        let side = if push == 0 { 1.0 } else { -1.0 };
        let near = middle + side * (CART.0 / 2.0 + 4.0);
        let height = axle - CART.1 / 2.0;
        arrow(&mut scene, (near + side * 38.0, height), (near, height), 9.0, FORCE);
    }
    readout(
        &mut scene,
        &[
            ("cart position", signed(position, 2)),
            ("cart velocity", signed(velocity, 2)),
            ("pole angle", format!("{}°", signed(angle.to_degrees(), 1))),
            ("pole angular velocity", signed(angular_velocity, 2)),
        ],
    );
    scene
}

/// The rail with its ends, beyond which the cart is lost.
fn track(scene: &mut Scene, x: &impl Fn(f64) -> f32) {
    scene.fill(Path::rect(0.0, RAIL, WIDTH, 400.0 - RAIL), Color::hex(0xee_f0_f3));
    let (left, right) = (x(-POSITION_LIMIT), x(POSITION_LIMIT));
    scene.fill(Path::rounded_rect(left - 8.0, RAIL, right - left + 16.0, 8.0, 4.0), Color::hex(0x9a_a3_af));
    for mark in -2..=2 {
        let at = x(f64::from(mark));
        scene.stroke(
            Path::line((at, RAIL + 9.0), (at, RAIL + 15.0)),
            Stroke::solid(Color::hex(0x9a_a3_af), 1.5),
        );
        let words = if mark < 0 { format!("−{}", -mark) } else { mark.to_string() };
        let label = Text::new(at, RAIL + 50.0, words, 11.0, Color::MUTED);
        scene.text(label.anchored(Anchor::Middle));
    }
    for (end, side) in [(left, -1.0), (right, 1.0)] {
        let outer = end + side * 10.0;
        let edge = end.min(outer);
        scene.fill(Path::rounded_rect(edge, RAIL - 30.0, 10.0, 38.0, 2.0), Color::hex(0xe6_9f_00));
        for stripe in 0..3 {
            let top = RAIL - 26.0 + stripe as f32 * 12.0;
            let band =
                [(edge, top + 5.0), (edge + 10.0, top - 1.0), (edge + 10.0, top + 4.0), (edge, top + 10.0)];
            scene.fill(Path::polygon(band), STEEL);
        }
    }
}

fn cart(scene: &mut Scene, middle: f32, axle: f32, position: f64) {
    let left = middle - CART.0 / 2.0;
    let top = axle - CART.1;
    scene.fill(Path::rounded_rect(left, top + 2.0, CART.0, CART.1 - 2.0, 8.0), STEEL);
    scene.fill(Path::rounded_rect(left + 5.0, top + 7.0, CART.0 - 10.0, 12.0, 5.0), Color::hex(0x5b_67_79));
    let turned = (position * UNIT) as f32 / WHEEL;
    for side in [-1.0, 1.0] {
        let wheel = (middle + side * 27.0, axle);
        scene.fill(Path::circle(wheel.0, wheel.1, WHEEL), Color::hex(0x11_18_27));
        scene.fill(Path::circle(wheel.0, wheel.1, WHEEL - 4.0), Color::hex(0xd1_d5_db));
        for spoke in 0..3 {
            let (sin, cos) = (turned + spoke as f32 * std::f32::consts::PI / 3.0).sin_cos();
            let reach = WHEEL - 4.0;
            let line = Path::line(
                (wheel.0 - cos * reach, wheel.1 - sin * reach),
                (wheel.0 + cos * reach, wheel.1 + sin * reach),
            );
            scene.stroke(line, Stroke::solid(STEEL, 1.6));
        }
    }
}
