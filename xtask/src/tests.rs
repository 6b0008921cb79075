//! Building the workspace's tests and running all test programs at once, one
//! per core, with the time of every test.
//!
//! Each program runs its own tests one after the other: so the time between
//! two of its lines is the time of a test, and the cores stay busy because
//! another program runs beside it. The longest of the last run start first.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::run::{Done, capture, cargo, root};

/// Tests that are named at the end for having taken longest.
const SLOWEST: usize = 10;

/// A test program.
struct Program {
    /// Package and target, such as `rlxp-store faults`.
    name: String,
    path: PathBuf,
    /// The folder of its package, where its tests expect to be.
    folder: PathBuf,
}

/// How a program's tests went.
struct Ran {
    name: String,
    took: Duration,
    /// Each test with its time.
    tests: Vec<(String, Duration)>,
    /// What it printed, when it failed.
    failure: Option<String>,
}

/// What running all of them gave.
pub(crate) struct Summary {
    pub(crate) build: Duration,
    pub(crate) run: Duration,
    tests: usize,
    programs: Vec<(String, Duration)>,
    slowest: Vec<(String, Duration)>,
}

/// Builds every test of the workspace and runs it.
pub(crate) fn run() -> Result<Summary, String> {
    let start = Instant::now();
    let mut programs = build()?;
    let build = start.elapsed();
    let times = read_times();
    programs.sort_by_key(|program| std::cmp::Reverse(expected_time(&times, &program.name)));
    let start = Instant::now();
    let mut ran = run_all(programs);
    let run = start.elapsed();
    ran.sort_by_key(|program| std::cmp::Reverse(program.took));
    write_times(&ran)?;
    let failures: Vec<&str> = ran.iter().filter_map(|program| program.failure.as_deref()).collect();
    if !failures.is_empty() {
        return Err(format!("{}\n\n{} test programs failed", failures.join("\n\n"), failures.len()));
    }
    let mut slowest: Vec<(String, Duration)> = ran.iter().flat_map(|program| program.tests.clone()).collect();
    let tests = slowest.len();
    slowest.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    slowest.truncate(SLOWEST);
    let programs = ran.into_iter().map(|program| (program.name, program.took)).collect();
    Ok(Summary { build, run, tests, programs, slowest })
}

impl Summary {
    /// Prints the time of each program and the slowest tests.
    pub(crate) fn print(&self) {
        println!("\n{} tests in {} programs", self.tests, self.programs.len());
        for (name, took) in self.programs.iter().filter(|(_, took)| took.as_secs() > 0) {
            println!("  {:>6.1} s  {name}", took.as_secs_f64());
        }
        println!("slowest tests");
        for (name, took) in &self.slowest {
            println!("  {:>6.1} s  {name}", took.as_secs_f64());
        }
    }
}

/// Milliseconds that a program took the last time. Of those that are new, the
/// end-to-end tests of the command line take longest.
fn expected_time(times: &BTreeMap<String, u64>, name: &str) -> u64 {
    let unknown = if name.starts_with("cli ") { u64::MAX } else { u64::MAX - 1 };
    times.get(name).copied().unwrap_or(unknown)
}

/// Compiles all test programs and gives those that hold tests.
fn build() -> Result<Vec<Program>, String> {
    let targets = ["--lib", "--bins", "--tests", "--examples"];
    let mut command = cargo(&root());
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    command.args(targets).stdin(Stdio::null()).stdout(Stdio::piped());
    let output = command.spawn().and_then(std::process::Child::wait_with_output);
    let output = output.map_err(|error| format!("can't start cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests don't compile".to_owned());
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok(lines.lines().filter_map(program_of).collect())
}

/// The test program that one of cargo's JSON messages announces.
fn program_of(message: &str) -> Option<Program> {
    let path = PathBuf::from(text_at(message, "\"executable\":\"")?);
    let is_test = text_after(message, "\"profile\":")?.contains("\"test\":true");
    let folder = PathBuf::from(text_at(message, "\"manifest_path\":\"")?).parent()?.to_owned();
    let package = folder.file_name()?.to_str()?.to_owned();
    let target = text_after(message, "\"target\":").and_then(|rest| text_at(rest, "\"name\":\""))?;
    is_test.then(|| Program { name: format!("{package} {target}"), path, folder })
}

fn text_after<'m>(message: &'m str, mark: &str) -> Option<&'m str> {
    message.split_once(mark).map(|(_, rest)| rest)
}

/// The text between `mark` and the next quote. Paths with quotes are nobody's.
fn text_at(message: &str, mark: &str) -> Option<String> {
    text_after(message, mark)?.split_once('"').map(|(text, _)| text.to_owned())
}

/// Runs the programs, as many at once as there are cores.
fn run_all(programs: Vec<Program>) -> Vec<Ran> {
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    let (waiting, done) = (Mutex::new(programs.into_iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no lane panics while it holds this").next();
                    let Some(program) = next else { break };
                    let ran = run_one(&program);
                    let verdict = if ran.failure.is_some() { "FAILED" } else { "ok" };
                    println!("{verdict:<6} {:>6.1} s  {}", ran.took.as_secs_f64(), ran.name);
                    done.lock().expect("no lane panics while it holds this").push(ran);
                }
            });
        }
    });
    done.into_inner().expect("no lane panics while it holds this")
}

fn run_one(program: &Program) -> Ran {
    let start = Instant::now();
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).args(["--test-threads", "1"]);
    command.env("CARGO_MANIFEST_DIR", &program.folder);
    let (mut tests, mut said) = (Vec::new(), String::new());
    let failure = match follow(&mut command, &program.name, &mut tests, &mut said) {
        Ok(true) => None,
        Ok(false) => Some(format!("{}:\n{said}", program.name)),
        Err(problem) => Some(format!("{}: {problem}", program.name)),
    };
    Ran { name: program.name.clone(), took: start.elapsed(), tests, failure }
}

/// Reads what a test program prints; a line `test NAME ... ok` ends a test.
fn follow(
    command: &mut Command,
    program: &str,
    tests: &mut Vec<(String, Duration)>,
    said: &mut String,
) -> Result<bool, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let errors = child.stderr.take().expect("it was asked for");
    let errors = thread::spawn(move || {
        let lines: Vec<String> =
            BufReader::new(errors).split(b'\n').map_while(Result::ok).map(|line| lossy(&line)).collect();
        lines.join("\n")
    });
    let mut before = Instant::now();
    let output = BufReader::new(child.stdout.take().expect("it was asked for"));
    for line in output.split(b'\n').map_while(Result::ok).map(|line| lossy(&line)) {
        if let Some(name) = ended_test(&line) {
            tests.push((format!("{program}: {name}"), before.elapsed()));
            before = Instant::now();
        } else {
            said.push_str(&line);
            said.push('\n');
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    said.push_str(&errors.join().unwrap_or_default());
    Ok(status.success())
}

fn lossy(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

/// The test that a line says has passed.
fn ended_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... ok")
}

fn times_file() -> PathBuf {
    root().join("target/test-times.txt")
}

/// Milliseconds of each program in the last run; only the order depends on it.
fn read_times() -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(times_file()).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once('\t')).filter_map(time_of).collect()
}

fn time_of((time, name): (&str, &str)) -> Option<(String, u64)> {
    Some((name.to_owned(), time.parse().ok()?))
}

fn write_times(ran: &[Ran]) -> Done {
    let lines: Vec<String> =
        ran.iter().map(|program| format!("{}\t{}\n", program.took.as_millis(), program.name)).collect();
    let path: &Path = &times_file();
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, lines.concat()))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Whether any file of the crates has a doc test.
pub(crate) fn has_doc_tests() -> Result<bool, String> {
    let mut grep = Command::new("grep");
    // rustdoc reads libraries only; a fence in a test's comment would turn openings into closings here.
    grep.args(["-rhE", "^ *//[/!] *```", "crates", "--include=*.rs", "--exclude-dir=tests"]);
    grep.current_dir(root());
    let fences = String::from_utf8_lossy(&capture(&mut grep)?.stdout).into_owned();
    Ok(opens_doc_test(&fences))
}

/// Whether one of these fences of doc comments, which open and close blocks in
/// turn, opens one that rustdoc would run.
fn opens_doc_test(fences: &str) -> bool {
    let kinds = fences.lines().filter_map(|line| line.split_once("```")).map(|(_, kind)| kind.trim());
    let opening = kinds.step_by(2);
    let is_code = |kind: &str| {
        let first = kind.split(',').next().unwrap_or_default();
        matches!(first, "" | "rust" | "no_run" | "should_panic")
    };
    opening.into_iter().any(is_code)
}

#[cfg(test)]
mod own {
    use super::*;

    #[test]
    fn cargos_messages_are_understood() {
        let message = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/store#0.1.0","manifest_path":"/w/crates/store/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"faults","src_path":"/w/crates/store/tests/faults.rs"},"profile":{"opt-level":"2","debuginfo":1,"test":true},"features":[],"filenames":["/w/target/debug/deps/faults-1"],"executable":"/w/target/debug/deps/faults-1","fresh":true}"#;
        let program = program_of(message).unwrap();
        assert_eq!(program.name, "store faults");
        assert_eq!(program.path, Path::new("/w/target/debug/deps/faults-1"));
        assert_eq!(program.folder, Path::new("/w/crates/store"));
        let plain = message.replace("\"test\":true", "\"test\":false");
        assert!(program_of(&plain).is_none());
        let library =
            message.replace("\"executable\":\"/w/target/debug/deps/faults-1\"", "\"executable\":null");
        assert!(program_of(&library).is_none());
    }

    #[test]
    fn only_code_is_a_doc_test() {
        assert!(!opens_doc_test(""));
        assert!(!opens_doc_test("//! ```text\n//! ```\n    /// ```json\n    /// ```\n"));
        assert!(opens_doc_test("//! ```text\n//! ```\n/// ```\n/// ```\n"));
        assert!(opens_doc_test("/// ```rust,ignore\n/// ```\n"));
    }

    #[test]
    fn ended_tests_are_seen() {
        assert_eq!(ended_test("test a::b ... ok"), Some("a::b"));
        assert_eq!(ended_test("test a::b ... FAILED"), None);
        assert_eq!(ended_test("test a::b ... ignored"), None);
    }
}
