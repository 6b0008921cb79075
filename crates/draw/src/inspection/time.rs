//! What runs along the episodes: the value estimate and the action
//! distribution, over the same steps.

use super::{InspectionPicture, PLOT_WIDTH, PicturedChoices, PicturedNormal, badge, heading, legend, ticks};
use crate::color::{self, Color};
use crate::path::Path;
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};

/// Cells across a panel: more steps than this are drawn together.
const CELLS: usize = PLOT_WIDTH as usize;
/// More episodes than this are not distinguished.
const MOST_BOUNDARIES: usize = 40;

/// The value estimate with the explained states on it.
pub(super) fn values(scene: &mut Scene, area: Rect, picture: &InspectionPicture) {
    let finite = || picture.values.iter().copied().filter(|value| value.is_finite());
    let scale = Scale::over(finite(), area);
    scale.grid(scene, area);
    boundaries(scene, area, picture);
    let middle = |step: usize| middle(area, picture.values.len(), step);
    let mut starts = picture.episode_starts.clone();
    starts.push(picture.values.len());
    let mut first = 0;
    for end in starts {
        for (low, high) in columns(picture.values.get(first..end).unwrap_or_default()) {
            let points = low.into_iter().zip(high).filter(|((_, low), _)| low.is_finite());
            let outline: Vec<(f32, f32)> = points
                .flat_map(|((step, low), high)| {
                    let x = middle(first + step);
                    // A column of many steps is a stroke from its lowest to its highest.
                    if low == high {
                        vec![(x, scale.y(low))]
                    } else {
                        vec![(x, scale.y(low)), (x, scale.y(high))]
                    }
                })
                .collect();
            match outline.as_slice() {
                [(x, y)] => scene.fill(Path::circle(*x, *y, 2.5), color::at_index(0)),
                _ => scene.stroke(Path::polyline(outline), Stroke::solid(color::at_index(0), 1.8)),
            }
        }
        first = end;
    }
    let on_curve = picture.states.iter().enumerate().filter_map(|(index, state)| {
        let value = picture.values.get(state.at).filter(|value| value.is_finite())?;
        Some((index + 1, (middle(state.at), scale.y(*value))))
    });
    frame(scene, area);
    badges(scene, area, &on_curve.collect::<Vec<_>>());
}

/// Numbers at points of the curve. One that would cover another moves up or
/// down and keeps a line to its point.
fn badges(scene: &mut Scene, area: Rect, points: &[(usize, (f32, f32))]) {
    const APART: f32 = 18.0;
    let mut placed: Vec<(f32, f32)> = Vec::new();
    for (_, (x, y)) in points {
        let free = |place: &f32| {
            let inside = *place >= area.y && *place <= area.bottom();
            inside && placed.iter().all(|(px, py)| (px - x).hypot(py - place) >= APART)
        };
        let away = (0..40).flat_map(|step| [y - 5.0 * step as f32, y + 5.0 * step as f32]);
        // Where all of it is taken, covering another is what is left.
        let place = away.into_iter().find(free).unwrap_or(*y);
        placed.push((*x, place));
        if (place - y).abs() > 1.0 {
            scene.stroke(Path::line((*x, *y), (*x, place)), Stroke::solid(color::at_index(1), 1.0));
            scene.fill(Path::circle(*x, *y, 2.0), color::at_index(1));
        }
    }
    for ((number, _), (x, y)) in points.iter().zip(placed) {
        badge(scene, x, y, *number);
    }
}

/// Stacked probabilities of one choice.
pub(super) fn choices(scene: &mut Scene, area: Rect, picture: &InspectionPicture, part: &PicturedChoices) {
    heading(scene, area.y, "Action probabilities");
    let entries: Vec<(String, Color)> =
        part.names.iter().enumerate().map(|(choice, name)| (name.clone(), shade(choice))).collect();
    legend(scene, area.y, &entries);
    let steps = part.probabilities.len();
    let cells = steps.min(CELLS);
    // Each choice is one shape from its lower to its upper edge, so that no
    // seams show between the steps.
    let mut below = vec![0.0_f64; cells];
    for choice in 0..part.names.len() {
        let mut upper = Vec::new();
        let mut lower = Vec::new();
        for (cell, below) in below.iter_mut().enumerate() {
            let (from, to) =
                (cell * steps / cells, ((cell + 1) * steps / cells).max(cell * steps / cells + 1));
            let probabilities = part.probabilities[from..to].iter().filter_map(|row| row.get(choice));
            let mean = probabilities.sum::<f64>() / (to - from) as f64;
            let edges = [edge(area, steps, from), edge(area, steps, to)];
            let y = |sum: f64| area.bottom() - area.height * sum.clamp(0.0, 1.0) as f32;
            lower.extend(edges.map(|x| (x, y(*below))));
            *below += if mean.is_finite() { mean } else { 0.0 };
            upper.extend(edges.map(|x| (x, y(*below))));
        }
        lower.reverse();
        upper.extend(lower);
        scene.fill(Path::polygon(upper), shade(choice));
    }
    boundaries(scene, area, picture);
    for (label, part) in [("1", 0.0), ("0.5", 0.5), ("0", 1.0)] {
        side_label(scene, area.y + area.height * part, label.to_owned(), area);
    }
    state_lines(scene, area, picture);
    frame(scene, area);
}

/// Mean and deviation of one element of a continuous action.
pub(super) fn normal(scene: &mut Scene, area: Rect, picture: &InspectionPicture, element: &PicturedNormal) {
    heading(scene, area.y, &format!("Action: {}", element.name));
    let strong = color::at_index(2);
    let band = strong.with_opacity(0.22);
    legend(scene, area.y, &[("mean".to_owned(), strong), ("± 1 deviation".to_owned(), band)]);
    let pairs = || element.mean.iter().zip(&element.deviation);
    let edges = pairs().flat_map(|(mean, deviation)| [mean - deviation, mean + deviation]);
    let scale = Scale::over(edges.filter(|edge| edge.is_finite()), area);
    scale.grid(scene, area);
    let steps = element.mean.len();
    let stride = steps.div_ceil(CELLS).max(1);
    let finite: Vec<(f32, f64, f64)> = pairs()
        .enumerate()
        .step_by(stride)
        .filter(|(_, (mean, deviation))| mean.is_finite() && deviation.is_finite())
        .map(|(step, (mean, deviation))| (middle(area, steps, step), *mean, *deviation))
        .collect();
    let upper = finite.iter().map(|(x, mean, deviation)| (*x, scale.y(mean + deviation)));
    let lower = finite.iter().rev().map(|(x, mean, deviation)| (*x, scale.y(mean - deviation)));
    scene.fill(Path::polygon(upper.chain(lower)), band);
    scene.stroke(
        Path::polyline(finite.iter().map(|(x, mean, _)| (*x, scale.y(*mean)))),
        Stroke::solid(strong, 1.8),
    );
    boundaries(scene, area, picture);
    state_lines(scene, area, picture);
    frame(scene, area);
}

/// The steps below the last panel, whose lower edge is `y`.
pub(super) fn axis(scene: &mut Scene, y: f32, picture: &InspectionPicture) {
    let steps = picture.values.len();
    let area = Rect::new(super::LEFT, y, PLOT_WIDTH, 0.0);
    let (at, _) = ticks(0.0, steps as f64, 10);
    for step in at.into_iter().filter(|step| *step < steps as f64 && step.fract() == 0.0) {
        let x = middle(area, steps, step as usize);
        scene.stroke(Path::line((x, y), (x, y + 4.0)), Stroke::solid(Color::MUTED, 1.0));
        let label = Text::new(x, y + 17.0, format!("{step:.0}"), 11.0, Color::MUTED);
        scene.text(label.anchored(Anchor::Middle));
    }
    let words = if picture.episode_starts.is_empty() { "step" } else { "step, one episode after the other" };
    let label = Text::new(area.right(), y + 32.0, words, 11.0, Color::MUTED);
    scene.text(label.anchored(Anchor::End));
}

/// From numbers to heights in a panel.
struct Scale {
    low: f64,
    high: f64,
    top: f32,
    height: f32,
}

impl Scale {
    fn over(numbers: impl Iterator<Item = f64>, area: Rect) -> Self {
        let (low, high) =
            numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        // Room for the badges; a level curve gets room of its own size.
        let room =
            if high - low > 1e-9 * low.abs().max(1e-9) { 0.1 * (high - low) } else { low.abs().max(1.0) };
        Self { low: low - room, high: high + room, top: area.y, height: area.height }
    }

    fn y(&self, value: f64) -> f32 {
        self.top + self.height * ((self.high - value) / (self.high - self.low)) as f32
    }

    fn grid(&self, scene: &mut Scene, area: Rect) {
        let (at, decimals) = ticks(self.low, self.high, (area.height / 40.0) as usize);
        for value in at {
            let y = self.y(value);
            scene.stroke(Path::line((area.x, y), (area.right(), y)), Stroke::solid(Color::GRID, 1.0));
            side_label(scene, y, format!("{value:.decimals$}"), area);
        }
    }
}

/// The lowest and highest of each run of steps that share a cell.
type Columns = (Vec<(usize, f64)>, Vec<f64>);

/// Stretches of finite values, thinned to the cells that there are.
fn columns(values: &[f64]) -> Vec<Columns> {
    let per_cell = values.len().div_ceil(CELLS).max(1);
    let mut stretches: Vec<Columns> = vec![Columns::default()];
    for (cell, chunk) in values.chunks(per_cell).enumerate() {
        if chunk.iter().any(|value| !value.is_finite()) {
            stretches.push(Columns::default());
            continue;
        }
        let low = chunk.iter().copied().fold(f64::INFINITY, f64::min);
        let high = chunk.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if let Some((lows, highs)) = stretches.last_mut() {
            lows.push((cell * per_cell, low));
            highs.push(high);
        }
    }
    stretches.retain(|(lows, _)| !lows.is_empty());
    stretches
}

/// Where step `step` begins.
fn edge(area: Rect, steps: usize, step: usize) -> f32 {
    area.x + area.width * step as f32 / steps.max(1) as f32
}

fn middle(area: Rect, steps: usize, step: usize) -> f32 {
    area.x + area.width * (step as f32 + 0.5) / steps.max(1) as f32
}

/// Where one episode ends and the next begins.
fn boundaries(scene: &mut Scene, area: Rect, picture: &InspectionPicture) {
    if picture.episode_starts.len() > MOST_BOUNDARIES {
        return;
    }
    for start in &picture.episode_starts {
        let x = edge(area, picture.values.len(), *start);
        let line = Path::line((x, area.y), (x, area.bottom()));
        scene.stroke(line, Stroke::dashed(Color::MUTED, 1.0, &[4.0, 3.0]));
    }
}

/// Thin lines at the explained states, which the value panel numbers.
fn state_lines(scene: &mut Scene, area: Rect, picture: &InspectionPicture) {
    for state in picture.states.iter().filter(|state| state.at < picture.values.len()) {
        let x = middle(area, picture.values.len(), state.at);
        let line = Path::line((x, area.y), (x, area.bottom()));
        scene.stroke(line, Stroke::solid(color::at_index(1).with_opacity(0.55), 1.0));
    }
}

fn side_label(scene: &mut Scene, y: f32, words: String, area: Rect) {
    let label = Text::new(area.x - 8.0, y + 4.0, words, 11.0, Color::MUTED);
    scene.text(label.anchored(Anchor::End));
}

fn frame(scene: &mut Scene, area: Rect) {
    let corner = [(area.x, area.y), (area.x, area.bottom()), (area.right(), area.bottom())];
    scene.stroke(Path::polyline(corner), Stroke::solid(Color::MUTED, 1.0));
}

/// The colour of a choice: soft, so that lines on it stay visible.
fn shade(choice: usize) -> Color {
    const ORDER: [usize; 7] = [0, 4, 2, 3, 5, 1, 6];
    let strong = color::PALETTE[ORDER[choice % ORDER.len()]];
    // Beyond the palette it starts again, paler.
    strong.mix(Color::WHITE, 0.35 + 0.25 * (choice / ORDER.len()).min(2) as f32)
}
