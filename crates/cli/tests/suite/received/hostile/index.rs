//! `runs/.index.sqlite` comes with a received project too. It is a cache: whatever is in it, answers are the same.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::edit::{file, folder, json, link, pipe, sparse, text};
use crate::received::attack::{Case, attack, run};
use crate::received::project::{Base, GOOD, RUN, ReceivedProject};

fn index(to: &ReceivedProject, end: &str) -> std::path::PathBuf {
    to.project.path(&format!("runs/.index.sqlite{end}"))
}

/// An index as rlx creates it, with configs.
fn make_index(to: &ReceivedProject) {
    let done = run(to, "ls --columns name,algo.gamma");
    assert_eq!(done.code, Some(0), "{}", done.short());
    assert!(index(to, "").is_file(), "rlx keeps an index");
}

fn statements(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// SQL that turns the index's own table into `object`, whatever its columns are.
fn in_place_of_the_table(to: &ReceivedProject, object: impl Fn(&str, &[String]) -> String) {
    make_index(to);
    let connection = Connection::open(index(to, "")).unwrap();
    let table: String = connection
        .query_row("SELECT name FROM sqlite_master WHERE type = 'table'", [], |row| row.get(0))
        .unwrap();
    let mut columns = connection.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
    let columns: Vec<String> = columns.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    statements(&index(to, ""), &object(&table, &columns));
}

#[test]
fn an_index_that_is_no_file_is_done_without() {
    let mut cases = Vec::new();
    for end in ["", "-journal", "-wal", "-shm"] {
        let ends = [
            ("a pipe", pipe as fn(&Path)),
            ("a folder", folder as fn(&Path)),
            ("a terabyte long", sparse as fn(&Path)),
            ("garbage", |path| file(path, &[0xd9; 4096])),
        ];
        for (what, make) in ends {
            cases.push(Case::new(Base::Alone, format!(".index.sqlite{end} is {what}"), move |to| {
                if !end.is_empty() {
                    make_index(to);
                }
                make(&index(to, end));
            }));
        }
        for (what, target) in
            [("a link to a file outside", "secret.txt"), ("a link to nothing outside", "made")]
        {
            cases.push(Case::new(Base::Alone, format!(".index.sqlite{end} is {what}"), move |to| {
                if !end.is_empty() {
                    make_index(to);
                }
                link(&index(to, end), &to.outside(target));
            }));
        }
    }
    attack(cases);
}

/// A journal that asks to be rolled back makes SQLite write to the database before any query.
#[test]
fn an_index_with_a_hot_journal_or_log_is_done_without() {
    let mode = |mode: &'static str, end: &'static str, make: fn(&Path)| {
        Case::new(Base::Alone, format!("an index in mode {mode}, its {end} is hostile"), move |to| {
            make_index(to);
            statements(&index(to, ""), &format!("PRAGMA journal_mode = {mode}; CREATE TABLE other (x);"));
            make(&index(to, end));
        })
    };
    attack(vec![
        mode("wal", "-wal", pipe),
        mode("wal", "-shm", pipe),
        mode("wal", "-wal", sparse),
        mode("persist", "-journal", pipe),
        mode("persist", "-journal", sparse),
        mode("persist", "-journal", |path| file(path, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\xff\xff\xff\xff")),
    ]);
}

#[test]
fn an_index_that_computes_without_end_is_done_without() {
    const ENDLESS: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)";
    let view = |name: &str, endless: fn(&[String]) -> String| {
        Case::new(Base::Alone, format!("the index's table is a view {name}"), move |to| {
            in_place_of_the_table(to, |table, columns| {
                format!("DROP TABLE {table}; CREATE VIEW {table} AS {};", endless(columns))
            });
        })
    };
    let rows =
        view("of rows without end", move |names| format!("{ENDLESS} SELECT {} FROM c", columns(names, "x")));
    let never = view("whose first row never comes", |names| {
        format!("{ENDLESS} SELECT {} FROM c WHERE x < 0", columns(names, "x"))
    });
    let large = view("of a value of a gigabyte", |names| {
        format!("SELECT {}", columns(names, "zeroblob(1000000000)"))
    });
    let trigger = Case::new(Base::Alone, "the index's table has triggers without end", |to| {
        in_place_of_the_table(to, |table, columns| {
            let work = format!("{ENDLESS} SELECT count(*) FROM c");
            let before = ["INSERT", "UPDATE", "DELETE"].map(|when| {
                format!("CREATE TRIGGER t_{when} BEFORE {when} ON {table} BEGIN SELECT ({work}); END;")
            });
            // Without rows everything has to be inserted.
            format!(
                "{} DELETE FROM {table} WHERE {} = 'x'; DROP TRIGGER t_DELETE;",
                before.join(" "),
                columns[0]
            )
        });
        statements(&index(to, ""), "PRAGMA writable_schema = OFF;");
    });
    let full = Case::new(Base::Alone, "the index has a hundred thousand runs that aren't there", |to| {
        in_place_of_the_table(to, |table, columns| {
            let values = vec!["'r' || x"; columns.len()].join(", ");
            format!("{ENDLESS} INSERT INTO {table} SELECT {values} FROM c LIMIT 100000;")
        });
    });
    attack(vec![rows, never, large, trigger, full]);
}

/// The columns of a view, all with the same value.
fn columns(names: &[String], value: &str) -> String {
    names.iter().map(|name| format!("{value} AS {name}")).collect::<Vec<_>>().join(", ")
}

/// One file of a run is changed without the index noticing.
struct Change {
    what: &'static str,
    make: fn(&ReceivedProject),
}

/// Changes a file in place: same length, same inode, and its time set back.
fn silently(path: &Path, from: &str, into: &str) {
    assert_eq!(from.len(), into.len());
    let before = std::fs::metadata(path).unwrap().modified().unwrap();
    let bytes = std::fs::read_to_string(path).unwrap();
    assert!(bytes.contains(from), "{from} is not in {bytes}");
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::io::Write::write_all(&mut &file, bytes.replace(from, into).as_bytes()).unwrap();
    file.set_modified(before).unwrap();
}

fn changes() -> Vec<Change> {
    let change = |what, make| Change { what, make };
    vec![
        change("nothing", |_| {}),
        change("the environment in metadata.json, silently", |to| {
            silently(&to.run("metadata.json"), "CartPole-v1", "CortPole-v1");
        }),
        change("a tag in metadata.json", |to| json(&to.run("metadata.json"), "/tags", "[\"other\"]")),
        change("the outcome in end.json, silently", |to| {
            silently(&to.run("attempts/1/end.json"), "\"completed\"", "\"failed\"   ");
        }),
        change("the end is taken away", |to| super::edit::remove(&to.run("attempts/1/end.json"))),
        change("another attempt", |to| super::edit::copy(&to.run("attempts/1"), &to.run("attempts/2"))),
        change("steps in metrics.jsonl, silently", |to| {
            silently(&to.run("metrics.jsonl"), "\"step\":128,", "\"step\":129,");
        }),
        change("metrics.jsonl is longer", |to| {
            text(&to.run("metrics.jsonl"), |text| text.replace("\"step\":128,", "\"step\":1280,"));
        }),
        change("metrics.jsonl is gone", |to| super::edit::remove(&to.run("metrics.jsonl"))),
        change("the best score in a manifest", |to| {
            super::edit::manifest(&to.run("checkpoints/step_128"), "/best/score", "777.5");
        }),
        change("a manifest is gone", |to| super::edit::remove(&to.run("checkpoints/step_128/manifest.json"))),
        change("a checkpoint is gone", |to| super::edit::remove(&to.run("checkpoints/step_128"))),
        change("the learning rate in the config, silently", |to| {
            silently(&to.run("config_snapshot.yaml"), "learning_rate: 0.001", "learning_rate: 0.002");
        }),
        change("the config is gone", |to| super::edit::remove(&to.run("config_snapshot.yaml"))),
        change("the config is a pipe", |to| pipe(&to.run("config_snapshot.yaml"))),
        change("the config is a link to that of another run", |to| {
            link(
                &to.run("config_snapshot.yaml"),
                &to.project.path("runs").join(GOOD).join("config_snapshot.yaml"),
            );
        }),
        change("a later evaluation", |to| file(&to.run("eval/step_99999.json"), b"{\"mean_return\": 77.5}")),
        change("a title is written", |to| {
            let written = to.project.rlx(&format!("rename {RUN} late"));
            assert_eq!(written.code, Some(0), "{}", written.stderr);
        }),
        change("metadata.json is a pipe", |to| pipe(&to.run("metadata.json"))),
        change("the run is gone", |to| super::edit::remove(&to.run(""))),
        change("the run is another one", |to| {
            let good = to.project.path("runs").join(GOOD);
            super::edit::remove(&to.run(""));
            super::edit::copy(&good, &to.run(""));
        }),
        change("the run is renamed", |to| {
            std::fs::rename(to.run(""), to.project.path("runs/renamed_001")).unwrap();
        }),
        change("a label is written", |to| {
            let written = to.project.rlx(&format!("tag {RUN} late"));
            assert_eq!(written.code, Some(0), "{}", written.stderr);
        }),
    ]
}

/// Whatever was changed since the index was created, `ls` shows what the files say.
#[test]
fn with_and_without_its_index_ls_says_the_same() {
    /// How old a file must be before the index relies on its times.
    const OLD: Duration = Duration::from_millis(2500);
    let places: Vec<(Change, ReceivedProject)> =
        changes().into_iter().map(|change| (change, ReceivedProject::new(Base::Alone))).collect();
    let made = Instant::now();
    // Listing is what fills the index, and it may only do so once the files are old enough.
    while made.elapsed() < OLD {
        assert_eq!(run(&places[0].1, "ls").code, Some(0));
    }
    let mut problems = Vec::new();
    for (change, place) in &places {
        make_index(place);
        make_index(place);
        (change.make)(place);
        let with = run(place, "ls --json");
        super::edit::remove(&index(place, ""));
        let without = run(place, "ls --json");
        if with.stdout != without.stdout || with.code != without.code {
            let place = with.stdout.bytes().zip(without.stdout.bytes()).take_while(|(a, b)| a == b).count();
            let from = |text: &str| text.chars().skip(place.saturating_sub(30)).take(60).collect::<String>();
            let (with, without) = (from(&with.stdout), from(&without.stdout));
            problems.push(format!("{}: …{with}… with it, …{without}… without it", change.what));
        }
    }
    assert!(problems.is_empty(), "{} differ:\n{}", problems.len(), problems.join("\n"));
}
