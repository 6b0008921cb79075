//! What a rollout says about how training goes, as named numbers: pure
//! functions of what was collected, one pass each, no part of learning.
//!
//! A number that does not apply (no cap, no bounds, no episode that ended) is
//! absent; a NaN here is one that was found, not one that was made up.

use crate::advantage::End;
use crate::rollout::{FinishedEpisode, Rollout};

/// Named numbers, in the order in which they are logged.
pub(crate) type Values = Vec<(&'static str, f64)>;

/// Rewards as the environment and its wrappers gave them.
pub(crate) fn rewards(rewards: &[f32]) -> Values {
    let count = rewards.len() as f64;
    let mean = rewards.iter().map(|x| f64::from(*x)).sum::<f64>() / count;
    let variance = rewards.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / count;
    vec![
        ("reward_mean", mean),
        ("reward_deviation", variance.sqrt()),
        ("reward_max_abs", largest_magnitude(rewards)),
    ]
}

/// How the episodes that ended did so. `cap` is the environment's own: a
/// wrapper may call a cut episode an ended one, but can't change its length.
pub(crate) fn episodes(finished: &[FinishedEpisode], cap: Option<u64>) -> Values {
    let count = |holds: &dyn Fn(&&FinishedEpisode) -> bool| finished.iter().filter(holds).count() as f64;
    let terminated = |episode: &&FinishedEpisode| episode.end == End::Terminated;
    let mut values = vec![
        ("terminated", count(&terminated)),
        ("truncated", count(&|episode| episode.end == End::Truncated)),
    ];
    if let Some(cap) = cap {
        values.push(("episodes_at_limit", count(&|episode| episode.length >= cap)));
        let ended = count(&|episode| episode.length >= cap && terminated(episode));
        values.push(("terminated_at_limit", ended));
    }
    if !finished.is_empty() {
        let rewarded = count(&|episode| was_rewarded(episode, cap));
        values.push(("rewarded_episodes", rewarded / finished.len() as f64));
    }
    values
}

/// Whether an episode's rewards could teach anything. Rewards that change do.
/// One that is the same at every step does through the episode's length: above
/// zero always, below zero only when the episode ended before it was cut, as
/// running into the cap is what happens when nothing is reached.
fn was_rewarded(episode: &FinishedEpisode, cap: Option<u64>) -> bool {
    match episode.steady_reward {
        None => true,
        Some(reward) => reward > 0.0 || (reward < 0.0 && cap.is_none_or(|cap| episode.length < cap)),
    }
}

/// The scale of what the value function says and learns.
pub(crate) fn values(rollout: &Rollout) -> Values {
    let mut values = Vec::new();
    if let Some(large) = percentile_99(&rollout.returns) {
        values.push(("return_target_p99", large));
    }
    values.push(("value_abs_max", largest_magnitude(&rollout.values)));
    let cut = rollout.ends.iter().zip(&rollout.final_values).filter(|(end, _)| **end == End::Truncated);
    let (count, sum) =
        cut.fold((0_u64, 0.0), |(count, sum), (_, value)| (count + 1, sum + f64::from(*value)));
    if count > 0 {
        values.push(("value_at_limit", sum / count as f64));
    }
    values
}

/// Share of action components at or beyond a bound, of those that have one.
pub(crate) fn action_saturation(actions: &[f32], low: &[f32], high: &[f32]) -> Option<f64> {
    let bounded = low.iter().zip(high).filter(|(low, high)| low.is_finite() || high.is_finite()).count();
    let rows = actions.len() / low.len().max(1);
    if bounded * rows == 0 {
        return None;
    }
    let saturated = |row: &[f32]| {
        // An infinite bound is reached by an infinite action only, which is not about bounds.
        let components =
            row.iter().zip(low).zip(high).filter(|((_, low), high)| low.is_finite() || high.is_finite());
        components.filter(|((action, low), high)| action <= low || action >= high).count()
    };
    let sum: usize = actions.chunks_exact(low.len()).map(saturated).sum();
    Some(sum as f64 / (bounded * rows) as f64)
}

/// How evenly episode ends are spread over the time steps of a rollout: the
/// entropy of the step at which they fall, as a share of the largest that so
/// many ends can have. 0 when all copies end together, 1 when no two do.
/// `finished` is in the order of time. One copy alone can't be out of step.
pub(crate) fn reset_spread(finished: &[FinishedEpisode], copies: usize, steps: usize) -> Option<f64> {
    let ends = finished.len();
    if copies < 2 || ends < 2 || steps < 2 {
        return None;
    }
    let together = finished.chunk_by(|a, b| a.time == b.time).map(|group| group.len() as f64);
    let entropy = (ends as f64).ln() - together.map(|size| size * size.ln()).sum::<f64>() / ends as f64;
    Some((entropy / (ends.min(steps) as f64).ln()).clamp(0.0, 1.0))
}

/// The smallest magnitude that at least 99 in 100 don't pass.
fn percentile_99(values: &[f32]) -> Option<f64> {
    let mut magnitudes: Vec<f32> = values.iter().map(|value| value.abs()).collect();
    let rank = (magnitudes.len() * 99).div_ceil(100).checked_sub(1)?;
    let (_, found, _) = magnitudes.select_nth_unstable_by(rank, f32::total_cmp);
    Some(f64::from(*found))
}

/// NaN when there is one.
fn largest_magnitude(values: &[f32]) -> f64 {
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    f64::from(values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(values: &Values, name: &str) -> Option<f64> {
        values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn episode(time: usize, length: u64, end: End, steady_reward: Option<f32>) -> FinishedEpisode {
        FinishedEpisode { time, copy: 0, total: 0.0, length, end, steady_reward, success: None }
    }

    #[test]
    fn rewards_by_hand() {
        let found = rewards(&[1.0, -3.0, 1.0, 1.0]);
        assert_eq!(
            found,
            [("reward_mean", 0.0), ("reward_deviation", 3.0_f64.sqrt()), ("reward_max_abs", 3.0)]
        );
        assert!(rewards(&[1.0, f32::NAN]).iter().all(|(_, value)| value.is_nan()));
        assert_eq!(get(&rewards(&[1.0, f32::NEG_INFINITY]), "reward_max_abs"), Some(f64::INFINITY));
    }

    #[test]
    fn ends_are_told_apart_and_limits_are_counted_by_length() {
        use End::{Terminated, Truncated};
        let finished = [
            episode(0, 3, Terminated, None),
            episode(1, 10, Truncated, None),
            // A wrapper called these two ended.
            episode(2, 10, Terminated, None),
            episode(3, 10, Terminated, None),
        ];
        let found = episodes(&finished, Some(10));
        assert_eq!(get(&found, "terminated"), Some(3.0));
        assert_eq!(get(&found, "truncated"), Some(1.0));
        assert_eq!(get(&found, "episodes_at_limit"), Some(3.0));
        assert_eq!(get(&found, "terminated_at_limit"), Some(2.0));
        let uncapped = episodes(&finished, None);
        assert_eq!(get(&uncapped, "episodes_at_limit"), None);
        assert_eq!(get(&uncapped, "terminated_at_limit"), None);
        let none = episodes(&[], Some(10));
        let zero = ["terminated", "truncated", "episodes_at_limit", "terminated_at_limit"];
        assert_eq!(none, zero.map(|name| (name, 0.0)), "no share without an episode");
    }

    #[test]
    fn an_episode_is_rewarded_when_its_rewards_could_teach_something() {
        let share = |steady, length, cap| {
            get(&episodes(&[episode(0, length, End::Terminated, steady)], cap), "rewarded_episodes")
        };
        for (steady, length, cap, expected, why) in [
            (None, 10, Some(10), 1.0, "rewards that change"),
            (Some(0.0), 4, Some(10), 0.0, "nothing at all"),
            (Some(1.0), 4, Some(10), 1.0, "alive a while"),
            (Some(1.0), 10, Some(10), 1.0, "alive to the end"),
            (Some(-1.0), 10, Some(10), 0.0, "nothing was reached"),
            (Some(-1.0), 9, Some(10), 1.0, "the end was reached"),
            (Some(-1.0), 1, None, 1.0, "one step, no cap"),
        ] {
            assert_eq!(share(steady, length, cap), Some(expected), "{why}");
        }
        let mixed = [episode(0, 1, End::Terminated, Some(0.0)), episode(0, 2, End::Terminated, None)];
        assert_eq!(get(&episodes(&mixed, None), "rewarded_episodes"), Some(0.5));
    }

    #[test]
    fn value_scales_by_hand() {
        let rollout = Rollout {
            values: vec![1.0, -7.0, 2.0, 0.0],
            // 100 targets, of which the largest two magnitudes are 99 and 98.
            returns: (0..100).map(|x| if x % 2 == 0 { x as f32 } else { -(x as f32) }).collect(),
            ends: vec![End::Truncated, End::Terminated, End::No, End::Truncated],
            final_values: vec![4.0, 100.0, 100.0, 5.0],
            ..Rollout::default()
        };
        let found = values(&rollout);
        assert_eq!(get(&found, "return_target_p99"), Some(98.0));
        assert_eq!(get(&found, "value_abs_max"), Some(7.0));
        assert_eq!(get(&found, "value_at_limit"), Some(4.5));
        let uncut = values(&Rollout { ends: vec![End::No; 4], ..rollout });
        assert_eq!(get(&uncut, "value_at_limit"), None);
        assert_eq!(percentile_99(&[-3.0]), Some(3.0));
        assert_eq!(percentile_99(&[]), None);
    }

    #[test]
    fn saturation_counts_components_that_have_a_bound() {
        let (low, high) = ([-1.0, f32::NEG_INFINITY, 0.0], [1.0, f32::INFINITY, f32::INFINITY]);
        // Of the first and third components: at, beyond, within; below, within, at.
        let actions = [1.0, 9.0, -1.0, -2.0, 9.0, 5.0, 0.5, 9.0, 0.0];
        assert_eq!(action_saturation(&actions, &low, &high), Some(4.0 / 6.0));
        assert_eq!(action_saturation(&[1.0], &[f32::NEG_INFINITY], &[f32::INFINITY]), None);
    }

    #[test]
    fn spread_is_none_together_and_full_apart() {
        let at = |times: &[usize]| -> Vec<FinishedEpisode> {
            times.iter().map(|time| episode(*time, 5, End::Terminated, None)).collect()
        };
        assert_eq!(reset_spread(&at(&[7; 8]), 8, 100), Some(0.0));
        assert_eq!(reset_spread(&at(&[0, 1, 2, 3]), 8, 100), Some(1.0));
        // Two groups of four of at most eight groups: ln 2 / ln 8.
        let halves = reset_spread(&at(&[1, 1, 1, 1, 9, 9, 9, 9]), 8, 100).unwrap();
        assert!((halves - 1.0 / 3.0).abs() < 1e-12, "{halves}");
        // More ends than steps: the most there can be is one group per step.
        assert_eq!(reset_spread(&at(&[0, 0, 1, 1]), 2, 2), Some(1.0));
        assert_eq!(reset_spread(&at(&[3]), 8, 100), None);
        assert_eq!(reset_spread(&at(&[3, 4]), 1, 100), None);
    }
}
