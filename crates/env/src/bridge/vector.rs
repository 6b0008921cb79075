//! Copies of an environment in worker processes, as learners step them.

use rlxp_types::Stream;

use super::layout::Layout;
use super::message::Described;
use super::replay::{Divergence, Episode, digest, written};
use crate::photo::{Photo, PhotoFormat};
use crate::space::Space;
use crate::state::{StateReader, StateWriter};
use crate::vector::{Call, EnvError, StepBatch, VectorEnv};
use crate::view::View;

/// Name of the saved state.
const KIND: &str = "bridge";
/// Seeds are drawn below this: every generator takes 31 bits.
const SEEDS: u32 = 1 << 31;

/// What a copy does in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Nothing: its episode is over, or its turn has not come.
    Idle = 0,
    /// One step; an episode that ends is followed by a reset with the copy's seed.
    Step = 1,
    /// A reset with the copy's seed.
    Reset = 2,
    /// One step; an episode that ends stays there.
    StepOnce = 3,
}

/// The processes that run the copies, and the memory shared with them.
pub trait Workers: Send {
    /// Writes into the shared memory.
    fn write_u8(&mut self, offset: usize, values: &[u8]);
    /// Writes into the shared memory.
    fn write_i64(&mut self, offset: usize, values: &[i64]);
    /// Writes into the shared memory.
    fn write_f32(&mut self, offset: usize, values: &[f32]);
    /// Reads from the shared memory.
    fn read_u8(&self, offset: usize, values: &mut [u8]);
    /// Reads from the shared memory.
    fn read_f32(&self, offset: usize, values: &mut [f32]);
    /// Reads from the shared memory.
    fn read_f64(&self, offset: usize, values: &mut [f64]);
    /// Lets every worker do what the column of operations says, and waits for all of them.
    fn exchange(&mut self) -> Result<(), WorkerFailure>;
}

/// Why the workers could not do what they were asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerFailure {
    /// Which copy, where that is known.
    pub copy: Option<usize>,
    /// What happened, in one line.
    pub message: String,
    /// What Python said: a traceback, or the end of its output.
    pub output: String,
}

/// What copies are reset with.
pub enum Seeds {
    /// Endless episodes, each with a seed that is drawn from the copy's stream.
    EachEpisode(Vec<Stream>),
    /// Endless episodes, of which only the first has a seed.
    Once(Vec<Stream>),
    /// One episode with each of these seeds; a copy stays where it ended.
    Episodes(Vec<u64>),
}

/// Copies of an environment in other processes.
pub struct Bridged<W> {
    workers: W,
    layout: Layout,
    observations: Space,
    actions: Space,
    step_cap: Option<u64>,
    mode: Mode,
    /// The seed of each copy's next reset.
    next: Vec<i64>,
    episodes: Vec<Episode>,
    operations: Vec<u8>,
    rewards: Vec<f64>,
    terminated: Vec<u8>,
    truncated: Vec<u8>,
    success: Vec<u8>,
    divergences: Vec<Divergence>,
    photos: Option<PhotoFormat>,
    /// Copies that were drawn after the last batch.
    watched: Vec<bool>,
}

enum Mode {
    EachEpisode(Vec<Stream>),
    Once,
    /// Which episodes are over.
    Episodes(Vec<bool>),
}

impl<W: Workers> Bridged<W> {
    /// Copies that `workers` have created and described.
    pub fn new(workers: W, layout: Layout, described: &Described, seeds: Seeds) -> Self {
        let copies = layout.copies;
        let (mode, next) = match seeds {
            Seeds::EachEpisode(mut streams) => {
                let next = streams.iter_mut().map(drawn).collect();
                (Mode::EachEpisode(streams), next)
            }
            Seeds::Once(mut streams) => (Mode::Once, streams.iter_mut().map(drawn).collect()),
            Seeds::Episodes(seeds) => {
                let next = seeds.iter().map(|seed| (*seed & i64::MAX as u64) as i64).collect();
                (Mode::Episodes(vec![false; copies]), next)
            }
        };
        Self {
            workers,
            observations: described.observations(),
            actions: described.actions(),
            step_cap: described.max_episode_steps,
            mode,
            next,
            episodes: vec![Episode::default(); copies],
            operations: vec![0; copies],
            rewards: vec![0.0; copies],
            terminated: vec![0; copies],
            truncated: vec![0; copies],
            success: vec![0; copies],
            divergences: Vec::new(),
            photos: described.photos().filter(|_| layout.columns.frames.is_some()),
            watched: vec![false; copies],
            layout,
        }
    }

    /// The processes behind it.
    pub fn into_workers(self) -> W {
        self.workers
    }

    fn exchange(&mut self, call: Call, actions: Option<&[f32]>) -> Result<(), EnvError> {
        self.workers.write_u8(self.layout.columns.operations.offset, &self.operations);
        self.workers.write_i64(self.layout.columns.seeds.offset, &self.next);
        self.workers.exchange().map_err(|failure| self.failed(call, failure, actions))
    }

    /// The error with everything that is needed to repeat what happened.
    fn failed(&self, call: Call, failure: WorkerFailure, actions: Option<&[f32]>) -> EnvError {
        let WorkerFailure { copy, mut message, output } = failure;
        if let Some(copy) = copy.filter(|copy| *copy < self.episodes.len()) {
            let episode = &self.episodes[copy];
            let width = self.actions.width();
            let action = actions.map(|actions| &actions[copy * width..(copy + 1) * width]);
            match action.filter(|_| call == Call::Step) {
                Some(action) => {
                    let (seed, step) = (episode.seed, episode.steps + 1);
                    let action = written(action, &self.actions);
                    message += &format!(" (seed {seed}, step {step} of the episode, action {action})");
                }
                None => message += &format!(" (seed {})", self.next[copy]),
            }
        }
        for line in output.lines() {
            message += &format!("\n  | {line}");
        }
        EnvError::Failed { copy, call, message }
    }

    /// Resets the copies whose operation says so, and reads their first observations.
    fn reset_some(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        self.exchange(Call::Reset, None)?;
        let width = self.observations.width();
        self.workers.read_f32(self.layout.columns.observations.offset, observations);
        for copy in 0..self.layout.copies {
            if self.operations[copy] == Operation::Reset as u8 {
                let row = &observations[copy * width..(copy + 1) * width];
                self.check_observation(Call::Reset, copy, row, None)?;
                self.begin(copy, row);
            }
        }
        Ok(())
    }

    /// Notes that a copy was reset with its next seed.
    fn begin(&mut self, copy: usize, observation: &[f32]) {
        self.episodes[copy] = match &mut self.mode {
            Mode::EachEpisode(streams) => {
                let episode = Episode::begin(self.next[copy], observation);
                self.next[copy] = drawn(&mut streams[copy]);
                episode
            }
            Mode::Once => {
                let episode = Episode { seed: self.next[copy], ..Episode::default() };
                self.next[copy] = -1;
                episode
            }
            Mode::Episodes(_) => Episode { seed: self.next[copy], ..Episode::default() },
        };
    }

    fn check_observation(
        &self,
        call: Call,
        copy: usize,
        row: &[f32],
        actions: Option<&[f32]>,
    ) -> Result<(), EnvError> {
        let Some(at) = row.iter().position(|value| !value.is_finite()) else { return Ok(()) };
        let message = format!("its observation has {} at index {at}", named(f64::from(row[at])));
        Err(self.failed(call, WorkerFailure { copy: Some(copy), message, output: String::new() }, actions))
    }

    /// Reads what a batch of steps gave. Rows of idle copies are left as they are.
    fn read(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        let columns = &self.layout.columns;
        self.workers.read_f32(columns.observations.offset, &mut out.observations);
        self.workers.read_f64(columns.rewards.offset, &mut self.rewards);
        self.workers.read_u8(columns.terminated.offset, &mut self.terminated);
        self.workers.read_u8(columns.truncated.offset, &mut self.truncated);
        let busy = |copy: usize| self.operations[copy] != Operation::Idle as u8;
        let ended = |copy: usize| busy(copy) && (self.terminated[copy] | self.truncated[copy]) != 0;
        if (0..self.layout.copies).any(ended) {
            self.workers.read_f32(columns.final_observations.offset, &mut out.final_observations);
            self.workers.read_u8(columns.success.offset, &mut self.success);
        }
        let width = self.observations.width();
        for copy in 0..self.layout.copies {
            let is_end = ended(copy);
            out.terminated[copy] = is_end && self.terminated[copy] != 0;
            out.truncated[copy] = is_end && self.truncated[copy] != 0;
            out.success[copy] = match self.success[copy] as i8 {
                value @ (0 | 1) if is_end => Some(value == 1),
                _ => None,
            };
            if !busy(copy) {
                out.rewards[copy] = 0.0;
                continue;
            }
            let row = copy * width..(copy + 1) * width;
            self.check_observation(Call::Step, copy, &out.observations[row.clone()], Some(actions))?;
            if is_end {
                self.check_observation(Call::Step, copy, &out.final_observations[row], Some(actions))?;
            }
            let reward = self.rewards[copy];
            out.rewards[copy] = reward as f32;
            if !out.rewards[copy].is_finite() {
                let message = format!("its reward is {}", named(reward));
                let failure = WorkerFailure { copy: Some(copy), message, output: String::new() };
                return Err(self.failed(Call::Step, failure, Some(actions)));
            }
        }
        Ok(())
    }

    /// Repeats the episodes of a saved state. Gives, for each copy, the first step that was different.
    fn replay(&mut self, saved: &[Episode]) -> Result<Vec<Option<Option<u64>>>, EnvError> {
        let (copies, width) = (self.layout.copies, self.observations.width());
        let action_width = self.actions.width();
        let mut different: Vec<Option<Option<u64>>> =
            saved.iter().map(|episode| episode.is_too_long().then_some(None)).collect();
        let drawn_ahead = std::mem::replace(&mut self.next, saved.iter().map(|one| one.seed).collect());
        self.operations.fill(Operation::Reset as u8);
        let mut out = StepBatch::new(copies, width);
        self.exchange(Call::Restore, None)?;
        self.workers.read_f32(self.layout.columns.observations.offset, &mut out.observations);
        for (copy, episode) in saved.iter().enumerate() {
            let row = &out.observations[copy * width..(copy + 1) * width];
            if different[copy].is_none() && episode.digests[0] != digest(row, 0.0, 0) {
                different[copy] = Some(Some(0));
            }
            self.episodes[copy] = Episode { seed: episode.seed, ..Episode::default() };
        }
        let longest =
            saved.iter().filter(|episode| !episode.is_too_long()).map(|episode| episode.steps).max();
        let mut actions = vec![0.0; copies * action_width];
        for time in 0..longest.unwrap_or(0) as usize {
            for (copy, episode) in saved.iter().enumerate() {
                let turn = different[copy].is_none() && (time as u64) < episode.steps;
                self.operations[copy] = if turn { Operation::StepOnce } else { Operation::Idle } as u8;
                if turn {
                    let row = &mut actions[copy * action_width..(copy + 1) * action_width];
                    row.copy_from_slice(episode.action(time, action_width));
                }
            }
            self.workers.write_f32(self.layout.columns.actions.offset, &actions);
            self.exchange(Call::Restore, Some(&actions))?;
            self.read(&actions, &mut out)?;
            for (copy, episode) in saved.iter().enumerate() {
                if self.operations[copy] == Operation::Idle as u8 {
                    continue;
                }
                let row = &out.observations[copy * width..(copy + 1) * width];
                let flags = self.terminated[copy] | self.truncated[copy] << 1;
                if digest(row, self.rewards[copy], flags) != episode.digests[time + 1] {
                    different[copy] = Some(Some(time as u64 + 1));
                }
            }
        }
        self.next = drawn_ahead;
        Ok(different)
    }
}

/// The next seed of a stream.
fn drawn(stream: &mut Stream) -> i64 {
    i64::from(stream.below(SEEDS))
}

/// A value as Python's users write it.
fn named(value: f64) -> String {
    if value.is_nan() { "NaN".to_owned() } else { value.to_string() }
}

impl<W: Workers> VectorEnv for Bridged<W> {
    fn copies(&self) -> usize {
        self.layout.copies
    }

    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn step_cap(&self) -> Option<u64> {
        self.step_cap
    }

    fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        self.operations.fill(Operation::Reset as u8);
        if let Mode::Episodes(over) = &mut self.mode {
            over.fill(false);
        }
        self.reset_some(observations)
    }

    fn step(&mut self, actions: &[f32], out: &mut StepBatch) -> Result<(), EnvError> {
        let copies = self.layout.copies;
        match &self.mode {
            Mode::Episodes(over) => {
                for (operation, over) in self.operations.iter_mut().zip(over) {
                    *operation = if *over { Operation::Idle } else { Operation::StepOnce } as u8;
                }
            }
            Mode::EachEpisode(_) | Mode::Once => self.operations.fill(Operation::Step as u8),
        }
        self.workers.write_f32(self.layout.columns.actions.offset, actions);
        self.exchange(Call::Step, Some(actions))?;
        self.read(actions, out)?;
        let (width, action_width) = (self.observations.width(), self.actions.width());
        for copy in 0..copies {
            let row = &out.observations[copy * width..(copy + 1) * width];
            if !(out.terminated[copy] || out.truncated[copy]) {
                let action = &actions[copy * action_width..(copy + 1) * action_width];
                match self.mode {
                    Mode::EachEpisode(_) => {
                        self.episodes[copy].step(action, digest(row, self.rewards[copy], 0));
                    }
                    Mode::Once | Mode::Episodes(_) => self.episodes[copy].steps += 1,
                }
            } else if let Mode::Episodes(over) = &mut self.mode {
                over[copy] = true;
            } else {
                self.begin(copy, row);
            }
        }
        Ok(())
    }

    fn save(&self) -> Result<Option<Vec<u8>>, EnvError> {
        let Mode::EachEpisode(streams) = &self.mode else { return Ok(None) };
        let mut writer = StateWriter::new(KIND, self.copies());
        writer.streams(streams);
        for (episode, next) in self.episodes.iter().zip(&self.next) {
            writer.u64(*next as u64);
            episode.save(&mut writer);
        }
        Ok(Some(writer.finish()))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), EnvError> {
        let Mode::EachEpisode(streams) = &self.mode else {
            let message = "its state can't be saved".to_owned();
            return Err(EnvError::Failed { copy: None, call: Call::Restore, message });
        };
        let mut reader = StateReader::new(saved, KIND, self.copies())?;
        let mut streams = streams.clone();
        reader.streams(&mut streams)?;
        let (mut next, mut episodes) = (Vec::new(), Vec::new());
        for _ in 0..self.copies() {
            next.push(reader.u64_below(u64::from(SEEDS), "a seed")? as i64);
            episodes.push(Episode::restore(&mut reader, self.actions.width())?);
        }
        reader.finish()?;
        self.mode = Mode::EachEpisode(streams);
        self.next = next;
        let different = self.replay(&episodes)?;
        for (copy, different) in different.iter().enumerate() {
            self.operations[copy] =
                if different.is_some() { Operation::Reset } else { Operation::Idle } as u8;
        }
        self.episodes = episodes;
        self.divergences.clear();
        if different.iter().any(Option::is_some) {
            let width = self.observations.width();
            let mut observations = vec![0.0; self.copies() * width];
            self.reset_some(&mut observations)?;
            for (copy, step) in different.into_iter().enumerate() {
                let Some(step) = step else { continue };
                let observation = observations[copy * width..(copy + 1) * width].to_vec();
                self.divergences.push(Divergence { copy, step, observation });
            }
        }
        Ok(())
    }

    fn divergences(&self) -> &[Divergence] {
        &self.divergences
    }

    fn watch(&mut self, copies: &[bool]) {
        if let Some(column) = &self.layout.columns.watched {
            let drawn: Vec<u8> = copies.iter().map(|watched| u8::from(*watched)).collect();
            self.workers.write_u8(column.offset, &drawn);
            self.watched = copies.to_vec();
        }
    }

    fn view(&self, copy: usize) -> Option<View> {
        let (format, column) = self.photos.zip(self.layout.columns.frames.as_ref())?;
        if !*self.watched.get(copy)? {
            return None;
        }
        let mut rgb = vec![0; format.bytes()];
        self.workers.read_u8(column.offset + copy * format.bytes(), &mut rgb);
        Some(View::Photo(Photo::new(format, &rgb)))
    }

    /// Copies that play one episode stay where it ended.
    fn final_view(&self, copy: usize) -> Option<View> {
        matches!(self.mode, Mode::Episodes(_)).then(|| self.view(copy)).flatten()
    }
}

#[cfg(test)]
mod tests;
