//! Whole runs under the supervisor: each limit ends a run for its reason, and the files say what happened.
//!
//! Has its own main: it runs itself as the helper that sandboxes steps (`__confine`), as the programs that
//! misbehave (`act`), and for each test. Some tests run again with control groups disabled.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests start and look at real processes"
)]
#![expect(clippy::print_stdout, reason = "it is its own test harness")]

#[path = "supervise_parts/acts.rs"]
mod acts;
#[path = "common/each.rs"]
mod each;
#[path = "supervise_parts/ends.rs"]
mod ends;
#[path = "supervise_parts/limits.rs"]
mod limits;
#[path = "supervise_parts/orders.rs"]
mod orders;
#[path = "supervise_parts/programs.rs"]
mod programs;

use std::process::ExitCode;

use each::{Group, Test};

const TESTS: &[Test] = &[
    ("a_memory_hog_is_ended", limits::a_memory_hog_is_ended),
    ("a_fork_bomb_is_ended", limits::a_fork_bomb_is_ended),
    (
        "a_disk_filler_that_ignores_being_asked_is_ended",
        limits::a_disk_filler_that_ignores_being_asked_is_ended,
    ),
    ("an_endless_log_is_ended_and_capped", limits::an_endless_log_is_ended_and_capped),
    ("a_sleeper_is_ended_by_the_wall_clock", limits::a_sleeper_is_ended_by_the_wall_clock),
    ("a_silent_process_is_ended", limits::a_silent_process_is_ended),
    ("files_are_as_good_as_words", limits::files_are_as_good_as_words),
    ("a_burner_of_processors_is_ended", limits::a_burner_of_processors_is_ended),
    ("processor_time_of_the_dead_counts", limits::processor_time_of_the_dead_counts),
    ("a_limit_that_was_passed_unseen_counts", limits::a_limit_that_was_passed_unseen_counts),
    ("a_run_can_be_called_off", ends::a_run_can_be_called_off),
    ("a_signal_to_the_supervisor_calls_the_run_off", ends::a_signal_to_the_supervisor_calls_the_run_off),
    ("artifacts_must_be_there", ends::artifacts_must_be_there),
    ("two_steps_run_one_after_the_other", ends::two_steps_run_one_after_the_other),
    ("the_first_bad_step_is_the_last", ends::the_first_bad_step_is_the_last),
    ("a_check_that_fails_blocks", ends::a_check_that_fails_blocks),
    ("what_can_not_be_started_is_blocked", ends::what_can_not_be_started_is_blocked),
    ("no_secret_reaches_a_file_of_the_supervisor", ends::no_secret_reaches_a_file_of_the_supervisor),
    ("a_program_that_was_swapped_is_never_executed", programs::a_program_that_was_swapped_is_never_executed),
];

/// Where the kernel counts nothing for us.
const POLLING: &[Test] = &[
    ("a_memory_hog_is_ended", limits::a_memory_hog_is_ended),
    ("a_fork_bomb_is_ended", limits::a_fork_bomb_is_ended),
    ("a_burner_of_processors_is_ended", limits::a_burner_of_processors_is_ended),
];

/// What a secret is to the supervisor: a variable of its own.
const SECRET: (&str, &str) = (orders::SECRET_NAME, orders::SECRET);

const GROUPS: [Group; 2] = [
    Group { prefix: "", tests: TESTS, variables: &[SECRET] },
    Group { prefix: "polling: ", tests: POLLING, variables: &[SECRET, ("RLX_WITHOUT", "cgroup")] },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["__confine", ..] => ExitCode::from(rlxp_launch::confine::helper()),
        ["act", what] => {
            acts::act(what);
            ExitCode::SUCCESS
        }
        [each::ONE, name] => each::run_one(&GROUPS, name),
        _ => each::run_all(&GROUPS),
    }
}
