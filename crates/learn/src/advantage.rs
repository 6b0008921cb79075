//! Generalised advantage estimation (Schulman et al. 2016) over one shard of a
//! rollout.

/// How a transition ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The episode continues.
    #[default]
    No,
    /// The episode terminated: nothing comes after.
    Terminated,
    /// The episode was truncated: its last observation still has a value.
    Truncated,
}

/// One shard's transitions, time-major: row `t * copies + copy`.
pub struct Transitions<'a> {
    /// Copies of the environment in this shard.
    pub copies: usize,
    pub rewards: &'a [f32],
    /// Value estimates of the observations that were acted on.
    pub values: &'a [f32],
    pub ends: &'a [End],
    /// Value of the final observation, where the episode was truncated.
    pub final_values: &'a [f32],
    /// Value of the observation after the last transition, per copy.
    pub next_values: &'a [f32],
}

/// Writes the advantage of every transition.
///
/// A truncated episode bootstraps from its final observation, a terminated one from nothing; neither lets anything
/// flow back from the next episode.
pub fn advantages(transitions: &Transitions<'_>, gamma: f32, lambda: f32, out: &mut [f32]) {
    let Transitions { copies, rewards, values, ends, final_values, next_values } = *transitions;
    debug_assert_eq!(next_values.len(), copies);
    debug_assert!(rewards.len() == out.len() && values.len() == out.len() && ends.len() == out.len());
    for (copy, after_last) in next_values.iter().enumerate() {
        let mut next_value = *after_last;
        let mut next_advantage = 0.0;
        for row in (copy..out.len()).step_by(copies).rev() {
            let (bootstrap, carry) = match ends[row] {
                End::No => (next_value, gamma * lambda * next_advantage),
                End::Terminated => (0.0, 0.0),
                End::Truncated => (final_values[row], 0.0),
            };
            let delta = rewards[row] + gamma * bootstrap - values[row];
            next_advantage = delta + carry;
            next_value = values[row];
            out[row] = next_advantage;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ends: [End; 3], final_values: [f32; 3], expected: [f64; 3]) {
        let mut out = [0.0; 3];
        let transitions = Transitions {
            copies: 1,
            rewards: &[1.0, 1.0, 1.0],
            values: &[0.5, 0.4, 0.3],
            ends: &ends,
            final_values: &final_values,
            next_values: &[0.2],
        };
        advantages(&transitions, 0.99, 0.95, &mut out);
        for (got, wanted) in out.iter().zip(expected) {
            assert!((f64::from(*got) - wanted).abs() < 1e-6, "{out:?} is not {expected:?}");
        }
    }

    #[test]
    fn an_unbroken_episode() {
        check([End::No; 3], [0.0; 3], [2.533_945_64, 1.741_569, 0.898]);
    }

    #[test]
    fn a_terminated_episode_has_no_future() {
        // The final value must not be used.
        check([End::No, End::Terminated, End::No], [9.0; 3], [1.4603, 0.6, 0.898]);
    }

    #[test]
    fn a_truncated_episode_bootstraps_from_its_final_observation() {
        check([End::No, End::Truncated, End::No], [0.0, 0.6, 0.0], [2.018_957, 1.194, 0.898]);
    }

    #[test]
    fn copies_do_not_mix() {
        let one = |reward: f32, next: f32| {
            let mut out = [0.0; 2];
            let transitions = Transitions {
                copies: 1,
                rewards: &[reward, 2.0],
                values: &[0.1, 0.2],
                ends: &[End::No; 2],
                final_values: &[0.0; 2],
                next_values: &[next],
            };
            advantages(&transitions, 0.9, 0.8, &mut out);
            out
        };
        let mut both = [0.0; 4];
        let transitions = Transitions {
            copies: 2,
            rewards: &[1.0, 5.0, 2.0, 2.0],
            values: &[0.1, 0.1, 0.2, 0.2],
            ends: &[End::No; 4],
            final_values: &[0.0; 4],
            next_values: &[0.3, 0.7],
        };
        advantages(&transitions, 0.9, 0.8, &mut both);
        let (a, b) = (one(1.0, 0.3), one(5.0, 0.7));
        assert_eq!(both, [a[0], b[0], a[1], b[1]]);
    }
}
