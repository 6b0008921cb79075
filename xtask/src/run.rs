//! Starts programs: cargo, Python, apt.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The result of a task: nothing, or what went wrong as a sentence.
pub(crate) type Done = Result<(), String>;

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace").to_owned()
}

/// The cargo that started this program, for `folder`.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    command
}

/// Runs `command` with inherited output.
pub(crate) fn show(command: &mut Command) -> Done {
    let status = command.status().map_err(|error| format!("can't start {}: {error}", written(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", written(command))) }
}

/// Runs `command` and returns its output, whatever its exit code.
pub(crate) fn capture(command: &mut Command) -> Result<Output, String> {
    let output = command.stdin(Stdio::null()).output();
    output.map_err(|error| format!("can't start {}: {error}", written(command)))
}

/// The output of `program`; `None` if it is missing or fails.
pub(crate) fn answer<A: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: &[A]) -> Option<String> {
    let output = capture(Command::new(program).args(arguments)).ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as a user would type it.
fn written(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
