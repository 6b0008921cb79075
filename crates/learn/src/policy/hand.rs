//! A policy that acts, outside of training.

use rlxp_nn::{Scratch, Tensors};
use rlxp_types::Stream;

use super::Policy;
use crate::learner::{Agent, BatchActor, Choice};

impl Agent for Policy {
    fn hand(&self, copies: usize, choice: Choice) -> Box<dyn BatchActor + '_> {
        Box::new(PolicyHand {
            policy: self,
            choice,
            scratch: self.network.scratch(copies),
            noise: vec![0.0; copies * self.noise_width()],
            raw: vec![0.0; copies * self.head().action_width()],
            log_probs: vec![0.0; copies],
        })
    }

    fn model(&self) -> Tensors {
        self.tensors()
    }

    fn actor_critic(&self) -> Option<&Policy> {
        Some(self)
    }
}

struct PolicyHand<'a> {
    policy: &'a Policy,
    choice: Choice,
    scratch: Scratch,
    noise: Vec<f32>,
    raw: Vec<f32>,
    log_probs: Vec<f32>,
}

impl BatchActor for PolicyHand<'_> {
    /// Leaves `observations` scaled as the network wants them.
    fn act(&mut self, time: u64, observations: &mut [f32], streams: &mut [Stream], actions: &mut [f32]) {
        let (policy, copies) = (self.policy, streams.len());
        policy.normalize(observations);
        policy.network.forward_policy(&policy.parameters, observations, copies, &mut self.scratch);
        match self.choice {
            Choice::MostLikely => policy.head().mode(&self.scratch.policy, copies, &mut self.raw),
            Choice::Sampled => {
                let due = policy.noise_every.is_some_and(|every| time.is_multiple_of(every));
                if !policy.noise_is_kept() || time == 0 || due {
                    let width = policy.noise_width();
                    for (stream, row) in streams.iter_mut().zip(self.noise.chunks_exact_mut(width)) {
                        policy.draw_noise(stream, row);
                    }
                }
                policy.head().sample(
                    policy.head_parameters(),
                    &self.scratch.policy,
                    self.scratch.latent(),
                    &self.noise,
                    copies,
                    &mut self.raw,
                    &mut self.log_probs,
                );
            }
        }
        policy.bounded(&self.raw, actions);
    }
}
