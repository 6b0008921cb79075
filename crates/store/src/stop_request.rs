//! A user's request to stop an attempt at once, left in the record before its process is killed.
//!
//! A killed process can't say why it ended. Its supervisor, which sees only the signal, finds the request here and
//! records an interruption instead of a failure.

use rlxp_fs::FsExt;
use serde_json::json;

use crate::metadata::pretty;
use crate::{Run, StoreError};

const STOP_FILE: &str = "stop.json";

impl Run {
    /// Leaves the request to stop attempt `number` at once.
    pub fn request_stop(&self, number: u64, now: &str) -> Result<(), StoreError> {
        let path = self.attempt_dir(number).join(STOP_FILE);
        self.fs.write_new_atomic(&path, &pretty(&json!({ "requested": now })))?;
        Ok(())
    }

    /// Takes the request back.
    pub fn withdraw_stop(&self, number: u64) -> Result<(), StoreError> {
        let path = self.attempt_dir(number).join(STOP_FILE);
        match self.fs.remove_file(&path) {
            Err(error) if error.is_not_found() => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Whether a user asked for attempt `number` to be stopped at once.
    pub fn stop_was_requested(&self, number: u64) -> Result<bool, StoreError> {
        Ok(self.fs.is_file(&self.attempt_dir(number).join(STOP_FILE))?)
    }
}
