//! The videos of a report.

use std::path::Path;

use rlxp_fs::FsExt;
use rlxp_types::text::report_number;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::insight::run_data;
use crate::insight::run_data::{Group, SeedState};
use crate::insight::video::{Show, VideoRequest, video};

use super::page::Film;

/// Most groups that get a video.
const MOST_FILMS: usize = 4;
/// Episodes among which the best and the worst are chosen.
const FILM_EPISODES: usize = 20;
/// Longest video in seconds, since it is embedded in the file.
const FILM_SECONDS: f64 = 20.0;

/// One video per group: the best and the worst of some episodes of its best
/// finished seed. A group without one says why.
pub(super) fn films(
    context: &Context,
    groups: &[Group],
    labels: &[String],
    tell: &mut dyn FnMut(&str),
    left_out: &mut Vec<String>,
) -> Vec<Film> {
    let mut films = Vec::new();
    for (group, label) in groups.iter().zip(labels).take(MOST_FILMS) {
        tell(&format!("recording {label}"));
        match film(context, group, label) {
            Ok(film) => films.push(film),
            Err(failure) => left_out.push(format!("no video of {label}: {}", failure.message)),
        }
    }
    if groups.len() > MOST_FILMS {
        left_out.push(format!("videos show only the first {MOST_FILMS} of {} groups", groups.len()));
    }
    films
}

fn film(context: &Context, group: &Group, label: &str) -> Outcome<Film> {
    let score = |seed: &run_data::SeedData| {
        seed.series("eval", rlxp_store::MEAN_RETURN)
            .and_then(|series| series.last())
            .map_or(f64::NEG_INFINITY, |(_, value)| value)
    };
    let finished = || group.seeds().filter(|(_, seed)| seed.state == SeedState::Finished);
    let (run, seed) = finished()
        .max_by(|(_, a), (_, b)| score(a).total_cmp(&score(b)))
        .or_else(|| group.seeds().next())
        .ok_or_else(|| Failure::usage("no_seed", "the group has no seeds"))?;
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
            let which = episode.label.as_deref().unwrap_or("episode");
            format!("{which}: return {}, {} steps", report_number(episode.total), episode.length)
        })
        .collect();
    let caption = format!(
        "{label}, seed {}, best checkpoint (step {}); {}{}",
        made.training_seed,
        made.step,
        episodes.join("; "),
        if made.cut { "; cut off" } else { "" }
    );
    Ok(Film { caption, mp4, width: made.width, height: made.height })
}
