//! The protocol without processes: a walker on a line that follows the columns as a worker does.

use super::super::layout::Columns;
use super::*;

/// A walker whose random numbers come from the seed of its episode, unless it is set to ignore it.
struct Walker {
    memory: Vec<u8>,
    columns: Columns,
    copies: usize,
    places: Vec<f32>,
    chances: Vec<Stream>,
    steps: Vec<u64>,
    stepped: Vec<u64>,
    resets: Vec<Vec<i64>>,
    disloyal_from: Option<u64>,
    broken: Option<f32>,
}

impl Walker {
    fn new(layout: &Layout) -> Self {
        let copies = layout.copies;
        Self {
            memory: vec![0; layout.size],
            columns: layout.columns.clone(),
            copies,
            places: vec![0.0; copies],
            chances: vec![Stream::new(0, "walker", 0); copies],
            steps: vec![0; copies],
            stepped: vec![0; copies],
            resets: vec![Vec::new(); copies],
            disloyal_from: None,
            broken: None,
        }
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.memory[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn reset(&mut self, copy: usize) {
        let at = self.columns.seeds.offset + 8 * copy;
        let seed = i64::from_le_bytes(self.memory[at..at + 8].try_into().unwrap());
        self.resets[copy].push(seed);
        self.chances[copy] = Stream::new(seed as u64, "walker", 0);
        self.places[copy] = self.chances[copy].uniform_f32();
        self.steps[copy] = 0;
        self.put(self.columns.observations.offset + 4 * copy, &self.places[copy].to_le_bytes());
    }
}

impl Workers for Walker {
    fn write_u8(&mut self, offset: usize, values: &[u8]) {
        self.put(offset, values);
    }
    fn write_i64(&mut self, offset: usize, values: &[i64]) {
        values.iter().enumerate().for_each(|(at, value)| self.put(offset + 8 * at, &value.to_le_bytes()));
    }
    fn write_f32(&mut self, offset: usize, values: &[f32]) {
        values.iter().enumerate().for_each(|(at, value)| self.put(offset + 4 * at, &value.to_le_bytes()));
    }
    fn read_u8(&self, offset: usize, values: &mut [u8]) {
        values.copy_from_slice(&self.memory[offset..offset + values.len()]);
    }
    fn read_f32(&self, offset: usize, values: &mut [f32]) {
        for (value, bytes) in values.iter_mut().zip(self.memory[offset..].as_chunks().0) {
            *value = f32::from_le_bytes(*bytes);
        }
    }
    fn read_f64(&self, offset: usize, values: &mut [f64]) {
        for (value, bytes) in values.iter_mut().zip(self.memory[offset..].as_chunks().0) {
            *value = f64::from_le_bytes(*bytes);
        }
    }
    fn exchange(&mut self) -> Result<(), WorkerFailure> {
        for copy in 0..self.copies {
            let operation = self.memory[self.columns.operations.offset + copy];
            if operation == Operation::Reset as u8 {
                self.reset(copy);
            }
            if operation != Operation::Step as u8 && operation != Operation::StepOnce as u8 {
                continue;
            }
            self.stepped[copy] += 1;
            self.steps[copy] += 1;
            let at = self.columns.actions.offset + 4 * copy;
            let action = f32::from_le_bytes(self.memory[at..at + 4].try_into().unwrap());
            self.places[copy] += action - 0.5 + self.chances[copy].uniform_f32();
            if self.disloyal_from.is_some_and(|from| copy == 1 && self.steps[copy] >= from) {
                self.places[copy] += 0.25;
            }
            let seen = self.broken.filter(|_| copy == 1).unwrap_or(self.places[copy]);
            let reward = f64::from(self.places[copy]) / 3.0;
            let (ended, cut) = (self.places[copy] > 4.0, self.steps[copy] == 9);
            self.put(self.columns.observations.offset + 4 * copy, &seen.to_le_bytes());
            self.put(self.columns.rewards.offset + 8 * copy, &reward.to_le_bytes());
            self.put(self.columns.terminated.offset + copy, &[u8::from(ended)]);
            self.put(self.columns.truncated.offset + copy, &[u8::from(cut)]);
            if ended || cut {
                self.put(self.columns.final_observations.offset + 4 * copy, &seen.to_le_bytes());
                self.put(self.columns.success.offset + copy, &[u8::from(ended)]);
                if operation == Operation::Step as u8 {
                    self.reset(copy);
                }
            }
        }
        Ok(())
    }
}

fn walkers(seeds: Seeds, copies: usize) -> Bridged<Walker> {
    let text = r#"{"observation_space": {"type": "box", "shape": [1], "dtype": "float32", "low": [null],
                   "high": [null]}, "action_space": {"type": "discrete", "n": 2},
                   "max_episode_steps": 9, "reward_threshold": null, "versions": {}, "sources": {}}"#;
    let layout = Layout::new(1, copies, 1, 1, 1);
    Bridged::new(Walker::new(&layout), layout, &serde_json::from_str(text).unwrap(), seeds)
}

fn streams(copies: usize) -> Vec<Stream> {
    (0..copies as u64).map(|copy| Stream::new(5, "env", copy)).collect()
}

fn action(time: usize, copy: usize) -> f32 {
    f32::from(u8::from(!(time + copy).is_multiple_of(3)))
}

/// Steps `env` and gives everything that came out.
fn run(env: &mut Bridged<Walker>, times: std::ops::Range<usize>) -> Vec<StepBatch> {
    let copies = env.copies();
    let mut out = StepBatch::new(copies, 1);
    times
        .map(|time| {
            let actions: Vec<f32> = (0..copies).map(|copy| action(time, copy)).collect();
            env.step(&actions, &mut out).unwrap();
            for copy in (0..copies).filter(|copy| out.success[*copy].is_none()) {
                // Valid only where an episode ended.
                out.final_observations[copy] = 0.0;
            }
            out.clone()
        })
        .collect()
}

#[test]
fn each_episode_has_its_own_seed_below_2_to_the_31() {
    let mut env = walkers(Seeds::EachEpisode(streams(2)), 2);
    env.reset(&mut [0.0; 2]).unwrap();
    let ends = run(&mut env, 0..100);
    let ended: usize =
        ends.iter().flat_map(|batch| &batch.success).filter(|success| success.is_some()).count();
    let resets = &env.workers.resets;
    assert_eq!(resets.iter().map(Vec::len).sum::<usize>(), ended + 2);
    let expected: Vec<i64> = {
        let mut stream = Stream::new(5, "env", 1);
        (0..resets[1].len()).map(|_| i64::from(stream.below(1 << 31))).collect()
    };
    assert_eq!(resets[1], expected, "one draw from the copy's stream per episode");
}

#[test]
fn only_the_first_reset_is_seeded_where_that_is_asked_for_and_nothing_is_saved() {
    let mut env = walkers(Seeds::Once(streams(1)), 1);
    env.reset(&mut [0.0]).unwrap();
    run(&mut env, 0..50);
    let resets = &env.workers.resets[0];
    assert!(resets.len() > 3 && resets[0] >= 0 && resets[1..].iter().all(|seed| *seed == -1), "{resets:?}");
    assert_eq!(env.save().unwrap(), None);
}

#[test]
fn an_evaluation_uses_its_seeds_and_never_steps_a_finished_copy() {
    let mut env = walkers(Seeds::Episodes(vec![10_000, 10_001, 10_002]), 3);
    env.reset(&mut [0.0; 3]).unwrap();
    let played = run(&mut env, 0..30);
    assert_eq!(env.workers.resets, [[10_000], [10_001], [10_002]]);
    for copy in 0..3 {
        let ends: Vec<usize> = (0..30).filter(|time| played[*time].success[copy].is_some()).collect();
        assert_eq!(ends.len(), 1);
        assert_eq!(env.workers.stepped[copy], ends[0] as u64 + 1);
    }
}

#[test]
fn a_saved_state_comes_back_by_repeating_the_episodes() {
    for stop in [0, 1, 4, 17, 60] {
        let mut env = walkers(Seeds::EachEpisode(streams(3)), 3);
        env.reset(&mut [0.0; 3]).unwrap();
        run(&mut env, 0..stop);
        let saved = env.save().unwrap().unwrap();
        let mut other = walkers(Seeds::EachEpisode(streams(3)), 3);
        other.reset(&mut [0.0; 3]).unwrap();
        other.restore(&saved).unwrap();
        assert_eq!(other.divergences(), []);
        assert_eq!(other.save().unwrap().unwrap(), saved);
        assert_eq!(run(&mut other, stop..stop + 40), run(&mut env, stop..stop + 40));
    }
}

#[test]
fn a_copy_that_does_not_come_back_is_named_with_its_first_different_step() {
    let mut env = walkers(Seeds::EachEpisode(streams(3)), 3);
    env.reset(&mut [0.0; 3]).unwrap();
    while env.episodes[1].steps < 4 {
        let time = env.workers.stepped[0] as usize;
        run(&mut env, time..time + 1);
    }
    let saved = env.save().unwrap().unwrap();
    let mut other = walkers(Seeds::EachEpisode(streams(3)), 3);
    other.reset(&mut [0.0; 3]).unwrap();
    other.workers.disloyal_from = Some(3);
    other.restore(&saved).unwrap();
    let [divergence] = other.divergences() else { panic!("{:?}", other.divergences()) };
    assert_eq!((divergence.copy, divergence.step), (1, Some(3)));
    assert_eq!(divergence.observation, [other.workers.places[1]], "it is at the start of a new episode");
    assert_eq!(other.episodes[1].steps, 0);
    assert_eq!(other.episodes[0], env.episodes[0], "the others came back");
}

#[test]
fn damaged_states_are_refused() {
    let mut env = walkers(Seeds::EachEpisode(streams(2)), 2);
    env.reset(&mut [0.0; 2]).unwrap();
    run(&mut env, 0..5);
    let saved = env.save().unwrap().unwrap();
    for length in 0..saved.len() {
        assert!(env.restore(&saved[..length]).is_err());
    }
}

#[test]
fn a_value_that_is_not_finite_names_copy_seed_step_and_action() {
    let mut env = walkers(Seeds::Episodes(vec![7, 8]), 2);
    env.reset(&mut [0.0; 2]).unwrap();
    run(&mut env, 0..2);
    env.workers.broken = Some(f32::NAN);
    let error = env.step(&[0.0, 1.0], &mut StepBatch::new(2, 1)).unwrap_err().to_string();
    let expected = "copy 1 could not be stepped: its observation has NaN at index 0 (seed 8, step 3 of the \
                    episode, action 1)";
    assert_eq!(error, expected);
}
