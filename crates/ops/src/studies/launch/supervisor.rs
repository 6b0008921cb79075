//! The supervisor of a run: started, recorded, and let go.

use rlxp_fs::{FsExt, clock};
use rlxp_govern::ledger::event::Launched;
use rlxp_govern::ledger::{Actor, Event};
use rlxp_launch::Permit;
use rlxp_launch::order::RunOrder;
use rlxp_launch::supervise::start_shim;
use rlxp_store::Writer;
use rlxp_types::text::shell_word;
use rlxp_types::{Digest, Exit};

use super::files;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::launch_paths::RunPaths;
use crate::studies::files::{OpenStudy, StudyPaths};

/// How often a record is tried again because another process appended to the ledger.
const TRIES: usize = 50;

/// Starts the supervisor, records that in the ledger, and only then lets it run.
pub(super) fn start_supervisor(
    context: &Context,
    permit: &Permit,
    opened: &mut OpenStudy,
    place: &RunPaths,
    order: RunOrder,
) -> Outcome<()> {
    let digest = Digest::hash(&order.to_bytes());
    let arguments = [
        "__run".into(),
        "--order".into(),
        place.order().into_os_string(),
        "--digest".into(),
        digest.to_string().into(),
    ];
    let shim = start_shim(permit, &arguments, place.path())?;
    rlxp_launch::crash::point("launch:shim_started");
    let machine = context.machine.as_ref();
    let started = machine.process_start(shim.process).ok_or_else(|| {
        Failure::new(Exit::RunFailed, "shim_ended", "the supervisor of the run ended immediately")
            .hint(format!("cat {}", shell_word(&place.path().join("shim.log").display().to_string())))
    })?;
    let writer =
        Writer { pid: shim.process, process_start: started, ..Writer::here(machine, &clock::wall_text()) };
    context.fs.write_new(&place.shim(), &files::bytes(&writer))?;
    rlxp_launch::crash::point("launch:shim_known");
    let launched =
        Launched { key: order.key, boot: machine.boot_id(), process: shim.process, started, external: None };
    let event = Event::Launched(launched);
    match opened.append(Actor::Rlx, event.clone()) {
        Err(failure) if failure.is_contention() => drop(append(context, &opened.place, event)?),
        appended => drop(appended?),
    }
    rlxp_launch::crash::point("launch:launched");
    // `reconcile` finds a supervisor that is gone by now.
    let _ = shim.go();
    rlxp_launch::crash::point("launch:gone");
    Ok(())
}

/// Appends to a ledger that other processes may append to: reads it again and retries.
pub(super) fn append(context: &Context, place: &StudyPaths, event: Event) -> Outcome<OpenStudy> {
    let mut tries = 0;
    loop {
        let mut opened = OpenStudy::at(context, place.clone())?;
        match opened.append(Actor::Rlx, event.clone()) {
            Ok(_) => return Ok(opened),
            Err(failure) if tries < TRIES && failure.is_contention() => tries += 1,
            Err(failure) => return Err(failure),
        }
    }
}
