//! `cargo xtask test`: everything that must hold, one step after the other,
//! the cheap ones first. Stops at the first step that fails.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::run::{Done, cargo, root, show};
use crate::{mutants, setup, tests};

/// A step that ran: its name, how long it took, and what is to be said about it.
struct Ran {
    name: &'static str,
    took: Duration,
    note: String,
}

/// Which mutants are tried.
#[derive(Clone, Copy)]
pub(crate) enum Mutants {
    None,
    /// Those whose code or test differs from when they were last noticed.
    Changed,
    All,
}

pub(crate) fn run(mutants: Mutants) -> Done {
    let mut ran = Vec::new();
    let outcome = steps(mutants, &mut ran);
    println!();
    for Ran { name, took, note } in &ran {
        println!("{name:<10} {:>8.1} s  {note}", took.as_secs_f64());
    }
    let total: Duration = ran.iter().map(|step| step.took).sum();
    println!("{:<10} {:>8.1} s", "all", total.as_secs_f64());
    outcome
}

fn steps(mutants: Mutants, ran: &mut Vec<Ran>) -> Done {
    let mut step = |name: &'static str, work: &dyn Fn() -> Result<String, String>| {
        println!("== {name}");
        let start = Instant::now();
        let outcome = work();
        let note = outcome.clone().unwrap_or_else(|_| "FAILED".to_owned());
        ran.push(Ran { name, took: start.elapsed(), note });
        outcome.map(drop).map_err(|problem| format!("step {name}: {problem}"))
    };
    step("setup", &|| setup::run().map(|()| "ok".to_owned()))?;
    step("format", &|| ok(cargo(&root()).args(["fmt", "--all", "--check"])))?;
    step("lints", &|| {
        ok(cargo(&root()).args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
    })?;
    step("tests", &|| {
        let summary = tests::run()?;
        summary.print();
        Ok(format!("ok (build {:.1} s, run {:.1} s)", summary.build.as_secs_f64(), summary.run.as_secs_f64()))
    })?;
    step("doc tests", &|| match tests::has_doc_tests()? {
        true => ok(cargo(&root()).args(["test", "--workspace", "--doc"])),
        false => Ok("none are written".to_owned()),
    })?;
    step("mutants", &|| match mutants {
        Mutants::None => Ok("left out (--quick)".to_owned()),
        Mutants::Changed => mutants::run_changed(),
        Mutants::All => mutants::run("").map(|()| "ok".to_owned()),
    })
}

fn ok(command: &mut Command) -> Result<String, String> {
    show(command).map(|()| "ok".to_owned())
}
