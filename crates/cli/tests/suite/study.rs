//! `rlx study`, `rlx ledger` and `rlx verify` from outside: what they create, find and refuse.

use std::path::PathBuf;

use serde_json::Value;

use crate::project::{Project, RLX};

const STUDY: &str = ".rlxp/tasks/walker/studies/first";
const LEDGER: &str = ".rlxp/tasks/walker/studies/first/ledger.jsonl";
const KEY: &str =
    "maya@example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOcJmaegL3kaul8+yprQqFyM1+wneOvtonojD4+y04VM";
const FINGERPRINT: &str = "SHA256:Rfo4sIzd3RiIaGRsTT02dpbeD70w2r5XfQKx1Q2DQOk";

fn governed() -> Project {
    let project = Project::new();
    project.rlx("study init --task walker --study first").expect(0);
    project
}

fn read(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.path(name)).unwrap()
}

fn lines(project: &Project) -> Vec<String> {
    read(project, LEDGER).lines().map(str::to_owned).collect()
}

fn list_approvers(project: &Project, text: &str) {
    let folder = project.home().join(".config/rlx");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("approvers"), text).unwrap();
}

fn codes(report: &Value) -> Vec<&str> {
    report["problems"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

#[test]
fn init_makes_the_whole_layout() {
    let project = Project::new();
    list_approvers(&project, KEY);
    let ran = project
        .rlx_with(&["study", "init", "--task", "walker", "--study", "first", "--mission", "Walk farther"])
        .expect(0);
    assert!(ran.stdout.contains(FINGERPRINT), "{}", ran.stdout);
    for name in ["candidates", "signatures", "loops", "runs", "audits"] {
        assert!(project.path(STUDY).join(name).is_dir(), "{name}");
    }
    for name in ["schemas", "metric_extractors", "templates"] {
        assert!(project.path(".rlxp/shared").join(name).is_dir(), "{name}");
    }
    let schema: Value =
        serde_json::from_str(&read(&project, ".rlxp/shared/schemas/contract.schema.json")).unwrap();
    assert!(schema["properties"]["task"].is_object());
    assert!(read(&project, ".rlxp/tasks/walker/task_card.md").contains("Walk farther"));
    let registry = "schema: rlxp.registry/1\nactive:\n  task: walker\n  study: first\nstudies:\n  - task: walker\n    \
                    study: first\n";
    assert_eq!(read(&project, ".rlxp/registry.yaml"), registry);
    let records = lines(&project);
    let opened: Value = serde_json::from_str(&records[0]).unwrap();
    assert_eq!((records.len(), opened["kind"].as_str()), (1, Some("opened")));
    assert_eq!(opened["body"]["approvers"][0], FINGERPRINT);
    assert_eq!(opened["body"]["id"].as_str().unwrap().len(), 32);
    let state: Value = serde_json::from_str(&read(&project, &format!("{STUDY}/state.json"))).unwrap();
    assert_eq!((state["schema"].as_str(), state["records"].as_u64()), (Some("rlx.study_state/1"), Some(1)));

    let again = project.rlx("study init --task walker --study first --json").expect(3).json();
    assert_eq!(again["code"], "study_exists");
    project.rlx("study init --task walker --study second").expect(0);
    let other: Value = serde_json::from_str(
        read(&project, ".rlxp/tasks/walker/studies/second/ledger.jsonl").lines().next().unwrap(),
    )
    .unwrap();
    assert_ne!(other["body"]["id"], opened["body"]["id"]);
}

#[test]
fn init_refuses_where_no_study_belongs() {
    let project = Project::new();
    let home = project.home().display().to_string();
    for (file, text, root, code) in [
        ("tree/.git", "gitdir: /else/.git/worktrees/tree\n", "tree", "not_the_repository"),
        ("tree/deep/x", "", "tree/deep", "not_the_repository"),
        ("part/.git", "gitdir: ../.git/modules/part\n", "part", "not_the_repository"),
        (".claude/work/x", "", ".claude/work", "agents_home"),
        ("a/.codex/x", "", "a/.codex", "agents_home"),
        (".agents/x", "", ".agents", "agents_home"),
        ("plugins/cache/tool/x", "", "plugins/cache/tool", "plugin_cache"),
        ("x", "", home.as_str(), "home_folder"),
    ] {
        project.write(file, text);
        let answer = project.rlx_with(&["study", "init", "--json", "--root", root]).expect(3).json();
        assert_eq!(answer["code"], code, "{root}: {answer}");
        assert!(!project.path(root).join(".rlxp").exists(), "{root}");
    }
    for name in ["Walker", "../x", "a/b", "", "ü"] {
        let answer = project.rlx_with(&["study", "init", "--json", "--task", name]).expect(2).json();
        assert_eq!(answer["code"], "bad_name", "{name}");
    }
    list_approvers(&project, "maya ssh-rsa AAAA\n");
    let answer = project.rlx("study init --json").expect(2).json();
    assert_eq!(answer["code"], "approvers_broken");
    assert!(answer["message"].as_str().unwrap().contains("approvers: line 1"), "{answer}");
}

/// From a subfolder, the study is created at the top of the repository, and is found from anywhere in it.
#[test]
fn a_study_belongs_to_the_whole_repository() {
    let project = Project::new();
    std::fs::create_dir_all(project.path(".git")).unwrap();
    std::fs::create_dir_all(project.path("deep/below")).unwrap();
    let below = |line: &str| {
        let mut command = project.command(RLX);
        let output = command.current_dir(project.path("deep/below")).args(line.split(' ')).output().unwrap();
        project.ran(line.to_owned(), &output)
    };
    below("study init --task walker --study first").expect(0);
    assert!(project.path(LEDGER).is_file());
    below("study status").expect(0);
    assert_eq!(below("study status --root . --json").expect(2).json()["code"], "no_study");
    let nowhere = Project::new().rlx("study list --json").expect(2).json();
    assert_eq!(
        (nowhere["code"].as_str(), nowhere["hints"][0].as_str()),
        (Some("no_study"), Some("rlx study init"))
    );
}

#[test]
fn one_of_several_studies_is_meant() {
    let project = governed();
    project.rlx("study init --task walker --study second").expect(0);
    project.rlx("study init --task runner --study first").expect(0);
    let listed = project.rlx("study list --json").expect(0).json();
    let names: Vec<String> = listed["studies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!("{}/{} {}", row["task"].as_str().unwrap(), row["study"].as_str().unwrap(), row["active"])
        })
        .collect();
    assert_eq!(names, ["runner/first true", "walker/first false", "walker/second false"]);
    assert_eq!(project.rlx("study use first --json").expect(2).json()["code"], "study_ambiguous");
    let unknown = project.rlx("study status --study third --json").expect(2).json();
    assert!(
        unknown["message"].as_str().unwrap().ends_with("runner/first, walker/first, walker/second"),
        "{unknown}"
    );
    project.rlx("study use second").expect(0);
    assert_eq!(project.rlx("study status --json").expect(0).json()["study"], "second");
    assert_eq!(project.rlx("study status --study walker/first --json").expect(0).json()["study"], "first");
    // Nothing of one study changes another.
    project.rlx("ledger note hello").expect(0);
    assert_eq!(lines(&project).len(), 1);
    std::fs::remove_dir_all(project.path(".rlxp/tasks/walker/studies/second")).unwrap();
    assert_eq!(project.rlx("study status --json").expect(2).json()["code"], "study_not_found");
    project.write(".rlxp/registry.yaml", "schema: [");
    assert_eq!(project.rlx("study status --json").expect(2).json()["code"], "registry_broken");
    project.rlx("study use walker/first").expect(0);
    project.rlx("study status").expect(0);
}

#[test]
fn a_study_from_its_first_record_to_its_last() {
    let project = governed();
    let note = project.rlx("ledger note checked --as person --json").expect(0).json();
    assert_eq!((note["records"][0]["actor"].as_str(), note["total"].as_u64()), (Some("person"), Some(2)));
    let note = project.rlx("ledger note proposed --json").expect(0).json();
    assert_eq!(note["records"][0]["actor"], "agent", "nobody sits at a terminal here");
    assert_eq!(project.rlx_with(&["ledger", "note", " ", "--json"]).expect(2).json()["code"], "bad_note");
    let shown = project.rlx("ledger show --kind note --tail 1 --json").expect(0).json();
    assert_eq!(shown["records"].as_array().unwrap().len(), 1);
    assert_eq!(shown["records"][0]["body"]["text"], "proposed");
    assert_eq!(project.rlx("ledger show --kind verdict --json").expect(2).json()["code"], "unknown_kind");

    let status = project.rlx("study status --json").expect(0).json();
    assert_eq!(status["files"][0]["state"], "missing");
    assert_eq!(status["approvals"].as_array().unwrap().len(), 11);
    assert_eq!(status["ledger"]["records"], 3);
    project.write(&format!("{STUDY}/candidates/one.yaml"), "schema: rlxp.candidate/1\n");
    project.write(&format!("{STUDY}/contract.yaml"), "schema: rlxp.contract/1\ntask: {}\nextra: 1\n");
    let status = project.rlx("study status --json").expect(0).json();
    assert_eq!(status["candidates"]["draft"], 1);
    assert_eq!(status["files"][0]["state"], "broken");
    assert!(status["files"][0]["problems"].as_array().unwrap().len() > 2, "{status}");

    let handed = project.rlx("study handoff --json").expect(0).json();
    assert!(!handed["person"].as_array().unwrap().is_empty(), "{handed}");
    project.rlx("study export --to out").expect(0);
    let taken = project.rlx("study export --to out --json").expect(3).json();
    assert_eq!(taken["code"], "export_exists");
    assert_eq!(read(&project, "out/ledger.jsonl"), read(&project, LEDGER));
    assert_eq!(read(&project, "out/candidates/one.yaml"), "schema: rlxp.candidate/1\n");
    assert!(read(&project, "out/report.md").starts_with("# Study walker/first\n"));
    assert_eq!(read(&project, "out/accepted.patch"), "");
    let inside = project.rlx(&format!("study export --to {STUDY}/out --json")).expect(2).json();
    assert_eq!(inside["code"], "export_inside");

    project.rlx("study close --reason done").expect(0);
    assert_eq!(project.rlx("study close --reason again --json").expect(3).json()["code"], "study_closed");
    project.rlx("ledger note afterwards").expect(0);
    let kinds: Vec<Value> = lines(&project)
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].clone())
        .collect();
    assert_eq!(kinds, ["opened", "note", "note", "handed_off", "closed", "note"]);
    project.rlx("verify --chain").expect(0);
}

#[test]
fn sixteen_processes_lose_no_record() {
    let project = governed();
    let started: Vec<_> = (0..16)
        .map(|number| {
            let mut command = project.command(RLX);
            command.args(["ledger", "note", &format!("note {number}"), "--json"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in started {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut found: Vec<String> = lines(&project)[1..]
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["body"]["text"].as_str().unwrap().to_owned())
        .collect();
    let mut all: Vec<String> = (0..16).map(|number| format!("note {number}")).collect();
    found.sort();
    all.sort();
    assert_eq!(found, all);
    project.rlx("verify --chain").expect(0);
    let left = std::fs::read_dir(project.path(STUDY)).unwrap().map(|entry| entry.unwrap().file_name());
    let odd: Vec<_> = left.filter(|name| name.to_string_lossy().contains("lock")).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

/// Commands that read a study or add to it; none may continue with a ledger that it doesn't understand.
const VERBS: [&str; 7] = [
    "study status",
    "study handoff",
    "study close --reason x",
    "study export --to out",
    "ledger show",
    "ledger note x",
    "ledger anchor",
];

#[test]
fn a_flipped_byte_stops_everything_and_is_named() {
    let project = Project::trained();
    project.rlx("study init --task walker --study first").expect(0);
    for text in ["one", "two", "three"] {
        project.rlx(&format!("ledger note {text}")).expect(0);
    }
    let whole = read(&project, LEDGER);
    let damaged = whole.replacen("\"two\"", "\"tvo\"", 1);
    project.write(LEDGER, &damaged);
    let report = project.rlx("verify --chain --json").expect(1).json();
    assert_eq!(codes(&report), ["damaged_record"]);
    assert_eq!(report["problems"][0]["line"], 3);
    let said = project.rlx("verify --chain").expect(1).stdout;
    assert!(said.contains("record 2"), "{said}");
    for verb in VERBS {
        let answer = project.rlx(&format!("{verb} --json")).expect(3).json();
        assert_eq!(answer["code"], "ledger_broken", "{verb}");
    }
    assert_eq!(read(&project, LEDGER), damaged, "nothing was written");
    assert_eq!(project.rlx("study list --json").expect(0).json()["studies"][0]["open"], true);
    // A ledger that can't be read may hide that the loop was entered.
    for verb in [
        "train tiny.yaml",
        "train tiny.yaml --dry-run",
        "resume tiny_001",
        "reproduce tiny_001",
        "quickstart start",
        "eval --run tiny_001",
        "eval --env CartPole-v1 --baseline random",
    ] {
        let answer = project.rlx(&format!("{verb} --json")).expect(3).json();
        assert_eq!(answer["code"], "governed_folder", "{verb}");
        assert!(answer["hints"][0].as_str().unwrap().starts_with("rlx study next"), "{answer}");
    }
    assert!(!project.path("start").exists() && !project.path("runs/tiny_002").exists());
    // From outside too: the run is in the governed folder.
    let outside = Project::new();
    let run = project.path("runs/tiny_001").display().to_string();
    assert_eq!(outside.rlx(&format!("eval --run {run} --json")).expect(3).json()["code"], "governed_folder");
    project.write(LEDGER, &whole);
    project.rlx("eval --run tiny_001 --episodes 2").expect(0);
}

#[test]
fn dropped_swapped_and_missing_records_are_found() {
    let project = governed();
    for text in ["one", "two", "three"] {
        project.rlx(&format!("ledger note {text}")).expect(0);
    }
    let all = lines(&project);
    let with = |order: &[usize]| order.iter().map(|index| format!("{}\n", all[*index])).collect::<String>();
    for (content, code) in [
        (with(&[0, 2, 3]), "wrong_number"),
        (with(&[0, 2, 1, 3]), "wrong_number"),
        (with(&[0, 1, 1, 2, 3]), "wrong_number"),
        (with(&[1, 2, 3]), "wrong_number"),
        (String::new(), "empty"),
        ("\n".to_owned(), "damaged_record"),
    ] {
        project.write(LEDGER, &content);
        let report = project.rlx("verify --chain --json").expect(1).json();
        assert_eq!(codes(&report), [code], "{content:?}");
        assert_eq!(project.rlx("study status --json").expect(3).json()["code"], "ledger_broken");
    }
    std::fs::remove_file(project.path(LEDGER)).unwrap();
    assert_eq!(codes(&project.rlx("verify --chain --json").expect(1).json()), ["empty"]);
}

#[test]
fn a_torn_record_is_put_aside() {
    let project = governed();
    let whole = read(&project, LEDGER);
    project.write(LEDGER, &format!("{whole}{{\"actor\":\"pers"));
    let report = project.rlx("verify --chain --json").expect(0).json();
    assert!(report["not_checked"].to_string().contains("14 bytes"), "{report}");
    assert_eq!(project.rlx("study status --json").expect(0).json()["ledger"]["torn"], 14);
    project.rlx("ledger note next").expect(0);
    assert_eq!(lines(&project).len(), 2);
    assert_eq!(read(&project, &format!("{STUDY}/ledger.torn-1")), "{\"actor\":\"pers");
    assert_eq!(project.rlx("study status --json").expect(0).json()["ledger"]["torn"], 0);
}

#[test]
fn links_are_refused_by_name() {
    let project = governed();
    let elsewhere = project.home().join("ledger.jsonl");
    std::fs::rename(project.path(LEDGER), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, project.path(LEDGER)).unwrap();
    let before = std::fs::read(&elsewhere).unwrap();
    for verb in VERBS {
        let answer = project.rlx(&format!("{verb} --json")).expect(3).json();
        assert_eq!(answer["code"], "link_in_study", "{verb}");
        assert!(answer["message"].as_str().unwrap().contains("ledger.jsonl"), "{answer}");
    }
    let report = project.rlx("verify --chain --json").expect(1).json();
    assert_eq!(codes(&report), ["link_in_study"]);
    assert_eq!(project.rlx("train tiny.yaml --json").expect(3).json()["code"], "link_in_study");
    assert_eq!(std::fs::read(&elsewhere).unwrap(), before);
}

/// What an anchor finds, and that without one it is not found.
#[test]
fn an_anchor_finds_what_the_chain_can_not() {
    let project = governed();
    project.rlx("ledger note one").expect(0);
    project.rlx("ledger note two").expect(0);
    let before = lines(&project);
    let anchored = project.rlx("ledger anchor --json").expect(0).json();
    let file = PathBuf::from(anchored["path"].as_str().unwrap());
    assert!(file.starts_with(project.home()), "{}", file.display());
    let printed = project.rlx("ledger anchor --print").expect(0).stdout;
    assert!(printed.contains("git notes --ref=rlxp append -m '{\"study\":"), "{printed}");
    project.rlx("verify --chain").expect(0);
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept.lines().count(), 2);
    let anchor: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    assert_eq!((anchor["seq"].as_u64(), anchor["head"].as_str()), (Some(3), anchored["head"].as_str()));

    // Cut off, and rewritten by an agent that can write the disk.
    let whole = read(&project, LEDGER);
    let cut: String = before.iter().map(|line| format!("{line}\n")).collect();
    project.write(LEDGER, &cut);
    assert_eq!(codes(&project.rlx("verify --chain --json").expect(1).json()), ["cut_off", "cut_off"]);
    // With the anchor visible nothing continues; to continue, the agent would have to remove it and bring it back.
    assert_eq!(project.rlx("ledger note other --json").expect(3).json()["code"], "ledger_broken");
    let aside = project.home().join("aside.jsonl");
    std::fs::rename(&file, &aside).unwrap();
    for text in ["other", "others"] {
        project.rlx(&format!("ledger note {text}")).expect(0);
    }
    std::fs::rename(&aside, &file).unwrap();
    assert_eq!(codes(&project.rlx("verify --chain --json").expect(1).json()), ["rewritten", "rewritten"]);
    std::fs::remove_dir_all(project.path(".rlxp")).unwrap();
    project.rlx("study init --task walker --study first").expect(0);
    let anew = project.rlx("verify --chain --json").expect(1).json();
    assert_eq!(codes(&anew), ["anchor_of_other_study", "anchor_of_other_study"]);

    let brought = project.home().join("brought.jsonl");
    std::fs::rename(&file, &brought).unwrap();
    project.write(LEDGER, &cut);
    let blind = project.rlx("verify --chain --json").expect(0).json();
    assert!(blind["not_checked"][0].as_str().unwrap().contains("without an anchor"), "{blind}");
    let seen = project.rlx(&format!("verify --chain --json --anchor {}", brought.display())).expect(1).json();
    assert_eq!(codes(&seen), ["cut_off", "cut_off"]);
    project.write(LEDGER, &whole);
    project.rlx(&format!("verify --chain --anchor {}", brought.display())).expect(0);
    std::fs::write(&brought, "no anchor\n").unwrap();
    let broken =
        project.rlx(&format!("verify --chain --json --anchor {}", brought.display())).expect(1).json();
    assert_eq!(codes(&broken), ["damaged_anchor"]);

    let inside = project.rlx("ledger anchor --to anchors.jsonl --json").expect(3).json();
    assert_eq!(inside["code"], "anchor_inside");
    assert_eq!(read(&project, LEDGER), whole, "nothing was written");
}

#[test]
fn approvers_that_a_person_brings_are_compared() {
    let project = Project::new();
    list_approvers(&project, KEY);
    project.rlx("study init --task walker --study first").expect(0);
    let brought = project.home().join("mine");
    std::fs::write(&brought, KEY).unwrap();
    let same =
        project.rlx(&format!("verify --chain --json --approvers {}", brought.display())).expect(0).json();
    assert!(same["holds"].to_string().contains("approvers from the given list"), "{same}");
    std::fs::write(&brought, "# nobody\n").unwrap();
    let other =
        project.rlx(&format!("verify --chain --json --approvers {}", brought.display())).expect(1).json();
    assert_eq!(codes(&other), ["other_approvers"]);
    project.rlx("verify --chain --approvers missing").expect(74);
}
