//! Drafts, checks, what changed since an approval, and requests: over real files, each in its own folder.
#![expect(clippy::disallowed_methods, reason = "these tests write the files that a person would")]

mod imports;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rlxp_fs::RealFs;
use rlxp_fs::testing::{Fault, FaultFs};
use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::documents::{Contract, MetricSpec, Runbook, SurfaceMap};
use rlxp_govern::section::Section;
use rlxp_ops::Context;
use rlxp_ops::studies::approve::{ApproveRequest, by_terminal, prepare};
use rlxp_ops::studies::contract::check::check;
use rlxp_ops::studies::contract::diff::{SectionChange, diff};
use rlxp_ops::studies::contract::request::request;
use rlxp_ops::studies::contract::{Answers, Ask, Intake};
use rlxp_ops::studies::study::init::{InitReport, InitRequest, init};
use rlxp_spec::document::Document;
use rlxp_types::Exit;

use crate::common::World;

/// Everything that rlx can't guess.
const COMPLETE: [(Ask, &str); 9] = [
    (Ask::Mission, "Walk further without falling"),
    (Ask::Metric, "success_rate"),
    (Ask::MetricSource, "eval/scores.json#/success_rate"),
    (Ask::SmallestEffect, "0.05"),
    (Ask::Surfaces, "reward=reward:src/reward.py:edit"),
    (Ask::Protected, "eval.py"),
    (Ask::Train, "python train.py --seed {seed}"),
    (Ask::Eval, "python eval.py --seed {seed} --run {run}"),
    (Ask::Environments, "Ant-v4"),
];

fn study(world: &World) -> InitReport {
    let request = InitRequest { task: Some("walk".into()), ..InitRequest::default() };
    init(&world.context, &request).unwrap()
}

fn answers(given: &[(Ask, &str)]) -> Answers {
    let mut answers = Answers::default();
    for (ask, text) in given {
        answers.give(*ask, [(*text).to_owned()]).unwrap();
    }
    answers
}

fn draft(context: &Context, given: &[(Ask, &str)]) -> rlxp_ops::studies::contract::intake::Drafted {
    Intake::begin(context, None).unwrap().finish(&answers(given)).unwrap()
}

fn put(world: &World, name: &str, text: impl AsRef<[u8]>) {
    let path = world.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Reads all four files as their types.
fn typed(folder: &std::path::Path) -> (Contract, MetricSpec, SurfaceMap, Runbook) {
    let document = |name: &str| Document::from_bytes(name, fs::read(folder.join(name)).unwrap()).unwrap();
    let shown = |problems: rlxp_spec::Problems| problems.to_string();
    (
        document("contract.yaml").typed().map_err(shown).unwrap(),
        document("metric_spec.yaml").typed().map_err(shown).unwrap(),
        document("surface_map.yaml").typed().map_err(shown).unwrap(),
        document("runbook.yaml").typed().map_err(shown).unwrap(),
    )
}

fn approve(context: &Context, targets: &[&str]) {
    let targets = targets.iter().map(|target| (*target).to_owned()).collect();
    let request = ApproveRequest { targets, ..ApproveRequest::default() };
    by_terminal(context, &request, &prepare(context, &request).unwrap(), "somebody").unwrap();
}

#[test]
fn nothing_answered_is_a_valid_draft_that_says_what_is_open() {
    let world = World::new();
    let report = study(&world);
    let drafted = draft(&world.context, &[]);
    let (contract, spec, map, runbook) = typed(&report.path);
    assert!(contract.task.mission.starts_with("TODO"), "{}", contract.task.mission);
    assert!(runbook.train.argv[0].starts_with("TODO") && map.surfaces.is_empty() && map.protected.is_empty());
    assert_eq!(spec.smallest_effect, 0.0);
    let open: Vec<&str> = drafted.open.iter().map(|open| open.path.as_str()).collect();
    for path in [
        "task.mission",
        "baseline.description",
        "evaluation.description",
        "experiment.description",
        "scope.surfaces",
        "protocol.environments",
        "smallest_effect",
        "primary.direction",
        "failure_score",
        "protected",
        "train.argv",
        "eval.argv",
    ] {
        assert!(open.contains(&path), "{path} in {open:?}");
    }
    let checked = check(&world.context, None).unwrap();
    assert_eq!((checked.exit(), checked.open.len()), (Exit::No, drafted.open.len()));
    let mission = checked.open.iter().find(|open| open.path == "task.mission").unwrap();
    assert_eq!((mission.line, mission.column), (8, 12), "the place is the mission's own");
    assert!(mission.file.ends_with("studies/first/contract.yaml"));
}

/// The paths of what is open, after `metric_spec.yaml` was edited.
fn open_after(world: &World, folder: &std::path::Path, from: &str, to: &str) -> Vec<String> {
    let file = folder.join("metric_spec.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&file, text.replacen(from, to, 1)).unwrap();
    let open = check(&world.context, None).unwrap().open;
    open.into_iter().map(|open| format!("{}: {}", open.path, open.message)).collect()
}

#[test]
fn the_metric_that_decides_comes_from_the_evaluation() {
    let world = World::new();
    let report = study(&world);
    draft(&world.context, &COMPLETE);
    let own = open_after(&world, &report.path, "eval/scores.json", "eval.json");
    assert!(own[0].starts_with("primary.source: eval.json is a file of rlx"), "{own:?}");
    let request = ApproveRequest { targets: vec!["metrics".into()], ..ApproveRequest::default() };
    let refused = prepare(&world.context, &request).unwrap_err();
    assert!(refused.message.contains("below eval/"), "{}", refused.message);
    let problems = rlxp_ops::studies::metric::check(&world.context, None, None).unwrap().problems;
    assert!(problems[0].contains("eval.json is a file of rlx"), "{problems:?}");
    let training = open_after(&world, &report.path, "eval.json", "train/log.json");
    assert!(training[0].contains("train/log.json is not written by the evaluation"), "{training:?}");
    assert!(open_after(&world, &report.path, "train/log.json", "eval/*.json").is_empty());
}

#[test]
fn what_is_likely_a_mistake_is_told_before_a_run_is_spent_on_it() {
    let world = World::new();
    study(&world);
    put(&world, "eval.py", "");
    let mut given = COMPLETE.to_vec();
    given.extend([(Ask::Runs, "3"), (Ask::Train, "python trian.py --seed {seed}")]);
    draft(&world.context, &given);
    let checked = check(&world.context, None).unwrap();
    assert_eq!(checked.exit(), Exit::Yes, "{checked:?}");
    assert_eq!(
        checked.warnings,
        [
            "runbook.yaml: train.argv has no {run}, which is its output folder",
            "runbook.yaml: eval.argv has no {trained}, which is the output folder of training",
            "trian.py, used by train, does not exist",
            "contract.yaml: budget.runs is 3, but the baseline alone needs 6: 1 smoke run and 5 seeds",
        ]
    );
}

#[test]
fn everything_answered_is_complete() {
    let world = World::new();
    let report = study(&world);
    let drafted = draft(&world.context, &COMPLETE);
    assert_eq!(drafted.open, []);
    let checked = check(&world.context, None).unwrap();
    assert_eq!(checked.exit(), Exit::Yes, "{checked:?}");
    let (contract, spec, map, runbook) = typed(&report.path);
    assert_eq!((contract.metrics.primary.as_str(), spec.failure_score), ("success_rate", 0.0));
    assert_eq!(map.surfaces[0].paths, ["src/reward.py"]);
    assert_eq!(runbook.eval.argv, ["python", "eval.py", "--seed", "{seed}", "--run", "{run}"]);
    assert!(drafted.assumed.iter().any(|taken| taken.ask == Ask::Direction));
    // A metric of which one part is missing can't be agreed to.
    let world = World::new();
    study(&world);
    let without: Vec<(Ask, &str)> =
        COMPLETE.into_iter().filter(|(ask, _)| *ask != Ask::MetricSource).collect();
    let open: Vec<String> = draft(&world.context, &without).open.into_iter().map(|open| open.path).collect();
    assert_eq!(open, ["evaluation.description", "primary", "smallest_effect"]);
}

#[test]
fn an_autonomous_study_asks_for_signatures_and_has_an_envelope() {
    let world = World::new();
    let report = study(&world);
    let more = [
        (Ask::Automation, "autonomous"),
        (Ask::Candidates, "6"),
        (Ask::Guardrails, "falls=eval.json#/falls,lower,0.1"),
    ];
    let all: Vec<(Ask, &str)> = COMPLETE.into_iter().chain(more).collect();
    assert_eq!(draft(&world.context, &all).open, []);
    assert_eq!(check(&world.context, None).unwrap().exit(), Exit::Yes);
    let (contract, spec, ..) = typed(&report.path);
    assert_eq!(contract.assurance.to_string(), "signature");
    assert_eq!(contract.experiment.envelope.unwrap().candidates, 6);
    assert_eq!(spec.guardrails[0].allowed_regression, 0.1);
}

#[test]
fn how_claims_are_judged_and_runs_kept_apart_is_asked_last_with_a_default() {
    let last = &Ask::ALL[Ask::ALL.len() - 6..];
    let expected = [
        ("confinement", "full"),
        ("alpha", "0.05"),
        ("screen-seeds", "3"),
        ("planned-candidates", "3"),
        ("incumbent-seeds", "5"),
        ("looks", "5"),
    ];
    let world = World::new();
    let report = study(&world);
    let drafted = draft(&world.context, &COMPLETE);
    for (ask, (flag, default)) in last.iter().zip(expected) {
        let taken = drafted.assumed.iter().find(|taken| taken.ask == *ask).unwrap();
        assert_eq!((taken.flag, taken.assumed.answer.join(";").as_str()), (flag, default));
    }
    let (contract, ..) = typed(&report.path);
    let statistics = contract.statistics;
    assert_eq!((contract.confinement.to_string().as_str(), statistics.alpha), ("full", 0.05));
    let schedule = statistics.schedule();
    assert_eq!([schedule.screen_seeds, schedule.candidates, schedule.incumbent_seeds], [3, 3, 5]);
    assert_eq!(schedule.looks, [5]);
    assert!(drafted.power.is_some_and(|power| power.looks == [5] && power.found < 0.5));

    let world = World::new();
    let report = study(&world);
    let mut given = answers(&COMPLETE);
    for (ask, wrong, right) in [
        (Ask::Confinement, "complete", "Partial"),
        (Ask::Alpha, "0.5", "0.01"),
        (Ask::ScreenSeeds, "0", "4"),
        (Ask::PlannedCandidates, "-1", "5"),
        (Ask::IncumbentSeeds, "4", "12"),
        (Ask::Looks, "10,5", "5, 10, 15"),
    ] {
        assert!(given.give(ask, [wrong.to_owned()]).is_err(), "{ask:?} {wrong}");
        given.give(ask, [right.to_owned()]).unwrap();
    }
    Intake::begin(&world.context, None).unwrap().finish(&given).unwrap();
    assert_eq!(check(&world.context, None).unwrap().exit(), Exit::Yes);
    let (contract, ..) = typed(&report.path);
    let statistics = contract.statistics;
    assert_eq!((contract.confinement.to_string().as_str(), statistics.alpha), ("partial", 0.01));
    let schedule = statistics.schedule();
    assert_eq!([schedule.screen_seeds, schedule.candidates, schedule.incumbent_seeds], [4, 5, 12]);
    assert_eq!(schedule.looks, [5, 10, 15]);
}

#[test]
fn texts_are_what_was_typed() {
    let texts = [
        "a: b # c",
        "- x",
        "\"q\" 'r' \\ {y} [z]",
        "yes",
        "1e3",
        "* & ! | > %",
        "\u{fc}ber \u{1f600} \u{202e}x",
        "null",
        "TODO?",
        "a, b: {c}",
        "#",
        "---",
    ];
    for text in texts {
        let world = World::new();
        let report = study(&world);
        let mut given = answers(&[(Ask::Mission, text), (Ask::Environments, text)]);
        given.give(Ask::Constraints, [text.to_owned(), "other".to_owned()]).unwrap();
        Intake::begin(&world.context, None).unwrap().finish(&given).unwrap();
        let (contract, spec, ..) = typed(&report.path);
        assert_eq!((contract.task.mission.as_str(), spec.protocol.environments.as_str()), (text, text));
        assert_eq!(contract.task.constraints, [text, "other"]);
    }
}

#[test]
fn the_folder_answers_what_it_can() {
    let world = World::new();
    study(&world);
    put(&world, "uv.lock", "");
    put(&world, "train.py", "env = gym.make('Ant-v4')\np.add_argument('--seed')\n");
    put(&world, "scripts/train_old.py", "");
    put(&world, "tests/train.py", "");
    put(&world, "play.py", "p.add_argument('--seed')\n");
    put(&world, "pkg/rewards.py", "");
    put(&world, ".venv/lib/reward.py", "");
    put(&world, "node_modules/x/reward.py", "");
    put(&world, "configs/a.yaml", "lr: 0.1\n");
    put(&world, "configs/broken.yaml", "a: [");
    put(&world, "logs/m.jsonl", "{\"eval\": {\"success_rate\": 0.5}}\n");
    put(&world, "logs/bytes.jsonl", [0xff, 0xfe, b'\n']);
    std::os::unix::fs::symlink("/", world.path().join("loop")).unwrap();
    let drafted = draft(&world.context, &[]);
    let taken = |ask: Ask| {
        let found = drafted.assumed.iter().find(|taken| taken.ask == ask).unwrap();
        (found.assumed.answer.join("; "), found.assumed.from.clone())
    };
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    // By whichever Python this machine has.
    let (train, from) = taken(Ask::Train);
    assert!(train.ends_with(" train.py --seed {seed}") && from == "train.py", "{train} {from}");
    assert!(taken(Ask::Eval).0.ends_with(" play.py --seed {seed}"));
    assert_eq!(taken(Ask::Environments), pair("Ant-v4", "train.py"));
    assert_eq!(taken(Ask::Protected).0, "play.py");
    assert_eq!(
        taken(Ask::Surfaces).0,
        "reward=reward:pkg/rewards.py:edit; hyperparameters=hyperparameter:configs/a.yaml:lr=0.01..1"
    );
    assert_eq!(taken(Ask::MetricSource), pair("eval/m.jsonl#/eval/success_rate", "logs/m.jsonl"));
}

#[test]
fn a_file_that_is_there_is_never_written_over() {
    let world = World::new();
    let report = study(&world);
    fs::write(report.path.join("runbook.yaml"), "mine").unwrap();
    let refused = Intake::begin(&world.context, None).err().unwrap();
    assert_eq!((refused.exit, refused.code), (Exit::Refused, "contract_exists"));
    assert!(refused.message.contains("runbook.yaml") && !refused.message.contains("contract.yaml"));
    assert_eq!(fs::read_to_string(report.path.join("runbook.yaml")).unwrap(), "mine");
    assert!(!report.path.join("contract.yaml").exists());
}

#[test]
fn the_files_appear_together_or_not_at_all() {
    for at in 1.. {
        let world = World::new();
        let report = study(&world);
        let faulty = Arc::new(FaultFs::new(Arc::new(RealFs), Fault::Error, at));
        let context = Context { fs: faulty.clone(), ..world.context.clone() };
        let drafted = Intake::begin(&context, None).and_then(|intake| intake.finish(&answers(&COMPLETE)));
        let there = |name: &&str| report.path.join(name).exists();
        let count = ["contract.yaml", "metric_spec.yaml", "surface_map.yaml", "runbook.yaml"]
            .iter()
            .filter(|name| there(name))
            .count();
        assert_eq!(count, if drafted.is_ok() { 4 } else { 0 }, "call {at}: {drafted:?}");
        if !faulty.fired() {
            break;
        }
    }
}

#[test]
fn what_changed_since_an_approval_is_shown_and_stays_void() {
    let world = World::new();
    let report = study(&world);
    draft(&world.context, &COMPLETE);
    let names: Vec<String> = Section::ALL.iter().map(ToString::to_string).collect();
    approve(&world.context, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let now = diff(&world.context, None).unwrap();
    assert!(!now.changed);
    assert!(now.sections.iter().all(|one| matches!(one.change, SectionChange::Unchanged { .. })), "{now:?}");

    let path = report.path.join("contract.yaml");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, before.replace("runs: 40", "runs: 400")).unwrap();
    let now = diff(&world.context, None).unwrap();
    let of = |diff: &rlxp_ops::studies::contract::diff::Diff, section: Section| {
        let one = diff.sections.iter().find(|one| one.section == section).unwrap();
        match &one.change {
            SectionChange::Changed { values, below, .. } => {
                let values: Vec<String> = values
                    .iter()
                    .map(|value| {
                        format!(
                            "{} {:?} {:?}",
                            value.path,
                            value.before.as_ref().unwrap(),
                            value.after.as_ref().unwrap()
                        )
                    })
                    .collect();
                format!("{} | {below:?}", values.join(", "))
            }
            other => format!("{other:?}").split_whitespace().next().unwrap().to_owned(),
        }
    };
    assert_eq!(of(&now, Section::Budget), "contract.yaml: budget.runs Number(40) Number(400) | []");
    assert_eq!(of(&now, Section::Plan), " | [Budget]");
    assert_eq!(of(&now, Section::Metrics), "Unchanged");

    // The old text returns; the approval doesn't.
    fs::write(&path, &before).unwrap();
    let now = diff(&world.context, None).unwrap();
    let budget = now.sections.iter().find(|one| one.section == Section::Budget).unwrap();
    assert!(matches!(budget.change, SectionChange::Unchanged { .. }));
    assert!(matches!(budget.standing, ApprovalStatus::Void { .. }));

    // The kept text is for people: changing it has no effect on decisions, and is reported.
    fs::write(&path, before.replace("runs: 40", "runs: 400")).unwrap();
    for entry in fs::read_dir(report.path.join("approved")).unwrap() {
        fs::write(entry.unwrap().path(), "{}").unwrap();
    }
    assert_eq!(of(&diff(&world.context, None).unwrap(), Section::Budget), "ChangedUnknown");
    fs::remove_dir_all(report.path.join("approved")).unwrap();
    assert_eq!(of(&diff(&world.context, None).unwrap(), Section::Budget), "ChangedUnknown");
}

#[test]
fn a_request_asks_for_what_comes_next() {
    let world = World::new();
    study(&world);
    let before = request(&world.context, None, &[], None).unwrap_err();
    assert_eq!((before.exit, before.code), (Exit::Refused, "section_unreadable"));
    draft(&world.context, &COMPLETE);
    let names = |request: &rlxp_ops::studies::contract::request::Request| {
        request.sections.iter().map(|one| one.section.to_string()).collect::<Vec<_>>().join(" ")
    };
    let first = request(&world.context, None, &[], None).unwrap();
    assert_eq!(names(&first), "task metrics scope budget hardware baseline evaluation plan");
    for line in ["mission: Walk further without falling", "On a terminal:", "rlx approve task metrics"] {
        assert!(first.text.contains(line), "{line} in {}", first.text);
    }
    // The study was opened without approvers, so no signature could ever count.
    assert!(!first.text.contains("signature") && first.signature.is_empty(), "{}", first.text);
    approve(&world.context, &names(&first).split(' ').collect::<Vec<_>>());
    assert_eq!(names(&request(&world.context, None, &[], None).unwrap()), "experiment execute loop_entry");
    let one = request(&world.context, None, &["scope".into()], Some(&PathBuf::from("ask.txt"))).unwrap();
    assert_eq!(fs::read_to_string(world.path().join("ask.txt")).unwrap(), one.text);
    let again =
        request(&world.context, None, &["scope".into()], Some(&PathBuf::from("ask.txt"))).unwrap_err();
    assert_eq!(again.code, "file_exists");
    assert_eq!(request(&world.context, None, &["magic".into()], None).unwrap_err().code, "section_unknown");
}

#[test]
fn a_request_and_an_approval_say_the_same_of_every_section() {
    let world = World::new();
    study(&world);
    draft(&world.context, &COMPLETE);
    let targets: Vec<String> = Section::ALL.iter().map(ToString::to_string).collect();
    let asked = request(&world.context, None, &targets, None).unwrap().sections;
    let shown =
        prepare(&world.context, &ApproveRequest { targets, ..ApproveRequest::default() }).unwrap().targets;
    assert_eq!(shown.len(), Section::ALL.len());
    for (one, other) in asked.iter().zip(&shown) {
        assert_eq!(one.section.to_string(), other.target.to_string());
        assert_eq!((one.allows, one.digest), (other.allows, other.digest), "{}", one.section);
    }
    let words: std::collections::BTreeSet<&str> = asked.iter().map(|one| one.allows).collect();
    assert_eq!(words.len(), Section::ALL.len(), "no two sections allow the same");
}

#[test]
fn problems_have_their_places_and_disagreements_their_reasons() {
    let world = World::new();
    let report = study(&world);
    draft(&world.context, &COMPLETE);
    let path = report.path.join("contract.yaml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("primary: success_rate", "primary: other")
            .replace("surfaces: [reward]", "surfaces: [reward, magic]"),
    )
    .unwrap();
    let checked = check(&world.context, None).unwrap();
    let reasons: Vec<&str> = checked.disagreements.iter().map(|one| one.code.as_str()).collect();
    assert_eq!((checked.exit(), reasons), (Exit::No, vec!["files_disagree", "files_disagree"]));
    fs::write(&path, text.replace("wall_clock: 8h", "wall_clock: soon").replace("runs: 40", "runs: many"))
        .unwrap();
    let checked = check(&world.context, None).unwrap();
    assert_eq!(checked.exit(), Exit::Usage);
    let places: Vec<String> =
        checked.problems.iter().map(|one| format!("{}:{}", one.path, one.line)).collect();
    assert_eq!(places, ["budget.runs:24"]);
    fs::write(&path, text.replace("wall_clock: 8h", "wall_clock: soon").replace("disk: ", "disk: about"))
        .unwrap();
    let checked = check(&world.context, None).unwrap();
    let places: Vec<String> =
        checked.problems.iter().map(|one| format!("{}:{}", one.path, one.line)).collect();
    assert_eq!(places, ["budget.wall_clock:25", "budget.disk:26", "budget.per_run.disk:27"]);
    fs::write(&path, [0xff]).unwrap();
    assert_eq!(check(&world.context, None).unwrap().exit(), Exit::Usage);
    fs::remove_file(&path).unwrap();
    let checked = check(&world.context, None).unwrap();
    assert_eq!((checked.exit(), checked.disagreements[0].code.as_str()), (Exit::No, "file_missing"));
}
