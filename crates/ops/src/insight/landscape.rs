//! `rlx plot --against`, `--heatmap` and `--parallel`: scores of many runs over the config keys in which they differ.
//!
//! A seed's score is that of `rlx compare`: its last evaluation during training. The same training counts once, and a
//! failed seed is scored, never dropped. Runs that differ in further keys are pooled, and a note names those keys.
//!
//! | step | module |
//! |---|---|
//! | one score per seed, with its settings | `sample` |
//! | which keys differ, and the axis of each | `keys` |
//! | means and intervals per value, cell or combination | `summary` |
//! | what a reader must know | `notes` |
//! | the picture | `picture` |

mod keys;
mod notes;
mod picture;
mod sample;
mod summary;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rlxp_analyze::curves::Band;
use rlxp_store::MEAN_RETURN;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Outcome;
use crate::insight::compare::Score;
use crate::insight::plot::Target;
use crate::insight::plot::output::{check_picture, write_picture};
use crate::insight::run_data::load;

pub use keys::{KeyAxis, KeyScale, KeyValue};
pub use summary::Summary;

/// The word that means every key that differs.
pub const ALL: &str = "all";
/// Height to check where the picture decides its own.
const USUAL_HEIGHT: f32 = 500.0;

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// A panel for each of these keys; for every key that differs without any.
    Against(Vec<String>),
    /// The keys across and upwards.
    Heatmap([String; 2]),
    /// An axis for each of these keys; for every key that differs without any.
    Parallel(Vec<String>),
}

#[derive(Clone, Debug)]
pub struct LandscapeRequest {
    /// Words that name runs.
    pub runs: Vec<String>,
    pub view: View,
    /// The title, instead of one that says score, keys and environment.
    pub title: Option<String>,
    /// Width of the picture.
    pub width: f32,
    /// Height of the picture; by default what it needs.
    pub height: Option<f32>,
    pub target: Target,
    /// Pixels of a PNG for each unit of width and height; 0 for 2.
    pub scale: f32,
    /// Show the file with the desktop's viewer.
    pub open: bool,
}

/// A seed that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredSeed {
    pub run: String,
    pub seed: u64,
    /// Its score; that of the worst where it failed.
    pub score: f64,
    pub failed: bool,
    /// Its value of each drawn key.
    pub settings: BTreeMap<String, String>,
}

/// The seeds with one value of a key, or within one range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueSummary {
    #[serde(flatten)]
    pub value: KeyValue,
    #[serde(flatten)]
    pub summary: Summary,
}

/// One key with its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    pub key: String,
    pub values: Vec<ValueSummary>,
}

/// The seeds with a value of each of two keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The value of the first key, across.
    pub x: String,
    /// The value of the second key, upwards.
    pub y: String,
    #[serde(flatten)]
    pub summary: Summary,
}

/// The seeds with the same values of all drawn keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Combination {
    pub settings: BTreeMap<String, String>,
    #[serde(flatten)]
    pub summary: Summary,
}

/// The numbers that are drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "chart", rename_all = "snake_case")]
pub enum Drawn {
    Against {
        panels: Vec<Panel>,
    },
    /// Every pair of values, row by row from the lowest; without a mean where no run has it.
    Heatmap {
        cells: Vec<Cell>,
    },
    /// The best first.
    Parallel {
        combinations: Vec<Combination>,
    },
}

/// What was drawn.
#[derive(Clone, Debug, Serialize)]
pub struct LandscapeReport {
    pub title: String,
    pub env: String,
    pub score: Score,
    #[serde(flatten)]
    pub drawn: Drawn,
    /// The keys that are drawn, with their values in order.
    pub keys: Vec<KeyAxis>,
    /// Further keys in which the runs differ; runs are pooled over them.
    pub pooled: Vec<String>,
    pub runs: usize,
    pub seeds: Vec<ScoredSeed>,
    /// What the marks mean.
    pub meaning: String,
    /// What `low` and `high` are; empty if there are none.
    pub intervals: String,
    /// What a reader must know, a sentence each.
    pub notes: Vec<String>,
    /// The file that was written.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub written: Option<PathBuf>,
    /// Why the file's usual place could not be written.
    pub not_written: Option<String>,
}

impl LandscapeReport {
    /// Whether any value or cell has an interval of this kind.
    pub fn has(&self, band: Band) -> bool {
        let is = |summary: &Summary| summary.interval == band && summary.seeds > 0;
        match &self.drawn {
            Drawn::Against { panels } => {
                panels.iter().flat_map(|panel| &panel.values).any(|value| is(&value.summary))
            }
            Drawn::Heatmap { cells } => cells.iter().any(|cell| is(&cell.summary)),
            Drawn::Parallel { combinations } => combinations.iter().any(|one| is(&one.summary)),
        }
    }
}

/// Draws scores over config keys and writes them to a file.
pub fn landscape(context: &Context, request: &LandscapeRequest) -> Outcome<LandscapeReport> {
    let size = (request.width, request.height.unwrap_or(USUAL_HEIGHT));
    check_picture(&request.target, size, request.scale)?;
    keys::check(&request.view)?;
    let groups = load(context, &request.runs, &|_, name| name == MEAN_RETURN)?;
    let sample = sample::sample(&groups, request)?;
    let drawn_keys = keys::drawn(&request.view, &sample)?;
    let mut report = summary::report(&sample, &drawn_keys, request);
    report.intervals = notes::intervals(&report);
    report.meaning = notes::meaning(&report);
    report.notes = notes::notes(&sample, &report, &drawn_keys);
    let name = match &request.view {
        View::Against(_) => format!("against_{}", keys::file_name(&report.keys)),
        View::Heatmap(_) => format!("heatmap_{}", keys::file_name(&report.keys)),
        View::Parallel(_) => format!("parallel_{}", keys::file_name(&report.keys)),
    };
    let scene = || picture::scene(&report, request);
    let written = write_picture(context, &request.target, request.scale, &groups, &name, scene)?;
    (report.written, report.not_written) = (written.path, written.why_not);
    if request.open
        && let Some(path) = &report.written
    {
        crate::show::show(path)?;
    }
    Ok(report)
}
