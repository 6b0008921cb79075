//! Charts. [`LineChart`] shows learning curves with bands and the seeds behind
//! them; [`ScoreChart`] shows one dot per seed. Both take finished numbers and
//! words, decide everything about the layout, and become a [`crate::Scene`].
//!
//! Any input gives a picture: gaps where numbers are missing, labels cut to
//! their place, notes that say what was left out.

mod axis;
mod frame;
mod legend;
mod line;
mod scores;
mod style;
mod thin;

pub use axis::{Axis, Scale, Tick, short_number};
pub use line::{LineChart, SeriesBand};
pub use scores::{ScoreChart, ScoreGroup};
pub use style::{LOOKS, Look};

/// A reference value, drawn as a thin line with its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    pub value: f64,
    pub label: String,
    /// Make room for it however far away it is; otherwise it is drawn only
    /// where it lies within or near what else is shown.
    pub pinned: bool,
}
