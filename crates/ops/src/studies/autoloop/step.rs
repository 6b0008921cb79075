//! One step of the loop, by the function behind its command.

use rlxp_govern::documents::CandidateKind;
use rlxp_govern::next::{About, Action, Next};
use rlxp_types::Exit;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::candidate::{self, Draft};
use crate::studies::extract::extract;
use crate::studies::files::OpenStudy;
use crate::studies::judge::{JudgeReport, judge};
use crate::studies::launch::execute::{CONFIRMATION, ExecuteRequest, execute};
use crate::studies::launch::outcome::LaunchEvent;
use crate::studies::propose::{ProposeRequest, propose};
use crate::studies::report::report;
use crate::studies::study::end;

/// A step that was taken.
pub(super) struct Done {
    /// What it did, in a few words.
    pub(super) result: String,
    /// How many runs it started.
    pub(super) started: u64,
}

impl Done {
    fn new(result: impl Into<String>) -> Self {
        Self { result: result.into(), started: 0 }
    }
}

/// Takes a step. At most `most` runs are started.
pub(super) fn take(
    context: &Context,
    study: &str,
    next: &Next,
    most: Option<u64>,
    events: &dyn Fn(LaunchEvent),
) -> Outcome<Done> {
    let selector = Some(study);
    match (next.action, &next.about) {
        (Action::Extract, Some(About::Run(_))) => {
            // Every run that has ended, in one go.
            let report = extract(context, selector, None, &mut |_| {})?;
            let read = report.runs.len();
            Ok(Done::new(if read == 1 { "read 1 run".to_owned() } else { format!("read {read} runs") }))
        }
        (Action::Judge, Some(About::Candidate(id))) => {
            Ok(Done::new(in_a_sentence(&judge(context, selector, id.as_str())?)))
        }
        (Action::Report, _) => {
            report(context, selector, false)?;
            Ok(Done::new("wrote the report"))
        }
        (Action::PlanBaseline | Action::Smoke, Some(About::Write { name, kind })) => {
            let written = candidate::new(context, selector, &first_run(name, *kind))?;
            Ok(Done::new(format!("wrote candidate {}", written.candidate)))
        }
        (Action::Validate, Some(About::Candidate(id))) => {
            let validated = candidate::validate(context, selector, id.as_str())?;
            Ok(Done::new(format!("{} passed {} gates", validated.candidate, validated.gates.len())))
        }
        (Action::Validate, Some(About::Revise(id))) => {
            let revised = candidate::revise(context, selector, id.as_str())?;
            Ok(Done::new(format!("{id} has revision {}", revised.revision)))
        }
        (Action::Launch | Action::Smoke, Some(About::Candidate(id))) => {
            let opened = OpenStudy::open(context, selector)?;
            let plan = opened.study.state().candidates.get(id).map(|record| record.validated.plan);
            opened.leave();
            let request = ExecuteRequest {
                candidate: id.to_string(),
                confirm: Some(CONFIRMATION.to_owned()),
                plan,
                runs: most,
                detach: true,
            };
            let started = execute(context, selector, &request, events)?.runs.len() as u64;
            let runs = if started == 1 { "1 run".to_owned() } else { format!("{started} runs") };
            Ok(Done { result: format!("started {runs} of {id}"), started })
        }
        (Action::Propose, _) => {
            let proposed = propose(context, selector, ProposeRequest { count: 1, dry_run: false })?;
            if proposed.proposals.is_empty() {
                let reason = format!("no further candidate to propose: {}", proposed.left_out.join("; "));
                end::hand_off(context, selector, Some(&reason))?;
                return Ok(Done::new(reason));
            }
            let names: Vec<&str> =
                proposed.proposals.iter().map(|proposed| proposed.candidate.as_str()).collect();
            Ok(Done::new(format!("proposed {}", names.join(", "))))
        }
        (action, about) => {
            let message = format!("the loop doesn't know how to do {action:?} about {about:?}");
            Err(Failure::new(Exit::Bug, "unknown_step", message))
        }
    }
}

/// What judging a candidate came to.
fn in_a_sentence(report: &JudgeReport) -> String {
    let findings = &report.findings;
    match (&findings.judged, &findings.looked) {
        (Some(judged), _) => format!("{}: {}, {}", judged.candidate, word(&judged.verdict), judged.reason),
        (None, Some(looked)) => format!(
            "{}: look {} of {}, {} (z {:.2}, accepts from {:.2})",
            looked.candidate,
            looked.look,
            looked.looks,
            word(&looked.call),
            looked.z,
            looked.accept
        ),
        (None, None) => format!("{}: nothing to record", findings.candidate),
    }
}

fn word(value: &impl Serialize) -> String {
    crate::below::word_of(value)
}

/// Records that the study is handed to a person.
pub(super) fn hand_off(context: &Context, study: &str, next: &Next) -> Outcome<()> {
    end::hand_off(context, Some(study), Some(&next.reason)).map(drop)
}

/// The draft of a candidate that changes nothing.
fn first_run(name: &str, kind: CandidateKind) -> Draft {
    Draft {
        name: name.to_owned(),
        kind,
        hypothesis: None,
        rollback: None,
        risk: None,
        surface: None,
        path: None,
        key: None,
        from: None,
        to: None,
        patch: None,
    }
}
