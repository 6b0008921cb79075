//! A look: the candidate's confirm seeds so far against the reference.

use serde_json::json;

use super::checks::{Compare, checks, failed};
use super::compare::{call, compare, is_shown_not_better};
use super::sets::{self, NoReference};
use super::{Bounds, Findings, Judging, NotYet, guardrails, words};
use crate::documents::Phase;
use crate::ledger::event::{LookCall, Looked, Verdict};
use crate::looks::planned;
use crate::machine::CandidateState;

impl Judging<'_> {
    /// The look that is due, with a verdict if it decides.
    pub(super) fn look(&self, bounds: &mut Bounds) -> Result<Findings, NotYet> {
        let schedule = self.contract.statistics.schedule();
        let looks = planned(&schedule, &self.record.validated.phases);
        // Earlier versions of rlx recorded candidates as over without a look; they get the last one.
        let is_late = self.record.state == CandidateState::Completed;
        let index = if is_late { looks.len().saturating_sub(1) } else { self.record.looks.len() };
        let judged = sets::judged(self.study, (self.id, self.record), Phase::Confirm, self.spec)
            .map_err(|key| self.unread(&key))?;
        let reference = match sets::reference(self.study, self.spec) {
            Ok(reference) => reference,
            Err(NoReference::NotYet(why)) => {
                return Err(NotYet::new("no_reference", why).command("rlx study next"));
            }
            Err(NoReference::Never(why)) => return Ok(self.without_comparison(Verdict::Inconclusive, why)),
        };
        let Some(compared) = compare(&reference.results, &judged.results, self.spec, schedule.alpha) else {
            let reason =
                format!("no seed of {} finished, so nothing can be compared with it", reference.candidate);
            return Ok(self.without_comparison(Verdict::Inconclusive, reason));
        };
        let incumbent_seeds = reference.runs.len() as u64;
        let bound = bounds.look(self.study, self.record, &schedule, incumbent_seeds, (&looks, index));
        let Some(bound) = bound else {
            let reason = format!("no look at {} is planned", self.id);
            return Err(NotYet::new("no_look", reason).command("rlx contract check"));
        };
        let guardrails: Vec<_> = self
            .spec
            .guardrails
            .iter()
            .map(|guardrail| guardrails::look(guardrail, &reference, &judged, schedule.alpha))
            .collect();
        let checks = checks(&Compare {
            reference: &reference,
            judged: &judged,
            planned: bound.seeds,
            spec: self.spec,
            facts: self.facts,
            gain: Some(compared.gain),
        });
        let call = call(&bound, &compared, guardrails.iter().all(|guardrail| guardrail.holds));
        let inputs = self.inputs(&json!({
            "look": index + 1,
            "bound": { "accept": bound.accept, "drop": bound.drop },
            "reference": reference.inputs(),
            "judged": judged.inputs(),
            "checks": checks,
        }));
        let looked = Looked {
            candidate: self.id.clone(),
            look: index as u64 + 1,
            looks: looks.len() as u64,
            seeds: compared.seeds,
            incumbent_seeds,
            z: compared.z,
            accept: bound.accept,
            drop: bound.drop,
            basis: compared.basis.map(words::basis),
            veto: compared.veto.map(words::veto),
            guardrails: guardrails.clone(),
            call,
            inputs,
        };
        let has_audit =
            self.record.validated.phases.iter().any(|planned| planned.phase == Phase::IncumbentValidation);
        let mut findings = Findings {
            phase: Phase::Confirm,
            reference: Some(reference.candidate.clone()),
            compared: Some(compared),
            guardrails,
            checks,
            ..self.nothing_found()
        };
        let failed = failed(&findings.checks);
        let said = words::look(&looked);
        let verdict = match call {
            _ if !failed.is_empty() => {
                Some((Verdict::Inconclusive, format!("checks failed: {}", failed.join(", "))))
            }
            LookCall::Accept if has_audit && !is_late => None,
            LookCall::Accept => Some((
                Verdict::Inconclusive,
                format!("{said}, but an earlier version of rlx validated it without audit seeds"),
            )),
            LookCall::More if is_late => Some((Verdict::Inconclusive, said)),
            LookCall::More => None,
            LookCall::Drop if is_shown_not_better(&compared, self.spec) => {
                Some((Verdict::Rejected, format!("{said}; {}", words::not_better(&compared, self.spec))))
            }
            LookCall::Drop => {
                Some((Verdict::Inconclusive, format!("{said}; {}", words::may_be_better(&compared))))
            }
            LookCall::Undecided => Some((Verdict::Inconclusive, said)),
        };
        if !is_late {
            findings.looked = Some(looked);
        }
        if let Some((verdict, reason)) = verdict {
            self.conclude(&mut findings, verdict, reason, inputs);
        }
        Ok(findings)
    }

    pub(super) fn unread(&self, key: &str) -> NotYet {
        let reason = format!("the metrics of run {key} have not been read");
        NotYet::new("metrics_unread", reason).command(format!("rlx study extract {key}"))
    }
}
