//! What reaches a terminal or a program passes one place, and nothing in it can make an answer impossible.

use crate::workspace::{root, rust_files, text, without_tests};

/// Who writes to stdout or stderr: the screen, and the worker, whose stdout is a pipe to its supervisor.
const WRITERS: [&str; 3] = [
    "crates/cli/src/screen.rs",
    "crates/cli/src/screen/ink.rs",
    "crates/cli/src/commands/training/worker.rs",
];

/// Every file of the product without the tests at its end.
fn product() -> Vec<(String, String)> {
    let files = rust_files(&root().join("crates")).into_iter().map(|file| {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let source = without_tests(&text(&file)).to_owned();
        (name, source)
    });
    files.filter(|(name, _)| name.contains("/src/") && !name.contains("/tests")).collect()
}

#[test]
fn only_the_screen_writes() {
    let ways = ["io::stdout()", "io::stderr()", "stdout().lock()", "stderr().lock()", "print!(", "println!("];
    for (name, source) in product() {
        let way = ways.iter().find(|way| source.contains(**way));
        assert!(way.is_none() || WRITERS.contains(&name.as_str()), "{name} writes by {}", way.unwrap());
    }
}

/// Every function that starts training or code of a project takes a permit, which only the guard of governed folders
/// issues: so no command can forget to ask it.
#[test]
fn only_the_guard_permits_to_start_something() {
    let guard = "crates/ops/src/studies/files/guard.rs";
    let issuing: Vec<String> = product()
        .into_iter()
        .filter(|(_, source)| source.contains("Permit::issue") || source.contains("Permit(()"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(issuing, ["crates/launch/src/permit.rs", guard]);
    let starting = [
        ("crates/launch/src/worker.rs", "pub fn spawn(_permit: &Permit,"),
        ("crates/launch/src/detach.rs", "pub fn start_detached(_permit: &Permit,"),
        ("crates/launch/src/supervise/shim.rs", "pub fn start_shim(_permit: &Permit,"),
        ("crates/launch/src/supervise.rs", "pub fn supervise(\n    _permit: &Permit,"),
    ];
    for (name, signature) in starting {
        assert!(text(&root().join(name)).contains(signature), "{name}: {signature}");
    }
}

/// Fields with paths of types that serialise, and don't say how: serde refuses paths that are no text.
fn bare_paths(source: &str) -> Vec<String> {
    let (mut serialises, mut inside, mut says_how) = (false, false, false);
    let mut found = Vec::new();
    for line in source.lines() {
        let line_text = line.trim();
        if line.starts_with("#[derive(") {
            serialises = line.contains("Serialize");
        } else if line.starts_with('}') {
            (serialises, inside) = (false, false);
        } else if !line.starts_with(' ') && (line.contains("struct ") || line.contains("enum ")) {
            inside = serialises;
        } else if line_text.starts_with("#[serde") {
            says_how |= line_text.contains("path_text::serialize");
        } else if inside && !line_text.starts_with("//") {
            let is_path = line_text.contains(": ")
                && ["PathBuf", "&Path", "&'a Path"].iter().any(|path| line_text.contains(path));
            if is_path && !says_how {
                found.push(line_text.to_owned());
            }
            says_how = false;
        }
    }
    found
}

#[test]
fn paths_in_answers_may_be_any_bytes() {
    // These are read back as the same paths. A study whose path is no text is refused before there is an order, and
    // a set-up that can't be written starts nothing.
    let read_back = ["crates/launch/src/order.rs", "crates/launch/src/confine.rs"];
    for (name, source) in product() {
        let bare = bare_paths(&source);
        assert!(bare.is_empty() || read_back.contains(&name.as_str()), "{name}: {bare:?}");
    }
}

#[test]
fn a_bare_path_is_found() {
    let with = |how: &str| {
        format!(
            "#[derive(Debug, Serialize)]\npub struct Made {{\n    /// Where.\n{how}    pub path: Option<PathBuf>,\n}}\n"
        )
    };
    assert_eq!(bare_paths(&with("")), ["pub path: Option<PathBuf>,"]);
    assert!(
        bare_paths(&with("    #[serde(serialize_with = \"rlxp_types::path_text::serialize\")]\n")).is_empty()
    );
    assert!(bare_paths(&with("").replace("Serialize", "Clone")).is_empty());
}
