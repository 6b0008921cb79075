//! How far a config lies from the starter for its environment, key by key.
//!
//! A starter is known to learn, so a key far from it is worth a look, though
//! not proof. Distances are in tolerances: 1 is as far as configs that still
//! learn well may lie.

use serde_json::{Value, json};

use super::Change;
use super::fitted::{BUDGET, fitted};
use super::knowledge::{Key, Measure};
use super::setting::{Settings, rollout, same, top, written};

/// A wrapper that evaluations use too; without it, the task would be a different one.
const EVALUATED: &str = "freeze_observation";
/// A discount that looks further ahead than this looks as far as episodes go.
const FURTHEST: f64 = 1e3;
/// The number used for a missing cap.
const NO_CAP: f64 = 1e3;
/// A rollout of the starter's size must fit into the budget this often.
const FEWEST_ROLLOUTS: u64 = 10;
/// Keys that only apply to continuous actions.
const CONTINUOUS: [&str; 2] = ["policy.log_std_init", "policy.use_sde"];

/// A key that lies far from the starter's.
#[derive(Clone, Debug)]
pub(super) struct Deviation<'a> {
    pub(super) key: &'a Key,
    pub(super) distance: f64,
    pub(super) changes: Vec<Change>,
}

impl Deviation<'_> {
    /// What differs, with both values.
    pub(super) fn sentence(&self, env: &str) -> String {
        let changed: Vec<String> = self
            .changes
            .iter()
            // It keeps the steps as they are; the starter has another number.
            .filter(|change| change.key != BUDGET)
            .map(|change| {
                format!("{} is {} in this run and {}", change.key, written(&change.from), written(&change.to))
            })
            .collect();
        format!("{} in the starter for {env}; {}.", changed.join(", "), self.key.why)
    }
}

/// Everything that lies further from the starter than is tolerated, furthest first.
pub(super) fn deviations<'a>(
    keys: &'a [Key],
    settings: &Settings,
    starter: &Settings,
    continuous: Option<bool>,
) -> Vec<Deviation<'a>> {
    let mut found: Vec<Deviation<'a>> = distances(keys, settings, starter, continuous)
        .filter_map(|(key, distance)| {
            let changes = if distance > 1.0 { changes(key, settings, starter) } else { Vec::new() };
            (!changes.is_empty()).then_some(Deviation { key, distance, changes })
        })
        .collect();
    // A rollout brings its batch size along.
    let taken: Vec<String> = found
        .iter()
        .filter(|deviation| deviation.key.key == "rollout")
        .flat_map(|deviation| deviation.changes.iter().map(|change| change.key.clone()))
        .collect();
    found.retain(|deviation| !taken.contains(&deviation.key.key));
    found.sort_by(|a, b| b.distance.total_cmp(&a.distance).then(a.key.key.cmp(&b.key.key)));
    found
}

/// Whether a key lies further from the starter than is tolerated, even where its value can't be taken over.
pub(super) fn is_far(
    keys: &[Key],
    settings: &Settings,
    starter: &Settings,
    continuous: Option<bool>,
) -> bool {
    distances(keys, settings, starter, continuous).any(|(_, distance)| distance > 1.0)
}

fn distances<'a>(
    keys: &'a [Key],
    settings: &Settings,
    starter: &Settings,
    continuous: Option<bool>,
) -> impl Iterator<Item = (&'a Key, f64)> {
    keys.iter()
        .filter(move |key| continuous != Some(false) || !CONTINUOUS.contains(&key.key.as_str()))
        .filter_map(move |key| Some((key, distance(key, settings, starter)?)))
}

fn distance(key: &Key, settings: &Settings, starter: &Settings) -> Option<f64> {
    let (here, there) = if key.key == "rollout" {
        (json!(rollout(settings)?), json!(rollout(starter)?))
    } else {
        (settings.get(&key.key)?.clone(), starter.get(&key.key)?.clone())
    };
    let number = |value: &Value| if value.is_null() { Some(NO_CAP) } else { top(value) };
    let horizon = |value: &Value| top(value).map(|x| 1.0 / (1.0 - x).max(1.0 / FURTHEST));
    let narrowest = |value: &Value| value.as_array()?.iter().filter_map(Value::as_f64).min_by(f64::total_cmp);
    match key.measure {
        Measure::Ratio { below, above } => in_tolerances(number(&here)?, number(&there)?, below, above),
        Measure::Horizon { below, above } => in_tolerances(horizon(&here)?, horizon(&there)?, below, above),
        Measure::Offset { offset, below, above } => {
            in_tolerances(top(&here)? + offset, top(&there)? + offset, below, above)
        }
        Measure::Exponent { below, above } => {
            in_tolerances(top(&here)?.exp(), top(&there)?.exp(), below, above)
        }
        Measure::Width { below, above } => in_tolerances(narrowest(&here)?, narrowest(&there)?, below, above),
        Measure::Limit { limit } => match (top(&here), there.is_null()) {
            (Some(here), true) if here < limit => Some(1.0 + (limit / here.max(1e-12)).log10()),
            _ => None,
        },
        Measure::Flag { missing, extra } => match (here.as_bool()?, there.as_bool()?) {
            (false, true) => Some(missing),
            (true, false) => Some(extra),
            _ => None,
        },
        Measure::Wrappers { distance } => {
            let extra = |value: &Value| {
                value.as_array().map(|all| !without_training_wrappers(all, None).1.is_empty())
            };
            (extra(&here)? && !extra(&there)?).then_some(distance)
        }
    }
}

/// By how many tolerances `here` lies off `there`; both must be above 0.
fn in_tolerances(here: f64, there: f64, below: f64, above: f64) -> Option<f64> {
    let ratio = here.max(1e-12) / there.max(1e-12);
    let distance = if ratio < 1.0 { -ratio.ln() / below.ln() } else { ratio.ln() / above.ln() };
    distance.is_finite().then_some(distance)
}

fn changes(key: &Key, settings: &Settings, starter: &Settings) -> Vec<Change> {
    let to_starter = |keys: &[&str]| -> Vec<Change> {
        keys.iter().filter_map(|key| Change::between(key, settings.get(*key)?, starter.get(*key)?)).collect()
    };
    match key.key.as_str() {
        "rollout" => {
            let budget = settings.get(BUDGET).and_then(Value::as_u64).unwrap_or(0);
            let fits = rollout(starter).is_some_and(|size| size.saturating_mul(FEWEST_ROLLOUTS) <= budget);
            // Smaller rollouts mean more updates, whatever the budget.
            if fits || rollout(starter) < rollout(settings) {
                let changes = to_starter(&["env.num_envs", "algo.rollout_steps", "algo.batch_size"]);
                fitted(changes, settings, starter)
            } else {
                Vec::new()
            }
        }
        "algo.batch_size" => {
            let fits = starter.get("algo.batch_size").and_then(Value::as_u64) <= rollout(settings);
            if fits { to_starter(&["algo.batch_size"]) } else { Vec::new() }
        }
        // A batch of one sample has no deviation to normalise by.
        "algo.normalize_advantages" if settings.get("algo.batch_size") == Some(&json!(1)) => Vec::new(),
        "policy.use_sde" => to_starter(&["policy.use_sde", "policy.sde_sample_freq"]),
        "env.wrappers" => dropped(settings, None).into_iter().collect(),
        one => to_starter(&[one]),
    }
}

/// The wrappers without those that only training has: all of them, or the one called `name`.
pub(super) fn dropped(settings: &Settings, name: Option<&str>) -> Option<Change> {
    let from = settings.get("env.wrappers")?;
    let (kept, gone) = without_training_wrappers(from.as_array()?, name);
    if gone.is_empty() {
        return None;
    }
    Change::between("env.wrappers", from, &Value::Array(kept))
}

fn without_training_wrappers(all: &[Value], name: Option<&str>) -> (Vec<Value>, Vec<Value>) {
    all.iter().cloned().partition(|wrapper| {
        let own = match wrapper {
            Value::String(own) => own.as_str(),
            Value::Object(parts) => parts.keys().next().map_or("", String::as_str),
            _ => "",
        };
        // Only a finding about this very wrapper takes it out.
        let is_evaluated = own == EVALUATED && name != Some(EVALUATED);
        is_evaluated || name.is_some_and(|name| name != own)
    })
}

impl Change {
    /// The deviation of one value from another; `None` if they are the same.
    pub(super) fn between(key: &str, from: &Value, to: &Value) -> Option<Self> {
        (!same(from, to)).then(|| Self { key: key.to_owned(), from: from.clone(), to: to.clone() })
    }
}
