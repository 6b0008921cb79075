//! `metric check`: whether the metrics can be measured: checks the declarations alone, and against the files of an
//! existing run.

mod sample;

use std::path::PathBuf;

use rlxp_fs::FsExt;
use rlxp_govern::documents::{Direction, Metric, MetricSpec, Phase, Reading, Role, StudyName};
use rlxp_govern::gate::metric_disagreements;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;

pub use sample::Sample;

/// In the folder of a run that was evaluated.
const EVALUATED: &str = "eval.json";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricLine {
    pub name: String,
    pub role: &'static str,
    /// Which direction is better.
    pub direction: Direction,
    /// What the run's files say, when a run was named.
    pub sample: Option<Sample>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricReport {
    pub study: StudyName,
    /// The metrics, the deciding one first.
    pub metrics: Vec<MetricLine>,
    /// What is wrong.
    pub problems: Vec<String>,
    /// How many metrics were read from the files of a run. Without any, it isn't known whether they can be measured.
    pub read: usize,
    /// Whether nothing is wrong, and everything that was to be read was.
    pub fine: bool,
}

/// Checks the metric spec, and with `run` reads every metric from that folder.
pub fn check(context: &Context, study: Option<&str>, run: Option<&str>) -> Outcome<MetricReport> {
    let opened = OpenStudy::open(context, study)?;
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
    let folder = run.map(|run| folder_of(context, &opened, run)).transpose()?;
    let mut problems = of_spec(spec);
    if let Some(contract) = opened.study.contract() {
        problems.extend(metric_disagreements(contract, spec));
    }
    let declared: Vec<(Role, &Metric)> = spec.metrics_by_role().collect();
    // A smoke run without an evaluation says nothing about what evaluation writes.
    let is_unevaluated = match (&folder, run.and_then(|run| opened.study.state().runs.get(run))) {
        (Some(folder), Some(run)) if run.intent.phase == Phase::Smoke => {
            !context.fs.is_file(&folder.join(EVALUATED))?
        }
        _ => false,
    };
    let mut samples = match &folder {
        Some(folder) => sample::read(context.fs.as_ref(), folder, &declared)?.into_iter().map(Some).collect(),
        None => vec![None; declared.len()],
    };
    let line = |((role, metric), sample): (&(Role, &Metric), Option<Sample>)| {
        let of_evaluation = metric.source.file().is_none_or(|file| file.split('/').next() == Some("eval"));
        let sample = match sample {
            Some(Sample::Missing { .. }) if is_unevaluated && of_evaluation => Some(Sample::NotEvaluated),
            sample => sample,
        };
        let direction = metric.direction;
        MetricLine { name: metric.name.to_string(), role: role.as_str(), direction, sample }
    };
    let metrics: Vec<MetricLine> = declared.iter().zip(samples.drain(..)).map(line).collect();
    let unread = metrics.iter().filter_map(|line| match &line.sample {
        Some(Sample::Missing { reason }) => Some(format!("{}: {reason}", line.name)),
        _ => None,
    });
    problems.extend(unread);
    let read = metrics.iter().filter(|line| matches!(line.sample, Some(Sample::Read { .. }))).count();
    let skipped = metrics.iter().filter(|line| line.sample == Some(Sample::NotEvaluated)).count();
    // With a run, a metric that isn't read may be missing as well.
    let fine = problems.is_empty() && (folder.is_none() || read + skipped == metrics.len());
    Ok(MetricReport { study: opened.study.name.clone(), fine, metrics, problems, read })
}

/// The folder of a run of this study, named by its key, or any other.
fn folder_of(context: &Context, opened: &OpenStudy, run: &str) -> Outcome<PathBuf> {
    let runs = &opened.study.state().runs;
    if runs.contains_key(run) {
        return Ok(LaunchPaths::for_study(opened)?.run(run).folder);
    }
    let folder = context.folder.join(run);
    if context.fs.is_folder(&folder)? {
        return Ok(folder);
    }
    let message = format!("{run} is neither a run of {} nor a folder", opened.study.name);
    let failure = Failure::usage("no_such_folder", message);
    Err(match rlxp_spec::nearest(run, runs.keys().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint("rlx launch status"),
    })
}

fn of_spec(spec: &MetricSpec) -> Vec<String> {
    let mut problems = Vec::new();
    if spec.smallest_effect <= 0.0 {
        problems.push("smallest_effect must be above 0: which difference would matter?".into());
    }
    for problem in spec.protocol.seeds.problems() {
        problems.push(format!("protocol.seeds: {problem}"));
    }
    problems.extend(spec.primary_outside_evaluation().map(|why| format!("{}: {why}", spec.primary.name)));
    for (_, metric) in spec.metrics() {
        if let Some(range) = metric.range
            && range.from.zip(range.to).is_some_and(|(from, to)| from > to)
        {
            problems
                .push(format!("{}: no value is in its range, whose `from` is above its `to`", metric.name));
        }
        if let Some(why) = sample::bad_source(&metric.source) {
            problems.push(format!("{}: {why}", metric.name));
        }
    }
    problems
}
