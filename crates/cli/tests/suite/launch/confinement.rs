//! Candidates whose code does more than train: its attempts are refused or have no effect, and are recorded.
//!
//! The code runs when training imports the reward. It prints `BLOCKED what` or `DONE what` for each attempt; the tests
//! check the effects as well, since the code may lie.

mod escapes;
mod evaluation;
mod mechanisms;
mod preflight;
mod secrets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_types::Digest;
use serde_json::Value;

use crate::launch::repository::Repository;

/// The preamble of all hostile code: `attempt(what, act)` and the step's own folder.
const ATTEMPT: &str = "\
import os
import sys

OWN = sys.argv[sys.argv.index('--out') + 1]


def attempt(what, act):
    try:
        act()
    except BaseException as error:
        print('BLOCKED', what, type(error).__name__, error, flush=True)
    else:
        print('DONE', what, flush=True)


def write(path, text='escaped'):
    with open(path, 'a') as file:
        file.write(text)


def read(path):
    with open(path, 'rb') as file:
        if not file.read(1):
            raise OSError('it is empty')
";

/// Code that tries each of `attempts`: a name and a Python expression without a quotation mark of its own kind.
fn attempts(attempts: &[(&str, String)]) -> String {
    let mut code = ATTEMPT.to_owned();
    for (what, act) in attempts {
        code += &format!("attempt('{what}', lambda: {act})\n");
    }
    code
}

/// The output of a step.
#[track_caller]
fn log(repository: &Repository, key: &str, step: &str) -> String {
    std::fs::read_to_string(repository.run_folder(key).join(format!("{step}.log"))).unwrap()
}

/// What the code printed about its attempts, by name.
#[track_caller]
fn said(repository: &Repository, key: &str) -> BTreeMap<String, String> {
    let log = log(repository, key, "train");
    let mut said = BTreeMap::new();
    for line in log.lines() {
        let mut words = line.splitn(3, ' ');
        if let (Some(word @ ("BLOCKED" | "DONE")), Some(what)) = (words.next(), words.next()) {
            said.insert(what.to_owned(), word.to_owned());
        }
    }
    said
}

/// A file of a run as JSON.
#[track_caller]
fn run_json(repository: &Repository, key: &str, name: &str) -> Value {
    let path = repository.run_folder(key).join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Every file below a folder with its content and its mode, but not what is below `without`.
fn files(folder: &Path, without: &Path) -> BTreeMap<PathBuf, (u32, Digest)> {
    use std::os::unix::fs::MetadataExt;
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            if path == without {
                continue;
            }
            let content = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            found.insert(path.clone(), (meta.mode(), Digest::hash(&content)));
            folders.extend(meta.is_dir().then_some(path));
        }
    }
    found
}
