//! The rules, each over all seeds.

use rlxp_types::text::four_digits;

use super::component::{CONSTANT, SATURATED_TIME, Seed, TREND_NOISE, is_constant, is_saturated};
use super::track::Track;
use super::{ComponentReflection, Finding, LEAST_POINTS, Severity};
use crate::statistics::aggregate::{mean, median};

/// The share of the reward's magnitude from which a component dominates (F20).
const DOMINATES: f64 = 0.6;
/// The share from which that is an error.
const DOMINATES_ALONE: f64 = 0.8;
/// A component that correlates with the task at least so strongly may dominate.
const IS_TASK: f64 = 0.5;
/// Below this rank correlation the reward says little about the task (F19).
const WEAK: f64 = 0.3;
/// The reward grows if it changes by more than this share of its size.
const GAIN: f64 = 0.1;

pub(super) fn of_components(components: &[ComponentReflection], seeds: &[Seed]) -> Vec<Finding> {
    let mut found = Vec::new();
    for component in components {
        found.extend(dominates(component, seeds, components.len()));
        found.extend(constant(component, seeds));
        found.extend(saturated(component, seeds));
        if component.non_finite > 0 {
            found.push(Finding {
                rule: "F01".to_owned(),
                severity: Severity::Error,
                component: Some(component.name.clone()),
                text: format!("{} has {} NaN or infinite values", component.name, component.non_finite),
                value: component.non_finite as f64,
                threshold: 0.0,
                seeds: component.runs,
                of: component.runs,
                advice: "find out where they come from before anything else is changed".to_owned(),
            });
        }
    }
    found
}

/// The values of the runs that show something, if more than half of those with data do.
struct Shown {
    value: f64,
    seeds: usize,
    of: usize,
}

fn shown(values: impl Iterator<Item = f64>, holds: impl Fn(f64) -> bool) -> Option<Shown> {
    let all: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let showing: Vec<f64> = all.iter().copied().filter(|value| holds(*value)).collect();
    (showing.len() * 2 > all.len()).then(|| Shown {
        value: median(&showing),
        seeds: showing.len(),
        of: all.len(),
    })
}

fn dominates(component: &ComponentReflection, seeds: &[Seed], components: usize) -> Option<Finding> {
    if components < 2 {
        return None;
    }
    let name = &component.name;
    let found = shown(seeds.iter().filter_map(|seed| seed.share(name, 0.0)), |share| share > DOMINATES)?;
    let is_task = component.with_task.is_some_and(|with_task| with_task.value >= IS_TASK);
    let (severity, threshold) = match found.value > DOMINATES_ALONE {
        _ if is_task => (Severity::Note, DOMINATES),
        true => (Severity::Error, DOMINATES_ALONE),
        false => (Severity::Warning, DOMINATES),
    };
    let and = if is_task { ", and it follows the task metric" } else { "" };
    Some(Finding {
        rule: "F20".to_owned(),
        severity,
        component: Some(name.clone()),
        text: format!("{name} makes up {} of the magnitude of all components{and}", percent(found.value)),
        value: found.value,
        threshold,
        seeds: found.seeds as u64,
        of: found.of as u64,
        advice: format!("scale {name} down, or the others up"),
    })
}

fn constant(component: &ComponentReflection, seeds: &[Seed]) -> Option<Finding> {
    let name = &component.name;
    let tracks =
        seeds.iter().filter_map(|seed| seed.component(name)).filter(|track| track.len() >= LEAST_POINTS);
    let found = shown(tracks.map(Track::relative_range), |range| range < CONSTANT)?;
    let is_zero = component.zero_in * 2 > component.runs;
    let text = match is_zero {
        true => format!("{name} is always zero"),
        false => format!("{name} changes by {} of its mean over the whole training", percent(found.value)),
    };
    Some(Finding {
        rule: "F21".to_owned(),
        severity: Severity::Warning,
        component: Some(name.clone()),
        text,
        value: found.value,
        threshold: CONSTANT,
        seeds: found.seeds as u64,
        of: found.of as u64,
        advice: format!("scale {name} so that it can change, rewrite it, or remove it"),
    })
}

fn saturated(component: &ComponentReflection, seeds: &[Seed]) -> Option<Finding> {
    let name = &component.name;
    let tracks: Vec<&Track> = seeds
        .iter()
        .filter_map(|seed| seed.component(name))
        .filter(|track| track.len() >= LEAST_POINTS && !is_constant(track))
        .collect();
    let showing: Vec<&&Track> = tracks.iter().filter(|track| is_saturated(track)).collect();
    if showing.is_empty() || showing.len() * 2 <= tracks.len() {
        return None;
    }
    let times: Vec<f64> = showing.iter().filter_map(|track| Some(track.time_at_top(0.98)?.1)).collect();
    Some(Finding {
        rule: "F22".to_owned(),
        severity: Severity::Warning,
        component: Some(name.clone()),
        text: format!("{name} is at its largest value from the first fifth of training on"),
        value: median(&times),
        threshold: SATURATED_TIME,
        seeds: showing.len() as u64,
        of: tracks.len() as u64,
        advice: format!("make {name} harder to satisfy, for example with a sharper temperature"),
    })
}

/// What the last half of one run says about reward and task.
struct Late {
    agreement: f64,
    reward_grows: bool,
    task_falls: bool,
}

fn late(seed: &Seed) -> Option<Late> {
    let (reward, task) = (seed.reward.part(0.5, 1.0), seed.task.as_ref()?.part(0.5, 1.0));
    let agreement = reward.correlation(&task, LEAST_POINTS)?;
    let ((reward_up, reward_noise), (task_up, task_noise)) = (reward.rise()?, task.rise()?);
    let size = mean(&reward.values()).abs().max(1e-12);
    Some(Late {
        agreement,
        reward_grows: reward_up > GAIN * size && reward_up > TREND_NOISE * reward_noise,
        task_falls: task_up < -TREND_NOISE * task_noise && task_up < 0.0,
    })
}

/// Signs that the reward is gamed: it grows while the task metric doesn't follow, or shorter episodes pay.
pub(super) fn of_reward(seeds: &[Seed]) -> Vec<Finding> {
    let mut found = Vec::new();
    let all: Vec<Late> = seeds.iter().filter_map(late).collect();
    let growing: Vec<&Late> = all.iter().filter(|late| late.reward_grows).collect();
    let falling = growing.iter().filter(|late| late.task_falls && late.agreement < 0.0).count();
    let weak = growing.iter().filter(|late| late.agreement < WEAK).count();
    let agreement = |holds: &dyn Fn(&Late) -> bool| {
        median(&growing.iter().filter(|late| holds(late)).map(|late| late.agreement).collect::<Vec<_>>())
    };
    let advice = "look at what the policy does; change what the reward pays for, not how much".to_owned();
    let finding = |severity, text: &str, value: f64, threshold, seeds: usize| Finding {
        rule: "F19".to_owned(),
        severity,
        component: None,
        text: format!("{text} (rank correlation {})", four_digits(value)),
        value,
        threshold,
        seeds: seeds as u64,
        of: all.len() as u64,
        advice: advice.clone(),
    };
    if falling * 2 > all.len() {
        let value = agreement(&|late| late.task_falls && late.agreement < 0.0);
        let text = "the reward rises while the task metric falls in the last half of training";
        found.push(finding(Severity::Error, text, value, 0.0, falling));
    } else if weak * 2 > all.len() {
        let value = agreement(&|late| late.agreement < WEAK);
        let text = "the reward rises and the task metric doesn't follow in the last half of training";
        found.push(finding(Severity::Warning, text, value, WEAK, weak));
    }
    found.extend(ends_early(seeds));
    found
}

/// Shorter episodes with a negative reward: ending them pays (F29).
fn ends_early(seeds: &[Seed]) -> Option<Finding> {
    let with_length: Vec<(&Seed, &Track)> =
        seeds.iter().filter_map(|seed| Some((seed, seed.length.as_ref()?))).collect();
    let shows = |(seed, length): &&(&Seed, &Track)| {
        let (Some((length_up, length_noise)), Some((reward_up, reward_noise))) =
            (length.rise(), seed.reward.rise())
        else {
            return false;
        };
        length.len() >= LEAST_POINTS
            && seed.reward.len() >= LEAST_POINTS
            && length_up < -TREND_NOISE * length_noise
            && length_up < 0.0
            && reward_up > TREND_NOISE * reward_noise
            && mean(&seed.reward.values()) < 0.0
    };
    let showing = with_length.iter().filter(shows).count();
    (showing > 0 && showing * 2 > with_length.len()).then(|| Finding {
        rule: "F29".to_owned(),
        severity: Severity::Error,
        component: None,
        text: "episodes get shorter while a negative reward rises: ending early pays".to_owned(),
        value: showing as f64,
        threshold: with_length.len() as f64 / 2.0,
        seeds: showing as u64,
        of: with_length.len() as u64,
        advice: "pay for staying alive, or make ending early cost something".to_owned(),
    })
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}
