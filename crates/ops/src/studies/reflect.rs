//! `rlx study reflect`: what the components of the reward did over training, from the series that the approved
//! `metric_spec.yaml` declares and the files that the runs had when they ended.

mod roles;

use std::collections::BTreeMap;

use rlxp_analyze::reflection::{RunSeries, reflect as analyze};
use rlxp_govern::documents::{
    Metric, MetricSpec, ReflectedMetrics, ReflectedRun, Reflection, RewardReflection, Role, Slug, StudyName,
};
use rlxp_govern::ledger::event::{Analysis, Analyzed};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_types::{Digest, Exit};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::analysis_file::{AnalysisFile, check_open, write};
use crate::studies::extract::{Progress, approved_spec, listed_files, series};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::launch::reconcile;
use roles::Roles;

/// A reflection and where it was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReflectReport {
    pub name: StudyName,
    #[serde(flatten)]
    pub written: AnalysisFile,
    #[serde(rename = "reward_reflection")]
    pub content: RewardReflection,
}

/// Reflects on the runs of a candidate or on one run; without a name, on those of the incumbent or else the baseline.
pub fn reflect(
    context: &Context,
    study: Option<&str>,
    word: Option<&str>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<ReflectReport> {
    let mut opened = OpenStudy::open(context, study)?;
    check_open(&opened)?;
    reconcile(context, &mut opened)?;
    let Computed { word, content, analyzed } = compute(context, &opened, word, progress)?;
    let name = opened.study.name.clone();
    let written = write(context, &mut opened, &format!("{FILE_START}{word}{FILE_END}"), &content, analyzed)?;
    Ok(ReflectReport { name, written, content })
}

/// The name of the file about a candidate or run, around its name.
const FILE_START: &str = "reward_reflection-";
const FILE_END: &str = ".json";

/// The candidate or run that a recorded file is about; `None` if no reflection has such a name.
pub(crate) fn word_of_file(file: &str) -> Option<&str> {
    file.strip_prefix("audits/")?.strip_prefix(FILE_START)?.strip_suffix(FILE_END)
}

/// A reflection, and the record of it without the file.
pub(crate) struct Computed {
    /// What it is about, as it was named.
    word: String,
    pub(crate) content: RewardReflection,
    pub(crate) analyzed: Analyzed,
}

/// Computes a reflection from the files of runs; nothing is written.
pub(crate) fn compute(
    context: &Context,
    opened: &OpenStudy,
    word: Option<&str>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<Computed> {
    let (spec, declared) = approved_spec(opened)?;
    if spec.components.is_empty() {
        let message = "metric_spec.yaml declares no components, so there is nothing to reflect on";
        return Err(Failure::usage("no_components", message).hint(
            "list the terms of the reward under `components` in metric_spec.yaml, then: rlx approve metrics",
        ));
    }
    let subject = Subject::find(opened, word)?;
    let reference = opened.study.state().reference().filter(|id| **id != subject.candidate).cloned();
    let others = reference.as_ref().map(|id| whole_runs(opened, id)).unwrap_or_default();
    let roles = Roles::find(spec);
    let place = LaunchPaths::for_study(opened)?;
    let (mut runs, mut read) = (BTreeMap::new(), [Vec::new(), Vec::new()]);
    for (keys, is_incumbent) in [(&subject.keys, false), (&others, true)] {
        for key in keys {
            let (run, found) =
                read_run(context, opened, &place, key, (spec, &roles), is_incumbent, progress)?;
            runs.insert(key.clone(), run);
            read[usize::from(is_incumbent)].push(found);
        }
    }
    let names: Vec<String> = spec.components.iter().map(|metric| metric.name.to_string()).collect();
    let [own, others] = read;
    let reflection = as_document(&analyze(&names, &own, &others))?;
    let name = &opened.study.name;
    let content = RewardReflection {
        schema: Default::default(),
        study_id: opened.study.state().opened.as_ref().map(|opened| opened.id.clone()).unwrap_or_default(),
        task: name.task.clone(),
        study: name.study.clone(),
        candidate: subject.candidate.clone(),
        incumbent: reference,
        metrics: roles.names(),
        declared,
        runs,
        reflection,
    };
    let analyzed = Analyzed {
        what: Analysis::RewardReflection,
        candidate: subject.candidate,
        reference: opened.study.state().reference().cloned(),
        parameter: None,
        span: None,
        runs: content.runs.iter().map(|(key, run)| (key.clone(), run.manifest)).collect(),
        file: String::new(),
        digest: Digest::ZERO,
    };
    Ok(Computed { word: subject.word, content, analyzed })
}

/// What is reflected on.
struct Subject {
    /// As it was named.
    word: String,
    candidate: Slug,
    /// Its runs.
    keys: Vec<String>,
}

impl Subject {
    fn find(opened: &OpenStudy, word: Option<&str>) -> Outcome<Self> {
        let state = opened.study.state();
        let word = match (word, state.reference()) {
            (Some(word), _) => word.to_owned(),
            (None, Some(reference)) => reference.to_string(),
            (None, None) => {
                let message = "the study has no baseline yet, so there are no runs to reflect on";
                return Err(Failure::usage("no_baseline", message).hint("rlx study next"));
            }
        };
        if let Some(run) = state.runs.get(&word) {
            let candidate = run.intent.candidate.clone();
            return match is_whole(run) {
                true => Ok(Self { keys: vec![word.clone()], word, candidate }),
                false => {
                    let message = format!("run {word} is {} and has no training to reflect on", run.state);
                    Err(Failure::refused("run_not_whole", message).hint("rlx launch status"))
                }
            };
        }
        let names = state.candidates.keys().map(Slug::as_str);
        let Some(candidate) = state.candidates.keys().find(|id| id.as_str() == word) else {
            let message = format!("no run or candidate {word} has run in {}", opened.study.name);
            let failure = Failure::with_kind(FailureKind::RunNotFound, message);
            let near = rlxp_spec::nearest(&word, names.chain(state.runs.keys().map(String::as_str)));
            return Err(match near {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure.hint("rlx candidate list"),
            });
        };
        let keys = whole_runs(opened, candidate);
        if keys.is_empty() {
            let message = format!("no run of {candidate} beyond its smoke phase has succeeded");
            return Err(Failure::refused("no_runs", message).hint(format!("rlx candidate show {candidate}")));
        }
        Ok(Self { word, candidate: candidate.clone(), keys })
    }
}

/// Runs of a candidate's present plan whose training can be reflected on, in order.
fn whole_runs(opened: &OpenStudy, candidate: &Slug) -> Vec<String> {
    let runs = opened.study.state().runs_of_plan(candidate);
    runs.into_iter().filter(|run| is_whole(run)).map(|run| run.intent.key.clone()).collect()
}

fn is_whole(run: &RunRecord) -> bool {
    run.is_measured()
        && run.intent.probe.is_none()
        && run.state == RunState::Ended(RunEnd::Ok)
        && run.not_evidence().is_none()
        && run.ended.as_ref().is_some_and(|ended| ended.manifest.is_some())
}

/// All series of one run.
fn read_run(
    context: &Context,
    opened: &OpenStudy,
    place: &LaunchPaths,
    key: &str,
    (spec, roles): (&MetricSpec, &Roles<'_>),
    incumbent: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<(ReflectedRun, RunSeries)> {
    let run = &opened.study.state().runs[key];
    let manifest = run.ended.as_ref().and_then(|ended| ended.manifest).expect("only whole runs are read");
    let place = place.run(key);
    let fs = context.fs.rooted(place.path());
    let files = listed_files(fs.as_ref(), &place, key, manifest)?;
    let components = spec.components.iter().map(|metric| (Role::Component, metric));
    let wanted: Vec<(Role, &Metric)> = components.chain(roles.all()).collect();
    let (found, digests) = series(fs.as_ref(), place.path(), &files, &wanted, progress)?;
    let mut found = found.into_iter();
    let mut series = RunSeries { run: key.to_owned(), ..RunSeries::default() };
    for metric in &spec.components {
        let points = found.next().expect("one for each that was asked for").map_err(|no| no.detail);
        series.components.insert(metric.name.to_string(), points);
    }
    let mut next = |role: Option<(Role, &Metric)>| role.and_then(|_| found.next()?.ok());
    series.reward = next(roles.reward);
    series.task = next(roles.task);
    series.length = next(roles.length);
    let reflected = ReflectedRun { seed: run.intent.seed, incumbent, manifest, files: digests };
    Ok((reflected, series))
}

/// The result as it is written. Both types have the same fields, which a test compares.
fn as_document(reflection: &rlxp_analyze::reflection::Reflection) -> Outcome<Reflection> {
    let value = serde_json::to_value(reflection).and_then(serde_json::from_value);
    value.map_err(|error| {
        Failure::new(Exit::Bug, "reflection_format", format!("the reflection can't be written: {error}"))
    })
}

impl Roles<'_> {
    fn names(&self) -> ReflectedMetrics {
        let name = |role: Option<(Role, &Metric)>| role.map(|(_, metric)| metric.name.clone());
        ReflectedMetrics { reward: name(self.reward), task: name(self.task), length: name(self.length) }
    }
}

#[cfg(test)]
mod tests {
    use rlxp_types::Point;

    use super::*;

    #[test]
    fn what_is_analyzed_can_be_written() {
        let points = |scale: f64| {
            (0..20).map(move |step| Point { step: Some(f64::from(step)), value: scale * f64::from(step) })
        };
        let run = |number: u32| RunSeries {
            run: format!("run-{number}"),
            components: BTreeMap::from([
                ("a".to_owned(), Ok(points(9.0).collect())),
                ("b".to_owned(), Ok(points(-0.1).collect())),
                ("c".to_owned(), Err("no /c".to_owned())),
            ]),
            reward: None,
            task: Some(points(-1.0).collect()),
            length: Some(points(2.0).collect()),
        };
        let names = ["a", "b", "c"].map(str::to_owned);
        let runs: Vec<RunSeries> = (0..5).map(run).collect();
        for (runs, others) in [(&runs[..], &runs[..2]), (&runs[..1], &[][..]), (&[][..], &[][..])] {
            let analyzed = analyze(&names, runs, others);
            let document = as_document(&analyzed).unwrap();
            assert_eq!(serde_json::to_value(&document).unwrap(), serde_json::to_value(&analyzed).unwrap());
        }
    }
}
