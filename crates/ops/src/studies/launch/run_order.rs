//! From an approved plan to an order: the steps of one run with every placeholder filled in, the code and the limits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, environment};
use rlxp_govern::change::{Applied, FileChange};
use rlxp_govern::documents::{
    Confinement, Contract, Metric, MetricSpec, Network, Phase, PhasePlan, Role, Runbook, Step, StepName,
};
use rlxp_govern::ledger::event::ProbePoint;
use rlxp_govern::slots::fill;
use rlxp_launch::order::{
    ConfinementRequest, ExpectedFile, LOADED_FILE, Level, Limits, LinkedFile, Reach, RunOrder, StepOrder,
    TreeOrder,
};
use rlxp_launch::programs::{OFFERED, find, open_in, search_folders};
use rlxp_types::Digest;

use super::inputs::Inputs;
use super::{interpreter, values};
use crate::context::UserFolders;
use crate::studies::candidate::{find_program, is_in};
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
    /// Arguments of the train command that accepted candidates give; they come before the candidate's.
    pub(super) earlier_arguments: &'a [String],
    /// Files that evaluation takes from training, changed by this candidate or by one that was accepted before.
    pub(super) exposed: BTreeMap<String, FileChange>,
    /// Whether training runs code that the contract's commit doesn't have.
    pub(super) changes_code: bool,
    /// The repository.
    pub(super) root: &'a Path,
    /// The contract's code, which evaluation and checks run.
    pub(super) base: &'a Path,
    /// The code that training starts from: the same, with the changes that were accepted before.
    pub(super) training: &'a Path,
    /// Files that runs need and git doesn't track.
    pub(super) inputs: &'a Inputs,
    /// The programs of steps as the gates saw them; `None` if no gate looked.
    pub(super) programs: Option<&'a BTreeMap<String, Digest>>,
    /// What the run probes, where it probes.
    pub(super) probed: Option<&'a Probed>,
    /// The order of a run that this one is compared with, if there is one.
    pub(super) reference: Option<RunOrder>,
    pub(super) user: &'a UserFolders,
    pub(super) fs: &'a dyn Fs,
}

/// A trained policy that is run with one parameter at one value.
pub(super) struct Probed {
    pub(super) point: ProbePoint,
    /// The folder that the training of that policy wrote.
    pub(super) folder: PathBuf,
    /// Its files, which are checked again when the run has ended.
    pub(super) files: Vec<LinkedFile>,
}

impl<'a> Materials<'a> {
    /// The code that a step starts from.
    fn code_of(&self, name: StepName) -> &'a Path {
        if name.trains() { self.training } else { self.base }
    }

    /// What a step has instead of files of its code: training the candidate's changes, evaluation the files that were
    /// agreed, checks nothing.
    pub(super) fn files_of(&self, name: StepName) -> &BTreeMap<String, FileChange> {
        static NOTHING: BTreeMap<String, FileChange> = BTreeMap::new();
        match name {
            _ if name.trains() => &self.applied.files,
            StepName::Eval => &self.exposed,
            _ => &NOTHING,
        }
    }
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
            // In the smoke phase evaluation is only tried, with a seed that no evidence has.
            StepName::Eval | StepName::Probe => self.evaluation.unwrap_or(self.train),
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
    if matches!(name, StepName::Eval | StepName::Probe) {
        slots.push(("train_seed", train.as_str()));
    }
    slots.extend(folders);
    fill(&step.argv, &slots)
}

/// The steps of a phase in order: the check if there is one, training or its smoke test, and the evaluation. A probe
/// trains and evaluates nothing.
///
/// Evaluation is tried in the smoke phase, since a mistake in its command would otherwise end the baseline in its first
/// confirm run. A smoke test of its own may leave nothing to evaluate, which is known only where artifacts are listed.
pub(super) fn steps_of(runbook: &Runbook, phase: Phase, probes: bool) -> Vec<(StepName, &Step)> {
    if let (true, Some(probe)) = (probes, &runbook.probe) {
        let check = runbook.preflight.as_ref().map(|step| (StepName::Preflight, step));
        return check.into_iter().chain([(StepName::Probe, probe)]).collect();
    }
    let main = match trained_by(runbook, phase) {
        StepName::Smoke => runbook.smoke.as_ref().map(|smoke| (StepName::Smoke, smoke)),
        _ => Some((StepName::Train, &runbook.train)),
    };
    let check = runbook.preflight.as_ref().map(|step| (StepName::Preflight, step));
    let has_something = trained_by(runbook, phase) == StepName::Train || !runbook.artifacts.is_empty();
    let evaluation = has_something.then_some((StepName::Eval, &runbook.eval));
    check.into_iter().chain(main).chain(evaluation).collect()
}

/// The step of a phase that trains.
pub(super) fn trained_by(runbook: &Runbook, phase: Phase) -> StepName {
    match (&runbook.smoke, phase) {
        (Some(_), Phase::Smoke) => StepName::Smoke,
        _ => StepName::Train,
    }
}

pub(super) fn order(
    materials: &Materials<'_>,
    place: &RunPaths,
    key: &str,
    plan: &PhasePlan,
    seeds: RunSeeds,
    spec: Option<&MetricSpec>,
) -> RunOrder {
    let steps = steps_of(materials.runbook, plan.phase, materials.probed.is_some());
    let trained = trained_by(materials.runbook, plan.phase);
    let steps =
        steps.into_iter().map(|(name, step)| step_order(materials, place, name, step, key, seeds, trained));
    RunOrder {
        key: key.to_owned(),
        folder: place.folder.clone(),
        steps: steps.collect(),
        limits: limits(materials, plan.wall_clock.0),
        confinement: wanted(materials),
        linked: {
            let mut linked = materials.inputs.linked(materials.root);
            linked.extend(materials.probed.iter().flat_map(|probed| probed.files.iter().cloned()));
            linked
        },
        scan: materials.changes_code && plan.phase != Phase::Smoke,
        // Later, a metric that is missing is what the run is judged by.
        expected: spec.filter(|_| plan.phase == Phase::Smoke).map(expected).unwrap_or_default(),
    }
}

/// The files that metrics with a say in the verdict are read from.
fn expected(spec: &MetricSpec) -> Vec<ExpectedFile> {
    let deciding = spec.metrics_by_role().filter(|(role, _)| role.decides());
    let file = |(role, metric): (Role, &Metric)| {
        let any_of = metric.source.expected_files()?;
        Some(ExpectedFile { purpose: format!("the {} metric {}", role.as_str(), metric.name), any_of })
    };
    deciding.filter_map(file).collect()
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
/// files that it was agreed to take from the candidate. `trained_by` is the step whose results are evaluated.
pub(super) fn step_order(
    materials: &Materials<'_>,
    place: &RunPaths,
    name: StepName,
    step: &Step,
    key: &str,
    seeds: RunSeeds,
    trained_by: StepName,
) -> StepOrder {
    let is_training = name.trains();
    let (own, seed_text) = (place.step(name.as_str()), seeds.of_step(name).to_string());
    let at = place.step(&format!("{name}.tree"));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (run, own_training) = (text(&own), text(&place.step(trained_by.as_str())));
    let probed = materials.probed.filter(|_| name == StepName::Probe);
    let trained = probed.map_or(own_training, |probed| text(&probed.folder));
    let value = probed.map(|probed| probed.point.value.to_string()).unwrap_or_default();
    let mut slots = vec![("run", run.as_str()), ("trained", trained.as_str())];
    if let Some(probed) = probed {
        slots.extend([("key", probed.point.key.as_str()), ("value", value.as_str())]);
    }
    let mut argv = fill_slots(name, step, seeds, &slots);
    if is_training {
        argv.extend(materials.earlier_arguments.iter().chain(&materials.applied.arguments).cloned());
    }
    let mut gated = None;
    if let Some(program) = argv.first_mut() {
        // A program that training changes is no longer the one that the gates looked at; its code was.
        if !materials.files_of(name).contains_key(program) && !is_accepted(materials, name, program) {
            gated = materials.programs.and_then(|programs| programs.get(name.as_str()).copied());
        }
        *program = text(&self::program(materials, name, &at, program));
    }
    let files = materials.files_of(name);
    let (watched, removed): (Vec<String>, Vec<String>) =
        files.keys().cloned().partition(|path| files[path].after.is_some());
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
    let needs: Vec<PathBuf> = match (name, trained_by) {
        (StepName::Eval, StepName::Smoke) => {
            let left = place.step(trained_by.as_str());
            materials.runbook.artifacts.iter().map(|name| left.join(name)).collect()
        }
        _ => Vec::new(),
    };
    StepOrder {
        name: name.to_string(),
        argv,
        program: gated,
        tree: TreeOrder {
            base: materials.code_of(name).to_owned(),
            inputs: materials.inputs.folder.clone(),
            changed: place.step(&format!("{name}.changed")),
            work: place.step(&format!("{name}.work")),
            at,
            removed,
        },
        folder: step.folder.clone().unwrap_or_default(),
        environment: step.environment.clone(),
        values: values::marks(key, name, step, materials.reference.as_ref()),
        set,
        readable,
        watched,
        artifacts: if name == StepName::Train { materials.runbook.artifacts.clone() } else { Vec::new() },
        needs,
        is_check: name == StepName::Preflight,
    }
}

/// What a step may read outside of the run: its interpreter, those that its `PATH` offers to scripts, and the runbook's
/// list. The system's folders are always there.
fn readable(materials: &Materials<'_>, program: Option<&Path>) -> Vec<PathBuf> {
    let folders = search_folders();
    let offered = OFFERED.iter().filter_map(|name| find(name, &folders));
    let programs = program.map(Path::to_owned).into_iter().chain(offered);
    let mut found: Vec<PathBuf> = programs
        .flat_map(|program| interpreter::roots(materials.fs, &folders, &program))
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
fn program(materials: &Materials<'_>, name: StepName, at: &Path, word: &str) -> PathBuf {
    if is_in(materials.fs, materials.code_of(name), word) {
        return at.join(word);
    }
    find_program(materials.fs, materials.root, word).unwrap_or_else(|| PathBuf::from(word))
}

/// Whether a program of training comes from accepted code. Its tree is checked as a whole; the gates looked at the
/// contract's.
fn is_accepted(materials: &Materials<'_>, name: StepName, word: &str) -> bool {
    name.trains()
        && materials.training != materials.base
        && word.contains('/')
        && is_in(materials.fs, materials.training, word)
}

/// What keeps the program of a step from being known completely.
pub(super) fn open_program(materials: &Materials<'_>, name: StepName, step: &Step) -> Option<String> {
    let word = step.argv.first()?;
    let code = materials.code_of(name);
    let program = match is_in(materials.fs, code, word) {
        true => code.join(word),
        false => find_program(materials.fs, materials.root, word)?,
    };
    let open = open_in(materials.fs, &program, &search_folders())?;
    Some(format!("{word} {open}"))
}
