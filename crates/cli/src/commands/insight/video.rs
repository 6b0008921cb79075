//! `rlx video`

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use rlxp_ops::insight::video::{
    BEST_AND_WORST_OF, SECONDS, Show, ShownEpisode, VideoNote, VideoProgress, VideoReport, VideoRequest,
    video,
};
use rlxp_ops::training::eval::FIRST_SEED;
use rlxp_ops::{Context, Outcome};
use rlxp_types::Exit;

use crate::complete;
use crate::format;
use crate::screen::Screen;
use crate::table::{Align, Table};

const EXAMPLES: &str = "\
Examples:
  rlx video @last
  rlx video @last:latest --episodes 3 --overlay
  rlx video @last --best-and-worst --output best.gif
  rlx video runs/ppo_cartpole_001/checkpoints/best --grid 9 --max-seconds 5
  rlx video @last --seed 7 --stochastic --max-steps 50 --json";

/// Time between lines where no line can be written over.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Time between two states of the live line.
const LIVE_EVERY: Duration = Duration::from_millis(100);
/// Episodes that the table shows; JSON has all.
const SHOWN: usize = 20;

/// Record episodes of a checkpoint as an MP4 or GIF
///
/// Plays the same episodes as `rlx eval` with the same seeds, one step per frame,
/// and pauses at the end of each. Frames show the true state, including what
/// wrappers hide from the policy; the return is the sum of raw rewards. The same
/// checkpoint and seed give the same file.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Video {
    /// A run (its best checkpoint), RUN:latest, RUN:SEED:step_N, or a checkpoint's folder
    #[arg(value_name = "CHECKPOINT|RUN", add = complete::runs())]
    checkpoint: String,
    /// Episodes to show, or to choose from with --best-and-worst [default: 1, or 20 with --best-and-worst]
    #[arg(long, value_name = "N", conflicts_with = "grid")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    episodes: Option<u64>,
    /// Show only the best and the worst episode
    #[arg(long, conflicts_with = "grid")]
    best_and_worst: bool,
    /// Show N episodes side by side
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    grid: Option<u64>,
    /// Seed of the first episode
    #[arg(long, value_name = "SEED", default_value_t = FIRST_SEED)]
    seed: u64,
    /// Sample actions instead of taking the most likely one
    #[arg(long, alias = "sampled")]
    stochastic: bool,
    /// Write episode, step, return and action on each frame
    #[arg(long)]
    overlay: bool,
    /// File to write, .mp4 or .gif [default: the run's videos/CHECKPOINT_SEED.mp4]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Frames (steps) per second [default: depends on the environment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=240))]
    fps: Option<u32>,
    /// Width and height in pixels, such as 900x600
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<(u32, u32)>,
    /// Show only the first N steps of each episode
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_steps: Option<u64>,
    /// Maximum length of the video
    #[arg(long, value_name = "SECONDS", default_value_t = SECONDS)]
    max_seconds: f64,
}

/// `900x600` as two numbers.
fn size(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once(['x', 'X', '×']);
    let numbers = parts.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    numbers.ok_or_else(|| "expected two whole numbers, such as 900x600".to_owned())
}

impl Video {
    pub(crate) fn run(&self, context: &Context, screen: &Screen) -> Outcome<Exit> {
        let episodes = self.episodes.map(|count| count as usize);
        let request = VideoRequest {
            checkpoint: self.checkpoint.clone(),
            show: match self.grid {
                Some(count) => Show::Grid(count as usize),
                None if self.best_and_worst => Show::BestAndWorst(episodes.unwrap_or(BEST_AND_WORST_OF)),
                None => Show::Episodes(episodes.unwrap_or(1)),
            },
            seed: self.seed,
            sampled: self.stochastic,
            overlay: self.overlay,
            max_steps: self.max_steps,
            max_seconds: self.max_seconds,
            frames_per_second: self.fps,
            size: self.size,
            output: self.output.clone(),
        };
        let mut line = Line { screen, last: None, is_live: false };
        let result = video(context, &request, &mut |progress| line.show(progress));
        line.clear();
        let report = result?;
        if screen.is_json() {
            screen.json(&report);
            return Ok(Exit::Yes);
        }
        show(screen, &report);
        Ok(Exit::Yes)
    }
}

fn show(screen: &Screen, report: &VideoReport) {
    for note in &report.notes {
        match note {
            VideoNote::Cut(note) => screen.warning(note),
            VideoNote::Remark(note) => screen.note(note),
        }
    }
    screen.note(&format!("{} at step {} on {}", report.run, format::count(report.step), report.env));
    episodes(&report.episodes).lines().for_each(|line| screen.note(line));
    screen.note(&format!(
        "{} frames of {}×{}, {:.1} s, {}",
        format::count(report.frames),
        report.width,
        report.height,
        report.seconds,
        format::bytes(report.bytes)
    ));
    screen.line(&report.file);
}

fn episodes(shown: &[ShownEpisode]) -> String {
    let columns = [("seed", Align::Right), ("return", Align::Right), ("steps", Align::Right)];
    let mut table = Table::new(columns.into_iter().chain([("end", Align::Left)]));
    for episode in shown.iter().take(SHOWN) {
        let end = if episode.terminated { "ended" } else { "step limit" };
        let end = match &episode.label {
            Some(label) => format!("{end} ({label})"),
            None => end.to_owned(),
        };
        table.row([
            episode.seed.to_string(),
            format::score(episode.total),
            format::count(episode.length),
            end,
        ]);
    }
    let mut text = table.render("  ", str::to_owned);
    if shown.len() > SHOWN {
        text.push_str(&format!("  and {} more", shown.len() - SHOWN));
    }
    text
}

/// How far the making has come, on stderr.
struct Line<'a> {
    screen: &'a Screen,
    last: Option<Instant>,
    is_live: bool,
}

impl Line<'_> {
    fn show(&mut self, VideoProgress { done, total }: VideoProgress) {
        let live = self.screen.is_live();
        let pause = if live { LIVE_EVERY } else { LINE_EVERY };
        if !self.screen.is_talkative() || self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        self.last = Some(Instant::now());
        let text = format!(
            "frame {} of {}, {}%",
            format::count(done),
            format::count(total),
            done * 100 / total.max(1)
        );
        if live {
            self.screen.live(&text);
            self.is_live = true;
        } else {
            self.screen.note(&text);
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_live) {
            self.screen.live("");
        }
    }
}
