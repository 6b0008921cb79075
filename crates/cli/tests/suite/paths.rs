//! Paths that are not UTF-8: any bytes but a slash and a zero may name a file, and JSON is text.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::project::{Project, RLX, Ran};

const NAME: &[u8] = b"pro\xffject \xc3\x28";

/// Runs `rlx` with arguments of any bytes, in the folder `inside` of the project.
fn run(project: &Project, inside: &OsStr, words: &[&OsStr]) -> Ran {
    let output =
        project.command(RLX).current_dir(project.folder().join(inside)).args(words).output().unwrap();
    project.ran(format!("{words:?}"), &output)
}

#[test]
fn every_command_answers_in_json_where_the_path_is_no_text() {
    let project = Project::new();
    let name = OsStr::from_bytes(NAME);
    let inside = project.folder().join(name);
    std::fs::create_dir_all(inside.join("runs")).unwrap();
    std::fs::copy(project.path("tiny.yaml"), inside.join("tiny.yaml")).unwrap();
    std::fs::copy(project.path("tiny.yaml"), inside.join(OsStr::from_bytes(b"c\xff.yaml"))).unwrap();
    for (line, code) in [
        ("config check tiny.yaml", 0),
        ("config check c\u{fffd}.yaml", 0),
        ("train c\u{fffd}.yaml", 0),
        ("train tiny.yaml --dry-run", 0),
        ("train tiny.yaml --set algo.learning_rate=0.01", 0),
        ("ls", 0),
        ("info tiny_001", 0),
        ("eval --run tiny_001 --episodes 2", 0),
        ("compare tiny_001 tiny_002", 0),
        ("diff tiny_001 tiny_002", 0),
        ("diagnose tiny_001", 0),
        ("analyze tiny_001", 0),
        ("summarize", 0),
        ("suggest tiny_001", 0),
        ("plot tiny_001", 0),
        ("plot tiny_001 --output c\u{fffd}.svg", 0),
        ("report tiny_001 --no-videos", 0),
        ("report tiny_001 --no-videos --output c\u{fffd}.html", 0),
        ("inspect tiny_001 --states 5 --output c\u{fffd}.svg", 0),
        ("video tiny_001 --max-steps 3", 0),
        ("resume tiny_001", 0),
        ("resume tiny_001 --total-timesteps 4096", 0),
        ("reproduce tiny_001", 0),
        ("tail tiny_001 --no-follow", 0),
        ("tag tiny_001 new", 0),
        ("init c\u{fffd}", 2),
        ("train nothing\u{fffd}.yaml", 2),
        ("eval runs/tiny_001/checkpoints/step_1024 --episodes 2", 0),
        ("study init", 2),
        ("study status", 2),
        ("rm tiny_001 --yes", 0),
    ] {
        // Bytes that are not UTF-8 are shown as the replacement character.
        let words: Vec<OsString> = line
            .split(' ')
            .map(|word| {
                let bytes = word.as_bytes();
                match word.find('\u{fffd}') {
                    Some(at) => {
                        OsStr::from_bytes(&[&bytes[..at], b"\xff", &bytes[at + 3..]].concat()).to_owned()
                    }
                    None => word.into(),
                }
            })
            .chain(["--json".into()])
            .collect();
        let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
        // The name that `init` takes is text, so the parser rejects other bytes.
        run(&project, name, &words).expect(code).json();
    }
    for words in [&["ls"][..], &["info", "tiny_002"], &["study", "list"]] {
        let words: Vec<&OsStr> =
            words.iter().map(OsStr::new).chain([OsStr::new("--json"), OsStr::new("--root"), name]).collect();
        let ran = run(&project, OsStr::new("."), &words);
        assert_ne!(ran.code, Some(70), "{}", ran.stderr);
        ran.json();
    }
    let info = run(&project, name, &["info", "tiny_002", "--json"].map(OsStr::new)).expect(0).json();
    assert!(info["path"].as_str().unwrap().contains("pro\u{fffd}ject"), "{}", info["path"]);
}
