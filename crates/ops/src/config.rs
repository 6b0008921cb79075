//! `rlx config`: reading and checking a config, with what only the
//! environments know added to what the file format can check.

use std::path::Path;

use rlxp_fs::FsExt;
use rlxp_spec::{Config, Known, Loaded, Problem, Severity, Source};

use crate::context::Context;
use crate::envs::known_ids;
use crate::failure::{Failure, Outcome};

/// Largest config that is read.
const CONFIG_CAP: u64 = 1 << 20;

/// A config that can be used, and what to say about it.
pub struct Checked {
    /// The resolved config.
    pub config: Config,
    /// Overrides as given.
    pub overrides: Vec<rlxp_spec::Override>,
    /// Warnings, with their places.
    pub warnings: Vec<Problem>,
    /// The texts that warnings point into.
    pub sources: Vec<Source>,
}

/// How strict a check is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Only look: an environment or device that is not here is a warning.
    Check,
    /// Train: it is an error.
    Train,
}

/// Reads and checks the config at `path` with `key=value` overrides.
pub fn check(context: &Context, path: &Path, overrides: &[String], purpose: Purpose) -> Outcome<Checked> {
    let source = read(context, path)?;
    check_source(context, source, overrides, purpose)
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
    let sources = || vec![source.clone()];
    let loaded = rlxp_spec::load(&source, overrides, &known)
        .map_err(|problems| Failure::config(problems.problems, problems.sources))?;
    let mut errors = environment_problems(&loaded);
    let mut warnings = loaded.warnings;
    if purpose == Purpose::Train {
        // Whatever would keep this config from training here.
        let (blocking, other): (Vec<_>, Vec<_>) =
            warnings.into_iter().partition(|warning| matches!(warning.path.as_str(), "device" | "env.id"));
        errors.extend(blocking.into_iter().map(|warning| Problem { severity: Severity::Error, ..warning }));
        warnings = other;
    }
    if !errors.is_empty() {
        return Err(Failure::config(errors, sources()));
    }
    Ok(Checked { config: loaded.config, overrides: loaded.overrides, warnings, sources: sources() })
}

/// Reads a config as text.
fn read(context: &Context, path: &Path) -> Outcome<Source> {
    let full = context.folder.join(path);
    let name = path.display().to_string();
    match context.fs.read_text(&full, CONFIG_CAP) {
        Ok(text) => Ok(Source { name, text }),
        Err(error) if error.is_not_found() => {
            Err(Failure::usage("config_not_found", format!("there is no config {name}"))
                .hint("rlx init demo    # a project with a starter config for every environment"))
        }
        Err(error) => Err(Failure::usage("config_unreadable", crate::failure::describe(&error))),
    }
}

/// Problems that only the environment can see: keyword arguments, maps.
fn environment_problems(loaded: &Loaded) -> Vec<Problem> {
    if rlxp_env::find(&loaded.config.env.id).is_err() {
        return Vec::new();
    }
    match rlxp_env::observation_and_action_space(&loaded.config.env) {
        Ok(_) => Vec::new(),
        Err(error) => error
            .problems
            .iter()
            .map(|problem| {
                let hint = problem.nearest.as_ref().map(|nearest| format!("did you mean {nearest}?"));
                loaded.problem(&problem.path, problem.message.clone(), hint)
            })
            .collect(),
    }
}
