//! `rlx study extract`: reads the metrics of ended runs from their files and appends them to the ledger as evidence.
//!
//! Metrics are read as the approved `metric_spec.yaml` declares them, from files that are byte for byte those that the
//! run's list has. A value that can't be read is recorded with the reason, never as a number, and never again: evidence
//! of a run is recorded once. A file that changed or vanished since the run ended is an error and records nothing, so
//! that removing a file can't turn a result into a failure.

mod choose;
mod measure;

use std::collections::BTreeMap;

use rlxp_fs::Fs;
use rlxp_govern::documents::{Metric, MetricSpec, Phase, Reading, Role, Slug, StudyName};
use rlxp_govern::ledger::attempts;
use rlxp_govern::ledger::event::{Evidence, NoValue, Unmeasured};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_govern::section::Section;
use rlxp_types::Digest;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::{LaunchPaths, RunPaths};
use crate::studies::launch::{ManifestFile, reconcile, recorded_manifest};

pub(crate) use choose::choose;
pub use measure::Progress;
pub(crate) use measure::{Files, Format, Listed, Measured, measure, read_format, series};

/// How often a ledger that others add to is read again.
const TRIES: usize = 50;

/// What was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExtractReport {
    pub study: StudyName,
    pub runs: Vec<ExtractedRun>,
}

/// The metrics of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExtractedRun {
    pub key: String,
    pub candidate: Slug,
    pub phase: Phase,
    pub seed: u64,
    pub end: Option<RunEnd>,
    /// Whether an external runtime ran it; its evidence is reported, and counts only where a person approved the run.
    pub external: bool,
    /// Whether it was recorded now; otherwise this is what was recorded earlier.
    pub recorded: bool,
    pub metrics: Vec<MetricValue>,
}

/// One metric of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricValue {
    pub name: Slug,
    pub role: Role,
    pub unit: Option<String>,
    /// Its value; `None` for a reason.
    pub value: Option<f64>,
    /// How many points the value was computed from, where it was computed now.
    pub points: Option<usize>,
    /// The file it was read from, where it was read now.
    pub file: Option<String>,
    pub reason: Option<NoValue>,
    pub detail: Option<String>,
}

/// Reads the metrics of a run, or of every run that ended and whose metrics have not been read.
pub fn extract(
    context: &Context,
    study: Option<&str>,
    run: Option<&str>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<ExtractReport> {
    let mut opened = OpenStudy::open(context, study)?;
    if let Some(reason) = &opened.study.state().closed {
        return Err(Failure::refused("study_closed", format!("the study is closed: {reason}")));
    }
    reconcile(context, &mut opened)?;
    let keys: Vec<String> = match run {
        Some(key) => vec![readable(&opened, key)?.intent.key.clone()],
        None => attempts::unread(opened.study.state()).iter().map(|run| run.intent.key.clone()).collect(),
    };
    let (mut runs, mut failed) = (Vec::new(), None);
    for key in keys {
        match extract_run(context, &mut opened, &key, progress) {
            Ok(run) => runs.push(run),
            // One damaged run doesn't keep the others from being read.
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    if runs.iter().any(|run| run.recorded) {
        // A short phase waits for its metrics before its candidate is complete.
        reconcile(context, &mut opened)?;
    }
    match failed {
        Some(mut failure) => {
            let others = runs.iter().filter(|run| run.recorded).count();
            if others > 0 {
                let runs = if others == 1 { "1 other run was" } else { &format!("{others} other runs were") };
                failure.message.push_str(&format!("; the metrics of {runs} read and recorded"));
            }
            Err(failure)
        }
        None => Ok(ExtractReport { study: opened.study.name.clone(), runs }),
    }
}

/// A run whose metrics can be evidence.
fn readable<'o>(opened: &'o OpenStudy, key: &str) -> Outcome<&'o RunRecord> {
    let runs = &opened.study.state().runs;
    let Some(run) = runs.get(key) else {
        let message = format!("no run {key} in {}", opened.study.name);
        let failure = Failure::with_kind(FailureKind::RunNotFound, message);
        return Err(match rlxp_spec::nearest(key, runs.keys().map(String::as_str)) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint("rlx launch status"),
        });
    };
    let refused = |code, message: String| Err(Failure::refused(code, message).hint("rlx study next"));
    if run.intent.probe.is_some() {
        let message = format!("{key} is a run of a probe, which has no metrics of its own");
        let hint = format!("rlx study probe summarize {}", run.intent.candidate);
        return Err(Failure::refused("probe_run", message).hint(hint));
    }
    if run.intent.phase == Phase::Smoke {
        return refused(
            "smoke_run",
            format!("{key} is a smoke run: it shows that training works, and is never evidence"),
        );
    }
    let RunState::Ended(end) = run.state else {
        return refused(
            "run_under_way",
            format!("run {key} is {}; its metrics are read when it has ended", run.state),
        );
    };
    if let Some(code) = run.not_evidence() {
        return refused("not_evidence", format!("run {key} never counts as evidence: {code}"));
    }
    if end.may_run_again() {
        return refused(
            "run_repeated",
            format!("run {key} is {}, so its seed runs again and it counts for nothing", run.state),
        );
    }
    Ok(run)
}

fn extract_run(
    context: &Context,
    opened: &mut OpenStudy,
    key: &str,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<ExtractedRun> {
    if let Some(why) =
        rlxp_govern::scope::bad_path(key).or_else(|| key.contains('/').then_some("it has a slash"))
    {
        return Err(Failure::refused("bad_key", format!("{key:?} is not a run's key: {why}")));
    }
    // Read once, however often the ledger has to be read again.
    let mut read: Option<(Evidence, BTreeMap<Slug, Measured>)> = None;
    let mut tries = 0;
    loop {
        let run = readable(opened, key)?.clone();
        let (spec, declared) = approved_spec(opened)?;
        let spec = spec.clone();
        let metrics = by_name(&spec);
        if let Some(evidence) = &run.evidence {
            return Ok(report(&run, &metrics, evidence, &BTreeMap::new(), false));
        }
        if read.as_ref().is_none_or(|(evidence, _)| evidence.declared != Some(declared)) {
            let place = LaunchPaths::for_study(opened)?;
            read = Some(evidence(context, &place, &run, &metrics, Some(declared), progress)?);
        }
        let (evidence, measured) = read.as_ref().expect("it was read just now");
        match opened.append(Actor::Rlx, Event::Evidence(evidence.clone())) {
            Ok(_) => return Ok(report(&run, &metrics, evidence, measured, true)),
            // Another process appends to the ledger too, perhaps the same evidence: read it again.
            Err(failure) if tries < TRIES && failure.is_contention() => {
                tries += 1;
                *opened = OpenStudy::at(context, opened.place.clone())?;
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// The metrics of a run as they are in its files now, by these declarations.
pub(crate) fn read_again(
    context: &Context,
    place: &LaunchPaths,
    run: &RunRecord,
    spec: &MetricSpec,
    declared: Option<Digest>,
) -> Outcome<Evidence> {
    evidence(context, place, run, &by_name(spec), declared, &mut |_| {}).map(|(evidence, _)| evidence)
}

/// The metric spec, if it is approved as it is, and the digest of what was approved.
pub(crate) fn approved_spec(opened: &OpenStudy) -> Outcome<(&MetricSpec, Digest)> {
    let spec = match &opened.study.files.metric_spec {
        Reading::Read(written) => &written.typed,
        Reading::Missing => {
            let message = "metric_spec.yaml is missing";
            return Err(Failure::usage("file_missing", message).hint("rlx contract new"));
        }
        Reading::Broken(problems) => {
            let message = format!("metric_spec.yaml is invalid: {}", problems.join("; "));
            return Err(Failure::usage("file_broken", message).hint("rlx contract check"));
        }
    };
    let standings = opened.study.standings();
    let standing = standings.get(&Section::Metrics);
    let digest = opened.study.digests().get(&Section::Metrics).copied();
    match (standing, digest) {
        (Some(standing), Some(digest)) if standing.is_given() => Ok((spec, digest)),
        (standing, _) => {
            let status = standing.map_or_else(|| "not approved".to_owned(), ToString::to_string);
            let message =
                format!("metrics are read only as they were approved, and the section metrics is {status}");
            Err(Failure::refused("metrics_not_approved", message).hint("rlx approve metrics"))
        }
    }
}

/// Every metric once. A name with several roles has the strictest one.
fn by_name(spec: &MetricSpec) -> Vec<(Role, &Metric)> {
    let mut all: Vec<(Role, &Metric)> = Vec::new();
    for (role, metric) in spec.metrics_by_role() {
        match all.iter_mut().find(|(_, known)| *known == metric) {
            Some((known, _)) if role.decides() && !known.decides() => *known = role,
            Some(_) => {}
            None => all.push((role, metric)),
        }
    }
    all
}

/// What is recorded about a run, and where each value came from.
fn evidence(
    context: &Context,
    place: &LaunchPaths,
    run: &RunRecord,
    metrics: &[(Role, &Metric)],
    declared: Option<Digest>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<(Evidence, BTreeMap<Slug, Measured>)> {
    let place = place.run(&run.intent.key);
    let fs = context.fs.rooted(place.path());
    let listed = run.ended.as_ref().and_then(|ended| ended.manifest);
    let (measured, files) = match listed {
        Some(digest) => {
            let files = listed_files(fs.as_ref(), &place, &run.intent.key, digest)?;
            measure(fs.as_ref(), place.path(), &files, metrics, progress)?
        }
        None => {
            let detail = "the run ended without a list of its files";
            let no = || Unmeasured { kind: NoValue::Missing, detail: detail.to_owned() };
            (metrics.iter().map(|_| Measured { file: None, value: Err(no()) }).collect(), BTreeMap::new())
        }
    };
    let mut evidence = Evidence {
        key: run.intent.key.clone(),
        values: BTreeMap::new(),
        files,
        reasons: BTreeMap::new(),
        declared,
    };
    let mut by_metric: BTreeMap<Slug, Measured> = BTreeMap::new();
    for ((_, metric), mut measured) in metrics.iter().zip(measured) {
        if by_metric.contains_key(&metric.name) {
            let detail =
                format!("several metrics are named {}, and they are declared differently", metric.name);
            measured = Measured { file: None, value: Err(Unmeasured { kind: NoValue::Ambiguous, detail }) };
        }
        by_metric.insert(metric.name.clone(), measured);
    }
    for (name, measured) in &by_metric {
        let value = measured.value.as_ref().ok().map(|value| value.value);
        evidence.values.insert(name.clone(), value);
        if let Err(reason) = &measured.value {
            evidence.reasons.insert(name.clone(), reason.clone());
        }
    }
    Ok((evidence, by_metric))
}

/// The files that the run's list has, if the list is the one in the ledger.
pub(crate) fn listed_files(fs: &dyn Fs, place: &RunPaths, key: &str, expected: Digest) -> Outcome<Files> {
    let manifest = recorded_manifest(fs, place, key, expected)?;
    let listed = |(name, file): (String, ManifestFile)| {
        (name, Listed { length: file.length, digest: Some(file.digest) })
    };
    Ok(manifest.files.into_iter().map(listed).collect())
}

fn report(
    run: &RunRecord,
    metrics: &[(Role, &Metric)],
    evidence: &Evidence,
    measured: &BTreeMap<Slug, Measured>,
    recorded: bool,
) -> ExtractedRun {
    let metrics = metrics.iter().map(|(role, metric)| {
        let now = measured.get(&metric.name);
        let reason = evidence.reasons.get(&metric.name);
        MetricValue {
            name: metric.name.clone(),
            role: *role,
            unit: metric.unit.clone(),
            value: evidence.values.get(&metric.name).copied().flatten(),
            points: now.and_then(|now| now.value.as_ref().ok()).map(|value| value.points),
            file: now.and_then(|now| now.file.clone()),
            reason: reason.map(|reason| reason.kind),
            detail: reason.map(|reason| reason.detail.clone()),
        }
    });
    ExtractedRun {
        key: run.intent.key.clone(),
        candidate: run.intent.candidate.clone(),
        phase: run.intent.phase,
        seed: run.intent.seed,
        end: run.ended.as_ref().map(|ended| ended.end),
        external: run.intent.external.is_some(),
        recorded,
        metrics: metrics.collect(),
    }
}
