//! A taxi in a town with walls and four stops.

use rlxp_env::Passenger;
use rlxp_env::toy::taxi::{PLACES, WALLS_EAST};

use crate::color::Color;
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};

use super::parts::{STEEL, canvas, flag, heading, nudge, walker};
use super::{CALM, HEIGHT, WIDTH};

const SIDE: usize = 5;
const TILE: f32 = 68.0;
const BOARD: Rect = Rect::new(22.0, CALM + 6.0, TILE * SIDE as f32, TILE * SIDE as f32);
const COAT: Color = Color::hex(0x6a_3d_9a);
const CAB: Color = Color::hex(0xf5_b8_1c);

/// Letter, colour and full name of each stand, in the order of [`PLACES`].
const STANDS: [(&str, Color, &str); 4] = [
    ("R", Color::hex(0xd9_5f_59), "R (red)"),
    ("G", Color::hex(0x3d_a3_6b), "G (green)"),
    ("Y", Color::hex(0xe8_cf_4a), "Y (yellow)"),
    ("B", Color::hex(0x4f_8f_d0), "B (blue)"),
];

/// The state.
pub(super) struct Town {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) passenger: Passenger,
    pub(super) destination: usize,
    pub(super) raining: bool,
    pub(super) undecided: bool,
}

fn corner((row, column): (usize, usize)) -> (f32, f32) {
    (BOARD.x + column as f32 * TILE, BOARD.y + row as f32 * TILE)
}

pub(super) fn scene(town: &Town, choice: Option<usize>) -> Scene {
    let mut scene = canvas(Color::hex(0xf4_f3_ef), "A taxi in a town with walls and four stops");
    heading(&mut scene, "Taxi", STEEL);
    streets(&mut scene);
    for (place, stand) in PLACES.iter().zip(&STANDS) {
        let (x, y) = corner(*place);
        let square = Path::rounded_rect(x + 4.0, y + 4.0, TILE - 8.0, TILE - 8.0, 8.0);
        scene.shape(square, Some(stand.1), Some(Stroke::solid(Color::WHITE, 2.0)), None);
        scene.text(Text::new(x + 9.0, y + 23.0, stand.0, 18.0, STEEL).bold());
    }
    if let Some(place) = PLACES.get(town.destination) {
        let (x, y) = corner(*place);
        let ring = Path::rounded_rect(x + 4.0, y + 4.0, TILE - 8.0, TILE - 8.0, 8.0);
        scene.stroke(ring, Stroke::dashed(STEEL, 3.0, &[7.0, 5.0]));
        flag(&mut scene, x + TILE - 26.0, y + 31.0, 24.0, Color::WHITE);
    }
    walls(&mut scene);
    let on_board = town.passenger == Passenger::InTaxi;
    let (x, y) = corner((town.row, town.column));
    cab(&mut scene, x + TILE / 2.0 + 4.0, y + TILE - 9.0, on_board);
    if let Passenger::At(place) = town.passenger
        && let Some(place) = PLACES.get(place)
    {
        let (x, y) = corner(*place);
        walker(&mut scene, x + 15.0, y + TILE - 6.0, 34.0, COAT);
    }
    let moves = [(0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0)];
    if let Some(step) = choice.and_then(|choice| moves.get(choice)) {
        nudge(&mut scene, (x + TILE / 2.0, y + TILE / 2.0), TILE, *step);
    }
    if town.raining {
        rain(&mut scene);
    }
    panel(&mut scene, town, choice);
    scene
}

fn streets(scene: &mut Scene) {
    let rim = Path::rounded_rect(BOARD.x - 7.0, BOARD.y - 7.0, BOARD.width + 14.0, BOARD.height + 14.0, 10.0);
    scene.fill(rim, Color::hex(0x6b_5b_4b));
    scene.fill(Path::rect(BOARD.x, BOARD.y, BOARD.width, BOARD.height), Color::hex(0xd3_d5_d9));
    for line in 1..SIDE {
        let at = line as f32 * TILE;
        let dash = Stroke::dashed(Color::hex(0xf7_f7_f5), 2.0, &[8.0, 8.0]);
        let (x, y) = (BOARD.x + at, BOARD.y + at);
        scene.stroke(Path::line((x, BOARD.y), (x, BOARD.bottom())), dash.clone());
        scene.stroke(Path::line((BOARD.x, y), (BOARD.right(), y)), dash);
    }
}

fn walls(scene: &mut Scene) {
    for (row, column) in WALLS_EAST {
        let (x, y) = corner((row, column + 1));
        scene.fill(Path::rounded_rect(x - 4.5, y - 1.0, 9.0, TILE + 2.0, 3.0), Color::hex(0x6b_5b_4b));
        for brick in 1..4 {
            let at = y + brick as f32 * TILE / 4.0;
            let joint = Path::line((x - 4.5, at), (x + 4.5, at));
            scene.stroke(joint, Stroke::solid(Color::hex(0xa8_99_88), 1.2));
        }
    }
}

/// The taxi from its side; (x, y) is where it touches the street.
fn cab(scene: &mut Scene, x: f32, y: f32, on_board: bool) {
    let put = |path: Path| path.placed(x, y, 0.0);
    let body = Path {
        segments: vec![
            Segment::Move(-24.0, -5.0),
            Segment::Line(-24.0, -13.0),
            Segment::Quad(-23.0, -16.0, -18.0, -16.0),
            Segment::Line(-12.0, -29.0),
            Segment::Line(10.0, -29.0),
            Segment::Line(17.0, -16.0),
            Segment::Quad(24.0, -15.0, 25.0, -11.0),
            Segment::Line(25.0, -5.0),
            Segment::Close,
        ],
    };
    scene.shape(put(body), Some(CAB), Some(Stroke::solid(STEEL, 1.5)), None);
    let glass = Color::hex(0xdf_ee_f6);
    scene.fill(put(Path::polygon([(-13.5, -16.5), (-9.5, -26.5), (-2.0, -26.5), (-2.0, -16.5)])), glass);
    scene.fill(put(Path::polygon([(1.0, -16.5), (1.0, -26.5), (8.5, -26.5), (13.5, -16.5)])), glass);
    for square in 0..10 {
        let top = if square % 2 == 0 { -13.0 } else { -10.5 };
        scene.fill(put(Path::rect(-14.0 + square as f32 * 2.8, top, 2.8, 2.5)), STEEL);
    }
    scene.fill(put(Path::rounded_rect(-8.0, -35.0, 16.0, 6.5, 2.0)), STEEL);
    scene.text(Text::new(x, y - 29.8, "TAXI", 5.6, Color::WHITE).anchored(Anchor::Middle).bold());
    if on_board {
        // The passenger looks out of the rear window.
        scene.fill(put(Path::rounded_rect(-11.0, -19.0, 8.5, 3.0, 1.0)), COAT);
        scene.fill(put(Path::circle(-6.5, -21.5, 3.6)), Color::hex(0xf6_d7_b8));
        scene.fill(put(Path::polygon([(-10.1, -21.8), (-9.5, -25.0), (-3.5, -25.0), (-2.9, -21.8)])), COAT);
    }
    for wheel in [-14.0, 14.0] {
        scene.fill(put(Path::circle(wheel, -5.0, 6.0)), Color::hex(0x1f_25_2e));
        scene.fill(put(Path::circle(wheel, -5.0, 2.5)), Color::hex(0xd1_d5_db));
    }
}

fn rain(scene: &mut Scene) {
    for drop in 0..70_u32 {
        // Spread evenly by two irrational steps.
        let x = (drop as f32 * 0.618_034).fract() * (BOARD.width + 14.0) + BOARD.x;
        let y = (drop as f32 * 0.754_878).fract() * BOARD.height + BOARD.y;
        let stroke = Stroke::solid(Color::hex(0x5f_8f_b8).with_opacity(0.75), 1.5);
        scene.stroke(Path::line((x, y), (x - 4.0, y + 11.0)), stroke);
    }
}

fn panel(scene: &mut Scene, town: &Town, choice: Option<usize>) {
    let left = BOARD.right() + 32.0;
    let word = |scene: &mut Scene, y: f32, words: &str, bold: bool| {
        let (size, color) = if bold { (16.0, STEEL) } else { (12.0, Color::MUTED) };
        scene.text(Text { bold, ..Text::new(left, y, words, size, color) });
    };
    let name = |place: usize| STANDS.get(place).map_or("nowhere", |stand| stand.2);
    word(scene, 66.0, "passenger", false);
    match town.passenger {
        Passenger::At(place) => {
            word(scene, 88.0, &format!("waits at {}", name(place)), true);
            walker(scene, WIDTH - 30.0, 92.0, 38.0, COAT);
        }
        Passenger::InTaxi => word(scene, 88.0, "in the taxi", true),
    }
    word(scene, 126.0, "destination", false);
    word(scene, 148.0, name(town.destination), true);
    flag(scene, WIDTH - 40.0, 152.0, 32.0, STEEL);
    if town.undecided {
        word(scene, 170.0, "may still change their mind", false);
        scene.text(Text::new(WIDTH - 70.0, 150.0, "?", 22.0, COAT).bold());
    }
    word(scene, 204.0, "taxi", false);
    word(scene, 226.0, &format!("row {}, column {}", town.row, town.column), true);
    let served = match choice {
        Some(4) => Some("picks up"),
        Some(5) => Some("drops off"),
        _ => None,
    };
    if let Some(words) = served {
        word(scene, 250.0, words, true);
    }
    word(scene, 284.0, "weather", false);
    word(scene, 306.0, if town.raining { "rain: moves may drift" } else { "dry" }, true);
    word(scene, HEIGHT - 22.0, "walls can't be crossed", false);
}
