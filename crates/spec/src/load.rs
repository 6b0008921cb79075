//! From a user's file to a resolved config, with every problem on the way.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::check::{Checked, Checker};
use crate::config::Config;
use crate::nearest::nearest;
use crate::overrides::{self, Override};
use crate::problem::{Collector, Problem, Problems, Severity};
use crate::relations::{self, Settled};
use crate::resolve::{self, Layers};
use crate::source::Source;
use crate::starters;
use crate::tree::{self, Kind};

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

/// Where each key stands: the source's index and the span within it.
type Places = BTreeMap<String, (usize, Range<usize>)>;

impl Loaded {
    /// An error of the caller's own about the key `path`, located there or at
    /// the nearest key that holds it.
    pub fn problem(&self, path: &str, message: String, hint: Option<String>) -> Problem {
        located(&self.places, &self.sources, path, message, hint)
    }
}

/// Reads, checks and resolves a config. Reports every problem at once.
pub fn load(source: &Source, overrides: &[String], known: &Known<'_>) -> Result<Loaded, Problems> {
    let mut problems = Collector::default();
    let set = overrides::source(overrides);
    let tree = tree::parse(source, 0..source.text.len(), &mut problems);
    let mut checker = Checker::new(source, &mut problems);
    if let Some(root) = &tree {
        checker.root(root);
    }
    let file = checker.checked;
    let (set_checked, recorded) = overrides::check(&set, &mut problems);
    let sources = vec![source.clone(), set];
    let places = places(&file, &set_checked);
    // Where nothing could be read, nothing can be said to be missing.
    let config = tree.filter(|root| matches!(root.kind, Kind::Mapping(_))).and_then(|_| {
        let mut report = |path: &str, severity, message: String, hint| {
            problems.push(|| Problem { severity, ..located(&places, &sources, path, message, hint) });
        };
        settle(file, set_checked, known, &mut report)
    });
    let problems = problems.into_sorted(&sources);
    match config {
        Some(config) if problems.iter().all(|problem| problem.severity == Severity::Warning) => {
            Ok(Loaded { config, warnings: problems, overrides: recorded, sources, places })
        }
        _ => Err(Problems { problems, sources }),
    }
}

/// Takes a problem at a key: path, severity, message, hint.
pub(crate) type Report<'a> = dyn FnMut(&str, Severity, String, Option<String>) + 'a;

fn settle(mut file: Checked, set: Checked, known: &Known<'_>, report: &mut Report<'_>) -> Option<Config> {
    let overridden: Vec<&str> = set.values.keys().copied().collect();
    file.failed.retain(|path| !overridden.contains(path));
    file.failed.extend(&set.failed);
    let id = resolve::text(&[&set.values, &file.values], "env.id");
    let starter = id.and_then(starters::values_for);
    let defaults = starters::general();
    let mut layers = vec![&set.values, &file.values];
    layers.extend(starter);
    layers.push(defaults);
    let layers = Layers { layers, chosen: 2, added_kwargs: &set.added_kwargs };

    if id.is_none() && !file.failed.contains("env.id") {
        let message = "`env.id` is missing: which environment?".to_owned();
        report("env.id", Severity::Error, message, Some("env: {id: CartPole-v1}".to_owned()));
    }
    relations::check(&Settled { layers: &layers, failed: &file.failed }, report);
    if let Some(id) = id
        && !known.env_ids.contains(&id)
    {
        let near = nearest(id, known.env_ids.iter().copied());
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        report("env.id", Severity::Warning, format!("there is no environment `{id}` here"), hint);
    }
    if let Some(device) = layers.text("device")
        && device != resolve::CPU
    {
        if is_device(device) {
            let message = format!("device `{device}` is not available; training runs on the CPU");
            report("device", Severity::Warning, message, Some("device: cpu".to_owned()));
        } else {
            let message =
                format!("`{device}` is not a device: cpu, auto, cuda, cuda:N, mps, xpu and tpu are");
            report("device", Severity::Error, message, Some("device: cpu".to_owned()));
        }
    }
    let complete = id.is_some() && file.failed.is_empty();
    complete.then(|| resolve::config(&layers, known.cores))
}

fn places(file: &Checked, set: &Checked) -> Places {
    let of_file = file.places.iter().map(|(path, span)| (path.clone(), (0, span.clone())));
    let of_set = set.places.iter().map(|(path, span)| (path.clone(), (1, span.clone())));
    of_file.chain(of_set).collect()
}

/// An error at `path`, or at the nearest parent that is written somewhere.
fn located(
    places: &Places,
    sources: &[Source],
    path: &str,
    message: String,
    hint: Option<String>,
) -> Problem {
    let mut at = path;
    loop {
        if let Some((index, span)) = places.get(at) {
            return Problem { hint, ..sources[*index].problem(span.clone(), path, message) };
        }
        match at.rfind(['.', '[']) {
            Some(cut) => at = &at[..cut],
            None => return Problem { hint, ..sources[0].problem(0..0, path, message) },
        }
    }
}

/// Names of devices that other stacks know.
fn is_device(name: &str) -> bool {
    let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
    matches!(kind, "auto" | "cuda" | "gpu" | "mps" | "xpu" | "tpu") && number.parse::<u32>().is_ok()
}
