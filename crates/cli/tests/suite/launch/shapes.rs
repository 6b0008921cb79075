//! Two repositories as people have them, from nothing to a launched baseline and a candidate, by one user without any
//! key who pastes what rlx prints.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::governed::study::Ran;
use crate::launch::repository::Repository;

/// A user at a terminal, who knows the answers to some questions and takes the default of all others.
struct User<'a> {
    repository: &'a Repository,
    /// Answers, by the start of the question.
    answers: BTreeMap<&'static str, &'static str>,
    /// Commands that were typed or pasted.
    commands: Vec<String>,
    /// Questions of an intake that were asked.
    asked: Vec<String>,
}

impl<'a> User<'a> {
    fn new(repository: &'a Repository, answers: &[(&'static str, &'static str)]) -> Self {
        Self {
            repository,
            answers: answers.iter().copied().collect(),
            commands: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// Runs a line in a shell at a terminal, and answers what it asks.
    #[track_caller]
    fn paste(&mut self, line: &str) -> Ran {
        self.commands.push(line.to_owned());
        let mut command = self.repository.command("script");
        command.args(["-qec", line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("`script` of util-linux is installed");
        let (mut screen, mut stdout) = (Vec::new(), child.stdout.take().unwrap());
        let mut byte = [0];
        while stdout.read(&mut byte).unwrap() == 1 {
            screen.push(byte[0]);
            let text = String::from_utf8_lossy(&screen);
            let now = text.rsplit('\n').next().unwrap_or_default().trim_start_matches('\r');
            if let Some(answer) = self.answer(now) {
                child.stdin.as_mut().unwrap().write_all(format!("{answer}\n").as_bytes()).unwrap();
            }
        }
        let code = child.wait().unwrap().code();
        let stdout = String::from_utf8_lossy(&screen).replace('\r', "");
        Ran { line: line.to_owned(), code, stdout, stderr: String::new() }.expect(0)
    }

    /// What is typed after the last line of the screen, if that is a question.
    fn answer(&mut self, now: &str) -> Option<String> {
        if let Some(before) = now.strip_suffix(" to approve, anything else to cancel: ") {
            return before.strip_prefix("type ").map(str::to_owned);
        }
        if now.ends_with("passphrase): ") || now.ends_with("passphrase again: ") {
            return Some(String::new());
        }
        if !now.ends_with("] ") || !now.contains('?') {
            return None;
        }
        let known = self.answers.iter().find(|(question, _)| now.starts_with(**question));
        let answer = known.map_or("", |(_, answer)| answer).to_owned();
        self.asked.push(now.to_owned());
        Some(answer)
    }

    /// Asks for the next step and pastes its command as it is printed; a plan that is printed is followed.
    #[track_caller]
    fn next(&mut self) -> Value {
        let shown = self.repository.rlx("study next").expect(0).stdout;
        let step = self.repository.rlx("study next --json").expect(0).json();
        let command = step["command"].as_str().unwrap_or_else(|| panic!("{step}")).to_owned();
        assert!(shown.contains(&format!("  command: {command}\n")), "{shown}");
        let printed = self.paste(&command).stdout;
        if command.starts_with("rlx launch ") {
            let hint = |line: &str| line.split_once("hint:").map(|(_, hint)| plain(hint));
            let execute = printed.lines().filter_map(hint).find(|hint| hint.contains("--execute"));
            self.paste(&execute.unwrap_or_else(|| panic!("{printed}")));
        }
        step
    }

    /// Follows every step until all runs of the baseline are over.
    #[track_caller]
    fn up_to_the_baseline(&mut self) -> Vec<String> {
        let mut actions = Vec::new();
        loop {
            let step = self.next();
            let action = step["action"].as_str().unwrap().to_owned();
            actions.push(action.clone());
            if action == "launch" {
                return actions;
            }
            assert!(self.commands.len() <= 12, "{:?}", self.commands);
        }
    }
}

/// A text without colours.
fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest));
    (first + &rest.collect::<String>()).trim().to_owned()
}

#[track_caller]
fn ran_well(repository: &Repository, candidate: &str, phase: &str, count: usize) {
    let status = repository.rlx("launch status --all --json").expect(0).json();
    let of = |run: &&Value| run["candidate"] == candidate && run["phase"] == phase;
    let runs: Vec<&Value> = status["runs"].as_array().unwrap().iter().filter(of).collect();
    assert_eq!(runs.len(), count, "{status}");
    assert!(runs.iter().all(|run| run["state"] == "ended (ok)"), "{status}");
}

/// A reason to try something before the baseline was judged, as part of the contract.
fn except_the_baseline(repository: &Repository) {
    let file = repository.file("contract.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let exception = "\nexceptions:\n  - {section: baseline, code: no_baseline, reason: \"Measured in May over 10 seeds\"}\n";
    std::fs::write(file, text + exception).unwrap();
}

#[test]
fn a_single_file_with_flags_is_studied_by_pasting() {
    let repository = Repository::shape("single_file");
    let mut user = User::new(
        &repository,
        &[
            ("What should the study improve?", "Reach the middle sooner"),
            ("What is the primary metric?", "success_rate"),
            ("Which evaluation file contains it?", "eval/scores.json#/success_rate"),
            ("What is the smallest difference", "0.05"),
            ("What are policies evaluated on?", "20 carts with start states drawn from the evaluation seed"),
        ],
    );
    // The one question of a user without keys: Enter creates one.
    let opened = user.paste("rlx study init --task balance --study tuning").stdout;
    assert!(opened.contains("rlx_approver is listed in") && opened.contains("signature only"), "{opened}");
    user.asked.clear();
    let actions = user.up_to_the_baseline();
    assert!(user.commands.len() <= 12, "{:?}", user.commands);
    assert!(user.asked.len() <= 12, "{:?}", user.asked);
    assert_eq!(actions.first().map(String::as_str), Some("audit"), "{actions:?}");
    let runbook = repository.read("runbook.yaml");
    assert!(
        runbook.contains("\".venv/bin/python\", \"ppo.py\", \"--seed\", \"{seed}\", \"--out\", \"{run}\""),
        "{runbook}"
    );
    // Values of a script are passed to it; nothing may edit its code.
    let surfaces = repository.read("surface_map.yaml");
    assert!(surfaces.contains("learning-rate") && !surfaces.contains("edit_code"), "{surfaces}");
    ran_well(&repository, "baseline", "smoke", 1);
    ran_well(&repository, "baseline", "confirm", 5);
    for key in repository.runs_of("baseline").iter().filter(|key| key.contains("confirm")) {
        let read = repository.rlx(&format!("metric check --run {key}")).expect(0).stdout;
        assert!(read.contains("all metrics can be measured"), "{read}");
    }

    let before = user.commands.len();
    except_the_baseline(&repository);
    user.paste("rlx approve");
    user.paste(
        "rlx candidate new faster --key learning_rate --to 0.03 --hypothesis 'Larger steps learn sooner' \
         --rollback 'set it back' --risk 'It may overshoot'",
    );
    let written = repository.read("candidates/faster.yaml");
    assert!(written.contains("key: learning-rate") && written.contains("from: 0.02"), "{written}");
    user.paste("rlx candidate validate faster");
    user.paste("rlx approve");
    let plan = user.paste("rlx launch faster").stdout;
    assert!(plan.contains("--learning-rate=0.03"), "{plan}");
    let execute = plan.lines().filter_map(|line| line.split_once("hint:")).map(|(_, hint)| plain(hint));
    user.paste(&execute.into_iter().find(|hint| hint.contains("--execute")).unwrap());
    assert!(user.commands.len() - before <= 6, "{:?}", user.commands);
    ran_well(&repository, "faster", "smoke", 1);
}

#[test]
fn a_package_with_data_and_a_submodule_is_studied_by_pasting() {
    let repository = Repository::shape("package");
    let simulator = repository.home().join("simulator");
    std::fs::create_dir(&simulator).unwrap();
    std::fs::write(simulator.join("README.md"), "A simulator that training doesn't need.\n").unwrap();
    for words in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message", "One"]] {
        let folder = ["-C", simulator.to_str().unwrap()];
        repository.git(&[&folder[..], words].concat());
    }
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    repository.git(&[&add[..], &[simulator.to_str().unwrap(), "third_party/simulator"]].concat());
    repository.git(&["commit", "--quiet", "--message", "With a simulator"]);

    let mut user = User::new(
        &repository,
        &[
            ("What should the study improve?", "Keep the pace on hilly ground"),
            ("What is the primary metric?", "mean_return"),
            ("Which evaluation file contains it?", "eval/scores.json#/eval/mean_return"),
            ("What is the smallest difference", "0.05"),
            ("What is the score of a failed run?", "-1"),
            ("What are policies evaluated on?", "20 grounds drawn from the evaluation seed"),
            ("key or terminal?", "terminal"),
        ],
    );
    let opened = user.paste("rlx study init --task balance --study tuning").stdout;
    assert!(opened.contains("accepted approvals: terminal or stronger"), "{opened}");
    assert!(opened.contains("which an agent with a terminal can do too"), "{opened}");
    user.asked.clear();
    user.up_to_the_baseline();
    assert!(user.commands.len() <= 12, "{:?}", user.commands);
    assert!(user.asked.len() <= 12, "{:?}", user.asked);
    // Data that git ignores and the code names is an input; nothing else of it reaches a run.
    let runbook = repository.read("runbook.yaml");
    assert!(runbook.contains("path: data/terrain.json, digest: "), "{runbook}");
    ran_well(&repository, "baseline", "confirm", 5);
    let key = repository.runs_of("baseline").pop().unwrap();
    let logs = repository.run_folder(&key).join("train/tensorboard");
    assert!(std::fs::read_dir(&logs).unwrap().count() == 1, "{}", logs.display());

    // Committing the study as the guide says changes nothing that a run uses.
    repository.git(&["add", ".rlxp"]);
    repository.git(&["commit", "--quiet", "--message", "The study so far"]);
    let before = user.commands.len();
    except_the_baseline(&repository);
    user.paste("rlx approve");
    user.paste(
        "rlx candidate new smaller --key learning_rate --from 0.1 --to 0.05 --hypothesis 'It overshoots' \
         --rollback 'set it back' --risk 'It learns later'",
    );
    user.paste("rlx candidate validate smaller");
    user.paste("rlx approve");
    let plan = user.paste("rlx launch smaller").stdout;
    assert!(plan.contains("changed configs/walker.yaml"), "{plan}");
    let execute = plan.lines().filter_map(|line| line.split_once("hint:")).map(|(_, hint)| plain(hint));
    user.paste(&execute.into_iter().find(|hint| hint.contains("--execute")).unwrap());
    assert!(user.commands.len() - before <= 6, "{:?}", user.commands);
    ran_well(&repository, "smaller", "smoke", 1);
}

#[test]
fn an_intake_names_what_runs_will_not_have() {
    let repository = Repository::shape("package");
    repository.rlx("study init --task balance --study tuning").expect(0);
    repository.write(".gitmodules", "[submodule \"sim\"]\n\tpath = third_party/sim\n\turl = ../sim\n");
    repository.write("data/unused.npz", "x");
    let drafted = repository.rlx("contract new --yes --json").expect(0).json();
    let warnings: Vec<&str> =
        drafted["warnings"].as_array().unwrap().iter().map(|warning| warning.as_str().unwrap()).collect();
    let all = warnings.join("\n");
    for part in [
        "1 data file is ignored by git, such as data/unused.npz",
        "assets/teacher.onnx is a Git LFS pointer",
        "assets/teacher.onnx is stored in Git LFS",
        "third_party/sim is a submodule",
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
    let assumed = drafted["assumed"].as_array().unwrap();
    let of =
        |flag: &str| assumed.iter().find(|one| one["flag"] == flag).unwrap_or_else(|| panic!("{drafted}"));
    assert_eq!(
        of("train")["answer"][0],
        ".venv/bin/python src/walker/train.py --seed {seed} --output-dir {run}"
    );
    assert_eq!(of("input")["answer"][0], "data/terrain.json");
    assert_eq!(of("runs")["place"], "contract.yaml budget.runs");
}
