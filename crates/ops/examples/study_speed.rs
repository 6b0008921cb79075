//! How long a large study takes to read: 1,000 validated candidates and a ledger of 10,000 records, in a git repository
//! with a real interpreter, made in a new folder under the one given. With a program as second argument, `rlx study next`
//! and others are timed too, started anew each time.
//!
//! `cargo run --release -p rlxp-ops --example study_speed -- /tmp [target/release/rlx]`
#![expect(clippy::print_stdout, reason = "an example answers on stdout")]
#![expect(clippy::disallowed_methods, reason = "it lays files out as people and agents do")]
#![expect(clippy::disallowed_types, reason = "it starts the program that it times")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::{CandidateKind, Phase};
use rlxp_govern::ledger::event::{
    Completed, Evidence, Judged, LaunchIntent, Launched, Note, PlannedPhase, Reported, RunEnded, Validated,
    Verdict,
};
use rlxp_govern::ledger::{Actor, Event, Record};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::next;
use rlxp_govern::plan::Plan;
use rlxp_govern::seeds::SeedRole;
use rlxp_govern::view::CandidateView;
use rlxp_ops::context::{Context, UserFolders};
use rlxp_ops::studies::candidate::view;
use rlxp_ops::studies::files::{OpenStudy, ledger_reader};
use rlxp_ops::studies::study::init::{InitRequest, init};
use rlxp_ops::studies::verify::{VerifyRequest, verify};
use rlxp_types::Digest;

const CANDIDATES: usize = 1_000;
const RECORDS: usize = 10_000;
const ROUNDS: usize = 9;
const NOW: &str = "2026-01-02T03:04:05.000Z";
const CANDIDATE: &str = include_str!("../tests/suite/study/candidate.yaml");

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let parent = arguments.next().ok_or("a folder is needed")?;
    let folder = tempfile::tempdir_in(parent)?;
    let home = folder.path().join("home");
    let user = UserFolders {
        config: Some(home.join(".config/rlx")),
        state: Some(home.join(".local/state/rlx")),
        home: Some(home),
    };
    let context =
        Context { folder: folder.path().to_owned(), folder_is_root: true, user, ..Context::real(None)? };
    make(&context)?;
    // What was written just now is not what is measured.
    Command::new("sync").status()?;
    let report = |name: &str, mut work: Box<dyn FnMut() -> Result<(), Box<dyn Error>> + '_>| {
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            work()?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        println!("{name}: median {:?}, worst {:?}", times[ROUNDS / 2], times[ROUNDS - 1]);
        Ok::<(), Box<dyn Error>>(())
    };
    let bytes = std::fs::read(study(folder.path()).join("ledger.jsonl"))?;
    println!("{} bytes of ledger", bytes.len());
    report(
        "ledger alone",
        Box::new(|| {
            assert!(ledger_reader::read(&bytes).is_whole());
            Ok(())
        }),
    )?;
    report("open", Box::new(|| OpenStudy::open(&context, None).map(drop).map_err(Into::into)))?;
    let opened = OpenStudy::open(&context, None)?;
    report(
        "next of an opened study",
        Box::new(|| {
            std::hint::black_box(next(&opened.study));
            Ok(())
        }),
    )?;
    report(
        "open and add a record",
        Box::new(|| {
            let mut opened = OpenStudy::open(&context, None)?;
            opened.append(Actor::Rlx, Event::Note(Note { text: "x".into() }))?;
            Ok(())
        }),
    )?;
    report(
        "verify",
        Box::new(|| {
            let found = verify(&context, &VerifyRequest::default())?;
            assert!(found.problems.is_empty(), "{:?}", found.problems);
            Ok(())
        }),
    )?;
    if let Some(program) = arguments.next() {
        let program = std::fs::canonicalize(program)?;
        for line in [
            "study next",
            "study status",
            "study monitor",
            "study report",
            "candidate validate c950",
            "ledger note x",
            "verify --chain",
        ] {
            report(
                &format!("rlx {line}"),
                Box::new(|| {
                    let mut command = Command::new(&program);
                    command.args(line.split(' ')).current_dir(folder.path()).stdout(Stdio::null());
                    command.stderr(Stdio::null());
                    let status = command.env("HOME", folder.path().join("home")).status()?;
                    // A refusal after all gates is an answer too.
                    assert!(matches!(status.code(), Some(0 | 3)), "rlx {line}: {status}");
                    Ok(())
                }),
            )?;
        }
    }
    Ok(())
}

fn study(root: &Path) -> std::path::PathBuf {
    root.join(".rlxp/tasks/walker/studies/first")
}

/// A repository with a commit, and the interpreter that its runbook names.
fn make_repository(root: &Path) -> Result<(), Box<dyn Error>> {
    for (name, text) in [
        ("train.py", "print('training')\n"),
        ("eval/run.py", "print('evaluating')\n"),
        ("configs/ppo.yaml", "algo: {learning_rate: 0.0003}\n"),
        (".gitignore", ".rlxp\n.venv\nhome\n"),
    ] {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().ok_or("a file lies in a folder")?)?;
        std::fs::write(path, text)?;
    }
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()?;
    std::fs::create_dir_all(root.join(".venv/bin"))?;
    let program = String::from_utf8(found.stdout)?;
    std::os::unix::fs::symlink(std::fs::canonicalize(program.trim())?, root.join(".venv/bin/python"))?;
    for line in [
        "init --quiet",
        "add --all",
        "-c user.name=Alice -c user.email=alice@example.org commit --quiet --message first",
    ] {
        let status = Command::new("git").args(line.split(' ')).current_dir(root).status()?;
        assert!(status.success(), "git {line}: {status}");
    }
    Ok(())
}

fn make(context: &Context) -> Result<(), Box<dyn Error>> {
    make_repository(&context.folder)?;
    let request =
        InitRequest { task: Some("walker".into()), study: Some("first".into()), ..InitRequest::default() };
    init(context, &request)?;
    let place = study(&context.folder);
    for (name, text) in [
        ("contract.yaml", include_str!("../tests/suite/study/contract.yaml")),
        ("metric_spec.yaml", include_str!("../tests/suite/study/metric_spec.yaml")),
        ("surface_map.yaml", include_str!("../tests/suite/study/surface_map.yaml")),
        ("runbook.yaml", include_str!("../tests/suite/study/runbook.yaml")),
    ] {
        std::fs::write(place.join(name), text.replace("[python,", "[.venv/bin/python,"))?;
    }
    let adapter = "schema: rlxp.adapter/1\nstack: generic\n";
    std::fs::write(context.folder.join(".rlxp/tasks/walker/adapter.yaml"), adapter)?;
    for number in 0..CANDIDATES {
        let text = CANDIDATE.replace("id: lower-lr", &format!("id: c{number}"));
        std::fs::write(place.join(format!("candidates/c{number}.yaml")), text)?;
    }
    let opened = OpenStudy::open(context, None)?;
    let mut all = opened.study.ledger.clone();
    let mut text = std::fs::read_to_string(place.join("ledger.jsonl"))?;
    // Everything but their own files is the same for all of them.
    let first = view(&opened, &"c0".parse()?)?;
    let plans: Vec<Validated> = (0..CANDIDATES)
        .map(|number| validated(&opened, &first, &format!("c{number}")))
        .collect::<Result<_, _>>()?;
    let mut events: Vec<Event> = plans.iter().cloned().map(Event::Validated).collect();
    events.extend(plans[..CANDIDATES - 100].iter().flat_map(a_life));
    let notes = (0..).map(|number| Event::Note(Note { text: format!("remark {number}") }));
    for event in events.into_iter().chain(notes).take(RECORDS - 1) {
        let record = Record::new(all.next_seq(), NOW, Actor::Rlx, event, all.head());
        text.push_str(&record.line());
        text.push('\n');
        all.push(record).map_err(|problem| problem.message)?;
    }
    std::fs::write(place.join("ledger.jsonl"), text)?;
    Ok(())
}

/// What follows when a candidate is run once and set aside.
fn a_life(plan: &Validated) -> Vec<Event> {
    let (candidate, key) = (plan.candidate.clone(), format!("{}-smoke-1", plan.candidate));
    let spent = Amounts { runs: 1, wall_clock: 30, gpu_time: 0, disk: 1 << 20 };
    let values =
        (0..6).map(|number| (format!("metric-{number}").parse().expect("a name"), Some(0.5))).collect();
    let files = (0..4).map(|number| (format!("run/file-{number}.json"), plan.plan)).collect();
    let (phase, role) = (Phase::Smoke, SeedRole::Screen);
    let intent = LaunchIntent {
        key: key.clone(),
        candidate: candidate.clone(),
        phase,
        seed: 1,
        role,
        reserve: spent,
        plan: plan.plan,
        external: None,
        evaluation_seed: None,
        evaluator_exposed: false,
        bounded_repeats: true,
        probe: None,
    };
    let (boot, reason) = ("2f1e6a4c-7a30-4d55-9a77-0f4f6a1f9b1e".into(), "it ended by itself".into());
    let ended = RunEnded {
        key: key.clone(),
        end: RunEnd::Ok,
        reason,
        spent,
        killed_by: None,
        not_evidence: None,
        after_training: Some(true),
        manifest: Some(plan.plan),
        confinement: None,
        executable_output: None,
    };
    vec![
        Event::LaunchIntent(intent),
        Event::Launched(Launched { key: key.clone(), boot, process: 4242, started: 123_456, external: None }),
        Event::RunEnded(ended),
        Event::Evidence(Evidence { key, values, files, reasons: BTreeMap::new(), declared: None }),
        Event::Completed(Completed { candidate: candidate.clone() }),
        Event::Judged(Judged {
            candidate,
            phase,
            verdict: Verdict::Debug,
            inputs: plan.plan,
            score: None,
            reason: String::new(),
            failed_checks: Vec::new(),
            code: None,
        }),
        Event::Reported(Reported { digest: plan.plan }),
    ]
}

fn validated(opened: &OpenStudy, first: &CandidateView, id: &str) -> Result<Validated, Box<dyn Error>> {
    let candidate = id.parse()?;
    let reading = opened.candidate(&candidate)?;
    let written = reading.get().ok_or("the candidate can be read")?.clone();
    let file: Digest = opened.study.candidate_files[id];
    let digest = opened.study.candidate_digest(&written).ok_or("everything is there")?;
    let view = CandidateView { written, file, file_name: id.to_owned(), ..first.clone() };
    let plan = Plan::for_candidate(&opened.study, &view).ok_or("everything is there")?;
    let phases = vec![PlannedPhase { phase: Phase::Smoke, seeds: 1, reserve: None }];
    let kind = CandidateKind::Hyperparameter;
    Ok(Validated {
        candidate,
        revision: 1,
        kind,
        file,
        digest,
        plan: plan.digest(),
        parts: plan.parts,
        phases,
        base: view.base,
        programs: None,
        effect: None,
    })
}
