//! Making environments from configs: problems are reported at once, with paths;
//! caps, arguments and wrappers take effect.

use std::collections::BTreeMap;

use rlxp_env::{NATIVE, Space, StepBatch, VectorEnv};
use rlxp_spec::config::{EnvConfig, Kwarg, WrapperConfig};
use rlxp_types::Stream;

fn config(id: &str, kwargs: &[(&str, Kwarg)]) -> EnvConfig {
    EnvConfig {
        id: id.to_owned(),
        num_envs: 1,
        kwargs: kwargs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect::<BTreeMap<_, _>>(),
        max_episode_steps: None,
        wrappers: Vec::new(),
        normalize_observations: false,
        normalize_rewards: false,
        ..EnvConfig::plain("")
    }
}

fn text(text: &str) -> Kwarg {
    Kwarg::Text(text.to_owned())
}

fn streams(copies: u64) -> Vec<Stream> {
    (0..copies).map(|copy| Stream::new(0, "env", copy)).collect()
}

/// Path and nearest name of every problem.
fn problems(config: &EnvConfig, copies: u64) -> Vec<(String, Option<String>)> {
    let Err(error) = NATIVE.make(config, streams(copies)) else { panic!("{config:?} was made") };
    assert!(error.problems().iter().all(|problem| error.to_string().contains(&problem.to_string())));
    error.problems().into_iter().map(|problem| (problem.path, problem.nearest)).collect()
}

#[test]
fn every_environment_is_made_with_its_spaces() {
    for info in NATIVE.catalogue() {
        for id in std::iter::once(&info.id).chain(info.aliases) {
            let (observation, action) = NATIVE.spaces(&config(id, &[])).unwrap();
            let env = NATIVE.make(&config(id, &[]), streams(3)).unwrap();
            assert_eq!(
                (env.copies(), env.observation_space(), env.action_space()),
                (3, &observation, &action)
            );
            assert_eq!(NATIVE.is_stochastic(&config(id, &[])).unwrap(), info.stochastic, "{id}");
        }
    }
}

#[test]
fn every_number_of_an_observation_and_every_action_has_a_name() {
    for info in NATIVE.catalogue() {
        let (observation, action) = NATIVE.spaces(&config(info.id, &[])).unwrap();
        assert_eq!(info.observation_names.len(), observation.width(), "{}", info.id);
        let actions = match action {
            Space::Discrete { n } => n,
            other => other.width(),
        };
        assert_eq!(info.action_names.len(), actions, "{}", info.id);
        for names in [info.observation_names, info.action_names] {
            let mut different = names.to_vec();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), names.len(), "{}: {names:?}", info.id);
        }
    }
}

fn freeze(dimensions: &[usize]) -> WrapperConfig {
    WrapperConfig::FreezeObservation { dimensions: Some(dimensions.to_vec()) }
}

#[test]
fn all_problems_are_told_at_once() {
    let mut wrong = config(
        "FrozenLake-v1",
        &[
            ("desc", text("SF,G")),
            ("is_slipery", Kwarg::Bool(true)),
            ("is_slippery", Kwarg::Integer(1)),
            ("map_name", text("5x5")),
            ("reward_schedule", text("1,x,0")),
            ("success_rate", Kwarg::Number(1.5)),
        ],
    );
    wrong.max_episode_steps = Some(0);
    wrong.wrappers = vec![freeze(&[0, 1, 7]), WrapperConfig::ScaleReward { factor: f64::INFINITY }];
    let mut found = problems(&wrong, 0);
    found.sort();
    let plain = |path: &str| (path.to_owned(), None);
    assert_eq!(
        found,
        [
            plain("env.kwargs.desc"),
            ("env.kwargs.is_slipery".to_owned(), Some("is_slippery".to_owned())),
            plain("env.kwargs.is_slippery"),
            plain("env.kwargs.map_name"),
            plain("env.kwargs.reward_schedule"),
            plain("env.kwargs.success_rate"),
            plain("env.max_episode_steps"),
            plain("env.num_envs"),
            plain("env.wrappers[0].dimensions[1]"),
            plain("env.wrappers[0].dimensions[2]"),
            plain("env.wrappers[1].scale_reward.factor"),
        ]
    );
    assert_eq!(
        problems(&config("Cartpole-v1", &[]), 1),
        [("env.id".to_owned(), Some("CartPole-v1".to_owned()))]
    );
    assert_eq!(problems(&config("Acrobot-v1", &[("g", Kwarg::Number(9.8))]), 1), [plain("env.kwargs.g")]);
    assert_eq!(
        problems(&config("Pendulum-v1", &[("g", Kwarg::Number(f64::NAN))]), 1),
        [plain("env.kwargs.g")]
    );
}

#[test]
fn arguments_take_effect() {
    let observation = |config: &EnvConfig| NATIVE.spaces(config).unwrap().0;
    assert_eq!(
        observation(&config("FrozenLake-v1", &[("map_name", text("8x8"))])),
        Space::Discrete { n: 64 }
    );
    assert_eq!(observation(&config("FrozenLake-v1", &[("desc", text("SFG,FFF"))])), Space::Discrete { n: 6 });
    let stochastic = |id: &str, slippery: bool| {
        NATIVE.is_stochastic(&config(id, &[("is_slippery", Kwarg::Bool(slippery))])).unwrap()
    };
    assert!(!stochastic("FrozenLake-v1", false));
    assert!(stochastic("CliffWalking-v1", true));
    assert!(!stochastic("CliffWalkingSlippery-v1", false));
    // Down, down, right to the goal of a lake that isn't slippery.
    let lake = config("FrozenLake-v1", &[("desc", text("SF,FF,FG")), ("is_slippery", Kwarg::Bool(false))]);
    let mut env = NATIVE.make(&lake, streams(1)).unwrap();
    let mut out = StepBatch::new(1, 1);
    let mut path = Vec::new();
    for action in [1.0, 1.0, 2.0] {
        env.step(&[action], &mut out).unwrap();
        path.push((out.observations[0], out.rewards[0], out.terminated[0]));
    }
    assert_eq!(path, [(2.0, 0.0, false), (4.0, 0.0, false), (0.0, 1.0, true)]);
    assert_eq!(out.final_observations, [5.0]);
}

/// Steps one copy of MountainCar without pushing.
fn coast(env: &mut dyn VectorEnv, steps: usize) -> Vec<StepBatch> {
    (0..steps)
        .map(|_| {
            let mut out = StepBatch::new(1, 2);
            env.step(&[1.0], &mut out).expect("a native environment steps");
            out
        })
        .collect()
}

#[test]
fn the_step_cap_is_the_registered_one_or_the_configs() {
    for (cap, expected) in [(None, 200), (Some(3), 3), (Some(450), 450)] {
        let config = EnvConfig { max_episode_steps: cap, ..config("MountainCar-v0", &[]) };
        let mut env = NATIVE.make(&config, streams(1)).unwrap();
        assert_eq!(env.step_cap(), Some(expected as u64));
        let batches = coast(env.as_mut(), 2 * expected);
        for (step, batch) in batches.iter().enumerate() {
            assert_eq!(batch.truncated[0], (step + 1) % expected == 0, "step {step} with cap {cap:?}");
            assert!(!batch.terminated[0]);
            if batch.truncated[0] {
                assert_eq!(batch.observations[1], 0.0, "the next episode has begun");
                assert_ne!(batch.final_observations, batch.observations);
            }
        }
    }
}

#[test]
fn wrappers_change_what_training_sees() {
    let wrapped = |wrappers: Vec<WrapperConfig>| {
        let config = EnvConfig { max_episode_steps: Some(5), wrappers, ..config("MountainCar-v0", &[]) };
        let mut env = NATIVE.make(&config, streams(1)).unwrap();
        let mut first = vec![0.0; 2];
        env.reset(&mut first).unwrap();
        (first, coast(env.as_mut(), 12))
    };
    let (first, bare) = wrapped(vec![]);

    let (_, scaled) = wrapped(vec![
        WrapperConfig::ScaleReward { factor: 3.0 },
        WrapperConfig::ScaleReward { factor: 0.5 },
        WrapperConfig::TruncationAsTermination {},
    ]);
    for (bare, scaled) in bare.iter().zip(&scaled) {
        assert_eq!((bare.rewards[0], scaled.rewards[0]), (-1.0, -1.5));
        assert_eq!(bare.observations, scaled.observations);
        assert_eq!((scaled.terminated[0], scaled.truncated[0]), (bare.truncated[0], false));
    }

    let (_, frozen) = wrapped(vec![WrapperConfig::FreezeObservation { dimensions: None }]);
    let mut shown = first;
    for (bare, frozen) in bare.iter().zip(&frozen) {
        if bare.truncated[0] {
            assert_eq!(frozen.final_observations, shown);
            shown = bare.observations.clone();
        }
        assert_eq!(frozen.observations, shown);
        assert_eq!((&frozen.rewards, &frozen.truncated), (&bare.rewards, &bare.truncated));
    }
}

#[test]
fn one_dimension_can_be_held() {
    let wrapped = |wrappers: Vec<WrapperConfig>| {
        let config = EnvConfig { max_episode_steps: Some(4), wrappers, ..config("MountainCar-v0", &[]) };
        let mut env = NATIVE.make(&config, streams(1)).unwrap();
        env.reset(&mut [0.0; 2]).unwrap();
        coast(env.as_mut(), 10)
    };
    let (bare, held) = (wrapped(vec![]), wrapped(vec![freeze(&[1])]));
    for (bare, held) in bare.iter().zip(&held) {
        // A car starts at rest, so the frozen velocity is zero; its position is still visible.
        assert_eq!(held.observations, [bare.observations[0], 0.0]);
        if bare.truncated[0] {
            assert_ne!(bare.final_observations[1], 0.0);
            assert_eq!(held.final_observations, [bare.final_observations[0], 0.0]);
        }
    }
    assert_eq!(wrapped(vec![freeze(&[1, 0])]), wrapped(vec![freeze(&[0]), freeze(&[1])]));

    let wrong = EnvConfig { wrappers: vec![freeze(&[2])], ..config("MountainCar-v0", &[]) };
    let told = NATIVE.make(&wrong, streams(1)).err().unwrap().to_string();
    let expected =
        "env.wrappers[0].dimensions[0]: dimension 2 does not exist; observations have 2 dimensions: 0 to 1";
    assert_eq!(told, expected);
    let wrong = EnvConfig { wrappers: vec![freeze(&[1])], ..config("Taxi-v4", &[]) };
    assert!(NATIVE.make(&wrong, streams(1)).err().unwrap().to_string().ends_with("1 dimension: 0"));
}

#[test]
fn the_step_cap_is_known_through_wrappers() {
    let wrappers = vec![
        WrapperConfig::ScaleReward { factor: 2.0 },
        freeze(&[0]),
        WrapperConfig::TruncationAsTermination {},
    ];
    let capped = EnvConfig { wrappers: wrappers.clone(), ..config("CartPole-v1", &[]) };
    assert_eq!(NATIVE.make(&capped, streams(1)).unwrap().step_cap(), Some(500));
    let endless = EnvConfig { wrappers, ..config("Blackjack-v1", &[]) };
    assert_eq!(NATIVE.make(&endless, streams(1)).unwrap().step_cap(), None);
}

#[test]
fn probes_pay_what_they_promise() {
    let run = |id: &str, action: f32| {
        let mut env = NATIVE.make(&config(id, &[]), streams(64)).unwrap();
        let mut out = StepBatch::new(64, 1);
        env.reset(&mut out.observations).unwrap();
        let first = out.observations.clone();
        env.step(&[action; 64], &mut out).unwrap();
        (first, out)
    };
    let (first, out) = run("ProbeValue-v0", 0.0);
    assert!(first.iter().all(|value| *value == 0.0) && out.rewards.iter().all(|reward| *reward == 1.0));
    assert!(out.terminated.iter().all(|end| *end));

    let (first, out) = run("ProbeBackprop-v0", 0.0);
    assert!(first.contains(&1.0) && first.contains(&-1.0));
    assert_eq!(out.rewards, first);

    let (first, out) = run("ProbeDiscount-v0", 0.0);
    assert!(first.iter().all(|value| *value == 0.0) && out.rewards.iter().all(|reward| *reward == 0.0));
    assert!(out.observations.iter().all(|value| *value == 1.0) && out.terminated.iter().all(|end| !end));
    let mut env = NATIVE.make(&config("ProbeDiscount-v0", &[]), streams(1)).unwrap();
    let mut out = StepBatch::new(1, 1);
    let rewards: Vec<(f32, bool)> = (0..4)
        .map(|_| {
            env.step(&[0.0], &mut out).unwrap();
            (out.rewards[0], out.terminated[0])
        })
        .collect();
    assert_eq!(rewards, [(0.0, false), (1.0, true), (0.0, false), (1.0, true)]);

    for (action, reward) in [(0.0, -1.0), (1.0, 1.0)] {
        assert!(run("ProbePolicy-v0", action).1.rewards.iter().all(|found| *found == reward));
        let (first, out) = run("ProbeBatching-v0", action);
        assert!(first.contains(&1.0) && first.contains(&-1.0));
        let expected: Vec<f32> = first.iter().map(|sign| sign * reward).collect();
        assert_eq!(out.rewards, expected);
    }
}
