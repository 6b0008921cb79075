//! Views: every native environment has one, and it changes with each state
//! variable.

use rlxp_env::classic::{Acrobot, CartPole, MountainCar, MountainCarContinuous, Pendulum};
use rlxp_env::probe::{Probe, ProbeKind};
use rlxp_env::toy::frozen_lake::{MAP_4X4, MAP_8X8, Map, Rewards};
use rlxp_env::toy::taxi::TaxiRules;
use rlxp_env::toy::{Blackjack, TableWorld, Taxi, cliff_walking, frozen_lake};
use rlxp_env::{
    BadState, Dynamics, Environment, NATIVE, Passenger, Space, Step, StepBatch, Tile, VectorEnv, Vectorized,
    View,
};
use rlxp_spec::config::{EnvConfig, Kwarg, WrapperConfig};
use rlxp_types::Stream;

use crate::config;

fn made(config: &EnvConfig, copies: u64) -> Box<dyn VectorEnv> {
    NATIVE.make(config, (0..copies).map(|copy| Stream::new(5, "env", copy)).collect()).unwrap()
}

/// Any fixed, legal action for every copy.
fn actions(env: &dyn VectorEnv) -> Vec<f32> {
    vec![0.0; env.copies() * env.action_space().width()]
}

/// No two of these views are the same.
#[track_caller]
fn check_all_different(views: &[View]) {
    for (index, view) in views.iter().enumerate() {
        for other in &views[..index] {
            assert_ne!(view, other);
        }
    }
}

#[test]
fn every_native_environment_has_a_view_and_a_final_view() {
    for info in NATIVE.catalogue() {
        let mut config = config(info.id);
        config.max_episode_steps = Some(3);
        let mut env = made(&config, 2);
        let mut out = StepBatch::new(2, env.observation_space().width());
        env.record_final_views(true);
        env.reset(&mut out.observations).unwrap();
        assert!(env.view(0).is_some() && env.view(1).is_some(), "{}", info.id);
        assert_eq!(env.view(2), None, "there are two copies");
        for _ in 0..3 {
            env.step(&actions(env.as_ref()), &mut out).unwrap();
        }
        assert!(env.final_view(0).is_some() && env.final_view(1).is_some(), "{}", info.id);
        assert_eq!(env.final_view(2), None, "there are two copies");
        let is_probe = info.id.starts_with("Probe");
        assert_eq!(matches!(env.view(0), Some(View::Observation(_))), is_probe, "{}", info.id);
    }
}

/// The view agrees with the observation of the same moment, at every step.
#[test]
fn a_view_is_of_the_state_that_is_observed() {
    for id in ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0"] {
        let mut env = made(&config(id), 3);
        let width = env.observation_space().width();
        let mut out = StepBatch::new(3, width);
        let mut ends = 0;
        env.record_final_views(true);
        env.reset(&mut out.observations).unwrap();
        for _ in 0..1100 {
            env.step(&actions(env.as_ref()), &mut out).unwrap();
            for copy in 0..3 {
                let row = copy * width..(copy + 1) * width;
                assert_eq!(numbers(&env.view(copy).unwrap()), out.observations[row.clone()], "{id}");
                if out.terminated[copy] || out.truncated[copy] {
                    ends += 1;
                    assert_eq!(numbers(&env.final_view(copy).unwrap()), out.final_observations[row], "{id}");
                }
            }
        }
        assert!(ends >= 3, "{id} ended {ends} times");
    }
}

fn numbers(view: &View) -> Vec<f32> {
    match view {
        View::CartPole { position, velocity, angle, angular_velocity } => {
            [*position, *velocity, *angle, *angular_velocity].map(|value| value as f32).to_vec()
        }
        View::MountainCar { position, velocity, .. } => vec![*position as f32, *velocity as f32],
        other => panic!("{other:?}"),
    }
}

#[test]
fn final_views_are_kept_only_when_asked_for_and_forgotten_by_a_reset_and_a_restore() {
    let mut config = config("CartPole-v1");
    config.max_episode_steps = Some(2);
    let mut env = made(&config, 1);
    let mut out = StepBatch::new(1, 4);
    env.reset(&mut out.observations).unwrap();
    let two_steps = |env: &mut dyn VectorEnv, out: &mut StepBatch| {
        env.step(&[0.0], out).unwrap();
        env.step(&[0.0], out).unwrap();
        env.final_view(0)
    };
    assert_eq!(two_steps(env.as_mut(), &mut out), None);
    env.record_final_views(true);
    let end = two_steps(env.as_mut(), &mut out).unwrap();
    assert_ne!(Some(end), env.view(0), "the copy has restarted");
    env.reset(&mut out.observations).unwrap();
    assert_eq!(env.final_view(0), None);
    assert!(two_steps(env.as_mut(), &mut out).is_some(), "a reset goes on recording");
    let saved = env.save().unwrap().unwrap();
    env.restore(&saved).unwrap();
    assert_eq!(env.final_view(0), None);
    assert!(two_steps(env.as_mut(), &mut out).is_some(), "a restore goes on recording");
    env.record_final_views(false);
    assert_eq!(two_steps(env.as_mut(), &mut out), None);
}

#[test]
fn wrappers_pass_views_through_and_recording_changes_no_step() {
    let mut wrapped = config("CartPole-v1");
    wrapped.max_episode_steps = Some(5);
    let bare = wrapped.clone();
    wrapped.wrappers = vec![
        WrapperConfig::ScaleReward { factor: 2.0 },
        WrapperConfig::FreezeObservation { dimensions: None },
        WrapperConfig::TruncationAsTermination {},
    ];
    let (mut bare, mut wrapped) = (made(&bare, 2), made(&wrapped, 2));
    let (mut out, mut wrapped_out) = (StepBatch::new(2, 4), StepBatch::new(2, 4));
    wrapped.record_final_views(true);
    bare.reset(&mut out.observations).unwrap();
    wrapped.reset(&mut wrapped_out.observations).unwrap();
    for step in 0..23 {
        bare.step(&[0.0, 1.0], &mut out).unwrap();
        wrapped.step(&[0.0, 1.0], &mut wrapped_out).unwrap();
        for copy in 0..2 {
            assert_eq!(bare.view(copy), wrapped.view(copy));
            assert_eq!(wrapped.final_view(copy).is_some(), step >= 4);
        }
    }
}

/// An environment without a view.
struct Own;

impl Environment for Own {
    fn observation_space(&self) -> Space {
        Space::Discrete { n: 1 }
    }
    fn action_space(&self) -> Space {
        Space::Discrete { n: 1 }
    }
    fn reset(&mut self, _: &mut Stream, _: &mut [f32]) {}
    fn step(&mut self, _: &[f32], _: &mut Stream, _: &mut [f32]) -> Step {
        Step { reward: 0.0, terminated: true, truncated: false }
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn restore(&mut self, _: &[u8]) -> Result<(), BadState> {
        Ok(())
    }
}

#[test]
fn an_environment_of_your_own_has_no_view() {
    let mut env = Vectorized::new(|| Own, vec![Stream::new(0, "env", 0)], None);
    env.record_final_views(true);
    env.step(&[0.0], &mut StepBatch::new(1, 1)).unwrap();
    assert_eq!((env.view(0), env.final_view(0)), (None, None));
}

#[test]
fn each_variable_of_the_classic_systems_changes_the_view() {
    /// The rest state and the states that differ from it in one variable.
    fn states<const N: usize>() -> Vec<[f64; N]> {
        let one_changed = (0..N).map(|place| std::array::from_fn(|i| if i == place { 0.01 } else { 0.0 }));
        std::iter::once([0.0; N]).chain(one_changed).collect()
    }
    let mut views = Vec::new();
    for state in states::<4>() {
        let (mut cart_pole, mut acrobot) = (CartPole::new(1, false), Acrobot::new(1));
        cart_pole.set_state(0, state);
        acrobot.set_state(0, state);
        views.extend([cart_pole.view(0), acrobot.view(0)]);
    }
    for state in states::<2>() {
        let (mut car, mut pendulum) = (MountainCar::new(1, 0.0), Pendulum::new(1, 10.0));
        let mut continuous = MountainCarContinuous::new(1, 0.0);
        car.set_state(0, state);
        pendulum.set_state(0, state);
        continuous.set_state(0, state.map(|value| value as f32));
        views.extend([car.view(0), pendulum.view(0), continuous.view(0)]);
    }
    for observation in [-1.0, 0.0, 1.0] {
        let mut probe = Probe::new(1, ProbeKind::Backprop);
        probe.set_state(0, observation);
        views.push(probe.view(0));
    }
    check_all_different(&views);
}

#[test]
fn all_taxi_states_look_different() {
    let mut views = Vec::new();
    for rainy in [false, true] {
        let rules = TaxiRules { rainy, rainy_probability: 0.8, fickle: true, fickle_probability: 0.3 };
        let mut taxi = Taxi::new(1, rules);
        for state in 0..500 {
            for undecided in [false, true] {
                taxi.set_state(0, state, undecided);
                views.push(taxi.view(0));
            }
        }
    }
    check_all_different(&views);
    // Row 3, column 1, waiting at the third place, wants to go to the first.
    let mut taxi = Taxi::new(
        1,
        TaxiRules { rainy: false, rainy_probability: 0.8, fickle: false, fickle_probability: 0.3 },
    );
    taxi.set_state(0, 328, false);
    let passenger = Passenger::At(2);
    let (raining, undecided) = (false, false);
    assert_eq!(taxi.view(0), View::Taxi { row: 3, column: 1, passenger, destination: 0, raining, undecided });
    taxi.set_state(0, 328 + 8, false);
    assert!(matches!(taxi.view(0), View::Taxi { passenger: Passenger::InTaxi, destination: 0, .. }));
}

#[test]
fn every_place_of_a_grid_looks_different_and_the_map_is_right() {
    let rewards = Rewards { goal: 1.0, hole: 0.0, ice: 0.0 };
    let mut views = Vec::new();
    for slippery in [false, true] {
        let lakes = [MAP_4X4, MAP_8X8, "SFG,FHH"].map(|map| Map::parse(map).unwrap());
        let lakes = lakes.map(|map| frozen_lake::table(&map, slippery, 0.5, rewards));
        for table in lakes.into_iter().chain([cliff_walking::table(slippery)]) {
            let states = table.states();
            let mut world = TableWorld::new(table, 1);
            for state in 0..states {
                world.set_state(0, state);
                views.push(world.view(0));
            }
        }
    }
    check_all_different(&views);
    let small = 16 + 64 + 5;
    let tiles = vec![Tile::Start, Tile::Frozen, Tile::Goal, Tile::Frozen, Tile::Hole, Tile::Hole];
    let lake = View::FrozenLake { rows: 2, columns: 3, tiles, slippery: false, row: 1, column: 2 };
    assert_eq!(views[small], lake);
    let goal = View::CliffWalking { rows: 4, columns: 12, slippery: true, row: 3, column: 11 };
    assert_eq!(views.last(), Some(&goal));
}

#[test]
fn a_lake_of_a_config_shows_its_own_map() {
    let mut config = config("FrozenLake-v1");
    config.kwargs.insert("desc".to_owned(), Kwarg::Text("SH,FG".to_owned()));
    config.kwargs.insert("is_slippery".to_owned(), Kwarg::Bool(false));
    let mut env = made(&config, 1);
    env.record_final_views(true);
    let mut out = StepBatch::new(1, 1);
    env.reset(&mut out.observations).unwrap();
    let tiles = vec![Tile::Start, Tile::Hole, Tile::Frozen, Tile::Goal];
    let at = |row, column| {
        Some(View::FrozenLake { rows: 2, columns: 2, tiles: tiles.clone(), slippery: false, row, column })
    };
    assert_eq!(env.view(0), at(0, 0));
    env.step(&[2.0], &mut out).unwrap();
    assert_eq!((env.view(0), env.final_view(0)), (at(0, 0), at(0, 1)));
}

/// A game from a fixed row of cards: dealer's two, player's two, then the rest.
fn blackjack(cards: &[u8], hits: usize, stick: bool) -> View {
    let mut cards = cards.iter().copied();
    let mut card = || cards.next().unwrap();
    let mut game = Blackjack::new(1, false, true);
    game.deal(0, &mut card);
    for _ in 0..hits {
        game.play(0, true, &mut card);
    }
    if stick {
        game.play(0, false, &mut card);
    }
    game.view(0)
}

#[test]
fn each_variable_of_a_card_game_changes_the_view_and_the_end_shows_the_dealers_hand() {
    let start = blackjack(&[9, 7, 5, 4], 0, false);
    let expected = View::Blackjack {
        player_total: 9,
        player_cards: 2,
        usable_ace: false,
        dealer_shows: 9,
        dealer_hides: 7,
        dealer_total: None,
    };
    assert_eq!(start, expected);
    check_all_different(&[
        start,
        blackjack(&[8, 7, 5, 4], 0, false),
        blackjack(&[9, 8, 5, 4], 0, false),
        blackjack(&[9, 7, 5, 5], 0, false),
        blackjack(&[9, 7, 3, 2, 4], 1, false),
        blackjack(&[9, 7, 5, 4, 10], 1, false),
        // 19 with and without an ace that counts as 11.
        blackjack(&[9, 7, 1, 8], 0, false),
        blackjack(&[9, 7, 5, 4, 5], 0, true),
        blackjack(&[9, 7, 5, 4, 6], 0, true),
        blackjack(&[9, 7, 10, 9, 5], 1, false),
    ]);
    assert!(matches!(
        blackjack(&[9, 7, 5, 4, 5], 0, true),
        View::Blackjack { dealer_total: Some(21), player_total: 9, .. }
    ));
    assert!(matches!(
        blackjack(&[9, 7, 10, 9, 5], 1, false),
        View::Blackjack { dealer_total: None, player_total: 24, player_cards: 3, .. }
    ));
}
