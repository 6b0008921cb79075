//! How long a running training still needs, estimated from the steps per wall second of its newest records.

use std::time::Duration;

use rlxp_fs::FsExt;
use rlxp_store::{Record, Run, SeedFolder};

/// How much of the end of the metrics is read.
const TAIL_BYTES: u64 = 32 * 1024;
/// A seed whose newest record is this much older than another seed's is not being trained any more.
const SILENT_SECONDS: f64 = 60.0;
/// Two records that are this far apart are not of the same attempt, or an evaluation came between them that says
/// nothing about speed.
const GAP_SECONDS: f64 = 600.0;

/// The time left of a run that is being trained. What can't be read is unknown.
pub(crate) fn of_run(run: &Run) -> Option<Duration> {
    let metadata = run.metadata().ok()?;
    let total = metadata.total_steps;
    let paces = run.seed_folders_of(&metadata).iter().map(|folder| pace(run, folder)).collect::<Vec<_>>();
    estimate(&paces, total)
}

/// How far a seed has come, and how fast.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pace {
    step: u64,
    /// When it was there, in seconds since 1970; none without records.
    wall: Option<f64>,
    steps_per_second: Option<f64>,
}

fn pace(run: &Run, folder: &SeedFolder) -> Pace {
    newest_records(run, folder).map_or_else(Pace::default, |records| pace_of(&records))
}

/// The records at the end of the metrics, oldest first.
fn newest_records(run: &Run, folder: &SeedFolder) -> Option<Vec<Record>> {
    let (fs, path) = (run.fs(), folder.metrics_path());
    let length = fs.metadata_if_any(&path).ok()??.length;
    let bytes = fs.read_at(&path, length.saturating_sub(TAIL_BYTES), TAIL_BYTES as usize).ok()?;
    let lines = bytes.split(|byte| *byte == b'\n');
    Some(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

fn pace_of(records: &[Record]) -> Pace {
    let Some(last) = records.last() else { return Pace::default() };
    let (mut first, mut paused) = (last, 0.0);
    for record in records.iter().rev() {
        let pause = first.wall - record.wall;
        if !(0.0..GAP_SECONDS).contains(&pause) || record.step > first.step {
            break;
        }
        // Evaluations take part of the time that is left, too; only what lies between two attempts doesn't.
        paused += pause;
        first = record;
    }
    let steps = last.step.saturating_sub(first.step) as f64;
    let rate = (steps > 0.0 && paused > 0.0).then(|| steps / paused);
    Pace { step: last.step, wall: Some(last.wall), steps_per_second: rate }
}

/// The steps that are left, at the pace of the seeds that are being trained.
fn estimate(seeds: &[Pace], total: u64) -> Option<Duration> {
    let newest = seeds.iter().filter_map(|seed| seed.wall).fold(f64::NEG_INFINITY, f64::max);
    let (mut left, mut rate) = (0.0, 0.0);
    for seed in seeds {
        let ahead = total.saturating_sub(seed.step) as f64;
        match seed.wall {
            // It waits for its turn.
            None => left += ahead,
            // It has ended before its last step.
            Some(wall) if newest - wall > SILENT_SECONDS => {}
            Some(_) if ahead > 0.0 => {
                left += ahead;
                rate += seed.steps_per_second.unwrap_or(0.0);
            }
            Some(_) => {}
        }
    }
    if left == 0.0 {
        return newest.is_finite().then_some(Duration::ZERO);
    }
    (rate > 0.0).then(|| Duration::try_from_secs_f64(left / rate).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(points: &[(u64, f64)]) -> Vec<Record> {
        let record = |(step, wall): &(u64, f64)| Record {
            seq: *step,
            step: *step,
            wall: *wall,
            kind: "train".into(),
            values: serde_json::Map::new(),
        };
        points.iter().map(record).collect()
    }

    #[test]
    fn the_pace_is_that_of_the_newest_records_of_one_attempt() {
        let rate = |points: &[(u64, f64)]| pace_of(&records(points)).steps_per_second;
        assert_eq!(rate(&[(100, 10.0), (200, 20.0), (400, 30.0)]), Some(15.0));
        assert_eq!(rate(&[]), None);
        assert_eq!(rate(&[(100, 10.0)]), None);
        assert_eq!(rate(&[(100, 10.0), (100, 11.0)]), None, "no step was done");
        // Between two attempts lies a night, or the clock was set back.
        assert_eq!(rate(&[(100, 10.0), (200, 9000.0), (300, 9010.0)]), Some(10.0));
        assert_eq!(rate(&[(100, 50.0), (200, 20.0), (300, 30.0)]), Some(10.0));
        assert_eq!(rate(&[(100, f64::NAN), (200, 20.0), (300, 30.0)]), Some(10.0));
    }

    #[test]
    fn time_left_counts_the_seeds_that_wait_and_not_those_that_have_ended() {
        let seed = |step, wall, rate| Pace { step, wall, steps_per_second: rate };
        let seconds = |seeds: &[Pace]| estimate(seeds, 1000).map(|left| left.as_secs());
        let running = seed(500, Some(100.0), Some(10.0));
        assert_eq!(seconds(&[running]), Some(50));
        assert_eq!(seconds(&[running, running]), Some(50));
        assert_eq!(seconds(&[running, Pace::default()]), Some(150));
        assert_eq!(seconds(&[running, seed(1000, Some(90.0), Some(10.0))]), Some(50));
        assert_eq!(seconds(&[running, seed(700, Some(10.0), Some(10.0))]), Some(50), "it stopped early");
        assert_eq!(seconds(&[Pace::default()]), None);
        assert_eq!(seconds(&[seed(500, Some(100.0), None)]), None);
        assert_eq!(seconds(&[seed(1000, Some(100.0), Some(10.0))]), Some(0));
    }
}
