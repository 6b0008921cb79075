//! Reads metrics from files as they are declared: each file once per format, however many metrics it has.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use rlxp_analyze::reading::{self, Rule, Value};
use rlxp_fs::Fs;
use rlxp_govern::documents::{self, Extractor, Metric, Role};
use rlxp_govern::ledger::event::{NoValue, Unmeasured};
use rlxp_store::foreign::{self, Column, DigestedFile, Reading, TroubleKind};
use rlxp_types::{Digest, Point};

use super::choose::choose;
use crate::failure::{Failure, Outcome};

/// A file of a run as its list has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) length: u64,
    /// Its digest; `None` if nothing was listed, so that nothing is compared.
    pub(crate) digest: Option<Digest>,
}

/// The files of a run, by their path in its folder.
pub(crate) type Files = BTreeMap<String, Listed>;

/// One metric of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The file that it was read from.
    pub(crate) file: Option<String>,
    pub(crate) value: Result<Value, Unmeasured>,
}

/// All points of one metric of one run, in the order in which they were written.
pub(crate) type Series = Result<Vec<Point>, Unmeasured>;

/// How far a file has been read.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Its path in the run's folder.
    pub file: &'a str,
    /// Bytes read so far.
    pub read: u64,
    pub length: u64,
}

/// Every metric, and the digest of every file that was read.
pub(crate) fn measure(
    fs: &dyn Fs,
    folder: &Path,
    files: &Files,
    metrics: &[(Role, &Metric)],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<(Vec<Measured>, BTreeMap<String, Digest>)> {
    let (found, digests) = read_each(fs, folder, files, metrics, progress, &value)?;
    let measured = found.into_iter().map(|(file, value)| Measured { file, value });
    Ok((measured.collect(), digests))
}

/// The whole series of every metric, whatever its window and range say, and the digest of every file that was read.
pub(crate) fn series(
    fs: &dyn Fs,
    folder: &Path,
    files: &Files,
    metrics: &[(Role, &Metric)],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<(Vec<Series>, BTreeMap<String, Digest>)> {
    let (found, digests) =
        read_each(fs, folder, files, metrics, progress, &|file, _, reading| points(file, reading))?;
    Ok((found.into_iter().map(|(_, points)| points).collect(), digests))
}

/// A metric with the file that it was read from.
type FromFile<T> = (Option<String>, Result<T, Unmeasured>);
/// The digest of every file that was read.
type Digests = BTreeMap<String, Digest>;

/// What `taken` makes of every metric, each file being read once per format.
fn read_each<T>(
    fs: &dyn Fs,
    folder: &Path,
    files: &Files,
    metrics: &[(Role, &Metric)],
    progress: &mut dyn FnMut(Progress<'_>),
    taken: &dyn Fn(&str, &Metric, Reading) -> Result<T, Unmeasured>,
) -> Outcome<(Vec<FromFile<T>>, Digests)> {
    let names = files.keys().map(String::as_str);
    let choices: Vec<_> =
        metrics.iter().map(|(role, metric)| choose(&metric.source, *role, names.clone())).collect();
    let mut together: BTreeMap<(&str, Format), Vec<usize>> = BTreeMap::new();
    for (index, choice) in choices.iter().enumerate() {
        for file in choice.iter().flatten() {
            together.entry((file, Format::of(&metrics[index].1.source))).or_default().push(index);
        }
    }
    let mut found: Vec<Vec<(&str, Result<T, Unmeasured>)>> = metrics.iter().map(|_| Vec::new()).collect();
    let mut digests = BTreeMap::new();
    for ((file, _), indices) in together {
        let sources: Vec<&Extractor> = indices.iter().map(|index| &metrics[*index].1.source).collect();
        let (readings, digest) = read(fs, folder, file, files[file], &sources, progress)?;
        digests.insert(file.to_owned(), digest);
        for (index, reading) in indices.into_iter().zip(readings) {
            found[index].push((file, taken(file, metrics[index].1, reading)));
        }
    }
    let each = choices.into_iter().zip(found).map(|(choice, found)| match choice {
        Err(unmeasured) => (None, Err(unmeasured)),
        Ok(_) => combined(found),
    });
    Ok((each.collect(), digests))
}

/// One metric from all its files, of which exactly one must have it and none may be damaged.
fn combined<T>(mut found: Vec<(&str, Result<T, Unmeasured>)>) -> FromFile<T> {
    let is_missing = |value: &Result<T, Unmeasured>| matches!(value, Err(no) if no.kind == NoValue::Missing);
    if found.len() > 1 && !found.iter().all(|(_, value)| is_missing(value)) {
        found.retain(|(_, value)| !is_missing(value));
    }
    let having: Vec<&str> = found.iter().filter(|(_, value)| value.is_ok()).map(|(file, _)| *file).collect();
    if having.len() > 1 {
        let detail = format!("several files have it: {}", having.join(", "));
        return (None, Err(Unmeasured { kind: NoValue::Ambiguous, detail }));
    }
    // What can't be read in one file could be the metric.
    let place = found.iter().position(|(_, value)| value.is_err()).unwrap_or(0);
    let (file, value) = found.swap_remove(place);
    (Some(file.to_owned()), value)
}

/// The formats, one reader each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Format {
    Json,
    Jsonl,
    Csv,
    Tensorboard,
    Log,
    Wandb,
}

impl Format {
    pub(crate) fn of(source: &Extractor) -> Self {
        match source {
            Extractor::Json { .. } => Format::Json,
            Extractor::Jsonl { .. } => Format::Jsonl,
            Extractor::Csv { .. } => Format::Csv,
            Extractor::Tensorboard { .. } => Format::Tensorboard,
            Extractor::Stdout { .. } | Extractor::StdoutRegex { .. } => Format::Log,
            Extractor::Wandb { .. } => Format::Wandb,
        }
    }
}

/// Reads one file for metrics of one format, and makes sure that it is the file that was listed.
fn read(
    fs: &dyn Fs,
    folder: &Path,
    file: &str,
    listed: Listed,
    sources: &[&Extractor],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome<(Vec<Reading>, Digest)> {
    let path = folder.join(file);
    let mut tell = |read| progress(Progress { file, read, length: listed.length });
    let mut source = DigestedFile::new(fs, &path, listed.length, &mut tell);
    let readings = read_format(&mut source, sources);
    let (length, digest) = source.finish().map_err(|error| {
        if error.is_not_found() && listed.digest.is_some() {
            let message = format!("{} is missing, but the run had it when it ended", path.display());
            return Failure::refused("run_file_missing", message)
                .hint("restore the file, then run the command again");
        }
        error.into()
    })?;
    if let Some(expected) = listed.digest.filter(|expected| (length, digest) != (listed.length, *expected)) {
        let message = format!(
            "{} has changed since the run ended: its digest is {}, and {} was listed",
            path.display(),
            digest.short(),
            expected.short()
        );
        return Err(Failure::refused("run_file_changed", message)
            .hint("restore the file, then run the command again"));
    }
    Ok((readings, digest))
}

/// The series of some metrics of one format, from one file.
pub(crate) fn read_format(file: &mut dyn Read, sources: &[&Extractor]) -> Vec<Reading> {
    use foreign::log::Pattern;

    // All sources have the same format, so each list below is as long as `sources`.
    let (mut texts, mut columns, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
    for source in sources {
        match source {
            Extractor::Json { pointer: text, .. }
            | Extractor::Tensorboard { tag: text, .. }
            | Extractor::Wandb { key: text, .. } => texts.push(text.as_str()),
            Extractor::Jsonl { pointer: value, step, .. } | Extractor::Csv { column: value, step, .. } => {
                columns.push(Column { value, step: step.as_deref() });
            }
            Extractor::Stdout { before } => patterns.push(Pattern::After(before)),
            Extractor::StdoutRegex { pattern } => patterns.push(Pattern::Expression(pattern)),
        }
    }
    match sources.first().map(|source| Format::of(source)) {
        Some(Format::Json) => foreign::json::read(file, &texts),
        Some(Format::Jsonl) => foreign::jsonl::read(file, &columns),
        Some(Format::Csv) => foreign::csv::read(file, &columns),
        Some(Format::Tensorboard) => foreign::tensorboard::read(file, &texts),
        Some(Format::Log) => foreign::log::read(file, &patterns),
        Some(Format::Wandb) => foreign::wandb::read(file, &texts),
        None => Vec::new(),
    }
}

/// The metric's value from its points.
fn value(file: &str, metric: &Metric, reading: Reading) -> Result<Value, Unmeasured> {
    let no = |kind, detail: &str| Unmeasured { kind, detail: format!("{file}: {detail}") };
    let points = points(file, reading)?;
    reading::value(&points, &rule(metric)).map_err(|why| match why {
        reading::NoValue::Empty => no(NoValue::Missing, "it has no values"),
        reading::NoValue::NotFinite => {
            no(NoValue::NotFinite, "a value that counts, or the result, is NaN or infinite")
        }
        reading::NoValue::OutOfRange(value) => {
            let end = |end: Option<f64>| end.map_or_else(|| "…".to_owned(), |end| end.to_string());
            let range = metric
                .range
                .map_or(String::new(), |range| format!("{} to {}", end(range.from), end(range.to)));
            no(NoValue::OutOfRange, &format!("{value} is outside the declared range {range}"))
        }
    })
}

/// The points of a series, or why there are none.
fn points(file: &str, reading: Reading) -> Series {
    reading.map_err(|trouble| {
        let kind = match trouble.kind {
            TroubleKind::Missing => NoValue::Missing,
            TroubleKind::Unreadable => NoValue::Unreadable,
            TroubleKind::Ambiguous => NoValue::Ambiguous,
        };
        Unmeasured { kind, detail: format!("{file}: {}", trouble.detail) }
    })
}

fn rule(metric: &Metric) -> Rule {
    let aggregation = match metric.aggregation {
        documents::Aggregation::Mean => reading::Aggregation::Mean,
        documents::Aggregation::Median => reading::Aggregation::Median,
        documents::Aggregation::Iqm => reading::Aggregation::Iqm,
        documents::Aggregation::Last => reading::Aggregation::Last,
        documents::Aggregation::Min => reading::Aggregation::Min,
        documents::Aggregation::Max => reading::Aggregation::Max,
    };
    let range = metric.range;
    Rule {
        aggregation,
        window: metric.window,
        lowest: range.and_then(|range| range.from),
        highest: range.and_then(|range| range.to),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes the files that are read")]

    use rlxp_fs::RealFs;
    use serde_json::json;

    use super::*;

    /// One run's files, and a metric of every kind of trouble.
    fn measured(files: &[(&str, &[u8])], metrics: &serde_json::Value) -> Vec<(Option<f64>, Option<NoValue>)> {
        let folder = tempfile::tempdir().unwrap();
        let mut listed = Files::new();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
            let facts = Listed { length: bytes.len() as u64, digest: Some(Digest::hash(bytes)) };
            listed.insert((*name).to_owned(), facts);
        }
        let metrics: Vec<Metric> = serde_json::from_value(metrics.clone()).unwrap();
        let metrics: Vec<(Role, &Metric)> = metrics.iter().map(|metric| (Role::Guardrail, metric)).collect();
        let (found, digests) = measure(&RealFs, folder.path(), &listed, &metrics, &mut |_| {}).unwrap();
        for (name, digest) in digests {
            assert_eq!(listed[&name].digest, Some(digest));
        }
        let plain = |one: Measured| {
            let kind = one.value.as_ref().err().map(|no| no.kind);
            (one.value.ok().map(|value| value.value), kind)
        };
        found.into_iter().map(plain).collect()
    }

    fn metric(aggregation: &str, source: serde_json::Value) -> serde_json::Value {
        json!({"name": "x", "direction": "higher", "aggregation": aggregation, "source": source})
    }

    #[test]
    fn a_metric_that_only_the_last_run_has() {
        let wanted =
            json!([metric("mean", json!({"format": "json", "file": "eval/a.json", "pointer": "/late"}))]);
        for _ in 0..2 {
            assert_eq!(measured(&[("eval/a.json", b"{}")], &wanted), [(None, Some(NoValue::Missing))]);
        }
        assert_eq!(measured(&[("eval/a.json", b"{\"late\": 3}")], &wanted), [(Some(3.0), None)]);
    }

    #[test]
    fn two_files_with_the_same_tag_are_ambiguous() {
        let events =
            |tag: &str| json!([metric("last", json!({"format": "tensorboard", "file": "eval", "tag": tag}))]);
        let (one, other) = (EVENTS_A, EVENTS_B);
        let (first, second) = ("eval/events.out.tfevents.1.h", "eval/events.out.tfevents.2.h");
        assert_eq!(measured(&[(first, one), (second, other)], &events("a")), [(Some(1.5), None)]);
        assert_eq!(measured(&[(first, one), (second, other)], &events("b")), [(Some(2.5), None)]);
        assert_eq!(
            measured(&[(first, one), (second, one)], &events("a")),
            [(None, Some(NoValue::Ambiguous))]
        );
        assert_eq!(
            measured(&[(first, one), (second, other)], &events("c")),
            [(None, Some(NoValue::Missing))]
        );
        // A damaged file could have it too.
        let cut = &other[..other.len() - 1];
        assert_eq!(
            measured(&[(first, one), (second, cut)], &events("a")),
            [(None, Some(NoValue::Unreadable))]
        );
        // A forged event file of training has no effect.
        let forged = "train/events.out.tfevents.1.h";
        assert_eq!(measured(&[(first, one), (forged, one)], &events("a")), [(Some(1.5), None)]);
    }

    #[test]
    fn each_kind_of_trouble_has_its_reason() {
        let scores =
            br#"{"nan": NaN, "huge": [1e308, 1e308], "one": 1e308, "twice": 1, "twice": 1, "share": 1.5}"#;
        let at = |pointer: &str| {
            metric("mean", json!({"format": "json", "file": "eval/s.json", "pointer": pointer}))
        };
        let mut share = at("/share");
        share["range"] = json!({"to": 1.0});
        let any = metric("mean", json!({"format": "json", "file": "eval/*.json", "pointer": "/one"}));
        let table = metric("mean", json!({"format": "csv", "file": "eval/s.json", "column": "r"}));
        let log = metric("mean", json!({"format": "stdout", "before": "return:"}));
        let wanted = json!([at("/nan"), at("/huge"), at("/one"), at("/twice"), share, any, table, log]);
        let files: [(&str, &[u8]); 3] =
            [("eval/s.json", scores), ("eval/t.json", b"{"), ("eval.log", b"return: x\n")];
        let expected = [
            (None, Some(NoValue::NotFinite)),
            (None, Some(NoValue::NotFinite)),
            (Some(1e308), None),
            (None, Some(NoValue::Ambiguous)),
            (None, Some(NoValue::OutOfRange)),
            (None, Some(NoValue::Ambiguous)),
            (None, Some(NoValue::Missing)),
            (None, Some(NoValue::Unreadable)),
        ];
        assert_eq!(measured(&files, &wanted), expected);
    }

    /// Ten thousand rows out of order: the window is that of the steps, not of the lines.
    #[test]
    fn the_window_follows_the_steps() {
        let rows: String =
            (0..10_000).map(|row| row * 7919 % 10_000).map(|step| format!("{step},{step}\n")).collect();
        let table = format!("step,r\n{rows}");
        let mut last =
            metric("min", json!({"format": "csv", "file": "eval/p.csv", "column": "r", "step": "step"}));
        last["window"] = 10.into();
        assert_eq!(measured(&[("eval/p.csv", table.as_bytes())], &json!([last])), [(Some(9990.0), None)]);
    }

    /// A file is not read beyond its listed length, and one that grew is not the one that was listed.
    #[test]
    fn a_file_that_grew_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("eval")).unwrap();
        let path = folder.path().join("eval/s.json");
        let facts = Listed { length: 8, digest: Some(Digest::hash(b"{\"x\": 1}")) };
        let files = Files::from([("eval/s.json".to_owned(), facts)]);
        let wanted: Metric = serde_json::from_value(metric(
            "mean",
            json!({"format": "json", "file": "eval/s.json", "pointer": "/x"}),
        ))
        .unwrap();
        let read = || measure(&RealFs, folder.path(), &files, &[(Role::Primary, &wanted)], &mut |_| {});
        std::fs::write(&path, "{\"x\": 1}").unwrap();
        assert_eq!(read().unwrap().0[0].value, Ok(Value { value: 1.0, points: 1 }));
        for text in ["{\"x\": 1}\n", "{\"x\": 2}", "{\"x\": 1"] {
            std::fs::write(&path, text).unwrap();
            let failure = read().unwrap_err();
            assert_eq!(failure.code, "run_file_changed");
            assert!(failure.message.contains("eval/s.json"), "{}", failure.message);
        }
    }

    /// One scalar each: tag a is 1.5 at step 1, tag b is 2.5 at step 1. Written by the tensorboard package.
    const EVENTS_A: &[u8] = include_bytes!("tests/a.tfevents");
    const EVENTS_B: &[u8] = include_bytes!("tests/b.tfevents");
}
