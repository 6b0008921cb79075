//! Commits and refs that rlx adds to a repository: accepted code below `refs/rlxp/`, and branches that the user asks
//! for.
//!
//! Only objects and refs are added. A commit is put together in an index file of its own, outside the repository's, so
//! HEAD, the index, the work tree and existing branches stay as they are. Content is stored byte for byte: no filter
//! and no conversion of line ends applies.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use super::ask::{Asked, Git};
use super::is_commit;

/// A large index takes its time to be read and written.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Room for the entries of the changed files, or for the name of an object.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Who makes commits. The same for everyone, so that the same content gives the same commit.
const AUTHOR: &str = "rlx";
const EMAIL: &str = "rlx@localhost";
/// The mode of a file that is added.
const PLAIN: &str = "100644";
/// What a ref of this name is for.
const OURS: &str = "refs/rlxp/";
const BRANCHES: &str = "refs/heads/";

/// Why nothing was written. Objects that no ref names may be left; `git gc` removes them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// There is no work tree, or no git.
    #[error("{0} is not in a git repository, or git can't be run")]
    NoRepository(String),
    #[error("the repository has no commit {0}")]
    NoCommit(String),
    #[error("{0} is not a file of the commit")]
    NotAFile(String),
    #[error("{0:?} is not a valid name for a branch")]
    BadName(String),
    #[error("{0} already exists")]
    Exists(String),
    /// Another process changed it at the same moment, or the repository can't be written.
    #[error("git could not write {0}")]
    NotWritten(String),
    /// Git failed.
    #[error("git could not {0}")]
    Failed(&'static str),
}

/// A commit to write.
#[derive(Clone, Debug)]
pub struct NewCommit<'a> {
    /// The commit that it follows, in full.
    pub parent: &'a str,
    /// What differs, by path in the folder: the content of a file, or nothing for one that is removed. A file that
    /// exists keeps its mode.
    pub files: &'a BTreeMap<String, Option<Vec<u8>>>,
    pub message: &'a str,
    /// Seconds since 1970.
    pub date: u64,
}

/// Writes a commit with the files of its parent, except for what differs, and returns its name. The same input gives
/// the same name, so it can be written again at any time. `index` is a file that doesn't exist, for git's own use; the
/// caller removes it.
pub fn commit(folder: &Path, new: &NewCommit<'_>, index: &Path) -> Result<String, WriteError> {
    let (git, prefix) = at_top(folder)?;
    if !is_commit(new.parent) || !has(&git, new.parent) {
        return Err(WriteError::NoCommit(new.parent.to_owned()));
    }
    let own_index: [(&str, &OsStr); 1] = [("GIT_INDEX_FILE", index.as_os_str())];
    let done = |words: &[&str], input: &[u8], what| answer(&git, words, &own_index, input, what);
    done(&["read-tree", new.parent], b"", "read the tree of the commit")?;
    let modes = modes(&git, &own_index)?;
    // Removed ones first: a folder may take the place of a file.
    let (mut removed, mut written) = (Vec::new(), Vec::new());
    let nothing = "0".repeat(new.parent.len());
    for (path, content) in new.files {
        let full = format!("{prefix}{path}");
        let mode = modes.get(&full).map(String::as_str);
        match (content, mode) {
            (None, None) => return Err(WriteError::NotAFile(path.clone())),
            (None, Some(_)) => removed.extend_from_slice(format!("0 {nothing}\t{full}\0").as_bytes()),
            (Some(bytes), mode) => {
                let mode = mode.unwrap_or(PLAIN);
                let is_removed = |above: &str| {
                    above
                        .strip_prefix(prefix.as_str())
                        .is_some_and(|above| new.files.get(above) == Some(&None))
                };
                if !mode.starts_with("100") || takes_a_place(&modes, &full, is_removed) {
                    return Err(WriteError::NotAFile(path.clone()));
                }
                let words = ["hash-object", "-w", "--no-filters", "--stdin"];
                let id = line(done(&words, bytes, "store a file")?);
                written.extend_from_slice(format!("{mode} {id}\t{full}\0").as_bytes());
            }
        }
    }
    removed.append(&mut written);
    done(&["update-index", "-z", "--index-info"], &removed, "put the files together")?;
    let tree = line(done(&["write-tree"], b"", "write the tree")?);
    let date = format!("{} +0000", new.date);
    let people: [(&str, &OsStr); 6] = [
        ("GIT_AUTHOR_NAME", AUTHOR.as_ref()),
        ("GIT_AUTHOR_EMAIL", EMAIL.as_ref()),
        ("GIT_AUTHOR_DATE", date.as_ref()),
        ("GIT_COMMITTER_NAME", AUTHOR.as_ref()),
        ("GIT_COMMITTER_EMAIL", EMAIL.as_ref()),
        ("GIT_COMMITTER_DATE", date.as_ref()),
    ];
    let words = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", &tree, "-p", new.parent];
    let written = line(answer(&git, &words, &people, new.message.as_bytes(), "write the commit")?);
    match is_commit(&written) {
        true => Ok(written),
        false => Err(WriteError::Failed("write the commit")),
    }
}

/// Lets a ref below `refs/rlxp/` name a commit. One that names another is replaced, unless it changes at this moment.
pub fn set_ref(folder: &Path, name: &str, commit: &str) -> Result<(), WriteError> {
    if !name.starts_with(OURS) {
        return Err(WriteError::BadName(name.to_owned()));
    }
    let (git, _) = at_top(folder)?;
    if !is_commit(commit) || !has(&git, commit) {
        return Err(WriteError::NoCommit(commit.to_owned()));
    }
    let before = git.line(&["rev-parse", "--quiet", "--verify", "--end-of-options", name]);
    match before {
        Some(before) if before == commit => Ok(()),
        before => update(&git, name, commit, before.as_deref()),
    }
}

/// Makes a branch that names a commit. Nothing is checked out, and a branch that exists stays as it is.
pub fn branch(folder: &Path, name: &str, commit: &str) -> Result<(), WriteError> {
    let (git, _) = at_top(folder)?;
    if !is_commit(commit) || !has(&git, commit) {
        return Err(WriteError::NoCommit(commit.to_owned()));
    }
    let full = format!("{BRANCHES}{name}");
    // Git itself refuses branches of the last two kinds.
    let is_valid =
        git.line(&["check-ref-format", &full]).is_some() && !name.starts_with('-') && name != "HEAD";
    if !is_valid {
        return Err(WriteError::BadName(name.to_owned()));
    }
    if git.line(&["rev-parse", "--quiet", "--verify", "--end-of-options", &full]).is_some() {
        return Err(WriteError::Exists(format!("branch {name}")));
    }
    update(&git, &full, commit, None)
}

/// Git at the top of the repository that holds a folder, and the path of the folder there.
fn at_top(folder: &Path) -> Result<(Git, String), WriteError> {
    let none = || WriteError::NoRepository(folder.display().to_string());
    let here = Git::open(folder).ok_or_else(none)?;
    let prefix = here.line(&["rev-parse", "--show-prefix"]).ok_or_else(none)?;
    let top = here.line(&["rev-parse", "--show-toplevel"]).ok_or_else(none)?;
    let mut git = Git::open(Path::new(&top)).ok_or_else(none)?;
    git.set_time_limit(TIME_LIMIT);
    Ok((git, prefix))
}

fn has(git: &Git, commit: &str) -> bool {
    git.line(&["rev-parse", "--quiet", "--verify", &format!("{commit}^{{commit}}")]).is_some()
}

/// The mode of every file in the index, by path from the top. Names that aren't text are not those of changed files.
fn modes(git: &Git, variables: &[(&str, &OsStr)]) -> Result<BTreeMap<String, String>, WriteError> {
    let listed = answer(git, &["ls-files", "--stage", "-z"], variables, b"", "list the files")?;
    let mut found = BTreeMap::new();
    for entry in listed.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(entry);
        if let Some((head, path)) = text.split_once('\t') {
            let mode = head.split(' ').next().unwrap_or_default();
            found.insert(path.to_owned(), mode.to_owned());
        }
    }
    Ok(found)
}

/// Whether a file of this path would take the place of a folder, or of a file that isn't removed; git would let it.
fn takes_a_place(modes: &BTreeMap<String, String>, full: &str, is_removed: impl Fn(&str) -> bool) -> bool {
    let inside = format!("{full}/");
    let is_folder = modes.range(inside.clone()..).next().is_some_and(|(path, _)| path.starts_with(&inside));
    let above = full.match_indices('/').map(|(at, _)| &full[..at]);
    is_folder || above.into_iter().any(|above| modes.contains_key(above) && !is_removed(above))
}

/// Lets a ref name another commit, if it still names `before`.
fn update(git: &Git, name: &str, commit: &str, before: Option<&str>) -> Result<(), WriteError> {
    let nothing = "0".repeat(commit.len());
    let words = ["update-ref", "--no-deref", "-m", AUTHOR, name, commit, before.unwrap_or(&nothing)];
    // A log of refs, where the user keeps one for all of them, names who wrote.
    let people: [(&str, &OsStr); 2] =
        [("GIT_COMMITTER_NAME", AUTHOR.as_ref()), ("GIT_COMMITTER_EMAIL", EMAIL.as_ref())];
    answer(git, &words, &people, b"", "write").map(drop).map_err(|_| WriteError::NotWritten(name.to_owned()))
}

fn answer(
    git: &Git,
    words: &[&str],
    variables: &[(&str, &OsStr)],
    input: &[u8],
    what: &'static str,
) -> Result<Vec<u8>, WriteError> {
    match git.ask_given(words, variables, input, ANSWER_BYTES) {
        Asked::Answer(bytes) => Ok(bytes),
        _ => Err(WriteError::Failed(what)),
    }
}

fn line(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}
