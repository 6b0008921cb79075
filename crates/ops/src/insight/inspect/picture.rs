//! An inspection as a picture: the report turned into what `rlxp-draw` draws,
//! and the file that holds it.

use std::path::{Path, PathBuf};

use rlxp_draw::Scene;
use rlxp_draw::inspection::{
    InspectionPicture, PicturedActions, PicturedChoices, PicturedDimension, PicturedNormal, PicturedState,
    inspection,
};
use rlxp_types::text::grouped;

use super::{Baseline, InspectReport, Reason};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output_file;

/// Pixels of a PNG per unit of the picture.
const PNG_SCALE: f32 = 2.0;

/// What kind of file a picture becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Svg,
    Png,
}

impl Format {
    /// By the name's ending.
    pub(super) fn from_path(path: &Path) -> Outcome<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(Failure::usage(
                "picture_format",
                format!("{}: unsupported format; use .svg or .png", path.display()),
            )
            .hint("--output inspection.svg")),
        }
    }
}

/// Draws the report into a file, which is whole or as it was before.
pub(super) fn write(context: &Context, report: &InspectReport, path: &Path) -> Outcome<PathBuf> {
    let full = context.folder.join(path);
    let scene = draw(report);
    let bytes = match Format::from_path(path)? {
        Format::Svg => scene.to_svg().into_bytes(),
        Format::Png => scene.to_png(PNG_SCALE),
    };
    output_file::write(context, &full, &bytes)?;
    Ok(full)
}

pub fn draw(report: &InspectReport) -> Scene {
    let moments = &report.trajectory;
    let starts = (1..moments.len()).filter(|at| moments[*at].episode != moments[at - 1].episode);
    let dimensions = report.ranking.iter().map(|row| PicturedDimension {
        name: row.name.clone(),
        shares: [row.place.saliency.share, row.place.smoothgrad.share, row.place.integrated.share],
    });
    inspection(&InspectionPicture {
        title: format!("{} at step {}: {}", report.run, grouped(report.step), report.env),
        subtitle: subtitle(report),
        values: moments.iter().map(|moment| f64::from(moment.value)).collect(),
        episode_starts: starts.collect(),
        states: (0..report.states.len()).map(|index| state(report, index)).collect(),
        actions: actions(report),
        question: format!("What {} depends on", report.target_meaning),
        dimensions: dimensions.collect(),
        states_title: format!(
            "Explained states, and what moves {} most there (integrated gradients)",
            report.target_meaning
        ),
        footnotes: footnotes(report),
    })
}

fn subtitle(report: &InspectReport) -> String {
    let how = if report.sampled { "sampled actions" } else { "most likely actions" };
    let count = report.episodes.len();
    let total = report.episodes.iter().map(|episode| episode.total).sum::<f64>() / count.max(1) as f64;
    match report.episodes.as_slice() {
        [one] => format!("one episode (seed {}), {how}: return {total:.2} in {} steps", one.seed, one.length),
        _ => format!("{count} episodes from seed {}, {how}: mean return {total:.2}", report.first_seed),
    }
}

fn state(report: &InspectReport, index: usize) -> PicturedState {
    let explained = &report.states[index];
    let moment = &report.trajectory[explained.moment];
    let episode =
        if report.episodes.len() > 1 { format!("episode {} ", moment.episode + 1) } else { String::new() };
    let reasons: Vec<&str> = explained.reasons.iter().map(|reason| reason_words(*reason)).collect();
    PicturedState {
        at: explained.moment,
        words: format!(
            "{episode}step {} · {} · {}",
            moment.step,
            reasons.join(", "),
            report.strongest(index)
        ),
    }
}

/// Why a state was chosen, as a person says it.
pub fn reason_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Start => "start",
        Reason::End => "end",
        Reason::HighestValue => "highest value",
        Reason::LowestValue => "lowest value",
        Reason::LargestValueChange => "value changes most",
        Reason::Spread => "unlike the others",
    }
}

fn actions(report: &InspectReport) -> PicturedActions {
    if report.choices.is_empty() {
        let numbers = |element: usize, of: fn(&super::Moment) -> &Vec<f32>| -> Vec<f64> {
            report.trajectory.iter().map(|moment| f64::from(of(moment)[element])).collect()
        };
        let elements = report.action_names.iter().enumerate().map(|(element, name)| PicturedNormal {
            name: name.clone(),
            mean: numbers(element, |moment| &moment.mean),
            deviation: numbers(element, |moment| &moment.deviation),
        });
        return PicturedActions::Normals(elements.collect());
    }
    let mut offset = 0;
    let parts = report.choices.iter().map(|n| {
        let range = offset..offset + n;
        offset = range.end;
        PicturedChoices {
            names: report.action_names[range.clone()].to_vec(),
            probabilities: report
                .trajectory
                .iter()
                .map(|moment| moment.probabilities[range.clone()].to_vec())
                .collect(),
        }
    });
    PicturedActions::Choices(parts.collect())
}

fn footnotes(report: &InspectReport) -> Vec<String> {
    let from = match report.baseline {
        Baseline::Mean => "the mean observation of the visited states",
        Baseline::Zeros => "zeros",
    };
    let mut lines = vec![
        format!(
            "Mean share over {} states; gradients count per standard deviation of their dimension over the visited states.",
            report.states.len()
        ),
        format!(
            "Integrated gradients start from {from}; their sum is off by at most {:.0e} of what it explains.",
            report.completeness()
        ),
    ];
    let agreement = report.agreement.iter().filter_map(|pair| pair.spearman).reduce(f64::min);
    if let Some(agreement) = agreement {
        lines.push(format!(
            "The rankings of the three methods correlate by at least {agreement:.2} (Spearman)."
        ));
    }
    lines
}
