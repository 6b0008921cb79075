//! The process that writes a run, and whether it still does.

use rlxp_fs::Machine;
use serde::{Deserialize, Serialize};

/// A process that writes a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// The machine's name.
    pub host: String,
    /// The machine's installation number, empty when unknown.
    #[serde(default)]
    pub machine_id: String,
    /// The boot it runs in, empty when unknown.
    pub boot_id: String,
    /// Its process namespace, empty when unknown.
    #[serde(default)]
    pub process_namespace: String,
    /// Its process number.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub process_start: u64,
    /// When it claimed the run, RFC 3339.
    #[serde(default)]
    pub claimed: String,
    /// What it claimed the run for.
    #[serde(default, skip_serializing_if = "Purpose::is_training")]
    pub purpose: Purpose,
}

/// What a run is claimed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To train it.
    #[default]
    Train,
    /// To remove it. If the process dies before it has, the run is as it was.
    Remove,
}

impl Purpose {
    fn is_training(&self) -> bool {
        *self == Purpose::Train
    }
}

/// Whether a writer still runs, as far as it can be known from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It has provably exited.
    Gone,
    /// Nothing here can tell.
    Unknown,
}

impl Writer {
    /// This process.
    pub fn here(machine: &dyn Machine, claimed: &str) -> Self {
        let pid = machine.process_id();
        Self {
            host: machine.host(),
            machine_id: machine.machine_id(),
            boot_id: machine.boot_id(),
            process_namespace: machine.process_namespace(),
            pid,
            process_start: machine.process_start(pid).unwrap_or_default(),
            claimed: claimed.to_owned(),
            purpose: Purpose::Train,
        }
    }

    /// Whether it is still running. Proof that it has exited is: the same boot
    /// and process namespace with no process of its number and start time, or
    /// another boot of the same machine.
    pub fn liveness(&self, machine: &dyn Machine) -> Liveness {
        let boot = machine.boot_id();
        if !boot.is_empty() && boot == self.boot_id {
            if self.process_namespace != machine.process_namespace() {
                return Liveness::Unknown;
            }
            return match machine.process_start(self.pid) {
                Some(start) if start == self.process_start => Liveness::Alive,
                _ => Liveness::Gone,
            };
        }
        let same_machine = self.host == machine.host() && self.machine_id == machine.machine_id();
        if same_machine && !boot.is_empty() && !self.boot_id.is_empty() {
            Liveness::Gone
        } else {
            Liveness::Unknown
        }
    }
}
