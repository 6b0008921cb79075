//! From evidence to a decision: what a candidate's runs say about it, compared with the incumbent's.
//!
//! Pure: everything comes from the study as it was read, and from facts about files that the caller gathered
//! ([`Facts`]). So a verdict can be computed again at any time from the records before it, and must come out the same.
//!
//! | when | what is recorded |
//! |---|---|
//! | the smoke run failed for good, or a seed of the short phase has no metric | verdict `debug`: it may come back as a new revision |
//! | its confirm seeds have reached a planned look | a `looked` record: more, accept, drop or undecided |
//! | a look accepts, but a guardrail is not shown to hold | more; undecided at the last look |
//! | a look drops it | verdict `rejected` if the interval of the difference ends below the smallest effect, else `inconclusive` |
//! | the last look is undecided | verdict `inconclusive`, final |
//! | a look accepts | nothing yet: fresh audit seeds follow |
//! | the audit seeds have run, and they are worse than the earlier incumbent by what it was accepted by | verdict `inconclusive` |
//! | the audit seeds have run, and are not | verdict `accepted`: both its sets are the new reference |
//! | a check of rlx's own facts fails ([`CheckCode`]) | verdict `inconclusive`, with the codes |
//! | its plan has changed, another candidate became the incumbent, or there is no baseline | verdict `inconclusive` |
//!
//! Every verdict comes with a decision for the study ([`decision`]'s rules) and the digest of everything it was computed
//! from. Runs that need a person's approval block judging until they have it.

mod audit;
mod bounds;
mod checks;
mod compare;
mod decision;
mod guardrails;
mod look;
mod sets;
pub mod simulate;
mod words;

use rlxp_types::Digest;
use serde::Serialize;
use serde_json::{Value, json};

pub use bounds::Bounds;
pub use checks::{Check, CheckCode, CheckResult, Facts, RunFacts, best_of_many};
pub use compare::{Compared, audit_contradicts, call, compare, is_shown_not_better};

use crate::approval::ApprovalStatus;
use crate::canonical;
use crate::documents::{Contract, MetricSpec, Phase, Slug};
use crate::ledger::Event;
use crate::ledger::event::{
    Completed, Decided, Decision, GuardrailLook, INCUMBENT, Judged, Looked, Reverted, Verdict,
};
use crate::ledger::state::{CandidateRecord, RunRecord};
use crate::machine::{CandidateState, RunEnd, RunState};
use crate::queue::{self, JobStatus, Queue};
use crate::run_approval::unapproved;
use crate::section::Section;
use crate::view::Study;

/// What judging a candidate comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// There is nothing to judge, or not yet.
    NotYet(NotYet),
    /// Something to record.
    Found(Box<Findings>),
}

/// Why there is nothing to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotYet {
    /// The kind of reason.
    pub code: &'static str,
    pub reason: String,
    /// The command that helps, if one does.
    pub command: Option<String>,
}

impl NotYet {
    fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), command: None }
    }

    fn command(self, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..self }
    }
}

/// What was found about a candidate, and what is to be recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    pub candidate: Slug,
    pub revision: u64,
    /// The furthest phase that ran.
    pub phase: Phase,
    /// What it was compared with.
    pub reference: Option<Slug>,
    /// The primary metric against the reference: at a look the seeds so far, at the end the audit seeds.
    pub compared: Option<Compared>,
    /// The guardrails.
    pub guardrails: Vec<GuardrailLook>,
    /// Rollback metrics of what was accepted.
    pub rollback: Vec<GuardrailLook>,
    pub checks: Vec<Check>,
    pub looked: Option<Looked>,
    pub judged: Option<Judged>,
    pub decided: Option<Decided>,
    pub reverted: Option<Reverted>,
    /// Whether the candidate's runs were still recorded as under way.
    #[serde(skip)]
    completes: bool,
}

impl Findings {
    /// The records, in their order.
    pub fn records(&self) -> Vec<Event> {
        let completed = self.judged.as_ref().filter(|_| self.completes);
        let completed =
            completed.map(|judged| Event::Completed(Completed { candidate: judged.candidate.clone() }));
        let looked = self.looked.clone().map(Event::Looked);
        let judged = self.judged.clone().map(Event::Judged);
        let decided = self.decided.clone().map(Event::Decided);
        let reverted = self.reverted.clone().map(Event::Reverted);
        [looked, completed, judged, decided, reverted].into_iter().flatten().collect()
    }
}

/// Judges a candidate by its runs so far.
pub fn judge(study: &Study, candidate: &Slug, facts: &Facts, bounds: &mut Bounds) -> Judgement {
    match Judging::new(study, candidate, facts).and_then(|judging| judging.findings(bounds)) {
        Ok(findings) => Judgement::Found(Box::new(findings)),
        Err(not_yet) => Judgement::NotYet(not_yet),
    }
}

/// The keys of the runs whose files a judgement depends on: the candidate's, and those it is compared with.
pub fn runs_needed(study: &Study, candidate: &Slug) -> Vec<String> {
    let is_measured = |run: &&RunRecord| run.is_measured() && run.evidence.is_some();
    let own = study.state().runs_of_plan(candidate);
    let spec = study.files.metric_spec.typed();
    let reference =
        spec.and_then(|spec| sets::reference(study, spec).ok()).map(|set| set.runs).unwrap_or_default();
    let runs = own.into_iter().chain(reference).filter(is_measured);
    runs.map(|run| run.intent.key.clone()).collect()
}

/// Why a launched candidate can't continue as it was validated.
pub(crate) fn stale(study: &Study, record: &CandidateRecord) -> Option<String> {
    if record.state != CandidateState::Launched {
        return None;
    }
    let shared = study.shared_parts();
    let why = study.stale(record, &shared)?;
    let differs = |name: &&String| record.validated.parts.get(*name) != shared[*name].as_ref();
    let has_file =
        study.candidate_files.get(record.validated.candidate.as_str()) == Some(&record.validated.file);
    if has_file && shared.keys().filter(differs).all(|name| name == INCUMBENT) {
        return Some("another candidate became the incumbent since it was validated".to_owned());
    }
    Some(why)
}

/// A candidate that can be judged, with what it is judged by.
struct Judging<'s> {
    study: &'s Study,
    id: &'s Slug,
    record: &'s CandidateRecord,
    spec: &'s MetricSpec,
    contract: &'s Contract,
    facts: &'s Facts,
}

impl<'s> Judging<'s> {
    fn new(study: &'s Study, candidate: &Slug, facts: &'s Facts) -> Result<Self, NotYet> {
        let Some((id, record)) = study.state().candidates.get_key_value(candidate) else {
            return Err(NotYet::new("not_validated", format!("{candidate} was never validated")));
        };
        match record.state {
            CandidateState::Launched | CandidateState::Completed => {}
            CandidateState::Draft | CandidateState::Validated => {
                let reason = format!("{id} is {}; none of its runs was started", record.state);
                return Err(NotYet::new("not_launched", reason).command("rlx study next"));
            }
            state => {
                return Err(NotYet::new("judged_before", format!("{id} has its verdict: it is {state}")));
            }
        }
        if record.validated.kind.is_empty_change() {
            let kind = record.validated.kind;
            let reason = format!("{id} is of kind {kind}: it changes nothing, so it makes no claim");
            return Err(NotYet::new("makes_no_claim", reason));
        }
        let is_live = |run: &&&RunRecord| !matches!(run.state, RunState::Ended(_));
        if let Some(run) = study.state().runs_of_plan(id).iter().find(is_live) {
            let reason = format!("run {} of {id} is {}", run.intent.key, run.state);
            return Err(NotYet::new("run_under_way", reason).command("rlx launch status"));
        }
        let (Some(spec), Some(contract)) = (study.files.metric_spec.typed(), study.contract()) else {
            let reason = "contract.yaml or metric_spec.yaml can't be read";
            return Err(NotYet::new("files_unreadable", reason).command("rlx contract check"));
        };
        let standings = study.standings();
        for section in [Section::Metrics, Section::Evaluation] {
            if !standings.get(&section).is_some_and(ApprovalStatus::is_given) {
                let reason = format!("candidates are judged only by what was approved, and {section} is not");
                return Err(NotYet::new("not_approved", reason).command(format!("rlx approve {section}")));
            }
        }
        Ok(Self { study, id, record, spec, contract, facts })
    }

    fn findings(&self, bounds: &mut Bounds) -> Result<Findings, NotYet> {
        if let Some(why) = stale(self.study, self.record) {
            let standings = self.study.standings();
            let needed = Section::Experiment.depends_on().iter().chain([&Section::Experiment]);
            let lacking =
                needed.filter(|section| !standings.get(section).is_some_and(ApprovalStatus::is_given));
            if let Some(section) = lacking.copied().next() {
                let reason = format!("{why}; {section} is not approved as it is now");
                return Err(NotYet::new("stale", reason).command("rlx study next"));
            }
            return Ok(
                self.without_comparison(Verdict::Inconclusive, format!("its plan no longer holds: {why}"))
            );
        }
        if self.record.state == CandidateState::Completed {
            return self.completed(bounds);
        }
        let queue = Queue::for_study(self.study);
        let mut jobs = queue.jobs.iter().filter(|job| job.candidate == *self.id);
        let Some(job) = jobs.find(|job| job.stand != JobStatus::Passed) else {
            let reason = "its plan has no audit seeds: an earlier version of rlx validated it";
            return Ok(self.without_comparison(Verdict::Inconclusive, reason.to_owned()));
        };
        match &job.stand {
            JobStatus::Judge if job.phase == Phase::IncumbentValidation => self.audit(),
            JobStatus::Judge => self.look(bounds),
            JobStatus::Unapproved { .. } => Err(self.needs_approval(job.phase)),
            JobStatus::Stopped { reason } => Ok(self.stopped(job.phase, reason.clone())),
            _ => {
                let reason = format!(
                    "{} of {} {} seeds of {} have run",
                    job.runs - job.left.min(job.runs),
                    job.runs,
                    job.phase,
                    self.id
                );
                Err(NotYet::new("runs_left", reason).command("rlx study next"))
            }
        }
    }

    /// A candidate whose runs were recorded as over.
    fn completed(&self, bounds: &mut Bounds) -> Result<Findings, NotYet> {
        let phase = self.record.furthest().unwrap_or(Phase::Smoke);
        if phase != Phase::Smoke && !unapproved(self.study, self.id, phase).is_empty() {
            return Err(self.needs_approval(phase));
        }
        let side = self.study.state().side_of(self.id);
        let runs = self.study.state().runs_of_plan(self.id);
        if let Some((run, code)) = runs.iter().find_map(|run| Some((run, run.stops_its_phase(side)?))) {
            return Ok(
                self.stopped(phase, format!("run {} never counts as evidence: {code}", run.intent.key))
            );
        }
        match phase {
            Phase::Smoke => {
                let last = runs.iter().rfind(|run| run.state != RunState::Ended(RunEnd::Ok));
                let Some(run) = last else {
                    let reason = format!("{} has only smoke runs, and its plan has changed since", self.id);
                    let revise = format!("rlx candidate revise {}", self.id);
                    return Err(NotYet::new("only_smoke", reason).command(revise));
                };
                let why = run.ended.as_ref().map_or("", |ended| ended.reason.as_str());
                Ok(self.stopped(phase, format!("run {} did not succeed: {why}", run.intent.key)))
            }
            Phase::Short => match queue::short_phase(self.study, self.id) {
                JobStatus::Stopped { reason } => Ok(self.stopped(phase, reason)),
                _ => {
                    let reason = "it did not reach its confirm phase: every planned candidate was confirmed";
                    Ok(self.without_comparison(Verdict::Inconclusive, reason.to_owned()))
                }
            },
            Phase::Confirm => self.look(bounds),
            Phase::IncumbentValidation => self.audit(),
        }
    }

    fn needs_approval(&self, phase: Phase) -> NotYet {
        let waiting = unapproved(self.study, self.id, phase);
        let keys: Vec<String> = waiting.iter().map(|(run, _)| format!("run:{}", run.intent.key)).collect();
        let why: Vec<String> =
            waiting.iter().map(|(run, why)| format!("run {}: {why}", run.intent.key)).collect();
        let reason =
            format!("runs of {} count only once a person approves them; {}", self.id, why.join("; "));
        NotYet::new("run_not_approved", reason).command(format!("rlx approve {}", keys.join(" ")))
    }

    /// A phase that can't continue: before the confirm phase it is to be debugged, later nothing can be claimed.
    fn stopped(&self, phase: Phase, reason: String) -> Findings {
        let is_early = self.record.furthest().is_none_or(|furthest| furthest <= Phase::Short);
        match phase {
            Phase::Smoke | Phase::Short if is_early => {
                let reason = format!("{reason}; fix the cause, then: rlx candidate revise {}", self.id);
                self.without_comparison(Verdict::Debug, reason)
            }
            _ => self.without_comparison(Verdict::Inconclusive, reason),
        }
    }

    /// A verdict that rests on no comparison.
    fn without_comparison(&self, verdict: Verdict, reason: String) -> Findings {
        let runs = self.study.state().runs_of_plan(self.id);
        let mut keys: Vec<Value> = runs
            .iter()
            .map(|run| json!({ "key": run.intent.key, "state": run.state, "evidence": run.evidence }))
            .collect();
        keys.sort_by_key(ToString::to_string);
        let inputs = self.inputs(&json!({ "runs": keys, "reason": reason }));
        let mut findings = self.nothing_found();
        self.conclude(&mut findings, verdict, reason, inputs);
        findings
    }

    fn nothing_found(&self) -> Findings {
        Findings {
            candidate: self.id.clone(),
            revision: self.record.validated.revision,
            phase: self.record.furthest().unwrap_or(Phase::Smoke),
            reference: None,
            compared: None,
            guardrails: Vec::new(),
            rollback: Vec::new(),
            checks: Vec::new(),
            looked: None,
            judged: None,
            decided: None,
            reverted: None,
            completes: self.record.state == CandidateState::Launched,
        }
    }

    /// Adds a verdict and what follows from it.
    fn conclude(&self, findings: &mut Findings, verdict: Verdict, reason: String, inputs: Digest) {
        let judged = Judged {
            candidate: self.id.clone(),
            phase: findings.phase,
            verdict,
            inputs,
            score: None,
            reason,
            failed_checks: checks::failed(&findings.checks),
            code: None,
        };
        findings.judged = Some(judged);
        self.decide(findings);
    }

    /// Adds the decision that follows from the verdict.
    fn decide(&self, findings: &mut Findings) {
        let Some(judged) = &findings.judged else { return };
        let is_accepted = judged.verdict == Verdict::Accepted;
        let fallen = findings.rollback.iter().filter(|look| is_accepted && guardrails::has_fallen(look));
        let fallen: Vec<Slug> = fallen.map(|look| look.name.clone()).collect();
        let decided = decision::decide(self.study, self.record, judged, &fallen);
        if decided.decision == Decision::RollBack {
            findings.reverted = Some(Reverted { candidate: self.id.clone(), reason: decided.reason.clone() });
        }
        findings.decided = Some(decided);
    }

    /// The digest of everything that something is computed from.
    fn inputs(&self, what: &Value) -> Digest {
        let digests = self.study.digests();
        canonical::digest(&json!({
            "candidate": self.id,
            "plan": self.record.validated.plan,
            "metrics": digests.get(&Section::Metrics),
            "evaluation": digests.get(&Section::Evaluation),
            "schedule": self.contract.statistics.schedule(),
            "looks": self.record.looks,
            "what": what,
        }))
    }
}
