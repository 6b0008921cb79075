//! A walker along the edge of a cliff above the sea.

use crate::color::Color;
use crate::path::{Path, Segment};
use crate::scene::{Anchor, Scene, Stroke, Text};

use super::parts::{FORCE, GOAL, STEEL, canvas, flag, heading, nudge, walker};
use super::{HEIGHT, WIDTH};

const TOP: f32 = 62.0;
const ROCK: Color = Color::hex(0x8b_7b_6b);
const SEA: Color = Color::hex(0x3a_7c_a5);

pub(super) fn scene(
    rows: usize,
    columns: usize,
    slippery: bool,
    at: (usize, usize),
    choice: Option<usize>,
) -> Scene {
    let mut scene = canvas(Color::hex(0xe8_f1_f8), "A walker along the edge of a cliff");
    let title = if slippery { "Cliff, slippery: a move may go sideways" } else { "Cliff, firm ground" };
    heading(&mut scene, title, Color::hex(0x2f_4a_2c));
    let place = format!("row {}, column {}", at.0, at.1);
    scene.text(Text::new(WIDTH - 20.0, 25.0, place, 13.0, Color::MUTED).anchored(Anchor::End));
    let (rows, columns) = (rows.max(1), columns.max(1));
    let size = ((WIDTH - 24.0) / columns as f32).min((HEIGHT - TOP - 90.0) / rows as f32);
    let left = (WIDTH - size * columns as f32) / 2.0;
    let corner = |(row, column): (usize, usize)| (left + column as f32 * size, TOP + row as f32 * size);

    sea(&mut scene, TOP + rows as f32 * size + 34.0);
    for cell in 0..rows * columns {
        let cell = (cell / columns, cell % columns);
        let is_drop = cell.0 + 1 == rows && (1..columns - 1).contains(&cell.1);
        if !is_drop {
            ground(&mut scene, corner(cell), size, (cell.0 + cell.1) % 2 == 0, slippery);
        }
    }
    drop_off(&mut scene, corner((rows - 1, 1)), size, columns.saturating_sub(2));
    for column in [0, columns - 1] {
        pillar(&mut scene, corner((rows, column)), size);
    }
    let start = corner((rows - 1, 0));
    scene.text(Text::new(start.0 + size * 0.08, start.1 + size * 0.34, "S", size * 0.3, STEEL).bold());
    let goal = corner((rows - 1, columns - 1));
    flag(&mut scene, goal.0 + size * 0.3, goal.1 + size * 0.92, size * 0.78, GOAL);

    let (x, y) = corner(at);
    walker(&mut scene, x + size / 2.0, y + size * 0.94, size * 0.84, FORCE);
    let moves = [(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)];
    if let Some(step) = choice.and_then(|choice| moves.get(choice)) {
        nudge(&mut scene, (x + size / 2.0, y + size / 2.0), size, *step);
    }
    scene
}

fn ground(scene: &mut Scene, (x, y): (f32, f32), size: f32, light: bool, slippery: bool) {
    let color = if light { 0x9c_c4_8c } else { 0x8f_ba_7e };
    scene.fill(Path::rect(x, y, size + 0.3, size + 0.3), Color::hex(color));
    if slippery {
        let puddle = Path::ellipse(x + size * 0.68, y + size * 0.74, size * 0.2, size * 0.09);
        scene.fill(puddle, Color::hex(0xbf_df_ee));
        let shine = Path::line((x + size * 0.58, y + size * 0.72), (x + size * 0.68, y + size * 0.7));
        scene.stroke(shine, Stroke::solid(Color::WHITE, size * 0.03));
    } else {
        for blade in [0.2, 0.26, 0.32] {
            let foot = (x + size * 0.26, y + size * 0.82);
            let line = Path::line(foot, (x + size * blade, y + size * 0.7));
            scene.stroke(line, Stroke::solid(Color::hex(0x6f_9b_5f), size * 0.03));
        }
    }
}

/// The edge with its rock face, seen from in front.
fn drop_off(scene: &mut Scene, (x, y): (f32, f32), size: f32, columns: usize) {
    let (width, bottom) = (size * columns as f32, y + size + 34.0);
    scene.fill(Path::rect(x, y, width, bottom - y), ROCK.mix(Color::BLACK, 0.35));
    // Jagged layers from the edge downwards, darker with depth.
    for (depth, dark) in [(0.95, 0.22), (0.6, 0.08), (0.3, -0.0)] {
        let teeth = columns * 3;
        let mut points = vec![(x, y), (x + width, y)];
        for tooth in (0..=teeth).rev() {
            let reach = if tooth % 2 == 0 { 1.0 } else { 0.62 };
            let shift = [0.0, 0.12, -0.08][tooth % 3];
            points.push((x + width * tooth as f32 / teeth.max(1) as f32, y + size * depth * (reach + shift)));
        }
        scene.fill(Path::polygon(points), ROCK.mix(Color::BLACK, dark));
    }
    scene.fill(Path::rect(x, y, width, size * 0.07), Color::hex(0x5f_86_52));
    if columns > 0 {
        let middle = x + width / 2.0;
        let words =
            Text::new(middle, y + size * 0.66, "cliff: −100 and back to the start", size * 0.3, Color::WHITE);
        scene.text(words.anchored(Anchor::Middle).bold());
    }
}

/// The rock below a corner of the land.
fn pillar(scene: &mut Scene, (x, y): (f32, f32), size: f32) {
    scene.fill(Path::rect(x, y, size, 34.0), ROCK);
    scene.fill(Path::rect(x, y, size, 5.0), Color::hex(0x5f_86_52));
    for crack in [0.3, 0.7] {
        let line = Path::line((x + size * crack, y + 10.0), (x + size * (crack - 0.08), y + 26.0));
        scene.stroke(line, Stroke::solid(ROCK.mix(Color::BLACK, 0.25), 1.5));
    }
}

fn sea(scene: &mut Scene, surface: f32) {
    for (index, lift) in [0.0, 22.0, 48.0].into_iter().enumerate() {
        let y = surface + lift;
        let mut segments = vec![Segment::Move(-20.0, HEIGHT + 4.0), Segment::Line(-20.0, y)];
        let step = 28.0 + index as f32 * 6.0;
        let mut x = -20.0 - index as f32 * 9.0;
        while x < WIDTH + 20.0 {
            segments.push(Segment::Quad(x + step / 2.0, y - 7.0, x + step, y));
            x += step;
        }
        segments.extend([Segment::Line(x, HEIGHT + 4.0), Segment::Close]);
        scene.fill(Path { segments }, SEA.mix(Color::BLACK, index as f32 * 0.13));
    }
}
