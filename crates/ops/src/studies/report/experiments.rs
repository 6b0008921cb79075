//! `experiments.yaml`: one entry per candidate, for people and other programs. Derived from the ledger and from the
//! files of candidates; never read back.

use rlxp_govern::documents::{Candidate, Change, Phase};
use rlxp_govern::ledger::event::{Looked, Validated};
use rlxp_govern::ledger::state::CandidateRecord;
use rlxp_govern::score::SeedResult;
use rlxp_spec::document::to_yaml;
use serde_json::{Map, Value, json};

use super::charts::verdict_word;
use super::facts::{CandidateFile, Facts, SeedScore};
use super::history::JudgedAt;
use super::verdicts::{call_word, result};
use crate::below::word_of;

/// The format of the file.
pub(super) const SCHEMA: &str = "rlxp.experiments/1";

pub(super) fn text(facts: &Facts<'_>) -> String {
    let mut candidates: Vec<_> = facts.state.candidates.iter().collect();
    candidates.sort_by_key(|(_, record)| record.order);
    let entries: Vec<Value> = candidates.into_iter().map(|(_, record)| entry(facts, record)).collect();
    let head = format!(
        "# Derived from the ledger by `rlx study report`; never read back. `record` is a record's number in ledger.jsonl.\n\
         schema: {SCHEMA}\nstudy: {}\nrecords: {}\n",
        facts.name,
        facts.history.records()
    );
    if entries.is_empty() {
        return format!("{head}experiments: []\n");
    }
    let list = to_yaml(&Value::Array(entries));
    let list: String = list
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") })
        .collect();
    format!("{head}experiments:\n{list}")
}

fn entry(facts: &Facts<'_>, record: &CandidateRecord) -> Value {
    let Validated { candidate, revision, kind, phases, .. } = &record.validated;
    let file = facts.candidates.get(candidate);
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
    put("candidate", candidate.as_str().into());
    put("revision", (*revision).into());
    put("kind", kind.to_string().into());
    put("state", record.state.to_string().into());
    match file.and_then(CandidateFile::same) {
        Some(candidate) => {
            put("hypothesis", candidate.hypothesis.as_str().into());
            put("changes", changes(candidate).into());
        }
        None => {
            let why = file.and_then(CandidateFile::problem).unwrap_or("its file was not read");
            put("hypothesis", Value::Null);
            put("changes", Value::Null);
            put("file", why.into());
        }
    }
    let planned = phases.iter().map(|phase| json!({"phase": word_of(&phase.phase), "seeds": phase.seeds}));
    put("phases", planned.collect());
    let all = [Phase::Smoke, Phase::Short, Phase::Confirm, Phase::IncumbentValidation];
    let seeds = facts.seeds(candidate, Some(record.validated.plan), &all);
    put("seeds", seeds.iter().filter(|seed| seed.phase != Phase::Smoke).map(seed).collect());
    let verdict = facts.history.verdict(candidate);
    let open = facts.history.open_looks.get(candidate);
    let looks =
        open.map(Vec::as_slice).or(verdict.map(|verdict| verdict.looks.as_slice())).unwrap_or_default();
    put("looks", looks.iter().map(look).collect());
    put("verdict", verdict.map_or(Value::Null, judged));
    put("records", records(facts, record));
    Value::Object(entry)
}

/// What is changed, without the text of patches, which the candidate's file has.
fn changes(candidate: &Candidate) -> Vec<Value> {
    let change = |change: &Change| {
        let mut said = Map::new();
        said.insert("surface".into(), change.surface.as_str().into());
        said.insert("operation".into(), word_of(&change.operation).into());
        said.insert("path".into(), change.path.as_str().into());
        let known = [
            ("key", change.key.as_ref().map(|key| key.as_str().into())),
            ("from", change.from.clone()),
            ("to", change.to.clone()),
            ("patch_lines", change.patch.as_ref().map(|patch| patch.lines().count().into())),
        ];
        said.extend(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        Value::Object(said)
    };
    candidate.changes.iter().map(change).collect()
}

fn seed(seed: &SeedScore) -> Value {
    let value = match seed.result {
        Some(SeedResult::Finished(value)) => Some(value),
        _ => None,
    };
    json!({
        "phase": word_of(&seed.phase),
        "seed": seed.seed,
        "value": value,
        "counts_for": result(seed),
        "record": seed.record,
    })
}

/// A look as other programs read it.
pub(super) fn look((seq, looked): &(u64, &Looked)) -> Value {
    json!({
        "look": looked.look,
        "of": looked.looks,
        "seeds": looked.seeds,
        "incumbent_seeds": looked.incumbent_seeds,
        "z": looked.z,
        "accept": looked.accept,
        "drop": looked.drop,
        "call": call_word(looked.call),
        "record": seq,
    })
}

fn judged(verdict: &JudgedAt<'_>) -> Value {
    json!({
        "verdict": verdict_word(verdict.judged.verdict),
        "phase": word_of(&verdict.judged.phase),
        "reason": (!verdict.judged.reason.is_empty()).then_some(verdict.judged.reason.as_str()),
        "failed_checks": verdict.judged.failed_checks,
        "score": verdict.judged.score,
        "against": verdict.against.as_ref().map(ToString::to_string),
        "record": verdict.seq,
    })
}

fn records(facts: &Facts<'_>, record: &CandidateRecord) -> Value {
    let id = &record.validated.candidate;
    let validated = facts.history.validations.iter().filter(|(_, one)| one.candidate == *id);
    let runs = record.runs.iter().filter_map(|key| Some((key, facts.history.runs.get(key.as_str())?)));
    let runs = runs.map(
        |(key, at)| json!({"run": key, "intended": at.intended, "ended": at.ended, "evidence": at.evidence}),
    );
    json!({
        "validated": validated.map(|(seq, _)| *seq).collect::<Vec<u64>>(),
        "runs": runs.collect::<Vec<Value>>(),
    })
}
