//! `kill -9` of a supervisor leaves no worker behind.
//!
//! This program runs itself a second time as the supervisor to be killed; that
//! one starts its worker from its main thread, as `rlx` does.
#![expect(clippy::disallowed_types, reason = "the supervisor under test is a process too")]
#![expect(clippy::print_stdout, reason = "the killed supervisor talks through its stdout")]

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use common::{LONG, runs, wait_until_gone};
use rlxp_launch::{Next, Worker, WorkerCommand};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("act-as-supervisor") {
        return act_as_supervisor();
    }
    a_killed_supervisor_leaves_no_worker();
    println!("test a_killed_supervisor_leaves_no_worker ... ok\n\ntest result: ok. 1 passed");
}

fn a_killed_supervisor_leaves_no_worker() {
    let mut supervisor = Command::new(std::env::current_exe().expect("a path"))
        .arg("act-as-supervisor")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let worker = first_line(&mut supervisor);
    assert!(runs(&worker), "the worker lives while its supervisor does");
    supervisor.kill().expect("SIGKILL");
    supervisor.wait().expect("reaped");
    wait_until_gone(&worker);
}

/// Starts a worker that never ends, tells its pid, and waits for more.
fn act_as_supervisor() {
    let args = vec!["-c".into(), "echo $$; exec sleep 60".into()];
    let command = WorkerCommand { program: "/bin/sh".into(), args, cwd: None, env: Vec::new() };
    let worker = Worker::spawn(&command).expect("it starts");
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
