//! Limits what a step reads and writes, with Landlock.
//!
//! In a root of its own, a step may read all that exists there. Without one, it may read the same paths where they are.
//! Landlock knows only what is allowed, so "this folder but not that part of it" becomes a list: a folder that has
//! something hidden in it is not allowed as a whole, but its entries are, one by one. A folder created there after the
//! step started isn't readable either, which is the safe choice.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rlxp_fs::{Entry, Fs, FsExt, Kind, RealFs};

/// Devices that a step may use, and no others: a disk or a terminal can be read as well as a file.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Prefixes of the names of GPUs under `/dev`.
const ACCELERATORS: [&str; 4] = ["nvidia", "dri", "kfd", "dxg"];

/// The first version that also restricts truncating files. Below it, the promises don't hold.
const LEAST: i32 = 3;

/// What a step may do with files.
#[derive(Debug, Default)]
pub(super) struct Rights {
    /// It may do anything in these folders.
    pub(super) writable: Vec<PathBuf>,
    /// It may always read these.
    pub(super) readable: Vec<PathBuf>,
    /// It may read these, except for what is hidden.
    pub(super) visible: Vec<PathBuf>,
    /// It may not read these.
    pub(super) hidden: Vec<PathBuf>,
    /// Whether folders may be listed even though something in them is hidden.
    pub(super) list_all: bool,
}

/// The kernel's version of Landlock.
#[expect(clippy::disallowed_methods, reason = "the C library has no name for this system call")]
fn version() -> Result<i32, String> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no attributes and only answers with a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION)
    };
    match version {
        1.. => Ok(i32::try_from(version).unwrap_or(i32::MAX)),
        _ if std::io::Error::last_os_error().raw_os_error() == Some(libc::EOPNOTSUPP) => {
            Err("landlock is disabled in this kernel (add it to lsm= on the kernel command line)".to_owned())
        }
        _ => Err("this kernel has no landlock (needs Linux 6.2 or newer)".to_owned()),
    }
}

/// Restricts this thread permanently. Returns the mechanism, or why it isn't fully enforced.
pub(super) fn limit(rights: &Rights) -> Result<String, String> {
    let version = version()?;
    let failed = |error: landlock::RulesetError| format!("landlock {version} failed: {error}");
    let abi = ABI::from(version);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .map_err(failed)?;
    if !Scope::from_all(abi).is_empty() {
        rules = rules.scope(Scope::from_all(abi)).map_err(failed)?;
    }
    let mut rules = rules.create().map_err(failed)?;
    let read = AccessFs::from_read(abi);
    let devices = AccessFs::from_file(abi) & !AccessFs::Execute;
    // Device files could be made only by root, and would lead around every rule.
    let write = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let (allowed, parted) = readable_below(&rights.visible, &rights.hidden, &|path| RealFs.list(path));
    for path in allowed.iter().chain(&rights.readable) {
        rules = allow(rules, path, read, abi).map_err(failed)?;
    }
    for path in parted.iter().filter(|_| rights.list_all) {
        rules = allow(rules, path, AccessFs::ReadDir.into(), abi).map_err(failed)?;
    }
    for device in devices_here() {
        rules = allow(rules, &device, devices | AccessFs::ReadDir, abi).map_err(failed)?;
    }
    for path in &rights.writable {
        rules = allow(rules, path, write, abi).map_err(failed)?;
    }
    let status = rules.restrict_self().map_err(failed)?;
    if status.ruleset != RulesetStatus::FullyEnforced {
        return Err(format!("landlock {version} is only partially enforced"));
    }
    if version < LEAST {
        return Err(format!("landlock {version} can't prevent files from being truncated (needs Linux 6.2)"));
    }
    Ok(format!("landlock {version}"))
}

/// A path that was removed meanwhile needs no rule.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let (Ok(opened), Ok(meta)) = (PathFd::new(path), RealFs.metadata(path)) else { return Ok(rules) };
    let access = if meta.kind == Kind::Folder { access } else { access & AccessFs::from_file(abi) };
    if access.is_empty() {
        return Ok(rules);
    }
    rules.add_rule(PathBeneath::new(opened, access))
}

/// The paths that together are everything below `visible` but what is hidden, and the folders that were taken apart for
/// it.
fn readable_below(
    visible: &[PathBuf],
    hidden: &[PathBuf],
    list: &dyn Fn(&Path) -> rlxp_fs::Result<Vec<Entry>>,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut allowed, mut parted) = (Vec::new(), Vec::new());
    let mut to_visit = visible.to_vec();
    while let Some(path) = to_visit.pop() {
        if hidden.contains(&path) {
            continue;
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            allowed.push(path);
            continue;
        }
        // Links are followed before rights are looked up, so what they point to decides.
        let entries = list(&path).unwrap_or_default();
        to_visit.extend(
            entries.iter().filter(|entry| entry.kind != Kind::Link).map(|entry| path.join(&entry.name)),
        );
        parted.push(path);
    }
    (allowed, parted)
}

/// Devices of the list that this machine has.
pub(super) fn devices_here() -> Vec<PathBuf> {
    let folder = Path::new("/dev");
    let entries = RealFs.list(folder).unwrap_or_default();
    let wanted = |name: &str| {
        DEVICES.contains(&name) || ACCELERATORS.iter().any(|beginning| name.starts_with(beginning))
    };
    entries.iter().filter(|entry| wanted(&entry.name)).map(|entry| folder.join(&entry.name)).collect()
}

/// The real path of a hidden path, through symlinks. A path that doesn't exist yet stays hidden once it is created.
pub(super) fn resolve(path: &Path) -> PathBuf {
    let mut at = path;
    let mut rest = Vec::new();
    loop {
        if let Ok(real) = RealFs.canonicalize(at) {
            return rest.iter().rev().fold(real, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return path.to_owned() };
        rest.push(name);
        at = parent;
    }
}

/// Whether it is a folder (not a symlink to one).
pub(super) fn is_folder(path: &Path) -> bool {
    RealFs.is_folder(path).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder tree in which names with a capital letter are links.
    fn list(path: &Path) -> rlxp_fs::Result<Vec<Entry>> {
        let names: &[&str] = match path.to_str().unwrap() {
            "/" => &["home", "usr", "dev", "Link"],
            "/home" => &["me", "you"],
            "/home/me" => &[".ssh", "work"],
            _ => panic!("{} need not be listed", path.display()),
        };
        let kind = |name: &str| if name.starts_with('L') { Kind::Link } else { Kind::Folder };
        Ok(names.iter().map(|name| Entry { name: (*name).to_owned(), kind: kind(name) }).collect())
    }

    #[track_caller]
    fn check(hidden: &[&str], allowed: &[&str]) {
        let hidden: Vec<PathBuf> = hidden.iter().map(PathBuf::from).collect();
        let (mut found, parted) = readable_below(&[PathBuf::from("/")], &hidden, &list);
        found.sort();
        assert_eq!(found, allowed.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert!(parted.iter().all(|folder| hidden.iter().any(|hidden| hidden.starts_with(folder))));
    }

    #[test]
    fn only_folders_with_something_hidden_are_taken_apart() {
        check(&[], &["/"]);
        check(&["/"], &[]);
        check(&["/dev"], &["/home", "/usr"]);
        check(&["/home/me/.ssh"], &["/dev", "/home/me/work", "/home/you", "/usr"]);
        check(&["/home/me/.ssh", "/home/me"], &["/dev", "/home/you", "/usr"]);
        // It doesn't exist yet: created later, it is unreadable.
        check(&["/home/me/.new", "/dev"], &["/home/me/.ssh", "/home/me/work", "/home/you", "/usr"]);
    }
}
