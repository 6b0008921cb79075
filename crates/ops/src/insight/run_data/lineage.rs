//! Which training a run is part of. `rlx resume --total-timesteps` makes a new run that continues the seeds of its
//! parent: run and extension are one training, which counts once in a group ([`super::counting`]).

use std::collections::BTreeSet;

use rlxp_store::{Lineage, LineageKind, Metadata, Run};
use rlxp_types::Digest;

use super::fold::{Training, plain_identity};

/// Longest chain of extensions that is followed.
const LONGEST_CHAIN: usize = 100;

/// The runs that a run extends.
#[derive(Clone)]
pub(crate) struct Ancestry {
    /// Those that exist, the nearest first.
    pub(crate) runs: Vec<Ancestor>,
    /// Ids of all that are known, also of removed ones, the nearest first.
    pub(crate) ids: Vec<Digest>,
    /// What is recorded of the first one that was not found.
    pub(crate) gone: Option<Lineage>,
}

/// A run that was extended.
#[derive(Clone)]
pub(crate) struct Ancestor {
    pub(crate) run: Run,
    /// Where the extension starts.
    pub(crate) extended: Lineage,
    pub(crate) metadata: Metadata,
    /// What changes its training, apart from runs that it extends; empty if its config can't be read.
    pub(crate) identity: Vec<(String, String)>,
}

/// The program and kind of processor that trained a run: with the same config and seed, they give the same bytes.
pub(crate) type Program = (Digest, String);

/// What the first run of a training was trained from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    pub(crate) training: Training,
    pub(crate) program: Program,
}

impl Ancestry {
    /// Follows the lineage of a run within the folder that holds it.
    pub(crate) fn of(run: &Run, metadata: &Metadata) -> Self {
        let mut ancestry = Self { runs: Vec::new(), ids: Vec::new(), gone: None };
        let mut seen = BTreeSet::from([metadata.id]);
        let mut lineage = extension_of(run, metadata);
        while let Some(extended) = lineage {
            let Some((parent, known)) = parent_of(run, &extended) else {
                // Extensions of a removed run still continue the same seeds.
                ancestry.ids.extend(extended.extended_ids());
                ancestry.gone = Some(extended);
                break;
            };
            if ancestry.runs.len() == LONGEST_CHAIN || !seen.insert(known.id) {
                break;
            }
            ancestry.ids.push(known.id);
            lineage = extension_of(run, &known);
            let config = crate::training::recorded::config_of(&parent);
            let identity = config.map_or_else(|_| Vec::new(), |config| plain_identity(&config, &known));
            ancestry.runs.push(Ancestor { run: parent, extended, metadata: known, identity });
        }
        ancestry
    }

    /// Whether the run extends another one.
    pub(crate) fn extends(&self) -> bool {
        self.gone.is_some() || !self.runs.is_empty()
    }

    /// The id of the oldest run that is known: equal in all runs that continue the same seeds.
    pub(crate) fn root(&self, own: &Metadata) -> Digest {
        self.ids.last().copied().unwrap_or(own.id)
    }

    /// What the run's first steps were trained from; nothing if that is not known exactly. `own` is for a run that
    /// extends none.
    pub(crate) fn beginning(&self, own: &Training, metadata: &Metadata) -> Option<Beginning> {
        let (training, metadata) = match self.runs.last() {
            _ if self.gone.is_some() => return None,
            Some(root) => (Training::of_root(root), &root.metadata),
            None => (own.clone(), metadata),
        };
        Some(Beginning { training, program: program(metadata)? })
    }

    /// The step that a seed of the extension starts from; 0 for a run that extends none.
    pub(crate) fn start(&self, seed: u64) -> u64 {
        let extended = self.runs.first().map(|parent| &parent.extended).or(self.gone.as_ref());
        extended.and_then(|it| it.checkpoints.get(&seed).copied().or(it.checkpoint)).unwrap_or(0)
    }
}

pub(crate) fn program(metadata: &Metadata) -> Option<Program> {
    metadata.versions.binary.map(|binary| (binary, metadata.cpu_kernels.clone()))
}

/// Where a run continues another one. The reproduction of an extension continues what that one continued.
fn extension_of(run: &Run, metadata: &Metadata) -> Option<Lineage> {
    let mut lineage = metadata.lineage.clone()?;
    for _ in 0..LONGEST_CHAIN {
        match lineage.kind {
            LineageKind::ResumedExtended => return Some(lineage),
            LineageKind::WarmStart => return None,
            LineageKind::Reproduced => lineage = parent_of(run, &lineage)?.1.lineage?,
        }
    }
    None
}

/// The run that was extended, also if its folder was renamed; `None` if it is gone.
fn parent_of(run: &Run, lineage: &Lineage) -> Option<(Run, Metadata)> {
    // A run that can't be read can't be used either; the extension itself can.
    let read = |parent: Run| Some((parent.metadata().ok()?, parent));
    let named = run.sibling(&lineage.parent).and_then(read);
    let is_it = |metadata: &Metadata| lineage.parent_id.is_none_or(|id| id == metadata.id);
    let found = named.filter(|(metadata, _)| is_it(metadata));
    let (metadata, parent) = found.or_else(|| read(run.sibling_with_id(lineage.parent_id?)?))?;
    Some((parent, metadata))
}
