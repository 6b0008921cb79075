//! Run folders on disk: which there are, and whether two of them hold the same bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::{RealFs, RealMachine};
use rlxp_ops::training::same_bytes::differences;
use rlxp_store::Run;

/// The folders of a project's runs, sorted by name.
pub(crate) fn run_folders(project: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(project.join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect();
    found.sort();
    found
}

/// Fails when two runs differ in anything that training decides; `context` is part of the message.
#[track_caller]
pub(crate) fn assert_same_bytes(one: &Path, other: &Path, context: &str) {
    let run = |path: &Path| Run::at(Arc::new(RealFs), Arc::new(RealMachine), path);
    assert_eq!(differences(&run(one), &run(other)).unwrap(), [], "{context}");
}
