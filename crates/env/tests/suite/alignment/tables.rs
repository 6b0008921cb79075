//! Table worlds: the whole transition table and the start distribution must
//! be bit for bit Gymnasium's, and samples must follow them.

use rlxp_env::toy::frozen_lake::{self, MAP_4X4, MAP_8X8, Map, Rewards};
use rlxp_env::toy::taxi::{TaxiRules, table as taxi_table};
use rlxp_env::toy::{Table, TableWorld, Taxi, cliff_walking};
use rlxp_env::{Dynamics, NATIVE};
use rlxp_types::Stream;
use serde_json::{Value, json};

use super::oracle::ask;

const PLAIN: Rewards = Rewards { goal: 1.0, hole: 0.0, ice: 0.0 };
const DRY: TaxiRules =
    TaxiRules { rainy: false, rainy_probability: 0.8, fickle: false, fickle_probability: 0.3 };
const TWO_STARTS: &str = "SFFGH,FHSFF,GFFFF";

fn lake(map: &str, slippery: bool, success_rate: f64, rewards: Rewards) -> Table {
    frozen_lake::table(&Map::parse(map).unwrap(), slippery, success_rate, rewards)
}

/// Gymnasium's id and arguments beside our table.
fn cases() -> Vec<(&'static str, Value, Table)> {
    let own_rewards = Rewards { goal: 2.0, hole: -1.0, ice: -0.5 };
    let two_starts =
        json!({"desc": TWO_STARTS.split(',').collect::<Vec<_>>(), "reward_schedule": [2.0, -1.0, -0.5]});
    vec![
        ("FrozenLake-v1", json!({}), lake(MAP_4X4, true, 1.0 / 3.0, PLAIN)),
        ("FrozenLake-v1", json!({"is_slippery": false}), lake(MAP_4X4, false, 1.0 / 3.0, PLAIN)),
        ("FrozenLake-v1", json!({"map_name": "8x8"}), lake(MAP_8X8, true, 1.0 / 3.0, PLAIN)),
        ("FrozenLake-v1", json!({"success_rate": 0.75}), lake(MAP_4X4, true, 0.75, PLAIN)),
        ("FrozenLake-v1", two_starts, lake(TWO_STARTS, true, 1.0 / 3.0, own_rewards)),
        ("FrozenLake8x8-v1", json!({}), lake(MAP_8X8, true, 1.0 / 3.0, PLAIN)),
        ("FrozenLake8x8-v1", json!({"is_slippery": false}), lake(MAP_8X8, false, 1.0 / 3.0, PLAIN)),
        ("CliffWalking-v1", json!({}), cliff_walking::table(false)),
        ("CliffWalking-v1", json!({"is_slippery": true}), cliff_walking::table(true)),
        ("CliffWalkingSlippery-v1", json!({}), cliff_walking::table(true)),
        ("Taxi-v4", json!({}), taxi_table(&DRY)),
        ("Taxi-v4", json!({"is_rainy": true}), taxi_table(&TaxiRules { rainy: true, ..DRY })),
        (
            "Taxi-v4",
            json!({"is_rainy": true, "rainy_probability": 0.6}),
            taxi_table(&TaxiRules { rainy: true, rainy_probability: 0.6, ..DRY }),
        ),
        ("Taxi-v4", json!({"fickle_passenger": true}), taxi_table(&DRY)),
    ]
}

fn as_json(table: &Table) -> Value {
    let rows = (0..table.states()).map(|state| {
        let actions = (0..table.actions()).map(|action| {
            let outcomes = table.outcomes(state, action).iter().map(|outcome| {
                json!([
                    outcome.probability.to_bits(),
                    outcome.next,
                    f64::from(outcome.reward).to_bits(),
                    outcome.terminated
                ])
            });
            outcomes.collect::<Value>()
        });
        actions.collect::<Value>()
    });
    rows.collect()
}

#[test]
fn tables_and_starts_are_gymnasiums() {
    let cases = cases();
    let question: Vec<Value> =
        cases.iter().map(|(id, kwargs, _)| json!({"id": id, "kwargs": kwargs})).collect();
    let theirs = ask("tables.py", &[], &json!({"cases": question}));
    for ((id, kwargs, table), theirs) in cases.iter().zip(theirs.as_array().unwrap()) {
        let ours = as_json(table);
        for state in 0..table.states() {
            assert_eq!(ours[state], theirs["table"][state], "{id} with {kwargs}, state {state}");
        }
        assert_eq!(theirs["table"].as_array().unwrap().len(), table.states());
        let starts: Value = table.starts().iter().map(|probability| json!(probability.to_bits())).collect();
        assert_eq!(starts, theirs["starts"], "{id} with {kwargs}");
        let info = NATIVE.find(id).unwrap();
        assert_eq!(json!(info.max_episode_steps), theirs["max_episode_steps"], "{id}");
        assert_eq!(info.reward_threshold, theirs["reward_threshold"].as_f64(), "{id}");
    }
    check_fickle(&theirs[cases.len() - 1]["fickle"]);
}

/// While a passenger is undecided, the next states are the same as in
/// Gymnasium, and every one of them occurs.
fn check_fickle(theirs: &Value) {
    const TRIES: usize = 64;
    let rules = TaxiRules { fickle: true, ..DRY };
    let mut taxi = Taxi::new(TRIES, rules);
    let mut streams: Vec<Stream> = (0..TRIES as u64).map(|copy| Stream::new(4, "env", copy)).collect();
    let (mut rewards, mut terminated) = ([0.0; TRIES], [false; TRIES]);
    for state in 0..500 {
        for action in 0..6 {
            (0..TRIES).for_each(|copy| taxi.set_state(copy, state, true));
            taxi.step(&[action as f32; TRIES], &mut streams, &mut rewards, &mut terminated);
            let mut seen: Vec<Value> =
                (0..TRIES).map(|copy| json!(<[Value; 2]>::from(pair(&taxi, copy)))).collect();
            let mut wanted = theirs["rows"][state][action].as_array().unwrap().clone();
            for list in [&mut seen, &mut wanted] {
                list.sort_by_key(|pair| pair[0].as_u64());
                list.dedup();
            }
            assert_eq!(seen, wanted, "state {state}, action {action}");
        }
    }
    assert_eq!(theirs["undecided_below_and_at"], json!([true, false]));
    let mut taxi = Taxi::new(1, rules);
    let undecided = (0..20_000).filter(|_| {
        taxi.reset_one(0, &mut streams[0]);
        taxi.state(0).1
    });
    let share = undecided.count() as f64 / 20_000.0;
    assert!((share - 0.3).abs() < 0.015, "{share} of the passengers are fickle instead of 0.3");
}

fn pair(taxi: &Taxi, copy: usize) -> (Value, Value) {
    let (state, undecided) = taxi.state(copy);
    (json!(state), json!(undecided))
}

/// Counts of `total` draws are within five standard deviations of their probabilities.
#[track_caller]
fn assert_follows(counts: &[usize], probabilities: &[f64], total: usize, what: &str) {
    for (place, (count, probability)) in counts.iter().zip(probabilities).enumerate() {
        let deviation = (total as f64 * probability * (1.0 - probability)).sqrt();
        let off = (*count as f64 - total as f64 * probability).abs();
        assert!(
            off <= 5.0 * deviation + 1e-9,
            "{what} {place}: {count} of {total}, probability {probability}"
        );
    }
}

#[test]
fn what_is_drawn_follows_the_tables() {
    const DRAWS: usize = 6_000;
    let mut streams: Vec<Stream> = (0..DRAWS as u64).map(|copy| Stream::new(5, "env", copy)).collect();
    let (mut rewards, mut terminated) = (vec![0.0; DRAWS], vec![false; DRAWS]);
    for (id, kwargs, table) in cases() {
        let states = table.states();
        let mut world = TableWorld::new(table.clone(), DRAWS);
        let mut starts = vec![0; states];
        for (copy, stream) in streams.iter_mut().enumerate() {
            world.reset_one(copy, stream);
            starts[world.state(copy)] += 1;
        }
        assert_follows(&starts, table.starts(), DRAWS, &format!("{id} {kwargs} start"));
        for (state, action) in
            (0..states).step_by(7).flat_map(|state| (0..table.actions()).map(move |a| (state, a)))
        {
            (0..DRAWS).for_each(|copy| world.set_state(copy, state));
            world.step(&vec![action as f32; DRAWS], &mut streams, &mut rewards, &mut terminated);
            let (mut counts, mut probabilities) = (vec![0; states], vec![0.0; states]);
            for outcome in table.outcomes(state, action) {
                probabilities[outcome.next as usize] += outcome.probability;
            }
            for copy in 0..DRAWS {
                counts[world.state(copy)] += 1;
                let meant = |outcome: &&rlxp_env::toy::Outcome| {
                    (outcome.next as usize, outcome.reward, outcome.terminated)
                        == (world.state(copy), rewards[copy], terminated[copy])
                };
                assert!(table.outcomes(state, action).iter().any(|outcome| meant(&outcome)));
            }
            probabilities.iter_mut().for_each(|probability| *probability = probability.min(1.0));
            assert_follows(&counts, &probabilities, DRAWS, &format!("{id} {kwargs} {state} {action}"));
        }
    }
}
