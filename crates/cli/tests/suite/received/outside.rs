//! A folder outside the run that must not be touched: every open, change and new name in it is detected.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::received::tree;

/// A word in every text of the folder outside, so that any leak into an answer is detected.
pub(crate) const CANARY: &str = "canary-7c1f";

/// What counts as touching. Everything else that can happen to a file starts with opening it.
const SEEN: WatchFlags = WatchFlags::OPEN
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB);

/// A folder that the kernel watches and that is compared byte by byte.
pub(crate) struct Outside {
    folder: PathBuf,
    before: BTreeMap<PathBuf, String>,
    inotify: OwnedFd,
    watched: BTreeMap<i32, PathBuf>,
}

impl Outside {
    /// Watches `folder` as it is now.
    pub(crate) fn watch(folder: &Path) -> Self {
        let before = tree::look(folder);
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let mut watched = BTreeMap::new();
        let folders = before.keys().filter(|path| {
            let metadata = folder.join(path).symlink_metadata().unwrap();
            metadata.is_dir()
        });
        for path in folders.cloned().chain([PathBuf::new()]) {
            let watch = inotify::add_watch(&inotify, folder.join(&path), SEEN).unwrap();
            watched.insert(watch, path);
        }
        Self { folder: folder.to_owned(), before, inotify, watched }
    }

    /// What was opened, created, renamed or removed since the last call, by name.
    pub(crate) fn touched(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut touched = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                    let folder = &self.watched[&event.wd()];
                    let place = name.map_or(folder.clone(), |name| folder.join(name));
                    let place = place.display().to_string();
                    if !touched.contains(&place) {
                        touched.push(place);
                    }
                }
                Err(Errno::AGAIN) => return touched,
                Err(error) => panic!("inotify: {error}"),
            }
        }
    }

    /// What has changed.
    pub(crate) fn changed(&self) -> Vec<String> {
        let changes = tree::changes(&self.before, &tree::look(&self.folder));
        // The comparison itself opened every file.
        drop(self.touched());
        changes
    }
}

#[test]
fn opening_changing_and_adding_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("a/b"), "1").unwrap();
    let outside = Outside::watch(folder.path());
    assert_eq!((outside.touched(), outside.changed()), (vec![], vec![]));
    std::fs::read(folder.path().join("a/b")).unwrap();
    assert_eq!(outside.touched(), ["a/b"], "reading is seen");
    assert_eq!(outside.changed(), Vec::<String>::new());
    std::fs::write(folder.path().join("a/b"), "2").unwrap();
    assert!(outside.changed()[0].starts_with("a/b changed"), "writing is seen");
    std::fs::write(folder.path().join("a/c"), "").unwrap();
    assert!(outside.changed().iter().any(|change| change == "a/c is new"), "a new name is seen");
}
