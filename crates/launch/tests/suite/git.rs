//! The snapshot of a repository, against real git.

use std::fs;
use std::path::Path;
use std::process::Command;

use rlxp_launch::GitState;
use rlxp_launch::git::{ChangedFile, CheckoutError, changed_files, checkout, snapshot, snapshot_without};
use tempfile::TempDir;

use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    outside_a_repository_there_is_nothing_to_tell,
    a_clean_tree_has_commit_and_branch_and_no_digest,
    every_difference_changes_the_digest_and_taking_it_back_restores_it,
    excluded_folders_and_the_place_of_asking_change_nothing,
    before_the_first_commit_it_says_so,
    what_can_not_be_covered_is_named,
    nothing_that_a_repository_configures_is_run,
    a_required_filter_that_is_switched_off_is_no_failure,
    changed_files_between_two_commits_are_counted_and_nothing_else_is_asked,
    a_commit_is_written_elsewhere_and_nothing_of_the_repository_changes,
];

/// Git with no settings but those of the repository.
pub(crate) fn plain_git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    // Those of a git hook that runs the tests would lead into another repository.
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(variable);
    }
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

pub(crate) fn git(folder: &Path, words: &[&str]) {
    let output = plain_git(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(words)
        .output()
        .expect("git is needed here: please install git");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with one commit of one file and a line of ignored names.
fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    fs::write(folder.path().join("code.rs"), "fn main() {}\n").unwrap();
    fs::write(folder.path().join(".gitignore"), "/ignored\n").unwrap();
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "-m", "first"]);
    folder
}

fn state(folder: &TempDir) -> GitState {
    snapshot(folder.path()).expect("it is a repository")
}

fn outside_a_repository_there_is_nothing_to_tell() {
    assert_eq!(snapshot(tempfile::tempdir().unwrap().path()), None);
    assert_eq!(snapshot(Path::new("/nowhere")), None);
    let folder = repository();
    assert_eq!(snapshot(&folder.path().join(".git")), None, "no work tree");
}

fn a_clean_tree_has_commit_and_branch_and_no_digest() {
    let folder = repository();
    fs::write(folder.path().join("ignored"), "whatever").unwrap();
    let clean = state(&folder);
    assert_eq!(clean.commit.as_ref().map(String::len), Some(40));
    assert_eq!(clean.branch.as_deref(), Some("main"));
    assert_eq!((clean.dirty, clean.dirty_digest, clean.not_covered), (false, None, None));
    git(folder.path(), &["checkout", "--quiet", "--detach"]);
    assert_eq!(state(&folder).branch, None);
    let inside = folder.path().join("folder");
    fs::create_dir(&inside).unwrap();
    assert_eq!(snapshot(&inside).unwrap().commit, clean.commit);
}

fn every_difference_changes_the_digest_and_taking_it_back_restores_it() {
    let folder = repository();
    let path = |name: &str| folder.path().join(name);
    let mut seen = vec![state(&folder).dirty_digest];
    let mut is_new = |what: &str| {
        let state = state(&folder);
        assert!(state.dirty && state.not_covered.is_none(), "{what}: {state:?}");
        assert!(!seen.contains(&state.dirty_digest), "{what}");
        seen.push(state.dirty_digest);
    };
    fs::write(path("code.rs"), "fn main() { }\n").unwrap();
    is_new("a changed file");
    fs::write(path("code.rs"), b"\0\x01binary").unwrap();
    is_new("changed binary content");
    fs::remove_file(path("code.rs")).unwrap();
    is_new("a removed file");
    fs::write(path("code.rs"), "fn main() {}\n").unwrap();
    fs::write(path("new name.rs"), "1").unwrap();
    is_new("an untracked file");
    fs::write(path("new name.rs"), "2").unwrap();
    is_new("other content of it");
    fs::rename(path("new name.rs"), path("other\nname.rs")).unwrap();
    is_new("another name of it");
    git(folder.path(), &["add", "."]);
    is_new("the same, tracked");
    git(folder.path(), &["rm", "--quiet", "--cached", "other\nname.rs"]);
    fs::remove_file(path("other\nname.rs")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", path("link")).unwrap();
    is_new("an untracked link");
    fs::remove_file(path("link")).unwrap();
    assert!(!state(&folder).dirty);
}

fn excluded_folders_and_the_place_of_asking_change_nothing() {
    let folder = repository();
    fs::write(folder.path().join("new.rs"), "1").unwrap();
    let without_runs = state(&folder);
    fs::create_dir_all(folder.path().join("runs/a_001")).unwrap();
    fs::write(folder.path().join("runs/a_001/metrics.jsonl"), "{}").unwrap();
    assert_ne!(state(&folder), without_runs);
    assert_eq!(snapshot_without(folder.path(), &[Path::new("runs")]).unwrap(), without_runs);
    let inside = folder.path().join("runs");
    assert_eq!(snapshot(&inside).unwrap(), state(&folder));
}

fn before_the_first_commit_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    let state = state(&folder);
    assert_eq!((state.commit, state.branch.as_deref(), state.dirty), (None, Some("main"), true));
    assert!(state.not_covered.unwrap().contains("no commits yet"));
}

fn what_can_not_be_covered_is_named() {
    let folder = repository();
    let large = fs::File::create(folder.path().join("large")).unwrap();
    large.set_len(65 * 1024 * 1024).unwrap();
    let state = state(&folder);
    assert!(state.dirty && state.dirty_digest.is_some());
    assert_eq!(
        state.not_covered.as_deref(),
        Some("the contents of 1 untracked files: unreadable, or more than 64 MB in total")
    );
}

/// Sets a trap in a repository and checks that a plain `git diff` triggers it
/// (otherwise the test would prove nothing) and that the snapshot doesn't.
fn check_trap(setting: &str, attributes: &str) {
    let folder = repository();
    let trap = folder.path().join("ignored");
    let program = format!("sh -c 'touch {0}; cat' {0}", trap.display());
    git(folder.path(), &["config", setting, &program]);
    fs::create_dir_all(folder.path().join(".git/info")).unwrap();
    fs::write(folder.path().join(".git/info/attributes"), attributes).unwrap();
    fs::write(folder.path().join("code.rs"), "changed\n").unwrap();
    let state = state(&folder);
    assert!(state.dirty_digest.is_some() && state.not_covered.is_none(), "{setting}: {state:?}");
    assert!(!trap.exists(), "{setting}: git was talked into starting something");
    plain_git(folder.path()).args(["diff", "HEAD"]).output().unwrap();
    assert!(trap.exists(), "{setting}: the trap doesn't work");
}

fn nothing_that_a_repository_configures_is_run() {
    check_trap("core.fsmonitor", "");
    check_trap("diff.external", "");
    check_trap("diff.odd.command", "*.rs diff=odd\n");
    check_trap("diff.odd.textconv", "*.rs diff=odd\n");
    check_trap("filter.odd.clean", "*.rs filter=odd\n");
    check_trap("filter.odd=name.clean", "*.rs filter=odd=name\n");
    check_trap("filter.odd.process", "*.rs filter=odd\n");
}

fn a_required_filter_that_is_switched_off_is_no_failure() {
    let folder = repository();
    git(folder.path(), &["config", "filter.odd.clean", "false"]);
    git(folder.path(), &["config", "filter.odd.required", "true"]);
    fs::create_dir_all(folder.path().join(".git/info")).unwrap();
    fs::write(folder.path().join(".git/info/attributes"), "*.rs filter=odd\n").unwrap();
    fs::write(folder.path().join("code.rs"), "changed\n").unwrap();
    assert_eq!(state(&folder).not_covered, None);
}

fn changed_files_between_two_commits_are_counted_and_nothing_else_is_asked() {
    let folder = repository();
    let head = || state(&folder).commit.unwrap();
    let first = head();
    fs::write(folder.path().join("code.rs"), "fn main() {}\nfn more() {}\n").unwrap();
    fs::write(folder.path().join("größe.bin"), [0, 1, 2]).unwrap();
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-qm", "second"]);
    let second = head();
    let file = |path: &str, added, removed| ChangedFile { path: path.to_owned(), added, removed };
    let forth = vec![file("code.rs", Some(1), Some(0)), file("größe.bin", None, None)];
    assert_eq!(changed_files(folder.path(), &first, &second), Some(forth));
    assert_eq!(changed_files(folder.path(), &second, &second), Some(Vec::new()));
    for odd in ["HEAD", "--output=stolen", "", &first[..10], &"0".repeat(40)] {
        assert_eq!(changed_files(folder.path(), &first, odd), None, "{odd}");
    }
    assert!(!folder.path().join("stolen").exists());
    assert_eq!(changed_files(TempDir::new().unwrap().path(), &first, &second), None);
}

/// The names below a folder, sorted, with `/` after folders.
fn names(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let end = if entry.file_type().unwrap().is_dir() { "/" } else { "" };
            format!("{}{end}", entry.file_name().into_string().unwrap())
        })
        .collect();
    found.sort();
    found
}

fn a_commit_is_written_elsewhere_and_nothing_of_the_repository_changes() {
    let folder = repository();
    let path = folder.path();
    let trap = path.join("trap");
    fs::create_dir(path.join("inner")).unwrap();
    fs::write(path.join("inner/part.py"), "x = 1\n").unwrap();
    fs::write(path.join(".gitattributes"), "*.py filter=trap\n").unwrap();
    git(path, &["add", "."]);
    git(path, &["commit", "--quiet", "-m", "second"]);
    let commit = state(&folder).commit.unwrap();
    // From here on the repository asks for programs to be run.
    let touch = format!("touch {}; cat", trap.display());
    for name in ["filter.trap.smudge", "filter.trap.clean", "filter.trap.process"] {
        git(path, &["config", name, &touch]);
    }
    git(path, &["config", "filter.trap.required", "true"]);
    let hook = path.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(path.join("code.rs"), "changed and not committed\n").unwrap();
    let before: Vec<(String, Vec<u8>)> = ["HEAD", "index", "config", "logs/HEAD"]
        .iter()
        .map(|name| ((*name).to_owned(), fs::read(path.join(".git").join(name)).unwrap()))
        .collect();

    let elsewhere = tempfile::tempdir().unwrap();
    let (all, part) = (elsewhere.path().join("with space"), elsewhere.path().join("part"));
    for (from, target) in [(path.to_owned(), &all), (path.join("inner"), &part)] {
        fs::create_dir(target).unwrap();
        let index = elsewhere.path().join("index");
        assert_eq!(checkout(&from, &commit, target, &index), Ok(Vec::new()));
        fs::remove_file(index).unwrap();
    }
    assert_eq!(names(&all), [".gitattributes", ".gitignore", "code.rs", "inner/"]);
    assert_eq!(fs::read_to_string(all.join("code.rs")).unwrap(), "fn main() {}\n");
    assert_eq!(names(&part), ["part.py"]);
    assert_eq!(fs::read_to_string(part.join("part.py")).unwrap(), "x = 1\n");
    assert!(!trap.exists(), "a program of the repository was run");
    for (name, bytes) in before {
        assert_eq!(fs::read(path.join(".git").join(&name)).unwrap(), bytes, "{name}");
    }
    assert!(!path.join(".git/worktrees").exists());

    let index = elsewhere.path().join("index");
    for unknown in ["0".repeat(40), "main".to_owned(), "--all".to_owned()] {
        let refused = checkout(path, &unknown, &all, &index);
        assert_eq!(refused, Err(CheckoutError::NoCommit(unknown)));
    }
    let outside = checkout(elsewhere.path(), &commit, &all, &index);
    assert!(matches!(outside, Err(CheckoutError::NoRepository(_))));
}
