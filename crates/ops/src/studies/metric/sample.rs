//! Reads the metrics of a study from a folder as `rlx study extract` reads them from the files of a run.

use std::path::Path;

use rlxp_fs::{Fs, Kind};
use rlxp_govern::documents::{Extractor, Metric, Role};
use rlxp_govern::scope::bad_glob;
use rlxp_store::foreign::log::bad_expression;
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::studies::extract::{Files, Listed, Measured, measure};

/// The most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// The result of reading a metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Sample {
    Read {
        file: String,
        /// How many points count.
        points: usize,
        /// Their value after the metric's aggregation and window.
        value: f64,
    },
    /// It can't be read.
    Missing { reason: String },
    /// It comes from the evaluation, and the run wasn't evaluated: a smoke test of its own left nothing to evaluate.
    NotEvaluated,
}

/// What is wrong with a declaration, without looking at files.
pub(super) fn bad_source(source: &Extractor) -> Option<String> {
    match source {
        Extractor::Stdout { before } if before.is_empty() => {
            return Some("`before` is empty, so every line would match".to_owned());
        }
        Extractor::StdoutRegex { pattern } => {
            return bad_expression(pattern)
                .map(|why| format!("{pattern:?} can't be used as a pattern: {why}"));
        }
        _ => {}
    }
    if let Some(file) = source.file()
        && let Some(why) = bad_glob(file)
    {
        return Some(format!("{file:?} is not a file inside a run's folder: {why}"));
    }
    let (Extractor::Json { pointer, .. } | Extractor::Jsonl { pointer, .. }) = source else { return None };
    (!pointer.starts_with('/')).then(|| {
        format!("{pointer:?} is not a JSON pointer: it must start with a slash, such as /eval/mean_return")
    })
}

/// Reads metrics from the files below `folder`.
pub(super) fn read(fs: &dyn Fs, folder: &Path, metrics: &[(Role, &Metric)]) -> Outcome<Vec<Sample>> {
    let mut files = Files::new();
    list(fs, folder, "", &mut files, &mut 0)?;
    let (measured, _) = measure(fs, folder, &files, metrics, &mut |_| {})?;
    let sample = |Measured { file, value }| match value {
        Ok(value) => {
            Sample::Read { file: file.unwrap_or_default(), points: value.points, value: value.value }
        }
        Err(why) => Sample::Missing { reason: why.detail },
    };
    Ok(measured.into_iter().map(sample).collect())
}

fn list(fs: &dyn Fs, folder: &Path, prefix: &str, files: &mut Files, entries: &mut usize) -> Outcome<()> {
    for entry in fs.list(folder)? {
        *entries += 1;
        if *entries > MOST_ENTRIES {
            let message = format!("{} has more than {MOST_ENTRIES} files", folder.display());
            return Err(Failure::usage("too_many_files", message).hint("name the folder of one run"));
        }
        let (name, path) = (format!("{prefix}{}", entry.name), folder.join(&entry.name));
        match entry.kind {
            Kind::Folder => list(fs, &path, &format!("{name}/"), files, entries)?,
            Kind::File => {
                files.insert(name, Listed { length: fs.metadata(&path)?.length, digest: None });
            }
            Kind::Link | Kind::Other => {}
        }
    }
    Ok(())
}
