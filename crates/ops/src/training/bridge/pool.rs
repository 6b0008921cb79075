//! The Python processes of one environment: started, asked to create instances, stepped in batches, and used again by
//! the next evaluation.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rlxp_env::bridge::{Described, Instances, Layout, WorkerFailure, Workers, groups};
use rlxp_launch::{Heard, LaunchError, Permit, PythonCommand, PythonWorker, SharedMemory};
use rlxp_types::text::visible;
use serde::Deserialize;
use serde_json::json;

use crate::failure::describe;

/// Bytes of a worker's control line, and its words.
const LINE: usize = 64;
const COMMAND: usize = 0;
const DONE: usize = 4;
const WORKER_SLEEPS: usize = 8;
const RLX_SLEEPS: usize = 12;
const COPY: usize = 16;
/// The command that ends a series of batches.
const LEAVE: u32 = u32::MAX;
/// Times to look for an answer before sleeping, each with a system call that lets others run.
const LOOKS: u32 = 600;
/// A yield that takes this long gave the core to another program: then sleeping is faster, for that many waits.
const LONG_YIELD: Duration = Duration::from_micros(200);
const CONTENDED: u32 = 200;
/// Longest sleep before looking again, in case a wake-up was missed.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// Starting may take this many times as long as a batch.
const START_FACTOR: u64 = 5;
/// Lines and bytes of Python's words in an error.
const MOST_LINES: usize = 60;
const MOST_BYTES: usize = 8000;
/// Pools that wait to be used again: one that trains, one that evaluates.
const MOST_IDLE: usize = 2;

/// Why an environment was not started.
pub(super) enum StartError {
    /// Something is missing or wrong that the user can change.
    Config(String),
    /// Python died or hung.
    Failed(String),
}

impl From<LaunchError> for StartError {
    fn from(error: LaunchError) -> Self {
        Self::Config(format!("{}; run `rlx python setup`", describe(&error)))
    }
}

impl From<std::io::Error> for StartError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What a worker says before it steps.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Made(Box<Described>),
    Mapped(u32),
    Left(bool),
    Missing(Missing),
    Error(Raised),
}

#[derive(Deserialize)]
struct Missing {
    executable: String,
    message: String,
}

#[derive(Deserialize)]
struct Raised {
    copy: Option<usize>,
    message: String,
    traceback: String,
}

/// Processes and the memory that they share with rlx.
pub(super) struct Pool {
    permit: Arc<Permit>,
    command: PythonCommand,
    memory: SharedMemory,
    workers: Vec<PythonWorker>,
    /// The copies of each worker.
    parts: Vec<Range<usize>>,
    sequence: u32,
    timeout: Duration,
    /// Waits that sleep at once, because other programs use the cores.
    contended: u32,
    /// Whether workers are between batches.
    serving: bool,
    broken: bool,
}

impl Pool {
    pub(super) fn new(permit: Arc<Permit>, command: PythonCommand, timeout: u64) -> Result<Self, StartError> {
        let memory = SharedMemory::new()?;
        let timeout = Duration::from_secs(timeout);
        let (workers, parts) = (Vec::new(), Vec::new());
        Ok(Self {
            permit,
            command,
            memory,
            workers,
            parts,
            sequence: 0,
            timeout,
            contended: 0,
            serving: false,
            broken: false,
        })
    }

    /// Creates `copies` copies on at most `most` workers.
    pub(super) fn make(
        &mut self,
        instances: &Instances<'_>,
        copies: usize,
        most: usize,
    ) -> Result<(Layout, Described), StartError> {
        let groups = groups(copies);
        let wanted = most.clamp(1, groups.len().max(1));
        while self.workers.len() < wanted {
            let number = self.workers.len();
            let worker = PythonWorker::spawn(
                &self.permit,
                &self.command,
                number,
                std::os::fd::AsFd::as_fd(&self.memory),
            )?;
            self.workers.push(worker);
        }
        self.parts = parts(&groups, wanted);
        let mut described: Option<Described> = None;
        for (worker, part) in self.workers.iter().zip(&self.parts) {
            let asked = json!({"make": instances, "first": part.start, "count": part.len()});
            worker.send(&asked.to_string());
        }
        for number in 0..wanted {
            let Answer::Made(made) = self.answer(number)? else { return Err(confused()) };
            if let Some(first) = &described
                && (first.observations(), first.actions()) != (made.observations(), made.actions())
            {
                let message =
                    "its spaces differ from process to process; they must depend on its arguments alone";
                return Err(StartError::Config(message.to_owned()));
            }
            described.get_or_insert(*made);
        }
        let described = described.expect("at least one worker was asked");
        let (observations, actions) = (described.observations(), described.actions());
        if let Some(problem) = observations.problem().or(actions.problem()) {
            return Err(StartError::Config(format!("rlx can't use its spaces: {problem}")));
        }
        let mut layout = Layout::new(wanted, copies, 1, observations.width(), actions.width());
        if let Some(format) = described.photos() {
            layout = layout.with_frames(format);
        }
        self.memory.resize(layout.size)?;
        self.sequence = 0;
        for worker in &self.workers[..wanted] {
            worker.send(&json!({"map": layout}).to_string());
        }
        for number in 0..wanted {
            match self.answer(number)? {
                Answer::Mapped(version) if version == layout.version => {}
                _ => return Err(confused()),
            }
        }
        self.serving = true;
        Ok((layout, described))
    }

    /// What a worker answers before it serves.
    fn answer(&mut self, number: usize) -> Result<Answer, StartError> {
        let limit = self.timeout * START_FACTOR as u32;
        let worker = &mut self.workers[number];
        loop {
            match worker.listen(limit)? {
                Heard::Line(line) if line.is_empty() => {}
                Heard::Line(line) => {
                    return match serde_json::from_str(&line) {
                        Ok(Answer::Missing(Missing { executable, message })) => {
                            Err(StartError::Config(format!(
                                "{executable} can't run environments of Gymnasium: {}; run `rlx python setup`",
                                visible(&message)
                            )))
                        }
                        Ok(Answer::Error(raised)) => {
                            let mut message = visible(&raised.message).into_owned();
                            for line in capped(&raised.traceback).lines() {
                                message += &format!("\n  | {line}");
                            }
                            Err(StartError::Config(message))
                        }
                        Ok(answer) => Ok(answer),
                        Err(_) => Err(confused()),
                    };
                }
                Heard::TimedOut => {
                    worker.kill_with_stack();
                    let printed = fenced(&worker.printed());
                    let seconds = limit.as_secs();
                    return Err(StartError::Failed(format!(
                        "Python took more than {seconds} s to start it{printed}"
                    )));
                }
                Heard::Ended => {
                    let end = worker.end();
                    worker.kill();
                    return Err(StartError::Failed(format!("{end}{}", fenced(&worker.printed()))));
                }
            }
        }
    }

    /// Ends a series of batches, so that the processes can create other instances. False if one doesn't answer.
    fn leave(&mut self) -> bool {
        if self.broken || !self.serving {
            return false;
        }
        for (number, worker) in self.workers[..self.parts.len()].iter().enumerate() {
            self.memory.store(number * LINE + COMMAND, LEAVE);
            worker.send("");
        }
        self.serving = false;
        (0..self.parts.len()).all(|number| matches!(self.answer(number), Ok(Answer::Left(true))))
    }

    /// Waits until a worker has done the present batch.
    fn wait(&mut self, number: usize) -> Result<(), WorkerFailure> {
        let line = number * LINE;
        let looks = if self.contended > 0 { 0 } else { LOOKS };
        self.contended = self.contended.saturating_sub(1);
        for _ in 0..looks {
            if self.memory.load(line + DONE) == self.sequence {
                return Ok(());
            }
            let before = std::time::Instant::now();
            std::thread::yield_now();
            if before.elapsed() > LONG_YIELD {
                self.contended = CONTENDED;
                break;
            }
        }
        self.memory.store(line + RLX_SLEEPS, 1);
        let result = self.sleep(number);
        self.memory.store(line + RLX_SLEEPS, 0);
        result
    }

    fn sleep(&mut self, number: usize) -> Result<(), WorkerFailure> {
        let line = number * LINE;
        let deadline = std::time::Instant::now() + self.timeout;
        while self.memory.load(line + DONE) != self.sequence {
            let worker = &mut self.workers[number];
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            let (message, output) = match worker.listen(left.min(LONGEST_SLEEP)) {
                Ok(Heard::Line(line)) if line.is_empty() => continue,
                Ok(Heard::TimedOut) if left > LONGEST_SLEEP => continue,
                Ok(Heard::Line(line)) => match serde_json::from_str(&line) {
                    Ok(Answer::Error(Raised { copy, message, traceback })) => {
                        let message = visible(&message).into_owned();
                        return Err(WorkerFailure { copy, message, output: capped(&traceback) });
                    }
                    _ => ("its Python process sent something unexpected".to_owned(), line),
                },
                Ok(Heard::TimedOut) => {
                    worker.kill_with_stack();
                    let seconds = self.timeout.as_secs();
                    (format!("it took more than {seconds} s (env.timeout)"), worker.printed())
                }
                Ok(Heard::Ended) => {
                    let end = worker.end();
                    worker.kill();
                    (end, worker.printed())
                }
                Err(error) => (error.to_string(), String::new()),
            };
            // Read now: before the batch it was that of the batch before.
            let at = self.memory.load(line + COPY) as usize;
            let copy = self.parts[number].contains(&at).then_some(at);
            return Err(WorkerFailure { copy, message, output: capped(&output) });
        }
        Ok(())
    }
}

fn confused() -> StartError {
    StartError::Failed("its Python process sent something unexpected".to_owned())
}

/// The copies of each of `workers` workers: whole groups, as evenly as possible.
fn parts(groups: &[Range<usize>], workers: usize) -> Vec<Range<usize>> {
    (0..workers)
        .map(|worker| {
            let of = |worker: usize| worker * groups.len() / workers;
            let own = &groups[of(worker)..of(worker + 1)];
            own.first().map_or(0..0, |first| first.start..own.last().map_or(first.end, |last| last.end))
        })
        .collect()
}

/// The end of what Python said, without anything that could disturb a terminal.
fn capped(text: &str) -> String {
    let text = visible(text.trim_end());
    let start = text.len().saturating_sub(MOST_BYTES);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let lines: Vec<&str> = text[start..].lines().collect();
    let left_out = lines.len().saturating_sub(MOST_LINES);
    let shown = lines[left_out..].join("\n");
    if start > 0 || left_out > 0 { format!("[...]\n{shown}") } else { shown }
}

fn fenced(text: &str) -> String {
    capped(text).lines().map(|line| format!("\n  | {line}")).collect()
}

/// A pool while an environment uses it.
pub(super) struct Leased {
    pool: Option<Pool>,
    home: Arc<Mutex<Vec<Pool>>>,
}

impl Leased {
    pub(super) fn new(pool: Pool, home: Arc<Mutex<Vec<Pool>>>) -> Self {
        Self { pool: Some(pool), home }
    }

    fn pool(&self) -> &Pool {
        self.pool.as_ref().expect("it is there until it is dropped")
    }

    fn pool_mut(&mut self) -> &mut Pool {
        self.pool.as_mut().expect("it is there until it is dropped")
    }
}

impl Workers for Leased {
    fn write_u8(&mut self, offset: usize, values: &[u8]) {
        self.pool_mut().memory.write(offset, values);
    }

    fn write_i64(&mut self, offset: usize, values: &[i64]) {
        self.pool_mut().memory.write(offset, values);
    }

    fn write_f32(&mut self, offset: usize, values: &[f32]) {
        self.pool_mut().memory.write(offset, values);
    }

    fn read_u8(&self, offset: usize, values: &mut [u8]) {
        self.pool().memory.read(offset, values);
    }

    fn read_f32(&self, offset: usize, values: &mut [f32]) {
        self.pool().memory.read(offset, values);
    }

    fn read_f64(&self, offset: usize, values: &mut [f64]) {
        self.pool().memory.read(offset, values);
    }

    fn exchange(&mut self) -> Result<(), WorkerFailure> {
        let pool = self.pool_mut();
        pool.sequence = if pool.sequence == LEAVE - 1 { 1 } else { pool.sequence + 1 };
        let busy: Vec<usize> =
            (0..pool.parts.len()).filter(|number| !pool.parts[*number].is_empty()).collect();
        for &number in &busy {
            pool.memory.store(number * LINE + COMMAND, pool.sequence);
            if pool.memory.load(number * LINE + WORKER_SLEEPS) != 0 {
                pool.workers[number].send("");
            }
        }
        let result = busy.into_iter().try_for_each(|number| pool.wait(number));
        pool.broken |= result.is_err();
        result
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        let Some(mut pool) = self.pool.take() else { return };
        let mut idle = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE && pool.leave() {
            idle.push(pool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_divided_evenly_and_never_split() {
        for copies in [1, 5, 16, 64, 100] {
            let groups = groups(copies);
            for workers in 1..=groups.len() {
                let parts = parts(&groups, workers);
                assert_eq!(
                    parts.iter().cloned().flatten().collect::<Vec<_>>(),
                    (0..copies).collect::<Vec<_>>()
                );
                assert!(parts.iter().all(|part| groups.iter().any(|group| group.start == part.start)));
                assert!(parts.iter().all(|part| !part.is_empty()));
            }
        }
    }

    #[test]
    fn long_output_keeps_its_end_and_nothing_reaches_the_terminal() {
        let text: String = (0..1000).map(|line| format!("line {line}\n")).collect();
        let shown = capped(&text);
        assert!(shown.starts_with("[...]\n") && shown.ends_with("line 999"), "{shown}");
        assert_eq!(shown.lines().count(), MOST_LINES + 1);
        assert!(!capped("a\x1b[2Jb").contains('\x1b'));
    }
}
