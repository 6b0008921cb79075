//! A run's folder with everything that a step needs, and a step that is a script.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rlxp_launch::order::{
    ConfinementRequest, Level, Limits, Mechanisms, Reach, RunOrder, StepOrder, TreeOrder,
};
use rlxp_launch::{Confined, StepExit};
use tempfile::TempDir;

use crate::common::LONG;

pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) order: RunOrder,
}

/// The result of a step.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) exit: StepExit,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) opened: BTreeSet<String>,
    pub(crate) mechanisms: Mechanisms,
}

impl Stage {
    /// A step that runs `script` in `/bin/sh`, with full sandboxing.
    pub(crate) fn shell(script: &str) -> Self {
        Self::with(&["/bin/sh", "-c", script])
    }

    /// A step that runs `script` in Python.
    pub(crate) fn python(script: &str) -> Self {
        let mut stage = Self::with(&[&python(), "-c", script]);
        stage.step().readable = vec![python_prefix()];
        stage
    }

    pub(crate) fn with(argv: &[&str]) -> Self {
        Self::named("train, with : \\ marks", argv)
    }

    fn named(odd: &str, argv: &[&str]) -> Self {
        // Not in `/tmp`, of which a step has its own.
        let folder = TempDir::new_in("/var/tmp").unwrap();
        // Characters with a meaning in mount options.
        let run = folder.path().join(odd);
        let base = folder.path().join("base,of:all");
        for path in [&run, &base, &base.join("deep"), &run.join("train.changed"), &run.join("eval")] {
            std::fs::create_dir_all(path).unwrap();
        }
        std::fs::write(base.join("kept.txt"), "kept\n").unwrap();
        std::fs::write(base.join("reward.py"), "base\n").unwrap();
        std::fs::write(base.join("deep/removed.txt"), "removed\n").unwrap();
        std::fs::write(run.join("train.changed/reward.py"), "changed\n").unwrap();
        let step = StepOrder {
            name: "train".to_owned(),
            argv: argv.iter().map(|argument| (*argument).to_owned()).collect(),
            program: None,
            tree: TreeOrder {
                base,
                inputs: None,
                changed: run.join("train.changed"),
                work: run.join("train.work"),
                at: run.join("train.tree"),
                removed: vec!["deep/removed.txt".to_owned()],
            },
            folder: String::new(),
            environment: Vec::new(),
            values: Default::default(),
            set: BTreeMap::new(),
            readable: Vec::new(),
            watched: vec!["reward.py".to_owned(), "kept.txt".to_owned(), "not_there.py".to_owned()],
            artifacts: Vec::new(),
            needs: Vec::new(),
            is_check: false,
        };
        let limits = Limits {
            wall_clock: 60,
            cpu_time: 60,
            memory: 1 << 30,
            processes: 100,
            disk: 1 << 30,
            output: 1 << 20,
            silence: None,
        };
        let confinement = ConfinementRequest { least: Level::Full, network: Reach::None, hidden: Vec::new() };
        let (key, steps, linked) = ("key".to_owned(), vec![step], Vec::new());
        let expected = Vec::new();
        let order = RunOrder { key, folder: run, steps, limits, confinement, linked, scan: false, expected };
        Self { folder, order }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// With less than full sandboxing.
    pub(crate) fn at_least(mut self, least: Level) -> Self {
        self.order.confinement.least = least;
        self
    }

    /// A name that no other stage has.
    pub(crate) fn name(&self) -> String {
        format!("rlx-escape{}", self.path().file_name().unwrap().to_str().unwrap())
    }

    /// The folder that the step may write.
    pub(crate) fn own(&self) -> PathBuf {
        self.order.folder.join("train")
    }

    pub(crate) fn step(&mut self) -> &mut StepOrder {
        &mut self.order.steps[0]
    }

    /// Fills in what the script calls `@top@` (this folder), `@run@` (the run's folder) and `@name@`.
    pub(crate) fn fill_in(mut self) -> Self {
        let script = self.order.steps[0].argv.pop().unwrap();
        let script = script
            .replace("@top@", self.path().to_str().unwrap())
            .replace("@name@", &self.name())
            .replace("@run@", self.order.folder.to_str().unwrap());
        self.order.steps[0].argv.push(script);
        self
    }

    pub(crate) fn spawn(&self) -> Confined {
        let environment = [("PATH", "/usr/bin:/bin"), ("RLX_SEEN", "only this")];
        let environment: Vec<(OsString, OsString)> =
            environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let step = self.order.steps.last().expect("a step");
        Confined::spawn(&self.order, step, &environment, &[]).expect("the helper starts")
    }

    /// The reason why it isn't started.
    pub(crate) fn refusal(&self) -> String {
        let mut confined = self.spawn();
        let refused = confined.started().expect_err("it must not be started");
        assert_eq!(confined.processes(), Vec::<u32>::new());
        refused
    }

    pub(crate) fn run(&self) -> Outcome {
        let mut confined = self.spawn();
        let mechanisms = confined.started().expect("it starts");
        let (mut stdout, mut stderr) = confined.take_output().unwrap();
        let (mut out, mut err) = (String::new(), String::new());
        stdout.read_to_string(&mut out).unwrap();
        stderr.read_to_string(&mut err).unwrap();
        let exit = wait(&mut confined);
        Outcome { exit, out, err, opened: confined.opened(), mechanisms }
    }
}

pub(crate) fn wait(confined: &mut Confined) -> StepExit {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(exit) = confined.try_wait().unwrap() {
            return exit;
        }
        assert!(Instant::now() < deadline, "the step doesn't end");
        std::thread::yield_now();
    }
}

/// The interpreter itself, not one of the scripts that choose one.
pub(crate) fn python() -> String {
    of_python("sys.executable")
}

/// Where it is installed.
fn python_prefix() -> PathBuf {
    of_python("sys.base_prefix").into()
}

fn of_python(what: &str) -> String {
    let script = format!("import sys; print({what})");
    let said = Command::new("python3").args(["-c", &script]).output().unwrap();
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

/// Sets `RLX_WITHOUT` for as long as `body` runs.
pub(crate) fn without<T>(mechanisms: &str, body: impl FnOnce() -> T) -> T {
    // SAFETY: this program has one thread whenever a test begins.
    unsafe { std::env::set_var("RLX_WITHOUT", mechanisms) };
    let result = body();
    // SAFETY: as above.
    unsafe { std::env::remove_var("RLX_WITHOUT") };
    result
}
