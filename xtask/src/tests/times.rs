//! How long each test took in the last run. Only the distribution of tests depends on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::run::{Done, root};

/// Times by full name.
pub(super) type Times = BTreeMap<String, Duration>;

fn path() -> PathBuf {
    root().join("target/test-times.txt")
}

/// The times of the last run; none if there was no run.
pub(super) fn read() -> Times {
    parse(&std::fs::read_to_string(path()).unwrap_or_default())
}

fn parse(text: &str) -> Times {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines
        .filter_map(|(time, name)| Some((name.to_owned(), Duration::from_millis(time.parse().ok()?))))
        .collect()
}

pub(super) fn write<'t>(times: impl Iterator<Item = &'t (String, Duration)>) -> Done {
    let path = path();
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, text(times)))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn text<'t>(times: impl Iterator<Item = &'t (String, Duration)>) -> String {
    times.map(|(name, took)| format!("{}\t{name}\n", took.as_millis())).collect()
}

#[cfg(test)]
mod own {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let times = [("a suite: b::c".to_owned(), Duration::from_millis(1234))];
        assert_eq!(parse(&text(times.iter())), Times::from(times));
        assert_eq!(parse("no tab\nx\tname\n"), Times::new());
    }
}
