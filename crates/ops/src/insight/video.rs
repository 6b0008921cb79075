//! `rlx video`: episodes of a checkpoint as a video.
//!
//! The episodes are those that `rlx eval` plays from the same seeds: the policy sees what its wrappers let it see,
//! the picture shows the true state, and the return is the raw one. They are played twice, first only for lengths and
//! returns, so that only what will be shown is kept in memory.

mod camera;
mod film;
mod plan;
#[cfg(test)]
mod tests;
mod words;

use std::path::{Path, PathBuf};

use rlxp_env::Sources;
use rlxp_fs::FsExt;
use rlxp_launch::Interrupts;
use rlxp_learn::{Actor, Episode, evaluate};
use rlxp_types::Exit;
use rlxp_types::text::shell_word;
use rlxp_video::{FrameSize, Problem, VideoError};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome, describe};
use crate::output_file;
use crate::select::checkpoint::CheckpointRef;
use crate::studies::files::permit_training;
use crate::training::bridge::Python;
use crate::training::envs::SOURCES;
use crate::training::recorded::config_of;
use crate::training::weights::Weights;

use film::{Encoder, Layout, Setting};
use plan::{Chosen, Plan};

/// Most copies in one picture.
pub const GRID_MAX: usize = 64;
/// Most episodes that one call plays.
pub const EPISODES_MAX: usize = 10_000;
/// Longest video by default, in seconds.
pub const SECONDS: f64 = 60.0;
/// Default number of episodes among which the best and the worst are chosen.
pub const BEST_AND_WORST_OF: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// This many episodes, one after the other.
    Episodes(usize),
    /// The best and the worst of this many episodes.
    BestAndWorst(usize),
    /// This many episodes at once.
    Grid(usize),
}

#[derive(Clone, Debug)]
pub struct VideoRequest {
    /// A checkpoint's folder, or a run with `:best`, `:latest` or `:step_N`; a run alone means its best checkpoint,
    /// with several seeds that of the best seed.
    pub checkpoint: String,
    pub show: Show,
    /// Seed of the first episode.
    pub seed: u64,
    /// Sample actions instead of taking the most likely.
    pub sampled: bool,
    /// Draw episode, step, return and action on each frame.
    pub overlay: bool,
    /// Show at most this many steps of each episode.
    pub max_steps: Option<u64>,
    /// The video stops after this many seconds.
    pub max_seconds: f64,
    /// Frames per second, one step each; by default what suits the environment.
    pub frames_per_second: Option<u32>,
    /// Width and height; by default what suits the environment.
    pub size: Option<(u32, u32)>,
    /// The file, an mp4 or a gif; by default in the run's `videos/`.
    pub output: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownEpisode {
    /// Why it was chosen, such as `best of 20`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub seed: u64,
    /// Sum of raw rewards over the whole episode.
    #[serde(rename = "return")]
    pub total: f64,
    /// Steps of the whole episode.
    pub length: u64,
    /// It terminated, and was not truncated by the step limit.
    pub terminated: bool,
    /// Number of steps that the video shows.
    pub shown_steps: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct VideoReport {
    pub run: String,
    /// Step of the checkpoint.
    pub step: u64,
    /// Training seed of the policy.
    pub training_seed: u64,
    pub env: String,
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    pub frames_per_second: u32,
    pub frames: u64,
    /// Length of the video.
    pub seconds: f64,
    /// Whether actions were sampled.
    pub sampled: bool,
    /// Episodes that were played to choose from.
    pub played: usize,
    /// The episodes in the video, in the order in which they appear.
    pub episodes: Vec<ShownEpisode>,
    /// Whether the video ends before its episodes do.
    pub cut: bool,
    /// Caveats for the viewer.
    pub notes: Vec<VideoNote>,
}

/// A remark about a video; in JSON its text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum VideoNote {
    Remark(String),
    /// The video ends before its episodes do.
    Cut(String),
}

/// Progress of making a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoProgress {
    /// Frames done.
    pub done: u64,
    /// Total frames.
    pub total: u64,
}

/// Makes a video; `tell` receives the progress of each frame.
pub fn video(
    context: &Context,
    request: &VideoRequest,
    tell: &mut dyn FnMut(VideoProgress),
) -> Outcome<VideoReport> {
    check(request)?;
    let output = request.output.as_deref().map(|output| output_path(context, output)).transpose()?;
    let interrupts = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("signals can't be caught: {error}")))?;

    let (found, about_seeds) = CheckpointRef::find(context, &request.checkpoint)?;
    let permit = permit_training(context, found.run.path())?;
    let config = config_of(&found.run)?;
    let python = Python::of_run(permit, context, &found.run, &config)?.filming();
    let table = python.table();
    let sources = Sources::new(&table);
    let (_, actions) = sources.spaces(&config.env).map_err(rlxp_learn::LearnError::from)?;
    let agent = Weights::load(sources, &config, &found.folder, found.step)?.agent;
    let actor = if request.sampled { Actor::Stochastic(&*agent) } else { Actor::Deterministic(&*agent) };

    let count = match request.show {
        Show::Episodes(count) | Show::BestAndWorst(count) | Show::Grid(count) => count,
    };
    let frames_per_second = match request.frames_per_second {
        Some(rate) => rate,
        None => camera::usual_rate(sources, &config, request.seed)?,
    };
    let layout = Layout::new(request.show, request.size);
    if let Some(problem) = layout.problem() {
        return Err(Failure::usage("video_settings", problem).hint("--size 1200x800"));
    }
    let default = || {
        let name = default_name(found.step, request);
        found.folder.path().join("videos").join(name)
    };
    let path = output.unwrap_or_else(default);
    // Impossible settings are found before anything is played.
    let encoder = Encoder::new(&path, layout.size(), frames_per_second).map_err(refuse)?;

    let episodes = evaluate(sources, &config, actor, count, request.seed)?.episodes;
    let (chosen, remarks) = choose(request.show, &episodes);
    let plan = Plan::new(request, chosen, &episodes, frames_per_second);
    let mut notes: Vec<VideoNote> = remarks.into_iter().chain(about_seeds).map(VideoNote::Remark).collect();
    notes.extend(plan.note(request).map(VideoNote::Cut));
    let recordings = camera::record(sources, &config, actor, request.seed, count, &plan.steps_needed())?;

    let setting = Setting {
        plan: &plan,
        recordings: &recordings,
        episodes: &episodes,
        layout: &layout,
        overlay: request.overlay,
        names: SOURCES.find(&config.env.id).ok(),
        actions: &actions,
        threads: context.cores,
    };
    let bytes = film::shoot(&setting, encoder, &|| interrupts.requested(), tell)?;
    if request.output.is_none() {
        found.run.write_output(&path, &bytes)?;
    } else {
        output_file::write(context, &path, &bytes)?;
    }

    let frames = plan.frames();
    let size = layout.size();
    Ok(VideoReport {
        run: found.run.name(),
        step: found.step,
        training_seed: found.folder.seed(),
        env: config.env.id.clone(),
        file: path.display().to_string(),
        bytes: bytes.len() as u64,
        width: size.width,
        height: size.height,
        frames_per_second,
        frames,
        seconds: frames as f64 / f64::from(frames_per_second),
        sampled: request.sampled,
        played: count,
        episodes: plan.shown(&episodes),
        cut: plan.cut,
        notes,
    })
}

/// Checks a request before anything is read.
fn check(request: &VideoRequest) -> Outcome<()> {
    let (count, most, what) = match request.show {
        Show::Grid(count) => (count, GRID_MAX, "copies in a grid"),
        Show::Episodes(count) | Show::BestAndWorst(count) => (count, EPISODES_MAX, "episodes"),
    };
    if count == 0 || count > most {
        return Err(Failure::usage("video_count", format!("{count} {what}: must be 1 to {most}")));
    }
    if request.max_steps == Some(0) {
        return Err(Failure::usage("video_steps", "--max-steps must be at least 1"));
    }
    if !(request.max_seconds.is_finite() && request.max_seconds > 0.0) {
        let message = format!("invalid video length: {} seconds", request.max_seconds);
        return Err(Failure::usage("video_seconds", message).hint("--max-seconds 60"));
    }
    Ok(())
}

/// The requested file, if it can be written.
fn output_path(context: &Context, output: &Path) -> Outcome<PathBuf> {
    let path = context.folder.join(output);
    film::Format::from_path(output)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let is_folder = match context.fs.canonicalize(folder) {
        Ok(folder) => context.fs.is_folder(&folder)?,
        Err(error) if error.is_not_found() => false,
        Err(error) => return Err(error.into()),
    };
    if !is_folder {
        let named = output.parent().filter(|named| !named.as_os_str().is_empty()).unwrap_or(folder).display();
        let message = format!("folder {named} does not exist");
        return Err(Failure::usage("folder_not_found", message)
            .hint(format!("mkdir -p {}", shell_word(&named.to_string()))));
    }
    if context.fs.is_folder(&path)? {
        let message = format!("{} is a folder", output.display());
        return Err(Failure::usage("output_is_folder", message));
    }
    Ok(path)
}

/// Checkpoint, first seed, and what distinguishes this video from others of the same checkpoint.
fn default_name(step: u64, request: &VideoRequest) -> String {
    let mut name = format!("step_{step}_{}", request.seed);
    match request.show {
        Show::Episodes(_) => {}
        Show::BestAndWorst(_) => name.push_str("_best_and_worst"),
        Show::Grid(count) => name.push_str(&format!("_grid_{count}")),
    }
    if request.sampled {
        name.push_str("_sampled");
    }
    name + ".mp4"
}

/// Which of the played episodes are shown.
fn choose(show: Show, episodes: &[Episode]) -> (Vec<Chosen>, Vec<String>) {
    let plain = |index: usize| Chosen { episode: index, label: None };
    let Show::BestAndWorst(count) = show else {
        return ((0..episodes.len()).map(plain).collect(), Vec::new());
    };
    let order = |a: &usize, b: &usize| episodes[*a].total.total_cmp(&episodes[*b].total);
    // Of equal ones the first, in both directions.
    let best = (0..episodes.len()).rev().max_by(order).expect("at least one episode was played");
    let worst = (0..episodes.len()).min_by(order).expect("at least one episode was played");
    let labelled = |episode: usize, word: &str| Chosen { episode, label: Some(format!("{word} of {count}")) };
    if episodes[best].total == episodes[worst].total {
        let note = format!(
            "all {count} episodes have the return {}: best and worst are the same",
            words::number(episodes[best].total)
        );
        return (vec![labelled(best, "best and worst")], vec![note]);
    }
    (vec![labelled(best, "best"), labelled(worst, "worst")], Vec::new())
}

/// An error of the encoder as a failure.
fn refuse(error: VideoError) -> Failure {
    let VideoError::Settings { problems } = &error else {
        return Failure::new(Exit::Bug, "video", describe(&error));
    };
    let failure = Failure::usage("video_settings", describe(&error));
    problems.iter().fold(failure, |failure, problem| match problem {
        Problem::Odd { fitting: FrameSize { width, height }, .. } => {
            failure.hint(format!("--size {width}x{height}"))
        }
        Problem::FramesPerSecond(_) => failure.hint("--fps 30"),
        _ => failure.hint("--size 1200x800"),
    })
}
