//! The test programs of the workspace, as cargo builds them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::run::{capture, cargo, root};

/// A test program.
pub(super) struct Program {
    /// Package and target, such as `store suite`.
    pub(super) name: String,
    path: PathBuf,
    /// The folder of its package, where its tests expect to be.
    folder: PathBuf,
}

impl Program {
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// The names of its tests, in its order.
    pub(super) fn tests(&self) -> Result<Vec<String>, String> {
        let output = capture(self.command().args(["--list", "--format", "terse"]))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} can't list its tests: {errors}", self.name));
        }
        Ok(listed(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// The tests in a list that a program printed.
fn listed(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Compiles all test programs. The end-to-end tests, which take longest, come first.
pub(super) fn build() -> Result<Vec<Program>, String> {
    // Examples have no tests; the lints compile them.
    let targets = ["--lib", "--bins", "--tests"];
    let mut command = cargo(&root());
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    command.args(targets).stdin(Stdio::null()).stdout(Stdio::piped());
    let output = command.spawn().and_then(std::process::Child::wait_with_output);
    let output = output.map_err(|error| format!("can't start cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests don't compile".to_owned());
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let mut programs: Vec<Program> = lines.lines().filter_map(program_of).collect();
    programs.sort_by_key(|program| !program.name.starts_with("cli "));
    Ok(programs)
}

/// The test program that one of cargo's JSON messages announces.
fn program_of(message: &str) -> Option<Program> {
    let path = PathBuf::from(text_at(message, "\"executable\":\"")?);
    let is_test = text_after(message, "\"profile\":")?.contains("\"test\":true");
    let folder = PathBuf::from(text_at(message, "\"manifest_path\":\"")?).parent()?.to_owned();
    let package = folder.file_name()?.to_str()?.to_owned();
    let target = text_after(message, "\"target\":").and_then(|rest| text_at(rest, "\"name\":\""))?;
    is_test.then(|| Program { name: format!("{package} {target}"), path, folder })
}

fn text_after<'m>(message: &'m str, mark: &str) -> Option<&'m str> {
    message.split_once(mark).map(|(_, rest)| rest)
}

/// The text between `mark` and the next quote. Paths with quotes aren't supported.
fn text_at(message: &str, mark: &str) -> Option<String> {
    text_after(message, mark)?.split_once('"').map(|(text, _)| text.to_owned())
}

#[cfg(test)]
pub(super) mod own {
    use std::path::Path;

    use super::*;

    /// A program that isn't there.
    pub(crate) fn program(name: &str) -> Program {
        Program { name: name.to_owned(), path: PathBuf::new(), folder: PathBuf::new() }
    }

    #[test]
    fn cargos_messages_are_understood() {
        let message = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/store#0.1.0","manifest_path":"/w/crates/store/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"suite","src_path":"/w/crates/store/tests/suite/main.rs"},"profile":{"opt-level":"2","debuginfo":1,"test":true},"features":[],"filenames":["/w/target/debug/deps/suite-1"],"executable":"/w/target/debug/deps/suite-1","fresh":true}"#;
        let program = program_of(message).unwrap();
        assert_eq!(program.name, "store suite");
        assert_eq!(program.path, Path::new("/w/target/debug/deps/suite-1"));
        assert_eq!(program.folder, Path::new("/w/crates/store"));
        let plain = message.replace("\"test\":true", "\"test\":false");
        assert!(program_of(&plain).is_none());
        let library =
            message.replace("\"executable\":\"/w/target/debug/deps/suite-1\"", "\"executable\":null");
        assert!(program_of(&library).is_none());
    }

    #[test]
    fn lists_of_tests_are_understood() {
        assert_eq!(listed("a::b: test\nc: test\nd: benchmark\n"), ["a::b", "c"]);
    }
}
