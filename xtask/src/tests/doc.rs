//! Whether there are doc tests, which cargo builds and runs separately.

use std::process::Command;

use crate::run::{capture, root};

/// Whether any file of the crates has a doc test.
pub(crate) fn has_doc_tests() -> Result<bool, String> {
    let mut grep = Command::new("grep");
    // rustdoc reads libraries only; a fence in a test's comment would be counted as an opening here.
    grep.args(["-rhE", "^ *//[/!] *```", "crates", "--include=*.rs", "--exclude-dir=tests"]);
    grep.current_dir(root());
    let fences = String::from_utf8_lossy(&capture(&mut grep)?.stdout).into_owned();
    Ok(opens_doc_test(&fences))
}

/// Whether one of these fences of doc comments, which open and close blocks in
/// turn, opens one that rustdoc would run.
fn opens_doc_test(fences: &str) -> bool {
    let kinds = fences.lines().filter_map(|line| line.split_once("```")).map(|(_, kind)| kind.trim());
    let opening = kinds.step_by(2);
    let is_code = |kind: &str| {
        let first = kind.split(',').next().unwrap_or_default();
        matches!(first, "" | "rust" | "no_run" | "should_panic")
    };
    opening.into_iter().any(is_code)
}

#[cfg(test)]
mod own {
    use super::*;

    #[test]
    fn only_code_is_a_doc_test() {
        assert!(!opens_doc_test(""));
        assert!(!opens_doc_test("//! ```text\n//! ```\n    /// ```json\n    /// ```\n"));
        assert!(opens_doc_test("//! ```text\n//! ```\n/// ```\n/// ```\n"));
        assert!(opens_doc_test("/// ```rust,ignore\n/// ```\n"));
    }
}
