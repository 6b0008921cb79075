//! `cargo xtask mutants`: shows that the tests can fail.
//!
//! The workspace is copied to `target/mutants/workspace`, which has a target
//! folder of its own. There every mutant of the table is applied alone; the
//! tests it names must pass before and fail after. A change that doesn't
//! compile shows nothing and counts as a failure of the table.

mod copy;
mod record;
mod table;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::run::{Done, capture, root};
use copy::{read, write};
use table::{MUTANTS, Mutant};

/// A test that runs longer than this has been sent into an endless loop.
const TIME_LIMIT_SECONDS: &str = "600";

/// Runs the mutants whose name contains `text`.
pub(crate) fn run(text: &str) -> Done {
    let chosen: Vec<&Mutant> = MUTANTS.iter().filter(|mutant| mutant.name.contains(text)).collect();
    if chosen.is_empty() {
        return Err(format!("no mutant's name contains {text:?}"));
    }
    run_these(&chosen)
}

/// Runs the mutants whose code or test differs from when they were last noticed.
pub(crate) fn run_changed() -> Result<String, String> {
    let known = record::read()?;
    let mut chosen = Vec::new();
    for mutant in MUTANTS {
        if known.get(mutant.name) != Some(&record::digest(mutant)?) {
            chosen.push(mutant);
        }
    }
    if !chosen.is_empty() {
        run_these(&chosen)?;
    }
    Ok(format!("ok ({} of {} had changed)", chosen.len(), MUTANTS.len()))
}

/// Tries each, and records those that were noticed.
fn run_these(chosen: &[&Mutant]) -> Done {
    let bench = Bench::prepare()?;
    bench.tests_pass_unchanged(chosen)?;
    let mut known = record::read()?;
    let mut bad = Vec::new();
    for mutant in chosen {
        let start = Instant::now();
        let verdict = bench.verdict(mutant)?;
        println!("{:<18} {:>6.1} s  {}", verdict.as_str(), start.elapsed().as_secs_f64(), mutant.name);
        if verdict.is_good() {
            known.insert(mutant.name.to_owned(), record::digest(mutant)?);
        } else {
            known.remove(mutant.name);
            bad.push(mutant.name);
        }
    }
    record::write(known)?;
    if bad.is_empty() {
        println!("all {} mutants were noticed", chosen.len());
        return Ok(());
    }
    Err(format!("{} of {} mutants: {}", bad.len(), chosen.len(), bad.join("; ")))
}

/// What came of a mutant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Noticed,
    NoticedByHanging,
    Survived,
    DoesNotCompile,
    TextNotThere,
    TextNotUnique,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Verdict::Noticed => "noticed",
            Verdict::NoticedByHanging => "noticed (hangs)",
            Verdict::Survived => "SURVIVED",
            Verdict::DoesNotCompile => "DOES NOT COMPILE",
            Verdict::TextNotThere => "TEXT NOT THERE",
            Verdict::TextNotUnique => "TEXT NOT UNIQUE",
        }
    }

    fn is_good(self) -> bool {
        matches!(self, Verdict::Noticed | Verdict::NoticedByHanging)
    }
}

/// The copy of the workspace where code is broken.
struct Bench {
    workspace: PathBuf,
    target: PathBuf,
}

impl Bench {
    fn prepare() -> Result<Self, String> {
        let folder = root().join("target/mutants");
        let bench = Self { workspace: folder.join("workspace"), target: folder.join("target") };
        copy::synchronise(&root(), &bench.workspace)?;
        copy::link(&root().join(".venv"), &bench.workspace.join(".venv"))?;
        Ok(bench)
    }

    /// A test that fails anyway, or a filter that matches nothing, would make
    /// every mutant look noticed.
    fn tests_pass_unchanged(&self, chosen: &[&Mutant]) -> Done {
        let commands: BTreeSet<_> = chosen.iter().map(|mutant| (mutant.package, mutant.tests)).collect();
        for (package, tests) in commands {
            let output = capture(&mut self.cargo_test(package, tests, &[]))?;
            let text = String::from_utf8_lossy(&output.stdout);
            if !output.status.success() {
                let errors = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{package} {tests:?} fails without any mutant:\n{text}\n{errors}"));
            }
            if passed(&text) == 0 {
                return Err(format!("{package} {tests:?} runs no test"));
            }
        }
        println!("the named tests pass without any mutant");
        Ok(())
    }

    /// Applies the mutant, runs its tests, and takes it back.
    fn verdict(&self, mutant: &Mutant) -> Result<Verdict, String> {
        let path = self.workspace.join(mutant.file);
        let original = String::from_utf8_lossy(&read(&path)?).into_owned();
        match original.matches(mutant.find).count() {
            0 => return Ok(Verdict::TextNotThere),
            1 => {}
            _ => return Ok(Verdict::TextNotUnique),
        }
        write(&path, original.replacen(mutant.find, mutant.replace, 1).as_bytes())?;
        let verdict = self.judge(mutant);
        write(&path, original.as_bytes())?;
        verdict
    }

    fn judge(&self, mutant: &Mutant) -> Result<Verdict, String> {
        let build = capture(&mut self.cargo_test(mutant.package, mutant.tests, &["--no-run"]))?;
        if !build.status.success() {
            println!("{}", String::from_utf8_lossy(&build.stderr));
            return Ok(Verdict::DoesNotCompile);
        }
        let test = capture(&mut self.cargo_test(mutant.package, mutant.tests, &[]))?;
        Ok(match test.status.code() {
            Some(0) => Verdict::Survived,
            Some(124 | 137) => Verdict::NoticedByHanging,
            _ => Verdict::Noticed,
        })
    }

    /// `timeout` ends cargo together with the test that it started.
    fn cargo_test(&self, package: &str, tests: &[&str], more: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", TIME_LIMIT_SECONDS]);
        command.arg(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["test", "--quiet", "--package", package]).args(more).args(tests);
        command.current_dir(&self.workspace).env("CARGO_TARGET_DIR", &self.target);
        command
    }
}

/// How many tests passed, by the summary lines of the test programs.
fn passed(output: &str) -> usize {
    let counts = output.lines().filter_map(|line| {
        line.strip_prefix("test result: ok. ")?.split_once(" passed")?.0.parse::<usize>().ok()
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn counts_the_tests_that_passed() {
        let output = "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\n\
                      running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n\
                      test result: ok. 11 passed; 0 failed\n";
        assert_eq!(passed(output), 13);
        assert_eq!(passed("error: no such thing"), 0);
    }

    #[test]
    fn the_table_is_in_order() {
        let mut names = BTreeSet::new();
        for mutant in MUTANTS {
            assert!(names.insert(mutant.name), "{} stands twice", mutant.name);
            assert_ne!(mutant.find, mutant.replace, "{}", mutant.name);
            let text = String::from_utf8(read(&root().join(mutant.file)).unwrap()).unwrap();
            assert_eq!(text.matches(mutant.find).count(), 1, "{}: {}", mutant.name, mutant.find);
        }
        for mutant in MUTANTS {
            let function = mutant.tests.last().and_then(|path| path.rsplit("::").next()).unwrap();
            let folder = root().join("crates").join(mutant.package.strip_prefix("rlxp-").unwrap_or("cli"));
            assert!(defines(&folder, &format!("fn {function}(")), "{}: no test {function}", mutant.name);
        }
        assert!(
            MUTANTS.is_sorted_by_key(|mutant| mutant.file),
            "neighbours share a build when sorted by file"
        );
    }
    /// Whether a file below `folder` contains `text`.
    fn defines(folder: &Path, text: &str) -> bool {
        std::fs::read_dir(folder).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                defines(&path, text)
            } else {
                String::from_utf8_lossy(&read(&path).unwrap()).contains(text)
            }
        })
    }
}
