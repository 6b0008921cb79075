//! A pole that rotates around a fixed end and should be kept upright.

use crate::color::Color;
use crate::path::Path;
use crate::scene::{Anchor, Scene, Stroke, Text};

use super::parts::{FORCE, GOAL, MOTION, PAPER, STEEL, canvas, length, readout, signed, turn};

const CENTER: (f32, f32) = (300.0, 202.0);
const ROD: f32 = 122.0;
const UP: f32 = -std::f32::consts::FRAC_PI_2;

pub(super) fn scene(angle: f64, angular_velocity: f64, torque: Option<f64>) -> Scene {
    let mut scene = canvas(PAPER, "A pole rotating around a fixed end");
    dial(&mut scene);
    // Angles of the environment grow counter-clockwise, those of the screen clockwise.
    let at = UP - angle as f32;
    let tip = (CENTER.0 + ROD * at.cos(), CENTER.1 + ROD * at.sin());
    scene.fill(Path::capsule(CENTER, tip, 26.0), Color::hex(0x8f_2d_2d));
    scene.fill(Path::capsule(CENTER, tip, 20.0), Color::hex(0xc9_4f_4f));
    scene.fill(Path::circle(CENTER.0, CENTER.1, 9.0), STEEL);
    scene.fill(Path::circle(CENTER.0, CENTER.1, 3.5), Color::WHITE);
    turn(&mut scene, CENTER, ROD + 27.0, at, length(-angular_velocity, 0.2, 1.7), 5.0, MOTION);
    if let Some(torque) = torque {
        turn(&mut scene, CENTER, 38.0, at + 3.1, length(-torque, 1.1, 2.6), 8.0, FORCE);
    }
    let mut values = vec![
        ("angle", format!("{}°", signed(angle.to_degrees(), 1))),
        ("angular velocity", signed(angular_velocity, 2)),
    ];
    values.extend(torque.map(|torque| ("torque", signed(torque, 2))));
    readout(&mut scene, &values);
    scene
}

fn dial(scene: &mut Scene) {
    let ring = Stroke::solid(Color::hex(0xd5_da_e1), 2.0);
    scene.shape(Path::circle(CENTER.0, CENTER.1, ROD + 14.0), Some(Color::WHITE), Some(ring), None);
    for mark in 0..24 {
        let (sin, cos) = (mark as f32 * std::f32::consts::TAU / 24.0).sin_cos();
        let reach = if mark % 6 == 0 { 12.0 } else { 6.0 };
        let (outer, inner) = (ROD + 14.0, ROD + 14.0 - reach);
        let line = Path::line(
            (CENTER.0 + cos * inner, CENTER.1 + sin * inner),
            (CENTER.0 + cos * outer, CENTER.1 + sin * outer),
        );
        scene.stroke(line, Stroke::solid(Color::hex(0xb6_be_c9), 1.5));
    }
    let top = CENTER.1 - ROD - 14.0;
    scene.fill(
        Path::polygon([(CENTER.0 - 9.0, top - 14.0), (CENTER.0 + 9.0, top - 14.0), (CENTER.0, top + 1.0)]),
        GOAL,
    );
    scene.text(Text::new(CENTER.0 + 15.0, top - 3.0, "goal", 12.0, GOAL).anchored(Anchor::Start).bold());
}
