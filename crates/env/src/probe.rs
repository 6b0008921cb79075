//! Probe environments: each can be learned in seconds and fails in a way that
//! points at one part of a learner (after Andy Jones, "Debugging RL").

use rlxp_types::Stream;

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::BadState;

/// Which part of the learner is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// One action, constant observation, one step, reward 1: the value network and its loss.
    Value,
    /// One action, observation ±1, reward equal to it: gradients reach the input.
    Backprop,
    /// One action, observation 0 then 1, reward 1 at the end: discounting.
    Discount,
    /// Two actions, constant observation, reward −1 for 0 and 1 for 1: advantages and policy loss.
    Policy,
    /// Two actions, observation ±1, reward 1 when action 1 meets 1 or action 0 meets −1,
    /// else −1: observations, actions and advantages stay in line through batching.
    Batching,
}

/// A probe over many copies.
#[derive(Clone, Debug)]
pub struct Probe {
    kind: ProbeKind,
    observation: Vec<f32>,
}

impl Probe {
    pub fn new(copies: usize, kind: ProbeKind) -> Self {
        Self { kind, observation: vec![0.0; copies] }
    }

    /// Sets the observation of one copy, which is its whole state.
    pub fn set_state(&mut self, copy: usize, observation: f32) {
        self.observation[copy] = observation;
    }
}

impl Dynamics for Probe {
    const KIND: &'static str = "Probe";

    fn copies(&self) -> usize {
        self.observation.len()
    }

    fn observation_space(&self) -> Space {
        Space::vector(vec![-1.0], vec![1.0])
    }

    fn action_space(&self) -> Space {
        Space::Discrete {
            n: if matches!(self.kind, ProbeKind::Policy | ProbeKind::Batching) { 2 } else { 1 },
        }
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        self.observation[copy] = match self.kind {
            ProbeKind::Backprop | ProbeKind::Batching => [-1.0, 1.0][stream.below(2) as usize],
            ProbeKind::Value | ProbeKind::Discount | ProbeKind::Policy => 0.0,
        };
    }

    fn step(&mut self, actions: &[f32], _: &mut [Stream], rewards: &mut [f32], terminated: &mut [bool]) {
        terminated.fill(true);
        match self.kind {
            ProbeKind::Value => rewards.fill(1.0),
            ProbeKind::Backprop => rewards.copy_from_slice(&self.observation),
            ProbeKind::Discount => {
                let answers = rewards.iter_mut().zip(terminated);
                for (observation, (reward, terminated)) in self.observation.iter_mut().zip(answers) {
                    *terminated = *observation == 1.0;
                    *reward = *observation;
                    *observation = 1.0;
                }
            }
            ProbeKind::Policy => {
                for (action, reward) in actions.iter().zip(rewards) {
                    *reward = if *action == 1.0 { 1.0 } else { -1.0 };
                }
            }
            ProbeKind::Batching => {
                for ((action, observation), reward) in actions.iter().zip(&self.observation).zip(rewards) {
                    *reward = if (*action == 1.0) == (*observation > 0.0) { 1.0 } else { -1.0 };
                }
            }
        }
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        row[0] = self.observation[copy];
    }

    fn save(&self, writer: &mut StateWriter) {
        writer.u8(self.kind as u8);
        writer.f32s(&self.observation);
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        if reader.u8()? != self.kind as u8 {
            return Err(BadState("it belongs to another probe".to_owned()));
        }
        reader.f32s(&mut self.observation)?;
        match self.observation.iter().find(|value| value.abs() > 1.0) {
            Some(value) => Err(BadState(format!("an observation is {value}"))),
            None => Ok(()),
        }
    }
}
