//! `rlx study judge`: evidence to look to verdict to decision. What is decided is `rlxp_govern::judge`; this gathers what
//! files say about the runs of the comparison, and appends everything that follows at once.

mod facts;

use rlxp_govern::documents::StudyName;
use rlxp_govern::judge::{Bounds, Findings, Judgement, NotYet, judge as decide, runs_needed};
use rlxp_govern::ledger::event::{LookCall, Verdict};
use rlxp_govern::ledger::{Actor, Event};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::accept::accepted_code;
use crate::studies::candidate::known;
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;
use crate::studies::launch::reconcile;

pub(crate) use facts::gather;

/// How often a ledger that others add to is read again.
const TRIES: usize = 50;

/// What was found about a candidate and recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeReport {
    pub study: StudyName,
    #[serde(flatten)]
    pub findings: Findings,
    /// The kinds of the records that were appended, in their order.
    pub recorded: Vec<&'static str>,
}

impl JudgeReport {
    /// Whether the candidate was accepted, or is about to be audited for it.
    pub fn is_better(&self) -> bool {
        match (&self.findings.judged, &self.findings.looked) {
            (Some(judged), _) => judged.verdict == Verdict::Accepted,
            (None, Some(looked)) => looked.call == LookCall::Accept,
            (None, None) => false,
        }
    }
}

/// Judges a candidate by its runs so far and records what follows.
pub fn judge(context: &Context, study: Option<&str>, candidate: &str) -> Outcome<JudgeReport> {
    let mut opened = OpenStudy::open(context, study)?;
    if let Some(reason) = &opened.study.state().closed {
        return Err(Failure::refused("study_closed", format!("the study is closed: {reason}")));
    }
    reconcile(context, &mut opened)?;
    let id = known(&opened, candidate)?;
    let mut bounds = Bounds::from_records();
    let mut tries = 0;
    loop {
        let place = LaunchPaths::for_study(&opened)?;
        let facts = gather(context, &place, opened.study.state(), &runs_needed(&opened.study, &id))?;
        let mut findings = match decide(&opened.study, &id, &facts, &mut bounds) {
            Judgement::Found(findings) => *findings,
            Judgement::NotYet(not_yet) => return Err(refusal(not_yet)),
        };
        if let Some(judged) = findings.judged.as_mut().filter(|judged| judged.verdict == Verdict::Accepted) {
            judged.code = accepted_code(context, &opened, &id)?;
        }
        let records = findings.records();
        let recorded = records.iter().map(Event::kind).collect();
        let events = records.into_iter().map(|event| (Actor::Rlx, event)).collect();
        match opened.append_all(events) {
            Ok(()) => return Ok(JudgeReport { study: opened.study.name.clone(), findings, recorded }),
            // Another process appends to the ledger too, perhaps the same verdict: read it again.
            Err(failure) if tries < TRIES && failure.is_contention() => {
                tries += 1;
                opened = OpenStudy::at(context, opened.place.clone())?;
            }
            Err(failure) => return Err(failure),
        }
    }
}

fn refusal(not_yet: NotYet) -> Failure {
    let failure = Failure::refused(not_yet.code, not_yet.reason);
    match not_yet.command {
        Some(command) => failure.hint(command),
        None => failure,
    }
}
