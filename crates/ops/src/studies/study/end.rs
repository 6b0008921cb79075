//! `rlx study handoff` and `rlx study close`: handing a study to a person, and closing it.

use rlxp_govern::documents::StudyName;
use rlxp_govern::ledger::event::{Closed, HandedOff, Refused};
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::next::{Action, Next, next};
use serde::Serialize;

use super::status::{FileState, StudyStatus, counted, status_of};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::open_study::OpenStudy;

/// What a person who takes over needs to know.
#[derive(Clone, Debug, Serialize)]
pub struct HandOff {
    pub reason: String,
    pub status: StudyStatus,
    /// What a person must do, in order.
    pub person: Vec<String>,
    pub next: Next,
}

/// A closed study.
#[derive(Clone, Debug, Serialize)]
pub struct ClosedStudy {
    #[serde(flatten)]
    pub name: StudyName,
    pub reason: String,
    /// Problems that did not change the result.
    pub warnings: Vec<String>,
}

/// Records a hand-off and describes the state of the study.
pub fn hand_off(context: &Context, selector: Option<&str>, reason: Option<&str>) -> Outcome<HandOff> {
    let mut opened = OpenStudy::open(context, selector)?;
    // Determined before the record is made: afterwards the answer is to wait.
    let before = next(&opened.study);
    let reason = match (reason, &opened.study.state().handed_off) {
        (Some(reason), _) => said(reason)?,
        (None, Some((_, reason))) => reason.clone(),
        (None, None) => before.reason.clone(),
    };
    opened.append(Actor::Rlx, Event::HandedOff(HandedOff { reason: reason.clone() }))?;
    let status = status_of(&opened)?;
    let mut person = tasks(&status, &before);
    // How to continue after that, unless something has to be watched or read first.
    let after = next(&opened.study);
    if let Some(gives_back) = after.person.filter(|_| after.action == Action::Wait)
        && !person.contains(&gives_back)
    {
        person.push(gives_back);
    }
    Ok(HandOff { reason, person, status, next: before })
}

/// What a person must do.
fn tasks(status: &StudyStatus, next: &Next) -> Vec<String> {
    let mut all = Vec::new();
    for file in status.files.iter().filter(|file| file.state == FileState::Broken) {
        all.push(format!("fix {}: {}", file.file, file.problems.first().map_or("", String::as_str)));
    }
    let missing: Vec<&str> =
        status.files.iter().filter(|file| file.state == FileState::Missing).map(|file| file.file).collect();
    if !missing.is_empty() {
        all.push(format!("create {}: rlx contract new", missing.join(", ")));
    }
    if !status.questions.is_empty() {
        all.push(format!(
            "answer {} of the contract: rlx contract check",
            counted(status.questions.len(), "question")
        ));
    }
    let open: Vec<String> =
        status.not_approved().map(|(section, standing)| format!("{section} ({standing})")).collect();
    if !open.is_empty() && missing.is_empty() {
        all.push(format!("decide about {}: rlx contract request", open.join(", ")));
    }
    if let Some(person) = &next.person
        && !all.iter().any(|task| task.contains(person.as_str()))
    {
        all.push(person.clone());
    }
    all
}

/// Closes a study. Only notes and anchors can follow.
pub fn close(context: &Context, selector: Option<&str>, reason: &str) -> Outcome<ClosedStudy> {
    let reason = said(reason)?;
    let mut opened = OpenStudy::open(context, selector)?;
    if let Some(earlier) = &opened.study.state().closed {
        return Err(Failure::refused("study_closed", format!("the study is already closed: {earlier}")));
    }
    if let Some(run) = opened.study.state().live().first() {
        let message = format!("run {} of {} is still active", run.intent.key, run.intent.candidate);
        return Err(Failure::refused("run_under_way", message).hint("rlx study next"));
    }
    if opened.study.was_entered() && !opened.study.close_standing().is_given() {
        let message =
            "the loop was entered, so closing the study needs approval: it ends the protection of the folder";
        let refused = Refused {
            what: "close".into(),
            codes: vec!["close_not_approved".into()],
            detail: message.into(),
            draft: None,
        };
        opened.record_refusal(refused)?;
        return Err(Failure::refused("close_not_approved", message).hint("rlx approve close"));
    }
    opened.append(Actor::Rlx, Event::Closed(Closed { reason: reason.clone() }))?;
    Ok(ClosedStudy { name: opened.place.name.clone(), reason, warnings: opened.warnings })
}

fn said(reason: &str) -> Outcome<String> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(Failure::usage("no_reason", "the reason is empty"));
    }
    Ok(reason.to_owned())
}
