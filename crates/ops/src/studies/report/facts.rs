//! Everything that a report is rendered from, and what the seeds of candidates count for.

use std::collections::BTreeMap;

use rlxp_analyze::aggregate::iqm;
use rlxp_analyze::statistics::shift::hodges_lehmann;
use rlxp_govern::approval::ApprovalStatus;
use rlxp_govern::documents::{Candidate, Contract, Direction, MetricSpec, Phase, Slug, StudyName};
use rlxp_govern::ledger::StudyState;
use rlxp_govern::ledger::attempts::{self, Side};
use rlxp_govern::ledger::state::RunRecord;
use rlxp_govern::next::Next;
use rlxp_govern::score::{self, SeedResult};
use rlxp_govern::section::Target;
use rlxp_types::Digest;

use super::history::{History, JudgedAt};

/// A study at one moment, as a report needs it. Nothing here is a clock.
pub(super) struct Facts<'a> {
    pub(super) name: &'a StudyName,
    pub(super) history: History<'a>,
    pub(super) state: &'a StudyState,
    pub(super) contract: Option<&'a Contract>,
    pub(super) spec: Option<&'a MetricSpec>,
    /// The status of every approval now.
    pub(super) approvals: BTreeMap<Target, ApprovalStatus>,
    /// Files of candidates that were ever validated.
    pub(super) candidates: BTreeMap<Slug, CandidateFile>,
    /// Run folders that the ledger doesn't know.
    pub(super) unknown_runs: Vec<String>,
    /// The next step after this report.
    pub(super) next: Next,
}

/// The file of a candidate, compared with its last validation.
pub(super) enum CandidateFile {
    /// It is the one that was validated.
    Same(Box<Candidate>),
    /// It was changed since.
    Changed,
    Missing,
    Unreadable,
}

impl CandidateFile {
    pub(super) fn same(&self) -> Option<&Candidate> {
        match self {
            CandidateFile::Same(candidate) => Some(candidate),
            _ => None,
        }
    }

    /// Why it says nothing, where it doesn't.
    pub(super) fn problem(&self) -> Option<&'static str> {
        match self {
            CandidateFile::Same(_) => None,
            CandidateFile::Changed => Some("its file has changed since it was validated"),
            CandidateFile::Missing => Some("its file is missing"),
            CandidateFile::Unreadable => Some("its file can't be read"),
        }
    }
}

/// What one seed counts for.
#[derive(Clone, Copy)]
pub(super) struct SeedScore {
    pub(super) seed: u64,
    pub(super) phase: Phase,
    /// `None` if it never counts, or isn't known yet.
    pub(super) result: Option<SeedResult>,
    /// The record that says so.
    pub(super) record: Option<u64>,
    /// Why it counts only once a person approves it, where that is so.
    pub(super) condition: Option<&'static str>,
}

/// A candidate's seeds compared with those of its reference.
pub(super) struct Effect {
    /// Hodges and Lehmann's estimate of the difference, in the metric's unit.
    pub(super) difference: f64,
    pub(super) is_better: bool,
    /// Evidence on both sides.
    pub(super) records: Vec<u64>,
}

/// Phases whose seeds form the set of a candidate, in their order.
const SET: [Phase; 2] = [Phase::Confirm, Phase::IncumbentValidation];

impl Facts<'_> {
    /// The seeds of some phases of a plan of a candidate, in the order of their runs.
    pub(super) fn seeds(&self, candidate: &Slug, plan: Option<Digest>, phases: &[Phase]) -> Vec<SeedScore> {
        let side = self.state.side_of(candidate);
        let mut all = Vec::new();
        for phase in phases {
            let mut runs = self.state.runs_of(candidate);
            runs.retain(|run| run.intent.phase == *phase && plan.is_none_or(|plan| run.intent.plan == plan));
            all.extend(self.scored(&runs, *phase, side));
        }
        all
    }

    fn scored(&self, runs: &[&RunRecord], phase: Phase, side: Side) -> Vec<SeedScore> {
        let done = attempts::done(runs, side);
        let score = |seed: &attempts::Attempts<'_>| SeedScore {
            seed: seed.last.intent.seed,
            phase,
            result: self.spec.and_then(|spec| score::result_of(seed, spec, side)),
            record: self.history.runs.get(seed.last.intent.key.as_str()).and_then(|run| run.result()),
            condition: match &seed.last.intent {
                intent if intent.external.is_some() => Some("external"),
                intent if intent.evaluator_exposed => Some("evaluator exposed"),
                _ => None,
            },
        };
        done.iter().map(score).collect()
    }

    /// The set of seeds that a candidate has as a reference.
    pub(super) fn set(&self, candidate: &Slug) -> Vec<SeedScore> {
        let plan = self.state.candidates.get(candidate).map(|record| record.validated.plan);
        self.seeds(candidate, plan, &SET)
    }

    /// The seeds that a verdict is about.
    pub(super) fn judged_seeds(&self, verdict: &JudgedAt<'_>) -> Vec<SeedScore> {
        let phase = verdict.judged.phase;
        let phases: &[Phase] = if SET.contains(&phase) { &SET } else { &[phase] };
        self.seeds(&verdict.judged.candidate, verdict.plan, phases)
    }

    /// By how much a judged candidate differs from what it was compared with; `None` if that can't be computed.
    pub(super) fn effect(&self, verdict: &JudgedAt<'_>) -> Option<Effect> {
        let (spec, against) = (self.spec?, verdict.against.as_ref()?);
        if *against == verdict.judged.candidate {
            return None;
        }
        let (judged, reference) = (self.judged_seeds(verdict), self.set(against));
        let results = |seeds: &[SeedScore]| -> Option<Vec<SeedResult>> {
            seeds.iter().map(|seed| seed.result).collect()
        };
        let (reference_values, judged_values) =
            score::compared(&results(&reference)?, &results(&judged)?, spec)?;
        let difference = hodges_lehmann(&judged_values, &reference_values, 0.05)?.value;
        let records = judged.iter().chain(&reference).filter_map(|seed| seed.record).collect();
        let is_better = match spec.primary.direction {
            Direction::Higher => difference > 0.0,
            Direction::Lower => difference < 0.0,
        };
        Some(Effect { difference, is_better, records })
    }

    /// The interquartile mean of the finished seeds of a set, their number, and their records.
    pub(super) fn centre(&self, seeds: &[SeedScore]) -> Option<(f64, usize, Vec<u64>)> {
        let finished: Vec<(f64, Option<u64>)> = seeds
            .iter()
            .filter_map(|seed| match seed.result? {
                SeedResult::Finished(value) => Some((value, seed.record)),
                SeedResult::Failed | SeedResult::LikeTheBest => None,
            })
            .collect();
        let values: Vec<f64> = finished.iter().map(|(value, _)| *value).collect();
        let records = finished.iter().filter_map(|(_, record)| *record).collect();
        (!values.is_empty()).then(|| (iqm(&values), values.len(), records))
    }

    /// The name of the primary metric with its unit.
    pub(super) fn metric(&self) -> String {
        match self.spec {
            Some(spec) => match &spec.primary.unit {
                Some(unit) => format!("{} ({unit})", spec.primary.name),
                None => spec.primary.name.to_string(),
            },
            None => "the primary metric".to_owned(),
        }
    }

    /// What everything is compared with now.
    pub(super) fn reference(&self) -> Option<&Slug> {
        self.state.incumbent.as_ref().or(self.state.baseline.as_ref())
    }
}
