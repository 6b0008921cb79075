//! `rlx launch ID --handoff` and `rlx study receive`: runs on an external runtime (Slurm, Ray, Kubernetes, another
//! machine). rlx reserves the budget, draws the seeds and writes the plan to a file. The results are evidence of
//! level external, which never moves the incumbent without a person.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::{Phase, Slug, StudyName};
use rlxp_govern::gate::reservation;
use rlxp_govern::ledger::event::{LaunchIntent, Launched, RunEnded};
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_govern::next_run::key;
use rlxp_launch::order::{Limits, Usage};
use rlxp_launch::supervise::Taken;
use rlxp_types::Digest;
use serde::Serialize;
use serde_json::json;

use super::files::{self, EndFile};
use super::outcome::{RunOutcome, outcome};
use super::ready::{Offered, choose_seeds, ready};
use super::run_order::{fill_slots, limits, steps_of};
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::candidate::known;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::files::paths::needs_folder;

/// The reason that the ledger records for external runs.
const EXTERNAL: &str = "handed to an external runtime";
/// Most files that one run may bring back.
const MOST_FILES: usize = 100_000;

/// A run for an external runtime.
#[derive(Clone, Debug, Serialize)]
pub struct HandoffReport {
    pub study: StudyName,
    pub candidate: Slug,
    pub phase: Phase,
    /// The run's key, which `rlx study receive` needs.
    pub key: String,
    pub seed: u64,
    pub plan: Digest,
    /// The file that describes the run.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub file: PathBuf,
    pub reserve: Amounts,
    /// When it should be ended.
    pub limits: Limits,
    /// The command that receives its results.
    pub receive: String,
}

/// Writes the next run of a candidate to a file, for an external runtime.
pub fn handoff(
    context: &Context,
    study: Option<&str>,
    name: &str,
    plan: Option<Digest>,
    to: Option<&Path>,
) -> Outcome<HandoffReport> {
    let opened = OpenStudy::open(context, study)?;
    let id = known(&opened, name)?;
    if let Some(to) = to {
        needs_folder(context.fs.as_ref(), &context.folder.join(to))?;
    }
    let mut ready = ready(context, study, &id, plan, Offered::Elsewhere)?;
    if ready.next.probe.is_some() {
        let message = format!("{id} probes trained policies, whose files are on this machine");
        return Err(Failure::refused("probe_elsewhere", message).hint(format!("rlx launch {id}")));
    }
    let study = &ready.opened.study;
    let materials = ready.materials(context)?;
    let (contract, runbook) = (materials.contract, materials.runbook);
    let candidate = &ready.view.written.typed;
    let seeds = choose_seeds(&ready)?;
    let seed = seeds.train;
    let key = key(&id, candidate.revision, ready.next.phase, seed, ready.next.attempt);
    let reserve = reservation(&ready.next.plan, &contract.budget);
    let limits = limits(&materials, ready.next.plan.wall_clock.0);
    let steps: Vec<_> = steps_of(runbook, ready.next.phase, false)
        .into_iter()
        .map(|(name, step)| {
            let is_training = name.trains();
            let mut argv = fill_slots(name, step, seeds, &[]);
            if is_training {
                argv.extend(ready.earlier_arguments().iter().chain(&ready.applied.arguments).cloned());
            }
            // There, the whole difference from the contract's code has to be made.
            let files = if is_training { &ready.differs } else { materials.files_of(name) };
            let changed = files.keys();
            json!({ "name": name.as_str(), "argv": argv, "folder": step.folder, "environment": step.environment,
                    "changed_code": is_training,
                    "changed_files": changed.collect::<Vec<_>>() })
        })
        .collect();
    let changes: Vec<_> = ready
        .differs
        .iter()
        .map(|(path, change)| json!({ "path": path, "before": change.before, "after": change.after }))
        .collect();
    let phase = ready.next.phase;
    let plan = ready.plan.digest();
    let written = json!({
        "schema": "rlx.run_handoff_plan/1", "study": study.name, "id": study.state().opened.as_ref().map(|opened| &opened.id),
        "candidate": id, "revision": candidate.revision, "phase": phase, "key": key, "seed": seed,
        "evaluation_seed": seeds.evaluation, "plan": plan,
        "base": ready.view.base, "changes": changes, "steps": steps, "import_roots": runbook.import_roots,
        "inputs": runbook.inputs, "artifacts": runbook.artifacts, "limits": limits,
        "network": contract.hardware.network,
        "slots": { "{run}": "a folder of the step's own", "{trained}": "the folder that training wrote" },
        "give_back": "a folder with train/ and eval/, as the steps left them",
    });
    let file =
        to.map_or_else(|| context.folder.join(format!("{key}.handoff.json")), |to| context.folder.join(to));
    let intent = LaunchIntent {
        key: key.clone(),
        candidate: id.clone(),
        phase,
        seed,
        role: ready.next.role,
        reserve,
        plan,
        external: Some(EXTERNAL.to_owned()),
        evaluation_seed: seeds.evaluation,
        evaluator_exposed: ready.exposes_evaluator(),
        bounded_repeats: true,
        probe: None,
    };
    // The file is written before anything is reserved, so a run that can't be handed off costs nothing.
    if !context.fs.write_new_atomic(&file, &files::bytes(&written))? {
        let message = format!("{} already exists", file.display());
        return Err(Failure::usage("file_there", message).hint("choose another file with --to"));
    }
    let name = study.name.clone();
    if let Err(failure) = ready.opened.append(Actor::Rlx, Event::LaunchIntent(intent)) {
        context.fs.remove_file(&file)?;
        return Err(failure);
    }
    let receive = format!("rlx study receive {key} --from FOLDER");
    Ok(HandoffReport { study: name, candidate: id, phase, key, seed, plan, file, reserve, limits, receive })
}

/// The results of an external run.
#[derive(Clone, Debug)]
pub struct ReceiveRequest {
    pub key: String,
    /// The folder with its `train/` and `eval/`.
    pub from: PathBuf,
    pub end: RunEnd,
    /// Where and how it ran, as free text.
    pub runtime: String,
    /// Seconds it took, if known; otherwise everything that was reserved is spent.
    pub wall_clock: Option<u64>,
}

/// Receives the results of an external run.
pub fn receive(context: &Context, study: Option<&str>, request: &ReceiveRequest) -> Outcome<RunOutcome> {
    let key = &request.key;
    // A blocked run costs nothing and could be repeated without limit.
    if request.end == RunEnd::Blocked {
        let message = "a blocked run has no results; use lost";
        return Err(Failure::usage("bad_end", message)
            .hint(format!("rlx study receive {key} --from FOLDER --end lost")));
    }
    let mut opened = OpenStudy::open(context, study)?;
    let Some(run) = opened.study.state().runs.get(key) else {
        return Err(Failure::with_kind(
            FailureKind::RunNotFound,
            format!("no run {key} in {}", opened.study.name),
        )
        .hint("rlx launch status"));
    };
    if run.intent.external.is_none() {
        let message = format!("run {key} was launched by rlx, which already has its results");
        return Err(Failure::refused("not_external", message).hint("rlx launch status"));
    }
    if let RunState::Ended(_) = run.state {
        return Err(Failure::refused(
            "run_over",
            format!("the results of {key} were already received: it is {}", run.state),
        )
        .hint("rlx launch status"));
    }
    let was_intended = run.state == RunState::Intended;
    let wall_clock = request.wall_clock.unwrap_or(run.intent.reserve.wall_clock);
    let place = LaunchPaths::for_study(&opened)?.run(key);
    let fs = context.fs.as_ref();
    let from = context.folder.join(&request.from);
    if !fs.is_folder(&from)? {
        return Err(Failure::usage("no_folder", format!("{} is not a folder", from.display())));
    }
    // Left by an interrupted attempt; the ledger has nothing of it.
    fs.remove_dir_all(place.path())?;
    fs.create_dir_all(place.path())?;
    let mut disk = 0;
    for part in ["train", "smoke", "eval"] {
        if fs.is_folder(&from.join(part))? {
            copy(fs, &from.join(part), &place.step(part), &mut disk, &mut 0)?;
        }
    }
    // Code that rlx didn't run may have left anything; such a run needs a person anyway.
    let executable_output: Option<String> = None;
    let (manifest, digest) = super::shim::take_down(fs, key, &place, &Taken::default(), &[])?;
    fs.write_atomic(&place.manifest(), &manifest)?;
    let usage = Usage { wall_clock: wall_clock as f64, disk, ..Default::default() };
    let spent = super::reconcile::spent(&opened.study, request.end, &usage);
    let reason = format!("external: {}", request.runtime);
    let end = EndFile {
        key: key.clone(),
        end: request.end,
        reason: reason.clone(),
        usage,
        level: None,
        not_evidence: None,
        after_training: None,
        executable_output: executable_output.clone(),
        manifest: Some(digest),
        steps: Vec::new(),
    };
    fs.write_atomic(&place.end(), &files::bytes(&end))?;
    let launched = Launched {
        key: key.clone(),
        boot: String::new(),
        process: 0,
        started: 0,
        external: Some(request.runtime.clone()),
    };
    let ended = RunEnded {
        key: key.clone(),
        end: request.end,
        reason,
        spent,
        killed_by: None,
        not_evidence: None,
        after_training: None,
        manifest: Some(digest),
        confinement: None,
        executable_output,
    };
    let mut events = vec![(Actor::Rlx, Event::Launched(launched)), (Actor::Rlx, Event::RunEnded(ended))];
    if !was_intended {
        events.remove(0);
    }
    opened.append_all(events)?;
    super::reconcile::reconcile(context, &mut opened)?;
    Ok(outcome(&opened, &opened.study.state().runs[key]))
}

/// Copies plain files and folders; anything else is refused, so that nothing points out of the folder.
fn copy(fs: &dyn Fs, from: &Path, to: &Path, disk: &mut u64, count: &mut usize) -> Outcome<()> {
    fs.create_dir(to)?;
    for entry in fs.list_raw(from)? {
        let (source, target) = (from.join(&entry.name), to.join(&entry.name));
        *count += 1;
        match entry.kind {
            _ if *count > MOST_FILES => {
                return Err(Failure::usage(
                    "too_many_files",
                    format!("the folder has more than {MOST_FILES} files"),
                ));
            }
            Kind::Folder => copy(fs, &source, &target, disk, count)?,
            Kind::File => {
                fs.copy(&source, &target)?;
                *disk = disk.saturating_add(fs.metadata(&target)?.length);
            }
            Kind::Link | Kind::Other => {
                let message = format!("{} is not a regular file", source.display());
                return Err(Failure::usage("not_a_plain_file", message).hint("remove it from the folder"));
            }
        }
    }
    Ok(())
}
