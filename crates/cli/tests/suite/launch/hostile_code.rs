//! Whatever is done to a repository's objects, to git's settings or to the environment of rlx: runs start from the files
//! that the recorded commit id identifies, or they don't start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::launch::candidates::baseline;
use crate::launch::repository::Repository;

/// Code that is neither protected nor part of a surface.
const CODE: &str = "src/balance/env.py";

/// The repository, with what an attacker prepared: the same code with another line in it, as a blob, a tree, a commit.
struct Stage {
    repository: Repository,
    commit: String,
    honest: BTreeMap<PathBuf, Vec<u8>>,
    evil: String,
}

/// An attempt, with environment variables for rlx, and how it is reverted.
type Attempt = (&'static str, fn(&Stage) -> Vec<(&'static str, String)>, fn(&Stage));

impl Stage {
    fn new() -> Self {
        let repository = Repository::new();
        repository.ready("baseline", baseline());
        let git = |words: &[&str]| repository.git(words).trim().to_owned();
        let commit = git(&["rev-parse", "HEAD"]);
        let listed = git(&["ls-files"]);
        let read = |name: &str| (PathBuf::from(name), std::fs::read(repository.path(name)).unwrap());
        let honest: BTreeMap<PathBuf, Vec<u8>> = listed.lines().map(read).collect();
        let code = std::fs::read_to_string(repository.path(CODE)).unwrap();
        std::fs::write(repository.path(CODE), format!("{code}\nGRAVITY = 0.0\n")).unwrap();
        let evil = git(&["stash", "create"]);
        std::fs::write(repository.path(CODE), code).unwrap();
        // A new time stamp is not a change.
        git(&["update-index", "--refresh"]);
        Self { repository, commit, honest, evil }
    }

    fn git(&self, words: &[&str]) -> String {
        self.repository.git(words).trim().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.repository.path(name)
    }

    /// The file that git keeps an object in.
    fn object(&self, name: &str) -> PathBuf {
        let id = self.git(&["rev-parse", name]);
        self.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]))
    }

    /// Keeps one object under the name of another.
    fn swap(&self, what: &str) {
        let (honest, evil) =
            (self.object(&format!("{}{what}", self.commit)), self.object(&format!("{}{what}", self.evil)));
        std::fs::rename(&honest, self.kept()).unwrap();
        std::fs::copy(evil, &honest).unwrap();
        std::os::unix::fs::symlink(honest, self.kept().with_extension("place")).unwrap();
    }

    fn swap_back(&self) {
        let link = self.kept().with_extension("place");
        let place = std::fs::read_link(&link).unwrap();
        std::fs::remove_file(link).unwrap();
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(self.kept(), place).unwrap();
    }

    fn kept(&self) -> PathBuf {
        self.repository.home().join("kept")
    }

    /// The tree that runs start from, if there is one.
    fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let folder = self.repository.state().join("trees").join(&self.commit);
        let mut found = BTreeMap::new();
        collect(&folder, &folder, &mut found);
        found
    }

    fn write(&self, name: &str, text: &str) {
        self.repository.write(name, text);
    }
}

fn collect(top: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(top, &path, found);
        } else {
            found.insert(path.strip_prefix(top).unwrap().to_owned(), std::fs::read(&path).unwrap());
        }
    }
}

fn remove(path: PathBuf) {
    std::fs::remove_file(path).unwrap();
}

const ATTEMPTS: [Attempt; 14] = [
    (
        "a blob is replaced",
        |stage| {
            let ids =
                [&stage.commit, &stage.evil].map(|at| stage.git(&["rev-parse", &format!("{at}:{CODE}")]));
            stage.git(&["replace", &ids[0], &ids[1]]);
            Vec::new()
        },
        |stage| {
            drop(stage.git(&[
                "replace",
                "--delete",
                &stage.git(&["rev-parse", &format!("{}:{CODE}", stage.commit)]),
            ]))
        },
    ),
    (
        "the commit is replaced",
        |stage| {
            stage.git(&["replace", &stage.commit, &stage.evil]);
            Vec::new()
        },
        |stage| drop(stage.git(&["replace", "--delete", &stage.commit])),
    ),
    (
        "a blob lies under the name of another",
        |stage| {
            stage.swap(&format!(":{CODE}"));
            Vec::new()
        },
        Stage::swap_back,
    ),
    (
        "a tree lies under the name of another",
        |stage| {
            stage.swap("^{tree}");
            Vec::new()
        },
        Stage::swap_back,
    ),
    (
        "a commit lies under the name of another",
        |stage| {
            stage.swap("");
            Vec::new()
        },
        Stage::swap_back,
    ),
    (
        "objects of somewhere else",
        |stage| {
            let other = stage.repository.home().join("objects");
            std::fs::rename(stage.path(".git/objects"), &other).unwrap();
            std::fs::create_dir_all(stage.path(".git/objects/info")).unwrap();
            stage.write(".git/objects/info/alternates", &format!("{}\n", other.display()));
            let ids =
                [&stage.commit, &stage.evil].map(|at| stage.git(&["rev-parse", &format!("{at}:{CODE}")]));
            let [honest, evil] = ids.map(|id| other.join(&id[..2]).join(&id[2..]));
            std::fs::rename(&honest, stage.kept()).unwrap();
            std::fs::copy(evil, honest).unwrap();
            Vec::new()
        },
        |stage| {
            let other = stage.repository.home().join("objects");
            let id = stage.git(&["rev-parse", &format!("{}:{CODE}", stage.commit)]);
            std::fs::rename(stage.kept(), other.join(&id[..2]).join(&id[2..])).unwrap();
            std::fs::remove_dir_all(stage.path(".git/objects")).unwrap();
            std::fs::rename(other, stage.path(".git/objects")).unwrap();
        },
    ),
    (
        "attributes of the repository's own",
        |stage| {
            stage.write(".git/info/attributes", "*.py text eol=crlf working-tree-encoding=UTF-16\n");
            Vec::new()
        },
        |stage| remove(stage.path(".git/info/attributes")),
    ),
    (
        "attributes that nobody committed",
        |stage| {
            stage.write(".gitattributes", "*.py text eol=crlf ident\n");
            Vec::new()
        },
        |stage| remove(stage.path(".gitattributes")),
    ),
    (
        "settings from a file that the settings include",
        |stage| {
            let text = "[core]\n\tautocrlf = true\n\teol = crlf\n\tsymlinks = false\n[filter \"evil\"]\n\tsmudge = sed s/1/9/\n\trequired = true\n";
            std::fs::write(stage.repository.home().join("included"), text).unwrap();
            let included = stage.repository.home().join("included");
            stage.git(&["config", "include.path", included.to_str().unwrap()]);
            stage.write(".git/info/attributes", "*.py filter=evil\n");
            Vec::new()
        },
        |stage| {
            stage.git(&["config", "--unset", "include.path"]);
            remove(stage.path(".git/info/attributes"));
        },
    ),
    (
        "a sparse checkout",
        |stage| {
            stage.git(&["config", "core.sparseCheckout", "true"]);
            stage.write(".git/info/sparse-checkout", "/README.md\n");
            Vec::new()
        },
        |stage| {
            stage.git(&["config", "--unset", "core.sparseCheckout"]);
            remove(stage.path(".git/info/sparse-checkout"));
        },
    ),
    (
        "a work tree of somewhere else",
        |stage| {
            stage.git(&["config", "core.worktree", stage.repository.home().to_str().unwrap()]);
            Vec::new()
        },
        |stage| drop(stage.git(&["config", "--file", ".git/config", "--unset", "core.worktree"])),
    ),
    (
        "grafts, and a graph of commits that is none",
        |stage| {
            stage.write(".git/info/grafts", &format!("{}\n", stage.commit));
            stage.write(".git/objects/info/commit-graph", "CGPH\x01\x01\x00\x00");
            Vec::new()
        },
        |stage| {
            remove(stage.path(".git/info/grafts"));
            remove(stage.path(".git/objects/info/commit-graph"));
        },
    ),
    (
        "another git before the real one",
        |stage| {
            let folder = stage.repository.home().join("bin");
            std::fs::create_dir_all(&folder).unwrap();
            let real = stage.repository.run("sh", &["-c", "command -v git"]).stdout;
            let script = format!(
                "#!/bin/sh\n{} \"$@\" || exit $?\nfor word; do case $word in\n--prefix=*) echo 'GRAVITY = 0.0' >> \"${{word#--prefix=}}{CODE}\";;\nesac; done\n",
                real.trim()
            );
            std::fs::write(folder.join("git"), script).unwrap();
            rustix::fs::chmod(folder.join("git"), rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
            vec![("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()))]
        },
        |stage| std::fs::remove_dir_all(stage.repository.home().join("bin")).unwrap(),
    ),
    (
        "variables of git",
        |stage| {
            let nowhere = stage.repository.home().join("nowhere").display().to_string();
            let mut variables: Vec<(&str, String)> = [
                "GIT_DIR",
                "GIT_WORK_TREE",
                "GIT_COMMON_DIR",
                "GIT_OBJECT_DIRECTORY",
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                "GIT_INDEX_FILE",
                "GIT_EXEC_PATH",
                "GIT_TEMPLATE_DIR",
                "GIT_CONFIG_GLOBAL",
                "GIT_REPLACE_REF_BASE",
            ]
            .map(|name| (name, nowhere.clone()))
            .into();
            variables.push(("GIT_ATTR_SOURCE", stage.evil.clone()));
            variables.push(("GIT_CONFIG_PARAMETERS", "'core.autocrlf'='true'".into()));
            variables.push(("GIT_NAMESPACE", "evil".into()));
            variables
        },
        |_| {},
    ),
];

#[test]
fn runs_start_from_what_the_commit_is_called_by() {
    let stage = Stage::new();
    for (what, attempt, undo) in ATTEMPTS {
        let variables = attempt(&stage);
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let ran = stage.repository.rlx_where(&variables, "launch baseline --json");
        let tree = stage.tree();
        match ran.code {
            Some(0) => assert!(tree == stage.honest, "{what}: other files: {:?}", tree.keys()),
            Some(3) => assert!(tree.is_empty(), "{what}: refused, and something was made"),
            other => panic!("{what}: {other:?} {} {}", ran.stdout, ran.stderr),
        }
        undo(&stage);
        // Recreated for the next one.
        let trees = stage.repository.state().join("trees");
        if trees.exists() {
            std::fs::remove_dir_all(trees).unwrap();
        }
    }
    assert_eq!(stage.repository.runs_of("baseline").len(), 0);
    stage.repository.launch("baseline").expect(0);
    assert_eq!(stage.tree(), stage.honest);
}
