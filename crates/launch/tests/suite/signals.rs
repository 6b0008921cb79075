//! Counting signals. One test does it all, because signal handlers belong to the
//! process, not to a thread.

use rlxp_launch::Interrupts;
use rustix::process::{Signal, getpid, kill_process};

use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![signals_are_counted_and_ignored_ones_stay_ignored,];

fn signals_are_counted_and_ignored_ones_stay_ignored() {
    // The parent process may ignore others too, as a shell without job control does.
    for (signal, how) in
        [(libc::SIGHUP, libc::SIG_IGN), (libc::SIGINT, libc::SIG_DFL), (libc::SIGTERM, libc::SIG_DFL)]
    {
        // SAFETY: sets a disposition before anything else in this process depends on it.
        unsafe { libc::signal(signal, how) };
    }
    let interrupts = Interrupts::install().unwrap();
    assert!(!interrupts.requested());
    // A signal that a process sends to itself is delivered to some thread before
    // or soon after the call returns.
    let send = |signal, expected| {
        kill_process(getpid(), signal).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while interrupts.count() < expected {
            assert!(std::time::Instant::now() < deadline, "signal {expected} was not counted");
            std::thread::yield_now();
        }
        assert_eq!(interrupts.count(), expected);
    };
    send(Signal::INT, 1);
    assert!(interrupts.requested());
    send(Signal::HUP, 1);
    send(Signal::TERM, 2);
    drop(interrupts);
    // To this thread, so that it is delivered before the call returns and the next counter doesn't see it.
    // SAFETY: sends a signal that this process has a handler for.
    assert_eq!(unsafe { libc::raise(libc::SIGINT) }, 0);
    assert!(!Interrupts::install().unwrap().requested(), "a new count starts at zero");
}
