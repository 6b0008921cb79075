//! Reads one metric from the files of a run, according to its declaration.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::{Aggregation, Extractor, Metric};
use rlxp_govern::scope::{bad_glob, matches};
use serde::Serialize;
use serde_json::Value;

use crate::csv_file::CsvFile;

/// Longest log that is read.
const LONGEST_FILE: u64 = 256 << 20;

/// The result of reading a metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Sample {
    Read {
        file: String,
        /// How many points there are.
        points: usize,
        /// Their value after the metric's aggregation and window.
        value: f64,
    },
    /// It can't be read.
    Missing { reason: String },
    /// This kind of file is not read here.
    NotChecked { format: &'static str },
}

/// What is wrong with a declaration, without looking at files.
pub(super) fn bad_source(source: &Extractor) -> Option<String> {
    let (file, pointer) = match source {
        Extractor::Json { file, pointer } | Extractor::Jsonl { file, pointer, .. } => {
            (Some(file), Some(pointer))
        }
        Extractor::Csv { file, .. } | Extractor::Tensorboard { file, .. } | Extractor::Wandb { file, .. } => {
            (Some(file), None)
        }
        Extractor::Stdout { before } => {
            return before.is_empty().then(|| "`before` is empty, so every line would match".to_owned());
        }
    };
    if let Some(file) = file
        && let Some(why) = bad_glob(file)
    {
        return Some(format!("{file:?} is not a file inside a run's folder: {why}"));
    }
    let pointer = pointer.filter(|pointer| !pointer.starts_with('/'))?;
    Some(format!("{pointer:?} is not a JSON pointer: it must start with a slash, such as /eval/mean_return"))
}

/// Reads a metric from the files below `folder`.
pub(super) fn read(fs: &dyn Fs, folder: &Path, metric: &Metric) -> Sample {
    let read = match &metric.source {
        Extractor::Tensorboard { .. } => return Sample::NotChecked { format: "tensorboard" },
        Extractor::Wandb { .. } => return Sample::NotChecked { format: "wandb" },
        Extractor::Stdout { .. } => return Sample::NotChecked { format: "stdout" },
        Extractor::Json { file, pointer } => from_files(fs, folder, file, |text| {
            let value: Value =
                serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
            let found = value.pointer(pointer).ok_or_else(|| format!("no value at {pointer}"))?;
            numbers(found).ok_or_else(|| format!("{pointer} is {found}, not a number"))
        }),
        Extractor::Jsonl { file, pointer, .. } => from_files(fs, folder, file, |text| {
            let mut found = Vec::new();
            for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                let value: Value = serde_json::from_str(line)
                    .map_err(|error| format!("line {} is not JSON: {error}", index + 1))?;
                found.extend(value.pointer(pointer).and_then(Value::as_f64));
            }
            if found.is_empty() { Err(format!("no line has a number at {pointer}")) } else { Ok(found) }
        }),
        Extractor::Csv { file, column, .. } => from_files(fs, folder, file, |text| from_csv(text, column)),
    };
    match read {
        Err(reason) => Sample::Missing { reason },
        Ok((file, points)) => match aggregate(metric, &points) {
            Some(value) if value.is_finite() => Sample::Read { file, points: points.len(), value },
            _ => Sample::Missing { reason: format!("{file}: the result is NaN or infinite") },
        },
    }
}

/// The values of the only matching file, or why there are no values, with the file that was probably meant.
fn from_files(
    fs: &dyn Fs,
    folder: &Path,
    pattern: &str,
    values: impl Fn(&str) -> Result<Vec<f64>, String>,
) -> Result<(String, Vec<f64>), String> {
    only_file(fs, folder, pattern, &values).map_err(|why| {
        let below = format!("eval/{pattern}");
        match only_file(fs, folder, &below, &values) {
            Ok((name, _)) => format!("{why}; found in {name}: output of the eval step is in eval/"),
            Err(_) => why,
        }
    })
}

fn only_file(
    fs: &dyn Fs,
    folder: &Path,
    pattern: &str,
    values: &impl Fn(&str) -> Result<Vec<f64>, String>,
) -> Result<(String, Vec<f64>), String> {
    let mut fitting = Vec::new();
    walk(fs, folder, String::new(), pattern, &mut fitting).map_err(|error| error.to_string())?;
    match fitting.as_slice() {
        [(name, path)] => {
            let text = fs.read_text(path, LONGEST_FILE).map_err(|error| error.to_string())?;
            let found = values(&text).map_err(|why| format!("{name}: {why}"))?;
            Ok((name.clone(), found))
        }
        [] => Err(format!("no file matches {pattern}")),
        several => {
            let names: Vec<&str> = several.iter().map(|(name, _)| name.as_str()).collect();
            Err(format!("{pattern} matches several files: {}", names.join(", ")))
        }
    }
}

fn walk(
    fs: &dyn Fs,
    folder: &Path,
    prefix: String,
    pattern: &str,
    found: &mut Vec<(String, PathBuf)>,
) -> rlxp_fs::Result<()> {
    for entry in fs.list(folder)? {
        let name = format!("{prefix}{}", entry.name);
        let path = folder.join(&entry.name);
        match entry.kind {
            Kind::Folder
                if name.split('/').count() < pattern.split('/').count() || pattern.contains("**") =>
            {
                walk(fs, &path, format!("{name}/"), pattern, found)?;
            }
            Kind::File if matches(pattern, &name) => found.push((name, path)),
            _ => {}
        }
    }
    Ok(())
}

fn from_csv(text: &str, column: &str) -> Result<Vec<f64>, String> {
    let file = CsvFile::read(text)?;
    if file.first().is_none() {
        return Err("it is empty".to_owned());
    }
    // Programs that log several things at different times leave the fields of the others empty.
    let found =
        file.numbers(1, file.column(column)?, |field| !field.is_empty(), |field| field.parse().ok())?;
    if found.is_empty() { Err(format!("{column} has no value")) } else { Ok(found) }
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Array(items) => items.iter().map(Value::as_f64).collect(),
        single => single.as_f64().map(|number| vec![number]),
    }
}

fn aggregate(metric: &Metric, points: &[f64]) -> Option<f64> {
    let window = metric.window.and_then(|window| usize::try_from(window).ok()).unwrap_or(points.len());
    let last = &points[points.len().saturating_sub(window)..];
    if last.is_empty() || last.iter().any(|value| !value.is_finite()) {
        return None;
    }
    Some(match metric.aggregation {
        Aggregation::Mean => rlxp_analyze::aggregate::mean(last),
        Aggregation::Median => rlxp_analyze::aggregate::median(last),
        Aggregation::Iqm => rlxp_analyze::aggregate::iqm(last),
        Aggregation::Last => *last.last()?,
        Aggregation::Min => last.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregation::Max => last.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_a_csv_file() {
        let monitor = "#{\"t_start\": 1.0}\nname,r,l\n\"a, first\",1.5,9\nb,,9\nc,2.5,9\n";
        assert_eq!(from_csv(monitor, "r").as_deref(), Ok(&[1.5, 2.5][..]));
        for (text, why) in [
            ("", "it is empty"),
            ("name,r\n", "r has no value"),
            ("name,r\na,\n", "r has no value"),
            ("name,l\na,1\n", "no column \"r\"; available: name, l"),
            ("name,r\na,1\nb\n", "line 3 has 1 field, but line 1 has 2"),
            ("name,r\na,1\nb,much\n", "line 3, column 2: \"much\" is not a number"),
        ] {
            assert_eq!(from_csv(text, "r"), Err(why.to_owned()), "{text:?}");
        }
    }
}
