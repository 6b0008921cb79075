//! A folder's content in memory: read once, written as often as needed, compared entry by entry.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Files larger than this are compared by their length and times alone: sparse ones are larger than memory.
const COMPARED_BYTES: u64 = 1 << 20;

/// What a name in a folder is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
}

/// Everything below a folder, by relative path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree(pub(crate) BTreeMap<PathBuf, Node>);

impl Tree {
    pub(crate) fn read(folder: &Path) -> Self {
        let mut tree = Self::default();
        visit(folder, Path::new(""), &mut |path, full| {
            let metadata = full.symlink_metadata().unwrap();
            let node = if metadata.is_dir() {
                Node::Folder
            } else if metadata.is_symlink() {
                Node::Link(std::fs::read_link(full).unwrap())
            } else {
                Node::File(std::fs::read(full).unwrap())
            };
            tree.0.insert(path.to_owned(), node);
        });
        tree
    }

    /// Writes everything below `folder`, which is created, with times in the past: the files are older than their arrival.
    pub(crate) fn write(&self, folder: &Path) {
        const HOUR: Duration = Duration::from_secs(3600);
        std::fs::create_dir_all(folder).unwrap();
        for (path, node) in &self.0 {
            let full = folder.join(path);
            match node {
                Node::Folder => std::fs::create_dir(full).unwrap(),
                Node::File(bytes) => std::fs::write(full, bytes).unwrap(),
                Node::Link(target) => symlink(target, full).unwrap(),
            }
        }
        let then = SystemTime::now() - HOUR;
        for (path, _) in self.0.iter().filter(|(_, node)| !matches!(node, Node::Link(_))) {
            File::open(folder.join(path)).and_then(|file| file.set_modified(then)).unwrap();
        }
    }

    /// The part below `folder`, with paths relative to it.
    pub(crate) fn below(&self, folder: &str) -> Self {
        let inside = |(path, node): (&PathBuf, &Node)| {
            let rest = path.strip_prefix(folder).ok()?;
            (!rest.as_os_str().is_empty()).then(|| (rest.to_owned(), node.clone()))
        };
        Self(self.0.iter().filter_map(inside).collect())
    }

    /// Removes an entry and everything below it.
    pub(crate) fn remove(&mut self, path: &str) {
        self.0.retain(|name, _| !name.starts_with(path));
    }

    /// Changes the text of a file.
    pub(crate) fn edit(&mut self, path: &str, change: impl FnOnce(String) -> String) {
        let Some(Node::File(bytes)) = self.0.get_mut(Path::new(path)) else { panic!("no file {path}") };
        *bytes = change(String::from_utf8(std::mem::take(bytes)).unwrap()).into_bytes();
    }

    /// The bytes of a file.
    pub(crate) fn bytes(&self, path: &str) -> &[u8] {
        let Some(Node::File(bytes)) = self.0.get(Path::new(path)) else { panic!("no file {path}") };
        bytes
    }

    /// The paths of all files, folders or links.
    pub(crate) fn places(&self, wanted: impl Fn(&Node) -> bool) -> Vec<String> {
        let fitting = self.0.iter().filter(|(_, node)| wanted(node));
        fitting.map(|(path, _)| path.to_str().unwrap().to_owned()).collect()
    }
}

/// A description of everything below a folder, without opening pipes or following links: one line per entry.
pub(crate) fn look(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut seen = BTreeMap::new();
    visit(folder, Path::new(""), &mut |path, full| {
        // Anything deeper than a path can express is left out.
        let Ok(metadata) = full.symlink_metadata() else { return };
        let content = if metadata.is_symlink() {
            format!("{:?}", std::fs::read_link(full).unwrap())
        } else if metadata.is_file() && metadata.len() <= COMPARED_BYTES {
            std::fs::read(full).map_or_else(
                |error| error.to_string(),
                |bytes| format!("{}", rlxp_types::Digest::hash(&bytes)),
            )
        } else {
            String::new()
        };
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        let line = format!("mode {:o}, {} bytes, {modified:?}, {content}", metadata.mode(), metadata.len());
        seen.insert(path.to_owned(), line);
    });
    seen
}

/// The differences between two descriptions of a folder, one line per entry.
pub(crate) fn changes(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let gone = gone.map(|path| format!("{} is gone", path.display()));
    let new = after.keys().filter(|path| !before.contains_key(*path));
    let new = new.map(|path| format!("{} is new", path.display()));
    let other = before.iter().filter_map(|(path, line)| {
        let now = after.get(path)?;
        (now != line).then(|| format!("{} changed from [{line}] to [{now}]", path.display()))
    });
    gone.chain(new).chain(other).collect()
}

fn visit(folder: &Path, below: &Path, each: &mut impl FnMut(&Path, &Path)) {
    if folder.is_symlink() {
        return;
    }
    // A folder that can't be listed has no entries to compare.
    let Ok(entries) = std::fs::read_dir(folder.join(below)) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        each(&path, &entry.path());
        if entry.file_type().unwrap().is_dir() {
            visit(folder, &path, each);
        }
    }
}
