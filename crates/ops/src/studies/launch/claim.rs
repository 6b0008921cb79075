//! Who launches a run: the one whose claim lies in the run's folder.
//!
//! The folder appears with the claim in it, so only one can make it. A claim whose maker is proven gone isn't removed
//! and made anew, as two who both saw it gone could then each remove the other's, or a run that went meanwhile. It gets
//! a successor instead, a file whose name is the digest of the claim that it follows, and which only one can create.
//! The last of such a row counts.

use std::path::{Path, PathBuf};

use rlxp_fs::{Fs, FsExt, Machine, clock, is_temporary};
use rlxp_store::{Liveness, Writer};
use rlxp_types::{Digest, Exit};

use super::files;
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::studies::files::OpenStudy;
use crate::studies::files::launch_paths::RunPaths;

/// Claims are small.
const LONGEST: u64 = 64 * 1024;

/// What came of a claim.
#[derive(Debug, PartialEq)]
pub(super) enum Claim {
    /// The folder is this process's.
    Ours,
    /// Somebody else has it, who is not known to be gone.
    Theirs,
    /// The run is on record, or somebody was about to put it there: whoever asks reads the ledger again.
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

/// Claims the run's folder. `is_on_record` reads the ledger anew.
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
        // Not waited for: what the disk forgets of a claim is forgotten before the intent that follows it is on record.
        Ok(()) => return Ok(Claim::Ours),
        Err(error) if error.is_already_there() => fs.remove_dir_all(&building)?,
        Err(error) => {
            fs.remove_dir_all(&building)?;
            return Err(error.into());
        }
    }
    // Whatever the maker of a claim has to say stands in the ledger before it goes, so it is looked for first whether
    // the maker is gone. Once the run is on record the folder is the run's, with its result.
    let row = Row::read(fs, place)?;
    let is_gone = match &row {
        Some(row) => row.last_writer()?.liveness(machine) == Liveness::Gone,
        None => true,
    };
    match (is_on_record()?, row) {
        (true, _) => Ok(Claim::Late),
        (false, _) if !is_gone => Ok(Claim::Theirs),
        (false, Some(row)) => row.follow(fs, place, &mine),
        // Somebody took the claim out of it by hand, or gave the whole folder up.
        (false, None) => created(fs, &place.claim(), &mine),
    }
}

/// Gives a claim up that nobody was told of. The folder goes in one step, so that nobody meets half of it.
pub(super) fn give_up(fs: &dyn Fs, place: &RunPaths) -> Outcome<()> {
    let aside = fs.temporary_beside(place.path());
    fs.rename(place.path(), &aside)?;
    Ok(fs.remove_dir_all(&aside)?)
}

/// Who launches a run, or did; nothing when nobody claimed it.
pub(super) fn claimant(fs: &dyn Fs, place: &RunPaths) -> Outcome<Option<Writer>> {
    Row::read(fs, place)?.map(|row| row.last_writer()).transpose()
}

/// The claims of a run, each but the first following one whose maker is gone.
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

    /// Takes the place of the last one, who is gone.
    fn follow(&self, fs: &dyn Fs, place: &RunPaths, mine: &[u8]) -> Outcome<Claim> {
        let next = successor(place, &self.last.1);
        let claim = created(fs, &next, mine)?;
        if claim != Claim::Ours || content(fs, &place.claim())?.as_ref() == Some(&self.first) {
            return Ok(claim);
        }
        // The folder is another one than was read.
        match fs.remove_file(&next) {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(Claim::Late),
        }
    }
}

/// Creates a claim, if nobody was quicker and the folder is still there.
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

/// Removes folders that somebody who is gone was about to claim or to give up. What can't be removed harms nobody.
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
        // Meanwhile another one takes it over, gives it up, and a third one makes it anew.
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
