//! Which part of a crate may use which, where a crate has parts.

use std::path::Path;

use crate::workspace::{root, rust_files, text, without_tests};

/// The parts of a crate, each with the parts it may use. Every module of the crate belongs to a part.
const PARTS: [(&str, &[(&str, &[&str])]); 1] = [(
    "crates/analyze/src",
    &[
        ("statistics", &[]),
        // Rules decide on numbers; sentences never decide.
        ("diagnose", &["statistics"]),
        ("describe", &["statistics"]),
    ],
)];

/// What a file of `part` uses of its crate against the table, as sentences. `depth` is the number of modules
/// between the crate's root and the file's items.
fn forbidden(part: &str, may_use: &[&str], depth: usize, source: &str) -> Vec<String> {
    // Tests may use every part.
    let code: Vec<&str> =
        without_tests(source).lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let used = first_word(&code[at + "crate::".len()..]);
        // `pub(in crate::part)` is no use.
        let is_visibility = code[..at].ends_with("pub(in ");
        if used != part && !may_use.contains(&used) && !is_visibility {
            found.push(format!("{part} must not use crate::{used}"));
        }
    }
    // A path of as many `super` as there are modules starts at the crate's root and would pass unseen.
    if code.contains(&"super::".repeat(depth)) {
        found.push(format!("{part} must name other parts by `crate::`, not by `super::`"));
    }
    found
}

fn first_word(path: &str) -> &str {
    path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap()
}

/// Modules between the crate's root and the items of a file, from its path below `src`.
fn depth(file: &Path) -> usize {
    file.components().count() - usize::from(file.ends_with("mod.rs"))
}

#[test]
fn parts_of_a_crate_use_only_what_the_table_allows() {
    for (folder, parts) in PARTS {
        let source = root().join(folder);
        let mut found = Vec::new();
        for file in rust_files(&source) {
            let below = file.strip_prefix(&source).unwrap();
            let name = below.display();
            let top = below.iter().next().unwrap().to_str().unwrap();
            match parts.iter().find(|(part, _)| *part == top) {
                _ if top == "lib.rs" || below.iter().any(|part| part == "tests" || part == "tests.rs") => {}
                None => found.push(format!("{folder}/{name} belongs to no part")),
                Some((part, may_use)) => {
                    let problems = forbidden(part, may_use, depth(below), &text(&file));
                    found.extend(problems.into_iter().map(|problem| format!("{folder}/{name}: {problem}")));
                }
            }
        }
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn a_forbidden_use_is_found() {
    let problems = |source: &str| forbidden("statistics", &[], 2, source).len();
    assert_eq!(problems("use crate::statistics::aggregate::mean;\nuse super::numeric::root;\n"), 0);
    assert_eq!(problems("use crate::describe::story::number;\n"), 1);
    // By the name that the crate's root gives it, in a group, in the middle of an expression.
    assert_eq!(problems("use crate::story::number;\n"), 1);
    assert_eq!(problems("use crate::{describe::story, statistics::special};\n"), 1);
    assert_eq!(problems("fn f() -> String { crate::describe::story::number(1.0) }\n"), 1);
    assert_eq!(problems("use super::super::describe::story::number;\n"), 1);
    // Words about another part, and tests, use nothing.
    assert_eq!(
        problems("//! See [`crate::describe`].\n#[cfg(test)]\nmod tests { use crate::describe; }\n"),
        0
    );
    assert_eq!(problems("#[cfg(test)]\nmod tests;\nuse crate::describe::story;\n"), 1);
    assert_eq!(depth(Path::new("statistics/mod.rs")), 1);
    assert_eq!(depth(Path::new("statistics/verdict/decide.rs")), 3);
}
