//! Looks at a question, without any file: which look this is, at which level, and what it plans.
//!
//! Asking again with more seeds until the answer pleases finds a difference in anything. So a question has a number of
//! looks that its first one fixes, each direction gets an equal share of its level at every look (Bonferroni, valid
//! whatever the looks' sizes depend on), and data beyond the planned looks is described without a verdict.

use rlxp_analyze::verdict::{Answer, Options, Reason, Verdict};
use rlxp_types::Digest;
use serde::Serialize;

/// Looks that a question has unless the user says otherwise.
pub const PLANNED_LOOKS: usize = 2;
/// With more, a single look could hardly find anything.
pub const MOST_LOOKS: usize = 5;
/// More seeds than this are a decision, not a suggestion, so they are not planned.
pub(super) const MOST_SEEDS: u64 = 100;

/// The level of each direction at one of `planned` looks.
pub(super) fn level(planned: usize) -> f64 {
    Options::default().alpha / planned as f64
}

/// What is asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Both groups' configs and what is measured.
    pub(super) question: Digest,
    /// Which trainings are looked at.
    pub(super) trainings: Digest,
    /// How many in each group, in an order that doesn't depend on which one is A.
    pub(super) seeds: [u64; 2],
}

/// A look on record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PastLook {
    pub(super) trainings: Digest,
    pub(super) seeds: [u64; 2],
    /// Seeds per group from which on the next look may be taken; any larger number without.
    pub(super) seeds_planned: Option<u64>,
    /// The level that it was judged at, where several groups shared one.
    pub(super) level: Option<f64>,
}

/// A question's looks so far, at least one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct History {
    pub(super) planned: usize,
    pub(super) looks: Vec<PastLook>,
}

/// What the data is used for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) planned: usize,
    pub(super) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Role {
    /// The next look.
    Next { number: usize },
    /// A look that is on record with the same trainings; what it planned, and the level it was judged at.
    Again { number: usize, seeds_planned: Option<u64>, level: Option<f64> },
    /// No look, so no verdict.
    Descriptive(Descriptive),
}

/// Why data is described without a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptive {
    /// All planned looks were taken.
    LooksUsedUp { planned: usize },
    /// The next look is planned with more seeds than these.
    PlanNotReached { seeds: u64, planned: u64 },
    /// An earlier look had as many seeds.
    NoMoreSeeds { look: usize },
}

/// The look as reports show it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Look {
    /// Which look this is; null when the numbers are descriptive.
    pub number: Option<usize>,
    pub planned: usize,
    /// The level of each direction at every look, before any correction for several comparisons.
    pub level: f64,
    /// Whether the look is on record.
    pub recorded: bool,
    /// Seeds per group from which on the next look may be taken, where they are planned.
    pub seeds_planned: Option<u64>,
}

/// The user asked for another number of looks than the first look planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OtherPlan {
    pub(super) planned: usize,
}

/// What the data that is asked about is used for.
pub(super) fn place(
    history: Option<&History>,
    asked: &Asked,
    looks: Option<usize>,
) -> Result<Place, OtherPlan> {
    let Some(history) = history else {
        return Ok(Place { planned: looks.unwrap_or(PLANNED_LOOKS), role: Role::Next { number: 1 } });
    };
    let planned = history.planned;
    if looks.is_some_and(|looks| looks != planned) {
        return Err(OtherPlan { planned });
    }
    let same = history.looks.iter().position(|look| look.trainings == asked.trainings);
    let role = match (same, history.looks.last()) {
        (Some(index), _) => {
            let PastLook { seeds_planned, level, .. } = history.looks[index];
            // What it planned was taken since, if another look followed.
            let seeds_planned = seeds_planned.filter(|_| index + 1 == history.looks.len());
            Role::Again { number: index + 1, seeds_planned, level }
        }
        (None, _) if history.looks.len() >= planned => {
            Role::Descriptive(Descriptive::LooksUsedUp { planned })
        }
        (None, Some(last)) => after(last, history.looks.len(), asked),
        (None, None) => Role::Next { number: 1 },
    };
    Ok(Place { planned, role })
}

/// What other data is after a look.
fn after(last: &PastLook, number: usize, asked: &Asked) -> Role {
    let pairs = || asked.seeds.iter().zip(&last.seeds);
    let more = pairs().all(|(now, then)| now >= then) && pairs().any(|(now, then)| now > then);
    let fewest = asked.seeds[0].min(asked.seeds[1]);
    match last.seeds_planned {
        _ if !more => Role::Descriptive(Descriptive::NoMoreSeeds { look: number }),
        Some(planned) if fewest < planned => {
            Role::Descriptive(Descriptive::PlanNotReached { seeds: fewest, planned })
        }
        _ => Role::Next { number: number + 1 },
    }
}

/// Whether a verdict uses up a look. With too few seeds it could not have claimed anything, whatever they score.
pub(super) fn counts(verdict: &Verdict) -> bool {
    verdict.reason != Some(Reason::TooFewSeeds)
}

/// The seeds per group that the next look is planned with, decided once, by the look that could not tell.
pub(super) fn seeds_planned(verdict: &Verdict, number: usize, planned: usize) -> Option<u64> {
    let needed = verdict.seeds_needed.filter(|needed| (1..=MOST_SEEDS).contains(needed))?;
    let more_looks = number < planned && verdict.verdict == Answer::CannotTell;
    more_looks.then(|| verdict.n_a.min(verdict.n_b).saturating_add(needed))
}

impl Place {
    pub(super) fn level(&self) -> f64 {
        level(self.planned)
    }

    pub(super) fn number(&self) -> Option<usize> {
        match self.role {
            Role::Next { number } | Role::Again { number, .. } => Some(number),
            Role::Descriptive(_) => None,
        }
    }

    pub(super) fn descriptive(&self) -> Option<Descriptive> {
        match self.role {
            Role::Descriptive(why) => Some(why),
            _ => None,
        }
    }
}

impl Descriptive {
    /// The reason's name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LooksUsedUp { .. } => "looks_used_up",
            Self::PlanNotReached { .. } => "plan_not_reached",
            Self::NoMoreSeeds { .. } => "no_more_seeds",
        }
    }

    /// Seeds per group that are missing to the plan.
    pub(super) fn missing(self) -> Option<u64> {
        match self {
            Self::PlanNotReached { seeds, planned } => Some(planned - seeds),
            _ => None,
        }
    }

    pub(super) fn sentence(self) -> String {
        match self {
            Self::LooksUsedUp { planned: 1 } => {
                "The only planned look at this question was taken with other seeds, so these numbers are descriptive."
                    .to_owned()
            }
            Self::LooksUsedUp { planned: 2 } => {
                "Both planned looks at this question were taken with other seeds, so these numbers are descriptive."
                    .to_owned()
            }
            Self::LooksUsedUp { planned } => format!(
                "All {planned} planned looks at this question were taken with other seeds, so these numbers are \
                 descriptive."
            ),
            Self::PlanNotReached { seeds, planned } => format!(
                "{seeds} of {planned} planned seeds per group: these numbers are descriptive until the next look."
            ),
            Self::NoMoreSeeds { look } => format!(
                "Look {look} at this question had as many seeds or more, so these numbers are descriptive; combine \
                 runs with + to add seeds to it."
            ),
        }
    }
}

#[cfg(test)]
mod tests;
