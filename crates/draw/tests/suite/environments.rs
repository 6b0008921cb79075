//! Pictures of environments, judged on their pixels: every change of a state
//! changes its frame, and different states never look the same.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use rlxp_draw::Frame;
use rlxp_draw::environment::{CALM, HEIGHT, Look, WIDTH, scene, steps_per_second};
use rlxp_env::{NATIVE, Passenger, StepBatch, Tile, View};
use rlxp_spec::config::EnvConfig;
use rlxp_types::Stream;

fn frame(view: &View) -> Frame {
    scene(view, &Look::default()).to_frame(1.0)
}

fn hash(frame: &Frame) -> u64 {
    let mut hasher = DefaultHasher::new();
    frame.rgba.hash(&mut hasher);
    hasher.finish()
}

/// Pixels that differ among rows `from..to`.
fn different(a: &Frame, b: &Frame, from: u32, to: u32) -> usize {
    let range = (from * a.width * 4) as usize..(to * a.width * 4) as usize;
    let pairs = a.rgba[range.clone()].chunks_exact(4).zip(b.rgba[range].chunks_exact(4));
    pairs.filter(|(a, b)| a != b).count()
}

/// Fails unless each change of one variable, up or down from `base`, is seen
/// in the picture itself, above the read-out at the bottom.
#[track_caller]
fn check_each_variable<const N: usize>(base: [f64; N], changes: [f64; N], view: impl Fn([f64; N]) -> View) {
    let before = frame(&view(base));
    for index in 0..N {
        for sign in [-1.0, 1.0] {
            let mut changed = base;
            changed[index] += sign * changes[index];
            let seen = different(&before, &frame(&view(changed)), CALM as u32, HEIGHT as u32 - 42);
            assert!(seen > 8, "variable {index} by {}: {seen} pixels", sign * changes[index]);
        }
    }
}

#[test]
fn every_variable_of_the_physics_is_seen() {
    for base in [[0.0; 4], [0.7, -0.9, 0.1, 1.2]] {
        check_each_variable(
            base,
            [0.02, 0.05, 0.01, 0.05],
            |[position, velocity, angle, angular_velocity]| View::CartPole {
                position,
                velocity,
                angle,
                angular_velocity,
            },
        );
    }
    for base in [[0.0; 4], [2.0, -1.0, 3.0, -5.0]] {
        check_each_variable(base, [0.02, 0.02, 0.1, 0.1], |[a, b, c, d]| View::Acrobot {
            first_angle: a,
            second_angle: b,
            first_velocity: c,
            second_velocity: d,
        });
    }
    for continuous in [false, true] {
        check_each_variable([-0.5, 0.0, 0.5], [0.005, 0.004, 0.02], |[position, velocity, goal_position]| {
            View::MountainCar { position, velocity, goal_position, continuous }
        });
    }
    check_each_variable([0.4, 0.0], [0.02, 0.1], |[angle, angular_velocity]| View::Pendulum {
        angle,
        angular_velocity,
    });
    check_each_variable([2.0, -7.0], [0.02, 0.1], |[angle, angular_velocity]| View::Pendulum {
        angle,
        angular_velocity,
    });
}

#[test]
fn a_whole_turn_more_is_seen_in_the_read_out() {
    let view = |angle| View::Pendulum { angle, angular_velocity: 0.0 };
    assert_ne!(frame(&view(0.5)), frame(&view(0.5 + std::f64::consts::TAU)));
}

#[test]
fn kinds_of_mountain_car_differ() {
    let view =
        |continuous| View::MountainCar { position: 0.0, velocity: 0.0, goal_position: 0.5, continuous };
    assert_ne!(frame(&view(true)), frame(&view(false)));
}

/// All views give frames that differ pairwise.
#[track_caller]
fn check_all_different(views: impl IntoIterator<Item = View>, expected: usize) {
    let frames: Vec<u64> = views.into_iter().map(|view| hash(&frame(&view))).collect();
    assert_eq!(frames.len(), expected);
    assert_eq!(frames.iter().collect::<HashSet<_>>().len(), expected);
}

#[test]
fn no_two_of_the_500_taxi_states_look_the_same() {
    let views = (0..500).map(|state| View::Taxi {
        row: state / 100,
        column: state / 20 % 5,
        passenger: if state / 4 % 5 == 4 { Passenger::InTaxi } else { Passenger::At(state / 4 % 5) },
        destination: state % 4,
        raining: false,
        undecided: false,
    });
    check_all_different(views, 500);
}

#[test]
fn the_town_without_its_panel_tells_taxi_states_apart() {
    // The text next to the town repeats the picture and doesn't replace it.
    let mut seen = HashSet::new();
    for state in 0..500 {
        let view = View::Taxi {
            row: state / 100,
            column: state / 20 % 5,
            passenger: if state / 4 % 5 == 4 { Passenger::InTaxi } else { Passenger::At(state / 4 % 5) },
            destination: state % 4,
            raining: false,
            undecided: false,
        };
        let frame = frame(&view);
        let mut hasher = DefaultHasher::new();
        for line in frame.rgba.chunks_exact(frame.width as usize * 4) {
            line[..372 * 4].hash(&mut hasher);
        }
        seen.insert(hasher.finish());
    }
    assert_eq!(seen.len(), 500);
}

#[test]
fn weather_and_moods_of_taxi_are_seen() {
    let views = (0..4).map(|bits| View::Taxi {
        row: 1,
        column: 1,
        passenger: Passenger::InTaxi,
        destination: 2,
        raining: bits & 1 == 1,
        undecided: bits & 2 == 2,
    });
    check_all_different(views, 4);
}

fn lake(rows: usize, columns: usize, slippery: bool, cell: usize) -> View {
    let tile = |index: usize| match index {
        0 => Tile::Start,
        _ if index + 1 == rows * columns => Tile::Goal,
        _ if index % 5 == 3 => Tile::Hole,
        _ => Tile::Frozen,
    };
    let tiles = (0..rows * columns).map(tile).collect();
    View::FrozenLake { rows, columns, tiles, slippery, row: cell / columns, column: cell % columns }
}

#[test]
fn every_cell_of_a_lake_is_seen() {
    for (rows, columns) in [(4, 4), (8, 8), (1, 30), (30, 2), (3, 61)] {
        let views = [false, true]
            .into_iter()
            .flat_map(|slippery| (0..rows * columns).map(move |cell| lake(rows, columns, slippery, cell)));
        check_all_different(views, 2 * rows * columns);
    }
    // A tile that changes is seen, also where tiles are tiny.
    for side in [4, 60] {
        let (before, mut after) = (lake(side, side, true, 0), lake(side, side, true, 0));
        let View::FrozenLake { tiles, .. } = &mut after else { unreachable!() };
        tiles[side + 1] = if tiles[side + 1] == Tile::Hole { Tile::Frozen } else { Tile::Hole };
        assert_ne!(frame(&before), frame(&after));
    }
}

#[test]
fn every_cell_of_the_cliff_is_seen() {
    let views = (0..96).map(|state| View::CliffWalking {
        rows: 4,
        columns: 12,
        slippery: state >= 48,
        row: state % 48 / 12,
        column: state % 12,
    });
    check_all_different(views, 96);
}

#[test]
fn every_fact_about_a_game_of_blackjack_is_seen() {
    let game = |player_total, player_cards, usable_ace, dealer_shows, dealer_hides, dealer_total| {
        View::Blackjack { player_total, player_cards, usable_ace, dealer_shows, dealer_hides, dealer_total }
    };
    let base = game(15, 2, false, 9, 4, None);
    let mut views = vec![base];
    views.extend((4..=31).filter(|total| *total != 15).map(|total| game(total, 2, false, 9, 4, None)));
    views.extend((3..=12).map(|cards| game(15, cards, false, 9, 4, None)));
    views.push(game(15, 2, true, 9, 4, None));
    views.extend((1..=10).filter(|card| *card != 9).map(|card| game(15, 2, false, card, 4, None)));
    views.extend((1..=10).filter(|card| *card != 4).map(|card| game(15, 2, false, 9, card, None)));
    views.extend((17..=26).map(|total| game(15, 2, false, 9, 4, Some(total))));
    let count = views.len();
    check_all_different(views, count);
}

#[test]
fn every_number_without_a_look_is_seen() {
    for width in [1, 3, 12, 13, 64] {
        let row = vec![0.25; width];
        let mut views = vec![View::Observation(row.clone())];
        for index in 0..width {
            for value in [-0.25, 0.26, 100.0] {
                let mut changed = row.clone();
                changed[index] = value;
                views.push(View::Observation(changed));
            }
        }
        let count = views.len();
        check_all_different(views, count);
    }
}

#[test]
fn actions_are_seen() {
    let views: [(View, Vec<Vec<f32>>); 9] = [
        (
            View::CartPole { position: 0.0, velocity: 0.0, angle: 0.0, angular_velocity: 0.0 },
            vec![vec![0.0], vec![1.0]],
        ),
        (
            View::Acrobot { first_angle: 0.0, second_angle: 0.0, first_velocity: 0.0, second_velocity: 0.0 },
            vec![vec![0.0], vec![1.0], vec![2.0]],
        ),
        (
            View::MountainCar { position: -0.5, velocity: 0.0, goal_position: 0.5, continuous: false },
            vec![vec![0.0], vec![1.0], vec![2.0]],
        ),
        (
            View::MountainCar { position: -0.5, velocity: 0.0, goal_position: 0.45, continuous: true },
            vec![vec![-1.0], vec![-0.1], vec![0.0], vec![0.1], vec![1.0]],
        ),
        (
            View::Pendulum { angle: 0.0, angular_velocity: 0.0 },
            vec![vec![-2.0], vec![-0.1], vec![0.0], vec![0.1], vec![2.0]],
        ),
        (lake(4, 4, true, 5), (0..4).map(|choice| vec![choice as f32]).collect()),
        (
            View::CliffWalking { rows: 4, columns: 12, slippery: false, row: 1, column: 1 },
            (0..4).map(|choice| vec![choice as f32]).collect(),
        ),
        (
            View::Taxi {
                row: 2,
                column: 2,
                passenger: Passenger::At(1),
                destination: 2,
                raining: false,
                undecided: false,
            },
            (0..6).map(|choice| vec![choice as f32]).collect(),
        ),
        (View::Observation(vec![0.0, 1.0]), vec![vec![0.0], vec![1.0], vec![-1.0]]),
    ];
    for (view, actions) in views {
        let draw = |action: &Vec<f32>| {
            hash(&scene(&view, &Look { action: Some(action), ..Look::default() }).to_frame(1.0))
        };
        let frames: HashSet<u64> = actions.iter().map(draw).collect();
        assert_eq!(frames.len(), actions.len(), "{view:?}");
    }
}

#[test]
fn numbers_that_are_none_are_drawn_without_a_panic() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        for view in [
            View::CartPole { position: bad, velocity: bad, angle: bad, angular_velocity: bad },
            View::Acrobot { first_angle: bad, second_angle: bad, first_velocity: bad, second_velocity: bad },
            View::MountainCar { position: bad, velocity: bad, goal_position: bad, continuous: true },
            View::Pendulum { angle: bad, angular_velocity: bad },
            View::Observation(vec![bad as f32; 20]),
            View::Observation(Vec::new()),
            View::Taxi {
                row: 0,
                column: 0,
                passenger: Passenger::At(9),
                destination: 9,
                raining: true,
                undecided: true,
            },
            View::FrozenLake { rows: 0, columns: 0, tiles: Vec::new(), slippery: true, row: 0, column: 0 },
            View::CliffWalking { rows: 1, columns: 1, slippery: true, row: 0, column: 0 },
        ] {
            for action in [None, Some([bad as f32]), Some([-1.0]), Some([99.0])] {
                let look = Look { action: action.as_ref().map(<[f32; 1]>::as_slice), ..Look::default() };
                assert_eq!(scene(&view, &look).to_frame(0.5).width, 300);
            }
        }
    }
}

#[test]
fn every_environment_of_the_catalogue_can_be_drawn_as_it_goes() {
    for info in NATIVE.catalogue() {
        let config = EnvConfig {
            id: info.id.to_owned(),
            num_envs: 1,
            kwargs: BTreeMap::new(),
            max_episode_steps: None,
            wrappers: Vec::new(),
            normalize_observations: false,
            normalize_rewards: false,
            ..EnvConfig::plain("")
        };
        let mut env = NATIVE.make(&config, vec![Stream::new(1, "env", 0)]).unwrap();
        let (width, action_width) = (env.observation_space().width(), env.action_space().width());
        let mut observations = vec![0.0; width];
        let mut batch = StepBatch::new(1, width);
        env.reset(&mut observations).unwrap();
        let action = vec![0.0; action_width];
        let look = Look {
            action: Some(&action),
            observation_names: info.observation_names,
            action_names: info.action_names,
        };
        for _ in 0..3 {
            let view = env.view(0).unwrap();
            let frame = scene(&view, &look).to_frame(1.0);
            assert_eq!((frame.width as f32, frame.height as f32), (WIDTH, HEIGHT), "{}", info.id);
            let colors: HashSet<&[u8]> = frame.rgba.chunks_exact(4).collect();
            assert!(colors.len() > 20, "{} is nearly empty", info.id);
            assert!((1..=60).contains(&steps_per_second(&view)));
            env.step(&action, &mut batch).unwrap();
        }
    }
}
