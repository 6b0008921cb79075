//! `candidate revise`: the next revision of a candidate of which only smoke runs were started.

use rlxp_fs::FsExt;
use rlxp_govern::documents::{Phase, Slug, StudyName};
use rlxp_govern::ledger::event::Reopened;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::{CandidateState, RunState};
use rlxp_spec::document::{add_value, get_value, set_value};
use serde::Serialize;
use serde_json::Value;

use super::{known, written};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;

/// Longest candidate file that is edited.
const LONGEST: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReviseReport {
    pub study: StudyName,
    pub candidate: Slug,
    /// The revision that the file says now.
    pub revision: u64,
}

/// Raises the revision in a candidate's file and makes it a draft again.
pub fn revise(context: &Context, study: Option<&str>, name: &str) -> Outcome<ReviseReport> {
    let mut opened = OpenStudy::open(context, study)?;
    let id = known(&opened, name)?;
    let revision = written(&opened, &id)?.typed.revision;
    let state = opened.study.state();
    let Some(record) = state.candidates.get(&id) else {
        return Err(not_needed(&id, "has not been validated"));
    };
    let reopens = match record.state {
        CandidateState::Draft | CandidateState::Validated | CandidateState::Debug
            if record.phases.is_empty() =>
        {
            return Err(not_needed(&id, "has not run"));
        }
        CandidateState::Draft | CandidateState::Debug => false,
        CandidateState::Launched | CandidateState::Completed if record.furthest() == Some(Phase::Smoke) => {
            true
        }
        now => {
            let message =
                format!("{id} is {now}: a candidate that has run beyond its smoke phase can't be revised");
            return Err(Failure::refused("candidate_settled", message).hint("rlx study next"));
        }
    };
    if let Some(run) = state.runs_of(&id).into_iter().find(|run| !matches!(run.state, RunState::Ended(_))) {
        let message = format!("run {} has not ended", run.intent.key);
        return Err(Failure::refused("run_under_way", message).hint("rlx launch adopt"));
    }
    let wanted = record.validated.revision.saturating_add(1);
    if revision != wanted {
        write_revision(context, &opened, &id, wanted)?;
    }
    if reopens {
        let reason = "only smoke runs were started, and it is revised".to_owned();
        opened.append(Actor::Rlx, Event::Reopened(Reopened { candidate: id.clone(), reason }))?;
    }
    Ok(ReviseReport { study: opened.study.name.clone(), candidate: id, revision: wanted })
}

fn not_needed(id: &Slug, why: &str) -> Failure {
    let message = format!("{id} {why}, so it can be validated as it is");
    Failure::refused("not_needed", message).hint(format!("rlx candidate validate {id}"))
}

fn write_revision(context: &Context, opened: &OpenStudy, id: &Slug, revision: u64) -> Outcome<()> {
    let fs = context.fs.as_ref();
    let path = opened.place.candidate(id);
    let text = fs.read_text(&path, LONGEST)?;
    let file = format!("{id}.yaml");
    let value = Value::from(revision);
    let edited = match get_value(&text, &file, "revision") {
        Ok(Some(_)) => set_value(&text, &file, "revision", &value),
        Ok(None) => add_value(&text, &file, "revision", &value),
        Err(why) => Err(why),
    };
    let edited = edited.map_err(|why| {
        Failure::usage("candidate_broken", format!("candidates/{file} can't be edited: {why}"))
            .hint(format!("write `revision: {revision}` into {}, then run the command again", path.display()))
    })?;
    Ok(fs.write_atomic(&path, edited.as_bytes())?)
}
