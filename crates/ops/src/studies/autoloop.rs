//! `rlx autoloop`: asks for the next step of a study and takes it, through the same functions as the commands, until
//! the budget, a stop rule, or something that only a person may do.
//!
//! The loop keeps nothing in memory that matters. Every step begins with the study as it is on disk, so a loop that
//! was killed anywhere is continued by the next one: live runs are watched again, and no key runs twice. One loop per
//! study: a lock in the state folder names the process that runs it, and one that has provably exited is taken over.

mod lock;
mod step;

use std::thread;
use std::time::Duration;

use rlxp_fs::clock;
use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::StudyName;
use rlxp_govern::next::{Action, Ending, Next};
use rlxp_launch::Interrupts;
use rlxp_types::Exit;
use serde::Serialize;

use self::step::{Done, take};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::launch::outcome::LaunchEvent;
use crate::studies::launch::reconcile;
use crate::studies::launch::watch::has_change;
use crate::studies::study::next::next_of;

/// Pause between two looks at live runs.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Other processes may append to the ledger too; how often in a row a step is tried again because of them.
const TRIES: usize = 50;

/// How far a loop may go.
#[derive(Clone, Copy, Debug, Default)]
pub struct AutoloopRequest {
    /// Start nothing after this time.
    pub time: Option<Duration>,
    /// Start at most this many runs.
    pub runs: Option<u64>,
    /// Only say what the first step would be.
    pub dry_run: bool,
}

/// What happened in a loop.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LoopEvent {
    /// A step begins.
    Step { step: u64, action: Action, reason: String, left: Amounts },
    /// A step ended.
    Took { step: u64, result: String },
    /// A run started, ended or has something to say.
    Run { run: LaunchEvent },
    /// Runs are under way, and nothing else can be done until one of them has ended.
    Waiting { runs: Vec<String>, left: Amounts },
}

/// How a loop ended.
#[derive(Clone, Debug, Serialize)]
pub struct AutoloopReport {
    pub study: StudyName,
    pub ended: LoopEnd,
    /// Why, in a sentence.
    pub reason: String,
    /// Steps that were taken.
    pub steps: u64,
    /// Runs that were started.
    pub runs: u64,
    /// What is left of the budget.
    pub left: Amounts,
    /// Runs that continue in the background.
    pub live: Vec<String>,
    /// The next step, for whoever continues.
    pub next: Next,
}

/// Why a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEnd {
    /// The study is over: its budget is spent, its target is reached, or its stop rule applies.
    Done,
    /// The time or the number of runs that the loop was given is used up.
    LimitReached,
    /// Nothing was done: it was only asked what would be.
    DryRun,
    /// Only a person may do what comes next.
    PersonNeeded,
    /// Runs failed or could not start.
    Failures,
    /// The user stopped it.
    Interrupted,
}

impl LoopEnd {
    pub fn exit(self) -> Exit {
        match self {
            LoopEnd::Done | LoopEnd::LimitReached | LoopEnd::DryRun => Exit::Yes,
            LoopEnd::PersonNeeded => Exit::Refused,
            LoopEnd::Failures => Exit::RunFailed,
            LoopEnd::Interrupted => Exit::Interrupted,
        }
    }
}

/// Takes steps until one of the reasons to end applies.
pub fn autoloop(
    context: &Context,
    study: Option<&str>,
    request: &AutoloopRequest,
    events: &dyn Fn(LoopEvent),
) -> Outcome<AutoloopReport> {
    let opened = OpenStudy::open(context, study)?;
    let name = opened.study.name.clone();
    let next = next_of(context, &opened, false)?;
    if request.dry_run {
        let report = report(&opened, LoopEnd::DryRun, next.reason.clone(), (0, 0), next);
        return Ok(report);
    }
    let _only_one = lock::take(context, &opened)?;
    opened.leave();
    let interrupts = Interrupts::install()
        .map_err(|error| Failure::new(Exit::Bug, "signals", format!("can't listen to signals: {error}")))?;
    // By its full name, so that another study can become active meanwhile.
    let selector = format!("{}/{}", name.task, name.study);
    let started = clock::monotonic();
    let is_late = || request.time.is_some_and(|time| started.elapsed() >= time);
    let looped = Loop { context, study: &selector, request, interrupts, events, is_late: &is_late };
    looped.run()
}

/// A loop under way.
struct Loop<'a> {
    context: &'a Context,
    study: &'a str,
    request: &'a AutoloopRequest,
    interrupts: Interrupts,
    events: &'a dyn Fn(LoopEvent),
    is_late: &'a dyn Fn() -> bool,
}

impl Loop<'_> {
    fn run(&self) -> Outcome<AutoloopReport> {
        let (mut steps, mut runs, mut tries) = (0, 0, 0);
        // What the last step was and how long the ledger was then: a step that changes nothing would be taken forever.
        let mut last: Option<(Next, usize)> = None;
        loop {
            let mut opened = OpenStudy::open(self.context, Some(self.study))?;
            for ended in reconcile(self.context, &mut opened)? {
                let run = LaunchEvent::Ended { key: ended.key, end: ended.end, reason: ended.reason };
                (self.events)(LoopEvent::Run { run });
            }
            let next = next_of(self.context, &opened, false)?;
            let end = |ended, reason: String| Ok(report(&opened, ended, reason, (steps, runs), next.clone()));
            if self.interrupts.count() > 0 {
                return end(LoopEnd::Interrupted, "interrupted".to_owned());
            }
            if let Some((ended, reason)) = self.limit(&next, runs) {
                return end(ended, reason);
            }
            if let Some((ended, reason)) = ending(&next) {
                if next.action == Action::HandOff && opened.study.state().handed_off.is_none() {
                    step::hand_off(self.context, self.study, &next)?;
                }
                return end(ended, reason);
            }
            let length = opened.study.ledger.digests.len();
            if last.as_ref().is_some_and(|(before, at)| *before == next && *at == length) {
                let reason = format!("the last step changed nothing: {}", next.reason);
                return end(LoopEnd::PersonNeeded, reason);
            }
            let left = left(&opened);
            if next.action == Action::Monitor {
                let live: Vec<String> =
                    opened.study.state().live().iter().map(|run| run.intent.key.clone()).collect();
                (self.events)(LoopEvent::Waiting { runs: live, left });
                self.wait(opened)?;
                continue;
            }
            steps += 1;
            let event =
                LoopEvent::Step { step: steps, action: next.action, reason: next.reason.clone(), left };
            (self.events)(event);
            opened.leave();
            let most = self.request.runs.map(|most| most - runs);
            match take(self.context, self.study, &next, most, &|event| {
                (self.events)(LoopEvent::Run { run: event })
            }) {
                Ok(Done { result, started }) => {
                    (tries, runs) = (0, runs + started);
                    (self.events)(LoopEvent::Took { step: steps, result });
                }
                Err(failure) if failure.is_contention() && tries < TRIES => {
                    (tries, steps) = (tries + 1, steps - 1);
                    continue;
                }
                // A gate refused: it is in the ledger, and the next step takes it into account or asks a person.
                Err(failure) if failure.exit == Exit::Refused => {
                    (self.events)(LoopEvent::Took { step: steps, result: refused(&failure) });
                }
                Err(failure) => return Err(failure),
            }
            last = Some((next, length));
        }
    }

    /// Waits until a live run has ended, the user stops the loop, or its time is up.
    fn wait(&self, opened: OpenStudy) -> Outcome<()> {
        while self.interrupts.count() == 0 && !(self.is_late)() && !has_change(self.context, &opened)? {
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// The loop's own limits. They keep it from starting anything; what runs goes to its end by itself.
    fn limit(&self, next: &Next, runs: u64) -> Option<(LoopEnd, String)> {
        if (self.is_late)() {
            return Some((LoopEnd::LimitReached, "the time that the loop was given is over".to_owned()));
        }
        let is_launch = matches!(next.action, Action::Launch | Action::Smoke);
        let is_used_up = self.request.runs.is_some_and(|most| runs >= most);
        (is_launch && is_used_up).then(|| {
            (LoopEnd::LimitReached, format!("the limit of runs that the loop may start ({runs}) is reached"))
        })
    }
}

/// Whether a step ends the loop, and why.
fn ending(next: &Next) -> Option<(LoopEnd, String)> {
    let ended = match (next.action, next.ending) {
        (Action::Closed, _) => LoopEnd::Done,
        (
            Action::HandOff | Action::Wait,
            Some(Ending::Budget | Ending::TargetReached | Ending::NoImprovement | Ending::PlannedOut),
        ) => LoopEnd::Done,
        (Action::HandOff | Action::Wait, Some(Ending::Failures)) => LoopEnd::Failures,
        (
            Action::Stop
            | Action::HandOff
            | Action::Wait
            | Action::Ask
            | Action::RequestApproval
            | Action::Audit,
            _,
        ) => LoopEnd::PersonNeeded,
        _ if next.person.is_some() => LoopEnd::PersonNeeded,
        _ => return None,
    };
    let reason = match (&next.person, ended) {
        (Some(person), LoopEnd::PersonNeeded) => format!("{}; {person}", next.reason),
        _ => next.reason.clone(),
    };
    Some((ended, reason))
}

fn report(
    opened: &OpenStudy,
    ended: LoopEnd,
    reason: String,
    (steps, runs): (u64, u64),
    next: Next,
) -> AutoloopReport {
    let live = opened.study.state().live().iter().map(|run| run.intent.key.clone()).collect();
    let study = opened.study.name.clone();
    AutoloopReport { study, ended, reason, steps, runs, left: left(opened), live, next }
}

/// What is left of the budget.
fn left(opened: &OpenStudy) -> Amounts {
    let total = opened.study.contract().map(|contract| Amounts::from(&contract.budget)).unwrap_or_default();
    opened.study.state().tally.left(total)
}

fn refused(failure: &Failure) -> String {
    let codes: Vec<String> = failure.refusals.iter().map(|refusal| refusal.code.to_string()).collect();
    if codes.is_empty() { failure.message.clone() } else { format!("refused: {}", codes.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(action: Action, ending: Option<Ending>, person: Option<&str>) -> Next {
        Next {
            action,
            reason: "because".to_owned(),
            command: None,
            changes: String::new(),
            person: person.map(str::to_owned),
            launches: None,
            about: None,
            ending,
        }
    }

    #[test]
    fn a_loop_ends_where_only_a_person_may_act() {
        let ended = |action, why, person| ending(&next(action, why, person)).map(|(ended, _)| ended.exit());
        for action in [Action::Stop, Action::Ask, Action::RequestApproval, Action::Audit, Action::Wait] {
            assert_eq!(ended(action, None, Some("act")), Some(Exit::Refused), "{action:?}");
        }
        // In manual mode a launch asks for a person; otherwise it doesn't.
        assert_eq!(ended(Action::Launch, None, Some("start the run yourself")), Some(Exit::Refused));
        for action in [Action::Launch, Action::Extract, Action::Judge, Action::Report, Action::Validate] {
            assert_eq!(ended(action, None, None), None, "{action:?}");
        }
    }

    #[test]
    fn the_end_of_a_study_is_told_apart_from_failures() {
        let ended = |why| ending(&next(Action::HandOff, Some(why), Some("decide"))).map(|(ended, _)| ended);
        assert_eq!(ended(Ending::Budget), Some(LoopEnd::Done));
        assert_eq!(ended(Ending::TargetReached), Some(LoopEnd::Done));
        assert_eq!(ended(Ending::NoImprovement), Some(LoopEnd::Done));
        assert_eq!(ended(Ending::Failures), Some(LoopEnd::Failures));
        assert_eq!(ended(Ending::NoResult), Some(LoopEnd::PersonNeeded));
    }
}
