//! Reading a ledger with two threads. It looks for one thing only, that nothing is wrong: whatever else it meets, it
//! gives up, and the ledger is read line by line to say what is wrong and where. So nothing that can be seen depends on
//! which thread was faster.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

use super::super::record::Record;
use super::Ledger;

/// How many bytes a thread takes at once: few enough that nobody waits long for the other.
const PIECE: usize = 32 << 10;

/// A ledger of whole lines, if nothing is wrong with it; and what `other` gives, which the second thread does before
/// it helps with the ledger.
///
/// Both read lines and check their digests, for which each line is enough. This thread adds up what they read, in
/// order.
pub(super) fn read<T: Send>(
    text: &str,
    empty: Ledger,
    other: impl FnOnce() -> T + Send,
) -> (Option<Ledger>, T) {
    let pieces = Pieces::of(text);
    let other = Mutex::new(Some(other));
    let do_other = || {
        let work = other.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map(|work| work())
    };
    thread::scope(|scope| {
        let second = Builder::new().spawn_scoped(scope, || {
            let done = do_other();
            pieces.read_all();
            done
        });
        let ledger = pieces.add_up(empty);
        let done = match second {
            Ok(second) => second.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // A system that has no thread left is slower, and that is all.
            Err(_) => do_other(),
        };
        (ledger, done.expect("it is done once, by whoever is there"))
    })
}

/// A ledger in pieces of whole lines.
struct Pieces<'l> {
    all: Vec<Piece<'l>>,
    /// The next one that nobody took.
    next: AtomicUsize,
    /// Whether something is wrong, so that nothing more needs to be read.
    wrong: AtomicBool,
}

struct Piece<'l> {
    text: &'l str,
    /// Its records, once somebody read them.
    records: Mutex<Option<Vec<Record>>>,
}

impl<'l> Pieces<'l> {
    fn of(mut text: &'l str) -> Self {
        let mut all = Vec::with_capacity(text.len() / PIECE + 1);
        while !text.is_empty() {
            let line_end = text.as_bytes().iter().skip(PIECE).position(|byte| *byte == b'\n');
            let (piece, rest) = text.split_at(line_end.map_or(text.len(), |end| PIECE + end + 1));
            all.push(Piece { text: piece, records: Mutex::new(None) });
            text = rest;
        }
        Self { all, next: AtomicUsize::new(0), wrong: AtomicBool::new(false) }
    }

    /// Reads until nothing is left to take.
    fn read_all(&self) {
        // The other thread must not wait for what never comes.
        let _guard = GiveUp(&self.wrong);
        while self.read_one() {}
    }

    /// Reads the next piece that nobody took, if there is one.
    fn read_one(&self) -> bool {
        if self.wrong.load(Ordering::Relaxed) {
            return false;
        }
        let Some(piece) = self.all.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return false };
        let mut room = Vec::new();
        let lines = piece.text.split_terminator('\n');
        match lines.map(|line| Record::parse_usual(line, &mut room)).collect() {
            Some(records) => *lock(&piece.records) = Some(records),
            None => self.wrong.store(true, Ordering::Relaxed),
        }
        true
    }

    /// Adds all records to `ledger`; nothing as soon as something is wrong.
    fn add_up(&self, mut ledger: Ledger) -> Option<Ledger> {
        for piece in &self.all {
            let records = loop {
                if let Some(records) = lock(&piece.records).take() {
                    break records;
                }
                // The other thread has taken it, and everything else: it will be a moment.
                if !self.read_one() {
                    if self.wrong.load(Ordering::Relaxed) {
                        return None;
                    }
                    thread::yield_now();
                }
            };
            for record in records {
                if ledger.push(record).is_err() {
                    self.wrong.store(true, Ordering::Relaxed);
                    return None;
                }
            }
        }
        Some(ledger)
    }
}

/// Says that something is wrong when the thread that has it panics.
struct GiveUp<'w>(&'w AtomicBool);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
