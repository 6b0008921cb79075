//! `rlx contract input`: adds files that runs need and git ignores to `runbook.yaml`, with their digests.

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::{Reading, Runbook, StudyName};
use rlxp_govern::scope::bad_path;
use rlxp_govern::section::File;
use rlxp_spec::document::{add_value, get_value, remove_value, set_value};
use rlxp_types::Digest;
use serde::Serialize;
use serde_json::{Value, json};

use super::intake::shown;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::tree::file_digest;

/// Longest runbook that is edited.
const LONGEST: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputReport {
    pub study: StudyName,
    /// The runbook, from the repository's root.
    pub file: String,
    pub inputs: Vec<InputLine>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputLine {
    pub path: String,
    pub digest: Digest,
    /// What happened to it: added, updated or unchanged.
    pub what: &'static str,
}

/// Writes these files with their present digests into the runbook; everything else in it stays as it is.
pub fn add_inputs(context: &Context, selector: Option<&str>, paths: &[String]) -> Outcome<InputReport> {
    let opened = OpenStudy::open(context, selector)?;
    let (fs, place) = (context.fs.as_ref(), &opened.place);
    let runbook = match &opened.study.files.runbook {
        Reading::Read(written) => &written.typed,
        Reading::Missing => {
            let message = "there is no runbook.yaml yet";
            return Err(Failure::usage("file_missing", message).hint("rlx contract new"));
        }
        Reading::Broken(problems) => {
            let message = format!("runbook.yaml is invalid: {}", problems.join("; "));
            return Err(Failure::usage("file_broken", message).hint("rlx contract check"));
        }
    };
    let mut inputs = Vec::new();
    for path in paths {
        let digest = digest_of(fs, &opened, path)?;
        let known = runbook.inputs.iter().find(|input| input.path == *path);
        let what = match known {
            None => "added",
            Some(input) if input.digest == digest => "unchanged",
            Some(_) => "updated",
        };
        inputs.push(InputLine { path: path.clone(), digest, what });
    }
    if inputs.iter().any(|input| input.what != "unchanged") {
        let path = place.file(File::Runbook);
        let text = fs.read_text(&path, LONGEST)?;
        let after = edited(&text, runbook, &inputs).map_err(|why| {
            Failure::usage(
                "runbook_not_edited",
                format!("{} can't be edited here: {why}", shown(place, File::Runbook)),
            )
            .hint("write inputs in one line, as inputs: [], then run the command again")
        })?;
        fs.write_atomic(&path, after.as_bytes())?;
    }
    Ok(InputReport { study: place.name.clone(), file: shown(place, File::Runbook), inputs })
}

/// The digest of a file of the repository, which no link leads to.
fn digest_of(fs: &dyn Fs, opened: &OpenStudy, path: &str) -> Outcome<Digest> {
    let wrong = |why: &str| Failure::usage("no_such_input", format!("{path}: {why}"));
    if let Some(why) = bad_path(path) {
        return Err(wrong(why));
    }
    let mut at = opened.place.root.clone();
    let parts: Vec<&str> = path.split('/').collect();
    for (index, part) in parts.iter().enumerate() {
        at.push(part);
        let is_last = index + 1 == parts.len();
        match fs.metadata_if_any(&at)?.map(|meta| meta.kind) {
            Some(Kind::Folder) if !is_last => {}
            Some(Kind::File) if is_last => {}
            Some(Kind::Link) => return Err(wrong("the path contains a link")),
            Some(Kind::Folder) => return Err(wrong("it is a folder; name its files")),
            _ => return Err(wrong("no such file in the repository")),
        }
    }
    file_digest(fs, &at)
}

/// The runbook's text with these inputs.
fn edited(text: &str, runbook: &Runbook, new: &[InputLine]) -> Result<String, String> {
    let kept = runbook.inputs.iter().filter(|input| !new.iter().any(|line| line.path == input.path));
    let line = |path: &String, digest: &Digest| json!({ "path": path, "digest": digest });
    let all: Vec<Value> = kept
        .map(|input| line(&input.path, &input.digest))
        .chain(new.iter().map(|input| line(&input.path, &input.digest)))
        .collect();
    let (name, value) = (File::Runbook.name(), Value::from(all));
    match get_value(text, name, "inputs")? {
        None => add_value(text, name, "inputs", &value),
        Some(_) => set_value(text, name, "inputs", &value)
            .or_else(|_| add_value(&remove_value(text, name, "inputs")?, name, "inputs", &value)),
    }
}
