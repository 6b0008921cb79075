//! Only `launch` starts runs: every command that the parser knows is run under `strace` in a governed folder, and only
//! `launch` starts a process other than git, which only answers queries.

use std::collections::BTreeSet;

use rlxp_types::Digest;

use crate::launch::candidates::{baseline, learning_rate, reward_scale, reward_with};
use crate::launch::repository::Repository;
use crate::launch::trace::traced;
use crate::strace::Program;

/// The first arguments of every git.
const HARDENED: [&str; 10] = [
    "git",
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.commitGraph=false",
    "-c",
    "core.splitIndex=false",
];
/// Its environment.
const QUIET: [&str; 6] = [
    "GIT_NO_REPLACE_OBJECTS=1",
    "GIT_CONFIG_NOSYSTEM=1",
    "GIT_OPTIONAL_LOCKS=0",
    "GIT_TERMINAL_PROMPT=0",
    "GIT_NO_LAZY_FETCH=1",
    "GIT_ALLOW_PROTOCOL=",
];
/// Read-only queries.
const QUESTIONS: [&[&str]; 5] = [
    &["rev-parse"],
    &["symbolic-ref", "--quiet", "--short", "HEAD"],
    &["config", "--null", "--name-only", "--list"],
    &["diff"],
    &["ls-files"],
];
/// The additional git commands of a launch: they write an index and files outside the repository.
const CHECKOUT: [&str; 4] = ["read-tree", "ls-files", "checkout-index", "cat-file"];

/// The prefix of the settings that a checkout uses.
const SETTINGS: [&str; 4] = ["checkout.", "core.attributesFile=", "core.autocrlf=", "core.symlinks="];

/// What a command may start.
#[derive(Clone, Copy, PartialEq)]
enum May {
    Nothing,
    AskGit,
}

use May::{AskGit, Nothing};

/// A training from before the study, for `ls` and the like to show.
const CONFIG: &str = "\
run_name: tiny
env: {id: CartPole-v1, num_envs: 4}
algo: {total_timesteps: 1024, rollout_steps: 64, batch_size: 128, update_epochs: 1}
policy: {hidden_sizes: [8]}
checkpoint: {save_every: 512, keep: 2}
eval: {every: 512, episodes: 100}
";

/// Every command that the parser knows, hidden ones too, from its shell completions.
fn commands(repository: &Repository) -> BTreeSet<String> {
    let script = repository.rlx("completions bash --static").expect(0).stdout;
    let entry = |line: &str| {
        let (parent, name) = line.strip_prefix("            rlx")?.strip_suffix(')')?.split_once(',')?;
        let parent = parent.replace("__subcmd__", " ");
        Some(format!("{parent} {name}").trim().to_owned())
    };
    let all: BTreeSet<String> = script.lines().filter_map(entry).collect();
    assert!(all.len() > 60 && all.contains("__run") && all.contains("study next"), "{all:?}");
    // A command that only has subcommands does nothing itself. `launch` does.
    let is_group =
        |name: &String| name != "launch" && all.iter().any(|other| other.starts_with(&format!("{name} ")));
    all.iter().filter(|name| !is_group(name)).cloned().collect()
}

/// A governed repository with something for every command: runs of rlx's own trainer, a run of the study that has
/// ended, one that is running, one that runs elsewhere, and candidates in every state.
struct Stage {
    repository: Repository,
    ended: String,
    handed: String,
}

impl Stage {
    fn new() -> Self {
        let build = Repository::build()
            .without_baseline()
            .agree(|agreed| agreed.runbook["train"]["free_of_side_effects"] = true.into());
        let repository = build.approved();
        trained(&repository);
        repository.ready("baseline", baseline());
        repository.launch("baseline").expect(0);
        for (id, value) in [("reward", reward_scale(2.5)), ("steps", learning_rate(1.0))] {
            repository.ready(id, value);
        }
        repository.ready("slow", reward_with("import time\n\ntime.sleep(50)"));
        repository.candidate("draft", learning_rate(1.5));
        let ended = repository.runs_of("baseline").remove(0);
        Self { repository, ended, handed: String::new() }
    }

    /// Runs a command, which must exit with this code and start nothing else.
    #[track_caller]
    fn check(&self, words: &[&str], input: &str, exit: i32, may: May) {
        assert_eq!(self.problem(words, input, exit, may), None);
    }

    /// What is wrong with how a command ended, or with what it started.
    fn problem(&self, words: &[&str], input: &str, exit: i32, may: May) -> Option<String> {
        let (ran, trace) = traced(&self.repository, words, input);
        if ran.code != Some(exit) {
            return Some(format!("{}: {:?}, not {exit}: {}{}", ran.line, ran.code, ran.stdout, ran.stderr));
        }
        let strangers = trace.programs.iter().filter(|program| may == Nothing || !asks_git(program, false));
        let strangers: Vec<&Vec<String>> = strangers.map(|program| &program.argv).collect();
        let became: BTreeSet<u32> = trace.programs.iter().map(|program| program.process).collect();
        let is_well = strangers.is_empty() && trace.made == became;
        (!is_well).then(|| format!("{} started {strangers:?}, made {:?}", ran.line, trace.made))
    }
}

/// Trains twice with rlx itself, in a folder that isn't governed, and copies the runs into the repository.
fn trained(repository: &Repository) {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir(project.path().join("runs")).unwrap();
    std::fs::write(project.path().join("tiny.yaml"), CONFIG).unwrap();
    for _ in 0..2 {
        let mut command = repository.command(crate::project::RLX);
        let output = command.current_dir(project.path()).args(["train", "tiny.yaml"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let copied = repository.run("cp", &["-r", project.path().join("runs").to_str().unwrap(), "."]);
    copied.expect(0);
    repository.write("build/tiny.yaml", CONFIG);
    repository.write("build/a.json", "[1.0, 2.0, 3.0]");
    repository.write("build/b.json", "[2.0, 3.0, 4.0]");
    repository.write("build/handed/train/metrics.jsonl", "{}\n");
}

/// Whether a program is a git query with everything disabled that could run something.
fn asks_git(program: &Program, may_check_out: bool) -> bool {
    let Some(words) = program.argv.strip_prefix(&HARDENED.map(str::to_owned)) else { return false };
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_of_checkout = |setting: &str| SETTINGS.iter().any(|beginning| setting.starts_with(beginning));
    while may_check_out && words.first() == Some(&"-c") && is_of_checkout(words[1]) {
        words.drain(..2);
    }
    QUIET.iter().all(|setting| program.environment.iter().any(|variable| variable == setting))
        && (QUESTIONS.iter().any(|question| words.starts_with(question))
            || may_check_out && CHECKOUT.contains(&words[0]))
}

/// What is run for every command but `launch`, in the required order.
fn invocations(stage: &Stage) -> Vec<(&'static str, String, i32, May)> {
    let (ended, handed) = (&stage.ended, &stage.handed);
    let order = stage.repository.run_folder(ended).join("order.json");
    let digest = Digest::hash(&std::fs::read(&order).unwrap());
    let order = order.display();
    let line = |command, words: &str, exit, may| (command, words.to_owned(), exit, may);
    vec![
        // These start something elsewhere. Here they refuse, and start nothing to find that out.
        line("quickstart", "build/quick", 3, Nothing),
        line("quickstart", "--help", 0, Nothing),
        line("train", "build/tiny.yaml", 3, Nothing),
        line("train", "build/tiny.yaml --dry-run", 3, Nothing),
        line("train", "build/tiny.yaml --detach", 3, Nothing),
        line("train", "build/tiny.yaml build/tiny.yaml --parallel 2", 3, Nothing),
        line("train", "build/tiny.yaml build/tiny.yaml --detach", 3, Nothing),
        line("train", "--help", 0, Nothing),
        line("resume", "tiny_001", 3, Nothing),
        line("resume", "tiny_001 --detach", 3, Nothing),
        line("resume", "--help", 0, Nothing),
        line("eval", "--run tiny_001", 3, Nothing),
        line("eval", "--help", 0, Nothing),
        line("inspect", "tiny_001:latest", 3, Nothing),
        line("inspect", "--help", 0, Nothing),
        line("video", "tiny_001 --episodes 1 --max-steps 5 --output build/video.gif", 3, Nothing),
        line("video", "--help", 0, Nothing),
        line("reproduce", "tiny_001", 3, Nothing),
        line("reproduce", "--help", 0, Nothing),
        line("worker", "--run runs/tiny_001", 3, Nothing),
        line("worker", "--help", 0, Nothing),
        line("__supervise", "--run runs/tiny_001", 3, Nothing),
        line("__supervise", "--help", 0, Nothing),
        ("__run", format!("--order {order} --digest {}", Digest::ZERO), 3, Nothing),
        ("__run", format!("--order {order} --digest {digest}"), 3, Nothing),
        line("__run", "--help", 0, Nothing),
        // Everything else does what it is for.
        line("init", "build/project", 0, AskGit),
        line("envs", "", 0, Nothing),
        line("config check", "build/tiny.yaml", 0, Nothing),
        line("config show", "build/tiny.yaml", 0, Nothing),
        line("config schema", "", 0, Nothing),
        line("python setup", "", 3, Nothing),
        line("python trust", "/usr/bin/env", 0, Nothing),
        line("analyze", "tiny_001", 0, AskGit),
        line("diagnose", "tiny_001", 0, AskGit),
        line("suggest", "tiny_001", 0, AskGit),
        line("explain-metrics", "", 0, Nothing),
        line("summarize", "tiny_001", 0, AskGit),
        line("plot", "tiny_001 --output build/plot.svg", 0, AskGit),
        line("report", "tiny_001 --no-videos --output build/report.html", 0, AskGit),
        line("ls", "", 0, Nothing),
        line("info", "tiny_001", 0, AskGit),
        line("tail", "tiny_001 --no-follow", 0, Nothing),
        line("stop", "tiny_001", 1, Nothing),
        line("tag", "tiny_001 good", 0, Nothing),
        line("note", "tiny_001 looked-at", 0, Nothing),
        line("rename", "tiny_001 first", 0, Nothing),
        line("diff", "tiny_001 tiny_002", 0, AskGit),
        line("compare", "tiny_001 tiny_002 --force", 0, AskGit),
        line("stats compare", "--a build/a.json --b build/b.json", 0, Nothing),
        line("stats power", "--effect 1", 0, Nothing),
        line("stats campaign plan", "a b --output build/campaign.json", 0, Nothing),
        line("stats campaign look", "build/campaign.json --scores build/a.json", 2, Nothing),
        line("stats campaign open", "build/campaign.json c", 2, Nothing),
        line("rm", "tiny_002 --yes", 0, Nothing),
        line("doctor", "", 0, Nothing),
        line("completions", "bash", 0, Nothing),
        ("study receive", format!("{handed} --from build/handed"), 0, AskGit),
        line("study extract", "", 0, AskGit),
        line("study monitor", "", 0, AskGit),
        line("study report", "", 0, AskGit),
        line("study judge", "reward", 3, AskGit),
        line("study reflect", "", 2, AskGit),
        line("study probe plan", "--surface ppo --key clip", 2, AskGit),
        line("study probe summarize", "reward", 3, AskGit),
        line("study propose", "--dry-run", 0, AskGit),
        line("autoloop", "--dry-run", 0, AskGit),
        line("study list", "", 0, AskGit),
        line("study status", "", 0, AskGit),
        line("study next", "", 0, AskGit),
        line("study audit", "", 0, AskGit),
        line("study export", "--to build/exported", 0, AskGit),
        line("study export", "--branch accepted", 3, AskGit),
        line("study revert", "baseline --reason enough", 3, AskGit),
        line("study clean", "--plan", 0, AskGit),
        line("ledger show", "", 0, AskGit),
        line("ledger note", "seen", 0, AskGit),
        line("ledger anchor", "", 0, AskGit),
        line("ledger restore", "", 0, Nothing),
        line("verify", "--chain", 0, AskGit),
        line("contract check", "", 0, AskGit),
        line("contract diff", "", 0, AskGit),
        line("contract input", "data/start_states.json", 0, AskGit),
        line("contract request", "", 0, AskGit),
        line("metric check", "", 0, AskGit),
        line(
            "candidate new",
            "fresh --key learning_rate --from 2.0 --to 1.0 --hypothesis smaller",
            0,
            AskGit,
        ),
        line("candidate validate", "draft", 0, AskGit),
        line("candidate show", "draft", 0, AskGit),
        line("candidate list", "", 0, AskGit),
        line("approve", "candidate:draft --signature SIGNATURE", 0, AskGit),
        line("queue plan", "", 0, AskGit),
        line("queue show", "", 0, AskGit),
        ("launch logs", ended.clone(), 0, AskGit),
        line("launch status", "", 0, AskGit),
        line("launch adopt", "", 0, AskGit),
        line("candidate revise", "baseline", 0, AskGit),
        line("study handoff", "--reason enough", 0, AskGit),
        line("study init", "--task balance --study other --assurance signature", 0, AskGit),
        line("contract new", "--yes", 0, AskGit),
        line("study use", "tuning", 0, AskGit),
        line("study close", "--study other --reason enough", 0, AskGit),
    ]
}

#[test]
fn only_launch_starts_runs() {
    let mut stage = Stage::new();
    let repository = &stage.repository;
    let own = repository.path(".venv/bin/python").display().to_string();
    let is_training = |argv: &[String]| argv[0] == own && argv.contains(&"balance.train".to_owned());
    let is_helper = |argv: &[String]| argv.get(1).is_some_and(|word| word == "__confine");

    // The positive control: what a launch starts is seen, down to the training.
    let launch = repository.execute("reward", &repository.plan("reward"));
    let (ran, trace) = traced(repository, &launch.split(' ').collect::<Vec<_>>(), "");
    ran.expect(0);
    assert!(trace.started(|argv| argv.get(1).is_some_and(|word| word == "__run")), "{:?}", trace.programs);
    assert!(trace.started(is_helper) && trace.started(is_training), "{:?}", trace.programs);
    assert!(trace.made.len() >= 4, "{:?}", trace.made);

    // A plan queries git, checks out the code, and starts a helper that probes the machine.
    let (ran, trace) = traced(repository, &["launch", "reward"], "");
    ran.expect(0);
    assert!(trace.started(is_helper));
    let others =
        trace.programs.iter().filter(|program| !asks_git(program, true) && !is_helper(&program.argv));
    assert_eq!(others.map(|program| &program.argv).collect::<Vec<_>>(), Vec::<&Vec<String>>::new());

    // A tried step is started, and nothing else is.
    let (ran, trace) = traced(repository, &["launch", "--probe", "train"], "");
    ran.expect(0);
    assert!(trace.started(is_helper) && trace.started(is_training), "{:?}", trace.programs);

    // A run that runs elsewhere isn't started here.
    let (ran, trace) = traced(repository, &["launch", "steps", "--handoff", "--to", "build/steps.json"], "");
    ran.expect(0);
    assert!(trace.programs.iter().all(|program| asks_git(program, true)), "{:?}", trace.programs);
    stage.handed = stage.repository.runs_of("steps").remove(0);
    let repository = &stage.repository;

    let mut left = commands(repository);
    assert!(left.remove("launch"));
    let mut problems = Vec::new();
    for (command, words, exit, may) in invocations(&stage) {
        let mut line = format!("{command} {words}");
        if command == "approve" {
            // It is made for what is there now.
            let statement = repository.statement("candidate:draft");
            let signature = repository.signature(&statement, "alice", "rlx-approval");
            line = line.replace("SIGNATURE", signature.to_str().unwrap());
        }
        problems.extend(stage.problem(&line.split_whitespace().collect::<Vec<_>>(), "", exit, may));
        left.remove(command);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // A running run is cancelled without starting a process.
    let slow = repository.execute("slow", &repository.plan("slow")) + " --detach";
    repository.rlx(&slow).expect(0);
    let key = repository.runs_of("slow").remove(0);
    stage.check(&["launch", "cancel", &key], "", 0, AskGit);
    assert_eq!(repository.end_of(&key)["end"], "cancelled");
    left.remove("launch cancel");
    assert_eq!(left, BTreeSet::new(), "commands without an invocation here");
}

/// A second study in a governed folder tries nothing, whatever is approved in it.
#[test]
fn another_study_of_a_governed_folder_tries_nothing() {
    let marking = |agreed: &mut crate::launch::agreed::Agreed| {
        agreed.runbook["train"]["free_of_side_effects"] = true.into();
    };
    let repository = Repository::build().agree(marking).approved();
    repository.rlx("study init --task balance --study other --assurance signature").expect(0);
    let other = repository.path(".rlxp/tasks/balance/studies/other");
    let marker = repository.home().join("marker");
    for name in ["contract.yaml", "metric_spec.yaml", "surface_map.yaml", "runbook.yaml"] {
        let text = repository.read(name).replace("\"study\": \"tuning\"", "\"study\": \"other\"");
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        if name == "runbook.yaml" {
            document["train"]["argv"] = serde_json::json!(["touch", marker, "{seed}"]);
        }
        std::fs::write(other.join(name), document.to_string()).unwrap();
    }
    let code = || {
        let refused = repository.rlx("launch --probe train --study balance/other --json").expect(3);
        refused.json()["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(code(), "governed_folder", "nothing is approved");
    repository.sign("hardware baseline evaluation", "alice").expect(0);
    assert_eq!(code(), "governed_folder", "everything is approved");
    assert!(!marker.exists());
    // The study that guards the folder tries its own steps.
    let tried = repository.rlx("launch --probe train --study balance/tuning --json");
    assert_ne!(tried.code, Some(3), "{}", tried.stdout);
}

/// The hidden commands that a launch consists of start nothing when they are run directly.
#[test]
fn the_hidden_parts_of_a_launch_are_of_no_use_alone() {
    let repository = Repository::build().without_baseline().approved();
    repository.ready("reward", reward_scale(2.5));
    repository.launch("reward").expect(0);
    let stage = Stage { ended: repository.runs_of("reward").remove(0), handed: String::new(), repository };
    let folder = stage.repository.run_folder(&stage.ended);
    let order = folder.join("order.json");
    let digest = Digest::hash(&std::fs::read(&order).unwrap()).to_string();
    let words = ["__run", "--order", order.to_str().unwrap(), "--digest", &digest];
    let before = std::fs::read(folder.join("manifest.json")).unwrap();
    // Neither a run that is over …
    stage.check(&words, "go\n", 3, Nothing);
    assert_eq!(std::fs::read(folder.join("manifest.json")).unwrap(), before);
    // … nor one that appears to be running is started again or ended, with or without the word.
    std::fs::remove_file(folder.join("end.json")).unwrap();
    for word in ["go\n", ""] {
        stage.check(&words, word, 3, Nothing);
        assert!(!folder.join("end.json").exists());
    }
    assert_eq!(std::fs::read(folder.join("manifest.json")).unwrap(), before);
    // The helper takes its orders through file descriptors that don't exist here.
    stage.check(&["__confine"], "", 2, Nothing);
}
