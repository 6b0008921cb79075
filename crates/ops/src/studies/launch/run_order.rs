//! From an approved plan to an order: the steps of one run with every placeholder filled in, the code and the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, environment};
use rlxp_govern::change::Applied;
use rlxp_govern::documents::{Confinement, Contract, Network, Phase, PhasePlan, Runbook, Step, StepName};
use rlxp_govern::slots::fill;
use rlxp_launch::order::{
    ConfinementRequest, LOADED_FILE, Level, Limits, Reach, RunOrder, StepOrder, TreeOrder,
};
use rlxp_types::Digest;

use super::inputs::Inputs;
use super::interpreter;
use crate::context::UserFolders;
use crate::studies::files::launch_paths::RunPaths;

/// Limit of a step's output unless the runbook has one.
const USUAL_OUTPUT: u64 = 64 << 20;
/// The folder in a step's own folder for files of rlx.
pub(super) const HOOK_FOLDER: &str = ".rlx";
/// Reports where Python code was loaded from.
pub(super) const HOOK: &str = include_str!("../../../../../python/hook/sitecustomize.py");

/// Where keys, passwords and other programs' data are, below a home folder.
const SECRETS: [&str; 26] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".password-store",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/wandb",
    ".config/google-chrome",
    ".config/chromium",
    ".mozilla",
    ".local/share/keyrings",
    ".cache/huggingface/token",
    ".huggingface",
    ".claude",
    ".codex",
    ".bash_history",
    ".zsh_history",
];

/// What the steps of a run are made from.
pub(super) struct Materials<'a> {
    pub(super) contract: &'a Contract,
    pub(super) runbook: &'a Runbook,
    /// What the candidate changes.
    pub(super) applied: &'a Applied,
    /// Those of the changed files that evaluation takes as well.
    pub(super) exposed: BTreeSet<String>,
    /// The repository.
    pub(super) root: &'a Path,
    /// The code that runs start from.
    pub(super) base: &'a Path,
    /// Files that runs need and git doesn't track.
    pub(super) inputs: &'a Inputs,
    /// The programs of steps as the gates saw them; `None` if no gate looked.
    pub(super) programs: Option<&'a BTreeMap<String, Digest>>,
    pub(super) user: &'a UserFolders,
    pub(super) fs: &'a dyn Fs,
}

/// The seeds of one run.
#[derive(Clone, Copy)]
pub(super) struct RunSeeds {
    pub(super) train: u64,
    /// What `{seed}` is in `eval`. No other step gets it.
    pub(super) evaluation: Option<u64>,
}

impl RunSeeds {
    /// What `{seed}` is in this step.
    pub(super) fn of_step(self, name: StepName) -> u64 {
        match name {
            // Without one of its own, there is no step that evaluates.
            StepName::Eval => self.evaluation.unwrap_or(self.train),
            _ => self.train,
        }
    }
}

/// The command of a step with its seeds and folders filled in.
pub(super) fn fill_slots(
    name: StepName,
    step: &Step,
    seeds: RunSeeds,
    folders: &[(&str, &str)],
) -> Vec<String> {
    let (own, train) = (seeds.of_step(name).to_string(), seeds.train.to_string());
    let mut slots = vec![("seed", own.as_str())];
    if name == StepName::Eval {
        slots.push(("train_seed", train.as_str()));
    }
    slots.extend(folders);
    fill(&step.argv, &slots)
}

/// The changed files that a step gets: training all of them, evaluation those that were agreed, checks none.
pub(super) fn files_of<'a>(
    applied: &'a Applied,
    exposed: &'a BTreeSet<String>,
    name: StepName,
) -> impl Iterator<Item = &'a String> + Clone {
    let takes = move |path: &&String| name.trains() || (name == StepName::Eval && exposed.contains(*path));
    applied.files.keys().filter(takes)
}

/// The steps of a phase in order: the check if there is one, training or its smoke test, and from the short phase on
/// the evaluation.
pub(super) fn steps_of(runbook: &Runbook, phase: Phase) -> Vec<(StepName, &Step)> {
    let main = match (&runbook.smoke, phase) {
        (Some(smoke), Phase::Smoke) => (StepName::Smoke, smoke),
        _ => (StepName::Train, &runbook.train),
    };
    let check = runbook.preflight.as_ref().map(|step| (StepName::Preflight, step));
    let evaluation = (phase != Phase::Smoke).then_some((StepName::Eval, &runbook.eval));
    check.into_iter().chain([main]).chain(evaluation).collect()
}

pub(super) fn order(
    materials: &Materials<'_>,
    place: &RunPaths,
    key: &str,
    plan: &PhasePlan,
    seeds: RunSeeds,
) -> RunOrder {
    let steps = steps_of(materials.runbook, plan.phase);
    let steps = steps.into_iter().map(|(name, step)| step_order(materials, place, name, step, key, seeds));
    RunOrder {
        key: key.to_owned(),
        folder: place.folder.clone(),
        steps: steps.collect(),
        limits: limits(materials, plan.wall_clock.0),
        confinement: wanted(materials),
        linked: materials.inputs.linked(materials.root),
    }
}

/// The limits of a run of this many seconds.
pub(super) fn limits(materials: &Materials<'_>, wall_clock: u64) -> Limits {
    let most = &materials.contract.budget.per_run;
    let stop = materials.runbook.stop.as_ref();
    // Without a limit of its own, processor time ends where wall-clock time would end it anyway.
    let all_cores = wall_clock.saturating_mul(environment::processor_count() as u64);
    Limits {
        wall_clock,
        cpu_time: most.cpu_time.map_or(all_cores, |limit| limit.0),
        memory: most.memory.0,
        processes: most.processes,
        disk: most.disk.0,
        output: stop.and_then(|stop| stop.output).map_or(USUAL_OUTPUT, |output| output.0),
        silence: stop.and_then(|stop| stop.silence).map(|silence| silence.0),
    }
}

/// How a run is to be sandboxed.
pub(super) fn wanted(materials: &Materials<'_>) -> ConfinementRequest {
    let mut hidden = vec![materials.root.join(crate::studies::files::paths::FOLDER)];
    hidden.extend(materials.user.config.clone());
    hidden.extend(materials.user.state.clone());
    if let Some(home) = &materials.user.home {
        hidden.extend(SECRETS.iter().map(|name| home.join(name)));
    }
    // A process with access to an agent's socket can sign with keys that it can't read.
    hidden
        .extend(environment::variable("SSH_AUTH_SOCK").map(PathBuf::from).filter(|path| path.is_absolute()));
    ConfinementRequest {
        least: level(materials.contract.confinement),
        network: reach(materials.contract.hardware.network),
        hidden,
    }
}

pub(super) fn reach(network: Network) -> Reach {
    match network {
        Network::None => Reach::None,
        Network::Loopback => Reach::Loopback,
        Network::Allowed => Reach::Everything,
    }
}

pub(super) fn level(confinement: Confinement) -> Level {
    match confinement {
        Confinement::None => Level::None,
        Confinement::Partial => Level::Partial,
        Confinement::Full => Level::Full,
    }
}

pub(super) fn confinement(level: Level) -> Confinement {
    match level {
        Level::None => Confinement::None,
        Level::Partial => Confinement::Partial,
        Level::Full => Confinement::Full,
    }
}

/// One step. Training gets the candidate's changes and checks run the recorded code; so does evaluation, except for
/// files that it was agreed to take from the candidate.
pub(super) fn step_order(
    materials: &Materials<'_>,
    place: &RunPaths,
    name: StepName,
    step: &Step,
    key: &str,
    seeds: RunSeeds,
) -> StepOrder {
    let is_training = name.trains();
    let (own, seed_text) = (place.step(name.as_str()), seeds.of_step(name).to_string());
    let at = place.step(&format!("{name}.tree"));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (run, trained) = (text(&own), text(&place.step(StepName::Train.as_str())));
    let mut argv = fill_slots(name, step, seeds, &[("run", &run), ("trained", &trained)]);
    if is_training {
        argv.extend(materials.applied.arguments.iter().cloned());
    }
    let mut gated = None;
    if let Some(program) = argv.first_mut() {
        // Programs in the tree are checked with the whole tree; the gates looked at the repository's.
        if !is_of_the_tree(materials, program) {
            gated = materials.programs.and_then(|programs| programs.get(name.as_str()).copied());
        }
        *program = text(&self::program(materials, &at, program));
    }
    let changed = |path: &&String| materials.applied.files[*path].after.is_some();
    let removed = |path: &&String| materials.applied.files[*path].after.is_none();
    let files = || files_of(materials.applied, &materials.exposed, name);
    let watched: Vec<String> = files().filter(changed).cloned().collect();
    let mut set = BTreeMap::from([
        ("RLX_RUN".to_owned(), key.to_owned()),
        ("RLX_SEED".to_owned(), seed_text),
        ("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()),
        ("PYTHONUNBUFFERED".to_owned(), "1".to_owned()),
    ]);
    // The tree's own modules come before installed ones, and the hook that reports them comes before both.
    let mut import_path: Vec<String> = Vec::new();
    if !watched.is_empty() {
        import_path.push(text(&own.join(HOOK_FOLDER)));
        set.insert("RLX_LOADED".to_owned(), text(&own.join(LOADED_FILE)));
        let names: Vec<&str> = watched.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
        set.insert("RLX_WATCHED".to_owned(), names.join(":"));
    }
    import_path.extend(materials.runbook.import_roots.iter().map(|inside| text(&join(&at, inside))));
    if !import_path.is_empty() {
        set.insert("PYTHONPATH".to_owned(), import_path.join(":"));
    }
    let readable = readable(materials, argv.first().map(Path::new));
    StepOrder {
        name: name.to_string(),
        argv,
        program: gated,
        tree: TreeOrder {
            base: materials.base.to_owned(),
            inputs: materials.inputs.folder.clone(),
            changed: place.step(&format!("{name}.changed")),
            work: place.step(&format!("{name}.work")),
            at,
            removed: files().filter(removed).cloned().collect(),
        },
        folder: step.folder.clone().unwrap_or_default(),
        environment: step.environment.clone(),
        set,
        readable,
        watched,
        artifacts: if name == StepName::Train { materials.runbook.artifacts.clone() } else { Vec::new() },
        is_check: name == StepName::Preflight,
    }
}

/// What a step may read outside of the run: its interpreter, those that its `PATH` offers to scripts, and the runbook's
/// list. The system's folders are always there.
fn readable(materials: &Materials<'_>, program: Option<&Path>) -> Vec<PathBuf> {
    let offered = ["python3", "python"]
        .map(|name| crate::studies::candidate::find_program(materials.fs, materials.root, name));
    let programs = program.map(Path::to_owned).into_iter().chain(offered.into_iter().flatten());
    let mut found: Vec<PathBuf> = programs
        .flat_map(|program| interpreter::roots(materials.fs, materials.root, &program))
        .filter(|path| !rlxp_launch::confine::is_of_the_system(path))
        .collect();
    found.extend(listed(materials.root, materials.runbook));
    found.sort();
    found.dedup();
    found
}

/// The paths that the runbook lists.
pub(super) fn listed(root: &Path, runbook: &Runbook) -> Vec<PathBuf> {
    runbook.read.iter().map(|path| join(root, path)).collect()
}

fn join(at: &Path, inside: &str) -> PathBuf {
    if matches!(inside, "" | ".") { at.to_owned() } else { at.join(inside) }
}

/// Where a program is: in the tree if the tree has it; otherwise a word with a slash is an untracked file of the
/// repository, such as a virtual environment's Python, and a plain name is looked up in `PATH`.
fn program(materials: &Materials<'_>, at: &Path, word: &str) -> PathBuf {
    if is_of_the_tree(materials, word) {
        return at.join(word);
    }
    crate::studies::candidate::find_program(materials.fs, materials.root, word)
        .unwrap_or_else(|| PathBuf::from(word))
}

fn is_of_the_tree(materials: &Materials<'_>, word: &str) -> bool {
    word.contains('/') && materials.fs.is_file(&materials.base.join(word)).unwrap_or(false)
}
