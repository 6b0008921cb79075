//! `docs/reference/cli.md` and `config.md` are what the program says about
//! itself. To update them: `UPDATE_REFERENCE=1 cargo test -p rlxp --test cli reference`.

use std::fmt::Write;
use std::path::Path;

use crate::project::Project;

/// Every command that help is written for.
pub(crate) const COMMANDS: &[&str] = &[
    "",
    "quickstart",
    "init",
    "envs",
    "config",
    "config check",
    "config show",
    "config schema",
    "train",
    "resume",
    "eval",
    "inspect",
    "diagnose",
    "analyze",
    "explain-metrics",
    "summarize",
    "suggest",
    "video",
    "plot",
    "reproduce",
    "report",
    "ls",
    "info",
    "tail",
    "tag",
    "rm",
    "compare",
    "stats",
    "stats compare",
    "stats power",
    "study",
    "study init",
    "study use",
    "study list",
    "study status",
    "study next",
    "study audit",
    "study handoff",
    "study close",
    "study export",
    "study receive",
    "ledger",
    "ledger show",
    "ledger note",
    "ledger anchor",
    "verify",
    "contract",
    "contract new",
    "contract check",
    "contract diff",
    "contract request",
    "approve",
    "metric",
    "metric check",
    "candidate",
    "candidate new",
    "candidate validate",
    "candidate show",
    "candidate list",
    "queue",
    "queue plan",
    "queue show",
    "launch",
    "launch status",
    "launch cancel",
    "launch logs",
    "launch adopt",
    "doctor",
    "completions",
];

fn reference() -> String {
    let project = Project::new();
    let mut page = String::from(
        "# Command line\n\nWhat `rlx --help` and `rlx COMMAND --help` say. \
         A test keeps this page equal to the program.\n",
    );
    for command in COMMANDS {
        let help = project.rlx(&format!("{command} --help")).expect(0).stdout;
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let name = format!("rlx {command}");
        write!(page, "\n## {}\n\n```text\n{}\n```\n", name.trim_end(), help.join("\n").trim_end()).unwrap();
    }
    page
}

/// Compares a page under `docs/reference/` with what the program says, or writes it.
fn check(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/reference/{name} is out of date: run this test with UPDATE_REFERENCE=1");
}

#[test]
fn the_reference_is_what_the_program_says() {
    check("cli.md", &reference());
}

#[test]
fn the_reference_of_configs_is_what_the_types_say() {
    check("config.md", &rlxp_ops::below::config_reference());
}

#[test]
fn every_command_is_in_the_reference() {
    let help = Project::new().rlx("--help").expect(0).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    for line in listed {
        let name = line.split_whitespace().next().unwrap();
        assert!(COMMANDS.contains(&name), "{name} is missing in COMMANDS");
    }
}

#[test]
fn short_help_is_short() {
    let project = Project::new();
    for command in COMMANDS {
        let help = project.rlx(&format!("{command} -h")).expect(0).stdout;
        let lines = help.lines().count();
        // The list of all commands has one line for each; what stands around it stays short.
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let commands = commands.take_while(|line| line.starts_with("  ")).count();
        let most = if command.is_empty() { commands + 15 } else { 40 };
        assert!(lines <= most, "rlx {command} -h has {lines} lines");
    }
}
