//! Training in the background: the supervisor runs as a detached process, `rlx __supervise`, and the command that
//! started it returns as soon as training has begun.
//!
//! Until then the two are connected by a pipe, so that the command can report why nothing began. From then on, what
//! the supervisor has to say is in its log (`logs/supervisor_<n>.log` of the first run), and how each run ended is in
//! the run's record, as always.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::path::PathBuf;

use rlxp_fs::clock;
use rlxp_launch::{Interrupts, Next, let_go, start_detached};
use rlxp_store::Run;
use rlxp_types::text::shell_word;
use rlxp_types::{Exit, RunStatus};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::event::Event;
use crate::failure::{Failure, Outcome};
use crate::studies::files::{permit_training, refuse_governed_at};
use crate::training::stop::end_unstarted;
use crate::training::supervise::{LOOK_EVERY, RunSink, Turn, supervise_all};

/// A line from the supervisor to the command that started it.
#[derive(Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
enum Word {
    Event {
        run: Option<String>,
        event: Event,
    },
    /// Training has begun.
    Started,
    /// A run was stopped before its training began.
    Stopped,
    /// A run could not be started.
    Failed {
        run: Option<String>,
        exit: u8,
        code: String,
        message: String,
        hints: Vec<String>,
    },
}

/// Starts a detached supervisor that trains `runs`, at most `parallel` at once, and waits until the first of them is
/// being trained. With `only_first`, a run that another process claims before is left alone. An interrupt until then
/// stops all of it. Returns `running`, or `interrupted` if the user stopped it; fails with the first run's reason if
/// none can be trained.
pub(crate) fn detach(
    context: &Context,
    runs: &[Run],
    parallel: usize,
    only_first: bool,
    interrupts: &Interrupts,
    events: RunSink<'_>,
) -> Outcome<RunStatus> {
    let Some(first) = runs.first() else { return Ok(RunStatus::Running) };
    if interrupts.requested() {
        runs.iter().for_each(|run| drop(end_unstarted(run)));
        return Ok(RunStatus::Interrupted);
    }
    let permit = permit_training(context, first.path())?;
    match first.fs().create_dir(&first.path().join("logs")) {
        Err(error) if !error.is_already_there() => return Err(error.into()),
        _ => {}
    }
    let mut words: Vec<OsString> =
        vec!["__supervise".into(), "--parallel".into(), parallel.to_string().into()];
    if only_first {
        words.push("--only-first".into());
    }
    for run in runs {
        words.extend(["--run".into(), run.path().as_os_str().to_owned()]);
    }
    let mut supervisor = start_detached(&permit, &words, first.path())?;
    let mut failed = None;
    let (mut asked, mut stopped) = (0, false);
    loop {
        while interrupts.count() > asked {
            asked += 1;
            supervisor.interrupt().map_err(|error| {
                Failure::new(Exit::RunFailed, "launch", format!("can't signal the supervisor: {error}"))
            })?;
        }
        let line = match supervisor.next_line(LOOK_EVERY) {
            Next::Line(line) => line,
            Next::TimedOut => continue,
            // The pipe is closed a moment before the process is gone.
            Next::Closed if asked > 0 && supervisor.ended().is_none() => {
                std::thread::sleep(LOOK_EVERY);
                continue;
            }
            Next::Closed => break,
        };
        match serde_json::from_str(&line) {
            // It began after it was asked to stop: it saves first.
            Ok(Word::Started) if asked > 0 => {}
            Ok(Word::Started) => {
                if let Some(Failure { message, .. }) = failed {
                    events(None, Event::Warning { message });
                }
                return Ok(RunStatus::Running);
            }
            Ok(Word::Stopped) => stopped = true,
            Ok(Word::Event { run, event }) => events(run.as_deref(), event),
            Ok(Word::Failed { run, exit, code, message, hints }) => {
                let mut failure = Failure::new(exit_of(exit), code_of(&code), message);
                failure.hints = hints;
                if let Some(run) = run.filter(|_| runs.len() > 1) {
                    failure.message = format!("{run}: {}", failure.message);
                }
                if failed.is_some() {
                    events(None, Event::Warning { message: failure.message });
                } else {
                    failed = Some(failure);
                }
            }
            Err(_) => {
                let message = format!("unexpected output of the supervisor: {line}");
                events(None, Event::Warning { message });
            }
        }
    }
    if asked > 0 {
        // A supervisor that was interrupted before it could listen left them as they were.
        runs.iter().for_each(|run| drop(end_unstarted(run)));
        if let Some(Failure { message, .. }) = failed {
            events(None, Event::Warning { message });
        }
        return Ok(RunStatus::Interrupted);
    }
    match failed {
        Some(failure) => Err(failure),
        None if stopped => Ok(RunStatus::Interrupted),
        None => {
            let how = supervisor.ended().unwrap_or_else(|| "ended".to_owned());
            let message = format!("the supervisor of {} {how} before training began", first.name());
            let log = supervisor.log.display().to_string();
            let hint = format!("cat {}", shell_word(&log));
            Err(Failure::new(Exit::RunFailed, "supervisor_died", message).hint(hint))
        }
    }
}

fn exit_of(code: u8) -> Exit {
    Exit::from_code(i32::from(code)).unwrap_or(Exit::RunFailed)
}

/// Codes of failures that a supervisor reports.
const CODES: [&str; 8] = [
    "already_running",
    "worker_died",
    "launch",
    "signals",
    "storage",
    "damaged",
    "governed_folder",
    "run_not_found",
];

fn code_of(word: &str) -> &'static str {
    CODES.into_iter().find(|code| *code == word).unwrap_or("run_failed")
}

/// What `rlx __supervise` is asked to do.
pub struct Supervision {
    /// The folders of the runs.
    pub runs: Vec<PathBuf>,
    /// How many are trained at once.
    pub parallel: usize,
    /// Whether to leave runs alone that another process claims first.
    pub only_first: bool,
}

/// How a detached supervisor is heard.
pub struct Voice<'a> {
    /// Hands a line to the command that started it.
    pub say: &'a dyn Fn(&str),
    /// Appends a line to its log.
    pub log: &'a dyn Fn(&str),
}

/// The body of `rlx __supervise`: trains the runs one after another, at most `parallel` at once, to their ends.
pub fn supervise_detached(context: &Context, supervision: &Supervision, voice: &Voice<'_>) -> Outcome<Exit> {
    let attached = Attached { voice, still: Cell::new(true) };
    let ends =
        trained(context, supervision, &attached).inspect_err(|failure| attached.failed(None, failure))?;
    Ok(if ends { Exit::Yes } else { Exit::RunFailed })
}

/// Whether all runs were trained without a failure.
fn trained(context: &Context, supervision: &Supervision, attached: &Attached<'_>) -> Outcome<bool> {
    let Supervision { runs: folders, parallel, only_first } = supervision;
    for folder in folders {
        refuse_governed_at(context, folder)?;
    }
    let run = |folder: &PathBuf| Run::at(context.fs.clone(), context.machine.clone(), folder);
    let runs: Vec<Run> = folders.iter().map(run).collect();
    let mut next = |number: usize| {
        let run = runs[number].clone();
        let status = run.status()?.status;
        // `rlx stop` ends a run that waits for its turn.
        if *only_first && status != RunStatus::Created {
            return Ok(Turn::Skip(status));
        }
        Ok(Turn::Train { run, only_first: *only_first })
    };
    let failures = RefCell::new(0);
    let ends = supervise_all(
        context,
        runs.len(),
        *parallel,
        &mut next,
        &mut |run, event| attached.event(run, event),
        &mut |number, result| match result {
            Ok(status) => attached.ended(&runs[number].name(), *status),
            Err(failure) => {
                *failures.borrow_mut() += 1;
                attached.failed(Some(&runs[number].name()), failure);
            }
        },
    )?;
    let unstarted = ends.iter().filter(|end| end.is_none()).count();
    if unstarted > 0 {
        attached.log(None, &format!("stopped; runs that were not started: {unstarted}"));
    }
    Ok(failures.into_inner() == 0)
}

/// The supervisor's voice, and whether the command that started it still listens.
struct Attached<'a> {
    voice: &'a Voice<'a>,
    still: Cell<bool>,
}

impl Attached<'_> {
    fn event(&self, run: Option<&str>, event: Event) {
        match &event {
            Event::Started { seed, step, total } => {
                self.log(run, &format!("seed {seed} starts at step {step} of {total}"));
            }
            Event::SeedFailed { seed, reason } => self.log(run, &format!("seed {seed} failed: {reason}")),
            Event::SeedEnded { seed, step, .. } => {
                self.log(run, &format!("seed {seed} ended at step {step}"))
            }
            Event::Warning { message } => self.log(run, &format!("warning: {message}")),
            Event::Note { message } => self.log(run, message),
            _ => {}
        }
        if matches!(event, Event::Started { .. }) {
            self.started();
        } else if self.still.get() && !matches!(event, Event::Progress { .. }) {
            self.say(&Word::Event { run: run.map(str::to_owned), event });
        }
    }

    fn ended(&self, run: &str, status: RunStatus) {
        self.log(Some(run), status.as_str());
        if status != RunStatus::Interrupted {
            self.started();
        } else if self.still.get() {
            // Another run may still begin.
            self.say(&Word::Stopped);
        }
    }

    fn failed(&self, run: Option<&str>, failure: &Failure) {
        self.log(run, &format!("failed: {}", failure.message));
        if self.still.get() {
            self.say(&Word::Failed {
                run: run.map(str::to_owned),
                exit: failure.exit.code(),
                code: failure.code.to_owned(),
                message: failure.message.clone(),
                hints: failure.hints.clone(),
            });
        }
    }

    /// Tells the command that training has begun; it doesn't listen any longer.
    fn started(&self) {
        if self.still.replace(false) {
            self.say(&Word::Started);
            if let Err(error) = let_go() {
                self.log(None, &format!("warning: can't close the pipe to the starter: {error}"));
            }
        }
    }

    fn say(&self, word: &Word) {
        (self.voice.say)(&serde_json::to_string(word).expect("a word is plain data"));
    }

    fn log(&self, run: Option<&str>, text: &str) {
        let of = run.map_or(String::new(), |run| format!("{run}: "));
        (self.voice.log)(&format!("{} {of}{text}", clock::wall_text()));
    }
}
