//! The places at which tests can kill launch and supervisor, as named in the source.

use std::path::{Path, PathBuf};

/// All of them, sorted; those of a step once for each of `steps`.
pub(super) fn in_the_source(steps: &[&str]) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for inside in ["ops/src", "launch/src"] {
        sources(&crates.join(inside), &mut files);
    }
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for call in calls(&text, "crash::point(") {
            match call.split_once("{}") {
                // After records of the ledger: `autoloop.rs` kills there.
                _ if call.starts_with("ledger:") => {}
                None => found.push(call),
                Some((before, after)) => {
                    // A closure of that file fills in the rest.
                    let rests = match after.strip_prefix(":{place}") {
                        Some(_) => {
                            calls(&text, "crash(").into_iter().map(|name| format!(":{name}")).collect()
                        }
                        None => vec![after.to_owned()],
                    };
                    let every = rests.iter().flat_map(|rest| steps.iter().map(move |step| (step, rest)));
                    found.extend(every.map(|(step, rest)| format!("{before}{step}{rest}")));
                }
            }
        }
    }
    found.sort();
    found
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// The first text in every call of a function.
fn calls(text: &str, function: &str) -> Vec<String> {
    let call = |rest: &str| Some(rest.split(';').next()?.split('"').nth(1)?.to_owned());
    text.split(function).skip(1).filter_map(call).collect()
}
