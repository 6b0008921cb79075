//! Worlds that are one table: for every state and action the possible
//! outcomes with their probabilities, and a distribution of start states.

use rlxp_types::Stream;

use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::BadState;
use crate::view::{Scene, View};

/// What may follow an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// How likely it is.
    pub probability: f64,
    /// The next state.
    pub next: u32,
    pub reward: f32,
    /// The episode ends there.
    pub terminated: bool,
}

/// A whole transition table.
#[derive(Clone, Debug)]
pub struct Table {
    actions: usize,
    /// Outcomes of (state, action) are `outcomes[ranges[i]..ranges[i + 1]]`
    /// with i = state · actions + action.
    ranges: Vec<u32>,
    outcomes: Vec<Outcome>,
    /// Running sums of the probabilities of each range.
    cumulative: Vec<f64>,
    starts: Vec<f64>,
    start_states: Vec<u32>,
    start_cumulative: Vec<f64>,
    scene: Scene,
}

impl Table {
    /// The table whose outcomes `outcomes(state, action)` gives. `starts` has
    /// one probability per state.
    pub fn new(
        actions: usize,
        starts: Vec<f64>,
        mut outcomes: impl FnMut(usize, usize) -> Vec<Outcome>,
    ) -> Self {
        let mut table = Self {
            actions,
            ranges: vec![0],
            outcomes: Vec::new(),
            cumulative: Vec::new(),
            start_states: Vec::new(),
            start_cumulative: Vec::new(),
            scene: Scene::default(),
            starts,
        };
        for state in 0..table.starts.len() {
            for action in 0..actions {
                let mut sum = 0.0;
                for outcome in outcomes(state, action) {
                    sum += outcome.probability;
                    table.cumulative.push(sum);
                    table.outcomes.push(outcome);
                }
                table.ranges.push(table.outcomes.len() as u32);
            }
        }
        let mut sum = 0.0;
        for (state, probability) in table.starts.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            sum += probability;
            table.start_states.push(state as u32);
            table.start_cumulative.push(sum);
        }
        table
    }

    /// The same table with a look.
    pub(crate) fn looking_like(self, scene: Scene) -> Self {
        Self { scene, ..self }
    }

    pub fn states(&self) -> usize {
        self.starts.len()
    }

    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The possible outcomes of an action.
    #[inline]
    pub fn outcomes(&self, state: usize, action: usize) -> &[Outcome] {
        let (from, to) = self.range(state, action);
        &self.outcomes[from..to]
    }

    /// The probability of each state to be the first.
    pub fn starts(&self) -> &[f64] {
        &self.starts
    }

    /// Whether one policy can see different episodes.
    pub fn stochastic(&self) -> bool {
        self.start_states.len() > 1 || self.ranges.windows(2).any(|range| range[1] - range[0] > 1)
    }

    #[inline]
    fn range(&self, state: usize, action: usize) -> (usize, usize) {
        assert!(action < self.actions, "action {action} of {} actions", self.actions);
        let index = state * self.actions + action;
        (self.ranges[index] as usize, self.ranges[index + 1] as usize)
    }

    /// Draws the outcome of an action; a certain outcome draws nothing.
    #[inline]
    pub fn sample(&self, state: usize, action: usize, stream: &mut Stream) -> Outcome {
        let (from, to) = self.range(state, action);
        if to - from == 1 {
            return self.outcomes[from];
        }
        self.outcomes[from + pick(&self.cumulative[from..to], stream.uniform())]
    }

    /// Draws a start state; a certain start draws nothing.
    #[inline]
    pub fn sample_start(&self, stream: &mut Stream) -> u32 {
        match self.start_states[..] {
            [only] => only,
            _ => self.start_states[pick(&self.start_cumulative, stream.uniform())],
        }
    }
}

/// The first place whose running sum passes `drawn`. Rounding can leave the
/// whole sum a hair below 1: the last place takes that hair.
#[inline]
fn pick(cumulative: &[f64], drawn: f64) -> usize {
    cumulative.partition_point(|sum| *sum <= drawn).min(cumulative.len() - 1)
}

/// Many copies walking through one table.
#[derive(Clone, Debug)]
pub struct TableWorld {
    table: Table,
    state: Vec<u32>,
}

impl TableWorld {
    /// `copies` walkers.
    pub fn new(table: Table, copies: usize) -> Self {
        Self { table, state: vec![0; copies] }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    pub fn state(&self, copy: usize) -> usize {
        self.state[copy] as usize
    }

    /// Puts one copy into a state.
    ///
    /// # Panics
    /// When there is no such state.
    pub fn set_state(&mut self, copy: usize, state: usize) {
        assert!(state < self.table.states(), "state {state} of {} states", self.table.states());
        self.state[copy] = state as u32;
    }
}

impl Dynamics for TableWorld {
    const KIND: &'static str = "Table";

    fn copies(&self) -> usize {
        self.state.len()
    }

    fn observation_space(&self) -> Space {
        Space::Discrete { n: self.table.states() }
    }

    fn action_space(&self) -> Space {
        Space::Discrete { n: self.table.actions }
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        self.state[copy] = self.table.sample_start(stream);
    }

    fn step(
        &mut self,
        actions: &[f32],
        streams: &mut [Stream],
        rewards: &mut [f32],
        terminated: &mut [bool],
    ) {
        let inputs = actions.iter().zip(streams).zip(&mut self.state);
        for (((action, stream), state), (reward, terminated)) in
            inputs.zip(rewards.iter_mut().zip(terminated))
        {
            let outcome = self.table.sample(*state as usize, *action as usize, stream);
            *state = outcome.next;
            *reward = outcome.reward;
            *terminated = outcome.terminated;
        }
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        row[0] = self.state[copy] as f32;
    }

    fn view(&self, copy: usize) -> View {
        self.table.scene.view(self.state(copy))
    }

    fn save(&self, writer: &mut StateWriter) {
        writer.u64(self.table.states() as u64);
        self.state.iter().for_each(|state| writer.u64(u64::from(*state)));
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        let states = self.table.states() as u64;
        let found = reader.u64()?;
        if found != states {
            return Err(BadState(format!(
                "it comes from a world with {found} states, but this one has \
                                         {states}"
            )));
        }
        for state in &mut self.state {
            *state = reader.u64_below(states, "a state")? as u32;
        }
        Ok(())
    }
}
