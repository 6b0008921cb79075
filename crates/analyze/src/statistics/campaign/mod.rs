//! Many candidates against one incumbent, without false discoveries: screen
//! cheaply, confirm the few best on fresh seeds, and never spend more than a
//! fixed chance of a false "better" over the whole campaign.
//!
//! * **Screening** ranks candidates by how often their few runs beat the runs of all others, and claims
//!   nothing. (The interquartile mean of three scores is their plain mean, which one failed seed decides.)
//!   The best of equals always looks like a gain, so the gains are reported shrunk, next to the gain
//!   expected from luck alone.
//! * **Confirming** uses seeds that no screening and no earlier confirmation
//!   has seen; the incumbent runs on them too. The k-th batch may spend
//!   α·6/(π²k²) of the budget, or an equal share of it when the number of
//!   batches was fixed beforehand, and Holm's procedure divides that among
//!   the finalists. Each is judged by [`crate::statistics::verdict`].
//!
//! | default | value |
//! | --- | --- |
//! | budget of false "better" over the campaign | 0.05 |
//! | most that one verdict may use | 0.025, the level of a single comparison |
//! | spending | endless (any number of batches) |
//! | finalists of K candidates | K/5 rounded up, at most 2 |
//! | screening seeds per candidate | 3 (5 if affordable) |
//! | confirming seeds per group | 10 (15 for effects below one deviation) |

mod confirm;
mod screen;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use confirm::{Confirmation, Confirmed, Finalist, Runs, confirm};
pub use screen::{Ranked, Screened, screen};

use crate::statistics::sequential::spent_at;
use crate::statistics::verdict::Options;

/// Screening seeds per candidate that the procedure was validated with.
pub const SCREEN_SEEDS: u64 = 3;

/// Confirming seeds per group that the procedure was validated with.
pub const CONFIRM_SEEDS: u64 = 10;

/// How the campaign's budget is shared among its confirmations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spending {
    /// Any number of batches; later ones get less.
    Endless,
    /// At most so many batches, fixed beforehand; each gets the same.
    Planned(u64),
}

/// The campaign's rules, fixed before it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// The chance of any false "better" over the whole campaign.
    pub budget: f64,
    /// How it is shared.
    pub spending: Spending,
    /// How many candidates reach confirmation; null for the default.
    pub finalists: Option<usize>,
    /// How groups are compared. Its `alpha` is the most one verdict may use.
    pub compare: Options,
}

impl Default for Rules {
    fn default() -> Self {
        Self { budget: 0.05, spending: Spending::Endless, finalists: None, compare: Options::default() }
    }
}

impl Rules {
    /// What the `batch`-th confirmation (from 1) may spend; nothing once the
    /// planned number is used up.
    pub fn level(&self, batch: u64) -> f64 {
        match self.spending {
            Spending::Endless => spent_at(self.budget, batch),
            Spending::Planned(batches) if batch <= batches => self.budget / batches as f64,
            Spending::Planned(_) => 0.0,
        }
    }

    /// How many of `candidates` are confirmed.
    pub fn finalists_of(&self, candidates: usize) -> usize {
        self.finalists.unwrap_or_else(|| candidates.div_ceil(5).min(2)).min(candidates)
    }
}
