//! The bounds of looks. They follow from the schedule and the real size of the reference by a simulation that takes some
//! tenths of a second, so an earlier look at the same question gives them too.

use std::collections::BTreeMap;

use rlxp_analyze::statistics::campaign::bounds::Look;
use rlxp_analyze::statistics::campaign::sequence;

use crate::documents::Schedule;
use crate::ledger::state::CandidateRecord;
use crate::looks::planned;
use crate::section::Section;
use crate::view::Study;

/// What bounds depend on; the error as its bits, so that it can be a key.
type Question = (u64, u64, u64, Vec<u64>);

/// Bounds that are known, and whether those in earlier records count.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    simulated: BTreeMap<Question, Vec<Look>>,
    ignores_records: bool,
}

impl Bounds {
    /// Takes the bounds of earlier looks at the same question from their records.
    pub fn from_records() -> Self {
        Self::default()
    }

    /// Simulates every bound, each once: for verifying what was recorded.
    pub fn recomputed() -> Self {
        Self { ignores_records: true, ..Self::default() }
    }

    /// The bound of one look at a candidate; `None` if the schedule has no such look.
    pub(super) fn look(
        &mut self,
        study: &Study,
        record: &CandidateRecord,
        schedule: &Schedule,
        incumbent_seeds: u64,
        (looks, index): (&[u64], usize),
    ) -> Option<Look> {
        let seeds = *looks.get(index)?;
        if !self.ignores_records
            && let Some(look) = recorded(study, record, schedule, incumbent_seeds, (looks, index))
        {
            return Some(look);
        }
        let question = (schedule.alpha.to_bits(), schedule.candidates, incumbent_seeds, looks.to_vec());
        let simulated = self
            .simulated
            .entry(question)
            .or_insert_with(|| sequence::bounds(schedule.alpha, schedule.candidates, incumbent_seeds, looks));
        simulated.get(index).copied().filter(|look| look.seeds == seeds)
    }
}

/// The bound in the record of an earlier look, by a candidate that was validated with the same statistics.
fn recorded(
    study: &Study,
    record: &CandidateRecord,
    schedule: &Schedule,
    incumbent_seeds: u64,
    (looks, index): (&[u64], usize),
) -> Option<Look> {
    let evaluation = format!("section:{}", Section::Evaluation);
    let agreed = record.validated.parts.get(&evaluation)?;
    let seeds = *looks.get(index)?;
    let others = study.state().candidates.values();
    let same = others.filter(|other| {
        other.validated.parts.get(&evaluation) == Some(agreed)
            && !other.looks.is_empty()
            && planned(schedule, &other.validated.phases) == looks
    });
    let mut found = same.filter_map(|other| other.looks.get(index));
    let look = found.find(|look| (look.seeds, look.incumbent_seeds) == (seeds, incumbent_seeds))?;
    let has_drop = look.drop.is_some() == (index + 1 < looks.len());
    has_drop.then_some(Look { seeds, incumbent_seeds, accept: look.accept, drop: look.drop })
}
