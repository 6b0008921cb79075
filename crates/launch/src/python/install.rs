//! Programs that prepare a project's Python: `uv`, `venv` and `pip`.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::child::isolate;
use crate::output::Tail;
use crate::permit::Permit;
use crate::search_path;
use crate::worker::LaunchError;

/// How such a program ended.
#[derive(Clone, Debug)]
pub struct Installed {
    pub success: bool,
    /// What it wrote to stdout, or its end.
    pub stdout: String,
    /// What it wrote to stderr, or its end.
    pub stderr: String,
}

/// Runs a program in `folder` and waits for its end.
pub fn install(
    _permit: &Permit,
    program: &Path,
    arguments: &[OsString],
    folder: &Path,
) -> Result<Installed, LaunchError> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    search_path::restrict(&mut command);
    isolate(&mut command);
    let failed = |source| LaunchError::Start { program: program.to_owned(), source };
    let mut child = command.spawn().map_err(failed)?;
    let stdout = child.stdout.take().expect("stdout was configured as a pipe");
    let stderr = child.stderr.take().expect("stderr was configured as a pipe");
    let tails = Tail::start(stdout).and_then(|out| Ok((out, Tail::start(stderr)?)));
    let (stdout, stderr) = tails.map_err(LaunchError::Thread)?;
    let status = child.wait().map_err(failed)?;
    stdout.finish();
    stderr.finish();
    Ok(Installed { success: status.success(), stdout: stdout.text(), stderr: stderr.text() })
}
