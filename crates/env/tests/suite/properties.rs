//! Properties that hold for every environment of the catalogue: saving and
//! restoring changes nothing, damaged states are refused without a panic, and
//! a copy doesn't notice how many others there are.

use proptest::prelude::*;
use rlxp_env::{EnvInfo, NATIVE, Space, StepBatch, VectorEnv};
use rlxp_spec::config::{EnvConfig, Kwarg, WrapperConfig};
use rlxp_types::Stream;

use crate::config;

/// Every environment, every stochastic argument, and every wrapper at once.
fn configs() -> Vec<EnvConfig> {
    let mut configs: Vec<EnvConfig> = NATIVE.catalogue().map(|info: &EnvInfo| config(info.id)).collect();
    let mut fickle = config("Taxi-v4");
    for flag in ["is_rainy", "fickle_passenger"] {
        fickle.kwargs.insert(flag.to_owned(), Kwarg::Bool(true));
    }
    fickle.kwargs.insert("fickle_probability".to_owned(), Kwarg::Number(0.9));
    configs.push(fickle);
    let mut wrapped = config("CartPole-v1");
    wrapped.max_episode_steps = Some(7);
    wrapped.wrappers = vec![
        WrapperConfig::ScaleReward { factor: -0.5 },
        WrapperConfig::FreezeObservation { dimensions: None },
        WrapperConfig::TruncationAsTermination {},
    ];
    configs.push(wrapped.clone());
    wrapped.wrappers = vec![WrapperConfig::FreezeObservation { dimensions: Some(vec![2, 0]) }];
    configs.push(wrapped);
    configs
}

fn made(config: &EnvConfig, seed: u64, copies: usize) -> Box<dyn VectorEnv> {
    NATIVE.make(config, (0..copies as u64).map(|copy| Stream::new(seed, "env", copy)).collect()).unwrap()
}

fn random_actions(space: &Space, copies: usize, streams: &mut [Stream]) -> Vec<f32> {
    let row = |stream: &mut Stream| match space {
        Space::Discrete { n } => vec![stream.below(*n as u32) as f32],
        Space::Box { low, high, .. } => {
            low.iter().zip(high).map(|(low, high)| low + (high - low) * stream.uniform_f32()).collect()
        }
        other => panic!("no environment acts by {other:?}"),
    };
    streams[..copies].iter_mut().flat_map(row).collect()
}

/// Steps `steps` times; every step's batch, cleaned of rows that don't count.
fn walk(env: &mut dyn VectorEnv, streams: &mut [Stream], steps: usize) -> Vec<StepBatch> {
    let (copies, width) = (env.copies(), env.observation_space().width());
    let action_space = env.action_space().clone();
    (0..steps)
        .map(|_| {
            let mut out = StepBatch::new(copies, width);
            env.step(&random_actions(&action_space, copies, streams), &mut out).unwrap();
            out
        })
        .collect()
}

fn action_streams(seed: u64, copies: usize) -> Vec<Stream> {
    (0..copies as u64).map(|copy| Stream::new(seed, "action", copy)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_restored_environment_goes_on_as_if_nothing_had_happened(
        seed in 0u64..1000, before in 0usize..260, after in 1usize..120, copies in 1usize..5,
    ) {
        for config in configs() {
            let mut env = made(&config, seed, copies);
            let mut actions = action_streams(seed, copies);
            let mut observations = vec![0.0; copies * env.observation_space().width()];
            env.reset(&mut observations).unwrap();
            walk(env.as_mut(), &mut actions, before);
            let saved = env.save().unwrap().unwrap();
            let mut actions_again = actions.clone();
            let straight = walk(env.as_mut(), &mut actions, after);

            let mut other = made(&config, seed + 1, copies);
            other.restore(&saved).unwrap();
            prop_assert_eq!(&other.save().unwrap().unwrap(), &saved, "{} saves what it restored", config.id);
            let restored = walk(other.as_mut(), &mut actions_again, after);
            prop_assert_eq!(straight, restored, "{}", config.id);
        }
    }

    #[test]
    fn a_damaged_state_is_refused_or_stepped_but_never_panics(
        seed in 0u64..1000, steps in 0usize..40, place in 0.0f64..1.0, bit in 0u32..8, cut in any::<bool>(),
    ) {
        for config in configs() {
            let mut env = made(&config, seed, 3);
            let mut actions = action_streams(seed, 3);
            walk(env.as_mut(), &mut actions, steps);
            let mut saved = env.save().unwrap().unwrap();
            let place = (place * saved.len() as f64) as usize;
            if cut {
                saved.truncate(place);
            } else {
                saved[place] ^= 1 << bit;
            }
            let kept = env.save().unwrap().unwrap();
            match env.restore(&saved) {
                Err(_) => prop_assert_eq!(&env.save().unwrap().unwrap(), &kept, "a refused state leaves {} alone", config.id),
                Ok(()) => {
                    prop_assert!(!cut, "{} took a state that was cut", config.id);
                    walk(env.as_mut(), &mut actions, 20);
                }
            }
            // A whole state still fits.
            env.restore(&kept).unwrap();
        }
    }

    #[test]
    fn a_copy_does_not_notice_the_others(seed in 0u64..1000, more in 1usize..9) {
        for config in configs() {
            let (mut alone, mut among) = (made(&config, seed, 1), made(&config, seed, 1 + more));
            let width = alone.observation_space().width();
            let mut first = vec![0.0; width];
            let mut firsts = vec![0.0; width * (1 + more)];
            alone.reset(&mut first).unwrap();
            among.reset(&mut firsts).unwrap();
            prop_assert_eq!(&first[..], &firsts[..width]);
            let alone = walk(alone.as_mut(), &mut action_streams(seed, 1), 250);
            let among = walk(among.as_mut(), &mut action_streams(seed, 1 + more), 250);
            for (alone, among) in alone.iter().zip(&among) {
                prop_assert_eq!(&alone.observations[..], &among.observations[..width], "{}", config.id);
                prop_assert_eq!(&alone.final_observations[..], &among.final_observations[..width]);
                prop_assert_eq!(
                    (alone.rewards[0], alone.terminated[0], alone.truncated[0]),
                    (among.rewards[0], among.terminated[0], among.truncated[0])
                );
            }
        }
    }
}

#[test]
fn a_state_of_another_environment_is_refused() {
    let configs = configs();
    for (index, from) in configs.iter().enumerate() {
        let saved = made(from, 0, 2).save().unwrap().unwrap();
        for (other_index, to) in configs.iter().enumerate() {
            let fits = made(to, 1, 2).restore(&saved).is_ok();
            // A world of the same size can't be distinguished, such as the two
            // cliffs, or Taxi with other arguments.
            let same_kind = from.id.trim_end_matches("-v1").trim_end_matches("Slippery")
                == to.id.trim_end_matches("-v1").trim_end_matches("Slippery")
                && from.wrappers == to.wrappers;
            assert_eq!(fits, same_kind, "{index} {} into {other_index} {}", from.id, to.id);
        }
        assert!(made(from, 0, 3).restore(&saved).is_err(), "another number of copies");
    }
}

#[test]
fn observations_and_actions_stay_in_their_spaces() {
    for config in configs() {
        let mut env = made(&config, 7, 8);
        let width = env.observation_space().width();
        let space = env.observation_space().clone();
        let mut observations = vec![0.0; 8 * width];
        env.reset(&mut observations).unwrap();
        let batches = walk(env.as_mut(), &mut action_streams(7, 8), 600);
        let rows = batches.iter().flat_map(|batch| batch.observations.chunks_exact(width));
        for row in rows.chain(observations.chunks_exact(width)) {
            for (index, value) in row.iter().enumerate() {
                let fits = match &space {
                    Space::Discrete { n } => *value >= 0.0 && *value < *n as f32 && value.fract() == 0.0,
                    Space::MultiDiscrete { nvec } => {
                        *value >= 0.0 && *value < nvec[index] as f32 && value.fract() == 0.0
                    }
                    Space::MultiBinary { .. } => *value == 0.0 || *value == 1.0,
                    Space::Box { low, high, .. } => (low[index]..=high[index]).contains(value),
                };
                assert!(fits, "{}: {row:?} is outside of {space:?}", config.id);
            }
        }
    }
}
