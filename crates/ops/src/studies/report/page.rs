//! The whole report, in the order in which it is read.

use super::agreement;
use super::document::{Block, Document};
use super::facts::Facts;
use super::{spending, summary, verdicts};

pub(super) fn document(facts: &Facts<'_>) -> Document {
    let mut blocks: Vec<Block> = vec![Block::Lead(summary::sentences(facts).join(" "))];
    if let Some(contract) = facts.contract {
        blocks.push(Block::Text(format!("Goal: {}", contract.task.mission)));
    }
    blocks.extend(verdicts::blocks(facts));
    blocks.extend(spending::budget(facts));
    blocks.extend(spending::runs(facts));
    blocks.extend(spending::unknown(facts));
    blocks.extend(spending::refusals(facts));
    blocks.extend(agreement::code(facts));
    blocks.extend(summary::open(facts));
    Document { title: format!("Study {}", facts.name), subtitle: subtitle(facts), blocks }
}

fn subtitle(facts: &Facts<'_>) -> String {
    match facts.history.last {
        Some(last) => format!(
            "From records #0 to #{} of the ledger (head {}). #n is the record that a number comes from: rlx ledger show.",
            last.seq,
            last.digest.short()
        ),
        None => "The ledger has no records.".to_owned(),
    }
}
