//! What a remedy changes in a config: each step as a change of one key.

use serde_json::{Value, json};

use super::knowledge::{Operation, Remedy, Step};
use super::setting::{Settings, fading, mapped, rollout, same, top};
use super::{Change, Reference, deviation};

/// Numbers within this factor are the same to a remedy.
const NEARLY: f64 = 1.2;

/// Where a changed value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The starter for this environment is in that direction.
    Starter,
    /// The value is outside the usual range; the general default is used.
    Default,
    /// A step that is worth trying in general.
    Step,
}

/// The changes a remedy makes to a config; `None` without any.
pub(super) fn changes(
    remedy: &Remedy,
    settings: &Settings,
    reference: Option<&Reference>,
) -> Option<(Vec<Change>, Origin)> {
    let mut origin = Origin::Starter;
    let mut changes = Vec::new();
    for step in &remedy.steps {
        let Some((change, from)) = change(step, settings, reference) else { continue };
        origin = origin.max(from);
        changes.push(change);
    }
    (!changes.is_empty()).then_some((changes, origin))
}

fn change(step: &Step, settings: &Settings, reference: Option<&Reference>) -> Option<(Change, Origin)> {
    let key = step.key.as_str();
    let from = settings.get(key)?;
    let known = reference.and_then(|reference| reference.settings.get(key));
    let is_starter = reference.is_some_and(|reference| reference.is_starter);
    let (to, origin) = match &step.operation {
        Operation::Scale { by, usual, .. } => {
            let number = top(from)?;
            let raises = *by > 1.0;
            let lies_that_way = |value: &Value| {
                top(value).is_some_and(|there| {
                    let (low, high) = if raises { (number, there) } else { (there, number) };
                    high > low * NEARLY && high - low > f64::EPSILON
                })
            };
            // A batch can't be larger than the rollout it is taken from.
            let fits = |value: &Value| key != "algo.batch_size" || value.as_u64() <= rollout(settings);
            let outside = usual.is_some_and(|(low, high)| if raises { number < low } else { number > high });
            match known {
                Some(known) if is_starter && lies_that_way(known) && fits(known) => {
                    (known.clone(), Origin::Starter)
                }
                Some(known) if !is_starter && outside && lies_that_way(known) && fits(known) => {
                    (known.clone(), Origin::Default)
                }
                _ => (scaled(key, &step.operation, from, settings)?, Origin::Step),
            }
        }
        Operation::Add { by, low } => {
            let number = top(from)?;
            match known
                .filter(|known| is_starter && top(known).is_some_and(|there| (there - number) * by > 0.0))
            {
                Some(known) => (known.clone(), Origin::Starter),
                None if number + by < *low => return None,
                None => (mapped(from, |number| number + by)?, Origin::Step),
            }
        }
        Operation::Set { value } => (value.clone(), origin_of(value, known, is_starter)),
        Operation::Fill { value } => {
            if !from.is_null() {
                return None;
            }
            (value.clone(), origin_of(value, known, is_starter))
        }
        Operation::AtMost { value } => {
            if top(from).is_some_and(|number| number <= *value) {
                return None;
            }
            (json!(value), origin_of(&json!(value), known, is_starter))
        }
        Operation::Decay => {
            if from.is_object() {
                return None;
            }
            let number = top(from)?;
            match known.filter(|known| is_starter && known.is_object() && top(known) == Some(number)) {
                Some(known) => (known.clone(), Origin::Starter),
                None => (fading(number), Origin::Step),
            }
        }
        Operation::Replace { value, to } => {
            if !same(from, value) {
                return None;
            }
            (to.clone(), origin_of(to, known, is_starter))
        }
        Operation::DropWrapper { value } => {
            let origin = if is_starter { Origin::Starter } else { Origin::Step };
            return Some((deviation::dropped(settings, Some(value))?, origin));
        }
    };
    Some((Change::between(key, from, &to)?, origin))
}

fn origin_of(value: &Value, known: Option<&Value>, is_starter: bool) -> Origin {
    if is_starter && known.is_some_and(|known| same(known, value)) { Origin::Starter } else { Origin::Step }
}

/// A scaled value within its bounds; `None` if it is already at one.
fn scaled(key: &str, operation: &Operation, from: &Value, settings: &Settings) -> Option<Value> {
    let Operation::Scale { by, low, high, floor, zero_below, .. } = operation else { return None };
    let raises = *by > 1.0;
    // A batch can't be larger than the rollout it is taken from.
    let high = if key == "algo.batch_size" { rollout(settings).map(|size| size as f64) } else { *high };
    let number = top(from)?;
    let at_its_end = match (raises, low, high) {
        (true, _, Some(high)) => number >= high,
        (false, Some(low), _) => number <= *low,
        _ => number == 0.0 && floor.is_none(),
    };
    if at_its_end {
        return None;
    }
    let wanted = number * by;
    let wanted = floor.map_or(wanted, |floor| wanted.max(floor));
    let wanted = high.filter(|_| raises).map_or(wanted, |high| wanted.min(high));
    let wanted = low.filter(|_| !raises).map_or(wanted, |low| wanted.max(low));
    let wanted = if zero_below.is_some_and(|least| wanted < least) { 0.0 } else { wanted };
    if number == 0.0 {
        return mapped(from, |_| wanted);
    }
    mapped(from, |value| value * (wanted / number))
}
