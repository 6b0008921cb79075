//! `queue`: which phase of which candidate can run, and what each waits for. Planning starts nothing.

use rlxp_govern::documents::StudyName;
use rlxp_govern::gate::{Purpose, refusals};
use rlxp_govern::ledger::event::Queued;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::queue::Queue;
use rlxp_types::Digest;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueReport {
    pub study: StudyName,
    /// The digest of the plan.
    pub digest: Digest,
    /// Whether this is the recorded plan.
    pub on_record: bool,
    /// The jobs.
    #[serde(flatten)]
    pub queue: Queue,
}

/// The queue as it follows from the ledger.
pub fn show(context: &Context, study: Option<&str>) -> Outcome<QueueReport> {
    Ok(report(&OpenStudy::open(context, study)?))
}

/// Records the queue as the plan.
pub fn plan(context: &Context, study: Option<&str>) -> Outcome<QueueReport> {
    let mut opened = OpenStudy::open(context, study)?;
    let refused = refusals(Purpose::Plan, &opened.study, None);
    if !refused.is_empty() {
        return Err(Failure::gates("planning a queue", refused));
    }
    let report = report(&opened);
    if report.queue.jobs.is_empty() {
        return Err(
            Failure::refused("nothing_to_queue", "there are no validated candidates").hint("rlx study next")
        );
    }
    if !report.on_record {
        let queued = Queued { digest: report.digest, jobs: report.queue.jobs.len() as u64 };
        opened.append(Actor::Rlx, Event::Queued(queued))?;
    }
    Ok(QueueReport { on_record: true, ..report })
}

fn report(opened: &OpenStudy) -> QueueReport {
    let queue = Queue::for_study(&opened.study);
    let digest = queue.digest();
    let on_record = opened.study.state().queued == Some(digest);
    QueueReport { study: opened.study.name.clone(), digest, on_record, queue }
}
