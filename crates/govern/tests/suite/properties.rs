//! Taking something away never helps: whatever is refused stays refused when evidence, an approval, a file or any
//! other part of what gates look at is missing or damaged.

use proptest::prelude::*;
use rlxp_govern::documents::{Assurance, Reading};
use rlxp_govern::gate::{Purpose, refusals};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::Voided;
use rlxp_govern::section::{Section, Target};
use rlxp_types::Digest;

use super::cases::{Case, cases, variations};
use super::common::{PURPOSES, World, approvers, bytes};
use super::texts::Texts;

/// A part that can be taken away, and what is left.
type Removal = (String, World);

/// Everything that can be taken from a study, one thing at a time.
fn removals(from: &World) -> Vec<Removal> {
    let mut found = Vec::new();
    parts(from, &mut found);
    facts(from, &mut found);
    records(from, &mut found);
    found
}

fn with(found: &mut Vec<Removal>, from: &World, what: impl Into<String>, edit: impl FnOnce(&mut World)) {
    let mut world = from.clone();
    edit(&mut world);
    found.push((what.into(), world));
}

fn parts(from: &World, found: &mut Vec<Removal>) {
    let broken = || vec!["line 1: it can't be read".to_owned()];
    with(found, from, "contract missing", |world| world.study.files.contract = Reading::Missing);
    with(found, from, "contract broken", |world| world.study.files.contract = Reading::Broken(broken()));
    with(found, from, "metric spec missing", |world| world.study.files.metric_spec = Reading::Missing);
    with(found, from, "metric spec broken", |world| {
        world.study.files.metric_spec = Reading::Broken(broken());
    });
    with(found, from, "surface map missing", |world| world.study.files.surface_map = Reading::Missing);
    with(found, from, "surface map broken", |world| {
        world.study.files.surface_map = Reading::Broken(broken());
    });
    with(found, from, "runbook missing", |world| world.study.files.runbook = Reading::Missing);
    with(found, from, "runbook broken", |world| world.study.files.runbook = Reading::Broken(broken()));
    with(found, from, "adapter missing", |world| world.study.adapter = None);
    // Approvals at a terminal don't depend on the list.
    if from.study.required() == Assurance::Signature {
        with(found, from, "approvers missing", |world| world.study.approvers = None);
        with(found, from, "approvers empty", |world| world.study.approvers = Some(approvers(&[])));
    }
    with(found, from, "protected files unknown", |world| world.view.protected = None);
    with(found, from, "no protected files", |world| world.view.protected = Some(Default::default()));
    with(found, from, "code unknown", |world| world.view.base = None);
    with(found, from, "programs unknown", |world| world.view.programs = None);
    with(found, from, "inputs unknown", |world| world.view.inputs = None);
    for path in from.view.sources.keys() {
        with(found, from, format!("{path} unread"), |world| drop(world.view.sources.remove(path)));
    }
    for name in from.view.programs.iter().flat_map(|programs| programs.keys()) {
        with(found, from, format!("no program for {name}"), |world| {
            world.view.programs.iter_mut().for_each(|programs| programs.retain(|it, _| it != name));
        });
    }
    for path in from.view.inputs.iter().flat_map(|inputs| inputs.keys()) {
        with(found, from, format!("{path} gone"), |world| {
            world.view.inputs.iter_mut().for_each(|inputs| inputs.retain(|it, _| it != path));
        });
    }
    with(found, from, "machine unknown", |world| world.view.machine = None);
    with(found, from, "no plan asked for", |world| world.view.asked_plan = None);
    for digest in from.study.signatures.keys() {
        with(found, from, "signature missing", |world| drop(world.study.signatures.remove(digest)));
        with(found, from, "signature damaged", |world| {
            world.study.signatures.insert(*digest, "-----BEGIN SSH SIGNATURE-----\n".into());
        });
    }
}

fn facts(from: &World, found: &mut Vec<Removal>) {
    for path in from.view.paths.keys() {
        with(found, from, format!("{path} was not checked"), |world| drop(world.view.paths.remove(path)));
    }
    for file in &from.view.evidence_there {
        with(found, from, format!("{file} gone"), |world| {
            world.view.evidence_there.remove(file);
        });
    }
    for file in from.view.analyses.keys() {
        with(found, from, format!("{file} edited"), |world| {
            world.view.analyses.remove(file);
        });
    }
    if let Some(machine) = &from.view.machine {
        with(found, from, "no disk", |world| {
            world.view.machine = Some(rlxp_govern::view::MachineFacts { disk: 0, ..machine.clone() });
        });
        with(found, from, "no GPU", |world| {
            world.view.machine = Some(rlxp_govern::view::MachineFacts { gpus: 0, ..machine.clone() });
        });
    }
}

/// What supports a launch. A record that voids, ends or spends something is not evidence for one.
fn speaks_for(event: &Event) -> bool {
    matches!(
        event,
        Event::Opened(_)
            | Event::Approved(_)
            | Event::Audited(_)
            | Event::Validated(_)
            | Event::Completed(_)
            | Event::Analyzed(_)
    )
}

fn records(from: &World, found: &mut Vec<Removal>) {
    let records = &from.study.ledger.records;
    for (index, record) in records.iter().enumerate() {
        if let Event::Approved(approved) = &record.event {
            for target in approved.targets.keys() {
                let voided = Voided { targets: vec![target.clone()], reason: "taken back".into() };
                with(found, from, format!("{target} void"), |world| {
                    let _ = world.try_push(Event::Voided(voided));
                });
            }
        }
        if speaks_for(&record.event) {
            let what = format!("record {index}, {}, left out", record.event.kind());
            found.push((what, from.rechained(|seq, _| seq != record.seq)));
        }
        if records[index..].iter().all(|record| speaks_for(&record.event)) {
            let what = format!("cut off before record {index}");
            found.push((what, from.rechained(|seq, _| seq < record.seq)));
        }
    }
    with(found, from, "last record damaged", |world| {
        let mut lines = bytes(&world.study.ledger);
        if let Some(byte) = lines.iter_mut().rev().nth(3) {
            *byte ^= 1;
        }
        world.study.ledger = rlxp_govern::ledger::read(&lines);
    });
}

/// A study with some variations and faults; what can't be combined stays as it is.
fn mixed(variation: usize, faults: &[&Case]) -> World {
    let mut texts = Texts::supervised();
    (variations()[variation].1)(&mut texts);
    for fault in faults {
        (fault.texts)(&mut texts);
    }
    let mut world = World::ready(&texts);
    for fault in faults {
        (fault.after)(&mut world);
    }
    world
}

/// Takes away one thing at a time, of those that `picked` selects.
fn check(what: &str, world: &World, picked: impl Fn(usize) -> bool) {
    let before = PURPOSES.map(|purpose| !world.refusals(purpose).is_empty());
    let removals = removals(world).into_iter().enumerate().filter(|(index, _)| picked(*index));
    for (_, (removal, less)) in removals {
        for (purpose, refused) in PURPOSES.into_iter().zip(before) {
            if refused {
                let why = || world.codes(purpose);
                assert!(
                    !less.refusals(purpose).is_empty(),
                    "{what}: {removal} let {purpose:?} pass {:?}",
                    why()
                );
            }
        }
    }
    for (purpose, refused) in PURPOSES.into_iter().zip(before).skip(1) {
        assert!(!refused || !refusals(purpose, &world.study, None).is_empty(), "{what}: no candidate");
    }
}

#[test]
fn after_every_single_fault_taking_anything_away_leaves_it_refused() {
    for (index, case) in cases().iter().enumerate() {
        // A third of what can be taken away, another third for the next case; the properties take the rest.
        check(&format!("case {index}, {}", case.code), &mixed(0, &[case]), |removal| {
            removal % 3 == index % 3
        });
    }
}

#[test]
fn what_a_launch_needs_can_not_be_left_out() {
    for (what, texts) in variations() {
        let mut files = Texts::supervised();
        texts(&mut files);
        let world = World::ready(&files);
        let harmless: Vec<String> = removals(&world)
            .into_iter()
            .filter(|(_, less)| less.refusals(Purpose::Launch).is_empty())
            .map(|(removal, _)| removal)
            .filter(|removal| !may_be_left_out(what, removal))
            .collect();
        assert_eq!(harmless, [] as [String; 0], "{what}: a launch didn't need these");
    }
}

/// What is handed in and not needed: files that other kinds of candidates build on; that a plan was completed;
/// and within an envelope the approval of the single candidate.
fn may_be_left_out(variation: &str, removal: &str) -> bool {
    let of_candidate =
        ["candidate:lower-lr void", "cut off before record 31", "record 31, approved, left out"];
    let more = match variation {
        // Whether the baseline is complete is counted from its runs.
        _ if removal.ends_with("completed, left out") => true,
        _ if removal.ends_with("analyzed, left out") => true,
        "autonomous" => of_candidate.contains(&removal) || removal.starts_with("signature"),
        _ => false,
    };
    more || removal.ends_with(".json gone") || removal.ends_with(".json edited")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn taking_away_never_helps(
        variation in 0..variations().len(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        first in any::<prop::sample::Index>(),
        again in any::<bool>(),
    ) {
        let all = cases();
        let faults: Vec<&Case> = picks.iter().map(|pick| pick.get(&all)).collect();
        let codes: Vec<&str> = faults.iter().map(|fault| fault.code).collect();
        let what = format!("{} with {codes:?}", variations()[variation].0);
        let mut world = mixed(variation, &faults);
        if again {
            // Two things away at once, and everything approved once more in between.
            let mut removed = removals(&world);
            let index = first.index(removed.len());
            world = removed.swap_remove(index).1;
            world.approve_sections();
        }
        check(&what, &world, |_| true);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn a_weak_approval_helps_no_more_than_none(section in 0..11usize, strength in 0..3usize) {
        use rlxp_govern::documents::Assurance::{Host, Signature, Terminal};
        let mut world = World::ready(&Texts::autonomous());
        let target = Target::Section(Section::ALL[section]);
        world.push(Event::Voided(Voided { targets: vec![target.clone()], reason: "taken back".into() }));
        world.approve(&[target], [Host, Terminal, Signature][strength]);
        check("one approval more", &world, |_| true);
        world.view.file = Digest::hash(b"other");
        check("one approval more, other bytes", &world, |_| true);
    }
}
