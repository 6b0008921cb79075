//! Foreign text can't control the terminal: whatever characters a received run
//! has in its files or in its folder's name, they are shown as escapes and have
//! no effect.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::project::{Project, Ran};
use crate::terminal::seen;

/// Escape sequences of seven and eight bits for colour, title, cursor and screen, everything that moves the cursor or
/// reverses the reading direction, invisible characters, characters that rlx uses as marks, and lines that look like
/// rlx's own.
const HOSTILE: &str = "x\u{1b}[35m\u{1b}]0;owned\u{7}\u{9b}2J\u{1b}[2K\u{8}\r\u{7f}\u{85}\u{c}\u{b}\u{202e}\u{2066}\u{200e}\
                       \u{200f}\u{61c}\u{200b}\u{2060}\u{ad}\u{2028}\u{2029}\u{feff}\u{fe0f}\u{e0041}\u{fdd0}1;35\u{fdd1}\u{fffe}\
                       \nFORGED error: gone\nFORGED verdict: better\t.";

/// The same for a folder, whose name is limited in length.
const HOSTILE_NAME: &str = "tiny\u{1b}[35m\u{9b}2J\r\u{7}\u{202e}\u{200b}\nFORGED $(touch owned) 'x'_001";

/// Every command that shows a run, with RUN for the hostile one and OTHER for a harmless one.
const COMMANDS: [&str; 38] = [
    "ls",
    "ls --columns name,id,status,env,algo,seeds,steps,return,best,created,ended,tags",
    "ls --columns name,env.id,title,notes --sort title",
    "ls --csv --columns name,tags,title,notes,env.id,run_name",
    "note RUN",
    "info RUN",
    "compare OTHER RUN",
    "compare RUN OTHER --force",
    "compare OTHER RUN --group-by config --reference RUN --best 1",
    "diff OTHER RUN",
    "diagnose RUN",
    "diagnose RUN --all",
    "analyze RUN",
    "explain-metrics RUN",
    "explain-metrics RUN nothing",
    "summarize",
    "summarize RUN",
    "suggest RUN",
    "plot RUN --terminal",
    "plot RUN OTHER",
    "plot RUN OTHER --against algo.gamma",
    "plot RUN OTHER --parallel algo.gamma,policy.activation --terminal",
    "plot RUN --metric nothing",
    "tail RUN --no-follow",
    "report RUN OTHER --no-videos --output report.html",
    "inspect RUN --states 5",
    "inspect RUN:step_7",
    "eval --run RUN --episodes 2",
    "eval RUN:nothing",
    "tag RUN",
    "resume RUN",
    "resume RUN --total-timesteps 1",
    "rm RUN",
    "rm nothing",
    "train tiny.yaml --from RUN --dry-run",
    "train RUN/config_snapshot.yaml --dry-run",
    "config check RUN/config_snapshot.yaml",
    "config show RUN/config_snapshot.yaml",
];

/// Two runs: one to be made hostile, one left as it is.
fn two_runs() -> Project {
    let project = Project::trained();
    project.rlx("train tiny.yaml --set seed=7 --set algo.learning_rate=0.01").expect(0);
    project
}

/// What could deceive a terminal or a reader, if anything.
fn deceives(text: &str) -> Option<char> {
    text.chars().find(|c| {
        let code = u32::from(*c);
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(code, 0xAD | 0x61C | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF)
            || matches!(code, 0xFDD0..=0xFDEF | 0xFE0F | 0xFFFE | 0xE0000..=0xE0FFF)
    })
}

/// `text` without the colours that rlx, its parser and its marks of config lines use.
fn without_own_colours(text: &str) -> String {
    const OWN: [&str; 11] = ["0", "1", "2", "4", "32", "33", "91", "94", "1;31", "1;33", "1;36"];
    OWN.iter().fold(text.to_owned(), |text, code| text.replace(&format!("\x1b[{code}m"), ""))
}

#[track_caller]
fn assert_plain(line: &str, ran: &Ran) {
    assert!(ran.code.is_some_and(|code| code != 70), "{line}: {:?}\n{}", ran.code, ran.stderr);
    for text in [&ran.stdout, &ran.stderr] {
        if let Some(c) = deceives(text) {
            let at = text.find(c).unwrap();
            let around: String =
                text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
            panic!("{line}: {c:?} after {around:?}");
        }
    }
    // Wrapped lines on stdout are indented; text at the start of a line was forged.
    let forged = |text: &str, line: &str| {
        assert!(!line.starts_with("FORGED"), "{line:?} is a line of its own in\n{text}")
    };
    ran.stdout.lines().for_each(|line| forged(&ran.stdout, line));
    ran.stderr.lines().for_each(|line| forged(&ran.stderr, line.trim_start()));
}

/// Runs every command without colour, with colour and as JSON; returns how many printed something.
fn check_commands(project: &Project, run: &str, other: &str) -> usize {
    let mut answered = 0;
    for line in COMMANDS {
        let words: Vec<String> =
            line.split(' ').map(|word| word.replace("RUN", run).replace("OTHER", other)).collect();
        let with = |more: &[&str]| {
            let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
            project.rlx_with(&words)
        };
        let plain = with(&["--color", "never"]);
        assert_plain(line, &plain);
        answered += usize::from(plain.code == Some(0));
        let mut coloured = with(&["--color", "always"]);
        coloured.stdout = without_own_colours(&coloured.stdout);
        coloured.stderr = without_own_colours(&coloured.stderr);
        assert_plain(line, &coloured);
        let json = with(&["--json"]);
        assert_plain(line, &json);
        json.json_lines();
    }
    for file in files_below(&project.path("")) {
        if file.extension().is_some_and(|ending| ending == "svg" || ending == "html") {
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(deceives(&text), None, "{}", file.display());
        }
    }
    assert!(!project.path("owned").exists());
    answered
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn change_json(project: &Project, file: &str, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&std::fs::read(project.path(file)).unwrap()).unwrap();
    change(&mut value);
    project.write(file, &value.to_string());
}

#[test]
fn texts_of_a_received_run_do_nothing() {
    let project = two_runs();
    change_json(&project, "runs/tiny_001/metadata.json", |run| {
        for field in ["host", "cpu_kernels", "device", "started", "ended", "created"] {
            run[field] = HOSTILE.into();
        }
        run["tags"] = json!([HOSTILE]);
        run["overrides"] = json!([HOSTILE]);
        run["versions"]["rlx"] = HOSTILE.into();
        run["git"] = json!({ "commit": HOSTILE, "branch": HOSTILE, "dirty": true, "not_covered": HOSTILE });
        run["lineage"] = json!({ "kind": "warm_start", "parent": HOSTILE, "checkpoint": 1 });
        run[HOSTILE] = HOSTILE.into();
    });
    let label = json!({ "schema": "rlx.label/1", "at": HOSTILE, "note": HOSTILE, "title": HOSTILE });
    project.write("runs/tiny_001/labels/1.json", &label.to_string());
    let answered = check_commands(&project, "runs/tiny_001", "tiny_002");
    assert!(answered >= 20, "only {answered} commands showed the run");
    // Programs get the original of what is shown with escapes.
    let info = project.rlx("info tiny_001 --json").expect(0).json();
    assert_eq!((&info["metadata"]["tags"][0], &info["metadata"]["host"]), (&HOSTILE.into(), &HOSTILE.into()));
    let shown = project.rlx("info tiny_001").expect(0).stdout;
    assert!(shown.contains(r"x\u{1b}[35m\u{1b}]0;owned\u{7}\u{9b}2J"), "{shown}");
}

#[test]
fn what_a_received_run_calls_itself_does_nothing() {
    let project = two_runs();
    change_json(&project, "runs/tiny_001/metadata.json", |run| {
        for field in ["name", "env", "algo"] {
            run[field] = HOSTILE.into();
        }
    });
    check_commands(&project, "runs/tiny_001", "tiny_002");
}

#[test]
fn the_reason_of_an_end_does_nothing() {
    let project = two_runs();
    change_json(&project, "runs/tiny_001/attempts/1/end.json", |end| {
        end["outcome"] = "failed".into();
        end["reason"] = HOSTILE.into();
        end["ended"] = HOSTILE.into();
    });
    check_commands(&project, "runs/tiny_001", "tiny_002");
}

#[test]
fn metrics_with_hostile_names_do_nothing() {
    let project = two_runs();
    let file = "runs/tiny_001/metrics.jsonl";
    let mut text = String::new();
    for line in std::fs::read_to_string(project.path(file)).unwrap().lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record["values"][HOSTILE] = 1.5.into();
        if record["kind"] == "observations" {
            record["kind"] = HOSTILE.into();
        }
        text.push_str(&format!("{record}\n"));
    }
    project.write(file, &text);
    check_commands(&project, "runs/tiny_001", "tiny_002");
}

#[test]
fn a_folder_with_a_hostile_name_does_nothing() {
    let project = two_runs();
    std::fs::rename(project.path("runs/tiny_001"), project.path("runs").join(HOSTILE_NAME)).unwrap();
    let answered = check_commands(&project, &format!("runs/{HOSTILE_NAME}"), "tiny_002");
    assert!(answered >= 20, "only {answered} commands showed the run");
    // A hint can be pasted, and names that run.
    let refused = project.rlx_with(&["rm", &format!("runs/{HOSTILE_NAME}")]).expect(3);
    let hint = refused.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
    let mut bash = project.command("bash");
    let pasted = bash.args(["-c", hint]).output().unwrap();
    assert_eq!(pasted.status.code(), Some(0), "{hint}\n{}", String::from_utf8_lossy(&pasted.stderr));
    assert_eq!(project.rlx("ls --json").json()["found"], 1);
    assert!(!project.path("owned").exists());
}

#[test]
fn a_hostile_config_does_nothing() {
    let project = two_runs();
    let escaped = serde_json::to_string(HOSTILE).unwrap();
    let snapshot = "runs/tiny_001/config_snapshot.yaml";
    let before = std::fs::read_to_string(project.path(snapshot)).unwrap();
    for (what, with) in [
        ("CartPole-v1", escaped.as_str()),
        ("tanh", &escaped),
        ("run_name: tiny", &format!("run_name: {escaped}")),
    ] {
        assert!(before.contains(what), "{what}");
        project.write(snapshot, &before.replacen(what, with, 1));
        check_commands(&project, "runs/tiny_001", "tiny_002");
    }
    // As raw bytes too: error messages quote lines of the file.
    let raw = HOSTILE.replace('\n', " ");
    for text in [
        format!("{before}\n{raw}: 1\n"),
        format!("env: {{id: CartPole-v1}} # {raw}\nseed: \"{raw}\"\n"),
        format!("env:\n  id: {raw}\n"),
    ] {
        project.write(snapshot, &text);
        check_commands(&project, "runs/tiny_001", "tiny_002");
    }
}

#[test]
fn hostile_arguments_are_shown() {
    let project = Project::trained();
    let setting = format!("{HOSTILE}=1");
    let value = format!("run_name={HOSTILE}");
    for words in [
        &["info", HOSTILE][..],
        &["info", "tiny_001", HOSTILE],
        &["ls", "--status", HOSTILE],
        &["ls", "--columns", HOSTILE],
        &["ls", &format!("--{HOSTILE}")],
        &["ls", "--name", HOSTILE],
        &[HOSTILE],
        &["train", HOSTILE],
        &["train", "tiny.yaml", "--set", &setting],
        &["train", "tiny.yaml", "--set", &value],
        &["train", "tiny.yaml", "--from", HOSTILE],
        &["plot", "tiny_001", "--output", HOSTILE],
        &["plot", "tiny_001", "--title", HOSTILE],
        &["plot", "tiny_001", "--baseline", HOSTILE],
        &["stats", "compare", "--a", HOSTILE, "--b", HOSTILE],
        &["stats", "compare", "--a", "tiny.yaml", "--b", "tiny.yaml", "--column", HOSTILE],
        &["tag", "tiny_001", HOSTILE],
        &["envs", HOSTILE],
        &["init", HOSTILE],
        &["study", HOSTILE],
        &["study", "init", "--task", HOSTILE],
        &["ledger", "note", HOSTILE],
        &["ls", "--root", HOSTILE],
    ] {
        for more in [&["--color", "never"][..], &["--color", "always"], &["--json"]] {
            let mut ran = project.rlx_with(&[words, more].concat());
            if more == ["--color", "always"] {
                (ran.stdout, ran.stderr) =
                    (without_own_colours(&ran.stdout), without_own_colours(&ran.stderr));
            }
            assert_plain(&words.join(" "), &ran);
        }
    }
}

#[test]
fn texts_of_a_study_do_nothing() {
    let project = Project::new();
    project.rlx_with(&["study", "init", "--task", "balance", "--mission", HOSTILE]).expect(0);
    project.draft_contract();
    project.rlx_with(&["ledger", "note", HOSTILE]).expect(0);
    project.rlx_with(&["study", "handoff", "--reason", HOSTILE]).expect(0);
    let contract = ".rlxp/tasks/balance/studies/first/contract.yaml";
    let text = std::fs::read_to_string(project.path(contract)).unwrap();
    let hostile = text.replace("Balance for longer", &serde_json::to_string(HOSTILE).unwrap());
    assert_ne!(hostile, text);
    project.write(contract, &hostile);
    project
        .write(".rlxp/tasks/balance/studies/first/candidates/c1.yaml", &format!("hypothesis: {HOSTILE}\n"));
    for line in [
        "study status",
        "study list",
        "study next",
        "study handoff",
        "ledger show",
        "contract check",
        "contract diff",
        "contract request",
        "approve --all",
        "approve --all --print",
        "metric check",
        "candidate list",
        "candidate show c1",
        "candidate validate c1",
        "queue show",
        "launch c1",
        "launch status",
        "verify --chain",
        "study export --to exported",
        "study close --reason enough",
    ] {
        for more in [" --color never", " --color always", " --json"] {
            let mut ran = project.rlx(&format!("{line}{more}"));
            (ran.stdout, ran.stderr) = (without_own_colours(&ran.stdout), without_own_colours(&ran.stderr));
            assert_plain(line, &ran);
        }
    }
}

#[test]
fn a_terminal_is_left_alone() {
    let project = two_runs();
    std::fs::rename(project.path("runs/tiny_001"), project.path("runs").join(HOSTILE_NAME)).unwrap();
    std::fs::remove_dir_all(project.path("runs/tiny_002")).unwrap();
    for line in ["rlx rm @last", "rlx report @last --no-videos --output report.html", "rlx info @last"] {
        let (screen, _) = seen(&project, line, "n\n");
        let names_it = !line.contains("report");
        assert!(!names_it || screen.contains(r"tiny\u{1b}[35m\u{9b}2J"), "{line}: {screen:?}");
        assert!(!screen.contains("\u{1b}[35m") && !screen.contains('\u{9b}'), "{line}: {screen:?}");
    }
}
