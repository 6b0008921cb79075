//! How users name runs, seeds and checkpoints, the same in every command.
//!
//! A word names any number of runs: `RUN`, `A+B`, `tag:X`, `ppo_*`, `where:'algo.gamma>=0.99'`, `@last~1`,
//! `@best:ENV`; `:SEED` and `:CHECKPOINT` at the end narrow it ([`word`] has the grammar). A folder whose name is the
//! whole word comes first, so that no run is out of reach.
//!
//! | a command that takes | calls |
//! |---|---|
//! | runs and seeds, each word one group | [`runs_and_seeds`] |
//! | whole runs of this project | [`whole_runs`] |
//! | one run | [`one_run`], or [`one_run_or_seed`] |
//! | checkpoints | [`checkpoint::CheckpointRef`] |

pub(crate) mod checkpoint;
pub mod column;
pub mod complete;
pub mod condition;
pub mod table;
mod word;

use std::collections::BTreeSet;

use rlxp_store::{Project, Run, RunFilter, RunRow, StoreError, resolve};
use rlxp_types::text::shell_word;

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use table::{KnownRun, table};
use word::{Base, Term, matches, term, terms};
pub(crate) use word::{Part, Which};

/// Runs that a message names.
const MOST_NAMED: usize = 6;

/// A run, or a part of it.
#[derive(Clone)]
pub(crate) struct Selected {
    pub(crate) run: Run,
    pub(crate) part: Part,
}

impl Selected {
    /// Fails if a checkpoint was named where only runs and seeds make sense.
    pub(crate) fn refuse_checkpoint(&self) -> Outcome<()> {
        let Some(which) = self.part.checkpoint else { return Ok(()) };
        let run = self.run.name();
        let seed = self.part.seed.map_or_else(String::new, |seed| format!(":{seed}"));
        let message = format!("{run}{seed}:{which} is a checkpoint; expected a run, or a seed as {run}:SEED");
        let hint = format!(
            "rlx eval {}    # commands for checkpoints: eval, video, inspect",
            shell_word(&format!("{run}{seed}:{which}"))
        );
        Err(Failure::usage("checkpoint_not_expected", message).hint(hint))
    }
}

/// The project that the folder belongs to.
pub(crate) fn project(context: &Context) -> Outcome<Project> {
    if context.folder_is_root {
        return Ok(Project::at(context.fs.clone(), context.machine.clone(), &context.folder));
    }
    Ok(Project::find(context.fs.clone(), context.machine.clone(), &context.folder)?)
}

/// What `word` names, at least one run, each part of a run once. Runs of a tag, a pattern or a filter come oldest first.
pub(crate) fn select(project: &Project, word: &str) -> Outcome<Vec<Selected>> {
    if let Some(run) = run_with_name(project, word)? {
        return Ok(vec![Selected { run, part: Part::default() }]);
    }
    let mut found: Vec<Selected> = Vec::new();
    for Term { base, part } in all_terms(project, word)? {
        let runs = runs_of(project, &base)?;
        found.extend(runs.into_iter().map(|run| Selected { run, part }));
    }
    let mut seen = BTreeSet::new();
    found.retain(|one| {
        let Part { seed, checkpoint } = one.part;
        seen.insert((one.run.path().to_owned(), seed, checkpoint.map(|which| which.to_string())))
    });
    for one in &found {
        check_seed(one)?;
    }
    Ok(found)
}

/// A run, and which of its seeds are meant; all without a list.
#[derive(Clone)]
pub(crate) struct RunSeeds {
    pub(crate) run: Run,
    pub(crate) seeds: Option<BTreeSet<u64>>,
}

/// What `word` names as runs, each once, with the seeds that are meant: for commands that read records.
pub(crate) fn runs_and_seeds(project: &Project, word: &str) -> Outcome<Vec<RunSeeds>> {
    let mut found: Vec<RunSeeds> = Vec::new();
    for selected in select(project, word)? {
        selected.refuse_checkpoint()?;
        let Selected { run, part: Part { seed, .. } } = selected;
        match found.iter_mut().find(|known| known.run.path() == run.path()) {
            None => found.push(RunSeeds { run, seeds: seed.map(|seed| [seed].into()) }),
            // The whole run includes each of its seeds.
            Some(known) => match (&mut known.seeds, seed) {
                (Some(seeds), Some(seed)) => drop(seeds.insert(seed)),
                (seeds, _) => *seeds = None,
            },
        }
    }
    Ok(found)
}

/// Whole runs of this project, each once: for commands that change or remove them.
pub(crate) fn whole_runs(project: &Project, words: &[String]) -> Outcome<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for word in words {
        for Selected { run, part } in select(project, word)? {
            if part != Part::default() {
                let message = format!("{word:?} names a part of {}; expected whole runs", run.name());
                return Err(Failure::usage("part_of_a_run", message).hint(shell_word(&run.name())));
            }
            if !project.owns(&run) {
                let (path, runs) = (run.path().to_owned(), project.runs_dir());
                return Err(StoreError::NotOfThisProject { path, runs }.into());
            }
            if runs.iter().all(|known| known.name() != run.name()) {
                runs.push(run);
            }
        }
    }
    Ok(runs)
}

/// The one run that `word` names.
pub(crate) fn one_run(project: &Project, word: &str) -> Outcome<Run> {
    let Selected { run, part } = one(project, word)?;
    if part != Part::default() {
        let message = format!("{word:?} names a part of {}; expected a whole run", run.name());
        return Err(Failure::usage("part_of_a_run", message).hint(shell_word(&run.name())));
    }
    Ok(run)
}

/// The one run that `word` names, and the seed if it names one.
pub(crate) fn one_run_or_seed(project: &Project, word: &str) -> Outcome<(Run, Option<u64>)> {
    let selected = one(project, word)?;
    selected.refuse_checkpoint()?;
    Ok((selected.run, selected.part.seed))
}

/// The run, seed or checkpoint that `word` names; an error if it names several.
pub(crate) fn one(project: &Project, word: &str) -> Outcome<Selected> {
    let mut found = select(project, word)?;
    if found.len() == 1 {
        return Ok(found.remove(0));
    }
    let names: Vec<String> = found.iter().take(MOST_NAMED).map(|one| one.run.name()).collect();
    let more = match found.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("{word:?} matches {} runs, expected one: {}{more}", found.len(), names.join(", "));
    Err(Failure::with_kind(FailureKind::SeveralRuns, message).hint(format!("rlx ls {}", shell_word(word))))
}

/// The run in the folder of that very name, whatever characters it has.
fn run_with_name(project: &Project, word: &str) -> Outcome<Option<Run>> {
    let is_name = !word.is_empty() && !word.contains('/') && !word.starts_with(['.', '@', '-']);
    Ok((is_name && project.run_names()?.iter().any(|name| name == word)).then(|| project.run(word)))
}

/// The terms of a word. A path or a name that exists as it is may contain any character.
fn all_terms(project: &Project, word: &str) -> Outcome<Vec<Term>> {
    // A tag may contain any of the characters that join words.
    if let Some(tag) = word.strip_prefix("tag:").filter(|tag| tag.contains(['+', ':'])) {
        let filter = RunFilter { tags: vec![tag.to_owned()], ..RunFilter::default() };
        if !table(project, &filter, &[], false)?.is_empty() {
            return Ok(vec![Term { base: Base::Tag(tag.to_owned()), part: Part::default() }]);
        }
    }
    if word.contains('/') && !word.starts_with("where:") {
        if resolve(project, word).is_ok() {
            return Ok(vec![Term { base: Base::Name(word.to_owned()), part: Part::default() }]);
        }
        let whole = term(word)?;
        if let Base::Name(text) = &whole.base
            && resolve(project, text).is_ok()
        {
            return Ok(vec![whole]);
        }
    }
    terms(word)
}

fn runs_of(project: &Project, base: &Base) -> Outcome<Vec<Run>> {
    // A folder that is not a run, or that can't be read, has to be named itself.
    let real = |mut runs: Vec<KnownRun>| {
        runs.retain(|run| run.row.id.is_some());
        runs
    };
    let everything = |filter: &RunFilter| table(project, filter, &[], false).map(real);
    let chosen = match base {
        Base::Name(text) => return Ok(vec![resolve(project, text)?]),
        Base::Tag(tag) => {
            let rows = everything(&RunFilter { tags: vec![tag.clone()], ..RunFilter::default() })?;
            if rows.is_empty() {
                return Err(Failure::usage("no_such_tag", format!("no run has the tag {tag:?}"))
                    .hint("rlx ls --columns name,tags"));
            }
            rows
        }
        Base::Pattern(pattern) => {
            let mut rows = everything(&RunFilter::default())?;
            rows.retain(|run| matches(pattern, &run.row.name));
            if rows.is_empty() {
                let message = format!("no run matches {pattern:?}");
                return Err(Failure::with_kind(FailureKind::RunNotFound, message).hint("rlx ls"));
            }
            rows
        }
        Base::Where(conditions) => {
            let rows = real(table(project, &RunFilter::default(), conditions, false)?);
            if rows.is_empty() {
                let message = "no run fulfils the conditions".to_owned();
                return Err(Failure::with_kind(FailureKind::RunNotFound, message).hint("rlx ls"));
            }
            rows
        }
        Base::Last(back) => {
            let mut rows = everything(&RunFilter::default())?;
            rows.sort_by(|a, b| b.row.age().cmp(&a.row.age()));
            let count = rows.len();
            return match rows.into_iter().nth(*back) {
                Some(run) => Ok(vec![project.run(&run.row.name)]),
                None => Err(too_far_back(*back, count)),
            };
        }
        Base::Best(env) => {
            return best(everything(&RunFilter::default())?, env).map(|row| vec![project.run(&row.name)]);
        }
    };
    Ok(oldest_first(chosen).iter().map(|run| project.run(&run.row.name)).collect())
}

fn oldest_first(mut runs: Vec<KnownRun>) -> Vec<KnownRun> {
    runs.sort_by(|a, b| a.row.age().cmp(&b.row.age()));
    runs
}

fn too_far_back(back: usize, count: usize) -> Failure {
    let message = match (back, count) {
        (_, 0) => "there are no runs yet".to_owned(),
        (back, count) => format!("@last~{back}: there are only {count} runs"),
    };
    let hint = if count == 0 { "rlx train configs/ppo_cartpole.yaml" } else { "rlx ls" };
    Failure::with_kind(FailureKind::RunNotFound, message).hint(hint)
}

/// The run with the best evaluation in `env`; of equal ones the oldest, as within a run.
fn best(runs: Vec<KnownRun>, env: &str) -> Outcome<RunRow> {
    let environments: BTreeSet<String> = runs.iter().map(|run| run.row.env.clone()).collect();
    let own = runs.into_iter().map(|run| run.row).filter(|row| row.env.eq_ignore_ascii_case(env));
    let scored = own.filter_map(|row| Some((row.best_eval_mean?, row)));
    let best =
        scored.max_by(|(a, first), (b, second)| a.total_cmp(b).then_with(|| second.age().cmp(&first.age())));
    best.map(|(_, row)| row).ok_or_else(|| {
        let known = environments.iter().any(|known| known.eq_ignore_ascii_case(env));
        let why = if known { "no run of it has an evaluation" } else { "no run uses this environment" };
        let failure = Failure::with_kind(FailureKind::RunNotFound, format!("@best:{env}: {why}"));
        match rlxp_spec::nearest(env, environments.iter().map(String::as_str)) {
            Some(near) if !known => failure.hint(format!("did you mean @best:{near}?")),
            _ => failure.hint("rlx ls"),
        }
    })
}

/// Fails if the run does not have the seed that was named.
fn check_seed(selected: &Selected) -> Outcome<()> {
    let Some(seed) = selected.part.seed else { return Ok(()) };
    let seeds: Vec<u64> = selected.run.seed_folders()?.iter().map(|folder| folder.seed()).collect();
    if seeds.contains(&seed) {
        return Ok(());
    }
    let named: Vec<String> = seeds.iter().take(MOST_NAMED).map(u64::to_string).collect();
    let more = if seeds.len() > MOST_NAMED { ", …" } else { "" };
    let message =
        format!("{} has no seed {seed}; its seeds are {}{more}", selected.run.name(), named.join(", "));
    Err(Failure::usage("seed_not_found", message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(name: &str, creation: u64, env: &str, best: Option<f64>) -> KnownRun {
        let row = json!({
            "name": name, "id": null, "status": "completed", "env": env, "algo": "ppo", "seeds": 1, "steps": 1,
            "total_steps": 1, "last_mean_return": null, "best_eval_mean": best, "created": "2026-01-01T00:00:00Z",
            "creation": creation, "ended": null, "tags": [], "notes": [], "title": null, "problem": null,
        });
        KnownRun { row: serde_json::from_value(row).unwrap(), config: None, left: None }
    }

    #[test]
    fn the_best_run_is_the_oldest_of_equal_ones() {
        let runs = || {
            vec![
                run("later", 3, "CartPole-v1", Some(100.0)),
                run("first", 1, "CartPole-v1", Some(100.0)),
                run("worse", 2, "CartPole-v1", Some(99.0)),
                run("other", 4, "Pendulum-v1", Some(500.0)),
                run("unscored", 5, "Taxi-v4", None),
            ]
        };
        assert_eq!(best(runs(), "cartpole-V1").unwrap().name, "first");
        assert!(best(runs(), "Taxi-v4").unwrap_err().message.contains("no run of it has an evaluation"));
        assert_eq!(best(runs(), "CartPole-v2").unwrap_err().hints, ["did you mean @best:CartPole-v1?"]);
    }
}
