//! `rlx rm` removes runs of this project and nothing else.

use crate::project::Project;
use crate::received::attack::run;
use crate::received::outside::Outside;
use crate::received::project::{Base, GOOD, RUN, ReceivedProject};
use crate::received::tree;

#[test]
fn a_run_of_another_project_is_not_removed() {
    let place = ReceivedProject::new(Base::Alone);
    let outside = Outside::watch(&place.outside(""));
    let elsewhere = place.outside("run");
    let relative = place.outside_from(&place.project.path("x"), "run");
    for path in [elsewhere, relative] {
        for line in [format!("rm {} --yes", path.display()), format!("rm {GOOD} {} --yes", path.display())] {
            let done = run(&place, &line);
            assert!(matches!(done.code, Some(2 | 3)), "{line}: {}", done.short());
            assert_eq!(outside.changed(), Vec::<String>::new(), "{line}");
            let names = tree::look(&place.project.path("runs"));
            assert!(names.keys().any(|path| path.starts_with(GOOD)), "{line}: all or nothing is removed");
            assert!(!names.keys().any(|path| path.to_string_lossy().starts_with(".tmp-")), "{line}");
        }
    }
}

#[test]
fn nothing_but_a_run_is_removed() {
    let place = ReceivedProject::new(Base::Alone);
    place.project.write("runs/notes/metadata.json/x", "mine");
    let before = tree::look(place.project.folder());
    for line in [
        "rm . --yes",
        "rm .. --yes",
        "rm runs --yes",
        "rm runs/ --yes",
        "rm runs/.. --yes",
        "rm / --yes",
        "rm runs/R/checkpoints --yes",
        "rm runs/R/checkpoints/step_64 --yes",
        "rm runs/.index.sqlite --yes",
        "rm small.yaml --yes",
    ] {
        let done = run(&place, line);
        assert!(matches!(done.code, Some(2 | 3)), "{line}: {}", done.short());
        let mut changes = tree::changes(&before, &tree::look(place.project.folder()));
        // The index may be created at any time, which changes the folder's own time.
        changes.retain(|change| {
            !change.starts_with("runs/.index.sqlite") && !change.starts_with("runs changed")
        });
        assert_eq!(changes, Vec::<String>::new(), "{line}");
    }
}

/// Other names of a run of this project are fine.
#[test]
fn a_run_is_removed_by_its_path_too() {
    let absolute = |project: &Project| project.path("runs").join(RUN).display().to_string();
    let names: [&dyn Fn(&Project) -> String; 3] =
        [&absolute, &|_| format!("runs/{RUN}"), &|_| format!("runs/../runs/{RUN}/")];
    for name in names {
        let place = ReceivedProject::new(Base::Alone);
        let line = format!("rm {} --yes", name(&place.project));
        let done = run(&place, &line);
        assert_eq!(done.code, Some(0), "{line}: {}", done.short());
        assert!(!place.run("").exists() && place.project.path("runs").join(GOOD).exists(), "{line}");
    }
}

/// Before it asks, it reports what would be removed and how large that is.
#[test]
fn what_would_be_removed_is_listed_with_its_bytes() {
    let place = ReceivedProject::new(Base::Alone);
    let done = run(&place, "rm R good_001");
    assert_eq!(done.code, Some(3), "{}", done.short());
    for name in [RUN, GOOD] {
        let told = format!("{}{}", done.stdout, done.stderr);
        let line = told.lines().find(|line| line.contains(name) && line.contains('B'));
        assert!(line.is_some(), "{name} with its bytes in {told}");
    }
    assert!(place.run("").exists());
}
