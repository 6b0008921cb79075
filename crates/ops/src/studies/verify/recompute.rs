//! Computes again what the ledger says about runs, from their files: lists of files and metrics here, what follows from
//! them in `replay`. All of it must come out the same; what can't be computed any more is named with the reason.

use std::collections::BTreeSet;

use rlxp_fs::FsExt;
use rlxp_govern::documents::Reading;
use rlxp_govern::ledger::Ledger;
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_govern::section::Section;
use rlxp_govern::view::Study;
use rlxp_types::Digest;

use super::{Findings, replay};
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::clean::removed_from;
use crate::studies::extract::read_again;
use crate::studies::files::launch_paths::{LaunchPaths, RunPaths};
use crate::studies::files::paths::StudyPaths;
use crate::studies::files::read::study_with;
use crate::studies::launch::Manifest;
use crate::studies::study::status::counted;

/// The longest list of files that is read.
const LONGEST_MANIFEST: u64 = 64 << 20;

/// Recomputes everything that follows from the files of runs.
pub(super) fn recompute(
    context: &Context,
    place: &StudyPaths,
    ledger: &Ledger,
    found: &mut Findings,
) -> Outcome<()> {
    if ledger.state.runs.is_empty() {
        return Ok(());
    }
    let Ok(runs) = LaunchPaths::of(&context.user, ledger) else {
        found.not_checked.push("the files of runs: your state folder is unknown here".to_owned());
        return Ok(());
    };
    let study = study_with(context, place, ledger.clone())?;
    let there = check_files(context, &runs, ledger, found)?;
    check_metrics(context, &runs, &study, &there, found)?;
    replay::replay(context, place, &runs, &study, found)
}

/// The keys of runs whose files are all as they were when the runs ended.
fn check_files(
    context: &Context,
    place: &LaunchPaths,
    ledger: &Ledger,
    found: &mut Findings,
) -> Outcome<BTreeSet<String>> {
    let (mut intact, mut gone, mut files, mut cleaned) = (BTreeSet::new(), Vec::new(), 0, 0);
    for (key, run) in &ledger.state.runs {
        let Some(expected) = run.ended.as_ref().and_then(|ended| ended.manifest) else {
            if run.evidence.is_some() && run.state == RunState::Ended(RunEnd::Ok) {
                let message = format!("run {key} has metrics, but no list of the files they were read from");
                found.problem("file_list_not_recorded", None, message);
            }
            continue;
        };
        // A key is the name of a folder, and the ledger it comes from is not trusted.
        if rlxp_govern::scope::bad_path(key).is_some() || key.contains('/') {
            found.problem("bad_key", None, format!("{key:?} is not a run's key"));
            continue;
        }
        let run_place = place.run(key);
        if !context.fs.is_folder(run_place.path())? {
            gone.push(key.as_str());
            continue;
        }
        match check_run(context, &run_place, key, expected)? {
            Ok(count) => {
                files += count.there;
                cleaned += count.cleaned;
                // What is still there is as it was; but what was removed can't be read again.
                if count.cleaned == 0 {
                    intact.insert(key.clone());
                }
            }
            Err(problems) => {
                for (code, message) in problems {
                    found.problem(code, None, message);
                }
            }
        }
    }
    if files > 0 {
        found.holds.push(format!("{} of runs are as they were when the runs ended", counted(files, "file")));
    }
    if cleaned > 0 {
        let message = format!("{} of runs, which rlx study clean removed", counted(cleaned, "file"));
        found.not_checked.push(message);
    }
    if !gone.is_empty() {
        let (runs, names) = (counted(gone.len(), "run"), some(&gone));
        found.not_checked.push(format!("{runs}, because their files are gone: {names}"));
    }
    Ok(intact)
}

type Problems = Vec<(&'static str, String)>;

/// The files of a run that has no problem.
#[derive(Default)]
struct Counts {
    there: usize,
    /// Removed by `rlx study clean`.
    cleaned: usize,
}

/// How many files a run has, if all are as they were; otherwise what is wrong.
fn check_run(
    context: &Context,
    place: &RunPaths,
    key: &str,
    expected: Digest,
) -> Outcome<Result<Counts, Problems>> {
    let fs = context.fs.rooted(place.path());
    let list = place.manifest();
    let bytes = match fs.read(&list, LONGEST_MANIFEST) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => {
            let message = format!("the list of files of run {key} is gone: {}", list.display());
            return Ok(Err(vec![("file_list_gone", message)]));
        }
        Err(error) => return Err(error.into()),
    };
    let manifest = serde_json::from_slice::<Manifest>(&bytes).ok();
    let Some(manifest) = manifest.filter(|_| Digest::hash(&bytes) == expected) else {
        let message = format!("the list of files of run {key} is not the recorded one: {}", list.display());
        return Ok(Err(vec![("file_list_changed", message)]));
    };
    let removed = removed_from(fs.as_ref(), place.path());
    let is_removed = |name: &str| {
        let within =
            |folder: &String| name.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        removed.iter().any(|one| one == name || within(one))
    };
    let (mut problems, mut counts) = (Vec::new(), Counts::default());
    for (name, file) in &manifest.files {
        let path = place.path().join(name);
        match fs.digest(&path) {
            Ok(now) if now == file.digest => counts.there += 1,
            Ok(_) => {
                problems.push(("run_file_changed", format!("{} of run {key} has changed", path.display())))
            }
            Err(error) if error.is_not_found() && is_removed(name) => counts.cleaned += 1,
            Err(error) if error.is_not_found() => {
                problems.push(("run_file_gone", format!("{} of run {key} is gone", path.display())));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(if problems.is_empty() { Ok(counts) } else { Err(problems) })
}

/// Reads the metrics of every run again.
fn check_metrics(
    context: &Context,
    place: &LaunchPaths,
    study: &Study,
    intact: &BTreeSet<String>,
    found: &mut Findings,
) -> Outcome<()> {
    let declared = study.digests().get(&Section::Metrics).copied();
    let Reading::Read(spec) = &study.files.metric_spec else {
        found.not_checked.push("metrics of runs: metric_spec.yaml can't be read".to_owned());
        return Ok(());
    };
    let (mut same, mut declared_otherwise) = (0, 0);
    for key in intact {
        let Some(run) = study.state().runs.get(key) else { continue };
        let Some(recorded) = &run.evidence else { continue };
        // Versions that didn't record the declaration read by the same rules.
        if recorded.declared.is_some() && recorded.declared != declared {
            declared_otherwise += 1;
            continue;
        }
        let again = read_again(context, place, run, &spec.typed, recorded.declared)?;
        if again == *recorded {
            same += 1;
            continue;
        }
        let names: Vec<&str> = recorded
            .values
            .iter()
            .filter(|(name, value)| again.values.get(*name) != Some(*value))
            .map(|(name, _)| name.as_str())
            .collect();
        let what = if names.is_empty() { "reasons or files".to_owned() } else { names.join(", ") };
        let message = format!("the metrics of run {key} are not those in its record: {what}");
        found.problem("metrics_differ", None, message);
    }
    if same > 0 {
        found.holds.push(format!("the metrics of {} come out the same", counted(same, "run")));
    }
    if declared_otherwise > 0 {
        let runs = counted(declared_otherwise, "run");
        found.not_checked.push(format!("metrics of {runs}, because metric_spec.yaml has changed since"));
    }
    Ok(())
}

/// Names of a list that may be long.
fn some(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
