//! Control groups: the kernel's own limits on memory and processes, where this process may create groups.
//!
//! A group belongs to its creator: systemd, a container runtime or a cluster scheduler counts and kills the
//! processes in theirs. So a group is created only where it was delegated to us: at the top of what we see,
//! in a folder that belongs to our own user, or where systemd says so (`Delegate=yes`). Everywhere else,
//! the limits are enforced by polling.

mod candidate;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rlxp_fs::{Fs, FsError, FsExt, RealFs};

use crate::order::{Limits, Mechanisms};
use candidate::{Candidate, Version};

/// Processes of rlx itself in a step's groups: the helper and the first process of the namespace.
const OWN_PROCESSES: u64 = 2;
const SMALL: u64 = 64 * 1024;

/// The groups of one step. Dropping them removes them, once they are empty.
#[derive(Default)]
pub(super) struct Groups {
    memory: Option<Group>,
    processes: Option<Group>,
    processor: Option<Group>,
    /// Why memory or processes have no group.
    missing: Vec<(&'static str, String)>,
}

struct Group {
    folder: PathBuf,
    version: Version,
}

/// What the kernel counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counted {
    /// Peak memory in bytes, if it is counted.
    pub(super) memory: Option<u64>,
    /// Processes and threads now, without rlx's own.
    pub(super) processes: Option<u64>,
    /// Seconds.
    pub(super) cpu_time: Option<f64>,
    /// A process was killed because the memory limit was reached.
    pub(super) was_out_of_memory: bool,
    /// A process was refused because there were too many.
    pub(super) was_refused: bool,
}

impl Groups {
    pub(super) fn make(key: &str, step: &str, limits: &Limits) -> Self {
        let is_switched_off = rlxp_fs::environment::variable("RLX_WITHOUT")
            .is_some_and(|without| without.split(',').any(|one| one.trim() == "cgroup"));
        if is_switched_off {
            let reason = "disabled by RLX_WITHOUT".to_owned();
            let missing = vec![("memory cgroup", reason.clone()), ("process cgroup", reason)];
            return Self { memory: None, processes: None, processor: None, missing };
        }
        Self::make_in(&places(), &group_name(key, step), limits)
    }

    fn make_in(places: &[Candidate], name: &str, limits: &Limits) -> Self {
        let mut groups = Self::default();
        match groups.group(places, "memory", name, |group| group.limit_memory(limits.memory)) {
            Ok(group) => groups.memory = Some(group),
            Err(why) => groups.missing.push(("memory cgroup", why)),
        }
        let processes = limits.processes.saturating_add(OWN_PROCESSES);
        match groups.group(places, "pids", name, |group| group.write("pids.max", processes)) {
            Ok(group) => groups.processes = Some(group),
            Err(why) => groups.missing.push(("process cgroup", why)),
        }
        groups.processor = groups.group(places, "cpuacct", name, |_| Ok(())).ok();
        groups
    }

    /// The group of this name for `controller`, created unless it already exists for another controller.
    fn group(
        &self,
        places: &[Candidate],
        controller: &str,
        name: &str,
        limit: impl Fn(&Group) -> Result<(), FsError>,
    ) -> Result<Group, String> {
        let mut why = format!("no {controller} controller available");
        for place in places.iter().filter(|place| place.controllers.iter().any(|one| one == controller)) {
            if let Err(reason) = &place.ours {
                why.clone_from(reason);
                continue;
            }
            let group = Group { folder: place.folder.join(name), version: place.version };
            let is_shared = self.folders().any(|folder| *folder == group.folder);
            let made = if is_shared { Ok(()) } else { make_folder(&group.folder) };
            match made.and_then(|()| limit(&group)) {
                Ok(()) => return Ok(group),
                Err(error) => {
                    if !is_shared {
                        remove(&group.folder);
                    }
                    why = error.to_string();
                }
            }
        }
        Err(why)
    }

    fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.memory, &self.processes, &self.processor].into_iter().flatten().map(|group| &group.folder)
    }

    /// The files into which a process writes its id to join all groups.
    pub(super) fn join(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = self.folders().map(|folder| folder.join("cgroup.procs")).collect();
        files.sort();
        files.dedup();
        files
    }

    /// Whether the kernel enforces the memory limit.
    pub(super) fn keep_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Describes how memory and processes are limited.
    pub(super) fn describe(&self, mechanisms: &mut Mechanisms) {
        let how = |group: &Option<Group>| match group.as_ref().map(|group| group.version) {
            Some(Version::Two) => "cgroup v2".to_owned(),
            Some(Version::One) => "cgroup v1".to_owned(),
            None => "polling".to_owned(),
        };
        mechanisms.memory = Some(how(&self.memory));
        mechanisms.process_count = Some(how(&self.processes));
        for (what, why) in &self.missing {
            mechanisms.missing.insert((*what).to_owned(), why.clone());
        }
    }

    /// What the kernel counted so far.
    pub(super) fn look(&self) -> Counted {
        let mut counted = Counted::default();
        if let Some(group) = &self.memory {
            let [most, now, limit, events] = match group.version {
                Version::Two => ["memory.peak", "memory.current", "memory.max", "memory.events"],
                Version::One => [
                    "memory.max_usage_in_bytes",
                    "memory.usage_in_bytes",
                    "memory.limit_in_bytes",
                    "memory.oom_control",
                ],
            };
            counted.memory = group.number(most).or_else(|| group.number(now));
            counted.was_out_of_memory = group.field(events, "oom_kill").is_some_and(|count| count > 0);
            if counted.was_out_of_memory {
                // All of it was in use, even if the kernel doesn't report a peak.
                counted.memory = counted.memory.max(group.number(limit));
            }
        }
        if let Some(group) = &self.processes {
            let now = group.number("pids.current").unwrap_or(0);
            counted.processes = Some(now.saturating_sub(OWN_PROCESSES));
            counted.was_refused = group.field("pids.events", "max").is_some_and(|count| count > 0);
        }
        if let Some(group) = &self.processor {
            counted.cpu_time = match group.version {
                Version::Two => group.field("cpu.stat", "usage_usec").map(|count| count as f64 / 1e6),
                Version::One => group.number("cpuacct.usage").map(|count| count as f64 / 1e9),
            };
        }
        counted
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        let mut folders: Vec<_> = self.folders().cloned().collect();
        folders.sort();
        folders.dedup();
        for folder in folders {
            remove(&folder);
        }
    }
}

impl Group {
    fn limit_memory(&self, bytes: u64) -> Result<(), FsError> {
        match self.version {
            Version::Two => {
                self.write("memory.max", bytes)?;
                // Without swap, the files don't exist.
                let _ = self.write("memory.swap.max", 0);
            }
            Version::One => {
                self.write("memory.limit_in_bytes", bytes)?;
                let _ = self.write("memory.memsw.limit_in_bytes", bytes);
            }
        }
        Ok(())
    }

    fn write(&self, file: &str, value: u64) -> Result<(), FsError> {
        RealFs.open_append(&self.folder.join(file))?.write_all(value.to_string().as_bytes())
    }

    fn number(&self, file: &str) -> Option<u64> {
        RealFs.read_text(&self.folder.join(file), SMALL).ok()?.trim().parse().ok()
    }

    /// A line `name number` of a file.
    fn field(&self, file: &str, name: &str) -> Option<u64> {
        let text = RealFs.read_text(&self.folder.join(file), SMALL).ok()?;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

/// Removes the groups of a step whose supervisor was killed. A group that still has processes stays.
pub(super) fn sweep(key: &str, step: &str) {
    for place in places().into_iter().filter(|place| place.ours.is_ok()) {
        remove(&place.folder.join(group_name(key, step)));
    }
}

fn places() -> Vec<Candidate> {
    let read = |path: &str| RealFs.read_text(Path::new(path), 1 << 20).unwrap_or_default();
    Candidate::all(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
}

fn group_name(key: &str, step: &str) -> String {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || "._-".contains(character) { character } else { '-' }
    };
    let name: String = format!("{key}-{step}").chars().map(plain).collect();
    // The end distinguishes runs; a name has at most 255 bytes.
    format!("rlx-{}", &name[name.len().saturating_sub(200)..])
}

fn make_folder(folder: &Path) -> Result<(), FsError> {
    match RealFs.create_dir(folder) {
        // Left behind by a killed supervisor. Its processes have exited, or it can't be removed.
        Err(error) if error.is_already_there() => {
            RealFs.remove_dir(folder)?;
            RealFs.create_dir(folder)
        }
        made => made,
    }
}

/// The last process of a group leaves it shortly after it was waited for.
fn remove(folder: &Path) {
    for _ in 0..100 {
        match RealFs.remove_dir(folder) {
            Err(error) if !error.is_not_found() => std::thread::sleep(Duration::from_millis(2)),
            _ => return,
        }
    }
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
