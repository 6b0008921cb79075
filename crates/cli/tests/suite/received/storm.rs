//! Thirty processes at once: training, tagging, removing and reading, while the index keeps being deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::project::{Project, Ran};
use crate::received::project::{program, small_project};

/// How many processes start at the same time.
const PROCESSES: usize = 30;

/// A shell that waits for a line before it executes the program, so that all start at the same moment.
const GATE: &str = "read -r go && exec \"$@\" < /dev/null";

/// Runs every line at the same time and returns the results.
fn all_at_once(project: &Project, lines: &[String]) -> Vec<(String, Ran)> {
    let start = |line: &String| -> Child {
        let mut command = project.command("timeout");
        command.args(["-s", "KILL", "120", "sh", "-c", GATE, "sh"]).arg(program());
        command.args(line.split_whitespace()).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<Child> = lines.iter().map(start).collect();
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    // Each output is read by its own thread: a full pipe would stop its writer and with it the others.
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            children.into_iter().map(|child| scope.spawn(|| child.wait_with_output().unwrap())).collect();
        let answers = readers.into_iter().map(|reader| reader.join().unwrap());
        lines
            .iter()
            .zip(answers)
            .map(|(line, output)| (line.clone(), project.ran(line.clone(), &output)))
            .collect()
    })
}

/// Deletes the index repeatedly while `work` runs.
fn while_the_index_is_deleted<T>(project: &Project, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for end in ["", "-journal", "-wal", "-shm"] {
                    // It doesn't always exist.
                    let _ = std::fs::remove_file(project.path(&format!("runs/.index.sqlite{end}")));
                }
                std::thread::yield_now();
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

fn tags(project: &Project, run: &str) -> BTreeSet<String> {
    let answer = project.rlx(&format!("tag {run} --json")).expect(0).json();
    answer["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()).collect()
}

fn listed(project: &Project) -> Value {
    project.rlx("ls --json --sort name").expect(0).json()
}

fn names(listed: &Value) -> BTreeSet<String> {
    let runs = listed["runs"].as_array().unwrap();
    runs.iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
}

/// `ls` prints the same with its index and without, and every run can be read.
fn check_project(project: &Project) {
    let with = listed(project);
    let again = listed(project);
    std::fs::remove_file(project.path("runs/.index.sqlite")).unwrap();
    let without = listed(project);
    assert_eq!(with, without, "the index and the runs differ");
    assert_eq!(with, again);
    for run in without["runs"].as_array().unwrap() {
        assert_eq!(run["problem"], Value::Null, "{run}");
        project.rlx(&format!("info {} --json", run["name"].as_str().unwrap())).expect(0);
    }
}

fn leftovers(project: &Project) -> Vec<String> {
    let mut found = Vec::new();
    for path in crate::received::tree::look(&project.path("runs")).keys() {
        let name = path.file_name().unwrap().to_string_lossy();
        if name.starts_with(".tmp-") || name.starts_with(".replaced-") {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn thirty_tags_at_once_are_all_kept() {
    let project = small_project();
    project.rlx("train small.yaml").expect(0);
    let lines: Vec<String> = (0..PROCESSES).map(|tag| format!("tag good_001 tag{tag}")).collect();
    for (_, ran) in all_at_once(&project, &lines) {
        ran.expect(0);
    }
    let wanted: BTreeSet<String> = (0..PROCESSES).map(|tag| format!("tag{tag}")).collect();
    assert_eq!(tags(&project, "good_001"), wanted);
    // Half of them are removed again while others are added.
    let lines: Vec<String> = (0..PROCESSES)
        .map(|tag| match tag % 2 {
            0 => format!("tag good_001 --remove tag{tag}"),
            _ => format!("tag good_001 new{tag}"),
        })
        .collect();
    for (_, ran) in all_at_once(&project, &lines) {
        ran.expect(0);
    }
    let odd = (0..PROCESSES).filter(|tag| tag % 2 == 1);
    let wanted: BTreeSet<String> = odd.flat_map(|tag| [format!("tag{tag}"), format!("new{tag}")]).collect();
    assert_eq!(tags(&project, "good_001"), wanted);
    assert_eq!(leftovers(&project), Vec::<String>::new());
}

/// The run's writer rewrites its description when it starts and when it ends: many short runs, tagged all the time.
#[test]
fn tags_given_while_a_run_trains_are_kept() {
    const RUNS: usize = 12;
    const TAGGERS: usize = 3;
    let project = small_project();
    let mut most = 0;
    for number in 1..=RUNS {
        let run = format!("good_{number:03}");
        let mut training = project.command("timeout");
        training.args(["-s", "KILL", "120"]).arg(program()).args([
            "train",
            "small.yaml",
            "--tag",
            "own",
            "-q",
        ]);
        let mut training = training.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_done = AtomicBool::new(false);
        let given = std::thread::scope(|scope| {
            let (is_done, project, run) = (&is_done, &project, &run);
            let tagger = move |tagger: usize| {
                let mut given = vec!["own".to_owned()];
                while !is_done.load(Ordering::Relaxed) {
                    let tag = format!("tag{tagger}-{}", given.len());
                    // Before the folder exists there is nothing to tag.
                    if project.rlx(&format!("tag {run} {tag}")).code == Some(0) {
                        given.push(tag);
                    }
                }
                given
            };
            let taggers: Vec<_> = (0..TAGGERS).map(|number| scope.spawn(move || tagger(number))).collect();
            assert!(training.wait().unwrap().success());
            is_done.store(true, Ordering::Relaxed);
            taggers.into_iter().flat_map(|tagger| tagger.join().unwrap()).collect::<BTreeSet<String>>()
        });
        most = most.max(given.len());
        assert_eq!(tags(&project, &run), given, "{run}: every acknowledged tag is there");
    }
    assert!(most > TAGGERS, "tags were given while a run trained");
    check_project(&project);
}

#[test]
fn a_storm_of_commands_loses_nothing() {
    let project = small_project();
    for _ in 0..6 {
        project.rlx("train small.yaml").expect(0);
    }
    // Runs 1 and 2 are tagged, 3 and 4 are removed, several times each; 5 and 6 are only read.
    let mut lines = Vec::new();
    for number in 0..PROCESSES {
        lines.push(match number % 6 {
            0 => "train small.yaml".to_owned(),
            1 => format!("tag good_001 tag{number}"),
            2 => format!("tag good_002 --remove tag{number}"),
            3 => format!("rm good_00{} --yes", 3 + number / 6 % 2),
            4 => "ls --json".to_owned(),
            _ => format!("info good_00{}", 5 + number / 6 % 2),
        });
    }
    // So that there is something to remove.
    let removed: Vec<usize> = (0..PROCESSES).filter(|number| number % 6 == 2).collect();
    for number in &removed {
        project.rlx(&format!("tag good_002 tag{number}")).expect(0);
    }
    project.rlx("tag good_002 stays").expect(0);
    let did = while_the_index_is_deleted(&project, || all_at_once(&project, &lines));
    let mut by_code: BTreeMap<String, BTreeMap<Option<i32>, usize>> = BTreeMap::new();
    for (line, ran) in &did {
        let verb = line.split(' ').next().unwrap().to_owned();
        *by_code.entry(verb).or_default().entry(ran.code).or_default() += 1;
        let allowed: &[i32] = match line.split(' ').next().unwrap() {
            // Only one of several can remove a run; for the others it doesn't exist, or disappears while they read it.
            "rm" => &[0, 2, 3, 74],
            _ => &[0],
        };
        let code = ran.code.unwrap_or(-1);
        assert!(allowed.contains(&code), "{line}: {:?}\n{}{}", ran.code, ran.stdout, ran.stderr);
    }
    let acknowledged =
        |start: &str| did.iter().filter(|(line, ran)| line.starts_with(start) && ran.code == Some(0)).count();
    for run in ["good_003", "good_004"] {
        assert_eq!(acknowledged(&format!("rm {run} ")), 1, "{run} is removed once: {by_code:?}");
    }
    let trained = acknowledged("train");
    let found = names(&listed(&project));
    assert_eq!(found.len(), 6 - 2 + trained, "{found:?}, {by_code:?}");
    for run in ["good_001", "good_002", "good_005", "good_006"] {
        assert!(found.contains(run), "{run} is missing: {found:?}");
    }
    let wanted: BTreeSet<String> =
        (0..PROCESSES).filter(|number| number % 6 == 1).map(|number| format!("tag{number}")).collect();
    assert_eq!(tags(&project, "good_001"), wanted, "every acknowledged tag is there");
    assert_eq!(tags(&project, "good_002"), BTreeSet::from(["stays".to_owned()]));
    check_project(&project);
    // The next training cleans up what a process that lost a race may have left.
    project.rlx("train small.yaml").expect(0);
    assert_eq!(leftovers(&project), Vec::<String>::new());
}

/// Thirty trainings of the same name get thirty folders.
#[test]
fn thirty_trainings_at_once_get_a_folder_each() {
    let project = small_project();
    let lines: Vec<String> =
        (0..PROCESSES).map(|seed| format!("train small.yaml --json --set seed={seed}")).collect();
    let did = while_the_index_is_deleted(&project, || all_at_once(&project, &lines));
    let mut named = BTreeSet::new();
    for (_, ran) in did {
        let answer = ran.expect(0).json();
        let text = answer.to_string();
        let name = names(&listed(&project)).into_iter().find(|name| text.contains(name.as_str()));
        named.insert(name.unwrap_or_else(|| panic!("{text}")));
    }
    assert_eq!(named.len(), PROCESSES, "no two trainings share a folder");
    assert_eq!(names(&listed(&project)), named);
    check_project(&project);
    assert_eq!(leftovers(&project), Vec::<String>::new());
}
