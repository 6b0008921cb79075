//! `rlx inspect`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rlxp_ops::below::BandPoint;
use rlxp_ops::insight::inspect::{Baseline, InspectReport, InspectRequest, Target, inspect, reason_words};
use rlxp_ops::training::eval::FIRST_SEED;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::chart;
use crate::complete;
use crate::format;
use crate::screen::{Screen, Style};
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx inspect @last
  rlx inspect @last:latest --target action --states 12
  rlx inspect runs/ppo_cartpole_001/checkpoints/best --episodes 3 --stochastic
  rlx inspect @last --output inspection.svg
  rlx inspect @last --json";

/// Dimensions and states that the tables show; JSON has all.
const SHOWN: usize = 20;
/// Cells of the longest bar.
const BAR: f64 = 24.0;

/// Show value estimates and feature attributions of a policy
///
/// Plays seeded episodes, shows the value estimate over time, and ranks the
/// observation dimensions by how much an output depends on them: gradient saliency,
/// SmoothGrad and integrated gradients over representative states. Gradients are
/// scaled by the standard deviation of their dimension. Nothing is written to the
/// run.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Inspect {
    /// A run (its best checkpoint), RUN:latest, RUN:SEED:step_N, or a checkpoint's folder
    #[arg(value_name = "CHECKPOINT|RUN", add = complete::runs())]
    checkpoint: String,
    /// Output to explain
    #[arg(long, value_name = "OUTPUT", default_value = "value")]
    target: TargetName,
    /// Episodes to play; more are played if they visit too few states
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    episodes: u64,
    /// Seed of the first episode
    #[arg(long, value_name = "SEED", default_value_t = FIRST_SEED)]
    seed: u64,
    /// Representative states to explain
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u64).range(5..=1000))]
    states: u64,
    /// Where integrated gradients start
    #[arg(long, value_name = "POINT", default_value = "mean")]
    baseline: BaselineName,
    /// Noisy copies of each state for SmoothGrad
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000))]
    samples: u64,
    /// Sample actions instead of taking the most likely one
    #[arg(long, alias = "sampled")]
    stochastic: bool,
    /// Also write a figure to this .svg or .png file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum TargetName {
    /// The value estimate
    Value,
    /// The log-probability of the action taken, or the mean of a continuous one
    Action,
}

#[derive(Clone, Copy, ValueEnum)]
enum BaselineName {
    /// The mean observation of the visited states
    Mean,
    /// Zero everywhere
    Zeros,
}

impl Inspect {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let request = InspectRequest {
            checkpoint: self.checkpoint.clone(),
            episodes: self.episodes as usize,
            seed: self.seed,
            states: self.states as usize,
            target: match self.target {
                TargetName::Value => Target::Value,
                TargetName::Action => Target::Action,
            },
            baseline: match self.baseline {
                BaselineName::Mean => Baseline::Mean,
                BaselineName::Zeros => Baseline::Zeros,
            },
            samples: self.samples as usize,
            sampled: self.stochastic,
            output: self.output.clone(),
        };
        let report = inspect(context, &request)?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        show(screen, &report);
        Ok(Exit::Yes)
    }
}

fn show(screen: &Screen, report: &InspectReport) {
    let heading = |text: &str| screen.styled(Style::Heading, text);
    let how = if report.sampled { "sampled actions" } else { "most likely actions" };
    screen.line(format!(
        "{} at step {} on {}, {how}: {}",
        report.run,
        format::count(report.step),
        report.env,
        episodes(report)
    ));
    if let Some(drawn) = value_chart(report) {
        screen.answer(format!("\n{}\n{drawn}", heading("Value estimate over the first episode")));
    }
    screen.answer(format!("{}\n{}", heading("Actions"), actions(report)));
    screen.answer(format!(
        "\n{}\n{}",
        heading(&format!("What {} depends on, over {} states", report.target_meaning, report.states.len())),
        ranking(screen, report)
    ));
    screen.answer(agreement(report));
    screen.answer(format!("\n{}\n{}", heading("States"), states(screen, report)));
    screen.answer(completeness(report));
    if let Some(picture) = &report.picture {
        screen.note(&format!("wrote {picture}"));
    }
    for note in &report.notes {
        screen.note(&format!("note: {note}"));
    }
}

fn episodes(report: &InspectReport) -> String {
    let count = report.episodes.len();
    let mean = report.episodes.iter().map(|episode| episode.total).sum::<f64>() / count.max(1) as f64;
    match report.episodes.as_slice() {
        [one] => format!("return {} in {} steps, seed {}", format::score(one.total), one.length, one.seed),
        _ => format!("{count} episodes from seed {}, mean return {}", report.first_seed, format::score(mean)),
    }
}

/// The first episode's values; `None` if it is too short for a line.
fn value_chart(report: &InspectReport) -> Option<String> {
    let first = report.trajectory.iter().take_while(|moment| moment.episode == 0);
    let points: Vec<BandPoint> = first
        .map(|moment| {
            let value = f64::from(moment.value);
            BandPoint { step: moment.step as f64, mean: value, low: value, high: value }
        })
        .collect();
    if points.len() < 3 || points.iter().any(|point| !point.mean.is_finite()) {
        return None;
    }
    chart::draw(&points)
}

/// How often each action was taken and how sure the policy was.
fn actions(report: &InspectReport) -> String {
    let steps = report.trajectory.len().max(1) as f64;
    if report.choices.is_empty() {
        let elements = report.action_names.iter().enumerate().map(|(element, name)| {
            let mean_of = |numbers: &dyn Fn(usize) -> f32| {
                (0..report.trajectory.len()).map(|at| f64::from(numbers(at))).sum::<f64>() / steps
            };
            let mean = mean_of(&|at| report.trajectory[at].mean[element]);
            let deviation = mean_of(&|at| report.trajectory[at].deviation[element]);
            format!("  {name}: mean {}, std {}", format::score(mean), format::score(deviation))
        });
        return elements.collect::<Vec<_>>().join("\n");
    }
    let mut offset = 0;
    let mut lines = Vec::new();
    for (part, n) in report.choices.iter().enumerate() {
        let choices = (0..*n).map(|choice| {
            let taken =
                report.trajectory.iter().filter(|moment| moment.action[part] as usize == choice).count();
            let probability =
                report.trajectory.iter().map(|moment| moment.probabilities[offset + choice]).sum::<f64>();
            format!(
                "{} {:.0}% (probability {:.2})",
                report.action_names[offset + choice],
                100.0 * taken as f64 / steps,
                probability / steps
            )
        });
        lines.push(format!("  {}", choices.collect::<Vec<_>>().join(", ")));
        offset += n;
    }
    lines.join("\n")
}

fn ranking(screen: &Screen, report: &InspectReport) -> String {
    let mut table = Table::new([
        ("rank", Align::Right),
        ("dimension", Align::Left),
        ("share", Align::Right),
        ("", Align::Left),
        ("saliency", Align::Right),
        ("smoothgrad", Align::Right),
        ("integrated", Align::Right),
        ("same rank", Align::Right),
    ]);
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    let longest = report.ranking.iter().map(|row| row.place.share).fold(0.0, f64::max);
    for (index, row) in report.ranking.iter().take(SHOWN).enumerate() {
        let place = &row.place;
        let cells = if longest > 0.0 { (BAR * place.share / longest).round() as usize } else { 0 };
        let same = [place.saliency, place.smoothgrad, place.integrated].map(|place| place.same_place);
        table.row([
            (index + 1).to_string(),
            row.name.clone(),
            percent(place.share),
            "█".repeat(cells),
            percent(place.saliency.share),
            percent(place.smoothgrad.share),
            percent(place.integrated.share),
            percent(same.iter().sum::<f64>() / 3.0),
        ]);
    }
    let mut text = table.render("  ", |header| screen.styled(Style::Dim, header));
    if report.ranking.len() > SHOWN {
        text.push_str(&format!("  and {} more; pass --json to see all\n", report.ranking.len() - SHOWN));
    }
    text
}

fn agreement(report: &InspectReport) -> String {
    let pairs: Vec<String> = report
        .agreement
        .iter()
        .filter_map(|pair| {
            let name = |method| serde_json::to_value(method).ok()?.as_str().map(str::to_owned);
            Some(format!("{} and {} {:.2}", name(pair.one)?, name(pair.other)?, pair.spearman?))
        })
        .collect();
    if pairs.is_empty() {
        return "  the rankings can't be compared: too few dimensions differ".to_owned();
    }
    format!("  rank correlation (Spearman): {}", pairs.join(", "))
}

fn states(screen: &Screen, report: &InspectReport) -> String {
    let several = report.episodes.len() > 1;
    let mut table = Table::new([
        (if several { "episode" } else { "" }, Align::Right),
        ("step", Align::Right),
        ("value", Align::Right),
        ("action", Align::Left),
        ("observation", Align::Left),
        ("largest attribution", Align::Left),
        ("why", Align::Left),
    ]);
    for (index, state) in report.states.iter().take(SHOWN).enumerate() {
        let moment = &report.trajectory[state.moment];
        table.row([
            if several { (moment.episode + 1).to_string() } else { String::new() },
            moment.step.to_string(),
            format::score(f64::from(moment.value)),
            action_of(report, state.moment),
            observation(&moment.observation),
            report.strongest(index),
            state.reasons.iter().map(|reason| reason_words(*reason)).collect::<Vec<_>>().join(", "),
        ]);
    }
    let mut text = table.render("  ", |header| screen.styled(Style::Dim, header));
    if report.states.len() > SHOWN {
        text.push_str(&format!("  and {} more; pass --json to see all\n", report.states.len() - SHOWN));
    }
    text
}

/// The action of a moment, with its probability or its mean.
fn action_of(report: &InspectReport, at: usize) -> String {
    let moment = &report.trajectory[at];
    if report.choices.is_empty() {
        let numbers = moment.mean.iter().zip(&moment.deviation);
        let shown = numbers.map(|(mean, deviation)| {
            format!("{} ± {}", format::score(f64::from(*mean)), format::score(f64::from(*deviation)))
        });
        return shown.collect::<Vec<_>>().join(", ");
    }
    let mut offset = 0;
    let mut parts = Vec::new();
    for (n, action) in report.choices.iter().zip(&moment.action) {
        let choice = offset + (*action as usize).min(n - 1);
        parts.push(format!("{} {:.2}", report.action_names[choice], moment.probabilities[choice]));
        offset += n;
    }
    parts.join(", ")
}

fn observation(numbers: &[f32]) -> String {
    let number = |value: &f32| {
        if value.fract() == 0.0 && value.abs() < 1e6 { format!("{value}") } else { format!("{value:.3}") }
    };
    let mut shown: Vec<String> = numbers.iter().take(6).map(number).collect();
    if numbers.len() > shown.len() {
        shown.push("…".to_owned());
    }
    shown.join(" ")
}

fn completeness(report: &InspectReport) -> String {
    let steps = report.states.iter().map(|state| state.integration.steps).max().unwrap_or(0);
    let worst = report.completeness();
    let from = match report.baseline {
        Baseline::Mean => "the mean observation",
        Baseline::Zeros => "zeros",
    };
    format!(
        "  attributions are integrated gradients from {from}; their sums are off by at most {worst:.0e} \
         of what they explain ({steps} steps)"
    )
}
