//! Likely mistakes in a complete contract, found before a run is spent on them.

use rlxp_fs::FsExt;
use rlxp_govern::completeness::Open;
use rlxp_govern::documents::{Contract, Runbook};
use rlxp_govern::scope::bad_path;
use rlxp_govern::section::File;

use crate::failure::Outcome;
use crate::studies::files::OpenStudy;

/// Answers of a drafted `metric_spec.yaml` that are valid with any value: only their mark shows that they were not
/// chosen.
pub(super) fn marked(text: &str) -> Vec<Open> {
    let places = [
        ("  direction:", "primary.direction", "which way is better?"),
        ("failure_score:", "failure_score", "which score does a failed run get?"),
    ];
    let is_marked = |start: &str| text.lines().any(|line| line.starts_with(start) && line.contains("# TODO"));
    let open = places.into_iter().filter(|(start, ..)| is_marked(start)).map(|(_, path, question)| Open {
        file: File::MetricSpec.name(),
        path: path.to_owned(),
        question: format!("{question} then remove the TODO"),
    });
    open.collect()
}

pub(super) fn warnings(opened: &OpenStudy) -> Outcome<Vec<String>> {
    let mut warnings = Vec::new();
    if let Some(runbook) = opened.study.files.runbook.typed() {
        warnings.extend(slots(runbook));
        warnings.extend(scripts(opened, runbook)?);
    }
    warnings.extend(opened.study.contract().and_then(budget));
    Ok(warnings)
}

/// Files that a step writes outside its own folder are lost.
fn slots(runbook: &Runbook) -> Vec<String> {
    let needed = [
        ("train", &runbook.train, "{run}", "its output folder"),
        ("eval", &runbook.eval, "{run}", "its output folder"),
        ("eval", &runbook.eval, "{trained}", "the output folder of training"),
    ];
    needed
        .into_iter()
        .filter(|(_, step, slot, _)| !step.argv.iter().any(|word| word.contains(slot)))
        .map(|(name, _, slot, what)| format!("runbook.yaml: {name}.argv has no {slot}, which is {what}"))
        .collect()
}

fn scripts(opened: &OpenStudy, runbook: &Runbook) -> Outcome<Vec<String>> {
    let mut missing = Vec::new();
    for (name, step) in runbook.steps() {
        for path in named_files(&step.argv, step.folder.as_deref().unwrap_or_default()) {
            let is_there = opened.context().fs.metadata_if_any(&opened.place.root.join(&path))?.is_some();
            if !is_there && !runbook.inputs.iter().any(|input| input.path == path) {
                missing.extend(script_missing(&path, name.as_str()));
            }
        }
    }
    Ok(missing)
}

/// Files in the tree that the words of a command may refer to, except its program.
pub(crate) fn named_files(argv: &[String], folder: &str) -> Vec<String> {
    let words = argv.iter().skip(1).map(|word| word.rsplit('=').next().unwrap_or_default());
    let path = |name: &str| match folder {
        "" | "." => name.to_owned(),
        folder => format!("{folder}/{name}"),
    };
    words.filter(|name| !name.contains('{')).map(path).filter(|path| bad_path(path).is_none()).collect()
}

/// The message about a missing file, if it can only be a script.
pub(crate) fn script_missing(path: &str, step: &str) -> Option<String> {
    let is_script = [".py", ".sh"].iter().any(|ending| path.ends_with(ending));
    is_script.then(|| format!("{path}, used by {step}, does not exist"))
}

/// The baseline alone takes a smoke run and all seeds of the confirm phase.
fn budget(contract: &Contract) -> Option<String> {
    let (runs, seeds) = (contract.budget.runs, contract.statistics.confirm_seeds);
    let needed = seeds.saturating_add(1);
    (runs < needed).then(|| {
        format!(
            "contract.yaml: budget.runs is {runs}, but the baseline alone needs {needed}: 1 smoke run and {seeds} confirm_seeds"
        )
    })
}
