//! The commands in README and guides are run. A page is one session: its
//! ```console blocks in order, lines that begin with `$ `, or with `> ` where
//! one continues.

use std::path::{Path, PathBuf};

use crate::project::{Project, TINY};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page that a user follows.
fn pages() -> Vec<PathBuf> {
    let guides = std::fs::read_dir(root().join("docs/guides")).unwrap();
    let mut pages: Vec<PathBuf> = guides.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages.insert(0, root().join("README.md"));
    pages
}

/// The text of a page's blocks of this kind.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let fence = format!("```{kind}\n");
    let parts = page.split(&fence).skip(1);
    parts.map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

/// A ```console block of a page, and the output that the page quotes below it.
struct Quoted {
    commands: Vec<String>,
    output: Vec<String>,
}

fn session(page: &str) -> Vec<Quoted> {
    let mut session: Vec<Quoted> = Vec::new();
    for part in page.split("```").skip(1).step_by(2) {
        let (kind, text) = part.split_once('\n').unwrap_or((part, ""));
        match (kind, session.last_mut()) {
            ("console", _) => {
                let lines = text
                    .lines()
                    .filter_map(|line| line.strip_prefix("$ ").or_else(|| line.strip_prefix("> ")));
                session.push(Quoted { commands: lines.map(str::to_owned).collect(), output: Vec::new() });
            }
            ("text", Some(quoted)) if quoted.output.is_empty() => {
                quoted.output = text.lines().map(str::to_owned).collect();
            }
            _ => {}
        }
    }
    session
}

/// Marks where the output of a block begins.
const BLOCK: &str = "=== block";

#[test]
fn the_commands_of_every_page_work() {
    let mut commands = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let project = Project::new();
        std::fs::remove_dir(project.path("runs")).unwrap();
        // `rlx init` keeps existing files: the starter, but quick.
        let quick = TINY.replace("run_name: tiny", "run_name: ppo_cartpole");
        project.write("demo/configs/ppo_cartpole.yaml", &quick);
        // What `rlx python setup` would download.
        std::os::unix::fs::symlink(root().join(".venv"), project.path(".venv")).unwrap();
        let session = session(&text);
        let mut script = "set -e\nexec 2>&1\n".to_owned();
        for quoted in &session {
            commands += quoted.commands.len();
            script += &format!("echo '{BLOCK}'\n{}\n", quoted.commands.join("\n"));
        }
        let printed = project.shell(&script).expect(0).stdout;
        // Elsewhere the quick config gives other scores than the page shows.
        if page.ends_with("governed-study.md") {
            for (quoted, printed) in session.iter().zip(printed.split(BLOCK).skip(1)) {
                is_printed(quoted, printed);
            }
        }
    }
    assert!(commands >= 15, "only {commands} commands were found");
}

/// Every quoted line is printed, in this order. What differs from run to run and from machine to machine is not
/// compared: words with a digit or a slash. `…` stands for anything.
fn is_printed(quoted: &Quoted, printed: &str) {
    let mut lines = printed.lines();
    for line in quoted.output.iter().filter(|line| !line.trim().is_empty() && line.trim() != "…") {
        let wanted = line_pattern(line);
        let found = lines.any(|printed| matches(&wanted, &line_pattern(printed)));
        assert!(
            found,
            "{:?}\ndoesn't print this line, or not there:\n{line}\nbut:\n{printed}",
            quoted.commands
        );
    }
}

fn line_pattern(line: &str) -> Vec<String> {
    let differs = |word: &str| word.contains(|letter: char| letter.is_ascii_digit() || letter == '/');
    line.split_whitespace().map(|word| if differs(word) { "#".to_owned() } else { word.to_owned() }).collect()
}

fn matches(wanted: &[String], printed: &[String]) -> bool {
    match wanted.split_first() {
        None => printed.is_empty(),
        Some((word, rest)) if word == "…" => {
            (0..=printed.len()).any(|skip| matches(rest, &printed[skip..]))
        }
        Some((word, rest)) => printed.first() == Some(word) && matches(rest, &printed[1..]),
    }
}

#[test]
fn code_in_the_guide_is_code_that_is_compiled() {
    let guide = std::fs::read_to_string(root().join("docs/guides/own-environment.md")).unwrap();
    let example = root().join("crates/learn/examples/own_environment.rs");
    let example = std::fs::read_to_string(example).unwrap();
    let blocks = blocks(&guide, "rust");
    assert!(blocks.len() >= 3);
    for block in blocks {
        assert!(example.contains(block.trim_end()), "not in the example:\n{block}");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = page.parent().unwrap().join(target);
            assert!(path.exists(), "{}: {target} is not there", page.display());
        }
    }
}

/// The lines of a page's table of starters.
fn starter_table(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    text.lines()
        .filter(|line| line.starts_with("| starter ") || line.starts_with("| `ppo_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_column_of_the_starter_scores_is_what_its_name_says() {
    let table = starter_table("docs/starters.md");
    assert_eq!(starter_table("README.md"), table);
    let script = std::fs::read_to_string(root().join("python/bench/starters.py")).unwrap();
    assert!(script.contains(&table[0]), "not the heading that the script writes: {}", table[0]);
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let names = cells(&table[0]);
    let places = |what: &str| -> Vec<usize> {
        (0..names.len()).filter(|place| names[*place].starts_with(what)).collect()
    };
    // `best` is how a checkpoint was chosen, not the highest of the scores.
    assert_eq!((places("best"), places("`best` checkpoints").len()), (vec![], 2), "{names:?}");
    let (means, worst) = (places("mean, seeds"), places("worst seed"));
    assert_eq!((means.len(), worst.len(), table.len()), (2, 2, 12), "{names:?}");
    for row in &table[1..] {
        let row = cells(row);
        let number = |place: usize| row[place].parse::<f64>().unwrap();
        for (mean, worst) in means.iter().zip(&worst) {
            assert!(number(*worst) <= number(*mean), "{row:?}");
        }
    }
}
