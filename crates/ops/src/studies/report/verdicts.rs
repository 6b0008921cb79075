//! Verdicts, the looks that led to them, guardrails, and what every seed counts for.

use rlxp_govern::documents::Slug;
use rlxp_govern::ledger::event::{LookCall, Looked, Verdict};
use rlxp_govern::score::SeedResult;
use rlxp_types::text::{number, significant};

use super::charts;
use super::document::Block;
use super::facts::{Facts, SeedScore};
use super::history::{JudgedAt, cited};
use crate::html::Table;

/// What an older version of rlx didn't write.
pub(super) const NOT_RECORDED: &str = "not recorded";

pub(super) fn blocks(facts: &Facts<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Verdicts")];
    if facts.history.verdicts.is_empty() {
        blocks.push(Block::Text("No candidate has been judged yet.".to_owned()));
    } else {
        blocks.push(Block::Table(table(facts)));
        blocks.push(Block::Text(
            "z is the rank statistic of the candidate's seeds against the reference's, positive if the candidate is \
             better: it is accepted from the upper bound on and dropped below the lower one. The effect is Hodges and \
             Lehmann's estimate of the difference between the two sets of seeds."
                .to_owned(),
        ));
    }
    if !facts.history.open_looks.is_empty() {
        let looks =
            facts.history.open_looks.iter().map(|(id, looks)| format!("{id}: {}", self::looks(looks)));
        blocks.push(Block::Text("Looks at candidates that are still running:".to_owned()));
        blocks.push(Block::List(looks.collect()));
    }
    blocks.extend(charts::scores(facts));
    blocks.extend(charts::incumbent(facts));
    blocks.extend(seeds(facts));
    blocks.push(Block::Heading("Guardrails"));
    blocks.extend(guardrails(facts));
    blocks
}

fn table(facts: &Facts<'_>) -> Table {
    let mut table = Table::new(&["record", "candidate", "seeds", "looks", "effect", "verdict", "reason"]);
    for verdict in &facts.history.verdicts {
        table.row([
            format!("#{}", verdict.seq),
            candidate(verdict),
            counts(&facts.judged_seeds(verdict)),
            looks(&verdict.looks),
            effect(facts, verdict),
            outcome(facts, verdict),
            reason(verdict),
        ]);
    }
    table
}

fn candidate(verdict: &JudgedAt<'_>) -> String {
    let id = &verdict.judged.candidate;
    let revision = verdict.revision.filter(|revision| *revision > 1);
    let revision = revision.map_or_else(String::new, |revision| format!(" r{revision}"));
    match verdict.kind {
        Some(kind) => format!("{id}{revision} ({})", kind.to_string().replace('_', " ")),
        None => format!("{id}{revision}"),
    }
}

/// How many seeds count, by how they ended, with their records.
fn counts(seeds: &[SeedScore]) -> String {
    if seeds.is_empty() {
        return "0".to_owned();
    }
    let failed = seeds.iter().filter(|seed| seed.result == Some(SeedResult::Failed)).count();
    let unknown = seeds.iter().filter(|seed| seed.result.is_none()).count();
    let mut said = seeds.len().to_string();
    if failed > 0 {
        said.push_str(&format!(", {failed} failed"));
    }
    if unknown > 0 {
        said.push_str(&format!(", {unknown} not counted"));
    }
    format!("{said} ({})", cited(seeds.iter().filter_map(|seed| seed.record)))
}

/// Every look: z between its bounds.
pub(super) fn looks(looks: &[(u64, &Looked)]) -> String {
    if looks.is_empty() {
        return NOT_RECORDED.to_owned();
    }
    let look = |(seq, looked): &(u64, &Looked)| {
        let drop = looked.drop.map_or_else(|| "none".to_owned(), significant);
        let mut said = format!(
            "{}/{}: z {} (drop {drop}, accept {}) on {} vs {} seeds, {}",
            looked.look,
            looked.looks,
            significant(looked.z),
            significant(looked.accept),
            looked.seeds,
            looked.incumbent_seeds,
            call_word(looked.call)
        );
        if let Some(veto) = &looked.veto {
            said.push_str(&format!(", veto: {veto}"));
        }
        format!("{said} (#{seq})")
    };
    looks.iter().map(look).collect::<Vec<_>>().join("; ")
}

/// What followed from a look, as a word.
pub(super) fn call_word(call: LookCall) -> &'static str {
    match call {
        LookCall::More => "more seeds",
        LookCall::Accept => "accept",
        LookCall::Drop => "drop",
        LookCall::Undecided => "undecided",
    }
}

fn effect(facts: &Facts<'_>, verdict: &JudgedAt<'_>) -> String {
    match facts.effect(verdict) {
        Some(effect) => {
            let sign = if effect.difference > 0.0 { "+" } else { "" };
            // Only a verdict says that one is better: the estimate of equal ones is never exactly even.
            let word = match (verdict.judged.verdict, effect.is_better) {
                (Verdict::Accepted, true) => "better than",
                (Verdict::Rejected, false) => "worse than",
                _ => "not told apart from",
            };
            let against = verdict.against.as_ref().map_or("the reference", Slug::as_str);
            format!("{sign}{}, {word} {against} ({})", number(effect.difference), cited(effect.records))
        }
        None if verdict.against.is_none() => "no reference".to_owned(),
        None => "not measured".to_owned(),
    }
}

fn outcome(facts: &Facts<'_>, verdict: &JudgedAt<'_>) -> String {
    let word = charts::verdict_word(verdict.judged.verdict);
    let is_it = |candidate: &Slug| *candidate == verdict.judged.candidate;
    let reverted =
        facts.history.reverted.iter().find(|(seq, one)| *seq > verdict.seq && is_it(&one.candidate));
    match reverted.filter(|_| word == "accepted") {
        Some((seq, reverted)) => format!("accepted, reverted (#{seq}): {}", reverted.reason),
        None => word.to_owned(),
    }
}

/// Why, with the checks that failed.
pub(super) fn reason(verdict: &JudgedAt<'_>) -> String {
    let judged = verdict.judged;
    let mut said = if judged.reason.is_empty() { NOT_RECORDED.to_owned() } else { judged.reason.clone() };
    if !judged.failed_checks.is_empty() {
        said.push_str(&format!(" [failed checks: {}]", judged.failed_checks.join(", ")));
    }
    said
}

/// A seed's result in words.
pub(super) fn result(seed: &SeedScore) -> String {
    let said = match seed.result {
        Some(SeedResult::Finished(value)) => number(value),
        Some(SeedResult::Failed) => "failure score".to_owned(),
        Some(SeedResult::LikeTheBest) => "like the best of its set".to_owned(),
        None => "does not count".to_owned(),
    };
    match seed.condition {
        Some(condition) => format!("{said} ({condition}: once approved)"),
        None => said,
    }
}

/// What every seed counts for, of the reference and of judged candidates.
fn seeds(facts: &Facts<'_>) -> Option<Block> {
    let mut table = Table::new(&["candidate", "phase", "seed", "counts for", "record"]);
    let mut add = |id: &str, seeds: &[SeedScore]| {
        for seed in seeds {
            let record = seed.record.map_or_else(|| NOT_RECORDED.to_owned(), |seq| format!("#{seq}"));
            let (phase, number) = (seed.phase.to_string(), seed.seed.to_string());
            table.row([id.to_owned(), phase, number, result(seed), record]);
        }
    };
    if let Some(baseline) = &facts.state.baseline {
        add(baseline.as_str(), &facts.set(baseline));
    }
    for verdict in &facts.history.verdicts {
        if facts.state.baseline.as_ref() != Some(&verdict.judged.candidate) {
            add(verdict.judged.candidate.as_str(), &facts.judged_seeds(verdict));
        }
    }
    let summary = format!("{} of every seed", facts.metric());
    (!table.rows.is_empty()).then_some(Block::Folded { summary, table })
}

fn guardrails(facts: &Facts<'_>) -> Vec<Block> {
    let mut table =
        Table::new(&["candidate", "guardrail", "allowed", "difference", "bound", "holds", "record"]);
    let declared = facts.spec.map(|spec| spec.guardrails.len());
    for verdict in &facts.history.verdicts {
        for (seq, looked) in &verdict.looks {
            for rail in &looked.guardrails {
                let value = |value: Option<f64>| value.map_or_else(|| "not measured".to_owned(), number);
                table.row([
                    format!("{} (look {})", verdict.judged.candidate, looked.look),
                    rail.name.to_string(),
                    number(rail.allowed),
                    value(rail.difference),
                    value(rail.bound),
                    if rail.holds { "yes" } else { "not shown" }.to_owned(),
                    format!("#{seq}"),
                ]);
            }
        }
    }
    let text = match declared {
        _ if !table.rows.is_empty() => {
            "The difference is the candidate less the reference, positive if better. A guardrail holds once it is shown \
             that the candidate is not worse than allowed: once the bound is above minus the allowed regression."
        }
        Some(0) => "No guardrails are declared.",
        Some(_) if facts.history.verdicts.is_empty() => "No candidate has been judged yet.",
        Some(_) => "No look at a judged candidate has recorded its guardrails.",
        None => "metric_spec.yaml can't be read, so it is unknown which guardrails are declared.",
    };
    let mut blocks = vec![Block::Text(text.to_owned())];
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks
}
