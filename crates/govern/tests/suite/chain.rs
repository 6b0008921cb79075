//! What the chain of a ledger shows, and what only an anchor does.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rlxp_govern::documents::{Assurance, Base, CandidateKind, Confinement, Phase};
use rlxp_govern::ledger::event::{
    Analysis, Analyzed, Anchored, Approved, Audited, Closed, Completed, Decided, Decision, Evidence,
    GuardrailLook, HandedOff, Imported, Judged, LookCall, Looked, NoValue, Note, PlannedPhase, Probed,
    ProbedSpan, Queued, Refused, RefusedDraft, Reopened, Reported, Reverted, Unmeasured, Validated, Verdict,
    Voided,
};
use rlxp_govern::ledger::{
    Actor, Anchor, ChainProblem, Event, Ledger, Record, Remedy, against_copy, problems, read,
};
use rlxp_govern::machine::RunEnd;
use rlxp_govern::section::Target;
use rlxp_types::Digest;

use super::common::{AT, append, approvers, bytes, ended, intent, launched, opened, slug};

/// A ledger, and everything that is wrong with it.
fn verify(bytes: &[u8], anchors: &[Anchor]) -> (Ledger, Vec<ChainProblem>) {
    let ledger = read(bytes);
    let problems = problems(&ledger, bytes, anchors);
    (ledger, problems)
}

/// A study from its first to its last record, with at least one record of every kind.
fn whole_study() -> Ledger {
    let digest = Digest::hash(b"something");
    let plan = Digest::hash(b"plan");
    let targets = BTreeMap::from([("task".parse::<Target>().unwrap(), digest)]);
    let validated = |candidate: &str, kind, revision| {
        Event::Validated(Validated {
            candidate: slug(candidate),
            revision,
            kind,
            file: digest,
            digest,
            plan,
            parts: BTreeMap::from([("protocol".into(), digest)]),
            phases: [Phase::Smoke, Phase::Short]
                .map(|phase| PlannedPhase { phase, seeds: 1, reserve: None })
                .to_vec(),
            base: (kind == CandidateKind::Baseline).then_some(Base::Snapshot(digest)),
            programs: None,
            effect: None,
        })
    };
    let run = |candidate: &str, phase, seed| {
        let intent = intent(candidate, phase, seed, plan);
        let key = intent.key.clone();
        [Event::LaunchIntent(intent), launched(&key), ended(&key, RunEnd::Ok)]
    };
    let completed = |candidate: &str| Event::Completed(Completed { candidate: slug(candidate) });
    let mut events = vec![
        opened(&approvers(&[1, 2])),
        Event::Imported(Imported {
            from: ".autorl/ ü \"quoted\" \\ \n".into(),
            files: BTreeMap::from([("notes.md".into(), digest)]),
            unknown: vec!["extra.key".into()],
        }),
        Event::Approved(Approved {
            targets: targets.clone(),
            assurance: Assurance::Signature,
            who: "ada".into(),
            key: approvers(&[1]).fingerprints().pop_first(),
            signature: Some(digest),
        }),
        Event::Voided(Voided {
            targets: targets.into_keys().collect(),
            reason: "what it covers changed".into(),
        }),
        Event::Refused(Refused {
            what: "launch".into(),
            codes: vec!["approval_void".into()],
            detail: "the approval of task is void".into(),
            draft: Some(RefusedDraft { candidate: slug("lower-lr"), file: digest }),
        }),
        Event::Audited(Audited { adapter: digest, claims: 3 }),
        validated("baseline", CandidateKind::Baseline, 1),
        Event::Queued(Queued { digest, jobs: 1 }),
        Event::Probed(Probed { step: "eval".into(), end: RunEnd::Ok, reason: "it returned 0".into() }),
    ];
    events.extend(run("baseline", Phase::Smoke, 0));
    events.extend([
        Event::Evidence(Evidence {
            key: "baseline-smoke-0".into(),
            values: BTreeMap::from([(slug("mean-return"), Some(0.1 + 0.2)), (slug("falls"), None)]),
            files: BTreeMap::from([("eval.json".into(), digest)]),
            reasons: BTreeMap::from([(
                slug("falls"),
                Unmeasured { kind: NoValue::Missing, detail: "no value at /falls".into() },
            )]),
            declared: Some(digest),
        }),
        completed("baseline"),
        Event::Judged(Judged {
            candidate: slug("baseline"),
            phase: Phase::Smoke,
            verdict: Verdict::Accepted,
            inputs: digest,
            score: Some(-1.5e-7),
            reason: String::new(),
            failed_checks: Vec::new(),
            code: None,
        }),
        Event::Analyzed(Analyzed {
            what: Analysis::Probe,
            candidate: slug("baseline"),
            reference: Some(slug("baseline")),
            parameter: Some("env.gravity".into()),
            span: Some(ProbedSpan { from: 0.5, to: 2.0 }),
            runs: BTreeMap::new(),
            file: "audits/probe-gravity.json".into(),
            digest,
        }),
        Event::Reported(Reported { digest }),
        Event::Anchored(Anchored { head: digest, place: "git note".into() }),
        Event::Decided(Decided { decision: Decision::Continue, reason: "budget is left".into() }),
        validated("lower-lr", CandidateKind::Hyperparameter, 1),
        Event::Reopened(Reopened { candidate: slug("lower-lr"), reason: "its text changed".into() }),
        validated("lower-lr", CandidateKind::Hyperparameter, 1),
    ]);
    events.extend(run("lower-lr", Phase::Smoke, 0));
    // What came later and may be left out, in full.
    let mut elsewhere = run("lower-lr", Phase::Short, 1);
    if let [Event::LaunchIntent(intent), Event::Launched(launched), Event::RunEnded(ended)] = &mut elsewhere {
        intent.external = Some("slurm".into());
        launched.external = Some("slurm".into());
        ended.not_evidence = Some("not_the_patched_code".into());
        ended.manifest = Some(digest);
        ended.confinement = Some(Confinement::Partial);
    }
    events.extend(elsewhere);
    events.extend([
        Event::Looked(Looked {
            candidate: slug("lower-lr"),
            look: 1,
            looks: 3,
            seeds: 5,
            incumbent_seeds: 15,
            z: -1.25,
            accept: 3.5,
            drop: Some(-0.1),
            basis: Some("typical_score".into()),
            veto: Some("mean".into()),
            guardrails: vec![GuardrailLook {
                name: slug("falls"),
                allowed: 0.5,
                difference: Some(-0.25),
                bound: None,
                holds: false,
            }],
            call: LookCall::Drop,
            inputs: digest,
        }),
        completed("lower-lr"),
        Event::Reverted(Reverted { candidate: slug("baseline"), reason: "a guardrail broke".into() }),
        Event::HandedOff(HandedOff { reason: "the budget is spent".into() }),
        Event::Closed(Closed { reason: "done".into() }),
        Event::Note(Note { text: "a remark after the end".into() }),
    ]);
    let mut ledger = read(b"");
    for event in events {
        append(&mut ledger, event).unwrap_or_else(|problem| panic!("{problem:?}"));
    }
    ledger
}

/// Whether it is detected: a problem, or an incomplete line.
fn found(bytes: &[u8], anchors: &[Anchor]) -> bool {
    let (ledger, problems) = verify(bytes, anchors);
    !problems.is_empty() || ledger.torn > 0
}

fn anchor(ledger: &Ledger, seq: u64) -> Anchor {
    let record = &ledger.records[usize::try_from(seq).unwrap()];
    Anchor { study: "study-7f3a".into(), seq, head: record.digest, at: AT.into() }
}

fn lines(ledger: &Ledger) -> Vec<String> {
    ledger.records.iter().map(|record| record.line() + "\n").collect()
}

#[test]
fn every_kind_of_event_goes_to_its_line_and_back() {
    let ledger = whole_study();
    let kinds: BTreeSet<&str> = ledger.records.iter().map(|record| record.event.kind()).collect();
    assert_eq!(kinds, Event::KINDS.iter().copied().collect(), "a kind without a sample");
    for record in &ledger.records {
        assert_eq!(&Record::parse(&record.line()).unwrap(), record);
    }
    let (again, problems) = verify(&bytes(&ledger), &[]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!((again.records, again.state, again.torn), (ledger.records, ledger.state, 0));
}

#[test]
fn every_changed_byte_is_found() {
    let whole = bytes(&whole_study());
    let mut damaged = whole.clone();
    for at in 0..whole.len() {
        // Something near, something far, and the byte that ends lines; not all everywhere, which takes long.
        let others = [whole[at] ^ 0x20, b'\n', b'0', 0xff, b' '];
        for other in [whole[at] ^ 1].into_iter().chain(others.into_iter().filter(|_| at % 11 == 0)) {
            if other != whole[at] {
                damaged[at] = other;
                assert!(found(&damaged, &[]), "byte {at} became {other}");
            }
        }
        damaged[at] = whole[at];
    }
}

#[test]
fn every_record_that_is_dropped_swapped_doubled_or_put_in_is_found() {
    let ledger = whole_study();
    let lines = lines(&ledger);
    let changed = |what: &str, change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        assert!(found(lines.concat().as_bytes(), &[]), "{what}");
    };
    for at in 0..lines.len() {
        if at + 1 < lines.len() {
            changed(&format!("{at} dropped"), &|lines| drop(lines.remove(at)));
            changed(&format!("{at} swapped"), &|lines| lines.swap(at, at + 1));
            // A record that belongs there by its number and its link, and yet the next one doesn't know it.
            let head = at.checked_sub(1).map_or(Digest::ZERO, |before| ledger.records[before].digest);
            let event = Event::Note(Note { text: "put in".into() });
            let note = Record::new(at as u64, AT, Actor::Rlx, event, head).line() + "\n";
            changed(&format!("put in before {at}"), &|lines| lines.insert(at, note.clone()));
            changed(&format!("put in place of {at}"), &|lines| lines[at].clone_from(&note));
        }
        changed(&format!("{at} doubled"), &|lines| lines.insert(at, lines[at].clone()));
        changed(&format!("empty line before {at}"), &|lines| lines.insert(at, "\n".into()));
        changed(&format!("{at} with other spaces"), &|lines| lines[at] = lines[at].replacen(':', ": ", 1));
    }
}

#[test]
fn a_ledger_that_ends_early_or_was_rewritten_is_found_against_an_anchor_only() {
    let ledger = whole_study();
    let last = ledger.next_seq() - 1;
    let anchors = [anchor(&ledger, 5), anchor(&ledger, last)];
    assert!(!found(&bytes(&ledger), &anchors));
    for kept in 1..=last {
        let whole: Vec<u8> = lines(&ledger)[..usize::try_from(kept).unwrap()].concat().into_bytes();
        assert!(!found(&whole, &[]), "cut after {kept} records, nothing shows it");
        let (_, problems) = verify(&whole, &anchors);
        assert!(problems.iter().any(|problem| problem.code == "cut_off"), "{kept} {problems:?}");

        // From here on, a different history with valid numbers and links, of full length.
        let mut other = read(&whole);
        for record in &ledger.records[other.records.len()..] {
            let event = match &record.event {
                Event::Closed(_) => Event::Closed(Closed { reason: "another story".into() }),
                event => event.clone(),
            };
            let number = other.next_seq();
            let record = Record::new(number, "2027-01-01T00:00:00Z", record.actor, event, other.head());
            other.push(record).unwrap();
        }
        let rewritten = bytes(&other);
        assert!(!found(&rewritten, &[]), "rewritten from {kept} on, nothing shows it");
        let (_, problems) = verify(&rewritten, &anchors);
        assert!(problems.iter().any(|problem| problem.code == "rewritten"), "{kept} {problems:?}");
    }
    let other_study = Anchor { study: "study-0000".into(), ..anchor(&ledger, 0) };
    let (_, problems) = verify(&bytes(&ledger), &[other_study]);
    assert_eq!(problems[0].code, "anchor_of_other_study");
    let far = Anchor { seq: u64::MAX, ..anchor(&ledger, 0) };
    assert_eq!(verify(&bytes(&ledger), &[far]).1[0].code, "cut_off");
}

/// A ledger that lacks records of its copy, or has others, is restored from it; one that has more is not.
#[test]
fn the_copy_of_a_ledger_contradicts_what_is_older_or_other() {
    let ledger = whole_study();
    let all = lines(&ledger);
    let end = anchor(&ledger, all.len() as u64 - 1);
    assert_eq!(against_copy(&ledger, &end), None);
    assert_eq!(against_copy(&ledger, &anchor(&ledger, 1)), None);
    for kept in 0..all.len() {
        let older = read(all[..kept].concat().as_bytes());
        let problem = against_copy(&older, &end).unwrap();
        assert_eq!((problem.code, problem.remedy), ("ledger_behind_copy", Remedy::Restore), "{kept}");
    }
    let mut other = read(all[..2].concat().as_bytes());
    for record in &ledger.records[2..] {
        let event = record.event.clone();
        other
            .push(Record::new(record.seq, "2027-01-01T00:00:00Z", record.actor, event, other.head()))
            .unwrap();
    }
    let problem = against_copy(&other, &end).unwrap();
    assert_eq!((problem.code, problem.remedy.command()), ("ledger_diverged", "rlx ledger restore"));
    let of_another = Anchor { study: "study-0000".into(), ..end };
    assert_eq!(against_copy(&other, &of_another), None);
}

#[test]
fn a_cut_inside_the_last_line_is_torn_and_loses_nothing_before_it() {
    let ledger = whole_study();
    let whole = bytes(&ledger);
    let before = whole.len() - lines(&ledger).last().unwrap().len();
    for end in before + 1..whole.len() {
        let (cut, problems) = verify(&whole[..end], &[]);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(cut.torn, end - before);
        assert_eq!(cut.records, ledger.records[..ledger.records.len() - 1]);
    }
    assert_eq!(verify(&whole[..before], &[]).0.torn, 0);
}

#[test]
fn what_is_not_understood_is_refused() {
    let said = |kind: &str, body: &str| Event::read(kind, body).unwrap_err();
    assert!(said("teleported", "{}").contains("\"teleported\" are not known"));
    assert!(said("note", r#"{"text":"a","more":1}"#).contains("unknown field `more`"));
    assert!(said("note", "{}").contains("missing field `text`"));
    assert!(said("note", r#"{"text":"a","text":"b"}"#).contains("duplicate field"));
    for record in whole_study().records {
        let mut body = record.event.body();
        body["surplus"] = true.into();
        assert!(
            said(record.event.kind(), &body.to_string()).contains("unknown field `surplus`"),
            "{}",
            record.event.kind()
        );
    }
    assert_eq!(verify(b"", &[]).1[0].code, "empty");
    assert_eq!(verify(b"\n", &[]).1[0].code, "damaged_record");
    assert_eq!(verify(b"\xff\n", &[]).1[0].code, "damaged_record");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(noise in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        let whole = bytes(&whole_study());
        let at = at.index(whole.len());
        let mixed = [&whole[..at], &noise[..], &whole[at..]].concat();
        prop_assert_eq!(found(&mixed, &[anchor(&whole_study(), 0)]), !noise.is_empty());
        verify(&noise, &[anchor(&whole_study(), 0)]);
    }
}
