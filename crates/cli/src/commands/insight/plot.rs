//! `rlx plot`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rlxp_ops::insight::plot::{
    GroupBy, PlotGroup, PlotOptions, PlotReport, PlotRequest, Target, XAxis, plot,
};
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;
use rlxp_types::text::one_line;

use crate::chart::{Curve, MOST_CURVES, draw_over};
use crate::complete;
use crate::format;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx plot @last
  rlx plot ppo_cartpole_001 ppo_cartpole_002 --smooth 5 --output curves.png
  rlx plot ppo_cartpole_001+ppo_cartpole_002 --group-by config
  rlx plot @last --metric train/entropy --x updates --terminal
  rlx plot @last --baseline random=22 --output curves.svg --title 'CartPole, first try'";

/// Notes that are shown before the rest is counted.
const MOST_NOTES: usize = 8;

/// Draw learning curves with seed bands
///
/// Each argument is a curve: a run, tag:TAG for all runs with a tag, or A+B for several runs as one
/// group. The line is the interquartile mean over seeds. With five or more seeds, the band is its
/// 95% bootstrap interval; with fewer, it spans the lowest to the highest seed. Bands are
/// descriptive; for a verdict use `rlx compare`.
///
/// Without --output or --terminal, the chart is printed and also written as SVG: to the run's
/// plots/, or for several runs to the project's analysis/. With more than 14 arguments, runs with
/// the same config are merged into one curve.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Plot {
    /// Runs and groups of runs
    #[arg(value_name = "RUN", required = true, add = complete::runs())]
    runs: Vec<String>,
    /// Metric to plot: NAME or KIND/NAME [default: evaluation return, or training return]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// The x axis
    #[arg(long, value_name = "AXIS", default_value = "steps")]
    x: X,
    /// Smooth each seed with a mean over the last N points, before aggregating
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    smooth: u32,
    /// How runs are grouped into curves
    #[arg(long, value_name = "HOW", default_value = "word")]
    group_by: By,
    /// Use a logarithmic y axis
    #[arg(long)]
    log_y: bool,
    /// Draw a horizontal line at a value; can be repeated
    #[arg(long = "baseline", value_name = "[NAME=]VALUE", value_parser = baseline, allow_hyphen_values = true)]
    baselines: Vec<(String, f64)>,
    /// Write to this .svg or .png file
    #[arg(short, long, value_name = "FILE", conflicts_with = "terminal")]
    output: Option<PathBuf>,
    /// Print the chart without writing a file
    #[arg(long, conflicts_with = "open")]
    terminal: bool,
    /// Open the file in the default viewer
    #[arg(long)]
    open: bool,
    /// Title [default: metric and environment]
    #[arg(long)]
    title: Option<String>,
    /// Image width
    #[arg(long, value_name = "PIXELS", default_value_t = 800.0)]
    width: f32,
    /// Image height
    #[arg(long, value_name = "PIXELS", default_value_t = 500.0)]
    height: f32,
    /// Scale factor for PNG output
    #[arg(long, value_name = "TIMES", default_value_t = 2.0)]
    scale: f32,
}

#[derive(Clone, Copy, ValueEnum)]
enum X {
    /// Environment steps
    Steps,
    /// Wall-clock time since the seed's first record
    Time,
    /// Episodes finished in training
    Episodes,
    /// Policy updates
    Updates,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// One curve per argument
    Word,
    /// One curve per config
    Config,
    /// One curve per run
    None,
}

/// A value with or without a name before it.
fn baseline(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.rsplit_once('=').unwrap_or(("baseline", text));
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((name.to_owned(), number)),
        _ => Err(format!("{value:?} is not a finite number")),
    }
}

impl Plot {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let report = plot(context, &self.request())?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        if self.output.is_none() {
            screen.answer(self.shown(screen, &report));
        }
        for note in report.notes.iter().take(MOST_NOTES) {
            screen.note(note);
        }
        if report.notes.len() > MOST_NOTES {
            screen.note(&format!("{} more notes; pass --json to see all", report.notes.len() - MOST_NOTES));
        }
        if let Some(path) = &report.written {
            let shown = path.strip_prefix(&context.folder).unwrap_or(path);
            screen.line(format!("wrote {}", shown.display()));
        }
        if let Some(why) = &report.not_written {
            screen.warning(&format!("no image was written: {why}"));
            screen.hint("choose another file with --output, or pass --terminal to write none");
        }
        Ok(Exit::Yes)
    }

    fn request(&self) -> PlotRequest {
        let options = PlotOptions {
            metric: self.metric.clone(),
            x: match self.x {
                X::Steps => XAxis::Steps,
                X::Time => XAxis::Time,
                X::Episodes => XAxis::Episodes,
                X::Updates => XAxis::Updates,
            },
            smooth: self.smooth as usize,
            group_by: match self.group_by {
                By::Word => GroupBy::Word,
                By::Config => GroupBy::Config,
                By::None => GroupBy::None,
            },
            title: self.title.clone(),
            log_y: self.log_y,
            baselines: self.baselines.clone(),
            width: self.width,
            height: self.height,
        };
        let target = match (&self.output, self.terminal) {
            (Some(path), _) => Target::File(path.clone()),
            (None, true) => Target::Nowhere,
            (None, false) => Target::Usual,
        };
        PlotRequest { runs: self.runs.clone(), options, target, scale: self.scale, open: self.open }
    }

    /// Title, chart, legend and what the line is.
    fn shown(&self, screen: &Screen, report: &PlotReport) -> String {
        let letters = || ('A'..='Z').chain('a'..='z').chain(std::iter::repeat('·'));
        let curves: Vec<Curve<'_>> = report
            .groups
            .iter()
            .zip(letters())
            .map(|(group, letter)| Curve { letter, points: &group.points })
            .collect();
        let mut text = format!("{}\n", screen.styled(Style::Heading, &report.title));
        text.push_str(&draw_over(&curves, report.x_unit).unwrap_or_default());
        let mut table = Table::new([
            ("", Align::Left),
            ("curve", Align::Left),
            ("seeds", Align::Right),
            ("final", Align::Right),
            ("band", Align::Left),
            (report.x_label.as_str(), Align::Right),
        ]);
        for (group, letter) in report.groups.iter().zip(letters()) {
            table.row(row(group, letter));
        }
        text.push_str(&table.render("  ", |header| screen.styled(Style::Dim, header)));
        if report.groups.len() > MOST_CURVES {
            text.push_str(&format!(
                "\nOnly the first {MOST_CURVES} curves fit in this chart; the image shows all."
            ));
        }
        if self.log_y {
            text.push_str("\nThis chart is linear; the image is logarithmic.");
        }
        format!("{}\n{}\n", text.trim_end(), one_line(&report.meaning))
    }
}

fn row(group: &PlotGroup, letter: char) -> [String; 6] {
    let last = group.points.iter().rev().find(|point| point.value.is_some());
    let band = last.and_then(|point| point.low.zip(point.high));
    let seeds = match group.failed {
        0 => group.seeds.to_string(),
        failed => format!("{} ({failed} failed)", group.seeds),
    };
    [
        letter.to_string(),
        group.label.clone(),
        seeds,
        format::score_or_dash(last.and_then(|point| point.value)),
        band.map_or("-".to_owned(), |(low, high)| {
            format!("{} to {}", format::score(low), format::score(high))
        }),
        last.map_or("-".to_owned(), |point| format::amount(point.x)),
    ]
}
