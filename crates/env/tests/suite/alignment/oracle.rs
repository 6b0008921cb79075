//! Asks real Gymnasium: runs a script of `python/oracles` with one JSON
//! question on stdin and one JSON answer on stdout.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn python() -> PathBuf {
    std::env::var_os("RLX_TEST_PYTHON").map_or_else(|| workspace().join(".venv/bin/python"), PathBuf::from)
}

/// The answer of `python/oracles/<script>`.
pub(crate) fn ask(script: &str, arguments: &[&str], question: &Value) -> Value {
    let python = python();
    let mut child = Command::new(&python)
        .arg(workspace().join("python/oracles").join(script))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|problem| {
            panic!(
                "can't run {} ({problem}): these tests compare with real Gymnasium; run `cargo xtask setup`, \
                 or point RLX_TEST_PYTHON to a Python with gymnasium 1.4.0",
                python.display()
            )
        });
    // The script reads everything before it prints, so neither side can block the other.
    child.stdin.take().unwrap().write_all(question.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{script} failed: has {} gymnasium? run `cargo xtask setup`",
        python.display()
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// |a − b| ≤ 1e-6 · max(1, |b|), the tolerance of the whole suite.
#[track_caller]
pub(crate) fn assert_close(ours: f64, theirs: f64, what: impl Fn() -> String) {
    assert!((ours - theirs).abs() <= 1e-6 * theirs.abs().max(1.0), "{}: {ours} instead of {theirs}", what());
}
