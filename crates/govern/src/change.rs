//! The result of a candidate's changes: the files that differ from the base, and the arguments that are added to the
//! train command. Pure: the caller provides the content of files and writes the result.

use std::collections::{BTreeMap, BTreeSet};

use rlxp_spec::document::{add_value, get_value, remove_value, set_value};
use rlxp_types::Digest;
use serde_json::{Number, Value, json};

use crate::canonical;
use crate::documents::{Change, Operation};
use crate::patch;
use crate::slots::fill_word;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Files that differ, by path.
    pub files: BTreeMap<String, FileChange>,
    /// Arguments that are added to the train command, in order.
    pub arguments: Vec<String>,
    /// The values that those arguments give, by file and key.
    pub given: BTreeMap<(String, String), Value>,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The digest of its content before; `None` if there was no file.
    pub before: Option<Digest>,
    /// Its content after; `None` if it is removed.
    pub after: Option<String>,
}

impl Applied {
    /// The digest of all of it.
    pub fn digest(&self) -> Digest {
        let file = |change: &FileChange| {
            let after = change.after.as_ref().map(|text| Digest::hash(text.as_bytes()));
            json!({ "before": change.before, "after": after })
        };
        let files: BTreeMap<&String, Value> =
            self.files.iter().map(|(path, change)| (path, file(change))).collect();
        canonical::digest(&json!({ "files": files, "arguments": self.arguments }))
    }
}

/// Applies the changes in order; several to one file build on each other. `source` returns the content of a file, or
/// `None` if it doesn't exist.
///
/// A patch changes its file. A key is set in its file or, where the repository takes overrides such as
/// `--set {key}={value}`, becomes an argument, and no file changes. `from` has to match the current value;
/// with overrides the file may be code, whose values can't be read here, and then `from` is taken as it is.
///
/// The error has every change that can't be made, by its number. Changes that build on such a change are not tried.
pub fn apply(
    changes: &[Change],
    override_syntax: Option<&str>,
    source: &dyn Fn(&str) -> Option<String>,
) -> Result<Applied, Vec<(usize, String)>> {
    apply_after(changes, override_syntax, &[], source)
}

/// The same where the train command already has `earlier` arguments, of candidates that were accepted before: they give
/// the current value of their keys.
pub fn apply_after(
    changes: &[Change],
    override_syntax: Option<&str>,
    earlier: &[String],
    source: &dyn Fn(&str) -> Option<String>,
) -> Result<Applied, Vec<(usize, String)>> {
    let mut work = Work {
        override_syntax,
        earlier,
        source,
        texts: BTreeMap::new(),
        given: BTreeMap::new(),
        arguments: Vec::new(),
    };
    let mut failed: BTreeSet<&str> = BTreeSet::new();
    let mut problems = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        if failed.contains(change.path.as_str()) {
            continue;
        }
        if let Err(why) = work.change(change) {
            failed.insert(&change.path);
            problems.push((index, why));
        }
    }
    if problems.is_empty() { Ok(work.finish()) } else { Err(problems) }
}

struct Work<'w> {
    override_syntax: Option<&'w str>,
    /// Arguments that come before those of these changes.
    earlier: &'w [String],
    source: &'w dyn Fn(&str) -> Option<String>,
    /// Content before and after, of files that were read.
    texts: BTreeMap<String, (Option<String>, Option<String>)>,
    /// Values that arguments give, by file and key.
    given: BTreeMap<(String, String), Value>,
    arguments: Vec<String>,
}

impl Work<'_> {
    fn change(&mut self, change: &Change) -> Result<(), String> {
        match (&change.patch, &change.key) {
            (Some(_), Some(_)) => Err("a change has either a key or a patch, not both".into()),
            (None, None) => Err("a change needs a key or a patch".into()),
            (Some(patch), None) => {
                let after = patch::apply(self.text(&change.path), patch)?;
                self.put(&change.path, after);
                Ok(())
            }
            // An argument can give a value, but not take one away.
            (None, Some(key)) if self.override_syntax.is_some() && change.operation != Operation::Remove => {
                self.argument(change, key)
            }
            (None, Some(key)) => self.key(change, key),
        }
    }

    /// The present content of a file.
    fn text(&mut self, path: &str) -> Option<&str> {
        let source = self.source;
        let (_, now) = self.texts.entry(path.to_owned()).or_insert_with(|| {
            let text = source(path);
            (text.clone(), text)
        });
        now.as_deref()
    }

    fn put(&mut self, path: &str, after: Option<String>) {
        if let Some((_, now)) = self.texts.get_mut(path) {
            *now = after;
        }
    }

    fn key(&mut self, change: &Change, key: &str) -> Result<(), String> {
        let path = &change.path;
        if self.earlier_value(key).is_some() {
            return Err(format!(
                "{key} is given to the train command by an accepted candidate; a change can set it, but not remove it"
            ));
        }
        if !holds_keys(path) {
            return Err(format!(
                "{path} is neither YAML nor JSON, so {key} can't be set in it; use a patch, or let the audit say how \
                 the train command takes it"
            ));
        }
        let Some(text) = self.text(path) else { return Err(format!("{path} does not exist")) };
        let in_file = |why: String| format!("{path}: {why}");
        let real = get_value(text, path, key).map_err(in_file)?;
        agrees(change, key, real.as_ref())?;
        let after = match (change.operation, real) {
            (Operation::Remove, _) => remove_value(text, path, key),
            (Operation::Add, _) => add_value(text, path, key, wanted(change, key)?),
            (Operation::Scale, Some(real)) => set_value(text, path, key, &scaled(change, key, &real)?),
            (Operation::Set | Operation::Schedule, Some(_)) => {
                set_value(text, path, key, wanted(change, key)?)
            }
            (Operation::EditCode, _) => return Err("code must be changed by a patch".into()),
            (_, None) => return Err(format!("{path} has no {key}")),
        };
        let after = after.map_err(in_file)?;
        self.put(path, Some(after));
        Ok(())
    }

    fn argument(&mut self, change: &Change, key: &str) -> Result<(), String> {
        let path = &change.path;
        if change.operation == Operation::EditCode {
            return Err("code must be changed by a patch".into());
        }
        let Some(text) = self.text(path) else { return Err(format!("{path} does not exist")) };
        let place = (path.clone(), key.to_owned());
        // The value of a key in code is looked up elsewhere; a gate compares it with the candidate's `from`.
        let real = match holds_keys(path) {
            true => get_value(text, path, key).map_err(|why| format!("{path}: {why}"))?,
            false => change.from.clone(),
        };
        let real = match (self.given.get(&place), self.earlier_value(key)) {
            (Some(given), _) => Some(given.clone()),
            (None, Some(text)) => Some(parsed(&text, change.from.as_ref())),
            (None, None) => real,
        };
        agrees(change, key, real.as_ref())?;
        let value = match (change.operation, &real) {
            (Operation::Scale, Some(real)) => scaled(change, key, real)?,
            (Operation::Scale, None) => return Err(format!("{path} has no {key}, so it can't be scaled")),
            _ => wanted(change, key)?.clone(),
        };
        let syntax = self.override_syntax.unwrap_or_default();
        if !syntax.contains("{key}") || !syntax.contains("{value}") {
            return Err(format!("the override syntax {syntax:?} lacks {{key}} or {{value}}"));
        }
        let shown = shown(&value);
        let slots = [("key", key), ("value", shown.as_str())];
        self.arguments
            .extend(syntax.split(' ').filter(|word| !word.is_empty()).map(|word| fill_word(word, &slots)));
        self.given.insert(place, value);
        Ok(())
    }

    fn earlier_value(&self, key: &str) -> Option<String> {
        given_value(self.override_syntax?, self.earlier, key)
    }

    fn finish(self) -> Applied {
        let changed = self.texts.into_iter().filter(|(_, (before, after))| before != after);
        let file = |(path, (before, after)): (String, (Option<String>, Option<String>))| {
            (path, FileChange { before: before.map(|text| Digest::hash(text.as_bytes())), after })
        };
        Applied { files: changed.map(file).collect(), arguments: self.arguments, given: self.given }
    }
}

/// The value that arguments, made by this override syntax, give to a key, as text; the last one counts.
pub fn given_value(override_syntax: &str, arguments: &[String], key: &str) -> Option<String> {
    let words: Vec<String> = override_syntax
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| fill_word(word, &[("key", key)]))
        .collect();
    let given = |group: &[String]| {
        let mut value = None;
        for (word, pattern) in group.iter().zip(&words) {
            match pattern.split_once("{value}") {
                Some((start, end)) => value = Some(word.strip_prefix(start)?.strip_suffix(end)?),
                None if word == pattern => {}
                None => return None,
            }
        }
        value.map(str::to_owned)
    };
    // Each change adds as many words as the syntax has.
    arguments.chunks_exact(words.len().max(1)).rev().find_map(given)
}

/// A value as an argument.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The value of an argument. Whether a text such as `1` was a number is not known any more; what the candidate says is
/// taken, if it would be written the same.
fn parsed(text: &str, from: Option<&Value>) -> Value {
    match from {
        Some(from) if shown(from) == text => from.clone(),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

/// Whether a file has a format with keys.
pub fn holds_keys(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

/// The candidate's `from` must match the current value.
fn agrees(change: &Change, key: &str, real: Option<&Value>) -> Result<(), String> {
    match (&change.from, real) {
        (None, _) => Ok(()),
        (Some(from), Some(real)) if equal(from, real) => Ok(()),
        (Some(from), Some(real)) => Err(format!("{key} is {real}, but the candidate says {from}")),
        (Some(Value::Null), None) => Ok(()),
        (Some(from), None) => Err(format!("{} has no {key}, but the candidate says {from}", change.path)),
    }
}

fn wanted<'c>(change: &'c Change, key: &str) -> Result<&'c Value, String> {
    change.to.as_ref().ok_or_else(|| format!("{key} has no new value"))
}

/// The value times the factor. A whole number stays one if the product is whole: `n_steps: 2048` read as `1024.0`
/// would be another type to most programs.
fn scaled(change: &Change, key: &str, real: &Value) -> Result<Value, String> {
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
    let factor = wanted(change, key)?.as_f64();
    let (Some(before), Some(factor)) = (real.as_f64(), factor) else {
        return Err(format!("scaling {key} needs a number and a factor"));
    };
    let product = before * factor;
    if !real.is_f64() && product.fract() == 0.0 && product.abs() < LARGEST_EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        return Ok(Value::from(product as i64));
    }
    let number = Number::from_f64(product).ok_or_else(|| format!("{key} times {factor} is not finite"))?;
    Ok(Value::Number(number))
}

/// Numbers are compared as numbers, everything else as it is.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(first), Value::Number(second)) => {
            first == second || one.as_f64() == other.as_f64() && (first.is_f64() || second.is_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|it| equal(value, it)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests;
