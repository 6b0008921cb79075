//! `rlx plot --against`, `--heatmap` and `--parallel`: scores over config keys instead of curves.

use clap::Args;
use rlxp_ops::insight::landscape::{ALL, LandscapeReport, LandscapeRequest, View, landscape};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use super::{Plot, outcome};
use crate::chart::landscape as shown;
use crate::complete;
use crate::screen::Screen;

/// Flags of curves, which mean nothing here.
const OF_CURVES: [&str; 6] = ["metric", "x", "smooth", "group_by", "log_y", "baselines"];

#[derive(Args)]
pub(super) struct Landscape {
    /// Plot scores against a config key, or every key that differs
    ///
    /// Can be repeated: one panel per key. Without a key, every config key in which the runs differ.
    #[arg(long, value_name = "KEY", num_args = 0..=1, default_missing_value = ALL, add = complete::config_key())]
    #[arg(conflicts_with_all = OF_CURVES, conflicts_with_all = ["heatmap", "parallel"])]
    against: Vec<String>,
    /// Plot scores over two config keys, as a grid
    #[arg(long, value_name = "KEY,KEY", value_parser = two_keys, add = complete::config_keys())]
    #[arg(conflicts_with_all = OF_CURVES, conflicts_with = "parallel")]
    heatmap: Option<[String; 2]>,
    /// Plot scores over several config keys, as parallel axes
    ///
    /// The keys are separated by commas. Without keys, every config key in which the runs differ.
    #[arg(long, value_name = "KEYS", num_args = 0..=1, default_missing_value = ALL, add = complete::config_keys())]
    #[arg(conflicts_with_all = OF_CURVES)]
    parallel: Option<String>,
}

fn two_keys(text: &str) -> Result<[String; 2], String> {
    let keys: Vec<String> = text.split(',').map(|key| key.trim().to_owned()).collect();
    match <[String; 2]>::try_from(keys) {
        Ok(keys) if keys.iter().all(|key| !key.is_empty()) => Ok(keys),
        _ => Err("expected two config keys, such as algo.learning_rate,algo.gamma".to_owned()),
    }
}

impl Landscape {
    /// What was asked for; `None` for curves.
    fn view(&self) -> Option<View> {
        let named = |keys: Vec<String>| if keys == [ALL] { Vec::new() } else { keys };
        if !self.against.is_empty() {
            return Some(View::Against(named(self.against.clone())));
        }
        if let Some(keys) = &self.heatmap {
            return Some(View::Heatmap(keys.clone()));
        }
        let keys = self.parallel.as_ref()?;
        Some(View::Parallel(named(keys.split(',').map(|key| key.trim().to_owned()).collect())))
    }
}

impl Plot {
    /// Draws scores over config keys if that was asked for.
    pub(super) fn run_landscape(&self, context: &Context, screen: &Screen) -> Option<Outcome<Exit>> {
        let view = self.landscape.view()?;
        let request = LandscapeRequest {
            runs: self.runs.clone(),
            view,
            title: self.title.clone(),
            width: self.width,
            height: self.height,
            target: self.target(),
            scale: self.scale,
            open: self.open,
        };
        Some(landscape(context, &request).map(|report| self.answer(context, screen, &report)))
    }

    fn answer(&self, context: &Context, screen: &Screen, report: &LandscapeReport) -> Exit {
        if screen.is_json() {
            screen.json(report);
            return Exit::Yes;
        }
        if self.output.is_none() {
            screen.answer(shown::shown(screen, report));
        }
        outcome(context, screen, &report.notes, report.written.as_deref(), report.not_written.as_deref());
        Exit::Yes
    }
}
