//! A machine out of resources: no file handles, no threads, no larger files. That is an error with an exit code, never
//! an internal error of rlx and never a death by a signal.

use std::os::unix::fs::PermissionsExt;

use crate::project::{Project, RLX, Ran};

/// Runs `rlx` with `limit`, in the syntax of `prlimit`.
fn limited(project: &Project, limit: &str, line: &str) -> Ran {
    let output = project.command("prlimit").arg(limit).arg(RLX).args(line.split(' ')).output().unwrap();
    project.ran(format!("{limit} rlx {line}"), &output)
}

#[test]
fn a_file_that_may_not_grow_is_a_storage_error() {
    let project = Project::trained();
    // From too little for the first file of a run to too little for its metrics.
    for size in [1, 700, 3_000, 6_000, 10_000] {
        let ended = limited(&project, &format!("--fsize={size}"), "train tiny.yaml").expect(74);
        assert!(ended.stderr.contains("File too large"), "{size}: {}", ended.stderr);
    }
    limited(&project, "--fsize=100", "report tiny_001 --no-videos --output report.html").expect(74);
    limited(&project, "--fsize=1000000000", "train tiny.yaml").expect(0);
    // A run that has no weights to start from doesn't appear.
    let before = project.rlx("ls --json").json()["found"].clone();
    limited(&project, "--fsize=4096", "resume tiny_001 --total-timesteps 4096").expect(74);
    assert_eq!(project.rlx("ls --json").json()["found"], before);
    project.rlx("info tiny_001").expect(0);
}

#[test]
fn no_handles_left_is_told() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set seed=7").expect(0);
    for line in
        ["ls", "info tiny_001", "compare tiny_001 tiny_002", "report tiny_001 --no-videos", "train tiny.yaml"]
    {
        let mut last = None;
        for handles in (4..=20).chain([1024]) {
            let ran = limited(&project, &format!("--nofile={handles}"), line);
            let code = ran
                .code
                .unwrap_or_else(|| panic!("{line} with {handles} handles was killed: {}", ran.stderr));
            assert!([0, 4, 74].contains(&code), "{line} with {handles} handles: {code}\n{}", ran.stderr);
            assert!(
                code == 0 || ran.stderr.contains("Too many open files"),
                "{line} with {handles} handles: {}",
                ran.stderr
            );
            last = Some(code);
        }
        assert_eq!(last, Some(0), "{line}");
    }
}

#[test]
fn no_threads_left_is_slower_or_told() {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set seed=7").expect(0);
    // Limits don't apply to root, so another user runs the commands, with an id that no other process has.
    let program = project.path("rlx");
    std::fs::copy(RLX, &program).unwrap();
    project.shell("chmod -R a+rwX .").expect(0);
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { (200_000 + std::process::id() % 50_000).to_string() } else { String::new() };
    std::fs::set_permissions(project.folder(), PermissionsExt::from_mode(0o777)).unwrap();
    let with = |processes: u32, line: &str| {
        let mut command = project.command("prlimit");
        command.arg(format!("--nproc={processes}"));
        if is_root {
            command.args([
                "setpriv",
                "--reuid",
                &user,
                "--regid",
                &user,
                "--clear-groups",
                "--inh-caps=-all",
            ]);
        }
        let output = command.arg(&program).args(line.split(' ')).output().unwrap();
        project.ran(format!("{processes} processes: rlx {line}"), &output)
    };
    for line in [
        "ls",
        "compare tiny_001 tiny_002",
        "plot tiny_001 tiny_002 --terminal",
        "video tiny_001 --max-steps 5",
    ] {
        with(1, line).expect(0);
    }
    let none = with(1, "train tiny.yaml").expect(4);
    assert!(none.stderr.contains("can't start") && none.stderr.contains("ulimit -u"), "{}", none.stderr);
    for processes in 2..=6 {
        let ran = with(processes, "train tiny.yaml --set seeds=2 --set threads=2");
        assert!([Some(0), Some(4)].contains(&ran.code), "{processes}: {:?} {}", ran.code, ran.stderr);
        assert!(
            ran.code == Some(0) || ran.stderr.contains("can't start a thread"),
            "{processes}: {}",
            ran.stderr
        );
    }
    if is_root {
        with(64, "train tiny.yaml --set seeds=2 --set threads=2").expect(0);
    }
}
