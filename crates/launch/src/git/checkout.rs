//! The files of a commit in a folder of their own. Neither the repository's index nor its work tree, branches or list
//! of worktrees is touched: git only reads objects and writes below the folder it is given.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use super::ask::{Asked, Git};

/// A large repository takes its time; one that hangs doesn't get more than this.
const TIME_LIMIT: Duration = Duration::from_secs(600);
/// Room for the names of submodules.
const LIST_BYTES: usize = 64 * 1024 * 1024;

/// Why there are no files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckoutError {
    /// There is no work tree, or no git.
    #[error("{0} is not in a git repository, or git can't be started")]
    NoRepository(String),
    /// The commit isn't there.
    #[error("the repository has no commit {0}")]
    NoCommit(String),
    /// Git said no.
    #[error("git could not {0}")]
    Failed(&'static str),
}

/// Writes the files of `commit` that belong to `folder` (all of them, when that is the top of the repository) below
/// `target`, which exists and is empty. `index` is a file that doesn't exist, for git's own use; the caller removes it.
/// Gives the paths of submodules, whose files are not written.
pub fn checkout(
    folder: &Path,
    commit: &str,
    target: &Path,
    index: &Path,
) -> Result<Vec<String>, CheckoutError> {
    let no_commit = || CheckoutError::NoCommit(commit.to_owned());
    // It comes from a file that anybody may have written: no option, no range, no name.
    if !super::is_commit(commit) {
        return Err(no_commit());
    }
    let no_repository = || CheckoutError::NoRepository(folder.display().to_string());
    let here = Git::open(folder).ok_or_else(no_repository)?;
    here.line(&["rev-parse", "--quiet", "--verify", &format!("{commit}^{{commit}}")])
        .ok_or_else(no_commit)?;
    let prefix = here.line(&["rev-parse", "--show-prefix"]).ok_or_else(no_repository)?;
    // From the top: elsewhere git would write only what lies below where it was asked.
    let top = here.line(&["rev-parse", "--show-toplevel"]).ok_or_else(no_repository)?;
    let mut git = Git::open(Path::new(&top)).ok_or_else(no_repository)?;
    git.set_time_limit(TIME_LIMIT);
    let tree = format!("{commit}:{}", prefix.trim_end_matches('/'));
    let variables: [(&str, &OsStr); 1] = [("GIT_INDEX_FILE", index.as_os_str())];
    let done = |words: &[&OsStr], what| match git.ask_with(words, &variables, LIST_BYTES) {
        Asked::Answer(bytes) => Ok(bytes),
        _ => Err(CheckoutError::Failed(what)),
    };
    done(&["read-tree".as_ref(), tree.as_ref()], "read the tree of the commit")?;
    let listed = done(&["ls-files".as_ref(), "--stage".as_ref(), "-z".as_ref()], "list the files")?;
    let mut inside = std::ffi::OsString::from("--prefix=");
    inside.push(target);
    inside.push("/");
    let words: [&OsStr; 8] = [
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
    Ok(submodules(&listed))
}

/// Entries of mode 160000 among `MODE DIGEST STAGE\tPATH\0…`.
fn submodules(listed: &[u8]) -> Vec<String> {
    let entries = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let path = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'\t')?;
        Some(String::from_utf8_lossy(&entry[at + 1..]).into_owned())
    };
    entries.filter_map(path).collect()
}
