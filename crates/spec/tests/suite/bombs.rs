//! Hostile configs: small texts that could cost much to read, rejected cheaply.
//!
//! The allocator of this program counts per thread, so other tests don't disturb the measurement.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use rlxp_spec::document::Document;
use rlxp_spec::{Config, Known, Problems, Source, load, render};

const KNOWN: Known<'static> = Known { env_ids: &["CartPole-v1"], cores: 2 };

thread_local! {
    /// Bytes that this thread has allocated minus those it has freed; negative where it freed what others allocated.
    static USED: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counting.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(change: isize) {
    let used = USED.get() + change;
    USED.set(used);
    PEAK.set(PEAK.get().max(used));
}

// SAFETY: every call is forwarded to the system's allocator unchanged; the
// counters are thread-locals that neither allocate nor need a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What is in use now; the peak counts from here.
fn start_counting() -> isize {
    PEAK.set(USED.get());
    USED.get()
}

/// Processor time of this thread: other work on the machine is not measured.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let part = |value: i64| u64::try_from(value).expect("processor time is not negative");
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

/// Texts that grow when they are parsed naively, each of the largest allowed size.
fn bombs() -> Vec<(&'static str, String)> {
    const SIZE: usize = rlxp_spec::MAX_BYTES - 100;
    let fill = |piece: &str| piece.repeat(SIZE / piece.len());
    let lines = |line: fn(usize) -> String| {
        let mut text = String::new();
        (0..)
            .map(line)
            .take_while(|line| {
                text.push_str(line);
                text.len() < SIZE - 100
            })
            .for_each(drop);
        text
    };
    let laughs: String =
        (1..20).map(|i| format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(", "))).collect();
    vec![
        ("flow lists", fill("[")),
        ("flow mappings", fill("{a: ")),
        ("block lists", fill("- ")),
        ("question marks", fill("? ")),
        ("deep indentation", (0..700).map(|i| format!("{}a:\n", " ".repeat(i))).collect()),
        ("one key", format!("{}: 1", fill("k"))),
        ("one value", format!("seed: {}", fill("9"))),
        ("one line of words", fill("word ")),
        ("one comment", format!("#{}", fill("c"))),
        ("comments", fill("# c\n")),
        ("many keys", lines(|i| format!("k{i}: 1\n"))),
        ("many unknown keys", (0..4_000).map(|i| format!("learning_rte{i}: 1\n")).collect()),
        ("the same key", fill("seed: 1\n")),
        ("many keys of an environment", format!("env:\n  kwargs:\n{}", fill("    a: 1\n"))),
        ("many seeds", format!("seeds: [{}]", lines(|i| format!("{i},")))),
        ("a long list of small lists", format!("a: [{}]", fill("[],"))),
        ("laughs", format!("a0: &a0 x\n{laughs}")),
        ("many anchors", lines(|i| format!("k{i}: &a{i} x\n"))),
        ("many tags", fill("- !t x\n")),
        ("tabs", fill("\ta: 1\n")),
        ("a line of tabs", format!("{}a: 1", fill("\t"))),
        ("control characters", fill("\u{1}")),
        ("quotes", fill("\"")),
        ("a quoted text", format!("run_name: \"{}\"", fill("\\u0041"))),
        ("block text", format!("run_name: |\n{}", fill(" x\n"))),
        ("line ends", fill("\n")),
        ("colons", fill(": ")),
        ("documents", fill("---\n")),
        ("merge keys", fill("<<: {}\n")),
        ("too large", fill("a: 1\n") + &" ".repeat(200)),
    ]
}

/// Seconds differ between machines; how much more a bomb costs than an ordinary text of its size doesn't.
const MOST_TIMES_ORDINARY: f64 = 5.0;

#[test]
fn bombs_are_answered_quickly_in_little_memory_and_few_words() {
    let ordinary = Source::new("c.yaml", ordinary_text());
    let ordinary =
        measure("an ordinary text", || Document::read(ordinary.clone()).and_then(typed).expect_err("kwargs"));
    println!("an ordinary text: {ordinary:?} (time, bytes)");
    for (name, text) in bombs() {
        let source = Source::new("c.yaml", text);
        let config = measure(name, || load(&source, &[], &KNOWN).expect_err(name));
        let document = measure(name, || Document::read(source.clone()).and_then(typed).expect_err(name));
        println!("{name}: config {config:?}, document {document:?} (time, bytes)");
        for (time, _) in [config, document] {
            let times = time.as_secs_f64() / ordinary.0.as_secs_f64();
            assert!(times < MOST_TIMES_ORDINARY, "{name} took {times:.1} times an ordinary text: {time:?}");
        }
    }
}

fn typed(document: Document) -> Result<Config, Problems> {
    document.typed::<Config>()
}

/// Keys on lines of their own, of the size of a bomb; wrong in one place only.
fn ordinary_text() -> String {
    let mut text = "seed: one\nenv:\n  id: CartPole-v1\n  kwargs:\n".to_owned();
    for key in 0.. {
        let line = format!("    key_{key}: 1\n");
        if text.len() + line.len() > rlxp_spec::MAX_BYTES {
            break;
        }
        text.push_str(&line);
    }
    text
}

fn measure(name: &str, read: impl Fn() -> Problems) -> (Duration, isize) {
    let mut fastest = Duration::MAX;
    let before = start_counting();
    // A core that is shared with other work is slower by itself; the fastest of several tries is not.
    for _ in 0..8 {
        let start = cpu_time();
        let problems = read();
        let report = render(&problems.problems, &problems.sources, false);
        fastest = fastest.min(cpu_time() - start);
        assert!((1..=201).contains(&problems.problems.len()), "{name}");
        assert!(report.len() < 200_000, "{name}: {} bytes", report.len());
    }
    let peak = PEAK.get() - before;
    assert!(peak < 16_000_000, "{name} took {peak} bytes");
    (fastest, peak)
}
