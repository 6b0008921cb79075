//! Taxi: fetch a passenger and bring them to one of four places (Dietterich
//! 2000). A table, plus a passenger who may change their mind once.

use rlxp_types::Stream;

use super::table::{Outcome, Table};
use crate::native::Dynamics;
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::BadState;
use crate::view::{Passenger, View};

const STATES: usize = 500;
/// Row and column of the places where passengers wait and want to go: red,
/// green, yellow and blue.
pub const PLACES: [(usize, usize); 4] = [(0, 0), (0, 4), (4, 0), (4, 3)];
const IN_TAXI: usize = 4;
const LAST: usize = 4;
/// Whether there is a wall east of (row, column).
pub const WALLS_EAST: [(usize, usize); 6] = [(0, 1), (1, 1), (3, 0), (3, 2), (4, 0), (4, 2)];

/// What can be changed about the town.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaxiRules {
    /// Moves drift sideways at times.
    pub rainy: bool,
    /// Probability of the intended direction in rain.
    pub rainy_probability: f64,
    /// The passenger may change the destination at the first move after being picked up.
    pub fickle: bool,
    /// Probability of a fickle episode.
    pub fickle_probability: f64,
}

/// A state taken apart.
#[derive(Clone, Copy, PartialEq)]
struct Town {
    row: usize,
    column: usize,
    passenger: usize,
    destination: usize,
}

impl Town {
    fn from_index(index: usize) -> Self {
        Self { row: index / 100, column: index / 20 % 5, passenger: index / 4 % 5, destination: index % 4 }
    }

    fn index(self) -> u32 {
        (((self.row * 5 + self.column) * 5 + self.passenger) * 4 + self.destination) as u32
    }

    /// After moving south (0), north (1), east (2) or west (3).
    fn moved(self, direction: usize) -> Self {
        let Self { row, column, .. } = self;
        match direction {
            0 => Self { row: (row + 1).min(LAST), ..self },
            1 => Self { row: row.saturating_sub(1), ..self },
            2 if column < LAST && !WALLS_EAST.contains(&(row, column)) => Self { column: column + 1, ..self },
            3 if column > 0 && !WALLS_EAST.contains(&(row, column - 1)) => {
                Self { column: column - 1, ..self }
            }
            _ => self,
        }
    }

    /// After picking up (4) or dropping off (5), with reward and end.
    fn served(self, action: usize) -> (Self, f32, bool) {
        let here = PLACES.iter().position(|place| *place == (self.row, self.column));
        match (action, here) {
            (4, Some(place)) if place == self.passenger => (Self { passenger: IN_TAXI, ..self }, -1.0, false),
            (5, Some(place)) if self.passenger == IN_TAXI => {
                let arrived = place == self.destination;
                (Self { passenger: place, ..self }, if arrived { 20.0 } else { -1.0 }, arrived)
            }
            _ => (self, -10.0, false),
        }
    }
}

/// The directions to the left and to the right of each direction.
const SIDES: [[usize; 2]; 4] = [[2, 3], [3, 2], [1, 0], [0, 1]];

/// The table of the town, without the fickle passenger.
pub fn table(rules: &TaxiRules) -> Table {
    let is_start = |town: Town| town.passenger < IN_TAXI && town.passenger != town.destination;
    let starts: Vec<f64> =
        (0..STATES).map(|state| f64::from(u8::from(is_start(Town::from_index(state))))).collect();
    let total: f64 = starts.iter().sum();
    let starts = starts.into_iter().map(|count| count / total).collect();
    let side_probability = (1.0 - rules.rainy_probability) / 2.0;
    Table::new(6, starts, |state, action| {
        let town = Town::from_index(state);
        let drive = |probability: f64, to: Town| Outcome {
            probability,
            next: to.index(),
            reward: -1.0,
            terminated: false,
        };
        if action >= 4 {
            let (to, reward, terminated) = town.served(action);
            return vec![Outcome { probability: 1.0, next: to.index(), reward, terminated }];
        }
        let ahead = town.moved(action);
        if !rules.rainy {
            return vec![drive(1.0, ahead)];
        }
        // A blocked move does not drift either.
        let [left, right] = SIDES[action].map(|side| if ahead == town { town } else { town.moved(side) });
        vec![
            drive(rules.rainy_probability, ahead),
            drive(side_probability, left),
            drive(side_probability, right),
        ]
    })
}

/// Taxi-v4 over many copies.
#[derive(Clone, Debug)]
pub struct Taxi {
    table: Table,
    rules: TaxiRules,
    state: Vec<u32>,
    /// The passenger of this copy will still change their mind.
    undecided: Vec<bool>,
}

impl Taxi {
    pub fn new(copies: usize, rules: TaxiRules) -> Self {
        Self { table: table(&rules), rules, state: vec![0; copies], undecided: vec![false; copies] }
    }

    /// The table, without the fickle passenger.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// State of one copy, and whether its passenger will still change their mind.
    pub fn state(&self, copy: usize) -> (usize, bool) {
        (self.state[copy] as usize, self.undecided[copy])
    }

    /// Sets what [`Taxi::state`] reads.
    ///
    /// # Panics
    /// When there is no such state.
    pub fn set_state(&mut self, copy: usize, state: usize, undecided: bool) {
        assert!(state < STATES, "state {state} of {STATES} states");
        self.state[copy] = state as u32;
        self.undecided[copy] = undecided;
    }
}

impl Dynamics for Taxi {
    const KIND: &'static str = "Taxi";

    fn copies(&self) -> usize {
        self.state.len()
    }

    fn observation_space(&self) -> Space {
        Space::Discrete { n: STATES }
    }

    fn action_space(&self) -> Space {
        Space::Discrete { n: 6 }
    }

    fn reset_one(&mut self, copy: usize, stream: &mut Stream) {
        self.state[copy] = self.table.sample_start(stream);
        self.undecided[copy] = self.rules.fickle && stream.uniform() < self.rules.fickle_probability;
    }

    fn step(
        &mut self,
        actions: &[f32],
        streams: &mut [Stream],
        rewards: &mut [f32],
        terminated: &mut [bool],
    ) {
        for (copy, (action, stream)) in actions.iter().zip(streams).enumerate() {
            let from = self.state[copy] as usize;
            let outcome = self.table.sample(from, *action as usize, stream);
            self.state[copy] = outcome.next;
            (rewards[copy], terminated[copy]) = (outcome.reward, outcome.terminated);
            if self.undecided[copy] {
                let (before, after) = (Town::from_index(from), Town::from_index(outcome.next as usize));
                let moved = (before.row, before.column) != (after.row, after.column);
                if moved && before.passenger == IN_TAXI {
                    self.undecided[copy] = false;
                    // Any of the other three places.
                    let other = (before.destination + 1 + stream.below(3) as usize) % 4;
                    self.state[copy] = Town { destination: other, ..after }.index();
                }
            }
        }
    }

    #[inline]
    fn observe_one(&self, copy: usize, row: &mut [f32]) {
        row[0] = self.state[copy] as f32;
    }

    fn view(&self, copy: usize) -> View {
        let Town { row, column, passenger, destination } = Town::from_index(self.state[copy] as usize);
        let passenger = if passenger == IN_TAXI { Passenger::InTaxi } else { Passenger::At(passenger) };
        let (raining, undecided) = (self.rules.rainy, self.undecided[copy]);
        View::Taxi { row, column, passenger, destination, raining, undecided }
    }

    fn save(&self, writer: &mut StateWriter) {
        for (state, undecided) in self.state.iter().zip(&self.undecided) {
            writer.u64(u64::from(*state));
            writer.u8(u8::from(*undecided));
        }
    }

    fn restore(&mut self, reader: &mut StateReader<'_>) -> Result<(), BadState> {
        for (state, undecided) in self.state.iter_mut().zip(&mut self.undecided) {
            *state = reader.u64_below(STATES as u64, "a state")? as u32;
            *undecided = reader.u8_to(1, "a flag")? == 1;
        }
        Ok(())
    }
}
