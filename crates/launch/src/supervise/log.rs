//! The output of a step on its way into `<step>.log`: both streams line by line as they come, without secrets, and
//! never more than was agreed.
//!
//! Both pipes are emptied to their end so that a step never hangs on a full pipe. They are read by two threads, so lines
//! of the two streams can be in another order in the file than the step wrote them; each stream keeps its own end for the
//! reason of a failure.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rlxp_fs::{FileHandle, FsError};

use super::redact::{Redactor, Secrets};

/// Bytes of the end of each stream that are kept for the reason of a failure.
const TAIL_BYTES: usize = 4096;
/// Lines that come quicker than this are read together.
const REST: Duration = Duration::from_millis(20);
/// Pause between two reads of a step whose output is over its limit, so that draining its pipes costs nothing.
const THROTTLE: Duration = Duration::from_millis(10);
/// How long to wait for the ends of the pipes of a step that has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

const STDOUT: usize = 0;
const STDERR: usize = 1;

/// The end of what a step wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LastWords {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl LastWords {
    /// What explains a failure: programs report errors on stderr, and only some on stdout.
    pub(super) fn why(&self) -> &str {
        if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr }
    }
}

/// The log of a step under way.
pub(super) struct Log {
    shared: Arc<Shared>,
    /// Closes when both pipes have ended; receives a message when the output exceeds its limit.
    news: Receiver<()>,
    began: Instant,
}

struct Shared {
    sink: Mutex<Sink>,
    /// Bytes that came, whether written or not.
    came: AtomicU64,
    /// When something last came, in milliseconds since the beginning.
    last: AtomicU64,
    cap: u64,
}

struct Sink {
    /// Closed once the step has ended, or when writing failed.
    file: Option<Box<dyn FileHandle>>,
    room: u64,
    /// Which stream wrote last, and whether it left a line open.
    open_line: Option<usize>,
    tails: [VecDeque<u8>; 2],
    failed: Option<FsError>,
}

impl Log {
    /// Creates the file and begins to read.
    #[cfg(test)]
    pub(super) fn start(
        path: &std::path::Path,
        cap: u64,
        secrets: &Arc<Secrets>,
        stdout: impl Read + Send + 'static,
        stderr: impl Read + Send + 'static,
    ) -> Result<Self, FsError> {
        use rlxp_fs::Fs;
        Self::start_in(rlxp_fs::RealFs.create_new(path)?, cap, secrets, stdout, stderr)
            .map_err(|error| FsError::new("start a thread to fill", path, error))
    }

    /// Begins to read. The file was made before the step began, so that what keeps it from being made is noticed while
    /// nothing has run.
    pub(super) fn start_in(
        file: Box<dyn FileHandle>,
        cap: u64,
        secrets: &Arc<Secrets>,
        stdout: impl Read + Send + 'static,
        stderr: impl Read + Send + 'static,
    ) -> std::io::Result<Self> {
        let sink =
            Sink { file: Some(file), room: cap, open_line: None, tails: Default::default(), failed: None };
        let shared = Arc::new(Shared {
            sink: Mutex::new(sink),
            came: AtomicU64::new(0),
            last: AtomicU64::new(0),
            cap,
        });
        let began = rlxp_fs::clock::monotonic();
        let (sender, news) = sync_channel(1);
        reader(STDOUT, stdout, &shared, secrets, began, sender.clone())?;
        reader(STDERR, stderr, &shared, secrets, began, sender)?;
        Ok(Self { shared, news, began })
    }

    /// Bytes that came so far.
    pub(super) fn came(&self) -> u64 {
        self.shared.came.load(Ordering::Relaxed)
    }

    /// How long nothing has come.
    pub(super) fn quiet(&self) -> Duration {
        let last = Duration::from_millis(self.shared.last.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(last)
    }

    /// Waits, at most this long, for news: true when both streams have ended.
    pub(super) fn wait(&self, longest: Duration) -> bool {
        matches!(self.news.recv_timeout(longest), Err(RecvTimeoutError::Disconnected))
    }

    /// Why writing failed, once.
    pub(super) fn failure(&self) -> Option<FsError> {
        lock(&self.shared.sink).failed.take()
    }

    /// After the step has ended: everything is on the disk. Returns the end of each stream.
    pub(super) fn finish(self) -> Result<LastWords, FsError> {
        let deadline = rlxp_fs::clock::monotonic() + LAST_WORDS;
        while !self.wait(deadline.saturating_duration_since(rlxp_fs::clock::monotonic())) {
            if rlxp_fs::clock::monotonic() >= deadline {
                break;
            }
        }
        let mut sink = lock(&self.shared.sink);
        if let Some(error) = sink.failed.take() {
            return Err(error);
        }
        if let Some(mut file) = sink.file.take() {
            file.sync()?;
        }
        let [stdout, stderr] = [STDOUT, STDERR]
            .map(|stream| String::from_utf8_lossy(sink.tails[stream].make_contiguous()).into_owned());
        Ok(LastWords { stdout, stderr })
    }
}

fn reader(
    stream: usize,
    mut pipe: impl Read + Send + 'static,
    shared: &Arc<Shared>,
    secrets: &Arc<Secrets>,
    began: Instant,
    news: SyncSender<()>,
) -> std::io::Result<()> {
    let shared = Arc::clone(shared);
    let mut redactor = Redactor::new(Arc::clone(secrets));
    Builder::new().spawn(move || {
        let mut buffer = vec![0; 32 * 1024];
        let mut out = Vec::new();
        let mut read_before = began;
        loop {
            let count = match pipe.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
                Ok(count) => count,
            };
            shared.last.fetch_max(began.elapsed().as_millis() as u64, Ordering::Relaxed);
            let before = shared.came.fetch_add(count as u64, Ordering::Relaxed);
            redactor.feed(&buffer[..count], &mut out);
            lock(&shared.sink).write(stream, &out);
            out.clear();
            if before.saturating_add(count as u64) > shared.cap {
                if let Err(TrySendError::Disconnected(())) = news.try_send(()) {
                    // The supervisor has exited; the step is being stopped.
                }
                std::thread::sleep(THROTTLE);
            }
            // Lines printed one by one don't cause a wake-up each.
            let now = rlxp_fs::clock::monotonic();
            if count < buffer.len() && now.duration_since(read_before) < REST {
                std::thread::sleep(REST);
            }
            read_before = now;
        }
        redactor.finish(&mut out);
        lock(&shared.sink).write(stream, &out);
    })?;
    Ok(())
}

impl Sink {
    fn write(&mut self, stream: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // The other stream's torn line ends here, or two halves could join into what neither of them was.
        if self.open_line.is_some_and(|other| other != stream) {
            self.append(b"\n");
        }
        let written = self.append(bytes);
        let tail = &mut self.tails[stream];
        tail.extend(&bytes[..written]);
        let excess = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..excess);
        self.open_line = (bytes.last() != Some(&b'\n')).then_some(stream);
    }

    /// Returns how many bytes were written.
    fn append(&mut self, bytes: &[u8]) -> usize {
        let fits = bytes.len().min(usize::try_from(self.room).unwrap_or(usize::MAX));
        let bytes = &bytes[..fits];
        let Some(file) = &mut self.file else { return 0 };
        if let Err(error) = file.write_all(bytes) {
            self.file = None;
            self.failed = Some(error);
            return 0;
        }
        self.room -= fits as u64;
        fits
    }
}

/// A panic elsewhere must not cost the log.
fn lock(sink: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use rlxp_fs::{FsExt, RealFs};

    use super::*;

    fn check(cap: u64, stdout: &str, stderr: &str) -> (String, u64, LastWords) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.log");
        let secrets = Arc::new(Secrets::new([("KEY".to_owned(), b"canary-77".to_vec())]));
        let (stdout, stderr) = (Cursor::new(stdout.to_owned()), Cursor::new(stderr.to_owned()));
        let log = Log::start(&path, cap, &secrets, stdout, stderr).unwrap();
        while !log.wait(Duration::from_secs(10)) {}
        let came = log.came();
        let tail = log.finish().unwrap();
        (RealFs.read_text(&path, 1 << 20).unwrap(), came, tail)
    }

    #[test]
    fn both_streams_stand_in_one_file_and_secrets_in_none() {
        let (text, came, tail) = check(1000, "out canary-77\ntorn", "");
        assert_eq!((text.as_str(), came, tail.why()), ("out [redacted KEY]\ntorn", 18, text.as_str()));
        let (text, ..) = check(1000, "a torn canary-", "77 of the other\n");
        assert!(!text.contains("canary-77"), "{text}");
        assert!(text.contains("a torn canary-") && text.contains("77 of the other\n"), "{text}");
    }

    /// A stream that blocks until the other one has ended, so that its lines come last whenever they were written.
    struct Late(std::sync::mpsc::Receiver<()>, Cursor<String>);

    impl Read for Late {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            // Nothing is ever sent: this waits until the other stream has ended and is dropped.
            self.0.recv().unwrap_err();
            self.1.read(buffer)
        }
    }

    /// A stream that tells [`Late`] when it has ended.
    struct Early(std::sync::mpsc::Sender<()>, Cursor<String>);

    impl Read for Early {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let _keeps_the_other_waiting = &self.0;
            self.1.read(buffer)
        }
    }

    #[test]
    fn lines_of_stdout_that_are_read_late_hide_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.log");
        let (sender, receiver) = std::sync::mpsc::channel();
        let stdout = Late(receiver, Cursor::new("step\n".repeat(4000)));
        let stderr = Early(sender, Cursor::new("Traceback\nRuntimeError: no luck\n".to_owned()));
        let secrets = Arc::new(Secrets::new([]));
        let log = Log::start(&path, 1 << 20, &secrets, stdout, stderr).unwrap();
        while !log.wait(Duration::from_secs(10)) {}
        let last_words = log.finish().unwrap();
        let text = RealFs.read_text(&path, 1 << 20).unwrap();
        assert!(text.starts_with("Traceback") && text.ends_with("step\n"), "stdout was read last");
        assert_eq!(last_words.why(), "Traceback\nRuntimeError: no luck\n");
        // Nothing but white space on stderr explains nothing.
        let only_stdout = LastWords { stdout: "usage: x".to_owned(), stderr: "\n".to_owned() };
        assert_eq!(only_stdout.why(), "usage: x");
    }

    #[test]
    fn the_file_never_grows_beyond_the_cap() {
        let (text, came, _) = check(10, "0123456789abcdef\n", "");
        assert_eq!((text.as_str(), came), ("0123456789", 17));
    }
}
