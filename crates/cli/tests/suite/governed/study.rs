//! A small RL repository with a governed study in it, and the person who may sign.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::project::RLX;

/// Where the study's files are.
const STUDY: &str = ".rlxp/tasks/balance/studies/tuning";

/// A repository, its user's home, and a folder of keys outside of both.
pub(crate) struct Governed {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
    keys: tempfile::TempDir,
}

/// The result of a command.
pub(crate) struct Ran {
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}\n{}", self.line, self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{}: {error}: {}", self.line, self.stdout))
    }

    /// The codes of a gate's refusals.
    #[track_caller]
    pub(crate) fn codes(&self) -> Vec<String> {
        let answer = self.json();
        let refusals = answer["refusals"].as_array().unwrap_or_else(|| panic!("{}: {answer}", self.line));
        refusals.iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect()
    }
}

impl Governed {
    /// A study that asks for signatures, opened with the keys of one approver, its contract complete.
    pub(crate) fn new() -> Self {
        Self::with("signature")
    }

    /// An empty folder, and a user whose key counts.
    pub(crate) fn empty() -> Self {
        let new = || tempfile::tempdir().unwrap();
        let governed = Self { folder: new(), home: new(), keys: new() };
        governed.key("alice", "ed25519");
        governed.approvers(&["alice"]);
        governed
    }

    pub(crate) fn with(assurance: &str) -> Self {
        let governed = Self::empty();
        governed.write("train.py", "import sys\nprint('training with', sys.argv)\n");
        governed.write("eval/evaluate.py", "print('evaluating')\n");
        governed.write("envs/reward.py", "SCALE = 1.0\n");
        governed.write("configs/ppo.yaml", "lr: 0.0003\n");
        governed.rlx(&format!("study init --task balance --study tuning --assurance {assurance}")).expect(0);
        governed.rlx("study audit --claim train_command:train.py:2").expect(0);
        let surfaces = ["ppo=hyperparameter:configs/ppo.yaml:lr=1e-5..1e-2", "reward=reward:envs/**:edit"];
        let mut words = vec![
            "contract",
            "new",
            "--yes",
            "--metric",
            "success",
            "--metric-source",
            "eval/scores.json#/success",
        ];
        words.extend(["--direction", "higher", "--smallest-effect", "0.05", "--failure-score", "0"]);
        words.extend(surfaces.iter().flat_map(|surface| ["--surface", surface]));
        words.extend(["--protected", "eval/**", "--mission", "Balance for longer", "--baseline", "as it is"]);
        words.extend(["--environments", "CartPole-v1", "--assurance", assurance]);
        words.extend([
            "--train",
            "python train.py --seed {seed}",
            "--eval",
            "python eval/evaluate.py --seed {seed}",
        ]);
        governed.rlx_with(&words).expect(0);
        governed.rlx("contract check").expect(0);
        governed
    }

    /// The same with everything approved by alice.
    pub(crate) fn approved() -> Self {
        let governed = Self::new();
        governed.sign("--all", "alice").expect(0);
        governed
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path(STUDY).join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Replaces a part of a file of the study.
    #[track_caller]
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}");
        std::fs::write(self.file(name), text.replacen(from, to, 1)).unwrap();
    }

    pub(crate) fn rlx(&self, line: &str) -> Ran {
        self.rlx_with(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub(crate) fn rlx_with(&self, words: &[&str]) -> Ran {
        let output = self.command(RLX).args(words).output().unwrap();
        ran(format!("rlx {}", words.join(" ")), &output)
    }

    /// A key pair made by the real ssh-keygen.
    pub(crate) fn key(&self, name: &str, kind: &str) -> PathBuf {
        let file = self.keys.path().join(name);
        let words = ["-q", "-t", kind, "-N", "", "-C", name, "-f"];
        let made = self.command("ssh-keygen").args(words).arg(&file).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        file
    }

    /// Writes the user's list of approvers.
    pub(crate) fn approvers(&self, names: &[&str]) {
        let line = |name: &&str| {
            let public = std::fs::read_to_string(self.keys.path().join(format!("{name}.pub"))).unwrap();
            format!("{name}@example.org {public}")
        };
        let folder = self.home().join(".config/rlx");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("approvers"), names.iter().map(line).collect::<String>()).unwrap();
    }

    /// What `rlx approve WHAT --print` prints.
    pub(crate) fn statement(&self, what: &str) -> String {
        self.rlx(&format!("approve {what} --print")).expect(0).stdout
    }

    /// Signs a text with `ssh-keygen -Y sign`, in a namespace; the signature's file.
    pub(crate) fn signature(&self, text: &str, name: &str, namespace: &str) -> PathBuf {
        let file = self.keys.path().join("statement");
        std::fs::write(&file, text).unwrap();
        let signature = self.keys.path().join("statement.sig");
        let _ = std::fs::remove_file(&signature);
        let mut command = self.command("ssh-keygen");
        command.args(["-q", "-Y", "sign", "-n", namespace, "-f"]).arg(self.keys.path().join(name)).arg(&file);
        let signed = command.output().unwrap();
        assert!(signed.status.success(), "{signed:?}");
        signature
    }

    /// Approves `what` with a signature of what is printed now.
    pub(crate) fn sign(&self, what: &str, name: &str) -> Ran {
        let signature = self.signature(&self.statement(what), name, "rlx-approval");
        self.hand_in(what, &signature)
    }

    pub(crate) fn hand_in(&self, what: &str, signature: &Path) -> Ran {
        self.rlx(&format!("approve {what} --signature {} --json", signature.display()))
    }

    /// Approves at a terminal that a program controls: reads the digest from the screen and types it.
    pub(crate) fn approve_through_a_pty(&self, what: &str) -> Ran {
        let line = format!("rlx approve {what}");
        let mut command = self.command("script");
        command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("`script` of util-linux is installed");
        let (mut screen, mut stdout) = (Vec::new(), child.stdout.take().unwrap());
        let mut byte = [0];
        while stdout.read(&mut byte).unwrap() == 1 {
            screen.push(byte[0]);
            if screen.ends_with(b" to approve, anything else to cancel: ") {
                let text = String::from_utf8_lossy(&screen).into_owned();
                let code = text.rsplit("type ").next().unwrap().split(' ').next().unwrap();
                child.stdin.as_mut().unwrap().write_all(format!("{code}\n").as_bytes()).unwrap();
            }
        }
        let code = child.wait().unwrap().code();
        Ran { line, code, stdout: String::from_utf8_lossy(&screen).into_owned(), stderr: String::new() }
    }

    /// The kinds of the ledger's records.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let records = self.read("ledger.jsonl");
        let kind =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().to_owned();
        records.lines().map(kind).collect()
    }

    /// The body of the last record of a kind.
    #[track_caller]
    pub(crate) fn last(&self, kind: &str) -> Value {
        let records = self.read("ledger.jsonl");
        let mut of_kind = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        of_kind.rfind(|record| record["kind"] == kind).unwrap_or_else(|| panic!("no {kind}: {records}"))["body"].clone()
    }

    /// The status of a section's approval.
    pub(crate) fn standing(&self, section: &str) -> String {
        let status = self.rlx("study status --json").expect(0).json();
        let approvals = status["approvals"].as_array().unwrap_or_else(|| panic!("{status}"));
        let line =
            approvals.iter().find(|line| line["target"] == section).unwrap_or_else(|| panic!("{status}"));
        line["standing"].as_str().unwrap().to_owned()
    }

    /// The user's home.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// A program as the user starts it.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let here = Path::new(RLX).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).stdin(Stdio::null()).env("HOME", self.home());
        command.env("PATH", format!("{}:{path}", here.display())).env("TERM", "xterm").env("USER", "mallory");
        for variable in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "SSH_AUTH_SOCK"] {
            command.env_remove(variable);
        }
        // Those of a git hook that runs the tests would lead into another repository.
        for (variable, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_"))
        {
            command.env_remove(variable);
        }
        command
    }
}

pub(crate) fn ran(line: String, output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ran { line, code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}
