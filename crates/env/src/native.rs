//! Native environments: one kind of dynamics whose state is in arrays over all copies, and the one wrapper that gives
//! it random streams, step caps, same-step restarts and saved states.

use rlxp_types::Stream;

use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::{BadState, EnvError, StepBatch, VectorEnv};
use crate::view::View;

/// The rules of one environment over the states of all copies.
///
/// A restore may leave any value behind that `restore` itself accepted, so
/// stepping must never panic or hang on one of those.
pub trait Dynamics: Clone + Send {
    /// Marks saved states, so that none is restored into another environment.
    const KIND: &'static str;

    fn copies(&self) -> usize;
    fn observation_space(&self) -> Space;
    fn action_space(&self) -> Space;
    /// Puts one copy into a start state.
    fn reset_one(&mut self, copy: usize, stream: &mut Stream);
    /// Advances every copy by one action row and reports its reward and whether it ended.
    fn step(&mut self, actions: &[f32], streams: &mut [Stream], rewards: &mut [f32], terminated: &mut [bool]);
    /// Writes the observation row of one copy.
    fn observe_one(&self, copy: usize, row: &mut [f32]);
    /// Writes the states of all copies.
    fn save(&self, writer: &mut StateWriter);
    /// Reads the states of all copies; after an error the object is thrown away.
    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState>;

    /// The view of one copy for people; by default, its observation.
    fn view(&self, copy: usize) -> View {
        let mut row = vec![0.0; self.observation_space().width()];
        self.observe_one(copy, &mut row);
        View::Observation(row)
    }

    /// Writes the observation rows of all copies.
    #[inline]
    fn observe(&self, observations: &mut [f32]) {
        let width = observations.len() / self.copies();
        for (copy, row) in observations.chunks_exact_mut(width).enumerate() {
            self.observe_one(copy, row);
        }
    }
}

/// A native environment: dynamics with everything an episode needs around them.
#[derive(Clone)]
pub struct Native<D> {
    dynamics: D,
    observation_space: Space,
    action_space: Space,
    width: usize,
    streams: Vec<Stream>,
    elapsed: Vec<u64>,
    cap: u64,
    /// How each copy last ended; empty unless that is recorded.
    final_views: Vec<Option<View>>,
}

impl<D: Dynamics> Native<D> {
    /// One copy per stream; an episode is cut after `max_episode_steps`.
    ///
    /// # Panics
    /// When `dynamics` has another number of copies than there are streams.
    pub fn new(mut dynamics: D, mut streams: Vec<Stream>, max_episode_steps: Option<u64>) -> Self {
        assert_eq!(dynamics.copies(), streams.len(), "one random stream per copy");
        for (copy, stream) in streams.iter_mut().enumerate() {
            dynamics.reset_one(copy, stream);
        }
        let observation_space = dynamics.observation_space();
        Self {
            width: observation_space.width(),
            action_space: dynamics.action_space(),
            observation_space,
            elapsed: vec![0; streams.len()],
            cap: max_episode_steps.unwrap_or(u64::MAX),
            final_views: Vec::new(),
            dynamics,
            streams,
        }
    }

    /// The dynamics, for tests and tools that look at a state.
    pub fn dynamics(&self) -> &D {
        &self.dynamics
    }

    /// The dynamics, for tests and tools that set a state.
    pub fn dynamics_mut(&mut self) -> &mut D {
        &mut self.dynamics
    }

    /// Rows whose episode ended hand over their last observation and restart.
    #[cold]
    fn restart_ended(&mut self, out: &mut StepBatch) {
        for copy in 0..self.streams.len() {
            if out.terminated[copy] || out.truncated[copy] {
                let row = copy * self.width..(copy + 1) * self.width;
                let observation = &mut out.observations[row.clone()];
                out.final_observations[row].copy_from_slice(observation);
                self.elapsed[copy] = 0;
                if let Some(view) = self.final_views.get_mut(copy) {
                    *view = Some(self.dynamics.view(copy));
                }
                self.dynamics.reset_one(copy, &mut self.streams[copy]);
                self.dynamics.observe_one(copy, observation);
            }
        }
    }
}

impl<D: Dynamics> VectorEnv for Native<D> {
    fn copies(&self) -> usize {
        self.streams.len()
    }

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn step_cap(&self) -> Option<u64> {
        (self.cap < u64::MAX).then_some(self.cap)
    }

    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        assert_eq!(observations.len(), self.copies() * self.width, "one observation row per copy");
        for (copy, stream) in self.streams.iter_mut().enumerate() {
            self.dynamics.reset_one(copy, stream);
        }
        self.elapsed.fill(0);
        self.final_views.fill(None);
        self.dynamics.observe(observations);
        Ok(())
    }

    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        let copies = self.streams.len();
        assert_eq!(actions.len(), copies * self.action_space.width(), "one action row per copy");
        assert_eq!(out.observations.len(), copies * self.width, "one observation row per copy");
        assert_eq!(out.final_observations.len(), copies * self.width, "one final observation row per copy");
        let (rewards, terminated) = (&mut out.rewards[..copies], &mut out.terminated[..copies]);
        let truncated = &mut out.truncated[..copies];
        self.dynamics.step(actions, &mut self.streams, rewards, terminated);
        let mut ended = false;
        for ((elapsed, terminated), truncated) in
            self.elapsed.iter_mut().zip(terminated.iter()).zip(truncated.iter_mut())
        {
            *elapsed = elapsed.saturating_add(1);
            *truncated = *elapsed >= self.cap;
            ended |= *truncated | *terminated;
        }
        self.dynamics.observe(&mut out.observations);
        if ended {
            self.restart_ended(out);
        }
        Ok(())
    }

    fn save(&self) -> Result<Option<Vec<u8>>, EnvError> {
        let mut writer = StateWriter::new(D::KIND, self.copies());
        self.elapsed.iter().for_each(|steps| writer.u64(*steps));
        writer.streams(&self.streams);
        self.dynamics.save(&mut writer);
        Ok(Some(writer.finish()))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), EnvError> {
        // Read into a copy: a state that turns out damaged halfway leaves this
        // environment as it was.
        let mut fresh = self.clone();
        let mut reader = StateReader::new(saved, D::KIND, self.copies())?;
        for steps in &mut fresh.elapsed {
            *steps = reader.u64()?;
        }
        reader.streams(&mut fresh.streams)?;
        fresh.dynamics.restore(&mut reader)?;
        reader.finish()?;
        fresh.final_views.fill(None);
        *self = fresh;
        Ok(())
    }

    fn view(&self, copy: usize) -> Option<View> {
        (copy < self.copies()).then(|| self.dynamics.view(copy))
    }

    fn record_final_views(&mut self, on: bool) {
        self.final_views = if on { vec![None; self.copies()] } else { Vec::new() };
    }

    fn final_view(&self, copy: usize) -> Option<View> {
        self.final_views.get(copy).cloned().flatten()
    }
}
