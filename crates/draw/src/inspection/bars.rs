//! What matters: a group of bars per dimension, and the list of the states that
//! they were found over.

use super::{InspectionPicture, WIDTH, badge, heading, legend};
use crate::color::{self, Color};
use crate::font;
use crate::path::Path;
use crate::scene::{Anchor, Scene, Stroke, Text};

/// Dimensions that are shown.
const MOST_DIMENSIONS: usize = 12;
/// States that are listed.
const MOST_STATES: usize = 24;
const NAME_WIDTH: f32 = 236.0;
const BAR_HEIGHT: f32 = 11.0;
const GROUP_HEIGHT: f32 = 3.0 * BAR_HEIGHT + 13.0;
const METHODS: [(&str, usize); 3] = [("saliency", 0), ("SmoothGrad", 4), ("integrated gradients", 2)];

/// The bars, the first of them at `y`; where the next thing may begin.
pub(super) fn shares(scene: &mut Scene, y: f32, picture: &InspectionPicture) -> f32 {
    heading(scene, y, &picture.question);
    let y = y + 22.0;
    let entries = METHODS.map(|(name, color)| (name.to_owned(), color::at_index(color)));
    legend(scene, y, &entries);
    let left = 28.0 + NAME_WIDTH;
    let room = WIDTH - left - 84.0;
    let finite = |share: f64| if share.is_finite() { share.max(0.0) } else { 0.0 };
    let shown = || picture.dimensions.iter().take(MOST_DIMENSIONS);
    let longest = shown().flat_map(|dimension| dimension.shares).map(finite).fold(0.0, f64::max).max(1e-9);
    for (index, dimension) in shown().enumerate() {
        let top = y + index as f32 * GROUP_HEIGHT;
        let middle = top + 1.5 * BAR_HEIGHT + 4.5;
        let name = format!("{}  {}", index + 1, dimension.name);
        let name = font::fitted(&name, NAME_WIDTH - 14.0, 13.0, false);
        scene.text(Text::new(left - 12.0, middle, name, 13.0, Color::INK).anchored(Anchor::End));
        for (method, share) in dimension.shares.into_iter().enumerate() {
            let bar_top = top + method as f32 * BAR_HEIGHT;
            let width = (room * (finite(share) / longest) as f32).max(1.0);
            let bar = Path::rounded_rect(left, bar_top + 0.5, width, BAR_HEIGHT - 1.0, 2.0);
            scene.fill(bar, color::at_index(METHODS[method].1));
            let words = if share.is_finite() { format!("{:.0}%", 100.0 * share) } else { "–".to_owned() };
            scene.text(Text::new(left + width + 6.0, bar_top + 9.2, words, 10.0, Color::MUTED));
        }
    }
    let mut end = y + shown().count() as f32 * GROUP_HEIGHT;
    scene.stroke(Path::line((left, y - 4.0), (left, end - 8.0)), Stroke::solid(Color::MUTED, 1.0));
    if let Some(more) = picture.dimensions.len().checked_sub(MOST_DIMENSIONS).filter(|more| *more > 0) {
        scene.text(Text::new(left, end + 6.0, format!("and {more} more"), 11.0, Color::MUTED));
        end += 20.0;
    }
    end
}

/// The states in two columns; where the next thing may begin.
pub(super) fn states(scene: &mut Scene, y: f32, picture: &InspectionPicture) -> f32 {
    let states = &picture.states;
    if states.is_empty() {
        return y - 20.0;
    }
    heading(scene, y, &picture.states_title);
    let y = y + 6.0;
    let shown = states.len().min(MOST_STATES);
    let per_column = shown.div_ceil(2);
    let column_width = (WIDTH - 56.0) / 2.0;
    for (index, state) in states.iter().take(shown).enumerate() {
        let x = 28.0 + (index / per_column) as f32 * column_width;
        let line = y + (index % per_column) as f32 * 22.0;
        badge(scene, x + 9.0, line, index + 1);
        let words = font::fitted(&state.words, column_width - 34.0, 12.0, false);
        scene.text(Text::new(x + 26.0, line + 4.0, words, 12.0, Color::INK));
    }
    let mut end = y + per_column as f32 * 22.0;
    if states.len() > shown {
        let words = format!("and {} more", states.len() - shown);
        scene.text(Text::new(28.0, end + 4.0, words, 11.0, Color::MUTED));
        end += 18.0;
    }
    end
}
