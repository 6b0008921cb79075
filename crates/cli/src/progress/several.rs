//! The progress of several trainings: one line each that is overwritten on a terminal, a line each every few seconds
//! elsewhere, events with the name of their run in JSON.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use rlxp_ops::Event;
use rlxp_ops::event::WorkerOutcome;
use rlxp_ops::reports::Report;
use serde::Serialize;

use super::{LINE_EVERY, LIVE_WIDTH, State};
use crate::screen::Screen;

/// Time between two drawings of the live lines.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// Most live lines: a terminal must have room for all of them.
const MOST_LINES: usize = 16;

/// Follows the events of several trainings.
pub(crate) struct SeveralProgress<'a> {
    screen: &'a Screen,
    state: RefCell<Running>,
}

struct Running {
    /// The runs that are being trained, in the order of their start.
    runs: Vec<(String, State)>,
    /// Live lines on the screen.
    shown: usize,
    drawn: Option<Instant>,
}

/// An event of one of several runs.
#[derive(Serialize)]
struct RunEvent<'a> {
    run: Option<&'a str>,
    #[serde(flatten)]
    event: &'a Event,
}

impl Report for RunEvent<'_> {
    const SCHEMA: &'static str = Event::SCHEMA;
}

impl<'a> SeveralProgress<'a> {
    pub(crate) fn new(screen: &'a Screen) -> Self {
        Self { screen, state: RefCell::new(Running { runs: Vec::new(), shown: 0, drawn: None }) }
    }

    /// Handles an event of `run`, or of all runs, and shows what it changes.
    pub(crate) fn take(&self, run: Option<&str>, event: &Event) {
        if self.screen.is_json() {
            self.screen.json(&RunEvent { run, event });
            return;
        }
        let of = run.map_or(String::new(), |run| format!("{run}: "));
        match event {
            Event::Created { run, path } => self.note(&format!("run {run} in {path}")),
            // The failure of a single seed is the run's, which is reported at its end.
            Event::SeedFailed { seed, reason } if self.state.borrow().has_several_seeds(run) => {
                self.warn(&format!("{of}seed {seed} failed: {reason}"))
            }
            Event::Note { message } => self.note(&format!("note: {of}{message}")),
            Event::Warning { message } => self.warn(&format!("{of}{message}")),
            Event::Ended { outcome, reason, .. } => match (outcome, reason) {
                (WorkerOutcome::Failed, Some(reason)) => self.warn(&format!("{of}{reason}")),
                (WorkerOutcome::Failed, None) => self.warn(&format!("{of}failed")),
                (WorkerOutcome::Completed, _) => self.note(&format!("{of}completed")),
                (WorkerOutcome::Interrupted, _) => self.note(&format!("{of}interrupted")),
            },
            _ => {}
        }
        if let Some(run) = run {
            self.state.borrow_mut().note(run, event);
        }
        if matches!(event, Event::Progress { .. } | Event::Evaluated { .. }) {
            self.show(run);
        }
    }

    /// Removes the live lines.
    pub(crate) fn clear(&self) {
        let mut state = self.state.borrow_mut();
        if state.shown > 0 {
            self.screen.live_lines(&[], state.shown);
            (state.shown, state.drawn) = (0, None);
        }
    }

    fn note(&self, text: &str) {
        self.clear();
        self.screen.note(text);
    }

    fn warn(&self, text: &str) {
        self.clear();
        self.screen.warning(text);
    }

    fn show(&self, run: Option<&str>) {
        let mut state = self.state.borrow_mut();
        if self.screen.is_live() {
            if state.drawn.is_none_or(|drawn| drawn.elapsed() >= DRAW_EVERY) {
                let lines = state.lines();
                self.screen.live_lines(&lines, state.shown);
                (state.shown, state.drawn) = (lines.len(), Some(Instant::now()));
            }
        } else if self.screen.is_talkative()
            && let Some((name, one)) = state.runs.iter_mut().find(|(name, _)| run == Some(name.as_str()))
            && one.last_line.elapsed() >= LINE_EVERY
        {
            one.last_line = Instant::now();
            self.screen.note(&format!("{name}: {}", one.line()));
        }
    }
}

impl Drop for SeveralProgress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Running {
    fn note(&mut self, run: &str, event: &Event) {
        if matches!(event, Event::Ended { .. }) {
            self.runs.retain(|(name, _)| name != run);
            return;
        }
        if self.runs.iter().all(|(name, _)| name != run) {
            self.runs.push((run.to_owned(), State::new()));
        }
        if let Some((_, state)) = self.runs.iter_mut().find(|(name, _)| name == run) {
            state.note(event);
        }
    }

    fn has_several_seeds(&self, run: Option<&str>) -> bool {
        self.runs.iter().any(|(name, state)| run == Some(name.as_str()) && state.planned_seeds > 1)
    }

    /// One line per run.
    fn lines(&self) -> Vec<String> {
        let wide = self.runs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let line = |(name, state): &(String, State)| -> String {
            format!("{name:<wide$}  {}", state.line()).chars().take(LIVE_WIDTH).collect()
        };
        self.runs.iter().take(MOST_LINES).map(line).collect()
    }
}
