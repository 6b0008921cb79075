//! The examples in every command's help are run, in a project prepared so that
//! the runs they name exist.

use crate::project::{Project, TINY};
use crate::reference::COMMANDS;

/// Folders in which examples create projects; their CartPole config is a quick one.
const PROJECTS: [&str; 5] = ["", "demo/", "rlx-quickstart/", "first-steps/", "start/"];

/// Commands whose examples need a contract.
const GOVERNED: [&str; 4] = ["approve", "metric", "candidate", "queue"];

/// The commands under "Examples:" of a help text.
pub(crate) fn examples(help: &str) -> Vec<String> {
    let after = help.split("\nExamples:\n").nth(1).unwrap_or_default();
    let lines = after.lines().take_while(|line| line.starts_with("  "));
    lines
        .map(|line| line.split("  #").next().unwrap().trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// A project in which the runs, scores and the study exist that examples name.
fn prepared() -> Project {
    let quick = TINY.replace("run_name: tiny", "run_name: ppo_cartpole");
    let project = Project::new();
    for folder in PROJECTS {
        project.write(&format!("{folder}configs/ppo_cartpole.yaml"), &quick);
        project.write(&format!("{folder}configs/ppo_acrobot.yaml"), &quick);
    }
    project.write("scores_a.csv", "8\n9\n7\n10\n9\n");
    project.write("scores_b.csv", "10\n12\n9\n11\n13\n");
    let scores = |groups: &[&str], seeds: u64| {
        let rows =
            groups.iter().flat_map(|group| (0..seeds).map(move |seed| format!("{group},{seed},{seed}\n")));
        format!("group,seed,score\n{}", rows.collect::<String>())
    };
    project.write("scores.csv", &scores(&["wide", "deep", "slow"], 2));
    project.write("incumbent.csv", &scores(&["incumbent"], 50));
    project.rlx("train configs/ppo_cartpole.yaml").expect(0);
    project.rlx("train configs/ppo_cartpole.yaml").expect(0);
    project.rlx("study init --task cartpole --study first").expect(0);
    project
}

#[test]
fn every_example_works() {
    let prepared = prepared();
    let mut ran = 0;
    for command in COMMANDS {
        let project = prepared.copied();
        if GOVERNED.iter().any(|word| command.starts_with(word)) {
            project.draft_contract();
            project.write("runs/first/eval/scores.json", "{\"success\": 0.5}");
        }
        let help = project.rlx(&format!("{command} --help")).expect(0).stdout;
        let examples = examples(&help);
        assert!(!examples.is_empty(), "rlx {command} has no examples");
        for example in examples {
            // Nothing is running that could be stopped.
            let exit = if *command == "stop" { 1 } else { 0 };
            project.shell(&example).expect(exit);
            ran += 1;
        }
    }
    assert!(ran >= 30, "only {ran} examples were found");
}
