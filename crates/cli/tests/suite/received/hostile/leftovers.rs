//! Leftovers of killed processes in `runs/` and in a run, and files that only look like them.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::edit::{file, link, pipe};
use crate::received::attack::{Case, attack, run};
use crate::received::outside::Outside;
use crate::received::project::{Base, ReceivedProject};

/// The temporary names that a command creates in `runs/`, as the kernel saw them. The process has exited since.
fn temporary_names(place: &ReceivedProject, line: &str) -> Vec<String> {
    let runs = Outside::watch(&place.project.path("runs"));
    let done = run(place, line);
    assert_eq!(done.code, Some(0), "{line}: {}", done.short());
    let mut names: Vec<String> = Vec::new();
    for seen in runs.touched() {
        let name = seen.split('/').next().unwrap();
        if name.starts_with(".tmp-") && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Nested folders, deeper than any path can express.
fn bottomless(folder: &Path) {
    const LEVELS: usize = 40;
    let name = "deep".repeat(50);
    std::fs::create_dir(folder).unwrap();
    let mut at: OwnedFd = openat(CWD, folder, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..LEVELS {
        mkdirat(&at, &name, Mode::from_raw_mode(0o755)).unwrap();
        at = openat(&at, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
}

type Make = fn(&ReceivedProject, &Path);

/// What may have the name of a leftover.
fn things() -> Vec<(&'static str, Make)> {
    vec![
        ("an empty folder", |_, path| std::fs::create_dir(path).unwrap()),
        ("a folder with a name that is no text", |_, path| {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join(OsStr::from_bytes(b"\xff")), "x").unwrap();
        }),
        ("a folder with a link to a folder outside", |to, path| {
            std::fs::create_dir(path).unwrap();
            link(&path.join("link"), &to.outside("run"));
        }),
        ("a link to a folder outside", |to, path| link(path, &to.outside("run"))),
        ("a link to a file outside", |to, path| link(path, &to.outside("secret.txt"))),
        ("a link to nothing", |to, path| link(path, &to.outside("made"))),
        ("a pipe", |_, path| pipe(path)),
        ("a folder with a pipe", |_, path| {
            std::fs::create_dir(path).unwrap();
            pipe(&path.join("pipe"));
        }),
        ("a file", |_, path| file(path, b"x")),
        ("a folder without bottom", |_, path| bottomless(path)),
    ]
}

#[test]
fn what_lies_in_runs_under_a_temporary_name_stops_no_training() {
    let mut problems = Vec::new();
    for maker in ["train small.yaml", "reproduce R", "rm good_002 --yes"] {
        for (what, make) in things() {
            let place = ReceivedProject::new(Base::Alone);
            if maker.contains("good_002") {
                assert_eq!(run(&place, "train small.yaml").code, Some(0));
            }
            let names = temporary_names(&place, maker);
            assert!(!names.is_empty(), "{maker} gives temporary names");
            let paths: Vec<PathBuf> =
                names.iter().map(|name| place.project.path("runs").join(name)).collect();
            for path in &paths {
                make(&place, path);
            }
            let outside = Outside::watch(&place.outside(""));
            let name = format!("{what} under a name of {maker}");
            for line in ["ls", "train small.yaml"] {
                let done = run(&place, line);
                problems
                    .extend(done.problems().into_iter().map(|problem| format!("{name}: {line}: {problem}")));
                if done.code != Some(0) {
                    problems.push(format!("{name}: {line}: has to work: {}", done.short()));
                }
                for path in paths.iter().filter(|path| line != "ls" && path.symlink_metadata().is_ok()) {
                    let told = done.stderr.lines().any(|line| {
                        line.contains("warning") && line.contains(path.file_name().unwrap().to_str().unwrap())
                    });
                    if !told {
                        problems
                            .push(format!("{name}: {line}: neither removes it nor warns: {}", done.short()));
                    }
                }
            }
            for found in [outside.touched(), outside.changed()] {
                if let Some(first) = found.first() {
                    problems.push(format!("{name}: touched {} places outside, such as {first}", found.len()));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// A name that no process of this machine created isn't touched: its creator may run on another one.
#[test]
fn temporary_names_of_other_machines_stay() {
    let place = ReceivedProject::new(Base::Alone);
    for name in
        [".tmp-", ".tmp-x", ".tmp-99999999-0-0123456789ab-new-good", ".tmp-1-0-0123456789ab-remove-good_001"]
    {
        std::fs::create_dir(place.project.path("runs").join(name)).unwrap();
    }
    let done = run(&place, "train small.yaml");
    assert_eq!(done.code, Some(0), "{}", done.short());
    let foreign = ".tmp-99999999-0-0123456789ab-new-good";
    assert!(place.project.path("runs").join(foreign).is_dir(), "a machine's mark is respected");
}

#[test]
fn what_lies_in_a_run_under_a_temporary_name_leads_nowhere() {
    let places = [
        ".tmp-99999999-0-metadata.json",
        "checkpoints/.tmp-99999999-0-step_128",
        "checkpoints/.replaced-step_999",
        "attempts/1/.tmp-99999999-0-claim.json",
        "labels/.tmp-99999999-0-1.json",
    ];
    // Entries that a plain removal fails on, or that lead elsewhere.
    let hard =
        ["a folder with a name", "a folder with a link", "a link to a folder", "a folder without bottom"];
    let mut cases = Vec::new();
    for at in places {
        for (what, make) in things() {
            if hard.iter().any(|start| what.starts_with(start)) {
                cases.push(Case::new(Base::Alone, format!("{at} is {what}"), move |to| {
                    std::fs::create_dir_all(to.run(at).parent().unwrap()).unwrap();
                    make(to, &to.run(at));
                }));
            }
        }
    }
    for name in ["checkpoints/.replaced-", "checkpoints/.replaced-.."] {
        cases.push(Case::new(Base::Alone, format!("a folder {name}"), move |to| {
            std::fs::create_dir(to.run(name)).unwrap();
        }));
    }
    attack(cases);
}
