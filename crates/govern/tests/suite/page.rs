//! `docs/concepts/studies.md` says what the code does: its tables and moves are read and compared.
#![expect(clippy::disallowed_methods, reason = "the page is read as it stands in the repository")]

use std::collections::BTreeSet;
use std::path::Path;

use rlxp_govern::documents::{CandidateKind, Phase};
use rlxp_govern::gate::{GateName, Purpose, names, refusals};
use rlxp_govern::ledger::Event;
use rlxp_govern::ledger::event::HandedOff;
use rlxp_govern::machine::{CandidateState, RunState};
use rlxp_govern::queue::promotion;
use rlxp_govern::section::{COVERAGE, File, Section, Target};

use super::cases::cases;
use super::common::World;
use super::texts::Texts;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/studies.md");
    std::fs::read_to_string(path).unwrap()
}

fn under(heading: &str) -> String {
    let page = page();
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    rest.split("\n## ").next().unwrap().to_owned()
}

/// The rows of the table whose header begins with `first`, cell by cell.
fn table(text: &str, first: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let inside = line.strip_prefix('|').unwrap().strip_suffix('|').unwrap();
        inside.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("| {first} |")));
    lines
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .filter(|row| !row[0].starts_with("---"))
        .collect()
}

/// The words of a cell in backticks.
fn words(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_has_the_sections_as_they_are() {
    let rows = table(&under("Sections"), "section");
    let files: Vec<String> = rows[0][1..5].iter().map(|cell| cell.trim_matches('`').to_owned()).collect();
    assert_eq!(files, File::ALL.map(|file| file.name().to_owned()));
    let names: Vec<String> = rows[1..].iter().map(|row| row[0].clone()).collect();
    assert_eq!(names, Section::ALL.map(|section| format!("`{section}`")));
    for (section, row) in Section::ALL.into_iter().zip(&rows[1..]) {
        for (file, cell) in File::ALL.into_iter().zip(&row[1..5]) {
            let covered = COVERAGE.iter().filter(|(owner, _, of)| (*owner, *of) == (file, section));
            let covered: BTreeSet<String> = covered.map(|(_, key, _)| (*key).to_owned()).collect();
            assert_eq!(words(cell), covered, "{section} in {}", file.name());
        }
        let below: BTreeSet<String> = section.depends_on().iter().map(ToString::to_string).collect();
        assert_eq!(words(&row[5]), below, "what {section} builds on");
    }
}

#[test]
fn the_page_has_every_gate_and_every_code() {
    let text = under("Gates");
    let rows = table(&text, "gate");
    let named: Vec<String> = rows[1..].iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    assert_eq!(named, written(Purpose::Launch));
    for (row, name) in rows[1..].iter().zip(&named) {
        let least = [(Purpose::Plan, "plan"), (Purpose::Validate, "validate"), (Purpose::Launch, "launch")];
        let (_, word) = least.iter().find(|(purpose, _)| written(*purpose).contains(&name.as_str())).unwrap();
        assert_eq!(row[1], *word, "{name}");
    }
    // Every code has a case (another test checks that), and every case shows which gates report it.
    let mut given: BTreeSet<(String, String, Option<Section>)> = BTreeSet::new();
    for case in cases() {
        let mut files = Texts::supervised();
        (case.texts)(&mut files);
        let mut world = World::ready(&files);
        (case.after)(&mut world);
        given.extend(world.refusals(case.purpose).into_iter().map(said));
    }
    let world = World::ready(&Texts::supervised());
    given.extend(refusals(Purpose::Launch, &world.study, None).into_iter().map(said));
    let mut told: BTreeSet<(String, String, Option<Section>)> = BTreeSet::new();
    for (row, gate) in rows[1..].iter().zip(&named) {
        let as_others = row[3].starts_with("as for");
        let codes = if as_others {
            &rows[1..].iter().find(|row| row[0] == "`approvals`").unwrap()[3]
        } else {
            &row[3]
        };
        for (code, section) in codes_of(codes) {
            if !as_others || code.starts_with("approval_") {
                told.insert((gate.clone(), code, section));
            }
        }
    }
    let missing: Vec<_> = given.difference(&told).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    let codes = |all: &BTreeSet<(String, String, Option<Section>)>| -> BTreeSet<String> {
        all.iter().map(|(_, code, _)| code.clone()).collect()
    };
    let unknown: Vec<String> = codes(&told).difference(&codes(&given)).cloned().collect();
    assert!(unknown.is_empty(), "no gate says this: {unknown:?}");
    let counts = [Purpose::Plan, Purpose::Validate, Purpose::Launch].map(|purpose| names(purpose).len());
    let [plan, validate, launch] = counts;
    assert!(text.contains(&format!("planning asks {plan}, validating {validate}, launching all {launch}")));
}

fn said(refusal: rlxp_govern::gate::Refusal) -> (String, String, Option<Section>) {
    (refusal.gate.to_string(), refusal.code.to_string(), refusal.section)
}

fn written(purpose: Purpose) -> Vec<&'static str> {
    names(purpose).into_iter().map(GateName::as_str).collect()
}

/// The codes of a cell; a section in brackets is that of all codes since the last such.
fn codes_of(cell: &str) -> Vec<(String, Option<Section>)> {
    let mut found = Vec::new();
    let groups: Vec<&str> = cell.split_inclusive(')').collect();
    for group in groups {
        let (codes, section) = match group.split_once('(') {
            Some((codes, section)) => (codes, Some(section.trim_end_matches(')'))),
            None => (group, None),
        };
        let section =
            section.map(|name| Section::ALL.into_iter().find(|one| one.to_string() == name).unwrap());
        found.extend(words(codes).into_iter().map(|code| (code, section)));
    }
    found
}

#[test]
fn the_page_has_every_move_and_no_other() {
    let text = under("Candidates and runs");
    let (_, block) = text.split_once("```text\n").unwrap();
    let (candidates, runs) = block.split("```").next().unwrap().split_once("\nrun\n").unwrap();
    let moves = |text: &str| -> BTreeSet<(String, String)> {
        let pairs = text.lines().filter_map(|line| line.split_once(" -> "));
        let single = |(from, to): (&str, &str)| {
            let from = from.trim().to_owned();
            to.split(", ").map(move |to| (from.clone(), to.to_owned())).collect::<Vec<_>>()
        };
        pairs.flat_map(single).collect()
    };
    let mut expected = BTreeSet::new();
    for from in CandidateState::ALL {
        for to in CandidateState::ALL {
            let phases = [None, Some(Phase::Smoke), Some(Phase::Confirm)];
            if phases.into_iter().any(|phase| from.to(to, phase).is_ok()) {
                expected.insert((from.to_string(), to.to_string()));
            }
        }
    }
    assert_eq!(moves(candidates), expected);
    let mut expected = BTreeSet::new();
    for from in RunState::ALL {
        let next = RunState::ALL.into_iter().filter(|to| from.to(*to).is_ok());
        expected.extend(next.map(|to| (from.to_string(), to.to_string())));
    }
    assert_eq!(moves(runs), expected);
}

#[test]
fn the_page_says_what_ends_a_hand_off() {
    let text = under("The next step");
    let sentence = text.split_once("it ends with the next approval of anything but ").unwrap().1;
    let but = words(sentence.split(". ").next().unwrap());
    let mut handed = World::ready(&Texts::supervised());
    handed.push(Event::HandedOff(HandedOff { reason: "a person is wanted".into() }));
    let candidate = Target::Candidate(handed.view.written.typed.id.clone());
    for target in Section::ALL.into_iter().map(Target::Section).chain([candidate, Target::Close]) {
        let mut world = handed.clone();
        world.approve(std::slice::from_ref(&target), world.study.required());
        let ended = world.study.state().handed_off.is_none();
        assert_eq!(ended, !but.contains(&target.to_string()), "{target}");
    }
}

#[test]
fn the_page_has_every_kind_of_record_and_every_phase() {
    let text = under("The ledger");
    let line = text.lines().find(|line| line.starts_with("Kinds: ")).unwrap();
    let listed = words(line.split(". ").next().unwrap());
    assert_eq!(listed, Event::KINDS.iter().map(|kind| (*kind).to_owned()).collect());
    let rows = table(&under("Queue"), "phase");
    let phases = [Phase::Smoke, Phase::Short, Phase::Confirm, Phase::IncumbentValidation];
    assert_eq!(rows.len(), phases.len() + 1);
    for (phase, row) in phases.into_iter().zip(&rows[1..]) {
        let written = serde_json::to_value(phase).unwrap();
        assert_eq!(row[0].trim_matches('`'), written.as_str().unwrap());
        assert!(row[1].starts_with(promotion(CandidateKind::Policy, phase)), "{phase}: {}", row[1]);
        assert_eq!(row[2], promotion(CandidateKind::Baseline, phase), "{phase}");
    }
}
