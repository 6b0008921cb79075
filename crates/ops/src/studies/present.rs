//! The values that agreed keys have in the code that candidates start from.

use std::collections::BTreeSet;

use rlxp_govern::change::given_value;
use rlxp_govern::documents::{Candidate, CandidateKind, Change, Operation, Runbook, Slug, Surface, Written};
use rlxp_govern::view::CandidateView;
use rlxp_spec::document::get_value;
use serde_json::Value;

use crate::failure::Outcome;
use crate::studies::candidate::{Looked, look_at};
use crate::studies::files::OpenStudy;
use crate::studies::scripts;

/// The surfaces of the contract's scope, in the order of the surface map.
pub(crate) fn surfaces_in_scope(opened: &OpenStudy) -> Vec<Surface> {
    let files = &opened.study.files;
    let agreed =
        opened.study.contract().map(|contract| contract.scope.surfaces.as_slice()).unwrap_or_default();
    let all = files.surface_map.typed().map(|map| map.surfaces.as_slice()).unwrap_or_default();
    all.iter().filter(|surface| agreed.contains(&surface.id)).cloned().collect()
}

/// The files of these surfaces as a candidate would find them, and all that gates look at beside.
pub(crate) fn view(opened: &OpenStudy, surfaces: &[Surface]) -> Outcome<CandidateView> {
    let paths: BTreeSet<(&Slug, &String)> =
        surfaces.iter().flat_map(|surface| plain_paths(surface).map(|path| (&surface.id, path))).collect();
    let change = |(surface, path): (&Slug, &String)| Change {
        surface: surface.clone(),
        operation: Operation::Set,
        path: path.clone(),
        key: None,
        from: None,
        to: None,
        patch: None,
    };
    let id: Slug = "present-values".parse().expect("it is a plain name");
    let typed = Candidate {
        schema: Default::default(),
        id: id.clone(),
        task: opened.study.name.task.clone(),
        study: opened.study.name.study.clone(),
        revision: 1,
        kind: CandidateKind::Hyperparameter,
        hypothesis: String::new(),
        changes: paths.into_iter().map(change).collect(),
        expected_effect: None,
        evidence: Vec::new(),
        knowledge: Vec::new(),
        phases: Vec::new(),
        arguments: Vec::new(),
        invariants: Vec::new(),
        rollback: None,
        risk: None,
        requirements: Default::default(),
    };
    let Looked { view, .. } = look_at(opened, &id, Written { typed, explicit: Value::Null })?;
    Ok(view)
}

/// The value of a key, with the file that has it; `None` if no file of the surface has it, or only as code that can't
/// be read. A file with keys comes before a flag of a script. What accepted candidates pass as an argument counts first,
/// then what the train command passes, then the file.
pub(crate) fn value(
    view: &CandidateView,
    runbook: Option<&Runbook>,
    surface: &Surface,
    key: &str,
) -> Option<(String, Value)> {
    plain_paths(surface).find_map(|path| {
        let text = view.sources.get(path)?.as_deref()?;
        let accepted = view.accepted.as_ref().zip(view.override_syntax.as_ref());
        let accepted = accepted.and_then(|(code, syntax)| given_value(syntax, &code.arguments, key));
        let found = if path.ends_with(".py") {
            // Without a way to pass it, the value of a flag can't be changed.
            view.override_syntax.as_ref()?;
            let default = scripts::find(&scripts::flags(text), key)?.default;
            let passed = runbook.and_then(|runbook| scripts::given(&runbook.train.argv, key));
            match accepted.or_else(|| passed.map(str::to_owned)) {
                Some(text) => Some(as_value(&text)),
                None => default.map(number),
            }
        } else {
            let written = get_value(text, path, key).ok()?;
            accepted.map(|text| as_value(&text)).or(written)
        };
        Some((path.clone(), found?))
    })
}

/// The value that an argument gives.
fn as_value(text: &str) -> Value {
    serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::from(text.trim()))
}

/// A whole number is written as one: a flag that takes whole numbers doesn't take 5000.0.
fn number(number: f64) -> Value {
    let whole = number as i64;
    if whole as f64 == number { Value::from(whole) } else { Value::from(number) }
}

/// Paths without wildcards.
fn plain_paths(surface: &Surface) -> impl Iterator<Item = &String> {
    surface.paths.iter().filter(|path| !path.contains(['*', '?']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_stay_whole() {
        assert_eq!(number(5000.0), json!(5000));
        assert_eq!(number(2.5e-4), json!(2.5e-4));
        assert_eq!(as_value("5000"), json!(5000));
        assert_eq!(as_value("5e-5"), json!(5e-5));
        assert_eq!(as_value("adam"), json!("adam"));
    }
}
