//! From a candidate to a run that may be launched. Everything that the gates look at is read, the gates decide, and
//! the code of the run is proven to be what was validated.

use std::collections::BTreeSet;

use rlxp_fs::{FsExt, randomness};
use rlxp_govern::change::Applied;
use rlxp_govern::documents::{Base, Confinement, Phase, SeedRange, Slug};
use rlxp_govern::evaluation_files::evaluation_files;
use rlxp_govern::gate::{Purpose, Refusal, RefusalCode, refusals};
use rlxp_govern::next_run::{NextRun, SeedChoice, draw, evaluation_pool, next_run};
use rlxp_govern::plan::Plan;
use rlxp_govern::seeds::SeedRole;
use rlxp_govern::view::{CandidateView, MachineFacts};
use rlxp_launch::order::Mechanisms;
use rlxp_types::Digest;
use rlxp_types::text::shell_word;

use super::inputs::Inputs;
use super::run_order::{self, Materials, RunSeeds};
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
    pub(super) tree: BaseTree,
    pub(super) inputs: Inputs,
    pub(super) place: LaunchPaths,
    pub(super) mechanisms: Mechanisms,
}

impl Ready {
    /// The changed files that evaluation takes from the candidate.
    pub(super) fn exposed(&self) -> BTreeSet<String> {
        let map = self.opened.study.files.surface_map.typed();
        map.map(|map| evaluation_files(map, &self.view.written.typed, &self.applied)).unwrap_or_default()
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
            exposed: self.exposed(),
            root: &self.opened.place.root,
            base: &self.tree.folder,
            inputs: &self.inputs,
            programs: self.view.programs.as_ref(),
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
}

/// Reads the study, a candidate, and the code that its runs start from.
pub(super) fn look(context: &Context, study: Option<&str>, id: &Slug) -> Outcome<LookedAt> {
    let opened = OpenStudy::open_with_head(context, study)?;
    let place = LaunchPaths::for_study(&opened)?;
    let candidate::Looked { view, tree } = candidate::look(&opened, id)?;
    Ok(LookedAt { opened, place, view, tree })
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
    let LookedAt { mut opened, place, mut view, tree } = looked_at;
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
    opened.warnings.extend(tree.warning());
    rlxp_launch::crash::point("launch:tree_ready");
    let inputs = match (offered, opened.study.files.runbook.typed()) {
        (Offered::Here(_), Some(runbook)) => {
            Inputs::ensure(context.fs.as_ref(), &place, &opened.place.root, runbook)?
        }
        // An external runtime brings them, by the digests that the handoff names.
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
    let protected = candidate::protected(fs, &tree.folder, &globs)?.files;
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
            let in_commit =
                |path: &String| fs.metadata_if_any(&tree.folder.join(path)).is_ok_and(|it| it.is_some());
            let (recorded, other): (Vec<&String>, Vec<&String>) =
                differ.iter().partition(|path| in_commit(path));
            let words = |files: &[&String]| {
                files.iter().map(|file| shell_word(file).into_owned()).collect::<Vec<_>>().join(" ")
            };
            let Some(Base::Commit(commit)) = &view.base else {
                return Err(failure.hint(format!("rlx candidate validate {}", view.file_name)));
            };
            let mut hints = Vec::new();
            if !recorded.is_empty() {
                hints.push(format!("git checkout {commit} -- {}", words(&recorded)));
            }
            // The commit doesn't have them, so nothing can be checked out.
            if !other.is_empty() {
                hints.push(format!("git stash push --all -- {}", words(&other)));
            }
            Err(hints.into_iter().fold(failure, Failure::hint))
        }
    }
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
