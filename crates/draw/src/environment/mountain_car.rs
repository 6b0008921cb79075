//! A car in a valley, too weak to drive straight up to its flag.

use crate::color::Color;
use crate::path::{Path, Segment};
use crate::scene::{Scene, Stroke};

use super::parts::{FORCE, GOAL, MOTION, STEEL, arrow, canvas, flag, length, readout, signed};
use super::{HEIGHT, WIDTH};

/// Where the ground begins and ends.
const GROUND: (f64, f64) = (-1.2, 0.6);
const LEFT: f64 = 18.0;
const ACROSS: f64 = (WIDTH as f64 - 2.0 * LEFT) / (GROUND.1 - GROUND.0);
/// Pixels per unit of sin(3 · position).
const RISE: f64 = 118.0;
const LEVEL: f64 = 214.0;
const WHEEL: f32 = 7.0;

fn x(position: f64) -> f32 {
    (LEFT + (position - GROUND.0) * ACROSS) as f32
}

fn y(position: f64) -> f32 {
    (LEVEL - (3.0 * position).sin() * RISE) as f32
}

pub(super) fn scene(
    position: f64,
    velocity: f64,
    goal_position: f64,
    continuous: bool,
    push: Option<f64>,
) -> Scene {
    let mut scene = canvas(Color::hex(0xe8_f1_f8), "A car in a valley with a flag on the hill");
    land(&mut scene);
    flag(&mut scene, x(goal_position), y(goal_position), 52.0, GOAL);
    car(&mut scene, position, velocity, push);
    let mut values = vec![
        ("car position", signed(position, 3)),
        ("car velocity", signed(velocity, 4)),
        ("goal from", signed(goal_position, 2)),
        ("pushes", if continuous { "of any strength" } else { "left, none, right" }.to_owned()),
    ];
    if continuous {
        values.extend(push.map(|push| ("force", signed(push, 2))));
    }
    readout(&mut scene, &values);
    scene
}

fn land(scene: &mut Scene) {
    scene.fill(Path::circle(92.0, 92.0, 26.0), Color::hex(0xfb_e3_a3));
    let hill = |lift: f32| {
        let points = (0..=90).map(|part| {
            let position = GROUND.0 + (GROUND.1 - GROUND.0) * f64::from(part) / 90.0;
            (x(position), y(position) + lift)
        });
        let start = (-4.0, y(GROUND.0) + lift);
        let end = (WIDTH + 4.0, y(GROUND.1) + lift);
        let corners = [(WIDTH + 4.0, HEIGHT + 4.0), (-4.0, HEIGHT + 4.0)];
        Path::polygon([start].into_iter().chain(points).chain([end]).chain(corners))
    };
    scene.fill(hill(0.0), Color::hex(0x5d_8f_57));
    scene.fill(hill(7.0), Color::hex(0x8d_b5_7f));
    scene.fill(hill(30.0), Color::hex(0xa9_c9_9b));
    // The read-out has its own background.
    scene.fill(Path::rect(0.0, HEIGHT - 42.0, WIDTH, 42.0), Color::hex(0xf2_f6_ef));
    // The valley is closed on the left.
    scene.fill(Path::rect(0.0, y(GROUND.0) - 44.0, 9.0, 48.0), Color::hex(0x8a_8f_98));
    for row in 1..4 {
        let at = y(GROUND.0) - 44.0 + row as f32 * 12.0;
        scene.stroke(Path::line((0.0, at), (9.0, at)), Stroke::solid(Color::hex(0xc4_c8_ce), 1.5));
    }
}

fn car(scene: &mut Scene, position: f64, velocity: f64, push: Option<f64>) {
    let slope = ((3.0 * position).cos() * 3.0 * RISE / ACROSS).atan();
    // Clockwise on the screen, where y grows downwards.
    let lean = -slope as f32;
    let ground = (x(position), y(position));
    let put = |path: Path| path.placed(ground.0, ground.1, lean);
    let body = Path {
        segments: vec![
            Segment::Move(-27.0, -8.0),
            Segment::Line(-27.0, -17.0),
            Segment::Quad(-26.0, -21.0, -20.0, -21.0),
            Segment::Line(-14.0, -21.0),
            Segment::Line(-7.0, -31.0),
            Segment::Line(10.0, -31.0),
            Segment::Line(17.0, -21.0),
            Segment::Quad(27.0, -20.0, 28.0, -14.0),
            Segment::Line(28.0, -8.0),
            Segment::Close,
        ],
    };
    let outline = Stroke::solid(Color::hex(0x6d_1f_1f), 1.5);
    scene.shape(put(body), Some(Color::hex(0xc2_41_3b)), Some(outline), None);
    let glass = Color::hex(0xdc_ee_f8);
    scene.fill(put(Path::polygon([(-10.0, -21.5), (-5.0, -28.5), (0.5, -28.5), (0.5, -21.5)])), glass);
    scene.fill(put(Path::polygon([(3.0, -21.5), (3.0, -28.5), (9.0, -28.5), (13.0, -21.5)])), glass);
    let turned = (position * ACROSS) as f32 / WHEEL;
    for side in [-1.0, 1.0] {
        let hub = (side * 16.0, -WHEEL);
        scene.fill(put(Path::circle(hub.0, hub.1, WHEEL)), Color::hex(0x11_18_27));
        scene.fill(put(Path::circle(hub.0, hub.1, WHEEL - 3.5)), Color::hex(0xd1_d5_db));
        let (sin, cos) = turned.sin_cos();
        let spoke =
            Path::line((hub.0 - cos * 4.0, hub.1 - sin * 4.0), (hub.0 + cos * 4.0, hub.1 + sin * 4.0));
        scene.stroke(put(spoke), Stroke::solid(STEEL, 1.5));
    }
    let along = |from: (f32, f32), to: (f32, f32)| {
        let turned = |(px, py): (f32, f32)| {
            let (sin, cos) = lean.sin_cos();
            (ground.0 + px * cos - py * sin, ground.1 + px * sin + py * cos)
        };
        (turned(from), turned(to))
    };
    let (from, to) = along((0.0, -42.0), (length(velocity, 1400.0, 140.0), -42.0));
    arrow(scene, from, to, 5.0, MOTION);
    if let Some(push) = push.filter(|push| *push != 0.0) {
        let side = -push.signum() as f32;
        let reach = length(push.abs(), 44.0, 66.0).max(6.0);
        let (from, to) = along((side * (32.0 + reach), -14.0), (side * 32.0, -14.0));
        arrow(scene, from, to, 6.5, FORCE);
    }
}
