//! The worker against real child processes.

use std::time::{Duration, Instant};

use rlxp_launch::{LaunchError, Next, OutOfMemory, Worker, WorkerCommand};

use crate::common::{LONG, runs, wait_until_gone};
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    lines_arrive_in_order_and_then_the_pipe_closes,
    a_silent_child_times_out_and_can_be_asked_again,
    an_exit_code_is_reported_as_a_code,
    a_deadly_signal_is_reported_as_a_signal,
    a_kill_from_outside_is_not_mistaken_for_ours,
    an_interrupt_lets_the_child_save_and_choose_its_code,
    the_child_has_a_group_of_its_own_and_no_input,
    what_the_child_started_ends_with_it,
    a_dropped_worker_is_killed,
    the_end_of_stderr_is_kept_and_a_flood_does_not_block_the_child,
    waiting_without_reading_does_not_block_a_child_that_talks,
    folder_and_variables_are_passed_on,
    a_program_that_is_not_there_is_named,
    a_child_dies_of_the_file_size_limit_as_programs_expect,
];

fn shell(script: &str) -> Worker {
    let args = vec!["-c".into(), script.into()];
    Worker::spawn(
        &rlxp_launch::Permit::issue(),
        &WorkerCommand { program: "/bin/sh".into(), args, cwd: None, env: Vec::new() },
    )
    .expect("a shell starts")
}

fn line(worker: &Worker) -> String {
    match worker.next_line(LONG) {
        Next::Line(line) => line,
        other => panic!("a line was expected, not {other:?}"),
    }
}

fn lines_arrive_in_order_and_then_the_pipe_closes() {
    let mut worker = shell("echo one; echo two; printf torn");
    assert_eq!([line(&worker), line(&worker), line(&worker)], ["one", "two", "torn"]);
    assert_eq!(worker.next_line(LONG), Next::Closed);
    assert_eq!(worker.wait().unwrap().code, Some(0));
}

fn a_silent_child_times_out_and_can_be_asked_again() {
    let mut worker = shell("kill -STOP $$; echo awake");
    assert_eq!(worker.next_line(Duration::from_millis(20)), Next::TimedOut);
    assert_eq!(worker.try_wait().unwrap(), None);
    let pid = rustix::process::Pid::from_raw(worker.pid() as i32).unwrap();
    // It may not have stopped itself yet, so it is woken until it prints something.
    let deadline = Instant::now() + LONG;
    loop {
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        match worker.next_line(Duration::from_millis(10)) {
            Next::Line(line) => break assert_eq!(line, "awake"),
            Next::TimedOut if Instant::now() < deadline => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(worker.wait().unwrap().code, Some(0));
}

fn an_exit_code_is_reported_as_a_code() {
    let ended = shell("exit 74").wait().unwrap();
    assert_eq!((ended.code, ended.signal), (Some(74), None));
    assert_eq!(ended.out_of_memory, OutOfMemory::No);
}

fn a_deadly_signal_is_reported_as_a_signal() {
    let ended = shell("kill -SEGV $$").wait().unwrap();
    assert_eq!((ended.code, ended.signal), (None, Some(libc::SIGSEGV)));
    assert_eq!(ended.out_of_memory, OutOfMemory::No);
}

fn a_kill_from_outside_is_not_mistaken_for_ours() {
    let ended = shell("kill -KILL $$").wait().unwrap();
    assert_eq!(ended.signal, Some(libc::SIGKILL));
    let mut worker = shell("echo up; while :; do :; done");
    line(&worker);
    worker.kill().unwrap();
    let ended = worker.wait().unwrap();
    assert_eq!((ended.signal, ended.out_of_memory), (Some(libc::SIGKILL), OutOfMemory::No));
}

fn an_interrupt_lets_the_child_save_and_choose_its_code() {
    let mut worker = shell("trap 'echo saved; exit 130' INT; echo up; while :; do :; done");
    assert_eq!(line(&worker), "up");
    worker.interrupt().unwrap();
    assert_eq!(line(&worker), "saved");
    assert_eq!(worker.wait().unwrap().code, Some(130));
    worker.interrupt().expect("signalling a child that has ended is no error");
    worker.kill().expect("killing it is none either");
}

fn the_child_has_a_group_of_its_own_and_no_input() {
    let worker = shell("cut -d' ' -f5 /proc/$$/stat; if read x; then echo input; else echo none; fi");
    assert_eq!(line(&worker), worker.pid().to_string());
    assert_eq!(line(&worker), "none");
}

fn what_the_child_started_ends_with_it() {
    let worker = &mut shell("sleep 60 & echo $!; exit 3");
    let grandchild = line(worker);
    assert_eq!(worker.wait().unwrap().code, Some(3));
    wait_until_gone(&grandchild);
}

fn a_dropped_worker_is_killed() {
    let worker = shell("echo up; while :; do :; done");
    line(&worker);
    let pid = worker.pid().to_string();
    assert!(runs(&pid));
    drop(worker);
    assert!(!runs(&pid));
}

fn the_end_of_stderr_is_kept_and_a_flood_does_not_block_the_child() {
    let mut worker = shell(
        "i=0; while [ $i -lt 3000 ]; do echo 'a line of about forty bytes of noise here' >&2; i=$((i+1)); done; echo reason >&2; exit 4",
    );
    assert_eq!(worker.wait().unwrap().code, Some(4));
    let tail = worker.stderr_tail();
    assert!(tail.ends_with("noise here\nreason\n"));
    assert!(tail.contains("earlier bytes dropped") && tail.len() < 66_000, "{}", tail.len());
}

fn waiting_without_reading_does_not_block_a_child_that_talks() {
    let mut worker = shell("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; exit 5");
    assert_eq!(worker.wait().unwrap().code, Some(5));
}

fn folder_and_variables_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let args = vec!["-c".into(), "pwd -P; echo $RLX_LAUNCH_TEST".into()];
    let env = vec![("RLX_LAUNCH_TEST".into(), "given".into())];
    let cwd = Some(folder.path().to_owned());
    let worker = Worker::spawn(
        &rlxp_launch::Permit::issue(),
        &WorkerCommand { program: "/bin/sh".into(), args, cwd, env },
    )
    .unwrap();
    assert!(line(&worker).ends_with(folder.path().file_name().unwrap().to_str().unwrap()));
    assert_eq!(line(&worker), "given");
}

fn a_program_that_is_not_there_is_named() {
    let program = "/nowhere/rlx".into();
    let command = WorkerCommand { program, args: Vec::new(), cwd: None, env: Vec::new() };
    let error = Worker::spawn(&rlxp_launch::Permit::issue(), &command).err().expect("nothing to start");
    assert!(matches!(error, LaunchError::Start { .. }));
    assert_eq!(error.to_string(), "can't start /nowhere/rlx");
}

fn a_child_dies_of_the_file_size_limit_as_programs_expect() {
    rlxp_launch::signals::survive_file_size_limit();
    let worker = shell("grep SigIgn /proc/self/status; grep SigIgn /proc/$PPID/status");
    let ignores = |told: String| {
        let ignored = u64::from_str_radix(told.trim_start_matches("SigIgn:").trim(), 16).unwrap();
        ignored >> (libc::SIGXFSZ - 1) & 1 == 1
    };
    assert!(!ignores(line(&worker)), "the child has the default");
    assert!(ignores(line(&worker)), "this process doesn't");
}
