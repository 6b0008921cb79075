//! Whole studies played with candidates that equal the incumbent: how often the real decisions accept one anyway.

use std::collections::BTreeMap;

use rlxp_analyze::statistics::campaign::bounds::Look;
use rlxp_analyze::statistics::campaign::sequence;
use rlxp_types::Stream;

use super::compare::{audit_contradicts, call, compare};
use crate::documents::{MetricSpec, Schedule};
use crate::ledger::event::LookCall;
use crate::score::SeedResult;

/// What the seeds of simulated runs score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Returns {
    /// Normal scores
    Gaussian,
    /// Most seeds near the top, a long tail downwards
    Skewed,
    /// The same, and this share of seeds fails
    SkewedFailing(f64),
}

impl Returns {
    fn draw(self, stream: &mut Stream) -> SeedResult {
        let tail = |stream: &mut Stream| -(-(1.0 - stream.uniform()).ln()).powi(2);
        match self {
            Returns::Gaussian => SeedResult::Finished(stream.normal_pair().0),
            Returns::Skewed => SeedResult::Finished(tail(stream)),
            Returns::SkewedFailing(share) => {
                let score = tail(stream);
                if stream.uniform() < share { SeedResult::Failed } else { SeedResult::Finished(score) }
            }
        }
    }
}

/// What came of simulated studies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Simulated {
    pub studies: u64,
    /// Studies in which a candidate was accepted.
    pub with_acceptance: u64,
    /// Candidates that a look accepted and whose audit seeds contradicted it.
    pub contradicted: u64,
    /// Runs of confirm and audit seeds, the baseline's included.
    pub runs: u64,
}

impl Simulated {
    /// The share of studies that accepted a candidate.
    pub fn error(&self) -> f64 {
        self.with_acceptance as f64 / self.studies.max(1) as f64
    }

    /// The standard error of that share.
    pub fn standard_error(&self) -> f64 {
        (self.error() * (1.0 - self.error()) / self.studies.max(1) as f64).sqrt()
    }
}

/// Plays studies in which no candidate differs from the incumbent, each with every planned candidate.
pub fn null_studies(
    schedule: &Schedule,
    spec: &MetricSpec,
    returns: Returns,
    repetitions: u64,
    seed: u64,
) -> Simulated {
    let mut stream = Stream::new(seed, "judge/null", 0);
    let mut bounds: BTreeMap<usize, Vec<Look>> = BTreeMap::new();
    let mut all = Simulated { studies: repetitions, ..Simulated::default() };
    for _ in 0..repetitions {
        let mut draw =
            |count: u64| -> Vec<SeedResult> { (0..count).map(|_| returns.draw(&mut stream)).collect() };
        let mut reference = draw(schedule.incumbent_seeds);
        all.runs += schedule.incumbent_seeds;
        let mut accepted = false;
        for _ in 0..schedule.candidates {
            let looks = bounds.entry(reference.len()).or_insert_with(|| {
                sequence::bounds(schedule.alpha, schedule.candidates, reference.len() as u64, &schedule.looks)
            });
            let mut judged: Vec<SeedResult> = Vec::new();
            for look in looks.iter() {
                let more = look.seeds - judged.len() as u64;
                judged.extend(draw(more));
                all.runs += more;
                let Some(compared) = compare(&reference, &judged, spec, schedule.alpha) else { break };
                match call(look, &compared, true) {
                    LookCall::More => continue,
                    LookCall::Drop | LookCall::Undecided => {}
                    LookCall::Accept => {
                        let audit = draw(schedule.top_up(look.seeds));
                        all.runs += audit.len() as u64;
                        let audited = compare(&reference, &audit, spec, schedule.alpha);
                        match compared.basis.zip(audited) {
                            Some((basis, audited)) if !audit_contradicts(&audited, basis, spec) => {
                                accepted = true;
                                judged.extend(audit);
                                reference = judged;
                            }
                            _ => all.contradicted += 1,
                        }
                    }
                }
                break;
            }
        }
        all.with_acceptance += u64::from(accepted);
    }
    all
}
