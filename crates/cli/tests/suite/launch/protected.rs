//! Protected files that could change unnoticed: links, names that are not text, files that take too long to read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::governed::study::Governed;
use crate::launch::candidates::{baseline, learning_rate};
use crate::launch::repository::Repository;

/// Names the present commit in the contract, and approves that.
fn start_here(repository: &Repository) {
    repository.git(&["add", "--all", "--", ":!.rlxp"]);
    repository.git(&["commit", "--quiet", "--message", "Another evaluator"]);
    let mut contract: Value = serde_json::from_str(&repository.read("contract.yaml")).unwrap();
    contract["baseline"]["commit"] = repository.git(&["rev-parse", "HEAD"]).trim().into();
    std::fs::write(repository.file("contract.yaml"), contract.to_string()).unwrap();
    repository.sign("--all", "alice").expect(0);
}

fn refusals(repository: &Repository, id: &str) -> Vec<(String, String)> {
    let answer = repository.validate(id).expect(3).json();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let all = answer["refusals"].as_array().unwrap().iter();
    all.map(|one| (text(one, "code"), text(one, "reason"))).collect()
}

#[test]
fn a_protected_link_leads_to_protected_files_only() {
    let repository = Repository::build().without_baseline().approved();
    repository.candidate("baseline", baseline());
    let outside = repository.home().join("metrics.py");
    std::fs::write(&outside, "SCORE = 1\n").unwrap();
    for (target, expected) in [
        (outside.to_str().unwrap(), "outside the repository"),
        ("../balance/reward.py", "which is not protected"),
        ("nowhere.py", "outside the repository"),
        ("../balance", "which is not protected"),
    ] {
        symlink(target, repository.path("src/balance_eval/metrics.py")).unwrap();
        start_here(&repository);
        let found = refusals(&repository, "baseline");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "protected_link", "{found:?}");
        assert!(
            found[0].1.contains("src/balance_eval/metrics.py") && found[0].1.contains(expected),
            "{found:?}"
        );
        std::fs::remove_file(repository.path("src/balance_eval/metrics.py")).unwrap();
    }
    symlink("evaluate.py", repository.path("src/balance_eval/metrics.py")).unwrap();
    start_here(&repository);
    repository.validate("baseline").expect(0);
    // A folder on the way to what a pattern names.
    std::fs::remove_file(repository.path("src/balance_eval/metrics.py")).unwrap();
    std::fs::rename(repository.path("src/balance_eval"), repository.path("src/evaluator")).unwrap();
    symlink("evaluator", repository.path("src/balance_eval")).unwrap();
    start_here(&repository);
    let found = refusals(&repository, "baseline");
    assert_eq!(found[0].0, "protected_link", "{found:?}");
}

/// A name that is not UTF-8 is protected and listed like any other.
#[test]
fn names_that_are_not_text_count() {
    let repository = Repository::build().without_baseline().approved();
    repository.candidate("baseline", baseline());
    repository.validate("baseline").expect(0);
    let parts = || repository.last("validated")["parts"]["protected_files"].clone();
    let before = parts();
    let name = repository.path("src/balance_eval").join(OsStr::from_bytes(b"seeds-\xff.txt"));
    std::fs::write(name, "1\n").unwrap();
    start_here(&repository);
    repository.validate("baseline").expect(0);
    assert_ne!(parts(), before);
    // What training leaves under such a name is in the manifest.
    let code = "import os\n\nimport sys\n\nOUT = sys.argv[sys.argv.index('--out') + 1]\nos.makedirs(OUT, exist_ok=True)\nopen(os.path.join(os.fsencode(OUT), b'left-\\xff'), 'w').close()";
    repository.ready("odd", crate::launch::candidates::reward_with(code));
    repository.launch("odd").expect(0);
    let key = repository.runs_of("odd").remove(0);
    let manifest = std::fs::read_to_string(repository.run_folder(&key).join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert!(manifest["files"][r"train/left-\xff"].is_object(), "{manifest}");
}

/// A sparse file is refused by its name before it is read.
#[test]
fn a_huge_protected_file_is_named_and_not_read() {
    let governed = Governed::approved();
    let file = std::fs::File::create(governed.path("eval/states.bin")).unwrap();
    file.set_len((1 << 30) + 1).unwrap();
    governed.rlx("candidate new baseline --kind baseline").expect(0);
    let ran = governed.rlx("candidate validate baseline --json").expect(3);
    assert!(ran.codes().contains(&"protected_too_large".to_owned()), "{}", ran.stdout);
    assert!(ran.stdout.contains("eval/states.bin"), "{}", ran.stdout);
    file.set_len(60 << 30).unwrap();
    let ran = governed.rlx("candidate validate baseline --json").expect(3);
    assert!(
        ran.stdout.contains("file_too_large") && ran.stdout.contains("eval/states.bin"),
        "{}",
        ran.stdout
    );
}

/// Arguments that no key explains reach no command.
#[test]
fn arguments_are_those_of_the_keys() {
    let repository = Repository::build().without_baseline().approved();
    let mut value = learning_rate(1.0);
    value["arguments"] = json!(["--iterations", "100000"]);
    repository.candidate("steps", value);
    let found = refusals(&repository, "steps");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "unexpected_arguments");
    assert!(found[0].1.contains("--iterations 100000"), "{found:?}");
}
