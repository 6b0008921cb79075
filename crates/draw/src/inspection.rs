//! The picture of an inspected policy: what it thinks along its episodes, and
//! how much each dimension of the observation matters to it.
//!
//! Plain data in, a [`Scene`] out. Numbers that are not finite leave gaps.

mod bars;
mod time;

use crate::color::{self, Color};
use crate::font;
use crate::path::Path;
use crate::scene::{Anchor, Rect, Scene, Text};

/// What is to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InspectionPicture {
    /// Which policy, large.
    pub title: String,
    /// How it was played, below.
    pub subtitle: String,
    /// Value estimate at every step, the episodes one after the other.
    pub values: Vec<f64>,
    /// Steps at which an episode begins, the first one left out.
    pub episode_starts: Vec<usize>,
    /// The explained states, in the order of time.
    pub states: Vec<PicturedState>,
    /// What the policy would do at every step.
    pub actions: PicturedActions,
    /// What the bars are about.
    pub question: String,
    /// The dimensions, those that matter most first.
    pub dimensions: Vec<PicturedDimension>,
    /// What the list of states says.
    pub states_title: String,
    /// How far the methods agree, and what else must be known, line by line.
    pub footnotes: Vec<String>,
}

/// An explained state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PicturedState {
    /// At which step of `values`.
    pub at: usize,
    /// Notes about it.
    pub words: String,
}

/// What the policy would do.
#[derive(Clone, Debug, PartialEq)]
pub enum PicturedActions {
    /// Probabilities of choices, per part of the action.
    Choices(Vec<PicturedChoices>),
    /// Normal distributions.
    Normals(Vec<PicturedNormal>),
}

impl Default for PicturedActions {
    fn default() -> Self {
        Self::Choices(Vec::new())
    }
}

/// One choice among several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PicturedChoices {
    /// What can be chosen.
    pub names: Vec<String>,
    /// Per step the probability of each.
    pub probabilities: Vec<Vec<f64>>,
}

/// One element of a continuous action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PicturedNormal {
    pub name: String,
    /// Mean at every step.
    pub mean: Vec<f64>,
    /// Deviation at every step.
    pub deviation: Vec<f64>,
}

/// One dimension of the observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PicturedDimension {
    pub name: String,
    /// Its share by saliency, SmoothGrad and integrated gradients, 0 to 1.
    pub shares: [f64; 3],
}

const WIDTH: f32 = 1000.0;
const LEFT: f32 = 84.0;
const PLOT_WIDTH: f32 = WIDTH - LEFT - 32.0;
const VALUE_HEIGHT: f32 = 210.0;
const ACTION_HEIGHT: f32 = 120.0;
/// From the bottom of one panel to the top of the next: axis, heading, legend.
const BETWEEN: f32 = 58.0;

pub fn inspection(picture: &InspectionPicture) -> Scene {
    let mut scene = Scene::new(WIDTH, 0.0, Color::WHITE);
    scene.description = format!("{}. {}. {}", picture.title, picture.subtitle, picture.question);
    let fitted = |words: &str, size: f32, bold: bool| font::fitted(words, WIDTH - 56.0, size, bold);
    scene.text(Text::new(28.0, 40.0, fitted(&picture.title, 20.0, true), 20.0, Color::INK).bold());
    scene.text(Text::new(28.0, 62.0, fitted(&picture.subtitle, 13.0, false), 13.0, Color::MUTED));

    let values = Rect::new(LEFT, 116.0, PLOT_WIDTH, VALUE_HEIGHT);
    heading(&mut scene, values.y, "Value estimate");
    time::values(&mut scene, values, picture);

    let mut y = values.bottom() + BETWEEN - 12.0;
    let parts = match &picture.actions {
        PicturedActions::Choices(parts) => parts.len(),
        PicturedActions::Normals(elements) => elements.len(),
    };
    for part in 0..parts {
        let area = Rect::new(LEFT, y, PLOT_WIDTH, ACTION_HEIGHT);
        match &picture.actions {
            PicturedActions::Choices(parts) => time::choices(&mut scene, area, picture, &parts[part]),
            PicturedActions::Normals(elements) => time::normal(&mut scene, area, picture, &elements[part]),
        }
        y = area.bottom() + BETWEEN - 12.0;
    }
    time::axis(&mut scene, y - BETWEEN + 12.0, picture);

    y = bars::shares(&mut scene, y + 34.0, picture);
    y = bars::states(&mut scene, y + 40.0, picture);
    for line in &picture.footnotes {
        scene.text(Text::new(28.0, y + 18.0, fitted(line, 11.0, false), 11.0, Color::MUTED));
        y += 16.0;
    }
    scene.height = y + 24.0;
    scene
}

/// The words above a panel whose upper edge is `y`.
fn heading(scene: &mut Scene, y: f32, words: &str) {
    let words = font::fitted(words, WIDTH - 56.0, 14.0, true);
    scene.text(Text::new(28.0, y - 14.0, words, 14.0, Color::INK).bold());
}

/// Names with their colours, ending at the right edge above a panel.
fn legend(scene: &mut Scene, y: f32, entries: &[(String, Color)]) {
    let mut right = WIDTH - 32.0;
    for (name, color) in entries.iter().rev() {
        let name = font::fitted(name, 180.0, 12.0, false);
        right -= font::text_width(&name, 12.0, false);
        scene.text(Text::new(right, y - 14.0, name, 12.0, Color::INK));
        right -= 16.0;
        scene.fill(Path::rounded_rect(right, y - 24.0, 11.0, 11.0, 2.0), *color);
        right -= 18.0;
    }
}

/// A circle with the number of a state in it.
fn badge(scene: &mut Scene, x: f32, y: f32, number: usize) {
    scene.fill(Path::circle(x, y, 9.5), Color::WHITE);
    scene.fill(Path::circle(x, y, 8.0), color::at_index(1));
    let label = Text::new(x, y + 3.6, number.to_string(), 10.0, Color::WHITE);
    scene.text(label.anchored(Anchor::Middle).bold());
}

/// Round numbers within `low` and `high`, about `count` of them, and as many
/// decimals as tell them apart.
fn ticks(low: f64, high: f64, count: usize) -> (Vec<f64>, usize) {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return (vec![low], 2);
    }
    let raw = span / count.max(1) as f64;
    let power = 10.0_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= raw);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    ((first..=last).take(50).map(|index| index as f64 * step).collect(), decimals)
}

#[cfg(test)]
mod tests;
