//! Programs that misbehave, each within bounds that this machine survives even if they aren't
//! stopped.

use std::io::Write;
use std::time::{Duration, Instant};

/// How long a program misbehaves at most if it isn't stopped.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn act(what: &str) {
    match what {
        "memory" => {
            let held = vec![1_u8; 200 << 20];
            wait();
            assert_eq!(std::hint::black_box(held).len(), 200 << 20);
        }
        "share" => {
            // Written as a file and mapped, as programs that share memory do.
            let path = "/dev/shm/block";
            let mut file = std::fs::File::create(path).expect("a file");
            (0..40).for_each(|_| file.write_all(&[1; 1 << 20]).expect("room in memory"));
            let file = std::fs::File::open(path).expect("the file");
            let (length, descriptor) = (40 << 20, std::os::fd::AsRawFd::as_raw_fd(&file));
            // SAFETY: maps a file that is this long and stays so; nothing else has the address.
            let mapped = unsafe {
                libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0)
            };
            assert_ne!(mapped, libc::MAP_FAILED);
            // SAFETY: the mapping above has these bytes, and nothing writes to them.
            let bytes = unsafe { std::slice::from_raw_parts(mapped.cast::<u8>(), length) };
            assert!(bytes.iter().step_by(4096).all(|byte| *byte == 1));
            // Some polls.
            std::thread::sleep(Duration::from_millis(500));
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
            // CPU time, so that other processes don't matter.
            let began = Instant::now();
            while processor_time() < Duration::from_millis(200) && began.elapsed() < PATIENCE {
                std::hint::black_box(began);
            }
        }
        _ => panic!("there is no act {what}"),
    }
}

/// The CPU time that this process has used so far.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn wait() {
    std::thread::sleep(PATIENCE);
}
