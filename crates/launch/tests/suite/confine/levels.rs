//! Which mechanisms are available, what is reported, and that nothing starts with less than
//! required.

use std::time::{Duration, Instant};

use rlxp_launch::confine::probe;
use rlxp_launch::order::{Level, Mechanisms, Reach};

use super::stage::{Stage, without};
use crate::harness::{Test, tests};

pub(crate) const TESTS: &[Test] = tests![
    everything_holds_here,
    each_mechanism_can_be_missing,
    a_switch_for_tests_is_never_full,
    nothing_at_all_still_runs,
    orders_that_cannot_be_run_are_refused,
    probing_here_says_the_same,
];

fn level(mechanisms: &Mechanisms) -> Level {
    let limits = Some("polling".to_owned());
    Mechanisms { memory: limits.clone(), process_count: limits, ..mechanisms.clone() }.level()
}

fn everything_holds_here() {
    let mechanisms = Stage::shell("true").run().mechanisms;
    assert_eq!((level(&mechanisms), mechanisms.missing.len()), (Level::Full, 0), "{mechanisms:?}");
    assert!(mechanisms.files.unwrap().starts_with("landlock "));
    let probed = probe(Reach::None).unwrap();
    assert_eq!((probed.level(), probed.tree.as_deref()), (Level::Full, Some("overlay")), "{probed:?}");
    let agreed = probe(Reach::Everything).unwrap();
    assert_eq!(agreed.network.as_deref(), Some("the network was agreed"));
}

/// From the order until the program is executed, with something hidden.
pub(crate) fn time_to_start() -> Duration {
    let mut stage = Stage::shell("true");
    stage.order.confinement.hidden = vec!["/root/.ssh".into(), stage.path().join("hidden")];
    let begin = Instant::now();
    let mut confined = stage.spawn();
    confined.started().expect("it starts");
    begin.elapsed()
}

fn each_mechanism_can_be_missing() {
    for (mechanism, recorded) in [
        ("landlock", "files"),
        ("pid_namespace", "processes"),
        ("network_namespace", "network"),
        ("mount_namespace", "mounts"),
        ("ipc_namespace", "ipc"),
        ("root", "root"),
        ("seccomp", "syscalls"),
    ] {
        without(mechanism, || {
            let mut stage = Stage::shell("echo runs; cat reward.py");
            let refused = stage.refusal();
            assert!(refused.contains(&format!("{recorded}: {mechanism} is disabled")), "{refused}");
            stage.order.confinement.least = Level::Partial;
            let outcome = stage.run();
            assert_eq!(
                (outcome.out.as_str(), outcome.exit.code),
                ("runs\nchanged\n", Some(0)),
                "{outcome:?}"
            );
            assert_eq!(level(&outcome.mechanisms), Level::Partial);
            assert!(outcome.mechanisms.missing.contains_key(recorded));
            assert_eq!(probe(Reach::None).unwrap().level(), Level::Partial);
        });
    }
}

fn a_switch_for_tests_is_never_full() {
    for named in ["overlay", "cgroup", "user_namespace", "anything"] {
        without(named, || {
            let refused = Stage::shell("true").refusal();
            assert!(refused.contains(&format!("RLX_WITHOUT={named} is set")), "{refused}");
            let probed = probe(Reach::None).unwrap();
            assert_ne!(probed.level(), Level::Full);
            assert!(probed.why_not_full().contains(named), "{probed:?}");
        });
    }
}

fn nothing_at_all_still_runs() {
    without("landlock,pid_namespace,network_namespace,overlay,user_namespace", || {
        let mut stage = Stage::shell("echo runs; cat reward.py; echo kept > ../train/file; exit 7");
        stage.order.confinement.least = Level::None;
        let outcome = stage.run();
        assert_eq!((outcome.out.as_str(), outcome.exit.code), ("runs\nchanged\n", Some(7)), "{outcome:?}");
        assert_eq!(level(&outcome.mechanisms), Level::None);
        stage.order.confinement.least = Level::Partial;
        assert!(stage.refusal().starts_with("partial sandboxing is required, but only none"));
    });
    // Only root can have namespaces without a user namespace.
    without("user_namespace", || {
        let mut stage = Stage::shell("grep CapEff /proc/self/status; grep CapBnd /proc/self/status");
        stage.order.confinement.least = Level::None;
        let outcome = stage.run();
        if is_root() {
            assert_eq!(level(&outcome.mechanisms), Level::Partial);
            assert_eq!(outcome.mechanisms.root.as_deref(), Some("own root"));
            assert_eq!(outcome.out, "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n");
        }
        assert!(outcome.mechanisms.missing.contains_key("user_namespace"));
    });
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

fn orders_that_cannot_be_run_are_refused() {
    let check = |change: &dyn Fn(&mut Stage), words: &str| {
        let mut stage = Stage::shell("touch ../train/ran");
        change(&mut stage);
        let refused = stage.refusal();
        assert!(refused.contains(words), "{refused} should contain {words}");
        assert!(!stage.own().join("ran").exists());
    };
    check(&|stage| stage.step().tree.base = "/nowhere/at/all".into(), "/nowhere/at/all is not a folder");
    check(&|stage| stage.step().argv = vec!["/etc/passwd".to_owned()], "can't execute /etc/passwd");
    check(&|stage| stage.step().argv = vec!["/no/program".to_owned()], "can't execute /no/program");
    check(&|stage| stage.step().argv = vec!["sh".to_owned()], "absolute path");
    check(&|stage| stage.step().argv.clear(), "absolute path");
    check(&|stage| stage.step().folder = "not/there".to_owned(), "can't enter the working folder");
    check(&|stage| stage.step().folder = "../..".to_owned(), "../.. is not inside the tree");
    let script = |stage: &mut Stage| {
        let path = stage.path().join("script");
        std::fs::write(&path, "#!/no/interpreter\n").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        stage.step().argv = vec![path.to_str().unwrap().to_owned()];
    };
    check(&script, "can't execute ");
}

fn probing_here_says_the_same() {
    let program = std::env::current_exe().unwrap();
    let said = std::process::Command::new(program).arg("probe-here").output().unwrap();
    let probed = probe(Reach::None).unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap().trim(), format!("{probed:?}"));
}
