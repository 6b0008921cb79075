//! `rlx study init`: the folders of a study and the first record of its ledger.
//!
//! A study belongs in the repository that people work on, never in a temporary copy: not in a worktree or submodule,
//! not in a folder of an agent's host.

use std::path::{Component, Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind, clock, randomness};
use rlxp_govern::documents::{Assurance, Reading, Registry, RegistrySchema, Slug, StudyName};
use rlxp_govern::ledger::event::Opened;
use rlxp_govern::ledger::record::NO_RECORD;
use rlxp_govern::ledger::{self, Actor, Event, Record};
use rlxp_govern::signature::{Approvers, Fingerprint};
use serde::Serialize;

use super::registry;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::contract::import;
use crate::studies::contract::import::ImportReport;
use crate::studies::files::open_study::OpenStudy;
use crate::studies::files::paths::{FOLDER, RepositoryPaths, StudyPaths, as_text};
use crate::studies::files::read::approvers;
use crate::studies::files::refuse_weaker_beside;
use crate::studies::files::state_file;

/// The default name of a study.
const USUAL_STUDY: &str = "first";

/// Folders of agents' hosts.
const HOMES_OF_AGENTS: [&str; 3] = [".claude", ".codex", ".agents"];

const IGNORED: &str = "\
# What rlx leaves behind when it is killed; everything else here is worth keeping.
ledger.lock*
.tmp-*
# Many repositories ignore folders of this name; these are records of the study.
!runs/
";

#[derive(Clone, Debug, Default)]
pub struct InitRequest {
    /// The task; by default named after the repository's folder.
    pub task: Option<String>,
    pub study: Option<String>,
    /// What to improve, for the task card.
    pub mission: Option<String>,
    /// A cache of an older tool to import.
    pub import: Option<PathBuf>,
    /// The weakest kind of approval that can ever count; signatures by default if there are approvers.
    pub assurance: Option<Assurance>,
}

#[derive(Clone, Debug, Serialize)]
pub struct InitReport {
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub root: PathBuf,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub path: PathBuf,
    pub task: Slug,
    pub study: Slug,
    pub id: String,
    /// Users whose signatures will count.
    pub approvers: Vec<KnownApprover>,
    /// Where they are listed.
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub approvers_file: Option<PathBuf>,
    /// The task card, if the task already had one.
    pub kept: Vec<String>,
    /// The weakest kind of approval that can ever count.
    pub assurance: Assurance,
    /// What was imported from an older tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportReport>,
}

/// A user whose signature counts.
#[derive(Clone, Debug, Serialize)]
pub struct KnownApprover {
    /// The first name on the line.
    pub name: String,
    pub fingerprint: Fingerprint,
}

/// What a new study is made of, once it is clear that it can be made.
struct Prepared {
    root: PathBuf,
    places: RepositoryPaths,
    place: StudyPaths,
    name: StudyName,
    registry: Registry,
    old: Option<import::Import>,
}

/// Refuses what [`init`] would refuse, no matter who approves; changes nothing.
pub fn check(context: &Context, request: &InitRequest) -> Outcome<()> {
    prepare(context, request).map(drop)
}

fn prepare(context: &Context, request: &InitRequest) -> Outcome<Prepared> {
    let root = root_for(context)?;
    as_text(&root)?;
    refuse_bad_place(context, &root)?;
    let places = RepositoryPaths::at(context, &root);
    // Read before anything is created: a failed import leaves nothing behind.
    let old = request.import.as_deref().map(|folder| import::read(context, folder)).transpose()?;
    let name = name_for(&root, request, old.as_ref().and_then(import::Import::task_words))?;
    let place = places.study(&name);
    let fs = context.fs.as_ref();
    let registry = registry_for(fs, &places)?;
    if fs.metadata_if_any(&place.folder)?.is_some() {
        let other = format!("rlx study init --task {} --study another-name", name.task);
        return Err(Failure::refused("study_exists", format!("the study {name} already exists"))
            .hint(format!("rlx study use {name}"))
            .hint(other));
    }
    Ok(Prepared { root, places, place, name, registry, old })
}

/// Creates a study and makes it the active one.
pub fn init(context: &Context, request: &InitRequest) -> Outcome<InitReport> {
    let Prepared { root, places, place, name, registry, old } = prepare(context, request)?;
    let fs = context.fs.as_ref();
    let approvers = match approvers(fs, &place)? {
        Ok(approvers) => approvers,
        Err(problems) => {
            let message = format!("the list of approvers can't be read: {}", problems.join("; "));
            return Err(Failure::usage("approvers_broken", message)
                .hint("correct the list, then run the command again"));
        }
    };
    let usual = if approvers.is_empty() { Assurance::Terminal } else { Assurance::Signature };
    let assurance = request.assurance.unwrap_or(usual);
    if assurance == Assurance::Signature && approvers.is_empty() {
        let message = "no approvers are listed, so nothing could be approved by signature";
        return Err(Failure::refused("no_approver", message)
            .hint("rlx study init --new-key    # creates a key with ssh-keygen and lists it"));
    }
    refuse_weaker_beside(context, &root, assurance)?;
    let mission = request.mission.clone().or_else(|| old.as_ref()?.mission());
    let kept = lay_out(context, &places, &place, mission.as_deref())?;
    let id = make_study(context, &place, &approvers, assurance)?;
    registry::activate(fs, &places, registry, &name)?;
    let imported = match &old {
        Some(old) => Some(old.bring(&mut OpenStudy::at(context, place.clone())?)?),
        None => None,
    };
    let named = approvers.iter().map(|approver| KnownApprover {
        name: approver.name.clone(),
        fingerprint: approver.fingerprint().clone(),
    });
    Ok(InitReport {
        root,
        path: place.folder.clone(),
        task: name.task,
        study: name.study,
        id,
        approvers: named.collect(),
        approvers_file: place.approvers(),
        kept,
        assurance,
        imported,
    })
}

/// Where a study of this folder belongs: beside existing studies, else at the top of the repository, else here.
fn root_for(context: &Context) -> Outcome<PathBuf> {
    let here = || context.folder.clone();
    if context.folder_is_root {
        return Ok(here());
    }
    for name in [FOLDER, ".git"] {
        for root in context.folder.ancestors() {
            if context.fs.metadata_if_any(&root.join(name))?.is_some() {
                return Ok(root.to_owned());
            }
        }
    }
    Ok(here())
}

fn refuse_bad_place(context: &Context, root: &Path) -> Outcome<()> {
    let fs = context.fs.as_ref();
    let real = fs.canonicalize(root)?;
    let refused = |code, why: String| {
        Err(Failure::refused(code, format!("can't create a study in {}: {why}", real.display()))
            .hint("rlx study init --root PATH_OF_THE_REPOSITORY"))
    };
    let names: Vec<&str> = real
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    if let Some(name) = names.iter().find(|name| HOMES_OF_AGENTS.contains(name)) {
        return refused("agents_home", format!("{name} belongs to an agent"));
    }
    if names.windows(2).any(|pair| pair == ["plugins", "cache"]) {
        return refused("plugin_cache", "it is in a plugin cache, which can be replaced at any time".into());
    }
    if let Some(home) = &context.user.home
        && fs.canonicalize(home).is_ok_and(|home| home == real)
    {
        return refused(
            "home_folder",
            "it is the home folder, and everything in it would be governed".into(),
        );
    }
    for above in real.ancestors() {
        let git = above.join(".git");
        match fs.metadata_if_any(&git)?.map(|meta| meta.kind) {
            Some(Kind::File) => {
                let text = String::from_utf8_lossy(&fs.read_at(&git, 0, 4096)?).into_owned();
                let what = if text.contains("/modules/") { "submodule" } else { "worktree" };
                return refused(
                    "not_the_repository",
                    format!("it is a git {what}; its repository is elsewhere ({})", text.trim()),
                );
            }
            Some(_) => break,
            None => {}
        }
    }
    Ok(())
}

fn name_for(root: &Path, request: &InitRequest, imported: Option<&str>) -> Outcome<StudyName> {
    let parse = |text: &str| -> Outcome<Slug> {
        text.parse().map_err(|bad: rlxp_govern::documents::NotASlug| {
            let failure = Failure::usage("bad_name", bad.to_string());
            match Slug::from_words(text) {
                Some(near) => failure.hint(format!("use {near}")),
                None => failure,
            }
        })
    };
    let folder = || root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let words = || imported.map_or_else(folder, str::to_owned);
    let usual = || Slug::from_words(&words()).map_or_else(|| parse("task"), Ok);
    Ok(StudyName {
        task: request.task.as_deref().map_or_else(usual, parse)?,
        study: parse(request.study.as_deref().unwrap_or(USUAL_STUDY))?,
    })
}

/// Reads the registry, which must be valid before anything is created.
fn registry_for(fs: &dyn Fs, places: &RepositoryPaths) -> Outcome<Registry> {
    match places.read_registry(fs)? {
        Reading::Missing => Ok(Registry { schema: RegistrySchema::V1, active: None, studies: Vec::new() }),
        Reading::Read(written) => Ok(written.typed),
        Reading::Broken(problems) => {
            let message = format!("{} can't be read: {}", places.registry().display(), problems.join("; "));
            Err(Failure::usage("registry_broken", message)
                .hint("correct the file, then run the command again"))
        }
    }
}

/// Creates the shared folders and the task. Existing files stay as they are.
fn lay_out(
    context: &Context,
    places: &RepositoryPaths,
    place: &StudyPaths,
    mission: Option<&str>,
) -> Outcome<Vec<String>> {
    let fs = context.fs.as_ref();
    let put = |path: PathBuf, text: &str| -> Outcome<bool> {
        if crate::studies::files::read::look(fs, &places.root, &path)?.is_some() {
            return Ok(false);
        }
        fs.create_dir_all(path.parent().expect("a file lies in a folder"))?;
        Ok(fs.write_new_atomic(&path, text.as_bytes())?)
    };
    put(places.folder().join(".gitignore"), IGNORED)?;
    for (name, schema) in rlxp_govern::schema::schemas() {
        put(places.shared().join("schemas").join(format!("{name}.schema.json")), &format!("{schema:#}\n"))?;
    }
    for folder in ["metric_extractors", "templates"] {
        put(places.shared().join(folder).join(".gitkeep"), "")?;
    }
    fs.create_dir_all(&place.task_folder().join("studies"))?;
    let made = put(place.task_card(), &task_card(&place.name.task, mission))?;
    Ok(if made { Vec::new() } else { vec!["task_card.md".to_owned()] })
}

fn task_card(task: &Slug, mission: Option<&str>) -> String {
    let mission = mission.unwrap_or("TODO: what should the study improve, and how would you notice?");
    format!(
        "# {task}\n\n{mission}\n\n## What is known\n\nNotes for people and agents. Nothing here is approved or \
         binding: the contract of each study says what counts.\n"
    )
}

/// Creates the study's folder with the first record, completely or not at all.
fn make_study(
    context: &Context,
    place: &StudyPaths,
    approvers: &Approvers,
    assurance: Assurance,
) -> Outcome<String> {
    let fs = context.fs.as_ref();
    let id = randomness::name()?;
    let opened = Opened {
        id: id.clone(),
        task: place.name.task.clone(),
        study: place.name.study.clone(),
        approvers: approvers.fingerprints().into_iter().collect(),
        assurance,
    };
    let record = Record::new(0, clock::wall_text(), Actor::Rlx, Event::Opened(opened), NO_RECORD);
    let line = format!("{}\n", record.line());
    let building = place.at(fs.temporary_beside(&place.folder));
    let built = || -> Outcome<()> {
        fs.create_dir(&building.folder)?;
        for folder in [
            building.candidates(),
            building.signatures(),
            building.loops(),
            building.runs(),
            building.audits(),
        ] {
            fs.create_dir(&folder)?;
            fs.write_new(&folder.join(".gitkeep"), b"")?;
            fs.sync_dir(&folder)?;
        }
        fs.write_new(&building.ledger(), line.as_bytes())?;
        state_file::write(context, &building, &ledger::read(line.as_bytes()))?;
        fs.sync_dir(&building.folder)?;
        fs.rename_new(&building.folder, &place.folder)?;
        Ok(fs.sync_dir(place.folder.parent().expect("a study lies in a folder"))?)
    };
    built().inspect_err(|_| drop(fs.remove_dir_all(&building.folder)))?;
    Ok(id)
}
