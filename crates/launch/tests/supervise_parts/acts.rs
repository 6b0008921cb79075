//! Programs that misbehave, each within bounds that this machine survives even if nobody ends them.

use std::io::Write;
use std::time::{Duration, Instant};

/// Does it, and then waits to be ended for at most this long.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn act(what: &str) {
    match what {
        "memory" => {
            let held = vec![1_u8; 200 << 20];
            wait();
            assert_eq!(std::hint::black_box(held).len(), 200 << 20);
        }
        "log" => {
            let began = Instant::now();
            let mut out = std::io::stdout().lock();
            while began.elapsed() < PATIENCE && writeln!(out, "and on and on it goes").is_ok() {}
        }
        "burn" => {
            let began = Instant::now();
            while began.elapsed() < PATIENCE {
                std::hint::black_box(began);
            }
        }
        "burn-a-little" => {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(200) {
                std::hint::black_box(began);
            }
        }
        _ => panic!("nobody knows how to act {what}"),
    }
}

fn wait() {
    std::thread::sleep(PATIENCE);
}
