//! The seeds of all runs, each with its score and its settings.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rlxp_store::LineageKind;
use rlxp_types::text::shell_word;

use super::keys::{Settings, settings};
use super::{LandscapeRequest, View};
use crate::failure::{Failure, Outcome};
use crate::insight::compare::{Score, last_evaluations, limit_among};
use crate::insight::run_data::fold::{Folded, Member, fold};
use crate::insight::run_data::{Group, RunData, SeedState};
use crate::training::recorded::STOP_AT;

/// A seed that counts.
pub(super) struct Seed {
    pub(super) run: String,
    pub(super) seed: u64,
    pub(super) score: f64,
    pub(super) failed: bool,
    pub(super) settings: Rc<Settings>,
}

/// Everything that is drawn from.
pub(super) struct Sample {
    pub(super) env: String,
    pub(super) score: Score,
    /// At least one.
    pub(super) seeds: Vec<Seed>,
    /// Those of the runs with seeds that count, one per run.
    pub(super) settings: Vec<Rc<Settings>>,
    /// What was left out or scored in another way, a sentence each.
    pub(super) notes: Vec<String>,
}

pub(super) fn sample(groups: &[Group], request: &LandscapeRequest) -> Outcome<Sample> {
    let all: Vec<&RunData> = groups.iter().flat_map(|group| &group.runs).collect();
    let env = one_environment(&all, request)?;
    // What a run reached that did not start from scratch says little about its settings.
    let (runs, started): (Vec<&RunData>, Vec<&RunData>) = all.into_iter().partition(|run| {
        run.metadata.lineage.as_ref().is_none_or(|lineage| lineage.kind == LineageKind::Reproduced)
    });
    if runs.is_empty() {
        let message =
            "all of these runs started from a checkpoint; their scores say little about their settings";
        return Err(Failure::usage("nothing_to_draw", message).hint("rlx plot RUN    # their curves"));
    }
    let Folded { members, duplicates } = fold(runs.iter().copied());
    let (score, scores) = last_evaluations(&members)?;
    // A run named by two words is not a repeated training.
    let repeated = duplicates.into_iter().filter(|one| one.counted != one.left_out).count();
    let mut notes = Notes { repeated, ..Notes::default() };
    let scored: Vec<(Member<'_>, f64)> =
        members.iter().zip(&scores).filter(|(_, score)| !score.missing).map(|(m, s)| (*m, s.value)).collect();
    notes.unscored = names_of(members.iter().zip(&scores).filter(|(_, s)| s.missing).map(|(m, _)| m));
    let limit = limit_among(&score, &scored, runs.iter().copied());
    let mut of_run: BTreeMap<&str, Rc<Settings>> = BTreeMap::new();
    let mut seeds = Vec::new();
    for (member, value) in &scored {
        let failed = !value.is_finite();
        let Some(score) = Some(*value).filter(|value| value.is_finite()).or(limit) else {
            notes.unscored.push(name_of(member));
            continue;
        };
        if failed {
            notes.failed.push(name_of(member));
        } else if member.seed.state == SeedState::Unfinished {
            notes.unfinished.push(name_of(member));
        }
        let run = member.run;
        let settings = of_run.entry(&run.name).or_insert_with(|| Rc::new(settings(&run.config)));
        let (name, seed) = (run.name.clone(), member.seed.seed);
        seeds.push(Seed { run: name, seed, score, failed, settings: Rc::clone(settings) });
    }
    if seeds.is_empty() {
        let message = format!("no seed has a score ({})", score.what);
        return Err(Failure::usage("nothing_to_draw", message).hint("rlx ls"));
    }
    let stopped = runs.iter().filter(|run| run.metadata.extra.contains_key(STOP_AT));
    notes.stopped_early = stopped.map(|run| run.name.clone()).collect::<BTreeSet<_>>().len();
    let mut sentences = notes.sentences(limit);
    if !started.is_empty() {
        let names: Vec<&str> = started.iter().map(|run| run.name.as_str()).collect();
        let (listed, verb) = (super::notes::listed(&names), if names.len() == 1 { "is" } else { "are" });
        sentences.push(format!("{listed} started from a checkpoint and {verb} left out."));
    }
    let mut seen = BTreeSet::new();
    for run in runs.iter().filter(|run| seen.insert(run.run.path().to_owned())) {
        sentences.extend(run.notes.iter().map(|note| format!("{}: {note}.", run.name)));
    }
    Ok(Sample { env, score, seeds, settings: of_run.into_values().collect(), notes: sentences })
}

/// The environment of all runs. Scores of different environments don't share a scale.
fn one_environment(runs: &[&RunData], request: &LandscapeRequest) -> Outcome<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        *counts.entry(&run.config.env.id).or_default() += 1;
    }
    // The one with the most runs; of equal ones the first by name.
    let most = counts.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
    let Some((env, _)) = most else {
        return Err(Failure::usage("nothing_to_draw", "there are no runs").hint("rlx ls"));
    };
    if counts.len() == 1 {
        return Ok((*env).to_owned());
    }
    let names: Vec<&str> = counts.keys().copied().collect();
    let message = format!(
        "the runs use {} environments, whose scores can't share a chart: {}",
        names.len(),
        super::notes::listed(&names)
    );
    let hint = format!("rlx plot {} {}", shell_word(&narrowed(&request.runs, env)), flags(&request.view));
    Err(Failure::usage("several_environments", message).hint(hint))
}

/// The runs of one environment among those that `words` name, as far as one word can say that.
fn narrowed(words: &[String], env: &str) -> String {
    let own = match words {
        [word] => word.strip_prefix("where:").map(str::to_owned).or_else(|| {
            let tag = word.strip_prefix("tag:").filter(|tag| !tag.contains([':', '+']));
            tag.map(|tag| format!("tags={tag}"))
        }),
        _ => None,
    };
    match own {
        Some(conditions) => format!("where:{conditions} and env={env}"),
        None => format!("where:env={env}"),
    }
}

/// The arguments that ask for a view.
fn flags(view: &View) -> String {
    match view {
        View::Against(keys) if keys.is_empty() => "--against".to_owned(),
        View::Against(keys) => {
            keys.iter().map(|key| format!("--against {key}")).collect::<Vec<_>>().join(" ")
        }
        View::Heatmap([x, y]) => format!("--heatmap {x},{y}"),
        View::Parallel(keys) if keys.is_empty() => "--parallel".to_owned(),
        View::Parallel(keys) => format!("--parallel {}", keys.join(",")),
    }
}

fn name_of(member: &Member<'_>) -> String {
    let run = &member.run.name;
    if member.run.metadata.seeds.len() > 1 { format!("{run}:{}", member.seed.seed) } else { run.clone() }
}

fn names_of<'m>(members: impl Iterator<Item = &'m Member<'m>>) -> Vec<String> {
    members.map(name_of).collect()
}

/// Seeds that are not simply what they scored.
#[derive(Default)]
struct Notes {
    failed: Vec<String>,
    unfinished: Vec<String>,
    unscored: Vec<String>,
    /// Trainings that are in two runs.
    repeated: usize,
    /// Runs that ended at a good evaluation.
    stopped_early: usize,
}

impl Notes {
    fn sentences(&self, limit: Option<f64>) -> Vec<String> {
        let seeds = |names: &[String]| match names.len() {
            1 => "1 seed".to_owned(),
            many => format!("{many} seeds"),
        };
        let list =
            |names: &[String]| super::notes::listed(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut sentences = Vec::new();
        if let (false, Some(limit)) = (self.failed.is_empty(), limit) {
            sentences.push(format!(
                "{} failed and {} as {} (×), no better than any other seed, a random policy or what failed seeds had \
                 reached: {}.",
                seeds(&self.failed),
                if self.failed.len() == 1 { "counts" } else { "count" },
                rlxp_types::text::number(limit),
                list(&self.failed)
            ));
        }
        if !self.unfinished.is_empty() {
            let (are, their) = if self.unfinished.len() == 1 { ("is", "its") } else { ("are", "their") };
            sentences.push(format!(
                "{} {are} unfinished and {} with {their} last evaluation so far: {}.",
                seeds(&self.unfinished),
                if self.unfinished.len() == 1 { "counts" } else { "count" },
                list(&self.unfinished)
            ));
        }
        if !self.unscored.is_empty() {
            let (have, are) = if self.unscored.len() == 1 { ("has", "is") } else { ("have", "are") };
            let (who, which) = (seeds(&self.unscored), list(&self.unscored));
            sentences.push(format!("{who} {have} no evaluation and {are} left out: {which}."));
        }
        match self.repeated {
            0 => {}
            1 => sentences.push("1 training is in two runs and counts once.".to_owned()),
            many => sentences.push(format!("{many} trainings are in more than one run and count once.")),
        }
        match self.stopped_early {
            0 => {}
            1 => sentences.push(
                "1 run stopped early at a good evaluation (--stop-at), which biases its score upwards.".to_owned(),
            ),
            many => sentences.push(format!(
                "{many} runs stopped early at a good evaluation (--stop-at), which biases their scores upwards."
            )),
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_keeps_what_was_selected() {
        let of = |words: &[&str]| {
            narrowed(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), "CartPole-v1")
        };
        assert_eq!(of(&["tag:sweep"]), "where:tags=sweep and env=CartPole-v1");
        assert_eq!(of(&["where:algo.gamma>0.9"]), "where:algo.gamma>0.9 and env=CartPole-v1");
        assert_eq!(of(&["a", "b"]), "where:env=CartPole-v1");
        assert_eq!(of(&["tag:a:3"]), "where:env=CartPole-v1");
        assert_eq!(flags(&View::Against(Vec::new())), "--against");
        assert_eq!(flags(&View::Parallel(vec!["a".into(), "b".into()])), "--parallel a,b");
    }

    #[test]
    fn what_is_not_simply_a_score_is_said() {
        let names = |count: usize| (0..count).map(|i| format!("run_{i}")).collect::<Vec<_>>();
        let notes = Notes {
            failed: names(1),
            unfinished: names(2),
            unscored: names(9),
            repeated: 3,
            stopped_early: 1,
        };
        let said = notes.sentences(Some(9.25));
        assert!(said[0].starts_with("1 seed failed and counts as 9.25 (×)"), "{said:?}");
        assert!(said[1].starts_with("2 seeds are unfinished and count with their last"), "{said:?}");
        assert!(said[2].contains("run_0, run_1, run_2, run_3, run_4 and 4 more"), "{said:?}");
        assert_eq!(said.len(), 5);
        assert_eq!(Notes::default().sentences(None), Vec::<String>::new());
    }
}
