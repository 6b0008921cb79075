//! Files that evaluation takes from a candidate. Evaluation runs the contract's code; a change of the policy's
//! architecture couldn't be evaluated that way, so surfaces of kind `policy` name the files that come with it. The
//! evaluator itself stays protected.

use std::collections::BTreeSet;

use crate::change::Applied;
use crate::documents::{Candidate, Surface, SurfaceKind, SurfaceMap};
use crate::scope::{matches, matches_any_case, protected_by};

/// The files that evaluation takes from this candidate: those that it changes and its policy surface names.
pub fn evaluation_files(map: &SurfaceMap, candidate: &Candidate, applied: &Applied) -> BTreeSet<String> {
    let is_named = |surface: &Surface, path: &str| {
        surface.kind == SurfaceKind::Policy && surface.evaluation_files.iter().any(|glob| matches(glob, path))
    };
    let taken = candidate.changes.iter().filter(|change| {
        let surface = map.surfaces.iter().find(|surface| surface.id == change.surface);
        surface.is_some_and(|surface| is_named(surface, &change.path))
            && applied.files.contains_key(&change.path)
            && protected_by(&map.protected, &change.path).is_none()
    });
    taken.map(|change| change.path.clone()).collect()
}

/// Those of `paths`, which earlier acceptances changed, that evaluation has to take as well: without them it couldn't
/// load what was trained with them.
pub fn accepted_evaluation_files<'p>(
    map: &SurfaceMap,
    paths: impl IntoIterator<Item = &'p String>,
) -> BTreeSet<String> {
    let globs = || {
        let surfaces = map.surfaces.iter().filter(|surface| surface.kind == SurfaceKind::Policy);
        surfaces.flat_map(|surface| &surface.evaluation_files)
    };
    let is_taken = |path: &&String| {
        globs().any(|glob| matches(glob, path)) && protected_by(&map.protected, path).is_none()
    };
    paths.into_iter().filter(is_taken).cloned().collect()
}

/// Why the files of a surface can't be taken: `protected` are the names of the files that are protected now.
pub(crate) fn problem<'p>(
    map: &SurfaceMap,
    surface: &Surface,
    mut protected: impl Iterator<Item = &'p String>,
) -> Option<String> {
    let first = surface.evaluation_files.first()?;
    if surface.kind != SurfaceKind::Policy {
        let kind = surface.kind;
        return Some(format!("evaluation_files ({first}) are for surfaces of kind policy, not {kind}"));
    }
    if let Some((glob, by)) = surface
        .evaluation_files
        .iter()
        .find_map(|glob| protected_by(&map.protected, glob).map(|by| (glob, by)))
    {
        return Some(format!("evaluation can't take {glob} from a candidate: it is protected by {by}"));
    }
    let taken = |path: &&String| surface.evaluation_files.iter().any(|glob| matches_any_case(glob, path));
    let path = protected.find(taken)?;
    Some(format!("evaluation_files of surface {} match {path}, which is protected", surface.id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn accepted_files_are_taken_like_those_of_a_candidate() {
        let map: SurfaceMap = serde_json::from_value(json!({
            "schema": "rlxp.surface_map/1",
            "surfaces": [
                { "id": "network", "kind": "policy", "paths": ["src/**"], "operations": ["edit_code"],
                  "evaluation_files": ["src/policy/*.py", "src/eval.py"] },
                { "id": "reward", "kind": "reward", "paths": ["src/**"], "operations": ["edit_code"] },
            ],
            "protected": ["src/eval.py"],
        }))
        .unwrap();
        let changed = ["src/policy/net.py", "src/policy/deep/net.py", "src/reward.py", "src/eval.py"];
        let changed = changed.map(str::to_owned);
        assert_eq!(accepted_evaluation_files(&map, &changed), ["src/policy/net.py".to_owned()].into());
    }
}
