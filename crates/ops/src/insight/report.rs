//! `rlx report`: one HTML file with everything a colleague needs to judge some
//! runs: verdict, curves, what changed, diagnosis, evaluations and videos.
//!
//! The parts come from the verbs that make them (`compare`, `plot`,
//! `diagnose`, `video`); here they are only put on one page.

mod cards;
mod html;
mod page;
mod tables;

use std::path::{Path, PathBuf};

use rlxp_fs::{FsExt, clock};
use rlxp_types::text::{grouped, report_number, shell_word};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::insight::compare::{CompareReport, CompareRequest, ScoreKind, compare};
use crate::insight::run_data;
use crate::insight::run_data::{Group, SeedState};
use crate::insight::video::{Show, VideoRequest, video};
use crate::training::checkpoint_ref::project;

use page::{Film, Page};

/// Most runs that one page describes: beyond it nobody reads on.
const MOST_RUNS: usize = 50;
/// Most groups that get a video.
const MOST_FILMS: usize = 4;
/// Episodes among which the shown ones are chosen.
const FILM_EPISODES: usize = 20;
/// Longest video, in seconds: it stands in the file itself.
const FILM_SECONDS: f64 = 20.0;

#[derive(Clone, Debug, Default)]
pub struct ReportRequest {
    /// Runs or groups; the first is the reference of the others.
    pub words: Vec<String>,
    /// The file; one in the project's `analysis/` otherwise.
    pub output: Option<PathBuf>,
    /// The heading; made from the names otherwise.
    pub title: Option<String>,
    /// Leave the videos out.
    pub without_videos: bool,
    /// Judge runs that are not comparable.
    pub force: bool,
    /// Show the file with the desktop's viewer.
    pub open: bool,
    /// Less is better.
    pub lower: bool,
    /// What a seed's score is.
    pub score: ScoreKind,
}

/// A report that was written.
#[derive(Clone, Debug, Serialize)]
pub struct ReportReport {
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    pub groups: Vec<String>,
    /// The first sentence of each verdict.
    pub verdicts: Vec<String>,
    /// Findings of the diagnoses, by severity: errors, warnings.
    pub findings: (usize, usize),
    pub videos: usize,
    /// What could not be put in, and why.
    pub left_out: Vec<String>,
}

/// Writes a report; `tell` hears what is being made.
pub fn report(
    context: &Context,
    request: &ReportRequest,
    tell: &mut dyn FnMut(&str),
) -> Outcome<ReportReport> {
    if request.words.is_empty() {
        return Err(Failure::usage("nothing_to_report", "name at least one run").hint("rlx report @last"));
    }
    let groups = run_data::load(context, &request.words, &|_, _| true)?;
    let runs: usize = groups.iter().map(|group| group.runs.len()).sum();
    if runs > MOST_RUNS {
        let message = format!("{runs} runs are too many for one page, {MOST_RUNS} are possible");
        return Err(Failure::usage("too_many_runs", message).hint("rlx summarize"));
    }
    let path = output_path(context, request, &groups)?;
    let mut left_out = Vec::new();
    let comparison = compared(context, request, &groups, tell)?;
    tell("reading the diagnosis");
    let diagnoses = cards::diagnoses(&groups, &mut left_out);
    let findings = cards::count(&diagnoses);
    tell("drawing");
    let pictures = cards::pictures(&groups, comparison.as_ref(), &mut left_out);
    let films =
        if request.without_videos { Vec::new() } else { films(context, &groups, tell, &mut left_out) };
    let verdicts = comparison.as_ref().map_or_else(|| cards::without_comparison(&groups), cards::verdicts);
    let mut warnings = comparison.as_ref().map_or_else(Vec::new, |report| report.warnings.clone());
    warnings.extend(
        groups
            .iter()
            .flat_map(|group| &group.runs)
            .flat_map(|run| run.notes.iter().map(move |note| format!("{}: {note}", run.name))),
    );
    warnings.extend(left_out.iter().cloned());
    let page = Page {
        title: request.title.clone().unwrap_or_else(|| title(&groups)),
        subtitle: subtitle(&groups),
        pictures,
        changes: comparison.as_ref().map_or_else(Vec::new, cards::changes),
        aligned: comparison.as_ref().and_then(tables::aligned),
        diagnoses,
        evaluations: tables::evaluations(&groups)?,
        films,
        runs: tables::runs(&groups),
        configs: tables::configs(&groups),
        warnings,
        commands: comparison.as_ref().map_or_else(Vec::new, |report| report.next.clone()),
        footer: format!("Made by rlx {} on {}.", env!("CARGO_PKG_VERSION"), clock::wall_text()),
        verdicts,
    };
    tell("writing");
    let text = page.render();
    if request.output.is_none()
        && let Some(folder) = path.parent()
    {
        context.fs.create_dir_all(folder)?;
    }
    context.fs.remove_abandoned(context.machine.as_ref(), &path);
    context.fs.write_atomic(&path, text.as_bytes())?;
    if request.open {
        crate::insight::show::show(&path)?;
    }
    Ok(ReportReport {
        file: path.display().to_string(),
        bytes: text.len() as u64,
        groups: groups.into_iter().map(|group| group.label).collect(),
        verdicts: page.verdicts.iter().filter_map(|card| card.statements.first().cloned()).collect(),
        findings,
        videos: page.films.len(),
        left_out,
    })
}

/// The comparison, when there is something to compare.
fn compared(
    context: &Context,
    request: &ReportRequest,
    groups: &[Group],
    tell: &mut dyn FnMut(&str),
) -> Outcome<Option<CompareReport>> {
    if groups.len() < 2 {
        return Ok(None);
    }
    tell("comparing");
    let request = CompareRequest {
        words: request.words.clone(),
        force: request.force,
        lower: request.lower,
        score: request.score,
        ..CompareRequest::default()
    };
    compare(context, &request).map(Some)
}

/// One video per group: the best and the worst of some episodes of its best
/// finished seed. A group without one says why.
fn films(
    context: &Context,
    groups: &[Group],
    tell: &mut dyn FnMut(&str),
    left_out: &mut Vec<String>,
) -> Vec<Film> {
    let mut films = Vec::new();
    for group in groups.iter().take(MOST_FILMS) {
        tell(&format!("filming {}", group.label));
        match film(context, group) {
            Ok(film) => films.push(film),
            Err(failure) => left_out.push(format!("no video of {}: {}", group.label, failure.message)),
        }
    }
    if groups.len() > MOST_FILMS {
        left_out.push(format!("videos show only the first {MOST_FILMS} of {} groups", groups.len()));
    }
    films
}

fn film(context: &Context, group: &Group) -> Outcome<Film> {
    let score = |seed: &run_data::SeedData| {
        seed.series("eval", rlxp_store::MEAN_RETURN)
            .and_then(|series| series.last())
            .map_or(f64::NEG_INFINITY, |(_, value)| value)
    };
    let finished = || group.seeds().filter(|(_, seed)| seed.state == SeedState::Finished);
    let (run, seed) = finished()
        .max_by(|(_, a), (_, b)| score(a).total_cmp(&score(b)))
        .or_else(|| group.seeds().next())
        .ok_or_else(|| Failure::usage("no_seed", "it has no seed"))?;
    let checkpoint = seed.folder.path().join("checkpoints").join(rlxp_store::BEST);
    let made = video(
        context,
        &VideoRequest {
            checkpoint: checkpoint.display().to_string(),
            show: Show::BestAndWorst(FILM_EPISODES),
            seed: crate::training::eval::FIRST_SEED,
            sampled: false,
            overlay: true,
            max_steps: None,
            max_seconds: FILM_SECONDS,
            frames_per_second: None,
            size: None,
            output: None,
        },
        &mut |_| {},
    )?;
    let mp4 = run.run.fs().read(Path::new(&made.file), made.bytes.saturating_add(1))?;
    let episodes: Vec<String> = made
        .episodes
        .iter()
        .map(|episode| {
            let label = episode.label.as_deref().unwrap_or("episode");
            format!("{label}: return {}, {} steps", report_number(episode.total), episode.length)
        })
        .collect();
    let caption = format!(
        "{}, seed {}, best checkpoint (step {}); {}{}",
        group.label,
        made.training_seed,
        made.step,
        episodes.join("; "),
        if made.cut { "; cut" } else { "" }
    );
    Ok(Film { caption, mp4, width: made.width, height: made.height })
}

fn title(groups: &[Group]) -> String {
    let labels: Vec<&str> = groups.iter().map(|group| group.label.as_str()).collect();
    match labels.as_slice() {
        [only] => (*only).to_owned(),
        [a, b] => format!("{b} against {a}"),
        [a, others @ ..] => format!("{} groups against {a}", others.len()),
        [] => String::new(),
    }
}

fn subtitle(groups: &[Group]) -> String {
    let mut environments: Vec<&str> =
        groups.iter().flat_map(|group| &group.runs).map(|run| run.config.env.id.as_str()).collect();
    environments.sort_unstable();
    environments.dedup();
    let seeds: usize = groups.iter().map(|group| group.seeds().count()).sum();
    let steps: u64 = groups.iter().flat_map(Group::seeds).map(|(_, seed)| seed.metrics.last_step).sum();
    format!("{}, {seeds} seeds, {} training steps in all", environments.join(", "), grouped(steps))
}

/// Where the report goes: what was asked for, or a name made from the groups.
fn output_path(context: &Context, request: &ReportRequest, groups: &[Group]) -> Outcome<PathBuf> {
    let Some(output) = &request.output else {
        let plain = |label: &str| -> String {
            label.chars().map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect()
        };
        let names: Vec<String> = groups.iter().take(2).map(|group| plain(&group.label)).collect();
        let more = if groups.len() > 2 { format!("_and_{}_more", groups.len() - 2) } else { String::new() };
        // A file name has at most 255 bytes.
        let mut name = format!("report_{}{more}", names.join("_vs_"));
        while name.len() > 200 {
            name.pop();
        }
        return Ok(project(context)?.root().join("analysis").join(format!("{name}.html")));
    };
    let path = context.folder.join(output);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !matches!(extension.to_ascii_lowercase().as_str(), "html" | "htm") {
        let message = format!("{} does not end in .html", path.display());
        return Err(Failure::usage("report_format", message).hint("rlx report @last --output report.html"));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    if !context.fs.is_folder(folder)? {
        let message = format!("there is no folder {} to put the report into", folder.display());
        return Err(Failure::usage("folder_not_found", message)
            .hint(format!("mkdir -p {}", shell_word(&folder.display().to_string()))));
    }
    Ok(path)
}
