//! The budget, how runs ended, and what was refused.

use std::collections::BTreeMap;

use rlxp_govern::budget::Amounts;
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::machine::{RunEnd, RunState};
use rlxp_govern::section::{Section, Target};

use super::document::Block;
use super::facts::Facts;
use super::history::cited;
use crate::below::{bytes_about, seconds_about};
use crate::html::Table;
use crate::studies::study::status::counted;

/// Agreed, spent, reserved and left.
pub(super) fn budget(facts: &Facts<'_>) -> Vec<Block> {
    let tally = facts.state.tally;
    let total = facts.contract.map(|contract| Amounts::from(&contract.budget));
    let mut table = Table::new(&["amount", "agreed", "spent", "reserved", "left"]);
    let left = total.map(|total| tally.left(total));
    let unknown = || "unknown".to_owned();
    let mut row = |name: &str, of: fn(Amounts) -> u64, shown: fn(u64) -> String| {
        let maybe = |amounts: Option<Amounts>| amounts.map_or_else(unknown, |amounts| shown(of(amounts)));
        if total.is_none_or(|total| of(total) == 0) && of(tally.spent) == 0 && of(tally.reserved) == 0 {
            return;
        }
        table.row([
            name.to_owned(),
            maybe(total),
            shown(of(tally.spent)),
            shown(of(tally.reserved)),
            maybe(left),
        ]);
    };
    row("runs", |amounts| amounts.runs, |runs| runs.to_string());
    row("wall clock", |amounts| amounts.wall_clock, seconds_about);
    row("GPU time", |amounts| amounts.gpu_time, seconds_about);
    row("disk", |amounts| amounts.disk, bytes_about);
    let mut blocks = vec![Block::Heading("Budget")];
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks.push(Block::Text(sources(facts)));
    blocks
}

/// The records that the amounts come from.
fn sources(facts: &Facts<'_>) -> String {
    let is_budget = |target: &Target| *target == Target::Section(Section::Budget);
    let approvals = facts.state.approvals.iter();
    let approved = approvals.filter(|one| one.approved.targets.keys().any(is_budget)).map(|one| one.seq);
    let agreed = match approved.max() {
        Some(seq) => format!("Agreed: contract.yaml, last approved in #{seq}."),
        None => "Agreed: contract.yaml, not approved.".to_owned(),
    };
    let ended: Vec<u64> = facts.history.runs.values().filter_map(|run| run.ended).collect();
    let spent = if ended.is_empty() { "no run has ended".to_owned() } else { cited(ended) };
    let live: Vec<u64> = facts.state.live().iter().map(|run| run.order).collect();
    let reserved = if live.is_empty() { "no run is active".to_owned() } else { cited(live) };
    format!("{agreed} Spent: {spent}. Reserved: {reserved}.")
}

/// How the runs of a group ended.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) runs: usize,
    pub(super) by_end: BTreeMap<RunEnd, usize>,
    pub(super) active: usize,
    pub(super) external: usize,
    pub(super) not_evidence: usize,
    pub(super) records: Vec<u64>,
}

/// How runs ended, by candidate in the order of its validation.
pub(super) fn ends<'f>(facts: &'f Facts<'_>) -> Vec<(&'f str, Ends)> {
    let mut candidates: Vec<_> = facts.state.candidates.iter().collect();
    candidates.sort_by_key(|(_, record)| record.order);
    let mut all = Vec::new();
    for (id, record) in candidates.into_iter().filter(|(_, record)| !record.runs.is_empty()) {
        let mut ends = Ends::default();
        for run in record.runs.iter().filter_map(|key| facts.state.runs.get(key)) {
            ends.runs += 1;
            match run.state {
                RunState::Ended(end) => *ends.by_end.entry(end).or_default() += 1,
                RunState::Intended | RunState::Running => ends.active += 1,
            }
            ends.external += usize::from(run.intent.external.is_some());
            ends.not_evidence +=
                usize::from(run.ended.as_ref().is_some_and(|end| end.not_evidence.is_some()));
            let at = facts.history.runs.get(run.intent.key.as_str());
            ends.records.extend(at.map(|at| at.ended.unwrap_or(at.intended)));
        }
        all.push((id.as_str(), ends));
    }
    all
}

/// Runs of each group by how they ended, then every run that did not simply succeed.
pub(super) fn runs(facts: &Facts<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Runs")];
    let groups = ends(facts);
    if groups.is_empty() {
        blocks.push(Block::Text("No run was started.".to_owned()));
        return blocks;
    }
    let mut table = Table::new(&[
        "group",
        "runs",
        "ok",
        "failed",
        "limit",
        "cancelled",
        "lost",
        "blocked",
        "active",
        "external",
        "not evidence",
        "records",
    ]);
    for (id, ends) in groups {
        let mut row = vec![id.to_owned(), ends.runs.to_string()];
        row.extend(RunEnd::ALL.iter().map(|end| ends.by_end.get(end).copied().unwrap_or(0).to_string()));
        row.extend([ends.active, ends.external, ends.not_evidence].map(|count| count.to_string()));
        row.push(cited(ends.records));
        table.row(row);
    }
    blocks.push(Block::Table(table));
    let unusual = unusual(facts);
    if !unusual.rows.is_empty() {
        let summary = format!("{} that did not simply succeed", counted(unusual.rows.len(), "run"));
        blocks.push(Block::Folded { summary, table: unusual });
    }
    blocks
}

fn unusual(facts: &Facts<'_>) -> Table {
    let mut table = Table::new(&["run", "end", "reason", "record"]);
    let mut runs: Vec<&RunRecord> = facts.state.runs.values().collect();
    runs.sort_by_key(|run| run.order);
    for run in runs {
        let Some(ended) = &run.ended else { continue };
        let mut end = ended.end.to_string();
        if run.intent.external.is_some() {
            end.push_str(", external");
        }
        if let Some(code) = &ended.not_evidence {
            end.push_str(&format!(", not evidence: {code}"));
        }
        if end == RunEnd::Ok.to_string() {
            continue;
        }
        let record = facts.history.runs.get(run.intent.key.as_str()).and_then(|at| at.ended);
        let record = record.map_or_else(String::new, |seq| format!("#{seq}"));
        table.row([run.intent.key.clone(), end, ended.reason.clone(), record]);
    }
    table
}

/// Run folders that the ledger doesn't know.
pub(super) fn unknown(facts: &Facts<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Run folders that the ledger doesn't know")];
    if facts.unknown_runs.is_empty() {
        blocks.push(Block::Text("None.".to_owned()));
    } else {
        blocks.push(Block::Text(
            "These were launched, and no record says so: the ledger was cut or replaced by an older one. \
             rlx verify --chain checks it."
                .to_owned(),
        ));
        blocks.push(Block::List(facts.unknown_runs.clone()));
    }
    blocks
}

/// Everything that was refused.
pub(super) fn refusals(facts: &Facts<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Refusals")];
    if facts.history.refusals.is_empty() {
        blocks.push(Block::Text("None.".to_owned()));
        return blocks;
    }
    let mut table = Table::new(&["record", "asked for", "codes", "why not"]);
    for (seq, refused) in &facts.history.refusals {
        let codes = refused.codes.join(", ");
        table.row([format!("#{seq}"), refused.what.clone(), codes, refused.detail.clone()]);
    }
    let summary = counted(facts.history.refusals.len(), "refusal");
    blocks.push(Block::Folded { summary, table });
    blocks
}
