//! However a step ends, no process of it is left.

use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStdout, Command, Stdio};

use rlxp_launch::order::Level;
use rlxp_launch::{Confined, StepExit};

use super::stage::{Stage, wait, without};
use crate::common::{runs, wait_until_gone};
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    the_programs_own_end_is_reported,
    kill_ends_those_who_hide,
    dropping_ends_those_who_hide,
    those_who_outlive_the_program_are_ended,
    terminate_reaches_everybody,
    a_killed_supervisor_leaves_no_process,
    a_killed_helper_leaves_no_process,
    a_step_is_killed_before_it_starts,
];

/// Forks twice, into a new session each time, and ignores every signal that can be ignored.
const HIDE: &str = r#"
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
for _ in range(2):
    if os.fork():
        @parent@
    os.setsid()
print("hidden", flush=True)
while True:
    time.sleep(60)
"#;

/// With and without a namespace for processes.
fn both_ways(test: impl Fn(Stage)) {
    let stage = |parent: &str| Stage::python(&HIDE.replace("@parent@", parent));
    test(stage("time.sleep(60); os._exit(0)"));
    test(stage("os._exit(0) if _ else time.sleep(60)"));
    without("pid_namespace", || {
        let mut stage = stage("os._exit(0) if _ else time.sleep(60)");
        stage.order.confinement.least = Level::Partial;
        test(stage);
    });
}

/// Starts it and waits until it reports that it hides; also returns its processes at that moment.
fn hiding(stage: &Stage) -> (Confined, Vec<u32>, BufReader<ChildStdout>) {
    let mut confined = stage.spawn();
    confined.started().expect("it starts");
    let (stdout, _stderr) = confined.take_output().unwrap();
    let mut stdout = BufReader::new(stdout);
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "hidden\n");
    let processes = confined.processes();
    assert!(processes.len() >= 2, "{processes:?}");
    assert!(processes.iter().any(|process| runs(&process.to_string())));
    (confined, processes, stdout)
}

fn none_is_left(processes: &[u32]) {
    for process in processes {
        assert!(!runs(&process.to_string()), "{process} is still there");
    }
}

fn the_programs_own_end_is_reported() {
    let exit = |script: &str| Stage::shell(script).run().exit;
    assert_eq!(exit("exit 3"), StepExit { code: Some(3), signal: None });
    assert_eq!(exit("kill -9 $$"), StepExit { code: None, signal: Some(9) });
    assert_eq!(exit("kill -15 $$"), StepExit { code: None, signal: Some(15) });
    let outcome = Stage::shell("echo out; echo err >&2").run();
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("out\n", "err\n"));
}

fn kill_ends_those_who_hide() {
    both_ways(|stage| {
        let (mut confined, processes, mut stdout) = hiding(&stage);
        confined.kill();
        none_is_left(&processes);
        assert_eq!(confined.processes(), Vec::<u32>::new());
        assert_eq!(confined.try_wait().unwrap(), Some(StepExit { code: None, signal: Some(9) }));
        assert_eq!(stdout.read_to_end(&mut Vec::new()).unwrap(), 0);
    });
}

fn dropping_ends_those_who_hide() {
    both_ways(|stage| {
        let (confined, processes, _stdout) = hiding(&stage);
        drop(confined);
        none_is_left(&processes);
    });
}

fn those_who_outlive_the_program_are_ended() {
    let script = "setsid sleep 60 & setsid sleep 60 & echo ready; read line < ../train/go; exit 5";
    let test = |stage: Stage| {
        std::fs::create_dir(stage.own()).unwrap();
        let fifo = stage.own().join("go");
        Command::new("mkfifo").arg(&fifo).status().unwrap();
        let mut confined = stage.spawn();
        confined.started().expect("it starts");
        let (stdout, _stderr) = confined.take_output().unwrap();
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut String::new()).unwrap();
        let processes = confined.processes();
        assert!(processes.len() >= 3, "{processes:?}");
        assert_eq!(confined.try_wait().unwrap(), None);
        std::fs::write(&fifo, "go\n").unwrap();
        assert_eq!(wait(&mut confined), StepExit { code: Some(5), signal: None });
        none_is_left(&processes);
    };
    test(Stage::shell(script));
    without("pid_namespace", || {
        let mut stage = Stage::shell(script);
        stage.order.confinement.least = Level::Partial;
        test(stage);
    });
}

fn terminate_reaches_everybody() {
    let script = "trap 'wait; echo parent; exit 4' TERM
        sh -c 'trap \"echo child; exit\" TERM; echo ready; while :; do sleep 0.01; done' &
        while :; do sleep 0.01; done";
    let test = |stage: Stage| {
        let mut confined = stage.spawn();
        confined.started().expect("it starts");
        let (stdout, _stderr) = confined.take_output().unwrap();
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut String::new()).unwrap();
        confined.terminate();
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        let exit = wait(&mut confined);
        assert_eq!((rest.as_str(), exit.code), ("child\nparent\n", Some(4)), "{exit:?}");
    };
    test(Stage::shell(script));
    without("pid_namespace", || {
        let mut stage = Stage::shell(script);
        stage.order.confinement.least = Level::Partial;
        test(stage);
    });
}

fn a_killed_supervisor_leaves_no_process() {
    for mechanisms in ["", "pid_namespace", "landlock,user_namespace,pid_namespace"] {
        let mut supervisor = Command::new(std::env::current_exe().unwrap())
            .arg("supervise-step")
            .env("RLX_WITHOUT", mechanisms)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(supervisor.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let processes: Vec<&str> = line.split_whitespace().collect();
        assert!(processes.len() >= 2, "{line}");
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
        for process in processes {
            wait_until_gone(process);
        }
    }
}

/// Starts a step that hides, prints its processes, and waits to be killed.
pub(crate) fn act_as_supervisor() {
    let mut stage = Stage::python(&HIDE.replace("@parent@", "os._exit(0) if _ else time.sleep(60)"));
    stage.order.confinement.least = Level::None;
    let (_confined, processes, mut stdout) = hiding(&stage);
    let names: Vec<String> = processes.iter().map(u32::to_string).collect();
    println!("{}", names.join(" "));
    stdout.read_to_end(&mut Vec::new()).unwrap();
}

fn a_killed_helper_leaves_no_process() {
    let stage = Stage::python(&HIDE.replace("@parent@", "os._exit(0) if _ else time.sleep(60)"));
    let (mut confined, processes, _stdout) = hiding(&stage);
    let helper = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    Command::new("kill").args(["-9", helper.split_whitespace().next().unwrap()]).status().unwrap();
    assert_eq!(wait(&mut confined), StepExit { code: None, signal: Some(9) });
    none_is_left(&processes);
}

fn a_step_is_killed_before_it_starts() {
    for _ in 0..20 {
        let stage = Stage::shell("echo ran");
        let mut confined = stage.spawn();
        confined.kill();
        assert!(confined.try_wait().unwrap().is_some());
        assert_eq!(confined.processes(), Vec::<u32>::new());
    }
}
