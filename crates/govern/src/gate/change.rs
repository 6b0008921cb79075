//! Gates over what a candidate changes: values in their range, one thing at a time.

use serde_json::Value;

use super::{Answers, Question, RefusalCode};
use crate::documents::is_answered;
use crate::documents::{Change, Operation, SurfaceKey};
use crate::section::Section;

/// Every value is in the range of its surface.
pub(super) fn ranges(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let surfaces =
        question.study.files.surface_map.typed().map(|map| map.surfaces.as_slice()).unwrap_or_default();
    for (index, change) in view.written.typed.changes.iter().enumerate() {
        let Some(key) = &change.key else { continue };
        let surface = surfaces.iter().find(|surface| surface.id == change.surface);
        let allowed = surface.and_then(|surface| surface.keys.iter().find(|allowed| allowed.key == *key));
        for (code, reason) in problems(key, change, allowed) {
            let place = format!("candidates/{}.yaml: changes[{index}]", view.file_name);
            answers.refuse(code, reason, place, format!("rlx candidate show {}", view.file_name));
        }
    }
}

fn problems(key: &str, change: &Change, allowed: Option<&SurfaceKey>) -> Vec<(RefusalCode, String)> {
    let Some(allowed) = allowed else {
        return vec![(RefusalCode::RangeUnknown, format!("no surface defines the allowed values of {key}"))];
    };
    if change.operation == Operation::Remove {
        return Vec::new();
    }
    let Some(to) = &change.to else {
        return vec![(RefusalCode::NoValue, format!("{key} has no new value"))];
    };
    let mut found = Vec::new();
    match change.operation {
        Operation::Scale => match (number(change.from.as_ref()), number(Some(to))) {
            (Some(from), Some(factor)) => found.extend(outside(key, &Value::from(from * factor), allowed)),
            _ => found.push((RefusalCode::NotANumber, format!("scaling {key} needs a number and a factor"))),
        },
        // Every number of a schedule is a value that the key will have.
        Operation::Schedule => {
            let numbers = numbers(to);
            if numbers.is_empty() {
                found.push((RefusalCode::NotANumber, format!("the schedule of {key} has no number")));
            }
            if let Some(text) = hidden_number(to) {
                let reason = format!("the schedule of {key} contains {text:?}: numbers must not be quoted");
                found.push((RefusalCode::NotANumber, reason));
            }
            found.extend(numbers.into_iter().filter_map(|value| outside(key, &Value::from(value), allowed)));
        }
        _ => found.extend(outside(key, to, allowed)),
    }
    if change.from.as_ref() == Some(to) && change.operation != Operation::Scale {
        found.push((RefusalCode::ChangesNothing, format!("{key} is already {to}")));
    }
    found
}

pub(super) fn outside(key: &str, value: &Value, allowed: &SurfaceKey) -> Option<(RefusalCode, String)> {
    if !allowed.values.is_empty() {
        let listed = || allowed.values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        return (!allowed.values.contains(value))
            .then(|| (RefusalCode::OutOfRange, format!("{key} must be one of {}, not {value}", listed())));
    }
    let Some(number) = number(Some(value)) else {
        return Some((RefusalCode::NotANumber, format!("{key} has a range, but {value} is not a number")));
    };
    let low = allowed.min.unwrap_or(f64::NEG_INFINITY);
    let high = allowed.max.unwrap_or(f64::INFINITY);
    // Written so that a number that can't be compared is outside, and a range without ends holds nothing.
    let inside = (allowed.min.is_some() || allowed.max.is_some()) && number >= low && number <= high;
    (!inside)
        .then(|| (RefusalCode::OutOfRange, format!("{key} must be between {low} and {high}, not {number}")))
}

/// The numbers that a key will have after a change.
pub(super) fn new_values(change: &Change) -> Vec<f64> {
    match (change.operation, &change.to) {
        (Operation::Remove, _) | (_, None) => Vec::new(),
        (Operation::Scale, Some(to)) => {
            let product =
                number(change.from.as_ref()).zip(number(Some(to))).map(|(from, factor)| from * factor);
            product.into_iter().collect()
        }
        (_, Some(to)) => numbers(to),
    }
}

fn number(value: Option<&Value>) -> Option<f64> {
    value.and_then(Value::as_f64).filter(|number| number.is_finite())
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(_) => number(Some(value)).into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Object(fields) => fields.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

/// A text that a program may parse as a number that no range was checked against, such as `lin_0.5`
/// or `inf`.
fn hidden_number(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => {
            let is_one =
                text.chars().any(char::is_numeric) || text.trim().trim_matches('.').parse::<f64>().is_ok();
            is_one.then_some(text)
        }
        Value::Array(items) => items.iter().find_map(hidden_number),
        Value::Object(fields) => fields.values().find_map(hidden_number),
        _ => None,
    }
}

/// A candidate says why it should help, and one that changes something how that is undone. Its evidence
/// exists: a run or a record of this study, or a file in its folder.
pub(super) fn candidate_complete(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let candidate = &view.written.typed;
    let changes = !candidate.kind.is_empty_change();
    let texts = [
        (Some(candidate.hypothesis.as_str()), true, "hypothesis"),
        (candidate.rollback.as_deref(), changes, "rollback"),
        (candidate.risk.as_deref(), false, "risk"),
    ];
    for (text, needed, name) in texts {
        let answered = text.map_or(!needed, is_answered);
        if !answered {
            answers.refuse(
                RefusalCode::CandidateIncomplete,
                format!("{name} is not answered"),
                format!("candidates/{}.yaml: {name}", view.file_name),
                format!("rlx candidate show {}", view.file_name),
            );
        }
    }
    let ledger = &question.study.ledger;
    for (index, named) in candidate.evidence.iter().enumerate() {
        let is_there = match named.strip_prefix(RECORD) {
            Some(number) => number.parse().is_ok_and(|number: u64| number < ledger.next_seq()),
            None => ledger.state.runs.contains_key(named) || view.evidence_there.contains(named),
        };
        if !is_there {
            let reason = format!(
                "{named:?} is not a run or record ({RECORD}N) of this study, or a readable file in its \
                 folder"
            );
            let place = format!("candidates/{}.yaml: evidence[{index}]", view.file_name);
            answers.refuse(RefusalCode::EvidenceUnknown, reason, place, "rlx ledger show");
        }
    }
}

/// The prefix of a record number in a candidate.
const RECORD: &str = "record:";

/// A candidate changes one thing, unless the contract agrees otherwise.
pub(super) fn one_change(question: &Question<'_>, answers: &mut Answers) {
    let Some(view) = question.candidate else { return };
    let one = question.study.contract().is_none_or(|contract| contract.scope.one_change_at_a_time);
    let count = view.written.typed.changes.len();
    if one && count > 1 {
        answers.refuse_unless_excepted(
            RefusalCode::SeveralChanges,
            Section::Scope,
            format!("{count} changes at once: the effect could not be attributed"),
            format!("candidates/{}.yaml: changes", view.file_name),
            format!("rlx candidate show {}", view.file_name),
        );
    }
}
