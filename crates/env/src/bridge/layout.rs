//! Where everything is in the shared memory.
//!
//! One block holds a control line per worker and then columns, each an array over copies. Columns start at multiples
//! of 64 bytes, so that no two of them share a cache line. A copy may have several agents; rlx's own learners use one.

use serde::Serialize;

use crate::photo::PhotoFormat;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Most groups that copies form.
const MOST_GROUPS: usize = 8;

/// One array in the shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// First byte.
    pub offset: usize,
    /// Type of its elements, as NumPy writes it.
    pub dtype: &'static str,
    /// Lengths of its axes.
    pub shape: Vec<usize>,
}

impl Column {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Columns {
    /// What to do with each copy in this batch: an [`Operation`](super::Operation).
    pub operations: Column,
    /// The seed of each copy's next reset; −1 resets without one.
    pub seeds: Column,
    pub actions: Column,
    /// Observations to act on next.
    pub observations: Column,
    /// The last observation of an episode that ended in this batch.
    pub final_observations: Column,
    pub rewards: Column,
    pub terminated: Column,
    pub truncated: Column,
    /// Whether an episode that ended was successful: 1 yes, 0 no, −1 unknown.
    pub success: Column,
    /// Sum of rewards of an episode that ended, inside all wrappers that rlx adds.
    pub episode_returns: Column,
    /// Steps of an episode that ended.
    pub episode_lengths: Column,
    /// Which copies are drawn after this batch; only if they are to be drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<Column>,
    /// What they look like: rows, columns, then red, green and blue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Column>,
}

/// The whole shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Version of the protocol.
    pub version: u32,
    /// Size in bytes.
    pub size: usize,
    /// Number of control lines; worker `i` has the 64 bytes from `64 * i`.
    pub workers: usize,
    /// Copies of the environment.
    pub copies: usize,
    /// Agents of each copy.
    pub agents: usize,
    pub columns: Columns,
}

impl Layout {
    /// The layout for that many copies with rows that wide.
    pub fn new(
        workers: usize,
        copies: usize,
        agents: usize,
        observation_width: usize,
        action_width: usize,
    ) -> Self {
        let mut end = workers * LINE;
        let mut column = |dtype: &'static str, bytes: usize, shape: &[usize]| {
            let offset = end.next_multiple_of(LINE);
            let column = Column { offset, dtype, shape: shape.to_vec() };
            end = offset + column.len() * bytes;
            column
        };
        let each = [copies, agents];
        let columns = Columns {
            operations: column("u1", 1, &[copies]),
            seeds: column("<i8", 8, &[copies]),
            actions: column("<f4", 4, &[copies, agents, action_width]),
            observations: column("<f4", 4, &[copies, agents, observation_width]),
            final_observations: column("<f4", 4, &[copies, agents, observation_width]),
            rewards: column("<f8", 8, &each),
            terminated: column("u1", 1, &each),
            truncated: column("u1", 1, &each),
            success: column("i1", 1, &each),
            episode_returns: column("<f8", 8, &each),
            episode_lengths: column("<i8", 8, &[copies]),
            watched: None,
            frames: None,
        };
        let size = end.next_multiple_of(LINE);
        Self { version: super::VERSION, size, workers, copies, agents, columns }
    }

    /// The same with room for a picture of every copy.
    #[must_use]
    pub fn with_frames(mut self, format: PhotoFormat) -> Self {
        let watched = Column { offset: self.size, dtype: "u1", shape: vec![self.copies] };
        let offset = (watched.offset + watched.len()).next_multiple_of(LINE);
        let shape = vec![self.copies, format.height as usize, format.width as usize, 3];
        let frames = Column { offset, dtype: "u1", shape };
        self.size = (offset + frames.len()).next_multiple_of(LINE);
        self.columns.watched = Some(watched);
        self.columns.frames = Some(frames);
        self
    }
}

/// The groups that copies form, as ranges. A group is never split between workers; its size depends on the number of
/// copies alone, so the number of workers never changes a result.
pub fn groups(copies: usize) -> Vec<std::ops::Range<usize>> {
    let size = copies.div_ceil(MOST_GROUPS).max(1);
    (0..copies).step_by(size).map(|start| start..(start + size).min(copies)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_don_t_overlap() {
        for (workers, copies, agents, observations, actions) in
            [(1, 1, 1, 1, 1), (5, 16, 1, 8, 2), (3, 7, 4, 28_224, 6), (2, 0, 1, 4, 1)]
        {
            let photo = PhotoFormat { width: 33, height: 21, per_second: 30 };
            let layout = Layout::new(workers, copies, agents, observations, actions).with_frames(photo);
            let columns = serde_json::to_value(&layout.columns).unwrap();
            let mut end = workers * LINE;
            for (name, column) in columns.as_object().unwrap() {
                let offset = column["offset"].as_u64().unwrap() as usize;
                let bytes = column["dtype"].as_str().unwrap()[1..].replace(['1', 'u', 'i'], "");
                let bytes = bytes.trim_start_matches('f').parse().unwrap_or(1);
                let length: usize = column["shape"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|n| n.as_u64().unwrap() as usize)
                    .product();
                assert!(offset.is_multiple_of(LINE) && offset >= end, "{name} at {offset}, after {end}");
                end = offset + length * bytes;
            }
            assert!(layout.size >= end && layout.size.is_multiple_of(LINE));
        }
    }

    #[test]
    fn groups_depend_on_the_number_of_copies_alone_and_cover_them() {
        for copies in 0..300 {
            let groups = groups(copies);
            assert!(groups.len() <= MOST_GROUPS);
            assert_eq!(groups.iter().cloned().flatten().collect::<Vec<_>>(), (0..copies).collect::<Vec<_>>());
        }
        assert_eq!(groups(16).len(), 8);
        assert_eq!(groups(3), [0..1, 1..2, 2..3]);
    }
}
