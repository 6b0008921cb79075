//! `rlx __run`: the parent of a run. It waits for the signal to start, supervises every step, lists the digests of
//! the files that the run left, and writes the end last. It never touches the ledger; the watching process does, so a
//! killed supervisor leaves no partial record.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsError, FsExt, Kind};
use rlxp_govern::documents::StepName;
use rlxp_govern::machine::RunEnd;
use rlxp_govern::scope::matches;
use rlxp_launch::order::{RunOrder, StepEnd, StepOutcome, Usage};
use rlxp_launch::supervise::{self, RunReport, Taken, TakenFile};
use rlxp_store::Writer;
use rlxp_types::path_text::escaped;
use rlxp_types::{Digest, Exit};

use super::files::{self, EndFile, Manifest, ManifestFile};
use super::inputs;
use super::loaded;
use super::reconcile;
use super::scan;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::launch_paths::{RESERVE, RunPaths};
use crate::studies::files::permit_supervisor;
use crate::studies::tree::file_digest;

/// Error code of a run in which a later step may have read something other than what an earlier one left.
const TOUCHED: &str = rlxp_govern::ledger::event::OUTPUT_CHANGED;
/// Most files that are listed individually.
const MOST_FILES: usize = 100_000;
/// Files that are named in a reason.
const NAMED: usize = 5;
/// Orders are small.
const LONGEST_ORDER: u64 = 16 << 20;

/// Supervises the run that `order` describes.
pub fn run(context: &Context, order: &Path, digest: Digest) -> Outcome<Exit> {
    let fs = context.fs.as_ref();
    rlxp_launch::crash::point("shim:started");
    let bytes = fs.read(order, LONGEST_ORDER)?;
    let order = RunOrder::from_bytes(&bytes, digest)
        .map_err(|why| Failure::refused("other_order", format!("{}: {why}", order.display())))?;
    let place = RunPaths { folder: order.folder.clone() };
    rlxp_launch::crash::point("shim:order_read");
    if fs.metadata(&place.end()).is_ok() {
        let message = format!("run {} has ended and can't run again", order.key);
        return Err(Failure::refused("run_over", message).hint("rlx launch status"));
    }
    let goes = supervise::wait_for_go();
    // Launch records its supervisor before it sends the signal, so a signal from any other process is ignored and a
    // run starts once. A supervisor doesn't end a run that has another one either.
    let named = files::read::<Writer>(fs, &place.shim())?.map(|writer| writer.pid);
    if named != Some(context.machine.process_id()) && (goes || named.is_some()) {
        let message = format!("run {} was not launched with this supervisor", order.key);
        return Err(Failure::refused("not_launched", message).hint("rlx launch status"));
    }
    if !goes {
        let reason = "launch ended before the run could start".to_owned();
        write_end(fs, &place, &lost(&order, reason, Usage::default()))?;
        return Ok(Exit::RunFailed);
    }
    rlxp_launch::crash::point("shim:told_to_go");
    let permit = permit_supervisor(context, &place)?;
    let cancelled = || fs.metadata(&place.cancel()).is_ok();
    let report = match supervise::supervise(&permit, &order, &cancelled) {
        Ok(report) => report,
        Err(error) => {
            let message = format!("the run can't be supervised: {error}");
            let usage = supervise::pulse(place.path()).unwrap_or_default();
            let mut end = lost(&order, message.clone(), usage);
            end.after_training = reconcile::had_trained(fs, &place);
            write_end(fs, &place, &end)?;
            return Err(Failure::new(Exit::RunFailed, "supervision_failed", message));
        }
    };
    rlxp_launch::crash::point("shim:steps_over");
    let executable_output = match order.scan {
        true => scan::executable_output(fs, &place, &report.taken),
        false => None,
    };
    let steps: Vec<&str> = order.steps.iter().map(|step| step.name.as_str()).collect();
    let (manifest, digest) = take_down(fs, &order.key, &place, &report.taken, &steps)?;
    let listed = write_reserved(fs, &place.manifest(), &manifest);
    rlxp_launch::crash::point("shim:manifest_written");
    let missing = missing(&order, &report);
    let mut end = end_of(&order, report, digest, inputs::changed(fs, &order.linked));
    end.executable_output = executable_output;
    if let (RunEnd::Ok, Some(reason)) = (end.end, missing) {
        (end.end, end.reason) = (RunEnd::Failed, reason);
    }
    match listed {
        Err(error) if error.is_full() => unlisted(&mut end, &error),
        listed => listed?,
    }
    write_end(fs, &place, &end)?;
    rlxp_launch::crash::point("shim:end_written");
    Ok(if end.end == RunEnd::Ok { Exit::Yes } else { Exit::RunFailed })
}

/// A lost run, with a reason that its supervisor could still give.
fn lost(order: &RunOrder, reason: String, usage: Usage) -> EndFile {
    EndFile {
        key: order.key.clone(),
        end: RunEnd::Lost,
        reason,
        usage,
        level: None,
        not_evidence: None,
        after_training: Some(false),
        executable_output: None,
        manifest: None,
        steps: Vec::new(),
    }
}

fn end_of(order: &RunOrder, report: RunReport, manifest: Digest, changed: Option<String>) -> EndFile {
    let other_code = report.steps.iter().find_map(|step| flaw(order, step));
    let flaw = other_code
        .map(|reason| (loaded::CODE, reason))
        .or_else(|| changed.map(|reason| (inputs::CODE, reason)))
        .or_else(|| report.touched.as_deref().map(|path| (TOUCHED, touched(path))));
    let reason = match &flaw {
        Some((_, reason)) if report.how == StepOutcome::Ok => reason.clone(),
        _ => report.reason,
    };
    EndFile {
        key: order.key.clone(),
        end: files::run_end(report.how),
        reason,
        usage: report.usage,
        level: Some(report.level),
        not_evidence: flaw.map(|(code, _)| code.to_owned()),
        after_training: Some(files::has_trained(&report.steps)),
        executable_output: None,
        manifest: Some(manifest),
        steps: report.steps,
    }
}

/// Which expected file the evaluation didn't leave, and what it left instead.
fn missing(order: &RunOrder, report: &RunReport) -> Option<String> {
    // Without an evaluation nothing could be left.
    report.steps.iter().find(|step| step.name == StepName::Eval.as_str())?;
    let has = |pattern: &String| report.taken.files.keys().any(|name| matches(pattern, name));
    let expected = order.expected.iter().find(|expected| !expected.any_of.iter().any(has))?;
    let wanted = expected.any_of.first().map(String::as_str).unwrap_or_default();
    let own = |name: &&String| name.starts_with("eval/") && !is_scaffold(name);
    let left: Vec<&str> = report.taken.files.keys().filter(own).map(String::as_str).collect();
    let more = if left.len() > NAMED { ", …" } else { "" };
    let shown = match left.len() {
        0 => "eval/ is empty".to_owned(),
        count => format!("it left {}{more}", left[..count.min(NAMED)].join(", ")),
    };
    Some(format!("eval did not write {wanted}, which {} is read from; {shown}", expected.purpose))
}

/// Whether a file of a step's folder is in one of those that rlx made for it.
fn is_scaffold(name: &str) -> bool {
    let inside = name.split_once('/').map_or("", |(_, inside)| inside);
    [".rlx", "tmp/", "home/", "cache/"].iter().any(|start| inside.starts_with(start))
}

/// Why a step that succeeded didn't run the changed code.
fn flaw(order: &RunOrder, ended: &StepEnd) -> Option<String> {
    let step = order.steps.iter().find(|step| step.name == ended.name)?;
    if ended.how != StepOutcome::Ok {
        return None;
    }
    loaded::problem(&step.watched, &step.tree.at, &ended.opened, &ended.loaded)
}

fn touched(path: &str) -> String {
    format!("{path} was changed from outside after its step had ended, while a later step could read it")
}

/// Without a list of its files a run can't be verified, so it has not succeeded.
fn unlisted(end: &mut EndFile, error: &FsError) {
    end.manifest = None;
    if end.end == RunEnd::Ok {
        end.end = RunEnd::Limit;
        end.reason = format!("disk: it is full: {error}");
    }
}

fn write_end(fs: &dyn Fs, place: &RunPaths, end: &EndFile) -> Outcome<()> {
    let written = match write_reserved(fs, &place.end(), &files::bytes(end)) {
        Err(error) if error.is_full() => {
            // The step reports can exceed the reserved space; the rest can't.
            let short = EndFile { steps: Vec::new(), ..end.clone() };
            fs.write_atomic(&place.end(), &files::bytes(&short))
        }
        written => written,
    };
    place.reserves().iter().for_each(|reserve| drop(fs.remove_file(reserve)));
    Ok(written?)
}

/// Writes a file; on a full disk, into the space reserved for it.
fn write_reserved(fs: &dyn Fs, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    match fs.write_atomic(path, bytes) {
        Err(error) if error.is_full() => {
            drop(fs.remove_file(&RunPaths::reserve_for(path)));
            fs.write_atomic(path, bytes)
        }
        written => written,
    }
}

/// The digests of everything in a run's folder, as the bytes of a file and their digest. What these steps left was taken
/// down right after each of them and isn't read again.
pub(super) fn take_down(
    fs: &dyn Fs,
    key: &str,
    place: &RunPaths,
    taken: &Taken,
    steps: &[&str],
) -> Outcome<(Vec<u8>, Digest)> {
    let listed = |(name, file): (&String, &TakenFile)| {
        (name.clone(), ManifestFile { length: file.length, digest: file.digest })
    };
    let files = taken.files.iter().map(listed).collect();
    let mut manifest = Manifest { key: key.to_owned(), files, left_out: taken.left_out.clone() };
    let is_taken = |name: &str| steps.contains(&name.strip_suffix(".changed").unwrap_or(name));
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        // Folders that a run made unreadable are listed as left out and stop nothing.
        let Ok(entries) = fs.list_raw(&place.path().join(&inside)) else {
            manifest.left_out.push(format!("{}: it can't be listed", inside.display()));
            continue;
        };
        for entry in entries {
            let path = inside.join(&entry.name);
            let name = escaped(path.as_os_str().as_encoded_bytes());
            let is_top = inside.as_os_str().is_empty();
            let is_scaffold = [".tree", ".work", RESERVE].iter().any(|end| name.ends_with(end));
            if is_top && is_taken(&name) && entry.kind == Kind::Folder {
                continue;
            }
            if is_top && (is_scaffold || matches!(name.as_str(), "shim.log" | "pulse.json" | "cancel")) {
                continue;
            }
            match entry.kind {
                Kind::Folder => folders.push(path),
                Kind::File if manifest.files.len() < MOST_FILES => {
                    let at = place.path().join(&path);
                    match (fs.metadata(&at), file_digest(fs, &at)) {
                        (Ok(meta), Ok(digest)) => {
                            manifest.files.insert(name, ManifestFile { length: meta.length, digest });
                        }
                        _ => manifest.left_out.push(format!("{name}: it can't be read")),
                    }
                }
                Kind::File => {
                    manifest.left_out.push(format!("{name}: there are more than {MOST_FILES} files"))
                }
                _ => manifest.left_out.push(format!("{name}: not a regular file")),
            }
        }
    }
    manifest.left_out.truncate(1000);
    let bytes = files::bytes(&manifest);
    let digest = Digest::hash(&bytes);
    Ok((bytes, digest))
}
