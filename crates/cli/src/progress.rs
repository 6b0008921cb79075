//! The progress of training: one line that is overwritten on a terminal, a line every few seconds elsewhere, events
//! in JSON.

pub(crate) mod several;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rlxp_ops::Event;
use serde::Serialize;

use crate::format;
use crate::screen::Screen;

/// Time between lines if they can't be overwritten.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Longest live line: a longer one would wrap and could not be overwritten.
const LIVE_WIDTH: usize = 79;

/// Follows the events of one training.
pub(crate) struct Progress<'a> {
    screen: &'a Screen,
    state: RefCell<State>,
}

struct State {
    planned_seeds: usize,
    total: u64,
    seeds: BTreeMap<u64, SeedState>,
    began: Option<Instant>,
    last_line: Instant,
    live_shown: bool,
}

/// The state of one seed according to the events.
#[derive(Clone, Default, Serialize)]
pub(crate) struct SeedState {
    /// Step that this attempt started from.
    #[serde(skip)]
    first_step: u64,
    pub(crate) steps: u64,
    /// Mean return of recent training episodes.
    pub(crate) mean_return: Option<f64>,
    /// Mean return of the last evaluation.
    pub(crate) last_evaluation: Option<f64>,
    pub(crate) best_evaluation: Option<f64>,
    /// Whether the last evaluation was good enough to stop before the last step.
    pub(crate) stopped_early: bool,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(screen: &'a Screen) -> Self {
        Self { screen, state: RefCell::new(State::new()) }
    }

    /// Handles an event and shows what it changes.
    pub(crate) fn take(&self, event: &Event) {
        self.screen.event(event);
        match event {
            Event::Created { run, path } => self.screen.note(&format!("run {run} in {path}")),
            // The failure of a single seed is the run's, which is reported at the end.
            Event::SeedFailed { seed, reason } if self.state.borrow().planned_seeds > 1 => {
                self.clear();
                self.screen.warning(&format!("seed {seed} failed: {reason}"));
            }
            Event::ScheduleStretched { key, step, total, last, next, end } => {
                self.clear();
                self.screen.warning(&format!(
                    "{key} jumps from {} to {} at step {}: its schedule is stretched to {} steps and ends at {}",
                    format::short(*last),
                    format::short(*next),
                    format::count(*step),
                    format::count(*total),
                    format::short(*end)
                ));
            }
            Event::Note { message } => {
                self.clear();
                self.screen.note(&format!("note: {message}"));
            }
            Event::Warning { message } => {
                self.clear();
                self.screen.warning(message);
            }
            _ => {}
        }
        self.state.borrow_mut().note(event);
        if matches!(event, Event::Progress { .. } | Event::Evaluated { .. }) {
            self.show();
        }
    }

    /// Removes the live line.
    pub(crate) fn clear(&self) {
        let mut state = self.state.borrow_mut();
        if state.live_shown {
            self.screen.live("");
            state.live_shown = false;
        }
    }

    pub(crate) fn seeds(&self) -> BTreeMap<u64, SeedState> {
        self.state.borrow().seeds.clone()
    }

    /// Time since training began in this attempt.
    pub(crate) fn elapsed(&self) -> Duration {
        self.state.borrow().began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Steps that this attempt has done, over all seeds.
    pub(crate) fn steps_done(&self) -> u64 {
        self.state.borrow().steps_done()
    }

    fn show(&self) {
        let mut state = self.state.borrow_mut();
        if self.screen.is_live() {
            let line: String = state.line().chars().take(LIVE_WIDTH).collect();
            self.screen.live(&line);
            state.live_shown = true;
        } else if self.screen.is_talkative() && state.last_line.elapsed() >= LINE_EVERY {
            state.last_line = Instant::now();
            self.screen.note(&state.line());
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl State {
    fn new() -> Self {
        Self {
            planned_seeds: 1,
            total: 0,
            seeds: BTreeMap::new(),
            began: None,
            last_line: Instant::now(),
            live_shown: false,
        }
    }

    fn note(&mut self, event: &Event) {
        match *event {
            Event::Planned { seeds, total } => (self.planned_seeds, self.total) = (seeds, total),
            Event::Started { seed, step, total } => {
                self.began.get_or_insert_with(Instant::now);
                self.total = total;
                let state = self.seeds.entry(seed).or_default();
                (state.first_step, state.steps) = (step, step);
            }
            Event::Progress { seed, step, mean_return, best, .. } => {
                let state = self.seeds.entry(seed).or_default();
                state.steps = step;
                state.mean_return = mean_return.or(state.mean_return);
                state.best_evaluation = best.or(state.best_evaluation);
            }
            Event::Evaluated { seed, step, mean_return, best, .. } => {
                let state = self.seeds.entry(seed).or_default();
                state.steps = step;
                state.last_evaluation = Some(mean_return);
                if best {
                    state.best_evaluation = Some(mean_return);
                }
            }
            Event::SeedEnded { seed, step, last, best, stopped_early, .. } => {
                let state = self.seeds.entry(seed).or_default();
                state.steps = step;
                state.last_evaluation = last;
                state.best_evaluation = best;
                state.stopped_early = stopped_early;
            }
            _ => {}
        }
    }

    fn steps_done(&self) -> u64 {
        self.seeds.values().map(|seed| seed.steps.saturating_sub(seed.first_step)).sum()
    }

    fn line(&self) -> String {
        let step: u64 = self.seeds.values().map(|seed| seed.steps).sum();
        let total = self.total.saturating_mul(self.planned_seeds.max(self.seeds.len()) as u64).max(1);
        let elapsed = self.began.map_or(0.0, |began| began.elapsed().as_secs_f64()).max(1e-9);
        let rate = self.steps_done() as f64 / elapsed;
        let left = total.saturating_sub(step) as f64 / rate.max(1e-9);
        let left = Duration::try_from_secs_f64(left).map_or("-".to_owned(), format::clock);
        let mut parts = vec![
            format!("{}/{} {}%", format::count(step), format::count(total), step * 100 / total),
            format::rate(rate),
            format!("{left} left"),
        ];
        let mean = |value: fn(&SeedState) -> Option<f64>| mean(self.seeds.values().filter_map(value));
        parts.extend(mean(|seed| seed.mean_return).map(|value| format!("return {}", format::score(value))));
        parts.extend(mean(|seed| seed.best_evaluation).map(|value| format!("best {}", format::score(value))));
        parts.join("  ")
    }
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
