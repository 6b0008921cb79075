//! `rlx ls` over many runs: columns and conditions of configs, order, CSV and JSON; notes and titles.

use serde_json::json;

use crate::project::{Project, TINY};

/// Three tagged runs of a small sweep and one of another environment.
fn sweep() -> Project {
    let project = Project::new();
    let linear =
        TINY.replace("learning_rate: 0.001", "learning_rate: {schedule: linear, from: 0.001, to: 0}");
    project.write("linear.yaml", &linear);
    for line in [
        "tiny.yaml --set run_name=a --set algo.gamma=0.9 --tag sweep",
        "tiny.yaml --set run_name=b --set algo.gamma=0.99 --set seed=4 --set policy.hidden_sizes=[4] --tag sweep",
        "linear.yaml --set run_name=c --set algo.gamma=0.95 --set seeds=[0,1] --tag sweep",
        "tiny.yaml --set run_name=d --set env.id=FrozenLake-v1 --set eval.every=0",
    ] {
        project.rlx(&format!("train {line}")).expect(0);
    }
    project
}

/// The first column of the table or the CSV.
fn names(project: &Project, arguments: &[&str]) -> Vec<String> {
    let words = [&["ls", "--csv", "--columns", "name"], arguments].concat();
    let text = project.rlx_with(&words).expect(0).stdout;
    text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn conditions_selectors_and_order() {
    let project = sweep();
    for (arguments, expected) in [
        (&[][..], &["d_001", "c_001", "b_001", "a_001"][..]),
        (&["--reverse"], &["a_001", "b_001", "c_001", "d_001"]),
        (&["--sort", "name"], &["a_001", "b_001", "c_001", "d_001"]),
        (&["--sort", "-name", "--limit", "1"], &["d_001"]),
        (&["--sort", "algo.gamma", "--tag", "sweep"], &["a_001", "c_001", "b_001"]),
        (&["--sort", "-algo.gamma", "--tag", "sweep"], &["b_001", "c_001", "a_001"]),
        (&["--where", "algo.gamma>=0.95", "--where", "env.id=cartpole-v1"], &["c_001", "b_001"]),
        (&["--where", "policy.hidden_sizes=[4]"], &["b_001"]),
        (&["--where", "tags=sweep", "--where", "algo.gamma<0.95"], &["a_001"]),
        (&["tag:sweep", "--where", "algo.gamma!=0.9"], &["c_001", "b_001"]),
        (&["a_*+d_001"], &["d_001", "a_001"]),
        (&["where:algo.gamma>0.98", "a_001"], &["b_001", "a_001"]),
        (&["--env", "frozenlake-V1"], &["d_001"]),
        (&["--where", "score=null"], &["d_001"]),
        (&["--status", "failed"], &[]),
    ] {
        assert_eq!(names(&project, arguments), expected, "{arguments:?}");
    }
    // A run without a score comes last in either direction.
    for sort in ["score", "-score"] {
        assert_eq!(names(&project, &["--sort", sort]).last().unwrap(), "d_001");
    }
    let json = project.rlx("ls --sort -score --json").json();
    let scores: Vec<f64> =
        json["runs"].as_array().unwrap().iter().filter_map(|run| run["score"].as_f64()).collect();
    assert_eq!(scores.len(), 3);
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    for run in json["runs"].as_array().unwrap() {
        assert!(run["steps_per_second"].as_f64().is_some_and(|speed| speed > 0.0), "{run}");
    }
    // The score is the mean of the seeds' last evaluations.
    let info = project.rlx("info c_001 --json").json();
    let last = |seed: usize| {
        info["seeds"][seed]["curve"]["evaluation"].as_array().unwrap().last().unwrap()[1].clone()
    };
    let mean = (last(0).as_f64().unwrap() + last(1).as_f64().unwrap()) / 2.0;
    let c = json["runs"].as_array().unwrap().iter().find(|run| run["name"] == "c_001").unwrap();
    assert_eq!(c["score"].as_f64(), Some(mean));
}

#[test]
fn keys_that_differ_are_columns_of_a_group() {
    let project = sweep();
    let header = |line: &str| project.rlx(line).expect(0).stdout.lines().next().unwrap().to_owned();
    let columns = |line: &str| header(line).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let usual = ["name", "status", "env", "seeds", "steps", "return", "best", "created"];
    assert_eq!(columns("ls"), usual);
    let keys = ["algo.learning_rate", "algo.gamma", "policy.hidden_sizes"];
    let all = [&usual[..], &keys].concat();
    for line in ["ls tag:sweep", "ls --tag sweep", "ls a_001+b_001+c_001"] {
        assert_eq!(columns(line), all, "{line}");
    }
    assert_eq!(columns("ls a_001"), usual, "one run differs from nothing");
    let table = project.rlx("ls tag:sweep").expect(0).stdout;
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(row("c_001").contains("0.001→0"), "{table}");
    assert!(row("b_001").ends_with("0.99  [4]"), "{table}");
    assert!(row("a_001").ends_with(" 0.9  [8, 8]"), "numbers end in the same column\n{table}");
}

#[test]
fn csv_and_json_for_scripts() {
    let project = sweep();
    project.rlx_with(&["rename", "a_001", "say \"hi\", twice"]).expect(0);
    let columns = "name,title,tags,algo.gamma,policy.hidden_sizes,algo.target_kl,score";
    let csv =
        project.rlx_with(&["ls", "tag:sweep", "--sort", "name", "--csv", "--columns", columns]).expect(0);
    let lines: Vec<&str> = csv.stdout.lines().collect();
    assert_eq!(lines[0], columns);
    assert!(lines[1].starts_with("a_001,\"say \"\"hi\"\", twice\",sweep,0.9,\"[8,8]\",,"), "{}", lines[1]);
    assert!(lines[2].starts_with("b_001,,sweep,0.99,[4],,"), "{}", lines[2]);
    assert_eq!((lines.len(), csv.stderr.as_str()), (4, ""));
    let score = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    let json = project.rlx("ls --sort name --json").expect(0).json();
    assert_eq!(json["runs"][0]["score"].as_f64(), Some(score(lines[1])), "all digits");
    // Every run with its whole config, as `rlx info` has it.
    for run in json["runs"].as_array().unwrap() {
        let name = run["name"].as_str().unwrap();
        let info = project.rlx(&format!("info {name} --json")).json();
        assert_eq!(run["config"], info["config"], "{name}");
    }
    assert_eq!(json["runs"][0]["title"], "say \"hi\", twice");
    assert_eq!(json["runs"][1]["title"], json!(null));
    project.rlx("ls --csv --json").expect(2);
}

#[test]
fn a_title_is_text_to_a_spreadsheet() {
    let project = Project::trained();
    project.rlx_with(&["rename", "tiny_001", "=HYPERLINK(\"x\")"]).expect(0);
    let csv = project.rlx("ls --csv --columns title,score").expect(0).stdout;
    assert!(csv.contains("\n\"'=HYPERLINK(\"\"x\"\")\",") && !csv.contains(",'"), "{csv}");
    let empty = project.rlx_with(&["rename", "tiny_001", ""]).expect(2).stderr;
    assert!(empty.contains("error: the title is empty"), "{empty}");
    assert!(empty.contains("hint: rlx rename tiny_001 --clear"), "{empty}");
}

#[test]
fn schedules_are_selected_as_shown_and_sorted_by_their_start() {
    let project = Project::new();
    let train = |name: &str, rate: &str| {
        let (name, rate) = (format!("run_name={name}"), format!("algo.learning_rate={rate}"));
        project.rlx_with(&["train", "tiny.yaml", "--set", &name, "--set", &rate]).expect(0);
    };
    train("high", "0.01");
    train("falling", "{schedule: linear, from: 0.003, to: 0}");
    train("low", "0.001");
    let names = |arguments: &[&str]| -> Vec<String> {
        let listed = project.rlx_with(&[&["ls", "--json"], arguments].concat()).expect(0).json();
        let runs = listed["runs"].as_array().unwrap().iter();
        runs.map(|run| run["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["--where", "algo.learning_rate=0.003→0"]), ["falling_001"]);
    assert_eq!(names(&["where:algo.learning_rate=0.003→0"]), ["falling_001"]);
    assert_eq!(names(&["--where", "algo.learning_rate!=0.003→0", "--sort", "name"]), ["high_001", "low_001"]);
    assert_eq!(names(&["--sort", "algo.learning_rate"]), ["low_001", "falling_001", "high_001"]);
}

#[test]
fn what_follows_from_the_length_comes_after_it() {
    let project = Project::new();
    let short = crate::project::TINY.replace("save_every: 1024, ", "").replace("every: 1024, ", "");
    project.write("short.yaml", &short);
    project.rlx("train short.yaml --tag lengths").expect(0);
    project.rlx("train short.yaml --tag lengths --set algo.total_timesteps=4096").expect(0);
    let listed = project.rlx("ls tag:lengths --csv").expect(0).stdout;
    let header: Vec<&str> = listed.lines().next().unwrap().split(',').collect();
    let place =
        |key: &str| header.iter().position(|column| *column == key).unwrap_or_else(|| panic!("{header:?}"));
    assert!(
        place("algo.total_timesteps") < place("checkpoint.save_every").min(place("eval.every")),
        "{header:?}"
    );
}

#[test]
fn wrong_keys_and_environments_say_what_is_right() {
    let project = Project::trained();
    for (line, hint) in [
        ("ls --columns nmae", "did you mean name?"),
        ("ls --columns name,gamma", "did you mean algo.gamma?"),
        ("ls --sort -scor", "did you mean score?"),
        ("ls --where gamma=1", "did you mean algo.gamma?"),
        ("ls --where algo.gamma", "expected KEY=VALUE"),
        ("ls tag:none", "rlx ls --columns name,tags"),
    ] {
        let ran = project.rlx(line).expect(2);
        assert!(ran.stderr.contains(hint), "{line}: {}", ran.stderr);
    }
    let ran = project.rlx("ls --env CartPool-v1").expect(0);
    assert!(ran.stderr.contains("no run uses the environment CartPool-v1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean --env CartPole-v1?"), "{}", ran.stderr);
    let ran = project.rlx("ls --env Pendulum-v1").expect(0);
    assert!(ran.stderr.contains("environments of the runs here: CartPole-v1"), "{}", ran.stderr);
    let ran = project.rlx("ls --env cartpole-v1 --status failed").expect(0);
    assert!(ran.stderr.contains("no runs match"), "{}", ran.stderr);
}

#[test]
fn notes_and_titles() {
    let project = Project::trained();
    project.rlx("train tiny.yaml").expect(0);
    let note = |arguments: &[&str]| project.rlx_with(&[&["note"], arguments].concat());
    assert_eq!(note(&["tiny_001"]).expect(0).stdout, "tiny_001 has no notes\n");
    note(&["tiny_001", "reward scale was wrong"]).expect(0);
    let both = note(&["tiny_*", "before the fix"]).expect(0);
    assert!(both.stderr.contains("tiny_* matches 2 runs: tiny_001, tiny_002"), "{}", both.stderr);
    let json = note(&["tiny_001", "--json"]).expect(0).json();
    assert_eq!(json["schema"], "rlx.notes/1");
    let notes = json["runs"][0]["notes"].as_array().unwrap();
    assert_eq!(
        notes.iter().map(|note| &note["text"]).collect::<Vec<_>>(),
        ["reward scale was wrong", "before the fix"]
    );
    let title = "wide network, no entropy bonus";
    let renamed = project.rlx_with(&["rename", "tiny_001", title]).expect(0);
    assert_eq!(renamed.stdout, format!("tiny_001: {title}\n"));
    let info = project.rlx("info tiny_001").expect(0).stdout;
    for text in [title, "reward scale was wrong", "before the fix"] {
        assert!(info.contains(text), "{info}");
    }
    assert!(project.path("runs/tiny_001").is_dir(), "the folder keeps its name");
    let condition = format!("title={title}");
    assert_eq!(names(&project, &["--where", &condition]), ["tiny_001"]);
    let shown = project.rlx("ls tiny_002 --columns name,notes,title").expect(0).stdout;
    assert_eq!(shown.lines().nth(1), Some("tiny_002  before the fix  -"));
    // A title doesn't name a run.
    project.rlx_with(&["info", title]).expect(2);
    let first = notes[0]["number"].to_string();
    note(&["tiny_001", "--remove", &first]).expect(0);
    assert_eq!(note(&["tiny_001", "--json"]).json()["runs"][0]["notes"].as_array().unwrap().len(), 1);
    let gone = note(&["tiny_001", "--remove", &first]).expect(2);
    assert!(gone.stderr.contains(&format!("tiny_001 has no note {first}")), "{}", gone.stderr);
    project.rlx("rename tiny_001 --clear").expect(0);
    assert_eq!(project.rlx("info tiny_001 --json").json()["title"], json!(null));
    for arguments in [
        &["note", "tiny_001", "two\nlines"][..],
        &["note", "tiny_001", ""],
        &["note", "tiny_001", &"x".repeat(1001)],
        &["rename", "tiny_001", &"x".repeat(101)],
        &["rename", "tiny_*", "one title for two"],
        &["rename", "tiny_001"],
        &["note", "tiny_001:best", "x"],
    ] {
        project.rlx_with(arguments).expect(2);
    }
}

/// The cache of configs changes no answer: with it, without it, and after every change of a snapshot.
#[test]
fn config_columns_come_from_the_files() {
    let project = sweep();
    let index = project.path("runs/.index.sqlite");
    let line = "ls --csv --sort name --columns name,algo.gamma,env.id,score";
    let listed = || {
        let with = project.rlx(line).expect(0).stdout;
        std::fs::remove_file(&index).unwrap();
        let without = project.rlx(line).expect(0).stdout;
        assert_eq!(with, without);
        assert_eq!(project.rlx(line).expect(0).stdout, without, "cached");
        without
    };
    let before = listed();
    let snapshot = project.path("runs/a_001/config_snapshot.yaml");
    let text = std::fs::read_to_string(&snapshot).unwrap();
    std::fs::write(&snapshot, text.replace("gamma: 0.9\n", "gamma: 0.8\n")).unwrap();
    let after = listed();
    assert_ne!(before, after);
    assert!(after.contains("a_001,0.8,CartPole-v1,"), "{after}");
    std::fs::write(&snapshot, "not a config").unwrap();
    assert!(listed().contains("a_001,,,"), "an unreadable config has no values");
    assert_eq!(project.rlx("ls a_001 --json").expect(0).json()["runs"][0]["config"], json!(null));
}
