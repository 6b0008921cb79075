//! Caches of older tools: imported as text, word for word, and never counted as approval or evidence.

use std::fs;

use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::ledger::Event;
use rlxp_govern::section::Section;
use rlxp_ops::Failure;
use rlxp_ops::studies::files::OpenStudy;
use rlxp_ops::studies::study::init::{InitReport, InitRequest, init};
use rlxp_ops::studies::study::registry;
use rlxp_types::Digest;

use super::{COMPLETE, approve, draft, put, study, typed};
use crate::common::World;

const AUTORL: [(&str, &str); 9] = [
    ("task-profile.md", "# Walk\n\n## Mission\n\nWalk up\nstairs.\n"),
    ("surface-map.md", "# Surfaces\n"),
    ("runbook.md", "python train.py\n"),
    ("metric-spec.md", "success\n"),
    ("task-contract.md", "Execute: approved\n"),
    ("state.json", "{\"approved\": true}"),
    ("artifact-manifest.md", "none\n"),
    ("loops/1/decision.md", "accepted\n"),
    ("surprise.bin", "x"),
];

fn import(world: &World, folder: &str) -> Result<InitReport, Failure> {
    init(&world.context, &InitRequest { import: Some(folder.into()), ..InitRequest::default() })
}

#[test]
fn a_task_of_autorl_is_taken_over_as_text() {
    let world = World::new();
    for (name, text) in AUTORL {
        put(&world, &format!(".autorl/tasks/stairs/{name}"), text);
    }
    let report = import(&world, ".autorl").unwrap();
    let imported = report.imported.unwrap();
    assert_eq!((report.task.as_str(), imported.files.len()), ("stairs", 8));
    assert_eq!(imported.unknown, ["surprise.bin"]);
    for (name, text) in AUTORL.into_iter().filter(|(name, _)| *name != "surprise.bin") {
        assert_eq!(fs::read_to_string(report.path.join("imported").join(name)).unwrap(), text, "{name}");
    }
    let (contract, _, map, runbook) = typed(&report.path);
    assert_eq!(contract.task.mission, "Walk up stairs.");
    assert!(
        runbook.train.argv[0].starts_with("TODO") && runbook.train.argv[0].ends_with("imported/runbook.md")
    );
    assert!(map.surfaces.is_empty());
    let opened = OpenStudy::open(&world.context, None).unwrap();
    let Event::Imported(event) = &opened.study.ledger.records.last().unwrap().event else {
        panic!("{:?}", opened.study.ledger)
    };
    assert_eq!(event.files["task-profile.md"], Digest::hash(AUTORL[0].1.as_bytes()));
    assert!(opened.study.standings().values().all(|standing| *standing == ApprovalStatus::Missing));
    assert!(
        fs::read_to_string(world.path().join(".autorl/tasks/stairs/state.json")).is_ok(),
        "the old one stays"
    );
}

#[test]
fn an_old_ledger_approves_nothing() {
    // A real ledger with real approvals, copied from another study.
    let other = World::new();
    let from = study(&other);
    draft(&other.context, &COMPLETE);
    let names: Vec<String> = Section::ALL.iter().map(ToString::to_string).collect();
    approve(&other.context, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let world = World::new();
    for name in [
        "ledger.jsonl",
        "contract.yaml",
        "metric_spec.yaml",
        "surface_map.yaml",
        "runbook.yaml",
        "state.json",
    ] {
        put(&world, &format!(".rlxp/{name}"), fs::read(from.path.join(name)).unwrap());
    }
    put(&world, ".rlxp/contract.yaml", "task: {id: a, owner: me}\nbudgets: 1\n");
    put(&world, ".rlxp/candidates/one.yaml", "id: one\nstatus: accepted\n");
    put(&world, ".rlxp/runs/1/metrics.jsonl", "{}");
    let listed = registry::list(&world.context).unwrap();
    let flat = listed.flat.unwrap();
    assert!(listed.studies.is_empty() && flat.files.contains(&"ledger.jsonl".to_owned()));
    assert_eq!(flat.import, "rlx study init --import .rlxp");
    let report = import(&world, ".rlxp").unwrap();
    let imported = report.imported.unwrap();
    assert_eq!(imported.unknown, ["runs/", "contract.yaml: task.owner", "contract.yaml: budgets"]);
    let opened = OpenStudy::open(&world.context, None).unwrap();
    assert!(opened.study.standings().values().all(|standing| *standing == ApprovalStatus::Missing));
    assert!(opened.study.state().candidates.is_empty() && opened.study.candidate_files.is_empty());
    assert_eq!(opened.study.ledger.next_seq(), 2);
    assert!(registry::list(&world.context).unwrap().flat.is_none());
}

#[test]
fn what_cannot_be_imported_leaves_nothing_behind() {
    let refused = |prepare: &dyn Fn(&World), folder: &str| {
        let world = World::new();
        prepare(&world);
        let failure = import(&world, folder).unwrap_err();
        assert!(!world.path().join(".rlxp/tasks").exists(), "{failure}");
        format!("{} {}", failure.code, failure.message)
    };
    let cache = |world: &World| put(world, "old/task-profile.md", "x");
    assert!(refused(&|_| {}, "old").starts_with("import_not_found"));
    assert!(refused(&|world| put(world, "old", "file"), "old").starts_with("import_not_found"));
    assert!(refused(&|world| put(world, "old/readme.md", "x"), "old").starts_with("import_unknown"));
    let several = |world: &World| {
        put(world, ".autorl/tasks/a/runbook.md", "x");
        put(world, ".autorl/tasks/b/runbook.md", "x");
    };
    assert!(refused(&several, ".autorl").starts_with("import_ambiguous"));
    let said = refused(
        &|world| {
            cache(world);
            std::os::unix::fs::symlink("/etc/passwd", world.path().join("old/runbook.md")).unwrap();
            put(world, "old/loops/1/a.md", "x");
            std::os::unix::fs::symlink("/etc", world.path().join("old/loops/1/etc")).unwrap();
            put(world, "old/metric-spec.md", [0x61, 0xff]);
            put(world, "old/surface-map.md", vec![b'a'; (8 << 20) + 1]);
        },
        "old",
    );
    for part in [
        "import_refused",
        "runbook.md is a link",
        "loops/1/etc is a link",
        "metric-spec.md is not UTF-8 at byte 1",
        "surface-map.md has 8388609 bytes",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}
