//! Unexpected texts: control characters, paths in place of names, unlimited nesting.

use super::edit::{json, manifest, text};
use crate::received::attack::{Case, attack, run};
use crate::received::outside::Outside;
use crate::received::project::{Base, RUN, ReceivedProject};

/// Text that controls a terminal, as JSON: colours, a title, a cleared line, a bell, and lines that look like rlx's own.
const WORDS: &str =
    r#""a\u001b[31mred\u001b]0;title\u0007\r\u009b2J\u0000\nerror: all is lost\nhint: rm -rf ~""#;

fn in_json(place: &'static str, pointer: &'static str, raw: impl Into<String>) -> Case {
    let raw = raw.into();
    let shown: String = raw.chars().take(40).collect();
    Case::new(Base::Alone, format!("{place} has {shown} at {pointer}"), move |to| {
        json(&to.run(place), pointer, &raw);
    })
}

#[test]
fn control_characters_in_texts_are_only_texts() {
    let fields = ["/status", "/env", "/algo", "/created", "/id", "/name"];
    let mut cases: Vec<Case> =
        fields.iter().map(|pointer| in_json("metadata.json", pointer, WORDS)).collect();
    cases.push(Case::new(
        Base::Alone,
        "metadata.json has control characters wherever any text will do",
        |to| {
            let metadata = to.run("metadata.json");
            for pointer in ["/device", "/host", "/ended", "/cpu_kernels", "/unknown"] {
                json(&metadata, pointer, WORDS);
            }
            json(&metadata, "/tags", &format!("[{WORDS}]"));
            json(&metadata, "/overrides", &format!("[{WORDS}]"));
            json(&metadata, "/git", &format!(r#"{{"commit":{WORDS},"branch":{WORDS},"dirty":true}}"#));
            json(&metadata, "/versions", &format!(r#"{{"rlx":{WORDS}}}"#));
            json(&metadata, "/lineage", &format!(r#"{{"kind":"warm_start","parent":{WORDS}}}"#));
        },
    ));
    for (place, pointer) in [
        ("attempts/1/end.json", "/reason"),
        ("attempts/1/claim.json", "/host"),
        ("attempts/1/claim.json", "/boot_id"),
        ("eval/step_128.json", "/schema"),
    ] {
        cases.push(in_json(place, pointer, WORDS));
    }
    cases.push(Case::new(Base::Alone, "metrics with control characters in names and kinds", |to| {
        text(&to.run("metrics.jsonl"), |text| {
            let line =
                format!(r#"{{"seq":99,"step":200,"wall":1.0,"kind":{WORDS},"values":{{{WORDS}:1.0}}}}"#);
            format!("{text}{line}\n")
        });
    }));
    cases.push(Case::new(Base::Alone, "a snapshot with control characters", |to| {
        text(&to.run("config_snapshot.yaml"), |text| {
            text.replace("CartPole-v1", "\"\\e[31mCart\\u0007\\r\"")
        });
    }));
    cases.push(Case::new(Base::Alone, "manifests with control characters", |to| {
        for step in ["step_64", "step_128"] {
            manifest(&to.run("checkpoints").join(step), "/facts/env", WORDS);
        }
    }));
    attack(cases);
}

/// Where a name from a file becomes part of a path, it must not lead out of the run.
#[test]
fn paths_in_the_place_of_names_lead_nowhere() {
    let mut cases = Vec::new();
    for path in ["\"../../outside\"", "\"/etc/passwd\"", "\"\"", "\"--yes\""] {
        cases.push(in_json("metadata.json", "/name", path));
    }
    let parent = r#"{"kind":"resumed_extended","parent":"../../good_001","checkpoint":64}"#;
    cases.push(in_json("metadata.json", "/lineage", parent));
    for path in ["../../../escape", "/escape"] {
        cases.push(Case::new(Base::Alone, format!("a snapshot named {path}"), move |to| {
            text(&to.run("config_snapshot.yaml"), |text| {
                text.replace("run_name: received", &format!("run_name: {path}"))
            });
        }));
    }
    attack(cases);
}

#[test]
fn json_without_bottom_is_refused() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let mut cases = Vec::new();
    for levels in [200, 100_000] {
        for (place, pointer) in [
            ("metadata.json", "/unknown"),
            ("attempts/1/claim.json", "/unknown"),
            ("attempts/1/end.json", "/unknown"),
            ("eval/step_128.json", "/unknown"),
        ] {
            let raw = deep(levels);
            cases.push(Case::new(
                Base::Alone,
                format!("{place} is {levels} levels deep at {pointer}"),
                move |to| {
                    json(&to.run(place), pointer, &raw);
                },
            ));
        }
        let raw = deep(levels);
        cases.push(Case::new(Base::Alone, format!("manifests are {levels} levels deep"), move |to| {
            for step in ["step_64", "step_128"] {
                manifest(&to.run("checkpoints").join(step), "/facts/deep", &raw);
            }
        }));
        let raw = deep(levels);
        cases.push(Case::new(Base::Alone, format!("metrics are {levels} levels deep"), move |to| {
            text(&to.run("metrics.jsonl"), |text| {
                format!("{text}{{\"seq\":99,\"step\":200,\"wall\":1.0,\"kind\":\"train\",\"values\":{{\"a\":{raw}}}}}\n")
            });
        }));
        let raw = deep(levels);
        cases.push(Case::new(Base::Alone, format!("the snapshot is {levels} levels deep"), move |to| {
            text(&to.run("config_snapshot.yaml"), |text| {
                text.replace("kwargs: {}", &format!("kwargs: {{a: {raw}}}"))
            });
        }));
    }
    attack(cases);
}

#[test]
fn files_that_are_no_text_or_empty_are_said() {
    let files = [
        "metadata.json",
        "config_snapshot.yaml",
        "metrics.jsonl",
        "attempts/1/claim.json",
        "attempts/1/end.json",
        "eval/step_128.json",
        "checkpoints/step_128/manifest.json",
    ];
    let contents: [(&str, &[u8]); 3] =
        [("empty", b""), ("not UTF-8", b"\xff\xfe\x00\x80"), ("a null", b"null")];
    let cases = files.into_iter().flat_map(|place| {
        contents.map(|(what, bytes)| {
            Case::new(Base::Alone, format!("{place} is {what}"), move |to| {
                if to.run(place).exists() {
                    std::fs::write(to.run(place), bytes).unwrap();
                }
            })
        })
    });
    attack(cases.collect());
}

/// Names of folders that a terminal, a shell or rlx's own options would misread.
#[test]
fn run_folders_with_strange_names() {
    let mut problems = Vec::new();
    for name in [
        "a\u{1b}[31mred",
        "two\nlines",
        "--yes",
        "-h",
        "a b;touch x",
        "$(touch x)",
        "a:best",
        "@last",
        "@best:x",
        "tag:x",
        "a+b",
        "\u{202e}gnp",
        "\u{7}",
    ] {
        let place = ReceivedProject::new(Base::Alone);
        let folder = place.project.path("runs").join(name);
        std::fs::rename(place.run(""), &folder).unwrap();
        json(&folder.join("metadata.json"), "/name", &serde_json::to_string(name).unwrap());
        let outside = Outside::watch(&place.outside(""));
        for line in ["ls", "summarize", "info @last", "train small.yaml"] {
            let done = run(&place, line);
            let found = done.problems().into_iter().chain(outside.touched());
            problems.extend(found.map(|problem| format!("{name:?}: {line}: {problem}")));
            if done.code != Some(0) && line != "info @last" {
                problems.push(format!("{name:?}: {line}: has to work: {}", done.short()));
            }
        }
        for words in
            [vec!["info", "--", name], vec!["tag", "--", name, "fresh"], vec!["rm", "--yes", "--", name]]
        {
            let ran = place.project.rlx_with(&words);
            if !matches!(ran.code, Some(0 | 2 | 3 | 74)) {
                problems.push(format!("{name:?}: {words:?}: {:?} {}", ran.code, ran.stderr));
            }
            let control = |letter: char| letter.is_control() && letter != '\n';
            if ran.stdout.chars().chain(ran.stderr.chars()).any(control) {
                problems.push(format!("{name:?}: {words:?} shows a control character"));
            }
        }
        let good = place.project.path("runs").join(crate::received::project::GOOD);
        assert!(good.join("metadata.json").is_file(), "{name:?}: the other run is there");
        assert!(!place.project.path("x").exists(), "{name:?}: nothing of the name was executed");
        assert_eq!(outside.changed(), Vec::<String>::new(), "{name:?}");
        assert!(!place.project.path("runs").join(RUN).exists());
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
