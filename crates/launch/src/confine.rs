//! Runs one step of a governed run apart from everything else: code that somebody (or something) proposed gets to see
//! and to touch what the step needs, and nothing survives the process that looks after it.
//!
//! A step is three processes below the supervisor, which has threads and so can't do any of this itself:
//!
//! | process | what | what it does |
//! |---|---|---|
//! | helper | `rlx __confine`, one thread | joins control groups, enters new namespaces, waits for the keeper |
//! | keeper | first process of the new process namespace | mounts the step's tree, collects the dead, ends with the supervisor |
//! | step | the program of the order | gives up every privilege, then is executed |
//!
//! Where no process namespace can be had, the helper is the keeper too and ends what is left by walking `/proc`.
//!
//! The supervisor holds one end of a pipe (the *lifeline*) for as long as it lives: its closing ends everything, however
//! the supervisor ended. Reports come back through a second pipe, one line each.
//!
//! Each of the processes has a module: [`mod@helper`], [`keeper`], [`step`]; the supervisor's side is [`Confined`].
//! What the pieces do: [`namespaces`] enters them, [`surroundings`] has [`tree`] make the code visible and [`mounts`] hide
//! what else there is, [`files`] limits reading and writing, [`privileges`] gives up the rest, and [`program`] has a last
//! look at what is executed.

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
mod step;
mod surroundings;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::RawFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use confined::Confined;
pub use probe::{probe, probe_here};

use crate::order::{Mechanisms, StepOrder, Wanted};

/// How the program of a step ended. Exactly one of the two is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepExit {
    /// Its exit code, when it returned one.
    pub code: Option<i32>,
    /// The signal that ended it otherwise.
    pub signal: Option<i32>,
}

/// The body of `rlx __confine`; returns the exit code.
pub fn helper() -> u8 {
    helper::run()
}

/// The variable that switches mechanisms off, separated by commas.
const WITHOUT: &str = "RLX_WITHOUT";

/// What the helper is told through its standard input. Values of environment variables are not in it: the helper is
/// started with exactly the step's environment and hands it on.
#[derive(Serialize, Deserialize)]
struct Setup {
    /// The descriptor for reports.
    report: RawFd,
    /// The descriptor of the lifeline.
    lifeline: RawFd,
    /// The descriptor of the inotify instance.
    opened: RawFd,
    /// Mechanisms that are switched off.
    without: BTreeSet<String>,
    /// Files to write oneself into.
    join: Vec<PathBuf>,
    /// The one folder beside its tree that the step may write.
    own: PathBuf,
    /// Folders that stay readable even below something hidden.
    readable: Vec<PathBuf>,
    /// Bytes of memory that the step may use.
    memory: u64,
    /// How much it is to be kept apart.
    wanted: Wanted,
    /// What to run; nothing to find out what can be done.
    step: Option<StepOrder>,
}

impl Setup {
    /// Whether a mechanism was switched off, with the reason that is recorded then.
    fn switched_off(&self, mechanism: &str) -> Option<String> {
        self.without.contains(mechanism).then(|| format!("{mechanism} is switched off by {WITHOUT}"))
    }
}

/// One line of the report.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Report {
    /// The process that all of the step descend from, as the supervisor numbers it.
    Keeper(u32),
    /// Which files the numbers in the inotify events stand for.
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
