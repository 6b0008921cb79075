//! What a candidate changes, as found in the repository without following links.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, Builder};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_govern::documents::{Base, Candidate, Confinement, Device, Slug, Written};
use rlxp_govern::patch;
use rlxp_govern::scope::bad_path;
use rlxp_govern::view::{CandidateView, MachineFacts, PathFacts};
use rlxp_types::Digest;

use super::code;
use super::protected::{Protected, protected};
use crate::failure::Outcome;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::tree::{self, BaseTree, TreeLook};

/// Evidence files are summaries; larger ones are not read.
const LONGEST_EVIDENCE: u64 = 16 << 20;

/// A candidate, and the code that it was looked at in.
pub(crate) struct Looked {
    pub(crate) view: CandidateView,
    /// The recorded commit; `None` without one, when the folder itself was looked at.
    pub(crate) tree: Option<BaseTree>,
    /// What training starts from; `None` if that is the contract's code.
    pub(crate) training: Option<BaseTree>,
}

/// A candidate as the gates see it.
pub fn view(opened: &OpenStudy, id: &Slug) -> Outcome<CandidateView> {
    Ok(look(opened, id)?.view)
}

/// The same with its code.
pub(crate) fn look(opened: &OpenStudy, id: &Slug) -> Outcome<Looked> {
    look_at(opened, id, super::written(opened, id)?)
}

pub(crate) fn look_at(opened: &OpenStudy, id: &Slug, written: Written<Candidate>) -> Outcome<Looked> {
    let fs = opened.context().fs.as_ref();
    let (root, runbook) = (&opened.place.root, opened.study.files.runbook.typed());
    // Interpreters are large; everything else is read in parallel.
    thread::scope(|scope| {
        let look = || code::programs(fs, root, runbook);
        let beside = Builder::new().spawn_scoped(scope, look);
        let Looked { view, tree, training } = without_programs(opened, id, written)?;
        let programs = match beside {
            Ok(beside) => beside.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without a free thread this is slower, and that is all.
            Err(_) => look(),
        };
        let mut programs = programs;
        if let (Some(programs), Some(runbook)) = (&mut programs, runbook) {
            let tree = tree.as_ref().map(|tree| tree.folder.as_path());
            programs.extend(code::programs_of_tree(fs, tree.unwrap_or(root), tree.is_none(), runbook));
        }
        Ok(Looked { view: CandidateView { programs, ..view }, tree, training })
    })
}

fn without_programs(opened: &OpenStudy, id: &Slug, written: Written<Candidate>) -> Outcome<Looked> {
    let fs = opened.context().fs.as_ref();
    let place = LaunchPaths::for_study(opened);
    // Reading thousands of files takes longer than everything else; it begins before git is asked.
    let begin = |base: &Base| {
        let place = place.as_ref().ok()?;
        TreeLook::begin(opened.context().fs.clone(), place.tree(base))
    };
    let looking = opened.study.pinned_base().filter(|base| matches!(base, Base::Commit(_)));
    let looking = looking.and_then(|base| begin(&base));
    let accepted = opened.study.training_code(written.typed.kind).cloned();
    let looking_at_accepted = accepted.as_ref().and_then(|code| begin(&code.base));
    let base = code::base(opened)?;
    // Without git the folder itself is the code, and a gate checks that it is unchanged.
    let needs_place = matches!(base, Some(Base::Commit(_))) || accepted.is_some();
    let place = if needs_place { Some(place?) } else { None };
    let tree = match (&base, &place) {
        (Some(base @ Base::Commit(_)), Some(place)) => Some(tree::ensure(opened, place, base, looking)?),
        _ => None,
    };
    let layered = accepted.as_ref().map(|code| &code.base).filter(|layered| Some(*layered) != base.as_ref());
    let training = match (layered, &place) {
        (Some(layered), Some(place)) => Some(tree::ensure(opened, place, layered, looking_at_accepted)?),
        _ => None,
    };
    // Runs start from the recorded commit, so nothing else counts: neither edits nor later commits.
    let evaluated = tree.as_ref().map_or(&opened.place.root, |tree| &tree.folder);
    // Changes are made to what training starts from.
    let root = training.as_ref().map_or(evaluated, |tree| &tree.folder);
    let mut paths = BTreeMap::new();
    for change in &written.typed.changes {
        let patched = change.patch.as_deref().map(patch::facts).unwrap_or_default().paths;
        for path in std::iter::once(&change.path).chain(&patched) {
            // Paths outside the repository are not looked up.
            if bad_path(path).is_none() && !paths.contains_key(path) {
                paths.insert(path.clone(), path_facts(fs, root, path)?);
            }
        }
    }
    let needed = &written.typed.requirements;
    let named = [&needed.reflection, &needed.probe].into_iter().flatten().chain(&written.typed.evidence);
    let evidence_there: BTreeSet<String> =
        named.filter(|file| is_evidence(fs, &opened.place.folder, file)).cloned().collect();
    let read = |file: &String| {
        let bytes = fs.read(&opened.place.folder.join(file), LONGEST_EVIDENCE).ok()?;
        Some((file.clone(), Digest::hash(&bytes)))
    };
    let analyses = [&needed.reflection, &needed.probe].into_iter().flatten();
    let analyses = analyses.filter(|file| evidence_there.contains(*file)).filter_map(read).collect();
    let globs = opened.study.files.surface_map.typed().map(|map| map.protected.clone());
    let Protected { files, unprotectable } = match globs {
        Some(globs) => protected(fs, evaluated, &globs)?,
        None => Protected::default(),
    };
    let runbook = opened.study.files.runbook.typed();
    let sources = code::sources(fs, root, &written.typed)?;
    let view = CandidateView {
        file: opened.study.candidate_files.get(id.as_str()).copied().unwrap_or(Digest::ZERO),
        file_name: id.to_string(),
        flag_values: code::flag_values(&written.typed, &sources, runbook),
        sources,
        // The syntax that approvals were checked against, which may differ from the present file.
        override_syntax: opened.study.files.override_syntax.clone(),
        base,
        accepted,
        programs: None,
        inputs: code::inputs(fs, &opened.place.root, runbook)?,
        written,
        paths,
        evidence_there,
        analyses,
        protected: files,
        unprotectable,
        machine: Some(machine(opened)?),
        asked_plan: None,
    };
    Ok(Looked { view, tree, training })
}

/// Whether a path exists, is a file, or leads through a link.
pub(super) fn path_facts(fs: &dyn Fs, root: &Path, path: &str) -> Outcome<PathFacts> {
    let mut facts = PathFacts::default();
    let (mut at, mut walked) = (root.to_owned(), String::new());
    let parts: Vec<&str> = path.split('/').collect();
    for (index, part) in parts.iter().enumerate() {
        let twin =
            fs.list(&at)?.into_iter().find(|entry| entry.name != *part && same_but_case(&entry.name, part));
        if let Some(twin) = twin {
            facts.same_but_case = Some(format!("{walked}{}", twin.name));
        }
        at.push(part);
        walked.push_str(part);
        let found = fs.metadata_if_any(&at)?.map(|meta| meta.kind);
        match found {
            Some(Kind::Link) => {
                facts.link = Some(walked);
                return Ok(facts);
            }
            Some(Kind::Folder) if index + 1 < parts.len() => walked.push('/'),
            kind => {
                let last = index + 1 == parts.len();
                facts.exists = kind.is_some() && last;
                facts.is_file = kind == Some(Kind::File) && last;
                return Ok(facts);
            }
        }
    }
    Ok(facts)
}

fn same_but_case(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Evidence is a readable plain file inside the study; a `.json` file must be valid JSON, which excludes NaN and
/// infinity.
fn is_evidence(fs: &dyn Fs, folder: &Path, file: &str) -> bool {
    if bad_path(file).is_some() {
        return false;
    }
    let mut at = folder.to_owned();
    for part in file.split('/') {
        at.push(part);
        if !fs.metadata(&at).is_ok_and(|meta| matches!(meta.kind, Kind::File | Kind::Folder)) {
            return false;
        }
    }
    let Ok(bytes) = fs.read(&at, LONGEST_EVIDENCE) else { return false };
    !bytes.is_empty()
        && (!file.ends_with(".json") || serde_json::from_slice::<serde_json::Value>(&bytes).is_ok())
}

/// The hardware of this machine. Its sandboxing is probed only for a launch, so none is assumed here.
fn machine(opened: &OpenStudy) -> Outcome<MachineFacts> {
    let fs = opened.context().fs.as_ref();
    let listed = fs.list(Path::new("/proc/driver/nvidia/gpus")).map(|entries| entries.len()).unwrap_or(0);
    let gpus = u32::try_from(listed).unwrap_or(u32::MAX);
    let device = if gpus > 0 { Device::Gpu } else { Device::Cpu };
    // Runs are stored outside the repository. A missing state folder is reported at launch.
    let disk = match LaunchPaths::for_study(opened) {
        Ok(place) => fs.available_around(&place.runs())?,
        Err(_) => fs.available_space(&opened.place.root)?,
    };
    Ok(MachineFacts { device, gpus, disk, confinement: Confinement::None })
}
