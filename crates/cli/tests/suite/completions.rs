//! Completion as the shells do it.

use std::process::Command;

use crate::project::Project;

fn project() -> Project {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set run_name=other --set seeds=[0,5] --tag paper").expect(0);
    project
}

/// What bash would offer for a line whose last word is being typed. Words are given as bash splits them, also at `:`
/// and `=`.
fn in_bash(project: &Project, line: &str, words: &[&str]) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source <(rlx completions bash)\nCOMP_LINE='{line}' COMP_POINT={} COMP_WORDS=({}) COMP_CWORD={} COMP_TYPE=9\n\
         compopt() {{ :; }}\n_rlx_complete rlx\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        line.len(),
        words.join(" "),
        words.len() - 1
    );
    let output = project.command("bash").args(["-c", &script]).output().unwrap();
    let ran = project.ran(script, &output).expect(0);
    assert_eq!(ran.stderr, "");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_runs_tags_keys_and_parts() {
    let project = project();
    for (line, words, expected) in [
        ("rlx info ti", &["rlx", "info", "ti"][..], &["tiny_001"][..]),
        ("rlx tag @la", &["rlx", "tag", "@la"], &["@last", "@last~1"]),
        // bash keeps what comes before the last colon.
        ("rlx compare tag:pa", &["rlx", "compare", "tag", ":", "pa"], &["paper"]),
        ("rlx compare tiny_001+ot", &["rlx", "compare", "tiny_001+ot"], &["tiny_001+other_001"]),
        (
            "rlx eval other_001:",
            &["rlx", "eval", "other_001", ":", ""],
            &["0", "5", "best", "latest", "step_1024", "step_2048"],
        ),
        // Right after a colon, bash gives that as the word.
        ("rlx compare tag:", &["rlx", "compare", "tag", ":"], &["paper"]),
        (
            "rlx eval other_001:5:",
            &["rlx", "eval", "other_001", ":", "5", ":"],
            &["best", "latest", "step_1024", "step_2048"],
        ),
        ("rlx eval other_001:5:l", &["rlx", "eval", "other_001", ":", "5", ":", "l"], &["latest"]),
        ("rlx plot where:algo.gam", &["rlx", "plot", "where", ":", "algo.gam"], &["algo.gamma"]),
        (
            "rlx train tiny.yaml --set algo.gam",
            &["rlx", "train", "tiny.yaml", "--set", "algo.gam"],
            &["algo.gamma="],
        ),
        ("rlx repr", &["rlx", "repr"], &["reproduce"]),
        ("rlx ls --env cart", &["rlx", "ls", "--env", "cart"], &["CartPole-v1"]),
        ("rlx ls --sort sc", &["rlx", "ls", "--sort", "sc"], &["score"]),
        ("rlx ls --sort -algo.gam", &["rlx", "ls", "--sort", "-algo.gam"], &["-algo.gamma"]),
        (
            "rlx plot tiny_001 --against algo.gam",
            &["rlx", "plot", "tiny_001", "--against", "algo.gam"],
            &["algo.gamma"],
        ),
        (
            "rlx plot tiny_001 --heatmap algo.gamma,algo.ga",
            &["rlx", "plot", "tiny_001", "--heatmap", "algo.gamma,algo.ga"],
            &["algo.gamma,algo.gae_lambda"],
        ),
    ] {
        assert_eq!(in_bash(&project, line, words), expected, "{line}");
    }
    // After a space a new word begins.
    assert!(in_bash(&project, "rlx info ", &["rlx", "info", ""]).contains(&"tiny_001".to_owned()));
}

#[test]
fn a_hostile_name_is_completed_as_text() {
    let project = Project::trained();
    for name in ["q$(touch pwned)", "q`touch pwned`", "q;touch pwned", "q*", "q 'x'"] {
        std::fs::rename(project.path("runs/tiny_001"), project.path(&format!("runs/{name}"))).unwrap();
        std::fs::write(project.path("q_file"), "").unwrap();
        let offered = in_bash(&project, "rlx info q", &["rlx", "info", "q"]);
        let [offered] = &offered[..] else { panic!("{offered:?}") };
        // What the completed line means to the shell is the name itself.
        let output = project.command("bash").args(["-c", &format!("printf %s {offered}")]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), name);
        assert!(!project.path("pwned").exists(), "{offered}");
        std::fs::rename(project.path(&format!("runs/{name}")), project.path("runs/tiny_001")).unwrap();
    }
}

#[test]
fn another_folder_is_completed_with_its_runs() {
    let project = project();
    let root = project.folder().display().to_string();
    let empty = tempfile::tempdir().unwrap();
    let words = ["--", "rlx", "--root", &root, "info", "ti"];
    let mut command = Command::new(crate::project::RLX);
    command
        .current_dir(empty.path())
        .args(words)
        .env("RLX_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "4");
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "tiny_001");
}

#[test]
fn fish_completes_runs() {
    let project = project();
    let line = "rlx completions fish | source; complete -C 'rlx info ti'";
    let output = project.command("fish").args(["--no-config", "-c", line]).output().unwrap();
    let said = project.ran(line.to_owned(), &output).expect(0).stdout;
    assert!(said.lines().any(|line| line.starts_with("tiny_001")), "{said}");
}

#[test]
fn zsh_completes_runs() {
    let project = project();
    // What zsh's completion system does is reduced to printing what it is given.
    let line = "compdef() { :; }; _describe() { print -l ${(P)3}; }; source <(rlx completions zsh); \
                words=(rlx info ti) CURRENT=3; _clap_dynamic_completer_rlx";
    let output = project.command("zsh").args(["-f", "-c", line]).output().unwrap();
    let said = project.ran(line.to_owned(), &output).expect(0).stdout;
    assert!(said.lines().any(|line| line.starts_with("tiny_001")), "{said}");
}
