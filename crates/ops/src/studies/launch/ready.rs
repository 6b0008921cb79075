//! From a candidate to a run that may be launched. Everything that the gates look at is read, the gates decide, and
//! the code of the run is proven to be what was validated.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_fs::{Fs, FsExt, randomness};
use rlxp_govern::change::{Applied, FileChange, apply_after, holds_keys};
use rlxp_govern::documents::{Base, Confinement, Phase, SeedRange, Slug, StepName};
use rlxp_govern::evaluation_files::{accepted_evaluation_files, evaluation_files};
use rlxp_govern::gate::{Purpose, Refusal, RefusalCode, refusals};
use rlxp_govern::ledger::event::ProbePoint;
use rlxp_govern::next_run::{NextRun, SeedChoice, draw, evaluation_pool, next_run};
use rlxp_govern::plan::Plan;
use rlxp_govern::seeds::SeedRole;
use rlxp_govern::view::{CandidateView, MachineFacts};
use rlxp_launch::order::Mechanisms;
use rlxp_types::Digest;

use super::files::recorded_manifest;
use super::inputs::{self, Inputs};
use super::run_order::{self, Materials, Probed, RunSeeds};
use super::values;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::candidate;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::tree::{self, BaseTree};

/// A candidate that passed every gate of a launch, with all that its next run needs.
pub(super) struct Ready {
    pub(super) opened: OpenStudy,
    pub(super) view: CandidateView,
    pub(super) plan: Plan,
    pub(super) next: NextRun,
    pub(super) applied: Applied,
    /// The contract's code, which evaluation runs.
    pub(super) tree: BaseTree,
    /// The accepted code that training starts from, if that is different.
    pub(super) training: Option<BaseTree>,
    /// Everything that training has and the contract's code hasn't, by path: changes that were accepted before, then
    /// the candidate's.
    pub(super) differs: BTreeMap<String, FileChange>,
    pub(super) inputs: Inputs,
    pub(super) place: LaunchPaths,
    pub(super) mechanisms: Mechanisms,
    /// What its next run probes, where it probes.
    pub(super) probed: Option<Probed>,
}

impl Ready {
    /// The changed files that evaluation takes from training: those of the candidate, and those of candidates that were
    /// accepted before.
    pub(super) fn exposed(&self) -> BTreeMap<String, FileChange> {
        let Some(map) = self.opened.study.files.surface_map.typed() else { return BTreeMap::new() };
        let earlier = self.differs.keys().filter(|path| !self.applied.files.contains_key(*path));
        let mut paths = accepted_evaluation_files(map, earlier);
        paths.extend(evaluation_files(map, &self.view.written.typed, &self.applied));
        let change = |path: String| {
            let change = self.differs.get(&path)?.clone();
            Some((path, change))
        };
        paths.into_iter().filter_map(change).collect()
    }

    /// Arguments of the train command that candidates that were accepted before give.
    pub(super) fn earlier_arguments(&self) -> &[String] {
        self.view.accepted.as_ref().map(|code| code.arguments.as_slice()).unwrap_or_default()
    }

    /// Whether training runs code that the contract's commit doesn't have: not only other values in files of settings.
    pub(super) fn changes_code(&self) -> bool {
        let by_key = |path: &String| {
            let own = self.view.written.typed.changes.iter().filter(|change| change.path == *path);
            holds_keys(path) && own.into_iter().all(|change| change.patch.is_none())
        };
        !self.differs.keys().all(by_key)
    }

    /// Whether the evaluation of its next run takes files from the candidate.
    pub(super) fn exposes_evaluator(&self) -> bool {
        self.next.phase != Phase::Smoke && !self.exposed().is_empty()
    }

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
            earlier_arguments: self.earlier_arguments(),
            exposed: self.exposed(),
            changes_code: self.changes_code(),
            root: &self.opened.place.root,
            base: &self.tree.folder,
            training: &self.training.as_ref().unwrap_or(&self.tree).folder,
            inputs: &self.inputs,
            programs: self.view.programs.as_ref(),
            probed: self.probed.as_ref(),
            reference: values::reference(context.fs.as_ref(), study.state(), &self.place),
            user: &context.user,
            fs: context.fs.as_ref(),
        })
    }
}

/// What was read before the gates decide.
pub(super) struct LookedAt {
    pub(super) opened: OpenStudy,
    pub(super) place: LaunchPaths,
    /// The candidate on this machine, whose sandbox is not known yet.
    pub(super) view: CandidateView,
    /// The recorded commit, if the study starts from one.
    pub(super) tree: Option<BaseTree>,
    /// The accepted code that training starts from, if that is different.
    pub(super) training: Option<BaseTree>,
}

/// Reads the study, a candidate, and the code that its runs start from.
pub(super) fn look(context: &Context, study: Option<&str>, id: &Slug) -> Outcome<LookedAt> {
    let opened = OpenStudy::open_with_head(context, study)?;
    let place = LaunchPaths::for_study(&opened)?;
    let candidate::Looked { view, tree, training } = candidate::look(&opened, id)?;
    Ok(LookedAt { opened, place, view, tree, training })
}

/// Reads a candidate and passes it through every gate of a launch. `asked` is the plan that the caller has to follow;
/// without one the candidate's present plan is taken.
pub(super) fn ready(
    context: &Context,
    study: Option<&str>,
    id: &Slug,
    asked: Option<Digest>,
    offered: Offered<'_>,
) -> Outcome<Ready> {
    pass_gates(context, look(context, study, id)?, id, asked, offered)
}

/// The same with what was read just now.
pub(super) fn pass_gates(
    context: &Context,
    looked_at: LookedAt,
    id: &Slug,
    asked: Option<Digest>,
    offered: Offered<'_>,
) -> Outcome<Ready> {
    let LookedAt { mut opened, place, mut view, tree, training } = looked_at;
    match (offered, &mut view.machine) {
        (Offered::Elsewhere, machine) => *machine = somewhere_else(&opened),
        (Offered::Here(mechanisms), Some(machine)) => {
            machine.confinement = run_order::confinement(mechanisms.level());
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
    let tree = match tree {
        Some(tree) => tree,
        None => tree::ensure(&opened, &place, &base, None)?,
    };
    opened
        .warnings
        .extend([Some(&tree), training.as_ref()].into_iter().flatten().filter_map(BaseTree::warning));
    rlxp_launch::crash::point("launch:tree_ready");
    let inputs = match (offered, opened.study.files.runbook.typed()) {
        (Offered::Here(_), Some(runbook)) => {
            Inputs::ensure(context.fs.as_ref(), &place, &opened.place.root, runbook)?
        }
        // An external runtime brings them, by the digests that the handoff names.
        _ => Inputs::default(),
    };
    let applied = prove(&opened, &view, &tree, training.as_ref())?;
    let differs = differs(&opened, &base, &tree, training.as_ref(), &applied)?;
    let next = next_run(&opened.study, &view.written.typed).ok_or_else(|| nothing_to_run(&opened, id))?;
    let mechanisms = match offered {
        Offered::Here(mechanisms) => mechanisms.clone(),
        Offered::Elsewhere => Mechanisms::default(),
    };
    let probed = match (&next.probe, offered) {
        (Some(point), Offered::Here(_)) => Some(probed(context.fs.as_ref(), &opened, &place, point)?),
        _ => None,
    };
    Ok(Ready {
        opened,
        view,
        plan,
        next,
        applied,
        tree,
        training,
        differs,
        inputs,
        place,
        mechanisms,
        probed,
    })
}

/// Most files of a trained policy; each of them is shown to the probe by itself.
const MOST_TRAINED_FILES: usize = 2000;

/// The files that the training of a run left, as its list has them.
fn probed(fs: &dyn Fs, opened: &OpenStudy, place: &LaunchPaths, point: &ProbePoint) -> Outcome<Probed> {
    let (key, folder) = (&point.trained, place.run(&point.trained));
    let run = opened.study.state().runs.get(key);
    let manifest = run.and_then(|run| run.ended.as_ref()?.manifest);
    let gone = || Failure::refused("no_trained_run", format!("run {key} left no list of its files"));
    let listed = recorded_manifest(fs, &folder, key, manifest.ok_or_else(gone)?)?.files;
    let mut files = Vec::new();
    let of_training = format!("{}/", StepName::Train);
    for (name, file) in listed.iter().filter(|(name, _)| name.starts_with(&of_training)) {
        files.push(inputs::linked_file(fs, folder.path().join(name), file.digest)?);
        if files.len() > MOST_TRAINED_FILES {
            let message = format!("run {key} left more than {MOST_TRAINED_FILES} trained files");
            return Err(Failure::refused("too_many_trained_files", message)
                .hint("let the training leave only what the policy needs, in a new study"));
        }
    }
    Ok(Probed { point: point.clone(), folder: folder.step(StepName::Train.as_str()), files })
}

/// Where runs are to go.
#[derive(Clone, Copy)]
pub(super) enum Offered<'a> {
    /// On this machine, with this sandbox.
    Here(&'a Mechanisms),
    /// Outside of rlx's control. The ledger says so.
    Elsewhere,
}

/// Names the missing mechanisms: the gate knows only the level that they amount to.
fn name_missing(refused: &mut [Refusal], offered: Offered<'_>) {
    let Offered::Here(mechanisms) = offered else { return };
    for refusal in refused.iter_mut().filter(|refusal| refusal.code == RefusalCode::ConfinementTooWeak) {
        refusal.reason = format!("{}: {}", refusal.reason, mechanisms.why_not_full());
    }
}

/// The facts of a machine that offers what the contract asks for.
fn somewhere_else(opened: &OpenStudy) -> Option<MachineFacts> {
    let contract = opened.study.contract()?;
    Some(MachineFacts {
        device: contract.hardware.device,
        gpus: contract.hardware.gpus,
        disk: u64::MAX,
        confinement: Confinement::Full,
    })
}

pub(super) fn nothing_to_run(opened: &OpenStudy, id: &Slug) -> Failure {
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

/// Applies the changes to the recorded code, which is what will run, and proves that it is what the gates saw. They read
/// the same files a moment ago, without git from the folder that the code was copied from.
fn prove(
    opened: &OpenStudy,
    view: &CandidateView,
    tree: &BaseTree,
    training: Option<&BaseTree>,
) -> Outcome<Applied> {
    let fs = opened.context().fs.as_ref();
    let starts_from = training.unwrap_or(tree);
    let read = |path: &str| fs.read_text(&starts_from.folder.join(path), candidate::LONGEST_SOURCE).ok();
    let changes = &view.written.typed.changes;
    let earlier = view.accepted.as_ref().map(|code| code.arguments.as_slice()).unwrap_or_default();
    let applied = apply_after(changes, view.override_syntax.as_deref(), earlier, &read);
    let globs = opened.study.files.surface_map.typed().map(|map| map.protected.clone()).unwrap_or_default();
    let protected = candidate::protected(fs, &tree.folder, &globs)?.files;
    if let Some(training) = training {
        same_protected(fs, training, &globs, protected.as_ref())?;
    }
    let is_same = applied == view.applied() && protected == view.protected;
    match applied {
        Ok(applied) if is_same => Ok(applied),
        applied => Err(changed_meanwhile((applied, protected), (view.applied(), view.protected.clone()))),
    }
}

/// Accepted code has the protected files of the contract's, byte for byte.
fn same_protected(
    fs: &dyn Fs,
    training: &BaseTree,
    globs: &[String],
    agreed: Option<&BTreeMap<String, Digest>>,
) -> Outcome<()> {
    let found = candidate::protected(fs, &training.folder, globs)?.files;
    if found.as_ref() == agreed {
        return Ok(());
    }
    let (found, nothing) = (found.unwrap_or_default(), BTreeMap::new());
    let agreed = agreed.unwrap_or(&nothing);
    let paths: BTreeSet<&String> = found.keys().chain(agreed.keys()).collect();
    let differ = paths.into_iter().filter(|path| found.get(*path) != agreed.get(*path));
    let differ: Vec<&str> = differ.map(String::as_str).collect();
    let message =
        format!("the accepted code has other protected files than the contract's: {}", differ.join(", "));
    Err(Failure::refused("protected_changed", message).hint("rlx study status"))
}

/// Everything that training has and the contract's code hasn't.
fn differs(
    opened: &OpenStudy,
    base: &Base,
    tree: &BaseTree,
    training: Option<&BaseTree>,
    applied: &Applied,
) -> Outcome<BTreeMap<String, FileChange>> {
    let Some(training) = training else { return Ok(applied.files.clone()) };
    let fs = opened.context().fs.as_ref();
    let content = |tree: &BaseTree, path: &str| -> Outcome<Option<String>> {
        match fs.read_text(&tree.folder.join(path), candidate::LONGEST_SOURCE) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    let earlier = tree::changed_between(fs, base, tree, training)?;
    let mut all = BTreeMap::new();
    for path in earlier.iter().chain(applied.files.keys()) {
        let before = content(tree, path)?;
        let after = match applied.files.get(path) {
            Some(change) => change.after.clone(),
            None => content(training, path)?,
        };
        // The candidate may undo what was accepted.
        if before != after {
            let before = before.map(|text| Digest::hash(text.as_bytes()));
            all.insert(path.clone(), FileChange { before, after });
        }
    }
    Ok(all)
}

/// The result of a candidate's changes, and the protected files with it.
type Code = (Result<Applied, Vec<(usize, String)>>, Option<BTreeMap<String, Digest>>);

/// The refusal of a launch whose code is not what the gates saw.
fn changed_meanwhile((now, protected): Code, (seen, seen_protected): Code) -> Failure {
    let files = |applied: Result<Applied, _>| applied.map(|applied| applied.files).unwrap_or_default();
    let mut differ = differing(&files(now), &files(seen));
    differ.extend(differing(&protected.unwrap_or_default(), &seen_protected.unwrap_or_default()));
    let message = format!("files changed while they were read: {}", differ.join(", "));
    Failure::refused("stale_plan", message).hint("run the command again")
}

/// The paths at which two sets of files differ.
fn differing<T: PartialEq>(one: &BTreeMap<String, T>, other: &BTreeMap<String, T>) -> Vec<String> {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    paths.into_iter().filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}

/// The seeds of the next run. The one of its evaluation is fresh and drawn like those that decide a claim, so that
/// training can't know the episodes it is tested on. A run that is repeated keeps it.
pub(super) fn choose_seeds(ready: &Ready) -> Outcome<RunSeeds> {
    let study = &ready.opened.study;
    let pools = &study.files.metric_spec.typed().expect("the gates saw a metric spec").protocol.seeds;
    let fresh = |role: SeedRole, pool: SeedRange| -> Outcome<u64> {
        let used = study.state().used_seeds.get(&role).cloned().unwrap_or_default();
        let random = u64::from_le_bytes(randomness::bytes::<8>()?);
        draw(pool, &used, random)
            .ok_or_else(|| Failure::refused("too_few_seeds", format!("no {role} seeds are left")))
    };
    let train = match ready.next.seed {
        SeedChoice::Known(seed) => seed,
        SeedChoice::Draw => fresh(ready.next.role, pools.pool(ready.next.role))?,
    };
    let kept = study.state().kept_evaluation_seed(&ready.view.written.typed.id, ready.next.phase, train);
    let evaluation = match (evaluation_pool(ready.next.phase, pools), kept) {
        (None, _) => None,
        (Some(_), Some(kept)) => Some(kept),
        (Some(pool), None) => Some(fresh(SeedRole::Evaluation, pool)?),
    };
    Ok(RunSeeds { train, evaluation })
}

#[cfg(test)]
mod tests {
    use rlxp_govern::change::FileChange;

    use super::*;

    /// Between the gates and the proof a file can change: without git they read the folder, and the proof its copy.
    #[test]
    fn what_changed_since_the_gates_is_named() {
        let applied = |text: &str| {
            let file = FileChange { before: None, after: Some(text.to_owned()) };
            Ok(Applied { files: [("reward.py".to_owned(), file)].into(), ..Applied::default() })
        };
        let protected = |text: &str| Some([("eval.py".to_owned(), Digest::hash(text.as_bytes()))].into());
        let named = |now: Code, seen: Code| changed_meanwhile(now, seen).message;
        let seen = || (applied("1"), protected("1"));
        assert!(named((applied("2"), protected("1")), seen()).ends_with(": reward.py"));
        assert!(named((applied("1"), protected("2")), seen()).ends_with(": eval.py"));
        assert!(named((Err(Vec::new()), None), seen()).ends_with(": reward.py, eval.py"));
    }
}
