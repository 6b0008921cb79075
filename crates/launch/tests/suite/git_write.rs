//! Commits, refs and branches that rlx adds to a repository, against real git.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rlxp_launch::git::write::{NewCommit, WriteError, branch, commit, set_ref};
use rlxp_launch::git::{checkout, committed_at, head, patch};
use tempfile::TempDir;

use crate::git::{git, plain_git};
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    a_commit_and_its_ref_are_added_and_nothing_else_changes,
    the_same_input_gives_the_same_commit,
    a_linked_worktree_and_a_part_of_a_repository_work_the_same,
    long_names_of_objects_work_the_same,
    what_can_not_be_written_is_refused,
    a_branch_is_new_or_refused,
    a_patch_leads_from_one_commit_to_the_other,
];

const REF: &str = "refs/rlxp/balance/tuning/lower-lr";

/// A repository with files of every kind, whose settings would change or refuse what is written.
struct Hostile {
    folder: TempDir,
    trap: PathBuf,
}

fn hostile(format: &str) -> Hostile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    git(path, &["init", "--quiet", &format!("--object-format={format}")]);
    for (name, text) in [
        ("train.py", "lr = 1\r\nsteps = 2\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("old.py", "pass\n"),
        ("inner/part.py", "x = 1\n"),
        (".gitattributes", "*.py filter=trap text=auto\n"),
    ] {
        fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
        fs::write(path.join(name), text).unwrap();
    }
    fs::set_permissions(path.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("train.py", path.join("link.py")).unwrap();
    git(path, &["-c", "core.autocrlf=false", "add", "."]);
    git(path, &["commit", "--quiet", "-m", "first"]);
    let trap = path.join(".git/trap");
    let touch = format!("touch {}; tr a-z A-Z", trap.display());
    for name in ["filter.trap.smudge", "filter.trap.clean", "core.fsmonitor"] {
        git(path, &["config", name, &touch]);
    }
    for (name, value) in [
        ("core.autocrlf", "true"),
        ("filter.trap.required", "true"),
        ("commit.gpgSign", "true"),
        ("gpg.program", "false"),
        ("core.splitIndex", "true"),
        ("core.logAllRefUpdates", "always"),
        ("i18n.commitEncoding", "ISO-8859-1"),
    ] {
        git(path, &["config", name, value]);
    }
    for name in ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"] {
        let hook = path.join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\ntouch {}\nexit 1\n", trap.display())).unwrap();
        fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    }
    // Edits of the user, staged and not.
    fs::write(path.join("old.py"), "edited = 1\n").unwrap();
    fs::write(path.join("untracked.py"), "pass\n").unwrap();
    Hostile { folder, trap }
}

/// What the user sees of a repository: status, HEAD, branches, and the files that hold them.
fn seen(folder: &Path) -> Vec<String> {
    let ask = |words: &[&str]| {
        // Those of the repository would run the traps.
        let mut command = plain_git(folder);
        command.args(["-c", "core.fsmonitor=false", "-c", "filter.trap.clean=cat"]).args(words);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    vec![
        ask(&["--no-optional-locks", "status", "--porcelain", "--branch"]),
        ask(&["rev-parse", "HEAD"]),
        ask(&["for-each-ref", "refs/heads", "refs/tags"]),
        ask(&["ls-files", "--stage", "--debug"]),
        ask(&["stash", "list"]),
        ask(&["worktree", "list"]),
    ]
}

fn changes() -> BTreeMap<String, Option<Vec<u8>>> {
    [
        ("train.py", Some(b"lr = 2\r\nsteps = 2\n".to_vec())),
        ("run.sh", Some(b"#!/bin/sh\nexec true\n".to_vec())),
        ("old.py", None),
        ("new folder/größe.py", Some(b"size = 3\r\n".to_vec())),
        ("data.bin", Some(vec![0, 1, 2, 255])),
    ]
    .map(|(path, content)| (path.to_owned(), content))
    .into()
}

fn new<'a>(parent: &'a str, files: &'a BTreeMap<String, Option<Vec<u8>>>) -> NewCommit<'a> {
    NewCommit { parent, files, message: "rlx: accept lower-lr\n", date: 1_700_000_000 }
}

/// The files of a commit, as rlx itself gets them.
fn files_of(folder: &Path, commit: &str) -> BTreeMap<String, (Vec<u8>, bool)> {
    let elsewhere = tempfile::tempdir().unwrap();
    let (target, index) = (elsewhere.path().join("tree"), elsewhere.path().join("index"));
    fs::create_dir(&target).unwrap();
    checkout(folder, commit, &target, &index).unwrap();
    let mut found = BTreeMap::new();
    let mut folders = vec![target.clone()];
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(&inside).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(&target).unwrap().to_str().unwrap().to_owned();
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_symlink() {
                let to = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                found.insert(name, (to, false));
            } else {
                found.insert(name, (fs::read(&path).unwrap(), meta.permissions().mode() & 0o100 != 0));
            }
        }
    }
    found
}

fn check(folder: &Path, trap: &Path) {
    let elsewhere = tempfile::tempdir().unwrap();
    let index = elsewhere.path().join("index");
    let parent = head(folder).unwrap();
    let mut expected = files_of(folder, &parent);
    let before = seen(folder);
    let written = commit(folder, &new(&parent, &changes()), &index).unwrap();
    set_ref(folder, REF, &written).unwrap();
    // Again, as after a kill.
    set_ref(folder, REF, &written).unwrap();
    assert_eq!(seen(folder), before);
    assert!(!trap.exists(), "a program of the repository was run");
    for (path, content) in changes() {
        let executable = expected.remove(&path).is_some_and(|(_, executable)| executable);
        if let Some(content) = content {
            expected.insert(path, (content, executable));
        }
    }
    assert_eq!(files_of(folder, &written), expected);
    let named = plain_git(folder).args(["rev-parse", REF]).output().unwrap();
    assert_eq!(String::from_utf8(named.stdout).unwrap().trim(), written);
}

fn a_commit_and_its_ref_are_added_and_nothing_else_changes() {
    let Hostile { folder, trap } = hostile("sha1");
    let files = |path: &Path| fs::read_dir(path).unwrap().count();
    let before = files(&folder.path().join(".git"));
    check(folder.path(), &trap);
    // Nothing but `refs/rlxp` and objects: no shared index, no lock, and no file of a merge.
    assert_eq!(
        files(&folder.path().join(".git")),
        before + usize::from(!folder.path().join(".git/logs").exists())
    );
}

fn the_same_input_gives_the_same_commit() {
    let names: Vec<String> = [(); 2]
        .iter()
        .map(|()| {
            let Hostile { folder, .. } = hostile("sha1");
            let elsewhere = tempfile::tempdir().unwrap();
            let path = folder.path();
            // A parent whose name depends on nothing else.
            let files = BTreeMap::from([("train.py".to_owned(), Some(b"lr = 5\n".to_vec()))]);
            let first =
                commit(path, &new(&head(path).unwrap(), &files), &elsewhere.path().join("a")).unwrap();
            let again =
                commit(path, &new(&head(path).unwrap(), &files), &elsewhere.path().join("b")).unwrap();
            assert_eq!(first, again);
            assert_eq!(committed_at(path, &first), Some(1_700_000_000));
            let tree = plain_git(path).args(["rev-parse", &format!("{first}^{{tree}}")]).output().unwrap();
            String::from_utf8(tree.stdout).unwrap()
        })
        .collect();
    assert_eq!(names[0], names[1]);
}

fn a_linked_worktree_and_a_part_of_a_repository_work_the_same() {
    let Hostile { folder, trap } = hostile("sha1");
    let elsewhere = tempfile::tempdir().unwrap();
    let linked = elsewhere.path().join("linked");
    let words = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
    let mut words = words.to_vec();
    words.extend(["-c", "filter.trap.smudge=cat", "worktree", "add", "--quiet", linked.to_str().unwrap()]);
    git(folder.path(), &words);
    check(&linked, &trap);

    let inner = folder.path().join("inner");
    let parent = head(&inner).unwrap();
    let files = BTreeMap::from([("part.py".to_owned(), Some(b"x = 2\n".to_vec()))]);
    let written = commit(&inner, &new(&parent, &files), &elsewhere.path().join("index")).unwrap();
    assert_eq!(files_of(&inner, &written), [("part.py".to_owned(), (b"x = 2\n".to_vec(), false))].into());
    assert_eq!(files_of(folder.path(), &written)["train.py"], files_of(folder.path(), &parent)["train.py"]);
}

fn long_names_of_objects_work_the_same() {
    let Hostile { folder, trap } = hostile("sha256");
    check(folder.path(), &trap);
}

fn what_can_not_be_written_is_refused() {
    let Hostile { folder, .. } = hostile("sha1");
    let path = folder.path();
    let elsewhere = tempfile::tempdir().unwrap();
    let parent = head(path).unwrap();
    let before = seen(path);
    let check = |parent: &str, name: &str, content: Option<&[u8]>, expected: WriteError| {
        let files = BTreeMap::from([(name.to_owned(), content.map(<[u8]>::to_vec))]);
        let index = elsewhere.path().join(format!("index-{}", name.replace('/', "-")));
        assert_eq!(commit(path, &new(parent, &files), &index), Err(expected), "{name}");
    };
    check(&parent, "nothing.py", None, WriteError::NotAFile("nothing.py".into()));
    check(&parent, "link.py", Some(b"x"), WriteError::NotAFile("link.py".into()));
    check("main", "train.py", Some(b"x"), WriteError::NoCommit("main".into()));
    let zero = "0".repeat(40);
    check(&zero, "train.py", Some(b"x"), WriteError::NoCommit(zero.clone()));
    // A file where the commit has a folder, and the other way round.
    check(&parent, "inner", Some(b"x"), WriteError::NotAFile("inner".into()));
    check(&parent, "train.py/x", Some(b"x"), WriteError::NotAFile("train.py/x".into()));
    assert_eq!(set_ref(path, REF, &zero), Err(WriteError::NoCommit(zero)));
    for name in ["refs/heads/main", "HEAD", "refs/rlxp/../heads/main"] {
        assert!(set_ref(path, name, &parent).is_err(), "{name}");
    }
    assert!(matches!(set_ref(elsewhere.path(), REF, &parent), Err(WriteError::NoRepository(_))));
    assert_eq!(seen(path), before);
}

fn a_branch_is_new_or_refused() {
    let Hostile { folder, trap } = hostile("sha1");
    let path = folder.path();
    let commit = head(path).unwrap();
    branch(path, "rlx/accepted", &commit).unwrap();
    let named = plain_git(path).args(["rev-parse", "refs/heads/rlx/accepted"]).output().unwrap();
    assert_eq!(String::from_utf8(named.stdout).unwrap().trim(), commit);
    let before = seen(path);
    for name in ["main", "rlx/accepted"] {
        assert_eq!(branch(path, name, &commit), Err(WriteError::Exists(format!("branch {name}"))));
    }
    for name in ["", "-d", "a..b", "HEAD", "a b", "a.lock", "../x"] {
        assert_eq!(branch(path, name, &commit), Err(WriteError::BadName(name.to_owned())));
    }
    // A folder of branches can't be a branch.
    assert!(matches!(branch(path, "rlx", &commit), Err(WriteError::NotWritten(_))));
    assert_eq!(seen(path), before);
    assert!(!trap.exists(), "a program of the repository was run");
}

fn a_patch_leads_from_one_commit_to_the_other() {
    let Hostile { folder, .. } = hostile("sha1");
    let elsewhere = tempfile::tempdir().unwrap();
    let path = folder.path();
    let parent = head(path).unwrap();
    let written = commit(path, &new(&parent, &changes()), &elsewhere.path().join("index")).unwrap();
    let bytes = patch(path, &parent, &written).unwrap();
    assert_eq!(patch(path, &parent, &parent), Some(Vec::new()));
    assert_eq!(patch(path, "HEAD", &written), None);
    // A fresh copy of the first commit, without the settings of the repository.
    let copy = elsewhere.path().join("copy");
    git(elsewhere.path(), &["init", "--quiet", copy.to_str().unwrap()]);
    for (name, (content, executable)) in files_of(path, &parent) {
        if name == "link.py" {
            continue;
        }
        fs::create_dir_all(copy.join(&name).parent().unwrap()).unwrap();
        fs::write(copy.join(&name), content).unwrap();
        let mode = if executable { 0o755 } else { 0o644 };
        fs::set_permissions(copy.join(&name), PermissionsExt::from_mode(mode)).unwrap();
    }
    fs::remove_file(copy.join(".gitattributes")).unwrap();
    let file = elsewhere.path().join("accepted.patch");
    fs::write(&file, bytes).unwrap();
    git(&copy, &["apply", file.to_str().unwrap()]);
    for (name, (content, _)) in files_of(path, &written) {
        if ![".gitattributes", "link.py"].contains(&name.as_str()) {
            assert_eq!(fs::read(copy.join(&name)).unwrap(), content, "{name}");
        }
    }
    assert!(!copy.join("old.py").exists());
}
