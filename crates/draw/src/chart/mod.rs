//! Charts. [`LineChart`] shows learning curves with bands and the seeds behind
//! them; [`ScoreChart`] shows one dot per seed. [`SettingChart`], [`HeatMap`] and
//! [`ParallelChart`] show scores over one, two and many settings. All take finished
//! numbers and words, decide everything about the layout, and become a [`crate::Scene`].
//!
//! Any input gives a picture: gaps where numbers are missing, labels cut to
//! their place, notes that say what was left out.

mod axis;
mod frame;
mod heatmap;
mod legend;
mod line;
mod parallel;
mod ramp;
mod scores;
mod setting_axis;
mod settings;
mod style;
mod thin;

pub use axis::{Axis, Scale, Tick, short_number};
pub use heatmap::{HeatCell, HeatMap};
pub use line::{LineChart, SeriesBand};
pub use parallel::{ParallelChart, ParallelLine};
pub use scores::{ScoreChart, ScoreGroup};
pub use setting_axis::{SettingAxis, Spacing};
pub use settings::{ScoreDot, SettingChart, SettingMean, SettingPanel};
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
