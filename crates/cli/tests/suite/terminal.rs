//! On a real terminal, created by `script`: a line that is overwritten, colours,
//! questions and Ctrl-C.

use std::io::{BufReader, Read, Write};
use std::process::Stdio;

use crate::project::{LISTENING, Project};

/// A line typed into a terminal of its own; stdin and stdout are its screen.
fn on_a_terminal(project: &Project, line: &str) -> std::process::Command {
    let mut command = project.command("script");
    // -e passes on the exit code.
    command.args(["-qec", line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.env("TERM", "xterm");
    command
}

/// What a terminal shows for `line` when `typed` is typed, and the exit code.
pub(crate) fn seen(project: &Project, line: &str, typed: &str) -> (String, Option<i32>) {
    let child = on_a_terminal(project, line).spawn().expect("`script` of util-linux is installed");
    child.stdin.as_ref().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn progress_is_one_line_that_is_written_over() {
    let project = Project::new();
    let (screen, code) = seen(&project, "rlx train tiny.yaml", "");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("\r\x1b[2K2,048/2,048 100%"), "{screen:?}");
    assert!(screen.contains("\r\x1b[2Ktiny_001 completed"), "the line is gone before the answer: {screen:?}");
    assert!(screen.contains("\x1b[1;36mhint:\x1b[0m"), "{screen:?}");
    for line in ["rlx train tiny.yaml -q", "rlx train tiny.yaml --json"] {
        assert!(!seen(&project, line, "").0.contains("\x1b[2K"), "{line}");
    }
}

#[test]
fn colour_on_a_terminal_can_be_switched_off() {
    let project = Project::trained();
    assert!(seen(&project, "rlx ls", "").0.contains("\x1b[1m"));
    for line in ["NO_COLOR=1 rlx ls", "rlx ls --color never", "rlx ls --json"] {
        assert!(!seen(&project, line, "").0.contains('\x1b'), "{line}");
    }
}

#[test]
fn removal_asks_and_takes_no_for_an_answer() {
    let project = Project::trained();
    let (screen, code) = seen(&project, "rlx rm tiny_001", "n\n");
    // Typed characters may be echoed anywhere around it.
    assert!(screen.contains("permanently remove tiny_001? [y/N]"), "{screen}");
    assert_eq!(code, Some(3));
    assert_eq!(seen(&project, "rlx rm tiny_001", "\n").1, Some(3), "no answer is a no");
    assert_eq!(project.rlx("ls --json").json()["found"], 1);
    assert_eq!(seen(&project, "rlx rm tiny_001", "y\n").1, Some(0));
    assert_eq!(project.rlx("ls --json").json()["found"], 0);
}

#[test]
fn ctrl_c_saves_and_says_how_to_go_on() {
    let project = Project::new();
    let line = format!(
        "env {LISTENING} rlx train tiny.yaml --set algo.total_timesteps=100000000 --set eval.every=0"
    );
    let mut child = on_a_terminal(&project, &line).spawn().unwrap();
    let mut screen = Vec::new();
    let mut output = BufReader::new(child.stdout.take().unwrap()).bytes();
    // Progress is shown once there is a percentage.
    while !screen.ends_with(b"0%") {
        screen.push(output.next().expect("training goes on").unwrap());
    }
    child.stdin.as_ref().unwrap().write_all(b"\x03").unwrap();
    screen.extend(output.map(Result::unwrap));
    let screen = String::from_utf8(screen).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{screen}");
    assert!(screen.contains("saving a checkpoint; press Ctrl-C again to stop immediately"), "{screen}");
    assert!(screen.contains("tiny_001 interrupted: "), "{screen}");
    assert!(screen.contains("rlx resume tiny_001"), "{screen}");
    let info = project.rlx("info tiny_001 --json").json();
    assert_eq!(info["status"], "interrupted");
    let newest = info["seeds"][0]["checkpoints"].as_array().unwrap().last().unwrap().as_u64();
    assert_eq!(newest, info["seeds"][0]["steps"].as_u64(), "what was done is saved");
}
