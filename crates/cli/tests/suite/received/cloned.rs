//! A cloned project whose git settings, hooks, attributes and files name programs wherever a tool might look for one.
//! Commands that only read run none of them, and start nothing but git.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::project::{Project, RLX, Ran};
use crate::received::project::small_project;
use crate::strace::{OPTIONS, Trace};

/// Commands that only read, and whether they may start git: only those that compare code do.
const READING: [(&str, bool); 23] = [
    ("ls", false),
    ("info good_001", false),
    ("info @last", false),
    ("tag good_001", false),
    ("tail good_001 -n 2 --no-follow", false),
    ("compare good_001 good_002", true),
    ("diagnose good_001", false),
    ("suggest good_001", false),
    ("analyze good_001", false),
    ("explain-metrics good_001", false),
    ("summarize", false),
    ("summarize good_001", false),
    ("inspect good_001 --states 5 --samples 1", false),
    ("plot good_001 good_002 --terminal", false),
    ("config check small.yaml", false),
    ("config show small.yaml", false),
    ("config schema", false),
    ("envs", false),
    ("eval good_001 --episodes 1", false),
    ("train small.yaml --dry-run", true),
    ("completions bash", false),
    ("rm good_001", false),
    ("study status", true),
];

/// Commands that write or start a training: what they start is git and rlx itself.
const WRITING: [&str; 7] = [
    "train small.yaml",
    "resume good_001",
    "reproduce good_001",
    "report good_001 good_002 --no-videos --output report.html",
    "plot good_001",
    "tag good_001 fresh",
    "rm good_001 --yes",
];

/// A cloned project, and the file that any of its programs would create.
struct Cloned {
    project: Project,
    marker: PathBuf,
}

impl Cloned {
    /// Two runs from two commits, and then everything that its author could plant.
    fn new() -> Self {
        let project = small_project();
        let marker = project.home().join("marker");
        let git = |words: &[&str]| {
            let output = project.command("git").args(words).output().unwrap();
            assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["config", "user.name", "Stranger"]);
        git(&["config", "user.email", "stranger@example.org"]);
        project.write(".gitignore", "runs/\nplaced/\n");
        for version in ["1", "2"] {
            project.write("code.py", &format!("version = {version}\n"));
            git(&["add", "."]);
            git(&["commit", "-q", "-m", version]);
            project.rlx("train small.yaml").expect(0);
        }
        let cloned = Self { project, marker };
        cloned.poison();
        cloned
    }

    fn poison(&self) {
        let marker = self.marker.display();
        let run = format!("touch {marker}");
        // It starts no other program, so it works with any search path.
        let script = format!("#!/bin/sh\n: > {marker}\nexit 1\n");
        let place = |name: &str| {
            self.project.write(name, &script);
            std::fs::set_permissions(self.project.path(name), std::fs::Permissions::from_mode(0o755))
                .unwrap();
        };
        for hook in [
            "post-checkout",
            "post-index-change",
            "pre-commit",
            "reference-transaction",
            "fsmonitor-watchman",
            "post-merge",
            "pre-auto-gc",
        ] {
            place(&format!(".git/hooks/{hook}"));
            place(&format!(".githooks/{hook}"));
        }
        // Where a name without a folder would be looked up.
        for name in
            ["git", "bin/git", "sh", "rlx", "python", "python3", "strip", "less", "xdg-open", "ssh", "gpg"]
        {
            place(name);
        }
        let mut config = std::fs::read_to_string(self.project.path(".git/config")).unwrap();
        config.push_str(&format!(
            "[core]\n\
             fsmonitor = {run}\n hooksPath = .githooks\n pager = {run}\n editor = {run}\n askPass = {run}\n\
             sshCommand = {run}\n gitProxy = {run}\n alternateRefsCommand = {run}\n\
             [diff]\n external = {run}\n\
             [diff \"x\"]\n textconv = {run}\n command = {run}\n\
             [filter \"x\"]\n clean = {run}\n smudge = {run}\n process = {run}\n required = true\n\
             [filter \"a=b\"]\n clean = {run}\n\
             [merge \"x\"]\n driver = {run}\n\
             [alias]\n status = !{run}\n diff = !{run}\n rev-parse = !{run}\n log = !{run}\n ls-files = !{run}\n\
             [pager]\n diff = {run}\n log = {run}\n rev-parse = {run}\n\
             [credential]\n helper = !{run}\n\
             [gpg]\n program = {run}\n[log]\n showSignature = true\n\
             [interactive]\n diffFilter = {run}\n\
             [extensions]\n partialClone = origin\n\
             [remote \"origin\"]\n url = ext::sh -c {run}\n promisor = true\n\
             [protocol \"ext\"]\n allow = always\n\
             [submodule \"x\"]\n update = !{run}\n url = ext::sh -c {run}\n\
             [trace2]\n eventTarget = {marker}\n normalTarget = {marker}\n",
        ));
        self.project.write(".git/config", &config);
        self.project.write(".gitattributes", "* filter=x diff=x merge=x\n*.py filter=a=b diff=x\n");
        self.project.write(
            ".gitmodules",
            &format!("[submodule \"x\"]\npath = x\nurl = ext::sh -c {run}\nupdate = !{run}\n"),
        );
        for name in ["rlx.toml", ".rlx.toml", ".rlx/config.toml", "configs/rlx.toml"] {
            self.project.write(
                name,
                &format!(
                    "trusted = true\n[hooks]\nbefore = \"{run}\"\nls = \"{run}\"\n[alias]\nls = \"!{run}\"\n"
                ),
            );
        }
        self.project.write(
            ".env",
            &format!("PATH=.\nLD_PRELOAD=./evil.so\nRLX_HOOK={run}\nPAGER={run}\nGIT_EXTERNAL_DIFF={run}\n"),
        );
        self.project.write(".envrc", &format!("{run}\n"));
        self.project.write("sitecustomize.py", &format!("import os; os.system('{run}')\n"));
        // So that git has to read the work tree.
        self.project.write("code.py", "version = 3\n");
    }

    /// Runs a command under strace.
    fn traced(&self, line: &str, path: Option<&str>) -> (Ran, Trace) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut command = self.project.command("strace");
        command.args(OPTIONS).arg("-o").arg(file.path());
        // strace doesn't have to search for anything: what it starts has a path.
        match path {
            Some(path) => command.args(["-E", &format!("PATH={path}")]),
            None => command.args(["-E", "PATH"]),
        };
        let output = command.arg(RLX).args(line.split_whitespace()).output();
        let output = output.expect("this test needs strace: `cargo xtask setup` installs it");
        let trace = Trace::read(&std::fs::read_to_string(file.path()).unwrap());
        (self.project.ran(line.to_owned(), &output), trace)
    }

    #[track_caller]
    fn check_marker(&self, line: &str) {
        assert!(!self.marker.exists(), "{line} ran a program of the project");
    }
}

/// Programs that a command started, by their first word, and where they are.
fn started(trace: &Trace) -> Vec<String> {
    trace.programs.iter().map(|program| program.argv.join(" ")).collect()
}

fn usual_path() -> String {
    std::env::var("PATH").unwrap()
}

/// A plain git that trusts these settings does run the programs, so the test can fail.
#[test]
fn the_cloned_project_is_really_hostile() {
    let cloned = Cloned::new();
    for words in [&["status"][..], &["diff"], &["log", "-1", "-p"]] {
        drop(cloned.project.command("git").args(words).output().unwrap());
        assert!(cloned.marker.exists(), "git {words:?} runs what the settings name");
        std::fs::remove_file(&cloned.marker).unwrap();
    }
}

#[test]
fn reading_a_cloned_project_runs_nothing_of_it() {
    let cloned = Cloned::new();
    let mut problems = Vec::new();
    for (line, may_ask_git) in READING {
        let (ran, trace) = cloned.traced(line, Some(&usual_path()));
        assert!(!matches!(ran.code, None | Some(70 | 101)), "{line}: {:?}\n{}", ran.code, ran.stderr);
        cloned.check_marker(line);
        for words in started(&trace) {
            let is_git = words.starts_with("git ");
            if !(is_git && may_ask_git) {
                problems.push(format!("{line} starts {words}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn writing_in_a_cloned_project_starts_git_and_rlx_alone() {
    let cloned = Cloned::new();
    for line in WRITING {
        let (ran, trace) = cloned.traced(line, Some(&usual_path()));
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        cloned.check_marker(line);
        for words in started(&trace) {
            let own = words.starts_with(RLX) || words.starts_with("rlx ");
            assert!(own || words.starts_with("git "), "{line} starts {words}");
        }
    }
}

/// A `PATH` that is missing, empty or contains the working folder, where the project has its own `git`.
#[test]
fn without_a_path_no_program_of_the_project_is_found() {
    let cloned = Cloned::new();
    let usual = usual_path();
    let paths = [
        None,
        Some(String::new()),
        Some(".".into()),
        Some("bin".into()),
        Some(format!(":{usual}")),
        Some(format!("bin:{usual}:")),
    ];
    let mut problems = Vec::new();
    for path in paths {
        for line in ["ls", "compare good_001 good_002", "train small.yaml", "reproduce good_001"] {
            let (ran, trace) = cloned.traced(line, path.as_deref());
            let name = format!("{line} with PATH {path:?}");
            if ran.code != Some(0) {
                problems.push(format!("{name}: exit {:?}, {}", ran.code, ran.stderr));
            }
            if cloned.marker.exists() {
                problems.push(format!("{name} ran a program of the project: {:?}", started(&trace)));
                std::fs::remove_file(&cloned.marker).unwrap();
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
