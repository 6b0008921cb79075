//! Training in the background: it outlives its terminal and its shell, can be followed and stopped from elsewhere, and
//! leaves the record of a killed run when it is killed.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::interrupt::{LONG, Training};
use crate::killing::{kill, wait_gone};
use crate::project::Project;
use crate::records::assert_same_bytes;

/// More steps than any test waits for.
const ENDLESS: &str = "--set algo.total_timesteps=100000000";

/// Polls for as long as a busy machine may need.
#[track_caller]
fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::yield_now();
    }
}

/// A run in the background, stopped at the end of a test that fails.
pub(crate) struct Background<'a> {
    project: &'a Project,
    name: &'static str,
}

impl<'a> Background<'a> {
    /// Starts it with a command, and waits for its first record.
    fn start(project: &'a Project, line: &str, name: &'static str) -> Self {
        let report = project.rlx(&format!("{line} --detach --json")).expect(0).json();
        assert_eq!((&report["run"], &report["status"]), (&name.into(), &"running".into()), "{report}");
        assert_eq!(report["detached"], true);
        let this = Self { project, name };
        this.grows();
        this
    }

    /// Of a run that was started already.
    pub(crate) fn of(project: &'a Project, name: &'static str) -> Self {
        Self { project, name }
    }

    fn records(&self) -> usize {
        let run = self.project.path("runs").join(self.name);
        let length = |path: &str| std::fs::metadata(run.join(path)).map_or(0, |meta| meta.len() as usize);
        length("metrics.jsonl") + length("seeds/0/metrics.jsonl") + length("seeds/1/metrics.jsonl")
    }

    /// Waits for more records.
    #[track_caller]
    pub(crate) fn grows(&self) {
        let before = self.records();
        eventually("further record", || (self.records() > before).then_some(()));
    }

    fn claim(&self, attempt: u64) -> Value {
        let path = format!("runs/{}/attempts/{attempt}/claim.json", self.name);
        serde_json::from_slice(&std::fs::read(self.project.path(&path)).unwrap()).unwrap()
    }

    fn worker(&self, attempt: u64) -> u32 {
        self.claim(attempt)["pid"].as_u64().unwrap() as u32
    }

    /// The process that started the worker.
    pub(crate) fn supervisor(&self, attempt: u64) -> u32 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.worker(attempt))).unwrap();
        let (_, after_name) = stat.rsplit_once(") ").unwrap();
        after_name.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn info(&self) -> Value {
        self.project.rlx(&format!("info {} --json", self.name)).expect(0).json()
    }

    /// Follows the run to its end; its exit code and status.
    fn followed(&self) -> (Option<i32>, Value) {
        let ran = self.project.rlx(&format!("tail {} -n 0 --json", self.name));
        (ran.code, ran.json()["status"].clone())
    }
}

impl Drop for Background<'_> {
    fn drop(&mut self) {
        self.project.rlx(&format!("stop {} --now", self.name));
    }
}

#[test]
fn it_outlives_the_terminal_and_the_shell_that_started_it() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    // The shell hangs up on everything in its group, and is killed.
    let script = format!("trap : HUP; rlx train long.yaml {ENDLESS} --detach; kill -HUP 0; kill -KILL $$");
    let mut shell = project.command("sh");
    shell.args(["-c", &script]).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = shell.output().unwrap();
    let run = Background::of(&project, "long_001");
    assert!(!output.status.success());
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told, "long_001 is training in the background\n");
    let hints = String::from_utf8(output.stderr).unwrap();
    assert!(hints.contains("rlx tail long_001") && hints.contains("rlx stop long_001"), "{hints}");
    run.grows();
    // Its own group is hung up on, too.
    let supervisor = run.supervisor(1);
    kill_process_group(Pid::from_raw(supervisor as i32).unwrap(), Signal::HUP).unwrap();
    run.grows();
    assert_eq!(run.info()["status"], "running");
    // While it runs, a listing estimates the time left.
    let left = eventually("estimate", || project.rlx("ls --json").json()["runs"][0]["time_left"].as_u64());
    assert!(left > 0);
    let listed = project.rlx("ls").expect(0).stdout;
    assert!(listed.lines().next().unwrap().contains(" left "), "{listed}");
    project.rlx("stop long_001").expect(0);
    assert!(!project.rlx("ls").expect(0).stdout.contains(" left "));
    wait_gone(&[supervisor]);
    let log = std::fs::read_to_string(project.path("runs/long_001/logs/supervisor_1.log")).unwrap();
    assert!(log.contains("long_001: interrupted"), "{log}");
}

#[test]
fn killed_stopped_and_resumed_it_ends_with_the_same_bytes() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    project.rlx("train long.yaml").expect(0);
    let run = Background::start(&project, "train long.yaml", "long_002");
    let (supervisor, worker) = (run.supervisor(1), run.worker(1));
    kill(supervisor);
    wait_gone(&[supervisor, worker]);
    assert_eq!(run.info()["status"], "lost");
    assert_eq!(run.followed(), (Some(4), "lost".into()));
    let refused = project.rlx("stop long_002").expect(3);
    assert!(refused.stderr.contains("has ended without recording how"), "{}", refused.stderr);

    project.rlx("resume long_002 --detach").expect(0);
    let stopped = project.rlx("stop long_002 --json").expect(0).json();
    let expected = json!([{ "run": "long_002", "action": "asked", "status": "interrupted", "reason": null }]);
    assert_eq!(stopped["runs"], expected);
    let info = run.info();
    assert_eq!((&info["status"], &info["attempts"]), (&"interrupted".into(), &2.into()));
    let newest = info["seeds"][0]["checkpoints"].as_array().unwrap().last().unwrap().as_u64();
    assert_eq!(newest, info["seeds"][0]["steps"].as_u64(), "what was done is saved");
    assert_eq!(run.followed(), (Some(130), "interrupted".into()));
    project.rlx("stop long_002").expect(1);

    project.rlx("resume long_002 --detach").expect(0);
    assert_eq!(run.followed(), (Some(0), "completed".into()));
    assert_same_bytes(&project.path("runs/long_001"), &project.path("runs/long_002"), "");
}

#[test]
fn a_worker_that_dies_in_the_background_is_explained_in_the_record() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    let run = Background::start(&project, &format!("train long.yaml {ENDLESS} --set seeds=2"), "long_001");
    let (supervisor, worker) = (run.supervisor(1), run.worker(1));
    kill(worker);
    assert_eq!(run.followed(), (Some(4), "failed".into()));
    wait_gone(&[supervisor, worker]);
    let reason = run.info()["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("was ended by signal 9"), "{reason}");
    let end = std::fs::read(project.path("runs/long_001/attempts/1/end.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&end).unwrap()["cause"], "killed");
    assert_eq!(project.rlx("ls --json").json()["runs"][0]["status"], "failed");
    // The log is in the run's own folder, where a run with several seeds otherwise has none.
    let log = std::fs::read_to_string(project.path("runs/long_001/logs/supervisor_1.log")).unwrap();
    assert!(log.contains("was ended by signal 9"), "{log}");
}

#[test]
fn stopped_at_once_it_counts_as_interrupted() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    let run = Background::start(&project, &format!("train long.yaml {ENDLESS}"), "long_001");
    let (supervisor, worker) = (run.supervisor(1), run.worker(1));
    project.rlx("stop long_001 --now").expect(0);
    wait_gone(&[supervisor, worker]);
    let info = run.info();
    assert_eq!(info["status"], "interrupted");
    assert_eq!(info["reason"], "stopped by rlx stop --now");
}

#[test]
fn a_training_in_another_terminal_is_stopped_as_by_ctrl_c() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    let mut training = Training::start(&project, &format!("train long.yaml {ENDLESS}"));
    training.wait_for("progress");
    project.rlx("stop long_001 --no-wait").expect(0);
    let (code, report) = training.end();
    assert_eq!((code, &report["status"]), (Some(130), &"interrupted".into()));
}

#[test]
fn only_the_process_of_the_record_is_signalled() {
    let project = Project::trained();
    let not_running = project.rlx("stop tiny_001").expect(1);
    assert_eq!(not_running.stdout, "tiny_001 is not running (completed)\n");
    let first = std::fs::read(project.path("runs/tiny_001/attempts/1/claim.json")).unwrap();
    let claim: Value = serde_json::from_slice(&first).unwrap();
    let forged = |changes: Value| {
        let mut claim = claim.clone();
        claim.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        project.write("runs/tiny_001/attempts/2/claim.json", &claim.to_string());
        project.rlx("stop tiny_001").expect(3).stderr
    };
    // This process is alive, but it started at another time than the claim says.
    let own = std::process::id();
    let recycled = forged(json!({ "pid": own, "process_start": 1 }));
    assert!(recycled.contains("that number belongs to another process now"), "{recycled}");
    let stat = std::fs::read_to_string(format!("/proc/{own}/stat")).unwrap();
    let start: u64 = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
    let before = forged(json!({ "pid": own, "process_start": start, "boot_id": "an earlier one" }));
    assert!(before.contains("has ended without recording how"), "{before}");
    let elsewhere = json!({ "pid": own, "process_start": start, "boot_id": "x", "host": "elsewhere" });
    let elsewhere = forged(elsewhere);
    assert!(elsewhere.contains("on elsewhere; run rlx stop there"), "{elsewhere}");
    let contained = forged(json!({ "pid": own, "process_start": start, "process_namespace": "pid:[1]" }));
    assert!(contained.contains("in another container"), "{contained}");
    // It is alive and it is the one of the claim, but it was not started to train this run.
    let foreign = forged(json!({ "pid": own, "process_start": start }));
    assert!(foreign.contains("doesn't train the run in"), "{foreign}");
    project.write("runs/tiny_001/attempts/2/claim.json", "{");
    assert!(project.rlx("stop tiny_001").expect(3).stderr.contains("its claim can't be read"));
}

#[test]
fn the_copy_of_a_run_does_not_stop_the_original() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    let _run = Background::start(&project, &format!("train long.yaml {ENDLESS}"), "long_001");
    project.shell("cp -r runs/long_001 runs/copy_001").expect(0);
    for line in ["stop copy_001", "stop copy_001 --now"] {
        let refused = project.rlx(line).expect(3).stderr;
        assert!(refused.contains("is this a copy?"), "{refused}");
        assert!(!project.path("runs/copy_001/attempts/1/stop.json").exists());
    }
    assert_eq!(project.rlx("info long_001 --json").json()["status"], "running");
}

#[test]
fn what_can_not_start_fails_as_in_the_foreground() {
    let project = Project::trained();
    project.write("bad.yaml", "env: {id: CartPole-v1}\nalgo: {gama: 0.9}\n");
    for line in ["train bad.yaml", "train nothing.yaml", "resume nothing"] {
        let (here, away) = (project.rlx(line), project.rlx(&format!("{line} --detach")));
        assert_eq!((here.code, &here.stderr), (away.code, &away.stderr), "{line}");
    }
    // A record that the worker can't read.
    std::fs::remove_file(project.path("runs/tiny_001/attempts/1/end.json")).unwrap();
    std::fs::remove_file(project.path("runs/tiny_001/metrics.jsonl")).unwrap();
    std::fs::create_dir(project.path("runs/tiny_001/metrics.jsonl")).unwrap();
    let (here, away) =
        (project.rlx("resume tiny_001 --json"), project.rlx("resume tiny_001 --detach --json"));
    assert!(here.code.is_some_and(|code| code != 0));
    assert_eq!(here.code, away.code, "{}", away.stdout);
    assert_eq!(here.json()["message"], away.json()["message"]);
    // A run that is being trained.
    project.write("long.yaml", LONG);
    let _run = Background::start(&project, &format!("train long.yaml {ENDLESS}"), "long_001");
    let refused = project.rlx("resume long_001 --detach").expect(3);
    assert!(refused.stderr.contains("is being written by process"), "{}", refused.stderr);
}

#[test]
fn an_interrupt_while_it_starts_stops_it() {
    let project = Project::new();
    project.write("long.yaml", LONG);
    let mut starting = Training::start(&project, &format!("train long.yaml {ENDLESS} --detach"));
    starting.wait_for("created");
    starting.interrupt();
    let (code, report) = starting.end();
    assert_eq!(
        (code, &report["status"], &report["detached"]),
        (Some(130), &"interrupted".into(), &false.into())
    );
    let info = project.rlx("info long_001 --json").expect(0).json();
    assert_eq!(info["status"], "interrupted", "no run is left that nothing trains");
    project.rlx("stop long_001").expect(1);
    // Resumed in the background, it is as good as new.
    let run = Background::of(&project, "long_001");
    project.rlx("resume long_001 --detach").expect(0);
    run.grows();
}

#[test]
fn a_run_that_was_stopped_before_its_turn_is_not_said_to_train() {
    let project = Project::trained();
    std::fs::remove_dir_all(project.path("runs/tiny_001/attempts")).unwrap();
    let text = std::fs::read_to_string(project.path("runs/tiny_001/metadata.json")).unwrap();
    project.write("runs/tiny_001/metadata.json", &text.replace("\"completed\"", "\"created\""));
    project.rlx("stop tiny_001").expect(0);
    let folder = project.path("runs/tiny_001").display().to_string();
    let words = ["__supervise", "--parallel", "1", "--only-first", "--run", &folder];
    let said = project.rlx_with(&words).stdout;
    assert!(said.contains("\"stopped\"") && !said.contains("\"started\""), "{said}");
}

#[test]
fn a_log_that_can_not_be_written_is_a_failure_of_storage() {
    let project = Project::trained();
    std::fs::remove_file(project.path("runs/tiny_001/attempts/1/end.json")).unwrap();
    // A run with one seed has the folder from the beginning.
    drop(std::fs::remove_dir_all(project.path("runs/tiny_001/logs")));
    project.write("runs/tiny_001/logs", "not a folder");
    let failed = project.rlx("resume tiny_001 --detach").expect(74);
    assert!(failed.stderr.contains("can't create a log in"), "{}", failed.stderr);
}
