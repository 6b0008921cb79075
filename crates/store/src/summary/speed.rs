//! How fast a run trains, by the wall times of its updates.

use rlxp_fs::{FsExt, clock};
use std::time::Duration;

use super::{END_BYTES, TRAIN_KIND};
use crate::metrics::Record;
use crate::{SeedFolder, StoreError};

/// Step and wall time of an update.
pub(super) type Moment = (u64, f64);

/// The steps of several seeds and the time in which they were done.
#[derive(Default)]
pub(super) struct Pace {
    steps: u64,
    /// From the first update of any seed to the last one of any.
    span: Option<(f64, f64)>,
}

impl Pace {
    pub(super) fn add(&mut self, first: Moment, last: Moment) {
        if !(last.1 >= first.1 && last.0 >= first.0) {
            return;
        }
        self.steps = self.steps.saturating_add(last.0 - first.0);
        let (from, to) = self.span.unwrap_or((first.1, last.1));
        self.span = Some((from.min(first.1), to.max(last.1)));
    }

    /// Nothing if no time passed between the updates.
    pub(super) fn steps_per_second(&self) -> Option<f64> {
        let (from, to) = self.span?;
        let speed = self.steps as f64 / (to - from);
        (speed.is_finite() && self.steps > 0).then_some(speed)
    }
}

/// The first update of a seed, or the first one since the time `resumed`.
pub(super) fn first_of_training(
    folder: &SeedFolder,
    resumed: Option<&str>,
) -> Result<Option<Moment>, StoreError> {
    let (fs, path) = (folder.fs.as_ref(), folder.metrics_path());
    let length = fs.metadata_if_any(&path)?.map_or(0, |meta| meta.length);
    let is_later = |record: &Record| resumed.is_none_or(|resumed| *time(record.wall) >= *resumed);
    let read = |at: u64, most: u64| fs.read_at(&path, at, most as usize);
    let mut begin = 0;
    if resumed.is_some() {
        // Records are in the order of time, so half of what is left can be left out again and again.
        let mut end = length;
        while end - begin > END_BYTES {
            let middle = begin + (end - begin) / 2;
            match records(&read(middle, END_BYTES)?).next() {
                Some(record) if !is_later(&record) => begin = middle,
                _ => end = middle,
            }
        }
    }
    let bytes = read(begin, 2 * END_BYTES)?;
    let first = records(&bytes).find(|record| record.kind == TRAIN_KIND && is_later(record));
    Ok(first.map(|record| (record.step, record.wall)))
}

/// The whole records in a part of the metrics.
fn records(bytes: &[u8]) -> impl Iterator<Item = Record> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// The text of a wall time, which sorts as the time does.
fn time(wall: f64) -> String {
    Duration::try_from_secs_f64(wall).map(clock::rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_that_train_side_by_side_or_in_turn() {
        let speed = |seeds: &[(Moment, Moment)]| {
            let mut pace = Pace::default();
            seeds.iter().for_each(|(first, last)| pace.add(*first, *last));
            pace.steps_per_second()
        };
        assert_eq!(speed(&[((100, 10.0), (1100, 20.0))]), Some(100.0));
        assert_eq!(speed(&[((100, 10.0), (1100, 20.0)), ((100, 10.0), (1100, 20.0))]), Some(200.0));
        assert_eq!(speed(&[((100, 10.0), (1100, 20.0)), ((100, 20.0), (1100, 30.0))]), Some(100.0));
        assert_eq!(speed(&[((100, 10.0), (100, 10.0))]), None);
        assert_eq!(speed(&[((100, 10.0), (200, f64::NAN))]), None);
        assert_eq!(speed(&[((100, 10.0), (200, 9.0))]), None, "a clock that was set back");
        assert_eq!(speed(&[]), None);
    }
}
