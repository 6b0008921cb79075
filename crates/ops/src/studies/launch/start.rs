//! One run, from the gates to the moment it goes: claim, intent on record, code and order laid out, supervisor started,
//! start on record, go. Every step leaves something from which [`super::reconcile`] can tell how far it came.

use rlxp_fs::{FsExt, clock, randomness};
use rlxp_govern::change::Applied;
use rlxp_govern::documents::{Base, Confinement, Phase, Slug};
use rlxp_govern::gate::{Purpose, Refusal, RefusalCode, refusals, reservation};
use rlxp_govern::launch::{NextRun, SeedChoice, draw, key, next_run};
use rlxp_govern::ledger::event::{LaunchIntent, Launched, RunEnded};
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::plan::Plan;
use rlxp_govern::view::{CandidateView, MachineFacts};
use rlxp_launch::order::{Mechanisms, RunOrder};
use rlxp_launch::supervise::start_shim;
use rlxp_store::Writer;
use rlxp_types::text::shell_word;
use rlxp_types::{Digest, Exit};

use super::begin::{LookedAt, begin};
use super::claim::{self, Claim};
use super::files;
use super::inputs::Inputs;
use super::order::{self, HOOK, HOOK_FOLDER, Materials};
use super::tree::{self, BaseTree};
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::candidate;
use crate::studies::files::launch_paths::{LaunchPaths, RunPaths};
use crate::studies::files::{OpenStudy, StudyPaths};

/// How often something is tried again because somebody else added to the ledger meanwhile.
const TRIES: usize = 50;

/// Room that is kept for each of the last files of a run. More than the end of a run ever takes, as long as nothing that
/// the run said of itself is in it.
const RESERVE_BYTES: usize = 32 * 1024;

/// A candidate that passed every gate of a launch, with all that its next run needs.
pub(super) struct Ready {
    pub(super) opened: OpenStudy,
    pub(super) view: CandidateView,
    pub(super) plan: Plan,
    pub(super) next: NextRun,
    pub(super) applied: Applied,
    pub(super) tree: BaseTree,
    pub(super) inputs: Inputs,
    pub(super) place: LaunchPaths,
    pub(super) mechanisms: Mechanisms,
}

impl Ready {
    /// What the steps of its runs are made from.
    pub(super) fn materials<'a>(&'a self, context: &'a Context) -> Outcome<Materials<'a>> {
        let study = &self.opened.study;
        let (Some(contract), Some(runbook)) = (study.contract(), study.files.runbook.typed()) else {
            return Err(Failure::refused("plan_unknown", "the contract is no longer readable"));
        };
        Ok(Materials {
            contract,
            runbook,
            applied: &self.applied,
            arguments: &self.view.written.typed.arguments,
            root: &self.opened.place.root,
            base: &self.tree.folder,
            inputs: &self.inputs,
            programs: self.view.programs.as_ref(),
            user: &context.user,
            fs: context.fs.as_ref(),
        })
    }
}

/// Holds a candidate against every gate of a launch. `asked` is the plan that the caller was told to follow; without
/// one the plan is only looked at.
pub(super) fn ready(
    context: &Context,
    study: Option<&str>,
    id: &Slug,
    asked: Option<Digest>,
    offered: Offered<'_>,
) -> Outcome<Ready> {
    ready_from(context, begin(context, study, id)?, id, asked, offered)
}

/// The same with what was looked at just now.
pub(super) fn ready_from(
    context: &Context,
    begun: LookedAt,
    id: &Slug,
    asked: Option<Digest>,
    offered: Offered<'_>,
) -> Outcome<Ready> {
    let LookedAt { mut opened, place, mut view, tree } = begun;
    match (offered, &mut view.machine) {
        (Offered::Elsewhere, machine) => *machine = somewhere_else(&opened),
        (Offered::Here(mechanisms), Some(machine)) => {
            machine.confinement = order::confinement(mechanisms.level());
        }
        (Offered::Here(_), None) => {}
    }
    let plan = Plan::for_candidate(&opened.study, &view);
    view.asked_plan = asked.or_else(|| plan.as_ref().map(Plan::digest));
    let mut refused = refusals(Purpose::Launch, &opened.study, Some(&view));
    name_missing(&mut refused, offered);
    if !refused.is_empty() {
        return Err(candidate::refuse(&mut opened, "launch", id, refused)?);
    }
    let unknown = || Failure::refused("plan_unknown", format!("can't plan {id}"));
    let (plan, base) = (plan.ok_or_else(unknown)?, view.base.clone().ok_or_else(unknown)?);
    rlxp_launch::crash::point("launch:gates_passed");
    let tree = tree::ensure(&mut opened, &place, &base, tree)?;
    rlxp_launch::crash::point("launch:tree_ready");
    let inputs = match (offered, opened.study.files.runbook.typed()) {
        (Offered::Here(_), Some(runbook)) => {
            Inputs::ensure(context.fs.as_ref(), &place, &opened.place.root, runbook)?
        }
        // Whoever runs it elsewhere brings them, by the digests that the handoff names.
        _ => Inputs::default(),
    };
    let applied = prove(&opened, &view, &tree)?;
    let next = next_run(&opened.study, &view.written.typed).ok_or_else(|| nothing_to_run(&opened, id))?;
    let mechanisms = match offered {
        Offered::Here(mechanisms) => mechanisms.clone(),
        Offered::Elsewhere => Mechanisms::default(),
    };
    Ok(Ready { opened, view, plan, next, applied, tree, inputs, place, mechanisms })
}

/// Where runs are to go.
#[derive(Clone, Copy)]
pub(super) enum Offered<'a> {
    /// On this machine, which can keep them apart like this.
    Here(&'a Mechanisms),
    /// Somewhere that rlx knows nothing of. Whoever runs them there answers for it, and the record says so.
    Elsewhere,
}

/// Says what is missing where more was agreed: the gate knows only how much all of it amounts to.
fn name_missing(refused: &mut [Refusal], offered: Offered<'_>) {
    let Offered::Here(mechanisms) = offered else { return };
    for refusal in refused.iter_mut().filter(|refusal| refusal.code == RefusalCode::ConfinementTooWeak) {
        refusal.reason = format!("{}: {}", refusal.reason, mechanisms.why_not_full());
    }
}

/// What was agreed, taken for what is there.
fn somewhere_else(opened: &OpenStudy) -> Option<MachineFacts> {
    let contract = opened.study.contract()?;
    Some(MachineFacts {
        device: contract.hardware.device,
        gpus: contract.hardware.gpus,
        disk: u64::MAX,
        confinement: Confinement::Full,
    })
}

fn nothing_to_run(opened: &OpenStudy, id: &Slug) -> Failure {
    let queue = rlxp_govern::queue::Queue::for_study(&opened.study);
    let jobs: Vec<String> = queue
        .jobs
        .iter()
        .filter(|job| job.candidate == *id)
        .map(|job| format!("{} {}", job.phase, job.stand))
        .collect();
    let message = format!("{id} has no run that can start now: {}", jobs.join("; "));
    Failure::refused("nothing_to_run", message).hint("rlx study next")
}

/// Applies the changes to the recorded code, which is what will run, and proves that it is what was validated: the
/// working copy that the gates looked at may differ from the commit.
fn prove(opened: &OpenStudy, view: &CandidateView, tree: &BaseTree) -> Outcome<Applied> {
    let fs = opened.context().fs.as_ref();
    let read = |path: &str| fs.read_text(&tree.folder.join(path), candidate::LONGEST_SOURCE).ok();
    let changes = &view.written.typed.changes;
    let applied = rlxp_govern::change::apply(changes, view.override_syntax.as_deref(), &read);
    let of_copy = view.applied();
    let mut differ: Vec<String> = Vec::new();
    match (&applied, &of_copy) {
        (Ok(one), Ok(other)) => {
            let paths = one.files.keys().chain(other.files.keys());
            differ.extend(paths.filter(|path| one.files.get(*path) != other.files.get(*path)).cloned());
        }
        _ => differ.extend(changes.iter().map(|change| change.path.clone())),
    }
    let globs = opened.study.files.surface_map.typed().map(|map| map.protected.clone()).unwrap_or_default();
    let protected = candidate::protected_digests(fs, &tree.folder, &globs)?;
    if let (Some(one), Some(other)) = (&protected, &view.protected) {
        let paths = one.keys().chain(other.keys());
        differ.extend(paths.filter(|path| one.get(*path) != other.get(*path)).cloned());
    }
    differ.sort_unstable();
    differ.dedup();
    match applied {
        Ok(applied) if differ.is_empty() && protected == view.protected => Ok(applied),
        _ => {
            let files = differ.join(" ");
            let message =
                format!("the recorded code would run, but the working copy differs from it: {files}");
            let failure = Failure::refused("working_copy_differs", message);
            Err(match &view.base {
                Some(Base::Commit(commit)) => {
                    let words: Vec<_> = differ.iter().map(|file| shell_word(file)).collect();
                    failure.hint(format!("git checkout {commit} -- {}", words.join(" ")))
                }
                _ => failure.hint("rlx candidate validate"),
            })
        }
    }
}

/// A run that goes.
pub(super) struct Started {
    pub(super) key: String,
    pub(super) phase: Phase,
    pub(super) seed: u64,
}

/// Starts the next run of a candidate that is ready.
pub(super) fn start(context: &Context, mut ready: Ready) -> Outcome<Started> {
    let id = ready.view.written.typed.id.clone();
    let revision = ready.view.written.typed.revision;
    let (phase, role) = (ready.next.phase, ready.next.role);
    let seed = choose_seed(&ready)?;
    let key = key(&id, revision, phase, seed, ready.next.attempt);
    let place = ready.place.run(&key);
    claim(context, &ready, &place, &key)?;
    rlxp_launch::crash::point("launch:claimed");
    let contract = ready.opened.study.contract().expect("the gates saw a contract");
    let reserve = reservation(&ready.next.plan, &contract.budget);
    let plan = ready.plan.digest();
    let intent =
        LaunchIntent { key: key.clone(), candidate: id, phase, seed, role, reserve, plan, external: None };
    if let Err(failure) = ready.opened.append(Actor::Rlx, Event::LaunchIntent(intent)) {
        // Nobody was told of this run: the claim goes, and whoever asked may ask again.
        claim::give_up(context.fs.as_ref(), &place)?;
        return Err(failure);
    }
    rlxp_launch::crash::point("launch:intended");
    match lay_out(context, &ready, &place, &key, seed)
        .and_then(|order| go(context, &mut ready.opened, &place, order))
    {
        Ok(()) => Ok(Started { key, phase, seed }),
        Err(failure) => {
            let reason = format!("it could not be started: {failure}");
            let ended = blocked(&key, reason);
            append(context, &ready.opened.place, Event::RunEnded(ended))?;
            Err(failure)
        }
    }
}

/// A run that never started, and costs nothing.
fn blocked(key: &str, reason: String) -> RunEnded {
    RunEnded {
        key: key.to_owned(),
        end: RunEnd::Blocked,
        reason,
        spent: Default::default(),
        not_evidence: None,
        manifest: None,
        confinement: None,
    }
}

pub(super) fn choose_seed(ready: &Ready) -> Outcome<u64> {
    match ready.next.seed {
        SeedChoice::Known(seed) => Ok(seed),
        SeedChoice::Draw => {
            let spec = ready.opened.study.files.metric_spec.typed().expect("the gates saw a metric spec");
            let used =
                ready.opened.study.state().used_seeds.get(&ready.next.role).cloned().unwrap_or_default();
            let random = u64::from_le_bytes(randomness::bytes::<8>()?);
            draw(spec.protocol.seeds.pool(ready.next.role), &used, random).ok_or_else(|| {
                Failure::refused("too_few_seeds", format!("no {} seeds are left", ready.next.role))
            })
        }
    }
}

/// Takes the run's folder, unless somebody else has it or the run is on record by now.
fn claim(context: &Context, ready: &Ready, place: &RunPaths, key: &str) -> Outcome<()> {
    let study = &ready.opened.place;
    let is_on_record = || Ok(OpenStudy::at(context, study.clone())?.study.state().runs.contains_key(key));
    let (fs, machine) = (context.fs.as_ref(), context.machine.as_ref());
    match claim::claim(fs, machine, place, &is_on_record)? {
        Claim::Ours => Ok(()),
        Claim::Late => {
            let message = format!("another process launched {key} in the meantime; nothing was done");
            Err(Failure::with_kind(FailureKind::LedgerMoved, message).hint("run the command again"))
        }
        Claim::Theirs => {
            let message = format!("another process is launching the same run ({})", place.path().display());
            Err(Failure::with_kind(FailureKind::RunClaimed, message).hint("rlx launch status"))
        }
    }
}

/// Writes everything that the run needs into its folder.
fn lay_out(context: &Context, ready: &Ready, place: &RunPaths, key: &str, seed: u64) -> Outcome<RunOrder> {
    let fs = context.fs.as_ref();
    let materials = ready.materials(context)?;
    let order = order::order(&materials, place, key, &ready.next.plan, seed);
    lay_out_steps(context, &materials, place, &order)?;
    for reserve in place.reserves() {
        fs.write_new_unsynced(&reserve, &[b'.'; RESERVE_BYTES])?;
    }
    rlxp_launch::crash::point("launch:laid_out");
    // Only the supervisor reads it, which a power loss ends as well.
    fs.write_new_unsynced(&place.order(), &order.to_bytes())?;
    rlxp_launch::crash::point("launch:ordered");
    Ok(order)
}

/// The folders of every step, with the files that differ from the base.
pub(super) fn lay_out_steps(
    context: &Context,
    materials: &Materials<'_>,
    place: &RunPaths,
    order: &RunOrder,
) -> Outcome<()> {
    let fs = context.fs.as_ref();
    for step in &order.steps {
        for folder in [&step.tree.changed, &step.tree.work, &step.tree.at, &place.step(&step.name)] {
            fs.create_dir(folder)?;
        }
        for path in &step.watched {
            let text = materials.applied.files[path].after.as_deref().unwrap_or_default();
            let target = step.tree.changed.join(path);
            fs.create_dir_all(target.parent().expect("a file lies in a folder"))?;
            fs.write_new_unsynced(&target, text.as_bytes())?;
        }
        for path in materials.inputs.large.keys() {
            let link = step.tree.changed.join(path);
            fs.create_dir_all(link.parent().expect("a file lies in a folder"))?;
            fs.symlink(&materials.root.join(path), &link)?;
        }
        if !step.watched.is_empty() {
            let hook = place.step(&step.name).join(HOOK_FOLDER);
            fs.create_dir(&hook)?;
            fs.write_new_unsynced(&hook.join("sitecustomize.py"), HOOK.as_bytes())?;
        }
    }
    Ok(())
}

/// Starts the supervisor, puts that on record, and only then lets it go.
fn go(context: &Context, opened: &mut OpenStudy, place: &RunPaths, order: RunOrder) -> Outcome<()> {
    let digest = Digest::hash(&order.to_bytes());
    let arguments = [
        "__run".into(),
        "--order".into(),
        place.order().into_os_string(),
        "--digest".into(),
        digest.to_string().into(),
    ];
    let shim = start_shim(&arguments, place.path())?;
    rlxp_launch::crash::point("launch:shim_started");
    let machine = context.machine.as_ref();
    let started = machine.process_start(shim.process).ok_or_else(|| {
        Failure::new(Exit::RunFailed, "shim_ended", "the supervisor of the run ended immediately")
            .hint(format!("cat {}", shell_word(&place.path().join("shim.log").display().to_string())))
    })?;
    let writer =
        Writer { pid: shim.process, process_start: started, ..Writer::here(machine, &clock::wall_text()) };
    context.fs.write_new(&place.shim(), &files::bytes(&writer))?;
    rlxp_launch::crash::point("launch:shim_known");
    let launched =
        Launched { key: order.key, boot: machine.boot_id(), process: shim.process, started, external: None };
    let event = Event::Launched(launched);
    match opened.append(Actor::Rlx, event.clone()) {
        Err(failure) if is_passing(&failure) => drop(append(context, &opened.place, event)?),
        appended => drop(appended?),
    }
    rlxp_launch::crash::point("launch:launched");
    // A supervisor that is gone by now is found where runs are settled.
    let _ = shim.go();
    rlxp_launch::crash::point("launch:gone");
    Ok(())
}

/// Whether a record was only kept out by somebody who was adding another one.
fn is_passing(failure: &Failure) -> bool {
    failure.is_contention()
}

/// Adds to a ledger that others may be adding to: reads it anew and tries again.
pub(super) fn append(context: &Context, place: &StudyPaths, event: Event) -> Outcome<OpenStudy> {
    let mut tries = 0;
    loop {
        let mut opened = OpenStudy::at(context, place.clone())?;
        match opened.append(Actor::Rlx, event.clone()) {
            Ok(_) => return Ok(opened),
            Err(failure) if tries < TRIES && is_passing(&failure) => tries += 1,
            Err(failure) => return Err(failure),
        }
    }
}
