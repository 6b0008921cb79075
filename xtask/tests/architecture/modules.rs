//! Modules inside a crate: which may use which, and that none use each other
//! in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::workspace::{root, rust_files, text, without_tests};

/// A crate whose parts are folders.
struct Crate {
    name: &'static str,
    /// Each folder with what it may use beside itself and the files at the
    /// crate's root: whole folders, or single modules of one.
    parts: &'static [(&'static str, &'static [&'static str])],
}

const CRATES: [Crate; 3] = [
    Crate {
        name: "ops",
        parts: &[
            ("select", &["training/recorded"]),
            ("training", &["select", "studies/files"]),
            ("insight", &["select", "training", "studies/files"]),
            ("studies", &[]),
        ],
    },
    Crate { name: "govern", parts: &[] },
    // Rules decide on numbers; sentences never decide.
    Crate {
        name: "analyze",
        parts: &[
            ("statistics", &[]),
            ("diagnose", &["statistics"]),
            ("describe", &["statistics"]),
            ("reflection", &["statistics"]),
        ],
    },
];

/// Every module with the modules it names by `crate::…`.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn graph(of: &Crate) -> Graph {
    let source = root().join("crates").join(of.name).join("src");
    let files = rust_files(&source);
    let unit_of = |parts: &[&str]| match parts {
        [folder, module, ..] if of.parts.iter().any(|(part, _)| part == folder) => {
            format!("{folder}/{module}")
        }
        [module, ..] => (*module).to_owned(),
        [] => String::new(),
    };
    let mut named: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    for file in &files {
        let relative = file.strip_prefix(&source).unwrap().with_extension("");
        let parts: Vec<&str> = relative.iter().map(|part| part.to_str().unwrap()).collect();
        if parts != ["lib"] && !is_for_tests(&source, &parts) {
            // Tests may use everything.
            named.push((unit_of(&parts), paths(without_tests(&text(file)))));
        }
    }
    let units: BTreeSet<String> = named.iter().map(|(unit, _)| unit.clone()).collect();
    let mut graph: Graph = units.iter().map(|unit| (unit.clone(), BTreeSet::new())).collect();
    for (unit, paths) in named {
        for path in paths {
            let parts: Vec<&str> = path.iter().map(String::as_str).collect();
            let used = unit_of(&parts);
            if used != unit && units.contains(&used) {
                graph.get_mut(&unit).unwrap().insert(used);
            }
        }
    }
    graph
}

/// Whether a file lies in a module that its parent has for tests only.
fn is_for_tests(source: &Path, parts: &[&str]) -> bool {
    (1..parts.len()).any(|depth| {
        let parent = source.join(parts[..depth].join("/")).with_extension("rs");
        parent.is_file() && text(&parent).contains(&format!("#[cfg(test)]\nmod {};", parts[depth]))
    })
}

/// Every path after `crate::`, groups in braces taken apart.
fn paths(text: &str) -> Vec<Vec<String>> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = Vec::new();
    for piece in code.split("crate::").skip(1) {
        let mut rest = piece;
        tree(&mut rest, &mut Vec::new(), &mut found);
    }
    found
}

/// Reads one path, or a group of them in braces, from the front of `rest`.
fn tree(rest: &mut &str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    *rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        *rest = inside;
        loop {
            let depth = prefix.len();
            tree(rest, prefix, found);
            prefix.truncate(depth);
            let end = rest.find([',', '}']).unwrap_or(rest.len());
            let more = rest[end..].starts_with(',');
            *rest = rest.get(end + 1..).unwrap_or("");
            if !more || rest.is_empty() {
                return;
            }
        }
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    if end == 0 {
        return;
    }
    prefix.push(rest[..end].to_owned());
    *rest = &rest[end..];
    match rest.strip_prefix("::") {
        Some(deeper) => {
            *rest = deeper;
            tree(rest, prefix, found);
        }
        None => found.push(prefix.clone()),
    }
}

/// A circle of modules, if there is one: each uses the next, the last the first.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    fn search(graph: &Graph, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
        let at = way.last().unwrap().clone();
        for next in graph.get(&at).into_iter().flatten() {
            if let Some(start) = way.iter().position(|seen| seen == next) {
                return Some(way[start..].to_vec());
            }
            if !done.contains(next) {
                way.push(next.clone());
                let found = search(graph, way, done);
                if found.is_some() {
                    return found;
                }
                way.pop();
            }
        }
        done.insert(at);
        None
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| search(graph, &mut vec![start.clone()], &mut done))
}

#[test]
fn modules_form_no_circle() {
    for one in &CRATES {
        assert_eq!(circle(&graph(one)), None, "in crates/{}", one.name);
    }
}

#[test]
fn parts_use_only_what_they_may() {
    let part_of = |module: &str| module.split('/').next().unwrap_or_default().to_owned();
    let mut bad = Vec::new();
    for one in &CRATES {
        for (module, used) in graph(one) {
            let part = part_of(&module);
            let Some((_, allowed)) = one.parts.iter().find(|(name, _)| *name == part) else { continue };
            for other in used {
                let other_part = part_of(&other);
                let is_part = one.parts.iter().any(|(name, _)| *name == other_part);
                let is_allowed = allowed.iter().any(|entry| *entry == other_part || *entry == other);
                if is_part && other_part != part && !is_allowed {
                    bad.push(format!("{}: {module} must not use {other}", one.name));
                }
            }
        }
    }
    assert_eq!(bad, Vec::<String>::new());
}

/// A path of `super` that climbs to the crate's root would pass unseen.
#[test]
fn other_parts_are_named_from_the_root() {
    for one in &CRATES {
        for (part, _) in one.parts {
            let folder = root().join("crates").join(one.name).join("src").join(part);
            for file in rust_files(&folder) {
                let depth = file.strip_prefix(&folder).unwrap().iter().count();
                let climbs = text(&file).contains(&"super::".repeat(depth + 1));
                assert!(!climbs, "{} names another part by super::", file.display());
            }
        }
    }
}

#[test]
fn circles_and_groups_are_found() {
    let edges = |pairs: &[(&str, &str)]| -> Graph {
        let mut graph = Graph::new();
        for (from, to) in pairs {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    };
    assert_eq!(circle(&edges(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    assert_eq!(circle(&edges(&[("a", "b"), ("b", "c"), ("c", "b")])).unwrap(), ["b", "c"]);
    let text = "use crate::{a, b::{c, d::E}};\n// crate::gone\nlet x = crate::f::g(crate::h);";
    let found: Vec<String> = paths(text).into_iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["a", "b::c", "b::d::E", "f::g", "h"]);
    let ops = graph(&CRATES[0]);
    assert!(ops["training/train"].contains("studies/files"), "edges are seen");
}
