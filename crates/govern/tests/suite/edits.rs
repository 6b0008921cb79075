//! Any edit of any covered value voids exactly the approvals that depend on it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rlxp_govern::approval::{ApprovalStatus, newly_void, standing};
use rlxp_govern::documents::{Assurance, Files, Reading};
use rlxp_govern::gate::RefusalCode;
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::Voided;
use rlxp_govern::section::{COVERAGE, File, Section, Target};
use rlxp_spec::document::to_yaml;
use serde_json::{Value, json};

use super::common::{World, approvers, opened};
use super::texts::{Texts, read_text, read_value, remove, set};

fn document(texts: &mut Texts, file: File) -> &mut Value {
    match file {
        File::Contract => &mut texts.contract,
        File::MetricSpec => &mut texts.metric_spec,
        File::SurfaceMap => &mut texts.surface_map,
        File::Runbook => &mut texts.runbook,
    }
}

/// Puts what was read from `text` in a file's place; whether it is a valid file.
fn write(files: &mut Files, file: File, text: &str) -> bool {
    match file {
        File::Contract => files.contract = read_text(text),
        File::MetricSpec => files.metric_spec = read_text(text),
        File::SurfaceMap => files.surface_map = read_text(text),
        File::Runbook => files.runbook = read_text(text),
    }
    match file {
        File::Contract => files.contract.get().is_some(),
        File::MetricSpec => files.metric_spec.get().is_some(),
        File::SurfaceMap => files.surface_map.get().is_some(),
        File::Runbook => files.runbook.get().is_some(),
    }
}

/// The explicit values of a file, apart from their meaning: for keys with only one valid value.
fn overwrite(files: &mut Files, file: File, value: &Value) {
    fn put<T>(reading: &mut Reading<T>, value: &Value) {
        if let Reading::Read(written) = reading {
            written.explicit = value.clone();
        }
    }
    match file {
        File::Contract => put(&mut files.contract, value),
        File::MetricSpec => put(&mut files.metric_spec, value),
        File::SurfaceMap => put(&mut files.surface_map, value),
        File::Runbook => put(&mut files.runbook, value),
    }
}

/// Pointers to everything in a value that holds nothing else.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().map(|(key, part)| (key.clone(), part)).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().map(|(index, part)| (index.to_string(), part)).collect()
        }
        _ => return found.push(at.to_owned()),
    };
    for (key, part) in parts {
        leaves(part, &format!("{at}/{key}"), found);
    }
}

/// The sections that a value belongs to.
fn owners(file: File, pointer: &str, before: &Value, after: &Value) -> BTreeSet<Section> {
    let mut steps = pointer.split('/').skip(1);
    let key = steps.next().unwrap();
    if key == "exceptions" {
        // Its own section, and the one it came from or went to.
        let place = format!("/exceptions/{}/section", steps.next().unwrap());
        let named = [before, after].map(|value| value.pointer(&place).cloned());
        return named.into_iter().flatten().map(|name| serde_json::from_value(name).unwrap()).collect();
    }
    let owner = COVERAGE.iter().find(|(owner, covered, _)| (*owner, *covered) == (file, key));
    BTreeSet::from([owner.unwrap_or_else(|| panic!("{pointer} belongs to no section")).2])
}

fn voided_by(owners: BTreeSet<Section>) -> BTreeSet<Section> {
    owners.into_iter().flat_map(Section::dependents).collect()
}

/// Other values for a value, one of which is valid in its place.
fn others(value: &Value) -> Vec<Value> {
    const WORDS: [&str; 32] = [
        "task",
        "incumbent_validation",
        "scope",
        "execute",
        "supervised",
        "manual",
        "terminal",
        "host",
        "partial",
        "none",
        "loopback",
        "cpu",
        "lower",
        "higher",
        "median",
        "last",
        "best",
        "jsonl",
        "json",
        "policy",
        "reward",
        "remove",
        "set",
        "3h",
        "2GiB",
        "-x",
        "0",
        "other",
        "train.py",
        "x",
        "1123456789abcdef0123456789abcdef01234567",
        "{seed}",
    ];
    match value {
        Value::Bool(yes) => vec![json!(!yes)],
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap();
            vec![json!(number + 0.001), json!(number / 2.0)]
        }
        Value::Number(number) => vec![json!(number.as_u64().unwrap() + 1)],
        Value::String(text) => {
            let longer = [format!("{text}x"), text.replace("ab", "cd")];
            let words = longer.into_iter().chain(WORDS.map(str::to_owned));
            words.filter(|word| word != text).map(Value::from).collect()
        }
        Value::Array(_) => vec![json!(["x"])],
        Value::Null | Value::Object(_) => panic!("the samples have none of these"),
    }
}

#[test]
fn every_value_voids_its_section_and_all_that_depends_on_it() {
    for texts in [Texts::supervised(), Texts::autonomous()] {
        let ready = World::ready(&texts);
        let all: BTreeSet<Section> = Section::ALL.into_iter().collect();
        assert_eq!(ready.given(), all);
        let mut only_one = BTreeSet::new();
        for file in File::ALL {
            let before = document(&mut texts.clone(), file).clone();
            let mut pointers = Vec::new();
            leaves(&before, "", &mut pointers);
            for pointer in pointers {
                let mut world = ready.clone();
                let mut after = before.clone();
                let old = before.pointer(&pointer).unwrap();
                let valid = others(old).into_iter().any(|other| {
                    set(&mut after, &pointer, other);
                    write(&mut world.study.files, file, &to_yaml(&after))
                });
                if !valid {
                    only_one.insert(pointer.rsplit('/').next().unwrap().to_owned());
                    world = ready.clone();
                    overwrite(&mut world.study.files, file, &after);
                }
                let expected = voided_by(owners(file, &pointer, &before, &after));
                check(&world, &expected, &format!("{} {pointer}", file.name()));

                // Left out, where it may be.
                let mut without = before.clone();
                remove(&mut without, &pointer);
                let mut world = ready.clone();
                if write(&mut world.study.files, file, &to_yaml(&without)) {
                    let expected = voided_by(owners(file, &pointer, &before, &before));
                    check(&world, &expected, &format!("{} without {pointer}", file.name()));
                }
            }
        }
        let known = BTreeSet::from(["schema", "when", "format"].map(str::to_owned));
        assert!(only_one.is_subset(&known), "no other valid value was found for {only_one:?}");
    }
}

/// Exactly these sections are void; a candidate is void with the experiment section.
fn check(world: &World, void: &BTreeSet<Section>, what: &str) {
    for (section, standing) in world.study.standings() {
        match standing {
            ApprovalStatus::Void { .. } => assert!(void.contains(&section), "{what}: {section} is void"),
            ApprovalStatus::Given { .. } => {
                assert!(!void.contains(&section), "{what}: {section} still holds")
            }
            // The approvals stay as they were; the contract now asks for more.
            ApprovalStatus::TooWeak { .. } => panic!("{what}: {section} is too weak"),
            other => panic!("{what}: {section} {other:?}"),
        }
    }
    assert_eq!(world.candidate_standing().is_given(), !void.contains(&Section::Experiment), "{what}");
}

#[test]
fn what_is_added_voids_too() {
    let ready = World::ready(&Texts::supervised());
    let (contract, spec, map, book) = (File::Contract, File::MetricSpec, File::SurfaceMap, File::Runbook);
    for (file, pointer, value, section) in [
        (contract, "/task/constraints", json!(["no new dependencies", "one more"]), Section::Task),
        (
            contract,
            "/experiment/envelope",
            Texts::autonomous().contract["experiment"]["envelope"].clone(),
            Section::Experiment,
        ),
        (spec, "/components/0/window", json!(3), Section::Metrics),
        (spec, "/components/0/unit", json!("m"), Section::Metrics),
        (map, "/surfaces/1/keys", json!([{ "key": "a", "min": 0.5 }]), Section::Scope),
        (book, "/eval/folder", json!("eval"), Section::Evaluation),
        (book, "/eval/probed", json!(false), Section::Evaluation),
        (book, "/cancel/environment", json!(["HOME"]), Section::Baseline),
    ] {
        let mut world = ready.clone();
        let mut texts = Texts::supervised();
        set(document(&mut texts, file), pointer, value);
        assert!(write(&mut world.study.files, file, &to_yaml(document(&mut texts, file))), "{pointer}");
        check(&world, &section.dependents(), pointer);
    }
    // One more exception: with the section that it names.
    for section in Section::ALL {
        let mut world = ready.clone();
        let mut texts = Texts::supervised();
        super::cases::except(&mut texts, &section.to_string(), "several_changes");
        world.study.files.contract = read_value(&texts.contract);
        check(&world, &section.dependents(), &format!("exception of {section}"));
    }
}

/// The same value with the keys of all objects in another order.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().rev().map(|(key, part)| (key.clone(), turned(part))).collect(),
        Value::Array(items) => items.iter().map(turned).collect(),
        simple => simple.clone(),
    }
}

#[test]
fn comments_and_the_order_of_keys_void_nothing() {
    let mut texts = Texts::supervised();
    let mut world = World::ready(&texts);
    for file in File::ALL {
        let value = turned(document(&mut texts, file));
        assert_ne!(to_yaml(&value), to_yaml(document(&mut texts, file)));
        let text = to_yaml(&value).replace('\n', " # a remark\n\n");
        let text = format!("# by hand\n{text}");
        assert!(write(&mut world.study.files, file, &text), "{text}");
    }
    check(&world, &BTreeSet::new(), "comments and order");
    // Exceptions of different sections may change places.
    texts.contract["exceptions"].as_array_mut().unwrap().reverse();
    world.study.files.contract = read_value(&texts.contract);
    check(&world, &BTreeSet::new(), "order of exceptions");
}

#[test]
fn what_was_seen_to_be_void_stays_void_when_the_old_text_returns() {
    let texts = Texts::supervised();
    let mut world = World::ready(&texts);
    let mut other = texts.clone();
    set(&mut other.surface_map, "/protected/1", json!("other.py"));
    world.study.files.surface_map = read_value(&other.surface_map);
    let standings = world.study.standings().into_iter();
    let standings = standings.map(|(section, standing)| (Target::Section(section), standing)).collect();
    let void = newly_void(world.study.state(), &standings);
    let targets: Vec<Target> = void.into_iter().map(|(target, _)| target).collect();
    let expected = Section::Scope.dependents();
    assert_eq!(targets, expected.iter().copied().map(Target::Section).collect::<Vec<_>>());
    world.push(Event::Voided(Voided { targets, reason: "the approved content has changed since".into() }));
    let on_record = newly_void(world.study.state(), &standings);
    assert_eq!(on_record, [], "it is said once");

    world.study.files.surface_map = read_value(&texts.surface_map);
    check(&world, &expected, "the old text");
    world.approve_sections();
    assert_eq!(world.given().len(), Section::ALL.len());
    assert!(!world.candidate_standing().is_given(), "the candidate was void with the experiment section");
    world.approve_candidate();
    check(&world, &BTreeSet::new(), "approved again");
}

#[test]
fn a_section_on_record_as_void_takes_what_depends_on_it_along() {
    for section in Section::ALL {
        let mut world = World::ready(&Texts::supervised());
        let targets = vec![Target::Section(section)];
        world.push(Event::Voided(Voided { targets, reason: "somebody took it back".into() }));
        check(&world, &section.dependents(), &section.to_string());
    }
}

#[test]
fn another_list_of_approvers_voids_nothing() {
    for texts in [Texts::supervised(), Texts::autonomous()] {
        let ready = World::ready(&texts);
        let is_signed = ready.study.required() == Assurance::Signature;
        for keys in [None, Some(&[][..]), Some(&[2]), Some(&[1, 2])] {
            let mut world = ready.clone();
            world.study.approvers = keys.map(approvers);
            let has_key = keys.is_some_and(|keys| keys.contains(&1));
            let standings = world.study.standings();
            for (section, standing) in &standings {
                let expected =
                    if is_signed && !has_key { Some(RefusalCode::ApprovalNotProvableHere) } else { None };
                assert_eq!(standing.code(), expected, "{keys:?}: {section} is {standing}");
            }
            let standings =
                standings.into_iter().map(|(section, is)| (Target::Section(section), is)).collect();
            assert_eq!(newly_void(world.study.state(), &standings), Vec::new(), "{keys:?}");
        }
    }
}

/// A key that the first record lacks approves nothing, whatever the list at hand says.
#[test]
fn a_key_that_was_added_later_proves_nothing() {
    let ready = World::ready(&Texts::autonomous());
    let mut world = ready.clone();
    check_after_opening(&mut world, &ready, |opened| {
        opened.approvers = approvers(&[2]).fingerprints().into_iter().collect();
    });
    world.study.approvers = Some(approvers(&[1, 2]));
    let approval = world.study.state().approvals[0].clone();
    let Some((target, digest)) = approval.approved.targets.iter().next() else { panic!("nothing approved") };
    let (state, proofs) = (world.study.state(), world.study.proofs());
    let status = standing(target, Some(*digest), Assurance::Signature, state, proofs);
    assert_eq!(status.code(), Some(RefusalCode::ApprovalNotProven), "{status}");
    assert!(status.to_string().contains("that the study was opened with"), "{status}");
}

#[test]
fn another_study_or_other_approvers_from_the_start_void_everything() {
    let all: BTreeSet<Section> = Section::ALL.into_iter().collect();
    for texts in [Texts::supervised(), Texts::autonomous()] {
        let ready = World::ready(&texts);
        // The same approvals, word for word, under another first record.
        let mut copied = ready.rechained(|_, _| true);
        check_after_opening(&mut copied, &ready, |opened| opened.id = "study-0000".into());
        check(&copied, &all, "another study");
        check_after_opening(&mut copied, &ready, |opened| {
            opened.approvers = approvers(&[1, 2]).fingerprints().into_iter().collect();
        });
        copied.study.approvers = Some(approvers(&[1, 2]));
        check(&copied, &all, "other approvers from the start");
    }
}

fn check_after_opening(
    copy: &mut World,
    from: &World,
    edit: impl Fn(&mut rlxp_govern::ledger::event::Opened),
) {
    let Event::Opened(mut first) = opened(&approvers(&[1])) else { panic!() };
    edit(&mut first);
    copy.study.ledger = rlxp_govern::ledger::read(b"");
    copy.push(Event::Opened(first));
    for record in &from.study.ledger.records[1..] {
        copy.push(record.event.clone());
    }
}

#[test]
fn a_candidate_is_void_with_its_own_text() {
    let texts = Texts::supervised();
    let ready = World::ready(&texts);
    let mut pointers = Vec::new();
    leaves(&texts.candidate, "", &mut pointers);
    for pointer in pointers {
        let mut world = ready.clone();
        let value = others(texts.candidate.pointer(&pointer).unwrap()).remove(0);
        set(&mut world.view.written.explicit, &pointer, value);
        assert!(!world.candidate_standing().is_given(), "{pointer}");
        assert_eq!(world.given().len(), Section::ALL.len(), "{pointer}");
    }
    let mut world = ready;
    world.view.written.explicit = turned(&texts.candidate);
    assert!(world.candidate_standing().is_given());
}

#[test]
fn a_weaker_approval_takes_nothing_from_a_stronger_one() {
    let mut world = World::ready(&Texts::autonomous());
    let all: Vec<Target> = Section::ALL.into_iter().map(Target::Section).collect();
    world.approve(&all, Assurance::Host);
    assert_eq!(world.given().len(), Section::ALL.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn several_edits_at_once_void_what_each_of_them_voids(picks in prop::collection::vec((0..4usize, any::<prop::sample::Index>()), 1..6)) {
        let texts = Texts::supervised();
        let mut world = World::ready(&texts);
        let mut edited = texts.clone();
        let mut expected = BTreeSet::new();
        for (file, pick) in picks {
            let file = File::ALL[file];
            let before = document(&mut texts.clone(), file).clone();
            let mut pointers = Vec::new();
            leaves(&before, "", &mut pointers);
            pointers.retain(|pointer| !pointer.ends_with("/section"));
            let pointer = pick.get(&pointers);
            let other = others(before.pointer(pointer).unwrap()).remove(0);
            set(document(&mut edited, file), pointer, other);
            overwrite(&mut world.study.files, file, document(&mut edited, file));
            expected.extend(voided_by(owners(file, pointer, &before, &before)));
        }
        check(&world, &expected, "several edits");
    }
}
