//! Files that a run doesn't get from a commit: data that git ignores, the contents behind Git LFS pointers, submodules.

use std::path::Path;

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::scope::{bad_glob, matches};

/// What the first bytes of a Git LFS pointer are.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";
/// Endings of files that hold data rather than what a program leaves behind.
const DATA: [&str; 16] = [
    ".npz",
    ".npy",
    ".pkl",
    ".h5",
    ".hdf5",
    ".pt",
    ".pth",
    ".onnx",
    ".parquet",
    ".csv",
    ".json",
    ".jsonl",
    ".bin",
    ".xml",
    ".usd",
    ".safetensors",
];
/// Folders of things that are made again, or are no data of a training.
const NOT_DATA: [&str; 8] =
    ["__pycache__", "node_modules", "site-packages", "runs", "wandb", "build", "dist", "outputs"];
/// Most files that are proposed as inputs.
const MOST_INPUTS: usize = 16;
/// Most bytes of a proposed input; what is larger is named and left to the person.
const LARGEST_INPUT: u64 = 1 << 30;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NotInCommits {
    /// Ignored files that the code names.
    pub(super) inputs: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Looks at the files of a repository. `texts` are the contents of its code and configs.
pub(super) fn look(fs: &dyn Fs, root: &Path, files: &[String], texts: &[String]) -> NotInCommits {
    let mut found = NotInCommits::default();
    let mut others = Vec::new();
    for path in rlxp_launch::git::ignored_files(root).unwrap_or_default() {
        let name = path.rsplit('/').next().unwrap_or(&path);
        if !DATA.iter().any(|end| name.ends_with(end)) || path.split('/').any(is_no_data) {
            continue;
        }
        let small = fs
            .metadata_if_any(&root.join(&path))
            .ok()
            .flatten()
            .is_some_and(|meta| meta.length <= LARGEST_INPUT);
        let is_named = texts.iter().any(|text| text.contains(name));
        if small && is_named && found.inputs.len() < MOST_INPUTS {
            found.inputs.push(path);
        } else {
            others.push(path);
        }
    }
    if let Some(first) = others.first() {
        let (count, are) = if others.len() == 1 {
            ("1 data file is".to_owned(), "it")
        } else {
            (format!("{} data files are", others.len()), "them")
        };
        found.warnings.push(format!(
            "{count} ignored by git, such as {first}: runs start from a commit and don't see {are}; add what they need with --input FILE"
        ));
    }
    found.warnings.extend(lfs(fs, root, files));
    let modules = fs.read_text(&root.join(".gitmodules"), 1 << 20).unwrap_or_default();
    let paths =
        modules.lines().filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='));
    for path in paths.map(str::trim) {
        found.warnings.push(format!(
            "{path} is a submodule: its files are missing in runs; add what they need with --input {path}/FILE"
        ));
    }
    found
}

fn is_no_data(part: &str) -> bool {
    part.starts_with('.') || part.ends_with(".egg-info") || NOT_DATA.contains(&part)
}

/// Files that commits hold as pointers.
fn lfs(fs: &dyn Fs, root: &Path, files: &[String]) -> Vec<String> {
    let attributes = fs.read_text(&root.join(".gitattributes"), 1 << 20).unwrap_or_default();
    let patterns: Vec<String> = attributes
        .lines()
        .filter(|line| line.contains("filter=lfs"))
        .filter_map(|line| line.split_whitespace().next())
        .map(|pattern| match pattern.strip_prefix('/') {
            Some(rooted) => rooted.to_owned(),
            None if pattern.contains('/') => pattern.to_owned(),
            None => format!("**/{pattern}"),
        })
        .filter(|pattern| bad_glob(pattern).is_none())
        .collect();
    let stored: Vec<&String> =
        files.iter().filter(|file| patterns.iter().any(|pattern| matches(pattern, file))).collect();
    let is_pointer = |file: &&&String| {
        fs.read_at(&root.join(file.as_str()), 0, POINTER.len()).is_ok_and(|start| start == POINTER)
    };
    let mut warnings = Vec::new();
    if let Some(first) = stored.iter().find(is_pointer) {
        warnings.push(format!("{first} is a Git LFS pointer, not the file itself: git lfs pull"));
    }
    if let Some(first) = stored.first() {
        warnings.push(format!(
            "{first} is stored in Git LFS: runs start from a commit and see only the pointer; add what they need with \
             --input FILE"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes the files that are looked at")]

    use rlxp_fs::RealFs;

    use super::*;

    #[test]
    fn pointers_and_submodules_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(".gitattributes", "*.onnx filter=lfs diff=lfs merge=lfs -text\n*.png binary\n");
        put("assets/teacher.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
        put(".gitmodules", "[submodule \"sim\"]\n\tpath = third/sim\n\turl = ../sim\n");
        let files = ["assets/teacher.onnx".to_owned(), "train.py".to_owned()];
        let found = look(&RealFs, folder.path(), &files, &[]);
        assert_eq!(found.warnings.len(), 3, "{found:?}");
        assert!(found.warnings[0].starts_with("assets/teacher.onnx is a Git LFS pointer"), "{found:?}");
        assert!(found.warnings[2].starts_with("third/sim is a submodule"), "{found:?}");
    }
}
