//! The Python that a project uses: one that exists, and that a run can start.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, environment};
use rlxp_types::text::shell_word;

/// Virtual environments of a project.
const OF_PROJECT: [&str; 3] = [".venv/bin/python", "venv/bin/python", "env/bin/python"];

/// The words that start Python: the project's virtual environment, the active one, or the first in `PATH`.
pub(super) fn python(fs: &dyn Fs, root: &Path, is_locked_by_uv: bool) -> String {
    if let Some(own) = OF_PROJECT.iter().find(|path| is_program(fs, &root.join(path))) {
        return (*own).to_owned();
    }
    if is_locked_by_uv && in_path(fs, "uv").is_some() {
        return "uv run python".to_owned();
    }
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(environment::variable);
    let mut active = active.map(|prefix| Path::new(&prefix).join("bin/python"));
    if let Some(active) = active.find(|path| path.is_absolute() && is_program(fs, path)) {
        return shell_word(&active.display().to_string()).into_owned();
    }
    for name in ["python3", "python"] {
        match in_path(fs, name) {
            Some(Found::Program) => return name.to_owned(),
            // A shim of pyenv or asdf looks up the version when it runs, in files that a run doesn't have.
            Some(Found::BehindShim(path)) => return shell_word(&path.display().to_string()).into_owned(),
            None => {}
        }
    }
    "python3".to_owned()
}

enum Found {
    /// The name alone starts a program.
    Program,
    /// The name starts a script; this is the first program of that name.
    BehindShim(PathBuf),
}

fn in_path(fs: &dyn Fs, name: &str) -> Option<Found> {
    let folders = environment::variable("PATH")?;
    let paths = folders.split(':').filter(|folder| folder.starts_with('/'));
    let there: Vec<PathBuf> = paths
        .map(|folder| Path::new(folder).join(name))
        .filter(|path| fs.canonicalize(path).is_ok_and(|real| fs.is_file(&real).unwrap_or(false)))
        .collect();
    let first = there.iter().position(|path| is_program(fs, path))?;
    Some(if first == 0 { Found::Program } else { Found::BehindShim(there[first].clone()) })
}

/// Whether a path leads to a file that isn't a script.
fn is_program(fs: &dyn Fs, path: &Path) -> bool {
    let Ok(real) = fs.canonicalize(path) else { return false };
    fs.is_file(&real).unwrap_or(false) && fs.read_at(&real, 0, 2).is_ok_and(|start| start != b"#!")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes the files that are looked at")]

    use rlxp_fs::RealFs;

    use super::*;

    #[test]
    fn the_environment_of_the_project_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let found = || python(&RealFs, folder.path(), false);
        assert!(!found().starts_with(".venv"), "{}", found());
        std::fs::create_dir_all(folder.path().join(".venv/bin")).unwrap();
        std::os::unix::fs::symlink("/nowhere/python", folder.path().join(".venv/bin/python")).unwrap();
        assert!(!found().starts_with(".venv"), "a broken link is not a program");
        std::fs::remove_file(folder.path().join(".venv/bin/python")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", folder.path().join(".venv/bin/python")).unwrap();
        assert_eq!(found(), ".venv/bin/python");
    }
}
