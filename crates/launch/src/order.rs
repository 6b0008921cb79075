//! The orders and reports of the supervisor of a governed run: plain data, stored as files in the run's
//! folder so that another process can take over at any time.
//!
//! The run's folder holds, for a step named `train`:
//!
//! | name | what | who writes it |
//! |---|---|---|
//! | `train/` | all that the step may write, with `tmp`, `home` and `cache` in it | the step |
//! | `train.tree/` | where the step sees its code | the step, through an overlay |
//! | `train.changed/` | files that differ from the base: the candidate's, then whatever the step writes into its tree | launch, then the step through the overlay |
//! | `train.log` | its output, capped and without secrets | the supervisor |
//! | `train.json` | how it ended ([`StepEnd`]) | the supervisor |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

/// The file in a step's own folder to which Python code reports where it was loaded from, one path per line.
pub const LOADED_FILE: &str = ".rlx-loaded";

/// Everything that the supervisor of one run needs. Written before it starts and never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOrder {
    /// Names the run, once and for all.
    pub key: String,
    /// The run's folder, absolute.
    pub folder: PathBuf,
    /// What to run, in order; stops after the first that fails.
    pub steps: Vec<StepOrder>,
    /// When to end it.
    pub limits: Limits,
    /// The requested sandboxing.
    pub confinement: ConfinementRequest,
    /// Files outside of the run's folder that its trees link to. They may change meanwhile, so they are
    /// checked again after the run.
    pub linked: Vec<LinkedFile>,
    /// Whether training runs changed code, so that its output is searched for files that can run code when they are
    /// loaded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scan: bool,
    /// Files without which a run that ended well has failed after all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectedFile>,
}

/// A file that the steps of a run have to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFile {
    /// What is read from it, such as `the metric success`.
    pub purpose: String,
    /// Patterns of paths in the run's folder, one of which has to match.
    pub any_of: Vec<String>,
}

/// A file that is too large to be copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkedFile {
    /// Where it is, absolute.
    pub file: PathBuf,
    /// What it must be.
    pub digest: Digest,
    /// How it was found before the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FileState>,
}

/// Which file a name led to, and when anything about it last changed. As long as this stays the same, so does what the
/// file holds: one of the two times can't be set back but with the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileState {
    pub device: u64,
    pub inode: u64,
    pub length: u64,
    /// Its modification time, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything about it really did.
    pub changed: i64,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepOrder {
    /// `preflight`, `smoke`, `train` or `eval`; names its files.
    pub name: String,
    /// The program, absolute, and its arguments.
    pub argv: Vec<String>,
    /// What the program must be at the moment it is executed, as [`crate::programs::Chain`] tells it, with
    /// its interpreters; `None` if it was not checked before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Digest>,
    /// The code it runs on.
    pub tree: TreeOrder,
    /// Where it starts, relative to the tree; empty for its top.
    pub folder: String,
    /// Names of variables that it gets from the supervisor's own environment. Values are never
    /// written to a file.
    pub environment: Vec<String>,
    /// What is recorded of those values, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, ValueMark>,
    /// Variables with values that aren't secret.
    pub set: BTreeMap<String, String>,
    /// Files and folders outside of the run that it may read, absolute: the roots of its interpreter, and the paths that
    /// the runbook lists. The system's folders, its own and those of earlier steps are always there.
    #[serde(default)]
    pub readable: Vec<PathBuf>,
    /// Files of the tree that it must have opened; otherwise it ran something else.
    pub watched: Vec<String>,
    /// Files that it must produce in its folder.
    pub artifacts: Vec<String>,
    /// Files of an earlier step, absolute, without which it is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<PathBuf>,
    /// Whether a failure means that something is missing here, not that the run failed.
    pub is_check: bool,
}

/// What is recorded of the value of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueMark {
    /// As [`value_digest`] tells it; `None` if the variable wasn't set.
    pub digest: Option<Digest>,
    /// The run of the reference that had another value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs_from: Option<String>,
}

/// The digest of a variable's value in one run. The run's key is part of it, so that equal values of two runs don't show.
pub fn value_digest(run: &str, name: &str, value: &str) -> Digest {
    Digest::hash(&serde_json::to_vec(&[run, name, value]).expect("texts are plain data"))
}

/// Code for one step: a base that never changes, and the differences from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeOrder {
    /// The folder that holds the code as it was recorded. Read-only.
    pub base: PathBuf,
    /// A folder with files that the run needs and the base doesn't have, under their names in the tree. Read-only.
    pub inputs: Option<PathBuf>,
    /// The folder that holds changed and added files under their names in the tree.
    pub changed: PathBuf,
    /// An empty folder on the same disk as `changed`, for the overlay's own use.
    pub work: PathBuf,
    /// Where the two are seen together.
    pub at: PathBuf,
    /// Files that are removed.
    pub removed: Vec<String>,
}

/// When a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Seconds of wall clock, all steps together.
    pub wall_clock: u64,
    /// Seconds of processor time, all steps and processes together.
    pub cpu_time: u64,
    /// Bytes of memory, all processes of a step together.
    pub memory: u64,
    /// Processes and threads of a step.
    pub processes: u64,
    /// Bytes on the disk, all steps together.
    pub disk: u64,
    /// Bytes of output of a step.
    pub output: u64,
    /// Seconds without output and without a changed file.
    pub silence: Option<u64>,
}

/// The requested sandboxing of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfinementRequest {
    /// With less than this nothing is started.
    pub least: Level,
    pub network: Reach,
    /// Files and folders that it must not read, such as keys and rlx's own state. Folders of the run inside one of
    /// them stay readable.
    pub hidden: Vec<PathBuf>,
}

/// How strongly a run is sandboxed, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Not at all.
    None,
    /// By some of the mechanisms.
    Partial,
    /// Files, a root of its own, processes, network, system calls, and limits on memory and processes.
    Full,
}

/// What a run may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Nothing.
    None,
    /// Itself, through the loopback device of a network of its own.
    Loopback,
    Everything,
}

/// The sandboxing mechanisms of a run; `None` means unavailable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mechanisms {
    /// Files, such as `landlock 7`.
    pub files: Option<String>,
    /// What exists for it: `own root`.
    #[serde(default)]
    pub root: Option<String>,
    /// Processes: `pid namespace`.
    pub processes: Option<String>,
    /// Network: `network namespace`, or `the network was agreed`.
    pub network: Option<String>,
    /// Keys of the kernel and kinds of sockets: `seccomp filter`.
    #[serde(default)]
    pub syscalls: Option<String>,
    /// The tree: `overlay` or `copy`.
    pub tree: Option<String>,
    /// The limit on memory: `cgroup v2`, `cgroup v1` or `polling`.
    pub memory: Option<String>,
    /// The limit on processes, likewise.
    pub process_count: Option<String>,
    /// Why a mechanism is unavailable.
    pub missing: BTreeMap<String, String>,
}

/// The name under which a use of the switch for tests is recorded among what is missing.
pub(crate) const TEST_SWITCH: &str = "test switch";

/// What has no mechanism of its own and still keeps sandboxing from being full. Only mounts can protect from files and
/// sockets of other programs, the modes of readable files, and what `/proc` says about other processes; only a namespace
/// from System V memory and queues. A switch for tests can only lower the level, whatever it names.
const GAPS: [&str; 5] = ["mounts", "root", "proc", "ipc", TEST_SWITCH];

impl Mechanisms {
    /// Why they are less than [`Level::Full`], as text; empty if they aren't.
    pub fn why_not_full(&self) -> String {
        let parts = ["files", "processes", "network", "syscalls"].iter().chain(&GAPS);
        let reasons: Vec<&str> =
            parts.filter_map(|part| self.missing.get(*part)).map(String::as_str).collect();
        reasons.join("; ")
    }

    /// What they amount to.
    pub fn level(&self) -> Level {
        let parts = [
            &self.files,
            &self.root,
            &self.processes,
            &self.network,
            &self.syscalls,
            &self.memory,
            &self.process_count,
        ];
        let has_gap = GAPS.iter().any(|gap| self.missing.contains_key(*gap));
        match parts.iter().all(|part| part.is_some()) {
            true if !has_gap => Level::Full,
            // Limits by polling are always available and don't isolate anything.
            _ if [&self.files, &self.processes].iter().any(|part| part.is_some()) => Level::Partial,
            _ => Level::None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepEnd {
    pub name: String,
    pub how: StepOutcome,
    pub reason: String,
    /// Its exit code, when it returned one.
    pub code: Option<i32>,
    /// The signal that killed it otherwise.
    pub signal: Option<i32>,
    /// Resources it used.
    pub usage: Usage,
    /// How it was sandboxed.
    pub mechanisms: Mechanisms,
    /// Files among those watched that were opened in the tree.
    pub opened: BTreeSet<String>,
    /// Where Python code with the name of a watched file was really loaded from.
    pub loaded: BTreeSet<String>,
}

/// How a step or a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// It exited with 0 and produced the required files.
    Ok,
    /// It exited with another code, was killed by a signal, or didn't produce a required file.
    Failed,
    /// It reached a limit.
    Limit,
    /// It was cancelled.
    Cancelled,
    /// It could not be started as approved, or a check found that something is missing, before anything but checks
    /// had run.
    Blocked,
}

/// Resources used by a step or a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Seconds.
    pub wall_clock: f64,
    /// Seconds of processors.
    pub cpu_time: f64,
    /// The most bytes of memory that were seen at once.
    pub memory: u64,
    /// The most processes and threads that were seen at once.
    pub processes: u64,
    /// Bytes that the run's folder had at the end.
    pub disk: u64,
    /// Bytes of output.
    pub output: u64,
}

impl Usage {
    /// Both, one after the other.
    #[must_use]
    pub fn then(self, next: Usage) -> Usage {
        Usage {
            wall_clock: self.wall_clock + next.wall_clock,
            cpu_time: self.cpu_time + next.cpu_time,
            memory: self.memory.max(next.memory),
            processes: self.processes.max(next.processes),
            disk: next.disk,
            output: self.output.saturating_add(next.output),
        }
    }
}

impl RunOrder {
    /// The bytes that go into a file. The supervisor gets their digest, so that the order can't be
    /// replaced.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("an order is plain data");
        bytes.push(b'\n');
        bytes
    }

    /// The order that `bytes` hold, if they have this digest.
    pub fn from_bytes(bytes: &[u8], digest: Digest) -> Result<Self, String> {
        if Digest::hash(bytes) != digest {
            return Err("the order does not match its digest".to_owned());
        }
        serde_json::from_slice(bytes).map_err(|error| format!("can't read the order: {error}"))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::None => "none",
            Level::Partial => "partial",
            Level::Full => "full",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_takes_all_of_them() {
        let there = || Some("yes".to_owned());
        let full = Mechanisms {
            files: there(),
            root: there(),
            processes: there(),
            network: there(),
            syscalls: there(),
            tree: None,
            memory: there(),
            process_count: there(),
            missing: BTreeMap::new(),
        };
        assert_eq!(full.level(), Level::Full);
        let without = [
            Mechanisms { files: None, ..full.clone() },
            Mechanisms { root: None, ..full.clone() },
            Mechanisms { processes: None, ..full.clone() },
            Mechanisms { network: None, ..full.clone() },
            Mechanisms { syscalls: None, ..full.clone() },
            Mechanisms { memory: None, ..full.clone() },
            Mechanisms { process_count: None, ..full.clone() },
        ];
        assert!(without.iter().all(|some| some.level() == Level::Partial));
        for gap in GAPS {
            let missing = BTreeMap::from([(gap.to_owned(), "why".to_owned())]);
            let gap = Mechanisms { missing, ..full.clone() };
            assert_eq!((gap.level(), gap.why_not_full()), (Level::Partial, "why".to_owned()));
        }
        let reachable = BTreeMap::from([("proc".to_owned(), "can't mount a new /proc".to_owned())]);
        let gap = Mechanisms { missing: reachable, ..full.clone() };
        assert_eq!((gap.level(), gap.why_not_full()), (Level::Partial, "can't mount a new /proc".to_owned()));
        let slower = BTreeMap::from([("overlay".to_owned(), "no overlay".to_owned())]);
        let copied = Mechanisms { missing: slower, ..full.clone() };
        assert_eq!((copied.level(), copied.why_not_full()), (Level::Full, String::new()));
        let limits = Mechanisms { memory: there(), process_count: there(), ..Mechanisms::default() };
        assert_eq!((limits.level(), Mechanisms::default().level()), (Level::None, Level::None));
    }
}
