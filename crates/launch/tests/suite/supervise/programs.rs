//! Programs that have changed since the run was allowed.

use std::fs;
use std::path::Path;

use rlxp_fs::RealFs;
use rlxp_launch::order::StepOutcome;
use rlxp_launch::programs::{follow, search_folders, see};
use rlxp_types::Digest;

use super::orders::Fixture;
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] =
    tests![a_program_that_was_swapped_is_never_executed, an_interpreter_that_was_swapped_is_never_executed,];

fn digest(program: &Path) -> Digest {
    let chain = follow(program, None, &search_folders(), &mut |path| see(&RealFs, path));
    chain.expect("readable programs").digest
}

/// Each of these steps records in its folder that it ran. `!` marks a step whose program was checked, `?` a check step.
fn steps(program: &Path, gated: Digest, names: &[&str]) -> Fixture {
    let mut fixture = Fixture::new();
    for name in names {
        let plain = name.trim_end_matches(['!', '?']);
        let is_gated = name.ends_with('!');
        let program = if is_gated { program } else { Path::new("/bin/sh") };
        let argv = [program.to_str().expect("a plain path"), "-c", "echo > $TMPDIR/../ran"];
        let step = fixture.step(plain, &argv);
        step.program = is_gated.then_some(gated);
        step.is_check = name.ends_with('?');
    }
    fixture
}

fn a_program_that_was_swapped_is_never_executed() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().canonicalize().expect("a path");
    let (program, real) = (top.join("program"), top.join("real"));
    fs::copy("/bin/sh", &real).expect("a copy");
    std::os::unix::fs::symlink("real", &program).expect("a link");
    let gated = digest(&program);
    let fixture = steps(&program, gated, &["train!", "eval!"]);
    assert_eq!(fixture.run().how, StepOutcome::Ok);

    fs::remove_file(&program).expect("it is there");
    std::os::unix::fs::symlink("/bin/sh", &program).expect("a link");
    let reason = format!("{} has changed since the run was allowed", program.display());
    for names in [&["train!", "eval!"][..], &["check?", "train!"]] {
        let fixture = steps(&program, gated, names);
        let report = fixture.run();
        assert_eq!((report.how, report.reason.trim()), (StepOutcome::Blocked, reason.as_str()), "{names:?}");
        assert!(!fixture.order.folder.join("train/ran").exists());
    }
    // A known result must not be discardable by changing a program.
    let fixture = steps(&program, gated, &["check?", "train", "eval!"]);
    let report = fixture.run();
    let reason = format!("eval can't start although train has run: {reason}");
    assert_eq!((report.how, report.reason.trim()), (StepOutcome::Failed, reason.as_str()));
    assert_eq!(report.steps.last().map(|end| end.how), Some(StepOutcome::Failed));
    assert!(fixture.order.folder.join("train/ran").exists());
    assert!(!fixture.order.folder.join("eval/ran").exists());
}

/// The script stays as it is, and so does the name of what it is run by.
fn an_interpreter_that_was_swapped_is_never_executed() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().canonicalize().expect("a path");
    let (script, interpreter) = (top.join("script"), top.join("interpreter"));
    fs::copy("/bin/sh", &interpreter).expect("a copy");
    let text = format!("#!{}\necho > $TMPDIR/../ran\n", interpreter.display());
    fs::write(&script, text).expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).expect("an executable script");
    let gated = digest(&script);
    let run = || {
        let mut fixture = Fixture::new();
        let step = fixture.step("train", &[script.to_str().expect("a plain path")]);
        step.program = Some(gated);
        step.readable = vec![top.clone()];
        let report = fixture.run();
        (report.how, report.reason, fixture.order.folder.join("train/ran").exists())
    };
    assert_eq!((run().0, run().2), (StepOutcome::Ok, true));
    fs::remove_file(&interpreter).expect("it is there");
    std::os::unix::fs::symlink("/bin/sh", &interpreter).expect("a link");
    let (how, reason, has_run) = run();
    assert_eq!((how, has_run), (StepOutcome::Blocked, false), "{reason}");
    assert!(reason.contains("has changed since the run was allowed"), "{reason}");
}
