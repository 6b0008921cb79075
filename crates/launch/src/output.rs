//! Reading what a child writes: its stdout as lines, the end of its stderr.
//! Both readers always read to the end of the pipe, so a child never blocks or
//! dies on a full pipe.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// Bytes of stderr that are kept.
pub(crate) const TAIL_BYTES: usize = 64 * 1024;
/// A longer line is cut here, so that a child without line ends can't fill the memory.
const LINE_BYTES: usize = 1024 * 1024;
/// Lines that wait for the supervisor before the child has to.
const WAITING_LINES: usize = 4096;

/// Starts a thread that turns `pipe` into lines. The channel closes at the end of the pipe.
pub(crate) fn lines(pipe: impl Read + Send + 'static) -> std::io::Result<Receiver<String>> {
    let (sender, receiver) = sync_channel(WAITING_LINES);
    Builder::new().spawn(move || read_lines(pipe, sender))?;
    Ok(receiver)
}

fn read_lines(pipe: impl Read, sender: SyncSender<String>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while let Ok(true) = read_line(&mut pipe, &mut line) {
        // An error means that the supervisor stopped listening.
        let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
    }
}

/// Reads one line without its end; false at the end of the pipe.
fn read_line(pipe: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let available = match pipe.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if available.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = LINE_BYTES.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = end.map_or(available.len(), |end| end + 1);
        pipe.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// The last bytes of a child's stderr.
pub(crate) struct Tail {
    kept: Arc<Mutex<TailBuffer>>,
    /// Closes when the pipe has ended.
    ended: Receiver<()>,
}

#[derive(Default)]
struct TailBuffer {
    bytes: VecDeque<u8>,
    dropped: u64,
}

impl Tail {
    /// Starts a thread that empties `pipe`.
    pub(crate) fn start(mut pipe: impl Read + Send + 'static) -> std::io::Result<Self> {
        let kept = Arc::new(Mutex::new(TailBuffer::default()));
        let (sender, ended) = sync_channel(0);
        let writer = Arc::clone(&kept);
        Builder::new().spawn(move || {
            let _closes_at_the_end: SyncSender<()> = sender;
            let mut buffer = [0; 8192];
            loop {
                match pipe.read(&mut buffer) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => return,
                    Ok(count) => lock(&writer).push(&buffer[..count]),
                }
            }
        })?;
        Ok(Self { kept, ended })
    }

    /// The text kept so far, with a note if earlier text was dropped.
    pub(crate) fn text(&self) -> String {
        let mut kept = lock(&self.kept);
        let dropped = kept.dropped;
        let text = String::from_utf8_lossy(kept.bytes.make_contiguous()).into_owned();
        if dropped == 0 { text } else { format!("[{dropped} earlier bytes dropped]\n{text}") }
    }

    /// Waits until the pipe has ended, but not for ever: a process that left
    /// the child's group may hold it open.
    pub(crate) fn finish(&self) {
        let _ = self.ended.recv_timeout(std::time::Duration::from_secs(1));
    }
}

impl TailBuffer {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(TAIL_BYTES);
        self.bytes.drain(..excess);
        self.dropped += excess as u64;
    }
}

/// A panic elsewhere must not cost the error report.
fn lock(kept: &Mutex<TailBuffer>) -> MutexGuard<'_, TailBuffer> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], expected: &[&str]) {
        let got: Vec<String> = lines(std::io::Cursor::new(input.to_vec())).unwrap().iter().collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn lines_come_without_their_ends_and_a_torn_last_one_comes_too() {
        check(b"", &[]);
        check(b"a\nb\n", &["a", "b"]);
        check(b"a\n\nb", &["a", "", "b"]);
        check(b"caf\xe9\n", &["caf\u{fffd}"]);
    }

    #[test]
    fn an_endless_line_is_cut_and_the_next_one_is_whole() {
        let mut input = vec![b'x'; LINE_BYTES * 2];
        input.extend(b"\nnext\n");
        let got: Vec<String> = lines(std::io::Cursor::new(input)).unwrap().iter().collect();
        assert_eq!(got[0].len(), LINE_BYTES);
        assert_eq!(got[1], "next");
    }

    #[test]
    fn the_tail_keeps_the_end_and_counts_the_rest() {
        let mut input = vec![b'x'; TAIL_BYTES];
        input.extend(b"the reason");
        let tail = Tail::start(std::io::Cursor::new(input)).unwrap();
        tail.finish();
        let text = tail.text();
        assert!(text.starts_with("[10 earlier bytes dropped]\n"), "{}", &text[..40]);
        assert!(text.ends_with("the reason"));
    }
}
