//! File systems and machines for tests: one that fails at a chosen call, one
//! in memory that loses what was not synced, one whose processes are made up.

mod crash;
mod fault;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

pub use crash::CrashFs;
pub use fault::{Fault, FaultFs};

use crate::Machine;

/// Sets when a real file or folder was last changed; an error is ignored, and
/// the test that needed it will say so.
#[expect(clippy::disallowed_types, reason = "this is the door itself")]
pub fn set_modified(path: &Path, since_1970: Duration) {
    let time = std::time::UNIX_EPOCH + since_1970;
    drop(std::fs::File::open(path).and_then(|file| file.set_modified(time)));
}

/// Makes a named pipe; an error is ignored, and the test that needed it will
/// say so.
pub fn make_pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let _ = mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0);
}

/// A machine whose facts a test sets.
#[derive(Debug)]
pub struct FakeMachine {
    /// The host's name.
    pub host: String,
    /// Its boot.
    pub boot_id: String,
    /// Its installation.
    pub machine_id: String,
    /// Its process namespace.
    pub namespace: String,
    /// This process's number.
    pub process: u32,
    alive: Mutex<BTreeMap<u32, u64>>,
}

impl FakeMachine {
    /// A machine on which only `process` lives, started at tick 1000.
    pub fn new(host: &str, boot_id: &str, process: u32) -> Self {
        Self {
            host: host.to_owned(),
            boot_id: boot_id.to_owned(),
            machine_id: format!("machine-of-{host}"),
            namespace: "pid:[1]".to_owned(),
            process,
            alive: Mutex::new(BTreeMap::from([(process, 1000)])),
        }
    }

    /// Lets a process live, started at `start`.
    pub fn start(&self, process: u32, start: u64) {
        self.alive.lock().expect("no test thread panicked").insert(process, start);
    }

    /// Lets a process be gone.
    pub fn kill(&self, process: u32) {
        self.alive.lock().expect("no test thread panicked").remove(&process);
    }
}

impl Machine for FakeMachine {
    fn host(&self) -> String {
        self.host.clone()
    }
    fn boot_id(&self) -> String {
        self.boot_id.clone()
    }
    fn machine_id(&self) -> String {
        self.machine_id.clone()
    }
    fn process_namespace(&self) -> String {
        self.namespace.clone()
    }
    fn process_id(&self) -> u32 {
        self.process
    }
    fn process_start(&self, process: u32) -> Option<u64> {
        self.alive.lock().expect("no test thread panicked").get(&process).copied()
    }
}
