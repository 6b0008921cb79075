//! Looks at one run: its processes, its files, its logs, and what the rules say about them.

use rlxp_analyze::aggregate::median;
use rlxp_analyze::diagnose::Severity;
use rlxp_fs::{FsExt, clock};
use rlxp_govern::documents::Slug;
use rlxp_govern::ledger::attempts::Side;
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_launch::supervise::{PULSE_FILE, pulse};

use super::live::{self, LiveSeries};
use super::{Advice, LiveMetric, MonitoredRun, Progress, TimeLeft, rules};
use crate::below::seconds_about;
use crate::context::Context;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::{LaunchPaths, RunPaths};
use crate::studies::launch::watch::{STEPS, found};

/// From this share of its steps on, the rate of a run is used to predict its end.
const ENOUGH_TO_PREDICT: f64 = 0.1;

/// Looks at runs of one study.
pub(super) struct Looker<'a> {
    pub(super) context: &'a Context,
    pub(super) opened: &'a OpenStudy,
    pub(super) place: &'a LaunchPaths,
    /// Runs that ended, in order.
    pub(super) ended: &'a [&'a RunRecord],
}

impl Looker<'_> {
    /// Everything about a run. Its logs are read while it is active, and where it is the only one asked for.
    pub(super) fn look(&self, run: &RunRecord, alone: bool) -> MonitoredRun {
        let place = self.place.run(&run.intent.key);
        let mut problems = Vec::new();
        let found = found(self.context, &self.opened.study, self.place, run).unwrap_or_else(|failure| {
            problems.push(format!("its state can't be determined: {failure}"));
            Some("unknown")
        });
        let is_active = matches!(found, Some("running" | "starting"));
        let runbook = self.opened.study.files.runbook.typed();
        let silence_limit = runbook.and_then(|book| book.stop.as_ref()?.silence).map(|limit| limit.0);
        let mut one = MonitoredRun {
            key: run.intent.key.clone(),
            candidate: run.intent.candidate.clone(),
            phase: run.intent.phase.to_string(),
            seed: run.intent.seed,
            state: run.state.to_string(),
            found,
            reason: run.ended.as_ref().map(|ended| ended.reason.clone()),
            step: None,
            elapsed: run.ended.as_ref().map(|ended| ended.spent.wall_clock as f64),
            limit: run.intent.reserve.wall_clock,
            silent_for: None,
            silence_limit: silence_limit.filter(|_| is_active),
            progress: None,
            time_left: None,
            usage: None,
            metrics: Vec::new(),
            rules: None,
            advice: None,
            problems,
            folder: place.folder.clone(),
        };
        if is_active || (alone && run.intent.external.is_none()) {
            self.read(run, &place, &mut one, is_active);
        }
        if found == Some("unknown") {
            one.advice = Some(Advice {
                why: "it was started on another machine, or its folder is elsewhere; if its result is lost, it can be \
                      cancelled and then counts as failed"
                    .to_owned(),
                command: format!("rlx launch cancel {}", run.intent.key),
            });
        }
        one
    }

    /// Reads what the run has left so far.
    fn read(&self, run: &RunRecord, place: &RunPaths, one: &mut MonitoredRun, is_active: bool) {
        if !matches!(self.context.fs.is_folder(place.path()), Ok(true)) {
            one.problems.push(format!("its folder is gone: {}", place.path().display()));
            return;
        }
        let fs = self.context.fs.rooted(place.path());
        let fs = fs.as_ref();
        let now = clock::wall_seconds();
        let since = |nanoseconds: i64| (now - nanoseconds as f64 / 1e9).max(0.0);
        let has_log = |step: &&&str| matches!(fs.metadata_if_any(&place.log(step)), Ok(Some(_)));
        one.step = STEPS.iter().find(has_log).copied();
        one.usage = pulse(place.path());
        if is_active {
            // The supervisor writes it from time to time; the clock says what has passed since.
            let beat = fs.metadata_if_any(&place.path().join(PULSE_FILE)).ok().flatten();
            let passed = beat.map_or(0.0, |meta| since(meta.modified).min(60.0));
            one.elapsed = one.usage.map(|usage| usage.wall_clock + passed);
        }
        let files = live::files(fs, place);
        if files.truncated {
            one.problems.push("it has more files than are looked at".to_owned());
        }
        one.silent_for = files.changed.filter(|_| is_active).map(since);
        let Some(spec) = self.opened.study.files.metric_spec.typed() else {
            one.problems.push("metric_spec.yaml can't be read, so no metrics are known".to_owned());
            return;
        };
        let series = live::series(fs, place.path(), &files.files, spec);
        one.metrics = series.iter().map(last).collect();
        let step = last_step(&series);
        let total = if is_active { step.as_ref().and_then(|(name, _)| self.total(run, name)) } else { None };
        let known = if is_active { total } else { step.as_ref().map(|(_, step)| *step) };
        one.rules = Some(rules::ask(&series, run.intent.seed, known));
        one.progress = step.map(|(metric, step)| Progress { metric, step, total: known });
        if is_active {
            one.time_left = self.time_left(run, one);
            one.advice = self.advice(run, one);
        }
    }

    /// The last step that the metric had in the last run of this phase that succeeded.
    fn total(&self, run: &RunRecord, metric: &Slug) -> Option<f64> {
        let is_like = |other: &&&RunRecord| {
            other.intent.phase == run.intent.phase
                && other.state == RunState::Ended(RunEnd::Ok)
                && other.intent.external.is_none()
        };
        let like = self.ended.iter().rev().find(is_like)?;
        let place = self.place.run(&like.intent.key);
        let fs = self.context.fs.rooted(place.path());
        let spec = self.opened.study.files.metric_spec.typed()?;
        let files = live::files(fs.as_ref(), &place);
        let series = live::series(fs.as_ref(), place.path(), &files.files, spec);
        series.iter().find(|one| one.metric.name == *metric).and_then(step_of)
    }

    fn time_left(&self, run: &RunRecord, one: &MonitoredRun) -> Option<TimeLeft> {
        let elapsed = one.elapsed?;
        if let Some(Progress { step, total: Some(total), .. }) = &one.progress
            && *step >= ENOUGH_TO_PREDICT * total
            && one.step == Some("train")
        {
            let seconds = elapsed * ((total - step) / step).max(0.0);
            return Some(TimeLeft { seconds, basis: "steps" });
        }
        let is_like = |other: &&&RunRecord| {
            other.intent.phase == run.intent.phase && other.state == RunState::Ended(RunEnd::Ok)
        };
        let took = |other: &&RunRecord| other.ended.as_ref().map(|ended| ended.spent.wall_clock as f64);
        let earlier: Vec<f64> = self.ended.iter().filter(is_like).filter_map(took).collect();
        (!earlier.is_empty())
            .then(|| TimeLeft { seconds: (median(&earlier) - elapsed).max(0.0), basis: "earlier_runs" })
    }

    /// Whether cancelling is worth it. Nothing is cancelled here.
    fn advice(&self, run: &RunRecord, one: &MonitoredRun) -> Option<Advice> {
        let broken = one.rules.as_ref().and_then(|rules| {
            let found = rules.findings.first().filter(|found| found.severity == Severity::Error)?;
            Some(format!("{} ({}): {}", found.title, found.rule, found.sentence))
        });
        let late = || {
            let left = one.time_left.as_ref().filter(|left| left.basis == "steps")?.seconds;
            let rest = one.limit as f64 - one.elapsed?;
            (one.limit > 0 && left > rest.max(0.0)).then(|| {
                format!(
                    "at this rate training needs {} more, and the run reaches its limit in {}",
                    seconds_about(left as u64),
                    seconds_about(rest.max(0.0) as u64)
                )
            })
        };
        let why = broken.or_else(late)?;
        let then = match self.opened.study.state().side_of(&run.intent.candidate) {
            Side::Judged => "once cancelled, its seed counts with the failure score",
            Side::Reference => "once cancelled, its seed runs one more time",
        };
        Some(Advice {
            why: format!("{why}; {then}"),
            command: format!("rlx launch cancel {}", run.intent.key),
        })
    }
}

/// The last step of the metric that has come furthest.
fn last_step(series: &[LiveSeries<'_>]) -> Option<(Slug, f64)> {
    let of_training =
        series.iter().filter(|one| one.file.as_ref().is_some_and(|file| !file.starts_with("eval")));
    let steps = of_training.filter_map(|one| Some((one.metric.name.clone(), step_of(one)?)));
    steps.max_by(|one, other| one.1.total_cmp(&other.1))
}

fn step_of(series: &LiveSeries<'_>) -> Option<f64> {
    let points = series.points.as_ref().ok()?;
    points.last()?.step.filter(|step| step.is_finite() && *step > 0.0)
}

fn last(series: &LiveSeries<'_>) -> LiveMetric {
    let points = series.points.as_deref().unwrap_or_default();
    let point = points.last();
    LiveMetric {
        name: series.metric.name.clone(),
        file: series.file.clone(),
        points: points.len(),
        step: point.and_then(|point| point.step),
        last: point.map(|point| point.value).filter(|value| value.is_finite()),
        missing: series.points.as_ref().err().cloned(),
    }
}
