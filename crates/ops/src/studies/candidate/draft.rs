//! A new candidate's file: known values are filled in, the others are asked for.

use std::path::PathBuf;

use rlxp_fs::FsExt;
use rlxp_govern::change::given_value;
use rlxp_govern::documents::{CandidateKind, Operation, PhasePlan, Slug, StudyName, Surface};
use rlxp_govern::plan::agreed_phases;
use rlxp_govern::scope::matches;
use rlxp_spec::Source;
use rlxp_spec::document::{Document, to_yaml};
use rlxp_types::text::shell_word;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::scripts::{self, FLAG_SYNTAX, Flag, named_files};

/// What is known of a new candidate.
#[derive(Clone, Debug)]
pub struct Draft {
    pub name: String,
    pub kind: CandidateKind,
    /// Why it should help.
    pub hypothesis: Option<String>,
    /// How it is undone.
    pub rollback: Option<String>,
    /// What could go wrong.
    pub risk: Option<String>,
    /// The surface that is changed.
    pub surface: Option<String>,
    /// The file that is changed.
    pub path: Option<String>,
    /// The dotted key that is changed.
    pub key: Option<String>,
    /// Its value before, as YAML.
    pub from: Option<String>,
    /// Its value after, as YAML.
    pub to: Option<String>,
    /// A file with a unified diff.
    pub patch: Option<String>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewReport {
    pub study: StudyName,
    pub candidate: Slug,
    #[serde(serialize_with = "rlxp_types::path_text::serialize")]
    pub file: PathBuf,
    /// Places that a person or an agent must fill in before it can be validated.
    pub open: Vec<String>,
    /// The key that was asked for, when no surface has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_key: Option<UnknownKey>,
    /// That the key is a flag of the train command, when nothing says how its value gets there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<KeyIsFlag>,
}

/// A key that is a flag of the script that trains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyIsFlag {
    pub key: String,
    /// The script.
    pub script: String,
    /// How it takes values.
    pub syntax: &'static str,
    /// The command that agrees on it.
    pub command: String,
}

/// A key that no surface has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnknownKey {
    /// As it was written.
    pub key: String,
    pub nearest: Option<String>,
}

/// A patch that is longer isn't one bounded change.
const LONGEST_PATCH: u64 = 256 << 10;

/// Writes a new candidate's file. An existing one is never overwritten.
pub fn new(context: &Context, study: Option<&str>, draft: &Draft) -> Outcome<NewReport> {
    let opened = OpenStudy::open(context, study)?;
    let id: Slug = draft
        .name
        .parse()
        .map_err(|error: rlxp_govern::documents::NotASlug| Failure::usage("bad_name", error.to_string()))?;
    let file = opened.place.candidate(&id);
    crate::studies::files::read::look(context.fs.as_ref(), &opened.place.root, &file)?;
    if let Some(reason) = &opened.study.state().closed {
        let message = format!("the study is closed: {reason}");
        let hint = format!("rlx study init --task {} --study another-name", opened.study.name.task);
        return Err(Failure::refused("study_closed", message).hint(hint));
    }
    let spelled = Draft { key: draft.key.as_ref().map(|key| as_spelled(&opened, key)), ..draft.clone() };
    let draft = &spelled;
    let flag = draft.key.as_ref().map(|key| flag_of(&opened, key)).transpose()?.flatten();
    let (value, open) = candidate(&opened, &id, draft, flag.as_ref())?;
    context.fs.create_dir_all(&opened.place.candidates())?;
    if !context.fs.write_new_atomic(&file, to_yaml(&value).as_bytes())? {
        let message = format!("candidates/{id}.yaml already exists");
        return Err(Failure::usage("candidate_exists", message)
            .hint(format!("rlx candidate show {id}"))
            .hint(format!("edit {}, or choose another name", file.display())));
    }
    let unknown_key = unknown_key(&opened, draft);
    // Where it is agreed how values are passed, there is nothing to offer.
    let flag = flag.filter(|_| opened.study.files.override_syntax.is_none()).map(|found| KeyIsFlag {
        key: found.flag.name,
        script: found.script,
        syntax: FLAG_SYNTAX,
        command: format!("rlx study audit --override-syntax {}", shell_word(FLAG_SYNTAX)),
    });
    Ok(NewReport { study: opened.study.name.clone(), candidate: id, file, open, unknown_key, flag })
}

/// A key as the surfaces spell it: dashes and underscores are the same to parsers of flags.
fn as_spelled(opened: &OpenStudy, key: &str) -> String {
    let plain = |key: &str| key.replace('-', "_");
    let mut known = surfaces(opened).iter().flat_map(|surface| &surface.keys).map(|allowed| &allowed.key);
    let is_known = known.clone().any(|allowed| allowed == key);
    let same = known.find(|allowed| plain(allowed) == plain(key)).filter(|_| !is_known);
    same.map_or_else(|| key.to_owned(), String::clone)
}

/// A flag of the script that trains.
struct FoundFlag {
    script: String,
    flag: Flag,
}

/// The flag of the train command that a key names.
fn flag_of(opened: &OpenStudy, key: &str) -> Outcome<Option<FoundFlag>> {
    let Some(runbook) = opened.study.files.runbook.typed() else { return Ok(None) };
    let step = &runbook.train;
    let paths = named_files(&step.argv, step.folder.as_deref().unwrap_or_default());
    for script in paths.into_iter().filter(|path| path.ends_with(".py")) {
        let path = opened.place.root.join(&script);
        if !opened.context().fs.is_file(&path)? {
            continue;
        }
        let Ok(text) = opened.context().fs.read_text(&path, super::LONGEST_SOURCE) else { continue };
        if let Some(flag) = scripts::find(&scripts::flags(&text), key) {
            return Ok(Some(FoundFlag { script, flag: flag.clone() }));
        }
    }
    Ok(None)
}

/// The value that an accepted candidate gave to the key through an argument.
fn accepted_value(opened: &OpenStudy, draft: &Draft) -> Option<String> {
    let code = opened.study.training_code(draft.kind)?;
    given_value(opened.study.files.override_syntax.as_deref()?, &code.arguments, draft.key.as_deref()?)
}

fn surfaces(opened: &OpenStudy) -> &[Surface] {
    opened.study.files.surface_map.typed().map(|map| map.surfaces.as_slice()).unwrap_or_default()
}

/// The key that was asked for, when no surface has it.
fn unknown_key(opened: &OpenStudy, draft: &Draft) -> Option<UnknownKey> {
    let key = draft.key.as_ref()?;
    let known: Vec<&str> = surfaces(opened)
        .iter()
        .flat_map(|surface| &surface.keys)
        .map(|allowed| allowed.key.as_str())
        .collect();
    let nearest = rlxp_spec::nearest(key, known.iter().copied()).map(str::to_owned);
    (!known.contains(&key.as_str())).then(|| UnknownKey { key: key.clone(), nearest })
}

fn candidate(
    opened: &OpenStudy,
    id: &Slug,
    draft: &Draft,
    flag: Option<&FoundFlag>,
) -> Outcome<(Value, Vec<String>)> {
    let mut open = Vec::new();
    let mut ask = |place: &str, question: &str| {
        open.push(place.to_owned());
        json!(format!("TODO: {question}"))
    };
    let hypothesis = match &draft.hypothesis {
        Some(text) => json!(text),
        None if draft.kind.is_empty_change() => json!(purpose(draft.kind)),
        None => ask("hypothesis", "why should this help?"),
    };
    let mut value = Map::from_iter([
        ("schema".into(), json!("rlxp.candidate/1")),
        ("id".into(), json!(id)),
        ("task".into(), json!(opened.study.name.task)),
        ("study".into(), json!(opened.study.name.study)),
        ("kind".into(), json!(draft.kind)),
        ("hypothesis".into(), hypothesis),
    ]);
    if !draft.kind.is_empty_change() {
        value.insert("changes".into(), json!([change(opened, draft, flag, &mut ask)?]));
        let mut said = |text: &Option<String>, place: &str, question: &str| {
            text.as_ref().map_or_else(|| ask(place, question), |text| json!(text))
        };
        value.insert("rollback".into(), said(&draft.rollback, "rollback", "how is it undone?"));
        value.insert("risk".into(), said(&draft.risk, "risk", "what could go wrong?"));
    }
    if let Some(requirements) = requirements(draft.kind, &mut ask) {
        value.insert("requirements".into(), requirements);
    }
    let phases = opened.study.contract().map(|contract| agreed_phases(draft.kind, contract));
    let phase =
        |plan: PhasePlan| json!({ "phase": plan.phase, "seeds": plan.seeds, "wall_clock": plan.wall_clock });
    value.insert("phases".into(), phases.unwrap_or_default().into_iter().map(phase).collect());
    Ok((Value::Object(value), open))
}

fn change(
    opened: &OpenStudy,
    draft: &Draft,
    flag: Option<&FoundFlag>,
    ask: &mut impl FnMut(&str, &str) -> Value,
) -> Outcome<Value> {
    let surfaces = surfaces(opened);
    let patch = draft.patch.as_ref().map(|patch| read_patch(opened, patch)).transpose()?;
    let patched = patch.as_ref().map(|patch| rlxp_govern::patch::facts(patch).paths).unwrap_or_default();
    // A patch of several files is refused later, with the reason.
    let named = draft
        .path
        .clone()
        .or_else(|| if let [path] = patched.as_slice() { Some(path.clone()) } else { None });
    let fits = |surface: &&Surface| match (&draft.surface, &draft.key, &named) {
        (Some(name), ..) => surface.id.as_str() == name,
        (None, Some(key), _) => surface.keys.iter().any(|allowed| allowed.key == *key),
        (None, None, Some(path)) => surface.paths.iter().any(|pattern| matches(pattern, path)),
        (None, None, None) => surfaces.len() == 1,
    };
    let surface = surfaces.iter().find(fits);
    let text =
        |known: Option<&String>, place: &str, question: &str, ask: &mut dyn FnMut(&str, &str) -> Value| {
            known.map_or_else(|| ask(place, question), |text| json!(text))
        };
    let only_path = surface.and_then(|surface| match surface.paths.as_slice() {
        [path] if !path.contains(['*', '?']) => Some(path),
        _ => None,
    });
    let mut change = Map::new();
    let id = surface.map(|surface| surface.id.to_string());
    change.insert(
        "surface".into(),
        text(id.as_ref().or(draft.surface.as_ref()), "changes[0].surface", "which surface?", ask),
    );
    let operation = if draft.patch.is_some() { Operation::EditCode } else { Operation::Set };
    change.insert("operation".into(), json!(operation));
    let script = flag.map(|found| &found.script);
    let of_flag = script.filter(|script| {
        surface.is_some_and(|surface| surface.paths.iter().any(|pattern| matches(pattern, script)))
    });
    let path = named.as_ref().or(only_path).or(of_flag);
    change.insert("path".into(), text(path, "changes[0].path", "which file?", ask));
    if let Some(patch) = patch {
        change.insert("patch".into(), json!(patch));
    } else {
        change.insert("key".into(), text(draft.key.as_ref(), "changes[0].key", "which key?", ask));
        let default = flag.filter(|found| path == Some(&found.script)).and_then(|found| found.flag.default);
        // The value of a flag is in no file that could be read when it is applied.
        let from = draft.from.clone().or_else(|| accepted_value(opened, draft));
        if let Some(from) = from.or_else(|| default.map(|default| default.to_string())) {
            change.insert("from".into(), scalar("--from", &from)?);
        }
        let to = match &draft.to {
            Some(to) => scalar("--to", to)?,
            None => ask("changes[0].to", "which value?"),
        };
        change.insert("to".into(), to);
    }
    Ok(Value::Object(change))
}

/// The text of a patch, which the caller named.
fn read_patch(opened: &OpenStudy, patch: &str) -> Outcome<String> {
    let path = opened.context().folder.join(patch);
    if opened.context().fs.metadata_if_any(&path)?.is_none() {
        return Err(Failure::usage("no_such_file", format!("--patch: {} does not exist", path.display())));
    }
    Ok(opened.context().fs.read_text(&path, LONGEST_PATCH)?)
}

/// A value as YAML reads it.
fn scalar(flag: &str, text: &str) -> Outcome<Value> {
    let document = Document::read(Source::new(flag, format!("value: {text}\n")))
        .map_err(|problems| Failure::config(problems.problems, problems.sources))?;
    Ok(document.value()["value"].clone())
}

fn requirements(kind: CandidateKind, ask: &mut impl FnMut(&str, &str) -> Value) -> Option<Value> {
    let wanted: &[(&str, &str)] = match kind {
        CandidateKind::RewardTuning | CandidateKind::RewardEngineering => {
            &[("reflection", "which reward reflection does this build on?")]
        }
        CandidateKind::Randomisation => &[("probe", "which probe summary does this build on?")],
        CandidateKind::EnvironmentGeneration => &[
            ("learnability", "what shows that the new cases can be learned?"),
            ("bridge", "how do they lead from what fails now to the target?"),
            ("diversity", "what keeps them diverse?"),
            ("held_out", "what shows that the held-out evaluation stays as it is?"),
        ],
        _ => return None,
    };
    let fields = wanted
        .iter()
        .map(|(name, question)| ((*name).into(), ask(&format!("requirements.{name}"), question)));
    Some(Value::Object(fields.collect()))
}

fn purpose(kind: CandidateKind) -> &'static str {
    match kind {
        CandidateKind::Baseline => "what everything is compared with",
        CandidateKind::Smoke => "training works at all",
        CandidateKind::Probe => "what one parameter of the environment does",
        _ => "the accepted state holds on fresh seeds",
    }
}
