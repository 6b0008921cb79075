//! Which code a run was made from, according to git.
//!
//! A repository is untrusted data, and git can be configured by it to run
//! programs. So git is called with everything disabled that could start a
//! program: hooks, file system monitors, external diffs, text conversions,
//! content filters, submodules, lazy fetching, pagers and prompts. Questions
//! are read-only; the one exception is [`write`](mod@write), which adds objects
//! and refs and never touches HEAD, the index, or the work tree.

mod ask;
mod checkout;
mod named;
mod untracked;
pub mod write;

use std::path::{Path, PathBuf};

use rlxp_fs::RealFs;
use rlxp_types::Digest;
use serde::{Deserialize, Serialize};

pub use checkout::{CheckoutError, checkout};

use ask::{Asked, Git};

/// At most this much of a diff is taken into the digest.
const DIFF_BYTES: usize = 64 * 1024 * 1024;
/// At most this much of a list of changed files is read.
const STAT_BYTES: usize = 4 * 1024 * 1024;

/// A diff with every option that a user's settings could change, so that the
/// same changes give the same bytes.
const PATCH: [&str; 16] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--binary",
    "--full-index",
    "--no-color",
    "--no-renames",
    "--no-relative",
    "--no-indent-heuristic",
    "--diff-algorithm=myers",
    "--unified=3",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    // A look into a submodule would be a git of its own, with the submodule's settings.
    "--ignore-submodules=dirty",
];

/// The state of the repository around a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The commit that is checked out; none before the first one.
    pub commit: Option<String>,
    /// The branch; `None` if no branch is checked out.
    pub branch: Option<String>,
    /// Something differs from the commit. Also true if unknown, which
    /// `not_covered` then explains.
    pub dirty: bool,
    /// Digest of what differs: changes to tracked files, and names and contents
    /// of untracked ones that are not ignored.
    pub dirty_digest: Option<Digest>,
    /// What the digest says nothing about, and why.
    pub not_covered: Option<String>,
}

/// The state of the repository that holds `folder`; none outside a repository
/// and where git is not installed.
pub fn snapshot(folder: &Path) -> Option<GitState> {
    snapshot_without(folder, &[])
}

/// Like [`snapshot`], as if `excluded` (paths relative to `folder`) were not
/// there: the runs themselves should not make the code look changed.
pub fn snapshot_without(folder: &Path, excluded: &[&Path]) -> Option<GitState> {
    let git = Git::open(folder)?;
    let top = PathBuf::from(git.line(&["rev-parse", "--show-toplevel"])?);
    let commit = git.line(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]);
    let branch = git.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let mut state = GitState { commit, branch, dirty: false, dirty_digest: None, not_covered: None };
    let mut not_covered = Vec::new();
    let mut digested = Vec::new();
    match &state.commit {
        Some(commit) => changes(&git, commit, excluded, &mut digested, &mut not_covered),
        None => not_covered.push("everything: the repository has no commits yet".to_owned()),
    }
    untracked::add(&git, &RealFs, &top, excluded, &mut digested, &mut not_covered);
    state.dirty = !digested.is_empty() || !not_covered.is_empty();
    state.dirty_digest = (!digested.is_empty()).then(|| Digest::hash(&digested));
    state.not_covered = (!not_covered.is_empty()).then(|| not_covered.join("; "));
    Some(state)
}

/// The commit that is checked out in the repository that holds `folder`, in
/// full; none outside a repository and before the first commit.
pub fn head(folder: &Path) -> Option<String> {
    Git::commit(folder, "HEAD^{commit}")
}

/// Whether the repository that holds `folder` has a commit, which is named in
/// full.
pub fn has_commit(folder: &Path, commit: &str) -> bool {
    is_commit(commit)
        && Git::commit(folder, &format!("{commit}^{{commit}}"))
            .is_some_and(|found| found.eq_ignore_ascii_case(commit))
}

/// The commit that a ref of the repository names, in full; none without such a ref.
pub fn commit_of_ref(folder: &Path, name: &str) -> Option<String> {
    name.starts_with("refs/").then(|| Git::commit(folder, &format!("{name}^{{commit}}")))?
}

/// The content of a file in a commit, by its path in `folder`; none where there is no such file, or it can't be read.
pub fn file_at(folder: &Path, commit: &str, path: &str) -> Option<Vec<u8>> {
    if !is_commit(commit) {
        return None;
    }
    let name = format!("{commit}:./{path}");
    match Git::open(folder)?.ask_given(&["cat-file", "blob", &name], &[], &[], DIFF_BYTES) {
        Asked::Answer(bytes) => Some(bytes),
        _ => None,
    }
}

/// The files of the repository that holds `folder` that git ignores, by their paths in it; none outside a repository
/// and where there are too many. Virtual environments are left out.
pub fn ignored_files(folder: &Path) -> Option<Vec<String>> {
    untracked::ignored(&Git::open(folder)?)
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path in the repository.
    pub path: String,
    /// Lines added; none for a binary file.
    pub added: Option<u64>,
    /// Lines removed; none for a binary file.
    pub removed: Option<u64>,
}

/// The files that differ between two commits, sorted by path; none outside a
/// repository and where it doesn't have both commits.
pub fn changed_files(folder: &Path, from: &str, to: &str) -> Option<Vec<ChangedFile>> {
    // They come from an untrusted record: no option, no range, no name.
    if !is_commit(from) || !is_commit(to) {
        return None;
    }
    let git = Git::open(folder)?;
    let options = [
        "diff",
        "--numstat",
        "-z",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-renames",
        "--no-relative",
        "--ignore-submodules=dirty",
        "-O/dev/null",
        from,
        to,
        "--",
    ];
    let Asked::Answer(bytes) = git.ask_about(&options, &[], STAT_BYTES) else { return None };
    let mut files: Vec<ChangedFile> = String::from_utf8_lossy(&bytes)
        .split('\0')
        .filter_map(|entry| {
            let mut parts = entry.splitn(3, '\t');
            let (added, removed, path) = (parts.next()?, parts.next()?, parts.next()?);
            Some(ChangedFile {
                path: path.to_owned(),
                added: added.parse().ok(),
                removed: removed.parse().ok(),
            })
        })
        .collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Some(files)
}

/// When a commit was made, in seconds since 1970; none where the repository
/// doesn't have it.
pub fn committed_at(folder: &Path, commit: &str) -> Option<u64> {
    if !is_commit(commit) {
        return None;
    }
    Git::open(folder)?.line(&["show", "--no-patch", "--format=%ct", commit, "--"])?.parse().ok()
}

/// Everything that differs between two commits of the repository that holds
/// `folder`, as a patch that `git apply` takes at its top, binary files
/// included; none where it doesn't have both commits, or it is too long.
pub fn patch(folder: &Path, from: &str, to: &str) -> Option<Vec<u8>> {
    if !is_commit(from) || !is_commit(to) {
        return None;
    }
    let mut words = PATCH.to_vec();
    words.extend(["-O/dev/null", from, to, "--"]);
    match Git::open(folder)?.ask_about(&words, &[], DIFF_BYTES) {
        Asked::Answer(bytes) => Some(bytes),
        _ => None,
    }
}

/// Whether a text can only be the digest of a commit.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Adds the changes to tracked files.
fn changes(
    git: &Git,
    commit: &str,
    excluded: &[&Path],
    digested: &mut Vec<u8>,
    not_covered: &mut Vec<String>,
) {
    let mut options = PATCH.to_vec();
    options.extend(["-O/dev/null", commit, "--"]);
    match git.ask_about(&options, excluded, DIFF_BYTES) {
        Asked::Answer(diff) => put(digested, b'd', &diff),
        Asked::TooLong => not_covered.push("changes: more than 64 MB".to_owned()),
        Asked::TimedOut => not_covered.push("changes: git diff took too long".to_owned()),
        Asked::Failed => not_covered.push("changes: git diff failed".to_owned()),
    }
}

/// Adds a part with its kind and length, so that no two states run together.
/// An empty part adds nothing: no change is no dirt.
fn put(digested: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    if !bytes.is_empty() {
        digested.push(kind);
        digested.extend((bytes.len() as u64).to_le_bytes());
        digested.extend(bytes);
    }
}
