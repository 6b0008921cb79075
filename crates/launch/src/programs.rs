//! What executing a file really starts: the file, and if it is a script also the interpreter in its first line, whatever
//! that is started with in turn.
//!
//! An approved command says `tune`, but what runs is the Python that the first line of `tune` leads to. So the identity
//! of a program covers the whole chain. Programs that a script starts by itself can't be known from its first line;
//! [`Chain::open`] says why.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsError, FsExt, Kind, environment};
use rlxp_types::Digest;
use rustix::fs::{Access, AtFlags, CWD};

/// The kernel reads this much of a first line.
const FIRST_LINE: usize = 256;
/// How much of a file is looked at for what kind of script it is.
pub const START: usize = 4096;
/// More programs than any chain has: the kernel follows five.
const MOST: usize = 16;
/// Executed in place of a file that is neither a program nor says what runs it.
const FALLBACK: &str = "/bin/sh";
/// Programs that only start others, by name.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"];
/// What a shell script most often starts. Steps can read what `PATH` offers under these names.
pub const OFFERED: [&str; 2] = ["python3", "python"];

/// Everything that executing a file starts, as far as files tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Identifies all of it.
    pub digest: Digest,
    /// The file and its interpreters.
    pub programs: Vec<PathBuf>,
    /// What makes it start further programs, which are not part of it.
    pub open: Option<String>,
}

/// One file of a chain as it was read.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its path with all symlinks resolved.
    pub real: PathBuf,
    pub content: Digest,
    /// Its first bytes.
    pub start: Vec<u8>,
}

/// Reads a file of a chain.
pub fn see(fs: &dyn Fs, path: &Path) -> Result<Seen, FsError> {
    let real = fs.canonicalize(path)?;
    if fs.metadata(&real)?.kind != Kind::File {
        // Opening a pipe would block.
        return Err(FsError::new("read", path, std::io::Error::from(std::io::ErrorKind::InvalidInput)));
    }
    Ok(Seen { content: fs.digest(&real)?, start: fs.read_at(&real, 0, START)?, real })
}

/// What makes a program start others that reading alone doesn't tell; [`Chain::open`] without its digests.
pub fn open_in(fs: &dyn Fs, program: &Path, folders: &[PathBuf]) -> Option<String> {
    let mut peek = |path: &Path| -> Result<Seen, FsError> {
        let real = fs.canonicalize(path)?;
        Ok(Seen { content: Digest::ZERO, start: fs.read_at(&real, 0, START)?, real })
    };
    follow(program, None, folders, &mut peek).ok()?.open
}

/// The folders that a step searches for programs.
pub fn search_folders() -> Vec<PathBuf> {
    let path = environment::variable("PATH").and_then(|path| crate::supervise::existing_folders(&path));
    path.iter().flat_map(|path| path.split(':')).map(PathBuf::from).collect()
}

/// Follows `program` through its interpreters. Inside of `tree` it is identified by its path there, since every step has a
/// tree of its own. `see` reads one file; both paths are without links.
pub fn follow<E>(
    program: &Path,
    tree: Option<&Path>,
    folders: &[PathBuf],
    see: &mut dyn FnMut(&Path) -> Result<Seen, E>,
) -> Result<Chain, E> {
    let mut parts: Vec<Digest> = Vec::new();
    let mut open = None;
    let mut programs: Vec<PathBuf> = Vec::new();
    let mut left = VecDeque::from([program.to_owned()]);
    while let Some(path) = left.pop_front() {
        if programs.contains(&path) {
            continue;
        }
        if programs.len() == MOST {
            open.get_or_insert_with(|| "has too many interpreters".to_owned());
            break;
        }
        let Seen { real, content, start } = see(&path)?;
        let is_first = programs.is_empty();
        let tree = tree.filter(|_| is_first);
        let named = |path: &'_ Path| match tree.and_then(|tree| path.strip_prefix(tree).ok()) {
            Some(inside) => inside.to_owned(),
            None => path.to_owned(),
        };
        parts.push(program_digest(&named(&path), &named(&real), content));
        match interpreters(&start, folders) {
            Ok(next) => left.extend(next),
            Err(why) => drop(open.get_or_insert(why)),
        }
        if is_first && is_shim(&path, &start) {
            open = Some("is a shim that chooses a program when it runs".to_owned());
        } else if path.file_name().is_some_and(|name| SHELLS.iter().any(|shell| name == *shell)) {
            left.extend(OFFERED.iter().filter_map(|name| find(name, folders)));
            let what = if is_first { "is a shell" } else { "is a shell script" };
            open.get_or_insert_with(|| what.to_owned());
        }
        programs.push(path);
    }
    // A program that isn't a script is identified as earlier versions did.
    let digest = match parts.as_slice() {
        [only] => *only,
        all => Digest::hash(&serde_json::to_vec(all).expect("digests are plain data")),
    };
    Ok(Chain { digest, programs, open })
}

/// Scripts of version managers, which look up the program to start when they run.
fn is_shim(path: &Path, start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let is_in_shims = path.parent().is_some_and(|folder| folder.ends_with("shims"));
    is_in_shims || ["pyenv exec", "/pyenv\" exec", "asdf exec"].iter().any(|words| text.contains(words))
}

/// The programs that a file beginning with `start` is executed by; an error says why they can't be known.
pub fn interpreters(start: &[u8], folders: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    if start.starts_with(b"\x7fELF") {
        return Ok(Vec::new());
    }
    let start = &start[..start.len().min(FIRST_LINE)];
    let line = start.strip_prefix(b"#!").and_then(|line| line.split(|byte| *byte == b'\n').next());
    let Some(line) = line else { return Ok(vec![FALLBACK.into()]) };
    let line = std::str::from_utf8(line).map_err(|_| "its first line is not UTF-8".to_owned())?;
    let line = line.trim_matches([' ', '\t']);
    let (interpreter, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if interpreter.is_empty() {
        return Ok(vec![FALLBACK.into()]);
    }
    let path = Path::new(interpreter);
    if !path.is_absolute() {
        return Err(format!("its interpreter {interpreter} depends on the working folder"));
    }
    let mut found = vec![path.to_owned()];
    if path.file_name().is_some_and(|name| name == "env") {
        found.extend(started_by_env(argument.trim_matches([' ', '\t']), folders)?);
    }
    Ok(found)
}

/// The program that `env` starts with this one argument.
fn started_by_env(argument: &str, folders: &[PathBuf]) -> Result<Option<PathBuf>, String> {
    let unclear = || format!("what `env {argument}` starts can't be read from it");
    let name = match argument.strip_prefix("-S") {
        Some(words) => {
            if words.contains(['\\', '"', '\'', '$', '#']) {
                return Err(unclear());
            }
            let mut words = words.split_whitespace().skip_while(|word| {
                word.split_once('=').is_some_and(|(name, _)| name != "PATH" && !name.starts_with('-'))
            });
            words.next().unwrap_or_default()
        }
        None => argument,
    };
    match name {
        "" => Ok(None),
        _ if name.starts_with('-') || name.contains('=') => Err(unclear()),
        _ if name.starts_with('/') => Ok(Some(name.into())),
        _ if name.contains('/') => Err(format!("its interpreter {name} depends on the working folder")),
        _ => find(name, folders).map(Some).ok_or_else(|| format!("its interpreter {name} is not on PATH")),
    }
}

/// The first program of that name, as a search by the C library finds it.
pub fn find(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    let is_file = || {
        rustix::fs::stat(path).is_ok_and(|stat| {
            rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile
        })
    };
    rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok() && is_file()
}

/// Identifies one program: its path, the path with all symlinks resolved, and the content of the file.
pub fn program_digest(path: &Path, real: &Path, content: Digest) -> Digest {
    let named = [path, real].map(|path| path.to_string_lossy());
    Digest::hash(&serde_json::to_vec(&(named, content)).expect("texts are plain data"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the files that are looked at")]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rlxp_fs::RealFs;

    use super::*;

    /// Folders with executable scripts (`name=text`); `TOP` is the folder that holds them.
    struct Layout {
        _folder: tempfile::TempDir,
        top: PathBuf,
    }

    fn layout(files: &[&str]) -> Layout {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout { top: folder.path().canonicalize().unwrap(), _folder: folder };
        files.iter().for_each(|file| layout.write(file));
        layout
    }

    impl Layout {
        fn write(&self, file: &str) {
            let (name, text) = file.split_once('=').unwrap();
            let path = self.top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text.replace("TOP", self.top.to_str().unwrap())).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }

        /// What a program starts where these folders are searched.
        fn chain(&self, program: &str, folders: &[&str]) -> Chain {
            let folders: Vec<PathBuf> = folders.iter().map(|folder| self.top.join(folder)).collect();
            follow(&self.top.join(program), None, &folders, &mut |path| see(&RealFs, path)).unwrap()
        }

        fn names(&self, chain: &Chain) -> Vec<String> {
            let name = |path: &PathBuf| path.strip_prefix(&self.top).unwrap_or(path).display().to_string();
            chain.programs.iter().map(name).collect()
        }
    }

    const ELF: &str = "\x7fELF of python";

    #[test]
    fn the_interpreter_of_a_script_belongs_to_it() {
        let layout = layout(&["bin/tune=#!TOP/bin/wrapped -u\n", "bin/wrapped=#!TOP/bin/python\n"]);
        layout.write(&format!("bin/python={ELF}"));
        let before = layout.chain("bin/tune", &[]);
        assert_eq!(layout.names(&before), ["bin/tune", "bin/wrapped", "bin/python"]);
        assert_eq!(before.open, None);
        layout.write(&format!("bin/python={ELF} of another version"));
        assert_ne!(layout.chain("bin/tune", &[]).digest, before.digest);
        layout.write(&format!("bin/python={ELF}"));
        assert_eq!(layout.chain("bin/tune", &[]), before);
        let alone = layout.chain("bin/python", &[]);
        let real = layout.top.join("bin/python");
        assert_eq!(alone.digest, program_digest(&real, &real, Digest::hash(ELF.as_bytes())));
    }

    /// `PATH` decides what `env` starts, so another `PATH` is another program.
    #[test]
    fn what_env_finds_belongs_to_a_script() {
        let layout =
            layout(&["bin/tune=#!/usr/bin/env python3\n", "bin/split=#!/usr/bin/env -S A=1 python3 -u\n"]);
        for folder in ["one", "two"] {
            layout.write(&format!("{folder}/python3={ELF}"));
        }
        for script in ["bin/tune", "bin/split"] {
            let one = layout.chain(script, &["one", "two"]);
            assert_eq!(layout.names(&one), [script, "/usr/bin/env", "one/python3"]);
            assert_ne!(layout.chain(script, &["two", "one"]).digest, one.digest);
            // A file that can't be executed is passed over, as the search does.
            fs::set_permissions(layout.top.join("one/python3"), fs::Permissions::from_mode(0o644)).unwrap();
            assert_eq!(layout.names(&layout.chain(script, &["one", "two"]))[2], "two/python3");
            fs::set_permissions(layout.top.join("one/python3"), fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(layout.chain(script, &["one", "two"]), one);
        }
    }

    /// A shell script starts Python by its name, so what the name leads to is part of it.
    #[test]
    fn shells_and_shims_are_named() {
        let layout = layout(&[
            "bin/train.sh=#!/bin/sh\nexec python3 train.py\n",
            "bin/plain=exec python3 train.py\n",
            "shims/python=#!/usr/bin/env bash\nexec \"/opt/pyenv\" exec python\n",
        ]);
        layout.write(&format!("one/python3={ELF}"));
        layout.write(&format!("two/python3={ELF}"));
        for script in ["bin/train.sh", "bin/plain"] {
            let one = layout.chain(script, &["one"]);
            assert_eq!(layout.names(&one), [script, "/bin/sh", "one/python3"]);
            assert_eq!(one.open.as_deref(), Some("is a shell script"));
            assert_ne!(layout.chain(script, &["two"]).digest, one.digest);
        }
        let shim = layout.chain("shims/python", &["one"]);
        assert_eq!(shim.open.as_deref(), Some("is a shim that chooses a program when it runs"));
    }

    #[test]
    fn what_can_not_be_read_is_said() {
        let unclear = [
            "#!bin/python\n",
            "#!/usr/bin/env -i python3\n",
            "#!/usr/bin/env -S PATH=/elsewhere python3\n",
            "#!/usr/bin/env -S 'python3'\n",
            "#!/usr/bin/env no-such-program-anywhere\n",
        ];
        for line in unclear {
            let layout = layout(&[&format!("tune={line}")]);
            assert!(layout.chain("tune", &[]).open.is_some(), "{line}");
        }
    }

    #[test]
    fn circles_end_and_a_missing_interpreter_is_an_error() {
        let layout = layout(&["one=#!TOP/two\n", "two=#!TOP/one\n", "lost=#!TOP/absent\n"]);
        assert_eq!(layout.names(&layout.chain("one", &[])), ["one", "two"]);
        let lost = follow(&layout.top.join("lost"), None, &[], &mut |path| see(&RealFs, path));
        assert!(lost.is_err());
    }

    /// Each step has its own copy of the tree, and the same program in it is the same.
    #[test]
    fn a_program_of_the_tree_is_known_by_its_path_there() {
        let layout = layout(&["a/run=#!TOP/python\n", "b/run=#!TOP/python\n"]);
        layout.write(&format!("python={ELF}"));
        symlink("run", layout.top.join("a/link")).unwrap();
        symlink("run", layout.top.join("b/link")).unwrap();
        let of = |tree: &str, name: &str| {
            let tree = layout.top.join(tree);
            follow(&tree.join(name), Some(&tree), &[], &mut |path| see(&RealFs, path)).unwrap().digest
        };
        assert_eq!(of("a", "run"), of("b", "run"));
        assert_eq!(of("a", "link"), of("b", "link"));
        assert_ne!(of("a", "run"), of("a", "link"));
    }
}
