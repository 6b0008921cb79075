//! Inspection of a policy that was trained where one number of the observation
//! decides shows that number.

use crate::common::config;
use rlxp_env::{BadState, Environment, Space, Step, VectorEnv, Vectorized};
use rlxp_learn::Ppo;
use rlxp_learn::inspect::{Baseline, Options, Target, inspect_in};
use rlxp_types::Stream;

const WIDTH: usize = 4;

/// One step: four random numbers, of which one says which action is right and
/// how much it is worth. The others have other units, so that a ranking by
/// bare gradients would be misled.
struct OneMatters {
    which: usize,
    seen: [f32; WIDTH],
}

const UNITS: [f32; WIDTH] = [0.1, 1.0, 10.0, 3.0];

impl Environment for OneMatters {
    fn observation_space(&self) -> Space {
        Space::vector(vec![-30.0; WIDTH], vec![30.0; WIDTH])
    }
    fn action_space(&self) -> Space {
        Space::Discrete { n: 2 }
    }
    fn reset(&mut self, stream: &mut Stream, observation: &mut [f32]) {
        self.seen = UNITS.map(|unit| unit * (2.0 * stream.uniform_f32() - 1.0));
        observation.copy_from_slice(&self.seen);
    }
    fn step(&mut self, action: &[f32], _: &mut Stream, observation: &mut [f32]) -> Step {
        let decisive = self.seen[self.which] / UNITS[self.which];
        let right = (action[0] == 1.0) == (decisive > 0.0);
        observation.fill(0.0);
        Step { reward: decisive + if right { 1.0 } else { -1.0 }, terminated: true, truncated: false }
    }
    fn save(&self) -> Vec<u8> {
        self.seen.iter().flat_map(|value| value.to_le_bytes()).collect()
    }
    fn restore(&mut self, saved: &[u8]) -> Result<(), BadState> {
        let (numbers, []) = saved.as_chunks::<4>() else { return Err(BadState("not whole".into())) };
        self.seen =
            numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect::<Vec<_>>().try_into().unwrap();
        Ok(())
    }
}

#[test]
fn the_decisive_dimension_ranks_first() {
    let config = config(
        "env: {id: CartPole-v1, num_envs: 8, normalize_observations: true}\n\
         algo: {total_timesteps: 25600, rollout_steps: 16, batch_size: 64, learning_rate: 3.0e-3, gamma: 0.5, \
         clip_range: 0.2, update_epochs: 4}\n\
         policy: {hidden_sizes: [16, 16]}\n",
    );
    for (seed, which) in [(0, 0), (1, 2)] {
        let factory = |streams: Vec<Stream>| {
            let made = || OneMatters { which, seen: [0.0; WIDTH] };
            Ok(Box::new(Vectorized::new(made, streams, Some(2))) as Box<dyn VectorEnv>)
        };
        let mut learner = Ppo::with_environment(&config, seed, 1, &factory).unwrap();
        let factory =
            |seeds: &[u64]| factory(seeds.iter().map(|seed| Stream::new(*seed, "eval", 0)).collect());
        while !learner.is_finished() {
            learner.iterate().unwrap();
        }
        for target in [Target::Value, Target::Action] {
            let options = Options {
                episodes: 40,
                seed: 20_000,
                states: 12,
                target,
                baseline: Baseline::Mean,
                samples: 50,
                sampled: false,
            };
            let found = inspect_in(&config, &factory, learner.policy(), &options).unwrap();
            let first = &found.ranking.dimensions[0];
            assert_eq!(first.dimension, which, "{target:?}: {:?}", found.ranking);
            for place in [first.saliency, first.smoothgrad, first.integrated] {
                assert!(place.rank == 1 && place.share > 0.5, "{target:?}: {:?}", found.ranking);
            }
            assert!(found.states.iter().all(|state| state.integration.complete));
        }
    }
}
