//! `study audit`: claims about the repository, each with the line that shows it, checked and recorded.

use std::collections::BTreeMap;
use std::path::Path;

use rlxp_fs::{Fs, FsExt};
use rlxp_govern::canonical;
use rlxp_govern::documents::{Adapter, AdapterSchema, Claim, ClaimKind, Confidence, Reading, StudyName};
use rlxp_govern::ledger::event::Audited;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::scope::bad_path;
use rlxp_spec::document::to_yaml;
use rlxp_types::Digest;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::open_study::OpenStudy;
use crate::studies::files::read::document;
use crate::studies::scripts;

/// Longest source file that is read.
pub(super) const LONGEST_SOURCE: u64 = 16 << 20;

/// A claim to add: its kind, and the line that shows it.
#[derive(Clone, Debug)]
pub struct NewClaim {
    pub about: ClaimKind,
    /// The file, relative to the root.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// Its value; the line itself if left out.
    pub value: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditReport {
    pub study: StudyName,
    /// The claims, with the lines as they are now.
    pub claims: Vec<Claim>,
    /// How values reach the train command; in their files if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_syntax: Option<String>,
    /// Claims whose line has changed, as `file:line`.
    pub stale: Vec<String>,
    /// Lines of the same file that have the text of a stale claim now.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub moved: BTreeMap<String, Vec<u64>>,
    /// What was accepted because of a refresh.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refreshed: Vec<Refreshed>,
    /// Whether this state is recorded.
    pub recorded: bool,
}

/// A claim that cites something else than before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refreshed {
    pub about: ClaimKind,
    /// Where it was, as `file:line`.
    pub was: String,
    /// Where it is now.
    pub now: String,
    /// The line that it cites now.
    pub line: String,
    /// Whether the cited text is the same and only its place is another.
    pub is_moved: bool,
}

/// Adds `new` claims to `adapter.yaml`, accepts changed lines if asked to, sets how values reach the train command (an
/// empty text: in their files), checks all claims, and records the result if every line is as cited. Where there are no
/// claims, `suggest` names the command that adds the first ones.
pub(super) fn audit(
    context: &Context,
    study: Option<&str>,
    new: &[NewClaim],
    refresh: bool,
    overrides: Option<&str>,
    suggest: &dyn Fn(&Path) -> Outcome<Option<String>>,
) -> Outcome<AuditReport> {
    let mut opened = OpenStudy::open(context, study)?;
    let (fs, root) = (context.fs.as_ref(), opened.place.root.clone());
    let mut adapter = match document::<Adapter>(fs, &root, &opened.place.adapter())? {
        Reading::Read(written) => written.typed,
        Reading::Missing if new.is_empty() => {
            let message =
                "there are no claims about this repository yet: add the line with its training command";
            let hint = match suggest(&root)? {
                Some(command) => command,
                None => "rlx study audit --claim train_command:FILE:LINE".to_owned(),
            };
            return Err(Failure::refused("adapter_missing", message).hint(hint));
        }
        Reading::Missing => Adapter {
            schema: AdapterSchema::V1,
            stack: "generic".into(),
            override_syntax: None,
            claims: Vec::new(),
        },
        Reading::Broken(problems) => {
            let message = format!("adapter.yaml is invalid: {}", problems.join("; "));
            return Err(Failure::usage("adapter_broken", message));
        }
    };
    let before = adapter.clone();
    if let Some(text) = overrides {
        let syntax = (!text.trim().is_empty()).then(|| scripts::parse_overrides(text)).transpose();
        adapter.override_syntax =
            syntax.map_err(|why| Failure::usage("answer_invalid", format!("--override-syntax: {why}")))?;
    }
    for claim in new {
        let line = cited(fs, &root, &claim.file, claim.line)?;
        if line.trim().is_empty() {
            let message = format!("{}:{}: the line is empty", claim.file, claim.line);
            return Err(Failure::usage("empty_line", message));
        }
        // It replaces the one at its place, and those whose text is no longer where they cite it.
        adapter.claims.retain(|known| {
            let is_of_it = (known.about, &known.file) == (claim.about, &claim.file);
            let holds = || {
                let line = cited(fs, &root, &known.file, known.line);
                line.is_ok_and(|line| Digest::hash(line.as_bytes()) == known.line_digest)
            };
            !is_of_it || (known.line != claim.line && holds())
        });
        adapter.claims.push(Claim {
            about: claim.about,
            value: claim.value.clone().unwrap_or_else(|| line.trim().to_owned()),
            file: claim.file.clone(),
            line: claim.line,
            line_digest: Digest::hash(line.as_bytes()),
            confidence: Confidence::Medium,
        });
    }
    let (mut stale, mut moved, mut refreshed) = (Vec::new(), BTreeMap::new(), Vec::new());
    for claim in &mut adapter.claims {
        let was = format!("{}:{}", claim.file, claim.line);
        let now = cited(fs, &root, &claim.file, claim.line);
        if now.as_ref().is_ok_and(|line| Digest::hash(line.as_bytes()) == claim.line_digest) {
            continue;
        }
        let places = places_of(fs, &root, claim);
        // What moved is followed if that is unambiguous. What is at its old place by now is something else.
        let line = match (places.as_slice(), now) {
            ([(place, line)], _) if refresh => {
                claim.line = *place;
                Some(line.clone())
            }
            ([], Ok(line)) if refresh && !line.trim().is_empty() => {
                claim.line_digest = Digest::hash(line.as_bytes());
                Some(line)
            }
            _ => None,
        };
        match line {
            Some(line) => refreshed.push(Refreshed {
                about: claim.about,
                was,
                now: format!("{}:{}", claim.file, claim.line),
                line: line.trim().to_owned(),
                is_moved: !places.is_empty(),
            }),
            None => {
                if !places.is_empty() {
                    moved.insert(was.clone(), places.into_iter().map(|(place, _)| place).collect());
                }
                stale.push(was);
            }
        }
    }
    if adapter != before {
        let value = serde_json::to_value(&adapter).expect("an adapter is plain data");
        fs.create_dir_all(opened.place.task_folder())?;
        fs.write_atomic(&opened.place.adapter(), to_yaml(&value).as_bytes())?;
    }
    let written = document::<Adapter>(fs, &root, &opened.place.adapter())?;
    let digest = written.get().map(|written| canonical::digest(&written.explicit));
    let recorded = match digest {
        Some(digest) if stale.is_empty() => {
            if opened.study.state().audited != Some(digest) {
                let audited = Audited { adapter: digest, claims: adapter.claims.len() as u64 };
                opened.append(Actor::Rlx, Event::Audited(audited))?;
            }
            true
        }
        _ => false,
    };
    let Adapter { claims, override_syntax, .. } = adapter;
    let study = opened.study.name.clone();
    Ok(AuditReport { study, claims, override_syntax, stale, moved, refreshed, recorded })
}

/// What became of an override syntax.
pub(crate) enum Overrides {
    Recorded,
    /// There are no claims that it could be recorded with, or some are stale.
    NotAudited,
}

/// Sets how values reach the train command, in a repository that was audited.
pub(crate) fn set_overrides(context: &Context, study: Option<&str>, syntax: &str) -> Outcome<Overrides> {
    if OpenStudy::open(context, study)?.study.adapter.is_none() {
        return Ok(Overrides::NotAudited);
    }
    let report = audit(context, study, &[], false, Some(syntax), &|_| Ok(None))?;
    Ok(if report.recorded { Overrides::Recorded } else { Overrides::NotAudited })
}

/// A line of a file of the repository, without its ending. Follows no link.
fn cited(fs: &dyn Fs, root: &Path, file: &str, line: u64) -> Outcome<String> {
    let wrong = |why: &str| Failure::usage("no_such_line", format!("{file}:{line}: {why}"));
    if let Some(why) = bad_path(file) {
        return Err(wrong(why));
    }
    let mut at = root.to_owned();
    for part in file.split('/') {
        at.push(part);
        if fs.metadata_if_any(&at)?.is_some_and(|meta| meta.kind == rlxp_fs::Kind::Link) {
            return Err(wrong("the path contains a link"));
        }
    }
    if !fs.is_file(&at)? {
        return Err(near(fs, root, file).into_iter().fold(wrong("no such file"), Failure::hint));
    }
    let text = fs.read_text(&at, LONGEST_SOURCE)?;
    let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
    let found = index.and_then(|index| text.lines().nth(index));
    found.map(str::to_owned).ok_or_else(|| wrong(&format!("the file has {} lines", text.lines().count())))
}

/// The lines of its file that have the text which a claim cites, with their numbers.
fn places_of(fs: &dyn Fs, root: &Path, claim: &Claim) -> Vec<(u64, String)> {
    // Also checks that the path may be read.
    if cited(fs, root, &claim.file, 1).is_err() {
        return Vec::new();
    }
    let text = fs.read_text(&root.join(&claim.file), LONGEST_SOURCE).unwrap_or_default();
    let has_it = |(_, line): &(u64, &str)| Digest::hash(line.as_bytes()) == claim.line_digest;
    (1..).zip(text.lines()).filter(has_it).map(|(place, line)| (place, line.to_owned())).collect()
}

/// A file in the same folder with a similar name.
fn near(fs: &dyn Fs, root: &Path, file: &str) -> Option<String> {
    let (folder, name) = file.rsplit_once('/').map_or(("", file), |(folder, name)| (folder, name));
    let entries = fs.list(&root.join(folder)).ok()?;
    let near = rlxp_spec::nearest(name, entries.iter().map(|entry| entry.name.as_str()))?;
    let path = if folder.is_empty() { near.to_owned() } else { format!("{folder}/{near}") };
    Some(format!("did you mean {path}?"))
}
