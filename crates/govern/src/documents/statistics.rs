//! `statistics` of `contract.yaml`: how a claim is judged, and the schedule that this means.
//!
//! The baseline runs once on `incumbent_seeds` seeds, and every candidate is compared with that one set at planned
//! numbers of its own seeds. Contracts of earlier versions say `confirm_seeds`, a number of `looks` and
//! `maximum_confirms`; they mean the same with `incumbent_seeds` equal to `confirm_seeds`, and looks at equal steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewer seeds than this never make a claim: one lucky run would decide.
pub const FEWEST_SEEDS: u64 = 5;
/// More seeds than this per look, or in the incumbent's set, can't be planned for.
const MOST_SEEDS: u64 = 1000;
/// More looks than this save hardly any runs.
const MOST_LOOKS: u64 = 10;
/// More candidates than this can't be planned for.
const MOST_CANDIDATES: u64 = 1000;

/// How a claim is judged. The procedure is in `docs/statistics.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// Chance of a false claim over the whole study, one-sided
    #[schemars(range(min = 0.0001, max = 0.2))]
    pub alpha: f64,
    /// Seeds in the short phase
    #[schemars(range(min = 1))]
    pub screen_seeds: u64,
    /// How many candidates may be confirmed in this study; the chance of a false claim is shared by all of them
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub candidates: Option<u64>,
    /// Seeds of the baseline, run once and compared with every candidate; what is accepted is topped up to as many
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 5))]
    pub incumbent_seeds: Option<u64>,
    /// Seeds of a candidate at each look, rising, such as `[5, 10, 15]`
    pub looks: Looks,
    /// Of an older form, in which `looks` is a number: seeds per group
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 5))]
    pub confirm_seeds: Option<u64>,
    /// Of an older form: `candidates`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub maximum_confirms: Option<u64>,
}

/// The planned looks at a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Looks {
    /// Seeds of the candidate at each look, rising
    Seeds(Vec<u64>),
    /// Of an older form: how many looks, at equal steps up to `confirm_seeds`
    Count(#[schemars(range(min = 1, max = 10))] u64),
}

/// What the statistics of a contract mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schedule {
    /// Chance of a false claim over the whole study, one-sided.
    pub alpha: f64,
    /// Seeds in the short phase.
    pub screen_seeds: u64,
    /// Candidates that share the chance of a false claim.
    pub candidates: u64,
    /// Seeds of the baseline, and of whatever is accepted.
    pub incumbent_seeds: u64,
    /// Seeds of a candidate at each look, rising; at least one look.
    pub looks: Vec<u64>,
}

/// Why no schedule follows from the statistics of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleProblem {
    /// The key below `statistics`.
    pub key: &'static str,
    /// The problem, and what would be right.
    pub problem: String,
}

impl Schedule {
    /// Fresh audit seeds of a candidate that was accepted with this many: they bring its set up to the incumbent's, and
    /// are never fewer than what makes a claim.
    pub fn top_up(&self, seeds: u64) -> u64 {
        self.incumbent_seeds.saturating_sub(seeds).max(FEWEST_SEEDS)
    }

    /// Seeds of a candidate that uses every look.
    pub fn last_look(&self) -> u64 {
        self.looks.last().copied().unwrap_or(FEWEST_SEEDS)
    }

    /// The most audit seeds that a candidate can need.
    pub fn most_audit_seeds(&self) -> u64 {
        self.top_up(self.looks.first().copied().unwrap_or(0))
    }
}

impl Statistics {
    /// What these statistics mean. Where they have [problems](Self::problems), the nearest schedule that has none;
    /// nothing is launched by it, because such a contract is incomplete.
    pub fn schedule(&self) -> Schedule {
        let of_older_form = self.confirm_seeds.filter(|_| matches!(self.looks, Looks::Count(_)));
        let within = |seeds: u64| seeds.clamp(FEWEST_SEEDS, MOST_SEEDS);
        let mut looks: Vec<u64> = match &self.looks {
            Looks::Seeds(seeds) => seeds.clone(),
            Looks::Count(count) => equal_steps(of_older_form.unwrap_or(FEWEST_SEEDS), *count),
        };
        looks.iter_mut().for_each(|seeds| *seeds = within(*seeds));
        looks.sort_unstable();
        looks.dedup();
        if looks.is_empty() {
            looks.push(FEWEST_SEEDS);
        }
        let last = looks.last().copied().unwrap_or(FEWEST_SEEDS);
        Schedule {
            alpha: self.alpha,
            screen_seeds: self.screen_seeds.max(1),
            candidates: self.candidates.or(self.maximum_confirms).unwrap_or(1).clamp(1, MOST_CANDIDATES),
            incumbent_seeds: within(self.incumbent_seeds.or(of_older_form).unwrap_or(last)),
            looks,
        }
    }

    /// Everything that keeps these statistics from being a schedule.
    pub fn problems(&self) -> Vec<ScheduleProblem> {
        let mut problems = Vec::new();
        let mut say = |key, problem: String| problems.push(ScheduleProblem { key, problem });
        match (self.candidates, self.maximum_confirms) {
            (None, None) => say("candidates", "how many candidates may be confirmed in this study?".into()),
            (Some(_), Some(_)) => say(
                "maximum_confirms",
                "candidates and maximum_confirms mean the same: which one is intended? keep candidates"
                    .into(),
            ),
            (Some(count), None) if count > MOST_CANDIDATES => {
                say("candidates", format!("{count} is too many: which number up to {MOST_CANDIDATES}?"));
            }
            (None, Some(count)) if count > MOST_CANDIDATES => {
                say(
                    "maximum_confirms",
                    format!("{count} is too many: which number up to {MOST_CANDIDATES}?"),
                );
            }
            _ => {}
        }
        match &self.looks {
            Looks::Seeds(looks) => self.problems_of_seeds(looks, &mut say),
            Looks::Count(_) => self.problems_of_count(&mut say),
        }
        for (key, seeds) in [("incumbent_seeds", self.incumbent_seeds), ("confirm_seeds", self.confirm_seeds)]
        {
            if seeds.is_some_and(|seeds| seeds > MOST_SEEDS) {
                say(key, format!("which number of seeds, from {FEWEST_SEEDS} to {MOST_SEEDS}?"));
            }
        }
        problems
    }

    fn problems_of_seeds(&self, looks: &[u64], say: &mut impl FnMut(&'static str, String)) {
        if self.incumbent_seeds.is_none() {
            say("incumbent_seeds", "on how many seeds does the baseline run? 5 or more".into());
        }
        if self.confirm_seeds.is_some() {
            say("confirm_seeds", "with a list of looks it has no meaning: remove it".into());
        }
        match looks {
            [] => say("looks", "at how many seeds is a candidate looked at? such as [5, 10, 15]".into()),
            [first, ..] if *first < FEWEST_SEEDS => say(
                "looks",
                format!("the first look is at {first} seeds: at which number from {FEWEST_SEEDS} on?"),
            ),
            _ => {}
        }
        if let Some(pair) = looks.windows(2).find(|pair| pair[0] >= pair[1]) {
            say("looks", format!("{} follows {}: which rising numbers of seeds?", pair[1], pair[0]));
        }
        if looks.len() as u64 > MOST_LOOKS {
            say("looks", format!("{} looks are too many: which ones, at most {MOST_LOOKS}?", looks.len()));
        }
        if looks.iter().any(|seeds| *seeds > MOST_SEEDS) {
            say("looks", format!("which numbers of seeds, at most {MOST_SEEDS}?"));
        }
    }

    fn problems_of_count(&self, say: &mut impl FnMut(&'static str, String)) {
        if self.confirm_seeds.is_none() {
            say("looks", "at which numbers of seeds is a candidate looked at? such as [5, 10, 15]".into());
        }
        if self.incumbent_seeds.is_some() {
            let problem = "looks is a number, so confirm_seeds says how many seeds the baseline has: write looks as \
                           a list such as [5, 10, 15], or remove incumbent_seeds";
            say("incumbent_seeds", problem.into());
        }
    }
}

/// Looks at equal steps up to `seeds`, rounded up, none below what makes a claim.
fn equal_steps(seeds: u64, looks: u64) -> Vec<u64> {
    let looks = looks.clamp(1, MOST_LOOKS);
    let step = |look: u64| seeds.saturating_mul(look).div_ceil(looks).max(FEWEST_SEEDS);
    (1..=looks).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(looks: &[u64]) -> Statistics {
        Statistics {
            alpha: 0.05,
            screen_seeds: 3,
            candidates: Some(5),
            incumbent_seeds: Some(15),
            looks: Looks::Seeds(looks.to_vec()),
            confirm_seeds: None,
            maximum_confirms: None,
        }
    }

    fn old(confirm_seeds: u64, looks: u64) -> Statistics {
        Statistics {
            candidates: None,
            incumbent_seeds: None,
            looks: Looks::Count(looks),
            confirm_seeds: Some(confirm_seeds),
            maximum_confirms: Some(4),
            ..new(&[])
        }
    }

    #[test]
    fn the_older_form_means_equal_steps_rounded_up() {
        for (seeds, looks, expected) in [
            (10, 1, vec![10]),
            (10, 2, vec![5, 10]),
            (16, 3, vec![6, 11, 16]),
            // A look at three seeds could never claim anything.
            (5, 2, vec![5]),
            (12, 4, vec![5, 6, 9, 12]),
        ] {
            let statistics = old(seeds, looks);
            assert_eq!(statistics.problems(), []);
            let schedule = statistics.schedule();
            assert_eq!(schedule.looks, expected, "{seeds} {looks}");
            assert_eq!((schedule.incumbent_seeds, schedule.candidates), (seeds, 4));
        }
    }

    #[test]
    fn what_is_accepted_is_topped_up() {
        let schedule = new(&[5, 10, 15]).schedule();
        assert_eq!([5, 10, 15].map(|seeds| schedule.top_up(seeds)), [10, 5, 5]);
        assert_eq!((schedule.last_look(), schedule.most_audit_seeds()), (15, 10));
    }

    #[test]
    fn every_problem_is_named_with_its_key() {
        let keys = |statistics: &Statistics| -> Vec<&'static str> {
            statistics.problems().iter().map(|problem| problem.key).collect()
        };
        assert_eq!(keys(&new(&[5, 10, 15])), [""; 0]);
        assert_eq!(keys(&new(&[])), ["looks"]);
        assert_eq!(keys(&new(&[4, 10])), ["looks"]);
        assert_eq!(keys(&new(&[4, 10, 10, 2000])), ["looks", "looks", "looks"]);
        let mut mixed = new(&[5]);
        mixed.incumbent_seeds = None;
        mixed.confirm_seeds = Some(10);
        mixed.maximum_confirms = Some(3);
        assert_eq!(keys(&mixed), ["maximum_confirms", "incumbent_seeds", "confirm_seeds"]);
        let mut lacking = old(10, 2);
        lacking.confirm_seeds = None;
        lacking.maximum_confirms = None;
        lacking.incumbent_seeds = Some(10_000);
        assert_eq!(keys(&lacking), ["candidates", "looks", "incumbent_seeds", "incumbent_seeds"]);
        // Whatever the problems, what follows is a schedule.
        for statistics in [mixed, lacking, new(&[]), new(&[10, 4, 2000])] {
            let schedule = statistics.schedule();
            assert!(schedule.looks.windows(2).all(|pair| pair[0] < pair[1]), "{schedule:?}");
            assert!(schedule.looks[0] >= FEWEST_SEEDS && schedule.incumbent_seeds >= FEWEST_SEEDS);
        }
    }
}
