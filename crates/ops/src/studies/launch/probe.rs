//! `rlx launch --probe STEP`: tries a command of the runbook outside of any run. Only commands that are approved and
//! marked as free of side effects, on the recorded code, sandboxed as well as this machine can.

use rlxp_fs::{FsExt, randomness};
use rlxp_govern::change::Applied;
use rlxp_govern::documents::{Seconds, StepName, StudyName};
use rlxp_govern::ledger::event::Probed;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::RunEnd;
use rlxp_launch::order::{Level, Mechanisms, RunOrder, Usage};
use rlxp_launch::supervise::supervise;
use rlxp_types::Exit;
use serde::Serialize;

use super::execute::probe as abilities;
use super::files::run_end;
use super::inputs::Inputs;
use super::layout::lay_out_steps;
use super::run_order::{Materials, RunSeeds, level, limits, step_order, wanted};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::candidate;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::{OpenStudy, permit_probe};
use crate::studies::tree;

/// Time limit of a probe in seconds, unless the approved limit is shorter.
const LONGEST: u64 = 300;
/// Lines of output that are shown.
const SHOWN_LINES: usize = 20;

/// The result of trying a step.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeReport {
    pub study: StudyName,
    pub step: String,
    pub argv: Vec<String>,
    pub end: RunEnd,
    pub reason: String,
    pub usage: Usage,
    /// How it was sandboxed.
    pub level: Level,
    pub mechanisms: Mechanisms,
    /// Its last lines.
    pub output: Vec<String>,
}

pub fn probe(context: &Context, study: Option<&str>, name: &str) -> Outcome<ProbeReport> {
    let mut opened = OpenStudy::open(context, study)?;
    let files = &opened.study.files;
    let (Some(contract), Some(runbook)) = (files.contract.typed().cloned(), files.runbook.typed().cloned())
    else {
        let message = "trying a step needs a readable contract.yaml and runbook.yaml";
        return Err(Failure::usage("file_broken", message).hint("rlx contract check"));
    };
    let known: Vec<&str> = runbook.steps().map(|(name, _)| name.as_str()).collect();
    let Some((step_name, step)) = runbook.steps().find(|(known, _)| known.as_str() == name) else {
        let message = format!("the runbook has no step {name:?}; steps are: {}", known.join(", "));
        return Err(Failure::usage("no_step", message).hint("rlx contract check"));
    };
    if !step.free_of_side_effects {
        let message = format!("{name} is not marked as free of side effects");
        return Err(Failure::refused("side_effects", message)
            .hint(format!("set {name}.free_of_side_effects: true in runbook.yaml, if that is so")));
    }
    let permit = permit_probe(&opened)?;
    let mechanisms = abilities(&opened)?;
    let offered = mechanisms.level();
    if offered < level(contract.confinement) {
        let (agreed, missing) = (contract.confinement, mechanisms.why_not_full());
        let message = format!(
            "the contract requires sandboxing {agreed}, but this machine offers {offered}: {missing}"
        );
        return Err(Failure::refused("confinement_too_weak", message).hint("rlx doctor"));
    }
    let place = LaunchPaths::for_study(&opened)?;
    let base = candidate::base(&opened)?.ok_or_else(|| {
        Failure::refused("base_unknown", "the base code is unknown").hint("rlx contract check")
    })?;
    let tree = tree::ensure(&opened, &place, &base, None)?;
    let inputs = Inputs::ensure(context.fs.as_ref(), &place, &opened.place.root, &runbook)?;
    let applied = Applied::default();
    let materials = Materials {
        contract: &contract,
        runbook: &runbook,
        applied: &applied,
        earlier_arguments: &[],
        exposed: Default::default(),
        changes_code: false,
        root: &opened.place.root,
        base: &tree.folder,
        training: &tree.folder,
        inputs: &inputs,
        programs: None,
        probed: None,
        reference: None,
        user: &context.user,
        fs: context.fs.as_ref(),
    };
    let key = format!("probe-{name}-{}", &randomness::name()?[..8]);
    let run = place.probe(&key);
    context.fs.create_dir_all(run.path())?;
    let seeds = RunSeeds { train: 0, evaluation: Some(0) };
    let order = RunOrder {
        key: key.clone(),
        folder: run.folder.clone(),
        steps: vec![step_order(&materials, &run, step_name, step, &key, seeds, StepName::Train)],
        limits: limits(&materials, Seconds(LONGEST).0.min(contract.budget.per_run.wall_clock.0)),
        confinement: wanted(&materials),
        linked: Vec::new(),
        scan: false,
        expected: Vec::new(),
    };
    lay_out_steps(context, &materials, &run, &order)?;
    let interrupts = rlxp_launch::Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen to signals: {error}")))?;
    let report = supervise(&permit, &order, &|| interrupts.count() > 0).map_err(|error| {
        Failure::new(Exit::RunFailed, "supervision_failed", format!("{name} can't be tried: {error}"))
    })?;
    let text = context.fs.read_text(&run.log(name), 64 << 20).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let output =
        lines[lines.len().saturating_sub(SHOWN_LINES)..].iter().map(|line| (*line).to_owned()).collect();
    let (end, argv) = (run_end(report.how), order.steps[0].argv.clone());
    let mechanisms = report.steps.first().map(|step| step.mechanisms.clone()).unwrap_or_default();
    // Only the report and the ledger's record are kept.
    context.fs.remove_dir_all(run.path())?;
    let probed = Probed { step: name.to_owned(), end, reason: report.reason.clone() };
    opened.append(Actor::Rlx, Event::Probed(probed))?;
    Ok(ProbeReport {
        study: opened.study.name.clone(),
        step: name.to_owned(),
        argv,
        end,
        reason: report.reason,
        usage: report.usage,
        level: report.level,
        mechanisms,
        output,
    })
}
