//! Orders to run, and checks that nothing of a run is left.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rlxp_launch::order::{ConfinementRequest, Level, Limits, Reach, RunOrder, StepEnd, StepOrder, TreeOrder};
use rlxp_launch::supervise::{RunReport, supervise};

pub(crate) const SECRET_NAME: &str = "RLX_TEST_SECRET";
pub(crate) const SECRET: &str = "canary-of-the-supervisor-4711";

/// A run in its own folder.
pub(crate) struct Fixture {
    top: tempfile::TempDir,
    pub(crate) order: RunOrder,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let top = tempfile::tempdir().expect("a folder");
        let folder = top.path().canonicalize().expect("a path").join("run");
        fs::create_dir(&folder).expect("a folder");
        fs::create_dir(top.path().join("base")).expect("a folder");
        fs::write(top.path().join("base/code.txt"), "the code\n").expect("a file");
        let order = RunOrder {
            key: format!(
                "test-{}-{}",
                std::process::id(),
                top.path().file_name().expect("a name").to_string_lossy()
            ),
            folder,
            steps: Vec::new(),
            limits: Limits {
                wall_clock: 120,
                cpu_time: 120,
                memory: 1 << 30,
                processes: 100,
                disk: 1 << 30,
                output: 1 << 20,
                silence: None,
            },
            confinement: ConfinementRequest { least: Level::None, network: Reach::None, hidden: Vec::new() },
            linked: Vec::new(),
            scan: false,
            expected: Vec::new(),
        };
        Self { top, order }
    }

    /// Adds a step that runs a program.
    pub(crate) fn step(&mut self, name: &str, argv: &[&str]) -> &mut StepOrder {
        let base = self.top.path().canonicalize().expect("a path").join("base");
        let beside = |what: &str| {
            let folder = self.order.folder.join(format!("{name}.{what}"));
            fs::create_dir(&folder).expect("a folder");
            folder
        };
        let tree = TreeOrder {
            base,
            inputs: None,
            changed: beside("changed"),
            work: beside("work"),
            at: beside("tree"),
            removed: Vec::new(),
        };
        self.order.steps.push(StepOrder {
            name: name.to_owned(),
            argv: argv.iter().map(|&one| one.to_owned()).collect(),
            program: None,
            tree,
            folder: String::new(),
            environment: Vec::new(),
            values: Default::default(),
            set: BTreeMap::new(),
            readable: Vec::new(),
            watched: Vec::new(),
            artifacts: Vec::new(),
            needs: Vec::new(),
            is_check: false,
        });
        self.order.steps.last_mut().expect("it was just added")
    }

    /// Adds a step that runs a shell script. `$TMPDIR/..` is the step's own folder.
    pub(crate) fn script(&mut self, name: &str, script: &str) -> &mut StepOrder {
        self.step(name, &["/bin/sh", "-c", script])
    }

    /// Adds a step that runs one of [`super::acts`].
    pub(crate) fn act(&mut self, name: &str, what: &str) -> &mut StepOrder {
        let program = std::env::current_exe().expect("a path");
        self.step(name, &[program.to_str().expect("a plain path"), "act", what])
    }

    /// Runs the order to its end and checks that no process and no control group is left.
    pub(crate) fn run(&self) -> RunReport {
        self.run_until(&|| false)
    }

    pub(crate) fn run_until(&self, called_off: &dyn Fn() -> bool) -> RunReport {
        let report =
            supervise(&rlxp_launch::Permit::issue(), &self.order, called_off).expect("it can be supervised");
        for end in &report.steps {
            let text = self.text(&format!("{}.json", end.name));
            assert_eq!(serde_json::from_str::<StepEnd>(&text).expect("the end of a step"), *end);
        }
        assert_eq!(processes_with(&self.order.folder), "", "processes are left");
        assert_eq!(groups_of(&self.order.key), Vec::<PathBuf>::new(), "groups are left");
        report
    }

    /// A file in the run's folder.
    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.order.folder.join(name)).expect(name)
    }
}

/// Processes whose environment points into `folder`, as lines of `/proc/PID/stat`: every process of a run has such an environment.
fn processes_with(folder: &Path) -> String {
    let needle = folder.to_str().expect("a plain path").as_bytes();
    let mut found = String::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.windows(needle.len()).any(|window| window == needle) {
            found.push_str(&fs::read_to_string(entry.path().join("stat")).unwrap_or_default());
        }
    }
    found
}

fn groups_of(key: &str) -> Vec<PathBuf> {
    let output =
        Command::new("find").args(["/sys/fs/cgroup", "-type", "d", "-name", &format!("*{key}*")]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().map(PathBuf::from).collect()
}
