//! Watches an evaluation: an environment around the environment that notes what
//! a person would have seen, and changes nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rlxp_draw::environment::steps_per_second;
use rlxp_env::{EnvError, Sources, Space, StepBatch, VectorEnv, View};
use rlxp_learn::evaluate::{DEFAULT_STEP_CAP, evaluation_env};
use rlxp_learn::{Actor, LearnError, evaluate_in};
use rlxp_spec::Config;

/// A state and the action that was taken in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moment {
    pub(super) view: View,
    pub(super) action: Vec<f32>,
    /// Rewards before that action.
    pub(super) so_far: f64,
}

/// What was seen of one episode, from its start to the last state that is needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Recording {
    pub(super) moments: Vec<Moment>,
    /// The last state, if the episode was watched to its end.
    pub(super) end: Option<View>,
    total: f64,
    over: bool,
}

impl Recording {
    /// The state after `at` steps, the action taken there and the rewards before it.
    pub(super) fn at(&self, at: u64) -> Option<(&View, Option<&[f32]>, f64)> {
        match self.moments.get(at as usize) {
            Some(moment) => Some((&moment.view, Some(&moment.action), moment.so_far)),
            None => self.end.as_ref().map(|view| (view, None, self.total)),
        }
    }
}

/// Plays `count` episodes as `rlx eval` does and keeps, of those in `needed`,
/// the states up to the one given.
pub(super) fn record(
    sources: Sources<'_>,
    config: &Config,
    actor: Actor<'_>,
    seed: u64,
    count: usize,
    needed: &BTreeMap<usize, u64>,
) -> Result<BTreeMap<usize, Recording>, LearnError> {
    let env = evaluation_env(sources, config);
    let needed = Arc::new(needed.clone());
    let tape = Arc::new(Mutex::new(Tape::default()));
    let factory = |seeds: &[u64]| -> Result<Box<dyn VectorEnv>, rlxp_env::MakeError> {
        let mut inner = sources.episodes(&env, seeds, DEFAULT_STEP_CAP)?;
        inner.record_final_views(true);
        let copies = inner.copies();
        // Copies are made in the order of their episodes.
        let mut open = lock(&tape);
        let first = open.made;
        open.made += copies;
        Ok(Box::new(Camera {
            inner,
            first,
            observations: Vec::new(),
            needed: Arc::clone(&needed),
            tape: Arc::clone(&tape),
        }))
    };
    evaluate_in(config, &factory, actor, count, seed)?;
    let recordings = std::mem::take(&mut lock(&tape).recordings);
    Ok(recordings)
}

/// Frames per second that suit the environment.
pub(super) fn usual_rate(sources: Sources<'_>, config: &Config, seed: u64) -> Result<u32, LearnError> {
    let mut env = sources.episodes(&evaluation_env(sources, config), &[seed], DEFAULT_STEP_CAP)?;
    // An environment of Python says how fast it is with its first picture, which needs no episode.
    env.watch(&[true]);
    Ok(steps_per_second(&env.view(0).unwrap_or(View::Observation(Vec::new()))))
}

#[derive(Default)]
struct Tape {
    /// Copies of the environment so far.
    made: usize,
    recordings: BTreeMap<usize, Recording>,
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    // One thread plays, so a poisoned tape can't be half written.
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The environment that watches.
struct Camera {
    inner: Box<dyn VectorEnv>,
    /// Episode of the first copy.
    first: usize,
    /// What copies observe now, for environments that say nothing more of themselves.
    observations: Vec<f32>,
    needed: Arc<BTreeMap<usize, u64>>,
    tape: Arc<Mutex<Tape>>,
}

impl Camera {
    /// Before the first step every copy is looked at that will be shown.
    fn watch_needed(&mut self) {
        let watched: Vec<bool> =
            (0..self.copies()).map(|copy| self.needed.contains_key(&(self.first + copy))).collect();
        self.inner.watch(&watched);
    }

    /// After the next step, those of which another state is needed.
    fn watch_next(&mut self, tape: &Tape) {
        let is_needed = |copy: usize| {
            let episode = self.first + copy;
            let last = self.needed.get(&episode)?;
            let recording = tape.recordings.get(&episode)?;
            Some(!recording.over && recording.moments.len() as u64 <= *last)
        };
        let watched: Vec<bool> = (0..self.copies()).map(|copy| is_needed(copy) == Some(true)).collect();
        self.inner.watch(&watched);
    }

    fn row<'a>(&self, rows: &'a [f32], copy: usize) -> &'a [f32] {
        let width = self.inner.observation_space().width();
        &rows[copy * width..(copy + 1) * width]
    }
}

impl VectorEnv for Camera {
    fn copies(&self) -> usize {
        self.inner.copies()
    }

    fn observation_space(&self) -> &Space {
        self.inner.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.inner.action_space()
    }

    fn step_cap(&self) -> Option<u64> {
        self.inner.step_cap()
    }

    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        self.watch_needed();
        self.inner.reset(observations)?;
        self.observations = observations.to_vec();
        Ok(())
    }

    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        let tape = Arc::clone(&self.tape);
        let mut tape = lock(&tape);
        let needed = Arc::clone(&self.needed);
        let watched = needed.range(self.first..self.first + self.copies());
        for (episode, last) in watched.clone() {
            let copy = episode - self.first;
            let recording = tape.recordings.entry(*episode).or_default();
            if !recording.over && recording.moments.len() as u64 <= *last {
                let view = self.inner.view(copy);
                let width = self.inner.action_space().width();
                recording.moments.push(Moment {
                    view: view
                        .unwrap_or_else(|| View::Observation(self.row(&self.observations, copy).to_vec())),
                    action: actions[copy * width..(copy + 1) * width].to_vec(),
                    so_far: recording.total,
                });
            }
        }
        self.watch_next(&tape);
        self.inner.step(actions, out)?;
        for (episode, last) in watched {
            let copy = episode - self.first;
            let recording = tape.recordings.entry(*episode).or_default();
            if recording.over {
                continue;
            }
            recording.total += f64::from(out.rewards[copy]);
            recording.over = out.terminated[copy] || out.truncated[copy];
            if recording.over && recording.moments.len() as u64 == *last {
                let view = self.inner.final_view(copy);
                recording.end =
                    Some(view.unwrap_or_else(|| {
                        View::Observation(self.row(&out.final_observations, copy).to_vec())
                    }));
            }
        }
        self.observations.clone_from(&out.observations);
        Ok(())
    }

    fn save(&self) -> Result<Option<Vec<u8>>, EnvError> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), EnvError> {
        self.inner.restore(saved)
    }

    fn view(&self, copy: usize) -> Option<View> {
        self.inner.view(copy)
    }

    fn watch(&mut self, copies: &[bool]) {
        self.inner.watch(copies);
    }

    fn record_final_views(&mut self, on: bool) {
        self.inner.record_final_views(on);
    }

    fn final_view(&self, copy: usize) -> Option<View> {
        self.inner.final_view(copy)
    }
}
