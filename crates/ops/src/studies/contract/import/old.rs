//! The layouts of older tools' caches, and how to read them without trusting them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::schema::schemas;
use rlxp_spec::Source;
use rlxp_spec::document::Document;
use rlxp_types::text::shell_word;
use serde_json::Value;

use super::Layout;
use crate::failure::{Failure, Outcome};
use crate::studies::contract::ask::Ask;
use crate::studies::files::paths::FOLDER;

/// One of these files is enough to recognise a `.rlxp/` of the old layout.
pub(super) const FLAT_SIGNS: [&str; 6] =
    ["contract.yaml", "state.json", "ledger.jsonl", "adapter.yaml", "task_card.md", "experiments.yaml"];
pub(super) const FLAT_FILES: [&str; 10] = [
    "contract.yaml",
    "state.json",
    "report.md",
    "experiments.yaml",
    "ledger.jsonl",
    "adapter.yaml",
    "task_card.md",
    "metric_spec.yaml",
    "surface_map.yaml",
    "runbook.yaml",
];
const AUTORL_FILES: [&str; 7] = [
    "task-profile.md",
    "surface-map.md",
    "runbook.md",
    "metric-spec.md",
    "task-contract.md",
    "state.json",
    "artifact-manifest.md",
];
/// Entries of the new layout in the same folder, which never belong to the old one.
const OURS: [&str; 4] = ["registry.yaml", "shared", "tasks", ".gitignore"];
/// Folders whose texts are imported.
const FOLDERS: [&str; 3] = ["candidates", "audits", "loops"];
/// Endings of texts in those folders.
const TEXTS: [&str; 8] = [".yaml", ".yml", ".json", ".jsonl", ".md", ".txt", ".csv", ".patch"];

const MOST_FILES: usize = 2_000;
const LONGEST_FILE: u64 = 8 << 20;
const MOST_BYTES: u64 = 64 << 20;
const DEEPEST: usize = 6;
/// Longer lists are not useful, and a ledger line has a size limit.
const MOST_UNKNOWN: usize = 200;

/// The texts of a cache, and the parts that can't be imported.
#[derive(Debug, Default)]
pub(super) struct Old {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) unknown: Vec<String>,
    bytes: u64,
    problems: Vec<String>,
}

/// Which cache `path` is or contains.
pub(super) fn recognise(fs: &dyn Fs, path: &Path) -> Outcome<(PathBuf, Layout)> {
    let has = |folder: &Path, names: &[&str]| -> Outcome<bool> {
        for name in names {
            if fs.metadata_if_any(&folder.join(name))?.is_some_and(|meta| meta.kind == Kind::File) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    // `state.json` alone could belong to either layout.
    if has(path, &AUTORL_FILES[..5])? {
        return Ok((path.to_owned(), Layout::Autorl));
    }
    if has(path, &FLAT_SIGNS)? {
        return Ok((path.to_owned(), Layout::FlatRlxp));
    }
    let flat = path.join(FOLDER);
    if fs.is_folder(&flat)? && has(&flat, &FLAT_SIGNS)? {
        return Ok((flat, Layout::FlatRlxp));
    }
    for tasks in [path.join("tasks"), path.join(".autorl/tasks")] {
        if !fs.is_folder(&tasks)? {
            continue;
        }
        let mut found = Vec::new();
        for entry in fs.list(&tasks)? {
            let task = tasks.join(&entry.name);
            if entry.kind == Kind::Folder && has(&task, &AUTORL_FILES[..5])? {
                found.push(task);
            }
        }
        match found.as_slice() {
            [] => {}
            [task] => return Ok((task.clone(), Layout::Autorl)),
            several => {
                let names: Vec<String> = several.iter().map(|task| task.display().to_string()).collect();
                let message = format!("{} has several tasks: {}", path.display(), names.join(", "));
                return Err(Failure::usage("import_ambiguous", message)
                    .hint(format!("rlx study init --import {}", shell_word(&names[0]))));
            }
        }
    }
    let message = format!(
        "{} is neither a flat {FOLDER}/ nor a task of .autorl/: it has none of their files",
        path.display()
    );
    Err(Failure::usage("import_unknown", message).hint("rlx study init --import .autorl/tasks/NAME"))
}

/// Reads all known files. Links, invalid UTF-8 and oversized files are reported together.
pub(super) fn take(fs: &dyn Fs, path: &Path, layout: Layout) -> Outcome<Old> {
    let mut old = Old::default();
    let known: &[&str] = match layout {
        Layout::FlatRlxp => &FLAT_FILES,
        Layout::Autorl => &AUTORL_FILES,
    };
    for entry in fs.list(path)? {
        let name = entry.name.as_str();
        if layout == Layout::FlatRlxp && OURS.contains(&name) {
            continue;
        }
        match entry.kind {
            Kind::Link => old.problems.push(format!("{name} is a link")),
            Kind::File if known.contains(&name) => old.file(fs, path, name)?,
            Kind::Folder if FOLDERS.contains(&name) => old.folder(fs, path, name, 1)?,
            Kind::Folder => old.unknown.push(format!("{name}/")),
            Kind::File | Kind::Other => old.unknown.push(name.to_owned()),
        }
    }
    if !old.problems.is_empty() {
        let message = format!("{} can't be imported: {}", path.display(), old.problems.join("; "));
        return Err(Failure::refused("import_refused", message)
            .hint("replace them with plain UTF-8 files, or import a copy without them"));
    }
    for (file, schema) in [("contract.yaml", "contract"), ("adapter.yaml", "adapter")] {
        if let Some(bytes) = old.files.get(file) {
            let keys = unknown_keys(bytes, schema);
            old.unknown.extend(keys.into_iter().map(|key| format!("{file}: {key}")));
        }
    }
    if old.unknown.len() > MOST_UNKNOWN {
        let more = old.unknown.len() - MOST_UNKNOWN;
        old.unknown.truncate(MOST_UNKNOWN);
        old.unknown.push(format!("and {more} more"));
    }
    Ok(old)
}

impl Old {
    fn file(&mut self, fs: &dyn Fs, root: &Path, name: &str) -> Outcome<()> {
        let path = root.join(name);
        let length = fs.metadata(&path)?.length;
        if length > LONGEST_FILE {
            self.problems.push(format!("{name} has {length} bytes, the limit is {LONGEST_FILE}"));
            return Ok(());
        }
        if self.files.len() >= MOST_FILES || self.bytes + length > MOST_BYTES {
            let said = format!("there are more than {MOST_FILES} files or {MOST_BYTES} bytes");
            if !self.problems.contains(&said) {
                self.problems.push(said);
            }
            return Ok(());
        }
        let bytes = fs.read(&path, LONGEST_FILE)?;
        self.bytes += bytes.len() as u64;
        match std::str::from_utf8(&bytes) {
            Ok(_) => drop(self.files.insert(name.to_owned(), bytes)),
            Err(error) => self.problems.push(format!("{name} is not UTF-8 at byte {}", error.valid_up_to())),
        }
        Ok(())
    }

    fn folder(&mut self, fs: &dyn Fs, root: &Path, folder: &str, depth: usize) -> Outcome<()> {
        for entry in fs.list(&root.join(folder))? {
            let name = format!("{folder}/{}", entry.name);
            match entry.kind {
                Kind::Link => self.problems.push(format!("{name} is a link")),
                Kind::File if TEXTS.iter().any(|end| name.ends_with(end)) => self.file(fs, root, &name)?,
                Kind::Folder if depth < DEEPEST => self.folder(fs, root, &name, depth + 1)?,
                Kind::Folder => self.unknown.push(format!("{name}/")),
                Kind::File | Kind::Other => self.unknown.push(name),
            }
        }
        Ok(())
    }
}

/// Keys of a document, two levels deep, that the current type doesn't have.
fn unknown_keys(bytes: &[u8], schema: &str) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let Ok(document) = Document::read(Source::new(schema, text)) else {
        return vec!["it can't be read as YAML".to_owned()];
    };
    let Some(root) = schemas().into_iter().find(|(name, _)| *name == schema).map(|(_, schema)| schema) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in document.value().as_object().into_iter().flatten() {
        let Some(property) = root["properties"].get(key) else {
            found.push(key.clone());
            continue;
        };
        let referred = property["$ref"].as_str().and_then(|name| root.pointer(name.trim_start_matches('#')));
        let Some(inner) = referred.and_then(|type_| type_.get("properties")) else { continue };
        let unknown = |(inner_key, _): &(&String, &Value)| inner.get(inner_key.as_str()).is_none();
        let keys = value.as_object().into_iter().flatten().filter(unknown);
        found.extend(keys.map(|(inner_key, _)| format!("{key}.{inner_key}")));
    }
    found
}

/// Which old text may answer which question.
pub(super) fn answers_stand_in(layout: Layout) -> &'static [(Ask, &'static str)] {
    match layout {
        Layout::Autorl => &[
            (Ask::Mission, "task-profile.md"),
            (Ask::Metric, "metric-spec.md"),
            (Ask::MetricSource, "metric-spec.md"),
            (Ask::Direction, "metric-spec.md"),
            (Ask::SmallestEffect, "metric-spec.md"),
            (Ask::FailureScore, "metric-spec.md"),
            (Ask::Surfaces, "surface-map.md"),
            (Ask::Train, "runbook.md"),
            (Ask::Eval, "runbook.md"),
            (Ask::Baseline, "task-contract.md"),
            (Ask::Environments, "metric-spec.md"),
        ],
        Layout::FlatRlxp => &[
            (Ask::Mission, "task_card.md"),
            (Ask::Metric, "contract.yaml"),
            (Ask::MetricSource, "contract.yaml"),
            (Ask::Direction, "contract.yaml"),
            (Ask::SmallestEffect, "contract.yaml"),
            (Ask::FailureScore, "contract.yaml"),
            (Ask::Surfaces, "contract.yaml"),
            (Ask::Train, "adapter.yaml"),
            (Ask::Eval, "adapter.yaml"),
            (Ask::Baseline, "contract.yaml"),
            (Ask::Environments, "contract.yaml"),
        ],
    }
}

/// The first paragraph under a heading that mentions mission, goal or objective.
pub(super) fn mission(files: &BTreeMap<String, Vec<u8>>) -> Option<String> {
    let text = ["task-profile.md", "task_card.md"].iter().find_map(|name| files.get(*name))?;
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.lines().skip_while(|line| {
        let heading = line.trim_start_matches('#').trim().trim_end_matches(':').to_lowercase();
        !(line.starts_with('#') && ["mission", "goal", "objective"].contains(&heading.as_str()))
    });
    lines.next()?;
    let paragraph: Vec<&str> = lines
        .map(str::trim)
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let text = paragraph.join(" ");
    (!text.is_empty() && text.len() <= 1000).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mission_only_under_a_clear_heading() {
        let of =
            |text: &str| mission(&BTreeMap::from([("task-profile.md".to_owned(), text.as_bytes().to_vec())]));
        assert_eq!(of("# Walk\n\n## Mission\n\nWalk\nfar.\n\nMore.\n").as_deref(), Some("Walk far."));
        assert_eq!(of("# Goal:\nRun.\n## Next\n").as_deref(), Some("Run."));
        for unclear in ["", "Walk far.", "## Mission", "## Mission\n\n## Other\nx", "## Missions\nx"] {
            assert_eq!(of(unclear), None, "{unclear}");
        }
    }

    #[test]
    fn keys_that_nothing_here_has() {
        let text = b"task: {id: a, owner: me}\nbudgets: {}\nbudget: {runs: 3, tokens: 5}\n";
        assert_eq!(unknown_keys(text, "contract"), ["task.owner", "budgets", "budget.tokens"]);
        assert_eq!(unknown_keys(b"{", "contract"), ["it can't be read as YAML"]);
    }
}
