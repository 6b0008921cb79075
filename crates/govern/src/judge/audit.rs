//! The audit of what a look accepted: fresh seeds that had no part in accepting it bring its set up to the incumbent's
//! size. If they are not worse than the earlier incumbent, both sets together are the new reference.

use serde_json::json;

use super::checks::{Compare, checks, failed, median};
use super::compare::{audit_contradicts, compare};
use super::sets::{self, NoReference, Set};
use super::{Findings, Judging, NotYet, guardrails, words};
use crate::documents::Phase;
use crate::ledger::event::{LookCall, Verdict};
use crate::score::{self, SeedResult};

impl Judging<'_> {
    /// The verdict once the audit seeds have run.
    pub(super) fn audit(&self) -> Result<Findings, NotYet> {
        let accepting = self.record.looks.last().filter(|look| look.call == LookCall::Accept);
        let basis = accepting.and_then(|look| look.basis.as_deref()).and_then(words::read_basis);
        let (Some(accepting), Some(basis)) = (accepting, basis) else {
            let reason = "no look accepted it";
            return Ok(self.without_comparison(Verdict::Inconclusive, reason.to_owned()));
        };
        let schedule = self.contract.statistics.schedule();
        let set = |phase| {
            sets::judged(self.study, (self.id, self.record), phase, self.spec)
                .map_err(|key| self.unread(&key))
        };
        let (confirm, audit) = (set(Phase::Confirm)?, set(Phase::IncumbentValidation)?);
        let whole = confirm.and(&audit);
        let reference = match sets::reference(self.study, self.spec) {
            Ok(reference) => reference,
            Err(NoReference::NotYet(why)) => {
                return Err(NotYet::new("no_reference", why).command("rlx study next"));
            }
            Err(NoReference::Never(why)) => return Ok(self.without_comparison(Verdict::Inconclusive, why)),
        };
        let compare = |set: &Set<'_>| compare(&reference.results, &set.results, self.spec, schedule.alpha);
        let (Some(compared), Some(overall)) = (compare(&audit), compare(&whole)) else {
            let reason = "no audit seed can be compared with the incumbent";
            return Ok(self.without_comparison(Verdict::Inconclusive, reason.to_owned()));
        };
        let look = |guardrail| guardrails::look(guardrail, &reference, &whole, schedule.alpha);
        let checks = checks(&Compare {
            reference: &reference,
            judged: &whole,
            planned: accepting.seeds + schedule.top_up(accepting.seeds),
            spec: self.spec,
            facts: self.facts,
            gain: Some(overall.gain),
        });
        let mut findings = Findings {
            phase: Phase::IncumbentValidation,
            reference: Some(reference.candidate.clone()),
            compared: Some(compared),
            guardrails: self.spec.guardrails.iter().map(look).collect(),
            rollback: self.spec.rollback.iter().map(look).collect(),
            checks,
            ..self.nothing_found()
        };
        let inputs = self.inputs(&json!({
            "reference": reference.inputs(),
            "confirm": confirm.inputs(),
            "audit": audit.inputs(),
            "checks": findings.checks,
        }));
        let failed = failed(&findings.checks);
        // Code that trains can tell audit seeds from confirm seeds, so what held at the look has to hold here too.
        let of_audit = self
            .spec
            .guardrails
            .iter()
            .map(|guardrail| guardrails::look(guardrail, &reference, &audit, schedule.alpha));
        let broken = findings.guardrails.iter().zip(of_audit);
        let broken: Vec<&str> = broken
            .filter(|(whole, audit)| !whole.holds || guardrails::has_fallen(audit))
            .map(|(whole, _)| whole.name.as_str())
            .collect();
        let (verdict, reason) = if !failed.is_empty() {
            (Verdict::Inconclusive, format!("checks failed: {}", failed.join(", ")))
        } else if !broken.is_empty() {
            (Verdict::Inconclusive, words::guardrails_broken(&broken))
        } else if audit_contradicts(&compared, basis, self.spec) {
            (Verdict::Inconclusive, words::audit_contradicts(&compared, basis))
        } else {
            (Verdict::Accepted, words::accepted(accepting, &compared, basis))
        };
        self.conclude(&mut findings, verdict, reason, inputs);
        if verdict == Verdict::Accepted {
            let score = self.new_score(&confirm, &audit);
            if let Some(judged) = &mut findings.judged {
                judged.score = score;
            }
            // A target may be reached by this score.
            self.decide(&mut findings);
        }
        Ok(findings)
    }

    /// The median of the new reference.
    fn new_score(&self, confirm: &Set<'_>, audit: &Set<'_>) -> Option<f64> {
        let phases = [Phase::Confirm, Phase::IncumbentValidation];
        let of = |phase| score::results_as_reference(&sets::of_phase(self.study, self.id, phase), self.spec);
        let results: Vec<SeedResult> = phases.into_iter().map(of).collect::<Option<Vec<_>>>()?.concat();
        debug_assert_eq!(results.len(), confirm.runs.len() + audit.runs.len());
        let failure = score::failure_score(&[&results], self.spec);
        median(score::values(&results, self.spec, failure)?)
    }
}
