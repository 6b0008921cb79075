//! Classic control: transitions from states over the whole reachable range,
//! edges included, and whole episodes for the step cap.

use std::f64::consts::PI;

use rlxp_env::classic::{Acrobot, CartPole, MountainCar, MountainCarContinuous, Pendulum};
use rlxp_env::{Dynamics, NATIVE, Native, Space, StepBatch, VectorEnv};
use rlxp_types::Stream;
use serde_json::{Value, json};

use super::oracle::{ask, assert_close};

const TRANSITIONS: usize = 12_000;

/// A state as Gymnasium holds it at that moment.
#[derive(Clone, Debug)]
enum State {
    F64(Vec<f64>),
    F32(Vec<f32>),
}

impl State {
    fn json(&self) -> Value {
        match self {
            State::F64(values) => json!(["f64", values]),
            State::F32(values) => {
                json!(["f32", values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>()])
            }
        }
    }
}

/// One environment with everything the comparison needs.
struct Subject<D> {
    id: &'static str,
    make: fn(usize, Arguments) -> D,
    set: fn(&mut D, usize, &State),
    state: fn(&D, usize) -> State,
    /// The state at its start, as Gymnasium draws it.
    start: fn(&D, usize) -> Vec<f64>,
    /// Any state that can be reached.
    draw: fn(&mut Stream) -> State,
    /// States where something changes: limits, walls, goals, zero.
    edges: Vec<State>,
    /// Any action, limits and beyond included where Gymnasium takes them.
    draw_action: fn(&mut Stream) -> f32,
    /// An action that keeps an episode going to its step cap.
    survive: fn(&State) -> f32,
    /// State and action after which the episode really ends.
    ending: Option<(State, f32)>,
    arguments: Vec<Arguments>,
}

/// The value of the one argument of an environment.
#[derive(Clone, Copy, Debug)]
enum Arguments {
    Default,
    SuttonBarto,
    GoalVelocity(f64),
    Gravity(f64),
}

impl Arguments {
    fn json(self) -> Value {
        match self {
            Arguments::Default => json!({}),
            Arguments::SuttonBarto => json!({"sutton_barto_reward": true}),
            Arguments::GoalVelocity(velocity) => json!({"goal_velocity": velocity}),
            Arguments::Gravity(gravity) => json!({"g": gravity}),
        }
    }

    fn goal_velocity(self) -> f64 {
        if let Arguments::GoalVelocity(velocity) = self { velocity } else { 0.0 }
    }
}

fn streams(copies: usize) -> Vec<Stream> {
    (0..copies as u64).map(|copy| Stream::new(9, "env", copy)).collect()
}

/// One step of ours: observation, reward, terminated, truncated.
type Found = (Vec<f32>, f32, bool, bool);

/// States with actions, and what each of them gave.
type Walk = (Vec<(State, f32)>, Vec<Found>);

/// What row `copy` of a step gave, before any restart.
fn found(out: &StepBatch, copy: usize, width: usize) -> Found {
    let ended = out.terminated[copy] || out.truncated[copy];
    let observations = if ended { &out.final_observations } else { &out.observations };
    let row = observations[copy * width..(copy + 1) * width].to_vec();
    (row, out.rewards[copy], out.terminated[copy], out.truncated[copy])
}

#[track_caller]
fn compare(ours: &Found, theirs: &Value, what: impl Fn() -> String) {
    let (observation, reward, terminated, truncated) = ours;
    assert_eq!(observation.len(), theirs[0].as_array().unwrap().len());
    for (index, value) in observation.iter().enumerate() {
        let wanted = theirs[0][index].as_f64().unwrap();
        assert_close(f64::from(*value), wanted, || format!("observation {index} after {}", what()));
    }
    assert_close(f64::from(*reward), theirs[1].as_f64().unwrap(), || format!("reward after {}", what()));
    assert_eq!(json!([terminated, truncated]), json!([theirs[2], theirs[3]]), "end after {}", what());
}

/// Transitions of one case: the question and our answers.
fn transitions<D: Dynamics>(subject: &Subject<D>, arguments: Arguments) -> Walk {
    let mut stream = Stream::new(1, "test", 0);
    let mut inputs: Vec<(State, f32)> = Vec::new();
    for state in &subject.edges {
        (0..6).for_each(|_| inputs.push((state.clone(), (subject.draw_action)(&mut stream))));
    }
    while inputs.len() < TRANSITIONS {
        inputs.push(((subject.draw)(&mut stream), (subject.draw_action)(&mut stream)));
    }
    let mut env = Native::new((subject.make)(inputs.len(), arguments), streams(inputs.len()), None);
    for (copy, (state, _)) in inputs.iter().enumerate() {
        (subject.set)(env.dynamics_mut(), copy, state);
    }
    let width = env.observation_space().width();
    let mut out = StepBatch::new(inputs.len(), width);
    let actions: Vec<f32> = inputs.iter().map(|(_, action)| *action).collect();
    env.step(&actions, &mut out).unwrap();
    let answers = (0..inputs.len()).map(|copy| found(&out, copy, width)).collect();
    (inputs, answers)
}

/// Two episodes up to the registered cap; the second really ends in its last step.
fn episodes<D: Dynamics>(subject: &Subject<D>, arguments: Arguments) -> Vec<Walk> {
    let cap = NATIVE.find(subject.id).unwrap().max_episode_steps.unwrap();
    let mut episodes = Vec::new();
    for ending in
        [None, subject.ending.as_ref()].into_iter().take(if subject.ending.is_some() { 2 } else { 1 })
    {
        let mut env = Native::new((subject.make)(1, arguments), streams(1), Some(cap));
        let width = env.observation_space().width();
        let mut out = StepBatch::new(1, width);
        let (mut inputs, mut answers) = (Vec::new(), Vec::new());
        for step in 1..=cap {
            if let Some((state, _)) = ending.filter(|_| step == cap) {
                (subject.set)(env.dynamics_mut(), 0, state);
            }
            let state = (subject.state)(env.dynamics(), 0);
            let action = match ending {
                Some((_, action)) if step == cap => *action,
                _ => (subject.survive)(&state),
            };
            env.step(&[action], &mut out).unwrap();
            inputs.push((state, action));
            answers.push(found(&out, 0, width));
        }
        let ends: Vec<bool> = answers.iter().map(|answer| answer.2 || answer.3).collect();
        assert!(!ends[..ends.len() - 1].contains(&true), "the episode must reach its cap");
        assert_eq!((answers.last().unwrap().2, answers.last().unwrap().3), (ending.is_some(), true));
        episodes.push((inputs, answers));
    }
    episodes
}

fn input_json(inputs: &[(State, f32)]) -> Value {
    inputs.iter().map(|(state, action)| json!([state.json(), f64::from(*action)])).collect()
}

fn check<D: Dynamics>(subject: &Subject<D>) {
    let ours: Vec<_> = subject
        .arguments
        .iter()
        .map(|arguments| (*arguments, transitions(subject, *arguments), episodes(subject, *arguments)))
        .collect();
    let cases: Vec<Value> = ours
        .iter()
        .map(|(arguments, (inputs, _), episodes)| {
            let episodes: Vec<Value> = episodes.iter().map(|(inputs, _)| input_json(inputs)).collect();
            json!({"kwargs": arguments.json(), "transitions": input_json(inputs), "episodes": episodes})
        })
        .collect();
    let theirs = ask("classic.py", &[subject.id], &json!({"cases": cases}));
    for ((arguments, (inputs, answers), episodes), theirs) in
        ours.iter().zip(theirs["cases"].as_array().unwrap())
    {
        let mut ends = [0; 2];
        for (index, ((state, action), answer)) in inputs.iter().zip(answers).enumerate() {
            ends[usize::from(answer.2)] += 1;
            compare(answer, &theirs["transitions"][index], || {
                format!("{state:?} with {action}, {arguments:?}")
            });
        }
        let must_end = subject.ending.is_some();
        assert!(
            ends[0] > 100 && (ends[1] > 100) == must_end,
            "both kinds of transitions are compared: {ends:?}"
        );
        for (number, (inputs, answers)) in episodes.iter().enumerate() {
            for (step, ((state, action), answer)) in inputs.iter().zip(answers).enumerate() {
                let theirs = &theirs["episodes"][number][step];
                compare(answer, theirs, || format!("step {step} of an episode: {state:?} with {action}"));
            }
        }
    }
    check_registration(subject, &theirs);
    check_starts(subject, &theirs);
}

fn check_registration<D: Dynamics>(subject: &Subject<D>, theirs: &Value) {
    let info = NATIVE.find(subject.id).unwrap();
    assert_eq!(json!(info.max_episode_steps), theirs["max_episode_steps"]);
    assert_eq!(info.reward_threshold, theirs["reward_threshold"].as_f64());
    let dynamics = (subject.make)(1, Arguments::Default);
    for (ours, theirs) in [
        (dynamics.observation_space(), &theirs["observation_space"]),
        (dynamics.action_space(), &theirs["action_space"]),
    ] {
        match ours {
            Space::Discrete { n } => assert_eq!(json!(n), theirs["n"]),
            Space::Box { low, high, .. } => {
                for (ours, theirs) in [(low, &theirs["low"]), (high, &theirs["high"])] {
                    let theirs: Vec<f32> = theirs
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|bound| bound.as_str().unwrap().parse().unwrap())
                        .collect();
                    assert_eq!(ours, theirs);
                }
            }
            other => panic!("{other:?} is no space of classic control"),
        }
    }
}

/// Start states cover the whole range that Gymnasium draws from, uniformly.
fn check_starts<D: Dynamics>(subject: &Subject<D>, theirs: &Value) {
    const DRAWS: usize = 20_000;
    const BINS: usize = 10;
    let env = Native::new((subject.make)(DRAWS, Arguments::Default), streams(DRAWS), None);
    for index in 0..theirs["start_low"].as_array().unwrap().len() {
        let low = theirs["start_low"][index].as_f64().unwrap();
        let high = theirs["start_high"][index].as_f64().unwrap();
        let mut bins = [0usize; BINS];
        for copy in 0..DRAWS {
            let value = (subject.start)(env.dynamics(), copy)[index];
            assert!((low..=high).contains(&value), "start {value} is outside {low} to {high}");
            if high > low {
                bins[(((value - low) / (high - low) * BINS as f64) as usize).min(BINS - 1)] += 1;
            }
        }
        if high > low {
            // Each bin is binomial with mean 2,000 and standard deviation 42.
            assert!(bins.iter().all(|count| count.abs_diff(DRAWS / BINS) < 200), "part {index}: {bins:?}");
        }
    }
}

/// Every combination of the given values.
fn grid(axes: &[&[f64]]) -> Vec<Vec<f64>> {
    axes.iter().fold(vec![Vec::new()], |rows, axis| {
        rows.iter()
            .flat_map(|row| axis.iter().map(move |value| [row.as_slice(), &[*value]].concat()))
            .collect()
    })
}

fn f64_grid(axes: &[&[f64]]) -> Vec<State> {
    grid(axes).into_iter().map(State::F64).collect()
}

fn four(state: &State) -> [f64; 4] {
    let State::F64(values) = state else { panic!("a state in f64") };
    values[..].try_into().unwrap()
}

fn two(state: &State) -> [f64; 2] {
    let State::F64(values) = state else { panic!("a state in f64") };
    values[..].try_into().unwrap()
}

#[test]
fn cart_pole() {
    const ANGLE: f64 = 12.0 * 2.0 * PI / 360.0;
    check(&Subject {
        id: "CartPole-v1",
        make: |copies, arguments| CartPole::new(copies, matches!(arguments, Arguments::SuttonBarto)),
        set: |env: &mut CartPole, copy, state| env.set_state(copy, four(state)),
        state: |env, copy| State::F64(env.state(copy).to_vec()),
        start: |env, copy| env.state(copy).to_vec(),
        draw: |stream| {
            State::F64([2.4, 4.0, ANGLE, 5.0].iter().map(|bound| stream.uniform_in(-bound, *bound)).collect())
        },
        edges: f64_grid(&[&[-2.4, 0.0, 2.4], &[-3.0, 0.0, 3.0], &[-ANGLE, 0.0, ANGLE], &[-3.0, 0.0, 3.0]]),
        draw_action: |stream| stream.below(2) as f32,
        survive: |state| {
            let [position, velocity, angle, spin] = four(state);
            f32::from(u8::from(angle + 0.5 * spin + 0.02 * position + 0.05 * velocity > 0.0))
        },
        ending: Some((State::F64(vec![2.4, 3.0, 0.0, 0.0]), 1.0)),
        arguments: vec![Arguments::Default, Arguments::SuttonBarto],
    });
}

#[test]
fn acrobot() {
    check(&Subject {
        id: "Acrobot-v1",
        make: |copies, _| Acrobot::new(copies),
        set: |env: &mut Acrobot, copy, state| env.set_state(copy, four(state)),
        state: |env, copy| State::F64(env.state(copy).to_vec()),
        start: |env, copy| env.state(copy).to_vec(),
        draw: |stream| {
            let bounds = [PI, PI, 4.0 * PI, 9.0 * PI];
            State::F64(bounds.iter().map(|bound| stream.uniform_in(-bound, *bound)).collect())
        },
        edges: f64_grid(&[
            &[-PI, 0.0, 1.0, PI],
            &[-PI, 0.0, 1.0, PI],
            &[-4.0 * PI, 0.0, 4.0 * PI],
            &[-9.0 * PI, 0.0, 9.0 * PI],
        ]),
        draw_action: |stream| stream.below(3) as f32,
        survive: |_| 1.0,
        ending: Some((State::F64(vec![PI, 0.0, 0.1, 0.0]), 1.0)),
        arguments: vec![Arguments::Default],
    });
}

const CAR_EDGES: [&[f64]; 2] =
    [&[-1.2, -1.19, -0.5, 0.44, 0.45, 0.49, 0.5, 0.6], &[-0.07, -0.01, 0.0, 0.01, 0.07]];

#[test]
fn mountain_car() {
    check(&Subject {
        id: "MountainCar-v0",
        make: |copies, arguments| MountainCar::new(copies, arguments.goal_velocity()),
        set: |env: &mut MountainCar, copy, state| env.set_state(copy, two(state)),
        state: |env, copy| State::F64(env.state(copy).to_vec()),
        start: |env, copy| env.state(copy).to_vec(),
        draw: |stream| State::F64(vec![stream.uniform_in(-1.2, 0.6), stream.uniform_in(-0.07, 0.07)]),
        edges: f64_grid(&CAR_EDGES),
        draw_action: |stream| stream.below(3) as f32,
        survive: |_| 1.0,
        ending: Some((State::F64(vec![0.5, 0.05]), 2.0)),
        arguments: vec![Arguments::Default, Arguments::GoalVelocity(0.03)],
    });
}

#[test]
fn mountain_car_continuous() {
    check(&Subject {
        id: "MountainCarContinuous-v0",
        make: |copies, arguments| MountainCarContinuous::new(copies, arguments.goal_velocity()),
        set: |env: &mut MountainCarContinuous, copy, state| match state {
            State::F32(values) => env.set_state(copy, values[..].try_into().unwrap()),
            State::F64(values) => env.set_start(copy, values[0]),
        },
        state: |env, copy| {
            let state = env.state(copy);
            // Only the start is finer than f32.
            if state.iter().all(|value| f64::from(*value as f32) == *value) {
                State::F32(state.iter().map(|value| *value as f32).collect())
            } else {
                State::F64(state.to_vec())
            }
        },
        start: |env, copy| env.state(copy).to_vec(),
        draw: |stream| {
            if stream.below(4) == 0 {
                State::F64(vec![stream.uniform_in(-0.6, -0.4), 0.0])
            } else {
                State::F32(vec![stream.uniform_in(-1.2, 0.6) as f32, stream.uniform_in(-0.07, 0.07) as f32])
            }
        },
        edges: grid(&CAR_EDGES)
            .into_iter()
            .map(|row| State::F32(row.iter().map(|value| *value as f32).collect()))
            .collect(),
        draw_action: |stream| match stream.below(8) {
            0 => -1.0,
            1 => 1.0,
            2 => 0.0,
            _ => stream.uniform_in(-1.5, 1.5) as f32,
        },
        survive: |_| 0.0,
        ending: Some((State::F32(vec![0.45, 0.05]), 0.5)),
        arguments: vec![Arguments::Default, Arguments::GoalVelocity(0.03)],
    });
}

#[test]
fn pendulum() {
    check(&Subject {
        id: "Pendulum-v1",
        make: |copies, arguments| {
            Pendulum::new(copies, if let Arguments::Gravity(gravity) = arguments { gravity } else { 10.0 })
        },
        set: |env: &mut Pendulum, copy, state| env.set_state(copy, two(state)),
        state: |env, copy| State::F64(env.state(copy).to_vec()),
        start: |env, copy| env.state(copy).to_vec(),
        draw: |stream| State::F64(vec![stream.uniform_in(-84.0, 84.0), stream.uniform_in(-8.0, 8.0)]),
        edges: f64_grid(&[
            &[-3.0 * PI, -PI, -PI / 2.0, 0.0, PI / 2.0, PI, 3.0 * PI, 80.0],
            &[-8.0, 0.0, 8.0],
        ]),
        draw_action: |stream| match stream.below(8) {
            0 => -2.0,
            1 => 2.0,
            2 => 0.0,
            _ => stream.uniform_in(-3.0, 3.0) as f32,
        },
        survive: |_| 1.5,
        ending: None,
        arguments: vec![Arguments::Default, Arguments::Gravity(9.81)],
    });
}
