//! F36, F38, F41: speed, memory, age of samples, the log.

use super::*;
use Severity::{Error, Warning};

#[test]
fn f36_slower_and_slower() {
    clear(&healthy(), "F36");
    let mut run = unlearned();
    put(&mut run, "timing.update_seconds", each(|update| if update < 60 { 0.6 } else { 1.2 }));
    fires(&run, "F36", Warning, "timing.update_seconds");
    put(&mut run, "timing.update_seconds", each(|update| if update < 60 { 0.6 } else { 6.0 }));
    fires(&run, "F36", Error, "timing.update_seconds");
    // For a run that learned, it is only an info: the machine may have been busy.
    let mut fine = healthy();
    put(&mut fine, "timing.update_seconds", each(|update| if update < 60 { 0.6 } else { 6.0 }));
    fires(&fine, "F36", Severity::Info, "timing.update_seconds");
    let mut short = healthy();
    put(&mut short, "timing.update_seconds", each(|_| 0.01));
    put(&mut short, "timing.collect_seconds", each(|_| 0.01));
    lacks(&short, "F36", "too short");
    needs(&healthy(), "F36", "timing.collect_seconds");
}

#[test]
fn f36_memory_that_grows() {
    let memory = |per_update: f64| {
        let mut series = each(move |update| 1e8 + per_update * update as f64);
        series.walls = (0..UPDATES).map(|update| 1e9 + 60.0 * update as f64).collect::<Vec<_>>().into();
        series
    };
    let mut run = unlearned();
    put(&mut run, "timing.resident_bytes", memory(0.0));
    clear(&run, "F36");
    // 60 updates an hour: 6% of 1e8.
    put(&mut run, "timing.resident_bytes", memory(1e5));
    fires(&run, "F36", Warning, "timing.resident_bytes");
}

#[test]
fn f38_samples_that_wait() {
    is_not_about(&healthy(), "F38", "the next update");
    let mut run = healthy();
    run.settings.reuses_samples = true;
    lacks(&run, "F38", "train.sample_age");
    put(&mut run, "train.sample_age", each(|update| 10.0 + wobble(update)));
    clear(&run, "F38");
    put(&mut run, "train.sample_age", each(|update| 10.0 + update as f64));
    fires(&run, "F38", Warning, "train.sample_age");
}

#[test]
fn f41_a_log_that_is_not_whole() {
    clear(&healthy(), "F41");
    let with = |record: RecordState| {
        let mut run = healthy();
        run.seeds[0].record = Some(record);
        run
    };
    let damaged =
        RecordState { records: 9, damage: vec!["byte 7: no record".to_owned()], ..RecordState::default() };
    assert!(found(&with(damaged), "F41").sentence.contains("byte 7"));
    let twice = RecordState { records: 9, repeated_steps: 2, ..RecordState::default() };
    assert!(found(&with(twice), "F41").sentence.contains("2 steps occur twice"));
    lacks(&with(RecordState::default()), "F41", "no record");
    let mut run = healthy();
    put(&mut run, "train.entropy", every(2, |_| 0.5));
    fires(&run, "F41", Warning, "train.entropy");
    run.seeds[0].record = None;
    lacks(&run, "F41", "was not checked");
}
