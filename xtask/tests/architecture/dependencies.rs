//! Which crate may use which, who may touch files and start processes, and
//! that no crate opts out of the lints.

use std::collections::BTreeMap;

use crate::workspace::{metadata, root, rust_files, text, without_tests};

/// Crates from the ground up, each with the crates of the workspace it may use.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("rlxp-types", &[]),
    ("rlxp-fs", &["rlxp-types"]),
    ("rlxp-spec", &["rlxp-types"]),
    ("rlxp-nn", &["rlxp-types"]),
    ("rlxp-env", &["rlxp-types", "rlxp-spec"]),
    ("rlxp-store", &["rlxp-types", "rlxp-fs"]),
    ("rlxp-learn", &["rlxp-types", "rlxp-spec", "rlxp-nn", "rlxp-env"]),
    ("rlxp-analyze", &["rlxp-types"]),
    ("rlxp-draw", &["rlxp-env", "rlxp-types"]),
    // It isolates the C++ encoder.
    ("rlxp-video", &[]),
    // Verdicts of studies are statistics.
    ("rlxp-govern", &["rlxp-types", "rlxp-spec", "rlxp-analyze"]),
    ("rlxp-launch", &["rlxp-types", "rlxp-fs"]),
    (
        "rlxp-ops",
        &[
            "rlxp-types",
            "rlxp-fs",
            "rlxp-spec",
            "rlxp-nn",
            "rlxp-env",
            "rlxp-store",
            "rlxp-learn",
            "rlxp-analyze",
            "rlxp-draw",
            "rlxp-video",
            "rlxp-govern",
            "rlxp-launch",
        ],
    ),
    ("rlxp", &["rlxp-types", "rlxp-ops"]),
    ("xtask", &[]),
];

/// Packages from outside that only some crates may use; nobody else may.
const ONLY_IN: [(&str, &[&str]); 22] = [
    ("annotate-snippets", &["rlxp-spec"]),
    ("clap", &["rlxp"]),
    ("clap_complete", &["rlxp"]),
    ("csv", &["rlxp-ops", "rlxp-store"]),
    ("ed25519-dalek", &["rlxp-govern"]),
    ("gemm", &["rlxp-nn"]),
    ("gif", &["rlxp-video"]),
    ("landlock", &["rlxp-launch"]),
    ("libc", &["rlxp-launch"]),
    ("openh264", &["rlxp-video"]),
    ("p256", &["rlxp-govern"]),
    ("rand_chacha", &["rlxp-types"]),
    ("rusqlite", &["rlxp-store"]),
    ("rustix", &["rlxp-fs", "rlxp-launch"]),
    ("safetensors", &["rlxp-nn"]),
    ("schemars", &["rlxp-spec", "rlxp-govern"]),
    ("serde-saphyr", &["rlxp-spec"]),
    ("signal-hook", &["rlxp-launch"]),
    ("ssh-key", &["rlxp-govern"]),
    ("tiny-skia", &["rlxp-draw"]),
    ("ttf-parser", &["rlxp-draw"]),
    ("tokio", &[]),
];

/// A dependency as cargo tells it.
struct Edge {
    from: String,
    to: String,
    /// Only tests use it.
    dev: bool,
}

fn edges() -> Vec<Edge> {
    let mut edges = Vec::new();
    for package in metadata()["packages"].as_array().unwrap() {
        for dependency in package["dependencies"].as_array().unwrap() {
            edges.push(Edge {
                from: package["name"].as_str().unwrap().to_owned(),
                to: dependency["name"].as_str().unwrap().to_owned(),
                dev: dependency["kind"].as_str() == Some("dev"),
            });
        }
    }
    edges
}

/// The edges that the two tables above refuse, as sentences.
fn forbidden(edges: &[Edge]) -> Vec<String> {
    let may_use: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    let height = |name: &str| MAY_USE.iter().position(|(known, _)| *known == name);
    let mut found = Vec::new();
    for Edge { from, to, dev } in edges {
        let (from, to) = (from.as_str(), to.as_str());
        if height(to).is_some() {
            let known = may_use.get(from).is_some_and(|allowed| allowed.contains(&to));
            // Tests may reach for more, but never upwards.
            let fine = known || (*dev && height(to) < height(from));
            if !fine {
                found.push(format!("{from} must not use {to}"));
            }
        }
        let only_in = ONLY_IN.iter().find(|(package, _)| *package == to);
        if let Some((_, allowed)) = only_in
            && !dev
            && !allowed.contains(&from)
        {
            found.push(format!("{from} must not use {to}: only {allowed:?} may"));
        }
    }
    found
}

#[test]
fn dependencies_point_down_only() {
    assert_eq!(forbidden(&edges()), Vec::<String>::new());
}

#[test]
fn a_forbidden_edge_is_found() {
    let edge = |from: &str, to: &str, dev| Edge { from: from.to_owned(), to: to.to_owned(), dev };
    let check = |edge: Edge, is_forbidden: bool| {
        assert_eq!(!forbidden(&[edge]).is_empty(), is_forbidden);
    };
    check(edge("rlxp-learn", "rlxp-fs", false), true);
    check(edge("rlxp-learn", "rlxp-store", false), true);
    check(edge("rlxp-analyze", "rlxp-spec", false), true);
    check(edge("rlxp-types", "rlxp-ops", true), true);
    check(edge("rlxp-learn", "rlxp-fs", true), false);
    check(edge("rlxp-ops", "rlxp-launch", false), false);
    check(edge("rlxp-ops", "clap", false), true);
    check(edge("rlxp-learn", "libc", false), true);
    check(edge("rlxp-new", "rlxp-types", false), true);
}

#[test]
fn every_crate_stands_in_the_table() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let mut names: Vec<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let mut known: Vec<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn every_crate_has_the_workspace_lints_on() {
    for package in metadata()["packages"].as_array().unwrap() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let lines: Vec<String> = text(manifest.as_ref()).lines().map(|line| line.replace(' ', "")).collect();
        let on = lines.windows(2).any(|pair| pair[0] == "[lints]" && pair[1] == "workspace=true");
        assert!(on, "{manifest} has no `[lints] workspace = true`");
    }
}

/// Crates whose public items are formats that others rely on.
const DOCUMENTED: [&str; 4] = ["types", "fs", "store", "spec"];

#[test]
fn formats_document_every_public_item() {
    for name in DOCUMENTED {
        let library = text(&root().join("crates").join(name).join("src/lib.rs"));
        assert!(library.contains("#![warn(missing_docs)]"), "rlxp-{name} has missing_docs off");
    }
}

/// Who may say that the bans of `clippy.toml` don't bind a piece of product code.
const DOORS: [&str; 2] = ["crates/fs/src/", "crates/launch/src/"];

#[test]
fn only_the_two_doors_lift_the_bans() {
    let mut lifted = Vec::new();
    for file in rust_files(&root().join("crates")) {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if !name.contains("/src/") || DOORS.iter().any(|door| name.starts_with(door)) {
            continue;
        }
        let source = text(&file);
        if without_tests(&source).contains("clippy::disallowed_") && !is_test_module(&name) {
            lifted.push(name);
        }
    }
    assert_eq!(lifted, Vec::<String>::new(), "files and processes go through rlxp-fs and rlxp-launch");
}

/// Crates whose answers depend on what they are handed alone.
const PURE: [&str; 2] = ["crates/govern/src", "crates/analyze/src"];

#[test]
fn what_decides_starts_no_thread() {
    let mut found = Vec::new();
    for file in PURE.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        // `thread::` as well: a path may be taken apart in an import.
        let source = text(&file);
        if ["std::thread", "thread::", "rayon", "crossbeam"].iter().any(|word| source.contains(word)) {
            found.push(file);
        }
    }
    assert_eq!(found, Vec::<std::path::PathBuf>::new(), "threads belong to rlxp-ops");
}

/// A verdict of a study rests on numbers alone, not on rules of diagnosis or on sentences.
#[test]
fn studies_use_only_the_statistics() {
    let mut found = Vec::new();
    for file in rust_files(&root().join("crates/govern/src")) {
        let source = text(&file);
        let uses = source.match_indices("rlxp_analyze::").map(|(at, name)| &source[at + name.len()..]);
        if uses.into_iter().any(|rest| !rest.starts_with("statistics")) {
            found.push(file);
        }
    }
    assert_eq!(found, Vec::<std::path::PathBuf>::new());
}

/// A module that is compiled for tests only says so in the file that names it.
fn is_test_module(name: &str) -> bool {
    let path = root().join(name);
    let module = path.file_stem().unwrap().to_str().unwrap();
    let parent = path.parent().unwrap();
    let beside = ["mod.rs", "lib.rs", "main.rs"].map(|file| parent.join(file));
    let above = parent.with_extension("rs");
    beside.iter().chain([&above]).filter(|file| file.is_file()).any(|file| {
        let source = text(file);
        let lines: Vec<&str> = source.lines().collect();
        lines.windows(2).any(|pair| pair[0] == "#[cfg(test)]" && pair[1] == format!("mod {module};"))
    })
}

/// Every function by which a crate that this workspace uses, or is likely to come to use, could start a process or
/// become another program.
#[test]
fn every_way_to_start_a_process_is_banned() {
    let bans = text(&root().join("clippy.toml"));
    let libc = [
        "fork",
        "vfork",
        "clone",
        "forkpty",
        "daemon",
        "execl",
        "execle",
        "execlp",
        "execv",
        "execve",
        "execveat",
        "execvp",
        "execvpe",
        "fexecve",
        "posix_spawn",
        "posix_spawnp",
        "popen",
        "system",
        "syscall",
    ];
    let nix = [
        "unistd::fork",
        "unistd::daemon",
        "unistd::execv",
        "unistd::execve",
        "unistd::execveat",
        "unistd::execvp",
        "unistd::execvpe",
        "unistd::fexecve",
        "pty::forkpty",
        "sched::clone",
        "spawn::posix_spawn",
        "spawn::posix_spawnp",
    ];
    let rustix = ["runtime::kernel_fork", "runtime::fork", "runtime::execve", "runtime::execveat"];
    let of = |of: &'static str, names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("{of}::{name}")).collect()
    };
    let mut all = [of("libc", &libc), of("nix", &nix), of("rustix", &rustix)].concat();
    all.extend(["std::process::Command", "std::os::unix::process::CommandExt::exec"].map(str::to_owned));
    for path in all {
        assert!(bans.contains(&format!("path = \"{path}\"")), "clippy.toml does not ban {path}");
    }
}
