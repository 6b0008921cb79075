//! Likely mistakes in a complete contract, found before a run is spent on them.

use rlxp_fs::FsExt;
use rlxp_govern::completeness::Open;
use rlxp_govern::documents::{Contract, Operation, Runbook, SurfaceKind, SurfaceMap};
use rlxp_govern::gate::RefusalCode;
use rlxp_govern::judge::best_of_many;
use rlxp_govern::section::File;

use crate::failure::Outcome;
use crate::studies::files::OpenStudy;
use crate::studies::scripts::named_files;

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
        code: RefusalCode::ContractIncomplete,
    });
    open.collect()
}

pub(super) fn warnings(opened: &OpenStudy) -> Outcome<Vec<String>> {
    let mut warnings = Vec::new();
    if let Some(runbook) = opened.study.files.runbook.typed() {
        warnings.extend(slots(runbook));
        warnings.extend(scripts(opened, runbook)?);
    }
    if let Some(map) = opened.study.files.surface_map.typed() {
        warnings.extend(surfaces(map, opened.study.files.override_syntax.as_deref()));
    }
    warnings.extend(opened.study.contract().and_then(budget));
    let best = opened.study.files.metric_spec.typed().and_then(best_of_many);
    warnings.extend(best.map(|why| format!("metric_spec.yaml: no candidate could be accepted: {why}")));
    Ok(warnings)
}

/// Surfaces that allow more than their kind suggests, or values that no command takes.
fn surfaces(map: &SurfaceMap, overrides: Option<&str>) -> Vec<String> {
    let mut warnings = Vec::new();
    for surface in &map.surfaces {
        let (id, files) = (&surface.id, surface.paths.join(", "));
        if surface.kind == SurfaceKind::Hyperparameter && surface.operations.contains(&Operation::EditCode) {
            warnings.push(format!(
                "surface_map.yaml: {id} is of kind hyperparameter, but edit_code lets candidates change any code in {files}"
            ));
        }
        let is_code = surface.paths.iter().any(|path| path.ends_with(".py"));
        if overrides.is_none() && is_code && !surface.keys.is_empty() {
            warnings.push(format!(
                "surface_map.yaml: the keys of {id} are values of {files}, which are passed to it only after rlx study audit \
                 --override-syntax '--{{key}}={{value}}'"
            ));
        }
    }
    warnings
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

/// The message about a missing file, if it can only be a script.
pub(crate) fn script_missing(path: &str, step: &str) -> Option<String> {
    let is_script = [".py", ".sh"].iter().any(|ending| path.ends_with(ending));
    is_script.then(|| format!("{path}, used by {step}, does not exist"))
}

/// The baseline alone takes a smoke run and all its seeds.
fn budget(contract: &Contract) -> Option<String> {
    let (runs, seeds) = (contract.budget.runs, contract.statistics.schedule().incumbent_seeds);
    let needed = seeds.saturating_add(1);
    (runs < needed).then(|| {
        format!(
            "contract.yaml: budget.runs is {runs}, but the baseline alone needs {needed}: 1 smoke run and {seeds} seeds"
        )
    })
}
