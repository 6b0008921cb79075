//! From a user's file to a resolved config, with every problem on the way.

use serde_json::Value;

use crate::config::Config;
use crate::config::rules::{self, Facts};
use crate::document::span_tree::is_within;
use crate::keys::{Chosen, Shape, at};
use crate::layers::{self, Assignment, File, Layers};
use crate::nearest::nearest;
use crate::overrides::{self, Override};
use crate::problem::{Collector, Problem, Problems, Severity};
use crate::source::Source;
use crate::starters;

/// What the caller knows and a config can't.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Ids and aliases of the environments that exist.
    pub env_ids: &'a [&'a str],
    /// Cores of this machine: what `threads: 0` means.
    pub cores: usize,
}

/// A config that can be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Every default filled in.
    pub config: Config,
    /// What can't be had here: another device than the CPU, an unknown environment.
    pub warnings: Vec<Problem>,
    /// What `--set` changed, in the order given.
    pub overrides: Vec<Override>,
    /// The texts, for [`render`](crate::render).
    pub sources: Vec<Source>,
    places: Places,
}

/// Where each key is: in the file, or in an override above it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) file: File,
    pub(crate) assignments: Vec<Assignment>,
}

impl Places {
    /// An error at `path`, or at the nearest parent that is written somewhere.
    pub(crate) fn located(&self, sources: &[Source], path: &str, message: String) -> Problem {
        match self.assignments.iter().find(|assignment| is_within(path, &assignment.path)) {
            Some(Assignment { path: own, value, place }) => {
                let span = place.find(value, &path[own.len()..]).span(&sources[1].text);
                sources[1].problem(span, path, message)
            }
            None => {
                let span = self.file.place.find(&self.file.value, path).span(&sources[0].text);
                sources[0].problem(span, path, message)
            }
        }
    }
}

impl Loaded {
    /// An error of the caller's own about the key `path`, located there or at
    /// the nearest key that holds it.
    pub fn problem(&self, path: &str, message: String, hint: Option<String>) -> Problem {
        Problem { hint, ..self.places.located(&self.sources, path, message) }
    }
}

/// Reads, checks and resolves a config. Reports every problem at once.
pub fn load(source: &Source, overrides: &[String], known: &Known<'_>) -> Result<Loaded, Problems> {
    let mut problems = Collector::default();
    let shape = Shape::config();
    let sources = vec![source.clone(), overrides::source(overrides)];
    let file = layers::read(shape, source, &mut problems);
    let (assignments, recorded) = overrides::read(&sources[1], &mut problems);
    let mut places = Places { file: file.unwrap_or_default(), assignments };
    let config = resolve(shape, &mut places, &sources, known, &mut problems);
    let problems = problems.into_sorted(&sources);
    match config {
        Some(config) if problems.iter().all(|problem| problem.severity == Severity::Warning) => {
            Ok(Loaded { config, warnings: problems, overrides: recorded, sources, places })
        }
        _ => Err(Problems { problems, sources }),
    }
}

fn resolve(
    shape: &Shape,
    places: &mut Places,
    sources: &[Source],
    known: &Known<'_>,
    problems: &mut Collector,
) -> Option<Config> {
    let Places { file, assignments } = &*places;
    let written = |path: &str| {
        let assigned = assignments.iter().find(|assignment| assignment.path == path);
        assigned.map(|assignment| &assignment.value).or_else(|| at(&file.value, path))
    };
    let id = written("env.id").and_then(Value::as_str);
    let starter = id.and_then(starters::layer_for);
    let tags = shape.tags(|path| written(path).or_else(|| starter?.values.get(path)));
    let chosen = Chosen { shape, tags: &tags };
    let is_read = file.value.is_object();
    let of_file = if is_read { file.check(&chosen, &sources[0], problems) } else { layers::Layer::default() };
    let assigned = layers::check_assigned(&mut places.assignments, &chosen, &sources[1], problems);
    if !is_read {
        // If nothing could be read, nothing is reported as missing.
        return None;
    }
    let layers = Layers { chosen, assigned: &assigned, file: &of_file, starter };
    let failed = layers.failed();
    let facts = Facts { failed: &failed, is_chosen: &|path| layers.is_chosen(path) };
    let mut report = |path: &str, severity, message: String, hint| {
        problems.push(|| Problem { severity, hint, ..places.located(sources, path, message) });
    };
    let values = layers.merged();
    match values.get("env.id").and_then(Value::as_str) {
        Some(id) if !known.env_ids.contains(&id) => {
            let near = nearest(id, known.env_ids.iter().copied());
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            report("env.id", Severity::Warning, format!("unknown environment `{id}`"), hint);
        }
        None if !failed.contains("env.id") => {
            let message = "`env.id` is missing: which environment?".to_owned();
            report("env.id", Severity::Error, message, Some("env: {id: CartPole-v1}".to_owned()));
        }
        _ => {}
    }
    if let Some(device) = values.get("device").and_then(Value::as_str) {
        rules::check_device(device, &mut report);
    }
    rules::resolve(values, &facts, known.cores, &mut report).filter(|_| failed.is_empty())
}
