//! Which state of which episode each frame shows, decided from lengths alone.

use std::collections::BTreeMap;

use rlxp_learn::Episode;

use super::{Show, ShownEpisode, VideoRequest};

/// Seconds for which the end of an episode is held.
const HOLD: f64 = 1.0;

/// An episode that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// Its index among the played episodes.
    pub(super) episode: usize,
    /// Why it is shown.
    pub(super) label: Option<String>,
}

/// One state of a chosen episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shot {
    pub(super) chosen: usize,
    /// The number of steps before it.
    pub(super) at: u64,
    /// Whether no later state of this episode is shown.
    pub(super) over: bool,
}

/// One picture, shown for some frames: a shot for each tile of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) shots: Vec<Shot>,
    pub(super) frames: u64,
}

/// The whole video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) chosen: Vec<Chosen>,
    pub(super) pictures: Vec<Picture>,
    /// Whether it has fewer frames than the episodes would fill.
    pub(super) cut: bool,
    /// Last shown state of each chosen episode; `None` if it is not shown.
    last: Vec<Option<u64>>,
}

impl Plan {
    pub(super) fn new(
        request: &VideoRequest,
        chosen: Vec<Chosen>,
        episodes: &[Episode],
        frames_per_second: u32,
    ) -> Self {
        let hold = (f64::from(frames_per_second) * HOLD).round().max(1.0) as u64;
        let most = (f64::from(frames_per_second) * request.max_seconds).floor().clamp(1.0, 1e9) as u64;
        let ends = chosen.iter().map(|chosen| {
            let length = episodes[chosen.episode].length;
            request.max_steps.map_or(length, |most| most.min(length))
        });
        let ends: Vec<u64> = ends.collect();
        let pictures: Box<dyn Iterator<Item = Picture>> = match request.show {
            Show::Grid(_) => Box::new(at_once(&ends, hold)),
            Show::Episodes(_) | Show::BestAndWorst(_) => Box::new(in_turn(&ends, hold)),
        };
        let mut plan = Self { last: vec![None; chosen.len()], chosen, pictures: Vec::new(), cut: false };
        let mut frames = 0;
        for mut picture in pictures {
            if frames == most {
                plan.cut = true;
                break;
            }
            // A shorter hold at the end needs no note.
            picture.frames = picture.frames.min(most - frames);
            frames += picture.frames;
            for shot in &picture.shots {
                plan.last[shot.chosen] = Some(shot.at);
            }
            plan.pictures.push(picture);
        }
        plan
    }

    pub(super) fn frames(&self) -> u64 {
        self.pictures.iter().map(|picture| picture.frames).sum()
    }

    /// The last shown state of each played episode.
    pub(super) fn steps_needed(&self) -> BTreeMap<usize, u64> {
        let last = self.chosen.iter().zip(&self.last);
        last.filter_map(|(chosen, last)| Some((chosen.episode, (*last)?))).collect()
    }

    /// The chosen episodes that are shown.
    pub(super) fn shown(&self, episodes: &[Episode]) -> Vec<ShownEpisode> {
        let last = self.chosen.iter().zip(&self.last);
        last.filter_map(|(chosen, last)| {
            let episode = episodes[chosen.episode];
            Some(ShownEpisode {
                label: chosen.label.clone(),
                seed: episode.seed,
                total: episode.total,
                length: episode.length,
                terminated: !episode.truncated,
                shown_steps: (*last)?,
            })
        })
        .collect()
    }

    /// A note about what the plan leaves out.
    pub(super) fn note(&self, request: &VideoRequest) -> Option<String> {
        if !self.cut {
            return None;
        }
        let unseen = self.last.iter().filter(|last| last.is_none()).count();
        let rest = match unseen {
            0 => String::new(),
            1 => "; 1 episode is not shown".to_owned(),
            _ => format!("; {unseen} episodes are not shown"),
        };
        Some(format!(
            "the video was cut off after {} s{rest}; raise --max-seconds, or shorten episodes with --max-steps",
            request.max_seconds
        ))
    }
}

/// One episode after the other, holding the end of each.
fn in_turn(ends: &[u64], hold: u64) -> impl Iterator<Item = Picture> {
    ends.iter().enumerate().flat_map(move |(chosen, end)| {
        (0..=*end).map(move |at| {
            let over = at == *end;
            Picture { shots: vec![Shot { chosen, at, over }], frames: if over { hold } else { 1 } }
        })
    })
}

/// All at once; finished ones wait for the others.
fn at_once(ends: &[u64], hold: u64) -> impl Iterator<Item = Picture> {
    let longest = ends.iter().copied().max().unwrap_or(0);
    (0..=longest).map(move |time| Picture {
        shots: ends
            .iter()
            .enumerate()
            .map(|(chosen, end)| Shot { chosen, at: time.min(*end), over: time >= *end })
            .collect(),
        frames: if time == longest { hold } else { 1 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(show: Show) -> VideoRequest {
        VideoRequest {
            checkpoint: "x".into(),
            show,
            seed: 0,
            sampled: false,
            overlay: false,
            max_steps: None,
            max_seconds: 60.0,
            frames_per_second: None,
            size: None,
            output: None,
        }
    }

    fn plan(request: &VideoRequest, lengths: &[u64], frames_per_second: u32) -> Plan {
        let episode =
            |length: &u64| Episode { seed: 0, total: 0.0, length: *length, truncated: false, success: None };
        let episodes: Vec<Episode> = lengths.iter().map(episode).collect();
        let chosen = (0..lengths.len()).map(|episode| Chosen { episode, label: None }).collect();
        Plan::new(request, chosen, &episodes, frames_per_second)
    }

    #[test]
    fn episodes_in_turn_show_every_state_and_hold_their_end() {
        let plan = plan(&request(Show::Episodes(2)), &[3, 1], 10);
        let seen: Vec<(usize, u64, u64)> = plan
            .pictures
            .iter()
            .map(|picture| (picture.shots[0].chosen, picture.shots[0].at, picture.frames))
            .collect();
        assert_eq!(seen, [(0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 10), (1, 0, 1), (1, 1, 10)]);
        assert_eq!((plan.frames(), plan.cut), (24, false));
        assert_eq!(plan.steps_needed(), BTreeMap::from([(0, 3), (1, 1)]));
    }

    #[test]
    fn a_grid_waits_for_the_longest() {
        let plan = plan(&request(Show::Grid(2)), &[3, 1], 5);
        let seen: Vec<Vec<(u64, bool)>> = plan
            .pictures
            .iter()
            .map(|picture| picture.shots.iter().map(|shot| (shot.at, shot.over)).collect())
            .collect();
        assert_eq!(
            seen,
            [
                [(0, false), (0, false)],
                [(1, false), (1, true)],
                [(2, false), (1, true)],
                [(3, true), (1, true)]
            ]
        );
        assert_eq!(plan.frames(), 8);
    }

    #[test]
    fn a_long_video_is_cut_and_says_so() {
        let asked = VideoRequest { max_seconds: 2.0, ..request(Show::Episodes(3)) };
        let plan = plan(&asked, &[15, 30, 30], 10);
        assert_eq!((plan.frames(), plan.cut), (20, true));
        assert_eq!(plan.steps_needed(), BTreeMap::from([(0, 15)]), "the end of the first is held to the end");
        let note = plan.note(&asked).unwrap();
        assert!(note.contains("2 episodes are not shown"), "{note}");
    }

    #[test]
    fn only_the_first_steps_are_shown_on_request() {
        let asked = VideoRequest { max_steps: Some(2), ..request(Show::Episodes(1)) };
        let plan = plan(&asked, &[100], 10);
        assert_eq!(plan.steps_needed(), BTreeMap::from([(0, 2)]));
        assert_eq!((plan.frames(), plan.cut), (12, false));
    }
}
