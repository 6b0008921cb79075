//! The writers of a run, and how each attempt ended.
//!
//! `attempts/<k>/claim.json` appears whole and only once, so exactly one
//! process wins attempt `k`; the number is the fencing token. `end.json` beside
//! it says how the attempt ended. A run is called dead only on proof: see
//! [`Writer::liveness`].

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Kind};
use rlxp_types::{EndCause, RunStatus};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::end::{End, Outcome};
use crate::leftovers::remove_leftovers;
use crate::metadata::pretty;
use crate::plain::list_plain;
use crate::summary::Summary;
use crate::writer::{Liveness, Purpose, Writer};
use crate::{Run, StoreError};

/// Size of the file that is freed when the disk is full, so that the end can
/// still be recorded.
const RESERVE_BYTES: usize = 64 * 1024;
const RESERVE_FILE: &str = "reserve";
const SMALL: u64 = 1 << 20;
/// Higher numbers were not given by rlx, and the next one must fit.
const HIGHEST_ATTEMPT: u64 = 999_999_999;

/// The other part of `end.json`: how far the run had come. Version 0.1 didn't
/// write it, or not all of it.
#[derive(Deserialize)]
struct Summarised {
    #[serde(default)]
    summary: Option<Summary>,
}

/// One attempt at training a run.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u64,
    /// The process that claimed it; `None` if the file can't be read.
    pub writer: Option<Writer>,
    /// How it ended, if it did.
    pub end: Option<End>,
    /// The run's progress then, if recorded.
    pub summary: Option<Summary>,
    /// What is wrong with its files.
    pub problem: Option<String>,
}

/// A run's status, and its evidence.
#[derive(Clone, Debug)]
pub struct StatusReport {
    /// The status.
    pub status: RunStatus,
    /// The newest attempt, when there is one.
    pub attempt: Option<Attempt>,
}

/// When a run may be taken from an earlier writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeOver {
    /// Only when that writer ended or is proven gone.
    WhenProvenGone,
    /// Also when that is unknown (a claim from another machine). A writer that
    /// is known to be alive is never displaced.
    WhenNotKnownAlive,
}

impl TakeOver {
    /// What `--force` allows.
    pub fn forced(force: bool) -> Self {
        if force { Self::WhenNotKnownAlive } else { Self::WhenProvenGone }
    }
}

/// The right to write a run. It can be lost to a newer attempt, so ask
/// [`Claim::ensure_mine`] before each save.
pub struct Claim {
    run: Run,
    attempt: u64,
    writer: Writer,
}

impl Run {
    fn attempts_dir(&self) -> PathBuf {
        self.path().join("attempts")
    }

    pub(crate) fn attempt_dir(&self, number: u64) -> PathBuf {
        self.attempts_dir().join(number.to_string())
    }

    /// The numbers of all claims, those for removal included, ascending.
    fn attempt_numbers(&self) -> Result<Vec<u64>, StoreError> {
        let number = |name: &str| {
            let number: u64 = name.parse().ok()?;
            (number <= HIGHEST_ATTEMPT && name == number.to_string()).then_some(number)
        };
        let entries = list_plain(self.fs.as_ref(), &self.attempts_dir())?;
        let folders = entries.iter().filter(|entry| entry.kind == Kind::Folder);
        let mut numbers: Vec<u64> = folders.filter_map(|entry| number(&entry.name)).collect();
        numbers.sort_unstable();
        // A folder with neither claim nor end is a claim that was never finished.
        while let Some(last) = numbers.last() {
            let folder = self.attempt_dir(*last);
            if self.fs.is_file(&folder.join("end.json"))? || self.fs.is_file(&folder.join("claim.json"))? {
                break;
            }
            numbers.pop();
        }
        Ok(numbers)
    }

    /// Every attempt at training, oldest first.
    pub fn attempts(&self) -> Result<Vec<Attempt>, StoreError> {
        let attempts = self.attempt_numbers()?.into_iter().map(|number| self.attempt(number));
        let mut attempts = attempts.collect::<Result<Vec<_>, _>>()?;
        attempts.retain(|attempt| !attempt.removes());
        Ok(attempts)
    }

    /// The newest attempt at training.
    pub fn newest_attempt(&self) -> Result<Option<Attempt>, StoreError> {
        for number in self.attempt_numbers()?.into_iter().rev() {
            let attempt = self.attempt(number)?;
            if !attempt.removes() {
                return Ok(Some(attempt));
            }
        }
        Ok(None)
    }

    /// Whether the highest number in `attempts/` is that of `newest`: no folder
    /// waits there for a claim or an end that would change the run's status.
    pub(crate) fn is_highest_attempt(&self, newest: Option<u64>) -> Result<bool, StoreError> {
        let entries = list_plain(self.fs.as_ref(), &self.attempts_dir())?;
        let highest = entries.iter().filter_map(|entry| entry.name.parse::<u64>().ok()).max();
        Ok(highest == newest)
    }

    /// Whether no process has tried to train it: nothing in `attempts/` has a number, not even something that can't be
    /// read.
    pub fn was_never_attempted(&self) -> Result<bool, StoreError> {
        self.is_highest_attempt(None)
    }

    /// The newest claim, whatever it is for.
    fn newest_claim(&self) -> Result<Option<Attempt>, StoreError> {
        self.attempt_numbers()?.last().map(|number| self.attempt(*number)).transpose()
    }

    fn attempt(&self, number: u64) -> Result<Attempt, StoreError> {
        let folder = self.attempt_dir(number);
        let (mut problem, mut problem_of_claim) = (None, None);
        let end = read_json::<End>(self.fs.as_ref(), &folder.join("end.json"));
        // The target of a symlink is not this run's end, and without an end the run would be
        // resumed.
        let end = match end {
            Err(StoreError::Fs(error)) if error.link().is_some() => return Err(error.into()),
            end => end,
        };
        let end = end.map_err(|error| problem = Some(error.to_string())).ok().flatten();
        let (end, rest) = end.map_or((None, None), |(end, rest)| (Some(end), Some(rest)));
        let summary = rest.and_then(|rest| serde_json::from_slice::<Summarised>(&rest).ok()?.summary);
        let writer = read_json::<Writer>(self.fs.as_ref(), &folder.join("claim.json"));
        let writer = writer.map_err(|error| problem_of_claim = Some(error.to_string())).ok().flatten();
        let writer = writer.map(|(writer, _)| writer);
        // Who claimed an attempt decides nothing any more once it has ended.
        if end.is_none() {
            problem = problem.or(problem_of_claim);
        }
        Ok(Attempt { number, writer, end, summary, problem })
    }

    /// The run's status.
    pub fn status(&self) -> Result<StatusReport, StoreError> {
        let attempt = self.newest_attempt()?;
        let status = attempt.as_ref().map_or(RunStatus::Created, |attempt| self.status_of(attempt));
        Ok(StatusReport { status, attempt })
    }

    fn status_of(&self, attempt: &Attempt) -> RunStatus {
        match (&attempt.end, &attempt.writer) {
            (Some(end), _) => end.outcome.status(),
            (None, Some(writer)) => match writer.liveness(self.machine.as_ref()) {
                Liveness::Alive => RunStatus::Running,
                Liveness::Gone => RunStatus::Lost,
                Liveness::Unknown => RunStatus::Unknown,
            },
            (None, None) => RunStatus::Unknown,
        }
    }

    /// Takes the right to write the run as a new attempt of this process.
    /// Among many that try at once exactly one gets it.
    pub fn claim(&self, now: &str, take_over: TakeOver) -> Result<Claim, StoreError> {
        // What can't be read, or is of a newer version, must stay as it is.
        self.recorded()?;
        let (claim, earlier) = self.take(now, take_over, Purpose::Train)?;
        claim.begin(now, earlier).inspect_err(|error| {
            // Otherwise the run would look alive for as long as this process.
            let (reason, cause) = (Some(format!("storage: {error}")), Some(EndCause::Storage));
            drop(claim.end(&End { reason, cause, ..End::new(Outcome::Failed, now) }));
        })?;
        Ok(claim)
    }

    /// Takes the right to remove the run, so that no process can begin to write it.
    pub(crate) fn claim_to_remove(&self, now: &str, take_over: TakeOver) -> Result<(), StoreError> {
        match self.take(now, take_over, Purpose::Remove) {
            // Then no other process can claim the run either.
            Err(StoreError::NumbersUsedUp { .. }) => Ok(()),
            taken => taken.map(drop),
        }
    }

    /// Creates the next claim; returns it and the number of the one before.
    fn take(
        &self,
        now: &str,
        take_over: TakeOver,
        purpose: Purpose,
    ) -> Result<(Claim, Option<u64>), StoreError> {
        let newest = self.newest_claim()?;
        if let Some(attempt) = &newest {
            match self.status_of(attempt) {
                RunStatus::Running => return Err(self.written_by(attempt, true)),
                RunStatus::Unknown if take_over == TakeOver::WhenProvenGone => {
                    return Err(self.written_by(attempt, false));
                }
                _ => {}
            }
        }
        let earlier = newest.map(|attempt| attempt.number);
        let mut number = earlier.map_or(1, |earlier| earlier + 1);
        while number <= HIGHEST_ATTEMPT {
            let writer = Writer { purpose, ..Writer::here(self.machine.as_ref(), now) };
            if self.write_claim(number, &writer)? {
                return Ok((Claim { run: self.clone(), attempt: number, writer }, earlier));
            }
            let path = self.attempt_dir(number).join("claim.json");
            if self.fs.metadata_if_any(&path)?.is_some_and(|found| found.kind == Kind::File) {
                let winner = self.attempt(number)?;
                return Err(self.written_by(&winner, true));
            }
            // Something else is in the way of a claim, so no process has this number.
            number += 1;
        }
        Err(StoreError::NumbersUsedUp { path: self.attempts_dir(), highest: HIGHEST_ATTEMPT })
    }

    /// Whether this process created the claim `number`.
    fn write_claim(&self, number: u64, writer: &Writer) -> Result<bool, StoreError> {
        let fs = self.fs.as_ref();
        // Not with missing parents: a run that was removed meanwhile must not
        // come back as an empty folder.
        for folder in [self.attempts_dir(), self.attempt_dir(number)] {
            match fs.create_dir(&folder) {
                Ok(()) => fs.sync_dir(folder.parent().unwrap_or(self.path()))?,
                Err(error) if error.is_already_there() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(fs.write_new_atomic(&self.attempt_dir(number).join("claim.json"), &pretty(writer))?)
    }

    /// The claim of attempt `number`, for a process that works on behalf of the
    /// one that claimed it.
    pub fn claimed(&self, number: u64) -> Result<Claim, StoreError> {
        let path = self.attempt_dir(number).join("claim.json");
        let attempt = self.attempt(number)?;
        let why = attempt.problem.unwrap_or_else(|| "there is no such claim".to_owned());
        let writer = attempt.writer.ok_or_else(|| StoreError::damaged(&path, why))?;
        Ok(Claim { run: self.clone(), attempt: number, writer })
    }

    fn written_by(&self, attempt: &Attempt, certain: bool) -> StoreError {
        let (host, pid) = attempt
            .writer
            .as_ref()
            .map_or(("an unknown machine".to_owned(), 0), |writer| (writer.host.clone(), writer.pid));
        StoreError::AlreadyRunning { run: self.name(), host, pid, certain }
    }
}

impl Attempt {
    /// Whether the run was claimed for removal and not for training.
    fn removes(&self) -> bool {
        self.end.is_none() && self.writer.as_ref().is_some_and(|writer| writer.purpose == Purpose::Remove)
    }
}

impl Claim {
    /// The attempt's number.
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Who claimed it.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Whether no newer attempt exists.
    pub fn still_mine(&self) -> Result<bool, StoreError> {
        Ok(self.run.attempt_numbers()?.last() == Some(&self.attempt))
    }

    /// An error when the claim was lost.
    pub fn ensure_mine(&self) -> Result<(), StoreError> {
        if self.still_mine()? {
            return Ok(());
        }
        Err(StoreError::TakenOver { path: self.run.path().to_owned(), attempt: self.attempt })
    }

    fn reserve_path(&self) -> PathBuf {
        self.run.attempt_dir(self.attempt).join(RESERVE_FILE)
    }

    /// What follows a won claim: the reserve and the run's description.
    fn begin(&self, now: &str, earlier: Option<u64>) -> Result<(), StoreError> {
        let fs = self.run.fs.as_ref();
        if let Some(earlier) = earlier {
            // A killed writer leaves its reserve behind; a loss of this small
            // file's removal costs nothing.
            drop(fs.remove_file(&self.run.attempt_dir(earlier).join(RESERVE_FILE)));
        }
        for folder in [self.run.path().to_owned(), self.run.labels_dir()] {
            if fs.is_folder(&folder)? {
                remove_leftovers(fs, self.run.machine.as_ref(), &folder, |_| false)?;
            }
        }
        fs.write_new(&self.reserve_path(), &[b'.'; RESERVE_BYTES])?;
        self.run.update_metadata(|metadata| {
            metadata.status = RunStatus::Running;
            metadata.started.get_or_insert_with(|| now.to_owned());
            metadata.ended = None;
        })?;
        Ok(())
    }

    /// Records how the attempt ended, even on a full disk: the reserve is freed
    /// first. The first end written stays; `Ok(false)` when there was one.
    pub fn end(&self, end: &End) -> Result<bool, StoreError> {
        let fs = self.run.fs.as_ref();
        match fs.remove_file(&self.reserve_path()) {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
        let folder = self.run.attempt_dir(self.attempt);
        // Of a process that was killed before it won this number. Not when the claim is won: another may still try.
        fs.remove_abandoned(self.run.machine.as_ref(), &folder.join("claim.json"));
        let path = folder.join("end.json");
        // Without a summary listings read the record itself, so a failure here costs only time.
        let mut file = serde_json::to_value(end).expect("an end is plain data");
        let resumed = (self.attempt > 1).then_some(&*self.writer.claimed);
        file["summary"] = serde_json::json!(Summary::from_run(&self.run, resumed).ok());
        let written = fs.write_new_atomic(&path, &pretty(&file))?;
        if written && self.still_mine()? {
            self.run.update_metadata(|metadata| {
                metadata.status = end.outcome.status();
                metadata.ended = Some(end.ended.clone());
            })?;
        }
        Ok(written)
    }
}

/// Reads a small JSON file and its text; `None` if it doesn't exist.
fn read_json<T: DeserializeOwned>(fs: &dyn Fs, path: &Path) -> Result<Option<(T, Vec<u8>)>, StoreError> {
    match fs.read(path, SMALL) {
        Ok(bytes) => {
            let value =
                serde_json::from_slice(&bytes).map_err(|e| StoreError::damaged(path, e.to_string()))?;
            Ok(Some((value, bytes)))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
