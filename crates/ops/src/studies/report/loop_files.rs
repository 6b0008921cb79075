//! The files of `loops/<n>/`: what an agent or a person needs to continue after the n-th verdict.
//!
//! A loop ends with a verdict, so its number is that of the verdicts so far; `loops/0/` is from before the first one.

use std::collections::BTreeMap;

use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::Change;
use rlxp_govern::ledger::event::Verdict;
use rlxp_govern::next::Next;
use rlxp_types::Digest;
use rlxp_types::text::number;
use serde::Serialize;
use serde_json::Value;

use super::charts::verdict_word;
use super::document::{escaped, fenced};
use super::experiments::look;
use super::facts::{CandidateFile, Facts};
use super::history::JudgedAt;
use super::{summary, verdicts};
use crate::below::{amounts_about, word_of};

/// The number of the present loop.
pub(super) fn number_of(facts: &Facts<'_>) -> u64 {
    facts.history.verdicts.len() as u64
}

#[derive(Serialize)]
struct Feedback<'a> {
    schema: &'static str,
    study: String,
    #[serde(rename = "loop")]
    number: u64,
    /// Records that it is about.
    records: u64,
    summary: [String; 3],
    /// A sentence per verdict, the last one first.
    learned: Vec<String>,
    verdicts: Vec<VerdictRow>,
    incumbent: Option<String>,
    incumbent_score: Option<f64>,
    open: Vec<String>,
    budget_left: Option<Amounts>,
    budget_spent: Amounts,
    next: &'a Next,
}

#[derive(Serialize)]
struct VerdictRow {
    record: u64,
    candidate: String,
    kind: Option<String>,
    verdict: &'static str,
    reason: Option<String>,
    failed_checks: Vec<String>,
    against: Option<String>,
    difference: Option<f64>,
    looks: Vec<Value>,
    reverted: Option<u64>,
}

/// `feedback.json`: what was learned, the verdicts, what is open, and what is left.
pub(super) fn feedback(facts: &Facts<'_>) -> Vec<u8> {
    let total = facts.contract.map(|contract| Amounts::from(&contract.budget));
    let feedback = Feedback {
        schema: "rlxp.feedback/1",
        study: facts.name.to_string(),
        number: number_of(facts),
        records: facts.history.records(),
        summary: summary::sentences(facts),
        learned: learned(facts),
        verdicts: facts.history.verdicts.iter().map(|verdict| row(facts, verdict)).collect(),
        incumbent: facts.state.incumbent.as_ref().map(ToString::to_string),
        incumbent_score: facts.state.incumbent_score,
        open: summary::items(facts),
        budget_left: total.map(|total| facts.state.tally.left(total)),
        budget_spent: facts.state.tally.spent,
        next: &facts.next,
    };
    lines(&feedback)
}

fn row(facts: &Facts<'_>, verdict: &JudgedAt<'_>) -> VerdictRow {
    let judged = verdict.judged;
    VerdictRow {
        record: verdict.seq,
        candidate: judged.candidate.to_string(),
        kind: verdict.kind.map(|kind| kind.to_string()),
        verdict: verdict_word(judged.verdict),
        reason: (!judged.reason.is_empty()).then(|| judged.reason.clone()),
        failed_checks: judged.failed_checks.clone(),
        against: verdict.against.as_ref().map(ToString::to_string),
        difference: facts.effect(verdict).map(|effect| effect.difference),
        looks: verdict.looks.iter().map(look).collect(),
        reverted: reverted(facts, verdict),
    }
}

fn reverted(facts: &Facts<'_>, verdict: &JudgedAt<'_>) -> Option<u64> {
    let accepted = verdict.judged.verdict == Verdict::Accepted;
    let undone = facts.history.reverted.iter();
    let mut undone =
        undone.filter(|(seq, one)| *seq > verdict.seq && one.candidate == verdict.judged.candidate);
    undone.next().filter(|_| accepted).map(|(seq, _)| *seq)
}

/// A sentence per verdict, the last one first.
fn learned(facts: &Facts<'_>) -> Vec<String> {
    let sentence = |verdict: &JudgedAt<'_>| {
        let judged = verdict.judged;
        let what = match facts.candidates.get(&judged.candidate).and_then(CandidateFile::same) {
            Some(candidate) => {
                let mut said: Vec<String> = candidate.changes.iter().map(change_in_words).collect();
                said.extend(Some(candidate.hypothesis.clone()).filter(|text| !text.is_empty()));
                if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) }
            }
            None => String::new(),
        };
        let effect = facts.effect(verdict).map_or_else(String::new, |effect| {
            format!(
                ", {}{} in {}",
                if effect.difference > 0.0 { "+" } else { "" },
                number(effect.difference),
                facts.metric()
            )
        });
        let undone = reverted(facts, verdict).map_or_else(String::new, |seq| format!("; undone in #{seq}"));
        format!(
            "{}{what}: {}{effect}; reason: {}{undone} (#{}).",
            judged.candidate,
            verdict_word(judged.verdict),
            verdicts::reason(verdict),
            verdict.seq
        )
    };
    facts.history.verdicts.iter().rev().map(sentence).collect()
}

/// `algo.learning_rate 0.0003 to 0.0001`, or what is done to which file.
fn change_in_words(change: &Change) -> String {
    match (&change.key, &change.from, &change.to) {
        (Some(key), Some(from), Some(to)) => format!("{key} {from} to {to}"),
        (Some(key), None, Some(to)) => format!("{key} to {to}"),
        (Some(key), ..) => format!("{} {key}", word_of(&change.operation).replace('_', " ")),
        (None, ..) => format!("{} {}", word_of(&change.operation).replace('_', " "), change.path),
    }
}

/// `handoff.md`: enough for a stranger to continue.
pub(super) fn handoff(facts: &Facts<'_>) -> String {
    let mut text = format!("# Continue {}\n\n", escaped(&facts.name.to_string()));
    let mut section = |heading: &str, paragraphs: Vec<String>| {
        text.push_str(&format!("## {heading}\n\n"));
        paragraphs.iter().for_each(|paragraph| text.push_str(&format!("{paragraph}\n\n")));
    };
    let goal = match facts.contract {
        Some(contract) => {
            let mut goal = vec![escaped(&contract.task.mission)];
            if let Some(spec) = facts.spec {
                goal.push(escaped(&format!(
                    "Measured by {}, {} is better; a difference below {} doesn't matter.",
                    facts.metric(),
                    crate::below::direction_word(spec.primary.direction),
                    number(spec.smallest_effect)
                )));
            }
            let mut limits: Vec<String> = Vec::new();
            limits
                .extend(contract.task.constraints.iter().map(|one| format!("- must hold: {}", escaped(one))));
            limits
                .extend(contract.task.non_goals.iter().map(|one| format!("- not a goal: {}", escaped(one))));
            let surfaces: Vec<String> = contract.scope.surfaces.iter().map(ToString::to_string).collect();
            limits.push(format!("- may be changed: {}", escaped(&surfaces.join(", "))));
            goal.push(limits.join("\n"));
            goal
        }
        None => vec!["contract.yaml can't be read.".to_owned()],
    };
    section("Goal", goal);
    section("State", vec![escaped(&summary::sentences(facts).join(" "))]);
    section("Incumbent", vec![incumbent(facts)]);
    let tried: Vec<String> = learned(facts).iter().map(|one| format!("- {}", escaped(one))).collect();
    section(
        "What was tried",
        vec![if tried.is_empty() { "Nothing was judged yet.".to_owned() } else { tried.join("\n") }],
    );
    let left = facts.contract.map(|contract| facts.state.tally.left(Amounts::from(&contract.budget)));
    let left = match left.map(amounts_about) {
        Some(amounts) if amounts.is_empty() => "Nothing.".to_owned(),
        Some(amounts) => format!("{}.", amounts.join(", ")),
        None => "Unknown: contract.yaml can't be read.".to_owned(),
    };
    section("What is left of the budget", vec![escaped(&left)]);
    let open: Vec<String> = summary::items(facts).iter().map(|item| format!("- {}", escaped(item))).collect();
    if !open.is_empty() {
        section("What is open", vec![open.join("\n")]);
    }
    text.push_str("## Next step\n\n");
    text.push_str(&format!("{}.\n", escaped(facts.next.reason.trim_end_matches('.'))));
    if let Some(command) = &facts.next.command {
        text.push_str(&format!("\n{}", fenced(command)));
    }
    text.push_str(
        "\nThe ledger decides, not this text: `rlx study next` names the next step at any time, `rlx study status` \
         shows the state, and `report.md` beside the ledger has every number with its record.\n",
    );
    text
}

fn incumbent(facts: &Facts<'_>) -> String {
    let Some(id) = facts.reference() else { return "None: there is no baseline yet.".to_owned() };
    let what = if facts.state.incumbent.is_some() { "accepted candidate" } else { "baseline" };
    let mut said = format!("{id}, the {what}");
    if let Some(seq) = facts.history.accepted(id) {
        said.push_str(&format!(" (#{seq})"));
    }
    if let Some(score) = facts.state.incumbent_score {
        said.push_str(&format!(", with a median {} of {}", facts.metric(), number(score)));
    }
    let code = facts.state.accepted.last().and_then(|accepted| accepted.code.as_ref());
    if let Some(code) = code {
        said.push_str(&format!("; candidates train from {}", code.base));
        if !code.arguments.is_empty() {
            said.push_str(&format!(" with {}", code.arguments.join(" ")));
        }
    } else if let Some(base) = super::agreement::contract_base(facts) {
        said.push_str(&format!("; candidates train from {base}"));
    }
    escaped(&format!("{said}."))
}

#[derive(Serialize)]
struct LoopManifest<'a> {
    schema: &'static str,
    study: String,
    #[serde(rename = "loop")]
    number: u64,
    ledger: LedgerEnd,
    /// Files of the report, relative to the study's folder.
    files: BTreeMap<String, ListedFile>,
    /// Files of candidates by the digest of their bytes.
    candidates: BTreeMap<&'a str, Digest>,
    /// The list of each ended run's files, by its digest.
    runs: BTreeMap<&'a str, RunFiles>,
}

#[derive(Serialize)]
struct LedgerEnd {
    records: u64,
    head: Option<Digest>,
}

#[derive(Serialize)]
struct ListedFile {
    bytes: u64,
    digest: Digest,
}

#[derive(Serialize)]
struct RunFiles {
    manifest: Option<Digest>,
    record: Option<u64>,
}

/// `manifest.json`: the files of the report and the inputs it came from, by digest.
pub(super) fn manifest(
    facts: &Facts<'_>,
    files: &[(String, Vec<u8>)],
    candidates: &BTreeMap<String, Digest>,
) -> Vec<u8> {
    let listed = |(name, bytes): &(String, Vec<u8>)| {
        (name.clone(), ListedFile { bytes: bytes.len() as u64, digest: Digest::hash(bytes) })
    };
    let ended = facts.state.runs.values().filter_map(|run| Some((run, run.ended.as_ref()?)));
    let runs = ended.map(|(run, ended)| {
        let record = facts.history.runs.get(run.intent.key.as_str()).and_then(|at| at.ended);
        (run.intent.key.as_str(), RunFiles { manifest: ended.manifest, record })
    });
    let last = facts.history.last;
    lines(&LoopManifest {
        schema: "rlxp.loop_manifest/1",
        study: facts.name.to_string(),
        number: number_of(facts),
        ledger: LedgerEnd { records: facts.history.records(), head: last.map(|record| record.digest) },
        files: files.iter().map(listed).collect(),
        candidates: candidates.iter().map(|(name, digest)| (name.as_str(), *digest)).collect(),
        runs: runs.collect(),
    })
}

fn lines(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("it is plain data with text keys");
    bytes.push(b'\n');
    bytes
}
