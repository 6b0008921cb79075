//! The bar that says which colour is which score.

use crate::chart::axis::{Axis, Scale, Tick};
use crate::chart::frame::{SMALL, TINY, widest};
use crate::color::{Color, of_score};
use crate::font::fitted;
use crate::path::Path;
use crate::scene::{Anchor, Rect, Scene, Stroke, Text};

/// Steps of colour that the bar is made of.
const STEPS: usize = 96;
pub(super) const BAR: f32 = 14.0;

/// Scores with their colours.
pub(super) struct Ramp {
    low: f64,
    high: f64,
    ticks: Vec<Tick>,
}

impl Ramp {
    /// A ramp over these scores, whose bar is about `height` high.
    pub(super) fn new(scores: impl Iterator<Item = f64>, height: f32) -> Self {
        let (low, high) = scores
            .filter(|score| score.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| (low.min(score), high.max(score)));
        let axis = Axis::rounded(low, high, (height / 45.0).clamp(2.0, 8.0) as usize, Scale::Linear);
        Self { low: axis.low, high: axis.high, ticks: axis.ticks }
    }

    /// How far up the bar a score is, from 0 to 1.
    pub(super) fn part(&self, score: f64) -> f64 {
        (score - self.low) / (self.high - self.low)
    }

    pub(super) fn color(&self, score: f64) -> Color {
        of_score(self.part(score))
    }

    /// Space that the bar with its numbers and its label takes.
    pub(super) fn width(&self) -> f32 {
        BAR + 9.0 + widest(&self.ticks) + 10.0 + SMALL
    }

    /// Draws the bar at `x` along the height of `area`, its numbers right of it, its label upright behind them.
    pub(super) fn draw(&self, scene: &mut Scene, x: f32, area: Rect, label: &str) {
        for step in 0..STEPS {
            // Each step reaches to the bottom, so that no seam shows between two of them.
            let top = area.y + area.height * step as f32 / STEPS as f32;
            let color = of_score(1.0 - (step as f64 + 0.5) / STEPS as f64);
            scene.fill(Path::rect(x, top, BAR, area.bottom() - top), color);
        }
        for tick in &self.ticks {
            let y = area.bottom() - self.part(tick.value) as f32 * area.height;
            let line = Path::line((x + BAR, y), (x + BAR + 4.0, y));
            scene.stroke(line, Stroke::solid(Color::MUTED, 1.0));
            scene.text(Text::new(x + BAR + 8.0, y + TINY * 0.36, &tick.label, TINY, Color::MUTED));
        }
        let middle = area.y + area.height / 2.0;
        let words = fitted(label, area.height.max(60.0), SMALL, false);
        let text = Text::new(x + self.width(), middle, words, SMALL, Color::INK);
        scene.text(text.anchored(Anchor::Middle).rotated(-90.0));
    }
}
