//! A file system in memory that forgets what was not synced when the power
//! goes. It is harsher than most real ones: a folder that was not synced may
//! lose its entries, and a renamed file may be empty unless it was synced.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use rlxp_types::Stream;

use super::tree::{Body, FileBody, Tree};
use crate::{FileHandle, Fs, FsError, Kind, LinkInTheWay, Meta, RawEntry, Result};

/// An in-memory file system that can lose power. It is empty but for `/`, and
/// paths are absolute. Symlinks inside a path are not followed.
#[derive(Clone)]
pub struct CrashFs {
    tree: Arc<Mutex<Tree>>,
    /// What a rooted one is limited to.
    root: Option<PathBuf>,
}

impl Default for CrashFs {
    fn default() -> Self {
        Self::with_tree(Tree::new())
    }
}

impl CrashFs {
    /// An empty file system.
    pub fn new() -> Self {
        Self::default()
    }

    fn with_tree(tree: Tree) -> Self {
        Self { tree: Arc::new(Mutex::new(tree)), root: None }
    }

    /// The disk after a power loss now; `seed` chooses which of the unsynced effects survive. This file system stays
    /// as it is.
    pub fn after_power_loss(&self, seed: u64) -> Self {
        let mut chance = Stream::new(seed, "power-loss", 0);
        Self::with_tree(self.lock().after_power_loss(&mut chance))
    }

    /// A copy that shares nothing with this one: what `kill -9` leaves.
    pub fn copy(&self) -> Self {
        Self::with_tree(self.lock().clone())
    }

    /// Makes everything durable, as a machine left alone for a minute would.
    pub fn settle(&self) {
        let mut tree = self.lock();
        tree.settle();
    }

    /// Makes the disk so small that only `bytes` are free now.
    pub fn leave_free(&self, bytes: u64) {
        let mut tree = self.lock();
        // Measured against a huge disk, what is missing is what is in use.
        tree.capacity = u64::MAX - 1;
        let used = tree.capacity - tree.free();
        tree.capacity = used + bytes;
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().expect("no thread panics while it holds the tree")
    }

    fn with<T>(
        &self,
        operation: &'static str,
        path: &Path,
        run: impl FnOnce(&mut Tree) -> io::Result<T>,
    ) -> Result<T> {
        self.inside(path).and_then(|()| run(&mut self.lock())).map_err(|error| {
            let link = self.root.as_ref().and_then(|_| self.lock().link_on(path));
            let in_the_way = error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::AlreadyExists;
            let cause = match link.filter(|_| in_the_way) {
                Some(link) => io::Error::other(LinkInTheWay { link }),
                None => error,
            };
            FsError::new(operation, path, cause)
        })
    }

    /// An error when `path` is not below the root.
    fn inside(&self, path: &Path) -> io::Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        let plain = |below: &Path| below.components().all(|part| matches!(part, Component::Normal(_)));
        if path.strip_prefix(root).is_ok_and(plain) {
            return Ok(());
        }
        let why = format!("it is not below {}", root.display());
        Err(io::Error::new(ErrorKind::InvalidInput, why))
    }

    fn handle(&self, path: &Path, number: u64) -> Box<dyn FileHandle> {
        Box::new(CrashFile { fs: self.clone(), path: path.to_owned(), number })
    }
}

struct CrashFile {
    fs: CrashFs,
    path: PathBuf,
    number: u64,
}

impl FileHandle for CrashFile {
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let result = self.fs.lock().append(self.number, bytes);
        result.map_err(|e| FsError::new("write", &self.path, e))
    }

    fn sync(&mut self) -> Result<()> {
        self.fs.lock().sync_file(self.number);
        Ok(())
    }

    fn length(&self) -> Result<u64> {
        let tree = self.fs.lock();
        Ok(tree.file(self.number).map_or(0, |file| file.now.len() as u64))
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        self.fs.lock().cut(self.number, length);
        Ok(())
    }

    fn inode(&self) -> Result<u64> {
        Ok(self.number)
    }
}

fn taken() -> io::Error {
    io::Error::from(ErrorKind::AlreadyExists)
}

impl Fs for CrashFs {
    fn read_at(&self, path: &Path, offset: u64, limit: usize) -> Result<Vec<u8>> {
        self.with("read", path, |tree| {
            let content = &tree.file(tree.find(path)?)?.now;
            let from = usize::try_from(offset).map_or(content.len(), |offset| offset.min(content.len()));
            Ok(content[from..].iter().take(limit).copied().collect())
        })
    }

    fn metadata(&self, path: &Path) -> Result<Meta> {
        self.with("look at", path, |tree| {
            let inode = tree.find(path)?;
            let length = tree.file(inode).map_or(0, |file| file.now.len() as u64);
            let modified = tree.node(inode).modified;
            Ok(Meta { kind: tree.kind(inode), length, modified, inode, device: 0, changed: modified })
        })
    }

    fn list_raw(&self, path: &Path) -> Result<Vec<RawEntry>> {
        self.with("list", path, |tree| {
            let names = tree.folder(tree.find(path)?)?;
            Ok(names
                .iter()
                .map(|(name, node)| RawEntry { name: name.into(), kind: tree.kind(*node) })
                .collect())
        })
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        let body = Body::Folder { now: Default::default(), on_disk: Default::default() };
        self.with("create folder", path, |tree| {
            if path.file_name().is_none() {
                return Err(taken());
            }
            tree.create(path, body).map(drop)
        })
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn FileHandle>> {
        let number = self.with("create", path, |tree| tree.create(path, Body::File(FileBody::default())))?;
        Ok(self.handle(path, number))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn FileHandle>> {
        let number = self.with("open for writing", path, |tree| {
            let number = tree.find(path)?;
            tree.file(number)?;
            Ok(number)
        })?;
        Ok(self.handle(path, number))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.with("create", to, |tree| {
            self.inside(from)?;
            let node = tree.find(from)?;
            let (folder, name) = tree.place(to)?;
            if tree.folder(folder)?.contains_key(&name) {
                return Err(taken());
            }
            tree.change(vec![(folder, name, Some(node))]);
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.with("rename a file to", to, |tree| {
            self.inside(from)?;
            let node = tree.find(from)?;
            let (old_folder, old_name) = tree.place(from)?;
            let (folder, name) = tree.place(to)?;
            if let Some(present) = tree.folder(folder)?.get(&name).copied()
                && (tree.kind(present) == Kind::Folder || tree.kind(node) == Kind::Folder)
            {
                let empty = tree.folder(present)?.is_empty();
                if !empty || tree.kind(node) != Kind::Folder {
                    return Err(io::Error::from(ErrorKind::DirectoryNotEmpty));
                }
            }
            tree.change(vec![(old_folder, old_name, None), (folder, name, Some(node))]);
            Ok(())
        })
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.with("rename a folder to", to, |tree| {
            self.inside(from)?;
            let node = tree.find(from)?;
            let (old_folder, old_name) = tree.place(from)?;
            let (folder, name) = tree.place(to)?;
            if tree.folder(folder)?.contains_key(&name) {
                return Err(taken());
            }
            tree.change(vec![(old_folder, old_name, None), (folder, name, Some(node))]);
            Ok(())
        })
    }

    fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        self.with("create symlink", link, |tree| tree.create(link, Body::Link(target.to_owned())).map(drop))
    }

    fn read_link(&self, link: &Path) -> Result<PathBuf> {
        self.with("read symlink", link, |tree| match &tree.node(tree.find(link)?).body {
            Body::Link(target) => Ok(target.clone()),
            _ => Err(io::Error::from(ErrorKind::InvalidInput)),
        })
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.with("remove", path, |tree| {
            if tree.kind(tree.find(path)?) == Kind::Folder {
                return Err(io::Error::from(ErrorKind::IsADirectory));
            }
            let (folder, name) = tree.place(path)?;
            tree.change(vec![(folder, name, None)]);
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.with("remove folder", path, |tree| {
            if !tree.folder(tree.find(path)?)?.is_empty() {
                return Err(io::Error::from(ErrorKind::DirectoryNotEmpty));
            }
            let (folder, name) = tree.place(path)?;
            tree.change(vec![(folder, name, None)]);
            Ok(())
        })
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.with("sync folder", path, |tree| {
            let folder = tree.find(path)?;
            tree.folder(folder)?;
            tree.sync_folder(folder);
            Ok(())
        })
    }

    fn available_space(&self, _path: &Path) -> Result<u64> {
        Ok(self.lock().free())
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        self.with("find", path, |tree| tree.find(path).map(|_| path.to_owned()))
    }

    /// Links inside a path are never followed here; a rooted one also refuses
    /// paths that are not below its root, and names the link in the way.
    fn rooted(&self, root: &Path) -> Arc<dyn Fs> {
        let root = self.root.clone().unwrap_or_else(|| root.to_owned());
        Arc::new(Self { tree: Arc::clone(&self.tree), root: Some(root) })
    }
}
