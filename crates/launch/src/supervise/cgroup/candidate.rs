//! Where groups may be created, according to `/proc`.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rlxp_fs::{FsExt, RealFs};
use rustix::fs::{AtFlags, CWD};

/// Which kind of groups the kernel offers there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// One tree for each controller.
    One,
    /// One tree for all.
    Two,
}

/// A folder in which a group can be made, if it is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) version: Version,
    pub(super) folder: PathBuf,
    /// What a group made there would count.
    pub(super) controllers: Vec<String>,
    /// Or why it isn't ours.
    pub(super) ours: Result<(), String>,
}

impl Candidate {
    /// Every place that this process is in, the best first: version 2 before version 1.
    pub(super) fn all(mountinfo: &str, own: &str) -> Vec<Candidate> {
        let mut places = Vec::new();
        for mount in mountinfo.lines().filter_map(Mount::parse) {
            match mount.version {
                Version::Two => places.extend(unified(&mount, own)),
                Version::One => places.extend(separate(&mount, own)),
            }
        }
        places.sort_by_key(|place| place.version != Version::Two);
        places
    }
}

struct Mount<'a> {
    version: Version,
    root: &'a str,
    at: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// A line of `/proc/self/mountinfo`: number, parent, device, root, place, options, … - type, source, options.
    fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, at) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let version = match after.next()? {
            "cgroup2" => Version::Two,
            "cgroup" => Version::One,
            _ => return None,
        };
        Some(Self { version, root, at, options: after.nth(1)? })
    }

    /// The folder of the group `path`, and its path as seen from the mount's top.
    fn folder(&self, path: &str) -> Option<(PathBuf, String)> {
        let below = match self.root {
            "/" => path,
            root => path.strip_prefix(root)?,
        };
        let below = below.trim_matches('/').to_owned();
        if below.split('/').any(|part| part == "..") {
            return None;
        }
        Some((Path::new(self.at).join(&below), below))
    }
}

/// A group of version 2 that holds processes can't have limited groups below it, so beside is the usual place.
fn unified(mount: &Mount<'_>, own: &str) -> Vec<Candidate> {
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else { return Vec::new() };
    let Some((folder, below)) = mount.folder(path) else { return Vec::new() };
    let beside = folder.parent().filter(|_| !below.is_empty()).map(|parent| {
        (parent.to_owned(), below.rsplit_once('/').map_or(String::new(), |(before, _)| before.to_owned()))
    });
    let place = |(folder, below): (PathBuf, String)| {
        let handed_down = RealFs.read_text(&folder.join("cgroup.subtree_control"), 4096).unwrap_or_default();
        let mut controllers: Vec<String> = handed_down.split_whitespace().map(str::to_owned).collect();
        if controllers.is_empty() {
            return None;
        }
        // Time is counted in every group.
        controllers.push("cpuacct".to_owned());
        Some(Candidate { version: Version::Two, ours: is_ours(&folder, &below), folder, controllers })
    };
    [Some((folder, below)), beside].into_iter().flatten().filter_map(place).collect()
}

fn separate(mount: &Mount<'_>, own: &str) -> Option<Candidate> {
    let line = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_here = !controllers.is_empty()
            && controllers.split(',').all(|one| mount.options.split(',').any(|option| option == one));
        is_here.then_some((controllers, path))
    });
    let (controllers, path) = line?;
    let (folder, below) = mount.folder(path)?;
    let controllers = controllers.split(',').map(str::to_owned).collect();
    Some(Candidate { version: Version::One, ours: is_ours(&folder, &below), folder, controllers })
}

/// Whether groups may be made in `folder`, which lies `below` the top of what is seen.
fn is_ours(folder: &Path, below: &str) -> Result<(), String> {
    if below.is_empty() {
        return Ok(());
    }
    let own = rustix::process::geteuid();
    let stat = rustix::fs::statat(CWD, folder, AtFlags::empty())
        .map_err(|error| format!("can't inspect {}: {error}", folder.display()))?;
    if !own.is_root() && stat.st_uid == own.as_raw() {
        return Ok(());
    }
    let is_delegated = ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0_u8; 8];
        matches!(rustix::fs::getxattr(folder.as_os_str().as_bytes(), *name, &mut value), Ok(1))
            && value[0] == b'1'
    });
    if is_delegated {
        return Ok(());
    }
    Err(format!("{} belongs to another user and was not delegated", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_trees_are_found_and_a_managed_group_is_left_alone() {
        let mountinfo = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                         35 31 0:32 / /absent/memory rw,relatime - cgroup cgroup rw,memory\n\
                         39 31 0:36 / /absent/pids rw,relatime - cgroup cgroup rw,pids\n\
                         40 31 0:37 / /absent/systemd rw - cgroup cgroup rw,name=systemd\n";
        let own = "9:name=systemd:/\n8:pids:/\n4:memory:/manager/one\n0::/\n";
        let places = Candidate::all(mountinfo, own);
        let found: Vec<_> =
            places.iter().map(|place| (place.controllers[0].as_str(), place.ours.is_ok())).collect();
        assert_eq!(found, [("memory", false), ("pids", true), ("name=systemd", true)]);
        assert_eq!(places[0].folder, Path::new("/absent/memory/manager/one"));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_top() {
        let mountinfo = "35 31 0:32 /box/7 /absent/memory ro - cgroup cgroup rw,memory\n";
        let places = Candidate::all(mountinfo, "4:memory:/box/7\n");
        assert_eq!(
            (places[0].folder.as_path(), places[0].ours.is_ok()),
            (Path::new("/absent/memory/"), true)
        );
        assert_eq!(Candidate::all(mountinfo, "4:memory:/elsewhere\n"), []);
        assert_eq!(Candidate::all(mountinfo, "4:memory:/box/7/../8\n"), []);
    }

    #[test]
    fn one_tree_for_all_offers_what_is_handed_down() {
        let top = tempfile::tempdir().unwrap();
        let slice = top.path().join("user/app");
        RealFs.create_dir_all(&slice.join("shell")).unwrap();
        RealFs.write_new(&slice.join("cgroup.subtree_control"), b"memory pids\n").unwrap();
        RealFs.write_new(&slice.join("shell/cgroup.subtree_control"), b"\n").unwrap();
        let mountinfo = format!("41 31 0:38 / {} rw - cgroup2 cgroup2 rw\n", top.path().display());
        let places = Candidate::all(&mountinfo, "0::/user/app/shell\n");
        let found: Vec<_> = places.iter().map(|place| (&place.folder, place.controllers.join(" "))).collect();
        assert_eq!(found, [(&slice, "memory pids cpuacct".to_owned())]);
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(places[0].ours.is_ok(), !is_root, "root owns every folder, so owning one says nothing");
    }
}
