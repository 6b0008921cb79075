//! Seeds of several runs as one sample: which keys of a config make a training, and which records are of the same one.
//!
//! The same config, seed and program give the same bytes, so such a training counts once, however many runs hold it.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_spec::Config;
use rlxp_store::{Lineage, LineageKind, Metadata};
use serde::Serialize;

use super::lineage::{Ancestor, Ancestry, program};
use super::{RunData, SeedData, SeedState};

/// Keys that change no result, or that name the seeds, which are listed apart.
pub(crate) const NOISE: [&str; 4] = ["run_name", "seed", "seeds", "threads"];

/// Keys that decide what is kept of a training, where it ran and when it was evaluated, but no byte of it.
pub(crate) const UNTRAINED: [&str; 4] = ["device", "checkpoint.save_every", "checkpoint.keep", "eval.every"];

/// The key of the weights that a training starts from.
const STARTS_FROM: &str = "starts_from";
/// The key of the planned steps.
const STEPS: &str = "algo.total_timesteps";

/// A seed that counts.
#[derive(Clone, Copy)]
pub(crate) struct Member<'m> {
    pub(crate) run: &'m RunData,
    pub(crate) seed: &'m SeedData,
}

/// A seed that was trained twice and counts once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Duplicate {
    pub seed: u64,
    /// The run whose record counts.
    pub counted: String,
    /// The run whose record is the same training.
    pub left_out: String,
}

/// Every training once, in the order of the runs and their seeds.
pub(crate) struct Folded<'m> {
    pub(crate) members: Vec<Member<'m>>,
    pub(crate) duplicates: Vec<Duplicate>,
}

/// Takes every seed of every run in; the same training counts once.
pub(crate) fn fold<'m>(runs: impl IntoIterator<Item = &'m RunData>) -> Folded<'m> {
    let mut folded = Folded { members: Vec::new(), duplicates: Vec::new() };
    let mut places: BTreeMap<(u64, Training), Vec<usize>> = BTreeMap::new();
    for run in runs {
        let training = Training::from_run(run);
        for seed in &run.seeds {
            let member = Member { run, seed };
            let same = places.entry((seed.seed, training.clone())).or_default();
            let twin = same.iter().copied().find(|place| is_same(&folded.members[*place], &member));
            let Some(place) = twin else {
                same.push(folded.members.len());
                folded.members.push(member);
                continue;
            };
            // A training that only broke off is no other result than the whole one.
            let kept = &mut folded.members[place];
            let better = progress(&member) > progress(kept);
            let (counted, left_out) = if better { (run, kept.run) } else { (kept.run, run) };
            let (counted, left_out) = (counted.name.clone(), left_out.name.clone());
            folded.duplicates.push(Duplicate { seed: seed.seed, counted, left_out });
            if better {
                *kept = member;
            }
        }
    }
    folded
}

/// Everything that changes what is trained: the config, the weights it starts
/// from, and the return at which it stops.
pub(crate) fn identity_of(run: &RunData) -> Vec<(String, String)> {
    identity(&run.config, &run.metadata, &run.ancestry)
}

/// The same for a run whose data are not loaded.
pub(crate) fn identity(config: &Config, metadata: &Metadata, ancestry: &Ancestry) -> Vec<(String, String)> {
    let mut identity = plain_identity(config, metadata);
    if ancestry.extends() {
        let start = extended_from(&identity, ancestry);
        identity.push((STARTS_FROM.to_owned(), start));
    }
    identity
}

/// The identity of a run without that of the runs it extends.
pub(crate) fn plain_identity(config: &Config, metadata: &Metadata) -> Vec<(String, String)> {
    let counts = |key: &str| !NOISE.contains(&key) && !UNTRAINED.contains(&key);
    let mut identity: Vec<_> = keys_of(config).into_iter().filter(|(key, _)| counts(key)).collect();
    if let Some(lineage) = metadata.lineage.as_ref().filter(|it| it.kind == LineageKind::WarmStart) {
        let name = lineage.checkpoint_name().unwrap_or_else(|| format!("{}:SEED", lineage.parent));
        identity.push((STARTS_FROM.to_owned(), name));
    }
    if let Some(wanted) = metadata.extra.get(crate::training::recorded::STOP_AT) {
        identity.push((crate::training::recorded::STOP_AT.to_owned(), wanted.to_string()));
    }
    identity
}

/// What an extension continues: the steps at which each run was extended, whatever the runs are called. The same config
/// trained and extended in the same way has the same.
fn extended_from(own: &[(String, String)], ancestry: &Ancestry) -> String {
    if let Some(gone) = &ancestry.gone {
        // How a removed run was trained is not known.
        return gone.checkpoint_name().unwrap_or_else(|| format!("{}:SEED", gone.parent));
    }
    let mut parts = Vec::new();
    for Ancestor { extended, metadata, identity, .. } in ancestry.runs.iter().rev() {
        let step = extended.checkpoint.map_or_else(String::new, |step| format!("step_{step}"));
        let seeds = extended.checkpoints.iter().map(|(seed, step)| format!("{seed}:step_{step}"));
        let mut part = [step].into_iter().chain(seeds).collect::<Vec<_>>().join(",");
        // Schedules run over all planned steps.
        if extended.checkpoint != Some(metadata.total_steps) {
            part.push_str(&format!(" of {}", metadata.total_steps));
        }
        // An extension has the config of its parent, apart from the steps; what differs is part of the training.
        let differs = |pair: &&(String, String)| pair.0 != STEPS && !own.contains(pair);
        let values = identity.iter().filter(differs).map(|(key, value)| format!(" {key}={value}"));
        part.extend(values);
        parts.push(part);
    }
    parts.join("+")
}

/// Runs of one config together, in the order in which configs first occur.
pub(crate) fn same_configs<'m>(runs: impl IntoIterator<Item = &'m RunData>) -> Vec<Vec<&'m RunData>> {
    let mut groups: Vec<Vec<&RunData>> = Vec::new();
    let mut places: BTreeMap<Vec<(String, String)>, usize> = BTreeMap::new();
    for run in runs {
        let place = *places.entry(identity_of(run)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// Every key of a config with its value as the snapshot writes it.
pub(crate) fn keys_of(config: &Config) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut keys = Vec::new();
    for line in rlxp_spec::to_yaml(config).lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim_start();
        if !key.starts_with(' ') && value.is_empty() {
            key.clone_into(&mut section);
        } else if let Some(key) = key.strip_prefix("  ") {
            keys.push((format!("{section}.{key}"), value.to_owned()));
        } else {
            keys.push((key.to_owned(), value.to_owned()));
        }
    }
    keys
}

/// What decides, with the seed, every byte of a training.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Training {
    config: Vec<(String, String)>,
    origin: Option<String>,
}

impl Training {
    pub(crate) fn from_run(run: &RunData) -> Self {
        Self::new(identity_of(run), &run.metadata, &run.ancestry)
    }

    pub(crate) fn new(identity: Vec<(String, String)>, metadata: &Metadata, ancestry: &Ancestry) -> Self {
        let origin = match (&ancestry.gone, ancestry.runs.last()) {
            (Some(gone), _) => Some(format!("{:?} {:?}", ancestry.ids, gone.checkpoint)),
            (None, Some(root)) => warm_start(&root.metadata),
            (None, None) => warm_start(metadata),
        };
        Self { config: trained(identity), origin }
    }

    /// The training of the first of several runs that extend each other.
    pub(crate) fn of_root(root: &Ancestor) -> Self {
        Self { config: trained(root.identity.clone()), origin: warm_start(&root.metadata) }
    }
}

/// However it was evaluated, it is the same training.
fn trained(identity: Vec<(String, String)>) -> Vec<(String, String)> {
    identity.into_iter().filter(|(key, _)| !key.starts_with("eval.")).collect()
}

/// The weights of another run that training began with.
fn warm_start(metadata: &Metadata) -> Option<String> {
    let lineage = metadata.lineage.as_ref().filter(|lineage| lineage.kind == LineageKind::WarmStart)?;
    let Lineage { kind, parent_id, checkpoint, checkpoints, seed, .. } = lineage;
    Some(format!("{kind:?} {parent_id:?} {checkpoint:?} {seed:?} {checkpoints:?}"))
}

/// Trainings of `b` that are also in `a`, as [`fold`] would count them once.
pub(crate) fn shared(a: &[Member<'_>], b: &[Member<'_>]) -> usize {
    let key = |member: &Member<'_>| (member.seed.seed, Training::from_run(member.run));
    let mut of_a: BTreeMap<(u64, Training), Vec<&Member<'_>>> = BTreeMap::new();
    for member in a {
        of_a.entry(key(member)).or_default().push(member);
    }
    let is_shared = |member: &&Member<'_>| {
        of_a.get(&key(member)).is_some_and(|same| same.iter().any(|other| is_same(other, member)))
    };
    b.iter().filter(is_shared).count()
}

/// Whether two records of one seed and config are of the same training: the
/// same program on the same kind of processor gives the same bytes, and so
/// does any pair whose curves are equal to the last bit.
fn is_same(one: &Member<'_>, other: &Member<'_>) -> bool {
    if one.run.run.path() == other.run.run.path() {
        return true;
    }
    // Whatever the records say of the program: two curves that differ are two trainings.
    if contradict(one.seed, other.seed) {
        return false;
    }
    let (left, right) = (&one.run.metadata, &other.run.metadata);
    let same_program = program(left).is_some() && program(left) == program(right);
    // A copied folder has the id of the original.
    let same_run = left.id == right.id;
    same_run || same_program || ["eval", "train"].iter().any(|kind| same_curve(one, other, kind))
}

/// Whether two returns differ at a step that both have: those of training, or of evaluations where no step of
/// training is in both. Evaluations of one training differ when other episodes were played.
pub(crate) fn contradict(one: &SeedData, other: &SeedData) -> bool {
    let differ = |kind: &str| {
        let left = one.series(kind, rlxp_store::MEAN_RETURN)?;
        let right = other.series(kind, rlxp_store::MEAN_RETURN)?;
        let known: BTreeMap<u64, u64> = left.points().map(|(step, value)| (step, value.to_bits())).collect();
        let mut both = right.points().filter_map(|(step, value)| Some((*known.get(&step)?, value.to_bits())));
        let first = both.next()?;
        Some(first.0 != first.1 || both.any(|(left, right)| left != right))
    };
    differ("train").or_else(|| differ("eval")).unwrap_or(false)
}

fn same_curve(one: &Member<'_>, other: &Member<'_>, kind: &str) -> bool {
    let curve = |member: &Member<'_>| {
        let series = member.seed.series(kind, rlxp_store::MEAN_RETURN)?;
        Some(series.points().map(|(step, value)| (step, value.to_bits())).collect::<Vec<_>>())
    };
    // A few equal returns may be chance, as on an environment with one score.
    match (curve(one), curve(other)) {
        (Some(one), Some(other)) => {
            let several = one.iter().map(|(_, value)| value).collect::<BTreeSet<_>>().len() > 2;
            several && one == other
        }
        _ => false,
    }
}

fn progress(member: &Member<'_>) -> (bool, u64) {
    (member.seed.state == SeedState::Finished, member.seed.metrics.last_step)
}
