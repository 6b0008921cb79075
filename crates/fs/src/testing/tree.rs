//! The in-memory file tree behind [`super::CrashFs`]: for each file and folder, what a process sees now and what is
//! certainly on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use rlxp_types::Stream;

use crate::Kind;

/// Inode number of the root folder.
pub(super) const ROOT: u64 = 1;

/// A file, folder or symlink.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) modified: i64,
    pub(super) body: Body,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    File(FileBody),
    Folder { now: BTreeMap<String, u64>, on_disk: BTreeMap<String, u64> },
    Link(PathBuf),
}

#[derive(Clone, Debug, Default)]
pub(super) struct FileBody {
    pub(super) now: Vec<u8>,
    on_disk: Vec<u8>,
    unsynced: Vec<DataEffect>,
}

#[derive(Clone, Debug)]
enum DataEffect {
    Append(Vec<u8>),
    Cut(usize),
}

/// One step that changed folders: names that are set to a node or removed together.
#[derive(Clone, Debug)]
struct NameEffect {
    changes: Vec<(u64, String, Option<u64>)>,
}

#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<u64, Node>,
    next: u64,
    ticks: i64,
    unsynced: Vec<NameEffect>,
    /// How many bytes the disk holds.
    pub(super) capacity: u64,
}

/// Space is allocated in blocks of this size.
const BLOCK: u64 = 4096;

fn error(kind: ErrorKind) -> io::Error {
    io::Error::from(kind)
}

impl Tree {
    pub(super) fn new() -> Self {
        let root =
            Node { modified: 0, body: Body::Folder { now: BTreeMap::new(), on_disk: BTreeMap::new() } };
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
            next: ROOT + 1,
            ticks: 0,
            unsynced: Vec::new(),
            capacity: u64::MAX,
        }
    }

    pub(super) fn node(&self, number: u64) -> &Node {
        &self.nodes[&number]
    }

    pub(super) fn kind(&self, number: u64) -> Kind {
        match self.node(number).body {
            Body::File(_) => Kind::File,
            Body::Folder { .. } => Kind::Folder,
            Body::Link(_) => Kind::Link,
        }
    }

    pub(super) fn folder(&self, number: u64) -> io::Result<&BTreeMap<String, u64>> {
        match &self.node(number).body {
            Body::Folder { now, .. } => Ok(now),
            _ => Err(error(ErrorKind::NotADirectory)),
        }
    }

    pub(super) fn file(&self, number: u64) -> io::Result<&FileBody> {
        match &self.node(number).body {
            Body::File(file) => Ok(file),
            _ => Err(error(ErrorKind::IsADirectory)),
        }
    }

    /// The node at `path`; no symlink is followed.
    pub(super) fn find(&self, path: &Path) -> io::Result<u64> {
        let mut at = ROOT;
        for component in path.components() {
            match component {
                Component::Normal(name) => {
                    let name = name.to_str().ok_or_else(|| error(ErrorKind::InvalidFilename))?;
                    at = *self.folder(at)?.get(name).ok_or_else(|| error(ErrorKind::NotFound))?;
                }
                Component::RootDir | Component::CurDir => {}
                _ => return Err(error(ErrorKind::InvalidInput)),
            }
        }
        Ok(at)
    }

    /// The first symlink on the way to `path`, its end included.
    pub(super) fn link_on(&self, path: &Path) -> Option<PathBuf> {
        let mut so_far = PathBuf::new();
        for part in path.components() {
            so_far.push(part);
            let node = self.find(&so_far).ok()?;
            if self.kind(node) == Kind::Link {
                return Some(so_far);
            }
        }
        None
    }

    /// The folder that holds `path`, and the name in it.
    pub(super) fn place(&self, path: &Path) -> io::Result<(u64, String)> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| error(ErrorKind::InvalidInput))?.to_owned();
        let folder = self.find(path.parent().unwrap_or(Path::new("/")))?;
        self.folder(folder)?;
        Ok((folder, name))
    }

    /// Creates a node with a free name.
    pub(super) fn create(&mut self, path: &Path, body: Body) -> io::Result<u64> {
        let (folder, name) = self.place(path)?;
        if self.folder(folder)?.contains_key(&name) {
            return Err(error(ErrorKind::AlreadyExists));
        }
        self.need(BLOCK)?;
        let number = self.next;
        self.next += 1;
        self.ticks += 1;
        self.nodes.insert(number, Node { modified: self.ticks, body });
        self.change(vec![(folder, name, Some(number))]);
        Ok(number)
    }

    /// Sets and removes names in one step.
    pub(super) fn change(&mut self, changes: Vec<(u64, String, Option<u64>)>) {
        self.ticks += 1;
        for (folder, name, target) in &changes {
            let ticks = self.ticks;
            let node = self.nodes.get_mut(folder).expect("a folder of the tree");
            node.modified = ticks;
            if let Body::Folder { now, .. } = &mut node.body {
                apply(now, name, *target);
            }
        }
        self.unsynced.push(NameEffect { changes });
    }

    /// Appends as much as fits; an error if that is not everything.
    pub(super) fn append(&mut self, number: u64, bytes: &[u8]) -> io::Result<()> {
        let before = self.file(number)?.now.len() as u64;
        let grown = (before + bytes.len() as u64).div_ceil(BLOCK) - before.div_ceil(BLOCK);
        let room = self.need(grown * BLOCK);
        let fitting = if room.is_ok() { bytes.len() } else { bytes.len() / 2 };
        self.data(number, DataEffect::Append(bytes[..fitting].to_vec()));
        room
    }

    /// An error when fewer than `bytes` are free.
    fn need(&self, bytes: u64) -> io::Result<()> {
        if self.capacity != u64::MAX && self.free() < bytes {
            return Err(error(ErrorKind::StorageFull));
        }
        Ok(())
    }

    /// Free bytes, counting only nodes that still have a name.
    pub(super) fn free(&self) -> u64 {
        if self.capacity == u64::MAX {
            return u64::MAX;
        }
        let mut used = 0;
        let mut seen = BTreeSet::new();
        let mut open = vec![ROOT];
        while let Some(number) = open.pop() {
            if !seen.insert(number) {
                continue;
            }
            used += BLOCK;
            match &self.node(number).body {
                Body::Folder { now, .. } => open.extend(now.values()),
                Body::File(file) => used += (file.now.len() as u64).div_ceil(BLOCK) * BLOCK,
                Body::Link(_) => {}
            }
        }
        self.capacity.saturating_sub(used)
    }

    pub(super) fn cut(&mut self, number: u64, length: u64) {
        self.data(number, DataEffect::Cut(usize::try_from(length).expect("a length in memory")));
    }

    fn data(&mut self, number: u64, effect: DataEffect) {
        self.ticks += 1;
        let node = self.nodes.get_mut(&number).expect("an open file of the tree");
        node.modified = self.ticks;
        if let Body::File(file) = &mut node.body {
            effect.apply(&mut file.now);
            file.unsynced.push(effect);
        }
    }

    pub(super) fn sync_file(&mut self, number: u64) {
        if let Body::File(file) = &mut self.nodes.get_mut(&number).expect("a node of the tree").body {
            file.on_disk.clone_from(&file.now);
            file.unsynced.clear();
        }
    }

    /// Syncs a folder's entries, and with them every earlier step that they build on (a rename changes two folders at
    /// once).
    pub(super) fn sync_folder(&mut self, number: u64) {
        let mut wanted = BTreeSet::from([number]);
        let mut sure = Vec::new();
        let mut open = Vec::new();
        for effect in std::mem::take(&mut self.unsynced).into_iter().rev() {
            if effect.changes.iter().any(|(folder, ..)| wanted.contains(folder)) {
                wanted.extend(effect.changes.iter().map(|(folder, ..)| *folder));
                sure.push(effect);
            } else {
                open.push(effect);
            }
        }
        open.reverse();
        self.unsynced = open;
        for effect in sure.into_iter().rev() {
            self.put_on_disk(&effect);
        }
    }

    fn put_on_disk(&mut self, effect: &NameEffect) {
        for (folder, name, target) in &effect.changes {
            let node = self.nodes.get_mut(folder).expect("a folder of the tree");
            if let Body::Folder { on_disk, .. } = &mut node.body {
                apply(on_disk, name, *target);
            }
        }
    }

    /// Writes everything unsynced to the disk.
    pub(super) fn settle(&mut self) {
        for effect in std::mem::take(&mut self.unsynced) {
            self.put_on_disk(&effect);
        }
        let numbers: Vec<u64> = self.nodes.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.sync_file(number));
    }

    /// What a power loss leaves: what was synced, the first few unsynced steps
    /// on folders, and of each file the first few unsynced writes, the last of
    /// them torn at any byte and perhaps filled with zeros.
    pub(super) fn after_power_loss(&self, chance: &mut Stream) -> Self {
        let mut left = self.clone();
        let steps = std::mem::take(&mut left.unsynced);
        let kept = chance.below(steps.len() as u32 + 1) as usize;
        for effect in &steps[..kept] {
            left.put_on_disk(effect);
        }
        for node in left.nodes.values_mut() {
            match &mut node.body {
                Body::Folder { now, on_disk } => now.clone_from(on_disk),
                Body::File(file) => file.lose_power(chance),
                Body::Link(_) => {}
            }
        }
        left
    }
}

impl DataEffect {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            DataEffect::Append(bytes) => content.extend_from_slice(bytes),
            DataEffect::Cut(length) => content.resize(*length, 0),
        }
    }
}

impl FileBody {
    fn lose_power(&mut self, chance: &mut Stream) {
        let effects = std::mem::take(&mut self.unsynced);
        if !effects.is_empty() {
            let whole = chance.below(effects.len() as u32 + 1) as usize;
            for effect in &effects[..whole] {
                effect.apply(&mut self.on_disk);
            }
            if let Some(DataEffect::Append(bytes)) = effects.get(whole) {
                let torn = chance.below(bytes.len() as u32 + 1) as usize;
                if chance.below(4) == 0 {
                    self.on_disk.resize(self.on_disk.len() + torn, 0);
                } else {
                    self.on_disk.extend_from_slice(&bytes[..torn]);
                }
            }
        }
        self.now.clone_from(&self.on_disk);
    }
}

fn apply(names: &mut BTreeMap<String, u64>, name: &str, target: Option<u64>) {
    match target {
        Some(number) => drop(names.insert(name.to_owned(), number)),
        None => drop(names.remove(name)),
    }
}
