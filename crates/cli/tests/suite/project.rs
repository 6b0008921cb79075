//! A project in a temporary folder with a config that trains in an instant, and
//! `rlx` run inside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Trains in a fraction of a second. It sets everything, since starter configs
/// may change at any time.
pub(crate) const TINY: &str = "\
run_name: tiny
threads: 2
env: {id: CartPole-v1, num_envs: 4, normalize_observations: false, normalize_rewards: false}
algo:
  name: ppo
  total_timesteps: 2048
  rollout_steps: 64
  batch_size: 64
  update_epochs: 2
  learning_rate: 0.001
  clip_range: 0.2
  gamma: 0.98
  gae_lambda: 0.8
  entropy_coef: 0.0
  value_coef: 0.5
  max_grad_norm: 0.5
  normalize_advantages: true
policy: {type: mlp, hidden_sizes: [8, 8], activation: tanh, shared_network: false}
checkpoint: {save_every: 1024, keep: 5}
eval: {every: 1024, episodes: 100, deterministic: true}
";

/// The argument with which `env` starts a program that reacts to Ctrl-C.
pub(crate) const LISTENING: &str = "--default-signal=INT";

/// The program under test.
pub(crate) const RLX: &str = env!("CARGO_BIN_EXE_rlx");

/// A project in folders that are removed when it is dropped.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Project {
    /// An empty project with `tiny.yaml`.
    pub(crate) fn new() -> Self {
        Self::below(&tempfile::env::temp_dir())
    }

    /// The same with its folders below `parent`.
    pub(crate) fn below(parent: &Path) -> Self {
        let folder = || tempfile::tempdir_in(parent).unwrap();
        let project = Self { folder: folder(), home: folder() };
        project.write("tiny.yaml", TINY);
        std::fs::create_dir(project.path("runs")).unwrap();
        project
    }

    /// A project with one completed run, `tiny_001`.
    pub(crate) fn trained() -> Self {
        let project = Self::new();
        project.rlx("train tiny.yaml").expect(0);
        project
    }

    /// Another project with everything that this one has.
    pub(crate) fn copied(&self) -> Self {
        let copy = Self { folder: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap() };
        for (from, to) in [(self.folder(), copy.folder()), (self.home(), copy.home())] {
            let done = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
            assert!(done.success(), "{} can't be copied", from.display());
        }
        copy
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The home of the user who works on the project: no test sees the real one.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Drafts a contract with nothing left open into the active study; its evaluator is `eval/evaluate.py`.
    pub(crate) fn draft_contract(&self) {
        self.write("eval/evaluate.py", "print('evaluating')\n");
        let words = [
            ["--mission", "Balance for longer"],
            ["--metric", "success"],
            ["--metric-source", "eval/scores.json#/success"],
            ["--direction", "higher"],
            ["--smallest-effect", "0.05"],
            ["--failure-score", "0"],
            ["--surface", "ppo=hyperparameter:tiny.yaml:algo.learning_rate=1e-5..1e-2"],
            ["--protected", "eval/**"],
            ["--train", "python train.py --seed {seed}"],
            ["--eval", "python eval/evaluate.py --seed {seed}"],
            ["--baseline", "the config as it is"],
            ["--environments", "CartPole-v1"],
        ];
        self.rlx_with(&[&["contract", "new", "--yes"][..], words.as_flattened()].concat()).expect(0);
    }

    /// Runs `rlx` with the words of `line`.
    pub(crate) fn rlx(&self, line: &str) -> Ran {
        self.rlx_with(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs `rlx` with these arguments.
    pub(crate) fn rlx_with(&self, arguments: &[&str]) -> Ran {
        let output = self.command(RLX).args(arguments).output().unwrap();
        self.ran(format!("rlx {}", arguments.join(" ")), &output)
    }

    /// Runs a line in a shell whose `PATH` has this `rlx`.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let output = self.command("sh").args(["-c", line]).output().unwrap();
        self.ran(line.to_owned(), &output)
    }

    /// `rlx` started so that Ctrl-C interrupts it. A shell without job control makes its jobs, and with them these tests,
    /// ignore Ctrl-C, which rlx respects.
    pub(crate) fn interruptible(&self) -> Command {
        let mut command = self.command("env");
        command.args([LISTENING, RLX]);
        command
    }

    /// A program in the project's folder, without a terminal.
    pub(crate) fn command(&self, program: &str) -> Command {
        let here = Path::new(RLX).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(program);
        command.current_dir(self.folder()).stdin(Stdio::null());
        command.env("PATH", format!("{}:{path}", here.display())).env_remove("NO_COLOR");
        command.env("HOME", self.home());
        for variable in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    pub(crate) fn ran(&self, line: String, output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ran {
            line,
            folder: std::fs::canonicalize(self.folder()).unwrap(),
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

/// The result of a command.
pub(crate) struct Ran {
    line: String,
    folder: PathBuf,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Fails unless the exit code is `code`.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}\n{}", self.line, self.stdout, self.stderr);
        self
    }

    /// Every line of stdout as JSON with a schema.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| {
            let value: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{}: {error} in {line}\n{}", self.line, self.stderr));
            let schema = value["schema"].as_str().unwrap_or_default();
            assert!(schema.starts_with("rlx.") && schema.contains('/'), "{}: {line}", self.line);
            value
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The last line of stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        self.json_lines().pop().unwrap_or_else(|| panic!("{}: no answer\n{}", self.line, self.stderr))
    }

    /// All of it as text that is the same on every machine.
    pub(crate) fn shown(&self) -> String {
        let mut text = format!("$ {}\n", self.line);
        text.push_str(&self.stdout);
        for line in self.stderr.lines() {
            text.push_str(&format!("! {line}\n"));
        }
        text.push_str(&format!("exit {}\n", self.code.unwrap_or(-1)));
        normalise(&text.replace(&self.folder.display().to_string(), "[PROJECT]"))
    }
}

/// Masks what differs between machines and runs: times, hosts, ids, and
/// returns, which depend on the type of CPU.
fn normalise(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = if line.contains(['│', '┤', '└']) {
            "[CURVE]".to_owned()
        } else if let Some((before, _)) = line.split_once(" steps in ") {
            format!("{before} steps in [TIME]")
        } else if line.trim_start().starts_with("trained by") {
            "  trained by [PROGRAM]".to_owned()
        } else if line.starts_with("  id  ") {
            "  id [ID]".to_owned()
        } else {
            masked(line)
        };
        if lines.last() != Some(&line) || line != "[CURVE]" {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// A line with decimals, rates, dates and process ids masked; runs of spaces
/// become one, since they depend on what was masked.
fn masked(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let last = words.last().map(String::as_str);
        let digits = |word: &str| word.chars().any(|c| c.is_ascii_digit());
        let is_decimal = word.contains('.') && word.parse::<f64>().is_ok();
        let is_moment = word.len() >= 10 && word.starts_with("20") && word.as_bytes()[4] == b'-';
        words.push(match word {
            // Temporary names contain a process id.
            _ if word.contains("/.tmp-") => {
                let (before, _) = word.split_once("/.tmp-").unwrap();
                format!("{before}/[TEMPORARY]")
            }
            _ if is_decimal => "#.#".to_owned(),
            _ if is_moment => "[DAY]".to_owned(),
            _ if last == Some("[DAY]") && digits(word) => "[HOUR]".to_owned(),
            _ if word.ends_with("/s") && digits(word) => "[RATE]".to_owned(),
            _ if last == Some("process") && digits(word) => "[PID]".to_owned(),
            _ if words.len() >= 3 && words[words.len() - 3] == "process" && last == Some("on") => {
                "[HOST]".to_owned()
            }
            _ => word.to_owned(),
        });
    }
    format!("{}{}", " ".repeat(indent.min(2)), words.join(" "))
}
