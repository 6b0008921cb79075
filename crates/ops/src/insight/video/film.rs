//! From a plan to the bytes of a video: several threads draw, one encodes, in the order of the plan.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Builder;

use rlxp_draw::environment::{HEIGHT, Look, WIDTH, scene, whole};
use rlxp_draw::{Color, Frame};
use rlxp_env::{EnvInfo, Space, View};
use rlxp_learn::Episode;
use rlxp_types::Exit;
use rlxp_types::text::shell_word;
use rlxp_video::{FrameSize, Gif, Mp4, VideoError};

use super::camera::Recording;
use super::plan::{Picture, Plan, Shot};
use super::words::{self, Caption};
use super::{Show, VideoProgress};
use crate::failure::{Failure, Outcome, describe};

/// Pictures that a drawing thread may be ahead of the encoder.
const AHEAD: usize = 4;
/// Most drawing threads: beyond that, encoding is the bottleneck.
const DRAWERS_MAX: usize = 8;
/// Largest grid unless a size is requested.
const GRID_SIZE: (u32, u32) = (1200, 800);
/// Pixels between the pictures of a grid.
const GAP: u32 = 4;
/// Smallest picture in which anything is recognisable.
const SMALLEST: (u32, u32) = (30, 20);
/// The background between and around pictures.
const AROUND: Color = Color::hex(0x9a_a3_af);

/// The format that a file name implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Mp4,
    Gif,
}

impl Format {
    /// The format of a file with this name.
    pub(super) fn from_path(path: &Path) -> Outcome<Self> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("mp4") => Ok(Self::Mp4),
            Some("gif") => Ok(Self::Gif),
            _ => {
                let message = format!("{}: unsupported format; use .mp4 or .gif", path.display());
                let better = path.with_extension("mp4");
                Err(Failure::usage("video_format", message)
                    .hint(format!("--output {}", shell_word(&better.display().to_string()))))
            }
        }
    }
}

/// Frames in, a file out.
pub(super) enum Encoder {
    Mp4(Box<Mp4>),
    Gif(Gif),
}

impl Encoder {
    /// The encoder for a file with this name, which [`Format::from_path`] has accepted.
    pub(super) fn new(path: &Path, size: FrameSize, frames_per_second: u32) -> Result<Self, VideoError> {
        match Format::from_path(path) {
            Ok(Format::Gif) => Gif::new(size, frames_per_second).map(Self::Gif),
            _ => Mp4::new(size, frames_per_second).map(|mp4| Self::Mp4(Box::new(mp4))),
        }
    }

    fn push(&mut self, rgba: &[u8]) -> Result<(), VideoError> {
        match self {
            Self::Mp4(mp4) => mp4.push(rgba),
            Self::Gif(gif) => gif.push(rgba),
        }
    }

    fn finish(self) -> Result<Vec<u8>, VideoError> {
        match self {
            Self::Mp4(mp4) => mp4.finish(),
            Self::Gif(gif) => gif.finish(),
        }
    }
}

/// The positions of a frame's pictures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    size: FrameSize,
    tiles: Vec<Tile>,
    is_grid: bool,
}

/// A rectangle of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
}

impl Tile {
    /// Pixels per unit of a picture that fits.
    fn scale(self) -> f32 {
        (self.width as f32 / WIDTH).min(self.height as f32 / HEIGHT)
    }
}

impl Layout {
    pub(super) fn new(show: Show, size: Option<(u32, u32)>) -> Self {
        let Show::Grid(count) = show else {
            let (width, height) = size.unwrap_or((WIDTH as u32, HEIGHT as u32));
            let tiles = vec![Tile { x: 0, y: 0, width, height }];
            return Self { size: FrameSize { width, height }, tiles, is_grid: false };
        };
        let columns = (count as f64).sqrt().ceil().max(1.0) as u32;
        let rows = (count as u32).div_ceil(columns).max(1);
        let (width, height) = size.unwrap_or_else(|| {
            // As large as a single picture if there is room, and even.
            let each = (GRID_SIZE.0 / columns).min(GRID_SIZE.1 / rows * 3 / 2).min(WIDTH as u32) / 2 * 2;
            (columns * each, rows * (each * 2 / 3 / 2 * 2))
        });
        let (across, down) = (width / columns, height / rows);
        let gap = if count == 1 { 0 } else { GAP };
        // A partial row is centred.
        let missing = rows * columns - count as u32;
        let indent = |row: u32| if row + 1 == rows { missing * across / 2 } else { 0 };
        let tiles = (0..count as u32).map(|index| Tile {
            x: index % columns * across + indent(index / columns) + gap / 2,
            y: index / columns * down + gap / 2,
            width: across.saturating_sub(gap).max(1),
            height: down.saturating_sub(gap).max(1),
        });
        Self { size: FrameSize { width, height }, tiles: tiles.collect(), is_grid: true }
    }

    pub(super) fn size(&self) -> FrameSize {
        self.size
    }

    /// Why nothing would be recognisable in these pictures, if so.
    pub(super) fn problem(&self) -> Option<String> {
        let tile = self.tiles.first()?;
        let too_small = tile.width < SMALLEST.0 || tile.height < SMALLEST.1;
        too_small.then(|| {
            let (across, down) = SMALLEST;
            let count = self.tiles.len();
            let plural = if count == 1 { "" } else { "s" };
            format!(
                "{} is too small for {count} picture{plural}: each needs {across}×{down} pixels",
                self.size
            )
        })
    }
}

/// Everything that a frame is made from.
pub(super) struct Setting<'a> {
    pub(super) plan: &'a Plan,
    pub(super) recordings: &'a BTreeMap<usize, Recording>,
    pub(super) episodes: &'a [Episode],
    pub(super) layout: &'a Layout,
    pub(super) overlay: bool,
    pub(super) names: Option<&'static EnvInfo>,
    pub(super) actions: &'a Space,
    pub(super) threads: usize,
}

/// Draws and encodes the plan.
pub(super) fn shoot(
    setting: &Setting<'_>,
    mut encoder: Encoder,
    interrupted: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(VideoProgress),
) -> Outcome<Vec<u8>> {
    let pictures = &setting.plan.pictures;
    let failed = |error: VideoError| Failure::new(Exit::Bug, "video", describe(&error));
    let drawers = setting.threads.clamp(1, DRAWERS_MAX).min(pictures.len().max(1));
    std::thread::scope(|scope| {
        let mut lanes: Vec<Lane<'_>> = (0..drawers)
            .map(|drawer| {
                let (sender, receiver) = sync_channel(AHEAD);
                let draw = move || {
                    let mut painter = Painter::new(setting);
                    for picture in pictures.iter().skip(drawer).step_by(drawers) {
                        // The encoder has stopped; the rest isn't needed.
                        if sender.send(painter.paint(picture)).is_err() {
                            return;
                        }
                    }
                };
                match Builder::new().spawn_scoped(scope, draw) {
                    Ok(_) => Lane::Beside(receiver),
                    // Without a free thread this is slower, and that is all.
                    Err(_) => Lane::Here(Painter::new(setting)),
                }
            })
            .collect();
        let mut progress = VideoProgress { done: 0, total: setting.plan.frames() };
        for (index, picture) in pictures.iter().enumerate() {
            if interrupted() {
                let message = "interrupted; no video was written";
                return Err(Failure::new(Exit::Interrupted, "interrupted", message));
            }
            let canvas = match &mut lanes[index % drawers] {
                Lane::Here(painter) => painter.paint(picture),
                Lane::Beside(drawn) => drawn.recv().map_err(|_| {
                    Failure::new(Exit::Bug, "video", format!("picture {index} could not be drawn"))
                })?,
            };
            for _ in 0..picture.frames {
                encoder.push(&canvas).map_err(failed)?;
            }
            progress.done += picture.frames;
            tell(progress);
        }
        encoder.finish().map_err(failed)
    })
}

/// What draws every n-th picture.
enum Lane<'a> {
    /// A thread.
    Beside(Receiver<Vec<u8>>),
    /// The thread that encodes.
    Here(Painter<'a>),
}

/// Draws pictures one after the other; a picture that doesn't change is drawn once.
struct Painter<'a> {
    setting: &'a Setting<'a>,
    /// The last picture of each tile whose episode is over.
    still: Vec<Option<(Shot, Frame)>>,
}

impl<'a> Painter<'a> {
    fn new(setting: &'a Setting<'a>) -> Self {
        Self { setting, still: vec![None; setting.layout.tiles.len()] }
    }

    fn paint(&mut self, picture: &Picture) -> Vec<u8> {
        let layout = self.setting.layout;
        let FrameSize { width, height } = layout.size;
        if let ([shot], [tile]) = (picture.shots.as_slice(), layout.tiles.as_slice()) {
            let frame = self.draw(*shot, *tile);
            if (frame.width, frame.height) == (width, height) {
                return frame.rgba;
            }
        }
        let ground = [AROUND.red, AROUND.green, AROUND.blue, 255];
        let mut canvas = ground.repeat(width as usize * height as usize);
        for (index, (shot, tile)) in picture.shots.iter().zip(&layout.tiles).enumerate() {
            let kept = self.still[index].take().filter(|(kept, _)| kept == shot);
            let (_, frame) = kept.unwrap_or_else(|| (*shot, self.draw(*shot, *tile)));
            copy_into(&mut canvas, layout.size, &frame, *tile);
            if shot.over {
                self.still[index] = Some((*shot, frame));
            }
        }
        canvas
    }

    fn draw(&self, shot: Shot, tile: Tile) -> Frame {
        let setting = self.setting;
        let chosen = &setting.plan.chosen[shot.chosen];
        let episode = &setting.episodes[chosen.episode];
        let (view, action, so_far) = setting
            .recordings
            .get(&chosen.episode)
            .and_then(|recording| recording.at(shot.at))
            .expect("what the plan shows was recorded");
        let names =
            setting.names.map_or((&[][..], &[][..]), |info| (info.observation_names, info.action_names));
        let look = Look { action, observation_names: names.0, action_names: names.1 };
        let captioned = setting.overlay || chosen.label.is_some();
        let mut picture = match view {
            View::Photo(photo) if !captioned => whole(photo),
            _ => scene(view, &look),
        };
        let whole = shot.at == episode.length;
        if shot.over && setting.layout.is_grid {
            words::finished(&mut picture, episode, whole);
        } else if captioned {
            let said = match action {
                Some(row) if !shot.over => words::action(setting.actions, names.1, row),
                _ => words::ending(episode, whole).to_owned(),
            };
            let position = || format!("episode {} of {}", shot.chosen + 1, setting.plan.chosen.len());
            let title = chosen.label.clone().unwrap_or_else(position);
            let caption = Caption {
                title: (!setting.layout.is_grid).then(|| format!("{title}, seed {}", episode.seed)),
                step: setting.overlay.then_some(shot.at),
                so_far,
                action: setting.overlay.then_some(said),
            };
            words::caption(&mut picture, &caption, setting.layout.is_grid);
        }
        picture.to_frame(tile.scale())
    }
}

/// Copies a picture into the middle of its tile.
fn copy_into(canvas: &mut [u8], size: FrameSize, frame: &Frame, tile: Tile) {
    let (width, height) = (frame.width.min(tile.width), frame.height.min(tile.height));
    let left = tile.x + (tile.width - width) / 2;
    let top = tile.y + (tile.height - height) / 2;
    for row in 0..height {
        let from = (row * frame.width * 4) as usize;
        let to = ((top + row) as usize * size.width as usize + left as usize) * 4;
        let bytes = width as usize * 4;
        canvas[to..to + bytes].copy_from_slice(&frame.rgba[from..from + bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_even_sides_and_tiles_that_do_not_overlap() {
        for count in 1..=64 {
            let layout = Layout::new(Show::Grid(count), None);
            let FrameSize { width, height } = layout.size;
            assert!(
                width % 2 == 0 && height % 2 == 0 && width <= 1200 && height <= 800,
                "{count}: {layout:?}"
            );
            assert_eq!(layout.tiles.len(), count);
            for (index, tile) in layout.tiles.iter().enumerate() {
                assert!(tile.x + tile.width <= width && tile.y + tile.height <= height, "{count}");
                for other in &layout.tiles[..index] {
                    let apart = tile.x >= other.x + other.width || tile.y >= other.y + other.height;
                    assert!(apart, "{count}: {tile:?} and {other:?}");
                }
            }
        }
        assert_eq!(Layout::new(Show::Grid(4), None).size, FrameSize { width: 1200, height: 800 });
        assert_eq!(Layout::new(Show::Episodes(4), None).size, FrameSize { width: 600, height: 400 });
    }

    #[test]
    fn pictures_of_any_size_that_is_allowed_fit() {
        for size in [(0, 0), (1, 1), (30, 20), (31, 500), (500, 31), (271, 193), (3840, 2)] {
            for show in [Show::Grid(64), Show::Grid(5), Show::Grid(1), Show::Episodes(1)] {
                let layout = Layout::new(show, Some(size));
                if layout.problem().is_some() {
                    continue;
                }
                let frame = Frame { width: 700, height: 500, rgba: vec![7; 700 * 500 * 4] };
                let mut canvas = vec![0; layout.size.rgba_bytes()];
                for tile in &layout.tiles {
                    copy_into(&mut canvas, layout.size, &frame, *tile);
                }
            }
        }
        assert!(Layout::new(Show::Grid(64), Some((200, 100))).problem().unwrap().contains("64 pictures"));
    }

    #[test]
    fn formats_are_known_by_their_names() {
        assert_eq!(Format::from_path(Path::new("a/clip.MP4")).unwrap(), Format::Mp4);
        assert_eq!(Format::from_path(Path::new("clip.gif")).unwrap(), Format::Gif);
        for bad in ["clip.avi", "clip", "mp4", ".gif"] {
            let failure = Format::from_path(Path::new(bad)).unwrap_err();
            assert!(failure.message.contains(".mp4") && failure.message.contains(".gif"));
        }
    }
}
