//! The ledger takes only what can happen: listed moves, keys and seeds once, a budget that adds up. A refused record
//! leaves no trace.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rlxp_govern::budget::{Amounts, Tally};
use rlxp_govern::documents::{CandidateKind, Phase};
use rlxp_govern::ledger::event::{
    Closed, Completed, Evidence, Judged, LaunchIntent, Note, PlannedPhase, Reopened, Reverted, Validated,
    Verdict,
};
use rlxp_govern::ledger::{Event, Ledger, StudyState, read};
use rlxp_govern::machine::{CandidateState, RunEnd, RunState};
use rlxp_govern::seeds::SeedRole;
use rlxp_types::Digest;

use super::common::{append, approvers, ended, intent, launched, opened, over, slug};

const PHASES: [Phase; 4] = [Phase::Smoke, Phase::Short, Phase::Confirm, Phase::IncumbentValidation];
const VERDICTS: [Verdict; 4] = [Verdict::Accepted, Verdict::Rejected, Verdict::Inconclusive, Verdict::Debug];

fn plan(revision: u64) -> Digest {
    Digest::hash(&revision.to_be_bytes())
}

fn validated(candidate: &str, revision: u64) -> Event {
    let digest = Digest::hash(b"something");
    Event::Validated(Validated {
        candidate: slug(candidate),
        revision,
        kind: CandidateKind::Hyperparameter,
        file: digest,
        digest,
        plan: plan(revision),
        parts: BTreeMap::new(),
        phases: PHASES[..3]
            .iter()
            .map(|phase| PlannedPhase { phase: *phase, seeds: 2, reserve: None })
            .collect(),
        base: None,
        programs: None,
        effect: None,
    })
}

fn run(key: &str, candidate: &str, phase: Phase, seed: u64) -> LaunchIntent {
    LaunchIntent { key: key.into(), ..intent(candidate, phase, seed, plan(1)) }
}

fn judged(candidate: &str, verdict: Verdict) -> Event {
    let inputs = Digest::hash(b"inputs");
    Event::Judged(Judged {
        candidate: slug(candidate),
        phase: Phase::Short,
        verdict,
        inputs,
        score: Some(1.5),
        reason: String::new(),
        failed_checks: Vec::new(),
        code: None,
    })
}

fn completed(candidate: &str) -> Event {
    Event::Completed(Completed { candidate: slug(candidate) })
}

fn reopened(candidate: &str) -> Event {
    Event::Reopened(Reopened { candidate: slug(candidate), reason: "changed".into() })
}

fn reverted(candidate: &str) -> Event {
    Event::Reverted(Reverted { candidate: slug(candidate), reason: "worse after all".into() })
}

fn evidence(key: &str) -> Event {
    Event::Evidence(Evidence {
        key: key.into(),
        values: BTreeMap::new(),
        files: BTreeMap::new(),
        reasons: BTreeMap::new(),
        declared: None,
    })
}

/// Appends all of `events` to an opened ledger, the last of which must be refused with these words.
fn refused(words: &str, events: Vec<Event>) {
    let mut ledger = read(b"");
    append(&mut ledger, opened(&approvers(&[1]))).unwrap();
    let last = events.len() - 1;
    for (index, event) in events.into_iter().enumerate() {
        let before = ledger.state.clone();
        match append(&mut ledger, event.clone()) {
            Ok(()) => assert!(index < last, "{words}: nothing was refused"),
            Err(problem) => {
                assert_eq!((index, problem.code), (last, "impossible"), "{words}: {problem:?}");
                assert!(problem.message.contains(words), "{words}: {}", problem.message);
                assert_eq!(ledger.state, before, "{words}: a refused record left a trace");
            }
        }
    }
}

#[test]
fn what_can_not_happen_is_refused_by_name() {
    let intended = |key: &str, phase, seed| Event::LaunchIntent(run(key, "a", phase, seed));
    let one = || vec![validated("a", 1), intended("k", Phase::Confirm, 100)];
    let then = |before: Vec<Event>, more: Vec<Event>| before.into_iter().chain(more).collect::<Vec<_>>();
    let ran = |end| then(one(), vec![launched("k"), ended("k", end)]);
    refused("begins with one record", vec![opened(&approvers(&[1]))]);
    refused("there is no candidate a", vec![reopened("a")]);
    refused("there is no candidate a", vec![intended("k", Phase::Smoke, 0)]);
    refused("from validated to validated", vec![validated("a", 1), validated("a", 1)]);
    refused("revision 3 of candidate a follows 1", vec![validated("a", 1), reopened("a"), validated("a", 3)]);
    let last = vec![validated("a", u64::MAX), reopened("a"), validated("a", 0)];
    refused("revision 0 of candidate a follows", last);
    refused("from launched to draft", then(one(), vec![reopened("a")]));
    refused("from validated to completed", vec![validated("a", 1), completed("a")]);
    refused("from validated to accepted", vec![validated("a", 1), judged("a", Verdict::Accepted)]);
    refused("run k of candidate a hasn't ended", then(one(), vec![completed("a")]));
    refused("from launched to rejected", then(ran(RunEnd::Ok), vec![judged("a", Verdict::Rejected)]));
    refused(
        "only a validated one can run",
        vec![validated("a", 1), reopened("a"), intended("k", Phase::Smoke, 0)],
    );
    let over = || then(ran(RunEnd::Ok), vec![completed("a")]);
    refused("candidate a is completed", then(over(), vec![intended("again", Phase::Smoke, 0)]));
    refused("from completed to debug", then(over(), vec![judged("a", Verdict::Debug)]));
    refused("from completed to draft", then(over(), vec![reopened("a")]));
    refused("from completed to reverted", then(over(), vec![reverted("a")]));
    let later = Event::LaunchIntent(run("later", "b", Phase::Confirm, 101));
    let two = vec![
        judged("a", Verdict::Accepted),
        validated("b", 1),
        later,
        launched("later"),
        ended("later", RunEnd::Ok),
        completed("b"),
        judged("b", Verdict::Accepted),
        reverted("a"),
    ];
    refused("b was accepted after a and has to be reverted first", then(over(), two));
    let rejected = || then(over(), vec![judged("a", Verdict::Rejected)]);
    refused("from rejected to accepted", then(rejected(), vec![judged("a", Verdict::Accepted)]));
    refused("from rejected to draft", then(rejected(), vec![reopened("a")]));
    refused("key k has a run already", then(one(), vec![intended("k", Phase::Smoke, 0)]));
    refused("there is no run k", vec![launched("k")]);
    refused("from intended to ended (ok)", then(one(), vec![ended("k", RunEnd::Ok)]));
    refused("from running to running", then(one(), vec![launched("k"), launched("k")]));
    refused("from ended (failed) to ended (ok)", then(ran(RunEnd::Failed), vec![ended("k", RunEnd::Ok)]));
    refused("run k hasn't ended, so it proves nothing", then(one(), vec![evidence("k")]));
    let unpatched = |end| {
        let mut event = ended("k", end);
        if let Event::RunEnded(ended) = &mut event {
            ended.not_evidence = Some("not_the_patched_code".into());
        }
        then(one(), vec![launched("k"), event])
    };
    let words = "run k never counts as evidence: not_the_patched_code";
    refused(words, then(unpatched(RunEnd::Ok), vec![evidence("k")]));
    refused(
        "run k hasn't ended, so the study",
        then(one(), vec![Event::Closed(Closed { reason: "".into() })]),
    );
    refused("the study is closed", vec![Event::Closed(Closed { reason: "".into() }), validated("a", 1)]);
    refused(
        "confirm seed 100 has served",
        then(ran(RunEnd::Failed), vec![intended("2", Phase::Confirm, 100)]),
    );
    let other = Event::LaunchIntent(run("2", "b", Phase::Confirm, 100));
    refused("confirm seed 100 has served", then(ran(RunEnd::Lost), vec![validated("b", 1), other]));
    let elsewhere = LaunchIntent { plan: plan(7), ..run("k", "a", Phase::Smoke, 0) };
    refused("was validated with plan", vec![validated("a", 1), Event::LaunchIntent(elsewhere)]);
    refused(
        "has no incumbent validation phase",
        vec![validated("a", 1), intended("k", Phase::IncumbentValidation, 200)],
    );
    let disguised = LaunchIntent { role: SeedRole::Screen, ..run("k", "a", Phase::Confirm, 100) };
    refused("don't use screen seeds", vec![validated("a", 1), Event::LaunchIntent(disguised)]);
    let mut much = run("2", "a", Phase::Smoke, 0);
    much.reserve.disk = u64::MAX;
    refused("more than can be counted", then(one(), vec![Event::LaunchIntent(much)]));
}

#[test]
fn what_was_debugged_comes_back_as_a_new_revision_only() {
    let smoke = |key: &str| Event::LaunchIntent(run(key, "a", Phase::Smoke, 0));
    let debugged = |phases: &[Phase]| {
        let mut events = vec![validated("a", 1)];
        for (seed, phase) in (100..).zip(phases) {
            let key = seed.to_string();
            let intent = Event::LaunchIntent(run(&key, "a", *phase, seed));
            events.extend([intent, launched(&key), ended(&key, RunEnd::Failed)]);
        }
        events.extend([completed("a"), judged("a", Verdict::Debug), reopened("a")]);
        events
    };
    let then = |mut before: Vec<Event>, more: Vec<Event>| {
        before.extend(more);
        before
    };
    refused("revision 1 of candidate a follows 1", then(debugged(&[Phase::Smoke]), vec![validated("a", 1)]));
    refused("was validated with plan", then(debugged(&[Phase::Smoke]), vec![validated("a", 2), smoke("k")]));
    // A smoke run behind the confirm phase doesn't make it a smoke test again.
    let mut late = debugged(&[Phase::Short, Phase::Confirm, Phase::Smoke]);
    late.pop();
    refused("from completed to debug", late);
}

/// Events over few names, so that they often affect each other.
fn events() -> impl Strategy<Value = Event> {
    let candidate = || prop::sample::select(vec!["a", "b"]);
    let key = || prop::sample::select(vec!["k0", "k1", "k2", "k3", "k4", "k5"]);
    let amounts =
        || {
            (0..3u64, 0..100u64, 0..100u64, 0..100u64)
                .prop_map(|(runs, wall_clock, gpu_time, disk)| Amounts { runs, wall_clock, gpu_time, disk })
        };
    let intents = (key(), candidate(), 0..4usize, 0..3u64, 1..3u64, amounts()).prop_map(
        |(key, candidate, phase, seed, revision, reserve)| {
            let plan = plan(revision);
            Event::LaunchIntent(LaunchIntent { reserve, plan, ..run(key, candidate, PHASES[phase], seed) })
        },
    );
    let ends = (key(), 0..6usize, amounts())
        .prop_map(|(key, end, spent)| Event::RunEnded(over(key, RunEnd::ALL[end], spent)));
    prop_oneof![
        4 => (candidate(), 1..3u64).prop_map(|(candidate, revision)| validated(candidate, revision)),
        6 => intents,
        6 => key().prop_map(launched),
        6 => ends,
        2 => candidate().prop_map(reopened),
        3 => candidate().prop_map(completed),
        3 => (candidate(), 0..4usize).prop_map(|(candidate, verdict)| judged(candidate, VERDICTS[verdict])),
        1 => candidate().prop_map(reverted),
        2 => key().prop_map(evidence),
        1 => Just(Event::Note(Note { text: "a remark".into() })),
        1 => Just(opened(&approvers(&[1]))),
    ]
}

/// Whether a candidate may go from one state to the other in one record.
fn listed(from: CandidateState, to: CandidateState) -> bool {
    use CandidateState::*;
    from == to
        || matches!(
            (from, to),
            (Draft, Validated)
                | (Validated, Draft | Launched)
                | (Launched, CandidateState::Completed)
                | (CandidateState::Completed, Accepted | Rejected | Inconclusive | CandidateState::Debug)
                // Only after nothing but smoke runs, which the test of the machine checks.
                | (Launched | CandidateState::Completed, Draft)
                | (Accepted, CandidateState::Reverted)
                | (CandidateState::Debug, Draft)
        )
}

fn only_listed_moves(before: &StudyState, after: &StudyState) {
    for (id, record) in &after.candidates {
        let from = before.candidates.get(id).map_or(CandidateState::Draft, |record| record.state);
        assert!(listed(from, record.state), "{id} went from {from} to {}", record.state);
    }
    for (key, run) in &after.runs {
        let from = before.runs.get(key).map(|run| run.state);
        let known = match from {
            None => run.state == RunState::Intended,
            Some(from) => from == run.state || from.to(run.state).is_ok(),
        };
        assert!(known, "{key} went from {from:?} to {}", run.state);
    }
    assert!(before.runs.keys().all(|key| after.runs.contains_key(key)), "a run is gone");
}

/// What is spent and reserved, from the events alone.
fn counted(ledger: &Ledger) -> Tally {
    let mut reserved: BTreeMap<&str, Amounts> = BTreeMap::new();
    let mut spent = Amounts::default();
    for record in &ledger.records {
        match &record.event {
            Event::LaunchIntent(intent) => drop(reserved.insert(&intent.key, intent.reserve)),
            Event::RunEnded(ended) => {
                reserved.remove(ended.key.as_str());
                if ended.end != RunEnd::Blocked {
                    spent = spent.plus(ended.spent);
                }
            }
            _ => {}
        }
    }
    Tally { spent, reserved: reserved.into_values().fold(Amounts::default(), Amounts::plus) }
}

fn seeds_serve_once(ledger: &Ledger) {
    let mut served: BTreeMap<(SeedRole, u64), u64> = BTreeMap::new();
    for run in ledger.state.runs.values() {
        let again = matches!(run.state, RunState::Ended(RunEnd::Lost | RunEnd::Blocked));
        if !again && matches!(run.intent.role, SeedRole::Confirm | SeedRole::Audit) {
            *served.entry((run.intent.role, run.intent.seed)).or_default() += 1;
        }
    }
    assert!(served.values().all(|count| *count == 1), "{served:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_order_of_events_makes_listed_moves_only(events in prop::collection::vec(events(), 0..80)) {
        let mut ledger = read(b"");
        append(&mut ledger, opened(&approvers(&[1]))).unwrap();
        let mut keys = 0;
        for event in events {
            let before = ledger.clone();
            let intends = matches!(event, Event::LaunchIntent(_));
            match append(&mut ledger, event) {
                Ok(()) => {
                    keys += usize::from(intends);
                    only_listed_moves(&before.state, &ledger.state);
                }
                Err(problem) => {
                    prop_assert_eq!(problem.code, "impossible");
                    prop_assert_eq!(&ledger.state, &before.state, "{}", problem.message);
                    prop_assert_eq!(ledger.records.len(), before.records.len());
                }
            }
            prop_assert_eq!(ledger.state.tally, counted(&ledger));
            seeds_serve_once(&ledger);
        }
        prop_assert_eq!(ledger.state.runs.len(), keys, "a key served twice");
        let again = read(&super::common::bytes(&ledger));
        prop_assert_eq!((again.state, again.problem), (ledger.state, None));
    }
}
