//! The code that an acceptance leaves: what the candidate's runs trained with, as a commit below `refs/rlxp/` or, without
//! git, as files in the user's state folder. Candidates that come later train from it.
//!
//! It is derived from what was validated and run, by digest: a candidate's file that was edited since, or other code
//! below it, is refused. The same acceptance gives the same commit, so this can be repeated after a kill.

use std::collections::BTreeMap;

use rlxp_fs::FsExt;
use rlxp_govern::documents::{Base, CandidateKind, Slug, StudyName};
use rlxp_govern::ledger::event::AcceptedCode;
use rlxp_govern::ledger::state::CandidateRecord;
use rlxp_govern::plan::{CHANGES, CODE, INCUMBENT, changes, code};
use rlxp_govern::view::CandidateView;
use rlxp_launch::git;
use rlxp_launch::git::write::{NewCommit, WriteError};
use rlxp_types::Exit;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::candidate;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::tree;

/// The ref that names the code of an accepted candidate. It stays when the candidate is reverted: the ledger still
/// refers to its commit, and no other candidate gets its name.
pub fn reference(study: &StudyName, candidate: &Slug) -> String {
    format!("refs/rlxp/{}/{}/{candidate}", study.task, study.study)
}

/// What candidates train from once this one is accepted; `None` if that is the contract's code. Call this before the
/// verdict is recorded, while the incumbent is the one that the candidate was compared with.
pub fn accepted_code(
    context: &Context,
    opened: &OpenStudy,
    candidate: &Slug,
) -> Outcome<Option<AcceptedCode>> {
    let Some(Derived { code, named, .. }) = derive(context, opened, candidate)? else { return Ok(None) };
    if named && let Base::Commit(commit) = &code.base {
        let name = reference(&opened.study.name, candidate);
        git::write::set_ref(&opened.place.root, &name, commit)
            .map_err(|error| not_written(candidate, &error))?;
    }
    Ok(Some(code))
}

/// The code that follows from an acceptance.
pub(crate) struct Derived {
    pub(crate) code: AcceptedCode,
    /// The files that the candidate itself changes: their content, or nothing for one that is removed.
    pub(crate) files: BTreeMap<String, Option<Vec<u8>>>,
    /// Whether a ref names it.
    pub(crate) named: bool,
}

/// Derives the code of an acceptance and stores its content, without a ref. `None` if that is the contract's code.
pub(crate) fn derive(context: &Context, opened: &OpenStudy, candidate: &Slug) -> Outcome<Option<Derived>> {
    let state = opened.study.state();
    let Some(record) = state.candidates.get(candidate) else {
        let message = format!("{candidate} was never validated");
        return Err(Failure::refused("not_validated", message).hint("rlx candidate list"));
    };
    match record.validated.kind {
        CandidateKind::Baseline => return Ok(None),
        // The incumbent again.
        kind if kind.is_empty_change() => {
            let again =
                |code: &AcceptedCode| Derived { code: code.clone(), files: BTreeMap::new(), named: false };
            return Ok(state.accepted_code().map(again));
        }
        _ => {}
    }
    let view = as_validated(opened, candidate, record)?;
    let applied = view.applied().map_err(|problems| {
        let why: Vec<&str> = problems.iter().map(|(_, why)| why.as_str()).collect();
        changed(candidate, &why.join("; "))
    })?;
    let unknown = || Failure::refused("base_unknown", "the base code is unknown").hint("rlx contract check");
    let before = match &view.accepted {
        Some(accepted) => accepted.clone(),
        None => AcceptedCode { base: view.base.clone().ok_or_else(unknown)?, arguments: Vec::new() },
    };
    let content = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
    let files: BTreeMap<String, Option<Vec<u8>>> =
        applied.files.iter().map(|(path, change)| (path.clone(), content(&change.after))).collect();
    let place = LaunchPaths::for_study(opened)?;
    let base = match &before.base {
        Base::Commit(parent) => {
            let commit = write_commit(context, opened, &place, candidate, parent, &files)?;
            Base::of_commit(&commit).ok_or_else(unknown)?
        }
        same @ Base::Snapshot(_) if files.is_empty() => same.clone(),
        Base::Snapshot(_) => Base::Snapshot(tree::keep(opened, &place, &before.base, &files)?),
    };
    // Its own `arguments` are those of its keys, so they are among these.
    let arguments = before.arguments.into_iter().chain(applied.arguments).collect();
    Ok(Some(Derived { code: AcceptedCode { base, arguments }, files, named: true }))
}

/// The candidate as it was validated, and so as it ran.
fn as_validated(opened: &OpenStudy, candidate: &Slug, record: &CandidateRecord) -> Outcome<CandidateView> {
    let validated = &record.validated;
    if opened.study.candidate_files.get(candidate.as_str()) != Some(&validated.file) {
        return Err(changed(
            candidate,
            &format!("candidates/{candidate}.yaml is not the file that was validated"),
        ));
    }
    let incumbent = opened.study.shared_parts().remove(INCUMBENT).flatten();
    if validated.parts.get(INCUMBENT) != incumbent.as_ref() {
        let message =
            format!("{candidate} was validated and compared with another incumbent than the present one");
        return Err(Failure::refused("other_incumbent", message).hint("rlx study status"));
    }
    let view = candidate::view(opened, candidate)?;
    let now = [(CODE, code(&view)), (CHANGES, changes(&view))];
    let differ: Vec<&str> = now
        .into_iter()
        .filter(|(name, digest)| digest.is_none() || validated.parts.get(*name) != digest.as_ref())
        .map(|(name, _)| name)
        .collect();
    if differ.is_empty() {
        return Ok(view);
    }
    Err(changed(candidate, &format!("its {} are not what was validated", differ.join(" and "))))
}

fn changed(candidate: &Slug, why: &str) -> Failure {
    let message = format!("can't tell which code {candidate} trained with: {why}");
    Failure::refused("candidate_changed", message)
        .hint(format!("restore candidates/{candidate}.yaml as it was when it was launched"))
        .hint(format!("rlx candidate show {candidate}"))
}

fn not_written(candidate: &Slug, error: &WriteError) -> Failure {
    let message = format!("can't store the code of {candidate} in the repository: {error}");
    Failure::new(Exit::Storage, "code_not_written", message).hint("git fsck")
}

/// Writes the commit and returns its name.
fn write_commit(
    context: &Context,
    opened: &OpenStudy,
    place: &LaunchPaths,
    candidate: &Slug,
    parent: &str,
    files: &BTreeMap<String, Option<Vec<u8>>>,
) -> Outcome<String> {
    if files.is_empty() {
        // Only arguments differ.
        return Ok(parent.to_owned());
    }
    let (fs, root, name) = (context.fs.as_ref(), &opened.place.root, &opened.study.name);
    let not_written = |error: WriteError| not_written(candidate, &error);
    let no_commit = || WriteError::NoCommit(parent.to_owned());
    let date = git::committed_at(root, parent).ok_or_else(no_commit).map_err(not_written)?;
    let message = format!("{candidate}\n\nAccepted in {name} by rlx.\n");
    let new = NewCommit { parent, files, message: &message, date };
    fs.create_dir_all(&place.trees())?;
    let index = fs.temporary_beside(&place.trees().join("accepted.index"));
    let written = git::write::commit(root, &new, &index);
    tree::remove_if_there(fs, &index)?;
    written.map_err(not_written)
}
