//! Two links that hang from a joint; the tip has to swing above a line.

use crate::color::Color;
use crate::path::Path;
use crate::scene::{Anchor, Scene, Stroke, Text};

use super::parts::{FORCE, GOAL, MOTION, PAPER, STEEL, canvas, length, readout, signed, turn};
use super::{HEIGHT, WIDTH};

const JOINT: (f32, f32) = (300.0, 205.0);
const LINK: f32 = 76.0;
/// The screen's angle of a link that hangs.
const DOWN: f32 = std::f32::consts::FRAC_PI_2;

pub(super) fn scene(angles: [f64; 2], velocities: [f64; 2], torque: Option<usize>) -> Scene {
    let mut scene = canvas(PAPER, "Two links hanging from a joint, and the line to swing above");
    let line = JOINT.1 - LINK;
    scene.fill(Path::rect(0.0, 0.0, WIDTH, line), Color::hex(0xe9_f5_f0));
    scene.stroke(Path::line((0.0, line), (WIDTH, line)), Stroke::dashed(GOAL, 2.0, &[9.0, 6.0]));
    let goal = Text::new(WIDTH - 16.0, line - 8.0, "goal: the tip above this line", 12.0, GOAL);
    scene.text(goal.anchored(Anchor::End).bold());

    // The stand stays pale, since links swing in front of it.
    let foot = HEIGHT - 42.0;
    scene.fill(
        Path::polygon([
            (JOINT.0 - 8.0, JOINT.1),
            (JOINT.0 + 8.0, JOINT.1),
            (JOINT.0 + 34.0, foot),
            (JOINT.0 - 34.0, foot),
        ]),
        Color::hex(0xe6_ea_ef),
    );
    scene.fill(Path::rect(0.0, foot, WIDTH, 2.0), Color::hex(0xcf_d5_dd));
    let first = DOWN - angles[0] as f32;
    let second = first - angles[1] as f32;
    let reach = |from: (f32, f32), angle: f32| (from.0 + LINK * angle.cos(), from.1 + LINK * angle.sin());
    let elbow = reach(JOINT, first);
    let tip = reach(elbow, second);
    for (from, to, rim, fill) in
        [(JOINT, elbow, 0x00_4a_73, 0x2f_8f_c6), (elbow, tip, 0x7a_5a_00, 0xe6_b4_3c)]
    {
        scene.fill(Path::capsule(from, to, 22.0), Color::hex(rim));
        scene.fill(Path::capsule(from, to, 17.0), Color::hex(fill));
    }
    for joint in [JOINT, elbow] {
        scene.fill(Path::circle(joint.0, joint.1, 8.0), STEEL);
        scene.fill(Path::circle(joint.0, joint.1, 3.0), Color::WHITE);
    }
    scene.fill(Path::circle(tip.0, tip.1, 4.5), Color::WHITE);
    scene.stroke(Path::circle(tip.0, tip.1, 4.5), Stroke::solid(STEEL, 1.5));

    for (joint, angle, velocity) in [(JOINT, first, velocities[0]), (elbow, second, velocities[1])] {
        // From the side of the link outwards.
        let side = -0.28 * velocity.signum() as f32;
        turn(&mut scene, joint, LINK * 0.66, angle + side, length(-velocity, 0.14, 2.2), 4.5, MOTION);
    }
    if let Some(torque) = torque {
        let sweep = 1.5 * (1.0 - torque as f32);
        turn(&mut scene, elbow, 22.0, second + 2.6, sweep, 6.0, FORCE);
    }
    readout(
        &mut scene,
        &[
            ("angle 1", format!("{}°", signed(angles[0].to_degrees(), 1))),
            ("angle 2", format!("{}°", signed(angles[1].to_degrees(), 1))),
            ("angular velocity 1", signed(velocities[0], 2)),
            ("angular velocity 2", signed(velocities[1], 2)),
        ],
    );
    scene
}
