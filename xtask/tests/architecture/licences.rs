//! What dependencies may be: their licences, where they come from, and which
//! are never taken.

use std::process::Command;

use crate::workspace::root;

/// Licences that ask for nothing but to be named, so that the binary can be
/// handed on under MIT OR Apache-2.0.
const LICENCES: [&str; 6] = ["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "Unicode-3.0", "Zlib"];

/// Packages that nothing may pull in, and why.
const BANNED: [(&str, &str); 2] = [
    ("openssl-sys", "rlx needs no network and no system library"),
    ("tokio", "everything below the surfaces is synchronous"),
];

/// Every package of the build on this machine, dependencies included.
fn packages() -> Vec<serde_json::Value> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1", "--filter-platform", &platform])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Whether a licence expression can be met with what is allowed. Older
/// packages write a slash for OR.
fn is_allowed(expression: &str) -> bool {
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut rest = words.as_slice();
    let allowed = any_of(&mut rest);
    rest.is_empty() && allowed
}

fn any_of(rest: &mut &[&str]) -> bool {
    let mut allowed = all_of(rest);
    while let Some((&"OR", more)) = rest.split_first() {
        *rest = more;
        allowed |= all_of(rest);
    }
    allowed
}

fn all_of(rest: &mut &[&str]) -> bool {
    let mut allowed = one(rest);
    while let Some((&"AND", more)) = rest.split_first() {
        *rest = more;
        allowed &= one(rest);
    }
    allowed
}

fn one(rest: &mut &[&str]) -> bool {
    let Some((first, more)) = rest.split_first() else { return false };
    *rest = more;
    if *first == "(" {
        let allowed = any_of(rest);
        let closed = rest.split_first().is_some_and(|(word, _)| *word == ")");
        *rest = rest.get(1..).unwrap_or_default();
        return allowed && closed;
    }
    // An exception only ever allows more.
    if let [exception, _, more @ ..] = *rest
        && *exception == "WITH"
    {
        *rest = more;
    }
    LICENCES.contains(first)
}

#[test]
fn every_dependency_may_be_handed_on() {
    let mut bad = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        match package["license"].as_str() {
            Some(licence) if is_allowed(licence) => {}
            licence => bad.push(format!("{name}: licence {licence:?}")),
        }
        if let Some(source) = package["source"].as_str().filter(|source| !source.starts_with("registry+")) {
            bad.push(format!("{name} comes from {source}, not from the registry"));
        }
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            bad.push(format!("{name} is banned: {why}"));
        }
    }
    assert_eq!(bad, Vec::<String>::new());
}

#[test]
fn licence_expressions_are_understood() {
    for good in ["MIT", "Unlicense/MIT", "(MIT OR GPL-3.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(is_allowed(good), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "GPL-3.0 OR LGPL-3.0", "MIT AND"] {
        assert!(!is_allowed(bad), "{bad}");
    }
}
