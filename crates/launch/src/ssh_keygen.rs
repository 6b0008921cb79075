//! The person's own `ssh-keygen`, on their terminal: it creates a key for approvals and signs with it.
//!
//! It asks for passphrases itself, at the terminal that it finds. rlx sees the public key and the signature, and never
//! a private key.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::child::default_signals;
use crate::search_path;

const PROGRAM: &str = "ssh-keygen";

/// Creates a key pair at `path` and `path.pub`; `false` if `ssh-keygen` or the person declined. An existing file is
/// never overwritten without the person's answer.
pub fn create_key(path: &Path, comment: &str) -> io::Result<bool> {
    let mut command = start();
    command.args(["-q", "-t", "ed25519", "-C", comment, "-f"]).arg(path);
    Ok(command.status()?.success())
}

/// The signature of `statement` by a key, armored; `None` if `ssh-keygen` or the person declined.
pub fn sign(key: &Path, namespace: &str, statement: &[u8]) -> io::Result<Option<String>> {
    let mut command = start();
    let words: [OsString; 6] =
        ["-Y".into(), "sign".into(), "-f".into(), key.into(), "-n".into(), namespace.into()];
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it ended without reading, its exit code says so.
        let _ = stdin.write_all(statement);
    }
    let output = child.wait_with_output()?;
    Ok(String::from_utf8(output.stdout).ok().filter(|_| output.status.success()))
}

fn start() -> Command {
    let mut command = Command::new(PROGRAM);
    search_path::restrict(&mut command);
    // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(default_signals);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_missing_signs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let signed = sign(&folder.path().join("nothing"), "rlx-approval", b"text").unwrap();
        assert_eq!(signed, None);
    }
}
