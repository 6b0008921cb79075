//! Where the interpreter of a step lives, found by reading alone: a step sees only what is listed, and its Python may be in
//! a virtual environment, a home folder or a conda installation.
//!
//! Nothing is executed to find out, since that would run the repository's own programs before anything is approved.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_launch::programs::{START, interpreters};

/// More programs than any chain of links, scripts and environments has.
const MOST_PROGRAMS: usize = 32;
/// A configuration or a list of paths is short.
const LONGEST: u64 = 1 << 20;
/// The folders of a Python installation that it loads from. Not all of its prefix, which may be a whole home folder.
const PARTS: [&str; 5] = ["bin", "lib", "lib64", "lib32", "libexec"];
/// Beside them in a virtual environment, where packages put their data.
const PARTS_OF_AN_ENVIRONMENT: [&str; 4] = ["pyvenv.cfg", "share", "etc", "include"];

/// Files and folders that a program needs besides those of the system, as far as they exist.
/// `folders` are searched for the programs that scripts name.
pub(super) fn roots(fs: &dyn Fs, folders: &[PathBuf], program: &Path) -> BTreeSet<PathBuf> {
    let mut search =
        Search { fs, folders, found: BTreeSet::new(), seen: BTreeSet::new(), left: VecDeque::new() };
    search.left.push_back(program.to_owned());
    while let Some(program) = search.left.pop_front() {
        if search.seen.len() < MOST_PROGRAMS && search.seen.insert(program.clone()) {
            search.look_at(&program);
        }
    }
    search.found
}

struct Search<'a> {
    fs: &'a dyn Fs,
    folders: &'a [PathBuf],
    found: BTreeSet<PathBuf>,
    seen: BTreeSet<PathBuf>,
    /// Programs that are not looked at yet.
    left: VecDeque<PathBuf>,
}

impl Search<'_> {
    fn look_at(&mut self, program: &Path) {
        let Ok(meta) = self.fs.metadata(program) else { return };
        self.found.insert(program.to_owned());
        self.installation_around(program);
        if meta.kind == Kind::Link {
            if let (Ok(target), Some(folder)) = (self.fs.read_link(program), program.parent()) {
                self.left.push_back(folder.join(target));
            }
            // Links among the folders above it, too.
            self.left.extend(self.fs.canonicalize(program).ok());
        } else {
            self.left.extend(self.interpreters_of(program));
        }
    }

    /// What is installed together with a program in a `bin` folder.
    fn installation_around(&mut self, program: &Path) {
        let Some((folder, prefix)) = program.parent().and_then(|folder| Some((folder, folder.parent()?)))
        else {
            return;
        };
        let is_there = |name: &str| self.fs.metadata(&prefix.join(name)).is_ok();
        if is_there("pyvenv.cfg") {
            self.take(prefix, &PARTS);
            self.take(prefix, &PARTS_OF_AN_ENVIRONMENT);
            self.base_of(prefix);
        } else if is_there("conda-meta") {
            // All of it belongs to conda, and libraries are in many folders.
            self.found.insert(prefix.to_owned());
        } else if folder.ends_with("shims") && is_there("versions") && is_there("libexec") {
            // pyenv's scripts choose one of its versions when they run.
            self.found.insert(prefix.to_owned());
            return;
        } else if !self.python_folders(prefix).is_empty() {
            self.take(prefix, &PARTS);
        }
        self.paths_of_packages(prefix);
    }

    fn take(&mut self, prefix: &Path, parts: &[&str]) {
        let paths = parts.iter().map(|part| prefix.join(part));
        self.found.extend(paths.filter(|path| self.fs.metadata(path).is_ok()));
    }

    /// The installation that a virtual environment was made from.
    fn base_of(&mut self, environment: &Path) {
        let text = self.fs.read_text(&environment.join("pyvenv.cfg"), LONGEST).unwrap_or_default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = PathBuf::from(value.trim());
            match key.trim() {
                "home" if value.is_absolute() => {
                    self.left.extend(["python3", "python"].map(|name| value.join(name)));
                }
                // The program by name, where the folder has it under none of the usual ones.
                "executable" | "base-executable" if value.is_absolute() => self.left.push_back(value),
                _ => {}
            }
        }
    }

    /// `lib/python3.12` and the like.
    fn python_folders(&self, prefix: &Path) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for library in ["lib", "lib64"].map(|name| prefix.join(name)) {
            let entries = self.fs.list(&library).unwrap_or_default();
            let names = entries.into_iter().map(|entry| entry.name).filter(|name| name.starts_with("python"));
            folders.extend(names.map(|name| library.join(name)));
        }
        folders
    }

    /// Folders that `.pth` files add to the places of packages. Lines of code in them are not run.
    fn paths_of_packages(&mut self, prefix: &Path) {
        for folder in self.python_folders(prefix) {
            for packages in ["site-packages", "dist-packages"].map(|name| folder.join(name)) {
                for entry in self.fs.list(&packages).unwrap_or_default() {
                    if entry.kind == Kind::File && entry.name.ends_with(".pth") {
                        let text =
                            self.fs.read_text(&packages.join(&entry.name), LONGEST).unwrap_or_default();
                        let folders: Vec<PathBuf> =
                            text.lines().filter_map(|line| self.folder_of(line)).collect();
                        self.found.extend(folders);
                    }
                }
            }
        }
    }

    fn folder_of(&self, line: &str) -> Option<PathBuf> {
        let path = Path::new(line.trim());
        let is_folder =
            || self.fs.canonicalize(path).is_ok_and(|real| self.fs.is_folder(&real).unwrap_or(false));
        (path.is_absolute() && path.parent().is_some() && is_folder()).then(|| path.to_owned())
    }

    /// The programs that a script is executed by, as its first line says.
    fn interpreters_of(&self, script: &Path) -> Vec<PathBuf> {
        let start = self.fs.read_at(script, 0, START).unwrap_or_default();
        interpreters(&start, self.folders).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the files that are looked at")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use rlxp_fs::RealFs;

    use super::*;

    /// Folders, files (`name=text`) and links (`name->target`); `TOP` is the folder that holds them.
    struct Layout {
        _folder: tempfile::TempDir,
        top: PathBuf,
    }

    fn layout(entries: &[&str]) -> Layout {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for entry in entries {
            let entry = entry.replace("TOP", top.to_str().unwrap());
            if let Some((link, target)) = entry.split_once("->") {
                fs::create_dir_all(top.join(link).parent().unwrap()).unwrap();
                symlink(target, top.join(link)).unwrap();
            } else if let Some((file, text)) = entry.split_once('=') {
                fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
                fs::write(top.join(file), text).unwrap();
            } else {
                fs::create_dir_all(top.join(entry)).unwrap();
            }
        }
        Layout { _folder: folder, top }
    }

    impl Layout {
        /// What is found below the top.
        fn found(&self, program: &str) -> Vec<String> {
            let roots = roots(&RealFs, &[], &self.top.join(program));
            let inside =
                |path: &PathBuf| Some(path.strip_prefix(&self.top).ok()?.to_str().unwrap().to_owned());
            roots.iter().filter_map(inside).collect()
        }
    }

    #[test]
    fn an_environment_in_the_repository_over_a_python_in_a_home_folder() {
        let layout = layout(&[
            "home/.pyenv/versions/3.12.1/bin/python3.12=ELF",
            "home/.pyenv/versions/3.12.1/bin/python3->python3.12",
            "home/.pyenv/versions/3.12.1/lib/python3.12/os.py=",
            "home/.pyenv/versions/3.11.0/bin/python3.11=ELF",
            "home/.ssh/id=key",
            "repo/.venv/pyvenv.cfg=home = TOP/home/.pyenv/versions/3.12.1/bin\nversion = 3.12.1\n",
            "repo/.venv/bin/python->TOP/home/.pyenv/versions/3.12.1/bin/python3",
            "repo/.venv/lib/python3.12/site-packages/numpy/__init__.py=",
            "repo/.venv/lib64->lib",
            "repo/train.py=",
        ]);
        let expected = [
            "home/.pyenv/versions/3.12.1/bin",
            "home/.pyenv/versions/3.12.1/bin/python3",
            "home/.pyenv/versions/3.12.1/bin/python3.12",
            "home/.pyenv/versions/3.12.1/lib",
            "repo/.venv/bin",
            "repo/.venv/bin/python",
            "repo/.venv/lib",
            "repo/.venv/lib64",
            "repo/.venv/pyvenv.cfg",
        ];
        assert_eq!(layout.found("repo/.venv/bin/python"), expected);
    }

    #[test]
    fn conda_and_a_script_of_it() {
        let layout = layout(&[
            "home/conda/envs/rl/conda-meta/history=",
            "home/conda/envs/rl/bin/python3.10=ELF",
            "home/conda/envs/rl/bin/python->python3.10",
            "home/conda/envs/rl/bin/accelerate=#!TOP/home/conda/envs/rl/bin/python\nimport sys\n",
            "home/conda/envs/rl/lib/python3.10/os.py=",
            "home/data/secret=",
        ]);
        for program in ["python", "accelerate"] {
            let found = layout.found(&format!("home/conda/envs/rl/bin/{program}"));
            assert!(found.contains(&"home/conda/envs/rl".to_owned()), "{found:?}");
            assert!(found.iter().all(|path| path.starts_with("home/conda/envs/rl")), "{found:?}");
        }
        let found = layout.found("home/conda/envs/rl/bin/accelerate");
        assert!(found.contains(&"home/conda/envs/rl/bin/python3.10".to_owned()), "{found:?}");
    }

    #[test]
    fn lists_of_paths_are_read_and_their_code_is_not_run() {
        let layout = layout(&[
            "env/pyvenv.cfg=home = /usr/bin\n",
            "env/bin/python->/usr/bin/python3",
            "env/lib/python3.12/site-packages/a.pth=# TOP/comment\nTOP/editable/src\nrelative\nTOP/absent\n/\n",
            "env/lib/python3.12/site-packages/b.pth=import os; os.mkdir('TOP/executed')\nTOP/link\n",
            "editable/src/pkg/__init__.py=",
            "link->editable",
            "comment/x=",
        ]);
        let found = layout.found("env/bin/python");
        assert!(
            found.contains(&"editable/src".to_owned()) && found.contains(&"link".to_owned()),
            "{found:?}"
        );
        let other = ["comment", "absent", "", "executed"];
        assert!(!found.iter().any(|path| other.contains(&path.as_str())), "{found:?}");
        assert!(!layout.top.join("executed").exists());
    }

    #[test]
    fn a_program_in_a_home_folder_brings_nothing_else_of_it() {
        let layout = layout(&["home/bin/tool=ELF", "home/notes=", "home/lib/other="]);
        assert_eq!(layout.found("home/bin/tool"), ["home/bin/tool"]);
        // A Python right there brings its folders, not the whole prefix.
        let layout = self::layout(&["home/bin/python3=ELF", "home/notes=", "home/lib/python3.12/os.py="]);
        assert_eq!(layout.found("home/bin/python3"), ["home/bin", "home/bin/python3", "home/lib"]);
        assert_eq!(layout.found("home/bin/absent"), Vec::<String>::new());
    }

    #[test]
    fn a_shim_of_pyenv_brings_its_versions() {
        let layout = layout(&[
            "home/.pyenv/shims/python=#!/usr/bin/env bash\nexec pyenv exec python\n",
            "home/.pyenv/versions/3.12.1/bin/python=ELF",
            "home/.pyenv/libexec/pyenv=",
        ]);
        assert!(layout.found("home/.pyenv/shims/python").contains(&"home/.pyenv".to_owned()));
    }

    #[test]
    fn circles_end() {
        let layout = layout(&["bin/one->two", "bin/two->one", "bin/script=#!TOP/bin/script\n"]);
        assert_eq!(layout.found("bin/one"), ["bin/one", "bin/two"]);
        assert_eq!(layout.found("bin/script"), ["bin/script"]);
    }
}
