//! CliffWalking: walk along a cliff from the bottom left to the bottom right;
//! a step over the edge costs 100 and leads back to the start (Sutton and
//! Barto, example 6.6).

use super::table::{Outcome, Table};
use crate::view::Scene;

const ROWS: usize = 4;
const COLUMNS: usize = 12;
const START: usize = (ROWS - 1) * COLUMNS;
const GOAL: usize = ROWS * COLUMNS - 1;

/// The cell reached by moving up (0), right (1), down (2) or left (3).
fn neighbour(cell: usize, direction: usize) -> usize {
    let (row, column) = (cell / COLUMNS, cell % COLUMNS);
    let (row, column) = match direction {
        0 => (row.saturating_sub(1), column),
        1 => (row, (column + 1).min(COLUMNS - 1)),
        2 => ((row + 1).min(ROWS - 1), column),
        _ => (row, column.saturating_sub(1)),
    };
    row * COLUMNS + column
}

/// The table of the cliff. A slippery step goes straight or to either side
/// with a third each.
pub fn table(slippery: bool) -> Table {
    let mut starts = vec![0.0; ROWS * COLUMNS];
    starts[START] = 1.0;
    Table::new(4, starts, |cell, action| {
        let directions: &[usize] = if slippery { &[3, 0, 1] } else { &[0] };
        let probability = 1.0 / directions.len() as f64;
        let outcome = |turn: &usize| {
            let next = neighbour(cell, (action + turn) % 4);
            if (START + 1..GOAL).contains(&next) {
                Outcome { probability, next: START as u32, reward: -100.0, terminated: false }
            } else {
                Outcome { probability, next: next as u32, reward: -1.0, terminated: next == GOAL }
            }
        };
        directions.iter().map(outcome).collect()
    })
    .looking_like(Scene::Cliff { rows: ROWS, columns: COLUMNS, slippery })
}
