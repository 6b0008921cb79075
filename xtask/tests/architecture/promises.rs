//! `docs/promises.md` names only tests that exist: a promise whose test was
//! renamed, removed or ignored would otherwise still look kept.

use crate::workspace::{root, text};

/// One row of the table.
struct Row {
    promise: String,
    /// `path::function`, as written in the last column.
    tests: Vec<String>,
}

fn rows(page: &str) -> Vec<Row> {
    let lines = page.lines().filter(|line| line.starts_with("| P"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let last = cells.last().unwrap();
            let tests = last.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            Row { promise: cells[0].to_owned(), tests }
        })
        .collect()
}

/// What is wrong with the name of a test, if anything.
fn problem(test: &str) -> Option<String> {
    let Some((file, function)) = test.split_once("::") else {
        return Some(format!("{test} is not of the form path::function"));
    };
    let path = root().join(file);
    if !path.is_file() {
        return Some(format!("{test}: there is no such file"));
    }
    let source = text(&path);
    let Some((before, _)) = source.split_once(&format!("fn {function}(")) else {
        return Some(format!("{test}: the file has no such function"));
    };
    is_ignored(before).then(|| format!("{test} is ignored"))
}

/// Whether a test is ignored, from the source before its `fn`. The README's test command runs no ignored test.
fn is_ignored(before: &str) -> bool {
    // What is left of the line that has the `fn` is its indentation.
    let above = before.trim_end_matches(' ');
    let mut attributes = above.lines().rev().map(str::trim_start).take_while(|line| line.starts_with("#["));
    attributes.any(|line| line.starts_with("#[ignore"))
}

#[test]
fn an_ignored_test_is_noticed_wherever_it_says_so() {
    for attributes in
        ["#[test]\n#[ignore]\n", "#[ignore = \"slow\"]\n#[test]\n", "    #[test]\n    #[ignore]\n    "]
    {
        assert!(is_ignored(&format!("fn other() {{}}\n\n{attributes}")), "{attributes}");
    }
    assert!(!is_ignored("#[ignore]\nfn other() {}\n\n#[test]\n"));
}

#[test]
fn every_promise_names_tests_that_exist() {
    let rows = rows(&text(&root().join("docs/promises.md")));
    assert!(!rows.is_empty(), "the table is gone");
    let mut problems = Vec::new();
    for Row { promise, tests } in &rows {
        if tests.is_empty() {
            problems.push(format!("{promise} names no test"));
        }
        let found = tests.iter().filter_map(|test| problem(test));
        problems.extend(found.map(|problem| format!("{promise}: {problem}")));
    }
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn a_missing_test_is_found() {
    let here = "xtask/tests/architecture/promises.rs";
    assert_eq!(problem(&format!("{here}::a_missing_test_is_found")), None);
    assert!(problem(&format!("{here}::no_such_{}", "test")).is_some());
    assert!(problem("xtask/tests/nowhere.rs::a").is_some());
    assert!(problem("a_missing_test_is_found").is_some());
    let rows = rows("| promise |\n| P1 | a | `x.rs::b` and `y.rs::c` |\n| P2 | d | none |\n");
    assert_eq!(rows[0].tests, ["x.rs::b", "y.rs::c"]);
    assert!(rows[1].tests.is_empty() && rows.len() == 2);
}
