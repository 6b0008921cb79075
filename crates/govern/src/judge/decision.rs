//! What follows from a verdict for the study. The first rule that applies:
//!
//! | what was found | decision |
//! |---|---|
//! | the audit of what was accepted shows that a rollback metric fell further than is allowed | roll back |
//! | a check of rlx's own facts failed | escalate: a person has to find out why |
//! | the budget is used up, a stop rule applies, or every planned candidate was confirmed | stop |
//! | the last three verdicts were about changes of this kind, and none was accepted | narrow |
//! | otherwise | continue |

use crate::documents::Slug;
use crate::ledger::event::{Decided, Decision, Judged, Verdict};
use crate::ledger::state::CandidateRecord;
use crate::stop_rules::{Standing, confirmed, spent, stop_rule_at};
use crate::view::Study;

/// After how many verdicts in a row about changes of one kind, none of them accepted, others should be tried.
const MISSES_OF_A_KIND: usize = 3;

/// What follows from a verdict that is about to be recorded. `fallen` names rollback metrics that fell too far.
pub(super) fn decide(study: &Study, record: &CandidateRecord, judged: &Judged, fallen: &[Slug]) -> Decided {
    let decided = |decision, reason: String| Decided { decision, reason };
    if !fallen.is_empty() {
        let names: Vec<&str> = fallen.iter().map(Slug::as_str).collect();
        let reason = format!("{} of {} fell further than is allowed", names.join(", "), judged.candidate);
        return decided(Decision::RollBack, reason);
    }
    if !judged.failed_checks.is_empty() {
        let reason = format!("checks of {} failed: {}", judged.candidate, judged.failed_checks.join(", "));
        return decided(Decision::Escalate, reason);
    }
    if let Some(reason) = stops(study, record, judged) {
        return decided(Decision::Stop, reason);
    }
    if judged.verdict != Verdict::Accepted && misses_of_kind(study, record) + 1 >= MISSES_OF_A_KIND {
        let kind = record.validated.kind;
        let reason = format!("the last {MISSES_OF_A_KIND} candidates of kind {kind} were not accepted");
        return decided(Decision::Narrow, reason);
    }
    let verdict = match judged.verdict {
        Verdict::Accepted => "is the new incumbent",
        Verdict::Rejected => "is not better",
        Verdict::Inconclusive => "was not shown to be better",
        Verdict::Debug => "did not work as intended",
    };
    decided(Decision::Continue, format!("{} {verdict}", judged.candidate))
}

/// What ends the study once this verdict is recorded.
fn stops(study: &Study, record: &CandidateRecord, judged: &Judged) -> Option<String> {
    let contract = study.contract()?;
    let mut standing = Standing::of(study);
    if judged.verdict == Verdict::Accepted {
        standing.misses_in_a_row = 0;
        standing.score = judged.score;
    } else if !record.validated.kind.is_empty_change() {
        standing.misses_in_a_row += 1;
    }
    let planned = contract.statistics.schedule().candidates;
    let stop = spent(study, contract).or_else(|| stop_rule_at(study, contract, standing));
    stop.map(|stop| stop.reason).or_else(|| {
        (confirmed(study) >= planned).then(|| format!("all {planned} planned candidates were confirmed"))
    })
}

/// How many of the last verdicts in a row were about candidates of this kind and didn't accept them.
fn misses_of_kind(study: &Study, record: &CandidateRecord) -> usize {
    let state = study.state();
    let is_miss = |(id, verdict): &&(Slug, Verdict)| {
        let same =
            state.candidates.get(id).is_some_and(|other| other.validated.kind == record.validated.kind);
        same && *verdict != Verdict::Accepted
    };
    state.judged.iter().rev().take_while(is_miss).count()
}
