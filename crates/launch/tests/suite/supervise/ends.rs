//! Every way in which a run can end, and what is recorded about it.

use std::fs;
use std::path::Path;

use rlxp_launch::order::{Level, StepOutcome};

use super::orders::{Fixture, SECRET, SECRET_NAME};
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    a_folder_that_cannot_be_listed_hides_nothing,
    a_run_can_be_called_off,
    a_signal_to_the_supervisor_calls_the_run_off,
    artifacts_must_be_there,
    two_steps_run_one_after_the_other,
    the_first_bad_step_is_the_last,
    a_check_that_fails_blocks,
    what_can_not_be_started_is_blocked,
    no_secret_reaches_a_file_of_the_supervisor,
    a_link_that_leads_out_is_refused,
    what_evaluation_reads_is_what_training_left,
    a_run_can_be_called_off_while_its_files_are_read,
];

fn a_run_can_be_called_off() {
    let mut fixture = Fixture::new();
    fixture.script("train", "echo begun > $TMPDIR/begun; sleep 60");
    fixture.script("eval", "echo never");
    let begun = fixture.order.folder.join("train/tmp/begun");
    let report = fixture.run_until(&|| begun.exists());
    assert_eq!(
        (report.how, report.reason.as_str(), report.steps.len()),
        (StepOutcome::Cancelled, "it was cancelled", 1)
    );
    assert_eq!(report.steps[0].signal, Some(15), "{report:?}");
}

fn a_signal_to_the_supervisor_calls_the_run_off() {
    let mut fixture = Fixture::new();
    fixture.script("train", "echo begun > $TMPDIR/begun; sleep 60");
    let begun = fixture.order.folder.join("train/tmp/begun");
    let sent = std::cell::Cell::new(false);
    let send = || {
        if begun.exists() && !sent.replace(true) {
            // A supervisor ignores the first.
            for signal in [libc::SIGINT, libc::SIGTERM] {
                // SAFETY: sends a signal to this process, which handles it.
                assert_eq!(unsafe { libc::raise(signal) }, 0);
            }
        }
        false
    };
    let report = fixture.run_until(&send);
    assert!(sent.get());
    assert_eq!(report.how, StepOutcome::Cancelled, "{report:?}");
}

fn artifacts_must_be_there() {
    let mut fixture = Fixture::new();
    fixture
        .script("train", "mkdir $TMPDIR/../out; echo {} > $TMPDIR/../out/metrics.json; cat code.txt")
        .artifacts = vec!["out/metrics.json".to_owned()];
    fixture.script("eval", "ln -s /etc/hostname $TMPDIR/../scores.json").artifacts =
        vec!["scores.json".to_owned()];
    let report = fixture.run();
    assert_eq!(report.steps[0].how, StepOutcome::Ok, "{report:?}");
    assert_eq!((report.how, report.reason.as_str()), (StepOutcome::Failed, "it did not produce scores.json"));
    assert_eq!(fixture.text("train.log"), "the code\n");
}

fn two_steps_run_one_after_the_other() {
    let mut fixture = Fixture::new();
    fixture.script(
        "train",
        "echo first; echo /a/reward.py > $TMPDIR/../.rlx-loaded; head -c 500000 /dev/zero > $HOME/a",
    );
    let eval = fixture.script("eval", "echo second $SEED $HOME; env | cut -d= -f1 | sort | tr '\\n' ' ' >&2");
    eval.set.insert("SEED".to_owned(), "7".to_owned());
    let report = fixture.run();
    assert_eq!((report.how, report.steps.len()), (StepOutcome::Ok, 2), "{report:?}");
    let [train, eval] = &report.steps[..] else { panic!("two steps") };
    assert_eq!(Vec::from_iter(&train.loaded), ["/a/reward.py"]);
    assert_eq!((train.usage.output, train.code), (6, Some(0)));
    assert!(report.usage.wall_clock >= train.usage.wall_clock + eval.usage.wall_clock);
    assert!(report.usage.disk >= 500_000 && report.usage.output == train.usage.output + eval.usage.output);
    let log = fixture.text("eval.log");
    let home = fixture.order.folder.join("eval/home");
    assert!(log.contains(&format!("second 7 {}\n", home.display())), "{log}");
    let known = [
        "HOME",
        "LANG",
        "LC_ALL",
        "PATH",
        "PWD",
        "SEED",
        "TMPDIR",
        "TZ",
        "XDG_CACHE_HOME",
        "_",
        "SHLVL",
        "OLDPWD",
    ];
    let names = log.lines().find(|line| line.contains("XDG_CACHE_HOME ")).expect("the names");
    assert!(names.split_whitespace().all(|name| known.contains(&name)), "{names}");
    assert!(report.level <= Level::Full && train.mechanisms.memory.is_some());
}

fn the_first_bad_step_is_the_last() {
    let mut fixture = Fixture::new();
    fixture.script("train", "echo fine; printf '\\033[31mValueError: bad reward' >&2; exit 3");
    fixture.script("eval", "echo never");
    let report = fixture.run();
    assert_eq!((report.how, report.steps.len()), (StepOutcome::Failed, 1), "{report:?}");
    assert!(report.reason.starts_with("it exited with code 3: "), "{report:?}");
    assert!(
        report.reason.contains("[31mValueError: bad reward") && !report.reason.contains('\x1b'),
        "{report:?}"
    );
    assert!(
        !fixture.order.folder.join("eval.json").exists() && !fixture.order.folder.join("eval.log").exists()
    );
}

fn a_check_that_fails_blocks() {
    let mut fixture = Fixture::new();
    fixture.script("preflight", "echo the data is not here; exit 1").is_check = true;
    fixture.script("train", "echo never");
    let report = fixture.run();
    assert_eq!((report.how, report.steps.len()), (StepOutcome::Blocked, 1), "{report:?}");
    assert_eq!(report.reason, "it exited with code 1: the data is not here");
}

fn what_can_not_be_started_is_blocked() {
    let mut fixture = Fixture::new();
    fixture.step("train", &["/absent/program"]);
    let report = fixture.run();
    assert_eq!(report.how, StepOutcome::Blocked, "{report:?}");
    assert!(report.reason.contains("/absent/program"), "{report:?}");
    assert_eq!((report.steps[0].code, report.steps[0].signal), (None, None));
}

fn no_secret_reaches_a_file_of_the_supervisor() {
    let mut fixture = Fixture::new();
    let script = format!(
        "echo \"key is ${SECRET_NAME}\"; printf '%.10s' \"${SECRET_NAME}\"; printf '%s\\n' \"${{{SECRET_NAME}#??????????}}\"; \
         echo https://me:hunter22@host password=hunter23; printf \"dying with ${SECRET_NAME}\" >&2; exit 1"
    );
    fixture.script("train", &script).environment = vec![SECRET_NAME.to_owned()];
    let report = fixture.run();
    assert_eq!(report.how, StepOutcome::Failed);
    assert!(report.reason.contains(&format!("dying with [redacted {SECRET_NAME}]")), "{report:?}");
    let log = fixture.text("train.log");
    // The line of the other stream may appear anywhere between these.
    let of_stdout: Vec<_> = log.lines().filter(|line| !line.starts_with("dying")).collect();
    let redacted = format!("[redacted {SECRET_NAME}]");
    let expected = [&format!("key is {redacted}"), &redacted, "https://[redacted]@host password=[redacted]"];
    assert_eq!(of_stdout, expected, "{log}");
    let mut files = Vec::new();
    collect(&fixture.order.folder, &mut files);
    assert!(files.iter().any(|(name, _)| name.ends_with("train.json")));
    for (name, content) in files {
        for secret in [SECRET, "hunter22", "hunter23"] {
            assert!(
                !content.windows(secret.len()).any(|window| window == secret.as_bytes()),
                "{secret} in {name}"
            );
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), files);
        } else {
            files.push((entry.path().display().to_string(), fs::read(entry.path()).expect("a file")));
        }
    }
}

fn a_link_that_leads_out_is_refused() {
    let mut fixture = Fixture::new();
    let outside = fixture.order.folder.parent().expect("a folder").join("policy");
    fs::write(&outside, "trained elsewhere").expect("a file");
    let script = format!("ln -s policy $TMPDIR/../inside; ln -s {} $TMPDIR/../policy", outside.display());
    fixture.script("train", &script);
    fixture.script("eval", "cat $TMPDIR/../../train/policy");
    let report = fixture.run();
    let reason = "its output has a link that leads out of its folder: policy";
    assert_eq!((report.how, report.reason.as_str(), report.steps.len()), (StepOutcome::Failed, reason, 1));
}

fn what_evaluation_reads_is_what_training_left() {
    let train = "echo trained > $TMPDIR/../policy";
    let mut fixture = Fixture::new();
    fixture.script("train", train);
    // Evaluation itself can't change it.
    let attempts =
        "cd $TMPDIR/../../train; echo > policy; echo > new; rm policy; chmod 777 policy; cat policy";
    fixture.script("eval", attempts);
    let report = fixture.run();
    assert_eq!((report.how, &report.touched), (StepOutcome::Ok, &None), "{report:?}");
    // Errors and output come through two pipes, in either order.
    let log = fixture.text("eval.log");
    assert!(log.lines().any(|line| line == "trained"), "{log}");
    let taken = report.taken.files["train/policy"];
    assert_eq!(taken.digest, rlxp_types::Digest::hash(b"trained\n"));

    // A process outside changes it while evaluation runs.
    let mut fixture = Fixture::new();
    fixture.script("train", train);
    fixture.script("eval", "echo > $TMPDIR/begun; while [ ! -e $TMPDIR/swapped ]; do sleep 0.01; done");
    let script = "while [ ! -e $1/eval/tmp/begun ]; do sleep 0.01; done
        echo something better > $1/train/policy; echo > $1/eval/tmp/swapped";
    let mut meanwhile = std::process::Command::new("/bin/sh")
        .args(["-c", script, "sh"])
        .arg(&fixture.order.folder)
        .spawn()
        .expect("a shell");
    let report = fixture.run();
    meanwhile.wait().expect("a child");
    assert_eq!(report.touched.as_deref(), Some("train/policy"), "{report:?}");
    let taken = report.taken.files["train/policy"];
    assert_eq!(taken.digest, rlxp_types::Digest::hash(b"trained\n"));
}

fn a_run_can_be_called_off_while_its_files_are_read() {
    let mut fixture = Fixture::new();
    fixture.script("train", "truncate -s 500M $TMPDIR/../sparse");
    // The end of the step is written before its files are read.
    let ended = fixture.order.folder.join("train.json");
    let report = fixture.run_until(&|| ended.exists());
    assert_eq!((report.how, report.steps[0].how), (StepOutcome::Cancelled, StepOutcome::Ok), "{report:?}");
    assert!(!report.taken.files.contains_key("train/sparse"), "{report:?}");
}

fn a_folder_that_cannot_be_listed_hides_nothing() {
    // Modes don't hold for a supervisor with the privileges of root.
    let none = rustix::thread::CapabilitySet::empty();
    let sets = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).unwrap();
    let mut fixture = Fixture::new();
    fixture.script("train", "cd $TMPDIR/..; mkdir hidden; ln -s /etc/hostname hidden/out; chmod 311 hidden");
    let report = fixture.run();
    // It is a limit if it is seen before the step has ended.
    assert!(matches!(report.how, StepOutcome::Failed | StepOutcome::Limit), "{report:?}");
    assert!(report.reason.contains("hidden"), "{report:?}");
}
