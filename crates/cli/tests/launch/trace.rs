//! What processes a command makes, as `strace` sees them.

use std::io::Write;
use std::process::Stdio;

use crate::repository::Repository;
use crate::study::{RLX, Ran, ran};

mod read;

use read::OPTIONS;
pub(crate) use read::{Program, Trace};

/// Runs `rlx` with these words under strace, and gives it something to read.
pub(crate) fn traced(repository: &Repository, words: &[&str], input: &str) -> (Ran, Trace) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut command = repository.command("strace");
    command.args(OPTIONS).arg("-o");
    command.arg(file.path()).arg(RLX).args(words).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("this test needs strace: `cargo xtask setup` installs it");
    // Whoever doesn't read it may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let ran = ran(format!("rlx {}", words.join(" ")), &child.wait_with_output().unwrap());
    (ran, Trace::read(&std::fs::read_to_string(file.path()).unwrap()))
}
