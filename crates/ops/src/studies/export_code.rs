//! `rlx study export --branch` and `--patch`: brings accepted code out of a study, for people to review and merge.
//! Nothing is checked out, and the user's HEAD, index and existing branches stay as they are.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::documents::{Base, Slug, StudyName};
use rlxp_govern::ledger::event::AcceptedCode;
use rlxp_launch::git;
use rlxp_launch::git::write::WriteError;
use rlxp_types::Exit;
use rlxp_types::text::shell_word;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::candidate::{LONGEST_SOURCE, base};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::paths::needs_folder;
use crate::studies::tree::{self, BaseTree};

/// Where accepted code goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeTarget {
    /// A new branch of the repository.
    Branch(String),
    /// A new file, for `git apply` or `patch -p1`.
    Patch(PathBuf),
}

/// Accepted code, brought out.
#[derive(Clone, Debug, Serialize)]
pub struct CodeExport {
    pub study: StudyName,
    /// Candidates whose changes it has, in the order in which they were accepted.
    pub accepted: Vec<Slug>,
    /// The contract's code.
    pub from: Base,
    /// The code with all accepted changes.
    pub code: Base,
    /// Arguments that the train command needs in addition: changes that are not in files.
    pub arguments: Vec<String>,
    pub branch: Option<String>,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub patch: Option<PathBuf>,
    /// Problems that did not change the result.
    pub warnings: Vec<String>,
}

/// Brings the incumbent's code out.
pub fn export_code(context: &Context, study: Option<&str>, target: &CodeTarget) -> Outcome<CodeExport> {
    let opened = OpenStudy::open(context, study)?;
    let state = opened.study.state();
    let changes = |id: &Slug| {
        let record = state.candidates.get(id);
        record.is_some_and(|record| !record.validated.kind.is_empty_change())
    };
    let accepted: Vec<Slug> =
        state.accepted.iter().map(|accepted| accepted.candidate.clone()).filter(changes).collect();
    let Some(code) = state.accepted_code().cloned().filter(|_| !accepted.is_empty()) else {
        return Err(nothing(&opened, &accepted));
    };
    let from = base(&opened)?.ok_or_else(|| {
        Failure::refused("base_unknown", "the base code is unknown").hint("rlx contract check")
    })?;
    let mut report = CodeExport {
        study: opened.study.name.clone(),
        accepted,
        from,
        code: code.base.clone(),
        arguments: code.arguments.clone(),
        branch: None,
        patch: None,
        warnings: opened.warnings.clone(),
    };
    match target {
        CodeTarget::Branch(name) => {
            make_branch(&opened, name, &code)?;
            report.branch = Some(name.clone());
        }
        CodeTarget::Patch(path) => {
            let path = context.folder.join(path);
            needs_folder(context.fs.as_ref(), &path)?;
            let mut bytes = heading(&report).into_bytes();
            bytes.extend(patch(&opened, &report.from, &code.base)?);
            if !context.fs.write_new_atomic(&path, &bytes)? {
                let message = format!("{} already exists; not overwriting it", path.display());
                return Err(
                    Failure::refused("export_exists", message).hint("choose another file with --patch")
                );
            }
            report.patch = Some(path);
        }
    }
    Ok(report)
}

fn nothing(opened: &OpenStudy, accepted: &[Slug]) -> Failure {
    let name = &opened.study.name;
    match accepted.last() {
        None => Failure::refused("nothing_accepted", format!("no candidate of {name} is accepted"))
            .hint("rlx study status"),
        Some(last) => {
            let message = format!("{last} was accepted by a version of rlx that didn't record its code");
            Failure::refused("nothing_accepted", message).hint("rlx study export --to FOLDER")
        }
    }
}

fn make_branch(opened: &OpenStudy, name: &str, code: &AcceptedCode) -> Outcome<()> {
    let Base::Commit(commit) = &code.base else {
        let message = "the study was opened in a folder without git, so there is no branch to make";
        return Err(Failure::usage("no_repository", message).hint("rlx study export --patch accepted.patch"));
    };
    git::write::branch(&opened.place.root, name, commit).map_err(|error| match error {
        WriteError::Exists(_) => Failure::refused("branch_exists", format!("{error}; not moving it"))
            .hint("choose another name with --branch"),
        WriteError::BadName(_) => Failure::usage("bad_branch", error.to_string()),
        WriteError::NoCommit(_) => {
            Failure::refused("no_tree", error.to_string()).hint("git fetch origin 'refs/rlxp/*:refs/rlxp/*'")
        }
        error => Failure::new(Exit::Storage, "branch_not_written", error.to_string()),
    })
}

/// Lines at the top of a patch, which `git apply` and `patch` skip.
fn heading(report: &CodeExport) -> String {
    let names: Vec<&str> = report.accepted.iter().map(Slug::as_str).collect();
    let mut text =
        format!("# Changes accepted in {}: {}\n# From {}\n", report.study, names.join(", "), report.from);
    if !report.arguments.is_empty() {
        let words: Vec<_> = report.arguments.iter().map(|word| shell_word(word)).collect();
        text.push_str(&format!("# Training also needs these arguments: {}\n", words.join(" ")));
    }
    text.push('\n');
    text
}

fn patch(opened: &OpenStudy, from: &Base, to: &Base) -> Outcome<Vec<u8>> {
    if let (Base::Commit(from), Base::Commit(to)) = (from, to) {
        return git::patch(&opened.place.root, from, to).ok_or_else(|| {
            let message = format!("can't compare {from} with {to}: git failed, or the patch is too large");
            Failure::refused("no_patch", message).hint("rlx study export --branch NAME")
        });
    }
    let place = LaunchPaths::for_study(opened)?;
    let fs = opened.context().fs.as_ref();
    let (one, other) = (tree::ensure(opened, &place, from, None)?, tree::ensure(opened, &place, to, None)?);
    let mut text = String::new();
    for path in tree::changed_between(fs, from, &one, &other)? {
        let content = |tree: &BaseTree| text_of(fs, &tree.folder.join(&path));
        text.push_str(&whole_file(&path, content(&one)?.as_deref(), content(&other)?.as_deref()));
    }
    Ok(text.into_bytes())
}

fn text_of(fs: &dyn Fs, path: &Path) -> Outcome<Option<String>> {
    match fs.read_text(path, LONGEST_SOURCE) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A patch that replaces every line of a file: without git, there is no shorter one at hand.
fn whole_file(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |text: Option<&str>, side: &str| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let range = |text: &str| match text.lines().count() {
        0 => "0,0".to_owned(),
        lines => format!("1,{lines}"),
    };
    let lines = |sign: char, text: &str| {
        let mut lines: String = text.split_inclusive('\n').map(|line| format!("{sign}{line}")).collect();
        if !text.is_empty() && !text.ends_with('\n') {
            lines.push_str("\n\\ No newline at end of file\n");
        }
        lines
    };
    let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
    format!(
        "--- {}\n+++ {}\n@@ -{} +{} @@\n{}{}",
        name(before, "a"),
        name(after, "b"),
        range(old),
        range(new),
        lines('-', old),
        lines('+', new)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_of_whole_files_says_what_was_and_what_is() {
        let changed = whole_file("a.py", Some("x = 1\n"), Some("x = 2\ny = 3"));
        let expected =
            "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,2 @@\n-x = 1\n+x = 2\n+y = 3\n\\ No newline at end of file\n";
        assert_eq!(changed, expected);
        let added = whole_file("b.py", None, Some("x\n"));
        assert_eq!(added, "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1,1 @@\n+x\n");
        // It is what this program itself takes as a patch.
        assert_eq!(rlxp_govern::patch::apply(Some("x = 1\n"), expected), Ok(Some("x = 2\ny = 3".to_owned())));
        assert_eq!(rlxp_govern::patch::apply(None, &added), Ok(Some("x\n".to_owned())));
        let removed = whole_file("b.py", Some("x\n"), None);
        assert_eq!(rlxp_govern::patch::apply(Some("x\n"), &removed), Ok(None));
    }
}
