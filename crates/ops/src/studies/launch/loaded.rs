//! Whether a run really ran the changed code. There are two witnesses: the kernel reports whether a changed file was
//! opened in the tree, and Python reports where code of that name was loaded from. Either one detects an installed
//! copy of the repository, typically an editable install.

use std::collections::BTreeSet;
use std::path::Path;

/// Error code of a run that didn't run the changed code.
pub(super) const CODE: &str = "not_the_patched_code";

/// Why a run didn't run the changed files; `None` if it did.
pub(super) fn problem(
    watched: &[String],
    tree: &Path,
    opened: &BTreeSet<String>,
    loaded: &BTreeSet<String>,
) -> Option<String> {
    for path in watched {
        let own = tree.join(path);
        let same_module = |file: &&String| is_same_module(path, file) && Path::new(file) != own;
        if let Some(other) = loaded.iter().find(same_module) {
            return Some(format!("{path} was changed, but {other} was loaded instead"));
        }
        if !opened.contains(path) {
            return Some(format!("{path} was changed, but the changed file was never opened"));
        }
    }
    None
}

/// Whether `file` and `path` name the same module: equal file names and equal parent folders. A path doesn't show
/// where a package begins, so everything above is ignored.
fn is_same_module(path: &str, file: &str) -> bool {
    let mut own = path.rsplit('/');
    let mut other = file.rsplit('/');
    if own.next() != other.next() {
        return false;
    }
    match own.next() {
        Some(folder) => other.next() == Some(folder),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn a_changed_file_must_be_the_one_that_was_loaded() {
        let watched = ["src/balance/reward.py".to_owned()];
        let tree = Path::new("/run/train.tree");
        let said = |opened: &[&str], loaded: &[&str]| problem(&watched, tree, &set(opened), &set(loaded));
        let own = "/run/train.tree/src/balance/reward.py";
        assert_eq!(said(&["src/balance/reward.py"], &[own]), None);
        // For code that isn't Python, only the kernel can tell.
        assert_eq!(said(&["src/balance/reward.py"], &[]), None);
        // Another module of the same name elsewhere is ignored.
        assert_eq!(said(&["src/balance/reward.py"], &[own, "/usr/lib/gym/reward.py"]), None);
        let editable = said(&[], &["/home/ada/repo/src/balance/reward.py"]).unwrap();
        assert!(editable.contains("/home/ada/repo/src/balance/reward.py"), "{editable}");
        let installed = said(&["src/balance/reward.py"], &[own, "/venv/site-packages/balance/reward.py"]);
        assert!(installed.unwrap().contains("site-packages"));
        assert!(said(&[], &[]).unwrap().contains("never opened"));
        assert_eq!(problem(&[], tree, &set(&[]), &set(&[])), None);
    }
}
