//! `rlx launch ID`: the whole plan of the next runs, before anything is started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::FsExt;
use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::{Base, Confinement, Phase, Runbook, Slug, StepName, StudyName};
use rlxp_govern::gate::{GateName, Purpose, names, reservation};
use rlxp_govern::ledger::attempts;
use rlxp_govern::next_run::SeedChoice;
use rlxp_govern::queue::Queue;
use rlxp_govern::seeds::SeedRole;
use rlxp_launch::order::{Limits, Mechanisms};
use rlxp_types::Digest;
use serde::Serialize;

use super::execute::{CONFIRMATION, probe};
use super::ready::{Offered, Ready, ready};
use super::run_order::{
    Materials, RunSeeds, confinement, limits, listed, open_program, step_order, steps_of, trained_by, wanted,
};
use super::values::different;
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::candidate::known;
use crate::studies::contract::warn::script_missing;
use crate::studies::files::OpenStudy;
use crate::studies::scripts::named_files;

/// Edited files that are named one by one.
const NAMED: usize = 3;

/// The plan of the next runs.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    pub study: StudyName,
    pub candidate: Slug,
    pub revision: u64,
    /// The phase that comes next.
    pub phase: Phase,
    /// The digest of everything a launch would use.
    pub plan: Digest,
    pub parts: BTreeMap<String, Digest>,
    /// Runs of this phase that are left.
    pub runs: u64,
    /// How many run in parallel.
    pub parallel: u64,
    /// The seed of the first of them; `None` if it is drawn at launch.
    pub seed: Option<u64>,
    pub role: SeedRole,
    /// The contract's code: evaluation runs it, and training starts from it unless `accepted` says otherwise.
    pub base: Base,
    /// How many files the code has that training starts from.
    pub files: u64,
    /// What training starts from, if candidates were accepted before.
    pub accepted: Option<PlannedCode>,
    /// What the candidate changes.
    pub changes: Vec<PlannedChange>,
    /// The commands.
    pub steps: Vec<PlannedStep>,
    /// Further paths that the runbook lets steps read.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub read: Vec<PathBuf>,
    /// The limits of one run.
    pub limits: Limits,
    pub confinement: PlannedConfinement,
    /// What one run reserves.
    pub reserve: Amounts,
    /// What is left of the budget if every run uses its whole reserve.
    pub budget_after: Amounts,
    /// The gates that it passed.
    pub gates: Vec<GateName>,
    /// What a reader should know.
    pub warnings: Vec<String>,
    /// The command that runs it.
    pub command: String,
}

/// The contract's code with the changes that were accepted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedCode {
    pub code: Base,
    /// Whose changes it has, in the order in which they were accepted.
    pub candidates: Vec<Slug>,
    /// Arguments of the train command that come from them.
    pub arguments: Vec<String>,
}

/// One file that differs from the code it starts from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedChange {
    pub path: String,
    /// What happens to it: added, changed or removed.
    pub what: &'static str,
    /// Its digest afterwards.
    pub digest: Option<Digest>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedStep {
    pub name: String,
    /// Program and arguments, as they will be run; the folder of the run and drawn seeds are not known yet.
    pub argv: Vec<String>,
    /// Where it starts, in the tree.
    pub folder: String,
    /// Names of its environment variables.
    pub environment: Vec<String>,
    /// What it may read outside of the run and the system's folders: its interpreter, and what the runbook lists.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub readable: Vec<PathBuf>,
    /// Whether the candidate's changes are in its code.
    pub changed_code: bool,
}

/// How runs are sandboxed.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedConfinement {
    pub agreed: Confinement,
    /// What this machine offers.
    pub offered: Confinement,
    pub mechanisms: Mechanisms,
}

/// The plan of the next runs of a candidate, after every gate of a launch has passed and the code was checked out.
pub fn plan(context: &Context, study: Option<&str>, name: &str) -> Outcome<PlanReport> {
    let mut opened = OpenStudy::open(context, study)?;
    super::reconcile::reconcile(context, &mut opened)?;
    let id = known(&opened, name)?;
    let mechanisms = probe(&opened)?;
    let ready = ready(context, study, &id, None, Offered::Here(&mechanisms))?;
    report(context, &ready)
}

pub(super) fn report(context: &Context, ready: &Ready) -> Outcome<PlanReport> {
    let study = &ready.opened.study;
    let candidate = &ready.view.written.typed;
    let materials = ready.materials(context)?;
    let (contract, runbook) = (materials.contract, materials.runbook);
    let place = ready.place.run("RUN");
    let seeds = RunSeeds { train: 0, evaluation: Some(0) };
    let mut differing = Vec::new();
    let trained = trained_by(runbook, ready.next.phase);
    let planned = steps_of(runbook, ready.next.phase, ready.probed.is_some());
    let steps = planned.into_iter().map(|(name, step)| {
        let order = step_order(&materials, &place, name, step, "RUN", seeds, trained);
        differing.extend(different(&order.name, &order.values));
        let program = order.argv.first().cloned().unwrap_or_default();
        let rest = rlxp_govern::slots::fill(&step.argv, &[]).into_iter().skip(1);
        let added = order.argv.iter().skip(step.argv.len()).cloned();
        PlannedStep {
            name: name.to_string(),
            argv: std::iter::once(program).chain(rest).chain(added).collect(),
            folder: order.folder,
            environment: order.environment,
            readable: order.readable,
            changed_code: name.trains() || !materials.files_of(name).is_empty(),
        }
    });
    let queue = Queue::for_study(study);
    let job = queue.jobs.iter().find(|job| job.candidate == candidate.id && job.phase == ready.next.phase);
    let mut before = study.state().runs_of_plan(&candidate.id);
    before.retain(|run| run.intent.phase == ready.next.phase);
    let taken = attempts::taken(&before, study.state().side_of(&candidate.id));
    let runs = job.map_or(1, |job| job.runs).saturating_sub(taken).max(1);
    let reserve = reservation(&ready.next.plan, &contract.budget);
    let left = study.state().tally.left(Amounts::from(&contract.budget));
    let mut warnings = ready.opened.warnings.clone();
    warnings.extend(
        ready.tree.submodules.iter().map(|path| format!("{path} is a submodule; its files are missing")),
    );
    if ready.exposes_evaluator() {
        let files: Vec<&str> = materials.exposed.keys().map(String::as_str).collect();
        warnings.push(format!(
            "evaluation uses {} from training: each run counts only once a person approves it (rlx approve run:KEY)",
            files.join(", ")
        ));
    }
    let steps: Vec<PlannedStep> = steps.collect();
    warnings.extend(differing);
    warnings.extend(open_programs(&materials, ready.next.phase));
    let unread = ready.view.flag_changes().into_iter().filter(|(_, change, key)| {
        !ready.view.flag_values.contains_key(&(change.path.clone(), (*key).to_owned()))
    });
    warnings.extend(unread.map(|(index, change, key)| {
        let path = &change.path;
        format!("changes[{index}].from is not checked: the present value of {key} can't be read from {path}")
    }));
    warnings.extend(tried_evaluation(runbook, ready.next.phase));
    let inputs: Vec<&str> = runbook.inputs.iter().map(|input| input.path.as_str()).collect();
    for step in &steps {
        warnings.extend(not_in_tree(context, ready, step, &inputs)?);
    }
    warnings.extend(uncommitted(context, ready, &inputs)?);
    let read = listed(materials.root, runbook);
    let hidden = wanted(&materials).hidden;
    let is_hidden = |path: &&PathBuf| hidden.iter().any(|hidden| path.starts_with(hidden));
    warnings.extend(read.iter().filter(is_hidden).map(|path| {
        format!(
            "runbook.yaml: read: {} stays hidden from runs, like everything that may hold keys",
            path.display()
        )
    }));
    let digest = ready.plan.digest();
    Ok(PlanReport {
        study: study.name.clone(),
        candidate: candidate.id.clone(),
        revision: candidate.revision,
        phase: ready.next.phase,
        plan: digest,
        parts: ready.plan.parts.clone(),
        runs,
        parallel: contract.budget.parallel,
        seed: match ready.next.seed {
            SeedChoice::Known(seed) => Some(seed),
            SeedChoice::Draw => None,
        },
        role: ready.next.role,
        base: ready.view.base.clone().expect("what is ready has a base"),
        files: ready.training.as_ref().unwrap_or(&ready.tree).files,
        accepted: accepted(ready),
        changes: changes(ready),
        steps,
        read,
        limits: limits(&materials, ready.next.plan.wall_clock.0),
        confinement: PlannedConfinement {
            agreed: contract.confinement,
            offered: confinement(ready.mechanisms.level()),
            mechanisms: ready.mechanisms.clone(),
        },
        reserve,
        budget_after: left.minus(reserve.times(runs)),
        gates: names(Purpose::Launch),
        warnings,
        command: format!("rlx launch {} --execute --confirm {CONFIRMATION} --plan {digest}", candidate.id),
    })
}

fn accepted(ready: &Ready) -> Option<PlannedCode> {
    let state = ready.opened.study.state();
    let code = ready.view.accepted.as_ref()?;
    let changes =
        |id: &Slug| state.candidates.get(id).is_some_and(|record| !record.validated.kind.is_empty_change());
    let candidates = state.accepted.iter().map(|accepted| accepted.candidate.clone()).filter(changes);
    let (base, arguments) = (code.base.clone(), code.arguments.clone());
    Some(PlannedCode { code: base, candidates: candidates.collect(), arguments })
}

/// When a smoke test of its own leaves something to evaluate.
fn tried_evaluation(runbook: &Runbook, phase: Phase) -> Option<String> {
    if trained_by(runbook, phase) != StepName::Smoke {
        return None;
    }
    Some(match runbook.artifacts.as_slice() {
        [] => "runbook.yaml lists no artifacts, so the smoke phase doesn't try eval".to_owned(),
        artifacts => format!("the smoke phase tries eval only if smoke leaves {}", artifacts.join(", ")),
    })
}

/// Programs that start others which reading alone doesn't tell.
fn open_programs(materials: &Materials<'_>, phase: Phase) -> Vec<String> {
    let mut named: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, step) in steps_of(materials.runbook, phase, materials.probed.is_some()) {
        if let Some(open) = open_program(materials, name, step) {
            named.entry(open).or_default().push(name.as_str());
        }
    }
    let warning = |(open, steps): (String, Vec<&str>)| {
        format!(
            "{}: {open}: the programs that it starts are not checked; name the interpreter itself instead",
            steps.join(", ")
        )
    };
    named.into_iter().map(warning).collect()
}

/// What was edited since the commit that runs start from, and so is not part of them.
fn uncommitted(context: &Context, ready: &Ready, inputs: &[&str]) -> Outcome<Option<String>> {
    let Some(Base::Commit(commit)) = &ready.view.base else { return Ok(None) };
    let mut files =
        crate::studies::tree::differing(context.fs.as_ref(), &ready.tree.folder, &ready.opened.place.root)?;
    // Inputs are taken from the working copy.
    files.retain(|path| !inputs.contains(&path.as_str()));
    let short = commit.get(..12).unwrap_or(commit);
    let named = files.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if files.len() > NAMED { ", …" } else { "" };
    let count = match files.len() {
        0 => return Ok(None),
        1 => format!("1 changed file of the working copy is not included: {named}"),
        many => {
            format!("{many} changed files of the working copy are not included: {named}{more}")
        }
    };
    Ok(Some(format!("runs start from commit {short}; {count}")))
}

/// Scripts that a command names and that a run won't find: most often they were never committed.
fn not_in_tree(
    context: &Context,
    ready: &Ready,
    step: &PlannedStep,
    inputs: &[&str],
) -> Outcome<Vec<String>> {
    let mut warnings = Vec::new();
    for path in named_files(&step.argv, &step.folder) {
        let is_there = |root: &Path| context.fs.metadata_if_any(&root.join(&path)).map(|meta| meta.is_some());
        if inputs.contains(&path.as_str())
            || ready.differs.contains_key(&path)
            || is_there(&ready.tree.folder)?
        {
            continue;
        }
        if is_there(&ready.opened.place.root)? {
            warnings.push(format!("{path}, used by {}, is only in the working copy: commit it", step.name));
        } else {
            warnings.extend(script_missing(&path, &step.name));
        }
    }
    Ok(warnings)
}

fn changes(ready: &Ready) -> Vec<PlannedChange> {
    let of = |(path, change): (&String, &rlxp_govern::change::FileChange)| PlannedChange {
        path: path.clone(),
        what: match (&change.before, &change.after) {
            (None, _) => "added",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
        },
        digest: change.after.as_ref().map(|text| Digest::hash(text.as_bytes())),
    };
    ready.applied.files.iter().map(of).collect()
}
