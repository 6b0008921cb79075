//! Which paths of the machine exist in a step's root, found by reading alone.
//!
//! Every path keeps its name, so that commands, scripts and virtual environments work unchanged. A path may lead through
//! links: each of them is recreated in the new root, and what they lead to is shown at its real place.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use rlxp_fs::{Fs, Kind, RealFs};

use super::files::devices_here;
use crate::order::Reach;

/// Folders of the system that programs and their libraries are in. `/opt` is among them because drivers and vendors'
/// toolkits install there. Left out are those of users and of running services: `/home`, `/root`, `/var`, `/run`, `/srv`,
/// `/mnt`, `/media` and `/tmp`.
const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/sys",
];

/// Whether every step sees this path, as part of a folder of the system.
pub fn is_of_the_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

/// More links than the kernel would follow.
const MOST_LINKS: usize = 40;

/// How a path is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Device,
}

/// What exists in a step's root.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Visible {
    /// Real paths, without any that another one already shows.
    pub(super) paths: BTreeMap<PathBuf, Access>,
    /// Links on the way to them, with their targets.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
}

/// What is asked for, besides the system's own folders and devices.
pub(super) struct Wanted<'a> {
    /// Shown unless it is hidden.
    pub(super) readable: &'a [PathBuf],
    /// Shown in any case: the run's own files, which are inside rlx's hidden state folder.
    pub(super) kept: &'a [PathBuf],
    pub(super) writable: &'a [PathBuf],
    /// Real paths that stay out.
    pub(super) hidden: &'a [PathBuf],
    pub(super) network: Reach,
}

impl Visible {
    /// Missing paths are left out: nothing is there to be shown.
    pub(super) fn find(wanted: &Wanted<'_>) -> Self {
        let mut found = Self::default();
        let mut readable: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        if wanted.network == Reach::Everything {
            // Names can't be looked up without it, and it often lies in `/run`.
            readable.push(PathBuf::from("/etc/resolv.conf"));
        }
        readable.extend_from_slice(wanted.readable);
        for path in &readable {
            found.add(path, Access::Read, wanted.hidden);
        }
        for path in devices_here() {
            found.add(&path, Access::Device, &[]);
        }
        for path in wanted.kept {
            found.add(path, Access::Read, &[]);
        }
        for path in wanted.writable {
            found.add(path, Access::Write, &[]);
        }
        found.simplify(wanted.hidden);
        found
    }

    fn add(&mut self, path: &Path, access: Access, hidden: &[PathBuf]) {
        let Some((real, links)) = follow(path) else { return };
        if real == Path::new("/") || hidden.iter().any(|hidden| real.starts_with(hidden)) {
            return;
        }
        self.links.extend(links);
        self.paths.insert(real, access);
    }

    /// Drops what is inside another readable path, unless something between the two is hidden.
    fn simplify(&mut self, hidden: &[PathBuf]) {
        let all: Vec<PathBuf> = self.paths.keys().cloned().collect();
        self.paths.retain(|path, access| {
            let shows = |above: &&PathBuf| {
                *above != path
                    && path.starts_with(above)
                    && !hidden.iter().any(|hidden| hidden.starts_with(above) && path.starts_with(hidden))
            };
            *access != Access::Read || !all.iter().any(|above| shows(&above))
        });
        self.links.retain(|link, _| !self.paths.keys().any(|path| link.starts_with(path)));
    }
}

/// The real path, and all links on the way with their targets; `None` if it doesn't exist.
fn follow(path: &Path) -> Option<(PathBuf, BTreeMap<PathBuf, PathBuf>)> {
    let mut left: VecDeque<OsString> = parts(path);
    let (mut real, mut links) = (PathBuf::from("/"), BTreeMap::new());
    let mut followed = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let at = real.join(&name);
        match RealFs.metadata(&at).ok()?.kind {
            Kind::Link => {
                followed += 1;
                if followed > MOST_LINKS {
                    return None;
                }
                let target = RealFs.read_link(&at).ok()?;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                for name in parts(&target).into_iter().rev() {
                    left.push_front(name);
                }
                links.insert(at, target);
            }
            _ => real = at,
        }
    }
    Some((real, links))
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the files that are looked at")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn find(top: &Path, readable: &[&str], kept: &[&str], hidden: &[&str]) -> (Vec<String>, Vec<String>) {
        let below = |names: &[&str]| names.iter().map(|name| top.join(name)).collect::<Vec<_>>();
        let wanted = Wanted {
            readable: &below(readable),
            kept: &below(kept),
            writable: &[],
            hidden: &below(hidden),
            network: Reach::None,
        };
        let found = Visible::find(&wanted);
        let inside = |path: &PathBuf| Some(path.strip_prefix(top).ok()?.to_str().unwrap().to_owned());
        (found.paths.keys().filter_map(inside).collect(), found.links.keys().filter_map(inside).collect())
    }

    #[test]
    fn links_are_followed_one_by_one_and_missing_paths_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/deep/er")).unwrap();
        fs::write(top.join("real/deep/python3"), "").unwrap();
        symlink(top.join("real"), top.join("absolute")).unwrap();
        symlink("absolute/deep", top.join("relative")).unwrap();
        symlink("python3", top.join("real/deep/python")).unwrap();
        symlink("round", top.join("round")).unwrap();
        let check = |readable: &[&str], paths: &[&str], links: &[&str]| {
            let (found, through) = find(&top, readable, &[], &[]);
            assert_eq!((found, through), (as_texts(paths), as_texts(links)), "{readable:?}");
        };
        let through = ["absolute", "real/deep/python", "relative"];
        check(&["relative/python"], &["real/deep/python3"], &through);
        check(&["relative/../deep/er"], &["real/deep/er"], &["absolute", "relative"]);
        // What is inside a folder that is shown needs no link of its own.
        check(&["relative/python", "real"], &["real"], &["absolute", "relative"]);
        check(&["absent", "round", "real/absent"], &[], &[]);
    }

    #[test]
    fn what_is_hidden_stays_out_and_the_runs_own_files_stay_in() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("home/.ssh/keys")).unwrap();
        fs::create_dir_all(top.join("home/state/run/train")).unwrap();
        let check = |readable: &[&str], kept: &[&str], expected: &[&str]| {
            let (found, _) = find(&top, readable, kept, &["home/.ssh", "home/state"]);
            assert_eq!(found, as_texts(expected), "{readable:?}");
        };
        check(&["home/.ssh/keys", "home/.ssh", "home/state/run"], &[], &[]);
        check(&[], &["home/state/run/train"], &["home/state/run/train"]);
        check(&["home"], &["home/state/run/train"], &["home", "home/state/run/train"]);
        assert!(find(Path::new("/"), &[""], &[], &[]).0.iter().all(|path| !path.is_empty()));
    }

    fn as_texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}
