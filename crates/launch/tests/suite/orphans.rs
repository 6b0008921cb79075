//! `kill -9` of a supervisor leaves no worker behind.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rlxp_launch::{Next, Worker, WorkerCommand};

use crate::common::{LONG, runs, wait_until_gone};
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![a_killed_supervisor_leaves_no_worker];

fn a_killed_supervisor_leaves_no_worker() {
    let mut supervisor = Command::new(std::env::current_exe().expect("a path"))
        .arg("supervise-worker")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let worker = first_line(&mut supervisor);
    assert!(runs(&worker), "the worker lives while its supervisor does");
    supervisor.kill().expect("SIGKILL");
    supervisor.wait().expect("reaped");
    wait_until_gone(&worker);
}

/// Starts a worker that never ends, prints its pid, and waits to be killed.
pub(crate) fn act_as_supervisor() {
    let args = vec!["-c".into(), "echo $$; exec sleep 60".into()];
    let command = WorkerCommand { program: "/bin/sh".into(), args, cwd: None, env: Vec::new() };
    let worker = Worker::spawn(&rlxp_launch::Permit::issue(), &command).expect("it starts");
    while let Next::Line(line) = worker.next_line(LONG) {
        println!("{line}");
    }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("it says the pid");
    line.trim().to_owned()
}
