//! Choices of a schema: which branch was meant, and what is wrong with it.
//!
//! A value that fits no branch gets the problems of the one branch that it was
//! meant for, as far as known: by its tag, its key, its word or its type.
//! Listing the problems of all branches would not help.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document::check::{At, Check};
use crate::document::schema::{expected, is_of, resolve, types, words};
use crate::document::span_tree::of_key;
use crate::document::words::{describe, name};

impl<'a> Check<'a> {
    /// Checks a value against the branches of the choice `schema`.
    pub(crate) fn choose(&mut self, schema: &'a Value, branches: &'a [Value], at: At<'_>) {
        let branches: Vec<&Value> = branches.iter().map(|branch| resolve(self.root, branch)).collect();
        if at.value.is_null() && branches.iter().any(|branch| types(branch).contains(&"null")) {
            return;
        }
        let branches: Vec<&Value> = branches.into_iter().filter(|branch| types(branch) != ["null"]).collect();
        if let [branch] = branches.as_slice() {
            return self.visit(branch, at);
        }
        if let Some(tag) = branches.first().and_then(|first| shared_tag(first, &branches)) {
            return self.tagged(tag, &branches, at);
        }
        let keyed: Option<Vec<Variant<'_>>> =
            branches.iter().map(|branch| variant(self.root, branch)).collect();
        if let Some(variants) = keyed {
            return self.keyed(&variants.concat(), at);
        }
        let takes = |branch: &&&Value| {
            let types = types(branch);
            types.is_empty() || types.iter().any(|name| is_of(at.value, name))
        };
        let fitting: Vec<&Value> = branches.iter().filter(takes).copied().collect();
        match fitting.as_slice() {
            [] => self.wrong_type(schema, at),
            [branch] => self.visit(branch, at),
            _ => self.any_of(schema, &fitting, at),
        }
    }

    /// Mappings that say by the word under `tag` which branch they are.
    fn tagged(&mut self, tag: &'a str, branches: &[&'a Value], at: At<'_>) {
        let allowed: Vec<&str> = branches.iter().filter_map(|branch| tag_of(branch, tag)).collect();
        let Some(entries) = at.value.as_object() else {
            let message =
                format!("{} must be a mapping with `{tag}`; this is {}", name(at.path), describe(at.value));
            return self.report(
                at,
                message,
                Some(format!("write {{{tag}: ...}} with one of {}", allowed.join(", "))),
            );
        };
        let Some((index, (_, value))) = entries.iter().enumerate().find(|(_, (key, _))| *key == tag) else {
            let named = self.guide.and_then(|guide| guide.tag(at.path));
            return match branches.iter().find(|branch| named.is_some() && tag_of(branch, tag) == named) {
                Some(branch) => self.visit(branch, at),
                None => self.missing_key(tag, Some(format!("one of {}", allowed.join(", "))), at),
            };
        };
        match branches.iter().find(|branch| tag_of(branch, tag) == value.as_str() && value.is_string()) {
            Some(branch) => self.visit(branch, at),
            None => {
                let path = of_key(at.path, tag);
                if let Some(place) = at.place.children.get(index) {
                    self.not_among(&allowed, At { value, place, path: &path });
                }
            }
        }
    }

    /// A word, or a mapping of one key to what belongs to it.
    fn keyed(&mut self, variants: &[(&'a str, Option<&'a Value>)], at: At<'_>) {
        let mut all: Vec<&str> = variants.iter().map(|(name, _)| *name).collect();
        // A name that may be alone or have a value comes twice.
        all.retain({
            let mut seen = BTreeSet::new();
            move |name| seen.insert(*name)
        });
        let is_alone = |name: &str| variants.iter().any(|(own, branch)| *own == name && branch.is_none());
        let branch_of = |name: &str| {
            let mut named = variants.iter().filter(|(own, _)| *own == name);
            named.find_map(|(_, branch)| *branch)
        };
        match at.value {
            Value::String(word) if is_alone(word) => {}
            Value::String(word) => match branch_of(word) {
                Some(branch) => {
                    let message = format!("`{word}` needs a value in {}", name(at.path));
                    let needed = required_of(branch, word).unwrap_or_else(|| "...".to_owned());
                    self.report(at, message, Some(format!("write {{{word}: {needed}}}")));
                }
                None => self.not_among(&all, at),
            },
            Value::Object(entries) if entries.len() == 1 => {
                let (key, value) = entries.iter().next().expect("there is one entry");
                let Some(place) = at.place.children.first() else { return };
                let path = of_key(at.path, key);
                let child = At { value, place, path: &path };
                match branch_of(key) {
                    Some(branch) => self.visit(branch, at),
                    None if all.contains(&key.as_str()) => {
                        let message = format!("`{key}` takes no value");
                        self.report(child, message, Some(format!("write `{key}` alone")));
                    }
                    None => drop(self.unknown_key(key, &all, at, child)),
                }
            }
            Value::Object(entries) => {
                let message =
                    format!("{} must have exactly one key; this has {}", name(at.path), entries.len());
                self.report(at, message, Some(format!("one of {}", all.join(", "))));
            }
            other => {
                let has_values = variants.iter().any(|(_, branch)| branch.is_some());
                let all = all.join(", ") + if has_values { ", alone or with a value" } else { "" };
                let message = format!("{} must be one of {all}; this is {}", name(at.path), describe(other));
                self.report(at, message, None);
            }
        }
    }

    /// Branches that only a trial can tell apart.
    fn any_of(&mut self, schema: &Value, branches: &[&'a Value], at: At<'_>) {
        let mut nearest: Option<Vec<_>> = None;
        for branch in branches {
            let mut trial = Check { found: Vec::new(), ..*self };
            trial.visit(branch, at);
            if trial.found.is_empty() {
                return;
            }
            if nearest.as_ref().is_none_or(|found| trial.found.len() < found.len()) {
                nearest = Some(trial.found);
            }
        }
        let message = format!("{} must be {}", name(at.path), expected(self.root, schema));
        let first = nearest.and_then(|found| found.into_iter().next());
        self.report(at, message, first.map(|first| format!("for the closest of them: {}", first.message)));
    }
}

/// The keys that the value of `word` must have, as something to write.
fn required_of(branch: &Value, word: &str) -> Option<String> {
    let required = branch.get("properties")?.get(word)?.get("required")?.as_array()?;
    let keys: Vec<String> =
        required.iter().filter_map(Value::as_str).map(|key| format!("{key}: ...")).collect();
    Some(format!("{{{}}}", keys.join(", ")))
}

/// The key whose word tells all branches apart.
pub(crate) fn shared_tag<'a>(first: &'a Value, branches: &[&Value]) -> Option<&'a str> {
    let keys = first.get("properties")?.as_object()?.keys();
    keys.map(String::as_str).find(|tag| branches.iter().all(|branch| tag_of(branch, tag).is_some()))
}

pub(crate) fn tag_of<'a>(branch: &'a Value, tag: &str) -> Option<&'a str> {
    branch.get("properties")?.get(tag)?.get("const")?.as_str()
}

/// Names, each with the branch of its mapping; none for a word alone.
type Variant<'a> = Vec<(&'a str, Option<&'a Value>)>;

fn variant<'a>(root: &'a Value, branch: &'a Value) -> Option<Variant<'a>> {
    if let Some(words) = words(root, branch) {
        return Some(words.into_iter().map(|word| (word, None)).collect());
    }
    let properties = branch.get("properties")?.as_object()?;
    let closed = branch.get("additionalProperties") == Some(&Value::Bool(false));
    match branch.get("required")?.as_array()?.as_slice() {
        [Value::String(key)] if closed && properties.len() == 1 => Some(vec![(key, Some(branch))]),
        _ => None,
    }
}
