//! The small study that every rule of judging is tested on.

use std::collections::BTreeMap;

use rlxp_govern::documents::Phase;
use rlxp_govern::judge::{Bounds, Facts, Findings, Judgement, NotYet, RunFacts, judge};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::{Evidence, Verdict};
use rlxp_govern::machine::{CandidateState, RunEnd};
use rlxp_govern::queue::{JobStatus, Queue};
use rlxp_types::Digest;
use serde_json::{Value, json};

use super::super::common::{World, intent, slug, validated, view};
use super::super::texts::{Texts, remove, set};

pub(super) const ID: &str = "lower-lr";
/// Confirm seeds of the baseline, of which there are fifteen.
pub(super) const BASELINE: std::ops::Range<u64> = 180..195;

/// Three looks at 5, 10 and 15 seeds against 15, and one planned candidate, so that bounds are quick to simulate.
pub(super) fn texts() -> Texts {
    let mut texts = Texts::supervised();
    let statistics = json!({"alpha": 0.05, "screen_seeds": 3, "candidates": 2, "incumbent_seeds": 15, "looks": [5, 10, 15]});
    set(&mut texts.contract, "/statistics", statistics);
    set(&mut texts.contract, "/budget/runs", json!(200));
    remove(&mut texts.metric_spec, "/guardrails/0");
    remove(&mut texts.metric_spec, "/rollback/0");
    set(&mut texts.contract, "/metrics/guardrails", json!([]));
    set(&mut texts.metric_spec, "/primary/source/file", json!("eval/scores.json"));
    set(&mut texts.candidate, "/phases/2/seeds", json!(15));
    set(&mut texts.candidate, "/phases/3/seeds", json!(10));
    texts
}

/// Scores around 250 that differ by seed.
pub(super) fn reference_score(seed: u64) -> f64 {
    250.0 + (seed * 7 % 15) as f64
}

pub(super) struct Studied {
    pub(super) world: World,
    pub(super) facts: Facts,
    pub(super) plan: Digest,
}

impl Studied {
    /// The baseline has run, and the candidate has passed its smoke and short phases.
    pub(super) fn new(texts: &Texts) -> Self {
        Self::with_baseline(texts, |seed| Some(reference_score(seed)))
    }

    pub(super) fn with_baseline(texts: &Texts, score: impl Fn(u64) -> Option<f64>) -> Self {
        let mut world = World::opened(texts);
        world.approve_sections();
        let mut text = texts.baseline();
        set(&mut text, "/phases/1/seeds", json!(15));
        let plan = validate(&mut world, &text);
        let mut studied = Self { world, facts: Facts::default(), plan };
        studied.ran("baseline", Phase::Smoke, 0, Some(0.0));
        for seed in BASELINE {
            studied.ran("baseline", Phase::Confirm, seed, score(seed));
        }
        studied.candidate(&texts.candidate);
        studied
    }

    /// Without a baseline, as an exception allows.
    pub(super) fn without_baseline(texts: &Texts) -> Self {
        let mut world = World::opened(texts);
        world.approve_sections();
        let mut studied = Self { world, facts: Facts::default(), plan: Digest::hash(b"") };
        studied.candidate(&texts.candidate);
        studied
    }

    pub(super) fn candidate(&mut self, text: &Value) {
        self.plan = validate(&mut self.world, text);
        let id = text["id"].as_str().unwrap().to_owned();
        self.ran(&id, Phase::Smoke, 0, Some(0.0));
        for seed in 0..3 {
            self.ran(&id, Phase::Short, seed, Some(1.0));
        }
    }

    /// A run that succeeds; without a value its metric is missing.
    pub(super) fn ran(&mut self, id: &str, phase: Phase, seed: u64, value: Option<f64>) -> String {
        self.ran_with(id, phase, seed, &[("mean-return", value)])
    }

    pub(super) fn ran_with(
        &mut self,
        id: &str,
        phase: Phase,
        seed: u64,
        values: &[(&str, Option<f64>)],
    ) -> String {
        let intent = intent(id, phase, seed, self.plan);
        self.world.run(&intent, RunEnd::Ok);
        if phase != Phase::Smoke {
            self.evidence(&intent.key, values);
        }
        intent.key
    }

    pub(super) fn evidence(&mut self, key: &str, values: &[(&str, Option<f64>)]) {
        self.world.push(evidence(key, values));
        self.facts.runs.insert(key.to_owned(), same_files(key));
    }

    pub(super) fn failed(&mut self, id: &str, phase: Phase, seed: u64, end: RunEnd) {
        let intent = intent(id, phase, seed, self.plan);
        self.world.run(&intent, end);
        self.evidence(&intent.key, &[("mean-return", None)]);
    }

    /// Confirm seeds of the candidate from `from` on, each with a gain over the reference scores.
    pub(super) fn confirm(&mut self, from: u64, count: u64, gain: f64) {
        for seed in from..from + count {
            self.ran(ID, Phase::Confirm, seed, Some(reference_score(seed) + gain));
        }
    }

    pub(super) fn audit(&mut self, count: u64, gain: f64) {
        for seed in 200..200 + count {
            self.ran(ID, Phase::IncumbentValidation, seed, Some(reference_score(seed) + gain));
        }
    }

    pub(super) fn judgement(&self) -> Judgement {
        judge(&self.world.study, &slug(ID), &self.facts, &mut Bounds::from_records())
    }

    #[track_caller]
    pub(super) fn found(&self) -> Findings {
        match self.judgement() {
            Judgement::Found(findings) => *findings,
            Judgement::NotYet(why) => panic!("{why:?}"),
        }
    }

    #[track_caller]
    pub(super) fn not_yet(&self) -> NotYet {
        match self.judgement() {
            Judgement::NotYet(why) => why,
            Judgement::Found(found) => panic!("{found:?}"),
        }
    }

    /// Judges and records what follows.
    #[track_caller]
    pub(super) fn judge(&mut self) -> Findings {
        let found = self.found();
        found.records().into_iter().for_each(|event| self.world.push(event));
        found
    }

    pub(super) fn state(&self) -> CandidateState {
        self.world.study.state().candidates[ID].state
    }

    pub(super) fn stand(&self, phase: Phase) -> JobStatus {
        let queue = Queue::for_study(&self.world.study);
        let job = queue.jobs.iter().find(|job| job.candidate.as_str() == ID && job.phase == phase);
        job.expect("it has this phase").stand.clone()
    }

    pub(super) fn wanted(&self, phase: Phase) -> (u64, u64) {
        let queue = Queue::for_study(&self.world.study);
        let job = queue.jobs.iter().find(|job| job.candidate.as_str() == ID && job.phase == phase).unwrap();
        (job.runs, job.left)
    }
}

pub(super) fn validate(world: &mut World, text: &Value) -> Digest {
    let view = view(text);
    world.study.candidate_files.insert(view.file_name.clone(), view.file);
    let validated = validated(&world.study, &view).unwrap();
    let plan = validated.plan;
    world.push(Event::Validated(validated));
    plan
}

pub(super) fn evidence(key: &str, values: &[(&str, Option<f64>)]) -> Event {
    Event::Evidence(Evidence {
        key: key.to_owned(),
        values: values.iter().map(|(name, value)| (slug(name), *value)).collect(),
        files: BTreeMap::from([("eval/scores.json".to_owned(), Digest::hash(key.as_bytes()))]),
        reasons: BTreeMap::new(),
        declared: None,
    })
}

pub(super) fn same_files(key: &str) -> RunFacts {
    RunFacts { changed: BTreeMap::new(), trained: Some(Digest::hash(format!("trained {key}").as_bytes())) }
}

#[track_caller]
pub(super) fn verdict(found: &Findings) -> Verdict {
    found.judged.as_ref().expect("a verdict").verdict
}
