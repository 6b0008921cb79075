//! The step itself, from its fork until it executes the program of the order.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{Access, CWD};
use rustix::process::{Pid, getppid};

use super::files::{self, Rights};
use super::report::tell;
use super::{Report, Setup, privileges, program, syscalls};
use crate::order::Mechanisms;

/// Drops all privileges and executes the program. Returns only when it can't, or when there is
/// none.
pub(super) fn become_program(
    setup: &Setup,
    rights: &Rights,
    mut mechanisms: Mechanisms,
    keeper: Pid,
    report: &OwnedFd,
) -> Result<(), String> {
    privileges::begin_afresh()?;
    let program = match &setup.step {
        Some(step) => {
            let folder = step.tree.at.join(&step.folder);
            rustix::process::chdir(&folder)
                .map_err(|error| format!("can't enter the working folder {}: {error}", folder.display()))?;
            Some((&step.argv, step.program, &step.tree.at))
        }
        None => None,
    };
    let limited = match setup.switched_off("landlock") {
        Some(reason) => Err(reason),
        None => files::limit(rights),
    };
    match limited {
        Ok(how) => mechanisms.files = Some(how),
        Err(reason) => {
            mechanisms.missing.insert("files".to_owned(), reason);
        }
    }
    privileges::give_up()?;
    syscalls::limit(setup, &mut mechanisms);
    if getppid() != Some(keeper) {
        return Err("the keeper has exited".to_owned());
    }
    enough(setup, &mechanisms)?;
    let Some((argv, gated, tree)) = program else {
        tell(report, &Report::Started(mechanisms));
        return Ok(());
    };
    let (program, arguments) = argv.split_first().expect("an order without a program was rejected earlier");
    if let Err(error) =
        rustix::fs::accessat(CWD, program.as_str(), Access::EXEC_OK, rustix::fs::AtFlags::EACCESS)
    {
        return Err(format!("can't execute {program}: {error}"));
    }
    privileges::close_the_rest();
    if let Some(gated) = gated {
        program::check(Path::new(program), tree, gated)?;
    }
    tell(report, &Report::Started(mechanisms));
    #[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
    let error = Command::new(program).args(arguments).exec();
    Err(format!("can't execute {program}: {error}"))
}

/// Whether the available sandboxing is at least what is required. The supervisor enforces the
/// limits.
fn enough(setup: &Setup, mechanisms: &Mechanisms) -> Result<(), String> {
    let limits = Some("the supervisor's".to_owned());
    let all = Mechanisms { memory: limits.clone(), process_count: limits, ..mechanisms.clone() };
    let (least, level) = (setup.wanted.least, all.level());
    if level >= least {
        return Ok(());
    }
    let reasons: Vec<String> =
        mechanisms.missing.iter().map(|(mechanism, reason)| format!("{mechanism}: {reason}")).collect();
    Err(format!("{least} sandboxing is required, but only {level} is available here; {}", reasons.join("; ")))
}
