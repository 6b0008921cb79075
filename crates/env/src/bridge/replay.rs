//! Exact resuming of environments that can't save their state: an episode is the seed of its reset and the actions
//! since, and a digest of what every step gave says whether repeating them brought it back.

use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::BadState;

/// An episode with more actions is not repeated; its copy starts a new one when training is resumed.
pub const MOST_ACTIONS: usize = 100_000;

/// A copy that starts a new episode because its old one could not be brought back.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// Which copy.
    pub copy: usize,
    /// The first step whose result was different; 0 is the reset. `None` if the episode was too long to repeat.
    pub step: Option<u64>,
    /// The first observation of the new episode.
    pub observation: Vec<f32>,
}

/// One copy's episode so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Episode {
    /// What it was reset with; −1 for no seed.
    pub(super) seed: i64,
    /// Steps so far.
    pub(super) steps: u64,
    /// Every action; empty once the episode is too long.
    pub(super) actions: Vec<f32>,
    /// Digest of the first observation and of each step's result.
    pub(super) digests: Vec<u32>,
}

impl Episode {
    pub(super) fn begin(seed: i64, observation: &[f32]) -> Self {
        Self { seed, steps: 0, actions: Vec::new(), digests: vec![digest(observation, 0.0, 0)] }
    }

    /// Notes a step that did not end the episode.
    pub(super) fn step(&mut self, action: &[f32], result: u32) {
        self.steps += 1;
        if self.steps as usize > MOST_ACTIONS {
            self.actions = Vec::new();
            self.digests = Vec::new();
        } else {
            self.actions.extend_from_slice(action);
            self.digests.push(result);
        }
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.steps as usize > MOST_ACTIONS
    }

    /// The action of step `at`, from 0.
    pub(super) fn action(&self, at: usize, width: usize) -> &[f32] {
        &self.actions[at * width..(at + 1) * width]
    }

    pub(super) fn save(&self, writer: &mut StateWriter) {
        writer.u64(self.seed as u64);
        writer.u64(self.steps);
        writer.u64(self.actions.len() as u64);
        writer.f32s(&self.actions);
        let digests: Vec<u8> = self.digests.iter().flat_map(|digest| digest.to_le_bytes()).collect();
        writer.blob(&digests);
    }

    pub(super) fn restore(reader: &mut StateReader<'_>, action_width: usize) -> Result<Self, BadState> {
        let seed = reader.u64()? as i64;
        let steps = reader.u64()?;
        let most = (MOST_ACTIONS * action_width + 1) as u64;
        let mut actions = vec![0.0; reader.u64_below(most, "the number of actions")? as usize];
        reader.f32s(&mut actions)?;
        let digests: Vec<u32> = match reader.blob()?.as_chunks::<4>() {
            (digests, []) => digests.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(),
            _ => return Err(BadState("a digest is cut short".to_owned())),
        };
        let episode = Self { seed, steps, actions, digests };
        let expected = if episode.is_too_long() { (0, 0) } else { (steps as usize, steps as usize + 1) };
        if (episode.actions.len(), episode.digests.len()) != (expected.0 * action_width, expected.1) {
            return Err(BadState(format!("{steps} steps don't match their actions and digests")));
        }
        Ok(episode)
    }
}

/// A digest of what a step gave, the same for the same bits: FNV-1a over 32-bit words.
pub(super) fn digest(observation: &[f32], reward: f64, flags: u8) -> u32 {
    let fold = |hash: u32, word: u32| (hash ^ word).wrapping_mul(0x0100_0193).rotate_left(5);
    let hash = observation.iter().fold(0x811c_9dc5, |hash, value| fold(hash, value.to_bits()));
    let reward = reward.to_bits();
    [reward as u32, (reward >> 32) as u32, u32::from(flags)].into_iter().fold(hash, fold)
}

/// An action as a person writes it: an index as a whole number.
pub(super) fn written(action: &[f32], space: &Space) -> String {
    match (action, space) {
        ([index], Space::Discrete { .. }) => index.to_string(),
        _ => format!("{action:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_step_changes_its_digest() {
        let plain = digest(&[1.0, 2.0], 0.5, 0);
        assert_eq!(plain, digest(&[1.0, 2.0], 0.5, 0));
        for other in [
            digest(&[2.0, 1.0], 0.5, 0),
            digest(&[1.0, f32::from_bits(2.0_f32.to_bits() + 1)], 0.5, 0),
            digest(&[1.0, 2.0], 0.5 + f64::EPSILON, 0),
            digest(&[1.0, 2.0], 0.5, 1),
            digest(&[1.0, 2.0, 0.0], 0.5, 0),
        ] {
            assert_ne!(plain, other);
        }
    }

    #[test]
    fn an_episode_comes_back_and_a_damaged_one_is_refused() {
        let mut episode = Episode::begin(7, &[0.5]);
        for step in 0..5 {
            episode.step(&[step as f32, 1.0], step);
        }
        let mut writer = StateWriter::new("t", 1);
        episode.save(&mut writer);
        let bytes = writer.finish();
        let read = |bytes: &[u8]| {
            let mut reader = StateReader::new(bytes, "t", 1)?;
            let episode = Episode::restore(&mut reader, 2)?;
            reader.finish().map(|()| episode)
        };
        assert_eq!(read(&bytes).unwrap(), episode);
        assert!((0..bytes.len()).all(|length| read(&bytes[..length]).is_err()));
    }

    #[test]
    fn an_endless_episode_keeps_nothing() {
        let mut episode = Episode::begin(7, &[0.5]);
        (0..=MOST_ACTIONS as u32).for_each(|step| episode.step(&[1.0], step));
        assert!(episode.is_too_long() && episode.actions.is_empty() && episode.digests.is_empty());
    }
}
