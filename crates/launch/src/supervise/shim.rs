//! Starts the supervisor of a run as a process that lives on without the one that started it.
//!
//! It waits for one word before it does anything: the starter first records that it was started, so that no
//! run exists without a record. If the starter dies before that, the pipe closes and the supervisor exits.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::Builder;

use rustix::fs::{Mode, OFlags};

use crate::child::default_signals;
use crate::permit::Permit;
use crate::worker::{LaunchError, WorkerCommand};

const GO: &[u8] = b"go\n";

/// A supervisor that waits for its start signal. Dropping it without [`Shim::go`] makes it exit.
pub struct Shim {
    pub process: u32,
    child: Child,
}

/// Starts this program with `args` as the supervisor of a run: in a session of its own, standard input a pipe, what it
/// says appended to `<folder>/shim.log`, and not tied to this process's life.
pub fn start_shim(_permit: &Permit, args: &[OsString], folder: &Path) -> Result<Shim, LaunchError> {
    let WorkerCommand { program, args, .. } = WorkerCommand::this_program(args.iter().cloned())?;
    start(&program, &args, folder).map_err(|source| LaunchError::Start { program, source })
}

fn start(program: &Path, args: &[OsString], folder: &Path) -> io::Result<Shim> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let log = rustix::fs::open(folder.join("shim.log"), flags, Mode::from_raw_mode(0o644))?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
    // SAFETY: the closure runs between fork and exec. It makes system calls only (setsid, signal), allocates nothing
    // and takes no lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            // A starter under `nohup` ignores SIGHUP, and the supervisor would inherit that.
            default_signals()
        });
    }
    let child = command.spawn()?;
    Ok(Shim { process: child.id(), child })
}

impl Shim {
    /// Lets it start. It is independent from here on.
    pub fn go(mut self) -> io::Result<()> {
        let mut stdin = self.child.stdin.take().expect("stdin was configured as a pipe");
        stdin.write_all(GO)?;
        drop(stdin);
        // Collected when it ends, should this process still be there; otherwise by init.
        let mut child = self.child;
        // Without a thread left it stays a zombie until this process ends, which harms nothing.
        let _ = Builder::new().spawn(move || child.wait());
        Ok(())
    }

    /// Its exit code, if it has ended; 128 and the number of the signal when it was killed.
    pub fn ended(&mut self) -> Option<i32> {
        let status = self.child.try_wait().ok()??;
        status.code().or_else(|| status.signal().map(|signal| 128 + signal))
    }
}

/// Waits for the signal to start on standard input; false if the other side is gone or sends something else.
pub fn wait_for_go() -> bool {
    is_go(io::stdin().lock())
}

fn is_go(mut input: impl Read) -> bool {
    let mut word = [0; GO.len()];
    input.read_exact(&mut word).is_ok() && word == GO
}

#[cfg(test)]
mod tests {
    use rlxp_fs::{FsExt, RealFs};

    use super::*;

    #[test]
    fn only_the_word_counts() {
        assert!(is_go(&b"go\n"[..]));
        for other in ["", "go", "no\n", "og\n"] {
            assert!(!is_go(other.as_bytes()), "{other:?}");
        }
    }

    fn shell(script: &str, folder: &Path) -> Shim {
        start(Path::new("/bin/sh"), &["-c".into(), script.into()], folder).unwrap()
    }

    /// Polls for as long as a busy machine may need.
    fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let deadline = rlxp_fs::clock::monotonic() + std::time::Duration::from_secs(30);
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            assert!(rlxp_fs::clock::monotonic() < deadline, "no {what}");
            std::thread::yield_now();
        }
    }

    fn end(shim: &mut Shim) -> i32 {
        wait_for("end", || shim.ended())
    }

    #[test]
    fn it_gets_the_word_in_a_session_of_its_own_and_its_words_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        // The second tells when the first has read its word and written what it has to say.
        let script = "read word; read -r _ _ _ _ _ session _ < /proc/self/stat; echo $word $$ $session";
        let shim = shell(script, folder.path());
        let process = shim.process;
        shim.go().unwrap();
        let said = wait_for("word", || {
            let text = RealFs.read_text(&folder.path().join("shim.log"), 4096).unwrap();
            text.ends_with('\n').then_some(text)
        });
        assert_eq!(said, format!("go {process} {process}\n"));
    }

    #[test]
    fn it_learns_that_its_starter_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut shim = shell("read word || exit 7", folder.path());
        drop(shim.child.stdin.take());
        assert_eq!(end(&mut shim), 7);
        let mut killed = shell("kill -KILL $$", folder.path());
        assert_eq!(end(&mut killed), 128 + 9);
    }
}
