//! A walker on a frozen lake with holes.

use rlxp_env::Tile;

use crate::color::Color;
use crate::path::{Path, Segment};
use crate::scene::{Rect, Scene, Stroke, Text};

use super::parts::{FORCE, GOAL, canvas, flag, heading, nudge, walker};
use super::{CALM, HEIGHT};

const ICE: Color = Color::hex(0xdc_ee_f8);
const EDGE: Color = Color::hex(0xb4_d2_e6);
const WATER: Color = Color::hex(0x1d_3f_5e);
const INK: Color = Color::hex(0x17_33_4d);
/// Where the map may stand.
const BOARD: Rect = Rect::new(20.0, CALM + 4.0, 380.0, HEIGHT - CALM - 18.0);
/// Smaller tiles are plain colours.
const DETAIL: f32 = 14.0;
/// Goals of a map of small tiles that get a flag.
const GOALS_SHOWN: usize = 20;

/// The map without its walker.
pub(super) struct Lake<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) tiles: &'a [Tile],
    pub(super) slippery: bool,
}

impl Lake<'_> {
    fn tile(&self, (row, column): (usize, usize)) -> Tile {
        self.tiles.get(row * self.columns + column).copied().unwrap_or(Tile::Frozen)
    }
}

pub(super) fn scene(lake: &Lake<'_>, at: (usize, usize), choice: Option<usize>) -> Scene {
    let mut scene = canvas(Color::hex(0xf3_f7_fa), "A walker on a frozen lake with holes");
    let title = format!("Frozen lake, {} × {}", lake.rows, lake.columns);
    heading(&mut scene, &title, INK);
    let size = (BOARD.width / lake.columns.max(1) as f32).min(BOARD.height / lake.rows.max(1) as f32);
    let left = BOARD.x + (BOARD.width - size * lake.columns as f32) / 2.0;
    let top = BOARD.y + (BOARD.height - size * lake.rows as f32) / 2.0;
    let corner = |(row, column): (usize, usize)| (left + column as f32 * size, top + row as f32 * size);
    if size >= DETAIL {
        for cell in 0..lake.tiles.len() {
            let cell = (cell / lake.columns, cell % lake.columns);
            tile(&mut scene, corner(cell), size, lake.tile(cell));
        }
    } else {
        small_tiles(&mut scene, lake, size, &corner);
    }
    let (x, y) = corner(at);
    let center = (x + size / 2.0, y + size / 2.0);
    if size < DETAIL {
        // A ring around a dot is found on a large map too.
        scene.fill(Path::circle(center.0, center.1, (size / 2.0).max(2.5)), FORCE);
        scene
            .stroke(Path::circle(center.0, center.1, (size / 2.0).max(2.5) + 4.0), Stroke::solid(FORCE, 1.5));
    } else if lake.tile(at) == Tile::Hole {
        sunk(&mut scene, center, size);
    } else {
        walker(&mut scene, center.0, y + size * 0.9, size * 0.72, FORCE);
        let moves = [(-1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, -1.0)];
        if let Some(step) = choice.and_then(|choice| moves.get(choice)) {
            nudge(&mut scene, center, size, *step);
        }
    }
    legend(&mut scene, lake, at);
    scene
}

fn tile(scene: &mut Scene, (x, y): (f32, f32), size: f32, kind: Tile) {
    let gap = size * 0.025;
    let square = Path::rounded_rect(x + gap, y + gap, size - 2.0 * gap, size - 2.0 * gap, size * 0.08);
    scene.shape(square, Some(ICE), Some(Stroke::solid(EDGE, (size * 0.02).max(0.7))), None);
    let at = |px: f32, py: f32| (x + px * size, y + py * size);
    // The shine of ice.
    for (from, to) in [((0.14, 0.34), (0.34, 0.14)), ((0.2, 0.42), (0.3, 0.32))] {
        let shine = Path::line(at(from.0, from.1), at(to.0, to.1));
        scene.stroke(shine, Stroke::solid(Color::WHITE, size * 0.035));
    }
    let center = at(0.5, 0.5);
    match kind {
        Tile::Frozen => {}
        Tile::Start => {
            let (left, base) = at(0.07, 0.93);
            scene.text(Text::new(left, base, "S", size * 0.28, INK).bold());
        }
        Tile::Hole => {
            for (from, to) in [
                ((0.16, 0.3), (0.05, 0.2)),
                ((0.84, 0.32), (0.95, 0.22)),
                ((0.8, 0.76), (0.92, 0.86)),
                ((0.22, 0.76), (0.1, 0.88)),
            ] {
                let crack = Path::line(at(from.0, from.1), at(to.0, to.1));
                scene.stroke(crack, Stroke::solid(Color::hex(0x7f_a9_c6), size * 0.025));
            }
            scene.fill(Path::ellipse(center.0, center.1, size * 0.39, size * 0.33), Color::hex(0x8f_b7_d2));
            scene.fill(Path::ellipse(center.0, center.1 + size * 0.03, size * 0.35, size * 0.27), WATER);
            ripple(scene, at(0.34, 0.5), size);
            ripple(scene, at(0.48, 0.62), size);
        }
        Tile::Goal => {
            scene.fill(Path::ellipse(center.0, y + size * 0.88, size * 0.3, size * 0.06), EDGE);
            flag(scene, x + size * 0.32, y + size * 0.88, size * 0.7, GOAL);
        }
    }
}

fn ripple(scene: &mut Scene, (x, y): (f32, f32), size: f32) {
    let step = size * 0.08;
    let wave = Path {
        segments: vec![
            Segment::Move(x, y),
            Segment::Quad(x + step, y - step * 0.8, x + 2.0 * step, y),
            Segment::Quad(x + 3.0 * step, y + step * 0.8, x + 4.0 * step, y),
        ],
    };
    scene.stroke(wave, Stroke::solid(Color::hex(0x5f_92_b8), size * 0.025));
}

/// The walker up to the neck in water.
fn sunk(scene: &mut Scene, center: (f32, f32), size: f32) {
    let first = scene.items.len();
    walker(scene, center.0, center.1 + size * 0.48, size * 0.72, FORCE);
    let surface = center.1 + size * 0.08;
    for item in &mut scene.items[first..] {
        if let crate::scene::Item::Shape { clip, .. } = item {
            *clip = Some(Rect::new(center.0 - size, center.1 - size, size * 2.0, surface - center.1 + size));
        }
    }
    for reach in [0.24, 0.31] {
        let ring = Path::ellipse(center.0, surface, size * reach, size * reach * 0.35);
        scene.stroke(ring, Stroke::solid(Color::hex(0x9c_c3_de), size * 0.02));
    }
}

/// Tiles that are too small for more than colour: one shape per kind.
fn small_tiles(
    scene: &mut Scene,
    lake: &Lake<'_>,
    size: f32,
    corner: &impl Fn((usize, usize)) -> (f32, f32),
) {
    let (x, y) = corner((0, 0));
    scene.fill(Path::rect(x, y, size * lake.columns as f32, size * lake.rows as f32), ICE);
    for (kind, color) in [(Tile::Start, Color::hex(0xe6_9f_00)), (Tile::Hole, WATER), (Tile::Goal, GOAL)] {
        let mut shape = Path::default();
        for cell in (0..lake.tiles.len()).filter(|cell| lake.tiles[*cell] == kind) {
            let (x, y) = corner((cell / lake.columns, cell % lake.columns));
            shape.segments.extend(Path::rect(x, y, size, size).segments);
        }
        scene.fill(shape, color);
    }
    // Few goals can be pointed out by more than colour.
    for cell in (0..lake.tiles.len()).filter(|cell| lake.tiles[*cell] == Tile::Goal).take(GOALS_SHOWN) {
        let (x, y) = corner((cell / lake.columns, cell % lake.columns));
        flag(scene, x + size / 2.0, y + size, DETAIL, GOAL);
    }
}

fn legend(scene: &mut Scene, lake: &Lake<'_>, (row, column): (usize, usize)) {
    let left = BOARD.right() + 28.0;
    let kinds = [(Tile::Start, "start"), (Tile::Frozen, "ice"), (Tile::Hole, "hole"), (Tile::Goal, "goal")];
    for (index, (kind, words)) in kinds.into_iter().enumerate() {
        let y = 66.0 + index as f32 * 48.0;
        tile(scene, (left, y), 38.0, kind);
        scene.text(Text::new(left + 52.0, y + 24.0, words, 14.0, INK));
    }
    scene.text(Text::new(left, 290.0, format!("row {row}, column {column}"), 14.0, INK).bold());
    let footing = if lake.slippery {
        ["slippery: a move", "may go sideways"]
    } else {
        ["firm: every move", "goes as intended"]
    };
    for (line, words) in footing.into_iter().enumerate() {
        scene.text(Text::new(left, 318.0 + line as f32 * 18.0, words, 12.5, Color::MUTED));
    }
    if lake.slippery {
        for line in 0..2 {
            ripple(scene, (left + line as f32 * 52.0, 356.0), 140.0);
        }
    }
}
