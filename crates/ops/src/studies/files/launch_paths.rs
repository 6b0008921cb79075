//! Where the runs and trees of a study are: in the user's state folder, by the study's id, so that changes to the
//! repository don't affect them.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::Base;
use rlxp_govern::ledger::Ledger;
use rlxp_types::Digest;

use crate::context::UserFolders;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;

/// The suffix of files that reserve space for another one.
pub(crate) const RESERVE: &str = ".reserve";

/// The folder of a study's runs and trees.
#[derive(Clone, Debug)]
pub(crate) struct LaunchPaths {
    folder: PathBuf,
}

/// The folder of one run. [`rlxp_launch::order`] describes its contents and who writes them; besides those:
///
/// | name | what | who writes it |
/// |---|---|---|
/// | `claim.json` | which process launches it | launch, with the folder |
/// | `claim.<digest>.json` | which process launches it after the owner of that claim was gone | launch |
/// | `order.json` | what the supervisor does | launch |
/// | `shim.json` | which process supervises it | launch |
/// | `cancel` | exists if it was cancelled | `launch cancel` |
/// | `manifest.json` | the digests of all its files | the supervisor |
/// | `end.json` | how it ended; written last | the supervisor |
/// | `manifest.json.reserve`, `end.json.reserve` | reserved space for the two; removed at the end | launch |
#[derive(Clone, Debug)]
pub(crate) struct RunPaths {
    pub(crate) folder: PathBuf,
}

impl LaunchPaths {
    /// The place of an opened study.
    pub(crate) fn for_study(opened: &OpenStudy) -> Outcome<Self> {
        Self::of(&opened.context().user, &opened.study.ledger)
    }

    /// The place of the study that a ledger belongs to.
    pub(crate) fn of(user: &UserFolders, ledger: &Ledger) -> Outcome<Self> {
        let id = ledger.state.opened.as_ref().map(|opened| opened.id.as_str()).unwrap_or_default();
        // The id becomes a folder name, and the ledger that it comes from is not trusted.
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(Failure::refused("bad_study_id", format!("{id:?} is not a study id")));
        }
        match &user.state {
            Some(state) => Ok(Self { folder: state.join("studies").join(id) }),
            None => {
                let message = "runs are stored in your state folder, but HOME is not set";
                Err(Failure::usage("no_state_folder", message).hint("set HOME or XDG_STATE_HOME"))
            }
        }
    }

    /// The folder of everything.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    #[cfg(test)]
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file whose lock the loop of the study holds.
    pub(crate) fn autoloop(&self) -> PathBuf {
        self.folder.join("autoloop")
    }

    /// The folder that holds all runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    /// Keys of runs that were launched and that the ledger doesn't have: it was cut or replaced by an older one. A
    /// folder without an order is left by a launch that ended before it was recorded.
    pub(crate) fn unknown_runs(&self, fs: &dyn Fs, ledger: &Ledger) -> Outcome<Vec<String>> {
        let folder = self.runs();
        if !fs.is_folder(&folder)? {
            return Ok(Vec::new());
        }
        let mut unknown = Vec::new();
        for entry in fs.list(&folder)? {
            let is_run = entry.kind == Kind::Folder && !ledger.state.runs.contains_key(&entry.name);
            if is_run && fs.is_file(&self.run(&entry.name).order())? {
                unknown.push(entry.name);
            }
        }
        Ok(unknown)
    }

    /// The folder of one run.
    pub(crate) fn run(&self, key: &str) -> RunPaths {
        RunPaths { folder: self.runs().join(key) }
    }

    /// The folder of the code that runs start from.
    pub(crate) fn tree(&self, base: &Base) -> PathBuf {
        self.trees().join(match base {
            Base::Commit(commit) => commit.clone(),
            Base::Snapshot(digest) => format!("snapshot-{digest}"),
        })
    }

    /// The folder that holds all trees.
    pub(crate) fn trees(&self) -> PathBuf {
        self.folder.join("trees")
    }

    /// Where accepted changes are kept if there is no git to keep them, each under the digest of their result.
    pub(crate) fn accepted(&self, result: &Digest) -> PathBuf {
        self.folder.join("accepted").join(result.to_string())
    }

    /// The folder that holds all copies of files that runs need.
    pub(crate) fn inputs(&self) -> PathBuf {
        self.folder.join("inputs")
    }

    /// The folder of a probe.
    pub(crate) fn probe(&self, name: &str) -> RunPaths {
        RunPaths { folder: self.folder.join("probes").join(name) }
    }
}

impl RunPaths {
    fn inside(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Which process launches it.
    pub(crate) fn claim(&self) -> PathBuf {
        self.inside("claim.json")
    }

    /// What the supervisor does.
    pub(crate) fn order(&self) -> PathBuf {
        self.inside("order.json")
    }

    /// Which process supervises it.
    pub(crate) fn shim(&self) -> PathBuf {
        self.inside("shim.json")
    }

    /// Exists if the run was cancelled.
    pub(crate) fn cancel(&self) -> PathBuf {
        self.inside("cancel")
    }

    /// The digests of its files.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.inside("manifest.json")
    }

    pub(crate) fn end(&self) -> PathBuf {
        self.inside("end.json")
    }

    /// Files that are removed to make space when the disk is full. Each of the last two files has its own: a disk can
    /// run out of files as well as of bytes.
    pub(crate) fn reserves(&self) -> [PathBuf; 2] {
        [self.manifest(), self.end()].map(|path| Self::reserve_for(&path))
    }

    /// The reserve for this file.
    pub(crate) fn reserve_for(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(RESERVE);
        PathBuf::from(name)
    }

    /// The output of a step.
    pub(crate) fn log(&self, step: &str) -> PathBuf {
        self.inside(&format!("{step}.log"))
    }

    /// The folder that a step may write.
    pub(crate) fn step(&self, step: &str) -> PathBuf {
        self.inside(step)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}
