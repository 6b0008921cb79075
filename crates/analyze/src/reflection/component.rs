//! One component in one run, and over runs.

use std::collections::BTreeMap;

use super::track::{END_SHARE, Track, ends};
use super::{ComponentReflection, LEAST_POINTS, RunSeries, SAMPLES, Trend, difference, estimate, sum};
use crate::statistics::aggregate::mean;

/// A component whose values differ by less than this share of their mean is constant (F21).
pub(super) const CONSTANT: f64 = 0.05;
/// A value above this share of the largest one counts as the largest (F22).
const TOP: f64 = 0.98;
/// A component is saturated if it is at its top for more than this share of the time (F22) …
pub(super) const SATURATED_TIME: f64 = 0.8;
/// … from before this share of training.
const SATURATED_BEFORE: f64 = 0.2;
/// A trend is a change of more than this many times the noise.
pub(super) const TREND_NOISE: f64 = 1.0;

/// One training run.
pub(super) struct Seed {
    pub(super) run: String,
    pub(super) components: BTreeMap<String, Result<Track, String>>,
    /// The declared reward, or else the sum of the components; empty where neither is known.
    pub(super) reward: Track,
    pub(super) task: Option<Track>,
    pub(super) length: Option<Track>,
}

impl Seed {
    pub(super) fn new(names: &[String], run: &RunSeries) -> Self {
        let read = |name: &String| match run.components.get(name) {
            Some(Ok(points)) => {
                let track = Track::new(points);
                if track.is_empty() { Err("all values are NaN or infinite".to_owned()) } else { Ok(track) }
            }
            Some(Err(why)) => Err(why.clone()),
            None => Err("the run has no such series".to_owned()),
        };
        let components: BTreeMap<String, Result<Track, String>> =
            names.iter().map(|name| (name.clone(), read(name))).collect();
        let whole = |points: &Option<Vec<rlxp_types::Point>>| {
            points.as_ref().map(|points| Track::new(points)).filter(|track| !track.is_empty())
        };
        // A sum that lacks a component is not the reward.
        let summed = || {
            let tracks: Result<Vec<&Track>, &String> = components.values().map(Result::as_ref).collect();
            tracks.map(|tracks| sum(&tracks)).unwrap_or_default()
        };
        let reward = whole(&run.reward).unwrap_or_else(summed);
        Self { run: run.run.clone(), reward, task: whole(&run.task), length: whole(&run.length), components }
    }

    pub(super) fn component(&self, name: &str) -> Option<&Track> {
        self.components.get(name)?.as_ref().ok()
    }

    /// The part of a component in the magnitude of all components of this run; `None` if one of them is missing, for
    /// the part would then look larger than it is.
    pub(super) fn share(&self, name: &str, from: f64) -> Option<f64> {
        let size = |track: &Track| track.part(from, 1.0).size();
        let mut total = 0.0;
        for track in self.components.values() {
            total += size(track.as_ref().ok()?);
        }
        let share = size(self.component(name)?) / total;
        share.is_finite().then_some(share)
    }

    /// The rank correlation of the reward with the task metric over the last half of training.
    pub(super) fn late_agreement(&self) -> Option<f64> {
        let task = self.task.as_ref()?.part(0.5, 1.0);
        self.reward.part(0.5, 1.0).correlation(&task, LEAST_POINTS)
    }
}

/// Whether a component hardly changes.
pub(super) fn is_constant(track: &Track) -> bool {
    track.len() >= LEAST_POINTS && track.relative_range() < CONSTANT
}

/// Whether a component is always zero.
pub(super) fn is_zero(track: &Track) -> bool {
    track.values().iter().all(|value| *value == 0.0)
}

/// Whether a component that changes at all is at its largest value from early on.
pub(super) fn is_saturated(track: &Track) -> bool {
    let at_top = track.time_at_top(TOP);
    track.len() >= LEAST_POINTS
        && !is_constant(track)
        && at_top.is_some_and(|(from, share)| from < SATURATED_BEFORE && share > SATURATED_TIME)
}

pub(super) fn trend_of(track: &Track) -> Option<Trend> {
    if track.len() < LEAST_POINTS {
        return None;
    }
    let (change, noise) = track.rise()?;
    Some(if is_constant(track) || change.abs() <= TREND_NOISE * noise {
        Trend::Flat
    } else if change > 0.0 {
        Trend::Rises
    } else {
        Trend::Falls
    })
}

pub(super) fn reflect_component(name: &str, seeds: &[Seed]) -> ComponentReflection {
    let tracks: Vec<&Track> = seeds.iter().filter_map(|seed| seed.component(name)).collect();
    let missing = seeds.iter().filter_map(|seed| {
        let why = seed.components.get(name)?.as_ref().err()?;
        Some((seed.run.clone(), why.clone()))
    });
    let count = |holds: fn(&Track) -> bool| tracks.iter().filter(|track| holds(track)).count() as u64;
    let values: Vec<f64> = tracks.iter().flat_map(|track| track.values()).collect();
    let (low, high) = ends(&values);
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let correlation = |other: fn(&Seed) -> Option<&Track>| {
        let of = |seed: &Seed| seed.component(name)?.correlation(other(seed)?, LEAST_POINTS);
        estimate(seeds.iter().filter_map(of))
    };
    ComponentReflection {
        name: name.to_owned(),
        runs: tracks.len() as u64,
        missing: missing.collect(),
        non_finite: tracks.iter().map(|track| track.non_finite as u64).sum(),
        course: course(&tracks),
        max: finite(high),
        mean: finite(mean(&values)),
        min: finite(low),
        share: estimate(seeds.iter().filter_map(|seed| seed.share(name, 0.0))),
        late_share: estimate(seeds.iter().filter_map(|seed| seed.share(name, 1.0 - END_SHARE))),
        change: estimate(tracks.iter().filter_map(|track| Some(track.rise()?.0))),
        trend: common(tracks.iter().filter_map(|track| trend_of(track))),
        constant_in: count(is_constant),
        zero_in: count(is_zero),
        saturated_in: count(is_saturated),
        with_task: correlation(|seed| seed.task.as_ref()),
        with_length: correlation(|seed| seed.length.as_ref()),
        share_against_incumbent: None,
        late_mean_against_incumbent: None,
    }
}

/// The median over runs at evenly spaced places.
fn course(tracks: &[&Track]) -> Vec<f64> {
    let samples: Vec<Vec<f64>> = tracks.iter().map(|track| track.sample(SAMPLES)).collect();
    if samples.is_empty() {
        return Vec::new();
    }
    let at = |place: usize| {
        let mut values: Vec<f64> = samples.iter().map(|sample| sample[place]).collect();
        values.sort_unstable_by(f64::total_cmp);
        // A midpoint, because the sum of two huge values is infinite.
        f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
    };
    (0..SAMPLES).map(at).collect()
}

/// The trend that more than half of the runs have.
fn common(trends: impl Iterator<Item = Trend>) -> Trend {
    let trends: Vec<Trend> = trends.collect();
    let most = |trend: &&Trend| trends.iter().filter(|other| *other == *trend).count() * 2 > trends.len();
    match trends.iter().find(most) {
        Some(trend) => *trend,
        None if trends.is_empty() => Trend::Unknown,
        None => Trend::Mixed,
    }
}

/// Compares a component with the incumbent's.
pub(super) fn against(component: &mut ComponentReflection, seeds: &[Seed], others: &[Seed]) {
    let name = component.name.clone();
    let shares =
        |seeds: &[Seed]| seeds.iter().filter_map(|seed| seed.share(&name, 0.0)).collect::<Vec<f64>>();
    let late = |seed: &Seed| {
        let value = mean(&seed.component(&name)?.part(1.0 - END_SHARE, 1.0).values());
        value.is_finite().then_some(value)
    };
    let means = |seeds: &[Seed]| seeds.iter().filter_map(late).collect::<Vec<f64>>();
    component.share_against_incumbent = difference(&shares(seeds), &shares(others));
    component.late_mean_against_incumbent = difference(&means(seeds), &means(others));
}
