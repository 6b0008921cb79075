//! Numbers at and beyond the edge of what fits, in every file and in the names of folders.

use super::edit::{copy, file, json, manifest, text};
use crate::received::attack::{Case, attack};
use crate::received::project::{Base, RUN, ReceivedProject};

const MOST: &str = "18446744073709551615";
/// One more than the largest number.
const MORE: &str = "18446744073709551616";

fn in_json(place: &'static str, pointer: &'static str, raw: impl Into<String>) -> Case {
    let raw = raw.into();
    let shown: String = raw.chars().take(24).collect();
    Case::new(Base::Alone, format!("{place} has {shown} at {pointer}"), move |to| {
        json(&to.run(place), pointer, &raw);
    })
}

fn steps(to: &ReceivedProject) -> [std::path::PathBuf; 2] {
    ["step_64", "step_128"].map(|step| to.run("checkpoints").join(step))
}

#[test]
fn descriptions_with_impossible_numbers() {
    let many: Vec<String> = (0..1_000_000).map(|seed| seed.to_string()).collect();
    let mut cases = vec![
        in_json("metadata.json", "/seeds", format!("[{}]", many.join(","))),
        in_json("metadata.json", "/seeds", format!("[{MOST}]")),
        in_json("metadata.json", "/seeds", format!("[{MOST}, 0]")),
        in_json("metadata.json", "/seeds", "[]"),
        in_json("metadata.json", "/seeds", "[0, 0]"),
        in_json("metadata.json", "/seeds", "[\"../../outside\"]"),
    ];
    let numbers = [MOST, "-1", "1e400", "0"];
    cases.extend(numbers.map(|number| in_json("metadata.json", "/total_steps", number)));
    attack(cases);
}

/// Two seeds with the same folder, more seeds than folders, and a total that overflows when it is added up.
#[test]
fn several_seeds_with_impossible_numbers() {
    let case = |name: &str, pointer: &'static str, raw: &'static str| {
        Case::new(Base::Several, format!("Several, {name}"), move |to| {
            json(&to.run("metadata.json"), pointer, raw);
        })
    };
    attack(vec![
        case("the same seed twice", "/seeds", "[0, 0]"),
        case("a seed without a folder", "/seeds", "[0, 1, 18446744073709551615]"),
        case("a total that overflows", "/total_steps", MOST),
    ]);
}

#[test]
fn claims_and_ends_with_impossible_numbers() {
    let mut cases = Vec::new();
    for number in [MOST, "-1", "0", "1", "4294967295"] {
        cases.push(Case::new(
            Base::Alone,
            format!("claimed by process {number}, without an end"),
            move |to| {
                json(&to.run("attempts/1/claim.json"), "/pid", number);
                super::edit::remove(&to.run("attempts/1/end.json"));
            },
        ));
    }
    for (pointer, number) in [("/steps", MOST), ("/steps", "-1"), ("/exit_code", "1e400"), ("/outcome", "7")]
    {
        cases.push(in_json("attempts/1/end.json", pointer, number));
    }
    cases.push(in_json("attempts/1/claim.json", "/process_start", MOST));
    attack(cases);
}

/// The claim names the process of this test, which is alive: nothing waits for it, and nothing takes its run.
#[test]
fn a_run_that_says_it_is_being_written_is_not_waited_for() {
    attack(vec![
        Case::new(Base::Alone, "claimed by a process that lives", |to| {
            let own = std::process::id();
            let stat = std::fs::read_to_string(format!("/proc/{own}/stat")).unwrap();
            // The 22nd field; the second one is in brackets and may hold spaces.
            let start = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap();
            json(&to.run("attempts/1/claim.json"), "/pid", &own.to_string());
            json(&to.run("attempts/1/claim.json"), "/process_start", start);
            super::edit::remove(&to.run("attempts/1/end.json"));
        })
        .refused("rm R --yes", RUN),
    ]);
}

#[test]
fn metrics_with_impossible_numbers() {
    let line = |name: &str, line: String| {
        Case::new(Base::Alone, format!("metrics with {name}"), move |to| {
            text(&to.run("metrics.jsonl"), |text| format!("{text}{line}\n{line}\n"));
        })
    };
    let record = |seq: &str, step: &str, value: &str| {
        format!(
            r#"{{"seq":{seq},"step":{step},"wall":1.5,"kind":"train","values":{{"mean_return":{value}}}}}"#
        )
    };
    let names: Vec<String> = (0..50_000).map(|number| format!("\"m{number}\":1.0")).collect();
    attack(vec![
        line("the last number of all", record(MOST, "200", "1.0")),
        line("a number beyond all", record(MORE, "200", "1.0")),
        line("the last step of all", record("99", MOST, "1.0")),
        line("a value beyond all", record("99", "200", "1e400")),
        line("the largest value", record("99", "200", "1.7976931348623157e308")),
        line(
            "50000 names",
            format!(
                r#"{{"seq":99,"step":200,"wall":1e400,"kind":"train","values":{{{}}}}}"#,
                names.join(",")
            ),
        ),
        Case::new(Base::Alone, "metrics that begin with the last number of all", move |to| {
            text(&to.run("metrics.jsonl"), |text| text.replacen("\"seq\":0", &format!("\"seq\":{MOST}"), 1));
        }),
    ]);
}

#[test]
fn evaluations_with_impossible_numbers() {
    let place = "eval/step_128.json";
    let many = format!("[{}]", vec!["1.0"; 1_000_000].join(","));
    attack(vec![
        in_json(place, "/step", MOST),
        in_json(place, "/returns", many),
        in_json(place, "/returns", "[1e400]"),
        in_json(place, "/returns", "[]"),
        in_json(place, "/returns", "[1.7976931348623157e308, 1.7976931348623157e308]"),
        in_json(place, "/lengths", format!("[{MOST}, {MOST}]")),
        in_json(place, "/mean_return", "1e400"),
        in_json(place, "/mean_return", "\"much\""),
    ]);
}

#[test]
fn manifests_with_impossible_numbers() {
    let case = |pointer: &'static str, raw: &'static str| {
        Case::new(Base::Alone, format!("manifests with {raw} at {pointer}"), move |to| {
            for checkpoint in steps(to) {
                manifest(&checkpoint, pointer, raw);
            }
        })
    };
    attack(vec![
        case("/step", MOST),
        case("/model/size", MOST),
        case("/state/size", MOST),
        case("/metrics/length", MOST),
        case("/metrics/length", "9223372036854775807"),
        case("/metrics/length", "1"),
        case("/metrics/next_seq", MOST),
        case("/best/step", MOST),
        case("/best/score", "1e400"),
        case("/best/score", "1.7976931348623157e308"),
        case("/facts/seed", MOST),
    ]);
}

#[test]
fn folders_with_the_largest_numbers() {
    let attempt = |number: &'static str| {
        Case::new(Base::Alone, format!("an attempt {number}"), move |to| {
            copy(&to.run("attempts/1"), &to.run("attempts").join(number));
        })
    };
    let checkpoint = |number: &'static str| {
        Case::new(Base::Alone, format!("a checkpoint of step {number}"), move |to| {
            let place = to.run("checkpoints").join(format!("step_{number}"));
            copy(&to.run("checkpoints/step_64"), &place);
            if number == MOST {
                manifest(&place, "/step", number);
            }
        })
    };
    let named = |place: String, from: &'static str| {
        let name = format!("a file {place}");
        Case::new(Base::Alone, name, move |to| {
            let bytes = std::fs::read(to.run(from)).unwrap();
            file(&to.run(&place), &bytes);
        })
    };
    let label = r#"{"add":["x"],"remove":[]}"#;
    let mut cases = vec![
        attempt(MOST),
        attempt("18446744073709551614"),
        attempt(MORE),
        attempt("01"),
        checkpoint(MOST),
        checkpoint(MORE),
        named(format!("eval/step_{MOST}.json"), "eval/step_64.json"),
        named(format!("eval/step_{MORE}.json"), "eval/step_64.json"),
        named(format!("logs/superseded_{MOST}.jsonl"), "metrics.jsonl"),
    ];
    for number in [MOST, "18446744073709551614", MORE, "-1"] {
        cases.push(Case::new(Base::Alone, format!("labels/{number}.json"), move |to| {
            let known = std::fs::read(to.run("labels/1.json"));
            file(&to.run(&format!("labels/{number}.json")), &known.unwrap_or(label.as_bytes().to_vec()));
        }));
    }
    for number in [MOST, "18446744073709551614", MORE] {
        cases.push(Case::new(Base::Alone, format!("a run folder received_{number}"), move |to| {
            let other = to.project.path(&format!("runs/received_{number}"));
            copy(&to.run(""), &other);
            json(&other.join("metadata.json"), "/name", &format!("\"received_{number}\""));
        }));
    }
    attack(cases);
}

/// Sizes that a config must not have; a config that asks for long training is not an attack.
#[test]
fn snapshots_with_impossible_numbers() {
    let case = |from: &'static str, into: &'static str| {
        Case::new(Base::Alone, format!("a snapshot with {into}"), move |to| {
            text(&to.run("config_snapshot.yaml"), |text| {
                assert!(text.contains(from), "{from} is not in {text}");
                text.replace(from, into)
            });
        })
    };
    attack(vec![
        case("num_envs: 2", "num_envs: 1000000000000"),
        case("hidden_sizes: [4]", "hidden_sizes: [1000000000]"),
        case("hidden_sizes: [4]", "hidden_sizes: [100000, 100000]"),
        case("threads: 1", "threads: 18446744073709551615"),
        case("seeds: [0]", "seeds: 1000000000"),
        case("rollout_steps: 32", "rollout_steps: 18446744073709551615"),
        case("total_timesteps: 128", "total_timesteps: 18446744073709551615"),
        case("gamma: ", "gamma: 1e400 # "),
    ]);
}
