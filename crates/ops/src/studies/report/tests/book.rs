//! Ledgers for tests, built record by record, and the documents of their study.

use std::collections::BTreeMap;

use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::{
    Assurance, Base, Candidate, CandidateKind, Contract, MetricSpec, Phase, Reading, Slug, StudyName,
};
use rlxp_govern::ledger::event::{
    AcceptedCode, Approved, Completed, Evidence, GuardrailLook, Judged, LaunchIntent, Launched, LookCall,
    Looked, Opened, PlannedPhase, Refused, Reopened, Reverted, RunEnded, Validated, Verdict,
};
use rlxp_govern::ledger::{Actor, Event, Ledger, Record, read};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::next::{Action, Next};
use rlxp_govern::section::{Section, Target};
use rlxp_govern::seeds::SeedRole;
use rlxp_types::Digest;

use super::super::facts::{CandidateFile, Facts};
use super::super::history::History;
use crate::studies::files::read::parse;

const CONTRACT: &str = include_str!("../../../../tests/suite/study/contract.yaml");
const METRIC_SPEC: &str = include_str!("../../../../tests/suite/study/metric_spec.yaml");
const CANDIDATE: &str = include_str!("../../../../tests/suite/study/candidate.yaml");

pub(super) fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

/// A ledger that grows.
pub(super) struct Book {
    pub(super) ledger: Ledger,
    pub(super) evaluation_seed: u64,
}

impl Book {
    pub(super) fn new() -> Self {
        let mut book = Self { ledger: read(b""), evaluation_seed: 10_000 };
        book.push(Event::Opened(Opened {
            id: "abc".into(),
            task: slug("walker"),
            study: slug("first"),
            approvers: Vec::new(),
            assurance: Assurance::Terminal,
        }));
        book
    }

    /// Appends a record and returns its number.
    pub(super) fn push(&mut self, event: Event) -> u64 {
        let seq = self.ledger.next_seq();
        let record = Record::new(seq, "2026-01-02T03:04:05Z", Actor::Rlx, event, self.ledger.head());
        self.ledger.push(record).unwrap_or_else(|problem| panic!("{problem:?}"));
        seq
    }

    pub(super) fn approve(&mut self, who: &str) -> u64 {
        let targets = Section::ALL.into_iter().map(|section| (Target::Section(section), Digest::hash(b"x")));
        let (targets, assurance) = (targets.collect(), Assurance::Terminal);
        self.push(Event::Approved(Approved {
            targets,
            assurance,
            who: who.into(),
            key: None,
            signature: None,
        }))
    }

    pub(super) fn validate(&mut self, id: &str, kind: CandidateKind, revision: u64) -> u64 {
        let planned = |phase| PlannedPhase { phase, seeds: 3, reserve: None };
        let phases = [Phase::Smoke, Phase::Short, Phase::Confirm, Phase::IncumbentValidation];
        self.push(Event::Validated(Validated {
            candidate: slug(id),
            revision,
            kind,
            file: Digest::hash(id.as_bytes()),
            digest: Digest::hash(id.as_bytes()),
            plan: Digest::hash(format!("{id} {revision}").as_bytes()),
            parts: BTreeMap::new(),
            phases: phases.map(planned).to_vec(),
            base: Base::of_commit(&"a1".repeat(20)),
            programs: None,
            effect: None,
        }))
    }

    /// Runs one seed to its end; returns the numbers of the records of its end and its evidence.
    pub(super) fn run(
        &mut self,
        id: &str,
        phase: Phase,
        seed: u64,
        end: RunEnd,
        value: Option<f64>,
    ) -> (u64, Option<u64>) {
        self.run_with(id, phase, seed, end, value, "it ended", None)
    }

    #[expect(clippy::too_many_arguments, reason = "each is one fact of a run")]
    pub(super) fn run_with(
        &mut self,
        id: &str,
        phase: Phase,
        seed: u64,
        end: RunEnd,
        value: Option<f64>,
        reason: &str,
        external: Option<&str>,
    ) -> (u64, Option<u64>) {
        let revision = self.ledger.state.candidates[&slug(id)].validated.revision;
        let count = self.ledger.state.runs.len();
        let key = format!("{id}-r{revision}-{}-{seed}-{count}", phase.to_string().replace(' ', "-"));
        self.evaluation_seed += 1;
        let external = external.map(str::to_owned);
        let reserve = Amounts { runs: 1, wall_clock: 60, gpu_time: 0, disk: 1 << 20 };
        self.push(Event::LaunchIntent(LaunchIntent {
            key: key.clone(),
            candidate: slug(id),
            phase,
            seed,
            role: SeedRole::for_phase(phase),
            reserve,
            plan: Digest::hash(format!("{id} {revision}").as_bytes()),
            external: external.clone(),
            evaluation_seed: (phase != Phase::Smoke).then_some(self.evaluation_seed),
            evaluator_exposed: false,
            bounded_repeats: true,
            probe: None,
        }));
        self.push(Event::Launched(Launched {
            key: key.clone(),
            boot: "b".into(),
            process: 1,
            started: 1,
            external,
        }));
        let ended = self.push(Event::RunEnded(RunEnded {
            key: key.clone(),
            end,
            reason: reason.into(),
            spent: Amounts { wall_clock: 30, ..reserve },
            killed_by: None,
            not_evidence: None,
            after_training: Some(true),
            executable_output: None,
            manifest: Some(Digest::hash(key.as_bytes())),
            confinement: None,
        }));
        let evidence = value.map(|value| {
            let values = BTreeMap::from([(slug("mean-return"), Some(value))]);
            let (files, reasons) = (BTreeMap::new(), BTreeMap::new());
            self.push(Event::Evidence(Evidence { key, values, files, reasons, declared: None }))
        });
        (ended, evidence)
    }

    pub(super) fn complete(&mut self, id: &str) {
        self.push(Event::Completed(Completed { candidate: slug(id) }));
    }

    pub(super) fn look(&mut self, id: &str, look: u64, z: f64, call: LookCall) -> u64 {
        self.push(Event::Looked(Looked {
            candidate: slug(id),
            look,
            looks: 2,
            seeds: 3,
            incumbent_seeds: 3,
            z,
            accept: 2.125,
            drop: (look < 2).then_some(-0.25),
            basis: Some("mean".into()),
            veto: None,
            guardrails: vec![GuardrailLook {
                name: slug("falls"),
                allowed: 0.5,
                difference: Some(0.125),
                bound: Some(-0.25),
                holds: true,
            }],
            call,
            inputs: Digest::hash(b"inputs"),
        }))
    }

    pub(super) fn judge(
        &mut self,
        id: &str,
        phase: Phase,
        verdict: Verdict,
        score: Option<f64>,
        reason: &str,
    ) -> u64 {
        let code = (verdict == Verdict::Accepted).then(|| AcceptedCode {
            base: Base::of_commit(&"b2".repeat(20)).unwrap(),
            arguments: vec!["--lr=1".into()],
        });
        let (candidate, failed_checks) = (slug(id), Vec::new());
        let inputs = Digest::hash(b"inputs");
        self.push(Event::Judged(Judged {
            candidate,
            phase,
            verdict,
            inputs,
            score,
            reason: reason.into(),
            failed_checks,
            code,
        }))
    }
}

/// A study with every kind of verdict and of end.
pub(super) struct Story {
    pub(super) book: Book,
    pub(super) accepted: u64,
    pub(super) rejected: u64,
    pub(super) debug: u64,
    pub(super) reverted: u64,
    pub(super) refused: u64,
    pub(super) lost: u64,
    pub(super) better_look: u64,
    pub(super) better_evidence: u64,
}

pub(super) fn story() -> Story {
    let mut book = Book::new();
    book.approve("ada");
    book.validate("baseline", CandidateKind::Baseline, 1);
    for (seed, value) in [(100, 250.0), (101, 251.0), (102, 252.0)] {
        book.run("baseline", Phase::Confirm, seed, RunEnd::Ok, Some(value));
    }
    book.complete("baseline");

    book.validate("better", CandidateKind::Hyperparameter, 1);
    let (lost, _) = book.run("better", Phase::Short, 1, RunEnd::Lost, None);
    for (seed, value) in [(103, 300.0), (104, 310.0)] {
        book.run("better", Phase::Confirm, seed, RunEnd::Ok, Some(value));
    }
    let better_evidence = book.run("better", Phase::Confirm, 105, RunEnd::Ok, Some(320.0)).1.unwrap();
    let better_look = book.look("better", 1, 2.5, LookCall::Accept);
    book.complete("better");
    let accepted =
        book.judge("better", Phase::Confirm, Verdict::Accepted, Some(310.0), "z 2.5 is above 2.125");

    book.validate("worse", CandidateKind::RewardTuning, 1);
    book.run("worse", Phase::Confirm, 106, RunEnd::Ok, Some(10.0));
    book.run("worse", Phase::Confirm, 107, RunEnd::Failed, None);
    book.run("worse", Phase::Confirm, 108, RunEnd::Cancelled, None);
    book.look("worse", 1, -1.75, LookCall::Drop);
    book.complete("worse");
    let rejected =
        book.judge("worse", Phase::Confirm, Verdict::Rejected, None, "the interval ends below 5.5");

    book.validate("same", CandidateKind::Hyperparameter, 1);
    book.run_with("same", Phase::Confirm, 109, RunEnd::Ok, Some(311.0), "received", Some("slurm"));
    book.complete("same");
    // As an earlier version of rlx wrote it: no looks, no reason.
    book.judge("same", Phase::Confirm, Verdict::Inconclusive, None, "");

    book.validate("broken", CandidateKind::Curriculum, 1);
    book.run("broken", Phase::Short, 1, RunEnd::Limit, None);
    book.run("broken", Phase::Short, 2, RunEnd::Blocked, None);
    book.complete("broken");
    let debug = book.judge("broken", Phase::Short, Verdict::Debug, None, "no seed has its metric");
    book.push(Event::Reopened(Reopened { candidate: slug("broken"), reason: "debugged".into() }));
    book.validate("broken", CandidateKind::Curriculum, 2);

    let refused = book.push(Event::Refused(Refused {
        what: "validate cheat".into(),
        codes: vec!["protected".into()],
        detail: "eval/run.py is protected".into(),
        draft: None,
    }));
    let reverted =
        book.push(Event::Reverted(Reverted { candidate: slug("better"), reason: "falls more often".into() }));
    Story { book, accepted, rejected, debug, reverted, refused, lost, better_look, better_evidence }
}

/// What a report is made from, with documents as a study has them.
pub(super) struct Papers {
    pub(super) name: StudyName,
    pub(super) contract: Contract,
    pub(super) spec: MetricSpec,
}

impl Papers {
    pub(super) fn new() -> Self {
        let read = |reading: Reading<Contract>| reading.typed().cloned().unwrap();
        let spec: Reading<MetricSpec> = parse("metric_spec.yaml", METRIC_SPEC.into());
        let mut contract = read(parse("contract.yaml", CONTRACT.into()));
        contract.baseline.commit = Some("a1".repeat(20));
        let name = StudyName { task: slug("walker"), study: slug("first") };
        Self { name, contract, spec: spec.typed().cloned().unwrap() }
    }

    pub(super) fn facts<'a>(&'a self, ledger: &'a Ledger) -> Facts<'a> {
        let candidate: Reading<Candidate> = parse("candidate.yaml", CANDIDATE.into());
        let file = |id: &Slug| match id.as_str() {
            "same" => CandidateFile::Changed,
            _ => CandidateFile::Same(Box::new(candidate.typed().cloned().unwrap())),
        };
        let next = Next {
            action: Action::Propose,
            reason: "nothing else is left to do".into(),
            command: Some("rlx study propose".into()),
            changes: "nothing".into(),
            person: Some("look at the report".into()),
            launches: None,
            about: None,
            ending: None,
        };
        Facts {
            name: &self.name,
            history: History::new(&ledger.records),
            state: &ledger.state,
            contract: Some(&self.contract),
            spec: Some(&self.spec),
            approvals: BTreeMap::new(),
            candidates: ledger.state.candidates.keys().map(|id| (id.clone(), file(id))).collect(),
            unknown_runs: vec!["ghost-r1-short-1-1".into()],
            next,
        }
    }
}
