//! The code that acceptances left: it must follow from what was validated, and the repository must still have it.

use rlxp_govern::documents::{Base, Slug};
use rlxp_govern::ledger::event::{AcceptedCode, Judged, Verdict};
use rlxp_launch::git;

use super::Replay;
use crate::failure::Outcome;
use crate::studies::accept::{Derived, derive, reference};
use crate::studies::verify::Findings;

impl Replay<'_> {
    /// Derives the code of an accepted candidate again.
    pub(super) fn code(&mut self, seq: u64, recorded: &Judged, found: &mut Findings) -> Outcome<()> {
        let id = &recorded.candidate;
        match (&recorded.code, recorded.verdict) {
            (Some(_), Verdict::Accepted) => {}
            (Some(_), _) => {
                let message = format!("record {seq} has code of {id}, which it doesn't accept");
                found.problem("accepted_code_differs", Some(seq + 1), message);
                return Ok(());
            }
            // Earlier versions recorded neither code nor the effect of a candidate.
            (None, Verdict::Accepted) if !self.has_effect(id) => {
                found.not_checked.push(format!("the code of {id}: record {seq} has none"));
                return Ok(());
            }
            (None, Verdict::Accepted) => {}
            (None, _) => return Ok(()),
        }
        let Derived { code, files, named } = match derive(self.context, &self.past, id) {
            Ok(Some(derived)) => derived,
            Ok(None) if recorded.code.is_none() => return Ok(()),
            Ok(None) => {
                let message = format!("record {seq} has code of {id}, which trains with the contract's");
                found.problem("accepted_code_differs", Some(seq + 1), message);
                return Ok(());
            }
            Err(failure) => {
                found.not_checked.push(format!("the code of {id} in record {seq}: {}", failure.message));
                return Ok(());
            }
        };
        if Some(&code) != recorded.code.as_ref() {
            let recorded = recorded.code.as_ref().map_or_else(|| "nothing".to_owned(), said);
            let message =
                format!("the code of {id} is recorded as {recorded} and comes out as {}", said(&code));
            found.problem("accepted_code_differs", Some(seq + 1), message);
            return Ok(());
        }
        let Base::Commit(commit) = &code.base else {
            self.same.code += 1;
            return Ok(());
        };
        let root = &self.past.place.root;
        let damaged = files.iter().find(|(path, content)| git::file_at(root, commit, path) != **content);
        if let Some((path, _)) = damaged {
            let message =
                format!("{path} in commit {commit}, the code of {id}, can't be read as it was stored");
            found.problem("accepted_code_damaged", Some(seq + 1), message);
        } else if !named || self.is_named(id, commit, seq, found) {
            self.same.code += 1;
        }
        Ok(())
    }

    fn has_effect(&self, id: &Slug) -> bool {
        let candidate = self.past.study.state().candidates.get(id);
        candidate.is_some_and(|candidate| candidate.validated.effect.is_some())
    }

    /// Whether the candidate's ref names its commit.
    fn is_named(&self, id: &Slug, commit: &str, seq: u64, found: &mut Findings) -> bool {
        let name = reference(&self.past.study.name, id);
        let named = git::commit_of_ref(&self.past.place.root, &name);
        if named.as_deref() == Some(commit) {
            return true;
        }
        let now = named.unwrap_or_else(|| "nothing".to_owned());
        let message = format!(
            "{name} names {now} instead of {commit}, the code of {id}; set it with: git update-ref {name} {commit}"
        );
        found.problem("accepted_ref_differs", Some(seq + 1), message);
        false
    }
}

fn said(code: &AcceptedCode) -> String {
    let base = match &code.base {
        Base::Commit(commit) => format!("commit {commit}"),
        Base::Snapshot(digest) => format!("folder {digest}"),
    };
    match code.arguments.as_slice() {
        [] => base,
        arguments => format!("{base} with {}", arguments.join(" ")),
    }
}
