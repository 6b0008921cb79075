//! Each limit ends a run, for its own reason.

use rlxp_launch::order::{Limits, StepOutcome};
use rlxp_launch::supervise::{RunReport, pulse};

use super::orders::Fixture;
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    a_memory_hog_is_ended,
    a_fork_bomb_is_ended,
    a_disk_filler_that_ignores_being_asked_is_ended,
    an_endless_log_is_ended_and_capped,
    a_sleeper_is_ended_by_the_wall_clock,
    a_silent_process_is_ended,
    files_are_as_good_as_words,
    a_burner_of_processors_is_ended,
    processor_time_of_the_dead_counts,
    a_limit_that_was_passed_unseen_counts,
    files_in_memory_count_as_memory,
    shared_memory_counts_once,
    a_stopped_supervisor_gives_no_more_time,
    a_sparse_file_counts_with_its_length,
];

/// The limits that the kernel no longer counts for us without control groups.
pub(crate) const WITHOUT_CGROUPS: &[Test] = tests![
    a_memory_hog_is_ended,
    a_fork_bomb_is_ended,
    a_burner_of_processors_is_ended,
    files_in_memory_count_as_memory,
    shared_memory_counts_once
];

/// Runs `fixture` and checks that this limit ended it, soon enough that no other limit could have.
fn ended_by(fixture: &Fixture, limit: &str) -> RunReport {
    let report = fixture.run();
    assert_eq!(report.how, StepOutcome::Limit, "{report:?}");
    assert!(report.reason.starts_with(&format!("{limit}: ")), "{report:?}");
    assert!(report.usage.wall_clock < 8.0, "{report:?}");
    report
}

fn fixture(change: impl FnOnce(&mut Limits)) -> Fixture {
    let mut fixture = Fixture::new();
    change(&mut fixture.order.limits);
    fixture
}

fn a_memory_hog_is_ended() {
    let mut fixture = fixture(|limits| limits.memory = 64 << 20);
    fixture.act("train", "memory");
    let report = ended_by(&fixture, "memory");
    assert!(report.reason.contains(" of 64 MiB"), "{report:?}");
    assert!(report.usage.memory >= 64 << 20, "{report:?}");
}

fn a_fork_bomb_is_ended() {
    let mut fixture = fixture(|limits| limits.processes = 20);
    fixture.script("train", "i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); done; wait");
    let report = ended_by(&fixture, "processes");
    assert!(report.reason.contains(" of 20"), "{report:?}");
    let is_kept = report.steps[0].mechanisms.process_count.as_deref() != Some("polling");
    assert!(!is_kept || report.usage.processes <= 20, "{report:?}");
}

fn a_disk_filler_that_ignores_being_asked_is_ended() {
    let mut fixture = fixture(|limits| limits.disk = 4 << 20);
    let script = "trap '' TERM; i=0; while [ $i -lt 40 ]; do head -c 1048576 /dev/zero > $TMPDIR/$i; i=$((i+1)); done; \
                  sleep 60; sleep 60";
    fixture.script("train", script);
    let report = ended_by(&fixture, "disk");
    assert!(report.usage.disk > 4 << 20 && report.reason.contains(" of 4 MiB"), "{report:?}");
}

fn an_endless_log_is_ended_and_capped() {
    let mut fixture = fixture(|limits| limits.output = 1 << 18);
    fixture.act("train", "log");
    let report = ended_by(&fixture, "output");
    assert!(report.usage.output > 1 << 18, "{report:?}");
    let log = fixture.text("train.log");
    assert_eq!(log.len(), 1 << 18);
    assert!(log.starts_with("and on and on it goes\nand on"), "{}", &log[..40]);
}

fn a_sleeper_is_ended_by_the_wall_clock() {
    let mut fixture = fixture(|limits| limits.wall_clock = 1);
    fixture.script("train", "echo begun; sleep 60");
    let report = ended_by(&fixture, "wall clock");
    assert!((1.0..4.0).contains(&report.usage.wall_clock), "{report:?}");
    let beat = pulse(&fixture.order.folder).expect("a pulse");
    assert!(beat.wall_clock > 0.0 && beat.wall_clock <= report.usage.wall_clock, "{beat:?}");
}

fn a_silent_process_is_ended() {
    let mut fixture = fixture(|limits| limits.silence = Some(1));
    fixture.script("train", "echo begun; sleep 60");
    ended_by(&fixture, "inactivity");
}

fn files_are_as_good_as_words() {
    // Far apart, since nothing may get to write for a while on a busy machine.
    let mut fixture = fixture(|limits| (limits.silence, limits.wall_clock) = (Some(3), 5));
    fixture.script("train", "while :; do echo x >> $TMPDIR/notes; sleep 0.2; done");
    ended_by(&fixture, "wall clock");
}

fn a_burner_of_processors_is_ended() {
    let mut fixture = fixture(|limits| limits.cpu_time = 1);
    fixture.act("train", "burn");
    let report = ended_by(&fixture, "CPU time");
    assert!((1.0..6.0).contains(&report.usage.cpu_time), "{report:?}");
}

fn processor_time_of_the_dead_counts() {
    let mut fixture = fixture(|limits| limits.cpu_time = 1);
    let program = std::env::current_exe().expect("a path");
    // Each burner is an orphan when it ends, so that only the first process of the namespace reaps it.
    let script = format!("while :; do ({} act burn-a-little &); sleep 0.3; done", program.display());
    fixture.script("train", &script).readable = vec![program];
    ended_by(&fixture, "CPU time");
}

fn a_limit_that_was_passed_unseen_counts() {
    let mut fixture = fixture(|limits| limits.disk = 1 << 20);
    fixture.script("train", "head -c 3000000 /dev/zero > $TMPDIR/big");
    ended_by(&fixture, "disk");
}

fn files_in_memory_count_as_memory() {
    for place in ["/dev/shm", "/tmp"] {
        let mut fixture = fixture(|limits| limits.memory = 64 << 20);
        let script = format!("head -c 200000000 /dev/zero > {place}/file; sleep 60");
        fixture.script("train", &script);
        let report = ended_by(&fixture, "memory");
        assert_eq!(report.steps[0].mechanisms.root.as_deref(), Some("own root"), "{report:?}");
    }
}

fn shared_memory_counts_once() {
    let mut fixture = fixture(|limits| limits.memory = 64 << 20);
    fixture.act("train", "share");
    let report = fixture.run();
    assert_eq!(report.how, StepOutcome::Ok, "{report:?}");
}

/// The step ends by itself, but later than it may, while the supervisor is stopped.
fn a_stopped_supervisor_gives_no_more_time() {
    let mut fixture = fixture(|limits| limits.wall_clock = 2);
    fixture.script("train", "echo > $TMPDIR/begun; sleep 2.2; echo > $TMPDIR/done");
    let tmp = fixture.order.folder.join("train/tmp");
    let script = "while [ ! -e $1/begun ]; do sleep 0.01; done; kill -STOP $PPID
        i=0; while [ ! -e $1/done ] && [ $i -lt 1000 ]; do sleep 0.01; i=$((i+1)); done; kill -CONT $PPID";
    let mut meanwhile =
        std::process::Command::new("/bin/sh").args(["-c", script, "sh"]).arg(&tmp).spawn().expect("a shell");
    let report = ended_by(&fixture, "wall clock");
    meanwhile.wait().expect("a child");
    assert!(report.usage.wall_clock > 2.0, "{report:?}");
}

fn a_sparse_file_counts_with_its_length() {
    let mut fixture = fixture(|limits| limits.disk = 1 << 30);
    fixture.script("train", "truncate -s 60G $TMPDIR/../sparse");
    let report = ended_by(&fixture, "disk");
    assert!(report.reason.contains("GiB of 1 GiB"), "{report:?}");
    assert!(report.usage.disk < 1 << 30, "it takes no space: {report:?}");
    assert_eq!(report.taken.left_out, ["train/sparse: not read: too long"]);
}
