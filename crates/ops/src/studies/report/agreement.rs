//! The code that runs start from and the approvals, in the order in which they were recorded: whether the people who
//! agreed saw the agreement before the first run, and which way of approving each used.

use std::collections::BTreeMap;

use rlxp_govern::documents::Base;
use rlxp_govern::section::{Section, Target};

use super::document::Block;
use super::facts::Facts;
use super::history::cited;
use super::summary::shortened;
use super::verdicts::NOT_RECORDED;
use crate::html::Table;

/// Code against approvals.
pub(super) fn code(facts: &Facts<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Code and approvals"), Block::Text(named(facts))];
    let mut bases: BTreeMap<String, (Vec<u64>, Vec<String>)> = BTreeMap::new();
    for (seq, validated) in &facts.history.validations {
        let base = validated.base.as_ref().map_or_else(|| NOT_RECORDED.to_owned(), full);
        let (records, ids) = bases.entry(base).or_default();
        records.push(*seq);
        let id = validated.candidate.to_string();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if !bases.is_empty() {
        let named = contract_base(facts).as_ref().map(full);
        let mut table =
            Table::new(&["code that candidates start from", "of the contract", "candidates", "records"]);
        for (base, (records, ids)) in bases {
            let is_named = match &named {
                _ if base == NOT_RECORDED => "unknown",
                Some(named) if *named == base => "yes",
                _ => "no",
            };
            table.row([base, is_named.to_owned(), shortened(&ids), cited(records)]);
        }
        blocks.push(Block::Table(table));
    }
    let accepted = accepted(facts);
    if !accepted.rows.is_empty() {
        blocks.push(Block::Text("What candidates train from after each acceptance:".to_owned()));
        blocks.push(Block::Table(accepted));
    }
    blocks.extend(approvals(facts));
    blocks
}

fn full(base: &Base) -> String {
    match base {
        Base::Commit(commit) => format!("commit {commit}"),
        Base::Snapshot(digest) => format!("snapshot {digest}"),
    }
}

/// The code that the contract names.
pub(super) fn contract_base(facts: &Facts<'_>) -> Option<Base> {
    let baseline = &facts.contract?.baseline;
    match &baseline.commit {
        Some(commit) => Base::of_commit(commit),
        None => baseline.snapshot.map(Base::Snapshot),
    }
}

/// Which code the contract names, and whether that was approved before the first run.
fn named(facts: &Facts<'_>) -> String {
    let Some(contract) = facts.contract else {
        return "contract.yaml can't be read, so it is unknown which code it names.".to_owned();
    };
    let base = match (contract_base(facts), &contract.baseline.commit) {
        (Some(base), _) => full(&base),
        (None, Some(text)) => format!("{text:?}, which is not the full name of a commit"),
        (None, None) => "no commit".to_owned(),
    };
    let target = Target::Section(Section::Baseline);
    let records: Vec<u64> = facts
        .state
        .approvals
        .iter()
        .filter(|approval| approval.approved.targets.contains_key(&target))
        .map(|approval| approval.seq)
        .collect();
    let approved = match (records.first(), facts.history.first_run()) {
        (None, _) => "The section baseline, which names it, was not approved.".to_owned(),
        (Some(first), None) => {
            format!(
                "The section baseline, which names it, was first approved in #{first}; no run was started."
            )
        }
        (Some(first), Some(run)) => {
            let later = records.iter().filter(|seq| **seq > run).copied().collect::<Vec<_>>();
            let order = if *first < run { "before" } else { "after" };
            let again = if later.is_empty() || order == "after" {
                String::new()
            } else {
                format!(", and again after it ({})", cited(later))
            };
            format!(
                "The section baseline, which names it, was first approved in #{first}, {order} the first run \
                 (#{run}){again}."
            )
        }
    };
    let status =
        facts.approvals.get(&target).map_or_else(String::new, |status| format!(" Now it is {status}."));
    format!("The contract names {base}. {approved}{status}")
}

fn accepted(facts: &Facts<'_>) -> Table {
    let mut table = Table::new(&["accepted", "code", "arguments", "record"]);
    for verdict in &facts.history.verdicts {
        if let Some(code) = &verdict.judged.code {
            table.row([
                verdict.judged.candidate.to_string(),
                full(&code.base),
                if code.arguments.is_empty() { "none".to_owned() } else { code.arguments.join(" ") },
                format!("#{}", verdict.seq),
            ]);
        }
    }
    table
}

fn approvals(facts: &Facts<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Approvals")];
    if facts.state.approvals.is_empty() {
        blocks.push(Block::Text("Nothing was approved yet.".to_owned()));
    } else {
        let first_run = facts.history.first_run();
        let mut table = Table::new(&["record", "approved", "assurance", "by", "order"]);
        for approval in &facts.state.approvals {
            let targets: Vec<String> = approval.approved.targets.keys().map(ToString::to_string).collect();
            let order = match first_run {
                None => "no run yet".to_owned(),
                Some(run) if approval.seq < run => format!("before the first run (#{run})"),
                Some(run) => format!("after the first run (#{run})"),
            };
            table.row([
                format!("#{}", approval.seq),
                shortened(&targets),
                approval.approved.assurance.to_string(),
                approval.approved.who.clone(),
                order,
            ]);
        }
        blocks.push(Block::Table(table));
    }
    let mut table = Table::new(&["target", "status now", "voided"]);
    for (target, status) in &facts.approvals {
        let voided = facts.state.voided.get(target).map_or_else(String::new, |(seq, _)| format!("#{seq}"));
        table.row([target.to_string(), status.to_string(), voided]);
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Folded { summary: "Status of every approval now".to_owned(), table });
    }
    blocks
}
