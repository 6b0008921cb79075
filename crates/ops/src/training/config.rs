//! `rlx config`: reading and checking a config, with what only the
//! environments know added to what the file format can check.

use std::path::Path;

use rlxp_fs::FsExt;
use rlxp_spec::{Config, Known, Loaded, Problem, Severity, Snapshot, Source};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::training::bridge::is_foreign;
use crate::training::envs::SOURCES;
use crate::training::envs::known_ids;
use crate::training::notes::notes;
use crate::training::old_rules;

/// Largest config that is read.
const CONFIG_CAP: u64 = 1 << 20;

/// A config that can be used, and what to say about it.
pub struct Checked {
    /// The resolved config.
    pub config: Config,
    pub overrides: Vec<rlxp_spec::Override>,
    /// What training rounds, a sentence each.
    pub notes: Vec<String>,
    /// Warnings, with their places.
    pub warnings: Vec<Problem>,
    /// The texts that warnings point into.
    pub sources: Vec<Source>,
}

/// How strict a check is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Only look: an environment that is not here is a warning.
    Check,
    /// Train: it is an error.
    Train,
}

/// Reads and checks the config at `path` with `key=value` overrides.
pub fn check(context: &Context, path: &Path, overrides: &[String], purpose: Purpose) -> Outcome<Checked> {
    let source = read(context, path)?;
    let snapshot = old_rules::snapshot_format(path, &source);
    let mut checked = check_source(context, source, overrides, purpose)?;
    // A number that is set now is meant by today's rules.
    let is_set = checked.overrides.iter().any(|set| set.key == "eval.episodes");
    if let Some(format) = snapshot.filter(|_| !is_set) {
        let asked = checked.config.eval.episodes;
        checked.config = old_rules::as_trained(Snapshot { config: checked.config, format });
        let played = checked.config.eval.episodes;
        if played != asked {
            checked.notes.push(format!(
                "using eval.episodes {played} instead of {asked}, as in the original run; override it with --set eval.episodes"
            ));
        }
    }
    Ok(checked)
}

/// Checks a config text.
pub fn check_source(
    context: &Context,
    source: Source,
    overrides: &[String],
    purpose: Purpose,
) -> Outcome<Checked> {
    let ids = known_ids();
    let known = Known { env_ids: &ids, cores: context.cores };
    let mut loaded = rlxp_spec::load(&source, overrides, &known).map_err(|found| {
        let problems = found.problems.into_iter().filter_map(|problem| judged(problem, purpose)).collect();
        Failure::config(problems, found.sources)
    })?;
    let mut errors = environment_problems(&loaded);
    let judged =
        std::mem::take(&mut loaded.warnings).into_iter().filter_map(|warning| judged(warning, purpose));
    let (blocking, warnings): (Vec<_>, Vec<_>) =
        judged.partition(|problem| problem.severity == Severity::Error);
    errors.extend(blocking);
    if !errors.is_empty() {
        return Err(Failure::config(errors, loaded.sources));
    }
    let Loaded { config, overrides, sources, .. } = loaded;
    Ok(Checked { notes: notes(&config), config, overrides, warnings, sources })
}

/// An unknown environment is a warning for commands that read and an error for commands that train. Another device
/// stays a warning: the CPU gives the same result, later.
fn judged(mut problem: Problem, purpose: Purpose) -> Option<Problem> {
    let named = problem.message.strip_prefix("unknown environment `").and_then(|rest| rest.strip_suffix('`'));
    if let Some(id) = named.filter(|id| is_foreign(id)) {
        if purpose == Purpose::Train {
            return None;
        }
        problem.message = format!("`{id}` is not built in; training creates it with Python's Gymnasium");
    }
    let blocks = purpose == Purpose::Train && problem.path == "env.id";
    let severity = if blocks { Severity::Error } else { problem.severity };
    Some(Problem { severity, ..problem })
}

/// Reads a config as text.
fn read(context: &Context, path: &Path) -> Outcome<Source> {
    let full = context.folder.join(path);
    let name = path.display().to_string();
    match context.fs.read_given_text(&full, CONFIG_CAP) {
        Ok(text) => Ok(Source { name, text }),
        Err(error) if error.is_not_found() => {
            Err(Failure::usage("config_not_found", format!("config file {name} not found"))
                .hint("rlx init demo    # create a project with a starter config for every environment"))
        }
        Err(error) => Err(Failure::usage("config_unreadable", crate::failure::describe(&error))),
    }
}

/// Problems that only the environment can see: keyword arguments, maps.
fn environment_problems(loaded: &Loaded) -> Vec<Problem> {
    let id = &loaded.config.env.id;
    if SOURCES.find(id).is_err() || is_foreign(id) {
        return Vec::new();
    }
    match SOURCES.spaces(&loaded.config.env) {
        Ok(_) => Vec::new(),
        Err(error) => error
            .problems()
            .iter()
            .map(|problem| {
                let hint = problem.nearest.as_ref().map(|nearest| format!("did you mean {nearest}?"));
                loaded.problem(&problem.path, problem.message.clone(), hint)
            })
            .collect(),
    }
}
