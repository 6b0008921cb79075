//! Counts SIGINT, SIGTERM and SIGHUP.
//!
//! The handler only counts; workers check the count between pieces of work. The
//! supervisor treats the count as a request (one: save and stop, two: stop
//! immediately), the worker as a flag.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::low_level;

/// Counts SIGINT, SIGTERM and SIGHUP from the moment it is installed. Dropping
/// it stops the counting, but doesn't bring back the deadly default.
pub struct Interrupts {
    count: Arc<AtomicUsize>,
    handlers: Vec<signal_hook::SigId>,
}

impl Interrupts {
    /// Starts counting. A signal that the process ignores stays ignored: `nohup rlx train` must survive the end of
    /// its terminal.
    pub fn install() -> io::Result<Self> {
        let mut interrupts = Self { count: Arc::default(), handlers: Vec::new() };
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            if is_ignored(signal)? {
                continue;
            }
            let count = Arc::clone(&interrupts.count);
            // SAFETY: the handler does one atomic addition, which is async-signal-safe.
            let handler = unsafe {
                low_level::register(signal, move || {
                    count.fetch_add(1, Ordering::SeqCst);
                })
            }?;
            interrupts.handlers.push(handler);
        }
        Ok(interrupts)
    }

    /// How many came so far.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether any came: time to save and stop.
    pub fn requested(&self) -> bool {
        self.count() > 0
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}

/// From now on, exceeding the file size limit (`ulimit -f`) makes the write fail, which is handled in an
/// orderly way. By default, the kernel would kill the process with a signal.
///
/// Children inherit what is ignored; those of this crate get the default back.
pub fn survive_file_size_limit() {
    // SAFETY: signal() with SIG_IGN installs no handler and touches no memory of ours. It can't fail for this signal.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: all-zero bytes are a valid sigaction; it is overwritten below.
    let mut current: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: no new action is given, `current` is a valid place for the old one.
    if unsafe { libc::sigaction(signal, std::ptr::null(), &mut current) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(current.sa_sigaction == libc::SIG_IGN)
}
