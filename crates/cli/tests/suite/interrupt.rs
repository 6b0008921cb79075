//! Ctrl-C: the run is saved, can be resumed, and ends with the same bytes.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::project::{Project, RLX};
use crate::records::assert_same_bytes;

/// Long enough that an interrupt arrives in the middle, on a busy machine too.
pub(crate) const LONG: &str = "\
run_name: long
env: {id: CartPole-v1, num_envs: 4}
algo: {total_timesteps: 600000, rollout_steps: 64, batch_size: 64, update_epochs: 2}
policy: {hidden_sizes: [8, 8]}
checkpoint: {save_every: 150000, keep: 3}
eval: {every: 200000, episodes: 100}
threads: 1
";

/// A training in the background whose events are read one by one.
pub(crate) struct Training {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Training {
    pub(crate) fn start(project: &Project, arguments: &str) -> Self {
        let mut command = project.interruptible();
        command.args(arguments.split_whitespace()).arg("--json").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads on to the next event of this name.
    pub(crate) fn wait_for(&mut self, event: &str) -> Value {
        self.lines
            .by_ref()
            .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
            .find(|line| line["event"] == event)
            .unwrap_or_else(|| panic!("training ended without {event}"))
    }

    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// The exit code and the last line.
    pub(crate) fn end(mut self) -> (Option<i32>, Value) {
        let last = self.lines.by_ref().last().unwrap().unwrap();
        (self.child.wait().unwrap().code(), serde_json::from_str(&last).unwrap())
    }
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    project.rlx("train long.yaml").expect(0);
    for command in ["train long.yaml", "resume long_002"] {
        let mut training = Training::start(&project, command);
        training.wait_for("progress");
        training.interrupt();
        let (code, report) = training.end();
        assert_eq!((code, &report["status"]), (Some(130), &"interrupted".into()));
        assert_eq!(project.rlx("info long_002 --json").json()["status"], "interrupted");
        let refused = project.rlx("reproduce long_002").expect(3);
        assert!(refused.stderr.contains("hint: rlx resume long_002"), "{}", refused.stderr);
    }
    project.rlx("resume long_002").expect(0);
    assert_same_bytes(&project.path("runs/long_001"), &project.path("runs/long_002"), "");
}

#[test]
fn a_run_has_one_writer_and_many_readers() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    let mut training = Training::start(&project, "train long.yaml --set algo.total_timesteps=100000000");
    training.wait_for("progress");
    let refused = project.rlx("resume long_001").expect(3);
    assert!(refused.stderr.contains("is being written by process"), "{}", refused.stderr);
    project.rlx("rm long_001 --yes").expect(3);
    assert_eq!(project.rlx("ls --status running --json").json()["found"], 1);
    assert_eq!(project.rlx("tail long_001 -n 1 --no-follow --json").json()["status"], "running");
    // `rlx tail` prints records while training continues, and ends with it.
    let mut follower = project.command(RLX);
    follower.args(["tail", "long_001", "-n", "0", "--json"]).stdout(Stdio::piped());
    let mut follower = follower.spawn().unwrap();
    let mut records = BufReader::new(follower.stdout.take().unwrap()).lines();
    let record: Value = serde_json::from_str(&records.next().unwrap().unwrap()).unwrap();
    assert_eq!(record["schema"], "rlx.record/1");
    training.interrupt();
    let (code, _) = training.end();
    assert_eq!(code, Some(130));
    let last: Value = serde_json::from_str(&records.last().unwrap().unwrap()).unwrap();
    assert_eq!((&last["schema"], &last["status"]), (&"rlx.tail/1".into(), &"interrupted".into()));
    assert_eq!(follower.wait().unwrap().code(), Some(130), "the result of the training");
}

#[test]
fn a_second_interrupt_stops_at_once_and_loses_only_what_was_not_saved() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    let mut training = Training::start(&project, "train long.yaml --set algo.total_timesteps=100000000");
    training.wait_for("saved");
    training.interrupt();
    // The supervisor reports that it received the first one.
    training.wait_for("warning");
    training.interrupt();
    let (code, report) = training.end();
    assert_eq!((code, &report["status"]), (Some(130), &"interrupted".into()));
    let info = project.rlx("info long_001 --json").expect(0).json();
    assert_eq!(info["status"], "interrupted");
    assert!(!info["seeds"][0]["checkpoints"].as_array().unwrap().is_empty());
}
