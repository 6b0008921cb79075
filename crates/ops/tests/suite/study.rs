//! Studies over real files: what opening one records, who may add to it, and what is refused.
#![expect(clippy::disallowed_methods, reason = "tests edit files as people do")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rlxp_fs::testing::{Fault, FaultFs};
use rlxp_fs::{RealFs, RealMachine};
use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::documents::{Assurance, Base, CandidateKind, Phase, Slug};
use rlxp_govern::gate::RefusalCode;
use rlxp_govern::ledger::event::{Approved, Note, PlannedPhase, Validated};
use rlxp_govern::ledger::{Actor, Event};
use rlxp_govern::machine::CandidateState;
use rlxp_govern::plan::Plan;
use rlxp_govern::section::{Section, Target};
use rlxp_govern::view::CandidateView;
use rlxp_ops::context::{Context, UserFolders};
use rlxp_ops::studies::files::{OpenStudy, refuse_governed};
use rlxp_ops::studies::study::init::{InitRequest, init};
use rlxp_types::{Digest, Exit};

const CONTRACT: &str = include_str!("study/contract.yaml");
const METRIC_SPEC: &str = include_str!("study/metric_spec.yaml");
const SURFACE_MAP: &str = include_str!("study/surface_map.yaml");
const RUNBOOK: &str = include_str!("study/runbook.yaml");
const CANDIDATE: &str = include_str!("study/candidate.yaml");
const KEY: &str =
    "maya@example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOcJmaegL3kaul8+yprQqFyM1+wneOvtonojD4+y04VM\n";

struct World {
    folder: tempfile::TempDir,
    context: Context,
}

impl World {
    /// A repository with a study whose documents are complete.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        std::fs::create_dir(&root).unwrap();
        let home = folder.path().join("home");
        let user = UserFolders {
            home: Some(home.clone()),
            config: Some(home.join("config")),
            state: Some(home.join("state")),
        };
        let context = Context {
            fs: Arc::new(RealFs),
            machine: Arc::new(RealMachine),
            folder: root,
            folder_is_root: true,
            cores: 1,
            user,
        };
        let world = Self { folder, context };
        let request =
            InitRequest { task: Some("walker".into()), study: Some("first".into()), ..Default::default() };
        init(&world.context, &request).unwrap();
        for (name, text) in [
            ("contract.yaml", CONTRACT),
            ("metric_spec.yaml", METRIC_SPEC),
            ("surface_map.yaml", SURFACE_MAP),
            ("runbook.yaml", RUNBOOK),
            ("candidates/lower-lr.yaml", CANDIDATE),
        ] {
            world.write(name, text);
        }
        std::fs::write(world.context.folder.join("train.py"), "import sys\r\nlr = 3e-4\n").unwrap();
        world.write_adapter(Digest::hash(b"import sys"));
        world
    }

    fn study(&self) -> PathBuf {
        self.context.folder.join(".rlxp/tasks/walker/studies/first")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.study().join(name), text).unwrap();
    }

    fn write_adapter(&self, digest: Digest) {
        let text = format!(
            "schema: rlxp.adapter/1\nstack: generic\nclaims:\n  - about: train_command\n    value: python\n    \
             file: train.py\n    line: 1\n    line_digest: {digest}\n    confidence: high\n"
        );
        std::fs::write(self.context.folder.join(".rlxp/tasks/walker/adapter.yaml"), text).unwrap();
    }

    fn open(&self) -> OpenStudy {
        OpenStudy::open(&self.context, None).unwrap()
    }

    /// Approves these targets as they are.
    fn approve(&self, sections: &[Section]) {
        let mut opened = self.open();
        let digests = opened.study.digests();
        let targets = sections.iter().map(|section| (Target::Section(*section), digests[section])).collect();
        opened.append(Actor::Person, approval(targets)).unwrap();
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.open();
        let bytes = std::fs::read(self.study().join("ledger.jsonl")).unwrap();
        rlxp_govern::ledger::read(&bytes).records.iter().map(|record| record.event.kind()).collect()
    }
}

fn approval(targets: BTreeMap<Target, Digest>) -> Event {
    Event::Approved(Approved {
        targets,
        assurance: Assurance::Terminal,
        who: "maya".into(),
        key: None,
        signature: None,
    })
}

fn note(text: &str) -> Event {
    Event::Note(Note { text: text.into() })
}

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

#[test]
fn an_edit_that_is_taken_back_has_happened() {
    let world = World::new();
    world.approve(&Section::ALL);
    assert!(world.open().study.standings().values().all(ApprovalStatus::is_given));
    world.write("metric_spec.yaml", &METRIC_SPEC.replace("episodes: 20", "episodes: 10"));
    let opened = world.open();
    let Event::Voided(voided) = &opened.study.ledger.records.last().unwrap().event else {
        panic!("not on record")
    };
    let of_evaluation: Vec<Target> =
        Section::Evaluation.dependents().into_iter().map(Target::Section).collect();
    assert_eq!(voided.targets, of_evaluation);
    world.write("metric_spec.yaml", METRIC_SPEC);
    let opened = world.open();
    let standings = opened.study.standings();
    for section in Section::ALL {
        let void = matches!(standings[&section], ApprovalStatus::Void { .. });
        assert_eq!(void, of_evaluation.contains(&Target::Section(section)), "{section}");
    }
    // It is recorded once, however often the study is opened.
    assert_eq!(world.kinds(), ["opened", "approved", "voided"]);
    world.approve(&Section::ALL);
    assert!(world.open().study.standings().values().all(ApprovalStatus::is_given));
}

/// A file that can't be read has no values that differ from the approved ones. It approves nothing, and voids nothing.
#[test]
fn a_broken_document_and_other_approvers_void_nothing() {
    let world = World::new();
    world.approve(&[Section::Task, Section::Scope]);
    world.write("surface_map.yaml", "schema: [");
    let standings = world.open().study.standings();
    assert!(standings[&Section::Task].is_given());
    assert_eq!(standings[&Section::Scope].code(), Some(RefusalCode::ApprovalUnreadable));
    world.write("surface_map.yaml", SURFACE_MAP);
    assert!(world.open().study.standings()[&Section::Scope].is_given());
    assert_eq!(world.kinds(), ["opened", "approved"]);
    // Another value that was there meanwhile voids as ever, even if it can't be read any more when it is looked at again.
    world.write("surface_map.yaml", &SURFACE_MAP.replace("0.00001", "0.00002"));
    assert_eq!(world.open().study.standings()[&Section::Scope].code(), Some(RefusalCode::ApprovalVoid));
    world.write("surface_map.yaml", "schema: [");
    assert_eq!(world.open().study.standings()[&Section::Scope].code(), Some(RefusalCode::ApprovalVoid));
    world.write("surface_map.yaml", SURFACE_MAP);
    assert_eq!(world.open().study.standings()[&Section::Scope].code(), Some(RefusalCode::ApprovalVoid));
    let list = world.context.user.config.clone().unwrap().join("approvers");
    std::fs::create_dir_all(list.parent().unwrap()).unwrap();
    std::fs::write(&list, KEY).unwrap();
    assert!(world.open().study.standings()[&Section::Task].is_given());
    assert_eq!(world.kinds(), ["opened", "approved", "voided"]);
}

#[test]
fn an_approved_candidate_is_void_with_its_text() {
    let world = World::new();
    let id = slug("lower-lr");
    let mut opened = world.open();
    let digest = opened.study.candidate_digest(opened.candidate(&id).unwrap().get().unwrap()).unwrap();
    let target = Target::Candidate(id);
    opened.append(Actor::Person, approval(BTreeMap::from([(target.clone(), digest)]))).unwrap();
    assert!(world.open().standings().unwrap()[&target].is_given());
    world.write("candidates/lower-lr.yaml", &CANDIDATE.replace("0.0001", "0.0002"));
    assert_eq!(world.kinds(), ["opened", "approved", "voided"]);
    world.write("candidates/lower-lr.yaml", CANDIDATE);
    assert_eq!(world.open().standings().unwrap()[&target].code(), Some(RefusalCode::ApprovalVoid));
}

/// Records that the candidate is validated as it is, with the plan that gates would see.
fn validate(world: &World) -> Slug {
    let id = slug("lower-lr");
    let mut opened = world.open();
    let written = opened.candidate(&id).unwrap().get().unwrap().clone();
    let view = CandidateView {
        file: opened.study.candidate_files["lower-lr"],
        file_name: "lower-lr".into(),
        written,
        paths: BTreeMap::new(),
        evidence_there: Default::default(),
        analyses: BTreeMap::new(),
        protected: Some(BTreeMap::new()),
        unprotectable: Vec::new(),
        machine: None,
        asked_plan: None,
        sources: BTreeMap::from([(
            "configs/ppo.yaml".into(),
            Some("algo: {learning_rate: 0.0003}\n".into()),
        )]),
        override_syntax: None,
        flag_values: Default::default(),
        base: Some(Base::Snapshot(Digest::hash(b"all files"))),
        accepted: None,
        programs: Some(BTreeMap::new()),
        inputs: Some(BTreeMap::new()),
    };
    let plan = Plan::for_candidate(&opened.study, &view).unwrap();
    let validated = Validated {
        candidate: id.clone(),
        revision: 1,
        kind: CandidateKind::Hyperparameter,
        file: view.file,
        digest: opened.study.candidate_digest(&view.written).unwrap(),
        plan: plan.digest(),
        parts: plan.parts,
        phases: vec![PlannedPhase { phase: Phase::Smoke, seeds: 1, reserve: None }],
        base: None,
        programs: None,
        effect: None,
    };
    opened.append(Actor::Rlx, Event::Validated(validated)).unwrap();
    id
}

/// The digest that an approval would name is the same whether the file is read again or not, and every part that
/// opening knows is named as the plan names it: otherwise the first look would make it a draft.
#[test]
fn a_validated_candidate_stays_so_until_something_changes() {
    type Edit = (&'static str, fn(&World));
    let edits: [Edit; 5] = [
        ("its file has changed", |world| {
            world.write("candidates/lower-lr.yaml", &format!("{CANDIDATE}risk: none\n"));
        }),
        ("its file is missing", |world| {
            std::fs::remove_file(world.study().join("candidates/lower-lr.yaml")).unwrap();
        }),
        ("section:evaluation", |world| {
            world.write("runbook.yaml", &RUNBOOK.replace("eval/run.py", "eval/other.py"));
        }),
        ("adapter", |world| world.write_adapter(Digest::hash(b"other"))),
        ("section:budget", |world| world.write("contract.yaml", &CONTRACT.replace("runs: 100", "runs: 90"))),
    ];
    for (reason, edit) in edits {
        let world = World::new();
        let id = validate(&world);
        let state = |opened: &OpenStudy| opened.study.state().candidates[&id].state;
        assert_eq!(state(&world.open()), CandidateState::Validated);
        edit(&world);
        let opened = world.open();
        assert_eq!(state(&opened), CandidateState::Draft, "{reason}");
        let Event::Reopened(reopened) = &opened.study.ledger.records.last().unwrap().event else {
            panic!("{reason}")
        };
        assert!(reopened.reason.contains(reason), "{}", reopened.reason);
        assert_eq!(world.kinds(), ["opened", "validated", "reopened"]);
    }
}

#[test]
fn claims_are_held_against_their_line() {
    let world = World::new();
    let stale = || world.open().study.adapter.unwrap().stale;
    assert_eq!(stale(), Vec::<String>::new());
    let train = world.context.folder.join("train.py");
    std::fs::write(&train, "#!/usr/bin/python\nimport sys\n").unwrap();
    assert_eq!(stale(), ["train.py:1"]);
    std::fs::write(&train, "import sys").unwrap();
    assert_eq!(stale(), Vec::<String>::new());
    std::fs::rename(&train, world.context.folder.join("other.py")).unwrap();
    std::os::unix::fs::symlink("other.py", &train).unwrap();
    assert_eq!(stale(), ["train.py:1"], "a link is not followed");
}

#[test]
fn whoever_was_slower_is_told() {
    let world = World::new();
    let (mut one, mut other) = (world.open(), world.open());
    one.append(Actor::Agent, note("first")).unwrap();
    let failure = other.append(Actor::Agent, note("second")).unwrap_err();
    assert_eq!((failure.code, failure.exit), ("ledger_moved", Exit::Refused));
    one.append(Actor::Agent, note("third")).unwrap();
    assert_eq!(world.kinds(), ["opened", "note", "note"]);
    let state = std::fs::read_to_string(world.study().join("state.json")).unwrap();
    assert!(state.contains("\"records\": 3"), "{state}");
}

#[test]
fn what_can_not_happen_is_not_written() {
    let world = World::new();
    let mut opened = world.open();
    let closed = rlxp_govern::ledger::event::Closed { reason: "over".into() };
    let launched = rlxp_govern::ledger::event::Launched {
        key: "k".into(),
        boot: "b".into(),
        process: 1,
        started: 1,
        external: None,
    };
    assert_eq!(opened.append(Actor::Rlx, Event::Launched(launched)).unwrap_err().code, "impossible");
    opened.append(Actor::Rlx, Event::Closed(closed.clone())).unwrap();
    assert_eq!(opened.append(Actor::Rlx, Event::Closed(closed)).unwrap_err().code, "impossible");
    opened.append(Actor::Rlx, note("remarks can follow")).unwrap();
    assert_eq!(world.kinds(), ["opened", "closed", "note"]);
}

/// A read-only disk: commands that only read return correct results and a warning.
#[test]
fn looking_goes_on_when_nothing_can_be_written() {
    let world = World::new();
    world.approve(&[Section::Task]);
    world.write("contract.yaml", &CONTRACT.replace("farther", "faster"));
    let full =
        Context { fs: Arc::new(FaultFs::new(Arc::new(RealFs), Fault::Full, 1)), ..world.context.clone() };
    let mut opened = OpenStudy::open(&full, None).unwrap();
    assert_eq!(opened.study.standings()[&Section::Task].code(), Some(RefusalCode::ApprovalVoid));
    assert_eq!(opened.warnings.len(), 1, "{:?}", opened.warnings);
    assert_eq!(opened.append(Actor::Agent, note("no")).unwrap_err().exit, Exit::Storage);
    assert_eq!(world.kinds(), ["opened", "approved", "voided"]);
}

/// Every call of opening and adding fails once: nothing is lost, and the next attempt succeeds.
#[test]
fn a_fault_anywhere_loses_no_record() {
    let world = World::new();
    world.approve(&[Section::Task]);
    world.write("contract.yaml", &CONTRACT.replace("farther", "faster"));
    let mut told = 0;
    for at in 1.. {
        let faulty = Arc::new(FaultFs::new(Arc::new(RealFs), Fault::Error, at));
        let context = Context { fs: faulty.clone(), ..world.context.clone() };
        let added = OpenStudy::open(&context, None)
            .and_then(|mut opened| opened.append(Actor::Agent, note("x")).map(drop));
        told += usize::from(added.is_ok());
        // What an error left behind belongs to this process, which is still there.
        drop(std::fs::remove_file(world.study().join("ledger.lock")));
        let kinds = world.kinds();
        assert_eq!(kinds[..3], ["opened", "approved", "voided"]);
        assert_eq!(kinds.len(), 3 + told, "fault at {at}");
        if !faulty.fired() {
            break;
        }
    }
    assert!(told > 1);
}

#[test]
fn a_link_anywhere_in_a_study_is_refused_by_name() {
    for name in [
        "contract.yaml",
        "ledger.jsonl",
        "candidates/lower-lr.yaml",
        "candidates",
        "signatures",
        "../first",
        "../../studies",
        "../../adapter.yaml",
        "../../../../../.rlxp",
    ] {
        let world = World::new();
        let path = world.study().join(name);
        let (folder, last) =
            (std::fs::canonicalize(path.parent().unwrap()).unwrap(), path.file_name().unwrap());
        let (path, moved) = (folder.join(last), world.folder.path().join("moved"));
        std::fs::rename(&path, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &path).unwrap();
        let failure = OpenStudy::open(&world.context, Some("first")).err().unwrap();
        assert_eq!((failure.code, failure.exit), ("link_in_study", Exit::Refused), "{name}: {failure}");
        assert!(failure.message.starts_with(&path.display().to_string()), "{name}: {failure}");
    }
}

#[test]
fn an_open_study_keeps_other_verbs_out() {
    let world = World::new();
    let below = world.context.folder.join("deep/below");
    std::fs::create_dir_all(&below).unwrap();
    let at = |folder: &Path, folder_is_root| Context {
        folder: folder.to_owned(),
        folder_is_root,
        ..world.context.clone()
    };
    let all = || [at(&below, false), at(&below, true), at(&world.context.folder, true)];
    let outside = at(world.folder.path(), false);
    assert!(all().iter().all(|context| refuse_governed(context).is_ok()));
    world.approve(&Section::ALL);
    for context in all() {
        let failure = refuse_governed(&context).unwrap_err();
        assert_eq!((failure.code, failure.exit), ("governed_folder", Exit::Refused));
        assert!(failure.message.contains("walker/first"), "{failure}");
    }
    refuse_governed(&outside).unwrap();
    // Neither an edit that voids the permission nor a registry without the study opens the folder again.
    world.write("contract.yaml", "");
    std::fs::write(world.context.folder.join(".rlxp/registry.yaml"), "schema: rlxp.registry/1\n").unwrap();
    assert!(all().iter().all(|context| refuse_governed(context).is_err()));
    let link = world.folder.path().join("link");
    std::os::unix::fs::symlink(&below, &link).unwrap();
    assert!(refuse_governed(&at(&link, true)).is_err(), "a link from outside");
    let mut opened = OpenStudy::open(&world.context, Some("first")).unwrap();
    let ledger = std::fs::read(world.study().join("ledger.jsonl")).unwrap();
    let closed = rlxp_govern::ledger::event::Closed { reason: "over".into() };
    opened.append(Actor::Rlx, Event::Closed(closed.clone())).unwrap();
    assert!(all().iter().all(|context| refuse_governed(context).is_err()), "no person agreed to that");
    std::fs::write(world.study().join("ledger.jsonl"), ledger).unwrap();
    let behind = OpenStudy::open(&world.context, Some("first")).map(drop).unwrap_err();
    assert_eq!(behind.code, "ledger_behind_copy");
    // As on a machine that has no copy.
    std::fs::remove_dir_all(world.context.user.state.clone().unwrap().join("ledgers")).unwrap();
    let mut opened = OpenStudy::open(&world.context, Some("first")).unwrap();
    let digest = rlxp_govern::section::close_digest(&opened.study.identity().unwrap());
    opened.append(Actor::Person, approval(BTreeMap::from([(Target::Close, digest)]))).unwrap();
    opened.append(Actor::Rlx, Event::Closed(closed)).unwrap();
    assert!(all().iter().all(|context| refuse_governed(context).is_ok()));
    std::fs::remove_file(world.study().join("ledger.jsonl")).unwrap();
    assert!(refuse_governed(&world.context).is_err(), "without its ledger nobody knows");
}
