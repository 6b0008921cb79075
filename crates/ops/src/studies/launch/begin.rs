//! What a launch looks at before its gates decide. Reading a study, asking git, reading programs and reading thousands
//! of files of the code take longer than everything else of a launch together, so they go on side by side.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use rlxp_fs::Fs;
use rlxp_govern::documents::Slug;
use rlxp_govern::view::CandidateView;
use rlxp_types::Digest;

use super::tree;
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::candidate;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;

/// Everything that was looked at, with nothing decided yet.
pub(super) struct LookedAt {
    pub(super) opened: OpenStudy,
    pub(super) place: LaunchPaths,
    /// The candidate on this machine, about which nobody knows yet how it keeps runs apart.
    pub(super) view: CandidateView,
    pub(super) tree: Option<TreeLook>,
}

/// Reads the study, and looks at a candidate and at the code that its runs start from.
pub(super) fn begin(context: &Context, study: Option<&str>, id: &Slug) -> Outcome<LookedAt> {
    let opened = OpenStudy::open_with_head(context, study)?;
    let place = LaunchPaths::for_study(&opened)?;
    let base = opened.study.pinned_base();
    let tree = base.and_then(|base| TreeLook::begin(context.fs.clone(), place.tree(&base)));
    let view = candidate::view(&opened, id)?;
    Ok(LookedAt { opened, place, view, tree })
}

/// A tree whose digest is being taken. It may turn out not to be there.
pub(crate) struct TreeLook {
    folder: PathBuf,
    digest: JoinHandle<Option<Digest>>,
}

impl TreeLook {
    /// Nothing where no thread is to be had: the digest is taken later then.
    fn begin(fs: Arc<dyn Fs>, folder: PathBuf) -> Option<Self> {
        let at = folder.clone();
        let look = move || tree::digest(fs.as_ref(), &at).ok().map(|(digest, _)| digest);
        Some(Self { folder, digest: Builder::new().spawn(look).ok()? })
    }

    /// The digest of the tree at `folder`, if that is the one that was looked at and it could be read.
    pub(super) fn digest_of(self, folder: &Path) -> Option<Digest> {
        if self.folder == folder { self.digest.join().ok().flatten() } else { None }
    }
}
