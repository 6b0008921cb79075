//! What to change in a config, and why: findings, the config and what is known
//! about its environment in; ranked changes out.
//!
//! Two sources are used. A rule that found something gives the direction in
//! which a setting should move. The starter for the environment, which is known
//! to learn, gives the value, and shows settings that no rule covers. Where
//! both agree the change comes first. Without a starter, the step is a usual
//! one, and the suggestion says so. How an environment is defined and how runs
//! are evaluated is never changed: runs must stay comparable.
//!
//! | step | module |
//! |---|---|
//! | what remedies do, what is far, what is good: data | `knowledge` |
//! | a remedy as changes of this config | `remedy` |
//! | how far the config lies from the starter | `deviation` |
//! | what must change along with a rollout | `fitted` |
//! | candidates, their order, what goes together | `candidate`, `combine` |

mod candidate;
mod combine;
mod deviation;
mod fitted;
mod knowledge;
mod remedy;
mod setting;
#[cfg(test)]
mod tests;

use rlxp_types::text::rounded;
use serde::Serialize;
use serde_json::Value;

use crate::diagnose::{Answers, Citation, Severity};
use deviation::{deviations, is_far};
pub use knowledge::{Expectation, GoodReturn, Knowledge, Move};
pub use setting::{Settings, written};

/// Settings to look at for comparison.
#[derive(Clone, Debug)]
pub struct Reference {
    pub settings: Settings,
    /// Whether they are a starter's for this very environment, or general defaults.
    pub is_starter: bool,
}

/// How well a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It reaches what counts as good.
    Good,
    /// It does not, or it failed.
    Poor,
    /// It is unknown what counts as good here, or the run isn't done.
    Unknown,
}

/// What a run reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reached {
    pub state: State,
    /// Mean return of the last evaluations over the seeds.
    pub mean_return: Option<f64>,
    /// The step that the furthest of them was at.
    pub step: u64,
    /// The step that the earliest of them was at.
    pub from_step: u64,
    /// Seeds with an evaluation.
    pub seeds: usize,
    /// Seeds that failed.
    pub failed: usize,
    /// What counts as good, and why.
    pub good: Option<GoodReturn>,
    /// Whether all seeds are finished; before that a run is neither good nor poor.
    pub finished: bool,
}

impl Reached {
    /// Judges what was reached.
    pub fn new(
        mean_return: Option<f64>,
        step: u64,
        (seeds, failed): (usize, usize),
        good: Option<&GoodReturn>,
        is_done: bool,
    ) -> Self {
        let state = match (mean_return, good) {
            _ if failed > 0 => State::Poor,
            (Some(reached), Some(good)) if is_done && reached >= good.value => State::Good,
            (Some(_), Some(_)) if is_done => State::Poor,
            _ => State::Unknown,
        };
        Self {
            state,
            mean_return,
            step,
            from_step: step,
            seeds,
            failed,
            good: good.cloned(),
            finished: is_done,
        }
    }

    /// Last evaluations that were not all at one step.
    pub fn since(self, from_step: u64) -> Self {
        Self { from_step, ..self }
    }

    /// The number that the judgement is based on.
    fn citation(&self) -> Option<Citation> {
        Some(Citation {
            metric: "eval.mean_return".to_owned(),
            seed: None,
            from_step: self.from_step,
            to_step: self.step,
            value: self.mean_return?,
            threshold: self.good.as_ref().map(|good| good.value),
        })
    }

    /// What was reached and what would be good, as a sentence.
    pub fn sentence(&self) -> Option<String> {
        let reached = self.mean_return?;
        let plural = if self.seeds == 1 { "" } else { "s" };
        let at = match (self.from_step, self.step) {
            (from, to) if from == to => format!("step {to}"),
            (from, to) => format!("steps {from} to {to}"),
        };
        let mut text =
            format!("eval.mean_return is {} at {at} over {} seed{plural}", rounded(reached, 4), self.seeds);
        if let Some(good) = &self.good {
            let reaches = if reached >= good.value { "reaches" } else { "misses" };
            text.push_str(&format!(" and {reaches} {} ({})", rounded(good.value, 4), good.basis));
        }
        text.push('.');
        Some(text)
    }
}

/// Everything that suggestions are made of.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The environment's id.
    pub env: &'a str,
    /// The run's config.
    pub settings: &'a Settings,
    /// What to compare it with.
    pub reference: Option<&'a Reference>,
    /// What the rules say.
    pub answers: &'a Answers,
    /// What the run reached.
    pub standing: &'a Reached,
    /// Whether actions are continuous; `None` when unknown.
    pub continuous: Option<bool>,
    /// Whether the policy ends as random as it can be, so that nothing makes it more so.
    pub as_random_as_possible: bool,
}

/// One key that should have another value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Dotted key.
    pub key: String,
    /// Its value in the run.
    pub from: Value,
    /// The value to try.
    pub to: Value,
}

/// What a suggestion is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BasisKind {
    /// A rule gives the direction, the starter the value.
    RuleAndStarter,
    /// The starter alone.
    Starter,
    /// A rule alone.
    Rule,
}

/// How sure a suggestion is, and of what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Basis {
    pub kind: BasisKind,
    pub sentence: String,
}

/// A set of changes to try in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    /// The remedy, or several with `+` between them.
    pub id: String,
    /// In a few words.
    pub title: String,
    pub changes: Vec<Change>,
    /// Why: metric, steps and value of what was found, or what differs from the starter.
    pub reason: String,
    /// The numbers that it is based on.
    pub evidence: Vec<Citation>,
    /// Rules that it answers; empty if it is based on the starter alone.
    pub rules: Vec<String>,
    /// What should move, and in which direction.
    pub expect: Vec<Expectation>,
    /// What may go wrong.
    pub risk: String,
    /// What it is based on.
    pub basis: Basis,
    /// Whether the new run can be compared with the old one.
    pub comparable: bool,
}

/// A finding that no setting answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unanswered {
    pub rule: String,
    pub title: String,
    /// What was found.
    pub sentence: String,
    /// What to do instead, a sentence each.
    pub advice: Vec<String>,
    /// A command to continue with.
    pub next: Option<String>,
}

/// All suggestions about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Changes, the first to try first.
    pub suggestions: Vec<Suggestion>,
    /// Findings of warnings and errors that no setting answers.
    pub unanswered: Vec<Unanswered>,
    /// Whether a setting lies far from the starter's, suggested or not.
    pub far_from_starter: bool,
}

/// What to change, the first to try first.
pub fn suggest(situation: &Situation<'_>, knowledge: &Knowledge) -> Advice {
    let starter = situation.reference.filter(|reference| reference.is_starter);
    let worst = situation.answers.worst();
    let is_wanting = match situation.standing.state {
        State::Good => false,
        State::Poor => true,
        State::Unknown => worst >= Some(Severity::Warning),
    };
    let far = match starter {
        Some(starter) if is_wanting => {
            deviations(&knowledge.keys, situation.settings, &starter.settings, situation.continuous)
        }
        _ => Vec::new(),
    };
    let found = candidate::from_findings(situation, knowledge, &far);
    let mut candidates = found.candidates;
    candidates.extend(candidate::from_starter(situation, &far, &candidates));
    candidates.extend(candidate::more_budget(situation, knowledge, &candidates));
    candidates.sort_by(|a, b| a.order().cmp(&b.order()));
    let far_from_starter = starter.is_some_and(|starter| {
        is_far(&knowledge.keys, situation.settings, &starter.settings, situation.continuous)
    });
    Advice {
        suggestions: combine::suggestions(situation.env, candidates),
        unanswered: found.unanswered,
        far_from_starter,
    }
}
