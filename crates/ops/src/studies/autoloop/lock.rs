//! One loop per study.

use std::time::Duration;

use rlxp_fs::{FsExt, clock};
use rlxp_store::{Lock, StoreError};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::LaunchPaths;

/// The right to run the loop of a study; given back when it is dropped.
pub(super) fn take(context: &Context, opened: &OpenStudy) -> Outcome<Lock> {
    let file = LaunchPaths::for_study(opened)?.autoloop();
    context.fs.create_dir_all(file.parent().expect("it is in the study's state folder"))?;
    match Lock::take(&context.fs, context.machine.as_ref(), &file, Duration::ZERO, &clock::wall_text()) {
        Ok(lock) => Ok(lock),
        Err(StoreError::LedgerLocked { host, pid, certain, path }) => {
            let name = &opened.study.name;
            let message = format!("another loop of {name} is running: process {pid} on {host}");
            let failure = Failure::refused("loop_running", message).hint("rlx study monitor");
            Err(match certain {
                true => failure,
                false => failure.hint(format!("rm {}    # if it is not running any more", path.display())),
            })
        }
        Err(error) => Err(error.into()),
    }
}
