//! Which processes a command starts, according to `strace`.

use std::io::Write;
use std::process::Stdio;

use crate::governed::study::{Ran, ran};
use crate::launch::repository::Repository;
use crate::project::RLX;
use crate::strace::{OPTIONS, Trace};

/// Runs `rlx` with these arguments under strace, with `input` on stdin.
pub(crate) fn traced(repository: &Repository, words: &[&str], input: &str) -> (Ran, Trace) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut command = repository.command("strace");
    command.args(OPTIONS).arg("-o");
    command.arg(file.path()).arg(RLX).args(words).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("this test needs strace: `cargo xtask setup` installs it");
    // A command that doesn't read it may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let ran = ran(format!("rlx {}", words.join(" ")), &child.wait_with_output().unwrap());
    (ran, Trace::read(&std::fs::read_to_string(file.path()).unwrap()))
}
