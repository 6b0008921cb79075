//! One question to git: no shell, a cleared environment, a time limit and a
//! size limit.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::{Duration, Instant};

use rlxp_fs::environment;
use rustix::process::Signal;

use super::is_commit;
use crate::child::{isolate, signal_group};
use crate::search_path;

/// How long one question may take. Git needs milliseconds, or seconds on a busy machine; without an answer,
/// a repository would count as missing.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Room for the settings of a repository and for single lines.
const SHORT_BYTES: usize = 1024 * 1024;

/// The result of a query.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// What git printed.
    Answer(Vec<u8>),
    /// It printed more than the limit.
    TooLong,
    /// It took longer than the limit.
    TimedOut,
    /// It is not installed, or it failed.
    Failed,
}

/// Git at one folder.
pub(super) struct Git {
    folder: PathBuf,
    /// Names of settings that run programs on content; all are emptied.
    filters: Vec<OsString>,
    time_limit: Duration,
}

impl Git {
    /// None outside a work tree, or without git.
    pub(super) fn open(folder: &Path) -> Option<Self> {
        let mut git = Self { folder: folder.to_owned(), filters: Vec::new(), time_limit: TIME_LIMIT };
        if git.line(&["rev-parse", "--is-inside-work-tree"])? != "true" {
            return None;
        }
        let Asked::Answer(names) = git.ask(&["config", "--null", "--name-only", "--list"], SHORT_BYTES)
        else {
            // Without the list of filters they can't be switched off.
            return None;
        };
        git.filters =
            names.split(|byte| *byte == 0).filter(|name| name.starts_with(b"filter.")).map(os).collect();
        Some(git)
    }

    /// The commit that `name` refers to in the work tree around a folder; `None` without such a commit, work tree or
    /// git. One call is enough if no content is read, since no filter can run then.
    pub(super) fn commit(folder: &Path, name: &str) -> Option<String> {
        let git = Self { folder: folder.to_owned(), filters: Vec::new(), time_limit: TIME_LIMIT };
        let answer = git.line(&["rev-parse", "--is-inside-work-tree", name])?;
        answer.strip_prefix("true\n").filter(|commit| is_commit(commit)).map(str::to_owned)
    }

    /// The answer when it is one line.
    pub(super) fn line(&self, words: &[&str]) -> Option<String> {
        let Asked::Answer(bytes) = self.ask(words, SHORT_BYTES) else { return None };
        let text = String::from_utf8(bytes).ok()?;
        Some(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// Asks about the whole work tree except for `excluded`. `words` end with `--`.
    pub(super) fn ask_about(&self, words: &[&str], excluded: &[&Path], limit: usize) -> Asked {
        let mut command = self.command(words);
        command.arg(":(top)");
        for path in excluded {
            let mut pattern = OsString::from(":(exclude,literal)");
            pattern.push(path);
            command.arg(pattern);
        }
        run(&mut command, limit, self.time_limit)
    }

    /// Gives every question from now on this much time.
    pub(super) fn set_time_limit(&mut self, time_limit: Duration) {
        self.time_limit = time_limit;
    }

    /// Asks with more variables than usual.
    pub(super) fn ask_with(&self, words: &[&OsStr], variables: &[(&str, &OsStr)], limit: usize) -> Asked {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        run(&mut command, limit, self.time_limit)
    }

    /// Asks with more variables than usual, and gives git something to read.
    pub(super) fn ask_given(
        &self,
        words: &[&str],
        variables: &[(&str, &OsStr)],
        input: &[u8],
        limit: usize,
    ) -> Asked {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        run_given(&mut command, Some(input.to_vec()), limit, self.time_limit)
    }

    fn ask(&self, words: &[&str], limit: usize) -> Asked {
        run(&mut self.command(words), limit, self.time_limit)
    }

    fn command(&self, words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.folder).env_clear();
        search_path::restrict(&mut command);
        if let Some(home) = environment::variable("HOME") {
            command.env("HOME", home);
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            // An incomplete clone would fetch what is missing, through any transport.
            .env("GIT_NO_LAZY_FETCH", "1")
            // One object that is shown in place of another makes a commit mean something else.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_ALLOW_PROTOCOL", "");
        // Given as variables, because a name may contain the '=' that ends it in `-c`.
        command.env("GIT_CONFIG_COUNT", self.filters.len().to_string());
        for (number, name) in self.filters.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), "");
        }
        command.args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
        // A file beside the objects that says what they hold.
        command.args(["-c", "core.commitGraph=false"]);
        // An index of our own would otherwise leave a file beside the repository's.
        command.args(["-c", "core.splitIndex=false"]);
        command.args(words);
        command
    }
}

/// Runs `command` to its end, or ends it at a limit.
fn run(command: &mut Command, limit: usize, time_limit: Duration) -> Asked {
    run_given(command, None, limit, time_limit)
}

/// The same, with `input` on its standard input.
fn run_given(command: &mut Command, input: Option<Vec<u8>>, limit: usize, time_limit: Duration) -> Asked {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
    isolate(command);
    let deadline = Instant::now() + time_limit;
    let Ok(mut child) = command.spawn() else { return Asked::Failed };
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // A git that doesn't read to the end has failed, and says so by its exit code.
        let writing = Builder::new().spawn(move || drop(stdin.write_all(&input)));
        if writing.is_err() {
            end(&mut child);
            return Asked::Failed;
        }
    }
    let stdout = child.stdout.take().expect("stdout was configured as a pipe");
    let (sender, receiver) = channel();
    let reading = Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(limit as u64 + 1).read_to_end(&mut bytes);
        // An error means that the answer isn't waited for any more.
        let _ = sender.send(read.map(|_| bytes));
    });
    if reading.is_err() {
        end(&mut child);
        return Asked::Failed;
    }
    let asked = match receiver.recv_timeout(time_limit) {
        Ok(Ok(bytes)) if bytes.len() > limit => Asked::TooLong,
        Ok(Ok(bytes)) => match ended_well(&mut child, deadline) {
            Some(true) => Asked::Answer(bytes),
            Some(false) => Asked::Failed,
            None => Asked::TimedOut,
        },
        Ok(Err(_)) => Asked::Failed,
        Err(_) => Asked::TimedOut,
    };
    end(&mut child);
    asked
}

/// Whether the child succeeded; `None` if it hasn't exited in time.
fn ended_well(child: &mut Child, deadline: Instant) -> Option<bool> {
    // A process that has closed its output is about to exit.
    let mut pause = Duration::from_micros(50);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(pause),
            Ok(None) => return None,
            Err(_) => return Some(false),
        }
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

/// Ends a child that is still there, with its whole group.
fn end(child: &mut Child) {
    if let Ok(None) = child.try_wait() {
        // Not yet reaped, so the number still is its own.
        let _ = signal_group(child.id(), Signal::KILL);
        let _ = child.wait();
    }
}

/// The bytes as a name, which on Unix may be any bytes.
pub(super) fn os(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: usize, time_limit: Duration) -> Asked {
        run(Command::new("/bin/sh").args(["-c", script]), limit, time_limit)
    }

    #[test]
    fn an_answer_has_limits_of_size_and_time() {
        let long = Duration::from_secs(20);
        assert_eq!(shell("printf abc", 3, long), Asked::Answer(b"abc".to_vec()));
        assert_eq!(shell("printf abcd", 3, long), Asked::TooLong);
        assert_eq!(shell("while :; do echo x; done", 1000, long), Asked::TooLong);
        assert_eq!(shell("printf abc; exit 1", 3, long), Asked::Failed);
        let short = Duration::from_millis(30);
        assert_eq!(shell("while :; do :; done", 3, short), Asked::TimedOut);
        assert_eq!(shell("exec >&-; while :; do :; done", 3, short), Asked::TimedOut);
        assert_eq!(run(&mut Command::new("/nowhere/git"), 3, long), Asked::Failed);
    }

    #[test]
    fn input_of_any_length_is_passed_on() {
        let long = Duration::from_secs(20);
        let given = |script: &str, length: usize| {
            run_given(Command::new("/bin/sh").args(["-c", script]), Some(vec![b'x'; length]), 1 << 21, long)
        };
        assert_eq!(given("cat", 1 << 20), Asked::Answer(vec![b'x'; 1 << 20]));
        assert_eq!(given("cat", 0), Asked::Answer(Vec::new()));
        // More than a pipe holds, to a program that doesn't read it.
        assert_eq!(given("printf abc", 1 << 20), Asked::Answer(b"abc".to_vec()));
    }
}
