//! Runs that are about to be started: only what was validated runs, with seeds that haven't served.

use super::{RunRecord, StudyState, Tried};
use crate::documents::{CandidateKind, Phase};
use crate::ledger::attempts::{self, Attempts};
use crate::ledger::event::{self, LaunchIntent};
use crate::machine::{CandidateState, EndCause, RunState};
use crate::seeds::SeedRole;

impl StudyState {
    pub(super) fn intend(&mut self, order: u64, intent: LaunchIntent) -> Result<(), String> {
        if self.runs.contains_key(&intent.key) {
            return Err(format!("key {} has a run already", intent.key));
        }
        let id = &intent.candidate;
        let candidate = self.candidates.get(id).ok_or_else(|| format!("there is no candidate {id}"))?;
        if !matches!(candidate.state, CandidateState::Validated | CandidateState::Launched) {
            return Err(format!("candidate {id} is {}; only a validated one can run", candidate.state));
        }
        let validated = &candidate.validated;
        if intent.plan != validated.plan {
            let (one, other) = (intent.plan.short(), validated.plan.short());
            return Err(format!("candidate {id} was validated with plan {other}, not {one}"));
        }
        if !validated.phases.iter().any(|planned| planned.phase == intent.phase) {
            return Err(format!("the plan of candidate {id} has no {} phase", intent.phase));
        }
        if intent.role != SeedRole::for_phase(intent.phase) {
            return Err(format!("runs of the {} phase don't use {} seeds", intent.phase, intent.role));
        }
        self.check_seed(&intent)?;
        self.check_evaluation_seed(&intent)?;
        let reserved = self.tally.reserved.plus(intent.reserve);
        if reserved.minus(intent.reserve) != self.tally.reserved {
            return Err(format!("run {} reserves more than can be counted", intent.key));
        }
        // Everything is checked: nothing fails from here on, so a refused record leaves no trace.
        let is_baseline = candidate.validated.kind == CandidateKind::Baseline;
        if candidate.state == CandidateState::Validated {
            let part = |name: &str| candidate.validated.parts.get(name).copied();
            let (changes, incumbent) = (part(event::CHANGES), part(event::INCUMBENT));
            let effect = candidate.validated.effect;
            if !candidate.validated.kind.is_empty_change() {
                self.tried.push(Tried { candidate: id.clone(), changes, effect, incumbent });
            }
            self.move_to(id, CandidateState::Launched)?;
        }
        if is_baseline && intent.phase == Phase::Confirm && self.baseline.is_none() {
            self.baseline = Some(id.clone());
        }
        self.bounded_repeats |= intent.bounded_repeats;
        self.used_seeds.entry(intent.role).or_default().insert(intent.seed);
        if let Some(seed) = intent.evaluation_seed {
            self.used_seeds.entry(SeedRole::Evaluation).or_default().insert(seed);
        }
        let candidate = self.candidates.get_mut(id).expect("it was found above");
        if candidate.phases.last() != Some(&intent.phase) {
            candidate.phases.push(intent.phase);
        }
        candidate.runs.push(intent.key.clone());
        self.tally.reserve(intent.reserve);
        let key = intent.key.clone();
        let (state, launched, ended, evidence) = (RunState::Intended, None, None, None);
        self.runs.insert(key, RunRecord { order, intent, state, launched, ended, evidence });
        Ok(())
    }

    /// Confirm and audit seeds are used once; only a run that never started or was interrupted frees its seed, as
    /// often as its side allows.
    fn check_seed(&self, intent: &LaunchIntent) -> Result<(), String> {
        let (role, seed) = (intent.role, intent.seed);
        let side = self.side_of(&intent.candidate);
        let is_same = |run: &&RunRecord| run.intent.role == role && run.intent.seed == seed;
        let once = matches!(role, SeedRole::Confirm | SeedRole::Audit);
        // Looking through all runs takes time, and most seeds are new.
        if once && self.used_seeds.get(&role).is_some_and(|used| used.contains(&seed)) {
            let mut same: Vec<&RunRecord> = self.runs.values().filter(is_same).collect();
            same.sort_by_key(|run| run.order);
            let elsewhere = same.iter().any(|run| run.intent.candidate != intent.candidate);
            // How often a seed may be blocked is checked below.
            let is_over = |seed: &Attempts<'_>| {
                seed.is_live() || (seed.is_done(side) && seed.last.cause() != Some(EndCause::NotStarted))
            };
            if elsewhere || attempts::by_seed(&same).values().any(is_over) {
                return Err(format!("{role} seed {seed} has served before"));
            }
        }
        // In every role: what interrupts a run doesn't give its seed any number of chances.
        let mut same = self.runs_of_plan(&intent.candidate);
        same.retain(|run| is_same(run) && run.intent.phase == intent.phase);
        let bounded = self.bounded_repeats || intent.bounded_repeats;
        let is_over = |seed: &Attempts<'_>| {
            seed.is_interrupted_too_often(side) || (bounded && seed.is_blocked_for_good())
        };
        if attempts::by_seed(&same).values().any(is_over) {
            return Err(format!("{role} seed {seed} was interrupted or blocked too often to run again"));
        }
        Ok(())
    }

    /// Every run is evaluated with a seed of its own, which stays the same while its training seed is repeated.
    fn check_evaluation_seed(&self, intent: &LaunchIntent) -> Result<(), String> {
        let bounded = self.bounded_repeats || intent.bounded_repeats;
        let kept = self.kept_evaluation_seed(&intent.candidate, intent.phase, intent.seed);
        if let Some(kept) = kept.filter(|_| bounded) {
            return match intent.evaluation_seed {
                Some(seed) if seed == kept => Ok(()),
                _ => {
                    Err(format!("run {} repeats one with evaluation seed {kept} and has another", intent.key))
                }
            };
        }
        let used = self.used_seeds.get(&SeedRole::Evaluation);
        match intent.evaluation_seed.filter(|seed| used.is_some_and(|used| used.contains(seed))) {
            Some(seed) => Err(format!("evaluation seed {seed} has served before")),
            None => Ok(()),
        }
    }
}
