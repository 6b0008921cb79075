//! What every verb is handed: the file system, the machine's facts and the
//! folder that relative names start from. Tests hand in others.

use std::path::PathBuf;
use std::sync::Arc;

use rlxp_fs::{Fs, Machine, RealFs, RealMachine, environment};

use crate::failure::Outcome;

/// The world as a verb sees it.
#[derive(Clone)]
pub struct Context {
    /// Files.
    pub fs: Arc<dyn Fs>,
    /// Process and host facts.
    pub machine: Arc<dyn Machine>,
    /// Folder that relative paths and the search for a project start from.
    pub folder: PathBuf,
    /// Whether `folder` was named by the user, so that no parent is searched.
    pub folder_is_root: bool,
    /// Processors to use by default.
    pub cores: usize,
}

impl Context {
    /// The real world; `root` replaces the working folder as the project.
    pub fn real(root: Option<PathBuf>) -> Outcome<Self> {
        let current = environment::current_dir()?;
        Ok(Self {
            fs: Arc::new(RealFs),
            machine: Arc::new(RealMachine),
            folder_is_root: root.is_some(),
            folder: root.map_or(current.clone(), |root| current.join(root)),
            cores: environment::processor_count(),
        })
    }
}
