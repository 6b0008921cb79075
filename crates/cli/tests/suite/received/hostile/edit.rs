//! The ways to make a received run hostile.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rlxp_types::Digest;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::Value;

/// More than memory and any disk of a test machine hold.
const HUGE: u64 = 1 << 40;

/// Removes whatever has this name.
pub(crate) fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => std::fs::create_dir_all(path.parent().unwrap()).unwrap(),
    }
}

pub(crate) fn link(path: &Path, target: &Path) {
    remove(path);
    symlink(target, path).unwrap();
}

/// A named pipe: opening it for reading waits for a writer.
pub(crate) fn pipe(path: &Path) {
    remove(path);
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
}

pub(crate) fn socket(path: &Path) {
    remove(path);
    // A socket's path must be short, so it is bound in a temporary folder and moved.
    let folder = tempfile::tempdir_in(path.parent().unwrap()).unwrap();
    let made = folder.path().join("s");
    drop(UnixListener::bind(&made).unwrap());
    std::fs::rename(made, path).unwrap();
}

/// A device that returns zeros forever; only root can create one.
pub(crate) fn endless_device(path: &Path) {
    remove(path);
    mknodat(CWD, path, FileType::CharacterDevice, Mode::from_raw_mode(0o644), makedev(1, 5)).unwrap();
}

pub(crate) fn folder(path: &Path) {
    remove(path);
    std::fs::create_dir(path).unwrap();
}

pub(crate) fn file(path: &Path, bytes: &[u8]) {
    remove(path);
    std::fs::write(path, bytes).unwrap();
}

/// Makes a file a terabyte long without writing any of it; what was in it stays at its beginning.
pub(crate) fn sparse(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(path).unwrap();
    file.set_len(HUGE).unwrap();
}

/// Changes a text file, if the run has it.
pub(crate) fn text(path: &Path, change: impl FnOnce(String) -> String) {
    if let Ok(text) = std::fs::read_to_string(path) {
        std::fs::write(path, change(text)).unwrap();
    }
}

/// Replaces a value of a JSON file with `raw`, which needn't be JSON, if the run has it.
pub(crate) fn json(path: &Path, pointer: &str, raw: &str) {
    text(path, |text| with_value(&text, pointer, raw));
}

fn with_value(text: &str, pointer: &str, raw: &str) -> String {
    const HERE: &str = "@@here@@";
    let mut value: Value = serde_json::from_str(text).unwrap();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => drop(map.insert(name.to_owned(), HERE.into())),
        Some(Value::Array(list)) => list[name.parse::<usize>().unwrap()] = HERE.into(),
        other => panic!("nothing at {pointer}: {other:?}"),
    }
    let text = serde_json::to_string_pretty(&value).unwrap();
    text.replace(&format!("\"{HERE}\""), raw)
}

/// Changes a checkpoint's manifest so that it still matches its own digest, as its author could.
pub(crate) fn manifest(checkpoint: &Path, pointer: &str, raw: &str) {
    const OWN: &str = "\"manifest_digest\": \"";
    text(&checkpoint.join("manifest.json"), |text| {
        let mut text = with_value(&text, pointer, raw);
        let place = text.rfind(OWN).unwrap() + OWN.len();
        text.replace_range(place..place + 64, &"0".repeat(64));
        let digest = Digest::hash(text.as_bytes()).to_string();
        text.replace_range(place..place + 64, &digest);
        text
    });
}

/// Replaces a checkpoint's `model` or `state` and its facts in the manifest.
pub(crate) fn tensors(checkpoint: &Path, which: &str, bytes: &[u8]) {
    if checkpoint.is_dir() {
        std::fs::write(checkpoint.join(format!("{which}.safetensors")), bytes).unwrap();
        manifest(checkpoint, &format!("/{which}/size"), &bytes.len().to_string());
        manifest(checkpoint, &format!("/{which}/digest"), &format!("\"{}\"", Digest::hash(bytes)));
    }
}

/// Copies a folder of plain files and folders.
pub(crate) fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        crate::received::tree::Tree::read(from).write(to);
    }
}
