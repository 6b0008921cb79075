//! `state.json`: the state of a study for people and other programs. Derived from the ledger after each record; rlx
//! never reads it, so editing it changes nothing.

use std::collections::BTreeMap;

use rlxp_fs::FsExt;
use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::Phase;
use rlxp_govern::ledger::Ledger;
use rlxp_govern::machine::{CandidateState, RunState};
use rlxp_types::Digest;
use serde::Serialize;

use super::paths::StudyPaths;
use crate::context::Context;
use crate::failure::Outcome;

/// The format of the file.
pub const SCHEMA: &str = "rlx.study_state/1";

#[derive(Serialize)]
struct StateFile<'s> {
    schema: &'static str,
    note: &'static str,
    task: &'s str,
    study: &'s str,
    id: &'s str,
    records: u64,
    head: Digest,
    approvals: usize,
    candidates: BTreeMap<&'s str, Candidate>,
    runs: BTreeMap<&'s str, Run<'s>>,
    spent: Amounts,
    reserved: Amounts,
    incumbent: Option<&'s str>,
    incumbent_score: Option<f64>,
    closed: Option<&'s str>,
}

#[derive(Serialize)]
struct Candidate {
    state: CandidateState,
    revision: u64,
    plan: Digest,
}

#[derive(Serialize)]
struct Run<'s> {
    candidate: &'s str,
    phase: Phase,
    seed: u64,
    state: RunState,
}

pub fn write(context: &Context, place: &StudyPaths, ledger: &Ledger) -> Outcome<()> {
    let text = text(place, ledger);
    // Not synced: the ledger has everything in it.
    Ok(context.fs.replace_unsynced(&place.state(), text.as_bytes())?)
}

fn text(place: &StudyPaths, ledger: &Ledger) -> String {
    let state = &ledger.state;
    let candidates = state.candidates.iter().map(|(id, candidate)| {
        let (state, validated) = (candidate.state, &candidate.validated);
        (id.as_str(), Candidate { state, revision: validated.revision, plan: validated.plan })
    });
    let runs = state.runs.iter().map(|(key, run)| {
        let intent = &run.intent;
        let candidate = intent.candidate.as_str();
        (key.as_str(), Run { candidate, phase: intent.phase, seed: intent.seed, state: run.state })
    });
    let file = StateFile {
        schema: SCHEMA,
        note: "made from ledger.jsonl after each record; rlx never reads it",
        task: place.name.task.as_str(),
        study: place.name.study.as_str(),
        id: state.opened.as_ref().map_or("", |opened| opened.id.as_str()),
        records: ledger.next_seq(),
        head: ledger.head(),
        approvals: state.approvals.len(),
        candidates: candidates.collect(),
        runs: runs.collect(),
        spent: state.tally.spent,
        reserved: state.tally.reserved,
        incumbent: state.incumbent.as_ref().map(|id| id.as_str()),
        incumbent_score: state.incumbent_score,
        closed: state.closed.as_deref(),
    };
    serde_json::to_string_pretty(&file).expect("a state is plain data") + "\n"
}
