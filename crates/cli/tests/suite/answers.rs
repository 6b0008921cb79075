//! The output of each command when nothing is wrong.

use crate::project::Project;

#[test]
fn a_run_from_training_to_removal() {
    let project = Project::new();
    let mut told = Vec::new();
    for line in [
        "ls",
        "train tiny.yaml --dry-run",
        "train tiny.yaml --set eval.every=2048 --tag first",
        "ls",
        "info @last",
        "eval --run @last --episodes 5 --baseline random --baseline zero",
        "eval tiny_001:latest --episodes 5 --stochastic",
        "eval --run @last --episodes 5 --all-checkpoints",
        "reproduce @last",
        "resume @last",
        "tag tiny_001 paper baseline",
        "tag @last --remove paper",
        "ls --columns name,tags --tag first",
        "ls --env Acrobot-v1",
        "tail @last -n 2",
        "rm tiny_001 --yes",
        "ls",
    ] {
        told.push(project.rlx(line).expect(0).shown());
    }
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn several_seeds_are_one_run() {
    let project = Project::new();
    let mut told = Vec::new();
    for line in [
        "train tiny.yaml --set seeds=3 --set eval.every=2048",
        "info @last",
        "eval --run @last --episodes 5",
        "ls --sort best --reverse --limit 1",
    ] {
        told.push(project.rlx(line).expect(0).shown());
    }
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn commands_that_need_no_run() {
    let project = Project::new();
    let mut told = Vec::new();
    for line in [
        "--version",
        "init demo",
        "init demo",
        "envs",
        "envs FrozenLake-v1",
        "config check tiny.yaml",
        "config show tiny.yaml --set threads=1",
        "eval --env FrozenLake-v1 --baseline random --episodes 10",
    ] {
        told.push(project.rlx(line).expect(0).shown());
    }
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn quiet_says_only_the_answer() {
    let project = Project::trained();
    for line in ["train tiny.yaml -q", "info @last -q", "eval --run @last --episodes 5 -q", "ls -q"] {
        let ran = project.rlx(line).expect(0);
        assert_eq!(ran.stderr, "", "{line}");
        assert_ne!(ran.stdout, "", "{line}");
    }
}

#[test]
fn colour_is_used_when_asked_for_and_never_otherwise() {
    let project = Project::trained();
    assert!(!project.rlx("info @last").stdout.contains('\x1b'));
    assert!(project.rlx("info @last --color always").stdout.contains('\x1b'));
    assert!(!project.rlx("info @last --color never").stdout.contains('\x1b'));
    let bad = project.rlx("info nothing --color always").expect(2);
    assert!(bad.stderr.contains("\x1b[1;31merror:\x1b[0m"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let project = Project::trained();
    let ran = project.shell("rlx config schema | head -n 1").expect(0);
    assert_eq!(ran.stderr, "");
    // The exit code of the writer itself.
    let ran = project.shell("{ rlx config schema; echo $? >&2; } | true").expect(0);
    assert_eq!(ran.stderr, "0\n");
}

#[test]
fn completions_are_scripts_for_every_shell() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = project.rlx(&format!("completions {shell}")).expect(0).stdout;
        assert!(script.contains("RLX_COMPLETE") && script.contains("rlx"), "{shell}: {script}");
        let script = project.rlx(&format!("completions {shell} --static")).expect(0).stdout;
        assert!(script.contains("reproduce"), "{shell}");
    }
    let checked = project.shell("rlx completions bash > rlx.bash && bash -n rlx.bash");
    assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""));
}

#[test]
fn quickstart_trains_and_shows_the_curve() {
    let project = Project::new();
    // `init` keeps existing files, so this config is trained instead of the starter.
    project.write("start/configs/ppo_cartpole.yaml", crate::project::TINY);
    let ran = project.rlx("quickstart start").expect(0);
    assert!(
        ran.stdout.contains('┤') && ran.stdout.contains("rlx reproduce quickstart_001"),
        "{}",
        ran.stdout
    );
    insta::assert_snapshot!(ran.shown());
}
