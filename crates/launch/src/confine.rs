//! Runs one step of a governed run in a sandbox: proposed code can see and change only what the step needs,
//! and no process survives its supervisor.
//!
//! A step is three processes below the supervisor, which has threads and so can't do any of this itself:
//!
//! | process | what | what it does |
//! |---|---|---|
//! | helper | `rlx __confine`, one thread | joins control groups, enters new namespaces, waits for the keeper |
//! | keeper | first process of the new process namespace | mounts the step's tree, reaps exited processes, ends with the supervisor |
//! | step | the program of the order | drops every privilege, then is executed |
//!
//! Where a process namespace isn't available, the helper also acts as the keeper and kills
//! remaining processes by walking `/proc`.
//!
//! The supervisor holds one end of a pipe (the *lifeline*) for as long as it lives: its closing ends everything, however
//! the supervisor ended. Reports come back through a second pipe, one line each.
//!
//! Each of the processes has a module: [`mod@helper`], [`keeper`], [`step`]; the supervisor's side is
//! [`Confined`]. What the pieces do: [`namespaces`] enters them, [`surroundings`] has [`tree`] make the
//! code visible, [`visible`] find out what else the step sees, and [`root`] build a root from that alone; [`files`]
//! limits reading and writing, [`privileges`] drops the rest, [`syscalls`] refuses what no namespace separates, and
//! [`program`] checks the program right before it is executed.

mod confined;
mod files;
mod helper;
mod keeper;
mod mounts;
mod namespaces;
mod privileges;
mod probe;
mod processes;
mod program;
mod report;
mod root;
mod step;
mod surroundings;
mod syscalls;
mod tree;
mod visible;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::RawFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use confined::Confined;
pub(crate) use privileges::close_the_rest;
pub use probe::{probe, probe_here};
pub use visible::is_of_the_system;

use crate::order::{ConfinementRequest, Mechanisms, StepOrder};

/// How the program of a step ended. Exactly one of the two is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepExit {
    /// Its exit code, when it returned one.
    pub code: Option<i32>,
    /// The signal that killed it otherwise.
    pub signal: Option<i32>,
}

/// The body of `rlx __confine`; returns the exit code.
pub fn helper() -> u8 {
    helper::run()
}

/// The environment variable that lists disabled mechanisms, separated by commas.
const WITHOUT: &str = "RLX_WITHOUT";

/// The helper's instructions, sent through its standard input. Values of environment variables are not in
/// it: the helper is started with exactly the step's environment and hands it on.
#[derive(Serialize, Deserialize)]
struct Setup {
    /// The descriptor for reports.
    report: RawFd,
    /// The descriptor of the lifeline.
    lifeline: RawFd,
    /// The descriptor of the inotify instance.
    opened: RawFd,
    /// Disabled mechanisms.
    without: BTreeSet<String>,
    /// `cgroup.procs` files that the helper writes its pid to.
    join: Vec<PathBuf>,
    /// The one folder outside its tree that the step may write.
    own: PathBuf,
    /// Files and folders of the run that stay readable even below something hidden.
    readable: Vec<PathBuf>,
    /// Bytes of memory that the step may use.
    memory: u64,
    /// The requested sandboxing.
    wanted: ConfinementRequest,
    /// What to run; `None` to probe what is available.
    step: Option<StepOrder>,
}

impl Setup {
    /// Whether a mechanism was disabled, with the reason to record.
    fn switched_off(&self, mechanism: &str) -> Option<String> {
        self.without.contains(mechanism).then(|| format!("{mechanism} is disabled by {WITHOUT}"))
    }
}

/// One line of the report.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Report {
    /// The ancestor of all processes of the step, by its pid in the supervisor's namespace.
    Keeper(u32),
    /// The files of the inotify watch descriptors.
    Watching(BTreeMap<i32, Vec<String>>),
    /// The program is about to be executed.
    Started(Mechanisms),
    /// It won't be.
    Refused(String),
    Ended(StepExit),
}

/// The mechanisms that [`WITHOUT`] names.
fn without() -> BTreeSet<String> {
    let named = rlxp_fs::environment::variable(WITHOUT).unwrap_or_default();
    named.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
