//! The ledger file: no acknowledged line is ever lost, whatever fails and however many processes
//! write.
#![expect(clippy::disallowed_methods, reason = "tests put files where they want them")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rlxp_fs::testing::{CrashFs, FakeMachine, Fault, FaultFs};
use rlxp_fs::{Fs, FsExt, Machine, RealFs, RealMachine};
use rlxp_store::{LedgerFile, StoreError};

const NOW: &str = "2026-01-02T03:04:05.000Z";
const PATH: &str = "/p/ledger.jsonl";
const FAULTS: [Fault; 4] = [Fault::Error, Fault::Full, Fault::ShortWrite, Fault::Kill];

fn ledger(fs: Arc<dyn Fs>, machine: Arc<dyn Machine>) -> LedgerFile {
    LedgerFile::at(fs, machine, Path::new(PATH)).with_patience(Duration::ZERO)
}

fn first_boot() -> Arc<FakeMachine> {
    Arc::new(FakeMachine::new("here", "boot-1", 100))
}

/// After a kill or a power loss, none of the earlier processes exists.
fn later_boot() -> Arc<FakeMachine> {
    Arc::new(FakeMachine::new("here", "boot-2", 100))
}

fn disk_with(content: &str) -> CrashFs {
    let disk = CrashFs::new();
    disk.create_dir(Path::new("/p")).unwrap();
    disk.write_new(Path::new(PATH), content.as_bytes()).unwrap();
    disk.settle();
    disk
}

fn append(ledger: &LedgerFile, line: &str) -> Result<(), StoreError> {
    ledger.lock(NOW)?.append(line)
}

fn text(ledger: &LedgerFile) -> String {
    String::from_utf8(ledger.read().unwrap()).unwrap()
}

fn names(disk: &CrashFs) -> Vec<String> {
    disk.list(Path::new("/p")).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// Appends three lines through every fault at every call, and looks at every disk that can be left.
fn through_every_fault(content: &str, whole: &str) {
    for fault in FAULTS {
        for at in 1.. {
            assert!(at < 1_000, "the loop ends");
            let disk = disk_with(content);
            let faulty = Arc::new(FaultFs::new(Arc::new(disk.clone()), fault, at));
            let through = ledger(faulty.clone(), first_boot());
            let mut told = whole.to_owned();
            let mut tried = String::new();
            for line in ["one", "two", "three"] {
                tried = format!("{line}\n");
                match append(&through, line) {
                    Ok(()) => told.push_str(&tried),
                    Err(_) => break,
                }
            }
            let left = (0..4).map(|seed| disk.after_power_loss(seed * 1_000 + at));
            for (case, left) in left.chain([disk.copy()]).enumerate() {
                let case = format!("{fault:?} at {at}, disk {case}");
                let later = ledger(Arc::new(left.clone()), later_boot());
                let found = String::from_utf8_lossy(&later.read().unwrap()).into_owned();
                assert!(found.starts_with(&told), "{case}: told {told:?}, found {found:?}");
                let rest = &found[told.len()..];
                // A complete line whose writer was killed before it could acknowledge it is not a loss.
                let end = rest.rfind('\n').map_or(0, |last| last + 1);
                assert!(end == 0 || rest[..end] == tried, "{case}: {rest:?}");
                append(&later, "after").unwrap();
                assert_eq!(text(&later), format!("{told}{}after\n", &rest[..end]), "{case}");
                if end < rest.len() {
                    let aside = names(&left).into_iter().filter(|name| name.starts_with("ledger.torn-"));
                    let kept = |name: String| left.read(&Path::new("/p").join(name), 1 << 20).unwrap();
                    assert!(aside.map(kept).any(|bytes| bytes == rest.as_bytes()[end..]), "{case}");
                }
                assert!(names(&left).iter().all(|name| !name.starts_with("ledger.lock")), "{case}");
            }
            if !faulty.fired() {
                break;
            }
        }
    }
}

#[test]
fn an_acknowledged_line_is_there_after_every_fault() {
    through_every_fault("zero\n", "zero\n");
}

/// Through every fault and power loss: the old content or the new one, and the old one is never lost.
#[test]
fn a_replaced_ledger_is_old_or_new_and_the_old_one_is_kept() {
    let (old, new) = ("zero\none\n", "zero\ntwo\nthree\n");
    for fault in FAULTS {
        for at in 1.. {
            assert!(at < 1_000, "the loop ends");
            let disk = disk_with(old);
            let faulty = Arc::new(FaultFs::new(Arc::new(disk.clone()), fault, at));
            let through = ledger(faulty.clone(), first_boot());
            let done = through.lock(NOW).and_then(|mut locked| locked.replace(new.into())).is_ok();
            let left = (0..4).map(|seed| disk.after_power_loss(seed * 1_000 + at));
            for (case, left) in left.chain([disk.copy()]).enumerate() {
                let case = format!("{fault:?} at {at}, disk {case}");
                let found = text(&ledger(Arc::new(left.clone()), later_boot()));
                assert!(found == new || found == old && !done, "{case}: {found:?}");
                if found == new {
                    let kept = left.read(Path::new("/p/ledger.replaced-1"), 1 << 20).unwrap();
                    assert_eq!(kept, old.as_bytes(), "{case}");
                }
            }
            if !faulty.fired() {
                break;
            }
        }
    }
}

#[test]
fn a_torn_tail_is_put_aside_through_every_fault() {
    for fault in FAULTS {
        for at in 1.. {
            let disk = disk_with("zero\n{\"to");
            let faulty = Arc::new(FaultFs::new(Arc::new(disk.clone()), fault, at));
            let done = append(&ledger(faulty.clone(), first_boot()), "one").is_ok();
            let left = (0..4).map(|seed| disk.after_power_loss(seed * 1_000 + at));
            for (case, left) in left.chain([disk.copy()]).enumerate() {
                let case = format!("{fault:?} at {at}, disk {case}");
                let later = ledger(Arc::new(left.clone()), later_boot());
                let before = text_lossy(&later);
                assert!(
                    before.starts_with(if done { "zero\none\n" } else { "zero\n" }),
                    "{case}: {before:?}"
                );
                append(&later, "after").unwrap();
                let content = text(&later);
                assert!(content == "zero\nafter\n" || content == "zero\none\nafter\n", "{case}: {content:?}");
                let kept = left.read(Path::new("/p/ledger.torn-1"), 1 << 20).unwrap();
                assert_eq!(kept, b"{\"to", "{case}");
            }
            if !faulty.fired() {
                break;
            }
        }
    }
}

fn text_lossy(ledger: &LedgerFile) -> String {
    String::from_utf8_lossy(&ledger.read().unwrap()).into_owned()
}

#[test]
fn the_same_torn_bytes_are_kept_once_and_others_beside_them() {
    let disk = disk_with("zero\nhalf");
    disk.write_new(Path::new("/p/ledger.torn-1"), b"half").unwrap();
    let file = ledger(Arc::new(disk.clone()), first_boot());
    append(&file, "one").unwrap();
    assert_eq!(names(&disk), ["ledger.jsonl", "ledger.torn-1"]);
    disk.open_append(Path::new(PATH)).unwrap().write_all(b"other").unwrap();
    append(&file, "two").unwrap();
    assert_eq!(names(&disk), ["ledger.jsonl", "ledger.torn-1", "ledger.torn-2"]);
    assert_eq!(text(&file), "zero\none\ntwo\n");
}

#[test]
fn after_an_error_nothing_more_is_taken_and_the_line_is_gone() {
    let mut failed = 0;
    for at in 1.. {
        let disk = disk_with("zero\n");
        let faulty = Arc::new(FaultFs::new(Arc::new(disk.clone()), Fault::Error, at));
        if let Ok(mut locked) = ledger(faulty.clone(), first_boot()).lock(NOW)
            && locked.append("one").is_err()
        {
            failed += 1;
            assert!(matches!(locked.append("two"), Err(StoreError::Poisoned { .. })));
            assert_eq!(text(&ledger(Arc::new(disk), first_boot())), "zero\n");
        }
        if !faulty.fired() {
            break;
        }
    }
    assert!(failed >= 4, "looking, opening, writing and syncing can each fail: {failed}");
}

#[test]
fn a_held_lock_names_its_holder_and_ends_with_it() {
    let disk = disk_with("zero\n");
    let machine = first_boot();
    machine.start(7, 42);
    let other = Arc::new(FakeMachine::new("here", "boot-1", 7));
    other.start(7, 42);
    let held = ledger(Arc::new(disk.clone()), other).lock(NOW).unwrap();
    let file = ledger(Arc::new(disk.clone()), machine.clone());
    let error = append(&file, "one").unwrap_err();
    let StoreError::LedgerLocked { pid: 7, certain: true, ref host, .. } = error else { panic!("{error}") };
    assert_eq!(host, "here");
    assert_eq!(error.to_string(), "/p/ledger.lock is held by process 7 on here");
    // Killed: it can't remove its lock any more, and another process may continue.
    machine.kill(7);
    append(&file, "one").unwrap();
    assert_eq!(names(&disk), ["ledger.jsonl"]);
    drop(held);
    append(&file, "two").unwrap();
    assert_eq!(text(&file), "zero\none\ntwo\n");
}

#[test]
fn a_lock_of_another_machine_is_never_taken() {
    let disk = disk_with("zero\n");
    let held =
        ledger(Arc::new(disk.clone()), Arc::new(FakeMachine::new("there", "boot-9", 7))).lock(NOW).unwrap();
    let error = append(&ledger(Arc::new(disk), first_boot()), "one").unwrap_err();
    assert!(matches!(error, StoreError::LedgerLocked { certain: false, .. }), "{error}");
    drop(held);
}

#[test]
fn a_lock_that_says_nothing_is_named() {
    let disk = disk_with("zero\n");
    disk.write_new(Path::new("/p/ledger.lock"), b"").unwrap();
    let error = append(&ledger(Arc::new(disk), first_boot()), "one").unwrap_err();
    assert!(error.to_string().starts_with("/p/ledger.lock is damaged"), "{error}");
}

/// Two processes see the same lock of an exited process. One takes it over and releases it, and a third
/// acquires a new lock; the other, acting on what it saw, must not assume that it holds anything.
#[test]
fn a_successor_of_a_lock_that_is_gone_holds_nothing() {
    let disk = disk_with("zero\n");
    let gone = ledger(Arc::new(disk.clone()), Arc::new(FakeMachine::new("here", "boot-0", 1)));
    std::mem::forget(gone.lock(NOW).unwrap());
    let meddling = Arc::new(Meddling { disk: disk.clone(), third: std::sync::Mutex::new(None) });
    let slow = ledger(meddling.clone(), first_boot());
    let error = append(&slow, "slow").unwrap_err();
    assert!(matches!(error, StoreError::LedgerLocked { .. }), "{error}");
    meddling.third.lock().unwrap().take().unwrap().append("third").unwrap();
    assert_eq!(text(&slow), "zero\nthird\n");
}

/// Lets the lock change hands right before the first successor of it is created.
struct Meddling {
    disk: CrashFs,
    third: std::sync::Mutex<Option<rlxp_store::LockedLedger>>,
}

impl Meddling {
    fn before_creating(&self, name: &Path) {
        let mut third = self.third.lock().unwrap();
        if third.is_none() && name.to_string_lossy().contains("ledger.lock.") {
            let fast = ledger(Arc::new(self.disk.clone()), first_boot());
            drop(fast.lock(NOW).unwrap());
            assert_eq!(names(&self.disk).iter().filter(|name| name.starts_with("ledger.lock")).count(), 0);
            *third = Some(fast.lock(NOW).unwrap());
        }
    }
}

impl Fs for Meddling {
    fn hard_link(&self, from: &Path, to: &Path) -> rlxp_fs::Result<()> {
        self.before_creating(to);
        self.disk.hard_link(from, to)
    }
    fn read_at(&self, path: &Path, offset: u64, limit: usize) -> rlxp_fs::Result<Vec<u8>> {
        self.disk.read_at(path, offset, limit)
    }
    fn metadata(&self, path: &Path) -> rlxp_fs::Result<rlxp_fs::Meta> {
        self.disk.metadata(path)
    }
    fn list_raw(&self, path: &Path) -> rlxp_fs::Result<Vec<rlxp_fs::RawEntry>> {
        self.disk.list_raw(path)
    }
    fn rooted(&self, root: &Path) -> Arc<dyn Fs> {
        self.disk.rooted(root)
    }
    fn create_dir(&self, path: &Path) -> rlxp_fs::Result<()> {
        self.disk.create_dir(path)
    }
    fn create_new(&self, path: &Path) -> rlxp_fs::Result<Box<dyn rlxp_fs::FileHandle>> {
        self.disk.create_new(path)
    }
    fn open_append(&self, path: &Path) -> rlxp_fs::Result<Box<dyn rlxp_fs::FileHandle>> {
        self.disk.open_append(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> rlxp_fs::Result<()> {
        self.disk.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> rlxp_fs::Result<()> {
        self.disk.rename_new(from, to)
    }
    fn symlink(&self, target: &Path, link: &Path) -> rlxp_fs::Result<()> {
        self.disk.symlink(target, link)
    }
    fn read_link(&self, link: &Path) -> rlxp_fs::Result<PathBuf> {
        self.disk.read_link(link)
    }
    fn remove_file(&self, path: &Path) -> rlxp_fs::Result<()> {
        self.disk.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> rlxp_fs::Result<()> {
        self.disk.remove_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> rlxp_fs::Result<()> {
        self.disk.sync_dir(path)
    }
    fn available_space(&self, path: &Path) -> rlxp_fs::Result<u64> {
        self.disk.available_space(path)
    }
    fn canonicalize(&self, path: &Path) -> rlxp_fs::Result<PathBuf> {
        self.disk.canonicalize(path)
    }
}

#[test]
fn sixteen_threads_lose_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    std::fs::write(&path, "zero\n").unwrap();
    // A lock that a killed process left: all sixteen see it at once.
    let file = LedgerFile::at(Arc::new(RealFs), Arc::new(RealMachine), &path);
    let mut dead = FakeMachine::new(&RealMachine.host(), "boot-0", 1);
    dead.machine_id = RealMachine.machine_id();
    std::mem::forget(LedgerFile::at(Arc::new(RealFs), Arc::new(dead), &path).lock(NOW).unwrap());
    let file = file.with_patience(Duration::from_secs(60));
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let file = &file;
            scope.spawn(move || {
                for turn in 0..5 {
                    append(file, &format!("{thread}-{turn}")).unwrap();
                }
            });
        }
    });
    let content = text(&file);
    let lines: Vec<&str> = content.lines().collect();
    assert_eq!(lines.len(), 81);
    for thread in 0..16 {
        let own: Vec<String> = (0..5).map(|turn| format!("{thread}-{turn}")).collect();
        let found: Vec<&&str> = lines.iter().filter(|line| line.starts_with(&format!("{thread}-"))).collect();
        assert_eq!(found, own.iter().collect::<Vec<_>>());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_link_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("elsewhere");
    std::fs::write(&elsewhere, "zero\n").unwrap();
    let path = folder.path().join("ledger.jsonl");
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let file = LedgerFile::at(Arc::new(RealFs), Arc::new(RealMachine), &path);
    assert!(file.read().unwrap_err().to_string().contains("link"));
    assert!(append(&file, "one").is_err());
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"zero\n");
}

#[test]
fn lines_that_are_no_lines() {
    let disk = disk_with("");
    let file = ledger(Arc::new(disk), first_boot());
    let error = append(&file, &"x".repeat(1 << 20)).unwrap_err();
    assert!(matches!(error, StoreError::RecordTooLong { .. }), "{error}");
    append(&file, "").unwrap();
    append(&file, "ü").unwrap();
    assert_eq!(text(&file), "\nü\n");
}
