//! The code that runs would use, as it is on disk: the base, the files that a candidate changes, the inputs of runs,
//! and the programs of the runbook.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, environment};
use rlxp_govern::change::holds_keys;
use rlxp_govern::documents::{Base, Candidate, Runbook};
use rlxp_govern::scope::bad_path;
use rlxp_launch::programs::{Chain, follow, search_folders, see};
use rlxp_types::Digest;

use super::look::path_facts;
use crate::failure::Outcome;
use crate::studies::files::OpenStudy;
use crate::studies::scripts;
use crate::studies::tree::{file_digest, is_left_out, present_base, snapshot};

/// Largest file that a candidate can change.
pub const LONGEST_SOURCE: u64 = 4 << 20;

/// The content of every file that a candidate changes, `None` for one that doesn't exist. Files that are not text,
/// too long or behind a link are left out.
pub(super) fn sources(
    fs: &dyn Fs,
    root: &Path,
    candidate: &Candidate,
) -> Outcome<BTreeMap<String, Option<String>>> {
    let mut found = BTreeMap::new();
    for change in &candidate.changes {
        if bad_path(&change.path).is_some() || found.contains_key(&change.path) {
            continue;
        }
        let facts = path_facts(fs, root, &change.path)?;
        if facts.is_file {
            if let Ok(text) = fs.read_text(&root.join(&change.path), LONGEST_SOURCE) {
                found.insert(change.path.clone(), Some(text));
            }
        } else if facts.link.is_none() && !facts.exists {
            found.insert(change.path.clone(), None);
        }
    }
    Ok(found)
}

/// The present values of flags that a candidate changes, by file and key: what the train command gives, or else the
/// default in the script. Those that can't be read are left out.
pub(super) fn flag_values(
    candidate: &Candidate,
    sources: &BTreeMap<String, Option<String>>,
    runbook: Option<&Runbook>,
) -> BTreeMap<(String, String), f64> {
    let mut found = BTreeMap::new();
    for change in &candidate.changes {
        let (Some(key), Some(Some(text))) = (&change.key, sources.get(&change.path)) else { continue };
        if holds_keys(&change.path) {
            continue;
        }
        let value = match runbook.and_then(|runbook| scripts::given(&runbook.train.argv, key)) {
            Some(given) => given.trim().parse().ok(),
            None => scripts::find(&scripts::flags(text), key).and_then(|flag| flag.default),
        };
        found.extend(value.map(|value| ((change.path.clone(), key.clone()), value)));
    }
    found
}

/// The code that changes start from: the base that the study is pinned to if it is available, otherwise the present
/// code.
pub fn base(opened: &OpenStudy) -> Outcome<Option<Base>> {
    let (fs, root, study) = (opened.context().fs.as_ref(), &opened.place.root, &opened.study);
    match (study.pinned_base(), study.named_commit()) {
        (Some(Base::Commit(commit)), _) => {
            // Usually it is checked out, and git was already asked for that.
            let is_there = opened.head().is_some_and(|head| head.eq_ignore_ascii_case(&commit))
                || rlxp_launch::git::has_commit(root, &commit);
            Ok(is_there.then_some(Base::Commit(commit)))
        }
        // The contract names something that is not a commit.
        (None, Some(_)) => Ok(None),
        // A gate checks whether it is still the same.
        (Some(Base::Snapshot(_)), _) => Ok(snapshot(fs, root)?.map(Base::Snapshot)),
        // An older contract, which names none.
        (None, None) => present_base(fs, root, opened.head()),
    }
}

/// The runbook's inputs by digest. Missing files, non-files and files behind links are left out; `None` if one can't
/// be read.
pub(super) fn inputs(
    fs: &dyn Fs,
    root: &Path,
    runbook: Option<&Runbook>,
) -> Outcome<Option<BTreeMap<String, Digest>>> {
    let Some(runbook) = runbook else { return Ok(None) };
    let mut found = BTreeMap::new();
    for input in &runbook.inputs {
        if bad_path(&input.path).is_some() || !path_facts(fs, root, &input.path)?.is_file {
            continue;
        }
        match file_digest(fs, &root.join(&input.path)) {
            Ok(digest) => drop(found.insert(input.path.clone(), digest)),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// The program of every step by a digest of its location, its link target, its content and the same of its interpreters.
/// A step whose program is missing is left out.
pub(super) fn programs(
    fs: &dyn Fs,
    root: &Path,
    runbook: Option<&Runbook>,
) -> Option<BTreeMap<String, Digest>> {
    Some(by_step(runbook?, |word| chain(fs, &find_program(fs, root, word)?, None)))
}

/// The same for those that are part of the code that runs start from: that is what will be executed, not the working
/// copy's. `is_snapshot` says that the folder itself is the code, apart from what snapshots leave out.
pub(super) fn programs_of_tree(
    fs: &dyn Fs,
    tree: &Path,
    is_snapshot: bool,
    runbook: &Runbook,
) -> BTreeMap<String, Digest> {
    let is_code = |word: &str| is_in(fs, tree, word) && !(is_snapshot && is_left_out(word));
    by_step(runbook, |word| if is_code(word) { chain_in(fs, tree, word) } else { None })
}

fn by_step(runbook: &Runbook, identify: impl Fn(&str) -> Option<Chain>) -> BTreeMap<String, Digest> {
    let mut found: BTreeMap<String, Digest> = BTreeMap::new();
    // Most steps use the same program, which may be large.
    let mut known: BTreeMap<&str, Option<Digest>> = BTreeMap::new();
    for (name, step) in runbook.steps() {
        let word = step.argv.first().map(String::as_str).unwrap_or_default();
        let digest = *known.entry(word).or_insert_with(|| identify(word).map(|chain| chain.digest));
        found.extend(digest.map(|digest| (name.to_string(), digest)));
    }
    found
}

/// Whether a command's first word is a file of a tree.
pub fn is_in(fs: &dyn Fs, tree: &Path, word: &str) -> bool {
    word.contains('/') && fs.is_file(&tree.join(word)).unwrap_or(false)
}

/// What executing the file that a word names in a tree starts.
fn chain_in(fs: &dyn Fs, tree: &Path, word: &str) -> Option<Chain> {
    let tree = fs.canonicalize(tree).ok()?;
    chain(fs, &tree.join(word), Some(&tree))
}

/// What executing a file starts; `None` if something of it is missing.
fn chain(fs: &dyn Fs, program: &Path, tree: Option<&Path>) -> Option<Chain> {
    follow(program, tree, &search_folders(), &mut |path| see(fs, path)).ok()
}

/// The file that a command's first word refers to: with a slash it is relative to the repository's root, without one
/// it is looked up in `PATH`.
pub fn find_program(fs: &dyn Fs, root: &Path, word: &str) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| fs.canonicalize(path).is_ok_and(|real| fs.is_file(&real).unwrap_or(false));
    if word.is_empty() {
        return None;
    }
    if word.contains('/') {
        return Some(root.join(word)).filter(is_file);
    }
    let folders = environment::variable("PATH")?;
    folders
        .split(':')
        .filter(|folder| folder.starts_with('/'))
        .map(|folder| Path::new(folder).join(word))
        .find(is_file)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes the files that are looked at")]

    use rlxp_fs::RealFs;
    use serde_json::json;

    use super::*;

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("train.py", "pass\n"), ("configs/ppo.yaml", "lr: 1\n"), ("bin/tool", "#!\n")] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn runbook(value: serde_json::Value) -> Runbook {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn programs_and_inputs_are_found_or_left_out() {
        let folder = repository();
        let root = folder.path();
        let digest = Digest::hash(b"lr: 1\n");
        let book = runbook(json!({
            "schema": "rlxp.runbook/1",
            "preflight": { "argv": ["no-such-program-anywhere"] },
            "smoke": { "argv": ["bin/nothing"] },
            "train": { "argv": ["bin/tool", "{seed}"] },
            "eval": { "argv": ["sh", "eval.sh", "{seed}"] },
            "inputs": [
                { "path": "configs/ppo.yaml", "digest": digest },
                { "path": "configs/none.yaml", "digest": digest },
                { "path": "../elsewhere", "digest": digest },
                { "path": "configs", "digest": digest },
            ],
        }));
        let found = || programs(&RealFs, root, Some(&book)).unwrap();
        let before = found();
        assert_eq!(before.keys().collect::<Vec<_>>(), ["eval", "train"]);
        std::fs::write(root.join("bin/tool"), "#!other\n").unwrap();
        let after = found();
        assert_eq!(before["eval"], after["eval"]);
        assert_ne!(before["train"], after["train"]);
        let read = inputs(&RealFs, root, Some(&book)).unwrap().unwrap();
        assert_eq!(read, BTreeMap::from([("configs/ppo.yaml".to_owned(), digest)]));
        // What the first line names belongs to the program, also in the code of the commit.
        let tree = programs_of_tree(&RealFs, root, false, &book);
        assert_eq!(tree.keys().collect::<Vec<_>>(), ["train"]);
        std::fs::write(root.join("interpreter"), "\x7fELF one").unwrap();
        let script = format!("#!{}\n", root.join("interpreter").display());
        std::fs::write(root.join("bin/tool"), script).unwrap();
        let (before, tree) = (found(), programs_of_tree(&RealFs, root, false, &book));
        std::fs::write(root.join("interpreter"), "\x7fELF two").unwrap();
        assert_ne!(before["train"], found()["train"]);
        assert_ne!(tree, programs_of_tree(&RealFs, root, false, &book));
        assert_eq!((inputs(&RealFs, root, None).unwrap(), programs(&RealFs, root, None)), (None, None));
    }

    #[test]
    fn the_command_and_then_the_script_say_what_a_flag_is() {
        let script = "p.add_argument('--lr', default=3e-4)\np.add_argument('--gamma', default=0.99)\n\
                      p.add_argument('--clip', default=0.2 if fast else 0.1)\np.add_argument('--epochs', default=4)\n";
        let keys = ["lr", "gamma", "clip", "epochs", "nothing"];
        let change = |key: &&str| json!({ "surface": "a", "operation": "set", "path": "train.py", "key": key, "to": 1 });
        let candidate: Candidate = serde_json::from_value(json!({
            "schema": "rlxp.candidate/1", "id": "a", "task": "a", "study": "a", "kind": "hyperparameter",
            "hypothesis": "it helps", "phases": [], "changes": keys.iter().map(change).collect::<Vec<_>>(),
        }))
        .unwrap();
        let argv = ["python", "train.py", "--gamma", "0.9", "--epochs={seed}", "--seed", "{seed}"];
        let book = runbook(json!({
            "schema": "rlxp.runbook/1", "train": { "argv": argv }, "eval": { "argv": ["true"] },
        }));
        let sources = BTreeMap::from([("train.py".to_owned(), Some(script.to_owned()))]);
        let found = flag_values(&candidate, &sources, Some(&book));
        let named: Vec<(&str, f64)> = found.iter().map(|((_, key), value)| (key.as_str(), *value)).collect();
        // A default that depends on something, and a value that isn't a number, are unknown.
        assert_eq!(named, [("gamma", 0.9), ("lr", 3e-4)]);
    }

    #[test]
    fn sources_are_read_absent_or_unknown() {
        let folder = repository();
        let root = folder.path();
        std::fs::write(root.join("binary"), [0xff, 0xfe]).unwrap();
        std::os::unix::fs::symlink("train.py", root.join("link.py")).unwrap();
        let paths = ["train.py", "new.py", "deep/new.py", "binary", "link.py", "configs", "../x"];
        let change =
            |path: &str| json!({ "surface": "a", "operation": "set", "path": path, "key": "a", "to": 1 });
        let changes: Vec<_> = paths.iter().map(|path| change(path)).collect();
        let candidate: Candidate = serde_json::from_value(json!({
            "schema": "rlxp.candidate/1", "id": "a", "task": "a", "study": "a", "kind": "policy",
            "hypothesis": "it helps", "phases": [], "changes": changes,
        }))
        .unwrap();
        let found = sources(&RealFs, root, &candidate).unwrap();
        let expected = [("deep/new.py", None), ("new.py", None), ("train.py", Some("pass\n".to_owned()))];
        assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text)).into());
    }
}
