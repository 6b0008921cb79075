//! `cargo xtask test`: everything that must hold, one step after the other,
//! the cheap ones first. Stops at the first step that fails.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::run::{Done, answer, cargo, root, show};
use crate::{mutants, setup};

/// A step that ran: its name, how long it took, and what is to be said about it.
struct Ran {
    name: &'static str,
    took: Duration,
    note: &'static str,
}

pub(crate) fn run(quick: bool) -> Done {
    let mut ran = Vec::new();
    let outcome = steps(quick, &mut ran);
    println!();
    for Ran { name, took, note } in &ran {
        println!("{name:<10} {:>8.1} s  {note}", took.as_secs_f64());
    }
    let total: Duration = ran.iter().map(|step| step.took).sum();
    println!("{:<10} {:>8.1} s", "all", total.as_secs_f64());
    outcome
}

fn steps(quick: bool, ran: &mut Vec<Ran>) -> Done {
    let mut step = |name: &'static str, work: &dyn Fn() -> Result<&'static str, String>| {
        println!("== {name}");
        let start = Instant::now();
        let outcome = work();
        let note = *outcome.as_ref().unwrap_or(&"FAILED");
        ran.push(Ran { name, took: start.elapsed(), note });
        outcome.map(drop).map_err(|problem| format!("step {name}: {problem}"))
    };
    step("setup", &|| setup::run().map(|()| "ok"))?;
    step("format", &|| ok(cargo(&root()).args(["fmt", "--all", "--check"])))?;
    step("lints", &|| {
        ok(cargo(&root()).args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
    })?;
    step("tests", &|| {
        let targets = ["--lib", "--bins", "--tests", "--examples"];
        ok(cargo(&root()).args(["test", "--workspace", "--no-fail-fast"]).args(targets))
    })?;
    step("doc tests", &|| ok(cargo(&root()).args(["test", "--workspace", "--doc"])))?;
    step("mutants", &|| if quick { Ok("left out (--quick)") } else { mutants::run("").map(|()| "ok") })?;
    step("licences", &|| {
        if answer("cargo-deny", &["--version"]).is_none() {
            return Ok("left out: cargo-deny is not installed (cargo install cargo-deny --locked)");
        }
        ok(cargo(&root()).args(["deny", "check"]))
    })
}

fn ok(command: &mut Command) -> Result<&'static str, String> {
    show(command).map(|()| "ok")
}
