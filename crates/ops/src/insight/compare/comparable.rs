//! Whether the scores of two groups measure the same thing.
//!
//! What is under study may differ: learning rates, networks, the number of
//! environments, normalisation, and whatever wraps the environment for
//! training alone. What a score is measured by may not:
//!
//! | part | for scores of | why |
//! |---|---|---|
//! | environment, its arguments, its step cap, wrappers that an evaluation keeps | all | another task has other returns |
//! | wrappers for training alone | training metrics | they change what is logged |
//! | episodes, `eval.deterministic`, `eval.seed` | evaluations while training, the `best` checkpoint | other episodes, other policies |
//! | `eval.every` | the best evaluation, the `best` checkpoint, the mean over training, runs that may stop early | more choices, or other points |
//! | steps, early stopping | all | more training is not a better method |
//! | seeds that are not done | all | half a training is not a result |
//!
//! The last evaluation is after the last step however often a run is evaluated
//! before, so there `eval.every` makes no difference unless it is 0. What is
//! kept on disk (`checkpoint`), `threads`, `device` and names change no score.
//!
//! Steps round up to whole rollouts, so configs that ask for the same number
//! may differ by a little; that is no difference in budget.

use std::collections::BTreeSet;

use rlxp_spec::config::{Kwarg, WrapperConfig};
use serde::{Serialize, Serializer};

use super::changes::joined;
use super::groups::ComparedGroup;
use super::score::{Score, ScoreKind, Source};
use crate::insight::run_data::{RunData, SeedState};
use crate::training::envs::SOURCES;
use crate::training::recorded::STOP_AT;
use crate::training::seed_ranges::seed_ranges;

/// Budgets may differ by this much when rounding is the only reason.
const ROUNDING: f64 = 0.05;

/// Something that keeps two groups from being compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Incomparable {
    pub key: Differing,
    pub a: String,
    /// How it is in the other group.
    pub b: String,
}

/// What differs: a config key, `budget` or `unfinished`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differing {
    Key(&'static str),
    Budget,
    Unfinished,
}

impl Differing {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Key(key) => key,
            Self::Budget => "budget",
            Self::Unfinished => "unfinished",
        }
    }
}

impl Serialize for Differing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Incomparable {
    /// The difference as a sentence; `other` is the second group's letter.
    pub fn sentence(&self, other: &str) -> String {
        let key = self.key.as_str();
        match self.key {
            Differing::Unfinished => {
                format!("unfinished: {} of A, {} of {other}", seeds(&self.a), seeds(&self.b))
            }
            _ if self.a == self.b => format!("{key} differs within the groups: {}", self.a),
            _ => format!("{key} is {} in A and {} in {other}", self.a, self.b),
        }
    }
}

/// A list of seeds with its noun.
fn seeds(list: &str) -> String {
    match list {
        "none" => "no seed".to_owned(),
        one if one.bytes().all(|byte| byte.is_ascii_digit()) => format!("seed {one}"),
        several => format!("seeds {several}"),
    }
}

/// A part of the protocol of a run, as text.
type Part = fn(&RunData) -> String;

/// Everything that differs in how `a` and `b` were measured.
pub(super) fn differences(score: &Score, a: &ComparedGroup<'_>, b: &ComparedGroup<'_>) -> Vec<Incomparable> {
    let mut found = Vec::new();
    let mut check = |key: &'static str, part: Part| {
        let values = |group: &ComparedGroup<'_>| group.runs.iter().map(part).collect::<BTreeSet<String>>();
        let (of_a, of_b) = (values(a), values(b));
        if of_a.union(&of_b).count() > 1 {
            found.push(Incomparable { key: Differing::Key(key), a: joined(of_a), b: joined(of_b) });
        }
    };
    check("env.id", |run| run.config.env.id.clone());
    // Other tasks have other arguments; that goes without saying.
    let ids: BTreeSet<&str> = a.runs.iter().chain(b.runs).map(|run| run.config.env.id.as_str()).collect();
    if ids.len() <= 1 {
        check("env.kwargs", kwargs);
        check("env.max_episode_steps", step_cap);
    }
    match score.source {
        Source::Training => check("env.wrappers", |run| wrappers(&run.config.env.wrappers, false)),
        Source::Evaluation | Source::Afterwards => {
            check("env.wrappers", |run| wrappers(&run.config.env.wrappers, true));
        }
    }
    let stops_early = a.runs.iter().chain(b.runs).any(|run| run.metadata.extra.contains_key(STOP_AT));
    let evaluated = score.source == Source::Evaluation || score.kind == ScoreKind::EvalBest;
    if stops_early || (evaluated && score.kind != ScoreKind::Last) {
        check("eval.every", |run| run.config.eval.every.to_string());
    } else if evaluated {
        check("eval.every", |run| if run.config.eval.every == 0 { "0" } else { "above 0" }.to_owned());
    }
    if evaluated {
        check("eval.deterministic", |run| run.config.eval.deterministic.to_string());
        check("eval.seed", |run| run.config.eval.seed.to_string());
    }
    check("stop_at", |run| run.metadata.extra.get(STOP_AT).map_or("none".to_owned(), ToString::to_string));
    if evaluated {
        found.extend(episodes(a, b));
    }
    found.extend(budget(a, b));
    found.extend(unfinished(a, b));
    found
}

/// Arguments with their defaults filled in: what is written out is no other task.
fn kwargs(run: &RunData) -> String {
    let env = &run.config.env;
    let text = |kwarg: &Kwarg| match kwarg {
        Kwarg::Bool(value) => value.to_string(),
        Kwarg::Integer(value) => value.to_string(),
        Kwarg::Number(value) => value.to_string(),
        Kwarg::Text(value) => value.clone(),
        Kwarg::List(_) | Kwarg::Table(_) => serde_json::to_string(kwarg).expect("an argument is plain data"),
    };
    let mut all: Vec<(String, String)> =
        env.kwargs.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    if let Ok(info) = SOURCES.find(&env.id) {
        let missing = info.kwargs.iter().filter(|known| !env.kwargs.contains_key(known.name));
        all.extend(missing.map(|known| (known.name.to_owned(), known.default.to_owned())));
    }
    all.sort();
    let all: Vec<String> = all.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{{{}}}", all.join(", "))
}

fn step_cap(run: &RunData) -> String {
    let env = &run.config.env;
    let own = SOURCES.find(&env.id).ok().and_then(|info| info.max_episode_steps);
    env.max_episode_steps.or(own).map_or("none".to_owned(), |cap| cap.to_string())
}

fn wrappers(wrappers: &[WrapperConfig], evaluated: bool) -> String {
    let kept = wrappers.iter().filter(|wrapper| {
        let training_alone = matches!(
            wrapper,
            WrapperConfig::ScaleReward { .. }
                | WrapperConfig::TruncationAsTermination {}
                | WrapperConfig::Python { train_only: true, .. }
        );
        !(evaluated && training_alone)
    });
    let text = |wrapper: &WrapperConfig| serde_json::to_string(wrapper).expect("a wrapper is plain data");
    format!("[{}]", kept.map(text).collect::<Vec<_>>().join(", "))
}

/// Episodes as they were played, which may be more than the config asked for;
/// runs that never got to an evaluation are known by their config alone.
fn episodes(a: &ComparedGroup<'_>, b: &ComparedGroup<'_>) -> Option<Incomparable> {
    let played = |run: &RunData| -> BTreeSet<u64> {
        let last = run.seeds.iter().filter_map(|seed| seed.series("eval", "episodes")?.last());
        last.map(|(_, count)| count as u64).collect()
    };
    let all = || a.runs.iter().chain(b.runs);
    let on_record: BTreeSet<u64> = all().flat_map(played).collect();
    let asked: BTreeSet<usize> = all().map(|run| run.config.eval.episodes).collect();
    let same = match on_record.len() {
        0 => asked.len() <= 1,
        1 => asked.len() <= 1 || all().all(|run| !played(run).is_empty()),
        _ => false,
    };
    if same {
        return None;
    }
    let text = |group: &ComparedGroup<'_>| {
        let counts: BTreeSet<u64> = group
            .runs
            .iter()
            .flat_map(|run| {
                let known = played(run);
                if known.is_empty() { BTreeSet::from([run.config.eval.episodes as u64]) } else { known }
            })
            .collect();
        joined(counts.iter().map(u64::to_string))
    };
    Some(Incomparable { key: Differing::Key("eval.episodes"), a: text(a), b: text(b) })
}

fn budget(a: &ComparedGroup<'_>, b: &ComparedGroup<'_>) -> Option<Incomparable> {
    let all = || a.runs.iter().chain(b.runs);
    let steps = all().map(|run| run.metadata.total_steps);
    let (least, most) = (steps.clone().min().unwrap_or(0), steps.max().unwrap_or(0));
    let asked: BTreeSet<u64> = all().map(|run| run.config.algo.total_timesteps()).collect();
    let rounded = asked.len() <= 1 && (most - least) as f64 <= ROUNDING * most as f64;
    if least == most || rounded {
        return None;
    }
    let text = |group: &ComparedGroup<'_>| {
        let steps: BTreeSet<u64> = group.runs.iter().map(|run| run.metadata.total_steps).collect();
        format!("{} steps", joined(steps.iter().map(u64::to_string)))
    };
    Some(Incomparable { key: Differing::Budget, a: text(a), b: text(b) })
}

fn unfinished(a: &ComparedGroup<'_>, b: &ComparedGroup<'_>) -> Option<Incomparable> {
    let seeds = |group: &ComparedGroup<'_>| {
        group.in_state(SeedState::Unfinished).map(|member| member.seed.seed).collect::<Vec<u64>>()
    };
    let text = |seeds: Vec<u64>| if seeds.is_empty() { "none".to_owned() } else { seed_ranges(seeds) };
    let (of_a, of_b) = (seeds(a), seeds(b));
    if of_a.is_empty() && of_b.is_empty() {
        return None;
    }
    Some(Incomparable { key: Differing::Unfinished, a: text(of_a), b: text(of_b) })
}
