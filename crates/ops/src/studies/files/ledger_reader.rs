//! Reads a ledger with two threads. They only check that nothing is wrong: if anything is, they give up, and the
//! ledger is read line by line to report the problem. So results never depend on which thread was faster.

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Builder};

use rlxp_govern::ledger::{Ledger, Record, read_lines, split};

/// Shorter ledgers are read faster than a thread starts.
const WORTH_A_THREAD: usize = 256 << 10;

/// Bytes that a thread takes at once: few enough that neither waits long for the other.
const PIECE: usize = 32 << 10;

/// Reads a ledger up to its end or its first problem.
pub fn read(bytes: &[u8]) -> Ledger {
    read_as(bytes, false)
}

/// Like [`read`], for callers that need a study's state and not its history: keeping the records takes most of the
/// time for a long ledger.
pub(crate) fn read_lean(bytes: &[u8]) -> Ledger {
    read_as(bytes, true)
}

/// Like [`read_lean`], for a ledger that `fetch` gets while a second thread does something else and then helps. Also
/// returns the bytes.
pub(super) fn read_lean_beside<T: Send, E>(
    fetch: impl FnOnce() -> Result<Vec<u8>, E>,
    other: impl FnOnce() -> T + Send,
) -> Result<(Vec<u8>, Ledger, T), E> {
    let bytes = OnceLock::new();
    let (ledger, other) = beside(
        || {
            let fetched = fetch()?;
            let (ledger, whole) = split(bytes.get_or_init(|| fetched), true);
            Ok((std::str::from_utf8(whole).ok(), (ledger, whole)))
        },
        |pieces, (ledger, whole)| {
            let read = pieces.and_then(|pieces| pieces.add_up(ledger.clone()));
            read.unwrap_or_else(|| read_lines(ledger, whole))
        },
        other,
    );
    let ledger = ledger?;
    Ok((bytes.into_inner().expect("they were read"), ledger, other))
}

fn read_as(bytes: &[u8], lean: bool) -> Ledger {
    let (ledger, whole) = split(bytes, lean);
    let text = std::str::from_utf8(whole).ok().filter(|text| text.len() >= WORTH_A_THREAD);
    let read = text.and_then(|text| read_shared(text, ledger.clone()));
    read.unwrap_or_else(|| read_lines(ledger, whole))
}

/// A ledger of complete lines, if nothing is wrong with it.
///
/// Both threads parse lines and check their digests, which each line allows on its own. This thread adds up the
/// records in order.
fn read_shared(text: &str, empty: Ledger) -> Option<Ledger> {
    let begin = || Ok::<_, Infallible>((Some(text), empty));
    let (ledger, ()) = beside(begin, |pieces, empty| pieces?.add_up(empty), || ());
    let Ok(ledger) = ledger;
    ledger
}

/// Runs `other` on a second thread, which then helps with the text that `begin` returns; this thread runs `begin`,
/// then `work` on the pieces of the text. Without a text there are no pieces.
fn beside<'l, B, R, T: Send, E>(
    begin: impl FnOnce() -> Result<(Option<&'l str>, B), E>,
    work: impl FnOnce(Option<&Pieces<'l>>, B) -> R,
    other: impl FnOnce() -> T + Send,
) -> (Result<R, E>, T) {
    let pieces = OnceLock::new();
    let other = Mutex::new(Some(other));
    let do_other = || {
        let work = lock(&other).take();
        work.map(|work| work())
    };
    thread::scope(|scope| {
        let second = Builder::new().spawn_scoped(scope, || {
            let done = {
                // Otherwise the first thread would wait forever.
                let _guard = OnPanic(|| pieces.get().into_iter().flatten().for_each(Pieces::give_up));
                do_other()
            };
            if let Some(pieces) = pieces.wait() {
                pieces.read_all();
            }
            done
        });
        let worked = {
            // Otherwise the second thread would.
            let _guard = OnPanic(|| drop(pieces.set(None)));
            let begun = begin();
            let text = begun.as_ref().ok().and_then(|(text, _)| *text);
            let pieces = pieces.get_or_init(|| text.map(Pieces::split));
            begun.map(|(_, begun)| work(pieces.as_ref(), begun))
        };
        let done = match second {
            Ok(second) => second.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without a free thread this is slower, and that is all.
            Err(_) => do_other(),
        };
        (worked, done.expect("one of the two threads has done it"))
    })
}

/// A ledger in pieces of complete lines.
struct Pieces<'l> {
    text: &'l str,
    all: Vec<Piece<'l>>,
    /// The next piece that no thread took.
    next: AtomicUsize,
    /// Whether something is wrong, so that reading can stop.
    wrong: AtomicBool,
}

struct Piece<'l> {
    text: &'l str,
    /// Its records, once they were read.
    records: Mutex<Option<Vec<Record>>>,
}

impl<'l> Pieces<'l> {
    fn split(text: &'l str) -> Self {
        let mut all = Vec::with_capacity(text.len() / PIECE + 1);
        let mut left = text;
        while !left.is_empty() {
            let line_end = left.as_bytes().iter().skip(PIECE).position(|byte| *byte == b'\n');
            let (piece, rest) = left.split_at(line_end.map_or(left.len(), |end| PIECE + end + 1));
            all.push(Piece { text: piece, records: Mutex::new(None) });
            left = rest;
        }
        Self { text, all, next: AtomicUsize::new(0), wrong: AtomicBool::new(false) }
    }

    /// The number of the next piece that no thread took.
    fn take(&self) -> Option<usize> {
        let wanted = !self.wrong.load(Ordering::Relaxed);
        let number = wanted.then(|| self.next.fetch_add(1, Ordering::Relaxed))?;
        (number < self.all.len()).then_some(number)
    }

    /// Reads pieces until none is left.
    fn read_all(&self) {
        // Otherwise the other thread would wait forever.
        let _guard = OnPanic(|| self.give_up());
        while let Some(number) = self.take() {
            self.keep(number);
        }
    }

    /// Reads a piece and keeps its records for later.
    fn keep(&self, number: usize) {
        let piece = &self.all[number];
        match piece.read().collect() {
            Some(records) => *lock(&piece.records) = Some(records),
            None => self.give_up(),
        }
    }

    /// Makes both threads stop.
    fn give_up(&self) {
        self.wrong.store(true, Ordering::Relaxed);
    }

    /// Adds all records to `ledger`; `None` as soon as something is wrong.
    fn add_up(&self, mut ledger: Ledger) -> Option<Ledger> {
        let added =
            self.all.iter().enumerate().try_for_each(|(number, piece)| self.add(number, piece, &mut ledger));
        if added.is_none() {
            self.give_up();
        }
        added.and_then(|()| ledger.ending_with(self.text.lines().next_back()))
    }

    fn add(&self, number: usize, piece: &Piece<'l>, ledger: &mut Ledger) -> Option<()> {
        loop {
            // Not in the condition of the branch, which would hold the lock.
            let read = lock(&piece.records).take();
            if let Some(records) = read {
                return records.into_iter().try_for_each(|record| ledger.add(record).ok());
            }
            match self.take() {
                // One record at a time, so that memory is reused.
                Some(taken) if taken == number => {
                    return piece.read().try_for_each(|record| ledger.add(record?).ok());
                }
                // The other thread is reading it.
                Some(taken) => self.keep(taken),
                None if self.wrong.load(Ordering::Relaxed) => return None,
                // The other thread is reading the last one and will be done in a moment.
                None => thread::yield_now(),
            }
        }
    }
}

impl<'l> Piece<'l> {
    /// Its records; `None` for one that is not well-formed.
    fn read(&self) -> impl Iterator<Item = Option<Record>> + use<'l> {
        let mut room = Vec::new();
        self.text.split_terminator('\n').map(move |line| Record::parse_usual(line, &mut room))
    }
}

/// Runs a function if its thread panics.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use rlxp_govern::documents::Assurance;
    use rlxp_govern::ledger::event::{Note, Opened};
    use rlxp_govern::ledger::{Actor, Event};

    use super::*;

    fn lines() -> Vec<String> {
        let mut ledger = split(b"", true).0;
        let (task, study) = ("walker".parse().unwrap(), "first".parse().unwrap());
        let opened =
            Opened { id: "s".into(), task, study, approvers: Vec::new(), assurance: Assurance::Signature };
        let notes = (0..600).map(|number| Event::Note(Note { text: format!("remark {number} \u{fc} \n") }));
        let events = std::iter::once(Event::Opened(opened)).chain(notes);
        events
            .map(|event| {
                let record = Record::new(ledger.next_seq(), "now", Actor::Rlx, event, ledger.head());
                let line = record.line() + "\n";
                ledger.push(record).unwrap();
                line
            })
            .collect()
    }

    /// Checks that both ways agree; returns the number of records.
    fn read_both(bytes: &[u8]) -> usize {
        let (empty, whole) = split(bytes, true);
        let expected = read_lines(empty, whole);
        let fetch = || Ok::<_, Infallible>(bytes.to_vec());
        let Ok((fetched, found, other)) = read_lean_beside(fetch, || 7);
        assert_eq!((fetched.as_slice(), other), (bytes, 7));
        assert_eq!((&found.records, &found.digests), (&expected.records, &expected.digests));
        assert_eq!((&found.state, &found.problem), (&expected.state, &expected.problem));
        assert_eq!(found.torn, expected.torn);
        found.digests.len()
    }

    #[test]
    fn two_threads_see_what_one_sees() {
        let lines = lines();
        let whole = lines.concat();
        assert!(whole.len() > 4 * PIECE, "{} bytes are no test", whole.len());
        assert_eq!(Pieces::split(&whole).all.iter().map(|piece| piece.text).collect::<String>(), whole);
        let quick = read_shared(&whole, split(b"", true).0);
        assert_eq!(
            quick.map(|ledger| ledger.digests.len()),
            Some(lines.len()),
            "the usual way is the quick one"
        );
        assert_eq!(read_both(whole.as_bytes()), lines.len());
        assert_eq!(read_both(b""), 0);
        assert_eq!(read_both(b"\n"), 0);
        assert_eq!(read_both(&whole.as_bytes()[..whole.len() - 5]), lines.len() - 1);
        for at in (0..lines.len() - 1).step_by(97) {
            let changed = |change: &dyn Fn(&mut Vec<String>)| {
                let mut lines = lines.clone();
                change(&mut lines);
                read_both(lines.concat().as_bytes())
            };
            assert_eq!(changed(&|lines| drop(lines.remove(at))), at);
            assert_eq!(changed(&|lines| lines.swap(at, at + 1)), at);
            assert_eq!(changed(&|lines| lines[at].insert(0, '\n')), at);
            assert_eq!(changed(&|lines| lines[at] = lines[at].replace("now", "not")), at);
            assert_eq!(changed(&|lines| lines[at] = lines[at].replace('}', "} ")), at);
            let mut bytes = whole.clone().into_bytes();
            bytes[lines[..at].concat().len() + 3] = 0xff;
            assert_eq!(read_both(&bytes), at);
        }
    }

    #[test]
    #[should_panic(expected = "the other work")]
    fn a_panic_of_the_other_work_is_no_endless_wait() {
        let fetch = || Ok::<_, Infallible>(lines().concat().into_bytes());
        let _ = read_lean_beside::<(), _>(fetch, || panic!("the other work"));
    }

    #[test]
    #[should_panic(expected = "the disk")]
    fn a_panic_of_the_first_thread_is_no_endless_wait() {
        let _ = read_lean_beside::<_, Infallible>(|| panic!("the disk"), || ());
    }

    #[test]
    fn bytes_that_cannot_be_had_are_an_error() {
        assert_eq!(read_lean_beside(|| Err("gone"), || ()).map(drop), Err("gone"));
    }
}
