//! Test programs: at most one per crate besides the unit tests. Each links the crate and all its dependencies again, and
//! building is the longest stage of `cargo xtask test`.

use serde_json::Value;

use crate::workspace::metadata;

/// The names of a package's integration test programs.
fn programs(package: &Value) -> Vec<&str> {
    let targets = package["targets"].as_array().unwrap().iter();
    targets
        .filter(|target| target["kind"][0] == "test")
        .map(|target| target["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_crate_has_at_most_one_test_program() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let several: Vec<_> = packages.iter().map(programs).filter(|programs| programs.len() > 1).collect();
    assert_eq!(several, Vec::<Vec<&str>>::new(), "make them modules of `tests/suite/main.rs`");
    assert!(packages.iter().any(|package| programs(package) == ["suite"]), "programs are found");
}
