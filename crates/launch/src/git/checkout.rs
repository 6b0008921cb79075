//! The files of a commit in a folder of their own. Neither the repository's index nor its work tree, branches or list
//! of worktrees is touched: git only reads objects and writes below the folder it is given.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use rlxp_fs::FsError;

use super::ask::{Asked, Git};
use super::named::{Listed, first_other};

/// A large repository takes its time; one that hangs doesn't get more than this.
const TIME_LIMIT: Duration = Duration::from_secs(600);
/// A tree with nothing in it, which every repository has: attributes are taken from there, so that files are written as
/// they are in the commit.
const NO_ATTRIBUTES: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];
/// Room for the names of all files.
const LIST_BYTES: usize = 64 * 1024 * 1024;

/// Why there are no files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckoutError {
    /// There is no work tree, or no git.
    #[error("{0} is not in a git repository, or git can't be run")]
    NoRepository(String),
    #[error("the repository has no commit {0}")]
    NoCommit(String),
    /// Git failed.
    #[error("git could not {0}")]
    Failed(&'static str),
    /// What git returned doesn't match the commit's hash.
    #[error("the repository returns different content for that commit: {0}; `git fsck` may explain why")]
    Other(String),
    /// What was written can't be read.
    #[error("can't read the files that were written: {0}")]
    Unreadable(String),
}

/// Writes the files of `commit` that belong to `folder` (all of them, if that is the top of the repository) below
/// `target`, which exists and is empty. `index` is a file that doesn't exist, for git's own use; the caller removes
/// it. Returns the paths of submodules, whose files are not written.
///
/// The files match the commit's hash, byte for byte: no conversion that a repository configures is applied, and any
/// other manipulation is detected.
pub fn checkout(
    folder: &Path,
    commit: &str,
    target: &Path,
    index: &Path,
) -> Result<Vec<String>, CheckoutError> {
    let no_commit = || CheckoutError::NoCommit(commit.to_owned());
    // It comes from an untrusted file: no option, no range, no name.
    if !super::is_commit(commit) {
        return Err(no_commit());
    }
    let no_repository = || CheckoutError::NoRepository(folder.display().to_string());
    let here = Git::open(folder).ok_or_else(no_repository)?;
    here.line(&["rev-parse", "--quiet", "--verify", &format!("{commit}^{{commit}}")])
        .ok_or_else(no_commit)?;
    let prefix = here.line(&["rev-parse", "--show-prefix"]).ok_or_else(no_repository)?;
    // From the top: elsewhere git would write only what is below the present folder.
    let top = here.line(&["rev-parse", "--show-toplevel"]).ok_or_else(no_repository)?;
    let mut git = Git::open(Path::new(&top)).ok_or_else(no_repository)?;
    git.set_time_limit(TIME_LIMIT);
    let tree = format!("{commit}:{}", prefix.trim_end_matches('/'));
    let no_attributes = NO_ATTRIBUTES[usize::from(commit.len() == 64)];
    let variables: [(&str, &OsStr); 2] =
        [("GIT_INDEX_FILE", index.as_os_str()), ("GIT_ATTR_SOURCE", no_attributes.as_ref())];
    let done = |words: &[&OsStr], what| match git.ask_with(words, &variables, LIST_BYTES) {
        Asked::Answer(bytes) => Ok(bytes),
        _ => Err(CheckoutError::Failed(what)),
    };
    done(&["read-tree".as_ref(), tree.as_ref()], "read the tree of the commit")?;
    let listed = done(&["ls-files".as_ref(), "--stage".as_ref(), "-z".as_ref()], "list the files")?;
    let mut inside = std::ffi::OsString::from("--prefix=");
    inside.push(target);
    inside.push("/");
    let words: [&OsStr; 14] = [
        "-c".as_ref(),
        "core.attributesFile=/dev/null".as_ref(),
        "-c".as_ref(),
        "core.autocrlf=false".as_ref(),
        "-c".as_ref(),
        "core.symlinks=true".as_ref(),
        "-c".as_ref(),
        "checkout.workers=2".as_ref(),
        "-c".as_ref(),
        "checkout.thresholdForParallelism=500".as_ref(),
        "checkout-index".as_ref(),
        "--all".as_ref(),
        "--quiet".as_ref(),
        &inside,
    ];
    done(&words, "write the files of the commit")?;
    let listed = Listed::all(&listed).ok_or(CheckoutError::Failed("list the files"))?;
    let unreadable = |error: FsError| CheckoutError::Unreadable(error.to_string());
    match first_other(&git, commit, &prefix, &listed, target).map_err(unreadable)? {
        Some(path) => Err(CheckoutError::Other(path)),
        None => Ok(listed.iter().filter_map(Listed::submodule).collect()),
    }
}
