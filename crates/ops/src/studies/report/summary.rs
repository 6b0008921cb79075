//! The beginning and the end of a report: three sentences, and what is open.

use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::Slug;
use rlxp_govern::ledger::attempts;
use rlxp_govern::ledger::event::Verdict;
use rlxp_govern::ledger::state::CandidateRecord;
use rlxp_govern::machine::CandidateState;
use rlxp_types::text::number;

use super::document::Block;
use super::facts::Facts;
use super::history::cited;
use crate::below::word_of;
use crate::studies::study::status::counted;

/// Verdicts by kind, as `1 accepted, 2 rejected`; kinds without one are left out.
pub(super) fn tally(facts: &Facts<'_>) -> String {
    let count =
        |verdict: Verdict| facts.history.verdicts.iter().filter(|one| one.judged.verdict == verdict).count();
    let kinds = [
        (Verdict::Accepted, "accepted"),
        (Verdict::Rejected, "rejected"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::Debug, "debug"),
    ];
    let said: Vec<String> = kinds
        .into_iter()
        .map(|(verdict, word)| (count(verdict), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    said.join(", ")
}

/// The study in three sentences.
pub(super) fn sentences(facts: &Facts<'_>) -> [String; 3] {
    [verdicts(facts), reference(facts), budget_and_next(facts)]
}

fn verdicts(facts: &Facts<'_>) -> String {
    let history = &facts.history;
    if history.verdicts.is_empty() {
        let ended = history.runs.values().filter_map(|run| run.ended);
        let (candidates, runs) = (facts.state.candidates.len(), ended.clone().count());
        let validated = if candidates == 0 {
            "none was validated".to_owned()
        } else {
            let records = history.validations.iter().map(|(seq, _)| *seq);
            format!("{} validated ({})", counted_were(candidates, "candidate"), cited(records))
        };
        let ran = if runs == 0 {
            "no run has ended".to_owned()
        } else {
            format!("{} ended ({})", counted(runs, "run"), cited(ended))
        };
        return format!("No candidate has been judged yet: {validated} and {ran}.");
    }
    let count = counted(history.verdicts.len(), "verdict");
    let records = cited(history.verdicts.iter().map(|verdict| verdict.seq));
    let mut said = format!("{count} ({records}): {}", tally(facts));
    if !history.reverted.is_empty() {
        let records = cited(history.reverted.iter().map(|(seq, _)| *seq));
        said.push_str(&format!(
            "; {} undone later ({records})",
            counted_were(history.reverted.len(), "acceptance")
        ));
    }
    format!("{said}.")
}

fn counted_were(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "was" } else { "were" })
}

fn reference(facts: &Facts<'_>) -> String {
    let metric = facts.metric();
    let baseline = facts.state.baseline.as_ref().map(|id| (id, facts.centre(&facts.set(id))));
    let measured = |centre: &Option<(f64, usize, Vec<u64>)>| match centre {
        Some((value, seeds, records)) => format!(
            "an interquartile mean of {} over {} ({})",
            number(*value),
            counted(*seeds, "finished seed"),
            cited(records.iter().copied())
        ),
        None => "no measured seed".to_owned(),
    };
    match (&facts.state.incumbent, baseline) {
        (Some(id), baseline) => {
            let accepted = facts.history.accepted(id).map_or_else(String::new, |seq| format!(" (#{seq})"));
            // The same statistic as the baseline's, so that the two can be compared.
            let score = match (facts.centre(&facts.set(id)), facts.state.incumbent_score) {
                (centre @ Some(_), _) => format!("{} of {metric}", measured(&centre)),
                (None, Some(score)) => format!("a median {metric} of {}", number(score)),
                (None, None) => format!("{metric} not recorded"),
            };
            let before = match baseline {
                Some((id, centre)) => format!("; {id}, the baseline, has {}", measured(&centre)),
                None => String::new(),
            };
            format!("The incumbent is {id}{accepted} with {score}{before}.")
        }
        (None, Some((id, centre))) => format!(
            "Nothing is accepted, so candidates are compared with {id}, the baseline, which has {} of {metric}.",
            measured(&centre)
        ),
        (None, None) => "There is no baseline yet, so nothing can be compared.".to_owned(),
    }
}

fn budget_and_next(facts: &Facts<'_>) -> String {
    let spent = facts.state.tally.spent.runs;
    let budget = match facts.contract {
        Some(contract) => {
            let total = Amounts::from(&contract.budget);
            let left = facts.state.tally.left(total).runs;
            format!("{spent} of {} runs are spent and {left} are left", total.runs)
        }
        None => format!("{} spent, and no budget is agreed", counted_were(spent as usize, "run")),
    };
    let action = word_of(&facts.next.action).replace('_', " ");
    format!(
        "{budget}; the next step is to {}: {}.",
        action_words(&action),
        facts.next.reason.trim_end_matches('.')
    )
}

/// The action as a verb.
fn action_words(action: &str) -> &str {
    match action {
        "closed" => "do nothing more",
        "monitor" => "watch a run",
        "extract" => "read metrics",
        "judge" => "judge a candidate",
        "report" => "write the report",
        "smoke" => "run a smoke test",
        "launch" => "launch a candidate",
        "validate" => "validate a draft",
        "propose" => "propose a candidate",
        other => other,
    }
}

/// What is open.
pub(super) fn open(facts: &Facts<'_>) -> Vec<Block> {
    let next = &facts.next;
    let mut blocks = vec![
        Block::Heading("What is open"),
        Block::Text(format!("Next step: {}.", next.reason.trim_end_matches('.'))),
    ];
    blocks.extend(next.command.clone().map(Block::Command));
    let items = items(facts);
    if !items.is_empty() {
        blocks.push(Block::List(items));
    }
    blocks
}

/// Open points in words.
pub(super) fn items(facts: &Facts<'_>) -> Vec<String> {
    let (state, history) = (facts.state, &facts.history);
    let mut items = Vec::new();
    items.extend(facts.next.person.as_ref().map(|person| format!("A person must: {person}.")));
    let mut of_state = |wanted: CandidateState, said: &str| {
        // What changes nothing gets no verdict.
        let is_open = |record: &CandidateRecord| {
            let is_over = wanted == CandidateState::Completed && record.validated.kind.is_empty_change();
            record.state == wanted && !is_over
        };
        let ids = state.candidates.iter().filter(|(_, record)| is_open(record));
        let last = |id: &Slug| history.validations.iter().rev().find(|(_, one)| one.candidate == *id);
        let at = |id: &Slug| last(id).map_or_else(String::new, |(seq, _)| format!(" (#{seq})"));
        let ids: Vec<String> = ids.map(|(id, _)| format!("{id}{}", at(id))).collect();
        if !ids.is_empty() {
            items.push(format!("{said}: {}.", shortened(&ids)));
        }
    };
    of_state(CandidateState::Completed, "All runs have ended, no verdict");
    of_state(CandidateState::Launched, "Launched, with runs to come or to read");
    of_state(CandidateState::Validated, "Validated, not launched");
    of_state(CandidateState::Debug, "Stopped to be debugged; continues as a new revision");
    let unread = attempts::unread(state);
    let unread: Vec<String> = unread.iter().map(|run| run.intent.key.clone()).collect();
    if !unread.is_empty() {
        items.push(format!("Ended, metrics not read: {}.", shortened(&unread)));
    }
    let live: Vec<String> =
        state.live().iter().map(|run| format!("{} (#{})", run.intent.key, run.order)).collect();
    if !live.is_empty() {
        items.push(format!("Active runs: {}.", shortened(&live)));
    }
    if let (Some((_, reason)), Some(seq)) = (&state.handed_off, history.handed_off) {
        items.push(format!("Handed off (#{seq}): {reason}."));
    }
    if let (Some(reason), Some(seq)) = (&state.closed, history.closed) {
        items.push(format!("Closed (#{seq}): {reason}."));
    }
    if let Some((seq, decided)) = history.decided {
        let word = word_of(&decided.decision).replace('_', " ");
        items.push(format!("Last decision (#{seq}): {word}, {}.", decided.reason.trim_end_matches('.')));
    }
    items
}

/// The most names that a sentence lists.
const MOST_NAMES: usize = 12;

/// Names in a sentence; of many only the first.
pub(super) fn shortened(names: &[String]) -> String {
    if names.len() <= MOST_NAMES {
        return names.join(", ");
    }
    format!("{} and {} more", names[..MOST_NAMES].join(", "), names.len() - MOST_NAMES)
}
