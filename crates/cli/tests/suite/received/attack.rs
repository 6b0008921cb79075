//! Runs every command on a hostile run and reports what went wrong, by case and command.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::received::commands::{Answer, Chain, Command, chains};
use crate::received::outside::{CANARY, Outside};
use crate::received::project::{Base, GOOD, RUN, ReceivedProject, Template, program};
use crate::received::tree;

/// Longer than any of these commands takes on a busy machine; a command that still runs then hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// Limits of a program. CPU seconds don't depend on how busy the machine is, and each of these commands takes a fraction
/// of one; they need a tenth of the 2 GiB of address space.
const LIMITED: &str = "ulimit -S -t 3 && ulimit -v 2097152 && exec \"$@\"";
/// A case that hangs this often is given up, so that a broken build is reported in minutes.
const MOST_HANGS: usize = 2;

/// Starts a program as an unprivileged user; only root can.
const NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

type Make = Box<dyn Fn(&ReceivedProject) + Send + Sync>;

/// One way in which a received run is hostile.
pub(crate) struct Case {
    name: String,
    base: Base,
    make: Make,
    refusals: Vec<Refusal>,
    /// Whether files that can't be removed may stay behind.
    pub(crate) stubborn: bool,
    /// A program that every user may run, where the commands are run by an unprivileged user.
    pub(crate) program: Option<PathBuf>,
}

/// What a command must refuse.
struct Refusal {
    line: &'static str,
    word: String,
    /// Whether it must fail, not just warn.
    fails: bool,
}

/// The result of a command.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    signal: Option<i32>,
    hung: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Case {
    pub(crate) fn new(
        base: Base,
        name: impl Into<String>,
        make: impl Fn(&ReceivedProject) + Send + Sync + 'static,
    ) -> Self {
        let (make, refusals) = (Box::new(make), Vec::new());
        Self { name: name.into(), base, make, refusals, stubborn: false, program: None }
    }

    /// `line`, one of the commands, must fail and print `word`.
    pub(crate) fn refused(self, line: &'static str, word: &str) -> Self {
        self.expect(line, word, true)
    }

    /// `line`, one of the commands, must print `word`, in a warning or an error.
    pub(crate) fn told(self, line: &'static str, word: &str) -> Self {
        self.expect(line, word, false)
    }

    fn expect(mut self, line: &'static str, word: &str, fails: bool) -> Self {
        self.refusals.push(Refusal { line, word: word.to_owned(), fails });
        self
    }
}

/// Runs every command on every case, several cases at a time, and fails with everything that went wrong.
#[track_caller]
pub(crate) fn attack(cases: Vec<Case>) {
    let known: BTreeSet<&str> =
        chains().iter().flat_map(|chain| chain.commands.iter().map(|command| command.line)).collect();
    for refusal in cases.iter().flat_map(|case| &case.refusals) {
        assert!(known.contains(refusal.line), "{} is not among the commands", refusal.line);
    }
    // Trained before the threads start, so that none of them waits for another.
    Template::get();
    let next = AtomicUsize::new(0);
    let problems = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = case.attack();
                    problems.lock().unwrap().extend(found);
                }
            });
        }
    });
    let mut problems = problems.into_inner().unwrap();
    problems.sort();
    assert!(
        problems.is_empty(),
        "{} problems in {} cases:\n{}",
        problems.len(),
        cases.len(),
        problems.join("\n")
    );
}

impl Case {
    fn attack(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut hangs = 0;
        for chain in chains() {
            self.lead_through(&chain, &mut problems, &mut hangs);
            if hangs >= MOST_HANGS {
                problems.push(format!("{}: further commands left out", self.name));
                break;
            }
        }
        problems
    }

    fn lead_through(&self, chain: &Chain, problems: &mut Vec<String>, hangs: &mut usize) {
        let mut place = ReceivedProject::new(chain.base(self.base));
        (self.make)(&place);
        if let Some(program) = &self.program {
            place.hand_over(program);
        }
        let outside = Outside::watch(&place.outside(""));
        let good = place.project.path("runs").join(GOOD);
        let good_before = tree::look(&good);
        let mut say =
            |line: &str, problem: String| problems.push(format!("{}: {line}: {problem}", self.name));
        for command in &chain.commands {
            if *hangs >= MOST_HANGS {
                break;
            }
            let removes = command.line.starts_with("rm ");
            let run_before = if removes { tree::look(&place.run("")) } else { BTreeMap::new() };
            drop(outside.touched());
            let done = run(&place, command.line);
            for problem in self.judge(command, &done) {
                *hangs += usize::from(problem == HANGS);
                say(command.line, problem);
            }
            let touched = outside.touched();
            if !touched.is_empty() {
                say(command.line, format!("opened outside: {}", touched.join(", ")));
            }
            if removes {
                for problem in self.judge_removal(&place, &done, &run_before) {
                    say(command.line, problem);
                }
            }
        }
        let lines: Vec<&str> = chain.commands.iter().map(|command| command.line).collect();
        let lines = format!("one of {}", lines.join(", "));
        for change in outside.changed() {
            say(&lines, format!("outside, {change}"));
        }
        for change in tree::changes(&good_before, &tree::look(&good)) {
            say(&lines, format!("in {GOOD}, {change}"));
        }
        if *hangs < MOST_HANGS && chain.writes {
            let listed = run(&place, LIST);
            if let Some(problem) = listed.hides_the_good_run() {
                say(&format!("{LIST} after {}", chain.commands[0].line), problem);
            }
        }
    }

    fn judge(&self, command: &Command, done: &Done) -> Vec<String> {
        let mut problems = done.problems();
        let works = command.answer == Answer::Works;
        if works && problems.is_empty() && done.code != Some(0) {
            problems.push(format!("has to work: {}", done.short()));
        }
        if command.line == LIST {
            problems.extend(done.hides_the_good_run());
        }
        for refusal in self.refusals.iter().filter(|refusal| refusal.line == command.line) {
            if refusal.fails && done.code == Some(0) {
                problems.push(format!("has to be refused: {}", done.short()));
            } else if !done.stderr.contains(&refusal.word) {
                problems.push(format!("has to say {:?}: {}", refusal.word, done.short()));
            }
        }
        problems
    }

    /// A run is removed with all its files, or left unchanged.
    fn judge_removal(
        &self,
        place: &ReceivedProject,
        done: &Done,
        before: &BTreeMap<PathBuf, String>,
    ) -> Vec<String> {
        let is_there = place.run("").symlink_metadata().is_ok();
        let runs = std::fs::read_dir(place.project.path("runs")).unwrap();
        let names = runs.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let leftovers: Vec<String> = names.filter(|name| name.starts_with(".tmp-")).collect();
        if done.code == Some(0) {
            let mut problems = Vec::new();
            if is_there {
                problems.push(format!("said that the run is removed, but {RUN} is there"));
            }
            if !leftovers.is_empty() {
                problems.push(format!("left {leftovers:?}"));
            }
            return problems;
        }
        if self.stubborn {
            let untold = leftovers.into_iter().filter(|name| !done.stderr.contains(name.as_str()));
            return untold.map(|name| format!("left {name} and doesn't say so: {}", done.short())).collect();
        }
        let mut changes = tree::changes(before, &tree::look(&place.run("")));
        // To find out whether a run is being written, a file may be created and removed again.
        changes.retain(|change| !change.contains(" changed from [mode 40"));
        let such = |change: &String| format!("refused, but {} changes, such as {change}", changes.len());
        changes.first().map(such).into_iter().collect()
    }
}

const HANGS: &str = "hangs";
/// The command that lists every run.
const LIST: &str = "ls --json";

/// Runs a command line in which `R` is the received run, within limits of time and memory.
pub(crate) fn run(place: &ReceivedProject, line: &str) -> Done {
    let mut command = place.project.command("sh");
    command.args(["-c", LIMITED, "sh"]);
    match place.program() {
        Some(program) => command.args(NOBODY).arg(program),
        None => command.arg(program()),
    };
    let words = line.split_whitespace().map(|word| match word.split_once("/R") {
        _ if word == "R" || word.starts_with("R:") => word.replacen('R', RUN, 1),
        Some((before, after)) if after.is_empty() || after.starts_with('/') => {
            format!("{before}/{RUN}{after}")
        }
        _ => word.to_owned(),
    });
    // A new process group, so that all of it can be killed.
    command.args(words).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let group = Pid::from_child(&child);
    let (done, waits) = channel::<()>();
    let (output, hung) = std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let hangs = waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
            if hangs {
                // It may have just ended.
                let _ = kill_process_group(group, Signal::KILL);
            }
            hangs
        });
        let output = child.wait_with_output().unwrap();
        drop(done);
        (output, watch.join().unwrap())
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Done {
        code: output.status.code(),
        signal: output.status.signal(),
        hung,
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

impl Done {
    /// What no command may do, whatever its arguments.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let documented = matches!(self.code, Some(0 | 1 | 2 | 3 | 4 | 74));
        match self.signal.and_then(Signal::from_named_raw) {
            _ if self.hung => problems.push(HANGS.to_owned()),
            Some(Signal::XCPU) => problems.push("takes too much processor time".to_owned()),
            Some(signal) => problems.push(format!("ended by {signal:?}: {}", self.short())),
            None if !documented => problems.push(format!("no documented exit code: {}", self.short())),
            None => {}
        }
        let both = [&self.stdout, &self.stderr];
        if both.iter().any(|text| text.contains(CANARY)) {
            problems.push(format!("shows what lies outside: {}", self.short()));
        }
        if both.iter().any(|text| text.contains("panicked")) {
            problems.push(format!("panics: {}", self.short()));
        }
        let control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
        if let Some(letter) = both.iter().flat_map(|text| text.chars()).find(|letter| control(*letter)) {
            problems.push(format!("shows the control character {letter:?}"));
        }
        problems
    }

    /// What is wrong with a listing that doesn't show the project's own run.
    fn hides_the_good_run(&self) -> Option<String> {
        let answer: serde_json::Value = serde_json::from_str(&self.stdout).unwrap_or_default();
        let runs = answer["runs"].as_array().cloned().unwrap_or_default();
        let is_shown = runs.iter().any(|run| run["name"] == GOOD && run["status"] == "completed");
        (!is_shown).then(|| format!("doesn't show {GOOD} as completed: {}", self.short()))
    }

    /// The answer in one line.
    pub(crate) fn short(&self) -> String {
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| format!("exit {code}"));
        let words = format!("{} {}", self.stderr, self.stdout);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words: String = words.chars().filter(|letter| !letter.is_control()).take(300).collect();
        format!("{code}, {words}")
    }
}
