//! Steps that build states.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::SigningKey;
use rlxp_govern::documents::{Assurance, Phase};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{
    Approved, Completed, Judged, LaunchIntent, LookCall, Looked, Reopened, Reported, Verdict,
};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::section::{Section, Target};
use rlxp_govern::view::CandidateView;
use rlxp_spec::document::to_yaml;
use rlxp_types::Digest;
use serde_json::{Value, json};

use super::recorded::{Adapter, Recorded};
use crate::common::{World, bytes, ended, evidence, intent, launched, slug, validated, view};
use crate::texts::{Texts, set};

/// A study on the way to a state.
pub(crate) struct Builder {
    pub(crate) world: World,
    pub(crate) texts: Texts,
    /// The files as they are on the disk at the end: contract, metrics, surfaces, runbook.
    pub(crate) files: [Option<String>; 4],
    /// Whose keys the list of approvers has; `None` when it can't be read.
    pub(crate) approvers: Option<Vec<u8>>,
    /// What is done to the ledger's text at the end.
    pub(crate) damage: fn(&mut String),
}

impl Builder {
    /// Opened and audited.
    pub(crate) fn opened(edit: fn(&mut Texts)) -> Self {
        Self::with_texts(Texts::supervised(), edit)
    }

    /// The same, autonomous.
    pub(crate) fn autonomous(edit: fn(&mut Texts)) -> Self {
        Self::with_texts(Texts::autonomous(), edit)
    }

    fn with_texts(mut texts: Texts, edit: fn(&mut Texts)) -> Self {
        // Few seeds, so that a recording can be read.
        let phases = json!([
            { "phase": "smoke", "seeds": 1, "wall_clock": "10m" },
            { "phase": "short", "seeds": 2, "wall_clock": "1h" },
            { "phase": "confirm", "seeds": 2, "wall_clock": "2h" },
        ]);
        set(&mut texts.candidate, "/phases", phases);
        edit(&mut texts);
        let files = [&texts.contract, &texts.metric_spec, &texts.surface_map, &texts.runbook];
        let files = files.map(|value| Some(to_yaml(value)));
        let world = World::opened(&texts);
        Self { world, texts, files, approvers: Some(vec![1]), damage: |_| {} }
    }

    /// Every section approved.
    pub(crate) fn approved(edit: fn(&mut Texts)) -> Self {
        let mut builder = Self::opened(edit);
        builder.world.approve_sections();
        builder
    }

    /// With a baseline that ran, was accepted with 250.25 and reported.
    pub(crate) fn with_baseline(edit: fn(&mut Texts)) -> Self {
        let mut builder = Self::approved(edit);
        builder.baseline();
        builder
    }

    /// The same, with `lower-lr` validated and approved.
    pub(crate) fn with_candidate(edit: fn(&mut Texts)) -> Self {
        let mut builder = Self::with_baseline(edit);
        builder.candidate("lower-lr");
        builder
    }

    pub(crate) fn baseline(&mut self) {
        let baseline = self.baseline_text();
        self.validate(&baseline);
        self.approve_candidate(&baseline);
        self.ran("baseline", Phase::Smoke, 0, 250.25);
        self.ran("baseline", Phase::Confirm, 198, 250.25);
        self.ran("baseline", Phase::Confirm, 199, 250.25);
        self.complete("baseline");
        self.judge("baseline", Phase::Confirm, Verdict::Accepted, Some(250.25));
        self.report();
    }

    /// The baseline with few seeds.
    pub(crate) fn baseline_text(&self) -> Value {
        let mut baseline = self.texts.baseline();
        set(&mut baseline, "/phases/1/seeds", json!(2));
        baseline
    }

    /// The candidate's text under another name.
    pub(crate) fn named(&self, id: &str) -> Value {
        let mut text = self.texts.candidate.clone();
        set(&mut text, "/id", json!(id));
        text
    }

    /// Validated and approved.
    pub(crate) fn candidate(&mut self, id: &str) {
        let text = self.named(id);
        self.validate(&text);
        self.approve_candidate(&text);
    }

    /// A file that has not been validated.
    pub(crate) fn draft(&mut self, id: &str) {
        let file = Digest::hash(id.as_bytes());
        self.world.study.candidate_files.insert(id.into(), file);
    }

    pub(crate) fn validate(&mut self, text: &Value) {
        let view = self.with_file(text);
        let validated = validated(&self.world.study, &view).unwrap();
        self.world.push(Event::Validated(validated));
    }

    fn with_file(&mut self, text: &Value) -> CandidateView {
        let view = view(text);
        self.world.study.candidate_files.insert(view.file_name.clone(), view.file);
        view
    }

    pub(crate) fn approve_candidate(&mut self, text: &Value) {
        let view = view(text);
        let digest = self.world.study.candidate_digest(&view.written).unwrap();
        let targets = BTreeMap::from([(Target::Candidate(view.written.typed.id.clone()), digest)]);
        let who = "ada".to_owned();
        let assurance = Assurance::Terminal;
        let approved = Approved { targets, assurance, who, key: None, signature: None };
        self.world.push(Event::Approved(approved));
    }

    pub(crate) fn approve(&mut self, sections: &[Section], assurance: Assurance) {
        let targets: Vec<Target> = sections.iter().copied().map(Target::Section).collect();
        self.world.approve(&targets, assurance);
    }

    pub(crate) fn intent(&self, id: &str, phase: Phase, seed: u64) -> LaunchIntent {
        intent(id, phase, seed, self.world.study.state().candidates.get(id).unwrap().validated.plan)
    }

    pub(crate) fn intend(&mut self, id: &str, phase: Phase, seed: u64) -> String {
        let intent = self.intent(id, phase, seed);
        self.world.push(Event::LaunchIntent(intent.clone()));
        intent.key
    }

    pub(crate) fn start(&mut self, id: &str, phase: Phase, seed: u64) -> String {
        let key = self.intend(id, phase, seed);
        self.world.push(launched(&key));
        key
    }

    /// A run that is over; its metrics weren't read.
    pub(crate) fn end(&mut self, id: &str, phase: Phase, seed: u64, end: RunEnd) -> String {
        let key = self.start(id, phase, seed);
        self.world.push(ended(&key, end));
        key
    }

    /// The same seed once more.
    pub(crate) fn end_again(&mut self, id: &str, phase: Phase, seed: u64, end: RunEnd) -> String {
        let mut intent = self.intent(id, phase, seed);
        intent.key.push_str("-again");
        self.world.run(&intent, end);
        intent.key
    }

    pub(crate) fn evidence(&mut self, key: &str, value: Option<f64>) {
        self.world.push(evidence(key, value));
    }

    /// A successful run with its metric.
    pub(crate) fn ran(&mut self, id: &str, phase: Phase, seed: u64, value: f64) {
        let key = self.end(id, phase, seed, RunEnd::Ok);
        self.evidence(&key, Some(value));
    }

    /// Smoke and short phase, each seed with `value`.
    pub(crate) fn screened(&mut self, id: &str, value: f64) {
        self.ran(id, Phase::Smoke, 0, value);
        self.ran(id, Phase::Short, 0, value);
        self.ran(id, Phase::Short, 1, value);
    }

    /// All phases, the confirm seeds from `first` on.
    pub(crate) fn confirmed(&mut self, id: &str, value: f64, first: u64) {
        self.screened(id, value);
        self.ran(id, Phase::Confirm, first, value);
        self.ran(id, Phase::Confirm, first + 1, value);
        self.complete(id);
    }

    /// Smoke and short phase, and these confirm seeds.
    pub(crate) fn confirm_seeds(&mut self, id: &str, seeds: std::ops::Range<u64>) {
        self.screened(id, 255.5);
        seeds.for_each(|seed| self.ran(id, Phase::Confirm, seed, 255.5));
    }

    /// A look at five confirm seeds.
    pub(crate) fn looked(&mut self, id: &str, look: u64, call: LookCall) {
        self.world.push(Event::Looked(Looked {
            candidate: slug(id),
            look,
            looks: 2,
            seeds: 5 * look,
            incumbent_seeds: 2,
            z: 1.5,
            accept: 2.25,
            drop: Some(0.25),
            basis: Some("typical_score".into()),
            veto: None,
            guardrails: Vec::new(),
            call,
            inputs: Digest::hash(b"inputs of a look"),
        }));
    }

    pub(crate) fn complete(&mut self, id: &str) {
        self.world.push(Event::Completed(Completed { candidate: slug(id) }));
    }

    pub(crate) fn judge(&mut self, id: &str, phase: Phase, verdict: Verdict, score: Option<f64>) {
        let inputs = Digest::hash(format!("inputs of {id}").as_bytes());
        self.world.push(Event::Judged(Judged {
            candidate: slug(id),
            phase,
            verdict,
            inputs,
            score,
            reason: String::new(),
            failed_checks: Vec::new(),
            code: None,
        }));
    }

    pub(crate) fn report(&mut self) {
        self.world.push(Event::Reported(Reported { digest: Digest::hash(b"report.md") }));
    }

    pub(crate) fn reopen(&mut self, id: &str, reason: &str) {
        self.world.push(Event::Reopened(Reopened { candidate: slug(id), reason: reason.into() }));
    }

    /// A candidate that failed its screening and was rejected.
    pub(crate) fn rejected(&mut self, id: &str) {
        self.candidate(id);
        self.screened(id, 200.5);
        self.complete(id);
        self.judge(id, Phase::Short, Verdict::Rejected, None);
    }

    /// Edits a file on the disk, after everything: 0 is the contract.
    pub(crate) fn edit(&mut self, file: usize, pointer: &str, to: Value) {
        let texts = &mut self.texts;
        let values =
            [&mut texts.contract, &mut texts.metric_spec, &mut texts.surface_map, &mut texts.runbook];
        let value = values.into_iter().nth(file).unwrap();
        set(value, pointer, to);
        self.files[file] = Some(to_yaml(value));
    }

    /// The recorded input, without the results.
    pub(crate) fn recorded(self) -> Recorded {
        let study = self.world.study;
        let mut lines = String::from_utf8(bytes(&study.ledger)).unwrap();
        (self.damage)(&mut lines);
        let (whole, torn) = lines.rsplit_once('\n').unwrap_or(("", &lines));
        let [contract, metric_spec, surface_map, runbook] = self.files;
        Recorded {
            task: study.name.task.to_string(),
            study: study.name.study.to_string(),
            contract,
            metric_spec,
            surface_map,
            runbook,
            ledger: whole.lines().map(str::to_owned).collect(),
            torn: torn.to_owned(),
            approvers: self.approvers.map(|keys| keys.into_iter().map(approver).collect()),
            signatures: study.signatures,
            adapter: study.adapter.map(|facts| Adapter { digest: facts.digest, stale: facts.stale }),
            candidate_files: study.candidate_files,
            expected: Value::Null,
        }
    }
}

/// A line of the list of approvers, with the key that the other tests sign with.
fn approver(number: u8) -> String {
    let key = SigningKey::from_bytes(&[number; 32]).verifying_key();
    let field = |content: &[u8]| [&u32::try_from(content.len()).unwrap().to_be_bytes(), content].concat();
    let blob = [field(b"ssh-ed25519"), field(key.as_bytes())].concat();
    format!("person{number} ssh-ed25519 {}\n", STANDARD.encode(blob))
}
