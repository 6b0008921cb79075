//! Which process launches a run: the one whose claim is in the run's folder.
//!
//! The folder is renamed into place with the claim in it, so only one process can create it. A stale claim is never
//! removed and recreated: two processes that both found it stale could each remove the other's claim, or a run that
//! started in the meantime. Instead it gets a successor, a file named after the digest of the claim it follows, which
//! only one process can create. The last claim of this chain counts.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Machine, clock, is_temporary};
use rlxp_store::{Liveness, Writer};
use rlxp_types::{Digest, Exit};

use super::files;
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::RunPaths;

/// Longest claim that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The result of claiming a run.
#[derive(Debug, PartialEq)]
pub(super) enum Claim {
    /// This process owns the folder.
    Ours,
    /// Another process owns it and may still be alive.
    Theirs,
    /// The run is in the ledger, or another process was about to record it: read the ledger again.
    Late,
}

/// Claims a run for a launch, unless another process has it or the ledger knows the run by now.
pub(super) fn claim_run(context: &Context, opened: &OpenStudy, place: &RunPaths, key: &str) -> Outcome<()> {
    let study = &opened.place;
    let is_on_record = || Ok(OpenStudy::at(context, study.clone())?.study.state().runs.contains_key(key));
    let (fs, machine) = (context.fs.as_ref(), context.machine.as_ref());
    match claim(fs, machine, place, &is_on_record)? {
        Claim::Ours => Ok(()),
        Claim::Late => {
            let message = format!("another process launched {key} in the meantime; nothing was done");
            Err(Failure::with_kind(FailureKind::LedgerMoved, message).hint("run the command again"))
        }
        Claim::Theirs => {
            let message = format!("another process is launching the same run ({})", place.path().display());
            Err(Failure::with_kind(FailureKind::RunClaimed, message).hint("rlx launch status"))
        }
    }
}

/// Claims the run's folder. `is_on_record` reads the ledger again.
pub(super) fn claim(
    fs: &dyn Fs,
    machine: &dyn Machine,
    place: &RunPaths,
    is_on_record: &dyn Fn() -> Outcome<bool>,
) -> Outcome<Claim> {
    let runs = place.path().parent().expect("the folder of a run lies in another");
    fs.create_dir_all(runs)?;
    clear_away(fs, machine, runs)?;
    let mine = files::bytes(&Writer::here(machine, &clock::wall_text()));
    let building = fs.temporary_beside(place.path());
    fs.create_dir(&building)?;
    fs.write_new(&building.join("claim.json"), &mine)?;
    rlxp_launch::crash::point("launch:claiming");
    match fs.rename_new(&building, place.path()) {
        // Not synced: if the disk loses the claim, it also loses the intent that is recorded after it.
        Ok(()) => return Ok(Claim::Ours),
        Err(error) if error.is_already_there() => fs.remove_dir_all(&building)?,
        Err(error) => {
            fs.remove_dir_all(&building)?;
            return Err(error.into());
        }
    }
    // The owner of a claim records everything in the ledger before it exits, so check first whether it is alive, then
    // read the ledger. Once the ledger has the run, the folder and its result belong to that run.
    let row = Row::read(fs, place)?;
    let is_gone = match &row {
        Some(row) => row.last_writer()?.liveness(machine) == Liveness::Gone,
        None => true,
    };
    match (is_on_record()?, row) {
        (true, _) => Ok(Claim::Late),
        (false, _) if !is_gone => Ok(Claim::Theirs),
        (false, Some(row)) => row.follow(fs, place, &mine),
        // The claim was removed by hand, or the whole folder was given up.
        (false, None) => created(fs, &place.claim(), &mine),
    }
}

/// Gives up a claim that is not in the ledger. The folder is renamed first, so no process sees half of it.
pub(super) fn give_up(fs: &dyn Fs, place: &RunPaths) -> Outcome<()> {
    let aside = fs.temporary_beside(place.path());
    fs.rename(place.path(), &aside)?;
    Ok(fs.remove_dir_all(&aside)?)
}

/// The process that launches or launched a run; `None` if no process claimed it.
pub(super) fn claimant(fs: &dyn Fs, place: &RunPaths) -> Outcome<Option<Writer>> {
    Row::read(fs, place)?.map(|row| row.last_writer()).transpose()
}

/// The claims of a run: the first one, and successors of claims whose owner is gone.
struct Row {
    first: Vec<u8>,
    last: (PathBuf, Vec<u8>),
}

impl Row {
    fn read(fs: &dyn Fs, place: &RunPaths) -> Outcome<Option<Self>> {
        let path = place.claim();
        let Some(first) = content(fs, &path)? else { return Ok(None) };
        let mut last = (path, first.clone());
        loop {
            let next = successor(place, &last.1);
            let Some(found) = content(fs, &next)? else { return Ok(Some(Self { first, last })) };
            last = (next, found);
        }
    }

    fn last_writer(&self) -> Outcome<Writer> {
        let (path, bytes) = &self.last;
        serde_json::from_slice(bytes).map_err(|error| {
            let message = format!("{} can't be read: {error}", path.display());
            Failure::new(Exit::Storage, "run_file_broken", message).hint("rlx launch status")
        })
    }

    /// Succeeds the last claim, whose owner is gone.
    fn follow(&self, fs: &dyn Fs, place: &RunPaths, mine: &[u8]) -> Outcome<Claim> {
        let next = successor(place, &self.last.1);
        let claim = created(fs, &next, mine)?;
        if claim != Claim::Ours || content(fs, &place.claim())?.as_ref() == Some(&self.first) {
            return Ok(claim);
        }
        // The folder was replaced since it was read.
        match fs.remove_file(&next) {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(Claim::Late),
        }
    }
}

/// Creates a claim, unless another process was faster or the folder is gone.
fn created(fs: &dyn Fs, path: &Path, mine: &[u8]) -> Outcome<Claim> {
    match fs.write_new_atomic(path, mine) {
        Ok(true) => Ok(Claim::Ours),
        Ok(false) => Ok(Claim::Theirs),
        Err(error) if error.is_not_found() => Ok(Claim::Late),
        Err(error) => Err(error.into()),
    }
}

fn successor(place: &RunPaths, claim: &[u8]) -> PathBuf {
    place.path().join(format!("claim.{}.json", Digest::hash(claim).short()))
}

fn content(fs: &dyn Fs, path: &Path) -> Outcome<Option<Vec<u8>>> {
    match fs.read(path, LONGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Removes temporary folders of dead processes. Failing to remove one is harmless.
fn clear_away(fs: &dyn Fs, machine: &dyn Machine, runs: &Path) -> Outcome<()> {
    for entry in fs.list(runs)?.into_iter().filter(|entry| is_temporary(&entry.name)) {
        let folder = runs.join(&entry.name);
        let maker = files::read::<Writer>(fs, &folder.join("claim.json")).ok().flatten();
        if maker.is_some_and(|maker| maker.liveness(machine) == Liveness::Gone) {
            drop(fs.remove_dir_all(&folder));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes the files that are looked at")]

    use std::sync::Mutex;

    use rlxp_fs::RealFs;

    use super::*;

    /// Processes of one machine, each seen through its own number.
    struct Process<'a> {
        number: u32,
        gone: &'a Mutex<Vec<u32>>,
    }

    impl Machine for Process<'_> {
        fn host(&self) -> String {
            "here".to_owned()
        }
        fn boot_id(&self) -> String {
            "boot".to_owned()
        }
        fn machine_id(&self) -> String {
            "machine".to_owned()
        }
        fn process_namespace(&self) -> String {
            "namespace".to_owned()
        }
        fn process_id(&self) -> u32 {
            self.number
        }
        fn process_start(&self, process: u32) -> Option<u64> {
            let is_gone = self.gone.lock().unwrap().contains(&process);
            (!is_gone).then_some(u64::from(process) * 100)
        }
    }

    /// A run's folder that many want.
    struct Stage {
        _folder: tempfile::TempDir,
        place: RunPaths,
        gone: Mutex<Vec<u32>>,
    }

    impl Stage {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let place = RunPaths { folder: folder.path().join("runs/key-1") };
            Self { _folder: folder, place, gone: Mutex::default() }
        }

        fn claim(&self, number: u32, on_record: bool) -> Claim {
            let process = Process { number, gone: &self.gone };
            claim(&RealFs, &process, &self.place, &|| Ok(on_record)).unwrap()
        }

        fn kill(&self, number: u32) {
            self.gone.lock().unwrap().push(number);
        }

        fn claimant(&self) -> Option<u32> {
            claimant(&RealFs, &self.place).unwrap().map(|writer| writer.pid)
        }

        fn names(&self) -> Vec<String> {
            let runs = self.place.path().parent().unwrap();
            RealFs.list(runs).unwrap().into_iter().map(|entry| entry.name).collect()
        }
    }

    #[test]
    fn one_has_it_until_it_is_gone() {
        let stage = Stage::new();
        assert_eq!(stage.claimant(), None);
        assert_eq!(stage.claim(1, false), Claim::Ours);
        assert_eq!((stage.claim(2, false), stage.claimant()), (Claim::Theirs, Some(1)));
        stage.kill(1);
        assert_eq!((stage.claim(2, false), stage.claimant()), (Claim::Ours, Some(2)));
        assert_eq!((stage.claim(3, false), stage.claimant()), (Claim::Theirs, Some(2)));
        stage.kill(2);
        assert_eq!((stage.claim(3, false), stage.claimant()), (Claim::Ours, Some(3)));
        give_up(&RealFs, &stage.place).unwrap();
        assert!(stage.names().is_empty());
        assert_eq!((stage.claim(4, false), stage.claimant()), (Claim::Ours, Some(4)));
    }

    #[test]
    fn what_is_on_record_is_left_alone_whoever_is_gone() {
        let stage = Stage::new();
        assert_eq!(stage.claim(1, false), Claim::Ours);
        std::fs::write(stage.place.end(), "a result").unwrap();
        assert_eq!(stage.claim(2, true), Claim::Late);
        stage.kill(1);
        assert_eq!(stage.claim(2, true), Claim::Late);
        assert_eq!(std::fs::read_to_string(stage.place.end()).unwrap(), "a result");
        assert_eq!(stage.claimant(), Some(1));
    }

    #[test]
    fn who_read_the_claim_of_somebody_gone_too_long_ago_gets_nothing() {
        let stage = Stage::new();
        assert_eq!(stage.claim(1, false), Claim::Ours);
        stage.kill(1);
        let seen = Row::read(&RealFs, &stage.place).unwrap().unwrap();
        // In the meantime a second process takes over and gives up, and a third one claims the run again.
        assert_eq!(stage.claim(2, false), Claim::Ours);
        assert_eq!(seen.follow(&RealFs, &stage.place, b"late").unwrap(), Claim::Theirs);
        give_up(&RealFs, &stage.place).unwrap();
        assert_eq!(seen.follow(&RealFs, &stage.place, b"late").unwrap(), Claim::Late);
        assert_eq!(stage.claim(3, false), Claim::Ours);
        assert_eq!(seen.follow(&RealFs, &stage.place, b"late").unwrap(), Claim::Late);
        assert_eq!(stage.claimant(), Some(3));
        assert_eq!(RealFs.list(stage.place.path()).unwrap().len(), 1);
    }

    #[test]
    fn a_folder_without_a_claim_is_taken_as_it_is() {
        let stage = Stage::new();
        std::fs::create_dir_all(stage.place.path()).unwrap();
        assert_eq!((stage.claim(1, false), stage.claimant()), (Claim::Ours, Some(1)));
    }

    #[test]
    fn many_who_see_somebody_gone_are_one_in_the_end() {
        for _ in 0..20 {
            let stage = Stage::new();
            assert_eq!(stage.claim(1, false), Claim::Ours);
            stage.kill(1);
            let ours: Vec<u32> = std::thread::scope(|scope| {
                let claims: Vec<_> = (2..10)
                    .map(|number| {
                        (
                            number,
                            scope.spawn({
                                let stage = &stage;
                                move || stage.claim(number, false)
                            }),
                        )
                    })
                    .collect();
                let won = |(number, claim): (u32, std::thread::ScopedJoinHandle<'_, Claim>)| {
                    (claim.join().unwrap() == Claim::Ours).then_some(number)
                };
                claims.into_iter().filter_map(won).collect()
            });
            assert_eq!(ours.len(), 1, "{ours:?}");
            assert_eq!(stage.claimant(), Some(ours[0]));
        }
    }

    #[test]
    fn what_was_never_claimed_is_cleared_away_once_its_maker_is_gone() {
        let stage = Stage::new();
        let half = stage.place.path().with_file_name(".tmp-1-0-key-2");
        std::fs::create_dir_all(&half).unwrap();
        let writer = Writer::here(&Process { number: 1, gone: &stage.gone }, "");
        std::fs::write(half.join("claim.json"), files::bytes(&writer)).unwrap();
        assert_eq!(stage.claim(2, false), Claim::Ours);
        assert_eq!(stage.names().len(), 2, "its maker is at it");
        stage.kill(1);
        assert_eq!(stage.claim(3, false), Claim::Theirs);
        assert_eq!(stage.names(), ["key-1"]);
    }
}
