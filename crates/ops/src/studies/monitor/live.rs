//! Metrics from files that are still being written. Nothing read here is evidence, so reading is lenient: a line or a
//! record that is half written is left out, and of a long log only the end is read.

use std::path::Path;

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::{Metric, MetricSpec, Role};
use rlxp_store::foreign::tensorboard;
use rlxp_types::Point;

use crate::studies::extract::{Files, Format, Listed, choose, read_format};
use crate::studies::files::launch_paths::RunPaths;

/// Most bytes that are read of one file.
const MOST_BYTES: u64 = 8 << 20;
/// Most entries of a run's folder that are looked at.
const MOST_ENTRIES: usize = 5_000;
/// Folders that steps write to.
const FOLDERS: [&str; 3] = ["smoke", "train", "eval"];

/// The files of a run at this moment.
#[derive(Default)]
pub(super) struct RunFiles {
    pub(super) files: Files,
    /// When one of them last changed, in nanoseconds since 1970.
    pub(super) changed: Option<i64>,
    /// Whether there are more than are looked at.
    pub(super) truncated: bool,
}

/// A metric as far as it can be read.
pub(super) struct LiveSeries<'m> {
    pub(super) metric: &'m Metric,
    pub(super) role: Role,
    pub(super) file: Option<String>,
    /// Points in the order of their steps, or of the file where there are none.
    pub(super) points: Result<Vec<Point>, String>,
}

/// Lists the files of a run, without following links.
pub(super) fn files(fs: &dyn Fs, place: &RunPaths) -> RunFiles {
    let mut found = RunFiles::default();
    let mut entries = 0;
    for folder in FOLDERS {
        list(fs, &place.step(folder), &format!("{folder}/"), &mut found, &mut entries);
        found.take(fs, &place.log(folder), format!("{folder}.log"));
    }
    found
}

/// A folder that can't be read, or vanished, has no files.
fn list(fs: &dyn Fs, folder: &Path, prefix: &str, found: &mut RunFiles, entries: &mut usize) {
    for entry in fs.list(folder).unwrap_or_default() {
        *entries += 1;
        if *entries > MOST_ENTRIES {
            found.truncated = true;
            return;
        }
        let (name, path) = (format!("{prefix}{}", entry.name), folder.join(&entry.name));
        match entry.kind {
            Kind::Folder => list(fs, &path, &format!("{name}/"), found, entries),
            Kind::File => found.take(fs, &path, name),
            Kind::Link | Kind::Other => {}
        }
    }
}

impl RunFiles {
    fn take(&mut self, fs: &dyn Fs, path: &Path, name: String) {
        if let Ok(Some(meta)) = fs.metadata_if_any(path)
            && meta.kind == Kind::File
        {
            self.changed = self.changed.max(Some(meta.modified));
            self.files.insert(name, Listed { length: meta.length, digest: None });
        }
    }
}

/// Every declared metric, each once.
pub(super) fn series<'m>(
    fs: &dyn Fs,
    folder: &Path,
    files: &Files,
    spec: &'m MetricSpec,
) -> Vec<LiveSeries<'m>> {
    let mut all: Vec<LiveSeries<'m>> = Vec::new();
    for (role, metric) in spec.metrics_by_role() {
        if all.iter().any(|known| known.metric == metric) {
            continue;
        }
        let file = choose(&metric.source, role, files.keys().map(String::as_str));
        let (file, points) = match file.as_deref() {
            // Several event files: the newest name is the one that is written to.
            Ok(names) => (names.last().map(|name| (*name).to_owned()), Ok(Vec::new())),
            Err(why) => (None, Err(why.detail.clone())),
        };
        all.push(LiveSeries { metric, role, file, points });
    }
    let mut groups: Vec<((String, Format), Vec<usize>)> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let Some(file) = &one.file else { continue };
        let key = (file.clone(), Format::of(&one.metric.source));
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, indices)) => indices.push(index),
            None => groups.push((key, vec![index])),
        }
    }
    for ((file, format), indices) in groups {
        let length = files.get(&file).map_or(0, |listed| listed.length);
        let sources: Vec<_> = indices.iter().map(|index| &all[*index].metric.source).collect();
        let readings = match whole(fs, &folder.join(&file), length, format) {
            Ok(bytes) => read_format(&mut bytes.as_slice(), &sources)
                .into_iter()
                .map(|reading| reading.map(sorted).map_err(|trouble| format!("{file}: {}", trouble.detail)))
                .collect(),
            Err(why) => vec![Err(format!("{file}: {why}")); indices.len()],
        };
        for (index, reading) in indices.into_iter().zip(readings) {
            all[index].points = reading;
        }
    }
    all
}

/// Points in the order of their steps.
fn sorted(mut points: Vec<Point>) -> Vec<Point> {
    if points.iter().all(|point| point.step.is_some()) {
        points.sort_by(|one, other| one.step.unwrap_or(0.0).total_cmp(&other.step.unwrap_or(0.0)));
    }
    points
}

/// The bytes of a growing file that are complete: whole lines, or whole records.
fn whole(fs: &dyn Fs, path: &Path, length: u64, format: Format) -> Result<Vec<u8>, String> {
    let read = |from: u64, most: u64| {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        fs.read_at(path, from, most).map_err(|error| format!("it can't be read: {error}"))
    };
    match format {
        Format::Jsonl | Format::Csv | Format::Log => {
            let mut bytes = if length <= MOST_BYTES {
                read(0, MOST_BYTES)?
            } else {
                let mut head =
                    if format == Format::Csv { first_line(read(0, 64 << 10)?) } else { Vec::new() };
                let tail = read(length - MOST_BYTES, MOST_BYTES)?;
                let start = tail.iter().position(|byte| *byte == b'\n').map_or(tail.len(), |end| end + 1);
                head.extend_from_slice(&tail[start..]);
                head
            };
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            bytes.truncate(end);
            Ok(bytes)
        }
        Format::Tensorboard if length <= MOST_BYTES => {
            let mut bytes = read(0, MOST_BYTES)?;
            bytes.truncate(tensorboard::complete(&bytes));
            Ok(bytes)
        }
        Format::Json | Format::Wandb if length <= MOST_BYTES => read(0, MOST_BYTES),
        Format::Tensorboard | Format::Json | Format::Wandb => {
            Err(format!("it is larger than {} MiB; it is read when the run has ended", MOST_BYTES >> 20))
        }
    }
}

/// Lines up to the end of the header; comments come before it.
fn first_line(bytes: Vec<u8>) -> Vec<u8> {
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if !line.starts_with(b"#") {
            break;
        }
    }
    let mut bytes = bytes;
    bytes.truncate(end);
    bytes
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes the files that are read")]

    use rlxp_fs::RealFs;

    use super::*;

    fn complete(format: Format, bytes: &[u8]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, bytes).unwrap();
        whole(&RealFs, &path, bytes.len() as u64, format).unwrap()
    }

    #[test]
    fn a_half_written_line_is_left_out() {
        assert_eq!(complete(Format::Jsonl, b"{\"a\":1}\n{\"a\":"), b"{\"a\":1}\n");
        assert_eq!(complete(Format::Csv, b"a,b\n1,2\n3"), b"a,b\n1,2\n");
        assert_eq!(complete(Format::Log, b"no end"), b"");
    }

    #[test]
    fn of_a_long_table_the_header_and_the_end_are_read() {
        let rows: String = (0..2_000_000).map(|row| format!("{row},1\n")).collect();
        let table = format!("# comment\nstep,r\n{rows}");
        let read = complete(Format::Csv, table.as_bytes());
        assert!(read.len() as u64 <= MOST_BYTES + 64, "{}", read.len());
        let text = String::from_utf8(read).unwrap();
        assert!(text.starts_with("# comment\nstep,r\n") && text.ends_with("\n1999999,1\n"));
        assert!(text.lines().skip(2).all(|line| line.ends_with(",1") && line.contains(',')));
    }
}
