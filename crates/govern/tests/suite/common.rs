//! A study in memory, built step by step as rlx would: records are appended, approvals are given or signed, a baseline
//! runs, a candidate is validated.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use rlxp_govern::approval::{ApprovalStatus, statement};
use rlxp_govern::budget::Amounts;
use rlxp_govern::documents::{
    Assurance, Base, Candidate, Change, Confinement, Device, Files, Operation, Phase, Reading, Slug,
    StudyName, Written,
};
use rlxp_govern::gate::{Purpose, Refusal, refusals};
use rlxp_govern::ledger::event::ProbedSpan;
use rlxp_govern::ledger::event::{
    Analysis, Analyzed, Approved, Audited, Completed, Event, Evidence, LaunchIntent, Launched, Opened,
    RunEnded, Validated,
};
use rlxp_govern::ledger::{Actor, ChainProblem, Ledger, Record, read};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::plan::{Plan, effect, phases};
use rlxp_govern::run_section::run_digest;
use rlxp_govern::section::{Section, Target, close_digest};
use rlxp_govern::seeds::SeedRole;
use rlxp_govern::signature::{Approvers, Statement};
use rlxp_govern::view::{AdapterFacts, CandidateView, MachineFacts, PathFacts, Study};
use rlxp_types::Digest;
use serde_json::Value;

use super::texts::{Texts, read_value};

pub(crate) const AT: &str = "2026-01-02T03:04:05Z";
pub(crate) const PURPOSES: [Purpose; 3] = [Purpose::Plan, Purpose::Validate, Purpose::Launch];

pub(crate) fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

/// A study, a candidate, and the key of the person who approves.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) study: Study,
    pub(crate) view: CandidateView,
    baseline: CandidateView,
}

impl World {
    /// Opened and audited; nothing approved.
    pub(crate) fn opened(texts: &Texts) -> Self {
        let approvers = approvers(&[1]);
        let adapter = AdapterFacts { digest: Digest::hash(b"adapter"), stale: Vec::new() };
        let study = Study {
            name: StudyName { task: slug("walker"), study: slug("first") },
            files: Files {
                contract: read_value(&texts.contract),
                metric_spec: read_value(&texts.metric_spec),
                surface_map: read_value(&texts.surface_map),
                runbook: read_value(&texts.runbook),
                override_syntax: None,
            },
            ledger: read(b""),
            approvers: Some(approvers.clone()),
            signatures: BTreeMap::new(),
            adapter: Some(adapter.clone()),
            candidate_files: BTreeMap::new(),
        };
        let mut world = Self { study, view: view(&texts.candidate), baseline: view(&texts.baseline()) };
        world.push(opened(&approvers));
        world.push(Event::Audited(Audited { adapter: adapter.digest, claims: 3 }));
        world
    }

    /// Everything approved, the baseline over, the candidate validated and approved: it can be launched.
    pub(crate) fn ready(texts: &Texts) -> Self {
        let mut world = Self::opened(texts);
        world.approve_sections();
        world.run_baseline();
        world.validate();
        world.approve_candidate();
        world
    }

    /// Everything approved and the baseline validated: none of its runs was intended.
    pub(crate) fn before_baseline(texts: &Texts) -> Self {
        let mut world = Self::opened(texts);
        world.approve_sections();
        let validated = validated(&world.study, &world.baseline).expect("its plan can be made");
        world.study.candidate_files.insert("baseline".into(), world.baseline.file);
        world.push(Event::Validated(validated));
        world
    }

    /// The baseline as its file says.
    pub(crate) fn baseline(&self) -> &Candidate {
        &self.baseline.written.typed
    }

    /// Appends a record, which must succeed.
    pub(crate) fn push(&mut self, event: Event) {
        self.try_push(event).unwrap_or_else(|problem| panic!("{problem:?}"));
    }

    /// Appends a record. A run that is evaluated gets an evaluation seed as a launch would choose it.
    pub(crate) fn try_push(&mut self, mut event: Event) -> Result<(), ChainProblem> {
        if let Event::LaunchIntent(intent) = &mut event
            && intent.phase != Phase::Smoke
            && intent.evaluation_seed.is_none()
        {
            let state = self.study.state();
            let used = state.used_seeds.get(&SeedRole::Evaluation).map_or(0, BTreeSet::len);
            let kept = state.kept_evaluation_seed(&intent.candidate, intent.phase, intent.seed);
            intent.evaluation_seed = Some(kept.unwrap_or(10_000 + used as u64));
        }
        append(&mut self.study.ledger, event)
    }

    /// Approves all sections with the required assurance, where they can be approved.
    pub(crate) fn approve_sections(&mut self) {
        let targets: Vec<Target> = Section::ALL.into_iter().map(Target::Section).collect();
        self.approve(&targets, self.study.required());
    }

    pub(crate) fn approve_candidate(&mut self) {
        let target = Target::Candidate(self.view.written.typed.id.clone());
        self.approve(&[target], self.study.required());
    }

    /// One approval of all of these, as they are.
    pub(crate) fn approve(&mut self, targets: &[Target], assurance: Assurance) {
        let digests = self.study.digests();
        let digest = |target: &Target| match target {
            Target::Section(section) => digests.get(section).copied(),
            Target::Candidate(_) => self.study.candidate_digest(&self.view.written),
            Target::Run(key) => {
                let run = self.study.state().runs.get(key)?;
                self.study.identity().and_then(|identity| run_digest(&identity, run))
            }
            Target::Close => self.study.identity().map(|identity| close_digest(&identity)),
        };
        let targets: BTreeMap<Target, Digest> =
            targets.iter().filter_map(|target| Some((target.clone(), digest(target)?))).collect();
        let mut approved = Approved { targets, assurance, who: "ada".into(), key: None, signature: None };
        if assurance == Assurance::Signature
            && let Some(identity) = self.study.identity()
        {
            let text = sign(1, &statement(identity.study, &approved.targets, self.study.ledger.head()));
            let digest = Digest::hash(text.as_bytes());
            approved.key = approvers(&[1]).fingerprints().pop_first();
            approved.signature = Some(digest);
            self.study.signatures.insert(digest, text);
        }
        // A study that is closed or has no record can't be approved; a test that needs it will notice.
        let _ = self.try_push(Event::Approved(approved));
    }

    /// Validates the baseline, runs all of it and completes it; nothing happens where its plan can't be made.
    pub(crate) fn run_baseline(&mut self) {
        if let Some(validated) = validated(&self.study, &self.baseline) {
            let plan = validated.plan;
            self.push(Event::Validated(validated));
            self.run(&intent("baseline", Phase::Smoke, 0, plan), RunEnd::Ok);
            for seed in BASELINE_SEEDS {
                let intent = intent("baseline", Phase::Confirm, seed, plan);
                self.run(&intent, RunEnd::Ok);
                self.push(evidence(&intent.key, Some(250.25)));
            }
            self.push(Event::Completed(Completed { candidate: slug("baseline") }));
            self.push(analyzed(Analysis::RewardReflection, "reflection.json"));
            self.push(analyzed(Analysis::Probe, "probe.json"));
        }
    }

    /// Intends, starts and ends a run.
    pub(crate) fn run(&mut self, intent: &LaunchIntent, end: RunEnd) {
        self.push(Event::LaunchIntent(intent.clone()));
        self.push(launched(&intent.key));
        self.push(ended(&intent.key, end));
    }

    /// Records the candidate's plan, regardless of gates, and requests that plan from now on.
    pub(crate) fn validate(&mut self) {
        if let Some(validated) = validated(&self.study, &self.view) {
            self.view.asked_plan = Some(validated.plan);
            let _ = self.try_push(Event::Validated(validated));
        }
    }

    pub(crate) fn refusals(&self, purpose: Purpose) -> Vec<Refusal> {
        refusals(purpose, &self.study, Some(&self.view))
    }

    pub(crate) fn codes(&self, purpose: Purpose) -> BTreeSet<&'static str> {
        self.refusals(purpose).into_iter().map(|refusal| refusal.code.as_str()).collect()
    }

    /// The sections whose approval holds.
    pub(crate) fn given(&self) -> BTreeSet<Section> {
        let standings = self.study.standings().into_iter();
        standings.filter(|(_, standing)| standing.is_given()).map(|(section, _)| section).collect()
    }

    pub(crate) fn candidate_standing(&self) -> ApprovalStatus {
        self.study.candidate_standing(&self.view.written)
    }

    /// The same events in a new chain, without those that `keep` rejects.
    pub(crate) fn rechained(&self, mut keep: impl FnMut(u64, &Event) -> bool) -> Self {
        let mut world = self.clone();
        world.study.ledger = read(b"");
        for record in self.study.ledger.records.iter().filter(|record| keep(record.seq, &record.event)) {
            if let Err(problem) = world.try_push(record.event.clone()) {
                world.study.ledger.problem = Some(problem);
                break;
            }
        }
        // What couldn't be read before can't be read now.
        world.study.ledger.problem = world.study.ledger.problem.or(self.study.ledger.problem.clone());
        world
    }
}

pub(crate) fn append(ledger: &mut Ledger, event: Event) -> Result<(), ChainProblem> {
    ledger.push(Record::new(ledger.next_seq(), AT, Actor::Rlx, event, ledger.head()))
}

/// The lines of a ledger's file.
pub(crate) fn bytes(ledger: &Ledger) -> Vec<u8> {
    ledger.records.iter().flat_map(|record| (record.line() + "\n").into_bytes()).collect()
}

pub(crate) fn opened(approvers: &Approvers) -> Event {
    Event::Opened(Opened {
        id: "study-7f3a".into(),
        task: slug("walker"),
        study: slug("first"),
        approvers: approvers.fingerprints().into_iter().collect(),
        assurance: Assurance::Host,
    })
}

pub(crate) fn intent(candidate: &str, phase: Phase, seed: u64, plan: Digest) -> LaunchIntent {
    LaunchIntent {
        key: format!("{candidate}-{phase}-{seed}"),
        candidate: slug(candidate),
        phase,
        seed,
        role: SeedRole::for_phase(phase),
        reserve: Amounts { runs: 1, wall_clock: 600, gpu_time: 0, disk: 1 << 30 },
        plan,
        external: None,
        evaluation_seed: None,
        evaluator_exposed: false,
        bounded_repeats: true,
        probe: None,
    }
}

/// A file that rlx wrote about the baseline.
pub(crate) fn analyzed(what: Analysis, file: &str) -> Event {
    Event::Analyzed(Analyzed {
        what,
        candidate: slug("baseline"),
        reference: Some(slug("baseline")),
        parameter: (what == Analysis::Probe).then(|| "algo.learning_rate".to_owned()),
        span: (what == Analysis::Probe).then_some(ProbedSpan { from: 5e-5, to: 1e-3 }),
        runs: BTreeMap::new(),
        file: file.into(),
        digest: Digest::hash(file.as_bytes()),
    })
}

/// Confirm seeds that the baseline takes; tests take others.
pub(crate) const BASELINE_SEEDS: std::ops::Range<u64> = 195..200;

/// The primary metric of a run, as it was read.
pub(crate) fn evidence(key: &str, value: Option<f64>) -> Event {
    let values = BTreeMap::from([(slug("mean-return"), value)]);
    let files = BTreeMap::from([("eval.json".to_owned(), Digest::hash(key.as_bytes()))]);
    Event::Evidence(Evidence { key: key.into(), values, files, reasons: BTreeMap::new(), declared: None })
}

pub(crate) fn launched(key: &str) -> Event {
    Event::Launched(Launched {
        key: key.into(),
        boot: "boot".into(),
        process: 42,
        started: 7,
        external: None,
    })
}

pub(crate) fn ended(key: &str, end: RunEnd) -> Event {
    let spent = Amounts { runs: 1, wall_clock: 60, gpu_time: 0, disk: 1 << 20 };
    Event::RunEnded(over(key, end, spent))
}

pub(crate) fn over(key: &str, end: RunEnd, spent: Amounts) -> RunEnded {
    let reason = "it is over".into();
    RunEnded {
        key: key.into(),
        end,
        reason,
        spent,
        killed_by: None,
        not_evidence: None,
        manifest: None,
        confinement: None,
        after_training: None,
        executable_output: None,
    }
}

/// A candidate and the facts that a caller would collect about it.
pub(crate) fn view(candidate: &Value) -> CandidateView {
    let written: Written<Candidate> = match read_value(candidate) {
        Reading::Read(written) => *written,
        other => panic!("{other:?}"),
    };
    let there = |change: &Change| change.operation != Operation::Add || change.key.is_some();
    let facts = |there| PathFacts { exists: there, link: None, is_file: there, same_but_case: None };
    let changes = written.typed.changes.iter();
    let paths = changes.map(|change| (change.path.clone(), facts(there(change)))).collect();
    let sources = written.typed.changes.iter().map(|change| (change.path.clone(), source(change))).collect();
    CandidateView {
        file: Digest::hash(candidate.to_string().as_bytes()),
        file_name: written.typed.id.to_string(),
        written,
        paths,
        evidence_there: ["reflection.json", "probe.json", "loops/1/packet.json"].map(str::to_owned).into(),
        analyses: ["reflection.json", "probe.json"]
            .map(|file| (file.to_owned(), Digest::hash(file.as_bytes())))
            .into(),
        unprotectable: Vec::new(),
        protected: Some(BTreeMap::from([
            ("eval/run.py".into(), Digest::hash(b"run")),
            ("metrics.py".into(), Digest::hash(b"metrics")),
        ])),
        machine: Some(MachineFacts {
            device: Device::Gpu,
            gpus: 1,
            disk: 1 << 40,
            confinement: Confinement::Full,
        }),
        asked_plan: None,
        sources,
        override_syntax: None,
        accepted: None,
        flag_values: BTreeMap::new(),
        base: Base::of_commit("0123456789abcdef0123456789abcdef01234567"),
        programs: Some(STEPS.map(|name| (name.to_owned(), Digest::hash(b"python"))).into()),
        inputs: Some(BTreeMap::from([("data/terrain.bin".into(), Digest::from_bytes([0xab; 32]))])),
    }
}

const STEPS: [&str; 5] = ["preflight", "smoke", "train", "eval", "cancel"];
const CONFIG: &str = "algo:\n  learning_rate: 3e-4 # tuned\n  shape: linear\n  gamma: 0.99\n";

/// A file to which a change can be made, whatever that is.
fn source(change: &Change) -> Option<String> {
    match &change.patch {
        None => Some(CONFIG.to_owned()),
        Some(patch) => {
            let lines = patch.lines().skip_while(|line| !line.starts_with("@@"));
            let old = lines.filter(|line| line.starts_with([' ', '-']) && !line.starts_with("---"));
            let old: String = old.map(|line| format!("{}\n", &line[1..])).collect();
            Some(old).filter(|old| !old.is_empty())
        }
    }
}

/// The record written when every gate passes the candidate.
pub(crate) fn validated(study: &Study, view: &CandidateView) -> Option<Validated> {
    let plan = Plan::for_candidate(study, view)?;
    Some(Validated {
        candidate: view.written.typed.id.clone(),
        revision: view.written.typed.revision,
        kind: view.written.typed.kind,
        file: view.file,
        digest: study.candidate_digest(&view.written)?,
        plan: plan.digest(),
        parts: plan.parts,
        phases: phases(study, view),
        base: view.base.clone(),
        programs: view.programs.clone(),
        effect: effect(view),
    })
}

/// The list of approvers with these keys.
pub(crate) fn approvers(keys: &[u8]) -> Approvers {
    let line = |number: &u8| format!("person{number} ssh-ed25519 {}\n", STANDARD.encode(public(*number)));
    Approvers::parse(&keys.iter().map(line).collect::<String>()).unwrap()
}

fn private(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn public(number: u8) -> Vec<u8> {
    [&b"ssh-ed25519"[..], private(number).verifying_key().as_bytes()].map(field).concat()
}

/// The armored signature of a statement by one of the keys.
pub(crate) fn sign(number: u8, statement: &Statement) -> String {
    use ssh_key::sha2::Digest as _;
    let hash = ssh_key::sha2::Sha512::digest(statement.bytes());
    let framed = [&b"rlx-approval"[..], b"", b"sha512", &hash].map(field).concat();
    let signature = private(number).sign(&[b"SSHSIG", framed.as_slice()].concat()).to_bytes();
    let inner = [&b"ssh-ed25519"[..], &signature].map(field).concat();
    let fields = [&public(number)[..], b"rlx-approval", b"", b"sha512", &inner].map(field).concat();
    let code = STANDARD.encode([&b"SSHSIG"[..], &1_u32.to_be_bytes(), &fields].concat());
    format!("-----BEGIN SSH SIGNATURE-----\n{code}\n-----END SSH SIGNATURE-----\n")
}

fn field(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    [&length.to_be_bytes(), content].concat()
}
